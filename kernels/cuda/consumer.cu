/* SPDX-License-Identifier: BSD-3-Clause */
/* consumer.cu -- see engine_cuda.h: the quick-look, some baselines at a time.
 * Visibilities that the device has just computed and kept are used in place;
 * others are copied to the device. */
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/quicklook.h"

#include "config/base/shape.h"
#include "config/base/try.h"

/** Device arrays of struct fx8_quicklook_work: `in` for n_baselines, not needed
 *  with kept results, and `out` for twice as many. */
struct fx8_cuda_consumer {
    size_t n_baselines; /**< at a time */
    struct fx8_product *products;
    uint8_t *is_real;              /**< [n_channels] */
    float *power, *weight, *steps; /**< of all inputs and channels */
    float *scale[FX8_N_FUNCTIONS_MODES];
    struct fx8_result in;
    struct fx8_quicklook_dump out;
    struct fx8_fisher_sums *sums;
    struct fx8_quicklook_pair *pairs;
    struct fx8_cell_notes *notes; /**< of the dump */
};

/* --- memory ----------------------------------------------------------------
 */

/* Cells of so many baselines. */
static size_t cells_of(const struct fx8_engine *engine, size_t n_baselines)
{
    return fx8_product(n_baselines, engine->plan.n_result_products,
                       engine->plan.consumed_channels, 1);
}

enum fx8_status fx8_cuda_open_consumer(struct fx8_engine *engine,
                                       struct fx8_error *error)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    struct fx8_cuda_shape *shape = &engine->shape;
    if (plan->consumed_channels == 0 || plan->n_opened > 0)
        return FX8_OK;
    void *memory;
    FX8_TRY(
        fx8_allocate(1, sizeof *engine->consumer, "engine", &memory, error));
    engine->consumer = static_cast<struct fx8_cuda_consumer *>(memory);
    const size_t most =
        shape->slab_bytes / FX8_CUDA_CELL_BYTES / cells_of(engine, 1);
    engine->consumer->n_baselines =
        std::min(std::max(most, size_t(1)), shape->n_baselines);
    shape->may_keep = plan->n_engines <= 1 &&
                      plan->consumed_channels ==
                          plan->bank.n_channels / plan->channel_average;
    const size_t bytes =
        fx8_product(cells_of(engine, engine->consumer->n_baselines),
                    FX8_CUDA_HALVES_BYTES, 1, 1);
    shape->staging_bytes = std::max(shape->staging_bytes, bytes);
    return FX8_OK;
}

size_t fx8_cuda_list_consumer(const struct fx8_engine *engine,
                              struct fx8_cuda_array *arrays)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    struct fx8_cuda_consumer *consumer = engine->consumer;
    const size_t channels = plan->consumed_channels;
    const size_t levels = fx8_product(plan->n_inputs, channels, 1, 1);
    const size_t products =
        fx8_product(engine->shape.n_baselines, plan->n_result_products, 1, 1);
    const size_t in = cells_of(engine, consumer->n_baselines);
    const size_t out = cells_of(engine, FX8_CUDA_SLOTS * consumer->n_baselines);
    const struct fx8_cuda_array list[] = {
        {&consumer->products, products, sizeof *consumer->products},
        {&consumer->is_real, channels, 1},
        {&consumer->power, levels, sizeof(float)},
        {&consumer->weight, levels, sizeof(float)},
        {&consumer->steps, levels, sizeof(float)},
        {&consumer->scale[FX8_FUNCTIONS_IEEE], levels, sizeof(float)},
        {&consumer->scale[FX8_FUNCTIONS_FAST], levels, sizeof(float)},
        {&consumer->in.visibilities, in, 2 * sizeof(float)},
        {&consumer->in.flags, in, 1},
        {&consumer->in.nsamples, in, sizeof(float)},
        {&consumer->out.coherence, out, 2 * sizeof(uint16_t)},
        {&consumer->out.amplitude, out, sizeof(uint16_t)},
        {&consumer->out.phase, out, sizeof(uint16_t)},
        {&consumer->sums, products, sizeof *consumer->sums},
        {&consumer->pairs, products, sizeof *consumer->pairs},
        {&consumer->notes, 1, sizeof *consumer->notes},
    };
    memcpy(arrays, list, sizeof list);
    return sizeof list / sizeof *list;
}

/* --- between host and device -----------------------------------------------
 */

/* An array on host and device; NULL on the host: not present. */
struct pair_of_arrays {
    void *to;
    const void *from;
    size_t bytes;
};

template <size_t N>
static enum fx8_status copy(const struct fx8_cuda_device *device,
                            const struct pair_of_arrays (&arrays)[N],
                            cudaMemcpyKind kind, struct fx8_error *error)
{
    for (const struct pair_of_arrays &array : arrays)
        if (array.to != nullptr && array.from != nullptr)
            FX8_TRY(fx8_cuda_copy(device, device->compute, array.to, array.from,
                                  array.bytes, kind, "of a quick-look", error));
    return FX8_OK;
}

/* Copy everything but visibilities to the device: the tables of all inputs and
 * the data of all baselines. */
static enum fx8_status upload_tables(const struct fx8_engine *engine,
                                     const struct fx8_quicklook_work *work,
                                     struct fx8_error *error)
{
    const struct fx8_cuda_consumer *to = engine->consumer;
    const size_t bytes = work->n_inputs * work->n_channels * sizeof(float);
    const bool is_both = work->check_stride > 0;
    const bool is_fast = work->mode == FX8_FUNCTIONS_FAST;
    const size_t n = work->n_baselines * work->n_products;
    const struct pair_of_arrays arrays[] = {
        {to->products, work->products, n * sizeof *work->products},
        {to->sums, work->sums, n * sizeof *work->sums},
        {to->pairs, is_both ? work->pairs : nullptr, n * sizeof *work->pairs},
        {to->is_real, work->is_real, work->n_channels},
        {to->power, work->power, bytes},
        {to->weight, work->weight, bytes},
        {to->steps, work->steps, bytes},
        {to->scale[FX8_FUNCTIONS_IEEE],
         is_both || !is_fast ? work->scale[FX8_FUNCTIONS_IEEE] : nullptr,
         bytes},
        {to->scale[FX8_FUNCTIONS_FAST],
         is_fast ? work->scale[FX8_FUNCTIONS_FAST] : nullptr, bytes},
    };
    return copy(&engine->devices[0], arrays, cudaMemcpyHostToDevice, error);
}

/* Whether the visibilities are the last ones computed and kept on the device.
 */
static bool is_kept(const struct fx8_cuda_device *device,
                    const struct fx8_quicklook_work *work)
{
    const struct fx8_result *kept = &device->results.kept;
    return kept->visibilities != nullptr &&
           kept->visibilities == work->in.visibilities &&
           kept->flags == work->in.flags && kept->nsamples == work->in.nsamples;
}

/* The job of slab `number`, whose baselines begin with `first`. */
static struct fx8_cuda_quicklook_job plan_job(
    const struct fx8_engine *engine, const struct fx8_quicklook_work *work,
    size_t number, size_t first, size_t n_baselines)
{
    const struct fx8_cuda_device *device = &engine->devices[0];
    const struct fx8_cuda_consumer *consumer = engine->consumer;
    const size_t product = first * work->n_products;
    const size_t out = cells_of(engine, number % FX8_CUDA_SLOTS *
                                            engine->consumer->n_baselines);
    struct fx8_cuda_quicklook_job job = {};
    job.work = *work;
    job.work.products = consumer->products + product;
    job.work.is_real = consumer->is_real;
    job.work.power = consumer->power;
    job.work.weight = consumer->weight;
    job.work.steps = consumer->steps;
    job.work.scale[FX8_FUNCTIONS_IEEE] = consumer->scale[FX8_FUNCTIONS_IEEE];
    job.work.scale[FX8_FUNCTIONS_FAST] = consumer->scale[FX8_FUNCTIONS_FAST];
    job.work.in =
        is_kept(device, work)
            ? fx8_result_from(&device->results.slabs, cells_of(engine, first))
            : consumer->in;
    job.work.out.coherence = consumer->out.coherence + 2 * out;
    job.work.out.amplitude = consumer->out.amplitude + out;
    job.work.out.phase = consumer->out.phase + out;
    job.work.sums = consumer->sums + product;
    job.work.pairs = consumer->pairs + product;
    job.first_baseline = first;
    job.n_baselines = n_baselines;
    job.notes = consumer->notes;
    return job;
}

static enum fx8_status upload_slab(const struct fx8_engine *engine,
                                   const struct fx8_quicklook_work *work,
                                   const struct fx8_cuda_quicklook_job *job,
                                   struct fx8_error *error)
{
    const struct fx8_cuda_device *device = &engine->devices[0];
    const struct fx8_cuda_consumer *to = engine->consumer;
    const size_t cells = cells_of(engine, job->n_baselines);
    const struct fx8_result from =
        fx8_result_from(&work->in, cells_of(engine, job->first_baseline));
    const struct pair_of_arrays arrays[] = {
        {to->in.visibilities, from.visibilities, cells * 2 * sizeof(float)},
        {to->in.flags, from.flags, cells},
        {to->in.nsamples, from.nsamples, cells * sizeof(float)},
    };
    return is_kept(device, work)
               ? FX8_OK
               : copy(device, arrays, cudaMemcpyHostToDevice, error);
}

static enum fx8_status send_slab(struct fx8_engine *engine, size_t number,
                                 const struct fx8_quicklook_work *work,
                                 const struct fx8_cuda_quicklook_job *job,
                                 struct fx8_error *error)
{
    const struct fx8_quicklook_dump *from = &job->work.out;
    const struct fx8_quicklook_dump *to = &work->out;
    const size_t row = cells_of(engine, 1);
    const size_t cell = cells_of(engine, job->first_baseline);
    const size_t halves = row * sizeof(uint16_t);
    const struct fx8_cuda_rows rows[FX8_CUDA_STAGED] = {
        {reinterpret_cast<char *>(to->coherence + 2 * cell), 2 * halves,
         from->coherence, 2 * halves},
        {reinterpret_cast<char *>(to->amplitude + cell), halves,
         from->amplitude, halves},
        {reinterpret_cast<char *>(to->phase + cell), halves, from->phase,
         halves},
    };
    return fx8_cuda_send(&engine->devices[0], number, job->n_baselines, rows,
                         error);
}

/* Fetch the sums over all slabs. */
static enum fx8_status fetch_sums(const struct fx8_engine *engine,
                                  const struct fx8_quicklook_work *work,
                                  struct fx8_cell_notes *notes,
                                  struct fx8_error *error)
{
    const struct fx8_cuda_consumer *from = engine->consumer;
    const size_t n = work->n_baselines * work->n_products;
    const struct pair_of_arrays arrays[] = {
        {work->sums, from->sums, n * sizeof *work->sums},
        {work->check_stride > 0 ? work->pairs : nullptr, from->pairs,
         n * sizeof *work->pairs},
        {notes, from->notes, sizeof *notes},
    };
    return copy(&engine->devices[0], arrays, cudaMemcpyDeviceToHost, error);
}

/* --- notes -----------------------------------------------------------------
 */

static void add_counts(const struct fx8_cell_notes *notes,
                       struct fx8_quicklook_counts *counts)
{
    int64_t *const to[FX8_CELL_N_COUNTS] = {
        &counts->no_product,  &counts->not_finite,  &counts->no_power,
        &counts->above_one,   &counts->beyond_half, &counts->fisher_few,
        &counts->fisher_real, &counts->fisher_loud};
    for (size_t k = 0; k < FX8_CELL_N_COUNTS; ++k)
        *to[k] += static_cast<int64_t>(notes->counts[k]);
}

static void add_differences(const struct fx8_cell_notes *notes,
                            const struct fx8_quicklook_bounds *bounds,
                            struct fx8_quicklook_differences *differences)
{
    const struct {
        struct fx8_quicklook_difference *to;
        double bound;
    } kinds[FX8_CELL_N_DIFFERENCES] = {
        {&differences->coherence, bounds->rho},
        {&differences->amplitude, bounds->amplitude},
        {&differences->phase, bounds->phase},
    };
    for (size_t k = 0; k < FX8_CELL_N_DIFFERENCES; ++k) {
        struct fx8_quicklook_difference *to = kinds[k].to;
        to->n_beyond += static_cast<int64_t>(notes->beyond[k]);
        if (notes->largest[k] == 0)
            continue;
        const unsigned long long bits = notes->largest[k] - 1;
        double largest;
        memcpy(&largest, &bits, sizeof largest);
        to->largest = largest > to->largest ? largest : to->largest;
        to->bound = kinds[k].bound;
    }
}

/* --- a dump ----------------------------------------------------------------
 */

static bool is_planned(const struct fx8_engine *engine,
                       const struct fx8_quicklook_work *work)
{
    return engine->consumer != nullptr &&
           work->n_inputs == engine->plan.n_inputs &&
           work->n_baselines == engine->shape.n_baselines &&
           work->n_products == engine->plan.n_result_products &&
           work->n_channels == engine->plan.consumed_channels;
}

/* While one slab is computed, the previous one is copied, and the host stores
 * the one before that. */
static enum fx8_status look_at_slabs(struct fx8_engine *engine,
                                     const struct fx8_quicklook_work *work,
                                     struct fx8_error *error)
{
    struct fx8_cuda_device *device = &engine->devices[0];
    const size_t step = engine->consumer->n_baselines;
    size_t number = 0;
    for (size_t first = 0; first < work->n_baselines; first += step, ++number) {
        const size_t rest = work->n_baselines - first;
        const struct fx8_cuda_quicklook_job job =
            plan_job(engine, work, number, first, rest < step ? rest : step);
        FX8_TRY(fx8_cuda_receive(engine, device, number, error));
        FX8_TRY(upload_slab(engine, work, &job, error));
        FX8_TRY(fx8_cuda_check(fx8_cuda_quicklook(&job, device->compute),
                               device, error, "quick-look"));
        FX8_TRY(send_slab(engine, number, work, &job, error));
    }
    return fx8_cuda_receive_all(engine, device, number, error);
}

static enum fx8_status consume(struct fx8_engine *engine,
                               const struct fx8_quicklook_work *work,
                               struct fx8_cell_notes *notes,
                               struct fx8_error *error)
{
    const struct fx8_cuda_device *device = &engine->devices[0];
    FX8_TRY(
        fx8_cuda_clear(device, engine->consumer->notes, sizeof *notes, error));
    FX8_TRY(upload_tables(engine, work, error));
    FX8_TRY(look_at_slabs(engine, work, error));
    FX8_TRY(fetch_sums(engine, work, notes, error));
    return fx8_cuda_drain(device, device->compute, "a quick-look", error);
}

cudaError_t fx8_cuda_load_consumer(void)
{
    struct fx8_cuda_quicklook_job none = {};
    none.work.n_products = 1;
    return fx8_cuda_quicklook(&none, nullptr);
}

enum fx8_status fx8_cuda_consume(struct fx8_engine *engine, const void *given,
                                 struct fx8_error *error)
{
    const auto *work = static_cast<const struct fx8_quicklook_work *>(given);
    struct fx8_cell_notes notes = {};
    if (!is_planned(engine, work))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "engine: a quick-look of a shape that was not planned");
    FX8_TRY(fx8_cuda_enter(&engine->devices[0], error));
    FX8_TRY(consume(engine, work, &notes, error));
    add_counts(&notes, work->counts);
    add_differences(&notes, &work->bounds, work->differences);
    return FX8_OK;
}
