/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator's random numbers, power, clipping, gaps and blocks;
 * test_simulator_sky.c tests phases.
 *
 * Shows: as python/test_simulate.py
 */
#include "correlator/simulate/random.h"
#include "validation/simulated_array.h"

/* --- random numbers ---------------------------------------------- */

/* Known answers of Philox4x32-10 from the Random123 distribution. */
TEST(philox_known_answers)
{
    uint32_t words[4];
    fx8_random_words((struct fx8_random){0, 0, 0}, 0, words);
    const uint32_t zeros[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    assert_memory_equal(words, zeros, sizeof words);
    fx8_random_words((struct fx8_random){UINT64_MAX, UINT32_MAX, UINT32_MAX},
                     UINT64_MAX, words);
    const uint32_t ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    assert_memory_equal(words, ones, sizeof words);
    fx8_random_words((struct fx8_random){UINT64_C(0x299f31d0a4093822),
                                         0x13198a2e, 0x03707344},
                     UINT64_C(0x85a308d3243f6a88), words);
    const uint32_t digits[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    assert_memory_equal(words, digits, sizeof words);
}

/* --- determinism ------------------------------------------------- */

static void check_blocks(const struct fx8_simulation *plan)
{
    const size_t parts = plan->is_complex ? 2 : 1;
    const size_t n = (size_t)plan->n_samples;
    int8_t *whole = simulate(plan);
    struct fx8_simulation threaded = *plan;
    threaded.n_threads = 2;
    assert_memory_equal(simulate(&threaded), whole, n * INPUTS * parts);
    threaded.n_threads = 3;
    struct fx8_simulator *simulator = open_simulator(&threaded);
    int8_t *part = temporary(n * INPUTS * parts);
    static const size_t sizes[] = {1, 777, 8192, 20001, 5};
    size_t first = 0;
    for (size_t k = 0; first < n; k++) {
        const size_t want = sizes[k % 5];
        const size_t run = want < n - first ? want : n - first;
        memset(part, 99, run * INPUTS * parts);
        fx8_simulator_read(simulator, (int64_t)first, (int64_t)run, part);
        for (size_t i = 0; i < INPUTS; i++)
            assert_memory_equal(part + i * run * parts,
                                whole + (i * n + first) * parts, run * parts);
        first += run;
    }
    /* and backwards: enough of it for a wrong direction to show in 8 bits */
    const size_t back = 3000;
    assert_true(n > 10 + back);
    fx8_simulator_read(simulator, 10, (int64_t)back, part);
    for (size_t i = 0; i < INPUTS; i++)
        assert_memory_equal(part + i * back * parts,
                            whole + (i * n + 10) * parts, back * parts);
    fx8_simulator_close(&simulator);
}

TEST(blocks_and_threads_change_nothing)
{
    struct fx8_source sources[] = {make_source(50, 40, 0.5, 0.1, 0.2, 0.3),
                                   make_source(20, 70, 3, 0, 0, 0)};
    sources[1].is_tone = true;
    sources[1].tone_hz = 100.123e6;
    struct fx8_simulation plan = make_plan();
    plan.sources = sources;
    plan.n_sources = 2;
    plan.gain_spread = 0.1;
    plan.gain_phase_deg = 20;
    plan.dropout_fraction = 0.05;
    check_blocks(&plan);
    plan.is_complex = false;
    plan.lower_sideband = false;
    check_blocks(&plan);
    /* 2 s at 50 kHz, so that directions are updated on the way, and computed
     * again when it is read backwards */
    for (size_t s = 0; s < 2; s++) {
        sources[s].is_celestial = true;
        sources[s].icrs_deg[0] = 100.0 * (double)s;
    }
    sources[1].tone_hz = 100.0123e6;
    plan.sample_rate = (struct fx8_rate){50000, 1};
    plan.position_m = wide_positions;
    place_plan(&plan);
    check_blocks(&plan);
    plan.is_complex = true;
    check_blocks(&plan);
}

TEST(seeds_differ)
{
    struct fx8_simulation plan = make_plan();
    plan.n_samples = 1000;
    enum { SIZE = 1000 * INPUTS * 2 };
    int8_t *a = simulate(&plan), *again = simulate(&plan);
    assert_memory_equal(a, again, SIZE);
    plan.seed++;
    int8_t *b = simulate(&plan);
    size_t n_equal = 0;
    for (size_t k = 0; k < SIZE; k++)
        n_equal += a[k] == b[k];
    /* independent normals of rms 12 agree once in about 42 */
    assert_true(n_equal < SIZE / 20);
}

/* --- power ------------------------------------------------------- */

TEST(noise_has_the_power_it_should)
{
    struct fx8_simulation plan = make_plan();
    plan.gain_spread = 0.2;
    plan.gain_phase_deg = 36;
    struct fx8_simulator *simulator = open_simulator(&plan);
    int8_t *samples = simulate(&plan);
    const size_t n = 2 * (size_t)plan.n_samples;
    double log_gain = 0, turns = 0;
    for (size_t i = 0; i < INPUTS; i++) {
        double sum = 0;
        for (size_t k = 0; k < n; k++)
            sum += samples[i * n + k] * samples[i * n + k];
        const double gain = fx8_simulator_gain(simulator, i);
        const double expected = 144 * gain * gain + 1.0 / 12;
        /* per real number; fx8_simulator_noise is per sample */
        assert_true(fabs(fx8_simulator_noise(simulator, i) / expected / 2 - 1) <
                    1e-12);
        assert_true(fabs(sum / (double)n / expected - 1) <
                    5 * sqrt(2.0 / (double)n));
        log_gain += log(gain) * log(gain) / INPUTS;
        turns += pow(fx8_simulator_gain_turns(simulator, i), 2) / INPUTS;
    }
    /* sums of six squares of normals: outside these limits once in a thousand
     * seeds */
    assert_true(log_gain > 0.04 * 0.05 && log_gain < 0.04 * 4);
    assert_true(turns > 0.01 * 0.05 && turns < 0.01 * 4);
    assert_int_equal(fx8_simulator_clipped(simulator), 0);
    fx8_simulator_close(&simulator);
}

/* The windows of overlapping blocks leave no trace: a source has the same power
 * in each sixteenth of the way from block to block, 7/8 of 2048 samples, or
 * half of them if it moves. */
TEST(power_is_stationary)
{
    enum { SECTIONS = 16 };
    for (size_t is_moving = 0; is_moving < 2; is_moving++) {
        const size_t section = (size_t)(is_moving ? 1024 : 1792) / SECTIONS;
        struct fx8_source source = make_source(70, 30, 400, 0, 0, 0);
        struct fx8_simulation plan = make_plan();
        plan.n_samples = 1024 * 1792 / 2;
        plan.noise_rms = 0;
        plan.sources = &source;
        plan.n_sources = 1;
        place_plan(&plan);
        source.is_celestial = is_moving;
        int8_t *samples = simulate(&plan);
        double power[SECTIONS] = {0};
        for (size_t n = 0; n < (size_t)plan.n_samples; n++) {
            const int8_t *sample = samples + 2 * n;
            power[n / section % SECTIONS] +=
                sample[0] * sample[0] + sample[1] * sample[1];
        }
        const double each = (double)plan.n_samples / SECTIONS;
        for (size_t k = 0; k < SECTIONS; k++)
            assert_near(power[k] / each / (800 + 1.0 / 6), 1, 5 / sqrt(each));
    }
}

/* Longer than the steps whose directions are known at a time, 256 of 1792
 * samples. */
TEST(long_reads_are_short_ones)
{
    const struct fx8_source source = make_source(70, 30, 1, 0.5, 0, 0);
    struct fx8_simulation plan = make_plan();
    enum { LIMIT = 256 * 1792, MORE = 5000, PART = 3000 };
    plan.n_samples = LIMIT + MORE;
    plan.sources = &source;
    plan.n_sources = 1;
    int8_t *whole = simulate(&plan), *part = temporary(2 * PART * INPUTS);
    struct fx8_simulator *simulator = open_simulator(&plan);
    fx8_simulator_read(simulator, LIMIT - PART / 2, PART, part);
    for (size_t i = 0; i < INPUTS; i++)
        assert_memory_equal(part + 2 * i * PART,
                            whole + 2 * (i * (LIMIT + MORE) + LIMIT - PART / 2),
                            2 * PART);
    fx8_simulator_close(&simulator);
}

TEST(clamped_numbers_are_counted)
{
    struct fx8_simulation plan = make_plan();
    plan.noise_rms = 80;
    struct fx8_simulator *simulator = open_simulator(&plan);
    const size_t n = 2 * (size_t)plan.n_samples * INPUTS;
    int8_t *samples = temporary(n);
    fx8_simulator_read(simulator, 0, plan.n_samples, samples);
    int64_t n_extreme = 0;
    for (size_t k = 0; k < n; k++) {
        assert_true(samples[k] >= -127);
        n_extreme += abs(samples[k]) == 127;
    }
    /* clamped means beyond 127.5: some of the extremes were only rounded */
    const double expected = (double)n * erfc(127.5 / 80 / sqrt(2));
    const int64_t clipped = fx8_simulator_clipped(simulator);
    assert_true(clipped <= n_extreme);
    assert_true(fabs((double)clipped - expected) < 5 * sqrt(expected));
    fx8_simulator_read(simulator, 0, 10, samples);
    assert_int_equal(fx8_simulator_clipped(simulator), clipped);
    fx8_simulator_close(&simulator);
}

/* --- dropouts ---------------------------------------------------- */

TEST(dropouts_are_blank_and_listed)
{
    struct fx8_simulation plan = make_plan();
    plan.noise_rms = 60; /* few zeros of the noise itself: 0.7 % of the parts */
    int8_t *full = simulate(&plan);
    plan.dropout_fraction = 0.1;
    int8_t *gappy = simulate(&plan);
    struct fx8_simulator *simulator = open_simulator(&plan);
    size_t n_missing;
    const struct fx8_missing *missing =
        fx8_simulator_missing(simulator, &n_missing);
    const size_t n = (size_t)plan.n_samples;
    uint8_t *lost = temporary_zeros(n * INPUTS);
    int64_t total = 0;
    for (size_t m = 0; m < n_missing; m++) {
        assert_true(m == 0 ||
                    missing[m].first_sample >= missing[m - 1].first_sample);
        assert_true(missing[m].first_sample >= 0);
        assert_true(missing[m].first_sample + missing[m].n_samples <=
                    plan.n_samples);
        const size_t input = (size_t)missing[m].antenna * POLARIZATIONS +
                             (size_t)missing[m].polarization;
        for (int64_t k = 0; k < missing[m].n_samples; k++)
            lost[input * n + (size_t)(missing[m].first_sample + k)]++;
        total += missing[m].n_samples;
    }
    /* each of 32 gaps is rounded to a sample */
    assert_true(llabs(total - INPUTS * plan.n_samples / 10) <= 32 * INPUTS);
    for (size_t k = 0; k < n * INPUTS; k++) {
        assert_true(lost[k] <= 1);
        for (size_t part = 0; part < 2; part++)
            assert_int_equal(gappy[2 * k + part],
                             lost[k] ? 0 : full[2 * k + part]);
    }
    assert_memory_not_equal(lost, lost + n, n);
    fx8_simulator_close(&simulator);
}
