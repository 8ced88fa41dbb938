/* SPDX-License-Identifier: BSD-3-Clause */
/* results.cu -- see engine_cuda.h: from sums to results on the device, some
 * antennas at a time to save device memory. */
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/postprocess.h"
#include "kernels/numeric/visibility.h"

/* Rows of items on the host that results depend on; NULL: none. */
struct plan_array {
    void *to;
    const void *from;
    size_t item_size, pitch, length, n; /* items from row to row, and in one */
};

/* Copy to the device, through pinned memory from `used` on. */
static enum fx8_status upload(const struct fx8_cuda_device *device,
                              const struct plan_array *array, size_t *used,
                              struct fx8_error *error)
{
    const size_t row = array->length * array->item_size;
    const char *const from = static_cast<const char *>(array->from);
    char *const pinned = device->results.pinned_plan + *used;
    if (from == nullptr)
        return FX8_OK;
    *used += fx8_round_up(array->n * row, FX8_CUDA_PLAN_UNIT);
    for (size_t k = 0; k < array->n; ++k)
        memcpy(pinned + k * row, from + k * array->pitch * array->item_size,
               row);
    return fx8_cuda_copy(device, device->compute, array->to, pinned,
                         array->n * row, cudaMemcpyHostToDevice, "of results",
                         error);
}

/* Copy the inputs of the results other than sums; `plan` becomes the device's
 * plan. */
static enum fx8_status upload_plan(const struct fx8_engine *engine,
                                   const struct fx8_cuda_device *device,
                                   const int64_t *counts,
                                   struct fx8_postprocess *plan,
                                   struct fx8_error *error)
{
    const struct fx8_cuda_results *to = &device->results;
    const struct fx8_postprocess from = *plan;
    const size_t inputs = from.n_inputs, channels = from.n_channels;
    const size_t row = fx8_postprocess_row(&from);
    const size_t products = engine->shape.n_baselines * from.n_products;
    const size_t pairs = engine->shape.n_pairs;
    const struct plan_array arrays[] = {
        {to->products, from.products, sizeof *to->products, 0, products, 1},
        {to->counts, counts, sizeof *to->counts, 0, pairs, 1},
        {to->gain, from.gain, sizeof *to->gain, row, channels, inputs},
        {to->flag_cell, from.flag_cell, 1, row, channels, inputs},
        {to->input_gain, from.input_gain, sizeof *to->input_gain, 0, inputs, 1},
        {to->ripple, from.ripple, sizeof *to->ripple, 0, channels, 1},
        {to->flag_input, from.flag_input, 1, 0, inputs, 1},
        {to->flag_channel, from.flag_channel, 1, 0, channels, 1},
    };
    plan->products = to->products;
    plan->gain = from.gain == nullptr ? nullptr : to->gain;
    plan->input_gain = from.input_gain == nullptr ? nullptr : to->input_gain;
    plan->ripple = from.ripple == nullptr ? nullptr : to->ripple;
    plan->flag_cell = from.flag_cell == nullptr ? nullptr : to->flag_cell;
    plan->flag_input = to->flag_input;
    plan->flag_channel = to->flag_channel;
    plan->row_channels = 0;
    size_t used = 0;
    for (const struct plan_array &array : arrays)
        FX8_TRY(upload(device, &array, &used, error));
    return FX8_OK;
}

/* Cells of a baseline on the device. */
static size_t row_cells(const struct fx8_postprocess *plan)
{
    return plan->n_channels / plan->channel_average * plan->n_products;
}

/* Device memory of slab `number`, which begins with a baseline; kept slabs are
 * contiguous. */
static struct fx8_result slab_of(const struct fx8_engine *engine,
                                 const struct fx8_cuda_results *results,
                                 size_t number, size_t cell)
{
    const size_t at = results->keeps
                          ? cell
                          : number % FX8_CUDA_SLOTS * engine->shape.slab_cells;
    return fx8_result_from(&results->slabs, at);
}

/* The rows of a job and their place in a result, whose rows are `pitch` cells
 * apart. */
struct slab_rows {
    size_t n;
    struct fx8_cuda_rows arrays[FX8_CUDA_STAGED];
};

static struct slab_rows rows_of(const struct fx8_cuda_postprocess *job,
                                size_t pitch, const struct fx8_result *to)
{
    const size_t n = job->plan.n_antennas;
    const size_t first = fx8_cuda_first_baseline(job->first_antenna, n);
    const size_t cells = row_cells(&job->plan);
    return {fx8_cuda_first_baseline(job->end_antenna, n) - first,
            {
                {reinterpret_cast<char *>(to->visibilities + 2 * first * pitch),
                 2 * pitch * sizeof(float), job->result.visibilities,
                 2 * cells * sizeof(float)},
                {reinterpret_cast<char *>(to->nsamples + first * pitch),
                 pitch * sizeof(float), job->result.nsamples,
                 cells * sizeof(float)},
                {reinterpret_cast<char *>(to->flags + first * pitch), pitch,
                 job->result.flags, cells},
            }};
}

static bool are_pinned(const struct fx8_engine *engine,
                       const struct slab_rows *rows)
{
    bool are = true;
    for (const struct fx8_cuda_rows &each : rows->arrays)
        are = are &&
              fx8_cuda_is_pinned(engine, each.to,
                                 (rows->n - 1) * each.to_pitch + each.bytes);
    return are;
}

/* Copy directly to the destination, which is pinned. */
static enum fx8_status send_home(const struct fx8_cuda_device *device,
                                 size_t number, const struct slab_rows *rows,
                                 struct fx8_error *error)
{
    const struct fx8_cuda_staging *slot =
        &device->staging[number % FX8_CUDA_SLOTS];
    FX8_TRY(fx8_cuda_record(device, slot->made, device->compute, error));
    FX8_TRY(fx8_cuda_hold(device, device->back, slot->made, error));
    for (const struct fx8_cuda_rows &each : rows->arrays)
        FX8_TRY(fx8_cuda_check(
            cudaMemcpy2DAsync(each.to, each.to_pitch, each.from, each.bytes,
                              each.bytes, rows->n, cudaMemcpyDeviceToHost,
                              device->back),
            device, error, "cudaMemcpy2DAsync of %s of results",
            fx8_cuda_bytes(rows->n * each.bytes)));
    return fx8_cuda_record(device, slot->copied, device->back, error);
}

/* Compute the slab of a job when its slot and its device memory are free. */
static enum fx8_status make_slab(const struct fx8_engine *engine,
                                 struct fx8_cuda_device *device,
                                 const struct fx8_cuda_postprocess *job,
                                 size_t pitch, const struct fx8_result *to,
                                 struct fx8_error *error)
{
    const size_t number = device->n_slabs++;
    const struct slab_rows rows = rows_of(job, pitch, to);
    const bool are_home = are_pinned(engine, &rows);
    if (!are_home)
        FX8_TRY(fx8_cuda_receive(engine, device, number, error));
    if (!device->results.keeps)
        FX8_TRY(fx8_cuda_hold(device, device->compute,
                              device->staging[number % FX8_CUDA_SLOTS].copied,
                              error));
    FX8_TRY(fx8_cuda_check(fx8_cuda_postprocess_sums(job, device->compute),
                           device, error, "post-processing"));
    return are_home ? send_home(device, number, &rows, error)
                    : fx8_cuda_send(device, number, rows.n, rows.arrays, error);
}

enum fx8_status fx8_cuda_check_results(const struct fx8_engine *engine,
                                       const struct fx8_postprocess *plan,
                                       struct fx8_error *error)
{
    const struct fx8_engine_plan *opened = &engine->plan;
    if (opened->n_result_antennas > 0 &&
        plan->n_antennas == opened->n_result_antennas &&
        plan->n_products == opened->n_result_products &&
        plan->channel_average == opened->channel_average &&
        plan->n_inputs == opened->n_inputs &&
        plan->n_channels == opened->bank.n_channels)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_USAGE,
                    "engine: results of a shape that was not planned");
}

/* While one slab is computed, the previous one is copied, and the host stores
 * the one before that, unless it was copied directly.  `job` has all
 * antennas. */
static enum fx8_status make(const struct fx8_engine *engine,
                            struct fx8_cuda_device *device,
                            struct fx8_cuda_postprocess *job, size_t pitch,
                            const struct fx8_result *to,
                            struct fx8_error *error)
{
    const size_t n_antennas = job->plan.n_antennas;
    const size_t step = engine->shape.slab_antennas;
    /* slabs of another kind may use the same memory */
    for (const struct fx8_cuda_staging &slot : device->staging)
        FX8_TRY(fx8_cuda_hold(device, device->compute, slot.copied, error));
    for (size_t first = 0; first < n_antennas; first += step) {
        job->first_antenna = first;
        job->end_antenna =
            n_antennas - first < step ? n_antennas : first + step;
        job->result = slab_of(engine, &device->results, device->n_slabs,
                              fx8_cuda_first_baseline(first, n_antennas) *
                                  row_cells(&job->plan));
        FX8_TRY(make_slab(engine, device, job, pitch, to, error));
    }
    return FX8_OK;
}

enum fx8_status fx8_cuda_make_results(struct fx8_engine *engine,
                                      const struct fx8_postprocess *plan,
                                      const struct fx8_result *results,
                                      const int64_t *counts,
                                      struct fx8_error *error)
{
    struct fx8_cuda_device *device = &engine->devices[0];
    const size_t row = fx8_postprocess_row(plan);
    const size_t pitch = row / plan->channel_average * plan->n_products;
    const bool keeps =
        device->results.keeps && row == plan->n_channels && !plan->adds_flags;
    struct fx8_cuda_postprocess job = {};
    job.plan = *plan;
    job.counts = device->results.counts;
    device->results.kept = fx8_result();
    FX8_TRY(fx8_cuda_enter(device, error));
    FX8_TRY(fx8_cuda_start_timer(device, device->compute,
                                 &device->times.results_s, error));
    FX8_TRY(upload_plan(engine, device, counts, &job.plan, error));
    for (const size_t kind : {FX8_RESULT_FP32, FX8_RESULT_INT8}) {
        job.sums = device->sums[kind];
        job.is_int8 = kind == FX8_RESULT_INT8;
        if (job.sums == nullptr)
            continue;
        FX8_TRY(make(engine, device, &job, pitch, &results[kind], error));
        FX8_TRY(fx8_cuda_clear(device, device->sums[kind],
                               engine->shape.n_sums * sizeof(int64_t), error));
        if (keeps)
            device->results.kept = results[kind];
    }
    return fx8_cuda_stop_timer(device, device->compute, error);
}
