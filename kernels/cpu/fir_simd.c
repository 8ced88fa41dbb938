/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fir_simd.c -- the FIR in floats and in integers, one register of columns at a
 * time.  The sums of several spectra stay in registers: a sample is converted
 * once for up to 8 multiply-adds, and every sum takes its taps in ascending
 * order.
 */
#include "kernels/cpu/variants.h"
#include "kernels/cpu/vector.h"

/* Samples of a cache line. */
#define LINE 64

/* Spectra with sums in registers, which take half of the registers; and taps
 * per step. */
#define MOST_SPECTRA (VEC_REGISTERS / 2)
#define MOST_TAPS    8

/** Arguments of fir or fir_int16, from the first spectrum of a pass on. */
struct pass {
    size_t n_taps, row;
    const int8_t *samples;
    const float *coefficients; /* of fir */
    const int16_t *integers;   /* of fir_int16, and their unit */
    float scale;
    float *folded;
    size_t folded_stride;
};

/** Columns of one step: a full register, or a whole shorter row. */
struct columns {
    const int8_t *samples;
    const float *coefficients;
    const int16_t *integers;
    size_t row, n;
};

FX8_INLINE vec_int load_samples(const struct columns *at, size_t row)
{
    return vec_load_int8(at->n, at->samples + row * at->row);
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

/** n_spectra (constant) spectra of n columns from `first` on. */
FX8_INLINE void fold_columns(bool is_integer, int n_spectra,
                             const struct pass *pass, size_t first, size_t n)
{
    const struct columns at = {
        .samples = pass->samples + first,
        .coefficients = is_integer ? NULL : pass->coefficients + first,
        .integers = is_integer ? pass->integers + first : NULL,
        .row = pass->row,
        .n = n,
    };
    float *folded = pass->folded + first;
    const size_t n_taps = pass->n_taps;
    vec_float floats[MOST_SPECTRA];
    vec_int integers[MOST_SPECTRA];
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++) {
        floats[t] = VEC(set1_ps)(0.0f);
        integers[t] = VEC(set1_epi32)(0);
    }
    size_t tap = 0;
    for (; tap + 8 <= n_taps; tap += 8)
        add_taps(is_integer, 8, n_spectra, tap, &at, floats, integers);
    if (n_taps & 4) {
        add_taps(is_integer, 4, n_spectra, tap, &at, floats, integers);
        tap += 4;
    }
    if (n_taps & 2) {
        add_taps(is_integer, 2, n_spectra, tap, &at, floats, integers);
        tap += 2;
    }
    if (n_taps & 1)
        add_taps(is_integer, 1, n_spectra, tap, &at, floats, integers);
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++) {
        if (is_integer)
            floats[t] =
                VEC(cvtepi32_ps)(integers[t]) * VEC(set1_ps)(pass->scale);
        vec_store_first(n, folded + (size_t)t * pass->folded_stride, floats[t]);
    }
}

/** Prefetch a line of each row of the next pass: rows are too many streams for
 *  the hardware prefetcher.  Into the second level: the first is a quarter
 *  slower (measured). */
FX8_INLINE void prefetch(int n_spectra, const struct pass *pass, size_t column)
{
    const int8_t *behind =
        pass->samples + ((size_t)n_spectra + pass->n_taps - 1) * pass->row;
    for (size_t row = 0; row < (size_t)n_spectra; row++)
        __builtin_prefetch(behind + row * pass->row + column, 0, 2);
}

/** n_spectra (constant) spectra, whole rows; then advance to the next ones.  If
 *  a row is not a multiple of VEC_LANES, its last step overlaps the previous
 *  one. */
FX8_INLINE void fold_rows(bool is_integer, bool is_narrow, int n_spectra,
                          struct pass *pass)
{
    if (is_narrow) {
        fold_columns(is_integer, n_spectra, pass, 0, pass->row);
    } else {
        size_t column = 0;
        for (; column + VEC_LANES <= pass->row; column += VEC_LANES) {
            if (column % LINE == 0 && pass->row >= LINE)
                prefetch(n_spectra, pass, column);
            fold_columns(is_integer, n_spectra, pass, column, VEC_LANES);
        }
        if (column < pass->row)
            fold_columns(is_integer, n_spectra, pass, pass->row - VEC_LANES,
                         VEC_LANES);
    }
    pass->samples += (size_t)n_spectra * pass->row;
    pass->folded += (size_t)n_spectra * pass->folded_stride;
}

/** Any number of spectra, MOST_SPECTRA at a time, then 4, then 1; is_narrow:
 *  rows have fewer columns than a register. */
FX8_INLINE void fold(bool is_integer, bool is_narrow, size_t n_spectra,
                     struct pass pass)
{
    size_t n_left = n_spectra;
    for (; n_left >= MOST_SPECTRA; n_left -= MOST_SPECTRA)
        fold_rows(is_integer, is_narrow, MOST_SPECTRA, &pass);
    for (; n_left >= 4; n_left -= 4)
        fold_rows(is_integer, is_narrow, 4, &pass);
    for (; n_left > 0; n_left--)
        fold_rows(is_integer, is_narrow, 1, &pass);
}

static void fir(size_t n_spectra, size_t n_taps, size_t row,
                const int8_t *samples, const float *coefficients, float *folded,
                size_t folded_stride)
{
    const struct pass pass = {.n_taps = n_taps,
                              .row = row,
                              .samples = samples,
                              .coefficients = coefficients,
                              .folded = folded,
                              .folded_stride = folded_stride};
    if (row < VEC_LANES)
        fold(false, true, n_spectra, pass);
    else
        fold(false, false, n_spectra, pass);
}

static void fir_int16(size_t n_spectra, size_t n_taps, size_t row,
                      const int8_t *samples, const int16_t *coefficients,
                      float scale, float *folded, size_t folded_stride)
{
    const struct pass pass = {.n_taps = n_taps,
                              .row = row,
                              .samples = samples,
                              .integers = coefficients,
                              .scale = scale,
                              .folded = folded,
                              .folded_stride = folded_stride};
    if (row < VEC_LANES)
        fold(true, true, n_spectra, pass);
    else
        fold(true, false, n_spectra, pass);
}

void FX8_VARIANT(fx8_fill_fir)(struct fx8_operations *operations)
{
    operations->fir = fir;
    operations->fir_int16 = fir_int16;
}
