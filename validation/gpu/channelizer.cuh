/* SPDX-License-Identifier: BSD-3-Clause */
/* channelizer.cuh -- what channelizer.cu and fft.cu share: samples and spectra
 * of a filter bank, and the report of a stage's speed. */
#ifndef FX8_VALIDATION_GPU_CHANNELIZER_CUH
#define FX8_VALIDATION_GPU_CHANNELIZER_CUH

#include "kernels/cuda/channelize.h"
#include "kernels/cuda/layout.h"
#include "kernels/filterbank.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

constexpr size_t INPUTS = 64;

/** Samples, the results of each stage, and everything needed for them. */
struct Chain {
    fx8_filterbank bank;
    size_t n_spectra, row, n_bins, stride; /* floats from row to row */
    Memory<int8_t> samples;
    Memory<float> coefficients;
    Memory<int16_t> integers;
    float scale;
    Memory<float> folded;
    Memory<int8_t> int8;
    Memory<float> fp32;
    Memory<float> gain;
    Memory<unsigned long long> clips;
    Memory<fx8_rotation> rotation;

    Chain(const Bench &bench, const fx8_filterbank &b, size_t spectra)
        : bank(b), n_spectra(spectra), row(fx8_filterbank_row(&b)),
          n_bins(fx8_filterbank_bins(&b)), stride((2 * n_bins + 3) / 4 * 4),
          samples(INPUTS * sample_bytes()), coefficients(b.n_taps * row),
          integers(b.n_taps * row), scale(0), folded(INPUTS * spectra * stride),
          int8(spectra_bytes(1)), fp32(spectra_bytes(4) / 4),
          gain(std::vector<float>(INPUTS * b.n_channels, 1.0F)),
          clips(INPUTS * b.n_channels), rotation(INPUTS * fx8_groups(spectra))
    {
        fill_noise(bench, samples.data(), INPUTS * sample_bytes() / 16, 11);
        fill_filter();
        clips.clear(bench);
        std::vector<fx8_rotation> turns(INPUTS * fx8_groups(spectra));
        for (size_t k = 0; k < turns.size(); ++k)
            turns[k] = {k << 40, k << 42, k << 30, k << 50, k << 20, 0};
        upload(turns, rotation.data());
    }

    /** A multiple of 16. */
    size_t sample_bytes() const
    {
        return ((n_spectra + bank.n_taps - 1) * row + 15) / 16 * 16;
    }
    size_t spectra_bytes(size_t item_bytes) const
    {
        return bank.n_channels * fx8_cuda_times(n_spectra) *
                   fx8_cuda_pitch(INPUTS) * item_bytes +
               16 * FX8_CUDA_TAIL_ROWS;
    }
    void fill_filter()
    {
        std::vector<double> weights(bank.n_taps * bank.fft_length);
        std::vector<float> floats(bank.n_taps * row);
        std::vector<int16_t> rounded(bank.n_taps * row);
        fx8_filterbank_weights(FX8_FILTER_HAMMING, bank.n_taps, bank.fft_length,
                               true, weights.data());
        fx8_filterbank_coefficients(&bank, weights.data(), false, false,
                                    floats.data());
        scale =
            fx8_filterbank_int16(floats.size(), floats.data(), rounded.data());
        upload(floats, coefficients.data());
        upload(rounded, integers.data());
    }
    fx8_cuda_fir_job fir() const
    {
        fx8_cuda_fir_job job = {};
        job.samples = samples.data();
        job.row_stride = sample_bytes();
        job.n_inputs = INPUTS;
        job.n_spectra = n_spectra;
        job.n_taps = bank.n_taps;
        job.row = row;
        job.folded = folded.data();
        job.folded_stride = stride;
        return job;
    }
    fx8_cuda_corner_turn_job turn(bool is_rotated) const
    {
        fx8_cuda_corner_turn_job job = {};
        job.bank = bank;
        job.part.n_inputs = INPUTS;
        job.part.n_spectra = n_spectra;
        job.part.end_time = fx8_cuda_times(n_spectra);
        job.bins = reinterpret_cast<const fx8_cf32 *>(folded.data());
        job.bins_stride = stride / 2;
        job.rotation = is_rotated ? rotation.data() : nullptr;
        job.rotation_stride = fx8_groups(n_spectra);
        job.gain = gain.data();
        job.clips = clips.data();
        return job;
    }
    fx8_cuda_spectra spectra(bool is_int8, bool is_fp32) const
    {
        fx8_cuda_spectra s = {};
        s.int8 = is_int8 ? int8.data() : nullptr;
        s.fp32 = is_fp32 ? fp32.data() : nullptr;
        s.n_inputs = INPUTS;
        s.n_channels = bank.n_channels;
        s.n_times = fx8_cuda_times(n_spectra);
        return s;
    }
    /** With so many bytes read and written for each number of a row of bins. */
    double bytes(size_t numbers, size_t bytes_of_number) const
    {
        return static_cast<double>(INPUTS * n_spectra * numbers) *
               static_cast<double>(bytes_of_number);
    }
};

/** A stage measured: a line and a row.
 *  bytes: read and written by a call */
void tell_stage(Bench &bench, const Chain &chain, const char *name,
                double bytes, const Work &work);

/** cuFFT in single precision; null in a program without it. */
void measure_fft(Bench &bench, const Chain &chain) __attribute__((weak));

} // namespace bench

#endif
