/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quantise_tiles.h -- quantise and turn of the vector variants, but for the
 * two inner steps that the including file hands in.
 *
 * Spectra are quantised row by row into a tile of 32 spectra x 32 channels
 * that stays in the first-level cache, and turned from there: the group of 32
 * spectra of one channel leaves as one whole cache line.
 */
#ifndef FX8_KERNELS_CPU_QUANTISE_TILES_H
#define FX8_KERNELS_CPU_QUANTISE_TILES_H

#include <math.h>
#include <string.h>

#include "kernels/cpu/turn16.h"
#include "kernels/cpu/variants.h"

#if defined(__AVX2__)

/* Real numbers in one spectrum of a tile. */
#define TILE_FLOATS (2 * FX8_TILE)

/* Items of FP32 spectra in a cache line. */
#define LINE_ITEMS (FX8_TILE_BYTES / sizeof(struct fx8_cf32))

/**
 * Inner step of quantise: one spectrum of up to 32 channels.
 *
 * Given:    spectrum  float [n_floats], n_floats <= TILE_FLOATS
 *           gains     float [TILE_FLOATS], one each for re and im
 * Returned: row       int8 [TILE_FLOATS]; from n_floats on anything
 *           true when some component was clamped
 */
typedef bool quantise_row(const float *spectrum, size_t n_floats,
                          const float *gains, int8_t *row);

/** Count the clamped channels of one spectrum.  Clipping is rare: the inner
 *  step only says that there is something to count. */
static inline void count_clips(const struct fx8_cf32 *spectrum,
                               size_t n_channels, const float *gain,
                               uint32_t *clips)
{
    /* Half a step above 127 is rounded to the even 128. */
    const float limit = 127.5f;
    for (size_t channel = 0; channel < n_channels; channel++)
        clips[channel] +=
            fabsf(spectrum[channel].re * gain[channel]) >= limit ||
            fabsf(spectrum[channel].im * gain[channel]) >= limit;
}

/** Ask for a line of each of the next n_channels rows of results, so that it
 *  is near when their turn comes; `line` is in the first one.  Into the second
 *  level: the first is no faster than not to ask (measured). */
static inline void prefetch_rows(const void *line, size_t row_bytes,
                                 size_t n_channels)
{
    for (size_t channel = 0; channel < n_channels; channel++)
        __builtin_prefetch((const char *)line + channel * row_bytes, 1, 2);
}

/** Up to 32 spectra of up to 32 channels; arguments as those of quantise. */
FX8_INLINE void quantise_tile(quantise_row *inner, size_t n_spectra,
                              size_t n_channels, const struct fx8_cf32 *spectra,
                              size_t spectrum_stride, const float *gain,
                              uint32_t valid, struct fx8_ci8 *out,
                              size_t channel_stride, uint32_t *clips)
{
    FX8_ALIGNED float gains[TILE_FLOATS] = {0.0f};
    FX8_ALIGNED int8_t tile[FX8_TILE * FX8_TILE_BYTES];
    FX8_ALIGNED int8_t turned[FX8_TILE * FX8_TILE_BYTES];
    for (size_t channel = 0; channel < n_channels; channel++)
        gains[2 * channel] = gains[2 * channel + 1] = gain[channel];
    for (size_t t = 0; t < FX8_TILE; t++) {
        int8_t *row = tile + t * FX8_TILE_BYTES;
        if (t >= n_spectra || (valid >> t & 1) == 0) {
            memset(row, 0, FX8_TILE_BYTES);
            continue;
        }
        const struct fx8_cf32 *spectrum = spectra + t * spectrum_stride;
        if (inner(&spectrum->re, 2 * n_channels, gains, row))
            count_clips(spectrum, n_channels, gain, clips);
    }
    if (n_spectra == FX8_TILE && n_channels == FX8_TILE) {
        fx8_turn16(tile, FX8_TILE_BYTES, FX8_TILE_BYTES, (int8_t *)out,
                   channel_stride * sizeof *out);
        return;
    }
    fx8_turn16(tile, FX8_TILE_BYTES, FX8_TILE_BYTES, turned, FX8_TILE_BYTES);
    for (size_t channel = 0; channel < n_channels; channel++)
        memcpy(out + channel * channel_stride,
               turned + channel * FX8_TILE_BYTES, n_spectra * sizeof *out);
}

/** quantise, over an inner step. */
FX8_INLINE void quantise_tiles(quantise_row *inner, size_t n_spectra,
                               size_t n_channels,
                               const struct fx8_cf32 *spectra,
                               size_t spectrum_stride, const float *gain,
                               uint32_t valid, struct fx8_ci8 *out,
                               size_t channel_stride, uint32_t *clips)
{
    size_t n_left = n_channels;
    while (n_left > 0) {
        const size_t n = n_left < FX8_TILE ? n_left : FX8_TILE;
        n_left -= n;
        struct fx8_ci8 *next = out + n * channel_stride;
        prefetch_rows(next, channel_stride * sizeof *out,
                      n_left < FX8_TILE ? n_left : FX8_TILE);
        quantise_tile(inner, n_spectra, n, spectra, spectrum_stride, gain,
                      valid, out, channel_stride, clips);
        spectra += n;
        gain += n;
        clips += n;
        out = next;
    }
}

/**
 * Inner step of turn: side x side items of spectra; `valid` holds the bits of
 * these spectra.
 */
typedef void turn_square(const struct fx8_cf32 *spectra, size_t spectrum_stride,
                         uint32_t valid, struct fx8_cf32 *out,
                         size_t channel_stride);

/** turn, over an inner step for squares of `side`; the edges are the
 *  reference's. */
FX8_INLINE void turn_tiles(turn_square *inner, size_t side, size_t n_spectra,
                           size_t n_channels, const struct fx8_cf32 *spectra,
                           size_t spectrum_stride, uint32_t valid,
                           struct fx8_cf32 *out, size_t channel_stride)
{
    const size_t whole_spectra = n_spectra / side * side;
    const size_t whole_channels = n_channels / side * side;
    for (size_t channel = 0; channel < whole_channels; channel += side)
        for (size_t t = 0; t < whole_spectra; t += side) {
            struct fx8_cf32 *square = out + channel * channel_stride + t;
            if (t % LINE_ITEMS == 0 && channel + side < whole_channels)
                prefetch_rows(square + side * channel_stride,
                              channel_stride * sizeof *out, side);
            inner(spectra + t * spectrum_stride + channel, spectrum_stride,
                  valid >> t, square, channel_stride);
        }
    fx8_turn_reference(n_spectra, n_channels - whole_channels,
                       spectra + whole_channels, spectrum_stride, valid,
                       out + whole_channels * channel_stride, channel_stride);
    if (whole_spectra < n_spectra)
        fx8_turn_reference(n_spectra - whole_spectra, whole_channels,
                           spectra + whole_spectra * spectrum_stride,
                           spectrum_stride, valid >> whole_spectra,
                           out + whole_spectra, channel_stride);
}

#endif

#endif
