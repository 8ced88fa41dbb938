/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fir_simd.c -- the FIR in floats and in integers, one register of columns at a
 * time (fir_columns.h).
 */
#include "kernels/cpu/fir_columns.h"
#include "kernels/filterbank.h"
#include "kernels/cpu/variants.h"

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

/** n_spectra (constant) spectra of n columns from `first` on, whose samples are
 *  `sample_row` apart. */
FX8_INLINE void fold_columns(bool is_integer, int n_spectra,
                             const struct pass *pass, size_t first, size_t n,
                             const int8_t *samples, size_t sample_row)
{
    const struct columns at = {
        .samples = samples,
        .sample_row = sample_row,
        .coefficients = is_integer ? NULL : pass->coefficients + first,
        .integers = is_integer ? pass->integers + first : NULL,
        .scale = pass->scale,
        .row = pass->row,
        .n = n,
        .n_taps = pass->n_taps,
    };
    float *folded = pass->folded + first;
    vec_float sums[MOST_SPECTRA];
    sum_columns(is_integer, n_spectra, &at, sums);
    FX8_UNROLL
    for (int t = 0; t < n_spectra; t++)
        vec_store_first(n, folded + (size_t)t * pass->folded_stride, sums[t]);
}

/** The same of a line of columns.  Sixteen rows a power of two apart do not fit
 *  the ways of the cache: copied, they gain floats a sixth (measured; integers,
 *  and the eight of AVX2, lose a tenth). */
FX8_INLINE void fold_line(bool is_integer, int n_spectra,
                          const struct pass *pass, size_t first)
{
    FX8_ALIGNED int8_t lines[(MOST_SPECTRA + FX8_MAX_TAPS - 1) * LINE];
    const int8_t *samples = pass->samples + first;
    size_t sample_row = pass->row;
    prefetch_rows((size_t)n_spectra, samples, pass->row, pass->n_taps);
    if (!is_integer && MOST_SPECTRA > 8) {
        copy_lines((size_t)n_spectra + pass->n_taps - 1, samples, pass->row,
                   LINE, lines);
        samples = lines;
        sample_row = LINE;
    }
    for (size_t c = 0; c < LINE; c += VEC_LANES)
        fold_columns(is_integer, n_spectra, pass, first + c, VEC_LANES,
                     samples + c, sample_row);
}

/** n_spectra (constant) spectra, whole rows; then advance to the next ones.  If
 *  a row is not a multiple of VEC_LANES, its last step overlaps the previous
 *  one. */
FX8_INLINE void fold_rows(bool is_integer, bool is_narrow, int n_spectra,
                          struct pass *pass)
{
    const size_t row = pass->row;
    if (is_narrow) {
        fold_columns(is_integer, n_spectra, pass, 0, row, pass->samples, row);
    } else {
        size_t column = 0;
        for (; column + LINE <= row; column += LINE)
            fold_line(is_integer, n_spectra, pass, column);
        for (; column < row; column += VEC_LANES) {
            if (column + VEC_LANES > row)
                column = row - VEC_LANES;
            fold_columns(is_integer, n_spectra, pass, column, VEC_LANES,
                         pass->samples + column, row);
        }
    }
    pass->samples += (size_t)n_spectra * row;
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
