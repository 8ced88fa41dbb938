/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * postprocess.cu -- see bench.cuh: sums to visibilities, flags and weights, as
 * cells a second and as bytes a second, sums counted once as they are read and
 * results once as they are written, beside a copy.
 */
#include <cstdio>
#include <cstring>

#include "kernels/cuda/postprocess.h"
#include "kernels/operations.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

namespace
{

/** Antennas of one feed or two, channels, and how many are averaged to one. */
struct Size {
    size_t n_antennas, n_feeds, n_channels, average;
};

const Size sizes[] = {
    {64, 1, 8192, 1}, {256, 1, 2048, 1}, {256, 2, 512, 1}, {256, 2, 512, 8}};

/* Sizes compared with the host before any measurement; some columns and
 * channels do not fill a block. */
const Size checked = {17, 2, 70, 1};

/** Sums of a dump, everything needed to make results of them, the results. */
struct Dump {
    Size size;
    size_t n_products, n_pairs, n_baselines, n_cells;
    std::vector<fx8_product> host_products;
    std::vector<int64_t> host_counts;
    std::vector<float> host_gain;
    std::vector<uint8_t> host_flags;
    Memory<fx8_product> products;
    Memory<int64_t> sums, counts;
    Memory<float> gain, visibilities, nsamples;
    Memory<uint8_t> unflagged, flags;

    explicit Dump(const Size &s)
        : size(s), n_products(s.n_feeds * s.n_feeds),
          n_pairs(fx8_pair_count(n_inputs())),
          n_baselines(fx8_pair_count(s.n_antennas)),
          n_cells(n_baselines * n_products * (s.n_channels / s.average)),
          host_counts(n_pairs, 8192), host_gain(n_inputs() * s.n_channels),
          host_flags(n_inputs() * s.n_channels),
          products(n_baselines * n_products), sums(2 * n_pairs * s.n_channels),
          counts(n_pairs), gain(host_gain.size()), visibilities(2 * n_cells),
          nsamples(n_cells), unflagged(host_flags.size()), flags(n_cells)
    {
        for (size_t k = 0; k < host_gain.size(); ++k)
            host_gain[k] = 0.5F + static_cast<float>(k % 97) / 64.0F;
        make_products();
        upload(host_products, products.data());
        upload(host_counts, counts.data());
        upload(host_gain, gain.data());
        upload(host_flags, unflagged.data());
        must(cudaMemset(sums.data(), 0x11, n_sums() * sizeof(int64_t)),
             "cudaMemset");
        must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    size_t n_inputs() const
    {
        return size.n_antennas * size.n_feeds;
    }
    size_t n_sums() const
    {
        return 2 * n_pairs * size.n_channels;
    }
    /** Bytes of sums and results. */
    double bytes() const
    {
        return static_cast<double>(n_sums()) * sizeof(int64_t) +
               static_cast<double>(n_cells) * FX8_CUDA_RESULT_BYTES;
    }
    /** Equal feeds, then crossed ones. */
    void make_products()
    {
        for (size_t a = 0; a < size.n_antennas; ++a)
            for (size_t b = a; b < size.n_antennas; ++b)
                for (size_t p = 0; p < n_products; ++p) {
                    const size_t n = size.n_feeds;
                    const size_t i = a * n + p % n;
                    const size_t j = b * n + (p + p / n) % n;
                    const size_t pair =
                        i < j ? fx8_pair_index(i, j) : fx8_pair_index(j, i);
                    host_products.push_back({static_cast<uint32_t>(pair),
                                             static_cast<uint32_t>(i),
                                             static_cast<uint32_t>(j), i > j});
                }
    }
    fx8_postprocess plan_of_the_host() const
    {
        fx8_postprocess plan = {};
        plan.n_antennas = size.n_antennas;
        plan.n_products = n_products;
        plan.n_inputs = n_inputs();
        plan.n_channels = size.n_channels;
        plan.channel_average = size.average;
        plan.products = host_products.data();
        plan.spectra_per_dump = 8192;
        plan.gain = host_gain.data();
        plan.flag_channel = plan.flag_input = plan.flag_cell =
            host_flags.data();
        plan.remove_bias = true;
        plan.first_is_real = true;
        plan.threads.count = 1;
        return plan;
    }
    fx8_cuda_postprocess job() const
    {
        fx8_cuda_postprocess job = {};
        job.plan = plan_of_the_host();
        job.plan.products = products.data();
        job.plan.gain = gain.data();
        job.plan.flag_channel = job.plan.flag_input = job.plan.flag_cell =
            unflagged.data();
        job.end_antenna = size.n_antennas;
        job.sums = sums.data();
        job.is_int8 = true;
        job.counts = counts.data();
        job.result = {visibilities.data(), flags.data(), nsamples.data()};
        return job;
    }
};

void run_job(const Bench &bench, const Dump &dump)
{
    const fx8_cuda_postprocess job = dump.job();
    must(fx8_cuda_postprocess_sums(&job, bench.stream), "post-processing");
}

/** Whether the device's results are the host's, bit for bit. */
bool is_exact(const Bench &bench)
{
    const Dump dump(checked);
    std::vector<int64_t> sums(dump.n_sums());
    for (size_t k = 0; k < sums.size(); ++k)
        sums[k] = static_cast<int64_t>(k * 2654435761U % 2000003U) - 1000001;
    upload(sums, dump.sums.data());
    run_job(bench, dump);
    std::vector<float> made(2 * dump.n_cells), wanted(made.size());
    std::vector<float> made_weights(dump.n_cells), weights(dump.n_cells);
    std::vector<uint8_t> made_flags(dump.n_cells), flags(dump.n_cells);
    must(cudaStreamSynchronize(bench.stream), "post-processing");
    download(dump.visibilities.data(), &made);
    download(dump.nsamples.data(), &made_weights);
    download(dump.flags.data(), &made_flags);
    const fx8_postprocess plan = dump.plan_of_the_host();
    void *const all[FX8_N_RESULTS] = {sums.data()};
    const fx8_result to[FX8_N_RESULTS] = {
        {wanted.data(), flags.data(), weights.data()}};
    fx8_postprocess_dump(&plan, all, dump.host_counts.data(), to);
    return made_flags == flags && made_weights == weights &&
           std::memcmp(made.data(), wanted.data(),
                       made.size() * sizeof(float)) == 0;
}

void measure_size(Bench &bench, const Size &size)
{
    const Dump dump(size);
    const double seconds =
        measure(bench, [&](size_t) { run_job(bench, dump); });
    const double cells =
        static_cast<double>(dump.n_pairs * size.n_channels) / seconds;
    char head[64];
    std::snprintf(head, sizeof head, "%5zu %5zu %7zu %7zu", size.n_antennas,
                  size.n_feeds, size.n_channels, size.average);
    tell_cells(bench, head,
               Row("postprocess")
                   .number("antennas", static_cast<double>(size.n_antennas))
                   .number("feeds", static_cast<double>(size.n_feeds))
                   .number("channels", static_cast<double>(size.n_channels))
                   .number("average", static_cast<double>(size.average)),
               cells, dump.bytes() / seconds);
}

} // namespace

void measure_postprocess(Bench &bench)
{
    if (!is_exact(bench)) {
        bench.report->text("results are not those of the host\n");
        ++bench.n_wrong;
        return;
    }
    bench.report->text("Sums to results, INT8 with gains: cells of sums, bytes "
                       "read and written, share of the copy.\n"
                       "antennas feeds channels average\n");
    for (const Size &size : sizes) {
        Size asked = size;
        if (bench.is_tiny())
            asked = {size.n_antennas / 32, size.n_feeds, 64, size.average};
        if (bench.has_time())
            measure_size(bench, asked);
    }
}

} // namespace bench
