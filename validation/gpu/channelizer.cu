/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * channelizer.cu -- see bench.cuh: the kernels from samples to spectra as bytes
 * a second, each number counted once as it is read and once as it is written,
 * beside a copy.  cuFFT among them, in single and, where it has it, in half
 * precision.
 */
#include <cufft.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cuda/channelize.h"
#include "kernels/cuda/layout.h"
#include "kernels/filterbank.h"
#include "validation/gpu/bench.cuh"

#if defined(__CUDACC__) && __has_include(<cufftXt.h>)
#include <cuda_fp16.h>
#include <cufftXt.h>
#define HAS_HALF_FFT 1
#else
#define HAS_HALF_FFT 0
#endif

namespace bench
{

namespace
{

const fx8_filterbank banks[] = {
    {true, 64, 4, 64},
    {true, 1024, 8, 1024},
    {false, 1024, 8, 512},
    {true, 4096, 16, 4096},
};

constexpr size_t INPUTS = 64;

/** Samples, what becomes of them, and what is needed for it. */
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
          gain(INPUTS * b.n_channels), clips(INPUTS * b.n_channels),
          rotation(INPUTS * spectra)
    {
        fill_noise(bench, samples.data(), INPUTS * sample_bytes() / 16, 11);
        fill_filter();
        must(cudaMemset(clips.data(), 0,
                        INPUTS * b.n_channels * sizeof(unsigned long long)),
             "cudaMemset");
        upload(std::vector<float>(INPUTS * b.n_channels, 1.0F), gain.data());
        std::vector<fx8_rotation> turns(INPUTS * spectra);
        for (size_t k = 0; k < turns.size(); ++k)
            turns[k] = {1e-3 * static_cast<double>(k % 9973),
                        1e-5 * static_cast<double>(k % 997)};
        upload(turns, rotation.data());
        must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
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
        return {samples.data(), sample_bytes(), INPUTS,
                n_spectra,      bank.n_taps,    row,
                folded.data(),  stride};
    }
    fx8_cuda_turn_job turn(bool is_rotated) const
    {
        fx8_cuda_turn_job job = {};
        job.bank = bank;
        job.part.n_inputs = INPUTS;
        job.part.n_spectra = n_spectra;
        job.part.end_time = fx8_cuda_times(n_spectra);
        job.bins = reinterpret_cast<const fx8_cf32 *>(folded.data());
        job.bins_stride = stride / 2;
        job.rotation = is_rotated ? rotation.data() : nullptr;
        job.rotation_stride = n_spectra;
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
    /** Of so many bytes read and written for each number of a row of bins. */
    double bytes(size_t numbers, size_t bytes_of_number) const
    {
        return static_cast<double>(INPUTS * n_spectra * numbers) *
               static_cast<double>(bytes_of_number);
    }
};

void tell(Bench &bench, const Chain &chain, const char *name, double bytes,
          const Work &work)
{
    const double seconds = measure(bench, work);
    const double rate = bytes / seconds;
    const double share =
        bench.ceilings.copy > 0 ? rate / bench.ceilings.copy : 0;
    const double samples =
        static_cast<double>(INPUTS * chain.n_spectra * chain.bank.fft_length);
    const std::string where = std::string(name) + ", " +
                              std::to_string(chain.bank.fft_length) +
                              (chain.bank.is_complex ? " complex" : " real");
    if (std::strncmp(name, "FIR", 3) == 0)
        bench.goals.note(Aim::FIR, share, where);
    if (std::strncmp(name, "turn", 4) == 0)
        bench.goals.note(Aim::TURN, share, where);
    bench.report->text(
        "%5zu %-7s %4zu  %-22s %9.1f GB/s %6.2f %10.2f G/s\n",
        chain.bank.fft_length, chain.bank.is_complex ? "complex" : "real",
        chain.bank.n_taps, name, rate * 1e-9, share, samples / seconds * 1e-9);
    bench.report->row(
        Row("channelizer")
            .text("kernel", name)
            .number("fft_length", static_cast<double>(chain.bank.fft_length))
            .number("is_complex", chain.bank.is_complex)
            .number("taps", static_cast<double>(chain.bank.n_taps))
            .number("bytes_s", rate)
            .number("of_copy", share)
            .number("samples_s", samples / seconds));
}

/* --- FFT -------------------------------------------------------------------
 */

void must_fft(cufftResult status, const char *what)
{
    if (status != CUFFT_SUCCESS)
        throw Failure(std::string(what) + ": cuFFT error " +
                      std::to_string(static_cast<int>(status)));
}

/** A plan, destroyed with the object. */
class Plan
{
  public:
    explicit Plan(const Bench &bench) : plan_(0)
    {
        must_fft(cufftCreate(&plan_), "cufftCreate");
        must_fft(cufftSetStream(plan_, bench.stream), "cufftSetStream");
    }
    ~Plan()
    {
        (void)cufftDestroy(plan_);
    }
    Plan(const Plan &) = delete;
    Plan &operator=(const Plan &) = delete;
    cufftHandle get() const
    {
        return plan_;
    }

  private:
    cufftHandle plan_;
};

void measure_fft(Bench &bench, const Chain &chain)
{
    const Plan plan(bench);
    const bool is_complex = chain.bank.is_complex;
    int n = static_cast<int>(chain.bank.fft_length);
    int reals = static_cast<int>(chain.stride);
    int pairs = static_cast<int>(chain.stride / 2);
    size_t bytes = 0;
    must_fft(cufftMakePlanMany(plan.get(), 1, &n, is_complex ? &pairs : &reals,
                               1, is_complex ? pairs : reals, &pairs, 1, pairs,
                               is_complex ? CUFFT_C2C : CUFFT_R2C,
                               static_cast<int>(INPUTS * chain.n_spectra),
                               &bytes),
             "cufftMakePlanMany");
    /* Repeated in place they would overflow. */
    const Memory<float> out(INPUTS * chain.n_spectra * chain.stride);
    float *const data = chain.folded.data();
    cufftComplex *const in = reinterpret_cast<cufftComplex *>(data);
    cufftComplex *const bins = reinterpret_cast<cufftComplex *>(out.data());
    tell(bench, chain, "cuFFT fp32",
         chain.bytes(chain.row + 2 * chain.n_bins, sizeof(float)), [&](size_t) {
             must_fft(is_complex
                          ? cufftExecC2C(plan.get(), in, bins, CUFFT_FORWARD)
                          : cufftExecR2C(plan.get(), data, bins),
                      "cufftExec");
         });
}

#if HAS_HALF_FFT

constexpr size_t CHECKED_SPECTRA = 1024;

/* Numbers of a row, closed up. */
__global__ void bench_halves_kernel(const float *from, __half *to, size_t row,
                                    size_t stride, size_t n_rows)
{
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t k = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         k < row * n_rows; k += step)
        to[k] = __float2half_rn(from[k / row * stride + k % row]);
}

/** The rms of the difference of rows of halves and of floats, beside the rms of
 *  the floats. */
double relative_error(const Bench &bench, const Chain &chain,
                      const Memory<__half> &halves, const Memory<float> &floats)
{
    const size_t n = CHECKED_SPECTRA * chain.row;
    std::vector<__half> a(n);
    std::vector<float> b(CHECKED_SPECTRA * chain.stride);
    must(cudaStreamSynchronize(bench.stream), "cuFFT");
    download(halves.data(), &a);
    download(floats.data(), &b);
    double error = 0, power = 0;
    for (size_t k = 0; k < n; ++k) {
        const double x = static_cast<double>(
            b[k / chain.row * chain.stride + k % chain.row]);
        const double d = static_cast<double>(__half2float(a[k])) - x;
        error += d * d;
        power += x * x;
    }
    return std::sqrt(error / power);
}

/** Complex samples, lengths that are powers of two. */
void measure_half_fft(Bench &bench, const Chain &chain)
{
    const size_t n_rows = INPUTS * chain.n_spectra;
    const Memory<__half> halves(n_rows * chain.row), out(n_rows * chain.row);
    const fx8_cuda_fir_job fir = chain.fir();
    must(fx8_cuda_fir(&fir, chain.coefficients.data(), bench.stream), "FIR");
    bench_halves_kernel<<<4096, 256, 0, bench.stream>>>(
        chain.folded.data(), halves.data(), chain.row, chain.stride, n_rows);
    must(cudaGetLastError(), "halves");
    const Plan single(bench), half(bench);
    long long n = static_cast<long long>(chain.bank.fft_length);
    int length = static_cast<int>(n),
        pairs = static_cast<int>(chain.stride / 2);
    size_t bytes = 0;
    must_fft(cufftMakePlanMany(single.get(), 1, &length, &pairs, 1, pairs,
                               &pairs, 1, pairs, CUFFT_C2C,
                               static_cast<int>(CHECKED_SPECTRA), &bytes),
             "cufftMakePlanMany");
    must_fft(cufftXtMakePlanMany(half.get(), 1, &n, &n, 1, n, CUDA_C_16F, &n, 1,
                                 n, CUDA_C_16F, static_cast<long long>(n_rows),
                                 &bytes, CUDA_C_16F),
             "cufftXtMakePlanMany");
    cufftComplex *const bins =
        reinterpret_cast<cufftComplex *>(chain.folded.data());
    must_fft(cufftExecC2C(single.get(), bins, bins, CUFFT_FORWARD),
             "cufftExec");
    must_fft(cufftXtExec(half.get(), halves.data(), out.data(), CUFFT_FORWARD),
             "cufftXtExec");
    const double error = relative_error(bench, chain, out, chain.folded);
    bench.report->text("%5zu complex       cuFFT fp16: rms error %.2e of the "
                       "rms, beside fp32\n",
                       chain.bank.fft_length, error);
    bench.report->row(
        Row("half_fft_error")
            .number("fft_length", static_cast<double>(chain.bank.fft_length))
            .number("error", error));
    tell(bench, chain, "cuFFT fp16", chain.bytes(2 * chain.row, sizeof(__half)),
         [&](size_t) {
             must_fft(cufftXtExec(half.get(), halves.data(), out.data(),
                                  CUFFT_FORWARD),
                      "cufftXtExec");
         });
}

#else

void measure_half_fft(Bench &bench, const Chain &)
{
    bench.report->text("      cuFFT fp16: compiled without its header\n");
}

#endif

/* --- the section -----------------------------------------------------------
 */

void measure_bank(Bench &bench, const fx8_filterbank &bank)
{
    const size_t row = fx8_filterbank_row(&bank);
    const size_t n_spectra =
        bench.is_tiny()
            ? 32
            : std::max<size_t>(32, bench.streamed_bytes() / 2 / INPUTS / row);
    const Chain chain(bench, bank, n_spectra);
    const fx8_cuda_fir_job fir = chain.fir();
    const double fir_bytes = chain.bytes(row, 1 + sizeof(float));
    tell(bench, chain, "FIR fp32", fir_bytes, [&](size_t) {
        must(fx8_cuda_fir(&fir, chain.coefficients.data(), bench.stream),
             "FIR");
    });
    tell(bench, chain, "FIR dp2a", fir_bytes, [&](size_t) {
        must(fx8_cuda_fir_int16(&fir, chain.integers.data(), chain.scale,
                                bench.stream),
             "FIR");
    });
    measure_fft(bench, chain);
    const struct {
        const char *name;
        bool is_int8, is_rotated;
    } turns[] = {{"turn to int8", true, false},
                 {"turn to int8, rotated", true, true},
                 {"turn to fp32", false, false}};
    for (const auto &turn : turns) {
        const fx8_cuda_turn_job job = chain.turn(turn.is_rotated);
        const fx8_cuda_spectra out = chain.spectra(turn.is_int8, !turn.is_int8);
        tell(bench, chain, turn.name,
             chain.bytes(2 * bank.n_channels,
                         sizeof(float) + (turn.is_int8 ? 1 : sizeof(float))),
             [&](size_t) {
                 must(fx8_cuda_turn(&job, &out, bench.stream), "turn");
             });
    }
    if (bank.is_complex)
        measure_half_fft(bench, chain);
}

} // namespace

void measure_channelizer(Bench &bench)
{
    bench.report->text("%zu inputs; bytes that are read and written once, "
                       "share of the copy, samples\n"
                       "  FFT samples taps  kernel\n",
                       INPUTS);
    for (const fx8_filterbank &bank : banks) {
        if (bench.is_tiny() && bank.fft_length > 64)
            continue;
        if (bench.has_time())
            measure_bank(bench, bank);
        else
            bench.report->text("%5zu not measured: out of time\n",
                               bank.fft_length);
    }
}

} // namespace bench
