/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/quicklook/read.h"

struct fx8_quicklook_dumps {
    char *path;
    hid_t file, coherence, flags, spectra;
    size_t n_antennas, n_inputs, n_baselines, n_channels, n_products;
    double scale;     /* of the coherence */
    size_t *slots;    /* [n_inputs] 2 * antenna + feed */
    double *decibels; /* [n_inputs][n_channels] */
};

/* --- opening ------------------------------------------------------ */

/* Open a dataset with exactly these axes. */
static enum fx8_status open_cube(const struct fx8_quicklook_dumps *dumps,
                                 const char *name, int rank,
                                 const size_t *wanted, hid_t *dataset,
                                 struct fx8_error *error)
{
    FX8_TRY(fx8_h5_open_dataset(dumps->path, dumps->file, name, H5P_DEFAULT,
                                dataset, error));
    FX8_H5_AUTO space = H5Dget_space(*dataset);
    hsize_t extent[H5S_MAX_RANK] = {0};
    bool is_good = H5Sget_simple_extent_dims(space, extent, NULL) == rank;
    for (int i = 0; is_good && i < rank; i++)
        is_good = extent[i] == wanted[i];
    return is_good ? FX8_OK
                   : fx8_refuse(error, dumps->path, name,
                                "another shape: expected one value for each "
                                "dump, baseline or input, and channel");
}

static enum fx8_status open_cubes(struct fx8_quicklook_dumps *d, size_t n_dumps,
                                  struct fx8_error *error)
{
    const size_t cells[] = {n_dumps, d->n_baselines, d->n_channels,
                            d->n_products, 2};
    const size_t spectra[] = {n_dumps, d->n_inputs, d->n_channels};
    FX8_TRY(open_cube(d, "coherence", 5, cells, &d->coherence, error));
    FX8_TRY(open_cube(d, "flags", 4, cells, &d->flags, error));
    return open_cube(d, "spectra_db", 3, spectra, &d->spectra, error);
}

/* Which antenna and feed each input is. */
static enum fx8_status get_inputs(const struct fx8_h5_place *root,
                                  struct fx8_quicklook_dumps *d,
                                  const struct fx8_uvh5_header *header,
                                  struct fx8_error *error)
{
    FX8_AUTO_FREE int64_t *numbers = NULL;
    FX8_AUTO_FREE char(*feeds)[2] = NULL;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(numbers, d->n_inputs), FX8_ITEMS(feeds, d->n_inputs),
        FX8_ITEMS(d->slots, d->n_inputs),
        FX8_ITEMS(d->decibels, fx8_product(d->n_inputs, d->n_channels, 1, 1))};
    FX8_TRY(fx8_allocate_arrays(arrays, 4, "inputs", error));
    FX8_TRY(fx8_h5_get_integers(root, "input_antenna",
                                fx8_h5_all(d->n_inputs, 1), numbers, error));
    FX8_TRY(
        fx8_h5_get_texts(root, "input_feed", d->n_inputs, 2, feeds[0], error));
    for (size_t i = 0; i < d->n_inputs; i++) {
        size_t a = 0;
        while (a < d->n_antennas && header->antenna_numbers[a] != numbers[i])
            a++;
        if (a == d->n_antennas)
            return fx8_refuse(error, d->path, "input_antenna",
                              "%" PRId64 ": expected one of antenna_numbers",
                              numbers[i]);
        d->slots[i] = 2 * a + (feeds[i][0] == 'Y');
    }
    return FX8_OK;
}

static enum fx8_status get_header(const struct fx8_h5_place *root,
                                  const struct fx8_quicklook_description *d,
                                  struct fx8_uvh5_header *h,
                                  struct fx8_error *error)
{
    const struct fx8_array arrays[] = {
        FX8_ITEMS(h->antenna_numbers, d->n_antennas),
        FX8_ITEMS(h->antenna_names, d->n_antennas),
        FX8_ITEMS(h->ant_1, d->n_baselines),
        FX8_ITEMS(h->ant_2, d->n_baselines),
        FX8_ITEMS(h->julian_dates, d->n_dumps),
        FX8_ITEMS(h->integration_s, d->n_dumps),
        FX8_ITEMS(h->frequencies_hz, d->n_channels),
        FX8_ITEMS(h->channel_widths_hz, d->n_channels)};
    int64_t products[4];
    FX8_TRY(fx8_allocate_arrays(arrays, sizeof arrays / sizeof *arrays,
                                "a quick-look", error));
    const struct {
        const char *name;
        size_t n;
        int64_t *values;
    } integers[] = {{"antenna_numbers", d->n_antennas, h->antenna_numbers},
                    {"baseline_antenna_1", d->n_baselines, h->ant_1},
                    {"baseline_antenna_2", d->n_baselines, h->ant_2},
                    {"product", h->n_products, products}};
    const struct {
        const char *name;
        size_t n;
        double *values;
    } reals[] = {{"time_julian_date", d->n_dumps, h->julian_dates},
                 {"integration_time", d->n_dumps, h->integration_s},
                 {"frequency_hz", d->n_channels, h->frequencies_hz},
                 {"channel_width_hz", d->n_channels, h->channel_widths_hz}};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        FX8_TRY(fx8_h5_get_integers(root, integers[i].name,
                                    fx8_h5_all(integers[i].n, 1),
                                    integers[i].values, error));
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        FX8_TRY(fx8_h5_get_reals(root, reals[i].name, fx8_h5_all(reals[i].n, 1),
                                 reals[i].values, error));
    for (size_t p = 0; p < h->n_products; p++)
        h->products[p] = (int)products[p];
    FX8_TRY(fx8_h5_get_texts(root, "antenna_names", d->n_antennas,
                             sizeof *h->antenna_names, h->antenna_names[0],
                             error));
    for (size_t a = 0; a < d->n_antennas; a++)
        fx8_h5_printable(h->antenna_names[a]);
    return FX8_OK;
}

/* What the description has of the header. */
static enum fx8_status begin(const char *path,
                             const struct fx8_quicklook_description *d,
                             struct fx8_quicklook_dumps *dumps,
                             struct fx8_uvh5_header *header,
                             struct fx8_error *error)
{
    if (d->n_products > 4)
        return fx8_refuse(error, path, "product",
                          "%zu values: expected at most 4", d->n_products);
    memcpy(header->telescope, d->telescope, sizeof header->telescope);
    memcpy(header->instrument, d->instrument, sizeof header->instrument);
    memcpy(header->object, d->object, sizeof header->object);
    header->n_antennas = dumps->n_antennas = d->n_antennas;
    header->n_baselines = dumps->n_baselines = d->n_baselines;
    header->n_channels = dumps->n_channels = d->n_channels;
    header->n_products = dumps->n_products = d->n_products;
    header->n_times = d->n_written; /* the first ones */
    dumps->n_inputs = d->n_inputs;
    return FX8_OK;
}

enum fx8_status fx8_quicklook_dumps_open(const char *path,
                                         struct fx8_quicklook_dumps **result,
                                         struct fx8_uvh5_header *header,
                                         struct fx8_error *error)
{
    struct fx8_quicklook_description description;
    FX8_AUTO(fx8_uvh5_header_clear) struct fx8_uvh5_header found = {0};
    FX8_AUTO(fx8_quicklook_dumps_close)
    struct fx8_quicklook_dumps *dumps = calloc(1, sizeof *dumps);
    if (dumps == NULL || (dumps->path = strdup(path)) == NULL)
        return fx8_no_memory(path, error);
    FX8_TRY(fx8_quicklook_describe(path, &description, error));
    FX8_TRY(begin(path, &description, dumps, &found, error));
    FX8_TRY(fx8_h5_open_file(path, &dumps->file, error));
    const struct fx8_h5_place root = {path, dumps->file, false};
    const struct fx8_h5_place attributes = {path, dumps->file, true};
    FX8_TRY(
        fx8_h5_get_real(&attributes, "coherence_scale", &dumps->scale, error));
    FX8_TRY(get_header(&root, &description, &found, error));
    FX8_TRY(open_cubes(dumps, description.n_dumps, error));
    FX8_TRY(get_inputs(&root, dumps, &found, error));
    *header = found;
    found = (struct fx8_uvh5_header){0};
    *result = dumps;
    dumps = NULL;
    return FX8_OK;
}

/* --- reading ------------------------------------------------------ */

enum fx8_status fx8_quicklook_dumps_read(struct fx8_quicklook_dumps *dumps,
                                         size_t dump, size_t first, size_t n,
                                         double *coherence, uint8_t *flags,
                                         struct fx8_error *error)
{
    const hsize_t start[5] = {dump, first};
    const hsize_t count[5] = {1, n, dumps->n_channels, dumps->n_products, 2};
    fx8_h5_quiet();
    if (fx8_h5_read_part(dumps->coherence, H5T_NATIVE_DOUBLE, start, count,
                         coherence) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, dumps->path, "coherence");
    if (fx8_h5_read_part(dumps->flags, H5T_NATIVE_UINT8, start, count, flags) <
        0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, dumps->path, "flags");
    const size_t values = 2 * n * dumps->n_channels * dumps->n_products;
    for (size_t i = 0; i < values; i++)
        coherence[i] /= dumps->scale;
    return FX8_OK;
}

enum fx8_status fx8_quicklook_dumps_powers(struct fx8_quicklook_dumps *dumps,
                                           size_t dump, double *powers,
                                           struct fx8_error *error)
{
    const size_t n = dumps->n_channels;
    const hsize_t start[3] = {dump};
    const hsize_t count[3] = {1, dumps->n_inputs, n};
    fx8_h5_quiet();
    if (fx8_h5_read_part(dumps->spectra, H5T_NATIVE_DOUBLE, start, count,
                         dumps->decibels) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, dumps->path, "spectra_db");
    for (size_t i = 0; i < 2 * dumps->n_antennas * n; i++)
        powers[i] = NAN;
    for (size_t i = 0; i < dumps->n_inputs; i++)
        for (size_t c = 0; c < n; c++)
            powers[dumps->slots[i] * n + c] =
                pow(10.0, 0.1 * dumps->decibels[i * n + c]);
    return FX8_OK;
}

void fx8_quicklook_dumps_close(struct fx8_quicklook_dumps **handle)
{
    struct fx8_quicklook_dumps *dumps = *handle;
    *handle = NULL;
    if (dumps == NULL)
        return;
    fx8_h5_quiet();
    fx8_h5_close(&dumps->coherence);
    fx8_h5_close(&dumps->flags);
    fx8_h5_close(&dumps->spectra);
    fx8_h5_close(&dumps->file);
    free(dumps->slots);
    free(dumps->decibels);
    free(dumps->path);
    free(dumps);
}
