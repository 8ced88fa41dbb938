/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "correlator/compare/side.h"
#include "io/quicklook/read.h"

/* Bytes of visibilities read at a time from each file. */
#define READ_SIZE ((size_t)8 << 20)

enum fx8_status fx8_compare_side_open(const char *path,
                                      struct fx8_compare_side *side,
                                      struct fx8_error *error)
{
    *side = (struct fx8_compare_side){.path = path};
    if (fx8_quicklook_probe(path))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: a quick-look file: expected visibilities (UVH5)",
                        path);
    return fx8_uvh5_open(path, &side->file, &side->header, error);
}

void fx8_compare_side_close(struct fx8_compare_side *side)
{
    fx8_uvh5_file_close(&side->file);
    fx8_uvh5_header_clear(&side->header);
    free(side->visibilities);
    free(side->flags);
    free(side->nsamples);
}

const char *fx8_compare_side_precision(const struct fx8_compare_side *side)
{
    const struct fx8_keyword *keyword =
        fx8_uvh5_keyword(&side->header, "PRECISN");
    return keyword != NULL && keyword->type == FX8_KEYWORD_TEXT ? keyword->text
                                                                : "";
}

enum fx8_status fx8_compare_side_shape(const struct fx8_compare_side *side,
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
        shape->is_circular = is_circular;
        memcpy(shape->feeds[p], feeds[kind], sizeof feeds[kind]);
        if (kind > 0)
            shape->n_polarizations = 2;
    }
    return FX8_OK;
}

void fx8_compare_side_print(int64_t n_dumps,
                            const struct fx8_compare_shape *shape, FILE *stream)
{
    fprintf(
        stream, "%" PRId64 " %s, %zu %s, %zu %s, %zu %s, %zu %s", n_dumps,
        FX8_NOUN(n_dumps, "dump", "dumps"), shape->n_antennas,
        FX8_NOUN(shape->n_antennas, "antenna", "antennas"), shape->n_baselines,
        FX8_NOUN(shape->n_baselines, "baseline", "baselines"),
        shape->n_products, FX8_NOUN(shape->n_products, "product", "products"),
        shape->n_channels, FX8_NOUN(shape->n_channels, "channel", "channels"));
}

size_t fx8_compare_side_rows(const struct fx8_compare_shape *shape)
{
    const size_t row_size =
        shape->n_channels * shape->n_products * 2 * sizeof(double);
    return row_size > 0 && row_size < READ_SIZE ? READ_SIZE / row_size : 1;
}

enum fx8_status fx8_compare_side_allocate(struct fx8_compare_side *side,
                                          size_t n_rows,
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

/* Weights [n] from row `first` on; they may exceed 1 elsewhere. */
static enum fx8_status check_weights(const struct fx8_compare_side *side,
                                     size_t first, size_t n,
                                     struct fx8_error *error)
{
    const size_t n_products = side->header.n_products;
    const size_t row = side->header.n_channels * n_products;
    for (size_t i = 0; i < n; i++) {
        const double weight = (double)side->nsamples[i];
        if (!isfinite(weight) || weight < 0.0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: Data/nsamples[%zu, %zu, %zu]: %g: expected a "
                            "finite number from 0 up",
                            side->path, first + i / row, i % row / n_products,
                            i % n_products, weight);
    }
    return FX8_OK;
}

enum fx8_status fx8_compare_side_read(struct fx8_compare_side *side,
                                      size_t first, size_t n_rows,
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
    return check_weights(side, first, n_rows * row, error);
}

struct fx8_compare_row fx8_compare_side_row(const struct fx8_compare_side *side,
                                            size_t row)
{
    const size_t at = row * side->header.n_channels * side->header.n_products;
    return (struct fx8_compare_row){side->visibilities + 2 * at,
                                    side->flags + at, side->nsamples + at};
}

enum fx8_status fx8_compare_side_antennas(const struct fx8_compare_side *side,
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
                                "%s: ant_%zu_array[%zu]: %lld: expected one "
                                "of antenna_numbers",
                                side->path, end + 1, b, (long long)number);
            antennas[b][end] = antenna;
        }
    return FX8_OK;
}

enum fx8_status fx8_compare_side_powers(struct fx8_compare_side *side,
                                        size_t dump,
                                        const struct fx8_compare_shape *shape,
                                        const size_t (*antennas)[2],
                                        double *power, double *weight,
                                        struct fx8_error *error)
{
    for (size_t b = 0; b < shape->n_baselines; b++) {
        const size_t antenna = antennas[b][0];
        if (antennas[b][1] != antenna)
            continue;
        const enum fx8_status status = fx8_compare_side_read(
            side, dump * shape->n_baselines + b, 1, error);
        if (status != FX8_OK)
            return status;
        for (size_t p = 0; p < shape->n_products; p++) {
            if (shape->feeds[p][0] != shape->feeds[p][1])
                continue;
            const size_t input =
                antenna * shape->n_polarizations + (size_t)shape->feeds[p][0];
            for (size_t c = 0; c < shape->n_channels; c++) {
                const size_t to = input * shape->n_channels + c;
                const size_t from = c * shape->n_products + p;
                power[to] = side->visibilities[2 * from];
                if (weight != NULL)
                    weight[to] = (double)side->nsamples[from];
            }
        }
    }
    return FX8_OK;
}
