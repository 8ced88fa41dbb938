/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare_files.c -- two UVH5 files into a comparison, row by row.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/shape.h"
#include "correlator/compare.h"
#include "correlator/compare_match.h"
#include "io/uvh5.h"

/* Bytes of visibilities read at a time from each file. */
#define READ_SIZE ((size_t)8 << 20)

/* One of the two files. */
struct side {
    const char *path;
    struct fx8_uvh5_file *file;
    struct fx8_uvh5_header header;
    double *visibilities; /* [rows of a read][n_channels][n_products][2] */
    uint8_t *flags;
    float *nsamples;
};

static const char *precision_of(const struct side *side)
{
    const struct fx8_keyword *keyword =
        fx8_uvh5_keyword(&side->header, "PRECISN");
    return keyword != NULL && keyword->type == FX8_KEYWORD_TEXT ? keyword->text
                                                                : "";
}

static enum fx8_status open_side(const char *path, struct side *side,
                                 struct fx8_error *error)
{
    *side = (struct side){.path = path};
    return fx8_uvh5_open(path, &side->file, &side->header, error);
}

static void close_side(struct side *side)
{
    fx8_uvh5_file_close(&side->file);
    fx8_uvh5_header_clear(&side->header);
    free(side->visibilities);
    free(side->flags);
    free(side->nsamples);
}

/* --- shape and levels -------------------------------------------- */

static enum fx8_status find_shape(const struct side *side,
                                  struct fx8_compare_shape *shape,
                                  struct fx8_error *error)
{
    /* feeds of AIPS codes -5 to -8: XX, YY, XY, YX */
    static const int feeds[4][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};
    const struct fx8_uvh5_header *header = &side->header;
    *shape = (struct fx8_compare_shape){
        .n_antennas = header->n_antennas,
        .n_polarizations = 1,
        .n_baselines = header->n_baselines,
        .n_channels = header->n_channels,
        .n_products = header->n_products,
    };
    for (size_t p = 0; p < header->n_products; p++) {
        const int kind = -5 - header->products[p];
        if (kind < 0 || kind > 3)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: polarization_array[%zu]: %d: expected -5 to "
                            "-8 (XX, YY, XY, YX)",
                            side->path, p, header->products[p]);
        memcpy(shape->feeds[p], feeds[kind], sizeof feeds[kind]);
        if (kind > 0)
            shape->n_polarizations = 2;
    }
    return FX8_OK;
}

/* One dataset of /fx8 with the levels, [n_inputs][plan channels]. */
static enum fx8_status get_levels(struct side *side, const char *name,
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
    return FX8_OK;
}

/* Open the comparison; `levels` is the INT8 file, or NULL for no theory. */
static enum fx8_status open_comparison(struct side *levels,
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
    if (status == FX8_OK && gain == NULL) {
        /* no quantiser (method none), or not from fx8: the verdict tells */
        status = fx8_compare_open(shape, NULL, comparison, error);
        comparison->lacks_levels = true;
        return status;
    }
    free(gain);
    gain = NULL;
    if (status == FX8_OK)
        status =
            get_levels(levels, "gain", shape, &gain, &n_plan_channels, error);
    if (status == FX8_OK)
        status = get_levels(levels, "clip_fraction", shape, &clips,
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
                                  },
                                  comparison, error);
    free(gain);
    free(clips);
    free(spectra);
    return status;
}

/* --- the walk ---------------------------------------------------- */

static enum fx8_status allocate_rows(struct side *side, size_t n_rows,
                                     struct fx8_error *error)
{
    const size_t n_cells = fx8_product(n_rows, side->header.n_channels,
                                       side->header.n_products, 1);
    void *visibilities, *flags = NULL, *nsamples = NULL;
    enum fx8_status status = fx8_allocate(n_cells, 2 * sizeof(double),
                                          "visibilities", &visibilities, error);
    if (status == FX8_OK)
        status = fx8_allocate(n_cells, 1, "flags", &flags, error);
    if (status == FX8_OK)
        status =
            fx8_allocate(n_cells, sizeof(float), "weights", &nsamples, error);
    side->visibilities = visibilities;
    side->flags = flags;
    side->nsamples = nsamples;
    return status;
}

static enum fx8_status read_rows(struct side *side, size_t first, size_t n_rows,
                                 struct fx8_error *error)
{
    const size_t row = side->header.n_channels * side->header.n_products;
    const enum fx8_status status =
        fx8_uvh5_read_rows(side->file, first, n_rows, side->visibilities,
                           side->flags, side->nsamples, error);
    if (status != FX8_OK)
        return status;
    for (size_t i = 0; i < n_rows * row * 2; i++)
        if (!isfinite(side->visibilities[i]))
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: Data/visdata[%zu, %zu, %zu]: %f: expected a "
                            "finite number",
                            side->path, first + i / 2 / row,
                            i / 2 % row / side->header.n_products,
                            i / 2 % side->header.n_products,
                            side->visibilities[i]);
    return FX8_OK;
}

static struct fx8_compare_row row_of(const struct side *side, size_t row)
{
    const size_t at = row * side->header.n_channels * side->header.n_products;
    return (struct fx8_compare_row){side->visibilities + 2 * at,
                                    side->flags + at, side->nsamples + at};
}

/* Powers of the inputs in a dump: the autos of the reference. */
static enum fx8_status read_powers(struct side *reference, size_t dump,
                                   struct fx8_comparison *comparison,
                                   double *power, struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = &comparison->shape;
    for (size_t b = 0; b < shape->n_baselines; b++) {
        const size_t antenna = comparison->baseline_antennas[b][0];
        if (comparison->baseline_antennas[b][1] != antenna)
            continue;
        const enum fx8_status status =
            read_rows(reference, dump * shape->n_baselines + b, 1, error);
        if (status != FX8_OK)
            return status;
        for (size_t p = 0; p < shape->n_products; p++) {
            if (shape->feeds[p][0] != shape->feeds[p][1])
                continue;
            const size_t input =
                antenna * shape->n_polarizations + (size_t)shape->feeds[p][0];
            for (size_t c = 0; c < shape->n_channels; c++)
                power[input * shape->n_channels + c] =
                    reference->visibilities[2 * (c * shape->n_products + p)];
        }
    }
    return FX8_OK;
}

static enum fx8_status walk(struct side *subject, struct side *reference,
                            size_t rows_per_read, double *power,
                            struct fx8_comparison *comparison,
                            struct fx8_error *error)
{
    const size_t n_baselines = comparison->shape.n_baselines;
    for (size_t dump = 0; dump < subject->header.n_times; dump++) {
        enum fx8_status status =
            read_powers(reference, dump, comparison, power, error);
        if (status != FX8_OK)
            return status;
        fx8_compare_begin_dump(comparison, power);
        for (size_t b = 0; b < n_baselines; b += rows_per_read) {
            const size_t n = n_baselines - b < rows_per_read ? n_baselines - b
                                                             : rows_per_read;
            status = read_rows(subject, dump * n_baselines + b, n, error);
            if (status == FX8_OK)
                status = read_rows(reference, dump * n_baselines + b, n, error);
            if (status != FX8_OK)
                return status;
            for (size_t row = 0; row < n; row++) {
                const struct fx8_compare_row a = row_of(subject, row);
                const struct fx8_compare_row r = row_of(reference, row);
                fx8_compare_add(comparison, b + row,
                                comparison->baseline_antennas[b + row][0],
                                comparison->baseline_antennas[b + row][1], &a,
                                &r);
            }
        }
    }
    return fx8_compare_finish(comparison, error);
}

/* Positions of the antennas of each baseline. */
static enum fx8_status find_antennas(const struct side *side,
                                     struct fx8_comparison *comparison,
                                     struct fx8_error *error)
{
    const struct fx8_uvh5_header *header = &side->header;
    for (size_t b = 0; b < header->n_baselines; b++)
        for (size_t end = 0; end < 2; end++) {
            const int64_t number =
                end == 0 ? header->ant_1[b] : header->ant_2[b];
            size_t antenna = 0;
            while (antenna < header->n_antennas &&
                   header->antenna_numbers[antenna] != number)
                antenna++;
            if (antenna == header->n_antennas)
                return fx8_fail(error, FX8_ERR_INPUT,
                                "%s: ant_%zu_array[%zu]: %lld: expected one "
                                "of antenna_numbers",
                                side->path, end + 1, b, (long long)number);
            comparison->baseline_antennas[b][end] = antenna;
        }
    memcpy(comparison->antenna_numbers, header->antenna_numbers,
           header->n_antennas * sizeof *header->antenna_numbers);
    memcpy(comparison->frequencies_hz, header->frequencies_hz,
           header->n_channels * sizeof *header->frequencies_hz);
    return FX8_OK;
}

static enum fx8_status compare_sides(struct side *subject,
                                     struct side *reference, bool has_theory,
                                     struct fx8_comparison *comparison,
                                     struct fx8_error *error)
{
    struct fx8_compare_shape shape;
    enum fx8_status status = find_shape(subject, &shape, error);
    if (status == FX8_OK)
        status = open_comparison(has_theory ? subject : NULL, &shape,
                                 comparison, error);
    if (status == FX8_OK)
        status = find_antennas(subject, comparison, error);
    const size_t row_size =
        shape.n_channels * shape.n_products * 2 * sizeof(double);
    const size_t rows =
        row_size > 0 && row_size < READ_SIZE ? READ_SIZE / row_size : 1;
    if (status == FX8_OK)
        status = allocate_rows(subject, rows, error);
    if (status == FX8_OK)
        status = allocate_rows(reference, rows, error);
    void *power = NULL;
    if (status == FX8_OK)
        status =
            fx8_allocate(fx8_product(shape.n_antennas, shape.n_polarizations,
                                     shape.n_channels, 1),
                         sizeof(double), "powers", &power, error);
    if (status == FX8_OK)
        status = walk(subject, reference, rows, power, comparison, error);
    free(power);
    return status;
}

enum fx8_status fx8_compare_files(const char *path_a, const char *path_b,
                                  struct fx8_comparison *comparison,
                                  struct fx8_error *error)
{
    struct side a, b = {0};
    *comparison = (struct fx8_comparison){0};
    enum fx8_status status = open_side(path_a, &a, error);
    if (status == FX8_OK)
        status = open_side(path_b, &b, error);
    if (status == FX8_OK)
        status = fx8_compare_match(a.path, &a.header, b.path, &b.header, error);
    if (status == FX8_OK) {
        const bool a_is_int8 = strcmp(precision_of(&a), "INT8") == 0;
        const bool b_is_int8 = strcmp(precision_of(&b), "INT8") == 0;
        const bool swap = b_is_int8 && strcmp(precision_of(&a), "FP32") == 0;
        const bool has_theory =
            swap || (a_is_int8 && strcmp(precision_of(&b), "FP32") == 0);
        struct side *subject = swap ? &b : &a, *reference = swap ? &a : &b;
        status =
            compare_sides(subject, reference, has_theory, comparison, error);
        snprintf(comparison->subject_name, sizeof comparison->subject_name,
                 "%s", subject->path);
        snprintf(comparison->reference_name, sizeof comparison->reference_name,
                 "%s", reference->path);
    }
    close_side(&a);
    close_side(&b);
    if (status != FX8_OK)
        fx8_compare_clear(comparison);
    return status;
}
