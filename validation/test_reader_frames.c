/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reader_frames.c -- recordings in plain files: any range of a read,
 * against the bytes that were written; files that become shorter while they are
 * open.  python/test_guppi.py, test_vdif.py and test_dada.py compare results.
 *
 * Shows (recordings, ranges of plain files): any range of samples and any
 * inputs are those of the file's bytes Within: equal Because: the samples are
 * integers
 */
#include "validation/good_files.h"
#include "validation/reader_calls.h"

/* A recording of two antennas, of two polarisations each. */
struct plain {
    const char *name;
    void (*make)(const char *folder);
    const char *files[3];
    size_t n_files;
    /* the sample at a time of an input, or false if it is missing */
    bool (*expect)(size_t antenna, size_t pol, size_t band, int64_t time,
                   int8_t parts[2]);
};

/* Blocks begin every 120 samples; the last 8 of one count before a gap. */
static bool expect_guppi(size_t antenna, size_t pol, size_t band, int64_t time,
                         int8_t parts[2])
{
    const int64_t step = GUPPI_BLOCK - GUPPI_OVERLAP;
    int64_t block = time / step < GUPPI_BLOCKS ? time / step : GUPPI_BLOCKS - 1;
    if (antenna == 1 && block == 2) {
        block = 1; /* as the third is lost */
        if (time - block * step >= GUPPI_BLOCK)
            return false;
    }
    /* channels descend */
    const size_t at = (1 - band) * GUPPI_BLOCK * 4 +
                      (size_t)(time - block * step) * 4 + pol * 2;
    for (size_t part = 0; part < 2; part++)
        parts[part] =
            (int8_t)frames_byte(antenna, (size_t)block * 1000 + at + part);
    return true;
}

static bool expect_vdif(size_t antenna, size_t pol, size_t band, int64_t time,
                        int8_t parts[2])
{
    (void)band;
    const int64_t frame = time / VDIF_SAMPLES;
    for (size_t part = 0; part < 2; part++)
        parts[part] =
            (int8_t)(frames_byte(2 * antenna + pol, (size_t)time * 2 + part) -
                     128);
    return antenna == 0 ||
           (frame != 20 && (pol == 0 || (frame != 11 && frame != 12)));
}

static bool expect_dada(size_t antenna, size_t pol, size_t band, int64_t time,
                        int8_t parts[2])
{
    (void)band;
    parts[0] = (int8_t)frames_byte(antenna, (size_t)time * 2 + pol);
    parts[1] = 0;
    return antenna == 0 || time < DADA_SAMPLES;
}

static const struct plain plains[] = {
    {"guppi", make_good_guppi, {"a.raw", "b.raw"}, 2, expect_guppi},
    {"vdif", make_good_vdif, {"a.vdif", "b.vdif"}, 2, expect_vdif},
    {"dada", make_good_dada, {"a0.dada", "a1.dada", "b.dada"}, 3, expect_dada},
};

enum { MOST_INPUTS = 16 };

static struct fx8_reader *open_plain(const struct plain *plain)
{
    static const struct fx8_settings none;
    static char paths[3][SCRATCH_PATH_SIZE];
    const char *list[3];
    mkdir(scratch_path(plain->name), 0700);
    plain->make(plain->name);
    for (size_t i = 0; i < plain->n_files; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", scratch_path(plain->name),
                 plain->files[i]);
        list[i] = paths[i];
    }
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must(fx8_reader_open(list, plain->n_files, &none, &reader, &error), error);
    assert_string_equal(reader->format->name, plain->name);
    assert_int_equal(reader->observation.n_antennas, 2);
    assert_int_equal(reader->observation.n_polarizations, 2);
    return reader;
}

static bool is_in(const struct fx8_missing *gap,
                  const struct fx8_input_position *at, int64_t time)
{
    return time >= gap->first_sample &&
           time < gap->first_sample + gap->n_samples &&
           (gap->antenna < 0 || gap->antenna == (int32_t)at->antenna) &&
           (gap->polarization < 0 ||
            gap->polarization == (int32_t)at->polarization);
}

static bool is_missing(const struct fx8_reader *reader,
                       const struct fx8_input_position *at, int64_t time)
{
    for (size_t i = 0; i < reader->n_missing; i++)
        if (is_in(&reader->missing[i], at, time))
            return true;
    for (size_t i = 0; i < reader->n_found; i++)
        if (is_in(&reader->found[i], at, time))
            return true;
    return false;
}

static void check_range(struct fx8_reader *reader, const struct plain *plain,
                        const struct fx8_input_position *inputs, size_t n,
                        int64_t first, int64_t length)
{
    ptrdiff_t offset[MOST_INPUTS];
    struct fx8_sample_layout layout = {.input_offset = offset};
    int8_t *buffer = read_rows(reader, first, length, &layout);
    const int n_parts = reader->observation.is_complex ? 2 : 1;
    for (size_t i = 0; i < n; i++)
        for (int64_t t = first; t < first + length; t++) {
            const int8_t *got =
                buffer + offset[i] + (t - first) * layout.time_stride;
            int8_t want[2];
            const bool is_there =
                plain->expect(inputs[i].antenna, inputs[i].polarization,
                              inputs[i].band, t, want);
            assert_int_equal(is_missing(reader, &inputs[i], t), !is_there);
            for (int part = 0; part < n_parts; part++)
                assert_int_equal(got[part], is_there ? want[part] : 0);
        }
    free(buffer);
}

TEST(test_any_range_of_any_inputs)
{
    for (size_t k = 0; k < LENGTH(plains); k++) {
        struct fx8_reader *reader = open_plain(&plains[k]);
        const int64_t length = reader->observation.n_samples;
        struct fx8_input_position inputs[MOST_INPUTS];
        size_t n = 0;
        struct fx8_error error;
        for (size_t band = 0; band < reader->observation.n_bands; band++)
            for (size_t i = 0; i < 4; i++)
                inputs[n++] = (struct fx8_input_position){i / 2, i % 2, band};
        check_range(reader, &plains[k], inputs, n, 0, length);
        for (int64_t first = 0; first < length; first += 37)
            for (int64_t most = 1; most < length; most = most * 3 + 1)
                check_range(reader, &plains[k], inputs, n, first,
                            most < length - first ? most : length - first);
        /* some inputs, in another order */
        const struct fx8_input_position some[] = {inputs[n - 1], inputs[0]};
        must(reader->select(reader, some, 2, &error), error);
        check_range(reader, &plains[k], some, 2, 5, length - 9);
        fx8_reader_close(&reader);
    }
}

TEST(test_files_that_become_shorter)
{
    for (size_t k = 0; k < LENGTH(plains); k++) {
        struct fx8_reader *reader = open_plain(&plains[k]);
        char path[SCRATCH_PATH_SIZE];
        struct fx8_error error;
        ptrdiff_t offset[MOST_INPUTS];
        struct fx8_sample_layout layout = {.input_offset = offset};
        const int64_t n = reader->observation.n_samples;
        int8_t *buffer = exact(reader->buffer_size(reader, n));
        snprintf(path, sizeof path, "%s/%s", scratch_path(plains[k].name),
                 plains[k].files[0]);
        assert_int_equal(truncate(path, 4500), 0);
        must_fail_with(reader->read(reader, 0, n, buffer, &layout, &error),
                       error, FX8_ERR_INPUT, ": data: ends at byte 4500: ");
        assert_memory_equal(error.message, path, strlen(path));
        free(buffer);
        fx8_reader_close(&reader);
    }
}
