/* SPDX-License-Identifier: BSD-3-Clause */
/* fft.cu -- see channelizer.cuh: cuFFT in single precision. */
#include <cufft.h>

#include "validation/gpu/channelizer.cuh"

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

} // namespace bench
