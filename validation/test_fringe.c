/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fringe.c -- fringes of simulated visibilities whose truth is known.
 *
 * Shows (commands, fringes): delays within 2 us, rates and phases of baselines
 *     and antennas at a signal to noise of 3 to 100, with a fifth of the
 *     baselines dead, noisy or wrong; their errors are honest
 * Within: 5 sigma each; the mean square of (found - true) / sigma is 1 within 5
 *     of its own standard deviations
 * Because: the fit is that of least squares, so only noise is left
 *
 * Shows (commands, fringes of strong sources): errors are honest where the
 *     source is as strong as the receivers
 * Within: as fringes, with 8 standard deviations
 * Because: errors of antennas share that of the reference, so there are fewer
 *     independent numbers than counted
 *
 * Shows (commands, fringes of many sources): where other sources scatter the
 *     baselines, errors grow as much, and baselines are kept
 * Within: 8 sigma; the mean square of (found - true) / sigma is 0.8 to 1.6; at
 *     least 98 % of the baselines
 * Because: the scatter is estimated from the median of 45 residuals, which the
 *     fit makes smaller by a tenth and chance by as much
 *
 * Shows (commands, fringes of noise): no fringe in noise alone
 * Within: at most 3 of 1000 results of one baseline have one
 * Because: the threshold is for one in 1000
 */
#include "correlator/fringe/search.h"
#include "validation/testing.h"

enum { N_TIMES = 8, N_CHANNELS = 64, N_CELLS = N_TIMES * N_CHANNELS };
enum { N_ANTENNAS = 10, N_LINES = N_ANTENNAS * (N_ANTENNAS - 1) / 2 };

#define TURN    6.283185307179586
#define STEP_S  0.1
#define STEP_HZ 100e3
#define F0_HZ   150e6

/* What is searched. */
struct field {
    struct fx8_fringe_axis time, frequency;
    struct fx8_fringe_search *search;
    float *cells, *weights;
};

static struct field open_field(void)
{
    struct field field = {.search = NULL};
    struct fx8_error error;
    double times[N_TIMES], channels[N_CHANNELS];
    for (size_t t = 0; t < N_TIMES; t++)
        times[t] = STEP_S * (double)t;
    for (size_t c = 0; c < N_CHANNELS; c++)
        channels[c] = F0_HZ + STEP_HZ * (double)c;
    must(fx8_fringe_axes_open(N_TIMES, times, N_CHANNELS, channels, &field.time,
                              &field.frequency, &error),
         error);
    field.cells = temporary(2 * N_CELLS * sizeof(float));
    field.weights = temporary(N_CELLS * sizeof(float));
    return field;
}

/* The axes must not move after this. */
static void open_search(struct field *field)
{
    struct fx8_error error;
    must(fx8_fringe_search_open(&field->time, &field->frequency, 1,
                                &field->search, &error),
         error);
}

static void close_field(struct field *field)
{
    fx8_fringe_search_close(&field->search);
    fx8_fringe_axis_clear(&field->time);
    fx8_fringe_axis_clear(&field->frequency);
}

/* One cell: sum of weight x value. */
static void put(struct field *field, size_t cell, double weight, double re,
                double im)
{
    field->weights[cell] = (float)weight;
    field->cells[2 * cell] = (float)(weight * re);
    field->cells[2 * cell + 1] = (float)(weight * im);
}

/* Turns of a fringe in a cell, from the definition in fringe.h. */
static double turns_of(size_t cell, const double truth[3])
{
    const double hz =
        STEP_HZ * ((double)(cell % N_CHANNELS) - 0.5 * (N_CHANNELS - 1));
    const double s =
        STEP_S * ((double)(cell / N_CHANNELS) - 0.5 * (N_TIMES - 1));
    return truth[FX8_FRINGE_RATE] * s - truth[FX8_FRINGE_DELAY] * hz +
           truth[FX8_FRINGE_PHASE] / TURN;
}

/* A fringe with noise; a tenth of the cells is missing, weights differ. */
static void fill(struct field *field, struct generator *g,
                 const double truth[3], double snr)
{
    double total = 0.0, weights[N_CELLS];
    for (size_t cell = 0; cell < N_CELLS; cell++) {
        weights[cell] =
            random_below(g, 10) == 0 ? 0.0 : 0.5 + random_uniform(g);
        total += weights[cell];
    }
    for (size_t cell = 0; cell < N_CELLS; cell++) {
        const double w = weights[cell], amplitude = snr / sqrt(total);
        const double angle = TURN * turns_of(cell, truth);
        const double noise = w > 0.0 ? 1.0 / sqrt(w) : 0.0;
        put(field, cell, w, amplitude * cos(angle) + noise * random_normal(g),
            amplitude * sin(angle) + noise * random_normal(g));
    }
}

static double random_between(struct generator *g, double low, double high)
{
    return low + (high - low) * random_uniform(g);
}

static void random_truth(struct generator *g, double truth[3])
{
    truth[FX8_FRINGE_DELAY] = random_between(g, -2e-6, 2e-6);
    truth[FX8_FRINGE_RATE] = random_between(g, -2.0, 2.0);
    truth[FX8_FRINGE_PHASE] = random_between(g, -3.1, 3.1);
}

/* Errors in sigmas, summed up. */
struct score {
    double sum;
    size_t n;
};

static void score_within(struct score *score, int quantity, double found,
                         double truth, double sigma, double sigmas)
{
    double off = found - truth;
    if (quantity == FX8_FRINGE_PHASE)
        off = remainder(off, TURN);
    assert_true(sigma > 0.0);
    if (fabs(off) > sigmas * sigma)
        fail_msg("quantity %d: %g: expected %g within %g x %g", quantity, found,
                 truth, sigmas, sigma);
    score->sum += off * off / (sigma * sigma);
    score->n++;
}

static void score_value(struct score *score, int quantity, double found,
                        double truth, double sigma)
{
    score_within(score, quantity, found, truth, sigma, 5.0);
}

/* Scores of antennas, and of how baselines agree with them. */
struct scores {
    struct score antennas[FX8_FRINGE_AMPLITUDE], closures[FX8_FRINGE_AMPLITUDE];
};

static void score_antennas(struct scores *scores, struct fx8_fringe *items,
                           size_t reference, double truth[N_ANTENNAS][3])
{
    struct fx8_fringe_antenna antennas[N_ANTENNAS] = {{0}};
    struct fx8_fringe_solution solution = {.antennas = antennas};
    struct fx8_error error;
    must(fx8_fringe_solve(N_ANTENNAS, N_LINES, items, 0, reference, &solution,
                          &error),
         error);
    assert_int_equal(solution.n_solved, N_ANTENNAS);
    for (int q = 0; q < FX8_FRINGE_AMPLITUDE; q++) {
        scores->closures[q].sum += solution.chi_square[q];
        scores->closures[q].n += (size_t)solution.freedom[q];
        for (size_t a = 0; a < N_ANTENNAS; a++)
            if (a != reference)
                score_value(&scores->antennas[q], q, antennas[a].value[q],
                            truth[a][q] - truth[reference][q],
                            antennas[a].sigma[q]);
    }
}

/* The mean of n squares of normal variables has a variance of 2 / n. */
static void check_scores(const struct score *scores, double sigmas)
{
    for (size_t q = 0; q < FX8_FRINGE_AMPLITUDE; q++)
        assert_near(scores[q].sum / (double)scores[q].n, 1.0,
                    sigmas * sqrt(2.0 / (double)scores[q].n));
}

TEST(baselines_have_honest_errors)
{
    struct generator g = {15};
    struct field field = open_field();
    struct score scores[3] = {{0}};
    open_search(&field);
    for (size_t trial = 0; trial < 400; trial++) {
        double truth[3];
        struct fx8_fringe fringe = {.antennas = {0, 1}};
        const double snr = exp(random_between(&g, log(10.0), log(100.0)));
        random_truth(&g, truth);
        fill(&field, &g, truth, snr);
        fx8_fringe_find(field.search, 0, field.cells, field.weights, &fringe);
        assert_true(fringe.is_found);
        assert_near(fringe.snr, snr, 5.0 + 0.2 * snr);
        for (int q = 0; q < 3; q++)
            score_value(&scores[q], q, fringe.value[q], truth[q],
                        fringe.sigma[q]);
    }
    check_scores(scores, 5.0);
    close_field(&field);
}

TEST(noise_alone_has_no_fringe)
{
    struct generator g = {16};
    struct field field = open_field();
    size_t n = 0;
    open_search(&field);
    const double threshold = fx8_fringe_threshold(field.search, 1);
    for (size_t trial = 0; trial < 1000; trial++) {
        struct fx8_fringe fringe = {.antennas = {0, 1}};
        fill(&field, &g, (const double[3]){0}, 0.0);
        fx8_fringe_find(field.search, 0, field.cells, field.weights, &fringe);
        n += fringe.snr > threshold;
    }
    assert_in_range(n, 0, 3);
    close_field(&field);
}

/* Data in one channel, or in one dump, hold no delay or rate. */
TEST(too_little_data_is_no_fringe)
{
    struct generator g = {19};
    struct field field = open_field();
    open_search(&field);
    for (size_t kind = 0; kind < 2; kind++) {
        struct fx8_fringe fringe = {.antennas = {0, 1}};
        memset(field.cells, 0, 2 * N_CELLS * sizeof *field.cells);
        memset(field.weights, 0, N_CELLS * sizeof *field.weights);
        for (size_t k = 0; k < N_TIMES; k++)
            put(&field, kind == 0 ? 5 + k * N_CHANNELS : 2 * N_CHANNELS + k,
                1.0, 100.0 + random_normal(&g), random_normal(&g));
        fx8_fringe_find(field.search, 0, field.cells, field.weights, &fringe);
        assert_false(fringe.is_found);
    }
    close_field(&field);
}

/* --- antennas ---------------------------------------------------- */

/* Search all baselines of an array; a fifth is dead, noisy, or sees something
 * else. */
static void observe(struct field *field, struct generator *g,
                    double truth[N_ANTENNAS][3], struct fx8_fringe *items)
{
    const double threshold = fx8_fringe_threshold(field->search, N_LINES);
    size_t k = 0;
    for (size_t i = 0; i < N_ANTENNAS; i++)
        for (size_t j = i + 1; j < N_ANTENNAS; j++, k++) {
            double line[3], snr = exp(random_between(g, log(3.0), log(100.0)));
            for (size_t q = 0; q < 3; q++)
                line[q] = truth[j][q] - truth[i][q];
            const size_t fate = random_below(g, 15);
            if (fate == 0)
                snr = 0.0;
            if (fate == 1)
                snr = 3.0;
            if (fate == 2)
                random_truth(g, line);
            items[k] = (struct fx8_fringe){.antennas = {i, j}};
            fill(field, g, line, snr);
            fx8_fringe_find(field->search, 0, field->cells, field->weights,
                            &items[k]);
            items[k].is_found = items[k].is_found && items[k].snr > threshold;
        }
}

TEST(antennas_come_from_good_baselines)
{
    struct generator g = {17};
    struct field field = open_field();
    struct scores scores = {0};
    open_search(&field);
    for (size_t trial = 0; trial < 60; trial++) {
        double truth[N_ANTENNAS][3];
        struct fx8_fringe items[N_LINES];
        for (size_t a = 0; a < N_ANTENNAS; a++) {
            random_truth(&g, truth[a]);
            truth[a][FX8_FRINGE_DELAY] *= 0.5; /* baselines: within 2 us */
            truth[a][FX8_FRINGE_RATE] *= 0.5;
        }
        observe(&field, &g, truth, items);
        score_antennas(&scores, items, trial % N_ANTENNAS, truth);
    }
    check_scores(scores.closures, 5.0);
    check_scores(scores.antennas, 8.0);
    close_field(&field);
}

/* Ten times the noise on every baseline, as from other sources: hardly a
 * baseline is rejected, and errors grow with the scatter. */
TEST(errors_include_the_scatter_of_baselines)
{
    static const double noise[3] = {1e-9, 1e-3, 1e-2};
    struct generator g = {20};
    struct score scores[3] = {{0}};
    struct fx8_error error;
    size_t n_used = 0;
    for (size_t trial = 0; trial < 60; trial++) {
        double truth[N_ANTENNAS][3];
        struct fx8_fringe items[N_LINES];
        struct fx8_fringe_antenna antennas[N_ANTENNAS] = {{0}};
        struct fx8_fringe_solution solution = {.antennas = antennas};
        size_t k = 0;
        for (size_t a = 0; a < N_ANTENNAS; a++)
            random_truth(&g, truth[a]);
        for (size_t i = 0; i < N_ANTENNAS; i++)
            for (size_t j = i + 1; j < N_ANTENNAS; j++, k++) {
                items[k] = (struct fx8_fringe){
                    .antennas = {i, j}, .is_found = true, .snr = 100.0};
                for (size_t q = 0; q < 3; q++) {
                    items[k].sigma[q] = noise[q];
                    items[k].value[q] = truth[j][q] - truth[i][q] +
                                        10.0 * noise[q] * random_normal(&g);
                }
                items[k].sigma[FX8_FRINGE_AMPLITUDE] = 0.01;
            }
        must(fx8_fringe_solve(N_ANTENNAS, N_LINES, items, 0, 0, &solution,
                              &error),
             error);
        n_used += solution.n_used;
        for (int q = 0; q < 3; q++) {
            assert_true(solution.chi_square[q] >
                        25.0 * (double)solution.freedom[q]);
            for (size_t a = 1; a < N_ANTENNAS; a++)
                score_within(&scores[q], q, antennas[a].value[q],
                             truth[a][q] - truth[0][q], antennas[a].sigma[q],
                             8.0);
        }
    }
    assert_true((double)n_used > 0.98 * 60 * N_LINES);
    for (size_t q = 0; q < 3; q++)
        assert_near(scores[q].sum / (double)scores[q].n, 1.2, 0.4);
}

/* Voltages of a source and of receivers of the same power, averaged over
 * N_MEAN spectra: every product has noise of its own, which baselines share. */
TEST(a_strong_source_is_noise_too)
{
    enum { N_MEAN = 20 };
    struct generator g = {18};
    struct field field = open_field();
    struct scores scores = {0};
    double truth[N_ANTENNAS][3] = {{0}};
    float *cells = temporary(N_LINES * 2 * N_CELLS * sizeof *cells);
    open_search(&field);
    for (size_t trial = 0; trial < 60; trial++) {
        struct fx8_fringe items[N_LINES];
        memset(cells, 0, N_LINES * 2 * N_CELLS * sizeof *cells);
        for (size_t at = 0; at < (size_t)N_CELLS * N_MEAN; at++) {
            double e[N_ANTENNAS][2];
            const double s[2] = {random_normal(&g), random_normal(&g)};
            for (size_t a = 0; a < N_ANTENNAS; a++)
                for (size_t part = 0; part < 2; part++)
                    e[a][part] =
                        (s[part] + random_normal(&g)) / sqrt(4.0 * N_MEAN);
            size_t k = 0;
            for (size_t i = 0; i < N_ANTENNAS; i++)
                for (size_t j = i + 1; j < N_ANTENNAS; j++, k++) {
                    float *cell = cells + 2 * (k * N_CELLS + at / N_MEAN);
                    cell[0] += (float)(e[i][0] * e[j][0] + e[i][1] * e[j][1]);
                    cell[1] += (float)(e[i][0] * e[j][1] - e[i][1] * e[j][0]);
                }
        }
        for (size_t cell = 0; cell < N_CELLS; cell++)
            field.weights[cell] = 1.0F;
        size_t k = 0;
        for (size_t i = 0; i < N_ANTENNAS; i++)
            for (size_t j = i + 1; j < N_ANTENNAS; j++, k++) {
                items[k] = (struct fx8_fringe){.antennas = {i, j}};
                fx8_fringe_find(field.search, 0, cells + k * 2 * N_CELLS,
                                field.weights, &items[k]);
                items[k].coherence = exp(items[k].value[FX8_FRINGE_AMPLITUDE]);
                assert_near(items[k].coherence, 0.5, 0.05);
            }
        score_antennas(&scores, items, 0, truth);
    }
    check_scores(scores.closures, 8.0);
    check_scores(scores.antennas, 8.0);
    close_field(&field);
}

/* --- axes -------------------------------------------------------- */

TEST(axes_are_bounded_and_keep_positions)
{
    struct fx8_fringe_axis time, frequency;
    struct fx8_error error;
    enum { MANY = 20000 };
    double *times = temporary(MANY * sizeof *times), channels[300];
    for (size_t t = 0; t < MANY; t++)
        times[t] = 2.0 * (double)t;
    for (size_t c = 0; c < 300; c++) /* two bands with a gap of 100 channels */
        channels[c] = 1e8 + 1e4 * (double)(c < 150 ? c : c + 100);
    must(fx8_fringe_axes_open(MANY, times, 300, channels, &time, &frequency,
                              &error),
         error);
    assert_true(time.n * frequency.n <= FX8_FRINGE_CELLS);
    assert_int_equal(frequency.n, 400);
    assert_near(frequency.step, 1e4, 1e-6);
    assert_near(time.step, 16.0, 1e-9);
    for (size_t t = 0; t < MANY; t++)
        assert_near(time.position[time.cell[t]], times[t] - time.centre, 8.0);
    for (size_t c = 0; c < 300; c++)
        assert_near(frequency.position[frequency.cell[c]],
                    channels[c] - frequency.centre, 1e-3);
    assert_near(frequency.centre, 1e8 + 1e4 * 199.5, 1e-3);
    fx8_fringe_axis_clear(&time);
    fx8_fringe_axis_clear(&frequency);
}
