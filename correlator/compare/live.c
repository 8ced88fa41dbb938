/* SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/compare/figures.h"
#include "correlator/compare/live.h"
#include "correlator/compare/sides.h"
#include "correlator/run/describe.h"
#include "correlator/run/results.h"

/* Results in the order of sides: the subject first. */
static const enum fx8_result_kind kinds[2] = {FX8_RESULT_INT8, FX8_RESULT_FP32};

struct fx8_compare_live {
    const struct fx8_job *job;
    struct fx8_compare_sides sides; /* paths and headers alone */
    struct fx8_comparison comparison;
    bool has_failed; /* the files must be compared */
    int64_t n_dumps; /* taken */
    struct fx8_uvh5_counts counts;
    double *autos;          /* [powers of reference, of subject, weights] */
    size_t n;               /* in each of the three */
    double *gains;          /* [n_inputs][n_fine] of the first dump */
    double *clip_fraction;  /* likewise, of a dump or of all */
    int64_t *clips;         /* likewise, of all dumps */
    int64_t *valid_spectra; /* [n_bands][n_inputs] of all dumps */
    struct fx8_array arrays[5];
};

/* --- open and close ---------------------------------------------- */

static enum fx8_status describe(const struct fx8_job_center *center,
                                const char *const paths[2],
                                struct fx8_compare_sides *sides,
                                struct fx8_error *error)
{
    sides->n = 2;
    for (size_t k = 0; k < 2; k++) {
        /* of the provenance, only the precision matters here */
        const struct fx8_provenance provenance = {
            fx8_result_names[kinds[k]].keyword, "", "", "", "", ""};
        sides->side[k].path = paths[k];
        FX8_TRY(fx8_describe(center, &provenance, NULL, &sides->side[k].header,
                             error));
    }
    return fx8_compare_sides_describe(sides, error);
}

static enum fx8_status allocate(struct fx8_compare_live *live,
                                struct fx8_error *error)
{
    const struct fx8_axes *axes = &live->job->axes;
    const size_t n_fine = axes->has_quantiser ? axes->n_fine : 0;
    const size_t n = fx8_product(axes->n_inputs, n_fine, 1, 1);
    live->counts = (struct fx8_uvh5_counts){live->job->plan.n_bands,
                                            axes->n_inputs, n_fine};
    live->n = fx8_product(axes->n_inputs, axes->n_channels, 1, 1);
    const struct fx8_array arrays[] = {
        FX8_ITEMS(live->autos, fx8_product(live->n, 3, 1, 1)),
        FX8_ITEMS(live->gains, n),
        FX8_ITEMS(live->clip_fraction, n),
        FX8_ITEMS(live->clips, n),
        FX8_ITEMS(live->valid_spectra, axes->n_rows),
    };
    memcpy(live->arrays, arrays, sizeof arrays);
    return fx8_allocate_arrays(live->arrays, 5, "comparison", error);
}

enum fx8_status fx8_compare_live_open(const struct fx8_job_center *center,
                                      const char *subject,
                                      const char *reference,
                                      struct fx8_compare_live **result,
                                      struct fx8_error *error)
{
    FX8_AUTO(fx8_compare_live_close) struct fx8_compare_live *live = NULL;
    *result = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *live, "comparison", &live, error));
    live->job = center->job;
    FX8_TRY(allocate(live, error));
    FX8_TRY(describe(center, (const char *const[]){subject, reference},
                     &live->sides, error));
    *result = live;
    live = NULL;
    return FX8_OK;
}

void fx8_compare_live_close(struct fx8_compare_live **handle)
{
    struct fx8_compare_live *live = *handle;
    *handle = NULL;
    if (live == NULL)
        return;
    fx8_compare_sides_close(&live->sides);
    fx8_compare_clear(&live->comparison);
    fx8_free_arrays(live->arrays, 5);
    free(live);
}

/* --- dumps ------------------------------------------------------- */

/* Begin with the gains of the first dump, as compare begins with those of the
 * file; false: no memory, or gains that it would refuse. */
static bool begin(struct fx8_compare_live *live, const double *gains)
{
    const size_t n = live->counts.n_inputs * live->counts.n_fine;
    struct fx8_error unused;
    bool is_open;
    if (gains != NULL)
        memcpy(live->gains, gains, n * sizeof *gains);
    if (gains == NULL || !live->sides.has_autos) {
        is_open = fx8_compare_open(&live->sides.shape, NULL, &live->comparison,
                                   &unused) == FX8_OK;
        live->comparison.lacks_levels = true;
    } else {
        for (size_t i = 0; i < n; i++)
            if (!(gains[i] <= (double)FLT_MAX))
                return false;
        /* clips of the run are noted when it has ended */
        const struct fx8_compare_theory theory = {
            .n_plan_channels = live->counts.n_fine,
            .gain = live->gains,
            .ripple = live->job->ripple,
            .clip_fraction = live->clip_fraction,
            .spectra_per_dump = (double)live->job->most_spectra,
            .has_bias = fx8_compare_side_has_bias(&live->sides.side[0]),
            .has_dither = fx8_compare_side_has_dither(&live->sides.side[0]),
        };
        is_open = fx8_compare_open(&live->sides.shape, &theory,
                                   &live->comparison, &unused) == FX8_OK;
    }
    if (!is_open)
        return false;
    fx8_compare_sides_note(&live->sides, &live->comparison);
    for (size_t at = 0; live->comparison.is_absolute && at < 3 * live->n; at++)
        live->autos[at] = 1.0;
    return true;
}

static bool are_gains_kept(const struct fx8_compare_live *live,
                           const double *gains)
{
    return gains == NULL || memcmp(gains, live->gains,
                                   live->counts.n_inputs * live->counts.n_fine *
                                       sizeof *gains) == 0;
}

/* Whether all are: the exponent of infinities and NaNs is all ones. */
static bool are_finite(const float *values, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits &= UINT32_C(0x7f800000);
        most = bits > most ? bits : most;
    }
    return most < UINT32_C(0x7f800000);
}

static void count(struct fx8_compare_live *live,
                  const struct fx8_run_dump *dump)
{
    const struct fx8_uvh5_counts *counts = &live->counts;
    if (counts->n_fine == 0)
        return;
    fx8_uvh5_clip_fractions(counts, dump->valid_spectra, dump->clips,
                            live->clip_fraction);
    for (size_t i = 0; i < counts->n_bands * counts->n_inputs; i++)
        live->valid_spectra[i] += dump->valid_spectra[i];
    for (size_t i = 0; i < counts->n_inputs * counts->n_fine; i++)
        live->clips[i] += dump->clips[i];
}

/* Autos of a dump; they stay 1 where some are missing. */
static void begin_dump(struct fx8_compare_live *live,
                       const struct fx8_compare_row rows[2])
{
    const struct fx8_compare_shape *shape = &live->sides.shape;
    const size_t row_size = shape->n_channels * shape->n_products;
    double *reference = live->autos, *subject = reference + live->n,
           *weight = subject + live->n;
    for (size_t b = 0; live->sides.has_autos && b < shape->n_baselines; b++) {
        if (live->sides.antennas[b][0] != live->sides.antennas[b][1])
            continue;
        for (size_t k = 0; k < 2; k++) {
            const struct fx8_compare_row row = {
                NULL, rows[k].flags + b * row_size,
                rows[k].nsamples + b * row_size,
                rows[k].singles + 2 * b * row_size};
            fx8_compare_sides_take_powers(&live->sides, b, &row,
                                          k == 0 ? subject : reference,
                                          k == 0 ? NULL : weight);
        }
    }
    fx8_compare_begin_dump(
        &live->comparison,
        &(struct fx8_compare_autos){
            reference, subject, weight,
            fx8_compare_sides_length(&live->sides, (size_t)live->n_dumps),
            live->counts.n_fine > 0 ? live->clip_fraction : NULL});
}

/* Add a dump; false: not as compare would. */
static bool add(struct fx8_compare_live *live, const struct fx8_run_dump *dump)
{
    const struct fx8_compare_shape *shape = &live->sides.shape;
    const size_t n =
        2 * shape->n_baselines * shape->n_channels * shape->n_products;
    struct fx8_compare_row rows[2];
    if (dump->dump->index != live->n_dumps ||
        (live->n_dumps == 0 && !begin(live, dump->gains)) ||
        !are_gains_kept(live, dump->gains))
        return false;
    for (size_t k = 0; k < 2; k++) {
        const struct fx8_result *result = &dump->dump->results[kinds[k]];
        if (!are_finite(result->visibilities, n))
            return false;
        rows[k] = (struct fx8_compare_row){
            NULL, result->flags, result->nsamples, result->visibilities};
    }
    count(live, dump);
    begin_dump(live, rows);
    fx8_compare_add(&live->comparison, 0, shape->n_baselines, &rows[0],
                    &rows[1]);
    live->n_dumps++;
    return true;
}

static void take(void *context, const struct fx8_run_dump *dump)
{
    struct fx8_compare_live *live = context;
    if (live->has_failed)
        return;
    live->has_failed = !add(live, dump);
    if (live->has_failed)
        fx8_compare_clear(&live->comparison);
}

struct fx8_run_consumer fx8_compare_live_consumer(struct fx8_compare_live *live)
{
    return (struct fx8_run_consumer){
        take, live,
        fx8_arrays_size(live->arrays, 5) +
            fx8_compare_memory(&live->sides.shape)};
}

/* --- the end ----------------------------------------------------- */

const struct fx8_comparison *fx8_compare_live_finish(
    struct fx8_compare_live *live, int64_t n_dumps)
{
    struct fx8_comparison *comparison = &live->comparison;
    if (live->has_failed || n_dumps == 0 || live->n_dumps != n_dumps)
        return NULL;
    if (comparison->has_theory) {
        fx8_uvh5_clip_fractions(&live->counts, live->valid_spectra, live->clips,
                                live->clip_fraction);
        fx8_compare_combine_clips(comparison, live->clip_fraction,
                                  comparison->clip_fraction);
    }
    fx8_compare_finish(comparison);
    return comparison;
}
