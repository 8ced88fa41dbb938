/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_memory.c -- what a session needs of memory, whether a limit allows
 * it, and its own arrays.
 */
#include <stdio.h>
#include <string.h>

#include "config/base/dump_arrays.h"
#include "config/base/shape.h"
#include "correlator/library/session_private.h"
#include "kernels/engine_find.h"

struct fx8_stream_shape fx8_session_stream_shape(
    const struct fx8_session *s, const struct fx8_engine_operations *operations,
    size_t block_spectra)
{
    const struct fx8_plan *plan = &s->plan;
    return (struct fx8_stream_shape){
        .n_inputs = s->axes.n_rows,
        .sample_size = plan->is_complex ? 2 : 1,
        .step = (int64_t)s->axes.step,
        .window = (int64_t)s->axes.window,
        .tracker = s->tracker,
        .margin = (int64_t)s->axes.margin,
        .n_delays = s->axes.n_inputs,
        .most_spectra = block_spectra,
        .has_two = operations->pin != NULL,
        .marker = plan->marker,
        .blanking = plan->blanking,
        .threads = plan->machine.threads,
    };
}

/* Size of the list of list_arrays(). */
enum { N_ARRAYS = 32 };

/* List sums and results of every precision, [n_sums] and [n_cells]; size 0 if
 * not planned, and for sums that stay in an engine.  Returns the number of
 * arrays. */
static size_t list_results(struct fx8_session *s,
                           const struct fx8_engine_operations *operations,
                           size_t n_sums, size_t n_cells,
                           struct fx8_array *arrays)
{
    size_t n = 0;
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++) {
        const bool is_planned = s->plan.precision >> kind & 1;
        const bool has_sums =
            is_planned &&
            (fx8_session_has_sums(s, operations) || kind >= FX8_RESULT_DOWN);
        arrays[n++] = (struct fx8_array){&s->band.sums[kind], n_sums,
                                         has_sums * sizeof(double)};
        fx8_list_result(&s->results[kind], n_cells, is_planned, arrays + n);
        n += FX8_RESULT_ARRAYS;
    }
    return n;
}

size_t fx8_session_cells(const struct fx8_session *s)
{
    return fx8_product(s->slice_baselines, s->axes.n_products,
                       s->axes.n_fine / s->axes.band_average, 1);
}

/* Pairs of inputs of a slice: a baseline has at most one for each product. */
static size_t count_pairs(const struct fx8_session *s)
{
    const size_t most = s->slice_baselines * s->axes.n_products;
    const size_t all = fx8_pair_count(s->axes.n_inputs);
    return most < all ? most : all;
}

/* List the session's own arrays for engines of these operations; returns their
 * number. */
static size_t list_arrays(struct fx8_session *s,
                          const struct fx8_engine_operations *operations,
                          size_t block_spectra,
                          struct fx8_array arrays[N_ARRAYS])
{
    const size_t inputs = s->axes.n_inputs, rows = s->axes.n_rows,
                 kept = s->axes.n_kept;
    const size_t baselines = s->slice_baselines;
    const size_t products = s->axes.n_products;
    const size_t pairs = count_pairs(s);
    const bool has_sk = s->plan.sk_false_alarm > 0.0;
    const struct fx8_array fixed[] = {
        FX8_ITEMS(s->products, baselines * products),
        {&s->flag_channel, s->axes.n_fine, 1},
        {&s->flag_input, rows, 1},
        FX8_ITEMS(s->band.counts, pairs),
        FX8_ITEMS(s->band.clips, fx8_product(inputs, kept, 1, 1)),
        FX8_ITEMS(s->valid,
                  fx8_product(rows, fx8_bit_words(block_spectra), 1, 1)),
        {&s->rotations, fx8_product(rows, fx8_groups(block_spectra), 1, 1),
         s->tracker != NULL ? sizeof *s->rotations : 0},
        {&s->band.moments, fx8_product(inputs, kept, 2, 1),
         has_sk * sizeof(double)},
        {&s->flag_sk, fx8_product(inputs, s->axes.n_fine, 1, 1), has_sk},
        {&s->flag_cell, fx8_product(inputs, s->axes.n_fine, 1, 1), has_sk},
        FX8_ITEMS(s->valid_in_dump, rows),
        FX8_ITEMS(s->valid_of_dump, rows),
        FX8_ITEMS(s->has_signal, rows),
        {&s->dead, rows, 1},
        FX8_ITEMS(s->clips, fx8_product(rows, kept, 1, 1)),
        FX8_ITEMS(s->valid_spectra, rows),
    };
    const size_t n = sizeof fixed / sizeof *fixed;
    _Static_assert(sizeof fixed / sizeof *fixed +
                           FX8_N_RESULTS * (1 + FX8_RESULT_ARRAYS) ==
                       N_ARRAYS,
                   "as many as are listed");
    memcpy(arrays, fixed, sizeof fixed);
    return n + list_results(s, operations, fx8_product(kept, pairs, 2, 1),
                            fx8_session_cells(s), arrays + n);
}

/* a + b; SIZE_MAX on overflow. */
static size_t plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

/* Bytes that a session needs. */
struct need {
    size_t spectra; /* engines and gains */
    size_t samples;
    size_t results;
    size_t beside; /* the caller */
};

static size_t sum_of(const struct need *need)
{
    return plus(plus(need->spectra, need->samples),
                plus(need->results, need->beside));
}

/* With engines of these operations that need `engines` bytes.  Gains need a
 * copy of the samples to look ahead. */
static struct need find_need(struct fx8_session *s,
                             const struct fx8_engine_operations *operations,
                             size_t engines, size_t block_spectra)
{
    const struct fx8_stream_shape stream =
        fx8_session_stream_shape(s, operations, block_spectra);
    struct fx8_stream_shape ahead = stream;
    ahead.has_two = false;
    const bool has_levels = s->axes.has_quantiser;
    const struct fx8_machine *machine = &s->plan.machine;
    struct fx8_array arrays[N_ARRAYS];
    const size_t n = list_arrays(s, operations, block_spectra, arrays);
    const size_t delays = s->tracker != NULL ? fx8_tracker_size(&s->axes) : 0;
    struct need need = {
        .spectra = engines,
        .samples = plus(plus(fx8_stream_size(&stream), delays),
                        has_levels ? fx8_stream_size(&ahead) : 0),
        .results = plus(
            plus(fx8_arrays_taken(arrays, n), fx8_session_quicklook_size(s)),
            fx8_few_bits_size(&s->plan, s->axes.n_rows)),
        .beside = plus(machine->beside,
                       fx8_session_has_slices(s) ? 0 : machine->beside_whole),
    };
    if (has_levels)
        need.spectra =
            plus(plus(engines, fx8_gains_size(s)),
                 fx8_power_size(&s->bank, s->plan.machine.threads.count));
    return need;
}

static size_t whole_mib(size_t bytes)
{
    return (bytes >> 20) + (bytes % ((size_t)1 << 20) != 0);
}

/* Report the smallest sufficient limit and its parts, in whole MiB that add up.
 */
static enum fx8_status refuse(const struct need *need, const char *reason,
                              struct fx8_error *error)
{
    const size_t spectra = whole_mib(need->spectra);
    const size_t with_samples = whole_mib(plus(need->spectra, need->samples));
    const size_t all = whole_mib(sum_of(need));
    const size_t own = whole_mib(sum_of(need) - need->beside);
    char beside[64] = "";
    if (need->beside > 0)
        snprintf(beside, sizeof beside, ", %zu for files and the program",
                 all - own);
    return fx8_fail(error, FX8_ERR_USAGE,
                    "plan: memory_limit: expected at least %zu MiB: %zu for "
                    "spectra, levels and sums, %zu for samples, %zu for "
                    "results%s%s",
                    all, spectra, with_samples - spectra, own - with_samples,
                    beside, reason);
}

/* Choose slices as large as `most` bytes allow, or the smallest ones. */
static void choose_slices(struct fx8_session *s, size_t engines,
                          size_t block_spectra, size_t most)
{
    size_t fits = fx8_slices_least(s->plan.n_antennas);
    size_t beyond = s->slice_baselines;
    while (fits + 1 < beyond) {
        s->slice_baselines = fits + (beyond - fits) / 2;
        const struct need need =
            find_need(s, &fx8_engine_cpu, engines, block_spectra);
        *(sum_of(&need) <= most ? &fits : &beyond) = s->slice_baselines;
    }
    s->slice_baselines = fits;
}

enum fx8_status fx8_session_admit(void *context, size_t bytes,
                                  size_t block_spectra, struct fx8_error *error)
{
    struct fx8_session *s = context;
    const size_t engines = fx8_product(bytes, s->plan.n_bands, 1, 1);
    const size_t slices_above = s->plan.machine.slices_above;
    struct need need = find_need(s, &fx8_engine_cpu, engines, block_spectra);
    if (slices_above > 0 && sum_of(&need) > slices_above) {
        choose_slices(s, engines, block_spectra, slices_above);
        need = find_need(s, &fx8_engine_cpu, engines, block_spectra);
    }
    return s->plan.machine.memory_limit == 0 ||
                   sum_of(&need) <= s->plan.machine.memory_limit
               ? FX8_OK
               : refuse(&need, "", error);
}

enum fx8_status fx8_session_check_memory(struct fx8_session *s, size_t engines,
                                         struct fx8_error *error)
{
    const size_t limit = s->plan.machine.memory_limit;
    const struct need need =
        find_need(s, s->operations, engines,
                  s->operations->facts(s->engines[0])->block_spectra);
    s->memory = sum_of(&need) - need.beside;
    s->beside = need.beside;
    if (limit == 0 || sum_of(&need) <= limit)
        return FX8_OK;
    return refuse(&need,
                  s->plan.machine.slices_above > 0 &&
                          s->operations->end_dump != NULL
                      ? "; the CPU takes less: it can deliver slices of dumps"
                      : "",
                  error);
}

enum fx8_status fx8_session_allocate(struct fx8_session *s,
                                     struct fx8_error *error)
{
    struct fx8_array arrays[N_ARRAYS];
    const size_t n =
        list_arrays(s, s->operations,
                    s->operations->facts(s->engines[0])->block_spectra, arrays);
    return fx8_allocate_arrays(arrays, n, "results", error);
}

void fx8_session_free(struct fx8_session *s)
{
    struct fx8_array arrays[N_ARRAYS];
    const size_t n = list_arrays(s, &fx8_engine_cpu, 0, arrays);
    fx8_free_arrays(arrays, n);
}
