/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/variants.h"

/** Spectrum t of channel k of the group, times the gain. */
static struct fx8_cf32 value(const struct fx8_lanes_group *group, size_t t,
                             size_t k, float gain)
{
    const struct fx8_lanes_channel *of = &group->channels[k];
    const float *at =
        group->halves[t / FX8_LANES] + of->column * FX8_COLUMN + t % FX8_LANES;
    const struct fx8_cf32 x = {at[0], at[FX8_LANES]};
    return fx8_rotate_reference(x, group->phases, t, of->channel, gain);
}

uint32_t fx8_lanes_quantise_channel(const struct fx8_lanes_group *group,
                                    size_t k, float gain,
                                    struct fx8_ci8 out[FX8_GROUP])
{
    uint32_t n_clipped = 0;
    for (size_t t = 0; t < FX8_GROUP; t++) {
        out[t] = (struct fx8_ci8){0, 0};
        if ((group->valid >> t & 1) == 0)
            continue;
        const struct fx8_cf32 x =
            fx8_dither_reference(value(group, t, k, gain), group->dither, t,
                                 group->channels[k].channel);
        bool is_clipped = false;
        out[t].re = fx8_quantise_reference(x.re, &is_clipped);
        out[t].im = fx8_quantise_reference(x.im, &is_clipped);
        n_clipped += is_clipped;
    }
    return n_clipped;
}

/* The reference rotates by the phases themselves. */
static void find_factors(const struct fx8_phases *phases, size_t n_channels,
                         float *factors)
{
    (void)phases, (void)n_channels, (void)factors;
}

static void quantise(const struct fx8_lanes_group *group, const float *gain,
                     struct fx8_ci8 *out, size_t channel_stride,
                     uint32_t *clips)
{
    for (size_t k = 0; k < group->n_channels; k++) {
        const size_t channel = group->channels[k].channel;
        clips[channel] += fx8_lanes_quantise_channel(
            group, k, gain[channel], out + channel * channel_stride);
    }
}

static void corner_turn(const struct fx8_lanes_group *group,
                        struct fx8_cf32 *out, size_t channel_stride)
{
    for (size_t k = 0; k < group->n_channels; k++) {
        struct fx8_cf32 *row =
            out + group->channels[k].channel * channel_stride;
        for (size_t t = 0; t < FX8_GROUP; t++)
            row[t] = (group->valid >> t & 1) != 0
                         ? value(group, t, k, 1.0f)
                         : (struct fx8_cf32){0.0f, 0.0f};
    }
}

void fx8_fill_lanes_reference(struct fx8_operations *operations)
{
    operations->lanes.find_factors = find_factors;
    operations->lanes.quantise = quantise;
    operations->lanes.corner_turn = corner_turn;
}
