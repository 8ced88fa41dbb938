/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reading.c -- reading recordings in every storage format, against read() of
 * the same file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/clock.h"
#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/commands/command.h"
#include "io/native/native.h"

/* Bytes of samples: larger than the caches; packed ones take longer. */
#define PLAIN_BYTES  ((size_t)128 << 20)
#define PACKED_BYTES ((size_t)32 << 20)

/* Passes per round, of which the best counts: other load only makes them
 * slower. */
#define N_PLAIN  3
#define N_PACKED 1

struct storage {
    const char *name;
    const char *axis_order;
    size_t n_antennas; /* of two polarisations */
    struct fx8_native_storage storage;
};

#define MIB ((size_t)1 << 20)

static const char by_input[] = "antenna,pol,time";
static const char by_time[] = "time,antenna,pol";

static const struct storage storages[] = {
    {"contiguous, 4 inputs", by_input, 2, {.is_contiguous = true}},
    {"contiguous, 512 inputs", by_input, 256, {.is_contiguous = true}},
    {"contiguous, time-major", by_time, 256, {.is_contiguous = true}},
    {"chunks of 1 MiB", by_input, 2, {.chunk_bytes = MIB}},
    {"chunks of 8 MiB", by_input, 2, {.chunk_bytes = 8 * MIB}},
    {"1 MiB, time-major", by_time, 256, {.chunk_bytes = MIB}},
    {"deflate 1", by_input, 2, {.chunk_bytes = MIB, .deflate_level = 1}},
    {"shuffle, deflate 1",
     by_input,
     2,
     {.chunk_bytes = MIB, .shuffle = true, .deflate_level = 1}},
    {"bitshuffle, LZ4", by_input, 2, {.chunk_bytes = MIB, .bitshuffle = true}},
};

#define N_STORAGES (sizeof storages / sizeof storages[0])

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

struct fx8_observation fx8_bench_observation(size_t n_inputs, int64_t n_samples)
{
    struct fx8_observation o = fx8_observation_unknown();
    o.is_complex = true;
    o.n_antennas = n_inputs / 2;
    o.n_polarizations = 2;
    o.n_samples = n_samples;
    o.sample_rate = (struct fx8_rate){1000000, 1};
    o.has_start_time = true;
    o.start_time = (struct fx8_time){1600000000, 0};
    o.dc_frequency_hz = 150e6;
    o.sideband = FX8_SIDEBAND_UPPER;
    return o;
}

enum fx8_status fx8_bench_record(const char *path,
                                 const struct fx8_observation *o,
                                 const char *axis_order,
                                 const struct fx8_native_storage *storage,
                                 struct fx8_error *error)
{
    const size_t sample = 2 * fx8_observation_inputs(o);
    const int64_t most = (int64_t)(32 * MIB / sample);
    FX8_AUTO_FREE int8_t *samples = NULL;
    struct fx8_native_writer *writer = NULL;
    FX8_TRY(fx8_allocate(32 * MIB, 1, "samples", &samples, error));
    fx8_bench_fill(samples, 32 * MIB);
    enum fx8_status status = fx8_native_create_stored(
        path, true, o, axis_order, NULL, 0, storage, &writer, error);
    for (int64_t at = 0; status == FX8_OK && at < o->n_samples; at += most) {
        const int64_t left = o->n_samples - at;
        status = fx8_native_write(writer, at, left < most ? left : most,
                                  samples, error);
    }
    const enum fx8_status closed = fx8_native_close(
        &writer, status == FX8_OK, status == FX8_OK ? error : NULL);
    return status != FX8_OK ? status : closed;
}

static enum fx8_status write_recording(const struct storage *storage,
                                       const char *path,
                                       struct fx8_error *error)
{
    const size_t sample = 4 * storage->n_antennas;
    const struct fx8_observation o = fx8_bench_observation(
        2 * storage->n_antennas,
        (int64_t)((is_packed(storage) ? PACKED_BYTES : PLAIN_BYTES) / sample));
    return fx8_bench_record(path, &o, storage->axis_order, &storage->storage,
                            error);
}

/* --- passes ------------------------------------------------------ */

/* An open recording, and memory for a block of it. */
struct pass {
    const char *path;
    struct fx8_reader *reader;
    int64_t block_samples;
    size_t buffer_size;
    int8_t *buffer;
    ptrdiff_t *input_offset;
};

static enum fx8_status open_pass(struct pass *pass, struct fx8_error *error)
{
    FX8_AUTO(fx8_settings_clear) struct fx8_settings settings = {0};
    FX8_TRY(fx8_settings_load(NULL, NULL, 0, false, &settings, error));
    FX8_TRY(fx8_reader_open(&pass->path, 1, &settings, &pass->reader, error));
    const struct fx8_observation *o = &pass->reader->observation;
    pass->block_samples = pass->reader->read_samples(pass->reader);
    if (pass->block_samples > o->n_samples)
        pass->block_samples = o->n_samples;
    pass->buffer_size =
        pass->reader->buffer_size(pass->reader, pass->block_samples);
    const struct fx8_array arrays[] = {
        {&pass->buffer, pass->buffer_size, 1},
        FX8_ITEMS(pass->input_offset, o->n_antennas * o->n_polarizations),
    };
    return fx8_allocate_arrays(arrays, 2, "samples", error);
}

static void close_pass(struct pass *pass)
{
    fx8_reader_close(&pass->reader);
    free(pass->buffer);
    free(pass->input_offset);
}

/* Time the whole recording through its reader. */
static enum fx8_status time_reader(struct pass *pass, size_t n_threads,
                                   double *best, struct fx8_error *error)
{
    struct fx8_reader *reader = pass->reader;
    const int64_t n_samples = reader->observation.n_samples;
    struct fx8_sample_layout layout = {.input_offset = pass->input_offset};
    reader->n_threads = n_threads;
    const double start = fx8_clock_seconds();
    for (int64_t at = 0; at < n_samples; at += pass->block_samples) {
        const int64_t left = n_samples - at;
        FX8_TRY(reader->read(
            reader, at, left < pass->block_samples ? left : pass->block_samples,
            pass->buffer, &layout, error));
    }
    keep_best(best, fx8_clock_seconds() - start);
    return FX8_OK;
}

/* Time read() of the file in blocks of the same size. */
static enum fx8_status time_file(struct pass *pass, double *best,
                                 struct fx8_error *error)
{
    const int file = open(pass->path, O_RDONLY | O_CLOEXEC);
    const double start = fx8_clock_seconds();
    ssize_t n = file < 0 ? -1 : 1;
    while (n > 0)
        n = read(file, pass->buffer, pass->buffer_size);
    keep_best(best, fx8_clock_seconds() - start);
    const int reason = errno;
    if (file >= 0)
        close(file);
    return n == 0 ? FX8_OK
                  : fx8_fail(error, FX8_ERR_SYSTEM, "%s: cannot be read: %s",
                             pass->path, strerror(reason));
}

/* Drop the file from the system's cache; false if it stays. */
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

/* A way of reading, beside read() of the file. */
struct way {
    const char *quantity, *ruler;
    size_t n_threads;
    bool is_cold; /* the file is dropped from the system's cache before */
};

/* Measure and report a way; one that needs a cold file has no figure if the
 * system keeps it. */
static enum fx8_status measure_way(const struct fx8_bench_run *run,
                                   struct pass *pass, size_t n_passes,
                                   const struct way *way,
                                   struct fx8_error *error)
{
    const struct fx8_reader *reader = pass->reader;
    const double bytes =
        (double)reader->buffer_size(reader, reader->observation.n_samples);
    const struct fx8_bench_figure figure = {.quantity = way->quantity,
                                            .n_threads = way->n_threads,
                                            .unit = "byte/s",
                                            .ruler = way->ruler};
    double values[FX8_BENCH_ROUNDS], ceilings[FX8_BENCH_ROUNDS];
    struct stat file = {0};
    (void)stat(pass->path, &file); /* it was open a moment ago */
    for (size_t r = 0; r < run->n_rounds; r++) {
        double file_s = 0.0, reader_s = 0.0;
        for (size_t k = 0; k < n_passes; k++) {
            if (way->is_cold && !evict(pass->path))
                return FX8_OK;
            FX8_TRY(time_file(pass, &file_s, error));
            if (way->is_cold && !evict(pass->path))
                return FX8_OK;
            FX8_TRY(time_reader(pass, way->n_threads, &reader_s, error));
        }
        values[r] = bytes / reader_s;
        ceilings[r] = (double)file.st_size / file_s;
    }
    return fx8_bench_put(run, figure, values, ceilings, error);
}

static enum fx8_status measure_ways(const struct fx8_bench_run *run,
                                    const struct storage *storage,
                                    struct pass *pass, struct fx8_error *error)
{
    const bool packed = is_packed(storage);
    const struct way warm = {"one thread", "read()", 1, false};
    const struct way more =
        packed ? (struct way){"all threads", "read()", run->n_threads, false}
               : (struct way){"cold", "cold read()", 1, true};
    double unused = 0.0;
    FX8_TRY(time_file(pass, &unused, error));
    FX8_TRY(measure_way(run, pass, packed ? N_PACKED : N_PLAIN, &warm, error));
    return measure_way(run, pass, 1, &more, error);
}

static enum fx8_status measure_storage(const struct fx8_bench_run *run,
                                       const struct storage *storage,
                                       struct pass *pass,
                                       struct fx8_error *error)
{
    const enum fx8_status status = write_recording(storage, pass->path, error);
    if (status == FX8_ERR_UNSUPPORTED)
        return fx8_bench_remark(run,
                                "left out: HDF5 has no plug-in for it "
                                "(HDF5_PLUGIN_PATH)",
                                error);
    FX8_TRY(status);
    FX8_TRY(open_pass(pass, error));
    FX8_TRY(measure_ways(run, storage, pass, error));
    if (pass->reader->slow_reason == NULL)
        return FX8_OK;
    char text[160];
    snprintf(text, sizeof text, "unpacked by HDF5, on one thread: %s",
             pass->reader->slow_reason);
    return fx8_bench_remark(run, text, error);
}

/* --- the section ------------------------------------------------- */

static void name_case(size_t index, char name[FX8_BENCH_NAME_SIZE])
{
    snprintf(name, FX8_BENCH_NAME_SIZE, "read %s", storages[index].name);
}

static void list_quantities(size_t index, const char *quantities[])
{
    quantities[0] = "one thread";
    quantities[1] = is_packed(&storages[index]) ? "all threads" : "cold";
}

static enum fx8_status measure_case(const struct fx8_bench_run *run,
                                    struct fx8_error *error)
{
    char path[FX8_BENCH_PATH_SIZE];
    FX8_TRY(fx8_bench_file("h5", path, error));
    struct pass pass = {.path = path};
    fx8_command_stop_at_once(path);
    const enum fx8_status status =
        measure_storage(run, &storages[run->which->index], &pass, error);
    close_pass(&pass);
    unlink(path);
    fx8_command_stop_at_once(NULL);
    return status;
}

const struct fx8_bench_section fx8_bench_reading = {
    .name = "reading",
    .about = "recordings of 128 MiB in TMPDIR, packed ones of 32 MiB, through "
             "their reader; from the page cache, or cold from the disk",
    .n_cases = N_STORAGES,
    .n_rounds = 3,
    .list = list_quantities,
    .name_case = name_case,
    .measure = measure_case,
};
