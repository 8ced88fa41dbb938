/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.c -- read two UVH5 files into a comparison, row by row.
 */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/compare/sides.h"

/* The files, in the order of sides. */
enum { SUBJECT = 0, REFERENCE, N_SIDES };

struct walk {
    struct fx8_compare_sides sides;
    struct fx8_comparison *comparison;
    double *autos; /* [powers of reference, of subject, weights] */
    size_t n;      /* in each of the three */
    /* of a dump; n_fine is 0 in files without: those of the run then count */
    struct fx8_uvh5_counts counts;
    int64_t *valid_spectra; /* [n_bands][n_inputs] */
    int64_t *clips;         /* [n_inputs][n_fine] */
    double *clip_fraction;  /* likewise */
};

static void close_walk(struct walk *walk)
{
    fx8_compare_sides_close(&walk->sides);
    free(walk->autos);
    free(walk->valid_spectra);
    free(walk->clips);
    free(walk->clip_fraction);
}

/* --- levels ------------------------------------------------------ */

/* Check one dataset of /fx8 with levels, [n_inputs][plan channels], each 0 to
 * `most`. */
static enum fx8_status check_levels(const struct fx8_compare_sides *sides,
                                    const char *name, double most,
                                    const double *values,
                                    const size_t extent[3],
                                    size_t *n_plan_channels,
                                    struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = &sides->shape;
    const char *path = sides->side[SUBJECT].path;
    const size_t n_inputs = fx8_compare_inputs(shape);
    if (values == NULL)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: /fx8/%s: missing: expected the levels of the "
                        "quantiser",
                        path, name);
    if (extent[0] != n_inputs || extent[2] != 1 ||
        extent[1] % shape->n_channels != 0 || extent[1] == 0 ||
        (*n_plan_channels != 0 && extent[1] != *n_plan_channels))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: /fx8/%s: %zu x %zu: expected %zu inputs and a "
                        "multiple of %zu channels",
                        path, name, extent[0], extent[1], n_inputs,
                        shape->n_channels);
    *n_plan_channels = extent[1];
    for (size_t i = 0; i < extent[0] * extent[1]; i++)
        if (!(values[i] >= 0.0 && values[i] <= most))
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: /fx8/%s: %g: expected 0 to %g", path, name,
                            values[i], most);
    return FX8_OK;
}

/* What was divided out of each plan channel; NULL: nothing. */
static enum fx8_status get_ripple(const struct fx8_compare_side *side,
                                  size_t n_plan_channels, double **ripple,
                                  struct fx8_error *error)
{
    size_t extent[3];
    FX8_TRY(fx8_uvh5_get(side->file, "ripple", extent, ripple, error));
    if (*ripple == NULL)
        return FX8_OK;
    if (extent[0] != n_plan_channels || extent[1] != 1 || extent[2] != 1)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: /fx8/ripple: %zu x %zu: expected %zu channels, as "
                        "in /fx8/gain",
                        side->path, extent[0], extent[1], n_plan_channels);
    for (size_t i = 0; i < n_plan_channels; i++)
        if (!((*ripple)[i] > 0.0 && (*ripple)[i] <= (double)FLT_MAX))
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: /fx8/ripple: %g: expected a positive number",
                            side->path, (*ripple)[i]);
    return FX8_OK;
}

/* Clips of each dump, if the file has them. */
static enum fx8_status find_clips(struct walk *walk, size_t n_plan_channels,
                                  struct fx8_error *error)
{
    const struct fx8_compare_side *side = &walk->sides.side[SUBJECT];
    struct fx8_uvh5_counts *counts = &walk->counts;
    const size_t n_inputs = fx8_compare_inputs(&walk->sides.shape);
    FX8_TRY(fx8_uvh5_find_counts(side->file, counts, error));
    if (counts->n_fine == 0)
        return FX8_OK;
    if (counts->n_inputs != n_inputs || counts->n_fine != n_plan_channels)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: /fx8/clips: %zu x %zu: expected %zu inputs and "
                        "%zu channels, as in /fx8/gain",
                        side->path, counts->n_inputs, counts->n_fine, n_inputs,
                        n_plan_channels);
    const size_t n = fx8_product(n_inputs, n_plan_channels, 1, 1);
    const struct fx8_array arrays[] = {
        FX8_ITEMS(walk->valid_spectra,
                  fx8_product(counts->n_bands, n_inputs, 1, 1)),
        FX8_ITEMS(walk->clips, n),
        FX8_ITEMS(walk->clip_fraction, n),
    };
    return fx8_allocate_arrays(arrays, 3, "clips", error);
}

/* Open the comparison with the levels of the subject. */
static enum fx8_status open_with_levels(struct walk *walk,
                                        struct fx8_error *error)
{
    const struct fx8_compare_sides *sides = &walk->sides;
    struct fx8_comparison *comparison = walk->comparison;
    const struct fx8_compare_side *side = &sides->side[SUBJECT];
    FX8_AUTO_FREE double *gain = NULL, *clips = NULL, *spectra = NULL,
                         *ripple = NULL;
    size_t extent[3], n_plan_channels = 0;
    FX8_TRY(fx8_uvh5_get(side->file, "gain", extent, &gain, error));
    if (gain == NULL || !sides->has_autos) {
        /* no quantiser (method none), or not from fx8: the verdict reports it
         */
        FX8_TRY(fx8_compare_open(&sides->shape, NULL, comparison, error));
        comparison->lacks_levels = true;
        return FX8_OK;
    }
    FX8_TRY(check_levels(sides, "gain", (double)FLT_MAX, gain, extent,
                         &n_plan_channels, error));
    FX8_TRY(fx8_uvh5_get(side->file, "clip_fraction", extent, &clips, error));
    FX8_TRY(check_levels(sides, "clip_fraction", 1.0, clips, extent,
                         &n_plan_channels, error));
    FX8_TRY(
        fx8_uvh5_get(side->file, "spectra_per_dump", extent, &spectra, error));
    if (spectra == NULL || !(spectra[0] >= 1.0))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: /fx8/spectra_per_dump: missing or below 1: "
                        "expected the number of spectra in a dump",
                        side->path);
    FX8_TRY(find_clips(walk, n_plan_channels, error));
    FX8_TRY(get_ripple(side, n_plan_channels, &ripple, error));
    const struct fx8_compare_theory theory = {
        .n_plan_channels = n_plan_channels,
        .gain = gain,
        .ripple = ripple,
        .clip_fraction = clips,
        .spectra_per_dump = spectra[0],
        .has_bias = fx8_compare_side_has_bias(side),
        .has_dither = fx8_compare_side_has_dither(side),
    };
    return fx8_compare_open(&sides->shape, &theory, comparison, error);
}

/* --- the walk ---------------------------------------------------- */

static enum fx8_status read_clips(struct walk *walk, size_t dump,
                                  struct fx8_error *error)
{
    const struct fx8_uvh5_counts *counts = &walk->counts;
    if (walk->counts.n_fine == 0)
        return FX8_OK;
    FX8_TRY(fx8_uvh5_read_counts(walk->sides.side[SUBJECT].file, counts, dump,
                                 walk->valid_spectra, walk->clips, error));
    fx8_uvh5_clip_fractions(counts, walk->valid_spectra, walk->clips,
                            walk->clip_fraction);
    return FX8_OK;
}

/* Autos of a dump; they stay 1 where some are missing. */
static enum fx8_status begin_dump(struct walk *walk, size_t dump,
                                  struct fx8_error *error)
{
    double *reference = walk->autos, *subject = reference + walk->n,
           *weight = subject + walk->n;
    if (walk->sides.has_autos) {
        FX8_TRY(fx8_compare_sides_powers(&walk->sides, REFERENCE, dump,
                                         reference, weight, error));
        FX8_TRY(fx8_compare_sides_powers(&walk->sides, SUBJECT, dump, subject,
                                         NULL, error));
    }
    FX8_TRY(read_clips(walk, dump, error));
    fx8_compare_begin_dump(walk->comparison,
                           &(struct fx8_compare_autos){
                               reference, subject, weight,
                               fx8_compare_sides_length(&walk->sides, dump),
                               walk->clip_fraction});
    return FX8_OK;
}

static bool are_precisions(const struct fx8_compare_side *side, const char *a,
                           const char *b)
{
    return strcmp(fx8_compare_side_precision(&side[0]), a) == 0 &&
           strcmp(fx8_compare_side_precision(&side[1]), b) == 0;
}

/* Whether the loss of 8 bits is known: that of corrected samples is not. */
static bool is_predicted(const struct fx8_compare_side *side)
{
    return are_precisions(side, "INT8", "FP32") &&
           fx8_uvh5_keyword(&side[0].header, "VANVLECK") == NULL &&
           fx8_uvh5_keyword(&side[1].header, "VANVLECK") == NULL;
}

static enum fx8_status compare(const char *const *paths,
                               struct fx8_progress_display *progress,
                               struct walk *walk, struct fx8_error *error)
{
    struct fx8_compare_side *side = walk->sides.side;
    struct fx8_comparison *comparison = walk->comparison;
    FX8_TRY(fx8_compare_sides_open(paths, N_SIDES, &walk->sides, error));
    walk->sides.progress = progress;
    if (are_precisions(side, "FP32", "INT8")) {
        const struct fx8_compare_side first = side[0];
        side[0] = side[1];
        side[1] = first;
    }
    FX8_TRY(is_predicted(side) ? open_with_levels(walk, error)
                               : fx8_compare_open(&walk->sides.shape, NULL,
                                                  comparison, error));
    fx8_compare_sides_note(&walk->sides, comparison);
    const struct fx8_compare_shape *shape = &walk->sides.shape;
    walk->n = fx8_product(fx8_compare_inputs(shape), shape->n_channels, 1, 1);
    FX8_TRY(fx8_allocate(fx8_product(walk->n, 3, 1, 1), sizeof(double),
                         "powers", &walk->autos, error));
    for (size_t at = 0; comparison->is_absolute && at < 3 * walk->n; at++)
        walk->autos[at] = 1.0;
    for (size_t dump = 0; dump < side->header.n_times; dump++) {
        FX8_TRY(begin_dump(walk, dump, error));
        for (size_t b = 0, n; b < shape->n_baselines; b += n) {
            struct fx8_compare_row rows[N_SIDES];
            FX8_TRY(
                fx8_compare_sides_read(&walk->sides, dump, b, rows, &n, error));
            fx8_compare_add(comparison, b, n, &rows[SUBJECT], &rows[REFERENCE]);
        }
    }
    fx8_compare_finish(comparison);
    return FX8_OK;
}

enum fx8_status fx8_compare_files(const char *path_a, const char *path_b,
                                  struct fx8_progress_display *progress,
                                  struct fx8_comparison *comparison,
                                  struct fx8_error *error)
{
    FX8_AUTO(close_walk) struct walk walk = {.comparison = comparison};
    *comparison = (struct fx8_comparison){0};
    const enum fx8_status status =
        compare((const char *const[]){path_a, path_b}, progress, &walk, error);
    if (status != FX8_OK)
        fx8_compare_clear(comparison);
    return status;
}
