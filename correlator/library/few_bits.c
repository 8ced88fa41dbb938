/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/few_bits.h"

struct fx8_few_bits {
    struct fx8_threads threads;
    size_t n_inputs, n_rows;
    int64_t *counts;                  /* [n_rows][FX8_ROW_VALUES] */
    struct fx8_staircase *staircases; /* [n_rows][2] of the last dump */
    struct fx8_van_vleck *van_vleck;
};

enum { N_ARRAYS = 2 };

static void list_arrays(struct fx8_few_bits *f, size_t n_rows,
                        struct fx8_array arrays[N_ARRAYS])
{
    arrays[0] = (struct fx8_array)FX8_ITEMS(
        f->counts, fx8_product(n_rows, FX8_ROW_VALUES, 1, 1));
    arrays[1] = (struct fx8_array)FX8_ITEMS(f->staircases, 2 * n_rows);
}

size_t fx8_few_bits_size(const struct fx8_plan *plan, size_t n_rows)
{
    struct fx8_few_bits unused;
    struct fx8_array arrays[N_ARRAYS];
    if (!plan->van_vleck)
        return 0;
    list_arrays(&unused, n_rows, arrays);
    const size_t lags =
        fx8_van_vleck_size(plan->is_complex, plan->channelizer.n_channels,
                           plan->machine.threads.count);
    const size_t others = fx8_arrays_size(arrays, N_ARRAYS);
    return lags > SIZE_MAX - others ? SIZE_MAX : lags + others;
}

enum fx8_status fx8_few_bits_open(const struct fx8_plan *plan, size_t n_rows,
                                  struct fx8_few_bits **few_bits,
                                  struct fx8_error *error)
{
    *few_bits = NULL;
    FX8_AUTO(fx8_few_bits_close) struct fx8_few_bits *f = NULL;
    struct fx8_array arrays[N_ARRAYS];
    if (!plan->van_vleck)
        return FX8_OK;
    FX8_TRY(fx8_allocate(1, sizeof *f, "values of samples", &f, error));
    f->threads = plan->machine.threads;
    f->n_inputs = n_rows / plan->n_bands;
    f->n_rows = n_rows;
    list_arrays(f, n_rows, arrays);
    FX8_TRY(fx8_allocate_arrays(arrays, N_ARRAYS, "values of samples", error));
    FX8_TRY(fx8_van_vleck_open(plan->is_complex, plan->lower_sideband,
                               plan->channelizer.n_channels, f->threads.count,
                               &f->van_vleck, error));
    *few_bits = f;
    f = NULL;
    return FX8_OK;
}

void fx8_few_bits_close(struct fx8_few_bits **few_bits)
{
    struct fx8_few_bits *f = *few_bits;
    if (f == NULL)
        return;
    free(f->counts);
    free(f->staircases);
    fx8_van_vleck_close(&f->van_vleck);
    free(f);
    *few_bits = NULL;
}

/* --- counting ------------------------------------------------------------- */

struct context {
    struct fx8_few_bits *few_bits;
    const struct fx8_stream *stream;
    const uint64_t *valid;
    size_t n_spectra;
};

/* A sample of two parts counts in both halves of a row's counters, one of one
 * part in the first. */
static void count_row(void *context, size_t row, size_t thread)
{
    (void)thread;
    const struct context *job = context;
    const struct fx8_stream_shape *shape = fx8_stream_shape(job->stream);
    const size_t size = shape->sample_size, n = job->n_spectra;
    const size_t bytes = (size_t)shape->window * size;
    const uint64_t *valid = job->valid + row * fx8_bit_words(n);
    int64_t *counts = job->few_bits->counts + row * FX8_ROW_VALUES + 128;
    for (size_t t = fx8_bit_next(valid, 0, n); t < n;
         t = fx8_bit_next(valid, t + 1, n)) {
        const int8_t *window = fx8_stream_window(job->stream, row, t);
        for (size_t k = 0; k < bytes; k++)
            counts[window[k] + (ptrdiff_t)(k % size) * FX8_INT8_VALUES]++;
    }
}

static enum fx8_status refuse(const struct fx8_few_bits *f, size_t row,
                              struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_USAGE,
                    "plan: van_vleck: expected samples of at most 4 bits: "
                    "input %zu has more than %d values",
                    row % f->n_inputs, FX8_FEW_VALUES);
}

/* Refuse a recording at its first block, rather than at the end of a dump. */
static enum fx8_status check(const struct fx8_few_bits *f,
                             struct fx8_error *error)
{
    for (size_t part = 0; part < 2 * f->n_rows; part++) {
        const int64_t *counts = f->counts + part * FX8_INT8_VALUES;
        size_t n_values = 0;
        for (size_t value = 0; value < FX8_INT8_VALUES; value++)
            n_values += counts[value] > 0;
        if (n_values > FX8_FEW_VALUES)
            return refuse(f, part / 2, error);
    }
    return FX8_OK;
}

enum fx8_status fx8_few_bits_count(struct fx8_few_bits *few_bits,
                                   const struct fx8_stream *stream,
                                   const uint64_t *valid, size_t n_spectra,
                                   struct fx8_error *error)
{
    struct context job = {few_bits, stream, valid, n_spectra};
    fx8_parallel_for(few_bits->n_rows, few_bits->threads.count,
                     few_bits->threads.pin, count_row, &job);
    return check(few_bits, error);
}

int64_t *fx8_few_bits_counts(struct fx8_few_bits *few_bits)
{
    return few_bits->counts;
}

/* --- dumps ---------------------------------------------------------------- */

enum fx8_status fx8_few_bits_measure(struct fx8_few_bits *few_bits,
                                     struct fx8_error *error)
{
    struct fx8_few_bits *f = few_bits;
    for (size_t part = 0; part < 2 * f->n_rows; part++)
        if (!fx8_staircase_measure(f->counts + part * FX8_INT8_VALUES,
                                   &f->staircases[part]))
            return refuse(f, part / 2, error);
    memset(f->counts, 0, f->n_rows * FX8_ROW_VALUES * sizeof *f->counts);
    return FX8_OK;
}

void fx8_few_bits_correct(const struct fx8_few_bits *few_bits, size_t first_row,
                          const struct fx8_postprocess *plan,
                          const struct fx8_result *result)
{
    fx8_van_vleck_correct(few_bits->van_vleck,
                          few_bits->staircases + 2 * first_row, plan, result);
}
