/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "io/h5/chunks.h"
#include "io/h5/h5.h"
#include "io/reader_formats.h"

/* In the order of probing: formats that state their name first. */
static const struct fx8_reader_format *const formats[] = {
    &fx8_reader_fx8,        &fx8_reader_tart,  &fx8_reader_aavs,
    &fx8_reader_digital_rf, &fx8_reader_guppi, &fx8_reader_dada,
    &fx8_reader_vdif, /* without a name or keys: last */
};

/* Bytes per read: amortises the call and still fits a cache or a queue. */
#define READ_BYTES ((size_t)8 << 20)

/* Bytes that tell the formats of plain files apart: several headers. */
#define START_BYTES 32768

#define N_FORMATS (sizeof formats / sizeof formats[0])

/* "fx8, tart" for messages. */
static void list_formats(char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < N_FORMATS && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i > 0 ? ", " : "", formats[i]->name);
}

/* The format of a plain file that is not HDF5: the wanted one, else the one it
 * looks like; NULL: none. */
static const struct fx8_reader_format *find_plain(const char *path,
                                                  enum fx8_format wanted)
{
    uint8_t bytes[START_BYTES] = {0};
    struct stat status;
    ssize_t n = -1;
    for (size_t i = 0; i < N_FORMATS && wanted != FX8_FORMAT_AUTO; i++)
        if (formats[i]->format == wanted)
            return formats[i]->sniff != NULL ? formats[i] : NULL;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 &&
        S_ISREG(status.st_mode))
        n = pread(descriptor, bytes, sizeof bytes, 0);
    if (descriptor >= 0)
        close(descriptor);
    if (n <= 0 || memcmp(bytes, "\x89HDF", 4) == 0)
        return NULL;
    const struct fx8_file_start start = {bytes, (size_t)n, status.st_size};
    for (size_t i = 0; i < N_FORMATS; i++)
        if (formats[i]->sniff != NULL && formats[i]->sniff(&start))
            return formats[i];
    return NULL;
}

static const struct fx8_reader_format *find_format(const char *path, hid_t file,
                                                   enum fx8_format wanted)
{
    const struct fx8_h5_place root = {path, file, false};
    for (size_t i = 0; i < N_FORMATS; i++)
        if (formats[i]->probe != NULL && (file >= 0 || formats[i]->is_folder) &&
            (wanted == FX8_FORMAT_AUTO ? formats[i]->probe(&root)
                                       : formats[i]->format == wanted))
            return formats[i];
    return NULL;
}

const char *fx8_reader_format_name(const char *path)
{
    fx8_h5_quiet();
    const struct fx8_reader_format *format = find_plain(path, FX8_FORMAT_AUTO);
    if (format != NULL)
        return format->name;
    FX8_H5_AUTO file = FX8_H5_NONE;
    (void)fx8_h5_open_file(path, &file, NULL);
    format = find_format(path, file, FX8_FORMAT_AUTO);
    return format != NULL ? format->name : NULL;
}

/* --- gaps ----------------------------------------------------------------- */

int fx8_missing_order(const void *a, const void *b)
{
    const struct fx8_missing *x = a, *y = b;
    if (x->first_sample != y->first_sample)
        return x->first_sample < y->first_sample ? -1 : 1;
    if (x->antenna != y->antenna)
        return x->antenna < y->antenna ? -1 : 1;
    if (x->polarization != y->polarization)
        return x->polarization < y->polarization ? -1 : 1;
    return (x->band > y->band) - (x->band < y->band);
}

enum fx8_status fx8_missing_add(struct fx8_missing **list, size_t *n,
                                const struct fx8_missing *gap,
                                struct fx8_error *error)
{
    FX8_TRY(fx8_grow(list, *n, sizeof **list, "missing stretches", error));
    (*list)[(*n)++] = *gap;
    return FX8_OK;
}

/* --- filters -------------------------------------------------------------- */

void fx8_reader_note_slow(struct fx8_reader *reader,
                          const struct fx8_h5_chunks *chunks)
{
    const char *reason = fx8_h5_chunks_slow_reason(chunks);
    if (reason == NULL || reader->slow_reason != NULL)
        return;
    snprintf(reader->slow_text, sizeof reader->slow_text, "%s", reason);
    reader->slow_reason = reader->slow_text;
}

/* --- selecting inputs ----------------------------------------------------- */

static enum fx8_status check_inputs(const struct fx8_reader *reader,
                                    const struct fx8_input_position *inputs,
                                    size_t n_inputs, struct fx8_error *error)
{
    if (n_inputs == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: inputs: none: expected at least one",
                        reader->path);
    for (size_t i = 0; i < n_inputs; i++)
        if (inputs[i].antenna >= reader->observation.n_antennas ||
            inputs[i].polarization >= reader->observation.n_polarizations ||
            inputs[i].band >= reader->observation.n_bands)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: input of antenna position %zu, polarisation "
                            "slot %zu, band %zu: expected positions below %zu, "
                            "slots below %zu, bands below %zu",
                            reader->path, inputs[i].antenna,
                            inputs[i].polarization, inputs[i].band,
                            reader->observation.n_antennas,
                            reader->observation.n_polarizations,
                            reader->observation.n_bands);
    return FX8_OK;
}

static enum fx8_status place_inputs(struct fx8_reader *reader,
                                    const struct fx8_input_position *inputs,
                                    size_t n_inputs, struct fx8_error *error)
{
    FX8_AUTO_FREE struct fx8_input_place *other = NULL;
    FX8_TRY(fx8_allocate(n_inputs, sizeof *other, "a selection of inputs",
                         &other, error));
    struct fx8_input_place *const before = reader->places;
    reader->places = other;
    const enum fx8_status status =
        reader->format->select(reader, inputs, n_inputs, error);
    if (status == FX8_OK)
        reader->n_inputs = n_inputs;
    else
        reader->places = before;
    other = status == FX8_OK ? before : other;
    return status;
}

/* The default: every input, bands slowest, then antennas. */
static enum fx8_status select_all(struct fx8_reader *reader,
                                  struct fx8_error *error)
{
    const struct fx8_observation *o = &reader->observation;
    const size_t n_inputs = fx8_observation_inputs(o);
    FX8_AUTO_FREE struct fx8_input_position *inputs = NULL;
    FX8_TRY(fx8_allocate(n_inputs, sizeof *inputs, "input positions", &inputs,
                         error));
    size_t i = 0;
    for (size_t band = 0; band < o->n_bands; band++)
        for (size_t a = 0; a < o->n_antennas; a++)
            for (size_t p = 0; p < o->n_polarizations; p++)
                inputs[i++] = (struct fx8_input_position){a, p, band};
    return place_inputs(reader, inputs, n_inputs, error);
}

static enum fx8_status select_inputs(struct fx8_reader *reader,
                                     const struct fx8_input_position *inputs,
                                     size_t n_inputs, struct fx8_error *error)
{
    fx8_h5_quiet();
    FX8_TRY(check_inputs(reader, inputs, n_inputs, error));
    FX8_TRY(place_inputs(reader, inputs, n_inputs, error));
    return reader->format->measure == NULL
               ? FX8_OK
               : reader->format->measure(reader, error);
}

/* --- reading -------------------------------------------------------------- */

/* Times of `bytes` that fit `room`, at least one. */
static int64_t times_of(size_t room, size_t bytes)
{
    return bytes >= room ? 1 : (int64_t)(room / bytes);
}

/* Whole chunks of about READ_BYTES; part of a chunk only if one exceeds
 * FX8_READER_MAX_BYTES. */
static int64_t read_samples(const struct fx8_reader *reader)
{
    const size_t bytes =
        fx8_product(reader->n_rows, reader->sample_bytes, 1, 1);
    const int64_t wanted = times_of(READ_BYTES, bytes);
    const int64_t chunk = reader->chunk_samples;
    if (chunk > times_of(FX8_READER_MAX_BYTES, bytes))
        return wanted;
    return chunk >= wanted ? chunk : wanted / chunk * chunk;
}

static size_t buffer_size(const struct fx8_reader *reader, int64_t n_samples)
{
    return n_samples < 0 ? SIZE_MAX
                         : fx8_product(reader->n_rows, reader->sample_bytes,
                                       (size_t)n_samples, 1);
}

static enum fx8_status check_range(const struct fx8_reader *reader,
                                   int64_t first, int64_t n_samples,
                                   struct fx8_error *error)
{
    const int64_t length = reader->observation.n_samples;
    if (first >= 0 && n_samples > 0 && first < length &&
        n_samples <= length - first)
        return FX8_OK;
    return fx8_refuse(error, reader->path, reader->format->samples,
                      "%" PRId64 " samples from %" PRId64
                      ": expected samples within 0 to %" PRId64,
                      n_samples, first, length - 1);
}

static enum fx8_status read_range(struct fx8_reader *reader, int64_t first,
                                  int64_t n_samples, int8_t *buffer,
                                  struct fx8_sample_layout *layout,
                                  struct fx8_error *error)
{
    fx8_h5_quiet();
    reader->n_clamped = 0;
    reader->n_found = 0;
    FX8_TRY(check_range(reader, first, n_samples, error));
    const int64_t row_samples = fx8_row_samples(layout, n_samples);
    if (buffer_size(reader, row_samples) > PTRDIFF_MAX)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: %s: %" PRId64
                        " samples at once: expected fewer, see read_samples",
                        reader->path, reader->format->samples, n_samples);
    layout->time_stride = (ptrdiff_t)reader->sample_bytes;
    for (size_t i = 0; i < reader->n_inputs; i++)
        layout->input_offset[i] =
            (ptrdiff_t)(reader->places[i].row * (size_t)row_samples *
                            reader->sample_bytes +
                        reader->places[i].byte);
    return reader->format->read(reader, first, n_samples, row_samples, buffer,
                                error);
}

/* --- opening -------------------------------------------------------------- */

/* A reader without a recording. */
static enum fx8_status make_reader(const struct fx8_reader_format *format,
                                   const char *const *paths, size_t n_paths,
                                   struct fx8_reader **reader,
                                   struct fx8_error *error)
{
    *reader = calloc(1, format->size);
    if (*reader == NULL)
        return fx8_no_memory("a reader", error);
    **reader = (struct fx8_reader){
        .format = format,
        .observation = fx8_observation_unknown(),
        .select = select_inputs,
        .buffer_size = buffer_size,
        .read_samples = read_samples,
        .read = read_range,
    };
    for (size_t i = 0; i < n_paths; i++)
        FX8_TRY(fx8_text_list_add(&(*reader)->paths, strdup(paths[i]), error));
    (*reader)->path = (*reader)->paths.items[0];
    return FX8_OK;
}

/* Find the format of a file or a folder. */
static enum fx8_status choose_format(const char *path, enum fx8_format wanted,
                                     const struct fx8_reader_format **format,
                                     struct fx8_error *error)
{
    *format = find_plain(path, wanted);
    if (*format != NULL)
        return FX8_OK;
    /* report faults of the file itself first, so that probes need not */
    FX8_H5_AUTO file = FX8_H5_NONE;
    if (!fx8_path_is_folder(path)) { /* as some formats are */
        const enum fx8_status status = fx8_h5_open_file(path, &file, error);
        if (status != FX8_OK && wanted == FX8_FORMAT_AUTO &&
            H5Fis_hdf5(path) == 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: no HDF5 signature: expected a recording in "
                            "HDF5, or input.format, which gives the reason",
                            path);
        FX8_TRY(status);
    }
    char known[128];
    list_formats(known, sizeof known);
    *format = find_format(path, file, wanted);
    if (*format != NULL)
        return FX8_OK;
    if (file < 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: folder without channels of Digital RF: expected "
                        "the folder above them, or the files of another "
                        "format, such as %s/*.h*",
                        path, path);
    if (wanted != FX8_FORMAT_AUTO)
        return fx8_fail(error, FX8_ERR_UNSUPPORTED,
                        "%s: input.format: not read by this build: expected "
                        "one of %s",
                        path, known);
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: HDF5 of an unknown format: expected one of %s", path,
                    known);
}

/* Every file once, however its name is spelt. */
static enum fx8_status check_once(const char *const *paths, size_t n_paths,
                                  struct fx8_error *error)
{
    FX8_AUTO_FREE struct stat *files = NULL;
    FX8_TRY(fx8_allocate(n_paths, sizeof *files, "names", &files, error));
    for (size_t i = 0; i < n_paths; i++) {
        if (stat(paths[i], &files[i]) != 0)
            continue; /* whoever opens it says so */
        for (size_t k = 0; k < i; k++)
            if (files[i].st_ino == files[k].st_ino &&
                files[i].st_dev == files[k].st_dev)
                return fx8_fail(
                    error, FX8_ERR_USAGE,
                    "%s: input.files: given twice%s%s: expected "
                    "every file once",
                    paths[i], strcmp(paths[i], paths[k]) == 0 ? "" : ", as ",
                    strcmp(paths[i], paths[k]) == 0 ? "" : paths[k]);
    }
    return FX8_OK;
}

static enum fx8_status check_paths(const struct fx8_reader_format *format,
                                   const char *const *paths, size_t n_paths,
                                   struct fx8_error *error)
{
    if (format->single != NULL && n_paths != 1)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: input.files: %zu files: expected one, %s",
                        paths[0], n_paths, format->single);
    return check_once(paths, n_paths, error);
}

enum fx8_status fx8_reader_open(const char *const *paths, size_t n_paths,
                                const struct fx8_settings *settings,
                                struct fx8_reader **reader,
                                struct fx8_error *error)
{
    *reader = NULL;
    fx8_h5_quiet();
    if (n_paths == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "input.files: none: expected at least one recording");
    const struct fx8_reader_format *format;
    FX8_TRY(choose_format(paths[0], settings->input.format, &format, error));
    FX8_TRY(check_paths(format, paths, n_paths, error));
    FX8_AUTO(fx8_reader_close) struct fx8_reader *new = NULL;
    FX8_TRY(make_reader(format, paths, n_paths, &new, error));
    FX8_TRY(format->load(new, settings, error));
    if (new->n_missing > 0)
        qsort(new->missing, new->n_missing, sizeof *new->missing,
              fx8_missing_order);
    FX8_TRY(select_all(new, error));
    if (settings->input.scale_to_8bit != 0 && !new->is_16bit)
        return fx8_settings_fail(settings, "input.scale_to_8bit", error,
                                 "expected auto, %s has samples of 8 bits",
                                 paths[0]);
    *reader = new;
    new = NULL;
    return FX8_OK;
}

void fx8_reader_close(struct fx8_reader **reader)
{
    if (*reader == NULL)
        return;
    fx8_h5_quiet();
    (*reader)->format->close(*reader);
    fx8_observation_clear(&(*reader)->observation);
    free((*reader)->missing);
    free((*reader)->places);
    fx8_text_list_clear(&(*reader)->paths);
    free(*reader);
    *reader = NULL;
}
