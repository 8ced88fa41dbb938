/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_compare_files.c -- files side by side: fx8_compare_files() and
 * fx8_enclosure_test(), what must agree, what is refused, which number is the
 * worst. test_compare_alarms.c tests the statistics.
 *
 * Shows: as python/test_compare_faults.py
 */
#include <stdio.h>

#include "config/base/read_files.h"
#include "correlator/compare/rigorous.h"
#include "validation/uvh5_file.h"

enum { DUMPS = 2, CHANNELS = 3, PRODUCTS = 4 };
enum { CELLS = N_BL * CHANNELS * PRODUCTS };

/* A file: values of a pattern plus an offset, and one that is changed. */
struct variant {
    const char *name, *precision;
    double offset;       /* added to every number, in units of its own width */
    size_t dump, number; /* the number to change … */
    double change;       /* … by this much, or to infinity */
    float lost;          /* weight that the cell of number 5 of dump 0 lacks */
    bool is_empty;       /* no cell has weight */
    /* changes of the header */
    bool has_fewer_channels, has_fewer_dumps, has_another_antenna;
    double shift_hz;
    int64_t shift_s;
};

/* Autos of antennas are 64; the widths are 1/4 to 1, exact in float. */
static float number(size_t dump, size_t i)
{
    const size_t baseline = i / 2 / PRODUCTS / CHANNELS;
    const bool is_auto =
        baseline == 0 || baseline == 4 || baseline == 7 || baseline == 9;
    if (is_auto && i % 2 == 0)
        return 64.0f;
    return (float)((int)((dump * 31 + i * 7) % 100) - 50);
}

static double half_width(size_t i)
{
    return i % 4 == 0 ? 0.5 : 0.125;
}

static const char *write_file(const struct variant *variant)
{
    static struct fixture f;
    struct fx8_error error;
    fill(&f, DUMPS, CHANNELS, PRODUCTS);
    strcpy(f.keywords[0].name, "PRECISN");
    strcpy(f.keywords[0].text, variant->precision);
    f.header.n_keywords = variant->precision[0] == '\0' ? 0 : 3;
    f.header.n_channels -= variant->has_fewer_channels;
    f.header.n_times -= variant->has_fewer_dumps;
    if (variant->has_another_antenna)
        f.header.antenna_numbers[3] = 9;
    for (size_t b = 0; b < N_BL && variant->has_another_antenna; b++) {
        f.header.ant_1[b] += f.header.ant_1[b] == 7 ? 2 : 0;
        f.header.ant_2[b] += f.header.ant_2[b] == 7 ? 2 : 0;
    }
    for (size_t c = 0; c < CHANNELS; c++)
        f.header.frequencies_hz[c] += variant->shift_hz;
    for (size_t t = 0; t < DUMPS; t++)
        f.header.times[t].unix_s += variant->shift_s;
    struct fx8_uvh5_writer *writer =
        create(variant->name, &f.header, FX8_COMPRESSION_NONE);
    for (size_t d = 0; d < f.header.n_times; d++) {
        struct fx8_result dump = make_dump(&f.header, d);
        const size_t n = N_BL * f.header.n_channels * PRODUCTS;
        for (size_t i = 0; i < 2 * n; i++) {
            dump.visibilities[i] =
                number(d, i) + (float)(variant->offset * half_width(i));
            if (d == variant->dump && i == variant->number)
                dump.visibilities[i] += (float)variant->change;
            dump.nsamples[i / 2] = variant->is_empty ? 0.0f : 1.0f;
        }
        dump.nsamples[2] -= d == 0 ? variant->lost : 0.0f;
        must(fx8_uvh5_write_dump(writer, d, &dump, &error), error);
        free_dump(&dump);
    }
    must(fx8_uvh5_close(&writer, f.header.n_times, &error), error);
    return scratch_path(variant->name);
}

static const struct variant x = {"x", "FP32", .offset = 0},
                            down = {"down", "FP32-DOWN", .offset = -1},
                            up = {"up", "FP32-UP", .offset = 1};

/* --- two files ---------------------------------------------------- */

/* An INT8 file without levels: identical is fine (method none), different is
 * not. */
TEST(missing_levels)
{
    struct variant bare = x;
    bare.name = "bare";
    bare.precision = "INT8";
    for (int kind = 0; kind < 3; kind++) {
        bare.change = kind == 2;
        const char *subject = write_file(&bare);
        const char *reference = kind == 0 ? subject : write_file(&x);
        struct fx8_comparison comparison;
        struct fx8_error error;
        char reason[FX8_TEXT_SIZE];
        must(fx8_compare_files(reference, subject, NULL, &comparison, &error),
             error);
        assert_string_equal(comparison.subject_name, subject);
        assert_true(fx8_compare_verdict(&comparison, reason) == (kind < 2));
        assert_true((strcmp(reason, "identical to the last bit") == 0) ==
                    (kind < 2));
        fx8_compare_clear(&comparison);
    }
}

TEST(different_files_are_refused)
{
    static const struct {
        struct variant other;
        const char *text;
    } cases[] = {
        {{.has_fewer_channels = true}, ": Nfreqs: 2: expected 3 as in "},
        {{.has_fewer_dumps = true}, ": Ntimes: 1: expected 2 as in "},
        {{.has_another_antenna = true},
         ": antenna_numbers[3]: 9: expected 7 as in "},
        {{.shift_hz = 1000},
         ": freq_array[0]: 150001000: expected 150000000 as in "},
        {{.shift_s = 3600}, ": time_array[0]: 2458725.3333"},
        {{.number = 2 * (7 * PRODUCTS + 2), .change = NAN},
         ": Data/visdata[2, 1, 2]: nan: expected a finite number"},
        {{.number = 2 * (7 * PRODUCTS + 2), .change = -INFINITY},
         ": Data/visdata[2, 1, 2]: -inf: expected a finite number"},
    };
    struct fx8_comparison comparison;
    struct fx8_error error;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct variant other = cases[i].other;
        other.name = "other";
        other.precision = "INT8";
        const char *one = write_file(&x), *two = write_file(&other);
        must_fail_with(fx8_compare_files(one, two, NULL, &comparison, &error),
                       error, FX8_ERR_INPUT, cases[i].text);
        assert_null(comparison.channels);
    }
    must_fail_with(fx8_compare_files(scratch_path("x"), scratch_path("nowhere"),
                                     NULL, &comparison, &error),
                   error, FX8_ERR_INPUT, "nowhere");
}

/* Both walks say how far they are. */
TEST(progress_is_shown)
{
    const char *const paths[3] = {write_file(&x), write_file(&down),
                                  write_file(&up)};
    for (size_t kind = 0; kind < 2; kind++) {
        FILE *log = tmpfile();
        assert_non_null(log);
        char line[80] = "";
        struct fx8_progress_display display;
        fx8_progress_start(&display, "compare", NULL, log);
        display.start_s = display.last_s -= 60.0;
        struct fx8_comparison comparison = {0};
        struct fx8_enclosure enclosure = {0};
        struct fx8_error error;
        must(kind == 0
                 ? fx8_compare_files(paths[0], paths[0], &display, &comparison,
                                     &error)
                 : fx8_enclosure_test(paths, &display, &enclosure, &error),
             error);
        fx8_compare_clear(&comparison);
        fx8_enclosure_clear(&enclosure);
        rewind(log);
        assert_non_null(fgets(line, sizeof line, log));
        assert_string_equal(line, "fx8: compare    0 %  -- left\n");
        fclose(log);
    }
}

/* --- a file between bounds ---------------------------------------- */

static struct fx8_enclosure test(const struct variant *of_x,
                                 const struct variant *of_down,
                                 const struct variant *of_up)
{
    const char *const paths[3] = {write_file(of_x), write_file(of_down),
                                  write_file(of_up)};
    struct fx8_enclosure enclosure;
    struct fx8_error error;
    must(fx8_enclosure_test(paths, NULL, &enclosure, &error), error);
    return enclosure;
}

/* A value on a bound is inside; beyond it, all are outside. */
TEST(all_inside_or_outside)
{
    for (int offset = -1; offset <= 3; offset++) {
        struct variant moved = x;
        moved.offset = offset;
        struct fx8_enclosure e = test(&moved, &down, &up);
        char reason[FX8_TEXT_SIZE];
        assert_true(fx8_enclosure_verdict(&e, reason) == (offset <= 1));
        assert_int_equal(e.n_outside, offset <= 1 ? 0 : 2 * DUMPS * CELLS);
        assert_true(e.worst.excess == (offset <= 1 ? 0 : 0.5 * (offset - 1)));
        assert_int_equal(e.n_cells, DUMPS * CELLS);
        assert_int_equal(e.n_without_data, 0);
        /* a quarter of the numbers is 1 wide, the others 1/4 */
        assert_int_equal(e.absolute.n, 2 * DUMPS * CELLS);
        assert_true(e.absolute.largest == 1.0);
        assert_near(fx8_compare_spread_quantile(&e.absolute, 0.5), 0.25,
                    0.25 / 128);
        assert_int_equal(e.worst.dump, 0);
        if (offset == 0) {
            assert_string_equal(reason, "0 of 480 numbers beyond their bounds");
            assert_int_equal(e.relative.n, 2 * DUMPS * CELLS);
            assert_true(e.relative.largest == 1.0 / 64);
            assert_near(fx8_compare_spread_quantile(&e.relative, 0.5),
                        1.0 / 256, 0.01 / 256);
        }
        fx8_enclosure_clear(&e);
        assert_null(e.absolute.bins);
    }
}

/* The number outside is in a flagged cell. */
TEST(one_number_outside)
{
    struct variant changed = x;
    changed.dump = 1;
    /* baseline 1-3, channel 2, YX, imaginary part; width 1/4 */
    changed.number = 2 * ((1 * CHANNELS + 2) * PRODUCTS + 3) + 1;
    assert_int_equal(flag(1, changed.number / 2), 1);
    for (int sign = -1; sign <= 1; sign += 2) {
        changed.change = sign * 0.1875;
        struct fx8_enclosure e = test(&changed, &down, &up);
        char *text = NULL;
        size_t size;
        FILE *stream = open_memstream(&text, &size);
        assert_non_null(stream);
        fx8_enclosure_print(&e, stream);
        assert_int_equal(fclose(stream), 0);
        assert_non_null(
            strstr(text, "worst      baseline 1-3 YX, channel 2 (150.020000 "
                         "MHz), dump 1 (JD 2458725.29169271),\n"));
        assert_non_null(strstr(
            text, sign < 0 ? "imaginary part 9.8125: expected 9.875 to 10.125, "
                             "0.0625 outside\n"
                           : "imaginary part 10.1875: expected 9.875 to "
                             "10.125, 0.0625 outside\n"));
        assert_non_null(strstr(text, "verdict: outside: 1 of 480 numbers "
                                     "beyond their bounds\n"));
        free(text);
        fx8_enclosure_clear(&e);
    }
}

/* A cell without data is not tested, whatever its values. */
TEST(cells_without_data)
{
    struct variant sides[3] = {x, down, up};
    for (size_t k = 0; k < 3; k++)
        sides[k].lost = 1;
    sides[0].number = 5;
    sides[0].change = 1000;
    struct fx8_enclosure e = test(&sides[0], &sides[1], &sides[2]);
    assert_int_equal(e.n_without_data, 1);
    assert_int_equal(e.n_cells, DUMPS * CELLS - 1);
    assert_int_equal(e.n_outside, 0);
    fx8_enclosure_clear(&e);
    for (size_t k = 0; k < 3; k++)
        sides[k] = (struct variant){sides[k].name, sides[k].precision,
                                    .is_empty = true};
    e = test(&sides[0], &sides[1], &sides[2]);
    char reason[FX8_TEXT_SIZE];
    assert_false(fx8_enclosure_verdict(&e, reason));
    assert_string_equal(reason, "no cell has data: nothing to judge by");
    fx8_enclosure_clear(&e);
}

TEST(roles_and_weights)
{
    struct variant unnamed = down, lighter = down, endless = up;
    unnamed.precision = "";
    lighter.lost = 0.5f;
    endless.dump = 1;
    endless.number = 2 * ((9 * CHANNELS + 1) * PRODUCTS);
    endless.change = INFINITY;
    const struct {
        const struct variant *sides[3];
        size_t at; /* the file that the message begins with */
        const char *text;
    } cases[] = {
        {{&x, &up, &down}, 1, ": PRECISN: FP32-UP: expected FP32-DOWN, "},
        {{&x, &unnamed, &up}, 1, ": PRECISN: (none): expected FP32-DOWN, "},
        {{&up, &down, &up},
         0,
         ": PRECISN: FP32-UP: expected visibilities to be tested, "},
        {{&x, &lighter, &up},
         1,
         ": Data/nsamples[0, 0, 2]: 0.5: expected 1 as in "},
        {{&x, &down, &endless},
         2,
         ": Data/visdata[19, 1, 0]: inf: expected a finite number"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *const paths[3] = {write_file(cases[i].sides[0]),
                                      write_file(cases[i].sides[1]),
                                      write_file(cases[i].sides[2])};
        struct fx8_enclosure enclosure;
        struct fx8_error error;
        must_fail_with(fx8_enclosure_test(paths, NULL, &enclosure, &error),
                       error, FX8_ERR_INPUT, cases[i].text);
        const char *first = paths[cases[i].at];
        assert_memory_equal(error.message, first, strlen(first));
        assert_null(enclosure.absolute.bins);
    }
}
