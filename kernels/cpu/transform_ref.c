/* SPDX-License-Identifier: BSD-3-Clause */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/variants.h"

/** re + i im: C's CMPLXF(), which clang 14 lacks. */
static float complex join(float re, float im)
{
    const float parts[2] = {re, im};
    float complex x;
    memcpy(&x, parts, sizeof x);
    return x;
}

static float complex get(const float *columns, size_t column, size_t lane)
{
    const float *at = columns + column * FX8_COLUMN + lane;
    return join(at[0], at[FX8_LANES]);
}

static void put(float *columns, size_t column, size_t lane, float complex x)
{
    columns[column * FX8_COLUMN + lane] = crealf(x);
    columns[column * FX8_COLUMN + FX8_LANES + lane] = cimagf(x);
}

/** exp(-2 pi i k / n), rounded once. */
static float complex root(size_t k, size_t n)
{
    const double angle = 2 * M_PI * (double)(k % n) / (double)n;
    return join((float)cos(angle), (float)-sin(angle));
}

/** The sums over j in lanes.h, by their definition, for column k of a block. */
static void divide_column(const struct fx8_lanes_pass *pass, size_t k,
                          size_t lane, float *block)
{
    const size_t span = pass->length / pass->radix;
    float complex x[FX8_MOST_RADIX], sum[FX8_MOST_RADIX];
    for (size_t m = 0; m < pass->radix; m++) {
        x[m] = get(block, k + m * span, lane);
        sum[m] = 0.0f;
    }
    for (size_t m = 0; m < pass->radix; m++) {
        for (size_t j = 0; j < pass->radix; j++)
            sum[m] += root(j * m, pass->radix) * x[j];
        put(block, k + m * span, lane, root(k * m, pass->length) * sum[m]);
    }
}

/** One pass over a block. */
static void divide_block(const struct fx8_lanes_pass *pass, size_t lane,
                         float *block)
{
    for (size_t k = 0; k < pass->length / pass->radix; k++)
        divide_column(pass, k, lane, block);
}

/** The filter, one lane after the other. */
static void filter_lane(const struct fx8_lanes_filter *filter, size_t lane,
                        const int8_t *samples, float *columns)
{
    for (size_t r = 0; r < filter->row; r++) {
        float sum = 0.0f;
        int32_t integer = 0;
        for (size_t tap = 0; tap < filter->n_taps; tap++) {
            const size_t at = tap * filter->row + r;
            const int8_t x = samples[lane * filter->row + at];
            if (filter->integers != NULL)
                integer += filter->integers[at] * x;
            else
                sum = fmaf(filter->coefficients[at], (float)x, sum);
        }
        columns[r * FX8_LANES + lane] =
            filter->integers != NULL ? (float)integer * filter->scale : sum;
    }
}

static void begin(const struct fx8_lanes_plan *plan,
                  const struct fx8_lanes_filter *filter, uint32_t valid,
                  const int8_t *samples, float *columns)
{
    memset(columns, 0, filter->row * FX8_LANES * sizeof *columns);
    for (size_t lane = 0; lane < FX8_LANES; lane++) {
        if ((valid >> lane & 1) == 0)
            continue;
        filter_lane(filter, lane, samples, columns);
        if (plan->n_passes > 0)
            divide_block(&plan->passes[0], lane, columns);
    }
}

/** Passes of block m of the first pass. */
static void finish_block(const struct fx8_lanes_plan *plan, size_t m,
                         size_t lane, float *columns)
{
    const size_t span = plan->passes[0].length / plan->passes[0].radix;
    for (size_t p = 1; p < plan->n_passes; p++)
        for (size_t at = 0; at < span; at += plan->passes[p].length)
            divide_block(&plan->passes[p], lane,
                         columns + (m * span + at) * FX8_COLUMN);
}

/** Join the even and the odd samples in bins k and n - k. */
static void join_bins(const struct fx8_lanes_plan *plan, size_t k, size_t lane,
                      float *columns)
{
    const size_t n = plan->n_columns, from = plan->place[k];
    const size_t mirror = plan->place[(n - k) % n];
    const float complex low = get(columns, from, lane);
    const float complex high = get(columns, mirror, lane);
    const float complex even = 0.5f * (low + conjf(high));
    const float complex odd = 0.5f * root(2 * k + n, 4 * n) *
                              (low - conjf(high)); /* 1 / i: a quarter */
    if (k == 0) {
        put(columns, from, lane, crealf(low) + cimagf(low));
        return;
    }
    put(columns, from, lane, even + odd);
    put(columns, mirror, lane, conjf(even - odd));
}

static void finish(const struct fx8_lanes_plan *plan, size_t part,
                   float *columns)
{
    const size_t radix = plan->passes[0].radix, mirror = (radix - part) % radix;
    for (size_t lane = 0; lane < FX8_LANES; lane++) {
        finish_block(plan, part, lane, columns);
        if (!plan->is_real)
            continue;
        if (mirror != part)
            finish_block(plan, mirror, lane, columns);
        for (size_t k = 0; 2 * k <= plan->n_columns; k++)
            if (fx8_lanes_part(plan, k) == part)
                join_bins(plan, k, lane, columns);
    }
}

void fx8_fill_transform_reference(struct fx8_operations *operations)
{
    operations->lanes.begin = begin;
    operations->lanes.finish = finish;
}
