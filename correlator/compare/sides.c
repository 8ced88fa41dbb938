/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/compare/sides.h"

/* Bytes of visibilities read at a time from each file. */
#define READ_SIZE ((size_t)8 << 20)

const char *fx8_compare_side_precision(const struct fx8_compare_side *side)
{
    const struct fx8_keyword *keyword =
        fx8_uvh5_keyword(&side->header, "PRECISN");
    return keyword != NULL && keyword->type == FX8_KEYWORD_TEXT ? keyword->text
                                                                : "";
}

bool fx8_compare_side_has_bias(const struct fx8_compare_side *side)
{
    const struct fx8_uvh5_header *header = &side->header;
    const struct fx8_keyword *keyword = fx8_uvh5_keyword(header, "AUTOCORR");
    return keyword == NULL || keyword->type != FX8_KEYWORD_TEXT ||
           strcmp(keyword->text, "QUANTISER NOISE REMOVED") != 0;
}

bool fx8_compare_side_has_dither(const struct fx8_compare_side *side)
{
    return fx8_uvh5_keyword(&side->header, "DITHER") != NULL;
}

void fx8_compare_print_sizes(int64_t n_dumps,
                             const struct fx8_compare_shape *shape,
                             FILE *stream)
{
    fprintf(stream, "%" PRId64 " %s, %zu %s, %zu %s, %zu %s, %zu %s",
            FX8_COUNTED(n_dumps, "dump", "dumps"),
            FX8_COUNTED(shape->n_antennas, "antenna", "antennas"),
            FX8_COUNTED(shape->n_baselines, "baseline", "baselines"),
            FX8_COUNTED(shape->n_products, "product", "products"),
            FX8_COUNTED(shape->n_channels, "channel", "channels"));
}

/* --- open -------------------------------------------------------- */

static enum fx8_status open_side(const char *path,
                                 struct fx8_compare_side *side,
                                 struct fx8_error *error)
{
    side->path = path;
    return fx8_uvh5_open(path, &side->file, &side->header, error);
}

/* Whether two files are of the same observation. */
static enum fx8_status match(const struct fx8_compare_side *a,
                             const struct fx8_compare_side *b,
                             struct fx8_error *error)
{
    const struct fx8_uvh5_named of_a = {a->path, &a->header};
    const struct fx8_uvh5_named of_b = {b->path, &b->header};
    FX8_TRY(fx8_uvh5_match_array(of_a, of_b, error));
    FX8_TRY(fx8_uvh5_match_channels(of_a, of_b, error));
    return fx8_uvh5_match_dumps(of_a, of_b, error);
}

static enum fx8_status find_shape(const struct fx8_compare_side *side,
                                  struct fx8_compare_shape *shape,
                                  struct fx8_error *error)
{
    /* feeds of AIPS codes -1 to -4: RR, LL, RL, LR; -5 to -8: XX, YY, XY,
     * YX */
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
        const bool is_circular = header->products[p] > -5;
        const int kind = (is_circular ? -1 : -5) - header->products[p];
        if (kind < 0 || kind > 3 || is_circular != (header->products[0] > -5))
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: polarization_array[%zu]: %d: expected -5 to "
                            "-8 (XX, YY, XY, YX) or -1 to -4 (RR, LL, RL, LR)",
                            side->path, p, header->products[p]);
        for (size_t q = 0; q < p; q++)
            if (header->products[q] == header->products[p])
                return fx8_fail(error, FX8_ERR_INPUT,
                                "%s: polarization_array[%zu]: %d: expected "
                                "each product once",
                                side->path, p, header->products[p]);
        shape->is_circular = is_circular;
        memcpy(shape->feeds[p], feeds[kind], sizeof feeds[kind]);
        if (kind > 0)
            shape->n_polarizations = 2;
    }
    return FX8_OK;
}

/* Positions of the antennas of each baseline. */
static enum fx8_status find_antennas(const struct fx8_compare_side *side,
                                     size_t (*antennas)[2],
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
                                "%s: ant_%zu_array[%zu]: %" PRId64
                                ": expected one of antenna_numbers",
                                side->path, end + 1, b, number);
            antennas[b][end] = antenna;
        }
    return FX8_OK;
}

static enum fx8_status allocate(struct fx8_compare_sides *sides,
                                struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = &sides->shape;
    const size_t row_size =
        shape->n_channels * shape->n_products * 2 * sizeof(double);
    sides->rows_per_read =
        row_size > 0 && row_size < READ_SIZE ? READ_SIZE / row_size : 1;
    const size_t n_cells = fx8_product(sides->rows_per_read, shape->n_channels,
                                       shape->n_products, 1);
    for (size_t k = 0; k < sides->n; k++) {
        struct fx8_compare_side *side = &sides->side[k];
        const struct fx8_array arrays[] = {
            {&side->visibilities, n_cells, 2 * sizeof(double)},
            {&side->flags, n_cells, 1},
            FX8_ITEMS(side->nsamples, n_cells)};
        FX8_TRY(fx8_allocate_arrays(arrays, 3, "visibilities", error));
    }
    return FX8_OK;
}

/* Whether every antenna of the baselines has its auto. */
static enum fx8_status find_autos(struct fx8_compare_sides *sides,
                                  struct fx8_error *error)
{
    enum { CROSS = 1, AUTO = 2 };
    const struct fx8_compare_shape *shape = &sides->shape;
    FX8_AUTO_FREE uint8_t *kinds = NULL;
    FX8_TRY(fx8_allocate(shape->n_antennas, 1, "antennas", &kinds, error));
    for (size_t b = 0; b < shape->n_baselines; b++)
        for (size_t end = 0; end < 2; end++)
            kinds[sides->antennas[b][end]] |=
                sides->antennas[b][0] == sides->antennas[b][1] ? AUTO : CROSS;
    sides->has_autos = true;
    for (size_t a = 0; a < shape->n_antennas; a++)
        sides->has_autos = sides->has_autos && kinds[a] != CROSS;
    return FX8_OK;
}

enum fx8_status fx8_compare_sides_describe(struct fx8_compare_sides *sides,
                                           struct fx8_error *error)
{
    const struct fx8_compare_side *first = &sides->side[0];
    FX8_TRY(find_shape(first, &sides->shape, error));
    sides->longest_s = fx8_uvh5_longest_s(&first->header);
    FX8_TRY(fx8_allocate(sides->shape.n_baselines, sizeof *sides->antennas,
                         "baselines", &sides->antennas, error));
    FX8_TRY(find_antennas(first, sides->antennas, error));
    return find_autos(sides, error);
}

enum fx8_status fx8_compare_sides_open(const char *const *paths, size_t n,
                                       struct fx8_compare_sides *sides,
                                       struct fx8_error *error)
{
    *sides = (struct fx8_compare_sides){.n = n};
    struct fx8_compare_side *first = &sides->side[0];
    for (size_t k = 0; k < n; k++) {
        FX8_TRY(open_side(paths[k], &sides->side[k], error));
        if (k == 0)
            continue;
        FX8_TRY(match(first, &sides->side[k], error));
    }
    FX8_TRY(fx8_compare_sides_describe(sides, error));
    return allocate(sides, error);
}

enum fx8_status fx8_compare_side_check(const struct fx8_compare_side *side,
                                       struct fx8_error *error)
{
    const struct fx8_uvh5_header *header = &side->header;
    const struct {
        const char *name;
        const double *values;
        size_t n;
        double low, high;
    } arrays[] = {
        {"freq_array", header->frequencies_hz, header->n_channels, 0.0, 1e15},
        {"time_array", header->julian_dates, header->n_times, 0.0, 1e7},
        {"antenna_positions", header->antenna_positions_m,
         3 * header->n_antennas, -1e9, 1e9},
        {"channel_width", header->channel_widths_hz, header->n_channels, -1e15,
         1e15},
        {"integration_time", header->integration_s, header->n_times, 0.0, 1e9},
    };
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        for (size_t i = 0; i < arrays[k].n; i++)
            if (!(arrays[k].values[i] >= arrays[k].low &&
                  arrays[k].values[i] <= arrays[k].high))
                return fx8_fail(
                    error, FX8_ERR_INPUT, "%s: %s[%zu]: %g: expected %g to %g",
                    side->path, arrays[k].name, i, arrays[k].values[i],
                    arrays[k].low, arrays[k].high);
    return FX8_OK;
}

void fx8_compare_sides_close(struct fx8_compare_sides *sides)
{
    for (size_t k = 0; k < sides->n; k++) {
        struct fx8_compare_side *side = &sides->side[k];
        fx8_uvh5_file_close(&side->file);
        fx8_uvh5_header_clear(&side->header);
        free(side->visibilities);
        free(side->flags);
        free(side->nsamples);
    }
    free(sides->antennas);
}

void fx8_compare_sides_note(const struct fx8_compare_sides *sides,
                            struct fx8_comparison *comparison)
{
    const struct fx8_uvh5_header *header = &sides->side[0].header;
    comparison->is_absolute = !sides->has_autos;
    snprintf(comparison->units, sizeof comparison->units, "%s", header->units);
    memcpy(comparison->baseline_antennas, sides->antennas,
           header->n_baselines * sizeof *sides->antennas);
    memcpy(comparison->antenna_numbers, header->antenna_numbers,
           header->n_antennas * sizeof *header->antenna_numbers);
    memcpy(comparison->frequencies_hz, header->frequencies_hz,
           header->n_channels * sizeof *header->frequencies_hz);
    snprintf(comparison->subject_name, sizeof comparison->subject_name, "%s",
             sides->side[0].path);
    snprintf(comparison->reference_name, sizeof comparison->reference_name,
             "%s", sides->side[1].path);
    for (size_t k = 0; k < 2; k++)
        snprintf(comparison->precision[k], sizeof comparison->precision[k],
                 "%s", fx8_compare_side_precision(&sides->side[k]));
}

/* --- read -------------------------------------------------------- */

/* Cell `i` of the rows from `first` on: refuse a value. */
static enum fx8_status refuse(const struct fx8_compare_side *side,
                              const char *dataset, size_t first, size_t i,
                              double value, const char *expected,
                              struct fx8_error *error)
{
    const size_t n_products = side->header.n_products;
    const size_t row = side->header.n_channels * n_products;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: Data/%s[%zu, %zu, %zu]: %g: expected a finite "
                    "number%s",
                    side->path, dataset, first + i / row, i % row / n_products,
                    i % n_products, value, expected);
}

static enum fx8_status read_rows(struct fx8_compare_side *side, size_t first,
                                 size_t n_rows, bool has_values,
                                 struct fx8_error *error)
{
    const size_t n = n_rows * side->header.n_channels * side->header.n_products;
    FX8_TRY(fx8_uvh5_read_rows(side->file, first, n_rows,
                               has_values ? side->visibilities : NULL,
                               side->flags, side->nsamples, error));
    for (size_t i = 0; has_values && i < 2 * n; i++)
        if (!isfinite(side->visibilities[i]))
            return refuse(side, "visdata", first, i / 2, side->visibilities[i],
                          "", error);
    for (size_t i = 0; i < n; i++) {
        const double weight = (double)side->nsamples[i];
        /* may exceed 1 in files that are not from fx8 */
        if (!isfinite(weight) || weight < 0.0)
            return refuse(side, "nsamples", first, i, weight, " from 0 up",
                          error);
    }
    return FX8_OK;
}

enum fx8_status fx8_compare_sides_read(struct fx8_compare_sides *sides,
                                       size_t dump, size_t baseline,
                                       struct fx8_compare_row *rows,
                                       size_t *n_rows, struct fx8_error *error)
{
    const size_t n_baselines = sides->shape.n_baselines;
    const size_t row = sides->shape.n_channels * sides->shape.n_products;
    const size_t before = baseline % sides->rows_per_read;
    const size_t at = before * row, left = n_baselines - baseline;
    const size_t most = sides->rows_per_read - before;
    const size_t n = left < most ? left : most;
    if (n_rows != NULL)
        *n_rows = n;
    if (at == 0)
        fx8_progress_count(
            sides->progress, (int64_t)(dump * n_baselines + baseline),
            (int64_t)(sides->side[0].header.n_times * n_baselines));
    for (size_t k = 0; k < sides->n; k++) {
        struct fx8_compare_side *side = &sides->side[k];
        if (at == 0)
            FX8_TRY(read_rows(side, dump * n_baselines + baseline, n,
                              !sides->has_no_values, error));
        rows[k] = (struct fx8_compare_row){side->visibilities + 2 * at,
                                           side->flags + at,
                                           side->nsamples + at, NULL};
    }
    return FX8_OK;
}

void fx8_compare_sides_take_powers(const struct fx8_compare_sides *sides,
                                   size_t baseline,
                                   const struct fx8_compare_row *row,
                                   double *power, double *weight)
{
    const struct fx8_compare_shape *shape = &sides->shape;
    const size_t antenna = sides->antennas[baseline][0];
    for (size_t p = 0; p < shape->n_products; p++) {
        if (shape->feeds[p][0] != shape->feeds[p][1])
            continue;
        const size_t input =
            antenna * shape->n_polarizations + (size_t)shape->feeds[p][0];
        for (size_t c = 0; c < shape->n_channels; c++) {
            const size_t to = input * shape->n_channels + c;
            const size_t at = c * shape->n_products + p;
            power[to] = row->visibilities != NULL
                            ? row->visibilities[2 * at]
                            : (double)row->singles[2 * at];
            if (weight != NULL)
                weight[to] = (double)row->nsamples[at];
        }
    }
}

enum fx8_status fx8_compare_sides_powers(struct fx8_compare_sides *sides,
                                         size_t side, size_t dump,
                                         double *power, double *weight,
                                         struct fx8_error *error)
{
    struct fx8_compare_side *from = &sides->side[side];
    const struct fx8_compare_shape *shape = &sides->shape;
    for (size_t b = 0; b < shape->n_baselines; b++) {
        if (sides->antennas[b][1] != sides->antennas[b][0])
            continue;
        FX8_TRY(read_rows(from, dump * shape->n_baselines + b, 1, true, error));
        const struct fx8_compare_row row = {from->visibilities, from->flags,
                                            from->nsamples, NULL};
        fx8_compare_sides_take_powers(sides, b, &row, power, weight);
    }
    return FX8_OK;
}
