/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "kernels/cpu/variants.h"

int8_t fx8_quantise_reference(float value, bool *is_clipped)
{
    const float rounded = rintf(value);
    if (rounded > 127.0f) {
        *is_clipped = true;
        return 127;
    }
    if (rounded < -127.0f) {
        *is_clipped = true;
        return -127;
    }
    return (int8_t)rounded;
}

/* x (gain exp(2 pi i phase)). */
static struct fx8_cf32 turned(struct fx8_cf32 x, uint64_t phase, float gain)
{
    const float turns = fx8_rotation_turns(phase);
    const float re = fx8_mul(fx8_rotation_re(turns), gain);
    const float im = fx8_mul(fx8_rotation_im(turns), gain);
    return (struct fx8_cf32){fx8_fma(x.re, re, -fx8_mul(x.im, im)),
                             fx8_fma(x.im, re, fx8_mul(x.re, im))};
}

struct fx8_cf32 fx8_rotate_reference(struct fx8_cf32 x,
                                     const struct fx8_phases *phases,
                                     size_t spectrum, size_t channel,
                                     float gain)
{
    if (phases == NULL)
        return (struct fx8_cf32){x.re * gain, x.im * gain};
    const uint64_t middle =
        phases->first[spectrum] +
        fx8_rotation_middle(channel) * phases->slope[spectrum];
    return turned(turned(x, middle, 1.0f),
                  fx8_rotation_place(phases->middle_slope, channel), gain);
}

struct fx8_cf32 fx8_dither_reference(struct fx8_cf32 x,
                                     const struct fx8_dither *dither,
                                     size_t spectrum, size_t channel)
{
    if (dither == NULL)
        return x;
    const uint32_t word = fx8_dither_at(dither, spectrum, channel);
    return (struct fx8_cf32){x.re + fx8_dither_re(word),
                             x.im + fx8_dither_im(word)};
}

static void quantise(const struct fx8_spectra_group *group, const float *gain,
                     struct fx8_ci8 *out, size_t channel_stride,
                     uint32_t *clips)
{
    for (size_t channel = 0; channel < group->n_channels; channel++) {
        struct fx8_ci8 *row = out + channel * channel_stride;
        for (size_t t = 0; t < group->n_spectra; t++) {
            row[t] = (struct fx8_ci8){0, 0};
            if ((group->valid >> t & 1) == 0)
                continue;
            const struct fx8_cf32 x = fx8_dither_reference(
                fx8_rotate_reference(
                    group->spectra[t * group->stride + channel], group->phases,
                    t, channel, gain[channel]),
                group->dither, t, channel);
            bool is_clipped = false;
            row[t].re = fx8_quantise_reference(x.re, &is_clipped);
            row[t].im = fx8_quantise_reference(x.im, &is_clipped);
            clips[channel] += is_clipped;
        }
    }
}

void fx8_corner_turn_part(const struct fx8_spectra_group *group,
                          size_t first_spectrum, size_t end_spectrum,
                          size_t first_channel, size_t end_channel,
                          struct fx8_cf32 *out, size_t channel_stride)
{
    for (size_t channel = first_channel; channel < end_channel; channel++)
        for (size_t t = first_spectrum; t < end_spectrum; t++)
            out[channel * channel_stride + t] =
                (group->valid >> t & 1) != 0
                    ? fx8_rotate_reference(
                          group->spectra[t * group->stride + channel],
                          group->phases, t, channel, 1.0f)
                    : (struct fx8_cf32){0.0f, 0.0f};
}

static void corner_turn(const struct fx8_spectra_group *group,
                        struct fx8_cf32 *out, size_t channel_stride)
{
    fx8_corner_turn_part(group, 0, group->n_spectra, 0, group->n_channels, out,
                         channel_stride);
}

void fx8_fill_quantise_reference(struct fx8_operations *operations)
{
    operations->quantise = quantise;
    operations->corner_turn = corner_turn;
}
