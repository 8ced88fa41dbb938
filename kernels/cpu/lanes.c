/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cpu/lanes.h"

/* Fewer samples do not fill the registers of the filter; more exceed the
 * second-level cache so far that FFTW, which transforms one spectrum at a time,
 * is as fast. */
#define LEAST_COLUMNS ((size_t)8)
#define MOST_COLUMNS  ((size_t)1 << 16)

/** Radix of the pass for blocks of `length` columns: eights first; two fours
 *  are faster than an eight and a two. */
static size_t choose_radix(size_t length)
{
    if (length % 8 == 0 && length % 32 != 16)
        return 8;
    static const size_t others[] = {4, 2, 3};
    for (size_t k = 0; k < 3; k++)
        if (length % others[k] == 0)
            return others[k];
    return 5;
}

bool fx8_lanes_has(size_t length, bool is_complex)
{
    size_t n = is_complex ? length : length / 2;
    if ((!is_complex && length % 2 != 0) || n < LEAST_COLUMNS ||
        n > MOST_COLUMNS)
        return false;
    static const size_t primes[] = {2, 3, 5};
    for (size_t p = 0; p < 3; p++)
        while (n % primes[p] == 0)
            n /= primes[p];
    return n == 1;
}

/** List the passes; returns their twiddle factors in floats. */
static size_t list_passes(struct fx8_lanes_plan *plan)
{
    size_t n_floats = 0;
    for (size_t length = plan->n_columns; length > 1;) {
        struct fx8_lanes_pass *pass = &plan->passes[plan->n_passes++];
        pass->radix = choose_radix(length);
        pass->length = length;
        length /= pass->radix;
        n_floats += length * (pass->radix - 1) * 2;
    }
    return n_floats;
}

/** scale exp(-2 pi i k / n). */
static void set_root(double scale, size_t k, size_t n, float root[2])
{
    const double angle = 2 * M_PI * (double)(k % n) / (double)n;
    root[0] = (float)(scale * cos(angle));
    root[1] = (float)(-scale * sin(angle));
}

static void set_twiddles(struct fx8_lanes_pass *pass, float *twiddles)
{
    pass->twiddles = twiddles;
    for (size_t k = 0; k < pass->length / pass->radix; k++)
        for (size_t m = 1; m < pass->radix; m++, twiddles += 2)
            set_root(1.0, k * m, pass->length, twiddles);
}

/** Column of a bin: its digits, the first of them the coarsest. */
static uint32_t find_place(const struct fx8_lanes_plan *plan, size_t bin)
{
    size_t place = 0;
    for (size_t p = 0; p < plan->n_passes; p++) {
        const struct fx8_lanes_pass *pass = &plan->passes[p];
        place += bin % pass->radix * (pass->length / pass->radix);
        bin /= pass->radix;
    }
    return (uint32_t)place;
}

enum fx8_status fx8_lanes_open(size_t length, bool is_complex,
                               struct fx8_lanes_plan *plan,
                               struct fx8_error *error)
{
    memset(plan, 0, sizeof *plan);
    plan->is_real = !is_complex;
    plan->n_columns = is_complex ? length : length / 2;
    const size_t n_twiddles = list_passes(plan);
    const size_t radix = plan->passes[0].radix;
    plan->n_parts = is_complex ? radix : radix / 2 + 1;
    const size_t n = plan->n_columns;
    const struct fx8_array arrays[] = {
        {&plan->factors, n_twiddles + (is_complex ? 0 : n + 2), sizeof(float)},
        {&plan->place, n, sizeof *plan->place},
    };
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "a transform", error));
    float *factors = plan->factors;
    for (size_t p = 0; p < plan->n_passes; p++) {
        struct fx8_lanes_pass *pass = &plan->passes[p];
        set_twiddles(pass, factors);
        factors += pass->length / pass->radix * (pass->radix - 1) * 2;
    }
    for (size_t bin = 0; bin < n; bin++)
        plan->place[bin] = find_place(plan, bin);
    if (is_complex)
        return FX8_OK;
    plan->joints = factors;
    /* 1 / 2i is a quarter of a turn back, halved: k / (2 C) + 1 / 4 */
    for (size_t k = 0; k <= n / 2; k++)
        set_root(0.5, 2 * k + n, 4 * n, factors + 2 * k);
    return FX8_OK;
}

void fx8_lanes_close(struct fx8_lanes_plan *plan)
{
    free(plan->factors);
    free(plan->place);
    memset(plan, 0, sizeof *plan);
}
