/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "kernels/cpu/variants.h"

/** Round half to even and clamp to +-127; sets *is_clipped if it clamped. */
static int8_t quantise_value(float value, bool *is_clipped)
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

static void quantise(size_t n_spectra, size_t n_channels,
                     const struct fx8_cf32 *spectra, size_t spectrum_stride,
                     const float *gain, uint32_t valid, struct fx8_ci8 *out,
                     size_t channel_stride, uint32_t *clips)
{
    for (size_t channel = 0; channel < n_channels; channel++) {
        struct fx8_ci8 *row = out + channel * channel_stride;
        for (size_t t = 0; t < n_spectra; t++) {
            row[t] = (struct fx8_ci8){0, 0};
            if ((valid >> t & 1) == 0)
                continue;
            const struct fx8_cf32 x = spectra[t * spectrum_stride + channel];
            bool is_clipped = false;
            row[t].re = quantise_value(x.re * gain[channel], &is_clipped);
            row[t].im = quantise_value(x.im * gain[channel], &is_clipped);
            clips[channel] += is_clipped;
        }
    }
}

void fx8_corner_turn_reference(size_t n_spectra, size_t n_channels,
                               const struct fx8_cf32 *spectra,
                               size_t spectrum_stride, uint32_t valid,
                               struct fx8_cf32 *out, size_t channel_stride)
{
    for (size_t channel = 0; channel < n_channels; channel++)
        for (size_t t = 0; t < n_spectra; t++)
            out[channel * channel_stride + t] =
                (valid >> t & 1) != 0 ? spectra[t * spectrum_stride + channel]
                                      : (struct fx8_cf32){0.0f, 0.0f};
}

void fx8_fill_quantise_reference(struct fx8_operations *operations)
{
    operations->quantise = quantise;
    operations->corner_turn = fx8_corner_turn_reference;
}
