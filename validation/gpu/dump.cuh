/* SPDX-License-Identifier: BSD-3-Clause */
/* dump.cuh -- what postprocess.cu and quicklook.cu share: the products of a
 * dump, and its results on the device. */
#ifndef FX8_VALIDATION_GPU_DUMP_CUH
#define FX8_VALIDATION_GPU_DUMP_CUH

#include "validation/gpu/bench.cuh"

extern "C" {
#include "kernels/baseline.h"
}

namespace bench
{

constexpr int64_t SPECTRA_OF_DUMP = 8192;

/** Antennas of one feed or two, channels, and how many are averaged to one. */
struct DumpShape {
    size_t n_antennas, n_feeds, n_channels, average;

    /** The same, small if the device is a pretend one. */
    DumpShape on(const Bench &bench) const
    {
        return bench.is_tiny()
                   ? DumpShape{n_antennas / 32, n_feeds, 64, average}
                   : *this;
    }
    size_t n_inputs() const
    {
        return n_antennas * n_feeds;
    }
    std::vector<struct fx8_product> make_products() const
    {
        std::vector<struct fx8_product> products(
            fx8_baseline_count(n_antennas) * fx8_baseline_products(n_feeds));
        fx8_baseline_table(n_antennas, n_feeds, products.data());
        return products;
    }
};

struct Dump {
    DumpShape shape;
    size_t n_products, n_baselines, n_cells;
    std::vector<struct fx8_product> host_products;
    Memory<struct fx8_product> products;
    Memory<float> visibilities, nsamples;
    Memory<uint8_t> flags;

    explicit Dump(const DumpShape &s)
        : shape(s), n_products(fx8_baseline_products(s.n_feeds)),
          n_baselines(fx8_baseline_count(s.n_antennas)),
          n_cells(n_baselines * n_products * (s.n_channels / s.average)),
          host_products(s.make_products()), products(host_products),
          visibilities(2 * n_cells), nsamples(n_cells), flags(n_cells)
    {
    }
    fx8_result result() const
    {
        return {visibilities.data(), flags.data(), nsamples.data()};
    }
    /** Head of a line of the report. */
    std::string describe() const
    {
        char text[64];
        std::snprintf(text, sizeof text, "%5zu %5zu %7zu", shape.n_antennas,
                      shape.n_feeds, shape.n_channels);
        return text;
    }
    Row row(const char *kind) const
    {
        return Row(kind)
            .number("antennas", shape.n_antennas)
            .number("feeds", shape.n_feeds)
            .number("channels", shape.n_channels);
    }
};

} // namespace bench

#endif
