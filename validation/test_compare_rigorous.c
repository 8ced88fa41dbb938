/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_compare_rigorous.c -- visibilities against bounds: what is tested, what
 * is reported, what is refused.
 *
 * Shows: as scenario/interval.py
 */
#include <math.h>

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
    float weight;        /* for the cell of number 5 of dump 0 */
    size_t n_channels;
    float all_weights; /* for the other cells; 0: no data */
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
    struct fx8_uvh5_writer *writer;
    struct fx8_error error;
    const char *path = scratch_path(variant->name);
    fx8_read_files_forget(); /* an earlier case may have read this name */
    fill(&f, DUMPS, variant->n_channels, PRODUCTS);
    strcpy(f.keywords[0].name, "PRECISN");
    strcpy(f.keywords[0].text, variant->precision);
    f.header.n_keywords = variant->precision[0] == '\0' ? 0 : 3;
    must(fx8_uvh5_create(path, true, &f.header, FX8_COMPRESSION_NONE, &writer,
                         &error),
         error);
    for (size_t d = 0; d < DUMPS; d++) {
        struct fx8_result dump = make_dump(&f.header, d);
        const size_t n = N_BL * variant->n_channels * PRODUCTS;
        for (size_t i = 0; i < 2 * n; i++) {
            dump.visibilities[i] =
                number(d, i) + (float)(variant->offset * half_width(i));
            if (d == variant->dump && i == variant->number)
                dump.visibilities[i] += (float)variant->change;
            dump.nsamples[i / 2] = variant->all_weights;
        }
        if (d == 0)
            dump.nsamples[2] = variant->weight;
        must(fx8_uvh5_write_dump(writer, d, &dump, &error), error);
        free_dump(&dump);
    }
    must(fx8_uvh5_close(&writer, DUMPS, &error), error);
    return path;
}

static const struct variant x = {"x", "FP32", 0, 0, 0, 0, 1, CHANNELS, 1};
static const struct variant down = {"down", "FP32-DOWN", -1,       0, 0,
                                    0,      1,           CHANNELS, 1};
static const struct variant up = {"up", "FP32-UP", 1, 0, 0, 0, 1, CHANNELS, 1};

static struct fx8_enclosure test(const struct variant *of_x,
                                 const struct variant *of_down,
                                 const struct variant *of_up)
{
    const char *const paths[3] = {write_file(of_x), write_file(of_down),
                                  write_file(of_up)};
    struct fx8_enclosure enclosure;
    struct fx8_error error;
    must(fx8_enclosure_test(paths, &enclosure, &error), error);
    return enclosure;
}

/* The printed text contains these words. */
static void prints(const struct fx8_enclosure *e, const char *words)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    fx8_enclosure_print(e, stream);
    assert_int_equal(fclose(stream), 0);
    if (strstr(text, words) == NULL)
        fail_msg("'%s' lacks '%s'", text, words);
    free(text);
}

/* --- what is reported ------------------------------------------------- */

TEST(all_inside)
{
    struct fx8_enclosure e = test(&x, &down, &up);
    char reason[FX8_TEXT_SIZE];
    assert_true(fx8_enclosure_verdict(&e, reason));
    assert_string_equal(reason, "0 of 480 numbers beyond their bounds");
    assert_int_equal(e.n_cells, DUMPS * CELLS);
    assert_int_equal(e.n_without_data, 0);
    assert_int_equal(e.n_outside, 0);
    assert_int_equal(e.n_dumps, DUMPS);
    /* a quarter of the numbers is 1 wide, the others 1/4 */
    assert_int_equal(e.absolute.n, 2 * DUMPS * CELLS);
    assert_true(e.absolute.largest == 1.0);
    assert_true(fabs(fx8_compare_spread_quantile(&e.absolute, 0.5) / 0.25 - 1) <
                0.01);
    assert_int_equal(e.relative.n, 2 * DUMPS * CELLS);
    assert_true(e.relative.largest == 1.0 / 64);
    assert_true(fabs(fx8_compare_spread_quantile(&e.relative, 0.5) * 256 - 1) <
                0.01);
    prints(&e, "verdict: inside: 0 of 480 numbers beyond their bounds\n");
    fx8_enclosure_clear(&e);
    assert_null(e.absolute.bins);
}

/* A value on a bound is inside. */
TEST(equal_to_a_bound)
{
    struct variant low = x, high = x;
    low.offset = -1;
    high.offset = 1;
    struct fx8_enclosure e = test(&low, &down, &up);
    assert_int_equal(e.n_outside, 0);
    fx8_enclosure_clear(&e);
    e = test(&high, &down, &up);
    assert_int_equal(e.n_outside, 0);
    fx8_enclosure_clear(&e);
}

/* Two values are outside; the worse one is in a flagged cell. */
TEST(one_number_outside)
{
    struct variant changed = x;
    changed.dump = 1;
    /* baseline 1-3, channel 2, YX, imaginary part; width 1/4 */
    changed.number = 2 * ((1 * CHANNELS + 2) * PRODUCTS + 3) + 1;
    for (int sign = -1; sign <= 1; sign += 2) {
        changed.change = sign * 0.1875;
        struct fx8_enclosure e = test(&changed, &down, &up);
        char reason[FX8_TEXT_SIZE];
        assert_false(fx8_enclosure_verdict(&e, reason));
        assert_string_equal(reason, "1 of 480 numbers beyond their bounds");
        assert_int_equal(flag(1, changed.number / 2), 1);
        assert_int_equal(e.worst.antenna_1, 1);
        assert_int_equal(e.worst.antenna_2, 3);
        assert_int_equal(e.worst.dump, 1);
        assert_int_equal(e.worst.channel, 2);
        assert_int_equal(e.worst.product, 3);
        assert_true(e.worst.is_imaginary);
        const double middle = number(1, changed.number);
        assert_true(e.worst.value == middle + changed.change);
        assert_true(e.worst.down == middle - 0.125);
        assert_true(e.worst.up == middle + 0.125);
        assert_true(e.worst.excess == 0.0625);
        assert_true(e.worst_frequency_hz == 150.02e6);
        prints(&e, "outside    1 of 480 numbers\n"
                   "worst      baseline 1-3 YX, channel 2 (150.020000 MHz), "
                   "dump 1 (JD 2458725.29169271),\n");
        prints(&e, sign < 0 ? "imaginary part 9.8125: expected 9.875 to "
                              "10.125, 0.0625 outside\n"
                            : "imaginary part 10.1875: expected 9.875 to "
                              "10.125, 0.0625 outside\n");
        prints(&e, "verdict: outside: 1 of 480 numbers beyond their bounds\n");
        fx8_enclosure_clear(&e);
    }
}

TEST(every_number_outside)
{
    struct variant far = x;
    far.offset = 3;
    struct fx8_enclosure e = test(&far, &down, &up);
    assert_int_equal(e.n_outside, 2 * DUMPS * CELLS);
    assert_true(e.worst.excess == 1.0);
    assert_int_equal(e.worst.dump, 0);
    fx8_enclosure_clear(&e);
}

/* A cell without data is not tested, whatever its values. */
TEST(cells_without_data)
{
    struct variant sides[3] = {x, down, up};
    for (size_t k = 0; k < 3; k++)
        sides[k].weight = 0;
    sides[0].number = 5;
    sides[0].change = 1000;
    struct fx8_enclosure e = test(&sides[0], &sides[1], &sides[2]);
    assert_int_equal(e.n_without_data, 1);
    assert_int_equal(e.n_cells, DUMPS * CELLS - 1);
    assert_int_equal(e.n_outside, 0);
    fx8_enclosure_clear(&e);
    for (size_t k = 0; k < 3; k++)
        sides[k].all_weights = 0;
    e = test(&sides[0], &sides[1], &sides[2]);
    char reason[FX8_TEXT_SIZE];
    assert_false(fx8_enclosure_verdict(&e, reason));
    assert_string_equal(reason, "no cell has data: nothing to judge by");
    assert_true(fx8_compare_spread_quantile(&e.absolute, 0.5) == 0.0);
    prints(&e, "verdict: none: no cell has data");
    fx8_enclosure_clear(&e);
}

/* --- what is refused -------------------------------------------------------
 */

static void refused(const struct variant *of_x, const struct variant *of_down,
                    const struct variant *of_up, size_t at, const char *words)
{
    const char *const paths[3] = {write_file(of_x), write_file(of_down),
                                  write_file(of_up)};
    struct fx8_enclosure enclosure;
    struct fx8_error error;
    must_fail_with(fx8_enclosure_test(paths, &enclosure, &error), error,
                   FX8_ERR_INPUT, words);
    if (strncmp(error.message, paths[at], strlen(paths[at])) != 0)
        fail_msg("'%s' does not name %s first", error.message, paths[at]);
    assert_null(enclosure.absolute.bins);
    assert_null(strchr(error.message, '\n'));
}

TEST(roles)
{
    struct variant unnamed = down;
    unnamed.precision = "";
    refused(&x, &up, &down, 1, ": PRECISN: FP32-UP: expected FP32-DOWN, ");
    refused(&x, &down, &x, 2, ": PRECISN: FP32: expected FP32-UP, ");
    refused(&x, &unnamed, &up, 1, ": PRECISN: (none): expected FP32-DOWN, ");
    refused(&down, &down, &up, 0,
            ": PRECISN: FP32-DOWN: expected visibilities to be tested, ");
    refused(&up, &down, &up, 0,
            ": PRECISN: FP32-UP: expected visibilities to be tested, ");
}

TEST(shapes_weights_and_values)
{
    struct variant other = up;
    other.n_channels = CHANNELS - 1;
    refused(&x, &down, &other, 2, ": Nfreqs: 2: expected 3 as in ");
    other = down;
    other.weight = 0.5f;
    refused(&x, &other, &up, 1,
            ": Data/nsamples[0, 0, 2]: 0.5: expected 1 as in ");
    other = up;
    other.dump = 1;
    other.number = 2 * ((9 * CHANNELS + 1) * PRODUCTS);
    other.change = INFINITY;
    refused(&x, &down, &other, 2,
            ": Data/visdata[19, 1, 0]: inf: expected a finite number");
}
