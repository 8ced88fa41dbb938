/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * get_header.c -- headers in memory, and reading Header/ of any UVH5 1.x file;
 * every size is checked against the file before memory is allocated.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/uvh5/uvh5_reader.h"

/* Rows of the long columns compared at once. */
#define BLOCK_ROWS 65536

/* Deflate, the strongest filter in use, packs at most 1032 : 1. */
#define MAX_PACKING 1032

/* Most keywords. */
#define MAX_KEYWORDS 4096

struct fx8_uvh5_rows fx8_uvh5_rows_of_header(
    const struct fx8_uvh5_header *header)
{
    return header->rows != NULL
               ? *header->rows
               : fx8_uvh5_all_rows(header->n_times, header->n_baselines);
}

void fx8_uvh5_header_clear(struct fx8_uvh5_header *header)
{
    free(header->antenna_numbers);
    free(header->antenna_names);
    free(header->antenna_positions_m);
    free(header->ant_1);
    free(header->ant_2);
    free(header->uvw_m);
    free(header->times);
    free(header->julian_dates);
    free(header->integration_s);
    free(header->apparent_lst_rad);
    free(header->places);
    free(header->frequencies_hz);
    free(header->channel_widths_hz);
    free(header->history);
    free(header->keywords);
    *header = (struct fx8_uvh5_header){0};
}

const struct fx8_keyword *fx8_uvh5_keyword(const struct fx8_uvh5_header *header,
                                           const char *name)
{
    for (size_t i = 0; i < header->n_keywords; i++)
        if (strcmp(header->keywords[i].name, name) == 0)
            return &header->keywords[i];
    return NULL;
}

/* Whether baselines have rows of their own times: their number, or the file,
 * says so. */
static enum fx8_status find_irregular(const struct fx8_h5_place *place,
                                      bool is_odd, bool *is_irregular,
                                      struct fx8_error *error)
{
    int64_t is_rectangular = 1;
    if (fx8_h5_has(place, "blts_are_rectangular"))
        FX8_TRY(fx8_h5_get_integers(place, "blts_are_rectangular",
                                    fx8_h5_all(1, 1), &is_rectangular, error));
    *is_irregular = is_odd || is_rectangular == 0;
    return FX8_OK;
}

static enum fx8_status get_counts(struct fx8_uvh5_file *file,
                                  const struct fx8_h5_place *place,
                                  struct fx8_uvh5_header *header,
                                  struct fx8_error *error)
{
    /* every item is stored as at least one byte, before packing */
    int64_t n_antennas, n_baselines, n_rows, n_times, n_channels, n_products;
    const struct fx8_h5_integer counts[] = {
        {"Nants_telescope", 1, INT32_MAX, &n_antennas},
        {"Nbls", 1, INT32_MAX, &n_baselines},
        {"Nblts", 1, INT64_MAX / 1024, &n_rows},
        {"Ntimes", 1, INT32_MAX, &n_times},
        {"Nfreqs", 1, INT32_MAX, &n_channels},
        {"Npols", 1, 4, &n_products},
    };
    hsize_t file_size = 0;
    H5Fget_filesize(file->file, &file_size);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        FX8_TRY(fx8_h5_get_each(place, &counts[i], 1, error));
        if ((uint64_t)*counts[i].value / MAX_PACKING > file_size)
            return fx8_refuse(error, file->path, counts[i].name,
                              "%" PRId64
                              ": expected a count that a file of %" PRIu64
                              " bytes can hold",
                              *counts[i].value, (uint64_t)file_size);
    }
    if (file->takes_any_rows)
        FX8_TRY(find_irregular(place, n_baselines * n_times != n_rows,
                               &header->is_irregular, error));
    else if (n_baselines * n_times != n_rows)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: Nblts: %" PRId64 ": expected Nbls x Ntimes = "
                        "%" PRId64 " x %" PRId64
                        ", the same baselines in every dump%s",
                        file->path, n_rows, n_baselines, n_times,
                        fx8_h5_has(place, "extra_keywords/TIMELOSS")
                            ? ", a result without output.time_average_loss"
                            : "");
    header->n_antennas = (size_t)n_antennas;
    header->n_baselines = (size_t)n_baselines;
    header->n_times = file->n_times = (size_t)n_times;
    header->n_channels = file->n_channels = (size_t)n_channels;
    header->n_products = file->n_products = (size_t)n_products;
    file->n_rows = header->n_rows = (size_t)n_rows;
    return FX8_OK;
}

static enum fx8_status get_site(const struct fx8_h5_place *place,
                                struct fx8_uvh5_header *header,
                                struct fx8_error *error)
{
    FX8_TRY(
        fx8_h5_get_real(place, "latitude", &header->site.latitude_deg, error));
    FX8_TRY(fx8_h5_get_real(place, "longitude", &header->site.longitude_deg,
                            error));
    FX8_TRY(
        fx8_h5_get_real(place, "altitude", &header->site.altitude_m, error));
    if (fx8_h5_has(place, "dut1"))
        FX8_TRY(fx8_h5_get_real(place, "dut1", &header->dut1_s, error));
    return FX8_OK;
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
        FX8_TRY(fx8_h5_get_texts(place, texts[i].name, 1, FX8_TEXT_SIZE,
                                 texts[i].text, error));
    }
    return fx8_h5_get_long_text(place, "history", &header->history, error);
}

/* Position of an entry of the catalogue; NaN unless it is fixed in ICRS. */
static enum fx8_status get_center(const struct fx8_h5_place *place, int64_t id,
                                  struct fx8_uvh5_header *header,
                                  struct fx8_error *error)
{
    static const double degrees_per_radian = 180 / 3.14159265358979323846;
    static const char *const axes[2] = {"cat_lon", "cat_lat"};
    char name[FX8_TEXT_SIZE], frame[FX8_TEXT_SIZE] = "";
    header->center_deg[0] = header->center_deg[1] = NAN;
    snprintf(name, sizeof name, "phase_center_catalog/%" PRId64 "/cat_frame",
             id);
    if (header->is_phased && fx8_h5_has(place, name))
        FX8_TRY(fx8_h5_get_texts(place, name, 1, FX8_TEXT_SIZE, frame, error));
    for (size_t axis = 0; axis < 2 && strcmp(frame, "icrs") == 0; axis++) {
        snprintf(name, sizeof name, "phase_center_catalog/%" PRId64 "/%s", id,
                 axes[axis]);
        FX8_TRY(fx8_h5_get_real(place, name, &header->center_deg[axis], error));
        header->center_deg[axis] *= degrees_per_radian;
    }
    return FX8_OK;
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
    if (fx8_h5_has(place, "phase_center_id_array"))
        FX8_TRY(fx8_h5_get_integers(place, "phase_center_id_array", one, &id,
                                    error));
    snprintf(name, sizeof name, "phase_center_catalog/%" PRId64 "/cat_name",
             id);
    if (header->object[0] == '\0' && fx8_h5_has(place, name))
        FX8_TRY(fx8_h5_get_texts(place, name, 1, FX8_TEXT_SIZE, header->object,
                                 error));
    snprintf(name, sizeof name, "phase_center_catalog/%" PRId64 "/cat_type",
             id);
    if (fx8_h5_has(place, name))
        strcpy(type_name, name);
    if (fx8_h5_has(place, type_name))
        FX8_TRY(
            fx8_h5_get_texts(place, type_name, 1, FX8_TEXT_SIZE, type, error));
    header->is_phased = type[0] != '\0' && strcmp(type, "unprojected") != 0 &&
                        strcmp(type, "drift") != 0;
    return get_center(place, id, header, error);
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
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        double value = 0;
        const struct fx8_h5_rows one = {lists[i].n, 1, 0, 1};
        FX8_TRY(fx8_h5_get_reals(place, lists[i].name, one, &value, error));
    }
    return FX8_OK;
}

/* Allocate all arrays of the header, zeroed. */
static enum fx8_status allocate(struct fx8_uvh5_header *h,
                                struct fx8_error *error)
{
    const struct fx8_array arrays[] = {
        {&h->antenna_numbers, h->n_antennas, sizeof *h->antenna_numbers},
        {&h->antenna_names, h->n_antennas, sizeof *h->antenna_names},
        {&h->antenna_positions_m, h->n_antennas, 3 * sizeof(double)},
        {&h->ant_1, h->n_baselines, sizeof *h->ant_1},
        {&h->ant_2, h->n_baselines, sizeof *h->ant_2},
        {&h->uvw_m, h->n_baselines, 3 * sizeof(double)},
        {&h->julian_dates, h->n_times, sizeof(double)},
        {&h->integration_s, h->n_times, sizeof(double)},
        {&h->apparent_lst_rad, h->n_times, sizeof(double)},
        {&h->frequencies_hz, h->n_channels, sizeof(double)},
        {&h->channel_widths_hz, h->n_channels, sizeof(double)},
    };
    return fx8_allocate_arrays(arrays, sizeof arrays / sizeof arrays[0],
                               "a UVH5 header", error);
}

static enum fx8_status get_lists(const struct fx8_h5_place *place,
                                 struct fx8_uvh5_header *header,
                                 struct fx8_error *error)
{
    const size_t n_antennas = header->n_antennas;
    FX8_TRY(fx8_h5_get_integers(place, "antenna_numbers",
                                fx8_h5_all(n_antennas, 1),
                                header->antenna_numbers, error));
    FX8_TRY(fx8_h5_get_texts(place, "antenna_names", n_antennas,
                             sizeof header->antenna_names[0],
                             header->antenna_names[0], error));
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
        FX8_TRY(fx8_h5_get_reals(place, reals[i].name, reals[i].rows,
                                 reals[i].values, error));
    int64_t products[4];
    FX8_TRY(fx8_h5_get_integers(place, "polarization_array",
                                fx8_h5_all(header->n_products, 1), products,
                                error));
    for (size_t i = 0; i < header->n_products; i++) {
        if (products[i] < -8 || products[i] > 4 || products[i] == 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: polarization_array: %" PRId64
                            ": expected -8 to -1 or 1 to 4",
                            place->path, products[i]);
        header->products[i] = (int)products[i];
    }
    return FX8_OK;
}

/* Buffers of a block of rows. */
struct block {
    int64_t *ant_1;
    int64_t *ant_2;
    double *date;
    double *lst;
    double *integration_s;
};

/* Compare the rows of whole dumps with the first dump; keep one date, length
 * and sidereal time per dump. */
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
            header->integration_s[dump] = block->integration_s[i];
        }
        if (!(block->integration_s[i] > 0.0))
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: integration_time: row %zu: %g: expected "
                            "seconds above 0",
                            place->path, first + i, block->integration_s[i]);
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
    FX8_TRY(
        fx8_h5_get_integers(place, "ant_1_array", rows, block->ant_1, error));
    FX8_TRY(
        fx8_h5_get_integers(place, "ant_2_array", rows, block->ant_2, error));
    FX8_TRY(fx8_h5_get_reals(place, "time_array", rows, block->date, error));
    FX8_TRY(fx8_h5_get_reals(place, "integration_time", rows,
                             block->integration_s, error));
    if (lst_name != NULL)
        FX8_TRY(fx8_h5_get_reals(place, lst_name, rows, block->lst, error));
    return FX8_OK;
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
    FX8_AUTO_FREE void *memory = NULL;
    FX8_TRY(fx8_allocate(fx8_product(5, n_block, 1, 1), sizeof(double),
                         "rows of a UVH5 header", &memory, error));
    int64_t *integers = memory;
    double *reals = memory;
    const struct block block = {integers, integers + n_block,
                                reals + 2 * n_block, reals + 3 * n_block,
                                reals + 4 * n_block};
    for (size_t first = 0; first < file->n_rows; first += n_block) {
        const size_t left = file->n_rows - first;
        const struct fx8_h5_rows rows = {file->n_rows, 1, first,
                                         left < n_block ? left : n_block};
        FX8_TRY(read_block(place, lst_name, rows, &block, error));
        FX8_TRY(take_block(place, header, first, rows.n, &block, error));
    }
    const struct fx8_h5_rows dump = {file->n_rows, 3, 0, n_baselines};
    return fx8_h5_get_reals(place, "uvw_array", dump, header->uvw_m, error);
}

/* Class of the elements of a dataset, H5T_NO_CLASS if it is absent. */
static H5T_class_t class_of(const struct fx8_h5_place *group, const char *name)
{
    FX8_H5_AUTO_ITEM item = {0};
    return fx8_h5_open_item(group, name, &item, NULL) == FX8_OK
               ? H5Tget_class(item.type)
               : H5T_NO_CLASS;
}

/* Read one keyword; false if we cannot represent it. */
static bool take_keyword(const struct fx8_h5_place *group, const char *name,
                         struct fx8_keyword *keyword)
{
    *keyword = (struct fx8_keyword){.type = FX8_KEYWORD_TEXT};
    if (strlen(name) >= sizeof keyword->name)
        return false;
    strcpy(keyword->name, name);
    switch (class_of(group, name)) {
    case H5T_STRING:
        return fx8_h5_get_texts(group, name, 1, sizeof keyword->text,
                                keyword->text, NULL) == FX8_OK;
    case H5T_INTEGER:
    case H5T_ENUM:
        keyword->type = FX8_KEYWORD_INTEGER;
        return fx8_h5_get_integers(group, name, fx8_h5_all(1, 1),
                                   &keyword->integer, NULL) == FX8_OK;
    case H5T_FLOAT:
        keyword->type = FX8_KEYWORD_REAL;
        return fx8_h5_get_reals(group, name, fx8_h5_all(1, 1), &keyword->real,
                                NULL) == FX8_OK;
    default:
        return false;
    }
}

/* Read Header/extra_keywords; skips non-scalars, and names or texts longer than
 * fx8's own. */
static enum fx8_status get_keywords(struct fx8_uvh5_file *file,
                                    struct fx8_uvh5_header *header,
                                    struct fx8_error *error)
{
    if (H5Lexists(file->group, "extra_keywords", H5P_DEFAULT) <= 0)
        return FX8_OK;
    FX8_H5_AUTO id = H5Gopen2(file->group, "extra_keywords", H5P_DEFAULT);
    H5G_info_t info = {.nlinks = 0};
    if (id < 0 || H5Gget_info(id, &info) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, file->path, "extra_keywords");
    const size_t n =
        info.nlinks < MAX_KEYWORDS ? (size_t)info.nlinks : MAX_KEYWORDS;
    FX8_TRY(fx8_allocate(n, sizeof *header->keywords, "keywords",
                         &header->keywords, error));
    const struct fx8_h5_place group = {file->path, id, false};
    for (size_t i = 0; i < n; i++) {
        char name[FX8_TEXT_SIZE];
        const ssize_t length =
            H5Lget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i,
                               name, sizeof name, H5P_DEFAULT);
        if (length > 0 && (size_t)length < sizeof name &&
            take_keyword(&group, name, &header->keywords[header->n_keywords]))
            header->n_keywords++;
    }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_get_header(struct fx8_uvh5_file *file,
                                    struct fx8_uvh5_header *header,
                                    struct fx8_error *error)
{
    const struct fx8_h5_place place = {file->path, file->group, false};
    header->dut1_s = NAN;
    FX8_TRY(get_counts(file, &place, header, error));
    FX8_TRY(get_site(&place, header, error));
    FX8_TRY(get_texts(&place, header, error));
    FX8_TRY(get_phasing(&place, file->n_rows, header, error));
    FX8_TRY(check_lists(&place, header, file->n_rows, error));
    FX8_TRY(allocate(header, error));
    FX8_TRY(get_lists(&place, header, error));
    FX8_TRY(header->is_irregular
                ? fx8_uvh5_get_rows(file, &place, header, error)
                : get_columns(file, &place, header, error));
    return get_keywords(file, header, error);
}

enum fx8_status fx8_uvh5_get_words(struct fx8_uvh5_file *file,
                                   struct fx8_uvh5_header *header,
                                   struct fx8_error *error)
{
    const struct fx8_h5_place place = {file->path, file->group, false};
    FX8_TRY(fx8_h5_get_long_text(&place, "history", &header->history, error));
    return get_keywords(file, header, error);
}
