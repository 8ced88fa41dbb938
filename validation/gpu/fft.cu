/* SPDX-License-Identifier: BSD-3-Clause */
/* fft.cu -- see channelizer.cuh: cuFFT in single and, if it can, in half
 * precision. */
#include <cufft.h>

#include <cmath>

#include "validation/gpu/channelizer.cuh"

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

} // namespace

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
    /* Repeated in place, values would overflow. */
    const Memory<float> out(INPUTS * chain.n_spectra * chain.stride);
    float *const data = chain.folded.data();
    cufftComplex *const in = reinterpret_cast<cufftComplex *>(data);
    cufftComplex *const bins = reinterpret_cast<cufftComplex *>(out.data());
    tell_stage(bench, chain, "cuFFT fp32",
               chain.bytes(chain.row + 2 * chain.n_bins, sizeof(float)),
               [&](size_t) {
                   must_fft(is_complex ? cufftExecC2C(plan.get(), in, bins,
                                                      CUFFT_FORWARD)
                                       : cufftExecR2C(plan.get(), data, bins),
                            "cufftExec");
               });
}

#if HAS_HALF_FFT

namespace
{

constexpr size_t CHECKED_SPECTRA = 1024;

/* The numbers of a row without the gaps between rows. */
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

} // namespace

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
    tell_stage(bench, chain, "cuFFT fp16",
               chain.bytes(2 * chain.row, sizeof(__half)), [&](size_t) {
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

} // namespace bench
