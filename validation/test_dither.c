/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_dither.c -- the noise that is added before rounding.
 *
 * Shows (kernels, dither): the generator is Philox4x32-7 as published; each
 *     spectrum, channel, input, band, dump and component has a number of its
 *     own, uniform in a step and without correlation; with them the mean error
 * of rounding is 0 at any level, and its variance f (1 - f), f the fraction
 * Within: known answers to the bit; mean error 3·2⁻¹⁷ of a step; counts and
 *     correlations 5 standard deviations
 * Because: half of one of 2¹⁶ values, and one that the sum rounds to a tie;
 *     5 standard deviations have a chance of 6e-7
 */
#include <math.h>

#include "kernels/numeric/dither.h"
#include "validation/testing.h"

/* --- the generator ---------------------------------------------------- */

/* Random123 1.14, tests/kat_vectors, lines "philox4x32 7". */
TEST(known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], words[4];
    } known[] = {
        {{0, 0, 0, 0},
         {0, 0},
         {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}},
        {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
         {UINT32_MAX, UINT32_MAX},
         {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        uint32_t words[4];
        memcpy(words, known[k].counter, sizeof words);
        fx8_philox(words, known[k].key[0], known[k].key[1]);
        assert_memory_equal(words, known[k].words, sizeof words);
    }
}

/* Sixteen spectra take four calls, each word of them once. */
TEST(every_word_serves_one_spectrum)
{
    for (int64_t first = 0; first < 3 * FX8_DITHER_SPECTRA;
         first += FX8_DITHER_SPECTRA) {
        unsigned used = 0;
        for (int64_t t = first; t < first + FX8_DITHER_SPECTRA; t++) {
            const uint32_t call = fx8_dither_call(t) - (uint32_t)first / 4;
            assert_true(call < 4);
            used |= 1u << (4 * (int)call + fx8_dither_word(t));
        }
        assert_int_equal(used, 0xffff);
    }
}

/* --- noise ------------------------------------------------------------ */

TEST(noise_fills_a_step)
{
    double sum = 0;
    for (int32_t bits = -32768; bits < 32768; bits++) {
        const float noise = fx8_dither_noise(bits);
        assert_true((double)noise == (bits + 0.5) / 65536);
        assert_true(fabsf(noise) < 0.5f && rintf(0.0f + noise) == 0.0f);
        assert_true(noise == -fx8_dither_noise(-1 - bits));
        sum += (double)noise;
    }
    assert_true(sum == 0);
    assert_true(fx8_dither_re(0x7fff8000) == fx8_dither_noise(-32768));
    assert_true(fx8_dither_im(0x7fff8000) == fx8_dither_noise(32767));
}

/* Over all its values, noise makes rounding right on average, where plain
 * rounding is off by up to half a step. */
TEST(mean_error_of_rounding)
{
    double worst = 0, plain = 0;
    for (int k = -500; k <= 500; k++) {
        const float x = (float)k / 173.0f;
        double error = 0, square = 0;
        for (int32_t bits = -32768; bits < 32768; bits++) {
            const double e =
                (double)rintf(x + fx8_dither_noise(bits)) - (double)x;
            error += e / 65536;
            square += e * e / 65536;
        }
        worst = fmax(worst, fabs(error));
        plain = fmax(plain, (double)fabsf(rintf(x) - x));
        const double f = (double)x - floor((double)x);
        assert_true(fabs(square - f * (1 - f)) < 1e-4);
    }
    assert_true(worst <= 3 * 0x1p-17 && plain > 0.49);
}

/* Noise of neighbours in every axis of its place. */
enum axis { SPECTRUM, CHANNEL, INPUT, BAND, DUMP, N_AXES };

#define N_SPECTRA 1024
#define N_OTHERS  4 /* channels, inputs, bands, dumps */

static double noise_at(const size_t place[N_AXES], int part)
{
    const struct fx8_dither dither = {
        .input = (uint32_t)place[INPUT],
        .band_hz = (uint32_t)place[BAND],
        .channel = 40,
        .first_sample = (int64_t)place[DUMP] << 31,
        .spectrum = 8192,
    };
    const uint32_t word =
        fx8_dither_at(&dither, place[SPECTRUM], place[CHANNEL]);
    return (double)(part == 0 ? fx8_dither_re(word) : fx8_dither_im(word));
}

/* The next of N_SPECTRA x N_OTHERS^4 places; false at the end. */
static bool step(size_t place[N_AXES])
{
    for (int axis = 0; axis < N_AXES; axis++) {
        if (++place[axis] < (axis == SPECTRUM ? N_SPECTRA : N_OTHERS))
            return true;
        place[axis] = 0;
    }
    return false;
}

/* A sum of n products of independent noise has a variance of n / 144. */
static void assert_small(double sum, double n)
{
    assert_true(fabs(sum) < 5 * sqrt(n / 144));
}

TEST(noise_is_uniform_and_independent)
{
    enum { N_BINS = 64 };
    static double counts[2][N_BINS];
    double n = 0, parts = 0, lags[N_AXES][2][2] = {{{0}}}, sums[2] = {0};
    size_t place[N_AXES] = {0};
    do {
        const double own[2] = {noise_at(place, 0), noise_at(place, 1)};
        parts += own[0] * own[1];
        for (int part = 0; part < 2; part++) {
            counts[part][(int)((own[part] + 0.5) * N_BINS)]++;
            sums[part] += own[part];
        }
        for (int axis = 0; axis < N_AXES; axis++) {
            size_t next[N_AXES];
            memcpy(next, place, sizeof next);
            next[axis]++;
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++)
                    lags[axis][a][b] += own[a] * noise_at(next, b);
        }
        n++;
    } while (step(place));
    assert_small(parts, n);
    for (int axis = 0; axis < N_AXES; axis++)
        for (int k = 0; k < 4; k++)
            assert_small(lags[axis][k / 2][k % 2], n);
    for (int part = 0; part < 2; part++) {
        double chi_2 = 0;
        for (int bin = 0; bin < N_BINS; bin++) {
            const double off = counts[part][bin] - n / N_BINS;
            chi_2 += off * off / (n / N_BINS);
        }
        assert_true(fabs(chi_2 - (N_BINS - 1)) < 5 * sqrt(2.0 * (N_BINS - 1)));
        assert_true(fabs(sums[part]) < 5 * sqrt(n / 12));
    }
}
