/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * postprocess.cu -- see bench.cuh: sums to visibilities, flags and weights, as
 * cells a second and as bytes a second, sums counted once as they are read and
 * results once as they are written, beside a copy.
 */
#include <cstring>

#include "kernels/cuda/postprocess.h"
#include "kernels/operations.h"
#include "validation/gpu/dump.cuh"

namespace bench
{

namespace
{

const DumpShape shapes[] = {
    {64, 1, 8192, 1}, {256, 1, 2048, 1}, {256, 2, 512, 1}, {256, 2, 512, 8}};

/* Compared with the host before any measurement; some columns and channels do
 * not fill a block. */
const DumpShape checked = {17, 2, 70, 1};

std::vector<float> make_gain(size_t n)
{
    std::vector<float> gain(n);
    for (size_t k = 0; k < n; ++k)
        gain[k] = 0.5F + static_cast<float>(k % 97) / 64.0F;
    return gain;
}

/** A dump and everything needed to make results of its sums. */
struct Job {
    Dump dump;
    std::vector<int64_t> host_counts, host_sums;
    std::vector<float> host_gain;
    std::vector<uint8_t> host_flags;
    Memory<int64_t> sums, counts;
    Memory<float> gain;
    Memory<uint8_t> unflagged;

    explicit Job(const DumpShape &s)
        : dump(s), host_counts(fx8_pair_count(s.n_inputs()), SPECTRA_OF_DUMP),
          host_sums(2 * host_counts.size() * s.n_channels),
          host_gain(make_gain(s.n_inputs() * s.n_channels)),
          host_flags(host_gain.size()), sums(host_sums.size()),
          counts(host_counts), gain(host_gain), unflagged(host_flags)
    {
        for (size_t k = 0; k < host_sums.size(); ++k)
            host_sums[k] =
                static_cast<int64_t>(k * 2654435761U % 2000003U) - 1000001;
        upload(host_sums, sums.data());
    }
    /** On the host. */
    fx8_postprocess plan() const
    {
        fx8_postprocess plan = {};
        plan.n_antennas = dump.shape.n_antennas;
        plan.n_products = dump.n_products;
        plan.n_inputs = dump.shape.n_inputs();
        plan.n_channels = dump.shape.n_channels;
        plan.channel_average = dump.shape.average;
        plan.products = dump.host_products.data();
        plan.spectra_per_dump = SPECTRA_OF_DUMP;
        plan.gain = host_gain.data();
        plan.flag_channel = plan.flag_input = plan.flag_cell =
            host_flags.data();
        plan.remove_bias = true;
        plan.first_is_real = true;
        plan.threads.count = 1;
        return plan;
    }
    void run(const Bench &bench) const
    {
        fx8_cuda_postprocess job = {};
        job.plan = plan();
        job.plan.products = dump.products.data();
        job.plan.gain = gain.data();
        job.plan.flag_channel = job.plan.flag_input = job.plan.flag_cell =
            unflagged.data();
        job.end_antenna = dump.shape.n_antennas;
        job.sums = sums.data();
        job.is_int8 = true;
        job.counts = counts.data();
        job.result = dump.result();
        must(fx8_cuda_postprocess_sums(&job, bench.stream), "post-processing");
    }
};

/** Whether the device's results are the host's, bit for bit. */
bool is_exact(const Bench &bench)
{
    Job job(checked);
    job.run(bench);
    const size_t n = job.dump.n_cells;
    std::vector<float> made(2 * n), wanted(2 * n), made_weights(n), weights(n);
    std::vector<uint8_t> made_flags(n), flags(n);
    must(cudaStreamSynchronize(bench.stream), "post-processing");
    download(job.dump.visibilities.data(), &made);
    download(job.dump.nsamples.data(), &made_weights);
    download(job.dump.flags.data(), &made_flags);
    const fx8_postprocess plan = job.plan();
    void *const sums[FX8_N_RESULTS] = {job.host_sums.data()};
    const fx8_result to[FX8_N_RESULTS] = {
        {wanted.data(), flags.data(), weights.data()}};
    fx8_postprocess_dump(&plan, sums, job.host_counts.data(), to);
    return made_flags == flags && made_weights == weights &&
           std::memcmp(made.data(), wanted.data(),
                       made.size() * sizeof(float)) == 0;
}

void measure_shape(Bench &bench, const DumpShape &shape)
{
    const Job job(shape);
    const double seconds = measure(bench, [&](size_t) { job.run(bench); });
    const double cells = static_cast<double>(job.host_sums.size() / 2);
    const double bytes =
        2 * cells * sizeof(int64_t) +
        static_cast<double>(job.dump.n_cells) * FX8_CUDA_RESULT_BYTES;
    char average[16];
    std::snprintf(average, sizeof average, " %7zu", shape.average);
    tell_cells(bench, job.dump.describe() + average,
               job.dump.row("postprocess").number("average", shape.average),
               cells / seconds, bytes / seconds);
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
    for (const DumpShape &shape : shapes)
        if (bench.has_time())
            measure_shape(bench, shape.on(bench));
}

} // namespace bench
