/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader_calls.h -- recordings opened, refused and read, into rows that are
 * longer than the range read.
 */
#ifndef FX8_VALIDATION_READER_CALLS_H
#define FX8_VALIDATION_READER_CALLS_H

#include "config/settings.h"
#include "io/reader.h"
#include "validation/scratch.h"
#include "validation/testing.h"

/** Open a file or folder of the scratch folder, which must be accepted; NULL:
 *  no settings. */
static inline struct fx8_reader *open_recording(
    const char *name, const struct fx8_settings *settings)
{
    static const struct fx8_settings none;
    const char *path = scratch_path(name);
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must(fx8_reader_open(&path, 1, settings == NULL ? &none : settings, &reader,
                         &error),
         error);
    return reader;
}

/** A file or folder that must be refused in one line with `part`, which names
 *  it first if the fault is in it. */
static inline void refuse_recording(const char *name,
                                    const struct fx8_settings *settings,
                                    enum fx8_status status, const char *part)
{
    static const struct fx8_settings none;
    const char *path = scratch_path(name);
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must_fail_with(fx8_reader_open(&path, 1,
                                   settings == NULL ? &none : settings, &reader,
                                   &error),
                   error, status, part);
    assert_null(strchr(error.message, '\n'));
    if (status == FX8_ERR_INPUT)
        assert_memory_equal(error.message, path, strlen(path));
    assert_null(reader);
}

/** Read [first, first + n) into rows of that length, or longer by 7 or 14
 *  samples, which must stay unchanged; layout has room for the offsets.  The
 *  caller frees the buffer. */
static inline int8_t *read_rows(struct fx8_reader *reader, int64_t first,
                                int64_t n, struct fx8_sample_layout *layout)
{
    const int64_t more = 7 * ((first + n) % 3);
    const size_t size = reader->buffer_size(reader, n + more);
    int8_t *buffer = exact(size);
    struct fx8_error error;
    layout->row_samples = more > 0 ? n + more : 0;
    must(reader->read(reader, first, n, buffer, layout, &error), error);
    const size_t used = (size_t)(n * layout->time_stride);
    const size_t row = (size_t)((n + more) * layout->time_stride);
    assert_int_equal(size % row, 0);
    for (size_t at = 0; at < size; at++)
        if (at % row >= used)
            assert_int_equal((uint8_t)buffer[at], GARBAGE);
    return buffer;
}

/** A real or imaginary part (0, 1) of a sample of a recording. */
typedef int8_t sample_function(const struct fx8_input_position *input,
                               int64_t t, int part);

/** Read [first, first + n) of the chosen inputs and compare every sample. */
static inline void check_samples(struct fx8_reader *reader,
                                 const struct fx8_input_position *inputs,
                                 size_t n_inputs, int64_t first, int64_t n,
                                 sample_function *sample_of)
{
    enum { MOST_INPUTS = 256 };
    const int parts = reader->observation.is_complex ? 2 : 1;
    ptrdiff_t offset[MOST_INPUTS];
    struct fx8_sample_layout layout = {.input_offset = offset};
    assert_in_range(n_inputs, 1, MOST_INPUTS);
    int8_t *buffer = read_rows(reader, first, n, &layout);
    for (size_t i = 0; i < n_inputs; i++)
        for (int64_t t = 0; t < n; t++)
            for (int part = 0; part < parts; part++) {
                const int got =
                    buffer[offset[i] + t * layout.time_stride + part];
                const int want = sample_of(&inputs[i], first + t, part);
                if (got != want)
                    fail_msg("band %zu, antenna %zu, pol %zu, sample %lld: %d, "
                             "expected %d",
                             inputs[i].band, inputs[i].antenna,
                             inputs[i].polarization, (long long)(first + t),
                             got, want);
            }
    free(buffer);
}

/** A read that must fail with `part` in its message. */
static inline void refuse_read(struct fx8_reader *reader, int64_t first,
                               int64_t n, const char *part)
{
    ptrdiff_t offset[64];
    struct fx8_sample_layout layout = {.input_offset = offset};
    struct fx8_error error;
    int8_t *buffer = exact(reader->buffer_size(reader, 1000));
    must_fail_with(reader->read(reader, first, n, buffer, &layout, &error),
                   error, FX8_ERR_INPUT, part);
    free(buffer);
}

/** Ranges outside a recording must be refused. */
static inline void refuse_ranges(struct fx8_reader *reader)
{
    const int64_t length = reader->observation.n_samples;
    const int64_t ranges[][2] = {{-1, 2},         {0, 0},
                                 {0, length + 1}, {length, 1},
                                 {1, INT64_MAX},  {INT64_MAX, INT64_MAX}};
    for (size_t i = 0; i < LENGTH(ranges); i++)
        refuse_read(reader, ranges[i][0], ranges[i][1],
                    "expected samples within");
}

#endif
