/* SPDX-License-Identifier: BSD-3-Clause */
/* results.cu -- see engine_cuda.h: sums to results on the device, some antennas
 * at a time, so that they take little memory there. */
#include <chrono>

#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/postprocess.h"
#include "kernels/numeric/visibility.h"

/* Rows of bytes between host and device; those side by side are one. */
struct rows {
    void *to;
    size_t to_pitch;
    const void *from;
    size_t from_pitch;
    size_t bytes, n;
    cudaMemcpyKind kind;
};

static enum fx8_status copy(const struct fx8_cuda_device *device,
                            const struct rows *rows, struct fx8_error *error)
{
    const bool is_whole =
        rows->to_pitch == rows->bytes && rows->from_pitch == rows->bytes;
    const size_t bytes = rows->bytes * rows->n;
    return fx8_cuda_check(
        is_whole ? cudaMemcpyAsync(rows->to, rows->from, bytes, rows->kind,
                                   device->compute)
                 : cudaMemcpy2DAsync(rows->to, rows->to_pitch, rows->from,
                                     rows->from_pitch, rows->bytes, rows->n,
                                     rows->kind, device->compute),
        device, error, "cudaMemcpyAsync of %s of results",
        fx8_cuda_bytes(bytes));
}

/* n rows of `length` items, `pitch` apart on the host, to the device. */
template <class Item>
static enum fx8_status upload(const struct fx8_cuda_device *device,
                              const Item *from, size_t pitch, size_t length,
                              size_t n, Item *to, struct fx8_error *error)
{
    const struct rows rows = {to,
                              length * sizeof *to,
                              from,
                              pitch * sizeof *from,
                              length * sizeof *to,
                              n,
                              cudaMemcpyHostToDevice};
    return from == nullptr ? FX8_OK : copy(device, &rows, error);
}

/* What the results depend on besides the sums; `plan` becomes that of the
 * device. */
static enum fx8_status upload_plan(const struct fx8_engine *engine,
                                   const struct fx8_cuda_device *device,
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

/* The slab that a job has made, to its baselines of the results. */
static enum fx8_status fetch_slab(const struct fx8_cuda_device *device,
                                  const struct fx8_cuda_postprocess *job,
                                  const struct fx8_engine_results *wanted,
                                  struct fx8_error *error)
{
    const struct fx8_postprocess *plan = &job->plan;
    const size_t n = plan->n_antennas;
    const size_t first = fx8_cuda_first_baseline(job->first_antenna, n);
    const size_t n_rows = fx8_cuda_first_baseline(job->end_antenna, n) - first;
    const size_t cells =
        plan->n_channels / plan->channel_average * plan->n_products;
    const size_t pitch = fx8_postprocess_row(wanted->plan) /
                         plan->channel_average * plan->n_products;
    const struct fx8_visibilities *to = &wanted->results;
    const struct {
        char *to;
        const void *from;
        size_t size;
    } arrays[] = {
        {reinterpret_cast<char *>(to->visibilities), job->results.visibilities,
         2 * sizeof(float)},
        {reinterpret_cast<char *>(to->flags), job->results.flags, 1},
        {reinterpret_cast<char *>(to->nsamples), job->results.nsamples,
         sizeof(float)},
    };
    enum fx8_status status = FX8_OK;
    for (const auto &array : arrays) {
        const struct rows rows = {array.to + first * pitch * array.size,
                                  pitch * array.size,
                                  array.from,
                                  cells * array.size,
                                  cells * array.size,
                                  n_rows,
                                  cudaMemcpyDeviceToHost};
        if (status == FX8_OK)
            status = copy(device, &rows, error);
    }
    return status;
}

/* Whether results are of the shape that the engine was opened for. */
static bool is_planned(const struct fx8_engine *engine,
                       const struct fx8_postprocess *plan)
{
    const struct fx8_engine_plan *opened = &engine->plan;
    return plan != nullptr && opened->n_result_antennas > 0 &&
           plan->n_antennas == opened->n_result_antennas &&
           plan->n_products == opened->n_result_products &&
           plan->channel_average == opened->channel_average &&
           plan->n_inputs == opened->n_inputs &&
           plan->n_channels == opened->bank.n_channels;
}

static enum fx8_status make(const struct fx8_engine *engine,
                            const struct fx8_cuda_device *device, bool is_int8,
                            const struct fx8_engine_results *wanted,
                            const int64_t *counts, struct fx8_error *error)
{
    struct fx8_cuda_postprocess job = {};
    job.plan = *wanted->plan;
    job.sums_int8 = is_int8 ? device->sums8 : nullptr;
    job.sums_fp32 = is_int8 ? nullptr : device->sums32;
    job.counts = device->results.counts;
    job.results = device->results.slab;
    const size_t n_antennas = job.plan.n_antennas;
    const size_t step = engine->shape.slab_antennas;
    enum fx8_status status =
        upload_plan(engine, device, counts, &job.plan, error);
    for (size_t first = 0; first < n_antennas && status == FX8_OK;
         first += step) {
        job.first_antenna = first;
        job.end_antenna = n_antennas - first < step ? n_antennas : first + step;
        status =
            fx8_cuda_check(fx8_cuda_postprocess_sums(&job, device->compute),
                           device, error, "post-processing");
        if (status == FX8_OK)
            status = fetch_slab(device, &job, wanted, error);
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
    if (!is_planned(engine, wanted->plan))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "engine: results of a shape that was not planned");
    const auto begin = std::chrono::steady_clock::now();
    enum fx8_status status = fx8_cuda_enter(device, error);
    if (status == FX8_OK)
        status = make(engine, device, is_int8, wanted, counts, error);
    if (status == FX8_OK)
        status = fx8_cuda_check(
            cudaMemsetAsync(sums, 0, engine->shape.n_sums * sizeof(int64_t),
                            device->compute),
            device, error, "cudaMemsetAsync");
    if (status == FX8_OK)
        status = fx8_cuda_check(cudaStreamSynchronize(device->compute), device,
                                error, "cudaStreamSynchronize");
    const std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - begin;
    device->times.process_s += spent.count();
    return status;
}
