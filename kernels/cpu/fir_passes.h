/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fir_passes.h -- the FIR of the vector variants, in floats and in integers,
 * but for the inner step that the including file hands in: the sums of some
 * spectra and of the columns of a register.
 */
#ifndef FX8_KERNELS_CPU_FIR_PASSES_H
#define FX8_KERNELS_CPU_FIR_PASSES_H

#include "kernels/cpu/simd.h"
#include "kernels/cpu/variants.h"

/* Samples of a cache line. */
#define FIR_LINE 64

/** Arguments of fir or fir_int16, from the first spectrum of a pass on. */
struct fir_pass {
    size_t n_taps, row;
    const int8_t *samples;
    const float *coefficients; /* of fir */
    const int16_t *integers;   /* of fir_int16, and their unit */
    float scale;
    float *folded;
    size_t folded_stride;
};

/** Inner step: n_spectra (constant) spectra of the n_columns columns from
 *  `column` on: as many as a register holds, or a whole row of fewer. */
typedef void fir_step(int n_spectra, const struct fir_pass *pass, size_t column,
                      size_t n_columns);

/** Ask for a line of each row behind those of a pass, which the next pass
 *  takes: rows are too many streams for the CPU to follow by itself.  Into the
 *  second level: asking for the first is a quarter slower (measured). */
FX8_INLINE void fir_prefetch(int n_spectra, const struct fir_pass *pass,
                             size_t column)
{
    const int8_t *behind =
        pass->samples + ((size_t)n_spectra + pass->n_taps - 1) * pass->row;
    for (size_t row = 0; row < (size_t)n_spectra; row++)
        __builtin_prefetch(behind + row * pass->row + column, 0, 2);
}

/** n_spectra (constant) spectra, whole rows; then on to the next ones.  The
 *  last step of a row that is no multiple of `lanes` takes again what the one
 *  before it has taken. */
FX8_INLINE void fir_take_rows(fir_step *inner, size_t lanes, int n_spectra,
                              struct fir_pass *pass)
{
    size_t column = 0;
    for (; column + lanes <= pass->row; column += lanes) {
        if (column % FIR_LINE == 0 && pass->row >= FIR_LINE)
            fir_prefetch(n_spectra, pass, column);
        inner(n_spectra, pass, column, lanes);
    }
    if (column == 0)
        inner(n_spectra, pass, 0, pass->row);
    else if (column < pass->row)
        inner(n_spectra, pass, pass->row - lanes, lanes);
    pass->samples += (size_t)n_spectra * pass->row;
    pass->folded += (size_t)n_spectra * pass->folded_stride;
}

/** Any number of spectra, most_spectra (constant) at a time, then 4, then 1. */
FX8_INLINE void fir_passes(fir_step *inner, size_t lanes, int most_spectra,
                           size_t n_spectra, struct fir_pass pass)
{
    size_t n_left = n_spectra;
    for (; n_left >= (size_t)most_spectra; n_left -= (size_t)most_spectra)
        fir_take_rows(inner, lanes, most_spectra, &pass);
    for (; n_left >= 4; n_left -= 4)
        fir_take_rows(inner, lanes, 4, &pass);
    for (; n_left > 0; n_left--)
        fir_take_rows(inner, lanes, 1, &pass);
}

#endif
