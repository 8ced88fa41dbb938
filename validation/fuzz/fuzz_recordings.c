/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_recordings.c -- good files of every format, damaged by the fuzzer's
 * bytes, those of HDF5 still valid HDF5, opened and read.  A refusal is one
 * line; a recording that opens has only possible properties and is read within
 * its buffers; no handle of HDF5 stays open, and no result may replace the
 * file. FX8_FUZZ_TARGET names the format; with FX8_FUZZ_GOOD=FOLDER the program
 * only writes the good files into that new folder.
 */
#include <inttypes.h>
#include <math.h>

#include "config/base/read_files.h"
#include "io/h5/h5.h"
#include "io/output.h"
#include "io/reader.h"
#include "io/uvh5/uvh5.h"
#include "validation/fuzz/claims.h"
#include "validation/fuzz/spoil.h"
#include "validation/good_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *n_arguments, char ***arguments);

/* Most memory for a run: a recording that needs more is not read. */
enum { MOST_INPUTS = 1 << 12, MOST_BUFFER = 1 << 22, MOST_CHANGES = 6 };

/* --- results beside it ------------------------------------------------- */

/* A file that was read cannot be overwritten by a result. */
static void check_spared(const char *path)
{
    struct stat status;
    struct fx8_output *output = NULL;
    struct fx8_error error = no_error();
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    claim(fx8_output_open(path, true, 0, NULL, &output, &error) ==
              FX8_ERR_USAGE,
          "%s may be written: %s", path, error.message);
    claim_one_line(FX8_ERR_USAGE, &error);
}

/* The file under the name of an earlier run's .part: the result is refused or
 * replaces it, and never changes it. */
static void begin_over(const char *path)
{
    static struct fixture f;
    struct fx8_uvh5_writer *writer = NULL;
    struct fx8_error error = no_error();
    struct stat before, after;
    char part[SCRATCH_PATH_SIZE], next[SCRATCH_PATH_SIZE];
    snprintf(part, sizeof part, "%s", scratch_path("next.uvh5.part"));
    snprintf(next, sizeof next, "%s", scratch_path("next.uvh5"));
    claim(stat(path, &before) == 0 && link(path, part) == 0, "%s", part);
    fx8_read_files_forget();
    fill(&f, 1, 4, 4);
    const enum fx8_status status = fx8_uvh5_create(
        next, false, &f.header, FX8_COMPRESSION_NONE, &writer, &error);
    if (status != FX8_OK) {
        claim_one_line(status, &error);
        claim(unlink(part) == 0, "%s is gone", part);
    }
    fx8_uvh5_close(&writer, 0, NULL);
    claim(stat(path, &after) == 0 && after.st_size == before.st_size &&
              after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
              after.st_mtim.tv_nsec == before.st_mtim.tv_nsec,
          "%s is not as it was", path);
    claim(access(part, F_OK) != 0 && access(next, F_OK) != 0,
          "something is left");
}

/* --- recordings -------------------------------------------------------- */

static void check_missing(const struct fx8_missing *missing, size_t n,
                          const struct fx8_observation *o)
{
    for (size_t i = 0; i < n; i++)
        claim(missing[i].first_sample >= 0 && missing[i].n_samples >= 0 &&
                  missing[i].n_samples <=
                      o->n_samples - missing[i].first_sample &&
                  missing[i].antenna >= -1 &&
                  missing[i].antenna < (int64_t)o->n_antennas &&
                  missing[i].polarization >= -1 &&
                  missing[i].polarization < (int64_t)o->n_polarizations &&
                  missing[i].band >= -1 &&
                  missing[i].band < (int64_t)o->n_bands,
              "missing: %" PRId64 " from %" PRId64 " of antenna %d, "
              "polarisation %d, band %d",
              missing[i].n_samples, missing[i].first_sample, missing[i].antenna,
              missing[i].polarization, missing[i].band);
}

static void check_observation(const struct fx8_reader *reader)
{
    const struct fx8_observation *o = &reader->observation;
    claim(o->n_antennas >= 1 && o->n_polarizations >= 1 &&
              o->n_polarizations <= FX8_MAX_POLARIZATIONS &&
              o->n_samples >= 1 && o->n_bands >= 1,
          "%zu antennas, %zu polarisations, %" PRId64 " samples, %zu bands",
          o->n_antennas, o->n_polarizations, o->n_samples, o->n_bands);
    claim(o->sample_rate.numerator_hz >= 0 &&
              (o->sample_rate.numerator_hz == 0 ||
               o->sample_rate.denominator > 0),
          "%" PRId64 "/%" PRId64 " Hz", o->sample_rate.numerator_hz,
          o->sample_rate.denominator);
    claim(!isinf(o->dc_frequency_hz), "an infinite frequency");
    claim(!o->has_start_time || (o->start_time.picosecond >= 0 &&
                                 o->start_time.picosecond < FX8_PICOSECONDS),
          "%" PRId64 " ps", o->start_time.picosecond);
    claim((o->n_table == 0) == (o->antennas == NULL), "%zu rows at %p",
          o->n_table, (void *)o->antennas);
    for (size_t i = 1; i < reader->n_missing; i++)
        claim(reader->missing[i - 1].first_sample <=
                  reader->missing[i].first_sample,
              "missing samples out of order");
    check_missing(reader->missing, reader->n_missing, o);
}

/* Samples [first, first + n): the address checker finds any access beyond the
 * buffer. */
static void read_range(struct fx8_reader *reader, size_t n_inputs,
                       int64_t first, int64_t n)
{
    const size_t size = reader->buffer_size(reader, n);
    if (size > MOST_BUFFER)
        return;
    int8_t *buffer = malloc(size);
    ptrdiff_t *offset = malloc(n_inputs * sizeof *offset);
    claim(buffer != NULL && offset != NULL, "no memory");
    struct fx8_sample_layout layout = {.input_offset = offset};
    struct fx8_error error = no_error();
    const enum fx8_status status =
        reader->read(reader, first, n, buffer, &layout, &error);
    if (status != FX8_OK)
        claim_one_line(status, &error);
    else
        check_missing(reader->found, reader->n_found, &reader->observation);
    const ptrdiff_t parts = reader->observation.is_complex ? 2 : 1;
    for (size_t i = 0; i < n_inputs && status == FX8_OK; i++) {
        const ptrdiff_t last = offset[i] + (n - 1) * layout.time_stride;
        claim(offset[i] >= 0 && last >= 0 &&
                  offset[i] + parts <= (ptrdiff_t)size &&
                  last + parts <= (ptrdiff_t)size,
              "input %zu at %td and %td of %zu bytes", i, offset[i], last,
              size);
    }
    free(offset);
    free(buffer);
}

static void select_inputs(struct fx8_reader *reader, struct choices *choices)
{
    const struct fx8_observation *o = &reader->observation;
    const size_t n_inputs = o->n_antennas * o->n_polarizations * o->n_bands;
    if (o->n_antennas > MOST_INPUTS || o->n_bands > MOST_INPUTS ||
        n_inputs > MOST_INPUTS)
        return;
    struct fx8_input_position *inputs = malloc(n_inputs * sizeof *inputs);
    claim(inputs != NULL, "no memory");
    size_t i = 0;
    for (size_t band = 0; band < o->n_bands; band++)
        for (size_t antenna = 0; antenna < o->n_antennas; antenna++)
            for (size_t pol = 0; pol < o->n_polarizations; pol++)
                inputs[i++] = (struct fx8_input_position){
                    .antenna = antenna, .polarization = pol, .band = band};
    const size_t n = perhaps(choices) ? 1 + n_inputs / 2 : n_inputs;
    struct fx8_error error = no_error();
    const enum fx8_status status = reader->select(reader, inputs, n, &error);
    if (status != FX8_OK)
        claim_one_line(status, &error);
    free(inputs);
    if (status != FX8_OK)
        return;
    const int64_t most = reader->read_samples(reader);
    claim(most >= 1, "%" PRId64 " samples a read", most);
    const int64_t length = o->n_samples < 100 ? o->n_samples : 100;
    const int64_t skipped = next_byte(choices) % length;
    read_range(reader, n, 0, length);
    read_range(reader, n, skipped, length - skipped);
    read_range(reader, n, o->n_samples - length, length);
    read_range(reader, n, o->n_samples / 2, 1);
    int8_t none[1];
    struct fx8_sample_layout layout = {.input_offset = NULL};
    error = no_error();
    claim_one_line(reader->read(reader, o->n_samples, 1, none, &layout, &error),
                   &error);
}

/* Defaults, equal to those of the table of keys, and some choices. */
static struct fx8_settings choose_settings(enum fx8_format format,
                                           struct choices *choices)
{
    static struct fx8_settings defaults;
    static bool is_loaded;
    struct fx8_error error = no_error();
    if (!is_loaded)
        claim(fx8_settings_load(NULL, NULL, 0, false, &defaults, &error) ==
                  FX8_OK,
              "no defaults: %s", error.message);
    is_loaded = true;
    struct fx8_settings settings = defaults;
    settings.input.format = perhaps(choices) ? FX8_FORMAT_AUTO : format;
    if (perhaps(choices)) {
        settings.input.marker.is_used = true;
        settings.input.marker.value = (int8_t)next_byte(choices);
        settings.input.marker.least_length = 1 + next_byte(choices);
    }
    return settings;
}

static void read_recording(const char *const *paths, size_t n_paths,
                           enum fx8_format format, struct choices *choices)
{
    const struct fx8_settings settings = choose_settings(format, choices);
    struct fx8_reader *reader = NULL;
    struct fx8_error error = no_error();
    const enum fx8_status status =
        fx8_reader_open(paths, n_paths, &settings, &reader, &error);
    if (status != FX8_OK) {
        claim_one_line(status, &error);
        claim(reader == NULL, "a reader after a failure");
        return;
    }
    check_observation(reader);
    select_inputs(reader, choices);
    fx8_reader_close(&reader);
    for (size_t i = 0; i < n_paths; i++)
        check_spared(paths[i]);
}

/* --- visibilities ---------------------------------------------------- */

static void read_cubes(struct fx8_uvh5_file *file,
                       const struct fx8_uvh5_header *h)
{
    const size_t row = h->n_channels * h->n_products;
    const size_t n_rows = h->n_times * h->n_baselines;
    if (row > MOST_BUFFER / 16)
        return;
    const size_t n = n_rows < 3 ? n_rows : 3;
    double *visibilities = malloc(n * row * 2 * sizeof(double));
    uint8_t *flags = malloc(n * row);
    float *weights = malloc(n * row * sizeof(float));
    claim(visibilities != NULL && flags != NULL && weights != NULL,
          "no memory");
    const size_t firsts[] = {0, n_rows - n, n_rows};
    for (size_t i = 0; i < 3; i++) {
        struct fx8_error error = no_error();
        const enum fx8_status status = fx8_uvh5_read_rows(
            file, firsts[i], n, visibilities, flags, weights, &error);
        if (status != FX8_OK)
            claim_one_line(status, &error);
        else
            claim(i < 2, "rows beyond the last");
    }
    free(weights);
    free(flags);
    free(visibilities);
}

static void read_visibilities(const char *const *paths, size_t n_paths,
                              enum fx8_format format, struct choices *choices)
{
    (void)n_paths;
    (void)format;
    (void)choices;
    begin_over(paths[0]);
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header h;
    struct fx8_error error = no_error();
    enum fx8_status status = fx8_uvh5_open(paths[0], &file, &h, &error);
    if (status != FX8_OK) {
        claim_one_line(status, &error);
        claim(file == NULL, "a file after a failure");
        return;
    }
    claim(h.n_times >= 1 && h.n_baselines >= 1 && h.n_channels >= 1 &&
              h.n_products >= 1 && h.n_products <= 4,
          "%zu times, %zu baselines, %zu channels, %zu products", h.n_times,
          h.n_baselines, h.n_channels, h.n_products);
    read_cubes(file, &h);
    size_t shape[3];
    double *values = NULL;
    error = no_error();
    status = fx8_uvh5_get(file, "gain", shape, &values, &error);
    if (status != FX8_OK)
        claim_one_line(status, &error);
    const size_t n = values == NULL ? 0 : shape[0] * shape[1] * shape[2];
    if (n > 0) { /* the address checker watches the last one */
        const volatile double last = values[n - 1];
        (void)last;
    }
    free(values);
    fx8_uvh5_header_clear(&h);
    fx8_uvh5_file_close(&file);
    check_spared(paths[0]);
}

/* --- targets --------------------------------------------------------- */

static const struct {
    const char *name;
    void (*make)(const char *folder);
    void (*read)(const char *const *paths, size_t n_paths,
                 enum fx8_format format, struct choices *choices);
    enum fx8_format format;
    const char *opened; /* the file to open; NULL: every file */
} targets[] = {
    {"fx8", make_good_fx8, read_recording, FX8_FORMAT_FX8, "good/good.h5"},
    {"fx8_parts", make_good_fx8_parts, read_recording, FX8_FORMAT_FX8, NULL},
    {"tart", make_good_tart, read_recording, FX8_FORMAT_TART, "good/good.h5"},
    {"digital_rf", make_good_digital_rf, read_recording, FX8_FORMAT_DIGITAL_RF,
     "good"},
    {"aavs", make_good_aavs, read_recording, FX8_FORMAT_AAVS, NULL},
    {"guppi", make_good_guppi, read_recording, FX8_FORMAT_GUPPI, NULL},
    {"vdif", make_good_vdif, read_recording, FX8_FORMAT_VDIF, NULL},
    {"dada", make_good_dada, read_recording, FX8_FORMAT_DADA, NULL},
    {"uvh5", make_good_uvh5, read_visibilities, FX8_FORMAT_AUTO,
     "good/good.h5"},
};

enum { MOST_FILES = 32 };

/* A file of the good recording. */
struct good_file {
    char name[SCRATCH_PATH_SIZE]; /* in the scratch folder */
    uint8_t *bytes;
    size_t size;
    bool is_spoilt;
};

static size_t target;
static struct good_file files[MOST_FILES];
static size_t n_files;

static const char *name_of(size_t i)
{
    return targets[i].name;
}

static int remember_file(const char *path, const struct stat *information,
                         int type)
{
    if (type != FTW_F)
        return 0;
    claim(n_files < MOST_FILES, "too many files");
    struct good_file *file = &files[n_files++];
    snprintf(file->name, sizeof file->name, "%s",
             path + strlen(scratch_folder()) + 1);
    file->size = (size_t)information->st_size;
    file->bytes = malloc(file->size);
    FILE *stream = fopen(path, "rb");
    claim(stream != NULL && file->bytes != NULL &&
              fread(file->bytes, 1, file->size, stream) == file->size,
          "%s", path);
    fclose(stream);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct good_file *)a)->name,
                  ((const struct good_file *)b)->name);
}

int LLVMFuzzerInitialize(int *n_arguments, char ***arguments)
{
    (void)n_arguments;
    (void)arguments;
    fx8_h5_quiet();
    /* the library frees large buffers after each file; allocating them anew
     * would take ten times as long as everything else */
    H5set_free_list_limits(-1, -1, -1, -1, -1, -1);
    target = chosen_target(name_of, sizeof targets / sizeof targets[0]);
    const char *wanted = getenv("FX8_FUZZ_GOOD");
    claim(mkdir(scratch_path("good"), 0777) == 0, "no folder");
    targets[target].make("good");
    const char *folder = scratch_path("good");
    if (wanted != NULL) {
        claim(rename(folder, wanted) == 0, "%s", wanted);
        exit(0);
    }
    ftw(folder, remember_file, 8);
    /* independent of the folder's order */
    qsort(files, n_files, sizeof files[0], by_name);
    return 0;
}

/* Some changes to one file; one of several files may also be removed, or
 * replaced by another. */
static void spoil_file(struct choices *choices)
{
    struct good_file *file = &files[choose(choices, n_files)];
    const char *path = scratch_path(file->name);
    file->is_spoilt = true;
    if (n_files > 1 && choose(choices, 16) == 1) {
        const struct good_file *other = &files[choose(choices, n_files)];
        if (other == file)
            unlink(path);
        else
            scratch_write(file->name, other->bytes, other->size);
        return;
    }
    const size_t n_changes = choose(choices, MOST_CHANGES);
    hid_t opened = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    for (size_t i = 0; i < n_changes && opened < 0; i++)
        spoil_bytes(path, choices);
    if (opened < 0)
        return; /* a plain file, or already removed */
    for (size_t i = 0; i < n_changes; i++)
        spoil_object(opened, choices);
    claim(H5Fclose(opened) >= 0, "%s", path);
}

static void read_target(struct choices *choices)
{
    static char paths[MOST_FILES][SCRATCH_PATH_SIZE];
    const char *list[MOST_FILES];
    const char *one = targets[target].opened;
    const size_t n = one != NULL ? 1 : n_files;
    for (size_t i = 0; i < n; i++) {
        snprintf(paths[i], sizeof paths[i], "%s",
                 scratch_path(one != NULL ? one : files[i].name));
        list[i] = paths[i];
    }
    targets[target].read(list, n, targets[target].format, choices);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct choices choices = {bytes, size};
    fx8_read_files_forget();
    for (size_t i = 0; i < n_files; i++)
        if (files[i].is_spoilt)
            scratch_write(files[i].name, files[i].bytes, files[i].size);
    for (size_t i = 0; i < n_files; i++)
        files[i].is_spoilt = false;
    const size_t n_spoilt = choose(&choices, n_files < 3 ? n_files + 1 : 4);
    for (size_t i = 0; i < n_spoilt; i++)
        spoil_file(&choices);
    read_target(&choices);
    const ssize_t open = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
    claim(open == 0, "%zd handles of HDF5 stay open", open);
    return 0;
}
