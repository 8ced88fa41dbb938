/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quantise_simd.c -- quantise and corner turn.
 *
 * Spectra are quantised row by row into a tile of 32 spectra x 32 channels
 * that stays in the first-level cache, and transposed from there: the group of
 * 32 spectra of one channel is written as one whole cache line.
 */
#include <math.h>
#include <string.h>

#include "kernels/cpu/transpose16.h"
#include "kernels/cpu/variants.h"

/* Real numbers in one spectrum of a tile. */
#define TILE_FLOATS (2 * FX8_TILE)

/* Items of FP32 spectra in a cache line, and in a register. */
#define LINE_ITEMS (FX8_TILE_BYTES / sizeof(struct fx8_cf32))
#define SIDE       (VEC_BYTES / sizeof(struct fx8_cf32))

/* Half a step above 127 is rounded to the even 128. */
#define CLIP_LIMIT 127.5f

/**
 * quantise_row -- one spectrum of up to 32 channels.
 *
 * Given:    spectrum  float [n_floats], n_floats <= TILE_FLOATS
 *           gains     float [TILE_FLOATS], one each for re and im
 * Returned: row       int8 [TILE_FLOATS]; from n_floats on 0
 *           true when some component was clamped
 * Notes:    clamping before rounding gives the same as after it, and keeps the
 *           conversion to int32 in range
 */
FX8_INLINE bool quantise_row(const float *spectrum, size_t n_floats,
                             const float *gains, int8_t *row)
{
    const vec_float most = VEC(set1_ps)(127.0f);
    const vec_float least = VEC(set1_ps)(-127.0f);
    vec_float largest = VEC(set1_ps)(0.0f);
    FX8_UNROLL
    for (size_t first = 0; first < TILE_FLOATS; first += VEC_BYTES) {
        vec_int values[4];
        FX8_UNROLL
        for (size_t i = 0; i < 4; i++) {
            const size_t at = first + i * VEC_LANES;
            const size_t n_left = n_floats > at ? n_floats - at : 0;
            const vec_float scaled =
                vec_load_first(n_left, spectrum + at, VEC(set1_ps)(0.0f)) *
                VEC(load_ps)(gains + at);
            largest = VEC(max_ps)(largest, vec_absolute(scaled));
            values[i] =
                VEC(cvtps_epi32)(VEC(max_ps)(VEC(min_ps)(scaled, most), least));
        }
        vec_store_int(row + first,
                      vec_order_packed_twice(VEC(packs_epi16)(
                          VEC(packs_epi32)(values[0], values[1]),
                          VEC(packs_epi32)(values[2], values[3]))));
    }
    return vec_any_at_least(largest, VEC(set1_ps)(CLIP_LIMIT));
}

/** Count the clamped channels of one spectrum.  Clipping is rare: the quantiser
 *  of a row only reports whether anything was clamped. */
static inline void count_clips(const struct fx8_cf32 *spectrum,
                               size_t n_channels, const float *gain,
                               uint32_t *clips)
{
    for (size_t channel = 0; channel < n_channels; channel++)
        clips[channel] +=
            fabsf(spectrum[channel].re * gain[channel]) >= CLIP_LIMIT ||
            fabsf(spectrum[channel].im * gain[channel]) >= CLIP_LIMIT;
}

/** Prefetch a line of each of the next n_channels rows of results; `line` is in
 *  the first one.  Into the second level: the first is no faster than no
 *  prefetch (measured). */
static inline void prefetch_rows(const void *line, size_t row_bytes,
                                 size_t n_channels)
{
    for (size_t channel = 0; channel < n_channels; channel++)
        __builtin_prefetch((const char *)line + channel * row_bytes, 1, 2);
}

/** Up to 32 spectra of up to 32 channels; arguments as for quantise. */
FX8_INLINE void quantise_tile(size_t n_spectra, size_t n_channels,
                              const struct fx8_cf32 *spectra,
                              size_t spectrum_stride, const float *gain,
                              uint32_t valid, struct fx8_ci8 *out,
                              size_t channel_stride, uint32_t *clips)
{
    FX8_ALIGNED float gains[TILE_FLOATS] = {0.0f};
    FX8_ALIGNED int8_t tile[FX8_TILE * FX8_TILE_BYTES];
    FX8_ALIGNED int8_t transposed[FX8_TILE * FX8_TILE_BYTES];
    for (size_t channel = 0; channel < n_channels; channel++)
        gains[2 * channel] = gains[2 * channel + 1] = gain[channel];
    for (size_t t = 0; t < FX8_TILE; t++) {
        int8_t *row = tile + t * FX8_TILE_BYTES;
        if (t >= n_spectra || (valid >> t & 1) == 0) {
            memset(row, 0, FX8_TILE_BYTES);
            continue;
        }
        const struct fx8_cf32 *spectrum = spectra + t * spectrum_stride;
        if (quantise_row(&spectrum->re, 2 * n_channels, gains, row))
            count_clips(spectrum, n_channels, gain, clips);
    }
    if (n_spectra == FX8_TILE && n_channels == FX8_TILE) {
        fx8_transpose16(tile, FX8_TILE_BYTES, FX8_TILE_BYTES, (int8_t *)out,
                        channel_stride * sizeof *out);
        return;
    }
    fx8_transpose16(tile, FX8_TILE_BYTES, FX8_TILE_BYTES, transposed,
                    FX8_TILE_BYTES);
    for (size_t channel = 0; channel < n_channels; channel++)
        memcpy(out + channel * channel_stride,
               transposed + channel * FX8_TILE_BYTES, n_spectra * sizeof *out);
}

static void quantise(size_t n_spectra, size_t n_channels,
                     const struct fx8_cf32 *spectra, size_t spectrum_stride,
                     const float *gain, uint32_t valid, struct fx8_ci8 *out,
                     size_t channel_stride, uint32_t *clips)
{
    size_t n_left = n_channels;
    while (n_left > 0) {
        const size_t n = n_left < FX8_TILE ? n_left : FX8_TILE;
        n_left -= n;
        struct fx8_ci8 *next = out + n * channel_stride;
        prefetch_rows(next, channel_stride * sizeof *out,
                      n_left < FX8_TILE ? n_left : FX8_TILE);
        if (n == FX8_TILE) /* a constant */
            quantise_tile(n_spectra, FX8_TILE, spectra, spectrum_stride, gain,
                          valid, out, channel_stride, clips);
        else
            quantise_tile(n_spectra, n, spectra, spectrum_stride, gain, valid,
                          out, channel_stride, clips);
        spectra += n;
        gain += n;
        clips += n;
        out = next;
    }
}

/** SIDE x SIDE items of FP32 spectra; `valid` holds the bits of these. */
FX8_INLINE void turn_side(const struct fx8_cf32 *spectra,
                          size_t spectrum_stride, uint32_t valid,
                          struct fx8_cf32 *out, size_t channel_stride)
{
    vec_int rows[SIDE];
    FX8_UNROLL
    for (size_t t = 0; t < SIDE; t++)
        rows[t] = (valid >> t & 1) != 0
                      ? vec_load_int(spectra + t * spectrum_stride)
                      : vec_set_int64(0);
    FX8_UNROLL
    for (size_t h = 0; h < 2; h++) {
        /* part L of pairs[i]: column 2 L + h of rows 2 i and 2 i + 1 */
        vec_int pairs[VEC_QUARTERS], columns[VEC_QUARTERS];
        FX8_UNROLL
        for (size_t i = 0; i < VEC_QUARTERS; i++)
            pairs[i] = h == 0
                           ? VEC(unpacklo_epi64)(rows[2 * i], rows[2 * i + 1])
                           : VEC(unpackhi_epi64)(rows[2 * i], rows[2 * i + 1]);
        vec_turn_quarters(pairs, columns);
        FX8_UNROLL
        for (size_t q = 0; q < VEC_QUARTERS; q++)
            vec_store_int(out + (2 * q + h) * channel_stride, columns[q]);
    }
}

/* The reference does the edges. */
static void corner_turn(size_t n_spectra, size_t n_channels,
                        const struct fx8_cf32 *spectra, size_t spectrum_stride,
                        uint32_t valid, struct fx8_cf32 *out,
                        size_t channel_stride)
{
    const size_t whole_spectra = n_spectra / SIDE * SIDE;
    const size_t whole_channels = n_channels / SIDE * SIDE;
    for (size_t channel = 0; channel < whole_channels; channel += SIDE)
        for (size_t t = 0; t < whole_spectra; t += SIDE) {
            struct fx8_cf32 *square = out + channel * channel_stride + t;
            if (t % LINE_ITEMS == 0 && channel + SIDE < whole_channels)
                prefetch_rows(square + SIDE * channel_stride,
                              channel_stride * sizeof *out, SIDE);
            turn_side(spectra + t * spectrum_stride + channel, spectrum_stride,
                      valid >> t, square, channel_stride);
        }
    fx8_corner_turn_reference(n_spectra, n_channels - whole_channels,
                              spectra + whole_channels, spectrum_stride, valid,
                              out + whole_channels * channel_stride,
                              channel_stride);
    if (whole_spectra < n_spectra)
        fx8_corner_turn_reference(n_spectra - whole_spectra, whole_channels,
                                  spectra + whole_spectra * spectrum_stride,
                                  spectrum_stride, valid >> whole_spectra,
                                  out + whole_spectra, channel_stride);
}

void FX8_VARIANT(fx8_fill_quantise)(struct fx8_operations *operations)
{
    operations->quantise = quantise;
    operations->corner_turn = corner_turn;
}
