/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fir_columns.h -- private to fir_simd.c and transform_simd.c: the FIR of one
 * register of columns.  The sums of several spectra stay in registers: a sample
 * is converted once for up to 8 multiply-adds, and every sum takes its taps in
 * ascending order.
 */
#ifndef FX8_KERNELS_CPU_FIR_COLUMNS_H
#define FX8_KERNELS_CPU_FIR_COLUMNS_H

#include <string.h>

#include "kernels/cpu/vector.h"

#if defined(__AVX2__)

/** Spectra with sums in registers, which take half of the registers; and taps
 *  per step. */
#define MOST_SPECTRA (VEC_REGISTERS / 2)
#define MOST_TAPS    8

/* Samples of a cache line. */
#define LINE 64

/** Copy `width` columns of rows of samples side by side, LINE apart: rows are
 *  often a power of two apart, so that only a few of them fit the first-level
 *  cache together. */
FX8_INLINE void copy_lines(size_t n_rows, const int8_t *samples, size_t row,
                           size_t width, int8_t *lines)
{
    for (size_t r = 0; r < n_rows; r++)
        memcpy(lines + r * LINE, samples + r * row, width);
}

/** Prefetch a line of each row that n_spectra more spectra take: rows are too
 *  many streams for the hardware prefetcher.  Into the second level: the first
 *  is a quarter slower (measured). */
FX8_INLINE void prefetch_rows(size_t n_spectra, const int8_t *samples,
                              size_t row, size_t n_taps)
{
    const int8_t *behind = samples + (n_spectra + n_taps - 1) * row;
    for (size_t t = 0; t < n_spectra; t++)
        __builtin_prefetch(behind + t * row, 0, 2);
}

/** Columns of one step: a full register, or a whole shorter row. */
struct columns {
    const int8_t *samples;
    size_t sample_row;         /* from row to row of the samples */
    const float *coefficients; /* or integers, and their unit */
    const int16_t *integers;
    float scale;
    size_t row; /* from tap to tap of the coefficients */
    size_t n, n_taps;
};

FX8_INLINE vec_int load_samples(const struct columns *at, size_t row)
{
    return vec_load_int8(at->n, at->samples + row * at->sample_row);
}

FX8_INLINE vec_float load_floats(const struct columns *at, size_t tap)
{
    return vec_load_first(at->n, at->coefficients + tap * at->row,
                          VEC(set1_ps)(0.0f));
}

FX8_INLINE vec_int load_integers(const struct columns *at, size_t tap)
{
    return vec_load_int16(at->n, at->integers + tap * at->row);
}

/** Add n_taps taps, from `tap` on, to n_spectra sums; both constants.  Row r
 *  of the samples belongs to tap r - t of spectrum t, so that rows in
 *  ascending order take every sum through its taps in ascending order. */
FX8_INLINE void add_floats(int n_taps, int n_spectra, size_t tap,
                           const struct columns *at, vec_float *sums)
{
    FX8_UNROLL
    for (int r = 0; r < n_spectra + n_taps - 1; r++) {
        const vec_float sample =
            VEC(cvtepi32_ps)(load_samples(at, tap + (size_t)r));
        FX8_UNROLL
        for (int p = 0; p < n_taps; p++)
            if (r - p >= 0 && r - p < n_spectra)
                sums[r - p] = VEC(fmadd_ps)(load_floats(at, tap + (size_t)p),
                                            sample, sums[r - p]);
    }
}

/** The same in integers, n_taps even.  Rows r and r + 1 of the samples, side by
 *  side, belong to taps r - t and r - t + 1 of spectrum t, for even r - t. */
FX8_INLINE void add_pairs(int n_taps, int n_spectra, size_t tap,
                          const struct columns *at, vec_int *sums)
{
    vec_int weights[MOST_TAPS / 2];
    FX8_UNROLL
    for (int p = 0; p < n_taps / 2; p++)
        weights[p] = vec_join_int16(load_integers(at, tap + 2 * (size_t)p),
                                    load_integers(at, tap + 2 * (size_t)p + 1));
    vec_int row = load_samples(at, tap);
    FX8_UNROLL
    for (int r = 0; r < n_spectra + n_taps - 2; r++) {
        const vec_int next = load_samples(at, tap + (size_t)r + 1);
        const vec_int pair = vec_join_int16(row, next);
        FX8_UNROLL
        for (int p = 0; p < n_taps / 2; p++)
            if (r - 2 * p >= 0 && r - 2 * p < n_spectra)
                sums[r - 2 * p] =
                    vec_add_dot_int16(sums[r - 2 * p], weights[p], pair);
        row = next;
    }
}

/** The last of an odd number of taps. */
FX8_INLINE void add_tap(int n_spectra, size_t tap, const struct columns *at,
                        vec_int *sums)
{
    const vec_int weight = load_integers(at, tap);
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++)
        sums[t] = vec_add_dot_int16(sums[t], weight,
                                    load_samples(at, tap + (size_t)t));
}

/** n_taps taps in floats or, where is_integer, in integers; all constants. */
FX8_INLINE void add_taps(bool is_integer, int n_taps, int n_spectra, size_t tap,
                         const struct columns *at, vec_float *floats,
                         vec_int *integers)
{
    if (!is_integer)
        add_floats(n_taps, n_spectra, tap, at, floats);
    else if (n_taps == 1)
        add_tap(n_spectra, tap, at, integers);
    else
        add_pairs(n_taps, n_spectra, tap, at, integers);
}

/** n_spectra (constant) spectra of the columns, in registers. */
FX8_INLINE void sum_columns(bool is_integer, int n_spectra,
                            const struct columns *at, vec_float *floats)
{
    const size_t n_taps = at->n_taps;
    vec_int integers[MOST_SPECTRA];
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++) {
        floats[t] = VEC(set1_ps)(0.0f);
        integers[t] = VEC(set1_epi32)(0);
    }
    size_t tap = 0;
    for (; tap + 8 <= n_taps; tap += 8)
        add_taps(is_integer, 8, n_spectra, tap, at, floats, integers);
    if (n_taps & 4) {
        add_taps(is_integer, 4, n_spectra, tap, at, floats, integers);
        tap += 4;
    }
    if (n_taps & 2) {
        add_taps(is_integer, 2, n_spectra, tap, at, floats, integers);
        tap += 2;
    }
    if (n_taps & 1)
        add_taps(is_integer, 1, n_spectra, tap, at, floats, integers);
    FX8_UNROLL
    for (int t = 0; t < n_spectra && is_integer; t++)
        floats[t] = VEC(cvtepi32_ps)(integers[t]) * VEC(set1_ps)(at->scale);
}

#endif

#endif
