/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * get_header.c -- read Header/ of any UVH5 1.x file; every size is checked
 * against the file before memory is allocated.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "io/uvh5/uvh5_reader.h"

/* Rows of the long columns compared at once. */
#define BLOCK_ROWS 65536

/* Deflate, the strongest filter in use, packs at most 1032 : 1. */
#define MAX_PACKING 1032

/* Counts of the header, in the order of `counts` below. */
enum {
    N_ANTENNAS,
    N_BASELINES,
    N_ROWS,
    N_TIMES,
    N_CHANNELS,
    N_PRODUCTS,
    N_COUNTS
};

static enum fx8_status get_counts(struct fx8_uvh5_file *file,
                                  const struct fx8_h5_place *place,
                                  struct fx8_uvh5_header *header,
                                  struct fx8_error *error)
{
    /* every item is stored as at least one byte, before packing */
    static const struct {
        const char *name;
        int64_t most;
    } counts[N_COUNTS] = {
        {"Nants_telescope", INT32_MAX}, {"Nbls", INT32_MAX},
        {"Nblts", INT64_MAX / 1024},    {"Ntimes", INT32_MAX},
        {"Nfreqs", INT32_MAX},          {"Npols", 4},
    };
    int64_t value[N_COUNTS];
    hsize_t file_size = 0;
    H5Fget_filesize(file->file, &file_size);
    for (int i = 0; i < N_COUNTS; i++) {
        const enum fx8_status status = fx8_h5_get_integer(
            place, counts[i].name, 1, counts[i].most, &value[i], error);
        if (status != FX8_OK)
            return status;
        if ((uint64_t)value[i] / MAX_PACKING > file_size)
            return fx8_fail(
                error, FX8_ERR_INPUT,
                "%s: %s: %" PRId64 ": expected a count that a file of %" PRIu64
                " bytes can hold",
                file->path, counts[i].name, value[i], (uint64_t)file_size);
    }
    if (value[N_BASELINES] * value[N_TIMES] != value[N_ROWS])
        return fx8_fail(
            error, FX8_ERR_INPUT,
            "%s: Nblts: %" PRId64 ": expected Nbls x Ntimes = "
            "%" PRId64 " x %" PRId64 ", the same baselines in every dump",
            file->path, value[N_ROWS], value[N_BASELINES], value[N_TIMES]);
    header->n_antennas = (size_t)value[N_ANTENNAS];
    header->n_baselines = (size_t)value[N_BASELINES];
    header->n_times = (size_t)value[N_TIMES];
    header->n_channels = (size_t)value[N_CHANNELS];
    header->n_products = (size_t)value[N_PRODUCTS];
    file->n_rows = (size_t)value[N_ROWS];
    file->n_channels = header->n_channels;
    file->n_products = header->n_products;
    return FX8_OK;
}

static enum fx8_status get_site(const struct fx8_h5_place *place,
                                struct fx8_uvh5_header *header,
                                struct fx8_error *error)
{
    enum fx8_status status =
        fx8_h5_get_real(place, "latitude", &header->site.latitude_deg, error);
    if (status == FX8_OK)
        status = fx8_h5_get_real(place, "longitude",
                                 &header->site.longitude_deg, error);
    if (status == FX8_OK)
        status =
            fx8_h5_get_real(place, "altitude", &header->site.altitude_m, error);
    if (status == FX8_OK && fx8_h5_has(place, "dut1"))
        status = fx8_h5_get_real(place, "dut1", &header->dut1_s, error);
    return status;
}

static enum fx8_status get_texts(const struct fx8_h5_place *place,
                                 struct fx8_uvh5_header *header,
                                 struct fx8_error *error)
{
    const struct {
        const char *name;
        char *text;
        bool required;
    } texts[] = {
        {"telescope_name", header->telescope, true},
        {"instrument", header->instrument, true},
        {"x_orientation", header->x_orientation, false},
        {"vis_units", header->units, false},
        {"object_name", header->object, false},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!texts[i].required && !fx8_h5_has(place, texts[i].name))
            continue;
        const enum fx8_status status = fx8_h5_get_texts(
            place, texts[i].name, 1, FX8_TEXT_SIZE, texts[i].text, error);
        if (status != FX8_OK)
            return status;
    }
    return fx8_h5_get_long_text(place, "history", &header->history, error);
}

/* Read the phase centre, if any: from the catalogue since version 1.1, from
 * phase_type before. */
static enum fx8_status get_phasing(const struct fx8_h5_place *place,
                                   size_t n_rows,
                                   struct fx8_uvh5_header *header,
                                   struct fx8_error *error)
{
    const struct fx8_h5_rows one = {n_rows, 1, 0, 1};
    char type_name[FX8_TEXT_SIZE] = "phase_type", type[FX8_TEXT_SIZE] = "";
    char name[FX8_TEXT_SIZE];
    int64_t id = 0;
    enum fx8_status status = FX8_OK;
    if (fx8_h5_has(place, "phase_center_id_array"))
        status = fx8_h5_get_integers(place, "phase_center_id_array", one, &id,
                                     error);
    snprintf(name, sizeof name, "phase_center_catalog/%" PRId64 "/cat_name",
             id);
    if (status == FX8_OK && header->object[0] == '\0' &&
        fx8_h5_has(place, name))
        status = fx8_h5_get_texts(place, name, 1, FX8_TEXT_SIZE, header->object,
                                  error);
    snprintf(name, sizeof name, "phase_center_catalog/%" PRId64 "/cat_type",
             id);
    if (fx8_h5_has(place, name))
        strcpy(type_name, name);
    if (status == FX8_OK && fx8_h5_has(place, type_name))
        status =
            fx8_h5_get_texts(place, type_name, 1, FX8_TEXT_SIZE, type, error);
    header->is_phased = type[0] != '\0' && strcmp(type, "unprojected") != 0 &&
                        strcmp(type, "drift") != 0;
    return status;
}

/* Read one value of each list, which checks its length against its count before
 * memory is allocated. */
static enum fx8_status check_lists(const struct fx8_h5_place *place,
                                   const struct fx8_uvh5_header *header,
                                   size_t n_rows, struct fx8_error *error)
{
    const struct {
        const char *name;
        size_t n;
    } lists[] = {
        {"antenna_numbers", header->n_antennas},
        {"freq_array", header->n_channels},
        {"time_array", n_rows},
    };
    enum fx8_status status = FX8_OK;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        double value = 0;
        const struct fx8_h5_rows one = {lists[i].n, 1, 0, 1};
        if (status == FX8_OK)
            status = fx8_h5_get_reals(place, lists[i].name, one, &value, error);
    }
    return status;
}

/* Allocate all arrays of the header, zeroed. */
static enum fx8_status allocate(struct fx8_uvh5_header *header,
                                struct fx8_error *error)
{
    const struct {
        void **memory;
        size_t n;
        size_t size;
    } arrays[] = {
        {(void **)&header->antenna_numbers, header->n_antennas,
         sizeof(int64_t)},
        {(void **)&header->antenna_names, header->n_antennas,
         sizeof header->antenna_names[0]},
        {(void **)&header->antenna_positions_m, header->n_antennas,
         3 * sizeof(double)},
        {(void **)&header->ant_1, header->n_baselines, sizeof(int64_t)},
        {(void **)&header->ant_2, header->n_baselines, sizeof(int64_t)},
        {(void **)&header->uvw_m, header->n_baselines, 3 * sizeof(double)},
        {(void **)&header->julian_dates, header->n_times, sizeof(double)},
        {(void **)&header->apparent_lst_rad, header->n_times, sizeof(double)},
        {(void **)&header->frequencies_hz, header->n_channels, sizeof(double)},
        {(void **)&header->channel_widths_hz, header->n_channels,
         sizeof(double)},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        void *memory = NULL;
        const enum fx8_status status = fx8_allocate(
            arrays[i].n, arrays[i].size, "a UVH5 header", &memory, error);
        if (status != FX8_OK)
            return status;
        memcpy(arrays[i].memory, &memory, sizeof memory);
    }
    return FX8_OK;
}

static enum fx8_status get_lists(const struct fx8_h5_place *place,
                                 struct fx8_uvh5_header *header,
                                 struct fx8_error *error)
{
    const size_t n_antennas = header->n_antennas;
    enum fx8_status status =
        fx8_h5_get_integers(place, "antenna_numbers", fx8_h5_all(n_antennas, 1),
                            header->antenna_numbers, error);
    if (status == FX8_OK)
        status = fx8_h5_get_texts(place, "antenna_names", n_antennas,
                                  sizeof header->antenna_names[0],
                                  header->antenna_names[0], error);
    const struct {
        const char *name;
        struct fx8_h5_rows rows;
        double *values;
    } reals[] = {
        {"antenna_positions", fx8_h5_all(n_antennas, 3),
         header->antenna_positions_m},
        {"freq_array", fx8_h5_all(header->n_channels, 1),
         header->frequencies_hz},
        {"channel_width", fx8_h5_all(header->n_channels, 1),
         header->channel_widths_hz},
    };
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        if (status == FX8_OK)
            status = fx8_h5_get_reals(place, reals[i].name, reals[i].rows,
                                      reals[i].values, error);
    int64_t products[4];
    if (status == FX8_OK)
        status = fx8_h5_get_integers(place, "polarization_array",
                                     fx8_h5_all(header->n_products, 1),
                                     products, error);
    for (size_t i = 0; i < header->n_products && status == FX8_OK; i++) {
        if (products[i] < -8 || products[i] > 4 || products[i] == 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: polarization_array: %" PRId64
                            ": expected -8 to -1 or 1 to 4",
                            place->path, products[i]);
        header->products[i] = (int)products[i];
    }
    return status;
}

/* Buffers of a block of rows. */
struct block {
    int64_t *ant_1;
    int64_t *ant_2;
    double *date;
    double *lst;
};

/* Compare the rows of whole dumps with the first dump; keep one date and one
 * sidereal time per dump. */
static enum fx8_status take_block(const struct fx8_h5_place *place,
                                  struct fx8_uvh5_header *header, size_t first,
                                  size_t n, const struct block *block,
                                  struct fx8_error *error)
{
    const size_t n_baselines = header->n_baselines;
    if (first == 0) {
        memcpy(header->ant_1, block->ant_1,
               n_baselines * sizeof *header->ant_1);
        memcpy(header->ant_2, block->ant_2,
               n_baselines * sizeof *header->ant_2);
    }
    for (size_t i = 0; i < n; i++) {
        const size_t baseline = (first + i) % n_baselines;
        const size_t dump = (first + i) / n_baselines;
        if (baseline == 0) {
            header->julian_dates[dump] = block->date[i];
            header->apparent_lst_rad[dump] = block->lst[i];
        }
        if (block->date[i] != header->julian_dates[dump] ||
            block->ant_1[i] != header->ant_1[baseline] ||
            block->ant_2[i] != header->ant_2[baseline])
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: row %zu: antennas %" PRId64 " and %" PRId64
                            " at JD %.8f: expected rows in order of time, the "
                            "same baselines in every dump",
                            place->path, first + i, block->ant_1[i],
                            block->ant_2[i], block->date[i]);
    }
    return FX8_OK;
}

static enum fx8_status read_block(const struct fx8_h5_place *place,
                                  const char *lst_name, struct fx8_h5_rows rows,
                                  const struct block *block,
                                  struct fx8_error *error)
{
    enum fx8_status status =
        fx8_h5_get_integers(place, "ant_1_array", rows, block->ant_1, error);
    if (status == FX8_OK)
        status = fx8_h5_get_integers(place, "ant_2_array", rows, block->ant_2,
                                     error);
    if (status == FX8_OK)
        status =
            fx8_h5_get_reals(place, "time_array", rows, block->date, error);
    if (status == FX8_OK && lst_name != NULL)
        status = fx8_h5_get_reals(place, lst_name, rows, block->lst, error);
    return status;
}

/* Read the columns with a row per baseline and dump. */
static enum fx8_status get_columns(const struct fx8_uvh5_file *file,
                                   const struct fx8_h5_place *place,
                                   struct fx8_uvh5_header *header,
                                   struct fx8_error *error)
{
    const size_t n_baselines = header->n_baselines;
    const size_t n_dumps =
        n_baselines < BLOCK_ROWS ? BLOCK_ROWS / n_baselines : 1;
    size_t n_block = n_dumps * n_baselines;
    n_block = n_block < file->n_rows ? n_block : file->n_rows;
    header->write_lst = fx8_h5_has(place, "lst_array");
    const char *lst_name = header->write_lst ? "lst_array"
                           : fx8_h5_has(place, "phase_center_app_ra")
                               ? "phase_center_app_ra"
                               : NULL;
    void *memory = NULL;
    enum fx8_status status =
        fx8_allocate(fx8_product(4, n_block, 1, 1), sizeof(double),
                     "rows of a UVH5 header", &memory, error);
    if (status != FX8_OK)
        return status;
    int64_t *integers = memory;
    double *reals = memory;
    const struct block block = {integers, integers + n_block,
                                reals + 2 * n_block, reals + 3 * n_block};
    for (size_t first = 0; first < file->n_rows && status == FX8_OK;
         first += n_block) {
        const size_t left = file->n_rows - first;
        const struct fx8_h5_rows rows = {file->n_rows, 1, first,
                                         left < n_block ? left : n_block};
        status = read_block(place, lst_name, rows, &block, error);
        if (status == FX8_OK)
            status = take_block(place, header, first, rows.n, &block, error);
    }
    free(memory);
    const struct fx8_h5_rows one = {file->n_rows, 1, 0, 1};
    const struct fx8_h5_rows dump = {file->n_rows, 3, 0, n_baselines};
    if (status == FX8_OK)
        status = fx8_h5_get_reals(place, "integration_time", one,
                                  &header->integration_time_s, error);
    if (status == FX8_OK)
        status =
            fx8_h5_get_reals(place, "uvw_array", dump, header->uvw_m, error);
    return status;
}

enum fx8_status fx8_uvh5_get_header(struct fx8_uvh5_file *file,
                                    struct fx8_uvh5_header *header,
                                    struct fx8_error *error)
{
    const struct fx8_h5_place place = {file->path, file->group, false};
    header->dut1_s = NAN;
    enum fx8_status status = get_counts(file, &place, header, error);
    if (status == FX8_OK)
        status = get_site(&place, header, error);
    if (status == FX8_OK)
        status = get_texts(&place, header, error);
    if (status == FX8_OK)
        status = get_phasing(&place, file->n_rows, header, error);
    if (status == FX8_OK)
        status = check_lists(&place, header, file->n_rows, error);
    if (status == FX8_OK)
        status = allocate(header, error);
    if (status == FX8_OK)
        status = get_lists(&place, header, error);
    if (status == FX8_OK)
        status = get_columns(file, &place, header, error);
    if (status == FX8_OK)
        status = fx8_uvh5_get_keywords(file, header, error);
    return status;
}
