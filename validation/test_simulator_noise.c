/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_simulator_noise.c -- the numbers behind the simulator's noise: every
 * variant of its loops gives the same bits; normal numbers are those of Box and
 * Muller from the words of Philox, and are normal, white and independent.
 *
 * Shows (signals, simulated noise): every variant of the simulator's loops
 *     gives the same bits; their turns are those of the phases; noise has the
 *     moments, the distribution and the tails of a normal one, a flat spectrum,
 *     and no dependence on neighbours, inputs, purposes and seeds
 * Within: equal; 2^-20 of a turn's factor; 5 standard deviations of each
 *     statistic
 */
#include <complex.h>

#include "correlator/simulate/loops.h"
#include "kernels/fft.h"
#include "validation/simulated_array.h"

/* Numbers of a stream that statistics are formed of. */
enum { N = 1 << 22 };

static float *draw(struct fx8_random stream)
{
    float *normals = temporary(N * sizeof *normals);
    fx8_loops_find()->normals(stream, 0, N / 4, normals);
    return normals;
}

/* The noise of input 5 with seed 11. */
static const struct fx8_random one = {11, 2, 5};

/* --- variants ---------------------------------------------------- */

/* Numbers that a loop may read and write, and more that it must leave alone. */
enum { MOST = 1100 };

static float *fill(uint32_t item)
{
    float *numbers = temporary(MOST * sizeof *numbers);
    fx8_loops_reference.normals((struct fx8_random){1, 1, item}, 0, MOST / 4,
                                numbers);
    return numbers;
}

/* What all loops of a variant make of n numbers, tiles and all. */
struct made {
    float normals[MOST], turns[2][MOST], spectrum[2][MOST], joined[2 * MOST];
    float turned[2][2 * MOST], tone[2][2 * MOST], fades[2][MOST];
    int8_t samples[MOST];
    int64_t n_clamped;
};

static void make_all(const struct fx8_loops *loops, size_t n, struct made *made)
{
    const float *a = fill(1), *b = fill(2), *c = fill(3), *d = fill(4);
    const struct fx8_turning turning = {a, b, c, d};
    memset(made, 0, sizeof *made);
    /* the indices pass 2^32 */
    loops->normals(one, (UINT64_C(1) << 32) - n / 8, n / 4, made->normals);
    loops->rotate(UINT64_C(0x123456789abcdef0) * n, UINT64_MAX / 77, n,
                  made->turns[0], made->turns[1]);
    loops->add_signal(&turning, n / FX8_LOOPS_TILE, c, d, made->spectrum[0],
                      made->spectrum[1]);
    loops->join(n / 2, a, b, -1.0f, made->joined);
    loops->add_turned_real(n, a, b, c, d, made->turned[0]);
    loops->add_turned_complex(n / 2, a, b, c, made->turned[1]);
    loops->add_tone(&turning, n / FX8_LOOPS_TILE, 1, made->tone[0]);
    loops->add_tone(&turning, n / FX8_LOOPS_TILE, 2, made->tone[1]);
    loops->fade_out(n, a, b, made->fades[0]);
    loops->fade_in(n, b, c, made->fades[0]);
    made->n_clamped = loops->quantise(
        n, a, b, 40.0f, (const float[]){1.5f, -1.5f}, made->samples);
}

TEST(variants_give_the_same_bits)
{
    static const size_t sizes[] = {0, 4, 28, 32, 60, 512, 1000, 1024, MOST};
    struct made *expected = temporary(sizeof *expected);
    struct made *made = temporary(sizeof *made);
    assert_ptr_equal(fx8_loops_variant(0), &fx8_loops_reference);
    for (size_t k = 1; k < fx8_loops_count(); k++)
        for (size_t s = 0; s < LENGTH(sizes); s++) {
            const struct fx8_loops *loops = fx8_loops_variant(k);
            if (loops == NULL)
                continue;
            make_all(&fx8_loops_reference, sizes[s], expected);
            make_all(loops, sizes[s], made);
            if (memcmp(made, expected, sizeof *made) != 0)
                fail_msg("%s, %zu numbers", loops->name, sizes[s]);
        }
}

/* --- single numbers ---------------------------------------------- */

/* In double from the phase of each number, over steps of either sign. */
TEST(turns_are_those_of_their_phases)
{
    enum { TURNS = 1000 };
    const uint64_t base = UINT64_C(0x123456789abcdef0);
    const uint64_t steps[] = {UINT64_MAX / 77, -(UINT64_MAX / 1001),
                              UINT64_C(0x7fffffff)};
    for (size_t s = 0; s < LENGTH(steps); s++) {
        float re[TURNS], im[TURNS];
        fx8_loops_find()->rotate(base, steps[s], TURNS, re, im);
        for (size_t k = 0; k < TURNS; k++) {
            const double angle =
                two_pi * (double)(base + k * steps[s]) * 0x1p-64;
            assert_near(re[k], cos(angle), 0x1p-20);
            assert_near(im[k], sin(angle), 0x1p-20);
        }
    }
}

/* In double from the same words.  The argument of the logarithm is rounded to
 * float; every function is within 2^-21 of its value. */
TEST(normals_are_those_of_box_and_muller)
{
    enum { WORDS = 100000 };
    float *normals = temporary(4 * WORDS * sizeof *normals);
    fx8_loops_find()->normals(one, 7, WORDS, normals);
    for (size_t k = 0; k < 2 * WORDS; k++) {
        uint32_t words[4];
        fx8_random_words(one, 7 + k / 2, words);
        const uint32_t *pair = words + k % 2 * 2;
        const double u = (double)((float)pair[0] + 0.5f) * 0x1p-32;
        const double radius = sqrt(-2 * log(u));
        const double angle = two_pi * (double)pair[1] * 0x1p-32;
        assert_near(normals[2 * k], radius * cos(angle), 7 * 0x1p-21);
        assert_near(normals[2 * k + 1], radius * sin(angle), 7 * 0x1p-21);
    }
}

/* Half to even, clamped, counted from 127.5 on. */
TEST(rounding_is_half_to_even)
{
    static const struct {
        float sky;
        int sample;
        int64_t n_clamped;
    } cases[] = {{0.5f, 0, 0},     {1.5f, 2, 0},       {-0.5f, 0, 0},
                 {-2.5f, -2, 0},   {126.5f, 126, 0},   {127.49f, 127, 0},
                 {127.5f, 127, 1}, {-127.5f, -127, 1}, {1e9f, 127, 1},
                 {-1e9f, -127, 1}};
    const float noise = 0.0f, gain[2] = {1.0f, 1.0f};
    for (size_t k = 0; k < LENGTH(cases); k++) {
        int8_t sample;
        assert_int_equal(fx8_loops_find()->quantise(1, &cases[k].sky, &noise,
                                                    16.0f, gain, &sample),
                         cases[k].n_clamped);
        assert_int_equal(sample, cases[k].sample);
    }
}

/* --- statistics of one stream ------------------------------------ */

/* Variances of the means of powers 1 to 4 of normal numbers: 1, 2, 15, 96. */
TEST(moments_are_those_of_normal_numbers)
{
    static const double expected[] = {0, 1, 0, 3}, variance[] = {1, 2, 15, 96};
    const float *x = draw(one);
    for (int power = 1; power <= 4; power++) {
        double sum = 0;
        for (size_t k = 0; k < N; k++)
            sum += pow((double)x[k], power);
        assert_near(sum / N, expected[power - 1],
                    5 * sqrt(variance[power - 1] / N));
    }
}

/* Check a sum of squares over their expectation by its mean and variance. */
static void check_chi_square(double sum, size_t degrees)
{
    assert_near(sum, (double)degrees, 5 * sqrt(2.0 * (double)degrees));
}

/* Which of `n` equally frequent classes. */
static size_t classify(float x, size_t n)
{
    const double share = 0.5 * erfc(-(double)x / sqrt(2.0));
    const size_t class = (size_t)(share * (double)n);
    return class < n ? class : n - 1;
}

TEST(the_distribution_is_normal)
{
    enum { CLASSES = 1000 };
    const float *x = draw(one);
    double counts[CLASSES] = {0}, sum = 0;
    for (size_t k = 0; k < N; k++)
        counts[classify(x[k], CLASSES)]++;
    const double expected = (double)N / CLASSES;
    for (size_t c = 0; c < CLASSES; c++)
        sum += pow(counts[c] - expected, 2) / expected;
    check_chi_square(sum, CLASSES - 1);
    for (int limit = 3; limit <= 4; limit++) {
        double n = 0;
        for (size_t k = 0; k < N; k++)
            n += fabsf(x[k]) > (float)limit;
        const double beyond = N * erfc(limit / sqrt(2.0));
        assert_near(n, beyond, 5 * sqrt(beyond));
    }
}

/* Mean power of each bin over the spectra of 1024 complex numbers. */
TEST(the_spectrum_is_flat)
{
    enum { LENGTH_OF = 1024, SPECTRA = N / 2 / LENGTH_OF };
    const float *x = draw(one);
    struct fx8_fft *fft;
    struct fx8_error error;
    must(fx8_fft_open(FX8_FFT_COMPLEX, LENGTH_OF, 1, false, &fft, &error),
         error);
    float *data = temporary(fx8_fft_size(fft) * sizeof *data);
    double power[LENGTH_OF] = {0}, sum = 0;
    for (size_t s = 0; s < SPECTRA; s++) {
        memcpy(data, x + s * 2 * LENGTH_OF, 2 * LENGTH_OF * sizeof *data);
        const float *bins = fx8_fft_execute(fft, data);
        for (size_t k = 0; k < LENGTH_OF; k++)
            power[k] += (double)(bins[2 * k] * bins[2 * k] +
                                 bins[2 * k + 1] * bins[2 * k + 1]);
    }
    fx8_fft_close(&fft);
    /* a mean of SPECTRA exponential numbers */
    for (size_t k = 0; k < LENGTH_OF; k++)
        sum += pow(power[k] / (2.0 * LENGTH_OF * SPECTRA) - 1, 2) * SPECTRA;
    check_chi_square(sum, LENGTH_OF);
}

/* --- independence ------------------------------------------------ */

/* Pairs x[k], y[k], each in one of 32 classes. */
static void check_pairs(const float *x, const float *y, size_t n)
{
    enum { CLASSES = 32 };
    static double counts[CLASSES][CLASSES];
    memset(counts, 0, sizeof counts);
    double product = 0, sum = 0;
    for (size_t k = 0; k < n; k++) {
        product += (double)x[k] * (double)y[k];
        counts[classify(x[k], CLASSES)][classify(y[k], CLASSES)]++;
    }
    assert_near(product, 0, 5 * sqrt((double)n));
    const double expected = (double)n / CLASSES / CLASSES;
    for (size_t c = 0; c < CLASSES * CLASSES; c++)
        sum += pow(counts[c / CLASSES][c % CLASSES] - expected, 2) / expected;
    check_chi_square(sum, CLASSES * CLASSES - 1);
}

/* Parts of a sample, samples of one address, neighbours, and those of a lane of
 * vectors. */
TEST(neighbours_are_independent)
{
    static const size_t lags[] = {1, 2, 3, 4, 32, 1024};
    const float *x = draw(one);
    for (size_t k = 0; k < LENGTH(lags); k++)
        check_pairs(x, x + lags[k], N / 4);
}

/* The next input, the next purpose, the next seeds, the last one. */
TEST(streams_are_independent)
{
    static const struct fx8_random others[] = {{11, 2, 6},
                                               {11, 3, 5},
                                               {12, 2, 5},
                                               {11 + (UINT64_C(1) << 32), 2, 5},
                                               {11, 2, 0}};
    const float *x = draw(one);
    for (size_t k = 0; k < LENGTH(others); k++)
        check_pairs(x, draw(others[k]), N / 4);
}
