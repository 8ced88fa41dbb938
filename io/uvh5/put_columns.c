/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put_columns.c -- the datasets of Header/ with one row per baseline and dump.
 * Their contents are known before the first sample is read, so they are written
 * first, in blocks of rows between those of the cubes, so that cutting rows
 * frees the end of the file and leaves no holes.
 */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fx8.h"
#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

#define BLOCK_ROWS FX8_UVH5_BLOCK_ROWS

/* The columns; lst_array may be absent.  Values have eight bytes. */
static const struct column {
    const char *name;
    bool is_real;
    size_t width;
} columns[] = {
    {"ant_1_array", false, 1},
    {"ant_2_array", false, 1},
    {"uvw_array", true, 3},
    {"time_array", true, 1},
    {"integration_time", true, 1},
    {"phase_center_id_array", false, 1},
    {"phase_center_app_ra", true, 1},
    {"phase_center_app_dec", true, 1},
    {"phase_center_frame_pa", true, 1},
    {"lst_array", true, 1},
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

/* Where the values of a row come from: bytes from one interval to the next and
 * from one baseline to the next; 0: the same for all. */
struct values {
    const void *first;
    size_t per_interval, per_baseline;
    const struct fx8_place *turn_to; /* NULL, or [intervals]: vectors in east,
                                        north, up become u, v, w */
};

/* The columns while they are being written. */
struct fx8_uvh5_columns {
    size_t n_columns; /* number of open ones */
    struct values values[N_COLUMNS];
    hid_t dataset[N_COLUMNS];
    double *dates; /* [intervals] Julian */
    double latitude_rad;
    char *rows;       /* buffer for a block of one column */
    size_t n_written; /* rows of every column, whole blocks */
};

static void turn(const struct fx8_place *place, double vector[3])
{
    double turned[3];
    for (size_t axis = 0; axis < 3; axis++) {
        const double *unit = place->axes[axis];
        turned[axis] =
            unit[0] * vector[0] + unit[1] * vector[1] + unit[2] * vector[2];
    }
    memcpy(vector, turned, sizeof turned);
}

/* Fill rows [first, first + n) of a column. */
static void fill_rows(const struct values *values, size_t size,
                      const struct fx8_uvh5_rows *of, size_t first, size_t n,
                      char *rows)
{
    const size_t *baselines;
    size_t dump = fx8_uvh5_rows_find(of, first);
    size_t at = first - fx8_uvh5_rows_before(of, dump);
    size_t n_of_dump = fx8_uvh5_rows_of(of, dump, &baselines);
    for (size_t i = 0; i < n; i++, at++) {
        for (; at == n_of_dump; at = 0)
            n_of_dump = fx8_uvh5_rows_of(of, ++dump, &baselines);
        const size_t baseline = baselines == NULL ? at : baselines[at];
        const size_t interval = fx8_uvh5_interval_of(of, baseline, dump);
        memcpy(rows + i * size,
               (const char *)values->first + interval * values->per_interval +
                   baseline * values->per_baseline,
               size);
        if (values->turn_to != NULL)
            turn(&values->turn_to[interval],
                 (double *)(void *)(rows + i * size));
    }
}

bool fx8_uvh5_is_column(const char *name)
{
    size_t i = 0;
    while (i < N_COLUMNS && strcmp(columns[i].name, name) != 0)
        i++;
    return i < N_COLUMNS;
}

enum fx8_status fx8_uvh5_create_column(const struct fx8_uvh5_writer *writer,
                                       const char *name, hid_t type,
                                       size_t width, hid_t *dataset,
                                       struct fx8_error *error)
{
    const size_t n_rows = fx8_uvh5_count_rows(writer);
    const hsize_t extent[2] = {n_rows, width};
    const hsize_t chunk[2] = {n_rows < BLOCK_ROWS ? n_rows : BLOCK_ROWS, width};
    const bool packed = writer->compression != FX8_COMPRESSION_NONE;
    const struct fx8_h5_layout layout = {
        .name = name,
        .type = type,
        .rank = width > 1 ? 2 : 1,
        .extent = extent,
        .chunk = chunk,
        .shuffle = packed,
        .deflate = packed ? 1 : 0,
    };
    FX8_TRY(
        fx8_h5_create(writer->output, writer->header, &layout, dataset, error));
    /* that of an earlier run may have been cut */
    return H5Dset_extent(*dataset, extent) < 0
               ? fx8_output_fail(writer->output, name, error)
               : FX8_OK;
}

/* Write a block of rows; a chunk gets its file address when it leaves the
 * cache. */
static enum fx8_status write_rows(const struct fx8_uvh5_writer *writer,
                                  const struct column *column, hid_t dataset,
                                  size_t first, size_t n, const void *rows,
                                  struct fx8_error *error)
{
    const hsize_t start[2] = {first, 0};
    const hsize_t count[2] = {n, column->width};
    if (fx8_h5_write_part(
            dataset, column->is_real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64,
            start, count, rows) < 0 ||
        H5Dflush(dataset) < 0)
        return fx8_output_fail(writer->output, column->name, error);
    return FX8_OK;
}

/* List where the values of the columns are; the columns of a file come first.
 */
static void list_values(struct fx8_uvh5_columns *c,
                        const struct fx8_uvh5_header *header)
{
    static const double no_angle = 0;
    static const int64_t entry = 0; /* entry of the phase centre catalogue */
    const struct fx8_place *places = header->places;
    const size_t a_place = sizeof *places, a_real = sizeof(double);
    const bool is_phased = header->is_phased;
    const struct values lst = {.first = header->apparent_lst_rad,
                               .per_interval = a_real};
    const struct values values[N_COLUMNS] = {
        {.first = header->ant_1, .per_baseline = sizeof *header->ant_1},
        {.first = header->ant_2, .per_baseline = sizeof *header->ant_2},
        {.first = header->uvw_m,
         .per_baseline = 3 * a_real,
         .turn_to = is_phased ? places : NULL},
        {.first = c->dates, .per_interval = a_real},
        {.first = header->integration_s, .per_interval = a_real},
        {.first = &entry},
        is_phased ? (struct values){.first = &places->app_ra_rad,
                                    .per_interval = a_place}
                  : lst,
        is_phased ? (struct values){.first = &places->app_dec_rad,
                                    .per_interval = a_place}
                  : (struct values){.first = &c->latitude_rad},
        is_phased ? (struct values){.first = &places->frame_pa_rad,
                                    .per_interval = a_place}
                  : (struct values){.first = &no_angle},
        lst,
    };
    memcpy(c->values, values, sizeof values);
}

static size_t count_columns(const struct fx8_uvh5_header *header)
{
    return header->write_lst ? N_COLUMNS : N_COLUMNS - 1;
}

/* Create the datasets at full length; their blocks are written later. */
static enum fx8_status create_columns(struct fx8_uvh5_writer *writer,
                                      const struct fx8_uvh5_header *header,
                                      struct fx8_error *error)
{
    struct fx8_uvh5_columns *c = writer->columns;
    const size_t n_columns = count_columns(header);
    for (; c->n_columns < n_columns; c->n_columns++) {
        const struct column *column = &columns[c->n_columns];
        FX8_TRY(fx8_uvh5_create_column(
            writer, column->name,
            column->is_real ? H5T_IEEE_F64LE : H5T_STD_I64LE, column->width,
            &c->dataset[c->n_columns], error));
    }
    return FX8_OK;
}

/* Prepare to fill rows. */
static enum fx8_status begin_columns(struct fx8_uvh5_writer *writer,
                                     const struct fx8_uvh5_header *header,
                                     struct fx8_error *error)
{
    static const double radians_per_degree = 3.14159265358979323846 / 180;
    FX8_TRY(fx8_allocate(1, sizeof *writer->columns, "columns of the header",
                         &writer->columns, error));
    struct fx8_uvh5_columns *c = writer->columns;
    c->latitude_rad = header->site.latitude_deg * radians_per_degree;
    const size_t n_intervals =
        fx8_uvh5_first_interval(&writer->rows, writer->rows.n_levels);
    const struct fx8_array arrays[] = {
        {&c->dates, n_intervals, sizeof *c->dates},
        {&c->rows, 3 * (size_t)BLOCK_ROWS, sizeof(double)},
    };
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "columns of the header", error));
    /* one date per interval, so that equal times are equal doubles */
    for (size_t i = 0; i < n_intervals; i++)
        c->dates[i] = fx8_time_julian_date(header->times[i]);
    list_values(c, header);
    return FX8_OK;
}

enum fx8_status fx8_uvh5_open_columns(struct fx8_uvh5_writer *writer,
                                      const struct fx8_uvh5_header *header,
                                      struct fx8_error *error)
{
    FX8_TRY(begin_columns(writer, header, error));
    return create_columns(writer, header, error);
}

enum fx8_status fx8_uvh5_write_columns(struct fx8_uvh5_writer *writer,
                                       size_t n_rows, struct fx8_error *error)
{
    struct fx8_uvh5_columns *c = writer->columns;
    const size_t all = fx8_uvh5_count_rows(writer);
    for (; c != NULL && c->n_written < n_rows; c->n_written += BLOCK_ROWS) {
        const size_t first = c->n_written;
        const size_t n = all - first < BLOCK_ROWS ? all - first : BLOCK_ROWS;
        for (size_t i = 0; i < c->n_columns; i++) {
            fill_rows(&c->values[i], columns[i].width * sizeof(double),
                      &writer->rows, first, n, c->rows);
            FX8_TRY(write_rows(writer, &columns[i], c->dataset[i], first, n,
                               c->rows, error));
        }
    }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_rewrite_columns(struct fx8_uvh5_writer *writer,
                                         const struct fx8_uvh5_header *header,
                                         size_t first, struct fx8_error *error)
{
    enum fx8_status status = fx8_uvh5_open_columns(writer, header, error);
    if (status == FX8_OK) {
        writer->columns->n_written = first - first % BLOCK_ROWS;
        status =
            fx8_uvh5_write_columns(writer, fx8_uvh5_count_rows(writer), error);
    }
    fx8_uvh5_close_columns(writer);
    return status;
}

static int compare_dates(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

enum fx8_status fx8_uvh5_count_dates(const struct fx8_uvh5_header *header,
                                     size_t *n, struct fx8_error *error)
{
    const struct fx8_uvh5_rows rows = fx8_uvh5_rows_of_header(header);
    const size_t n_intervals = fx8_uvh5_first_interval(&rows, rows.n_levels);
    FX8_AUTO_FREE double *dates = NULL;
    size_t n_dates = 0;
    *n = header->n_times;
    if (header->rows == NULL)
        return FX8_OK;
    FX8_TRY(fx8_allocate(n_intervals, sizeof *dates, "dates", &dates, error));
    for (size_t level = 0; level < rows.n_levels; level++)
        for (size_t i = fx8_uvh5_first_interval(&rows, level);
             rows.n_of_level[level] > 0 &&
             i < fx8_uvh5_first_interval(&rows, level + 1);
             i++)
            dates[n_dates++] = fx8_time_julian_date(header->times[i]);
    qsort(dates, n_dates, sizeof *dates, compare_dates);
    *n = n_dates > 0;
    for (size_t i = 1; i < n_dates; i++)
        *n += dates[i] != dates[i - 1];
    return FX8_OK;
}

/* Rows of a column of an earlier file; 0 if it is not one. */
static size_t rows_of(const struct fx8_uvh5_writer *writer,
                      const struct column *column, hid_t *dataset)
{
    hsize_t extent[2] = {0, 1};
    *dataset = H5Dopen2(writer->header, column->name, H5P_DEFAULT);
    FX8_H5_AUTO space = *dataset < 0 ? FX8_H5_NONE : H5Dget_space(*dataset);
    if (space < 0 ||
        H5Sget_simple_extent_ndims(space) != (column->width > 1 ? 2 : 1) ||
        H5Sget_simple_extent_dims(space, extent, NULL) < 0 ||
        extent[1] != column->width)
        return 0;
    return (size_t)extent[0];
}

static enum fx8_status compare_column(
    const struct fx8_uvh5_writer *writer, size_t index, void *theirs,
    const struct fx8_uvh5_differences *differences, struct fx8_error *error)
{
    const struct fx8_uvh5_columns *c = writer->columns;
    const struct column *column = &columns[index];
    const hid_t type = column->is_real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64;
    FX8_H5_AUTO dataset = FX8_H5_NONE;
    const size_t all = fx8_uvh5_count_rows(writer);
    size_t n_rows = rows_of(writer, column, &dataset);
    /* the end of a block that a run has not completed is written anew */
    const size_t n_whole = fx8_uvh5_rows_before(&writer->rows, writer->n_whole);
    const bool has_rows = writer->rows.n_levels > 1
                              ? n_rows >= n_whole
                              : n_rows > 0 && n_rows % writer->n_baselines == 0;
    if (writer->rows.n_levels > 1)
        n_rows = n_whole;
    if (!has_rows || n_rows > all)
        differences->take(differences->context, column->name,
                          n_rows == 0 ? "missing" : "another length",
                          "as this run writes it");
    else
        for (size_t n, first = 0; first < n_rows; first += n) {
            n = n_rows - first < BLOCK_ROWS ? n_rows - first : BLOCK_ROWS;
            const hsize_t start[2] = {first, 0};
            const hsize_t count[2] = {n, column->width};
            fill_rows(&c->values[index], column->width * sizeof(double),
                      &writer->rows, first, n, c->rows);
            if (fx8_h5_read_part(dataset, type, start, count, theirs) < 0)
                return fx8_output_fail(writer->output, column->name, error);
            if (!fx8_uvh5_compare_values(differences, column->name, type,
                                         n * column->width, theirs, c->rows))
                break;
        }
    return FX8_OK;
}

enum fx8_status fx8_uvh5_compare_columns(
    struct fx8_uvh5_writer *writer, const struct fx8_uvh5_header *header,
    const struct fx8_uvh5_differences *differences, struct fx8_error *error)
{
    FX8_AUTO_FREE double *theirs = NULL;
    FX8_TRY(fx8_allocate(3 * (size_t)BLOCK_ROWS, sizeof *theirs,
                         "columns of the header", &theirs, error));
    enum fx8_status status = begin_columns(writer, header, error);
    for (size_t i = 0; i < count_columns(header) && status == FX8_OK; i++)
        status = compare_column(writer, i, theirs, differences, error);
    fx8_uvh5_close_columns(writer);
    return status;
}

bool fx8_uvh5_has_columns(const struct fx8_uvh5_writer *writer)
{
    const size_t all = fx8_uvh5_count_rows(writer);
    bool has_all = true;
    for (size_t i = 0; i < N_COLUMNS && has_all; i++) {
        FX8_H5_AUTO dataset = FX8_H5_NONE;
        has_all =
            H5Lexists(writer->header, columns[i].name, H5P_DEFAULT) <= 0 ||
            rows_of(writer, &columns[i], &dataset) == all;
    }
    return has_all;
}

void fx8_uvh5_close_columns(struct fx8_uvh5_writer *writer)
{
    struct fx8_uvh5_columns *c = writer->columns;
    writer->columns = NULL;
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->n_columns; i++)
        fx8_h5_close(&c->dataset[i]);
    free(c->rows);
    free(c->dates);
    free(c);
}

/* Overwrite a scalar of the header. */
static enum fx8_status rewrite_count(const struct fx8_uvh5_writer *writer,
                                     const char *name, int64_t value,
                                     struct fx8_error *error)
{
    FX8_H5_AUTO dataset = H5Dopen2(writer->header, name, H5P_DEFAULT);
    if (dataset < 0 || H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL,
                                H5P_DEFAULT, &value) < 0)
        return fx8_output_fail(writer->output, name, error);
    return FX8_OK;
}

enum fx8_status fx8_uvh5_put_lengths(const struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error)
{
    const size_t n_rows = fx8_uvh5_count_rows(writer);
    FX8_TRY(rewrite_count(writer, "Nblts", (int64_t)n_rows, error));
    return rewrite_count(writer, "Ntimes", (int64_t)writer->n_dates, error);
}

enum fx8_status fx8_uvh5_cut_columns(struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error)
{
    const size_t n_rows = fx8_uvh5_count_rows(writer);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        const char *name = columns[i].name;
        if (H5Lexists(writer->header, name, H5P_DEFAULT) <= 0)
            continue;
        const hsize_t extent[2] = {n_rows, 3};
        FX8_H5_AUTO dataset = H5Dopen2(writer->header, name, H5P_DEFAULT);
        if (dataset < 0 || H5Dset_extent(dataset, extent) < 0)
            return fx8_output_fail(writer->output, name, error);
    }
    return fx8_uvh5_put_lengths(writer, error);
}
