/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filterbank_job.h -- random samples for an engine, and their spectra by the
 * definition of the filter bank, in double precision: for tests on machines
 * without another FFT.
 */
#ifndef FX8_VALIDATION_CUDA_FILTERBANK_JOB_H
#define FX8_VALIDATION_CUDA_FILTERBANK_JOB_H

#include <math.h>

#include <complex>
#include <vector>

#include "kernels/engine.h"
#include "validation/cuda/settings.h"

using Complex = std::complex<double>;

/** What is done to random samples; the kernel is a preference. */
struct Job {
    fx8_filterbank bank;
    size_t n_inputs, n_spectra;
    bool fir_int16, is_rotated, has_bounds;
    const char *kernel;

    size_t n_cells() const
    {
        return bank.n_channels * n_spectra * n_inputs;
    }
    /** Index of a cell; spectra are [channel][spectrum][input]. */
    size_t cell(size_t channel, size_t t, size_t input) const
    {
        return (channel * n_spectra + t) * n_inputs + input;
    }
    bool is_valid(size_t input, size_t t) const
    {
        return (t + 7 * input) % 11 != 3;
    }
    /** A dyadic fraction, so that both sides reduce the same phase. */
    fx8_rotation rotation(size_t input, size_t t) const
    {
        return {static_cast<double>((5 * t + 3 * input) % 64) / 32 - 1,
                static_cast<double>((t + input) % 16) / 128};
    }
};

/** The job's samples and weights, and its spectra in double precision, with the
 *  allowed error of each component in float. */
struct Expected {
    Job job;
    size_t row, row_stride;
    std::vector<int8_t> samples; /* [input][row_stride] */
    std::vector<float> coefficients, gains;
    std::vector<double> weights; /* as the FIR rounds them */
    std::vector<Complex> x;
    std::vector<double> limit;

    Expected(const Job &j, uint64_t *random_state)
        : job(j), row(fx8_filterbank_row(&j.bank)),
          row_stride((j.n_spectra + j.bank.n_taps - 1) * row),
          samples(j.n_inputs * row_stride), coefficients(j.bank.n_taps * row),
          gains(j.n_inputs * j.bank.n_channels), x(j.n_cells()),
          limit(j.n_cells())
    {
        for (int8_t &sample : samples) {
            const uint64_t random = harness::random_next(random_state);
            sample = static_cast<int8_t>(random % 64 == 0 ? 128 : random >> 32);
        }
        for (float &each : coefficients)
            each =
                static_cast<float>(harness::random_next(random_state) >> 44) *
                    0x1p-19F -
                1.0F;
        /* about 25 LSB rms; every eighth channel has thrice that and clips */
        const double power = 74.0 * 74.0 / 3.0 *
                             static_cast<double>(coefficients.size()) /
                             (job.bank.is_complex ? 1 : 2);
        for (size_t k = 0; k < gains.size(); ++k)
            gains[k] =
                static_cast<float>((k % 8 == 5 ? 75.0 : 25.0) / sqrt(power));
        round_weights();
        for (size_t input = 0; input < job.n_inputs; ++input)
            for (size_t t = 0; t < job.n_spectra; ++t)
                transform(input, t);
    }

  private:
    void round_weights()
    {
        weights.assign(coefficients.begin(), coefficients.end());
        if (!job.fir_int16)
            return;
        std::vector<int16_t> rounded(weights.size());
        const float scale = fx8_filterbank_int16(
            weights.size(), coefficients.data(), rounded.data());
        for (size_t k = 0; k < weights.size(); ++k)
            weights[k] = static_cast<double>(scale) * rounded[k];
    }
    /** Window and fold; returns the sum of magnitudes. */
    double fold(size_t input, size_t t, std::vector<Complex> *folded) const
    {
        const size_t parts = job.bank.is_complex ? 2 : 1;
        double magnitudes = 0;
        for (size_t r = 0; r < row; ++r) {
            double sum = 0;
            for (size_t p = 0; p < job.bank.n_taps; ++p) {
                const double product =
                    weights[p * row + r] *
                    samples[input * row_stride + (t + p) * row + r];
                sum += product;
                magnitudes += fabs(product);
            }
            (*folded)[r / parts] +=
                r % parts == 0 ? Complex(sum, 0) : Complex(0, sum);
        }
        return magnitudes;
    }
    /* A FIR rounds a sum once per tap and twice more.  A transform of N = 2^m
     * numbers y has |error| <= 7 m 2^-24 sqrt(N) |y| (Higham, Accuracy and
     * Stability of Numerical Algorithms, theorem 24.2, with twiddle factors
     * rounded to float); other factors of N: assumed twice that.  A rotation's
     * sine and cosine are within 2^-22, and four operations round. */
    void transform(size_t input, size_t t)
    {
        const size_t n = job.bank.fft_length;
        std::vector<Complex> folded(n);
        const double magnitudes = fold(input, t, &folded);
        double power = 0;
        for (const Complex &each : folded)
            power += std::norm(each);
        const double sum_limit =
            0x1p-24 * (static_cast<double>(job.bank.n_taps + 2) * magnitudes +
                       14 * log2(static_cast<double>(n)) *
                           sqrt(static_cast<double>(n) * power));
        const fx8_rotation turn = job.rotation(input, t);
        for (size_t c = 0; c < job.bank.n_channels; ++c) {
            const size_t k = fx8_filterbank_bin(&job.bank, c);
            Complex sum = 0;
            for (size_t m = 0; m < n; ++m)
                sum +=
                    folded[m] *
                    std::polar(1.0, -2 * M_PI * static_cast<double>(k * m % n) /
                                        static_cast<double>(n));
            double rotation_limit = 0;
            if (job.is_rotated) {
                sum *= std::polar(
                    1.0, 2 * M_PI *
                             (turn.phase_turns +
                              static_cast<double>(c) * turn.slope_turns));
                rotation_limit = 0x1p-21 * std::abs(sum);
            }
            const bool is_valid = job.is_valid(input, t);
            const size_t at = job.cell(c, t, input);
            x[at] = is_valid ? sum : 0;
            limit[at] = is_valid ? sum_limit + rotation_limit : 0;
        }
    }
};

#endif
