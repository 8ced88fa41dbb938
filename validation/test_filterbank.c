/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_filterbank.c -- the prototype filter against its formulas and against
 * the published shape for each choice of taps and window.
 *
 * Shows (kernels, filter bank): the filter agrees with its formula and the
 *     published shapes; the overlap of its windows agrees with a sum over all
 *     pairs
 * Within: weights 16 P·2⁻⁵² of the middle, their power (2n + 8)·2⁻⁵³; published
 *     shapes 0.006 dB at the edges, 0.06 dB beyond, widths 1.5 %; overlap
 *     10⁻¹⁰, or 10⁻⁵ between distant windows
 * Because: phases reach P π, and n additions round; half a unit of the last
 *     published digit; windows too far apart to be counted overlap by less
 *
 * Shows (kernels, filter in integers): FIR coefficients of 16 bits: every
 *     coefficient, spectra and visibilities; how the integer filter is chosen
 * Within: coefficients half a unit of 1/32767 of the largest; spectra 6
 *     standard deviations of that many roundings, visibilities twice their rms;
 *     integers equal in every variant
 * Because: rounding a coefficient costs half a unit; the rest is exact
 * In: test_kernels_f.c, test_engine.c, scenario/fir.py
 */
#include <math.h>

#include "kernels/filterbank.h"
#include "validation/complex_value.h"
#include "validation/testing.h"

static const double PI = 3.14159265358979323846;

static double *new_weights(enum fx8_filter_window window, size_t n_taps,
                           size_t length, bool has_sinc)
{
    double *weights = exact(n_taps * length * sizeof *weights);
    fx8_filterbank_weights(window, n_taps, length, has_sinc, weights);
    return weights;
}

/** W(u) sinc(x), straight from the definition. */
static double definition(enum fx8_filter_window window, size_t n_taps,
                         size_t length, bool has_sinc, size_t n)
{
    const double u = (double)n / (double)(n_taps * length - 1);
    const double x = ((double)n + 0.5) / (double)length - (double)n_taps / 2.0;
    const double w = window == FX8_FILTER_HAMMING
                         ? 0.54 - 0.46 * cos(2.0 * PI * u)
                     : window == FX8_FILTER_HANN ? 0.5 - 0.5 * cos(2.0 * PI * u)
                                                 : 1.0;
    const double sinc = x == 0.0 ? 1.0 : sin(PI * x) / (PI * x);
    return w * (has_sinc ? sinc : 1.0);
}

/* Two samples have equal weights in all windows, including Hann's zeros. */
static void check_weights(enum fx8_filter_window window, size_t n_taps,
                          size_t length)
{
    const size_t n = n_taps * length;
    const bool has_sinc = n_taps > 1;
    double *w = new_weights(window, n_taps, length, has_sinc);
    double power = 0;
    for (size_t k = 0; k < n; k++) {
        power += w[k] * w[k];
        assert_true(w[k] == w[n - 1 - k]); /* symmetric to the last bit */
    }
    /* Each of n additions rounds by at most 2^-53. */
    assert_near(power, 1.0, (double)(2 * n + 8) * 0x1p-53);
    /* Proportional to the definition, scaled to the middle weight.  Phases of
     * up to P pi cost P eps; 16 covers the libm calls. */
    const double middle = w[n / 2];
    const double scale =
        middle / definition(window, n_taps, length, has_sinc, n / 2);
    for (size_t k = 0; k < n && n > 2; k++)
        assert_near(w[k],
                    scale * definition(window, n_taps, length, has_sinc, k),
                    16.0 * (double)n_taps * 0x1p-52 * middle);
    free(w);
}

TEST(test_weights)
{
    static const size_t taps[] = {1, 2, 3, 4, 8, 16, 64};
    static const size_t lengths[] = {1, 2, 3, 7, 16, 100, 1024};
    for (size_t i = 0; i < 3 * 7 * 7; i++)
        check_weights((enum fx8_filter_window)(i % 3), taps[i / 3 % 7],
                      lengths[i / 21]);
}

/** |H(f)| relative to the centre, dB. */
static double response_db(const double *weights, size_t n_weights,
                          size_t length, double offset)
{
    double centre[2], at[2];
    fx8_filterbank_response(weights, n_weights, length, 0.0, centre);
    fx8_filterbank_response(weights, n_weights, length, offset, at);
    return 20.0 * log10(hypot(at[0], at[1]) / hypot(centre[0], centre[1]));
}

/** Largest offset, up to 4 channels, with a response above a threshold. */
static double half_width(const double *weights, size_t n_weights, size_t length,
                         double level_db)
{
    double offset = 4.0;
    while (offset > 0.0 &&
           response_db(weights, n_weights, length, offset) <= level_db)
        offset -= 0.0005;
    return offset;
}

/* Published shapes, N >= 64.  Tolerances: half a unit of the last published
 * digit and 0.01 dB for the remaining dependence on N. The width ratios were
 * published from a sweep of unstated step; computed in steps of 0.0005 channels
 * they are 2.66, 1.71, 1.80 and 1.37, up to 1 % above: 1.5 % still separates
 * the rows. */
static const struct shape {
    size_t n_taps;
    enum fx8_filter_window window;
    double edge_db, neighbour_db, beyond_db, width_ratio, enbw;
} shapes[] = {
    {1, FX8_FILTER_RECTANGULAR, -3.92, -200.0, -13.5, 0.0, 1.000},
    {4, FX8_FILTER_HAMMING, -6.08, -50.3, -67.9, 2.66, 0.799},
    {8, FX8_FILTER_HAMMING, -6.01, -64.0, -67.4, 1.70, 0.907},
    {8, FX8_FILTER_HANN, -6.03, -62.4, -81.3, 1.78, 0.895},
    {16, FX8_FILTER_HANN, -6.02, -80.4, -99.3, 1.36, 0.949},
};

static void check_shape(const struct shape *shape)
{
    const size_t length = 128, n_weights = shape->n_taps * length;
    double *w =
        new_weights(shape->window, shape->n_taps, length, shape->n_taps > 1);
    assert_true(fabs(response_db(w, n_weights, length, 0.5) - shape->edge_db) <
                0.006);
    assert_true(fabs(response_db(w, n_weights, length, -0.5) - shape->edge_db) <
                0.006);
    /* The rectangle has a null, up to rounding. */
    const double neighbour = response_db(w, n_weights, length, 1.0);
    if (shape->n_taps == 1)
        assert_true(neighbour < shape->neighbour_db);
    else
        assert_true(fabs(neighbour - shape->neighbour_db) < 0.06);

    double peak = -1000.0;
    for (double offset = 1.5; offset < 6.0; offset += 0.01)
        peak = fmax(peak, response_db(w, n_weights, length, offset));
    assert_true(fabs(peak - shape->beyond_db) < 0.06);

    if (shape->width_ratio > 0.0) {
        const double ratio = half_width(w, n_weights, length, -53.0) /
                             half_width(w, n_weights, length, -3.0);
        assert_true(fabs(ratio / shape->width_ratio - 1.0) < 0.015);
    }
    /* H(0)^2 = (sum w)^2 = N / ENBW. */
    double centre[2];
    fx8_filterbank_response(w, n_weights, length, 0.0, centre);
    double sum = 0.0;
    for (size_t n = 0; n < n_weights; n++)
        sum += w[n];
    assert_true(fabs(centre[0] - sum) <= 1e-12 * sum);
    assert_true(centre[1] == 0.0);
    assert_true(fabs((double)length / (centre[0] * centre[0]) - shape->enbw) <
                0.001);
    free(w);
}

TEST(test_shapes)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        check_shape(&shapes[i]);
}

/** The rectangle's response has a closed form:
 *  N^-1/2 e^(i pi f (N-1)/N) sin(pi f) / sin(pi f / N). */
TEST(test_response)
{
    const size_t length = 20;
    double *w = new_weights(FX8_FILTER_RECTANGULAR, 1, length, false);
    for (double f = -3.3; f < 3.4; f += 0.37) {
        double got[2];
        fx8_filterbank_response(w, length, length, f, got);
        const double size = sin(PI * f) / sin(PI * f / 20.0) / sqrt(20.0);
        const double phase = PI * f * 19.0 / 20.0;
        assert_true(fabs(got[0] - size * cos(phase)) < 1e-13);
        assert_true(fabs(got[1] - size * sin(phase)) < 1e-13);
    }
    free(w);
}

TEST(test_coefficients)
{
    const struct fx8_filterbank complex_bank = {true, 6, 4, 6};
    const struct fx8_filterbank real_bank = {false, 6, 4, 3};
    double *w = new_weights(FX8_FILTER_HAMMING, 4, 6, true);
    float c[48];
    for (int lower = 0; lower < 2; lower++)
        for (int odd = 0; odd < 2; odd++) {
            for (size_t i = 0; i < 48; i++)
                c[i] = NAN;
            fx8_filterbank_coefficients(&complex_bank, w, lower, odd, c);
            for (size_t n = 0; n < 24; n++) {
                const float want = (float)w[n];
                assert_true(c[2 * n] == want);
                assert_true(c[2 * n + 1] == (lower ? -want : want));
            }
            for (size_t i = 0; i < 48; i++)
                c[i] = NAN;
            fx8_filterbank_coefficients(&real_bank, w, lower, odd, c);
            for (size_t n = 0; n < 24; n++) {
                const float want = (float)w[n];
                const bool negated = lower && (n + (size_t)odd) % 2 == 1;
                assert_true(c[n] == (negated ? -want : want));
            }
            assert_true(isnan(c[24]));
        }
    free(w);
}

static void check_int16(enum fx8_filter_window window, size_t n_taps,
                        size_t length, bool lower)
{
    const struct fx8_filterbank bank = {.is_complex = false,
                                        .fft_length = length,
                                        .n_taps = n_taps,
                                        .n_channels = length / 2};
    const size_t n = n_taps * length;
    double *weights = new_weights(window, n_taps, length, n_taps > 1);
    float *coefficients = exact(n * sizeof *coefficients);
    int16_t *rounded = exact(n * sizeof *rounded);
    fx8_filterbank_coefficients(&bank, weights, lower, false, coefficients);
    const double scale = (double)fx8_filterbank_int16(n, coefficients, rounded);
    int most = 0;
    for (size_t k = 0; k < n; k++) {
        most = abs(rounded[k]) > most ? abs(rounded[k]) : most;
        /* half a unit; the float scale has its own error */
        assert_near(scale * rounded[k], (double)coefficients[k],
                    scale * 0.500007);
    }
    assert_int_equal(most, 32767); /* all 16 bits are used, -32768 is not */
    free(rounded);
    free(coefficients);
    free(weights);
}

TEST(test_int16)
{
    for (int window = 0; window < 3; window++)
        for (size_t n_taps = 1; n_taps <= 64; n_taps *= 2)
            for (size_t length = 2; length <= 512; length *= 4)
                for (int lower = 0; lower < 2; lower++)
                    check_int16((enum fx8_filter_window)window, n_taps, length,
                                lower != 0);
    /* Halves go to even; zero stays zero. */
    const float ties[] = {32767.0f, 0.5f, 1.5f, -0.5f, -2.5f, -32767.0f};
    const int16_t even[] = {32767, 0, 2, 0, -2, -32767};
    int16_t rounded[6];
    assert_true(fx8_filterbank_int16(6, ties, rounded) == 1.0f);
    assert_memory_equal(rounded, even, sizeof even);
    const float zero[2] = {0.0f, -0.0f};
    assert_true(fx8_filterbank_int16(2, zero, rounded) == 0.0f);
    assert_true(rounded[0] == 0 && rounded[1] == 0);
}

TEST(test_geometry)
{
    const struct fx8_filterbank even = {true, 8, 1, 8};
    const struct fx8_filterbank kept = {true, 9, 1, 5};
    const struct fx8_filterbank real = {false, 16, 1, 8};
    static const size_t even_bins[] = {4, 5, 6, 7, 0, 1, 2, 3};
    static const size_t kept_bins[] = {7, 8, 0, 1, 2};
    for (size_t channel = 0; channel < 8; channel++) {
        assert_int_equal(fx8_filterbank_bin(&even, channel),
                         even_bins[channel]);
        assert_int_equal(fx8_filterbank_bin(&real, channel), channel);
    }
    for (size_t channel = 0; channel < 5; channel++)
        assert_int_equal(fx8_filterbank_bin(&kept, channel),
                         kept_bins[channel]);
    assert_int_equal(fx8_filterbank_row(&even), 16);
    assert_int_equal(fx8_filterbank_row(&real), 16);
    assert_int_equal(fx8_filterbank_bins(&even), 8);
    assert_int_equal(fx8_filterbank_bins(&real), 9);
}

/* --- overlap
 * ------------------------------------------------------------------
 */

/* Weight of many spectra of one channel, M_eff / M, as published and measured
 * to three digits. */
TEST(published_worth_of_a_channel)
{
    static const struct {
        enum fx8_filter_window window;
        size_t n_taps;
        double worth;
    } cases[] = {{FX8_FILTER_HAMMING, 4, 0.951},
                 {FX8_FILTER_HAMMING, 8, 0.969},
                 {FX8_FILTER_HANN, 8, 0.967},
                 {FX8_FILTER_HANN, 16, 0.982}};
    for (size_t i = 0; i < 4; i++) {
        double *w = new_weights(cases[i].window, cases[i].n_taps, 1024, true);
        const double overlap = fx8_filterbank_overlap(w, cases[i].n_taps, 1024,
                                                      (size_t)1 << 40, 1);
        assert_near(1.0 / overlap, cases[i].worth, 0.0005);
        free(w);
    }
}

/* w_n exp(-2 pi i k n / N) of spectrum and channel `cell` at a sample. */
static double complex coefficient(const double *w, size_t n_taps, size_t length,
                                  const size_t cell[2], size_t sample)
{
    const size_t n = sample - cell[0] * length; /* wraps before the start */
    if (n >= n_taps * length)
        return 0.0;
    return w[n] *
           cexp(CMPLX(0.0, -2.0 * PI * (double)(cell[1] * n) / (double)length));
}

/* |<a, b>|^2 of the filters of two cells: the covariance of their products of
 * white noise. */
static double covariance(const double *w, size_t n_taps, size_t length,
                         const size_t a[2], const size_t b[2])
{
    double complex sum = 0.0;
    for (size_t sample = 0; sample < (a[0] + n_taps) * length; sample++)
        sum += coefficient(w, n_taps, length, a, sample) *
               conj(coefficient(w, n_taps, length, b, sample));
    return creal(sum * conj(sum));
}

/* All pairs of cells of a small block, one by one. */
TEST(overlap_is_the_variance_of_a_mean)
{
    enum { LENGTH = 8, SPECTRA = 6 };
    static const size_t taps[] = {1, 2, 4, 8};
    for (size_t i = 0; i < 12; i++)
        for (size_t channels = 1; channels <= LENGTH; channels += 3) {
            const size_t n_taps = taps[i / 3];
            double *w = new_weights((enum fx8_filter_window)(i % 3), n_taps,
                                    LENGTH, n_taps > 1);
            const size_t n = SPECTRA * channels;
            double sum = 0.0;
            for (size_t p = 0; p < n * n; p++) {
                const size_t a[2] = {p / n / channels, p / n % channels};
                const size_t b[2] = {p % n / channels, p % n % channels};
                sum += covariance(w, n_taps, LENGTH, a, b);
            }
            assert_near(
                fx8_filterbank_overlap(w, n_taps, LENGTH, SPECTRA, channels),
                sum / (double)n, 1e-10);
            free(w);
        }
}

/* sum over all k of R(d, k) is N sum of squares of the folded products. */
static double overlap_of_all_channels(const double *w, size_t n_taps,
                                      size_t length)
{
    double sum = 0.0;
    for (size_t d = 0; d < n_taps; d++)
        for (size_t n = 0; n < length; n++) {
            double folded = 0.0;
            for (size_t tap = 0; tap + d < n_taps; tap++)
                folded += w[tap * length + n] * w[(tap + d) * length + n];
            sum += (d > 0 ? 2.0 : 1.0) * folded * folded;
        }
    return (double)length * sum;
}

/* Rectangular windows do not overlap at all, whatever is averaged. */
TEST(nothing_overlaps_from_afar)
{
    static const size_t taps[] = {1, 2, 3, 4, 8, 16, 64};
    static const size_t lengths[] = {1, 2, 5, 64, 1000};
    const size_t many = (size_t)1 << 40;
    for (size_t i = 0; i < 3 * LENGTH(taps); i++) {
        const size_t n_taps = taps[i / 3];
        double *w = new_weights((enum fx8_filter_window)(i % 3), n_taps, 256,
                                n_taps > 1);
        assert_near(fx8_filterbank_overlap(w, n_taps, 256, many, many),
                    overlap_of_all_channels(w, n_taps, 256), 1e-5);
        free(w);
    }
    for (size_t i = 0; i < LENGTH(lengths); i++) {
        double *w = new_weights(FX8_FILTER_RECTANGULAR, 1, lengths[i], false);
        assert_near(fx8_filterbank_overlap(w, 1, lengths[i], 1000, lengths[i]),
                    1.0, 1e-12);
        free(w);
    }
}
