/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fx8.h"
#include "io/h5/h5.h"
#include "io/h5/put.h"
#include "io/quicklook/quicklook_file.h"

/* Axes of the large datasets. */
enum axis { DUMP, BASELINE, INPUT, CHANNEL, PRODUCT, PART, N_AXES };

static const char *const axis_names[N_AXES] = {"dump",    "baseline", "input",
                                               "channel", "product",  "re_im"};

enum type { HALF, FLOAT, DOUBLE, BYTE, N_TYPES };

static const size_t type_sizes[N_TYPES] = {2, 4, 8, 1};

#define MOST_RANK 5

/* The datasets with a row for each dump.  Flags come last: a dump counts as
 * written only once its flags are. */
static const struct cube {
    const char *name;
    enum type type;
    int rank;
    enum axis axes[MOST_RANK];
    const char *unit;
} cubes[] = {
    {"coherence",
     HALF,
     5,
     {DUMP, BASELINE, CHANNEL, PRODUCT, PART},
     "1 / coherence_scale"},
    {"amplitude",
     HALF,
     4,
     {DUMP, BASELINE, CHANNEL, PRODUCT},
     "1 / coherence_scale"},
    {"phase", HALF, 4, {DUMP, BASELINE, CHANNEL, PRODUCT}, "radian"},
    {"spectra_db", FLOAT, 3, {DUMP, INPUT, CHANNEL}, "dB of input counts^2"},
    {"time_julian_date", DOUBLE, 1, {DUMP}, "day, UTC"},
    {"flags", BYTE, 4, {DUMP, BASELINE, CHANNEL, PRODUCT}, "1: flagged"},
};

enum { COHERENCE, AMPLITUDE, PHASE, SPECTRA, TIME, FLAGS, N_CUBES };

/* Chunk sizes, as for UVH5 files: a dump or part of its channels; small dumps
 * share a chunk. */
#define LEAST_BYTES ((size_t)1 << 20)
#define GOOD_BYTES  ((size_t)2 << 20)
#define MOST_BYTES  ((size_t)4 << 20)

struct fx8_quicklook_file {
    struct fx8_output *output;
    hid_t file;
    hid_t cube[N_CUBES];
    hid_t type[N_TYPES];
    size_t extent[N_AXES];
    double *dates; /* [n_dumps] */
    struct fx8_error failure;
};

/* Keep the first failure for close. */
static enum fx8_status noted(struct fx8_quicklook_file *file,
                             enum fx8_status status,
                             const struct fx8_error *error)
{
    if (status != FX8_OK && file->failure.status == FX8_OK) {
        file->failure.status = status;
        if (error != NULL)
            file->failure = *error;
    }
    return status;
}

/* --- types and chunks -------------------------------------------- */

/* IEEE 754 binary16: sign, 5 bits of exponent, 10 of mantissa. */
static hid_t half_type(void)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    if (type >= 0 && H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0 &&
        H5Tset_size(type, 2) >= 0 && H5Tset_ebias(type, 15) >= 0)
        return type;
    fx8_h5_close(&type);
    return FX8_H5_NONE;
}

static enum fx8_status make_types(struct fx8_quicklook_file *file,
                                  struct fx8_error *error)
{
    file->type[HALF] = half_type();
    file->type[FLOAT] = H5Tcopy(H5T_IEEE_F32LE);
    file->type[DOUBLE] = H5Tcopy(H5T_IEEE_F64LE);
    file->type[BYTE] = H5Tcopy(H5T_STD_U8LE);
    for (int i = 0; i < N_TYPES; i++)
        if (file->type[i] < 0)
            return fx8_output_fail(file->output, "types", error);
    return FX8_OK;
}

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* Bytes of a dump. */
static size_t row_bytes(const struct fx8_quicklook_file *file,
                        const struct cube *cube)
{
    size_t bytes = type_sizes[cube->type];
    for (int i = 1; i < cube->rank; i++)
        bytes *= file->extent[cube->axes[i]];
    return bytes;
}

static void chunk_shape(const struct fx8_quicklook_file *file,
                        const struct cube *cube, hsize_t chunk[MOST_RANK])
{
    const size_t bytes = row_bytes(file, cube);
    for (int i = 1; i < cube->rank; i++)
        chunk[i] = file->extent[cube->axes[i]];
    chunk[0] = 1;
    if (bytes < LEAST_BYTES) {
        const size_t n = LEAST_BYTES / bytes;
        chunk[0] = n < file->extent[DUMP] ? n : file->extent[DUMP];
    } else if (bytes > MOST_BYTES) {
        const size_t n_parts = divide_up(bytes, GOOD_BYTES);
        const size_t channels = file->extent[CHANNEL];
        const size_t rows = file->extent[cube->axes[1]];
        chunk[2] = n_parts < channels ? divide_up(channels, n_parts) : 1;
        if (bytes / channels > MOST_BYTES)
            chunk[1] = divide_up(rows, divide_up(bytes / channels, GOOD_BYTES));
    }
}

/* Names of the axes, comma-separated, as an attribute. */
static enum fx8_status put_labels(const struct fx8_quicklook_file *file,
                                  hid_t dataset, const struct cube *cube,
                                  struct fx8_error *error)
{
    char axes[64] = "";
    for (int i = 0; i < cube->rank; i++) {
        strcat(axes, i == 0 ? "" : ",");
        strcat(axes, axis_names[cube->axes[i]]);
    }
    FX8_TRY(fx8_h5_put_note(file->output, dataset, "axes", axes, error));
    return fx8_h5_put_note(file->output, dataset, "unit", cube->unit, error);
}

/* Create an empty cube that can grow to its full length. */
static enum fx8_status create_cube(struct fx8_quicklook_file *file, int index,
                                   struct fx8_error *error)
{
    static const float none = NAN;
    static const double never = NAN;
    static const uint8_t flagged = 1;
    static const void *const fills[N_TYPES] = {
        [HALF] = NULL, [FLOAT] = &none, [DOUBLE] = &never, [BYTE] = &flagged};
    const struct cube *cube = &cubes[index];
    hsize_t full[MOST_RANK], empty[MOST_RANK], chunk[MOST_RANK];
    size_t cache_bytes = 2 * type_sizes[cube->type];
    chunk_shape(file, cube, chunk);
    for (int i = 0; i < cube->rank; i++) {
        full[i] = empty[i] = file->extent[cube->axes[i]];
        cache_bytes *= (size_t)chunk[i];
    }
    empty[0] = 0;
    const struct fx8_h5_layout layout = {
        .name = cube->name,
        .type = file->type[cube->type],
        .rank = cube->rank,
        .extent = empty,
        .most = full,
        .chunk = chunk,
        .is_reserved = true,
        .fill = fills[cube->type],
        .n_slots = 521, /* HDF5's own default, a prime */
        .cache_bytes = cache_bytes,
    };
    FX8_TRY(fx8_h5_create(file->output, file->file, &layout, &file->cube[index],
                          error));
    return put_labels(file, file->cube[index], cube, error);
}

static enum fx8_status set_length(struct fx8_quicklook_file *file,
                                  size_t n_dumps, struct fx8_error *error)
{
    for (int i = 0; i < N_CUBES; i++) {
        hsize_t extent[MOST_RANK];
        for (int k = 0; k < cubes[i].rank; k++)
            extent[k] = file->extent[cubes[i].axes[k]];
        extent[0] = n_dumps;
        if (H5Dset_extent(file->cube[i], extent) < 0)
            return fx8_output_fail(file->output, cubes[i].name, error);
    }
    return FX8_OK;
}

/* Grow the cubes together, so that later dumps are later in the file and
 * cutting shortens it. */
static enum fx8_status create_cubes(struct fx8_quicklook_file *file,
                                    struct fx8_error *error)
{
    hsize_t chunk[MOST_RANK];
    FX8_TRY(make_types(file, error));
    for (int i = 0; i < N_CUBES; i++)
        FX8_TRY(create_cube(file, i, error));
    chunk_shape(file, &cubes[COHERENCE], chunk); /* the fewest dumps */
    const size_t n_dumps = file->extent[DUMP], step = (size_t)chunk[0];
    for (size_t n = 0; n < n_dumps;) {
        n += n_dumps - n < step ? n_dumps - n : step;
        FX8_TRY(set_length(file, n, error));
        FX8_TRY(fx8_output_check(file->output, error));
    }
    return FX8_OK;
}

/* --- metadata written first -------------------------------------- */

static enum fx8_status put_attributes(const struct fx8_quicklook_file *file,
                                      const struct fx8_quicklook_header *header,
                                      struct fx8_error *error)
{
    const struct fx8_h5_target root = {file->output, file->file, true};
    const struct fx8_uvh5_header *uvh5 = header->uvh5;
    const struct fx8_h5_value values[] = {
        FX8_PUT_TEXT("format", FX8_QUICKLOOK_FORMAT),
        FX8_PUT_TEXT("math", header->math),
        FX8_PUT_TEXT("precision", header->precision),
        FX8_PUT_TEXT("telescope", uvh5->telescope),
        FX8_PUT_TEXT("instrument", uvh5->instrument),
        FX8_PUT_TEXT("object", uvh5->object),
        FX8_PUT_INTEGER("version", FX8_QUICKLOOK_VERSION),
        FX8_PUT_INTEGER("spectra_per_dump", header->spectra_per_dump),
        FX8_PUT_REAL("integration_time_s", uvh5->integration_time_s),
        FX8_PUT_REAL("coherence_scale", header->coherence_scale),
    };
    return fx8_h5_put_values(&root, values, sizeof values / sizeof values[0],
                             error);
}

/* The axes; `antennas` and `feeds` say whose an input is. */
static enum fx8_status put_axes(const struct fx8_quicklook_file *file,
                                const struct fx8_uvh5_header *uvh5,
                                const int64_t *antennas, const char *feeds,
                                struct fx8_error *error)
{
    const struct fx8_h5_target root = {file->output, file->file, false};
    const size_t n = file->extent[INPUT];
    const struct fx8_h5_value values[] = {
        FX8_PUT_LIST("antenna_numbers", FX8_H5_INTEGER, uvh5->n_antennas,
                     uvh5->antenna_numbers),
        FX8_PUT_LIST("baseline_antenna_1", FX8_H5_INTEGER, uvh5->n_baselines,
                     uvh5->ant_1),
        FX8_PUT_LIST("baseline_antenna_2", FX8_H5_INTEGER, uvh5->n_baselines,
                     uvh5->ant_2),
        FX8_PUT_LIST("frequency_hz", FX8_H5_REAL, uvh5->n_channels,
                     uvh5->frequencies_hz),
        FX8_PUT_LIST("channel_width_hz", FX8_H5_REAL, uvh5->n_channels,
                     uvh5->channel_widths_hz),
        FX8_PUT_LIST("product", FX8_H5_INT, uvh5->n_products, uvh5->products),
        {"antenna_names", FX8_H5_TEXT, .rank = 1, .extent = {uvh5->n_antennas},
         .width = sizeof uvh5->antenna_names[0], .list = uvh5->antenna_names},
        FX8_PUT_LIST("input_antenna", FX8_H5_INTEGER, n, antennas),
        {"input_feed", FX8_H5_TEXT, .rank = 1, .extent = {n}, .width = 2,
         .list = feeds},
        FX8_PUT_TEXT("history", uvh5->history),
    };
    return fx8_h5_put_values(&root, values, sizeof values / sizeof values[0],
                             error);
}

/* Which antenna each input belongs to, which feed of it, and all other axes. */
static enum fx8_status put_inputs(const struct fx8_quicklook_file *file,
                                  const struct fx8_quicklook_header *header,
                                  struct fx8_error *error)
{
    const size_t n = file->extent[INPUT], n_feeds = header->n_polarizations;
    int64_t *antennas = NULL;
    char *feeds = NULL;
    const struct fx8_array arrays[] = {{&antennas, n, sizeof *antennas},
                                       {&feeds, n, 2}};
    enum fx8_status status =
        fx8_allocate_arrays(arrays, 2, "quick-look", error);
    for (size_t input = 0; input < n && status == FX8_OK; input++) {
        antennas[input] = header->uvh5->antenna_numbers[input / n_feeds];
        feeds[2 * input] = "XY"[input % n_feeds];
    }
    if (status == FX8_OK)
        status = put_axes(file, header->uvh5, antennas, feeds, error);
    fx8_free_arrays(arrays, 2);
    return status;
}

static enum fx8_status fill_file(struct fx8_quicklook_file *file,
                                 const struct fx8_quicklook_header *header,
                                 struct fx8_error *error)
{
    FX8_TRY(put_attributes(file, header, error));
    FX8_TRY(put_inputs(file, header, error));
    FX8_TRY(create_cubes(file, error));
    FX8_TRY(fx8_output_flush(file->output, file->file, error));
    return fx8_output_reserve(file->output, error);
}

/* --- creating and closing ---------------------------------------- */

static enum fx8_status copy_header(struct fx8_quicklook_file *file,
                                   const struct fx8_quicklook_header *header,
                                   struct fx8_error *error)
{
    const struct fx8_uvh5_header *uvh5 = header->uvh5;
    const size_t extent[N_AXES] = {
        uvh5->n_times,
        uvh5->n_baselines,
        uvh5->n_antennas * header->n_polarizations,
        uvh5->n_channels,
        uvh5->n_products,
        2,
    };
    memcpy(file->extent, extent, sizeof extent);
    FX8_TRY(fx8_allocate(uvh5->n_times, sizeof *file->dates, "quick-look",
                         &file->dates, error));
    for (size_t dump = 0; dump < uvh5->n_times; dump++)
        file->dates[dump] = fx8_time_julian_date(uvh5->times[dump]);
    return FX8_OK;
}

/* Bytes of all dumps and of metadata: 64 KiB for small items, 16 bytes per
 * antenna, baseline and channel, 100 per chunk. */
static uint64_t file_bytes(const struct fx8_quicklook_file *file,
                           uint64_t *meta_bytes)
{
    uint64_t bytes = 0;
    *meta_bytes = ((uint64_t)64 << 10) + 16 * file->extent[BASELINE];
    for (int i = 0; i < N_CUBES; i++) {
        hsize_t chunk[MOST_RANK];
        uint64_t n_chunks = 1;
        chunk_shape(file, &cubes[i], chunk);
        for (int k = 0; k < cubes[i].rank; k++)
            n_chunks *=
                divide_up(file->extent[cubes[i].axes[k]], (size_t)chunk[k]);
        bytes += row_bytes(file, &cubes[i]) * file->extent[DUMP];
        *meta_bytes += 100 * n_chunks;
    }
    const uint64_t most = (uint64_t)64 << 20;
    *meta_bytes = *meta_bytes < most ? *meta_bytes : most;
    return bytes;
}

/* Whether the .part of an earlier run is a quick-look: replaceable, because it
 * is made again with the visibilities, whose own .part is kept. */
static bool is_quicklook(hid_t file)
{
    return fx8_h5_has_format(file, FX8_QUICKLOOK_FORMAT);
}

enum fx8_status fx8_quicklook_file_create(
    const char *path, bool force, const struct fx8_quicklook_header *header,
    struct fx8_quicklook_file **result, struct fx8_error *error)
{
    fx8_h5_quiet();
    *result = NULL;
    struct fx8_quicklook_file *file = calloc(1, sizeof *file);
    if (file == NULL)
        return fx8_no_memory(path, error);
    uint64_t meta_bytes;
    enum fx8_status status = copy_header(file, header, error);
    const uint64_t bytes = file_bytes(file, &meta_bytes);
    if (status == FX8_OK)
        status = fx8_output_open(path, force, bytes, is_quicklook,
                                 &file->output, error);
    if (status == FX8_OK)
        status = fx8_output_create_hdf5(file->output, (size_t)meta_bytes,
                                        &file->file, error);
    if (status == FX8_OK)
        status = fill_file(file, header, error);
    if (status != FX8_OK) {
        fx8_quicklook_file_close(&file, false, NULL);
        return status;
    }
    *result = file;
    return FX8_OK;
}

static enum fx8_status write_cube(struct fx8_quicklook_file *file, int index,
                                  size_t dump, const void *values,
                                  struct fx8_error *error)
{
    const struct cube *cube = &cubes[index];
    hsize_t start[MOST_RANK] = {dump}, count[MOST_RANK];
    for (int i = 0; i < cube->rank; i++)
        count[i] = file->extent[cube->axes[i]];
    count[0] = 1;
    if (fx8_h5_write_part(file->cube[index], file->type[cube->type], start,
                          count, values) < 0 ||
        H5Dflush(file->cube[index]) < 0)
        return fx8_output_fail(file->output, cube->name, error);
    return FX8_OK;
}

enum fx8_status fx8_quicklook_file_write(struct fx8_quicklook_file *file,
                                         size_t dump,
                                         const struct fx8_quicklook_dump *look,
                                         const uint8_t *flags,
                                         struct fx8_error *error)
{
    fx8_h5_quiet();
    if (dump >= file->extent[DUMP])
        return fx8_fail(error, FX8_ERR_USAGE, "%s: dump %zu: expected 0 to %zu",
                        fx8_output_part(file->output), dump,
                        file->extent[DUMP] - 1);
    const void *const values[N_CUBES] = {
        [COHERENCE] = look->coherence, [AMPLITUDE] = look->amplitude,
        [PHASE] = look->phase,         [SPECTRA] = look->spectra_db,
        [TIME] = &file->dates[dump],   [FLAGS] = flags,
    };
    enum fx8_status status = FX8_OK;
    for (int i = 0; i < N_CUBES && status == FX8_OK; i++)
        status = write_cube(file, i, dump, values[i], error);
    if (status == FX8_OK)
        status = fx8_output_flush(file->output, file->file, error);
    return noted(file, status, error);
}

enum fx8_status fx8_quicklook_file_cut(struct fx8_quicklook_file *file,
                                       size_t n_dumps, struct fx8_error *error)
{
    fx8_h5_quiet();
    if (n_dumps >= file->extent[DUMP])
        return FX8_OK;
    return noted(file, set_length(file, n_dumps, error), error);
}

static enum fx8_status put_item(struct fx8_quicklook_file *file, hid_t group,
                                const struct fx8_quicklook_item *item,
                                struct fx8_error *error)
{
    static const enum fx8_h5_kind kinds[FX8_QUICKLOOK_TYPES] = {
        [FX8_QUICKLOOK_REAL] = FX8_H5_REAL,
        [FX8_QUICKLOOK_INTEGER] = FX8_H5_INTEGER,
        [FX8_QUICKLOOK_BYTE] = FX8_H5_BYTE,
    };
    const struct fx8_h5_target target = {file->output, group, false};
    const struct fx8_h5_value value = {
        .name = item->name,
        .kind = kinds[item->type],
        .rank = (int)item->rank,
        .extent = {item->shape[0], item->shape[1]},
        .list = item->values};
    FX8_TRY(fx8_h5_put_values(&target, &value, 1, error));
    FX8_H5_AUTO dataset = H5Dopen2(group, item->name, H5P_DEFAULT);
    const enum fx8_status status =
        dataset < 0 ? fx8_output_fail(file->output, item->name, error)
                    : fx8_h5_put_note(file->output, dataset, "description",
                                      item->text, error);
    return status;
}

enum fx8_status fx8_quicklook_file_put(struct fx8_quicklook_file *file,
                                       const struct fx8_quicklook_item *item,
                                       struct fx8_error *error)
{
    fx8_h5_quiet();
    const struct fx8_h5_target root = {file->output, file->file, false};
    enum fx8_status status = FX8_OK;
    FX8_H5_AUTO group = FX8_H5_NONE;
    if (H5Lexists(file->file, item->group, H5P_DEFAULT) <= 0)
        status = fx8_h5_put_group(&root, item->group, &group, error);
    else if ((group = H5Gopen2(file->file, item->group, H5P_DEFAULT)) < 0)
        status = fx8_output_fail(file->output, item->group, error);
    if (status == FX8_OK)
        status = put_item(file, group, item, error);
    if (status == FX8_OK)
        status = fx8_output_check(file->output, error);
    return noted(file, status, error);
}

enum fx8_status fx8_quicklook_file_close(struct fx8_quicklook_file **handle,
                                         bool keep, struct fx8_error *error)
{
    struct fx8_quicklook_file *file = *handle;
    *handle = NULL;
    if (file == NULL)
        return FX8_OK;
    fx8_h5_quiet();
    enum fx8_status status = file->failure.status;
    if (status != FX8_OK)
        fx8_fail(error, status, "%s", file->failure.message);
    for (int i = 0; i < N_CUBES; i++)
        fx8_h5_close(&file->cube[i]);
    for (int i = 0; i < N_TYPES; i++)
        fx8_h5_close(&file->type[i]);
    if (file->file > 0 && H5Fclose(file->file) < 0 && status == FX8_OK)
        status = fx8_output_fail(file->output, "close", error);
    if (status == FX8_OK && keep)
        status = fx8_output_commit(&file->output, error);
    fx8_output_abandon(&file->output);
    free(file->dates);
    free(file);
    return status;
}
