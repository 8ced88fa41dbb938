/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_native_parts.c -- several files in fx8's own format as one recording:
 * any order of names and axes, any storage, gaps, times to the nanosecond.
 *
 * Shows (recordings, native parts): files of one recording are joined by their
 *     start times, in whatever order they are named; gaps between them and the
 *     missing samples of each are missing; files that contradict each other,
 *     overlap or start between two samples are refused
 * Within: sample by sample; a start 0.1 sample and 1 ns off is accepted
 * Because: start times are integers of nanoseconds
 * In: scenario/native_parts.py
 */
#include "validation/recording_file.h"

enum { N_PARTS = 3, GAP = 48, N_ALL = 3 * N_TIME + GAP };

static const char *const names[N_PARTS] = {"x.h5", "a.h5", "m.h5"};

/* The second follows at once, the third after a gap. */
static const int firsts[N_PARTS] = {0, N_TIME, 2 * N_TIME + GAP};

static const int turns[6][N_PARTS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* A sample takes 1.08 ms. */
static void put_start(hid_t file, int first, int more_ns)
{
    put_number(file, "@start_time_ns", H5T_STD_I64LE,
               123456789.0 + first * 1080000.0 + more_ns);
}

/* A file that begins with sample 0 of the pattern. */
static void make_part(int part, const int order[3], int kind,
                      enum layout layout)
{
    hid_t file = create_file(names[part]);
    put_attributes(file);
    put_start(file, firsts[part], 0);
    put_voltages(file, order, kind > 0, kind == 2, layout, true);
    put_antennas(file, N_ANT);
    H5Fclose(file);
}

static enum fx8_status open_parts(const int turn[N_PARTS],
                                  const struct fx8_settings *settings,
                                  struct fx8_reader **reader,
                                  struct fx8_error *error)
{
    char paths[N_PARTS][SCRATCH_PATH_SIZE];
    const char *list[N_PARTS];
    for (int i = 0; i < N_PARTS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s", scratch_path(names[turn[i]]));
        list[i] = paths[i];
    }
    return fx8_reader_open(list, N_PARTS, settings, reader, error);
}

static struct fx8_reader *parts(const int turn[N_PARTS])
{
    static const struct fx8_settings none;
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must(open_parts(turn, &none, &reader, &error), error);
    return reader;
}

static int8_t joined_sample(const struct fx8_input_position *input, int64_t t,
                            int part)
{
    for (int i = 0; i < N_PARTS; i++)
        if (t >= firsts[i] && t < firsts[i] + N_TIME)
            return sample(input->antenna, input->polarization,
                          (size_t)(t - firsts[i]), (size_t)part);
    return 0;
}

/* All inputs, and some; within a file, across two, within the gap, backwards.
 */
static void check_joined(struct fx8_reader *reader)
{
    static const struct fx8_input_position some[] = {
        {4, 1, 0}, {0, 1, 0}, {1, 0, 0}};
    static const int64_t ranges[][2] = {
        {0, N_ALL},           {90, 30},         {2 * N_TIME - 1, GAP + 2},
        {2 * N_TIME + 3, 17}, {N_ALL - 50, 50}, {3, 5}};
    struct fx8_input_position all[N_ANT * N_POL];
    struct fx8_error error;
    assert_int_equal(reader->observation.n_samples, N_ALL);
    assert_int_equal(reader->observation.start_time.picosecond,
                     INT64_C(123456789000));
    for (size_t i = 0; i < LENGTH(all); i++)
        all[i] = (struct fx8_input_position){i / N_POL, i % N_POL, 0};
    for (size_t r = 0; r < LENGTH(ranges); r++)
        check_samples(reader, all, LENGTH(all), ranges[r][0], ranges[r][1],
                      joined_sample);
    must(reader->select(reader, some, LENGTH(some), &error), error);
    for (size_t r = 0; r < LENGTH(ranges); r++)
        check_samples(reader, some, LENGTH(some), ranges[r][0], ranges[r][1],
                      joined_sample);
}

TEST(test_every_order_type_storage)
{
    for (int order = 0; order < 6; order++)
        for (int kind = 0; kind < 2; kind++) {
            for (int i = 0; i < N_PARTS; i++) /* one type in other bytes */
                make_part(i, orders[order], kind + (kind > 0 && i == 1),
                          (enum layout)((i + order) % N_LAYOUTS));
            struct fx8_reader *reader = parts(turns[order]);
            assert_int_equal(reader->read_samples(reader) % CHUNK_TIME, 0);
            struct fx8_reader *other = parts(turns[5 - order]);
            assert_int_equal(other->chunk_samples, reader->chunk_samples);
            fx8_reader_close(&other);
            check_joined(reader);
            fx8_reader_close(&reader);
        }
}

static void make_parts(void)
{
    for (int i = 0; i < N_PARTS; i++)
        make_part(i, orders[0], 1, CONTIGUOUS);
}

TEST(test_missing_of_every_file)
{
    static const struct missing_row rows[N_PARTS] = {
        {3, 1, 90, 11}, {-1, -1, 0, N_TIME}, {0, -1, 5, 1}};
    static const struct fx8_missing expected[] = {
        {90, 11, 3, 1, -1},
        {N_TIME, N_TIME, -1, -1, -1},
        {2 * N_TIME, GAP, -1, -1, -1},
        {2 * N_TIME + GAP + 5, 1, 0, -1, -1}};
    make_parts();
    for (int i = 0; i < N_PARTS; i++) {
        hid_t file = reopen(names[i]);
        put_missing(file, &rows[i], 1);
        H5Fclose(file);
    }
    for (int t = 0; t < 6; t++) {
        struct fx8_reader *reader = parts(turns[t]);
        assert_int_equal(reader->n_missing, LENGTH(expected));
        for (size_t i = 0; i < LENGTH(expected); i++) {
            const struct fx8_missing *got = &reader->missing[i];
            assert_int_equal(fx8_missing_order(got, &expected[i]), 0);
            assert_int_equal(got->n_samples, expected[i].n_samples);
        }
        fx8_reader_close(&reader);
    }
}

static void refuse_parts(const struct fx8_settings *settings,
                         const char *message)
{
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    must_fail_with(open_parts(turns[0], settings, &reader, &error), error,
                   FX8_ERR_INPUT, message);
    assert_null(reader);
}

/* Files 1 ms apart, of which the last starts some nanoseconds late. */
static void start_late(double rate_hz, int late_ns)
{
    make_parts();
    for (int i = 0; i < N_PARTS; i++) {
        hid_t file = reopen(names[i]);
        put_number(file, "@sample_rate_numerator_hz", H5T_STD_U64LE, rate_hz);
        put_number(file, "@sample_rate_denominator", H5T_STD_U64LE, 3);
        put_number(file, "@start_time_ns", H5T_STD_I64LE,
                   i * 1e6 + (i == 2 ? late_ns : 0));
        H5Fclose(file);
    }
}

TEST(test_nearest_sample)
{
    static const struct fx8_settings none;
    static const struct {
        double rate_hz; /* times 3 */
        int late_ns;
        const char *refused; /* NULL: accepted */
    } cases[] = {
        {3e6, 100, NULL}, /* 1 us per sample */
        {3e6, -101, NULL},
        {3e6, 102, "+0.102 samples off the sampling of"},
        {3e6, -102, "-0.102 samples off the sampling of"},
        {1e9, 0, NULL}, /* 3 ns: 1 and 2 ms are not whole samples */
        {3e8, 1, NULL}, /* 10 ns */
        {3e8, 2, NULL},
        {3e8, 3, "+0.3 samples"},
        {2.4e9, 1, "-0.2 samples off"}, /* 1.25 ns: 1 ns decides nothing */
        {2.4e9, 5, NULL},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        start_late(cases[i].rate_hz, cases[i].late_ns);
        if (cases[i].refused != NULL) {
            refuse_parts(&none, cases[i].refused);
            continue;
        }
        struct fx8_reader *reader = parts(turns[3]);
        const double samples =
            cases[i].rate_hz / 3 * (2e6 + cases[i].late_ns) * 1e-9;
        assert_int_equal(reader->observation.n_samples,
                         llround(samples) + N_TIME);
        fx8_reader_close(&reader);
    }
}

/* The user's rate wins, also between files. */
TEST(test_rate_of_the_user)
{
    const struct fx8_settings given = {.observation.sample_rate = {2000000, 1}};
    struct fx8_reader *reader = NULL;
    struct fx8_error error;
    start_late(3e6, 0);
    must(open_parts(turns[0], &given, &reader, &error), error);
    assert_int_equal(reader->observation.n_samples, 4000 + N_TIME);
    fx8_reader_close(&reader);
}

/* Too far apart for one recording, in seconds or in samples. */
TEST(test_far_apart)
{
    static const struct fx8_settings none;
    const struct fx8_settings fast = {
        .observation.sample_rate = {INT64_MAX, 1}};
    make_parts();
    refuse_parts(&fast, "expected files of one recording");
    hid_t file = reopen(names[2]);
    put_number(file, "@start_time_unix_s", H5T_STD_I64LE, 1567105200 + 1e7);
    H5Fclose(file);
    refuse_parts(&none, "m.h5: start_time_unix_s: 10000000 s after");
    file = reopen(names[2]);
    put_number(file, "@start_time_unix_s", H5T_STD_I64LE, 253402300799.0);
    H5Fclose(file);
    refuse_parts(&fast, "expected files of one recording");
}

/* A file is closed while others are read.  Chunks take more space. */
TEST(test_file_that_shrinks)
{
    make_parts();
    make_part(1, orders[0], 1, CHUNKED);
    struct fx8_reader *reader = parts(turns[0]);
    check_all(reader, 0, N_TIME);
    make_part(1, orders[0], 1, CONTIGUOUS);
    refuse_read(reader, N_TIME, 1, "a.h5: voltages: the file has shrunk from");
    fx8_reader_close(&reader);
}

TEST(test_files_that_change)
{
    make_parts();
    struct fx8_reader *reader = parts(turns[0]);
    check_all(reader, 0, N_TIME);
    hid_t file = create_file(names[1]);
    put_attributes(file);
    put_voltages(file, orders[4], true, false, CONTIGUOUS, true);
    put_antennas(file, N_ANT); /* not shorter than before */
    H5Fclose(file);
    for (int i = 0; i < 2; i++)
        refuse_read(reader, N_TIME, 1, "a.h5: voltages: another type or shape");
    check_all(reader, 0, N_TIME);
    remove(scratch_path(names[1]));
    refuse_read(reader, N_TIME, 1, "a.h5");
    file = create_file(names[1]);
    H5Fclose(file);
    refuse_read(reader, N_TIME, 1, "a.h5: voltages: missing");
    check_all(reader, 0, N_TIME);
    fx8_reader_close(&reader);
}
