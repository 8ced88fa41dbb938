/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.c -- the sums.  See files.c for reading, judge.c for the limits of a
 * cell, figures.c and verdict.c for the evaluation, print.c, json.c and html.c
 * for output.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/try.h"
#include "correlator/compare/figures.h"

/* Baselines that are added between two mergers of the parts. */
#define N_ROWS ((size_t)256)

static size_t n_inputs(const struct fx8_comparison *comparison)
{
    return fx8_compare_inputs(&comparison->shape);
}

/* Derive the number of parts from the shape, and list the arrays. */
static void list_arrays(struct fx8_comparison *comparison,
                        struct fx8_array arrays[FX8_COMPARE_ARRAYS])
{
    const struct fx8_compare_shape *shape = &comparison->shape;
    const size_t n_channels = shape->n_channels;
    const size_t n_levels = fx8_product(n_inputs(comparison), n_channels, 1, 1);
    comparison->n_parts =
        n_channels < FX8_COMPARE_PARTS ? n_channels : FX8_COMPARE_PARTS;
    const struct fx8_array list[FX8_COMPARE_ARRAYS] = {
        FX8_ITEMS(comparison->inverse_gain_2, n_levels),
        FX8_ITEMS(comparison->clip_fraction, n_levels),
        FX8_ITEMS(comparison->dump_clips, n_levels),
        FX8_ITEMS(comparison->coarsest_2, n_levels),
        FX8_ITEMS(comparison->finest_2, n_levels),
        FX8_ITEMS(comparison->has_unit_gain, n_levels),
        FX8_ITEMS(comparison->levels, n_levels),
        FX8_ITEMS(comparison->scratch, n_channels),
        FX8_ITEMS(comparison->power_sum, n_levels),
        FX8_ITEMS(comparison->power_count, n_levels),
        FX8_ITEMS(comparison->inputs, n_inputs(comparison)),
        FX8_ITEMS(comparison->channels, n_channels),
        FX8_ITEMS(comparison->baselines, shape->n_baselines),
        FX8_ITEMS(comparison->channels_left_out,
                  fx8_product(FX8_COMPARE_N_REASONS, n_channels, 1, 1)),
        FX8_ITEMS(comparison->inputs_left_out,
                  fx8_product(1 + comparison->n_parts, FX8_COMPARE_N_REASONS,
                              n_inputs(comparison), 1)),
        FX8_ITEMS(comparison->frequencies_hz, n_channels),
        FX8_ITEMS(comparison->antenna_numbers, shape->n_antennas),
        FX8_ITEMS(comparison->baseline_antennas, shape->n_baselines),
        FX8_ITEMS(comparison->parts, comparison->n_parts),
        FX8_ITEMS(comparison->row_sums,
                  fx8_product(comparison->n_parts, N_ROWS, 1, 1)),
        FX8_ITEMS(comparison->values,
                  fx8_product(n_channels, shape->n_products, 4, 1)),
    };
    memcpy(arrays, list, sizeof list);
}

size_t fx8_compare_memory(const struct fx8_compare_shape *shape)
{
    struct fx8_comparison unused = {.shape = *shape};
    struct fx8_array arrays[FX8_COMPARE_ARRAYS];
    list_arrays(&unused, arrays);
    return fx8_arrays_size(arrays, FX8_COMPARE_ARRAYS) +
           2 * (1 + unused.n_parts) * FX8_COMPARE_SPREAD_BYTES;
}

static enum fx8_status allocate_all(struct fx8_comparison *comparison,
                                    struct fx8_error *error)
{
    list_arrays(comparison, comparison->arrays);
    comparison->n_arrays = FX8_COMPARE_ARRAYS;
    FX8_TRY(fx8_allocate_arrays(comparison->arrays, comparison->n_arrays,
                                "comparison", error));
    FX8_TRY(fx8_compare_spread_open(&comparison->phase, "phases", error));
    return fx8_compare_spread_open(&comparison->log_amplitude, "amplitudes",
                                   error);
}

/* The parts, each with its channels. */
static enum fx8_status open_parts(struct fx8_comparison *comparison,
                                  struct fx8_error *error)
{
    const size_t n_channels = comparison->shape.n_channels;
    for (size_t k = 0; k < comparison->n_parts; k++) {
        struct fx8_compare_part *part = &comparison->parts[k];
        part->first_channel = k * n_channels / comparison->n_parts;
        part->end_channel = (k + 1) * n_channels / comparison->n_parts;
        part->is_identical = true;
        part->inputs_left_out =
            comparison->inputs_left_out +
            (1 + k) * FX8_COMPARE_N_REASONS * n_inputs(comparison);
        part->values = comparison->values +
                       4 * part->first_channel * comparison->shape.n_products;
        FX8_TRY(fx8_compare_spread_open(&part->phase, "phases", error));
        FX8_TRY(
            fx8_compare_spread_open(&part->log_amplitude, "amplitudes", error));
    }
    return FX8_OK;
}

void fx8_compare_combine_clips(const struct fx8_comparison *comparison,
                               const double *fractions, double *largest)
{
    const size_t n_levels = n_inputs(comparison) * comparison->shape.n_channels;
    const size_t n = comparison->n_average;
    for (size_t cell = 0; cell < n_levels; cell++) {
        largest[cell] = 0.0;
        for (size_t c = 0; c < n; c++)
            largest[cell] = fmax(largest[cell], fractions[cell * n + c]);
    }
}

/* Levels of the groups of averaged channels. */
static void combine_levels(const struct fx8_compare_theory *theory,
                           struct fx8_comparison *comparison)
{
    const size_t n_channels = comparison->shape.n_channels;
    const size_t n_average = theory->n_plan_channels / n_channels;
    for (size_t cell = 0; cell < n_inputs(comparison) * n_channels; cell++) {
        const double *gain = theory->gain + cell * n_average;
        const size_t first = cell % n_channels * n_average;
        double sum = 0.0, most = 0.0, least = INFINITY;
        for (size_t c = 0; c < n_average; c++) {
            int exponent;
            const double ripple =
                theory->ripple == NULL ? 1.0 : theory->ripple[first + c];
            const double step_2 =
                gain[c] > 0.0 ? 1.0 / (gain[c] * gain[c]) / ripple : 0.0;
            sum += step_2;
            most = fmax(most, step_2);
            least = fmin(least, step_2);
            comparison->has_unit_gain[cell] = comparison->has_unit_gain[cell] ||
                                              gain[c] == 0.0 ||
                                              frexp(gain[c], &exponent) == 0.5;
        }
        comparison->inverse_gain_2[cell] =
            least > 0.0 ? sum / (double)n_average : 0.0;
        comparison->coarsest_2[cell] = most;
        comparison->finest_2[cell] = least;
    }
    comparison->n_average = n_average;
    fx8_compare_combine_clips(comparison, theory->clip_fraction,
                              comparison->clip_fraction);
    comparison->has_bias = theory->has_bias;
    comparison->has_dither = theory->has_dither;
    comparison->spectra_per_mean = theory->spectra_per_dump * (double)n_average;
}

enum fx8_status fx8_compare_open(const struct fx8_compare_shape *shape,
                                 const struct fx8_compare_theory *theory,
                                 struct fx8_comparison *comparison,
                                 struct fx8_error *error)
{
    *comparison = (struct fx8_comparison){
        .shape = *shape,
        .has_theory = theory != NULL,
        .is_identical = true,
    };
    FX8_TRY(allocate_all(comparison, error));
    FX8_TRY(open_parts(comparison, error));
    if (theory != NULL)
        combine_levels(theory, comparison);
    return FX8_OK;
}

static void add_scores(struct fx8_compare_scores *sum,
                       const struct fx8_compare_scores *more)
{
    sum->n += more->n;
    sum->high += more->high;
    sum->low += more->low;
}

void fx8_compare_add_sums(struct fx8_compare_sums *sum,
                          const struct fx8_compare_sums *more)
{
    sum->n_cells += more->n_cells;
    sum->difference += more->difference;
    sum->expected += more->expected;
    sum->ratio += more->ratio;
    sum->coherence += more->coherence;
    sum->product[0] += more->product[0];
    sum->product[1] += more->product[1];
    add_scores(&sum->scores, &more->scores);
}

/* Judge the dump, if there is one: the scores of all its parts. */
static void end_dump(struct fx8_comparison *comparison)
{
    struct fx8_compare_scores scores = {0};
    for (size_t k = 0; k < comparison->n_parts; k++) {
        add_scores(&scores, &comparison->parts[k].dump_scores);
        comparison->parts[k].dump_scores = (struct fx8_compare_scores){0};
    }
    fx8_compare_judge_dump(comparison, &scores);
}

void fx8_compare_begin_dump(struct fx8_comparison *comparison,
                            const struct fx8_compare_autos *autos)
{
    end_dump(comparison);
    comparison->dump = *autos;
    comparison->dump_spectra = comparison->spectra_per_mean * autos->length;
    comparison->n_dumps++;
    const size_t n_levels = n_inputs(comparison) * comparison->shape.n_channels;
    if (autos->clip_fraction != NULL && comparison->has_theory)
        fx8_compare_combine_clips(comparison, autos->clip_fraction,
                                  comparison->dump_clips);
    else
        memcpy(comparison->dump_clips, comparison->clip_fraction,
               n_levels * sizeof *comparison->dump_clips);
    for (size_t at = 0; at < n_levels; at++)
        if (autos->reference[at] > 0.0) {
            comparison->power_sum[at] += autos->reference[at];
            comparison->power_count[at]++;
        }
    for (size_t input = 0; input < n_inputs(comparison); input++)
        fx8_compare_level_input(comparison, input);
}

/* --- cells ------------------------------------------------------- */

/* Count a cell as left out; a fault of one input counts for that input alone.
 */
static void leave_out(struct fx8_comparison *comparison,
                      struct fx8_compare_part *part,
                      const struct fx8_compare_cell *cell,
                      enum fx8_compare_reason reason, bool first_input,
                      bool second_input)
{
    const size_t n_channels = comparison->shape.n_channels;
    part->left_out[reason]++;
    comparison->channels_left_out[reason * n_channels + cell->place.channel]++;
    int64_t *inputs = part->inputs_left_out + reason * n_inputs(comparison);
    inputs[cell->inputs[0]] += first_input;
    inputs[cell->inputs[1]] += second_input;
}

/* Why the cell is left out, or N_REASONS; counts it. */
static enum fx8_compare_reason reason_of(struct fx8_comparison *comparison,
                                         struct fx8_compare_part *part,
                                         const struct fx8_compare_cell *cell)
{
    enum fx8_compare_reason
        first = (enum fx8_compare_reason)cell->levels[0]->reason,
        second = (enum fx8_compare_reason)cell->levels[1]->reason;
    if (cell->is_flagged || !(cell->nsamples > 0.0))
        first = second = FX8_COMPARE_FLAGGED;
    enum fx8_compare_reason reason = first < second ? first : second;
    if (reason == FX8_COMPARE_N_REASONS && comparison->has_theory &&
        cell->coherence > FX8_COMPARE_COHERENCE * FX8_COMPARE_COHERENCE)
        reason = first = second = FX8_COMPARE_COHERENT;
    if (reason != FX8_COMPARE_N_REASONS)
        leave_out(comparison, part, cell, reason, first == reason,
                  second == reason);
    return reason;
}

/* `product` is conj(rho_B) rho_A. */
static void add_to(struct fx8_compare_sums *sums,
                   const struct fx8_compare_cell *cell, const double product[2])
{
    sums->n_cells++;
    sums->difference += cell->difference;
    sums->expected += cell->expected;
    sums->ratio += cell->ratio;
    sums->coherence += cell->coherence;
    sums->product[0] += product[0];
    sums->product[1] += product[1];
}

static void add_auto(struct fx8_comparison *comparison,
                     struct fx8_compare_part *part,
                     struct fx8_compare_cell *cell)
{
    if (cell->is_flagged || !(cell->nsamples > 0.0))
        return;
    fx8_compare_judge_auto(comparison, part, cell);
    if (cell->levels[0]->reason != FX8_COMPARE_N_REASONS)
        return;
    const double power = cell->reference[0];
    const double product[2] = {cell->subject[0] / power, 0.0};
    const double difference = (cell->subject[0] - power) / power;
    cell->difference = difference * difference;
    cell->coherence = 1.0;
    add_to(&part->autos, cell, product);
}

/* Largest argument of arcs(): later terms are 1e-10 of the sum. */
#define ARC_MOST 0.125

/* atan(x[0]) and atanh(x[1]) by their series, x -+ x^3 / 3 + x^5 / 5 -+ ... */
static void arcs(const double x[2], double values[2])
{
    const double y[2] = {-x[0] * x[0], x[1] * x[1]};
    double sum[2] = {0.0, 0.0};
    for (int n = 9; n > 0; n -= 2)
        for (size_t k = 0; k < 2; k++)
            sum[k] = sum[k] * y[k] + 1.0 / n;
    for (size_t k = 0; k < 2; k++)
        values[k] = sum[k] * x[k];
}

/* The angle of conj(B) A, and ln |A / B| = atanh((a - b) / (a + b)) of the
 * squares a and b; `product` is the first times any positive number. */
static void add_to_spreads(struct fx8_compare_part *part,
                           const double product[2], double a, double b)
{
    if (!(a > 0.0 && b > 0.0))
        return; /* one is zero and has no phase */
    const double x[2] = {product[1] / product[0], (a - b) / (a + b)};
    double values[2];
    arcs(x, values);
    if (!(product[0] > 0.0 && fabs(x[0]) < ARC_MOST))
        values[0] = atan2(product[1], product[0]);
    if (!(fabs(x[1]) < ARC_MOST))
        values[1] = 0.5 * log(a / b);
    fx8_compare_spread_add(&part->phase, values[0]);
    fx8_compare_spread_add(&part->log_amplitude, values[1]);
}

static void add_pair(struct fx8_comparison *comparison,
                     struct fx8_compare_part *part,
                     struct fx8_compare_cell *cell)
{
    const double *a = cell->subject, *b = cell->reference;
    const double inverse =
        cell->levels[0]->inverse_power * cell->levels[1]->inverse_power;
    const double re = a[0] - b[0], im = a[1] - b[1];
    const double square = b[0] * b[0] + b[1] * b[1];
    cell->coherence = square * inverse;
    cell->difference = (re * re + im * im) * inverse;
    if (comparison->has_theory) {
        const double i = cell->levels[0]->noise, j = cell->levels[1]->noise;
        const double noise = i + j + i * j;
        const double n = comparison->dump_spectra * cell->nsamples;
        cell->expected = noise / n;
        cell->ratio = noise > 0.0 ? cell->difference * n / noise : 0.0;
    }
    const enum fx8_compare_reason reason = reason_of(comparison, part, cell);
    if (comparison->has_theory && reason != FX8_COMPARE_FLAGGED)
        fx8_compare_judge_pair(comparison, part, cell, reason);
    if (reason != FX8_COMPARE_N_REASONS)
        return;
    const double product[2] = {(b[0] * a[0] + b[1] * a[1]) * inverse,
                               (b[0] * a[1] - b[1] * a[0]) * inverse};
    add_to_spreads(part, product, a[0] * a[0] + a[1] * a[1], square);
    add_to(&comparison->channels[cell->place.channel], cell, product);
    add_to(part->row, cell, product);
}

/* --- rows -------------------------------------------------------- */

/* Baselines of the dump to add. */
struct rows {
    struct fx8_comparison *comparison;
    size_t first, n;
    const struct fx8_compare_row *subject, *reference;
};

/* Cells of a row of the dump. */
struct cells {
    size_t first, n; /* in the rows */
    const struct fx8_compare_row *row[2];
    const double *values[2]; /* [n][re, im] */
};

static bool are_identical(const struct cells *cells)
{
    const struct fx8_compare_row *a = cells->row[0], *b = cells->row[1];
    const size_t first = cells->first, n = cells->n;
    return memcmp(cells->values[0], cells->values[1], 2 * n * sizeof(double)) ==
               0 &&
           memcmp(a->flags + first, b->flags + first, n) == 0 &&
           memcmp(a->nsamples + first, b->nsamples + first,
                  n * sizeof(float)) == 0;
}

/* The values of one side, converted to `doubles` [n][re, im] if they are
 * floats. */
static const double *values_of(const struct fx8_compare_row *row, size_t first,
                               size_t n, double *doubles)
{
    if (row->visibilities != NULL)
        return row->visibilities + 2 * first;
    const float *singles = row->singles + 2 * first;
    for (size_t i = 0; i < 2 * n; i++)
        doubles[i] = (double)singles[i];
    return doubles;
}

/* Cell `k` of these, whose place and inputs are set. */
static void add_cell(struct fx8_comparison *comparison,
                     struct fx8_compare_part *part, const struct cells *cells,
                     struct fx8_compare_cell *cell, size_t k)
{
    const struct fx8_compare_row *subject = cells->row[0];
    const struct fx8_compare_row *reference = cells->row[1];
    const size_t at = cells->first + k;
    const float one = subject->nsamples[at], other = reference->nsamples[at];
    cell->subject = cells->values[0] + 2 * k;
    cell->reference = cells->values[1] + 2 * k;
    cell->nsamples = (double)(one < other ? one : other);
    cell->is_flagged = subject->flags[at] != 0 || reference->flags[at] != 0;
    for (size_t end = 0; end < 2; end++) {
        const size_t level = cell->inputs[end] * comparison->shape.n_channels +
                             cell->place.channel;
        cell->levels[end] = &comparison->levels[level];
    }
    if (comparison->has_theory)
        fx8_compare_judge_mask(part, cell, subject, reference, at);
    if (cell->inputs[0] == cell->inputs[1])
        add_auto(comparison, part, cell);
    else
        add_pair(comparison, part, cell);
}

/* The channels of a part of one row. */
static void add_row(const struct rows *rows, size_t row,
                    struct fx8_compare_part *part)
{
    struct fx8_comparison *comparison = rows->comparison;
    const struct fx8_compare_shape *shape = &comparison->shape;
    const size_t *antennas = comparison->baseline_antennas[rows->first + row];
    struct cells cells = {
        (row * shape->n_channels + part->first_channel) * shape->n_products,
        (part->end_channel - part->first_channel) * shape->n_products,
        {rows->subject, rows->reference},
        {NULL, NULL}};
    for (size_t k = 0; k < 2; k++)
        cells.values[k] = values_of(cells.row[k], cells.first, cells.n,
                                    part->values + 2 * k * cells.n);
    part->is_identical = part->is_identical && are_identical(&cells);
    for (size_t k = 0; k < cells.n; k++) {
        const size_t p = k % shape->n_products;
        const int *feeds = shape->feeds[p];
        if (antennas[0] == antennas[1] && feeds[0] > feeds[1])
            continue; /* for one antenna YX is the same pair as XY */
        struct fx8_compare_cell cell = {
            .place = {rows->first + row, p,
                      part->first_channel + k / shape->n_products,
                      (size_t)comparison->n_dumps - 1},
            .inputs = {antennas[0] * shape->n_polarizations + (size_t)feeds[0],
                       antennas[1] * shape->n_polarizations + (size_t)feeds[1]},
        };
        add_cell(comparison, part, &cells, &cell, k);
    }
}

/* fx8_parallel_for(): a part of all rows. */
static void add_part(void *context, size_t item, size_t thread)
{
    (void)thread;
    const struct rows *rows = context;
    struct fx8_compare_part *part = &rows->comparison->parts[item];
    for (size_t row = 0; row < rows->n; row++) {
        part->row = &rows->comparison->row_sums[item * N_ROWS + row];
        *part->row = (struct fx8_compare_sums){0};
        add_row(rows, row, part);
        add_scores(&part->dump_scores, &part->row->scores);
    }
}

/* The rows from cell `at` on. */
static struct fx8_compare_row rows_from(const struct fx8_compare_row *rows,
                                        size_t at)
{
    const bool has_doubles = rows->visibilities != NULL;
    return (struct fx8_compare_row){
        has_doubles ? rows->visibilities + 2 * at : NULL,
        rows->flags + at,
        rows->nsamples + at,
        has_doubles ? NULL : rows->singles + 2 * at,
    };
}

void fx8_compare_add(struct fx8_comparison *comparison, size_t first,
                     size_t n_rows, const struct fx8_compare_row *subject,
                     const struct fx8_compare_row *reference)
{
    const size_t row_size =
        comparison->shape.n_channels * comparison->shape.n_products;
    for (size_t done = 0; done < n_rows; done += N_ROWS) {
        const size_t at = done * row_size, left = n_rows - done;
        const struct fx8_compare_row from[2] = {rows_from(subject, at),
                                                rows_from(reference, at)};
        struct rows rows = {
            .comparison = comparison,
            .first = first + done,
            .n = left < N_ROWS ? left : N_ROWS,
            .subject = &from[0],
            .reference = &from[1],
        };
        fx8_parallel_for(comparison->n_parts, fx8_parallel_cpus(), false,
                         add_part, &rows);
        for (size_t part = 0; part < comparison->n_parts; part++)
            for (size_t row = 0; row < rows.n; row++)
                fx8_compare_add_sums(
                    &comparison->baselines[rows.first + row],
                    &comparison->row_sums[part * N_ROWS + row]);
    }
}

/* --- parts ------------------------------------------------------- */

/* Whether `a` is before `b`: by dump, baseline, channel, product. */
static bool is_before(const struct fx8_compare_place *a,
                      const struct fx8_compare_place *b)
{
    const size_t of_a[] = {a->dump, a->baseline, a->channel, a->product};
    const size_t of_b[] = {b->dump, b->baseline, b->channel, b->product};
    size_t k = 0;
    while (k < 3 && of_a[k] == of_b[k])
        k++;
    return of_a[k] < of_b[k];
}

/* The worse of both, or the first of two that are alike.  What a check does not
 * use is 0 in both. */
static void merge_worst(struct fx8_compare_worst_of *sum,
                        const struct fx8_compare_worst_of *more)
{
    const bool is_alike = sum->high == more->high && sum->ratio == more->ratio;
    const int64_t n_judged = sum->n_judged + more->n_judged;
    const int64_t n_outside = sum->n_outside + more->n_outside;
    if (more->n_judged > 0 &&
        (sum->n_judged == 0 || more->high > sum->high ||
         more->ratio > sum->ratio ||
         (is_alike && is_before(&more->place, &sum->place))))
        *sum = *more;
    sum->n_judged = n_judged;
    sum->n_outside = n_outside;
}

static void merge_part(struct fx8_comparison *comparison,
                       const struct fx8_compare_part *part)
{
    comparison->is_identical = comparison->is_identical && part->is_identical;
    fx8_compare_add_sums(&comparison->autos, &part->autos);
    fx8_compare_spread_merge(&comparison->phase, &part->phase);
    fx8_compare_spread_merge(&comparison->log_amplitude, &part->log_amplitude);
    for (size_t check = 0; check < FX8_COMPARE_N_CHECKS; check++)
        merge_worst(&comparison->worst[check], &part->worst[check]);
    for (size_t reason = 0; reason < FX8_COMPARE_N_REASONS; reason++)
        comparison->left_out[reason] += part->left_out[reason];
    for (size_t k = 0; k < FX8_COMPARE_N_REASONS * n_inputs(comparison); k++)
        comparison->inputs_left_out[k] += part->inputs_left_out[k];
}

void fx8_compare_merge(struct fx8_comparison *comparison)
{
    end_dump(comparison);
    for (size_t k = 0; k < comparison->n_parts; k++)
        merge_part(comparison, &comparison->parts[k]);
    for (size_t c = 0; c < comparison->shape.n_channels; c++)
        fx8_compare_add_sums(&comparison->overall, &comparison->channels[c]);
}

void fx8_compare_clear(struct fx8_comparison *comparison)
{
    for (size_t k = 0; k < comparison->n_parts && comparison->parts != NULL;
         k++) {
        fx8_compare_spread_clear(&comparison->parts[k].phase);
        fx8_compare_spread_clear(&comparison->parts[k].log_amplitude);
    }
    fx8_compare_spread_clear(&comparison->phase);
    fx8_compare_spread_clear(&comparison->log_amplitude);
    fx8_free_arrays(comparison->arrays, comparison->n_arrays);
    *comparison = (struct fx8_comparison){0};
}
