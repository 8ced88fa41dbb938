/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fx8.h"
#include "io/h5/cubes.h"
#include "io/h5/h5.h"
#include "io/h5/put.h"
#include "io/quicklook/quicklook_file.h"

/* Axes of the large datasets. */
enum axis { DUMP, BASELINE, INPUT, CHANNEL, PRODUCT, PART, N_AXES };

static const char *const axis_names[N_AXES] = {"dump",    "baseline", "input",
                                               "channel", "product",  "re_im"};

enum type { HALF, FLOAT, DOUBLE, BYTE, N_TYPES };

static const size_t type_sizes[N_TYPES] = {2, 4, 8, 1};

/* The datasets with a row for each dump.  Flags come last: a dump counts as
 * written only once its flags are. */
static const struct cube {
    const char *name;
    enum type type;
    int rank;
    enum axis axes[FX8_H5_CUBE_RANK];
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
    {"integration_time", DOUBLE, 1, {DUMP}, "s"},
    {"flags", BYTE, 4, {DUMP, BASELINE, CHANNEL, PRODUCT}, "1: flagged"},
};

enum { COHERENCE, AMPLITUDE, PHASE, SPECTRA, TIME, LENGTH, FLAGS, N_CUBES };

struct fx8_quicklook_file {
    struct fx8_output *output;
    hid_t file;
    struct fx8_h5_cube cubes[N_CUBES];
    size_t extent[N_AXES];
    double *dates;         /* [n_dumps] */
    double *integration_s; /* [n_dumps] */
    struct fx8_error failure;
};

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

/* HDF5's type of values; the caller closes it. */
static hid_t make_type(enum type type)
{
    return type == HALF     ? half_type()
           : type == FLOAT  ? H5Tcopy(H5T_IEEE_F32LE)
           : type == DOUBLE ? H5Tcopy(H5T_IEEE_F64LE)
                            : H5Tcopy(H5T_STD_U8LE);
}

/* Choose shapes and chunks of the cubes. */
static void describe_cubes(struct fx8_quicklook_file *file)
{
    static const float none = NAN;
    static const double never = NAN;
    static const uint8_t flagged = 1;
    static const void *const fills[N_TYPES] = {
        [HALF] = NULL, [FLOAT] = &none, [DOUBLE] = &never, [BYTE] = &flagged};
    for (int i = 0; i < N_CUBES; i++) {
        struct fx8_h5_cube *cube = &file->cubes[i];
        cube->name = cubes[i].name;
        cube->value_bytes = type_sizes[cubes[i].type];
        cube->rank = cubes[i].rank;
        cube->fill = fills[cubes[i].type];
        for (int k = 0; k < cube->rank; k++)
            cube->dump[k] = file->extent[cubes[i].axes[k]];
        cube->dump[0] = 1;
        fx8_h5_cube_chunk(cube, 1, file->extent[DUMP], true);
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

static enum fx8_status create_cube(struct fx8_quicklook_file *file, int index,
                                   struct fx8_error *error)
{
    struct fx8_h5_cube *cube = &file->cubes[index];
    cube->type = make_type(cubes[index].type);
    if (cube->type < 0)
        return fx8_output_fail(file->output, "types", error);
    FX8_TRY(fx8_h5_cube_create(file->output, file->file, cube,
                               file->extent[DUMP], 0, false, error));
    return put_labels(file, cube->dataset, &cubes[index], error);
}

/* Grow the cubes together, so that later dumps are later in the file and
 * cutting shortens it. */
static enum fx8_status create_cubes(struct fx8_quicklook_file *file,
                                    struct fx8_error *error)
{
    for (int i = 0; i < N_CUBES; i++)
        FX8_TRY(create_cube(file, i, error));
    const size_t n_dumps = file->extent[DUMP];
    const size_t step = (size_t)file->cubes[COHERENCE].chunk[0]; /* fewest */
    for (size_t n = 0; n < n_dumps;) {
        n += n_dumps - n < step ? n_dumps - n : step;
        FX8_TRY(
            fx8_h5_cubes_resize(file->output, file->cubes, N_CUBES, n, error));
        FX8_TRY(fx8_output_check(file->output, error));
    }
    return FX8_OK;
}

/* --- metadata written first -------------------------------------- */

/* Attributes that say of which run a file is, and keywords that do. */
static const struct {
    const char *name, *keyword;
} origins[] = {{"configuration", "CONFSHA"}, {"input", "INPUT"}};

#define N_ORIGINS (sizeof origins / sizeof *origins)

static const char *origin(const struct fx8_quicklook_header *header, size_t i)
{
    const struct fx8_keyword *keyword =
        fx8_uvh5_keyword(header->uvh5, origins[i].keyword);
    return keyword == NULL ? "" : keyword->text;
}

static enum fx8_status put_attributes(const struct fx8_quicklook_file *file,
                                      const struct fx8_quicklook_header *header,
                                      struct fx8_error *error)
{
    const struct fx8_h5_target root = {file->output, file->file, true};
    const struct fx8_uvh5_header *uvh5 = header->uvh5;
    const struct fx8_h5_value values[] = {
        {FX8_PUT_TEXT("format", FX8_QUICKLOOK_FORMAT)},
        {FX8_PUT_TEXT("math", header->math)},
        {FX8_PUT_TEXT("precision", header->precision)},
        {FX8_PUT_TEXT("telescope", uvh5->telescope)},
        {FX8_PUT_TEXT("instrument", uvh5->instrument)},
        {FX8_PUT_TEXT("object", uvh5->object)},
        {FX8_PUT_INTEGER("version", FX8_QUICKLOOK_VERSION)},
        {FX8_PUT_INTEGER("spectra_per_dump", header->spectra_per_dump)},
        {FX8_PUT_REAL("integration_time_s", fx8_uvh5_longest_s(uvh5))},
        {FX8_PUT_REAL("coherence_scale", header->coherence_scale)},
        {FX8_PUT_TEXT(origins[0].name, origin(header, 0))},
        {FX8_PUT_TEXT(origins[1].name, origin(header, 1))},
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
        {FX8_PUT_LIST("antenna_numbers", FX8_H5_INTEGER, uvh5->n_antennas,
                      uvh5->antenna_numbers)},
        {FX8_PUT_LIST("baseline_antenna_1", FX8_H5_INTEGER, uvh5->n_baselines,
                      uvh5->ant_1)},
        {FX8_PUT_LIST("baseline_antenna_2", FX8_H5_INTEGER, uvh5->n_baselines,
                      uvh5->ant_2)},
        {FX8_PUT_LIST("frequency_hz", FX8_H5_REAL, uvh5->n_channels,
                      uvh5->frequencies_hz)},
        {FX8_PUT_LIST("channel_width_hz", FX8_H5_REAL, uvh5->n_channels,
                      uvh5->channel_widths_hz)},
        {FX8_PUT_LIST("product", FX8_H5_INT, uvh5->n_products, uvh5->products)},
        {"antenna_names", FX8_H5_TEXT, .rank = 1, .extent = {uvh5->n_antennas},
         .width = sizeof uvh5->antenna_names[0], .list = uvh5->antenna_names},
        {FX8_PUT_LIST("input_antenna", FX8_H5_INTEGER, n, antennas)},
        {"input_feed", FX8_H5_TEXT, .rank = 1, .extent = {n}, .width = 2,
         .list = feeds},
        {FX8_PUT_TEXT("history", uvh5->history)},
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
    FX8_AUTO_FREE int64_t *antennas = NULL;
    FX8_AUTO_FREE char *feeds = NULL;
    const struct fx8_array arrays[] = {{&antennas, n, sizeof *antennas},
                                       {&feeds, n, 2}};
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "quick-look", error));
    for (size_t input = 0; input < n; input++) {
        antennas[input] = header->uvh5->antenna_numbers[input / n_feeds];
        feeds[2 * input] = "XY"[input % n_feeds];
    }
    return put_axes(file, header->uvh5, antennas, feeds, error);
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
    describe_cubes(file);
    const struct fx8_array arrays[] = {
        FX8_ITEMS(file->dates, uvh5->n_times),
        FX8_ITEMS(file->integration_s, uvh5->n_times),
    };
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "quick-look", error));
    for (size_t dump = 0; dump < uvh5->n_times; dump++) {
        file->dates[dump] = fx8_time_julian_date(uvh5->times[dump]);
        file->integration_s[dump] = uvh5->integration_s[dump];
    }
    return FX8_OK;
}

static uint64_t data_bytes(const size_t extent[N_AXES])
{
    uint64_t bytes = 0;
    for (int i = 0; i < N_CUBES; i++) {
        uint64_t cube = type_sizes[cubes[i].type];
        for (int k = 0; k < cubes[i].rank; k++)
            cube *= extent[cubes[i].axes[k]];
        bytes += cube;
    }
    return bytes;
}

uint64_t fx8_quicklook_file_bytes(size_t n_dumps, size_t n_baselines,
                                  size_t n_inputs, size_t n_channels,
                                  size_t n_products)
{
    const size_t extent[N_AXES] = {n_dumps,    n_baselines, n_inputs,
                                   n_channels, n_products,  2};
    return data_bytes(extent);
}

/* Bytes of all dumps and of metadata: 64 KiB for small items, 16 bytes per
 * antenna, baseline and channel, 100 per chunk. */
static uint64_t file_bytes(const struct fx8_quicklook_file *file,
                           uint64_t *meta_bytes)
{
    *meta_bytes = ((uint64_t)64 << 10) + 16 * file->extent[BASELINE];
    for (int i = 0; i < N_CUBES; i++) {
        const struct fx8_h5_cube *cube = &file->cubes[i];
        uint64_t n_chunks = 1;
        for (int k = 0; k < cube->rank; k++)
            n_chunks *=
                (file->extent[cubes[i].axes[k]] - 1) / cube->chunk[k] + 1;
        *meta_bytes += 100 * n_chunks;
    }
    const uint64_t most = (uint64_t)64 << 20;
    *meta_bytes = *meta_bytes < most ? *meta_bytes : most;
    return data_bytes(file->extent);
}

/* Whether the .part of an earlier run is a quick-look: replaceable, because it
 * is made again with the visibilities, whose own .part is kept. */
static bool is_quicklook(hid_t file)
{
    return fx8_h5_has_format(file, FX8_QUICKLOOK_FORMAT);
}

bool fx8_quicklook_file_is_of(const char *path,
                              const struct fx8_quicklook_header *header)
{
    fx8_h5_quiet();
    /* fx8_h5_open_file() would protect it from being replaced */
    FX8_H5_AUTO file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    bool is_same = file >= 0 && is_quicklook(file);
    for (size_t i = 0; i < N_ORIGINS && is_same; i++) {
        char text[FX8_TEXT_SIZE];
        const struct fx8_h5_place root = {path, file, true};
        is_same = fx8_h5_get_texts(&root, origins[i].name, 1, sizeof text, text,
                                   NULL) == FX8_OK &&
                  strcmp(text, origin(header, i)) == 0;
    }
    return is_same;
}

static void discard(struct fx8_quicklook_file **file)
{
    fx8_quicklook_file_close(file, false, NULL);
}

enum fx8_status fx8_quicklook_file_create(
    const char *path, bool force, const struct fx8_quicklook_header *header,
    struct fx8_quicklook_file **result, struct fx8_error *error)
{
    fx8_h5_quiet();
    *result = NULL;
    FX8_AUTO(discard) struct fx8_quicklook_file *file = calloc(1, sizeof *file);
    if (file == NULL)
        return fx8_no_memory(path, error);
    uint64_t meta_bytes;
    FX8_TRY(copy_header(file, header, error));
    const uint64_t bytes = file_bytes(file, &meta_bytes);
    FX8_TRY(fx8_output_open(path, force, bytes, is_quicklook, &file->output,
                            error));
    FX8_TRY(fx8_output_create_hdf5(file->output, (size_t)meta_bytes,
                                   &file->file, error));
    FX8_TRY(put_attributes(file, header, error));
    FX8_TRY(put_inputs(file, header, error));
    FX8_TRY(create_cubes(file, error));
    FX8_TRY(fx8_output_flush(file->output, file->file, error));
    FX8_TRY(fx8_output_reserve(file->output, error));
    *result = file;
    file = NULL;
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
        [COHERENCE] = look->coherence,
        [AMPLITUDE] = look->amplitude,
        [PHASE] = look->phase,
        [SPECTRA] = look->spectra_db,
        [TIME] = &file->dates[dump],
        [LENGTH] = &file->integration_s[dump],
        [FLAGS] = flags,
    };
    enum fx8_status status = FX8_OK;
    for (int i = 0; i < N_CUBES && status == FX8_OK; i++)
        status = fx8_h5_cube_write(file->output, &file->cubes[i], dump,
                                   values[i], error);
    if (status == FX8_OK)
        status = fx8_output_flush(file->output, file->file, error);
    return fx8_output_noted(&file->failure, status, error);
}

enum fx8_status fx8_quicklook_file_cut(struct fx8_quicklook_file *file,
                                       size_t n_dumps, struct fx8_error *error)
{
    fx8_h5_quiet();
    if (n_dumps >= file->extent[DUMP])
        return FX8_OK;
    const enum fx8_status status =
        fx8_h5_cubes_resize(file->output, file->cubes, N_CUBES, n_dumps, error);
    return fx8_output_noted(&file->failure, status, error);
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
    return fx8_h5_put_described(&target, &value, item->text, error);
}

enum fx8_status fx8_quicklook_file_put(struct fx8_quicklook_file *file,
                                       const struct fx8_quicklook_item *item,
                                       struct fx8_error *error)
{
    fx8_h5_quiet();
    const struct fx8_h5_target root = {file->output, file->file, false};
    FX8_H5_AUTO group = FX8_H5_NONE;
    enum fx8_status status =
        fx8_h5_put_group(&root, item->group, &group, error);
    if (status == FX8_OK)
        status = put_item(file, group, item, error);
    if (status == FX8_OK)
        status = fx8_output_check(file->output, error);
    return fx8_output_noted(&file->failure, status, error);
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
    fx8_h5_cubes_close(file->cubes, N_CUBES);
    if (file->file > 0 && H5Fclose(file->file) < 0 && status == FX8_OK)
        status = fx8_output_fail(file->output, "close", error);
    if (status == FX8_OK && keep)
        status = fx8_output_commit(&file->output, error);
    fx8_output_abandon(&file->output);
    free(file->dates);
    free(file->integration_s);
    free(file);
    return status;
}
