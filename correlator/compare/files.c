/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.c -- read two UVH5 files into a comparison, row by row.
 */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "correlator/compare/compare.h"
#include "correlator/compare/match.h"
#include "correlator/compare/side.h"
#include "io/uvh5/uvh5.h"

/* --- shape and levels -------------------------------------------- */

/* Read one dataset of /fx8 with levels, [n_inputs][plan channels], each 0 to
 * `most`. */
static enum fx8_status get_levels(struct fx8_compare_side *side,
                                  const char *name, double most,
                                  const struct fx8_compare_shape *shape,
                                  double **values, size_t *n_plan_channels,
                                  struct fx8_error *error)
{
    size_t extent[3];
    const enum fx8_status status =
        fx8_uvh5_get(side->file, name, extent, values, error);
    if (status != FX8_OK)
        return status;
    const size_t n_inputs = shape->n_antennas * shape->n_polarizations;
    if (*values == NULL)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: /fx8/%s: missing: expected the levels of the "
                        "quantiser",
                        side->path, name);
    if (extent[0] != n_inputs || extent[2] != 1 ||
        extent[1] % shape->n_channels != 0 || extent[1] == 0 ||
        (*n_plan_channels != 0 && extent[1] != *n_plan_channels))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: /fx8/%s: %zu x %zu: expected %zu inputs and a "
                        "multiple of %zu channels",
                        side->path, name, extent[0], extent[1], n_inputs,
                        shape->n_channels);
    *n_plan_channels = extent[1];
    for (size_t i = 0; i < extent[0] * extent[1]; i++)
        if (!((*values)[i] >= 0.0 && (*values)[i] <= most))
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: /fx8/%s: %g: expected 0 to %g", side->path,
                            name, (*values)[i], most);
    return FX8_OK;
}

static bool has_autos(const struct fx8_uvh5_header *header)
{
    for (size_t b = 0; b < header->n_baselines; b++)
        if (header->ant_1[b] == header->ant_2[b])
            return true;
    return false;
}

/* Whether the rounding noise is still in the autos. */
static bool has_bias(const struct fx8_uvh5_header *header)
{
    const struct fx8_keyword *keyword = fx8_uvh5_keyword(header, "AUTOCORR");
    return keyword == NULL || keyword->type != FX8_KEYWORD_TEXT ||
           strcmp(keyword->text, "QUANTISER NOISE REMOVED") != 0;
}

/* Open the comparison; `levels` is the INT8 file, or NULL for no theory. */
static enum fx8_status open_comparison(struct fx8_compare_side *levels,
                                       const struct fx8_compare_shape *shape,
                                       struct fx8_comparison *comparison,
                                       struct fx8_error *error)
{
    if (levels == NULL)
        return fx8_compare_open(shape, NULL, comparison, error);
    double *gain = NULL, *clips = NULL, *spectra = NULL;
    size_t n_plan_channels = 0, extent[3];
    enum fx8_status status =
        fx8_uvh5_get(levels->file, "gain", extent, &gain, error);
    if (status == FX8_OK && (gain == NULL || !has_autos(&levels->header))) {
        free(gain);
        /* no quantiser (method none), or not from fx8: the verdict reports it
         */
        status = fx8_compare_open(shape, NULL, comparison, error);
        comparison->lacks_levels = true;
        return status;
    }
    free(gain);
    gain = NULL;
    if (status == FX8_OK)
        status = get_levels(levels, "gain", (double)FLT_MAX, shape, &gain,
                            &n_plan_channels, error);
    if (status == FX8_OK)
        status = get_levels(levels, "clip_fraction", 1.0, shape, &clips,
                            &n_plan_channels, error);
    if (status == FX8_OK)
        status = fx8_uvh5_get(levels->file, "spectra_per_dump", extent,
                              &spectra, error);
    if (status == FX8_OK && (spectra == NULL || !(spectra[0] >= 1.0)))
        status = fx8_fail(error, FX8_ERR_INPUT,
                          "%s: /fx8/spectra_per_dump: missing or below 1: "
                          "expected the number of spectra in a dump",
                          levels->path);
    if (status == FX8_OK)
        status = fx8_compare_open(shape,
                                  &(struct fx8_compare_theory){
                                      .n_plan_channels = n_plan_channels,
                                      .gain = gain,
                                      .clip_fraction = clips,
                                      .spectra_per_dump = spectra[0],
                                      .has_bias = has_bias(&levels->header),
                                  },
                                  comparison, error);
    free(gain);
    free(clips);
    free(spectra);
    return status;
}

/* --- the walk ---------------------------------------------------- */

/* Autos of a dump; 1 in files without autos. */
static enum fx8_status begin_dump(struct fx8_compare_side *subject,
                                  struct fx8_compare_side *reference,
                                  size_t dump, double *autos,
                                  struct fx8_comparison *comparison,
                                  struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = &comparison->shape;
    const size_t n =
        shape->n_antennas * shape->n_polarizations * shape->n_channels;
    const size_t(*antennas)[2] =
        (const size_t(*)[2])comparison->baseline_antennas;
    enum fx8_status status = fx8_compare_side_powers(
        reference, dump, shape, antennas, autos, autos + 2 * n, error);
    if (status == FX8_OK)
        status = fx8_compare_side_powers(subject, dump, shape, antennas,
                                         autos + n, NULL, error);
    if (status == FX8_OK)
        fx8_compare_begin_dump(
            comparison,
            &(struct fx8_compare_autos){autos, autos + n, autos + 2 * n});
    return status;
}

static enum fx8_status add_rows(struct fx8_compare_side *subject,
                                struct fx8_compare_side *reference, size_t dump,
                                size_t first, size_t n,
                                struct fx8_comparison *comparison,
                                struct fx8_error *error)
{
    const size_t at = dump * comparison->shape.n_baselines + first;
    enum fx8_status status = fx8_compare_side_read(subject, at, n, error);
    if (status == FX8_OK)
        status = fx8_compare_side_read(reference, at, n, error);
    for (size_t row = 0; row < n && status == FX8_OK; row++) {
        const struct fx8_compare_row a = fx8_compare_side_row(subject, row);
        const struct fx8_compare_row r = fx8_compare_side_row(reference, row);
        const size_t *antennas = comparison->baseline_antennas[first + row];
        fx8_compare_add(comparison, first + row, antennas[0], antennas[1], &a,
                        &r);
    }
    return status;
}

static enum fx8_status walk(struct fx8_compare_side *subject,
                            struct fx8_compare_side *reference,
                            size_t rows_per_read, double *autos,
                            struct fx8_comparison *comparison,
                            struct fx8_error *error)
{
    const size_t n_baselines = comparison->shape.n_baselines;
    enum fx8_status status = FX8_OK;
    for (size_t dump = 0; dump < subject->header.n_times && status == FX8_OK;
         dump++) {
        status = begin_dump(subject, reference, dump, autos, comparison, error);
        for (size_t b = 0; b < n_baselines && status == FX8_OK;
             b += rows_per_read)
            status = add_rows(subject, reference, dump, b,
                              n_baselines - b < rows_per_read ? n_baselines - b
                                                              : rows_per_read,
                              comparison, error);
    }
    if (status == FX8_OK)
        fx8_compare_finish(comparison);
    return status;
}

/* Positions of the antennas of each baseline, and names for the tables. */
static enum fx8_status note_axes(const struct fx8_compare_side *side,
                                 struct fx8_comparison *comparison,
                                 struct fx8_error *error)
{
    const struct fx8_uvh5_header *header = &side->header;
    comparison->is_absolute = !has_autos(header);
    snprintf(comparison->units, sizeof comparison->units, "%s", header->units);
    memcpy(comparison->antenna_numbers, header->antenna_numbers,
           header->n_antennas * sizeof *header->antenna_numbers);
    memcpy(comparison->frequencies_hz, header->frequencies_hz,
           header->n_channels * sizeof *header->frequencies_hz);
    return fx8_compare_side_antennas(side, comparison->baseline_antennas,
                                     error);
}

static enum fx8_status compare_sides(struct fx8_compare_side *subject,
                                     struct fx8_compare_side *reference,
                                     bool has_theory,
                                     struct fx8_comparison *comparison,
                                     struct fx8_error *error)
{
    struct fx8_compare_shape shape;
    enum fx8_status status = fx8_compare_side_shape(subject, &shape, error);
    if (status == FX8_OK)
        status = open_comparison(has_theory ? subject : NULL, &shape,
                                 comparison, error);
    if (status == FX8_OK)
        status = note_axes(subject, comparison, error);
    const size_t rows = fx8_compare_side_rows(&shape);
    if (status == FX8_OK)
        status = fx8_compare_side_allocate(subject, rows, error);
    if (status == FX8_OK)
        status = fx8_compare_side_allocate(reference, rows, error);
    void *memory = NULL;
    const size_t n = fx8_product(shape.n_antennas, shape.n_polarizations,
                                 shape.n_channels, 3);
    if (status == FX8_OK)
        status = fx8_allocate(n, sizeof(double), "powers", &memory, error);
    double *autos = memory;
    for (size_t at = 0; status == FX8_OK && comparison->is_absolute && at < n;
         at++)
        autos[at] = 1.0;
    if (status == FX8_OK)
        status = walk(subject, reference, rows, autos, comparison, error);
    free(autos);
    return status;
}

enum fx8_status fx8_compare_files(const char *path_a, const char *path_b,
                                  struct fx8_comparison *comparison,
                                  struct fx8_error *error)
{
    struct fx8_compare_side a, b = {0};
    *comparison = (struct fx8_comparison){0};
    enum fx8_status status = fx8_compare_side_open(path_a, &a, error);
    if (status == FX8_OK)
        status = fx8_compare_side_open(path_b, &b, error);
    if (status == FX8_OK)
        status = fx8_compare_match(a.path, &a.header, b.path, &b.header, error);
    if (status == FX8_OK) {
        const bool a_is_int8 =
            strcmp(fx8_compare_side_precision(&a), "INT8") == 0;
        const bool b_is_int8 =
            strcmp(fx8_compare_side_precision(&b), "INT8") == 0;
        const bool swap =
            b_is_int8 && strcmp(fx8_compare_side_precision(&a), "FP32") == 0;
        const bool has_theory =
            swap ||
            (a_is_int8 && strcmp(fx8_compare_side_precision(&b), "FP32") == 0);
        struct fx8_compare_side *subject = swap ? &b : &a,
                                *reference = swap ? &a : &b;
        status =
            compare_sides(subject, reference, has_theory, comparison, error);
        snprintf(comparison->subject_name, sizeof comparison->subject_name,
                 "%s", subject->path);
        snprintf(comparison->reference_name, sizeof comparison->reference_name,
                 "%s", reference->path);
        snprintf(comparison->precision[0], sizeof comparison->precision[0],
                 "%s", fx8_compare_side_precision(subject));
        snprintf(comparison->precision[1], sizeof comparison->precision[1],
                 "%s", fx8_compare_side_precision(reference));
    }
    fx8_compare_side_close(&a);
    fx8_compare_side_close(&b);
    if (status != FX8_OK)
        fx8_compare_clear(comparison);
    return status;
}
