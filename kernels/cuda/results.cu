/* SPDX-License-Identifier: BSD-3-Clause */
/* results.cu -- see engine_cuda.h: sums to results on the device, some antennas
 * at a time, so that they take little memory there. */
#include <string.h>

#include "config/base/shape.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/postprocess.h"
#include "kernels/numeric/visibility.h"

/* n rows of `length` items, `pitch` apart on the host, to the device. */
template <class Item>
static enum fx8_status upload(struct fx8_cuda_device *device, const Item *from,
                              size_t pitch, size_t length, size_t n, Item *to,
                              struct fx8_error *error)
{
    if (from == nullptr)
        return FX8_OK;
    const size_t row = length * sizeof *to;
    struct fx8_cuda_results *results = &device->results;
    char *const pinned = results->pinned_plan + results->plan_used;
    results->plan_used += fx8_round_up(n * row, FX8_CUDA_PLAN_UNIT);
    for (size_t k = 0; k < n; ++k)
        memcpy(pinned + k * row, from + k * pitch, row);
    return fx8_cuda_check(cudaMemcpyAsync(to, pinned, n * row,
                                          cudaMemcpyHostToDevice,
                                          device->compute),
                          device, error, "cudaMemcpyAsync of %s of results",
                          fx8_cuda_bytes(n * row));
}

/* What the results depend on besides the sums; `plan` becomes that of the
 * device. */
static enum fx8_status upload_plan(const struct fx8_engine *engine,
                                   struct fx8_cuda_device *device,
                                   const int64_t *counts,
                                   struct fx8_postprocess *plan,
                                   struct fx8_error *error)
{
    const struct fx8_cuda_results *to = &device->results;
    const struct fx8_postprocess from = *plan;
    const size_t n_inputs = from.n_inputs, n_channels = from.n_channels;
    const size_t row = fx8_postprocess_row(&from);
    const size_t n_products = engine->shape.n_baselines * from.n_products;
    plan->products = to->products;
    plan->gain = from.gain == nullptr ? nullptr : to->gain;
    plan->input_gain = from.input_gain == nullptr ? nullptr : to->input_gain;
    plan->flag_cell = from.flag_cell == nullptr ? nullptr : to->flag_cell;
    plan->flag_input = to->flag_input;
    plan->flag_channel = to->flag_channel;
    plan->row_channels = 0;
    enum fx8_status status = upload(device, from.products, n_products,
                                    n_products, 1, to->products, error);
    if (status == FX8_OK)
        status = upload(device, counts, engine->shape.n_pairs,
                        engine->shape.n_pairs, 1, to->counts, error);
    if (status == FX8_OK)
        status = upload(device, from.gain, row, n_channels, n_inputs, to->gain,
                        error);
    if (status == FX8_OK)
        status = upload(device, from.flag_cell, row, n_channels, n_inputs,
                        to->flag_cell, error);
    if (status == FX8_OK)
        status = upload(device, from.input_gain, n_inputs, n_inputs, 1,
                        to->input_gain, error);
    if (status == FX8_OK)
        status = upload(device, from.flag_input, n_inputs, n_inputs, 1,
                        to->flag_input, error);
    if (status == FX8_OK)
        status = upload(device, from.flag_channel, n_channels, n_channels, 1,
                        to->flag_channel, error);
    return status;
}

/* Cells of a baseline on the device. */
static size_t row_cells(const struct fx8_postprocess *plan)
{
    return plan->n_channels / plan->channel_average * plan->n_products;
}

/* Where slab `number` is made, which begins with a baseline: kept ones lie side
 * by side. */
static struct fx8_result slab_of(const struct fx8_engine *engine,
                                 const struct fx8_cuda_results *results,
                                 size_t number, size_t cell)
{
    const size_t at = results->keeps
                          ? cell
                          : number % FX8_CUDA_SLOTS * engine->shape.slab_cells;
    const struct fx8_result *all = &results->slabs;
    return {all->visibilities + 2 * at, all->flags + at, all->nsamples + at};
}

/* The rows that a job makes, and where in the results they belong. */
struct slab_rows {
    size_t n;
    struct fx8_cuda_rows arrays[FX8_CUDA_STAGED];
};

static struct slab_rows rows_of(const struct fx8_cuda_postprocess *job,
                                const struct fx8_engine_results *wanted)
{
    const struct fx8_postprocess *plan = &job->plan;
    const size_t n = plan->n_antennas;
    const size_t first = fx8_cuda_first_baseline(job->first_antenna, n);
    const size_t cells = row_cells(plan);
    const size_t pitch = fx8_postprocess_row(wanted->plan) /
                         plan->channel_average * plan->n_products;
    const struct fx8_result *to = &wanted->results;
    return {fx8_cuda_first_baseline(job->end_antenna, n) - first,
            {
                {reinterpret_cast<char *>(to->visibilities + 2 * first * pitch),
                 2 * pitch * sizeof(float), job->results.visibilities,
                 2 * cells * sizeof(float)},
                {reinterpret_cast<char *>(to->nsamples + first * pitch),
                 pitch * sizeof(float), job->results.nsamples,
                 cells * sizeof(float)},
                {reinterpret_cast<char *>(to->flags + first * pitch), pitch,
                 job->results.flags, cells},
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

/* Straight to their places, which are pinned. */
static enum fx8_status send_home(const struct fx8_cuda_device *device,
                                 size_t number, const struct slab_rows *rows,
                                 struct fx8_error *error)
{
    const struct fx8_cuda_staging *slot =
        &device->staging[number % FX8_CUDA_SLOTS];
    enum fx8_status status =
        fx8_cuda_record(device, slot->made, device->compute, error);
    if (status == FX8_OK)
        status = fx8_cuda_hold(device, device->back, slot->made, error);
    for (const struct fx8_cuda_rows &each : rows->arrays)
        if (status == FX8_OK)
            status = fx8_cuda_check(
                cudaMemcpy2DAsync(each.to, each.to_pitch, each.from, each.bytes,
                                  each.bytes, rows->n, cudaMemcpyDeviceToHost,
                                  device->back),
                device, error, "cudaMemcpy2DAsync of %s of results",
                fx8_cuda_bytes(rows->n * each.bytes));
    if (status == FX8_OK)
        status = fx8_cuda_record(device, slot->copied, device->back, error);
    return status;
}

/* The slab that a job makes, once its slot and its place on the device are
 * free. */
static enum fx8_status make_slab(const struct fx8_engine *engine,
                                 struct fx8_cuda_device *device,
                                 const struct fx8_cuda_postprocess *job,
                                 const struct fx8_engine_results *wanted,
                                 struct fx8_error *error)
{
    const size_t number = device->n_slabs++;
    const struct slab_rows rows = rows_of(job, wanted);
    const bool are_home = are_pinned(engine, &rows);
    enum fx8_status status =
        are_home ? FX8_OK : fx8_cuda_receive(engine, device, number, error);
    if (status == FX8_OK && !device->results.keeps)
        status = fx8_cuda_hold(device, device->compute,
                               device->staging[number % FX8_CUDA_SLOTS].copied,
                               error);
    if (status == FX8_OK)
        status = fx8_cuda_check(fx8_cuda_postprocess_sums(job, device->compute),
                                device, error, "post-processing");
    if (status != FX8_OK)
        return status;
    return are_home ? send_home(device, number, &rows, error)
                    : fx8_cuda_send(device, number, rows.n, rows.arrays, error);
}

enum fx8_status fx8_cuda_check_results(const struct fx8_engine *engine,
                                       const struct fx8_engine_results *wanted,
                                       struct fx8_error *error)
{
    const struct fx8_engine_plan *opened = &engine->plan;
    const struct fx8_postprocess *plan = wanted->plan;
    if (plan != nullptr && opened->n_result_antennas > 0 &&
        plan->n_antennas == opened->n_result_antennas &&
        plan->n_products == opened->n_result_products &&
        plan->channel_average == opened->channel_average &&
        plan->n_inputs == opened->n_inputs &&
        plan->n_channels == opened->bank.n_channels)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_USAGE,
                    "engine: results of a shape that was not planned");
}

/* While a slab is made the one before it is copied, and the one before that
 * brought to its places, if it is not there. */
static enum fx8_status make(const struct fx8_engine *engine,
                            struct fx8_cuda_device *device, bool is_int8,
                            const struct fx8_engine_results *wanted,
                            const int64_t *counts, struct fx8_error *error)
{
    struct fx8_cuda_postprocess job = {};
    job.plan = *wanted->plan;
    job.sums_int8 = is_int8 ? device->sums8 : nullptr;
    job.sums_fp32 = is_int8 ? nullptr : device->sums32;
    job.counts = device->results.counts;
    const size_t n_antennas = job.plan.n_antennas;
    const size_t step = engine->shape.slab_antennas;
    enum fx8_status status =
        upload_plan(engine, device, counts, &job.plan, error);
    for (size_t first = 0; first < n_antennas && status == FX8_OK;
         first += step) {
        job.first_antenna = first;
        job.end_antenna = n_antennas - first < step ? n_antennas : first + step;
        job.results = slab_of(engine, &device->results, device->n_slabs,
                              fx8_cuda_first_baseline(first, n_antennas) *
                                  row_cells(&job.plan));
        status = make_slab(engine, device, &job, wanted, error);
    }
    return status;
}

enum fx8_status fx8_cuda_make_results(struct fx8_engine *engine, bool is_int8,
                                      const struct fx8_engine_results *wanted,
                                      const int64_t *counts,
                                      struct fx8_error *error)
{
    struct fx8_cuda_device *device = &engine->devices[0];
    void *const sums = is_int8 ? static_cast<void *>(device->sums8)
                               : static_cast<void *>(device->sums32);
    device->results.kept = fx8_result();
    enum fx8_status status = fx8_cuda_enter(device, error);
    /* kept ones of the other precision are in the same place */
    for (const struct fx8_cuda_staging &slot : device->staging)
        if (status == FX8_OK)
            status = fx8_cuda_hold(device, device->compute, slot.copied, error);
    if (status == FX8_OK)
        status = make(engine, device, is_int8, wanted, counts, error);
    if (status == FX8_OK)
        status = fx8_cuda_check(
            cudaMemsetAsync(sums, 0, engine->shape.n_sums * sizeof(int64_t),
                            device->compute),
            device, error, "cudaMemsetAsync");
    if (status == FX8_OK && device->results.keeps &&
        fx8_postprocess_row(wanted->plan) == wanted->plan->n_channels)
        device->results.kept = wanted->results;
    return status;
}
