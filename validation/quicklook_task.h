/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook_task.h -- random visibilities, and their quick-look.  All memory
 * lasts for the case.
 */
#ifndef FX8_VALIDATION_QUICKLOOK_TASK_H
#define FX8_VALIDATION_QUICKLOOK_TASK_H

#include "kernels/baseline.h"
#include "kernels/operations.h"
#include "kernels/quicklook.h"
#include "validation/testing.h"

#define M 1000.0 /* products in a cell of weight 1 */

/* Visibilities and their quick-look. */
struct task {
    struct fx8_quicklook_plan plan;
    struct fx8_product *products;
    size_t n_cells, n_levels, n_averages;
    float *visibilities, *nsamples;
    uint8_t *flags;
    const float *gain; /* or NULL */
    struct fx8_quicklook_dump out;
    struct fx8_quicklook_average *averages;
    struct fx8_quicklook_counts counts;
    struct fx8_quicklook_differences differences;
};

/* Results of its own. */
static inline void make_outputs(struct task *task)
{
    task->out.coherence = temporary(2 * task->n_cells * sizeof(uint16_t));
    task->out.amplitude = temporary(task->n_cells * sizeof(uint16_t));
    task->out.phase = temporary(task->n_cells * sizeof(uint16_t));
    task->out.spectra_db = temporary(task->n_levels * sizeof(float));
    task->averages = temporary(task->n_averages * sizeof *task->averages);
}

static inline struct task make_task(size_t antennas, size_t pols,
                                    size_t channels,
                                    enum fx8_functions_mode mode)
{
    const struct fx8_operations *level = fx8_operations_variant(0);
    struct task task = {
        .plan = {.n_products = pols * pols,
                 .n_inputs = antennas * pols,
                 .n_baselines = fx8_baseline_count(antennas),
                 .n_channels = channels,
                 .products_per_cell = M,
                 .real_channel = channels,
                 .channel_average = 1,
                 .mode = mode,
                 .functions = level->functions,
                 .half = &level->half,
                 .threads.count = 1},
    };
    const size_t n = task.n_averages =
        task.plan.n_baselines * task.plan.n_products;
    task.products = temporary(n * sizeof *task.products);
    fx8_baseline_table(antennas, pols, task.products);
    task.plan.products = task.products;
    task.n_cells = n * channels;
    task.n_levels = task.plan.n_inputs * channels;
    task.visibilities = temporary(2 * task.n_cells * sizeof(float));
    task.nsamples = temporary(task.n_cells * sizeof(float));
    task.flags = temporary(task.n_cells);
    make_outputs(&task);
    return task;
}

static inline size_t cell_at(const struct task *task, size_t average,
                             size_t channel)
{
    const size_t n = task->plan.n_products;
    return (average / n * task->plan.n_channels + channel) * n + average % n;
}

static inline size_t auto_of(const struct task *task, size_t input)
{
    size_t i = 0;
    while (task->products[i].input_1 != input ||
           task->products[i].input_2 != input)
        i++;
    return i;
}

/* Powers over six decades, coherences of any size, a tenth of the cells
 * flagged, weights of all kinds. */
static inline void fill(struct task *task, struct generator *g)
{
    double *power = temporary(task->n_levels * sizeof *power);
    const size_t channels = task->plan.n_channels;
    for (size_t i = 0; i < task->n_levels; i++)
        power[i] = pow(10.0, 6.0 * random_uniform(g) - 1.0);
    for (size_t i = 0; i < task->n_averages; i++)
        for (size_t c = 0; c < channels; c++) {
            const struct fx8_product *p = &task->products[i];
            const size_t at = cell_at(task, i, c);
            const bool is_auto = p->input_1 == p->input_2;
            const double rho = is_auto ? 1.0 : pow(random_uniform(g), 4.0);
            const double angle =
                is_auto ? 0.0 : 6.283185307 * (random_uniform(g) - 0.5);
            const double scale = rho * sqrt(power[p->input_1 * channels + c] *
                                            power[p->input_2 * channels + c]);
            task->visibilities[2 * at] = (float)(scale * cos(angle));
            task->visibilities[2 * at + 1] = (float)(scale * sin(angle));
            /* an input has some of the spectra; a product has those that both
             * inputs have */
            const double have_1 = power[p->input_1 * channels + c];
            const double have_2 = power[p->input_2 * channels + c];
            const double weight =
                0.5 + 0.5 * fmin(fmod(have_1, 1.0), fmod(have_2, 1.0));
            task->nsamples[at] =
                (float)(is_auto ? weight
                                : weight * (0.9 + 0.1 * random_uniform(g)));
            task->flags[at] = random_below(g, 10) == 0;
        }
}

static inline struct fx8_quicklook *open_task(const struct task *task)
{
    struct fx8_error error;
    struct fx8_quicklook *quicklook;
    must(fx8_quicklook_open(&task->plan, &quicklook, &error), error);
    return quicklook;
}

static inline void close_task(struct task *task,
                              struct fx8_quicklook *quicklook)
{
    fx8_quicklook_averages(quicklook, 1.0, task->averages);
    fx8_quicklook_report(quicklook, &task->counts, &task->differences);
    fx8_quicklook_close(&quicklook);
    assert_null(quicklook);
}

static inline void process(struct task *task, struct fx8_quicklook *quicklook)
{
    const struct fx8_result in = {task->visibilities, task->flags,
                                  task->nsamples};
    fx8_quicklook_process(quicklook, &in, task->gain, &task->out);
}

static inline void run(struct task *task)
{
    struct fx8_quicklook *quicklook = open_task(task);
    process(task, quicklook);
    close_task(task, quicklook);
}

#endif
