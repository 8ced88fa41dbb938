/* SPDX-License-Identifier: BSD-3-Clause */
/* dump.cu -- see engine_cuda.h: the end of a dump. */
#include <math.h>

#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/postprocess.h"

/* --- sums ------------------------------------------------------------------
 */

/* Bring n numbers of 8 bytes back, and leave zeros. */
static enum fx8_status fetch(struct fx8_cuda_device *device, void *to,
                             void *from, size_t n, struct fx8_error *error)
{
    const size_t bytes = n * sizeof(int64_t);
    enum fx8_status status =
        fx8_cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost,
                                       device->compute),
                       device, error, "cudaMemcpyAsync of %s to the host",
                       fx8_cuda_bytes(bytes));
    if (status == FX8_OK)
        status =
            fx8_cuda_check(cudaMemsetAsync(from, 0, bytes, device->compute),
                           device, error, "cudaMemsetAsync");
    return status;
}

/* How the sums of two devices are added: as those of their correlators. */

struct plain_addition {
    template <class Number> static Number add(Number a, Number b)
    {
        return a + b;
    }
};

/* a + b rounded towards `end`, an infinity: `lost` is what rounding to nearest
 * took away, without error (Knuth, TwoSum). */
static double add_towards(double a, double b, double end)
{
    const double sum = a + b;
    const double of_b = sum - a;
    const double lost = (a - (sum - of_b)) + (b - of_b);
    return lost != 0.0 && (lost > 0.0) == (end > 0.0) ? nextafter(sum, end)
                                                      : sum;
}

struct addition_downwards {
    static double add(double a, double b)
    {
        return add_towards(a, b, -HUGE_VAL);
    }
};

struct addition_upwards {
    static double add(double a, double b)
    {
        return add_towards(a, b, HUGE_VAL);
    }
};

/* The first device's sums are the result; those of others are added to it. */
template <class Addition = plain_addition, class Number>
static enum fx8_status collect(struct fx8_engine *engine,
                               struct fx8_cuda_device *device, bool is_first,
                               Number *sums, Number *on_device, size_t n,
                               struct fx8_error *error)
{
    if (sums == nullptr)
        return FX8_OK;
    Number *const partial = static_cast<Number *>(engine->partial);
    enum fx8_status status =
        fetch(device, is_first ? sums : partial, on_device, n, error);
    if (status != FX8_OK || is_first)
        return status;
    status = fx8_cuda_wait(device, error);
    for (size_t i = 0; i < n && status == FX8_OK; ++i)
        sums[i] = Addition::add(sums[i], partial[i]);
    return status;
}

static enum fx8_status finish_device(struct fx8_engine *engine,
                                     struct fx8_cuda_device *device,
                                     bool is_first,
                                     struct fx8_engine_dump *dump,
                                     struct fx8_error *error)
{
    const size_t n_sums = engine->shape.n_sums;
    const size_t cells = engine->plan.n_inputs * engine->plan.bank.n_channels;
    enum fx8_status status = fx8_cuda_enter(device, error);
    if (status == FX8_OK && device->sums8 != nullptr)
        status = collect(engine, device, is_first, dump->sums_int8,
                         device->sums8, n_sums, error);
    if (status == FX8_OK && device->sums32 != nullptr)
        status = collect(engine, device, is_first, dump->sums_fp32,
                         device->sums32, n_sums, error);
    if (status == FX8_OK && device->sums_down != nullptr)
        status = collect<addition_downwards>(engine, device, is_first,
                                             dump->sums_down, device->sums_down,
                                             n_sums, error);
    if (status == FX8_OK && device->sums_up != nullptr)
        status =
            collect<addition_upwards>(engine, device, is_first, dump->sums_up,
                                      device->sums_up, n_sums, error);
    if (status == FX8_OK)
        status =
            collect(engine, device, is_first, dump->clips,
                    reinterpret_cast<int64_t *>(device->clips), cells, error);
    if (status == FX8_OK)
        status = fx8_cuda_wait(device, error);
    device->has_sums = false;
    return status;
}

/* --- results ---------------------------------------------------------------
 */

static cudaError_t add(size_t n, const int64_t *from, int64_t *to,
                       cudaStream_t stream)
{
    return fx8_cuda_add_int64(n, from, to, stream);
}

static cudaError_t add(size_t n, const double *from, double *to,
                       cudaStream_t stream)
{
    return fx8_cuda_add_double(n, from, to, stream);
}

/* The sums of another device, by way of the host, added to those of the first:
 * to the bit as collect() adds them. */
template <class Number>
static enum fx8_status pass_on(struct fx8_engine *engine,
                               struct fx8_cuda_device *device, Number *sums,
                               Number *sums_of_first, struct fx8_error *error)
{
    const struct fx8_cuda_device *first = &engine->devices[0];
    const size_t n = engine->shape.n_sums;
    if (sums == nullptr)
        return FX8_OK;
    Number *const received = static_cast<Number *>(first->results.received);
    enum fx8_status status = fx8_cuda_enter(device, error);
    if (status == FX8_OK)
        status = fetch(device, engine->partial, sums, n, error);
    if (status == FX8_OK)
        status = fx8_cuda_wait(device, error);
    if (status == FX8_OK)
        status = fx8_cuda_enter(first, error);
    if (status == FX8_OK)
        status = fx8_cuda_check(
            cudaMemcpyAsync(received, engine->partial, n * sizeof *sums,
                            cudaMemcpyHostToDevice, first->compute),
            first, error, "cudaMemcpyAsync of %s to the device",
            fx8_cuda_bytes(n * sizeof *sums));
    if (status == FX8_OK)
        status = fx8_cuda_check(add(n, received, sums_of_first, first->compute),
                                first, error, "adding sums");
    return status;
}

enum fx8_status fx8_cuda_finish_dump(struct fx8_engine *engine,
                                     struct fx8_engine_dump *dump,
                                     struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    for (size_t k = 0; k < engine->n_devices && status == FX8_OK; ++k)
        if (k == 0 || engine->devices[k].has_sums)
            status =
                finish_device(engine, &engine->devices[k], k == 0, dump, error);
    if (status == FX8_OK)
        fx8_take_counts(engine->shape.n_pairs, &engine->counts, dump->counts);
    return status;
}

enum fx8_status fx8_cuda_process_dump(struct fx8_engine *engine,
                                      const struct fx8_engine_results *int8,
                                      const struct fx8_engine_results *fp32,
                                      struct fx8_engine_dump *dump,
                                      struct fx8_error *error)
{
    const struct fx8_cuda_device *first = &engine->devices[0];
    enum fx8_status status = FX8_OK;
    for (size_t k = 1; k < engine->n_devices && status == FX8_OK; ++k) {
        struct fx8_cuda_device *device = &engine->devices[k];
        if (!device->has_sums)
            continue;
        status = pass_on(engine, device, device->sums8, first->sums8, error);
        if (status == FX8_OK)
            status =
                pass_on(engine, device, device->sums32, first->sums32, error);
    }
    /* bounds and clips, and all work is done */
    struct fx8_engine_dump rest = *dump;
    rest.sums_int8 = nullptr;
    rest.sums_fp32 = nullptr;
    if (status == FX8_OK)
        status = fx8_cuda_finish_dump(engine, &rest, error);
    /* INT8 last: what is kept is looked at */
    if (status == FX8_OK && first->sums32 != nullptr)
        status =
            fx8_cuda_make_results(engine, false, fp32, dump->counts, error);
    if (status == FX8_OK && first->sums8 != nullptr)
        status = fx8_cuda_make_results(engine, true, int8, dump->counts, error);
    return status;
}
