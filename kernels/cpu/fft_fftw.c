/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fft_fftw.c -- the only file that uses FFTW (single precision).
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include <fftw3.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/fft.h"

struct fx8_fft {
    enum fx8_fft_kind kind;
    size_t batch;
    size_t stride; /**< floats */
    fftwf_plan plan;
};

/* Floats per cache line: every transform of a batch starts on a line, so that
 * all have the alignment that FFTW planned for. */
#define LINE_FLOATS (FX8_ALIGNMENT / sizeof(float))

/* If transforms were a multiple of so many lines apart, the same column of all
 * of them would share a few of the 64 sets of a first-level cache. */
#define LINES_APART 16

/* Most bytes of a batch, without results, so that FIR, FFT and quantiser find
 * it in the second-level cache. */
#define BATCH_BYTES ((size_t)2 << 20)

/* FFTW's planner is one global object. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static bool is_complex(enum fx8_fft_kind kind)
{
    return kind == FX8_FFT_COMPLEX || kind == FX8_FFT_INVERSE_COMPLEX;
}

/** Results of a batch at `data`.  In place, FFTW collects complex spectra in a
 *  buffer and copies them back: out of place is never slower, and up to twice
 *  as fast.  Real spectra gain at some lengths and lose at others. */
static float *results(enum fx8_fft_kind kind, size_t batch, size_t stride,
                      float *data)
{
    return kind == FX8_FFT_COMPLEX ? data + batch * stride : data;
}

/** Floats of a batch and its results. */
static size_t size_of(enum fx8_fft_kind kind, size_t batch, size_t stride)
{
    return fx8_product(batch, stride, kind == FX8_FFT_COMPLEX ? 2 : 1, 1);
}

/** Plan on `data`, which a measuring planner overwrites. */
static fftwf_plan make_plan(enum fx8_fft_kind kind, int length, int batch,
                            int stride, unsigned flags, float *data)
{
    fftwf_complex *bins = (fftwf_complex *)data;
    fftwf_complex *out =
        (fftwf_complex *)results(kind, (size_t)batch, (size_t)stride, data);
    const int distance = stride / 2;
    switch (kind) {
    case FX8_FFT_COMPLEX:
    case FX8_FFT_INVERSE_COMPLEX:
        return fftwf_plan_many_dft(
            1, &length, batch, bins, NULL, 1, distance, out, NULL, 1, distance,
            kind == FX8_FFT_COMPLEX ? FFTW_FORWARD : FFTW_BACKWARD, flags);
    case FX8_FFT_REAL:
        return fftwf_plan_many_dft_r2c(1, &length, batch, data, NULL, 1, stride,
                                       bins, NULL, 1, distance, flags);
    case FX8_FFT_INVERSE_REAL:
        return fftwf_plan_many_dft_c2r(1, &length, batch, bins, NULL, 1,
                                       distance, data, NULL, 1, stride, flags);
    }
    return NULL;
}

/**
 * An estimated plan must be a function of its arguments alone, but FFTW
 * prefers wisdom from earlier measurements in this process.  Remove that wisdom
 * while planning.
 */
static fftwf_plan make_estimated_plan(enum fx8_fft_kind kind, int length,
                                      int batch, int stride, float *data)
{
    char *wisdom = fftwf_export_wisdom_to_string();
    fftwf_forget_wisdom();
    fftwf_plan plan =
        make_plan(kind, length, batch, stride, FFTW_ESTIMATE, data);
    if (wisdom != NULL) {
        fftwf_forget_wisdom();
        (void)fftwf_import_wisdom_from_string(wisdom);
        free(wisdom);
    }
    return plan;
}

enum fx8_status fx8_fft_open(enum fx8_fft_kind kind, size_t length,
                             size_t batch, bool measure, struct fx8_fft **fft,
                             struct fx8_error *error)
{
    *fft = NULL;
    /* FFTW counts in int, the stride in floats included. */
    const size_t longest = (INT_MAX - 2 * LINE_FLOATS) / 2;
    if (length == 0 || length > longest)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "FFT: length: %zu: expected 1 to %zu", length, longest);
    if (batch == 0 || batch > INT_MAX)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "FFT: batch: %zu: expected 1 to %d", batch, INT_MAX);
    const size_t stride = fx8_fft_stride_of(kind, length);

    FX8_AUTO_FREE void *data = NULL, *memory = NULL;
    FX8_TRY(fx8_allocate(size_of(kind, batch, stride), sizeof(float),
                         "planning an FFT", &data, error));
    FX8_TRY(fx8_allocate(1, sizeof(struct fx8_fft), "an FFT", &memory, error));
    struct fx8_fft *opened = memory;
    opened->kind = kind;
    opened->batch = batch;
    opened->stride = stride;
    pthread_mutex_lock(&planner);
    opened->plan = measure ? make_plan(kind, (int)length, (int)batch,
                                       (int)stride, FFTW_MEASURE, data)
                           : make_estimated_plan(kind, (int)length, (int)batch,
                                                 (int)stride, data);
    pthread_mutex_unlock(&planner);
    if (opened->plan == NULL)
        return fx8_fail(error, FX8_ERR_SYSTEM,
                        "FFT: length %zu, batch %zu: FFTW found no plan; out "
                        "of memory?",
                        length, batch);
    *fft = opened;
    memory = NULL;
    return FX8_OK;
}

size_t fx8_fft_stride_of(enum fx8_fft_kind kind, size_t length)
{
    const size_t floats = is_complex(kind) ? 2 * length : 2 * (length / 2 + 1);
    const size_t stride = fx8_round_up(floats, LINE_FLOATS);
    return stride % (LINES_APART * LINE_FLOATS) == 0 ? stride + LINE_FLOATS
                                                     : stride;
}

size_t fx8_fft_stride(const struct fx8_fft *fft)
{
    return fft->stride;
}

size_t fx8_fft_size(const struct fx8_fft *fft)
{
    return size_of(fft->kind, fft->batch, fft->stride);
}

size_t fx8_fft_size_of(enum fx8_fft_kind kind, size_t length, size_t batch)
{
    return size_of(kind, batch, fx8_fft_stride_of(kind, length));
}

float *fx8_fft_execute(const struct fx8_fft *fft, float *data)
{
    float *out = results(fft->kind, fft->batch, fft->stride, data);
    switch (fft->kind) {
    case FX8_FFT_COMPLEX:
    case FX8_FFT_INVERSE_COMPLEX:
        fftwf_execute_dft(fft->plan, (fftwf_complex *)data,
                          (fftwf_complex *)out);
        break;
    case FX8_FFT_REAL:
        fftwf_execute_dft_r2c(fft->plan, data, (fftwf_complex *)out);
        break;
    case FX8_FFT_INVERSE_REAL:
        fftwf_execute_dft_c2r(fft->plan, (fftwf_complex *)data, out);
        break;
    }
    return out;
}

void fx8_fft_close(struct fx8_fft **fft)
{
    if (*fft == NULL)
        return;
    pthread_mutex_lock(&planner);
    fftwf_destroy_plan((*fft)->plan);
    pthread_mutex_unlock(&planner);
    free(*fft);
    *fft = NULL;
}

size_t fx8_fft_batch(size_t length)
{
    size_t batch = FX8_GROUP;
    while (batch > 1 && length > BATCH_BYTES / sizeof(struct fx8_cf32) / batch)
        batch /= 2;
    return batch;
}
