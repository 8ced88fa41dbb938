/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image.cu -- see bench.cuh: images, as baselines in pixels a second, a channel
 * counted as one more baseline, beside the FFMA of this card: four of them for
 * each.  With few antennas the phasors, in doubles, take most of the time.
 */
#include <cstring>

#include "kernels/cuda/image.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

namespace
{

struct ImageShape {
    size_t n_antennas, n_channels, n_directions;

    /** The same, small if the device is a pretend one. */
    ImageShape on(const Bench &bench) const
    {
        return bench.is_tiny() ? ImageShape{n_antennas, 1, 200} : *this;
    }
};

/* As many directions as a piece of the imager. */
const ImageShape shapes[] = {{8, 8, 65536},
                             {24, 8, 65536},
                             {64, 8, 65536},
                             {128, 8, 65536},
                             {256, 8, 65536}};

/* Compared with the host before any measurement: both kernels, with rows,
 * columns and directions left over. */
const ImageShape checked[] = {{37, 3, 300}, {71, 2, 300}};

/** A number between -1 and 1 that looks random. */
double noise_of(size_t k)
{
    const uint32_t mixed = static_cast<uint32_t>(k) * 2654435761U;
    return static_cast<double>(static_cast<int32_t>(mixed ^ mixed >> 15)) *
           0x1p-31;
}

std::vector<double> make_noise(size_t n, double scale)
{
    std::vector<double> noise(n);
    for (size_t k = 0; k < n; ++k)
        noise[k] = scale * noise_of(k);
    return noise;
}

std::vector<fx8_cf32> make_matrices(const ImageShape &shape)
{
    const size_t n = shape.n_antennas, cells = fx8_image_cells(n);
    std::vector<fx8_cf32> matrices(cells * shape.n_channels);
    for (size_t c = 0; c < shape.n_channels; ++c)
        for (size_t j = 0; j < n; ++j)
            for (size_t i = 0; i < j; ++i) {
                const size_t at = c * cells + fx8_image_cell(n, i, j);
                matrices[at] = {static_cast<float>(noise_of(2 * at)),
                                static_cast<float>(noise_of(2 * at + 1))};
            }
    return matrices;
}

size_t round_up_lanes(size_t n)
{
    return (n + FX8_IMAGE_LANES - 1) / FX8_IMAGE_LANES * FX8_IMAGE_LANES;
}

/** An image of noise. */
struct Job {
    ImageShape shape;
    std::vector<double> host_turns, host_directions;
    std::vector<fx8_cf32> host_matrices;
    Memory<double> turns, directions;
    Memory<fx8_cf32> matrices;
    Memory<float2> phasors;
    Memory<float> sums;

    explicit Job(const ImageShape &s)
        : shape(s),
          host_turns(make_noise(3 * s.n_antennas * s.n_channels, 1000.0)),
          host_directions(make_noise(3 * round_up_lanes(s.n_directions), 1.0)),
          host_matrices(make_matrices(s)), turns(host_turns),
          directions(host_directions), matrices(host_matrices),
          phasors(s.n_antennas * s.n_directions), sums(s.n_directions)
    {
    }
    void run(const Bench &bench) const
    {
        const fx8_cuda_image job = {shape.n_antennas,   shape.n_channels,
                                    shape.n_directions, turns.data(),
                                    matrices.data(),    directions.data(),
                                    phasors.data(),     sums.data()};
        must(fx8_cuda_image_sum(&job, bench.stream), "image");
    }
    /** Whether the device's image is the host's, bit for bit. */
    bool is_exact(const Bench &bench) const
    {
        std::vector<float> made(shape.n_directions);
        std::vector<float> wanted(round_up_lanes(shape.n_directions));
        std::vector<float> scratch(2 * FX8_IMAGE_LANES * shape.n_antennas);
        run(bench);
        must(cudaStreamSynchronize(bench.stream), "image");
        download(sums.data(), &made);
        for (size_t c = 0; c < shape.n_channels; ++c) {
            const fx8_image_channel channel = {
                shape.n_antennas, &host_turns[3 * shape.n_antennas * c],
                host_matrices.data() + fx8_image_cells(shape.n_antennas) * c};
            for (size_t k = 0; k < wanted.size(); k += FX8_IMAGE_LANES)
                fx8_operations_variant(0)->image(&channel,
                                                 &host_directions[3 * k],
                                                 scratch.data(), &wanted[k]);
        }
        return std::memcmp(made.data(), wanted.data(),
                           made.size() * sizeof(float)) == 0;
    }
    double n_terms() const
    {
        return 0.5 * static_cast<double>(shape.n_antennas) *
               static_cast<double>(shape.n_antennas - 1) *
               static_cast<double>(shape.n_channels) *
               static_cast<double>(shape.n_directions);
    }
};

void measure_shape(Bench &bench, const ImageShape &shape)
{
    const Job job(shape);
    const double seconds = measure(bench, [&](size_t) { job.run(bench); });
    const double terms_per_s = job.n_terms() / seconds;
    const double share =
        bench.ceilings.ffma > 0 ? 8 * terms_per_s / bench.ceilings.ffma : 0;
    bench.report->text("%5zu %5zu %9zu %10.4g baselines x pixels/s",
                       shape.n_antennas, shape.n_channels, shape.n_directions,
                       terms_per_s);
    if (share > 0)
        bench.report->text(", %5.1f %% of FFMA", 100 * share);
    bench.report->text("\n");
    bench.report->row(Row("image")
                          .number("antennas", shape.n_antennas)
                          .number("channels", shape.n_channels)
                          .number("directions", shape.n_directions)
                          .number("terms_per_s", terms_per_s)
                          .number("share", share));
}

} // namespace

void measure_image(Bench &bench)
{
    for (const ImageShape &shape : checked)
        if (!Job(shape).is_exact(bench)) {
            bench.report->text("%zu antennas: the image is not that of the "
                               "host\n",
                               shape.n_antennas);
            ++bench.n_wrong;
            return;
        }
    bench.report->text("Visibilities to images: antennas, channels, pixels.\n");
    for (const ImageShape &shape : shapes)
        if (bench.has_time())
            measure_shape(bench, shape.on(bench));
}

} // namespace bench
