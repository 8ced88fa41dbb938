/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_plot.c -- what pictures are made of: ticks, colours, ranges, formats.
 *
 * Shows (commands, parts of pictures): ticks are round and within their axis;
 *     equal steps of the colours look equal, and the cycle closes; twelve lines
 *     have colours that differ; a panel's
 *     ends are those of its data, with room for lines across, and decades make
 *     an axis logarithmic; drawings whose texts and points are not what
 *     they should be are whole all the same
 * Within: steps of lightness 0.3 to 2 of their mean; lightness of the cycle
 *     2·10⁻²; the cycle closes to the bit; colours 0.1 apart in Oklab, where
 *     black and white are 1 apart
 * Because: the polynomial of degree 6 follows viridis within 10⁻², a third of a
 *     step of 1/16; colours are rounded to 8 bits and to what a screen has
 */
#include <stdio.h>

#include "correlator/plot/figure.h"
#include "correlator/plot/svg.h"
#include "validation/testing.h"

/* --- axes --------------------------------------------------------- */

static void check_ticks(struct fx8_axis axis, size_t most,
                        const char *const *texts, size_t n)
{
    struct fx8_ticks ticks;
    fx8_axis_ticks(&axis, most, &ticks);
    assert_int_equal(ticks.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(ticks.texts[i], texts[i]);
        assert_true(ticks.values[i] >= axis.low - 1e-9);
        assert_true(ticks.values[i] <= axis.high + 1e-9);
    }
}

TEST(ticks_are_round)
{
    static const char *const plain[] = {"-0.2", "0.0", "0.2", "0.4"};
    static const char *const powers[] = {"0.01", "1", "100"};
    static const char *const phases[] = {"-180", "-90", "0", "90", "180"};
    static const char *const seconds[] = {"12:26:40", "12:26:45", "12:26:50"};
    static const char *const parts[] = {"12:26:40.0", "12:26:40.2",
                                        "12:26:40.4"};
    static const char *const faint[] = {"0", "10", "50", "200", "500", "-10"};
    static const char *const hours[] = {"15:00", "18:00", "21:00", "00:00"};
    const double t = 1600000000.0; /* 2020-09-13 12:26:40 */
    check_ticks((struct fx8_axis){.low = -0.3, .high = 0.5}, 5, plain, 4);
    check_ticks(
        (struct fx8_axis){.low = 0.005, .high = 700.0, .scale = FX8_SCALE_LOG},
        3, powers, 3);
    check_ticks((struct fx8_axis){.low = -180.0, .high = 180.0, .step = 90.0},
                9, phases, 5);
    check_ticks((struct fx8_axis){.low = t - 1.0,
                                  .high = t + 11.0,
                                  .scale = FX8_SCALE_TIME},
                4, seconds, 3);
    check_ticks(
        (struct fx8_axis){.low = t, .high = t + 0.5, .scale = FX8_SCALE_TIME},
        4, parts, 3);
    check_ticks((struct fx8_axis){.low = -25.0,
                                  .high = 700.0,
                                  .scale = FX8_SCALE_ASINH,
                                  .soft = 10.0},
                8, faint, 6);
    check_ticks((struct fx8_axis){.low = t,
                                  .high = t + 43200.0,
                                  .scale = FX8_SCALE_TIME},
                5, hours, 4);
}

/* Ends so close that a double has few values between them. */
TEST(ticks_of_a_narrow_axis_end)
{
    static const struct fx8_axis axes[] = {
        {.low = 30.0, .high = 30.0 + 1.1e-14},
        {.low = 1.6e9 - 5e-7, .high = 1.6e9 + 5e-7, .scale = FX8_SCALE_TIME}};
    for (size_t i = 0; i < LENGTH(axes); i++) {
        struct fx8_ticks ticks;
        fx8_axis_ticks(&axes[i], 12, &ticks);
        assert_true(ticks.n <= FX8_MOST_TICKS);
    }
}

TEST(places_stay_within_the_axis)
{
    const struct fx8_axis line = {.low = 10.0, .high = 20.0};
    const struct fx8_axis log = {
        .low = 1.0, .high = 100.0, .scale = FX8_SCALE_LOG};
    assert_true(fx8_axis_place(&line, 15.0, 200.0, 100.0) == 150.0);
    assert_true(fx8_axis_place(&line, -INFINITY, 200.0, 100.0) == 200.0);
    assert_true(fx8_axis_place(&line, 99.0, 200.0, 100.0) == 100.0);
    assert_true(isnan(fx8_axis_place(&line, NAN, 200.0, 100.0)));
    assert_true(fabs(fx8_axis_place(&log, 10.0, 0.0, 1.0) - 0.5) < 1e-12);
    /* asinh of 3/4 and of 4/3 are log 2 and log 3 */
    const struct fx8_axis faint = {
        .low = -0.75, .high = 4.0 / 3.0, .scale = FX8_SCALE_ASINH, .soft = 1.0};
    assert_true(fabs(fx8_axis_place(&faint, 0.0, 0.0, 1.0) -
                     log1p(1.0) / log1p(5.0)) < 1e-12);
    assert_true(fx8_axis_place(&log, 0.0, 0.0, 1.0) == 0.0);
}

/* --- colours ------------------------------------------------------ */

/* Oklab of 8 bits: lightness, green to red, blue to yellow. */
static void find_oklab(uint32_t colour, double lab[3])
{
    static const double cones[3][3] = {
        {0.4122214708, 0.5363325363, 0.0514459929},
        {0.2119034982, 0.6806995451, 0.1073969566},
        {0.0883024619, 0.2817188376, 0.6299787005}};
    static const double axes[3][3] = {
        {0.2104542553, 0.7936177850, -0.0040720468},
        {1.9779984951, -2.4285922050, 0.4505937099},
        {0.0259040371, 0.7827717662, -0.8086757660}};
    double linear[3], root[3];
    for (int i = 0; i < 3; i++) {
        const double value = (colour >> (16 - 8 * i) & 255) / 255.0;
        linear[i] = value <= 0.04045 ? value / 12.92
                                     : pow((value + 0.055) / 1.055, 2.4);
    }
    for (int i = 0; i < 3; i++)
        root[i] = cbrt(cones[i][0] * linear[0] + cones[i][1] * linear[1] +
                       cones[i][2] * linear[2]);
    for (int i = 0; i < 3; i++)
        lab[i] =
            axes[i][0] * root[0] + axes[i][1] * root[1] + axes[i][2] * root[2];
}

static double lightness(uint32_t colour)
{
    double lab[3];
    find_oklab(colour, lab);
    return lab[0];
}

/* Twelve lines, and one in the colour of what looks wrong. */
TEST(colours_of_lines_differ)
{
    double labs[13][3];
    for (size_t i = 0; i < 13; i++)
        find_oklab(i < 12 ? fx8_colour_of(i, 12) : FX8_COLOUR_BAD, labs[i]);
    for (size_t i = 0; i < 13; i++)
        for (size_t k = 0; k < i; k++) {
            const double apart =
                hypot(hypot(labs[i][0] - labs[k][0], labs[i][1] - labs[k][1]),
                      labs[i][2] - labs[k][2]);
            if (apart < 0.1)
                fail_msg("%zu and %zu: %.3f apart", i, k, apart);
        }
}

TEST(equal_steps_look_equal)
{
    const double low = lightness(fx8_colour_at(FX8_MAP_AMPLITUDE, 0.0));
    const double high = lightness(fx8_colour_at(FX8_MAP_AMPLITUDE, 1.0));
    for (int i = 0; i < 16; i++) {
        const double step =
            lightness(fx8_colour_at(FX8_MAP_AMPLITUDE, (i + 1) / 16.0)) -
            lightness(fx8_colour_at(FX8_MAP_AMPLITUDE, i / 16.0));
        const double share = step / ((high - low) / 16.0);
        assert_true(share > 0.3 && share < 2.0);
        const uint32_t hue = fx8_colour_at(FX8_MAP_CYCLE, i / 16.0);
        assert_true(fabs(lightness(hue) - 0.70) < 2e-2);
    }
    assert_int_equal(fx8_colour_at(FX8_MAP_CYCLE, 0.0),
                     fx8_colour_at(FX8_MAP_CYCLE, 1.0));
    assert_int_equal(fx8_colour_at(FX8_MAP_CYCLE, NAN), FX8_COLOUR_BLANK);
}

TEST(the_least_share_shows)
{
    assert_int_equal(fx8_colour_at(FX8_MAP_SHARE, 0.0), FX8_COLOUR_BLANK);
    assert_int_equal(fx8_colour_at(FX8_MAP_SHARE, 1e-6),
                     fx8_colour_at(FX8_MAP_AMPLITUDE, 0.0));
}

/* --- figures ------------------------------------------------------ */

static void clear(struct fx8_figure *figure)
{
    fx8_figure_clear(figure);
}

TEST(ends_are_those_of_the_data)
{
    struct fx8_error error;
    struct fx8_series *series;
    __attribute__((cleanup(clear))) struct fx8_figure figure = {0};
    struct fx8_panel *panel = fx8_figure_panel(&figure, "t", "x", "y");
    struct fx8_panel *empty = fx8_figure_panel(&figure, "t", "x", "y");
    struct fx8_panel *matrix = fx8_figure_panel(&figure, "t", "x", "y");
    assert_int_equal(
        fx8_panel_series(panel, "s", FX8_MARK_DOTS, 4, &series, &error),
        FX8_OK);
    for (int i = 0; i < 3; i++) {
        series->x[i] = i;
        series->y[i] = i == 1 ? INFINITY : 10.0 * i;
    }
    panel->y.high = 50.0;
    assert_int_equal(fx8_panel_matrix(matrix, 100, 100, "z", &error), FX8_OK);
    for (int i = 0; i < 9999; i++) /* the last is NaN */
        matrix->matrix.values[i] = i;
    assert_int_equal(fx8_figure_settle(&figure, &error), FX8_OK);
    assert_true(fabs(panel->x.low + 0.04) < 1e-12);
    assert_true(fabs(panel->x.high - 2.04) < 1e-12);
    assert_true(fabs(panel->y.low + 1.2) < 1e-12 && panel->y.high == 50.0);
    assert_true(empty->x.low < empty->x.high);
    assert_true(matrix->matrix.axis.low == 99.0);
    assert_true(matrix->matrix.axis.high == 9899.0);
}

/* Equal but for rounding, such as means of one value. */
TEST(nearly_equal_data_have_a_range)
{
    struct fx8_error error;
    struct fx8_series *series;
    __attribute__((cleanup(clear))) struct fx8_figure figure = {0};
    struct fx8_panel *panel = fx8_figure_panel(&figure, "t", "x", "y");
    must(fx8_panel_series(panel, "s", FX8_MARK_LINE, 2, &series, &error),
         error);
    for (int i = 0; i < 2; i++) {
        series->x[i] = i;
        series->y[i] = i == 0 ? 30.0 : nextafter(30.0, 31.0);
    }
    must(fx8_figure_settle(&figure, &error), error);
    assert_true(fabs(panel->y.low - 29.7) < 1e-9);
    assert_true(fabs(panel->y.high - 30.3) < 1e-9);
}

/* The high end is free, the low end where it is NaN. */
TEST(axes_have_room_for_lines_and_decades)
{
    static const struct {
        double values[2], line, low; /* NaN: free */
        bool may_be_log, is_log;
    } cases[] = {
        {{1e-6, 1e-3}, 1e-2, NAN, true, true},
        {{0.0, 1e-6}, 1e-3, 0.0, true, true}, /* 0 is below every decade */
        {{1e-6, 1e-3}, 1e-2, 0.0, false, false},
        {{1.0, 50.0}, 60.0, 0.0, true, false}, /* less than two decades */
        {{1.0, 50.0}, 100.0, 0.0, true, true},
        {{-1.0, 1e3}, 1e4, NAN, true, false},
    };
    struct fx8_error error;
    struct fx8_series *series;
    for (size_t c = 0; c < LENGTH(cases); c++) {
        __attribute__((cleanup(clear))) struct fx8_figure figure = {0};
        struct fx8_panel *panel = fx8_figure_panel(&figure, "t", "x", "y");
        must(fx8_panel_series(panel, "s", FX8_MARK_BARS, 2, &series, &error),
             error);
        for (int i = 0; i < 2; i++) {
            series->x[i] = i;
            series->y[i] = cases[c].values[i];
        }
        panel->y.low = cases[c].low;
        panel->y.may_be_log = cases[c].may_be_log;
        fx8_panel_limit(panel, false, cases[c].line, "line");
        must(fx8_figure_settle(&figure, &error), error);
        const double least =
            cases[c].values[0] > 0.0 ? cases[c].values[0] : cases[c].values[1];
        assert_int_equal(panel->y.scale == FX8_SCALE_LOG, cases[c].is_log);
        assert_true(panel->y.high > cases[c].line);
        if (cases[c].is_log)
            assert_true(panel->y.low > 0.0 && panel->y.low < least);
        else
            assert_true(isnan(cases[c].low) || panel->y.low == cases[c].low);
    }
}

/* --- drawings ----------------------------------------------------- */

TEST(strange_texts_and_points_are_drawn)
{
    const struct fx8_font font = {9.0, 0, FX8_ANCHOR_START, false, false};
    const struct fx8_point line[] = {
        {1.0, 2.0}, {3.0, 4.0}, {NAN, 5.0}, {6.0, 7.0}, {8.0, INFINITY}};
    char *bytes;
    size_t size;
    struct fx8_error error;
    struct fx8_drawing *drawing;
    char letters[2001]; /* of two bytes each, the first cut off */
    for (size_t i = 0; i < 2000; i++)
        letters[i] = i % 2 == 0 ? '\xc3' : '\xa4';
    letters[2000] = '\0';
    assert_int_equal(
        fx8_draw_open(&fx8_surface_svg, 10.0, 10.0, "<&>", &drawing, &error),
        FX8_OK);
    fx8_draw_line(drawing, line, 5, (struct fx8_stroke){0, 1.0, 2.0});
    fx8_draw_text(drawing, line[0], &font, letters + 1);
    fx8_draw_text(drawing, line[0], &font, letters);
    fx8_draw_raster(drawing, (struct fx8_box){0, 0, 1, 1}, NULL, 0, 5);
    assert_int_equal(fx8_draw_finish(drawing, &bytes, &size, &error), FX8_OK);
    fx8_draw_close(&drawing);
    fx8_draw_close(&drawing);
    assert_non_null(strstr(bytes, "<title>&lt;&amp;&gt;</title>"));
    assert_non_null(strstr(bytes, "points=\"1.00,2.00 3.00,4.00\""));
    assert_non_null(strstr(bytes, "cx=\"6.00\"")); /* alone between gaps */
    assert_null(strstr(bytes, "nan"));
    assert_null(strstr(bytes, "<image"));
    assert_non_null(strstr(bytes, "\xc3\xa4</text>\n</svg>"));
    assert_non_null(strstr(bytes, ">??"));
    free(bytes);
}

TEST(suffixes_choose_the_format)
{
    const struct fx8_surface *surface;
    struct fx8_error error;
    assert_int_equal(fx8_surface_of("a.b/c.SVG", &surface, &error), FX8_OK);
    assert_ptr_equal(surface, &fx8_surface_svg);
    assert_int_equal(fx8_surface_of("a.svg/c", &surface, &error),
                     FX8_ERR_USAGE);
    assert_string_equal(error.message,
                        "a.svg/c: no suffix: expected a name that ends in "
                        ".png, .svg, .pdf or .html");
}
