/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook.c -- one dump: compute scales and levels from the autos of every
 * input, then evaluate every baseline in tiles.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/numeric/coherence.h"
#include "kernels/quicklook_private.h"

/* Bits of a half, sign aside, from which on it is infinite or NaN. */
#define HALF_INFINITY 0x7c00u

/* Polarisation products of a baseline. */
#define MOST_PRODUCTS 4

/* --- cells ------------------------------------------------------- */

/* Scales and least weights of the cells of a tile, from the tables of the
 * inputs: the only step that works product by product. */
struct scales {
    float a[FX8_QUICKLOOK_TILE], b[FX8_QUICKLOOK_TILE];
    float least[FX8_QUICKLOOK_TILE]; /* products for an average */
};

static void find_tile_scales(const struct fx8_quicklook *q,
                             enum fx8_functions_mode mode,
                             const struct fx8_quicklook_tile *tile,
                             struct scales *scales)
{
    const size_t n_products = q->plan.n_products;
    for (size_t p = 0; p < n_products; p++) {
        const struct fx8_product *product =
            &q->plan.products[tile->baseline * n_products + p];
        const float least =
            fx8_is_auto(product) ? INFINITY : FX8_FISHER_LEAST_PRODUCTS;
        const float *scale = q->scale[mode] + tile->first_channel;
        const float *a = scale + product->input_1 * q->plan.n_channels;
        const float *b = scale + product->input_2 * q->plan.n_channels;
        for (size_t channel = 0; channel < tile->n_channels; channel++) {
            const size_t k = channel * n_products + p;
            scales->a[k] = a[channel];
            scales->b[k] = b[channel];
            scales->least[k] =
                fx8_quicklook_is_real(&q->plan, tile->first_channel + channel)
                    ? INFINITY
                    : least;
        }
    }
}

/* Input data for the average: the fraction of each auto's spectra that are in
 * the product, and the levels. */
static void find_tile_inputs(const struct fx8_quicklook *q,
                             const struct fx8_result *in,
                             struct fx8_quicklook_tile *tile)
{
    const size_t n_products = q->plan.n_products;
    const float *nsamples =
        in->nsamples +
        fx8_quicklook_cell(&q->plan, tile->baseline, tile->first_channel);
    for (size_t p = 0; p < n_products; p++) {
        const struct fx8_product *product =
            &q->plan.products[tile->baseline * n_products + p];
        const size_t at_1 =
            product->input_1 * q->plan.n_channels + tile->first_channel;
        const size_t at_2 =
            product->input_2 * q->plan.n_channels + tile->first_channel;
        for (size_t channel = 0; channel < tile->n_channels; channel++) {
            const size_t k = channel * n_products + p;
            const float weight_1 = q->weight[at_1 + channel];
            const float weight_2 = q->weight[at_2 + channel];
            const float share_1 = fx8_cell_share(nsamples[k], weight_1);
            const float share_2 = fx8_cell_share(nsamples[k], weight_2);
            tile->share_1[k] = share_1;
            tile->share_2[k] = share_2;
            tile->steps[k] =
                fmaxf(q->steps[at_1 + channel], q->steps[at_2 + channel]);
        }
    }
}

/* rho, 0 if a cell has none; which cells have one, and which are averaged. */
static void find_rho(const struct fx8_quicklook *q, const struct fx8_result *in,
                     const struct scales *scales,
                     struct fx8_quicklook_tile *tile)
{
    const float cell_products = (float)q->plan.products_per_cell;
    const size_t row =
        fx8_quicklook_cell(&q->plan, tile->baseline, tile->first_channel);
    const float *v = in->visibilities + 2 * row;
    const float *nsamples = in->nsamples + row;
    const uint8_t *flags = in->flags + row;
    for (size_t k = 0; k < tile->n; k++) {
        const float a = scales->a[k], b = scales->b[k];
        const float m = nsamples[k] * cell_products;
        const int is_good =
            fx8_cell_is_good(nsamples[k], a, b, v[2 * k], v[2 * k + 1]);
        const int is_kept = flags[k] == 0;
        const int is_enough = m >= scales->least[k];
        const int is_low = tile->steps[k] < FX8_QUICKLOOK_LOUD;
        const int is_averaged = is_good & is_kept & is_enough & is_low;
        const float re = fx8_coherence_part(v[2 * k], a, b);
        const float im = fx8_coherence_part(v[2 * k + 1], a, b);
        tile->re[k] = is_good ? re : 0.0f;
        tile->im[k] = is_good ? im : 0.0f;
        tile->n_products[k] = is_averaged ? m : 1.0f;
        tile->is_good[k] = is_good;
        tile->is_averaged[k] = is_averaged;
    }
}

static void find_amplitude(const struct fx8_functions *functions,
                           enum fx8_functions_mode mode, size_t n,
                           const float *power, float *amplitude)
{
    if (mode == FX8_FUNCTIONS_FAST) {
        functions->rsqrt(n, power, amplitude);
        for (size_t k = 0; k < n; k++)
            amplitude[k] *= power[k];
    } else {
        for (size_t k = 0; k < n; k++)
            amplitude[k] = sqrtf(power[k]);
    }
    for (size_t k = 0; k < n; k++)
        amplitude[k] = fx8_cell_amplitude(power[k], amplitude[k]);
}

void fx8_quicklook_evaluate(const struct fx8_quicklook *quicklook,
                            enum fx8_functions_mode mode,
                            const struct fx8_result *visibilities,
                            struct fx8_quicklook_tile *tile)
{
    const struct fx8_functions *functions = &quicklook->plan.functions[mode];
    const size_t n = tile->n = tile->n_channels * quicklook->plan.n_products;
    struct scales scales;
    find_tile_scales(quicklook, mode, tile, &scales);
    find_tile_inputs(quicklook, visibilities, tile);
    find_rho(quicklook, visibilities, &scales, tile);
    for (size_t k = 0; k < n; k++) {
        tile->rho[2 * k] = tile->re[k];
        tile->rho[2 * k + 1] = tile->im[k];
        tile->power[k] = fx8_coherence_power(tile->re[k], tile->im[k]);
    }
    find_amplitude(functions, mode, n, tile->power, tile->amplitude);
    functions->atan2(n, tile->im, tile->re, tile->phase);
    fx8_fisher_cells(functions, mode, n, tile->power, tile->n_products,
                     tile->share_1, tile->share_2, tile->unbiased, tile->z);
}

static bool is_beyond_half(uint16_t half)
{
    return (half & 0x7fffu) >= HALF_INFINITY;
}

static void write_tile(const struct fx8_quicklook_job *job,
                       const struct fx8_quicklook_tile *tile)
{
    const struct fx8_quicklook *q = job->quicklook;
    const struct fx8_half_functions *half = q->plan.half;
    const size_t at =
        fx8_quicklook_cell(&q->plan, tile->baseline, tile->first_channel);
    half->from_float(2 * tile->n, FX8_COHERENCE_SCALE, tile->rho,
                     job->out->coherence + 2 * at);
    half->from_float(tile->n, FX8_COHERENCE_SCALE, tile->amplitude,
                     job->out->amplitude + at);
    half->from_float(tile->n, 1.0f, tile->phase, job->out->phase + at);
}

/* Why the cell at `at` has no coherence. */
static int64_t *reason_of(const struct fx8_quicklook_job *job, size_t at,
                          const struct fx8_product *product, size_t channel,
                          struct fx8_quicklook_counts *counts)
{
    const struct fx8_result *in = job->in;
    const float *v = in->visibilities;
    if (!(in->nsamples[at] > 0.0f))
        return &counts->no_product;
    const float *power = job->quicklook->power + channel;
    const size_t n_channels = job->quicklook->plan.n_channels;
    if (!fx8_is_finite(v[2 * at]) || !fx8_is_finite(v[2 * at + 1]) ||
        !fx8_is_finite(power[product->input_1 * n_channels]) ||
        !fx8_is_finite(power[product->input_2 * n_channels]))
        return &counts->not_finite;
    return &counts->no_power;
}

/* Whether there is nothing to count: the common case, in loops of one type
 * each. */
static bool is_ordinary(const struct fx8_quicklook_tile *tile,
                        const uint16_t *half)
{
    int32_t good = 1;
    int above = 0;
    uint16_t beyond = 0;
    for (size_t k = 0; k < tile->n; k++)
        good &= tile->is_good[k] & tile->is_averaged[k];
    for (size_t k = 0; k < tile->n; k++)
        above |= tile->power[k] > FX8_QUICKLOOK_ABOVE_ONE;
    for (size_t k = 0; k < 2 * tile->n; k++)
        beyond |= is_beyond_half(half[k]);
    return good && !above && !beyond;
}

/* Why an unflagged cell is not averaged. */
static int64_t *why_not_averaged(const struct fx8_quicklook *q,
                                 const struct fx8_quicklook_tile *tile,
                                 size_t k, struct fx8_quicklook_counts *counts)
{
    if (q->is_real[tile->first_channel + k / q->plan.n_products])
        return &counts->fisher_real;
    return tile->steps[k] < FX8_QUICKLOOK_LOUD ? &counts->fisher_few
                                               : &counts->fisher_loud;
}

/* Count the unusual cells of a tile. */
static void count_tile(const struct fx8_quicklook_job *job,
                       const struct fx8_quicklook_tile *tile,
                       struct fx8_quicklook_counts *counts)
{
    const struct fx8_quicklook_plan *plan = &job->quicklook->plan;
    const size_t row =
        fx8_quicklook_cell(plan, tile->baseline, tile->first_channel);
    const uint16_t *half = job->out->coherence + 2 * row;
    counts->n_cells += (int64_t)tile->n;
    if (is_ordinary(tile, half))
        return;
    for (size_t k = 0; k < tile->n; k++) {
        const struct fx8_product *product =
            &plan->products[tile->baseline * plan->n_products +
                            k % plan->n_products];
        if (!tile->is_good[k]) {
            (*reason_of(job, row + k, product,
                        tile->first_channel + k / plan->n_products, counts))++;
            continue;
        }
        const bool is_cross = !fx8_is_auto(product);
        counts->above_one +=
            is_cross && tile->power[k] > FX8_QUICKLOOK_ABOVE_ONE;
        counts->beyond_half +=
            is_beyond_half(half[2 * k]) || is_beyond_half(half[2 * k + 1]);
        if (is_cross && !tile->is_averaged[k] && job->in->flags[row + k] == 0)
            (*why_not_averaged(job->quicklook, tile, k, counts))++;
    }
}

/* Add the cells of all products; cells that are not averaged get weight 0.
 * Sums get the same terms in the same order, and products are adjacent. */
static inline void add_cells(struct fx8_fisher_sums *sums, size_t n_products,
                             const struct fx8_quicklook_tile *tile)
{
    for (size_t channel = 0; channel < tile->n_channels; channel++)
        for (size_t p = 0; p < n_products; p++) {
            const size_t k = channel * n_products + p;
            const int is_averaged = tile->is_averaged[k] != 0;
            const struct fx8_fisher_cell cell = {
                .n_products = tile->n_products[k],
                .share_1 = tile->share_1[k],
                .share_2 = tile->share_2[k],
                /* 0 times an infinite `steps` would be NaN */
                .steps = is_averaged ? tile->steps[k] : 0.0f,
                .unbiased = tile->unbiased[k],
                .z = tile->z[k],
            };
            fx8_fisher_add(&sums[p], is_averaged, &cell);
        }
}

static void add_to_average(const struct fx8_quicklook *q,
                           const struct fx8_quicklook_tile *tile)
{
    const size_t n_products = q->plan.n_products;
    struct fx8_fisher_sums *stored = &q->sums[tile->baseline * n_products];
    struct fx8_fisher_sums sums[MOST_PRODUCTS]; /* in registers */
    memcpy(sums, stored, n_products * sizeof *sums);
    if (n_products == 1)
        add_cells(sums, 1, tile);
    else
        add_cells(sums, n_products, tile);
    memcpy(stored, sums, n_products * sizeof *sums);
}

static void process_baseline(void *context, size_t baseline, size_t thread)
{
    const struct fx8_quicklook_job *job = context;
    struct fx8_quicklook *q = job->quicklook;
    struct fx8_quicklook_note *note = &q->notes[thread];
    const size_t step = FX8_QUICKLOOK_TILE / q->plan.n_products;
    struct fx8_quicklook_tile tile, checked;
    for (size_t first = 0; first < q->plan.n_channels; first += step) {
        const size_t rest = q->plan.n_channels - first;
        tile.baseline = baseline;
        tile.first_channel = first;
        tile.n_channels = rest < step ? rest : step;
        fx8_quicklook_evaluate(q, q->plan.mode, job->in, &tile);
        write_tile(job, &tile);
        count_tile(job, &tile, &note->counts);
        add_to_average(q, &tile);
        if (!q->is_checked || baseline % q->check_stride != 0)
            continue;
        checked.baseline = baseline;
        checked.first_channel = first;
        checked.n_channels = tile.n_channels;
        fx8_quicklook_evaluate(q, FX8_FUNCTIONS_IEEE, job->in, &checked);
        fx8_quicklook_compare(q, &checked, &tile, &note->differences);
    }
}

/* Process the inputs of a dump, always on the host. */
static struct fx8_quicklook_job begin_dump(
    struct fx8_quicklook *q, const struct fx8_result *visibilities,
    const float *gain, const struct fx8_quicklook_dump *results)
{
    const struct fx8_quicklook_plan *plan = &q->plan;
    struct fx8_quicklook_job job = {q, visibilities, gain, results};
    q->is_checked = plan->mode == FX8_FUNCTIONS_FAST &&
                    q->n_dumps % FX8_QUICKLOOK_CHECK_DUMPS == 0;
    fx8_parallel_for(plan->n_inputs, plan->threads.count, plan->threads.pin,
                     fx8_quicklook_input, &job);
    q->n_dumps++;
    q->n_checked += q->is_checked;
    return job;
}

void fx8_quicklook_set_products(struct fx8_quicklook *quicklook,
                                double products_per_cell)
{
    quicklook->plan.products_per_cell = products_per_cell;
}

void fx8_quicklook_process(struct fx8_quicklook *quicklook,
                           const struct fx8_result *visibilities,
                           const float *gain,
                           const struct fx8_quicklook_dump *results)
{
    const struct fx8_quicklook_plan *plan = &quicklook->plan;
    struct fx8_quicklook_job job =
        begin_dump(quicklook, visibilities, gain, results);
    fx8_parallel_for(plan->n_baselines, plan->threads.count, plan->threads.pin,
                     process_baseline, &job);
}

enum fx8_status fx8_quicklook_process_on(
    struct fx8_quicklook *quicklook, fx8_engine_consume *consume,
    struct fx8_engine *engine, const struct fx8_result *visibilities,
    const float *gain, const struct fx8_quicklook_dump *results,
    struct fx8_error *error)
{
    struct fx8_quicklook *q = quicklook;
    const struct fx8_quicklook_plan *plan = &q->plan;
    struct fx8_quicklook_note *note = &q->notes[0];
    (void)begin_dump(q, visibilities, gain, results);
    const struct fx8_quicklook_work work = {
        .n_products = plan->n_products,
        .n_inputs = plan->n_inputs,
        .n_baselines = plan->n_baselines,
        .n_channels = plan->n_channels,
        .products_per_cell = (float)plan->products_per_cell,
        .mode = plan->mode,
        .check_stride = q->is_checked ? q->check_stride : 0,
        .bounds = q->bounds,
        .products = plan->products,
        .is_real = q->is_real,
        .power = q->power,
        .weight = q->weight,
        .steps = q->steps,
        .scale = {q->scale[FX8_FUNCTIONS_IEEE], q->scale[FX8_FUNCTIONS_FAST]},
        .in = *visibilities,
        .out = *results,
        .sums = q->sums,
        .pairs = q->is_checked ? q->pairs : NULL,
        .counts = &note->counts,
        .differences = &note->differences,
    };
    note->counts.n_cells +=
        (int64_t)(plan->n_baselines * plan->n_channels * plan->n_products);
    return consume(engine, &work, error);
}

/* --- open and close ---------------------------------------------- */

#define N_ARRAYS 10

static void list_arrays(const struct fx8_quicklook_plan *plan,
                        struct fx8_quicklook *q,
                        struct fx8_array arrays[N_ARRAYS])
{
    const bool is_fast = plan->mode == FX8_FUNCTIONS_FAST;
    const size_t levels = fx8_product(plan->n_inputs, plan->n_channels, 1, 1);
    const size_t averages =
        fx8_product(plan->n_baselines, plan->n_products, 1, 1);
    const struct fx8_array list[N_ARRAYS] = {
        {&q->autos, plan->n_inputs, sizeof *q->autos},
        {&q->is_real, plan->n_channels, 1},
        {&q->scale[FX8_FUNCTIONS_IEEE], levels, sizeof(float)},
        {&q->scale[FX8_FUNCTIONS_FAST], levels, is_fast ? sizeof(float) : 0},
        {&q->power, levels, sizeof(float)},
        {&q->weight, levels, sizeof(float)},
        {&q->steps, levels, sizeof(float)},
        {&q->sums, averages, sizeof *q->sums},
        {&q->pairs, averages, is_fast ? sizeof *q->pairs : 0},
        {&q->notes, plan->threads.count, sizeof *q->notes},
    };
    memcpy(arrays, list, sizeof list);
}

size_t fx8_quicklook_size(const struct fx8_quicklook_plan *plan)
{
    struct fx8_quicklook unused;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(plan, &unused, arrays);
    return fx8_arrays_size(arrays, N_ARRAYS);
}

static enum fx8_status find_autos(struct fx8_quicklook *q,
                                  struct fx8_error *error)
{
    const struct fx8_quicklook_plan *plan = &q->plan;
    const size_t n = plan->n_baselines * plan->n_products;
    for (size_t input = 0; input < plan->n_inputs; input++)
        q->autos[input] = n;
    for (size_t i = 0; i < n; i++)
        if (fx8_is_auto(&plan->products[i]))
            q->autos[plan->products[i].input_1] = i;
    for (size_t input = 0; input < plan->n_inputs; input++)
        if (q->autos[input] == n)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "quick-look: input %zu: expected its product with "
                            "itself among the baselines",
                            input);
    return FX8_OK;
}

enum fx8_status fx8_quicklook_open(const struct fx8_quicklook_plan *plan,
                                   struct fx8_quicklook **quicklook,
                                   struct fx8_error *error)
{
    *quicklook = NULL;
    if (plan->n_products > MOST_PRODUCTS)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "quick-look: %zu products: expected at most 4",
                        plan->n_products);
    void *memory;
    FX8_TRY(fx8_allocate(1, sizeof **quicklook, "quick-look", &memory, error));
    struct fx8_quicklook *q = memory;
    struct fx8_array arrays[N_ARRAYS];
    q->plan = *plan;
    q->check_stride = plan->n_baselines / FX8_QUICKLOOK_CHECK_BASELINES;
    if (q->check_stride == 0)
        q->check_stride = 1;
    list_arrays(plan, q, arrays);
    enum fx8_status status =
        fx8_allocate_arrays(arrays, N_ARRAYS, "quick-look", error);
    if (status == FX8_OK)
        status = find_autos(q, error);
    if (status != FX8_OK) {
        fx8_quicklook_close(&q);
        return status;
    }
    for (size_t channel = 0; channel < plan->n_channels; channel++)
        q->is_real[channel] = fx8_quicklook_is_real(plan, channel);
    fx8_quicklook_set_bounds(plan->is_on_device ? "cuda" : "host", &q->bounds);
    *quicklook = q;
    return FX8_OK;
}

void fx8_quicklook_close(struct fx8_quicklook **quicklook)
{
    struct fx8_quicklook *q = *quicklook;
    if (q == NULL)
        return;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(&q->plan, q, arrays);
    fx8_free_arrays(arrays, N_ARRAYS);
    free(q);
    *quicklook = NULL;
}

/* --- averages and report ----------------------------------------- */

void fx8_quicklook_averages(const struct fx8_quicklook *quicklook,
                            double inflation,
                            struct fx8_quicklook_average *averages)
{
    const struct fx8_quicklook_plan *plan = &quicklook->plan;
    for (size_t i = 0; i < plan->n_baselines * plan->n_products; i++) {
        if (fx8_is_auto(&plan->products[i]))
            averages[i] = (struct fx8_quicklook_average){
                FX8_QUICKLOOK_AUTO, 1.0, 1.0, 1.0, 0, 0.0};
        else
            fx8_fisher_average(&quicklook->sums[i],
                               &plan->functions[plan->mode], inflation,
                               &averages[i]);
    }
}

/* All members of the struct are counts. */
static void add_counts(struct fx8_quicklook_counts *sum,
                       const struct fx8_quicklook_counts *part)
{
    int64_t to[sizeof *sum / sizeof(int64_t)], from[sizeof to / sizeof *to];
    memcpy(to, sum, sizeof to);
    memcpy(from, part, sizeof from);
    for (size_t i = 0; i < sizeof to / sizeof to[0]; i++)
        to[i] += from[i];
    memcpy(sum, to, sizeof to);
}

void fx8_quicklook_report(const struct fx8_quicklook *quicklook,
                          struct fx8_quicklook_counts *counts,
                          struct fx8_quicklook_differences *differences)
{
    const struct fx8_quicklook_plan *plan = &quicklook->plan;
    *counts = (struct fx8_quicklook_counts){0};
    *differences =
        (struct fx8_quicklook_differences){.n_dumps = quicklook->n_checked};
    for (size_t thread = 0; thread < plan->threads.count; thread++) {
        const struct fx8_quicklook_note *note = &quicklook->notes[thread];
        const struct fx8_quicklook_differences *part = &note->differences;
        add_counts(counts, &note->counts);
        fx8_quicklook_merge(&differences->coherence, &part->coherence);
        fx8_quicklook_merge(&differences->amplitude, &part->amplitude);
        fx8_quicklook_merge(&differences->phase, &part->phase);
        fx8_quicklook_merge(&differences->spectra, &part->spectra);
    }
    for (size_t i = 0; i < plan->n_baselines * plan->n_products; i++)
        counts->fisher_clamped += quicklook->sums[i].n_clamped;
    if (quicklook->n_checked > 0)
        fx8_quicklook_compare_averages(quicklook, differences);
}
