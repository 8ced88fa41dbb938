/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reading.c -- recordings in every storage against read() of the same
 * file, and the turn of time-major samples against a copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/shape.h"
#include "correlator/commands/bench/bench.h"
#include "correlator/commands/command.h"
#include "io/native.h"
#include "kernels/clock.h"
#include "kernels/operations.h"
#include "kernels/parallel.h"

/* Samples of a recording: beyond the caches; packed ones take longer. */
#define PLAIN_BYTES  ((size_t)128 << 20)
#define PACKED_BYTES ((size_t)32 << 20)

/* Passes, of which the best counts: what else the machine does only ever makes
 * one slower. */
#define N_PLAIN  9
#define N_PACKED 3
#define N_COLD   2

struct storage {
    const char *name;
    const char *axis_order;
    size_t n_antennas; /* of two polarisations */
    struct fx8_native_storage storage;
    double target; /* share of read(); 0: none */
};

#define MIB ((size_t)1 << 20)

static const struct storage storages[] = {
    {"contiguous, 4 inputs",
     "antenna,pol,time",
     2,
     {.is_contiguous = true},
     0.9},
    {"contiguous, 512 inputs",
     "antenna,pol,time",
     256,
     {.is_contiguous = true},
     0.9},
    {"contiguous, time-major",
     "time,antenna,pol",
     256,
     {.is_contiguous = true},
     0.9},
    {"chunks of 1 MiB", "antenna,pol,time", 2, {.chunk_bytes = MIB}, 0.8},
    {"chunks of 8 MiB", "antenna,pol,time", 2, {.chunk_bytes = 8 * MIB}, 0.8},
    {"1 MiB, time-major", "time,antenna,pol", 256, {.chunk_bytes = MIB}, 0.8},
    {"deflate 1",
     "antenna,pol,time",
     2,
     {.chunk_bytes = MIB, .deflate_level = 1},
     0.0},
    {"shuffle, deflate 1",
     "antenna,pol,time",
     2,
     {.chunk_bytes = MIB, .shuffle = true, .deflate_level = 1},
     0.0},
    {"bitshuffle, LZ4",
     "antenna,pol,time",
     2,
     {.chunk_bytes = MIB, .bitshuffle = true},
     0.0},
};

#define N_STORAGES (sizeof storages / sizeof storages[0])

/* Seconds of the best passes. */
struct seconds {
    double file, one, all, cold_file, cold; /* 0: not measured */
};

struct names {
    char path[512], part[520];
};

static bool is_packed(const struct storage *storage)
{
    return storage->storage.deflate_level > 0 || storage->storage.bitshuffle;
}

static void keep_best(double *best, double seconds)
{
    if (*best <= 0.0 || seconds < *best)
        *best = seconds;
}

/* --- a recording ------------------------------------------------- */

static void name_file(struct names *names)
{
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || folder[0] == '\0')
        folder = "/tmp";
    snprintf(names->path, sizeof names->path, "%s/fx8-bench-%ld.h5", folder,
             (long)getpid());
    snprintf(names->part, sizeof names->part, "%s.part", names->path);
}

static enum fx8_status write_recording(const struct storage *storage,
                                       const struct names *names,
                                       struct fx8_error *error)
{
    struct fx8_observation o = fx8_observation_unknown();
    o.is_complex = true;
    o.n_antennas = storage->n_antennas;
    o.n_polarizations = 2;
    const size_t sample = 4 * o.n_antennas;
    o.n_samples =
        (int64_t)((is_packed(storage) ? PACKED_BYTES : PLAIN_BYTES) / sample);
    o.sample_rate = (struct fx8_rate){1000000, 1};
    o.has_start_time = true;
    o.start_time = (struct fx8_time){1600000000, 0};
    o.dc_frequency_hz = 150e6;
    o.sideband = FX8_SIDEBAND_UPPER;
    const int64_t block = (int64_t)(32 * MIB / sample);
    void *samples = NULL;
    struct fx8_native_writer *writer = NULL;
    enum fx8_status status =
        fx8_allocate(32 * MIB, 1, "samples", &samples, error);
    if (status == FX8_OK) {
        fx8_bench_fill(samples, 32 * MIB);
        status =
            fx8_native_create_stored(names->path, &o, storage->axis_order, NULL,
                                     0, &storage->storage, &writer, error);
    }
    for (int64_t at = 0; status == FX8_OK && at < o.n_samples; at += block)
        status = fx8_native_write(writer, at, block, samples, error);
    const enum fx8_status closed = fx8_native_close(
        &writer, status == FX8_OK, status == FX8_OK ? error : NULL);
    free(samples);
    fx8_observation_clear(&o);
    return status != FX8_OK ? status : closed;
}

/* --- passes ------------------------------------------------------ */

/* An open recording, and memory for a block of it. */
struct pass {
    const struct names *names;
    struct fx8_reader *reader;
    int64_t block_samples;
    size_t buffer_size;
    int8_t *buffer;
    ptrdiff_t *input_offset;
};

static enum fx8_status open_pass(const struct names *names, struct pass *pass,
                                 struct fx8_error *error)
{
    struct fx8_settings settings;
    const char *path = names->path;
    enum fx8_status status =
        fx8_settings_load(NULL, NULL, 0, false, &settings, error);
    if (status != FX8_OK)
        return status;
    pass->names = names;
    status = fx8_reader_open(&path, 1, &settings, &pass->reader, error);
    fx8_settings_clear(&settings);
    if (status != FX8_OK)
        return status;
    const struct fx8_observation *o = &pass->reader->observation;
    pass->block_samples = pass->reader->read_samples(pass->reader);
    if (pass->block_samples > o->n_samples)
        pass->block_samples = o->n_samples;
    pass->buffer_size =
        pass->reader->buffer_size(pass->reader, pass->block_samples);
    const struct fx8_array arrays[] = {
        {&pass->buffer, pass->buffer_size, 1},
        {&pass->input_offset, o->n_antennas * o->n_polarizations,
         sizeof *pass->input_offset},
    };
    return fx8_allocate_arrays(arrays, 2, "samples", error);
}

static void close_pass(struct pass *pass)
{
    fx8_reader_close(&pass->reader);
    free(pass->buffer);
    free(pass->input_offset);
}

/* The whole recording through its reader. */
static enum fx8_status time_reader(struct pass *pass, size_t n_threads,
                                   double *best, struct fx8_error *error)
{
    struct fx8_reader *reader = pass->reader;
    const int64_t n_samples = reader->observation.n_samples;
    struct fx8_sample_layout layout = {.input_offset = pass->input_offset};
    reader->workers = (struct fx8_workers){n_threads, fx8_parallel_for};
    const double start = fx8_clock_seconds();
    for (int64_t at = 0; at < n_samples; at += pass->block_samples) {
        const int64_t left = n_samples - at;
        const enum fx8_status status = reader->read(
            reader, at, left < pass->block_samples ? left : pass->block_samples,
            pass->buffer, &layout, error);
        if (status != FX8_OK)
            return status;
    }
    keep_best(best, fx8_clock_seconds() - start);
    return FX8_OK;
}

/* The bytes of the file, as many at once. */
static enum fx8_status time_file(struct pass *pass, double *best,
                                 struct fx8_error *error)
{
    const int file = open(pass->names->path, O_RDONLY | O_CLOEXEC);
    const double start = fx8_clock_seconds();
    ssize_t n = file < 0 ? -1 : 1;
    while (n > 0)
        n = read(file, pass->buffer, pass->buffer_size);
    keep_best(best, fx8_clock_seconds() - start);
    const int reason = errno;
    if (file >= 0)
        close(file);
    return n == 0 ? FX8_OK
                  : fx8_fail(error, FX8_ERR_SYSTEM,
                             "%s: %s: expected a readable file",
                             pass->names->path, strerror(reason));
}

/* Let the system forget the file's bytes; false where it keeps them. */
static bool evict(const char *path)
{
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is_gone = false;
    if (file >= 0 && fstat(file, &status) == 0 && fsync(file) == 0 &&
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0) {
        const size_t size = (size_t)status.st_size;
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        const size_t n_pages = (size + page - 1) / page;
        unsigned char *resident = malloc(n_pages);
        void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
        size_t n_resident = n_pages;
        if (map != MAP_FAILED && resident != NULL &&
            mincore(map, size, resident) == 0) {
            n_resident = 0;
            for (size_t k = 0; k < n_pages; k++)
                n_resident += resident[k] & 1;
        }
        if (map != MAP_FAILED)
            munmap(map, size);
        free(resident);
        is_gone = n_resident < n_pages / 20;
    }
    if (file >= 0)
        close(file);
    return is_gone;
}

static enum fx8_status measure_passes(const struct storage *storage,
                                      struct pass *pass,
                                      struct seconds *seconds,
                                      struct fx8_error *error)
{
    const bool packed = is_packed(storage);
    enum fx8_status status = time_file(pass, &seconds->file, error);
    for (size_t k = 0; status == FX8_OK && k < (packed ? N_PACKED : N_PLAIN);
         k++) {
        status = time_file(pass, &seconds->file, error);
        if (status == FX8_OK)
            status = time_reader(pass, 1, &seconds->one, error);
        if (status == FX8_OK && packed)
            status =
                time_reader(pass, fx8_parallel_cpus(), &seconds->all, error);
    }
    for (size_t k = 0; status == FX8_OK && !packed && k < N_COLD; k++) {
        if (!evict(pass->names->path))
            break;
        status = time_file(pass, &seconds->cold_file, error);
        if (status == FX8_OK && evict(pass->names->path))
            status = time_reader(pass, 1, &seconds->cold, error);
    }
    return status;
}

/* --- printing ---------------------------------------------------- */

/* "  9.12 GB/s", or dashes. */
static const char *rate_text(double bytes, double seconds, char text[32])
{
    if (seconds > 0.0)
        snprintf(text, 32, "%7.2f GB/s", bytes / seconds * 1e-9);
    else
        snprintf(text, 32, "%12s", "-");
    return text;
}

static void print_storage(const struct storage *storage, double bytes,
                          double file_bytes, const struct seconds *s,
                          const char *slow_reason, bool json)
{
    const double share = bytes / s->one * s->file / file_bytes;
    if (json) {
        printf("{\"reading\":\"%s\",\"bytes_s\":%.6g,\"read_bytes_s\":%.6g,"
               "\"share\":%.4f,\"target\":%.2f",
               storage->name, bytes / s->one, file_bytes / s->file, share,
               storage->target);
        if (s->all > 0.0)
            printf(",\"threads\":%zu,\"threads_bytes_s\":%.6g",
                   fx8_parallel_cpus(), bytes / s->all);
        if (s->cold > 0.0)
            printf(",\"cold_bytes_s\":%.6g,\"cold_read_bytes_s\":%.6g",
                   bytes / s->cold, file_bytes / s->cold_file);
        if (slow_reason != NULL)
            printf(",\"by_hdf5\":\"%s\"", slow_reason);
        printf("}\n");
    } else {
        char texts[5][32], target[16] = "    -";
        if (storage->target > 0.0)
            snprintf(target, sizeof target, "%5.2f", storage->target);
        printf("%-23s %s %s %6.2f  %s %s %s %s\n", storage->name,
               rate_text(bytes, s->one, texts[0]),
               rate_text(file_bytes, s->file, texts[1]), share, target,
               rate_text(bytes, s->all, texts[2]),
               rate_text(bytes, s->cold, texts[3]),
               rate_text(file_bytes, s->cold_file, texts[4]));
        if (slow_reason != NULL)
            printf("  unpacked by HDF5, on one thread: %s\n", slow_reason);
    }
    fflush(stdout);
}

static enum fx8_status bench_storage(const struct storage *storage,
                                     const struct names *names, bool json,
                                     struct fx8_error *error)
{
    struct pass pass = {.names = names};
    struct seconds seconds = {0};
    struct stat file;
    enum fx8_status status = write_recording(storage, names, error);
    if (status == FX8_ERR_UNSUPPORTED) {
        printf(json ? "{\"reading\":\"%s\",\"left_out\":\"no plug-in\"}\n"
                    : "%-23s left out: HDF5 has no plug-in for it "
                      "(HDF5_PLUGIN_PATH)\n",
               storage->name);
        return FX8_OK;
    }
    if (status == FX8_OK)
        status = open_pass(names, &pass, error);
    if (status == FX8_OK)
        status = measure_passes(storage, &pass, &seconds, error);
    if (status == FX8_OK && stat(names->path, &file) == 0)
        print_storage(storage,
                      (double)pass.reader->buffer_size(
                          pass.reader, pass.reader->observation.n_samples),
                      (double)file.st_size, &seconds, pass.reader->slow_reason,
                      json);
    close_pass(&pass);
    unlink(names->path);
    return status;
}

/* --- the turn ---------------------------------------------------- */

/* Recordings [time][input]. */
static const struct {
    size_t n_inputs;
    size_t sample_bytes;
} turns[] = {{16, 2}, {64, 2}, {512, 2}, {512, 1}};

/* Share of memcpy() that the turn of time-major samples must reach. */
#define TURN_TARGET 0.7

/* Samples to be turned, and where to. */
#define TURN_BYTES (32 * MIB)

/* Bytes between two rows, as the correlation has them: rows must not lie a
 * power of two apart. */
#define ROW_GAP    64
#define MOST_TURNS 512 /* inputs */

static void bench_turn(const struct fx8_operations *operations, size_t n_inputs,
                       size_t sample_bytes, const int8_t *from, int8_t *to,
                       bool json)
{
    ptrdiff_t offset[MOST_TURNS];
    for (size_t i = 0; i < n_inputs; i++)
        offset[i] = (ptrdiff_t)(i * sample_bytes);
    const size_t n_samples = TURN_BYTES / n_inputs / sample_bytes;
    const size_t row = n_samples * sample_bytes + ROW_GAP;
    double copy_s = 0.0, turn_s = 0.0;
    for (size_t k = 0; k < N_PLAIN; k++) {
        double start = fx8_clock_seconds();
        memcpy(to, from, TURN_BYTES);
        keep_best(&copy_s, fx8_clock_seconds() - start);
        start = fx8_clock_seconds();
        operations->gather(n_inputs, n_samples, sample_bytes, from, offset,
                           (ptrdiff_t)(n_inputs * sample_bytes), to, row);
        keep_best(&turn_s, fx8_clock_seconds() - start);
    }
    const char *type = sample_bytes == 2 ? "complex" : "real";
    const double bytes = (double)TURN_BYTES;
    if (json)
        printf("{\"turn\":\"%zu %s\",\"bytes_s\":%.6g,\"memcpy_bytes_s\":%.6g,"
               "\"share\":%.4f,\"target\":%.2f}\n",
               n_inputs, type, bytes / turn_s, bytes / copy_s, copy_s / turn_s,
               TURN_TARGET);
    else
        printf("turn of %3zu %-11s %7.2f GB/s %7.2f GB/s %6.2f  %5.2f\n",
               n_inputs, type, bytes / turn_s * 1e-9, bytes / copy_s * 1e-9,
               copy_s / turn_s, TURN_TARGET);
    fflush(stdout);
}

static enum fx8_status bench_turns(const char *kernel, bool json,
                                   struct fx8_error *error)
{
    const struct fx8_operations *operations;
    int8_t *from = NULL, *to = NULL;
    const struct fx8_array arrays[] = {
        {&from, TURN_BYTES, 1}, {&to, TURN_BYTES + MOST_TURNS * ROW_GAP, 1}};
    enum fx8_status status = fx8_operations_select(kernel, &operations, error);
    if (status == FX8_OK)
        status = fx8_allocate_arrays(arrays, 2, "samples", error);
    if (status == FX8_OK) {
        if (!json)
            printf("\ntime-major samples    into rows      memcpy()    share "
                   "target\n");
        fx8_bench_fill(from, TURN_BYTES);
        for (size_t k = 0; k < sizeof turns / sizeof turns[0]; k++)
            bench_turn(operations, turns[k].n_inputs, turns[k].sample_bytes,
                       from, to, json);
    }
    free(from);
    free(to);
    return status;
}

/* --- the section ------------------------------------------------- */

enum fx8_status fx8_bench_reading(const char *kernel, bool json,
                                  struct fx8_error *error)
{
    struct names names;
    name_file(&names);
    fx8_command_stop_removes(names.part, names.path);
    if (!json)
        printf("recordings of 128 MiB, packed ones of 32 MiB, as %s\n"
               "storage                  one thread       read()    share "
               "target  %3zu threads         cold   cold read()\n",
               names.path, fx8_parallel_cpus());
    enum fx8_status status = FX8_OK;
    for (size_t k = 0; k < N_STORAGES && status == FX8_OK; k++)
        status = bench_storage(&storages[k], &names, json, error);
    unlink(names.part);
    unlink(names.path);
    fx8_command_count_signals();
    return status != FX8_OK ? status : bench_turns(kernel, json, error);
}
