/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook.cu -- see bench.cuh: the cells of a quick-look, as cells a second
 * and as bytes a second, visibilities counted once as they are read and halves
 * once as they are written, beside a copy.  engine.cu reports its share of a
 * whole dump.
 */
#include <cmath>
#include <cstdio>

#include "kernels/cuda/quicklook.h"
#include "kernels/operations.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

namespace
{

/** Antennas of one feed or two, and channels. */
struct Size {
    size_t n_antennas, n_feeds, n_channels;
};

const Size sizes[] = {{64, 1, 8192}, {256, 1, 2048}, {256, 2, 512}};

const struct {
    const char *name;
    fx8_functions_mode mode;
} modes[] = {{"ieee", FX8_FUNCTIONS_IEEE}, {"fast", FX8_FUNCTIONS_FAST}};

constexpr unsigned THREADS = 256, BLOCKS = 4096;

/** A number between -0.5 and 0.5 that looks random and is never 0. */
__host__ __device__ float noise_of(size_t k)
{
    const uint32_t mixed = static_cast<uint32_t>(k) * 2654435761U | 1U;
    return static_cast<float>(static_cast<int32_t>(mixed)) * 0x1p-32F;
}

__global__ void bench_noise_kernel(float *to, size_t n)
{
    const size_t step = static_cast<size_t>(gridDim.x) * THREADS;
    for (size_t k = static_cast<size_t>(blockIdx.x) * THREADS + threadIdx.x;
         k < n; k += step)
        to[k] = noise_of(k);
}

/** The visibilities of a dump and the plan of their quick-look: inputs of power
 *  1, products of 8192 spectra each. */
class Dump
{
  public:
    Dump(const Bench &bench, const Size &size)
        : size_(size), n_inputs_(size.n_antennas * size.n_feeds),
          n_products_(size.n_feeds * size.n_feeds),
          n_baselines_(fx8_pair_count(size.n_antennas)),
          products_(n_baselines_ * n_products_), is_real_(size.n_channels),
          levels_(n_inputs_ * size.n_channels),
          steps_(n_inputs_ * size.n_channels), visibilities_(2 * n_cells()),
          nsamples_(n_cells()), flags_(n_cells()), coherence_(2 * n_cells()),
          amplitude_(n_cells()), phase_(n_cells()),
          sums_(n_baselines_ * n_products_), notes_(1)
    {
        std::vector<fx8_product> products;
        for (size_t a = 0; a < size.n_antennas; ++a)
            for (size_t b = a; b < size.n_antennas; ++b)
                for (size_t p = 0; p < n_products_; ++p)
                    products.push_back(
                        {0, static_cast<uint32_t>(a * size.n_feeds),
                         static_cast<uint32_t>(b * size.n_feeds + p % 2), 0});
        upload(products, products_.data());
        upload(std::vector<float>(n_inputs_ * size.n_channels, 1.0F),
               levels_.data());
        upload(std::vector<float>(n_cells(), 1.0F), nsamples_.data());
        clear(steps_.data(), n_inputs_ * size.n_channels * sizeof(float));
        clear(is_real_.data(), size.n_channels);
        clear(flags_.data(), n_cells());
        clear(sums_.data(),
              n_baselines_ * n_products_ * sizeof(fx8_fisher_sums));
        clear(notes_.data(), sizeof(fx8_cell_notes));
        must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        FX8_LAUNCH(bench_noise_kernel, dim3(bench.is_tiny() ? 1 : BLOCKS),
                   dim3(THREADS), 0, bench.stream, visibilities_.data(),
                   2 * n_cells());
        must(cudaGetLastError(), "noise");
    }
    size_t n_cells() const
    {
        return n_baselines_ * n_products_ * size_.n_channels;
    }
    void run(const Bench &bench, fx8_functions_mode mode) const
    {
        fx8_cuda_quicklook_job job = {};
        fx8_quicklook_work &work = job.work;
        work.n_products = n_products_;
        work.n_inputs = n_inputs_;
        work.n_baselines = n_baselines_;
        work.n_channels = size_.n_channels;
        work.products_per_cell = 8192;
        work.mode = mode;
        work.products = products_.data();
        work.is_real = is_real_.data();
        work.power = work.weight = levels_.data();
        work.steps = steps_.data();
        work.scale[FX8_FUNCTIONS_IEEE] = levels_.data();
        work.scale[FX8_FUNCTIONS_FAST] = levels_.data();
        work.in = {visibilities_.data(), flags_.data(), nsamples_.data()};
        work.out.coherence = coherence_.data();
        work.out.amplitude = amplitude_.data();
        work.out.phase = phase_.data();
        work.sums = sums_.data();
        job.n_baselines = n_baselines_;
        job.notes = notes_.data();
        must(fx8_cuda_quicklook(&job, bench.stream), "quick-look");
    }
    /** Whether the coherences equal the visibilities of inputs of power 1:
     *  times 2^14, within half a step of a half. */
    bool is_exact(const Bench &bench) const
    {
        std::vector<uint16_t> halves(2 * n_cells());
        must(cudaStreamSynchronize(bench.stream), "quick-look");
        download(coherence_.data(), &halves);
        size_t n_near = 0;
        for (size_t k = 0; k < halves.size(); ++k) {
            const double wanted = std::ldexp(noise_of(k), 14);
            const double error = std::abs(value_of(halves[k]) - wanted);
            n_near += error <=
                      std::ldexp(std::abs(wanted), -11) + std::ldexp(1.0, -25);
        }
        return n_near == halves.size();
    }

  private:
    /** Value of a finite half. */
    static double value_of(uint16_t half)
    {
        const int exponent = half >> 10 & 31, fraction = half & 1023;
        const double modulus = exponent == 0
                                   ? std::ldexp(fraction, -24)
                                   : std::ldexp(1024 + fraction, exponent - 25);
        return (half & 0x8000) != 0 ? -modulus : modulus;
    }
    static void clear(void *to, size_t bytes)
    {
        must(cudaMemset(to, 0, bytes), "cudaMemset");
    }

    Size size_;
    size_t n_inputs_, n_products_, n_baselines_;
    Memory<fx8_product> products_;
    Memory<uint8_t> is_real_;
    Memory<float> levels_, steps_, visibilities_, nsamples_;
    Memory<uint8_t> flags_;
    Memory<uint16_t> coherence_, amplitude_, phase_;
    Memory<fx8_fisher_sums> sums_;
    Memory<fx8_cell_notes> notes_;
};

void measure_size(Bench &bench, const Size &size)
{
    const Dump dump(bench, size);
    for (const auto &each : modes) {
        dump.run(bench, each.mode);
        if (!dump.is_exact(bench)) {
            bench.report->text("%s: coherences are not the visibilities\n",
                               each.name);
            ++bench.n_wrong;
            continue;
        }
        const double seconds =
            measure(bench, [&](size_t) { dump.run(bench, each.mode); });
        const double cells = static_cast<double>(dump.n_cells()) / seconds;
        char head[64];
        std::snprintf(head, sizeof head, "%5zu %5zu %7zu  %-5s",
                      size.n_antennas, size.n_feeds, size.n_channels,
                      each.name);
        tell_cells(bench, head,
                   Row("quicklook")
                       .number("antennas", static_cast<double>(size.n_antennas))
                       .number("feeds", static_cast<double>(size.n_feeds))
                       .number("channels", static_cast<double>(size.n_channels))
                       .text("mode", each.name),
                   cells, cells * FX8_CUDA_CELL_BYTES);
    }
}

} // namespace

void measure_quicklook(Bench &bench)
{
    bench.report->text("Visibilities on the device to a quick-look: cells, "
                       "bytes read and written, share of the copy.\n"
                       "antennas feeds channels mode\n");
    for (const Size &size : sizes) {
        Size asked = size;
        if (bench.is_tiny())
            asked = {size.n_antennas / 32, size.n_feeds, 64};
        if (bench.has_time())
            measure_size(bench, asked);
    }
}

} // namespace bench
