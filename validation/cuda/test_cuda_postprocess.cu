/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_postprocess.cu -- results computed on the device against those of
 * the host, whose rules test_postprocess.c tests: equal to the bit, including
 * the sign of a zero. Results begin as garbage and are compared whole.
 *
 * Shows (devices, results): results are computed on the device, kernel by
 *     kernel and through the engine's table on 1 and 3 devices: any number of
 *     antennas, products and channels, averages, flags, gains, weights,
 *     subtracted rounding noise, slabs of antennas, rows of several bands; sums
 *     of several devices, more than fit in one transfer; four orders of threads
 * Within: equal to the host's to the bit, including the sign of a zero
 * Because: one definition, each operation rounded once
 * In: test_engine_results.c
 */
#include <math.h>
#include <string.h>

#include <algorithm>
#include <array>

#include "kernels/cuda/postprocess.h"
#include "kernels/operations.h"
#include "validation/cuda/checkers.h"
#include "validation/cuda/device_array.h"

namespace postprocess_tests
{

/* Under a checker everything is many times slower, and a few sizes suffice. */
static const bool is_short = FX8_CHECKED;

static uint64_t random_state = 41;

static uint64_t below(uint64_t n)
{
    return harness::random_next(&random_state) % n;
}

/* --- tasks -----------------------------------------------------------------
 */

/** Antennas and their feeds are inputs; the products of a baseline are any
 *  pairs of the feeds of two antennas. */
struct Shape {
    size_t n_antennas, n_feeds, n_products, n_channels, average;
};

/** What a task may leave out. */
struct Extras {
    bool gain, flag_cell, input_gain, remove_bias, first_is_real, negate,
        ripple;
};

template <class T, class Value> std::vector<T> make(size_t n, Value value)
{
    std::vector<T> all(n);
    for (T &each : all)
        each = static_cast<T>(value());
    return all;
}

/** The same numbers on host and device. */
template <class T> struct Both {
    std::vector<T> host;
    DeviceArray<T> device;

    explicit Both(const std::vector<T> &from) : host(from), device(from)
    {
    }
    const T *data(bool on_device) const
    {
        return on_device ? device.data() : host.data();
    }
};

static std::vector<fx8_product> make_products(const Shape &s)
{
    std::vector<fx8_product> products;
    for (size_t a = 0; a < s.n_antennas; ++a)
        for (size_t b = a; b < s.n_antennas; ++b)
            for (size_t p = 0; p < s.n_products; ++p) {
                /* equal feeds first, on one antenna its autos */
                const size_t i = a * s.n_feeds + p % s.n_feeds;
                const size_t j =
                    b * s.n_feeds + (p + p / s.n_feeds) % s.n_feeds;
                const size_t pair =
                    fx8_pair_index(std::min(i, j), std::max(i, j));
                products.push_back({static_cast<uint32_t>(pair),
                                    static_cast<uint32_t>(i),
                                    static_cast<uint32_t>(j), i > j});
            }
    return products;
}

/** Small numbers, zeros, some beyond 2^53; means near the level at which
 *  rounding noise is subtracted. */
static int64_t random_int8()
{
    const uint64_t kind = below(8);
    return kind == 0
               ? static_cast<int64_t>(harness::random_next(&random_state)) / 8
           : kind == 1 ? 0
                       : static_cast<int64_t>(below(601)) - 300;
}

static double random_fp32()
{
    const uint64_t kind = below(8);
    const double sum = static_cast<double>(random_int8());
    return kind == 0 ? -0.0 : kind == 1 ? sum * 1e-9 : sum / 7.0;
}

/** A cell's bits: visibility, weight, flag. */
using Cell = std::array<uint32_t, 4>;

static std::vector<Cell> cells_of(const std::vector<float> &visibilities,
                                  const std::vector<float> &nsamples,
                                  const std::vector<uint8_t> &flags)
{
    std::vector<Cell> cells(flags.size());
    for (size_t k = 0; k < cells.size(); ++k) {
        memcpy(&cells[k][0], &visibilities[2 * k], 2 * sizeof(float));
        memcpy(&cells[k][2], &nsamples[k], sizeof(float));
        cells[k][3] = flags[k];
    }
    return cells;
}

/** Random sums and everything that decides what becomes of them. */
struct Task {
    Shape shape;
    Extras extras;
    size_t n_inputs, n_pairs, n_sums, n_levels;
    Both<fx8_product> products;
    Both<int64_t> int8, counts;
    Both<double> fp32, input_gain, ripple;
    Both<float> gain;
    Both<uint8_t> flag_channel, flag_input, flag_cell;

    Task(const Shape &s, const Extras &e)
        : shape(s), extras(e), n_inputs(s.n_antennas * s.n_feeds),
          n_pairs(fx8_pair_count(n_inputs)), n_sums(2 * s.n_channels * n_pairs),
          n_levels(n_inputs * s.n_channels), products(make_products(s)),
          int8(make<int64_t>(n_sums, random_int8)),
          counts(make<int64_t>(
              n_pairs, [] { return below(4) == 0 ? 0 : 1 + below(100); })),
          fp32(make<double>(n_sums, random_fp32)),
          input_gain(make<double>(n_inputs,
                                  [] { return below(2) == 0 ? 1.0 : 0.1F; })),
          ripple(make<double>(
              s.n_channels,
              [] { return 0.3 + 0.1 * static_cast<double>(below(90)); })),
          gain(make<float>(
              n_levels,
              [] { return static_cast<float>(1 + below(3000)) / 1000.0F; })),
          flag_channel(
              make<uint8_t>(s.n_channels, [] { return below(3) == 0; })),
          flag_input(make<uint8_t>(n_inputs, [] { return below(6) == 0; })),
          flag_cell(make<uint8_t>(n_levels, [] { return below(8) == 0; }))
    {
    }
    fx8_postprocess plan(bool on_device) const
    {
        fx8_postprocess plan = {};
        plan.n_antennas = shape.n_antennas;
        plan.n_products = shape.n_products;
        plan.n_inputs = n_inputs;
        plan.n_channels = shape.n_channels;
        plan.channel_average = shape.average;
        plan.products = products.data(on_device);
        plan.spectra_per_dump = 100;
        plan.gain = extras.gain ? gain.data(on_device) : nullptr;
        plan.input_gain =
            extras.input_gain ? input_gain.data(on_device) : nullptr;
        plan.ripple = extras.ripple ? ripple.data(on_device) : nullptr;
        plan.flag_channel = flag_channel.data(on_device);
        plan.flag_input = flag_input.data(on_device);
        plan.flag_cell = extras.flag_cell ? flag_cell.data(on_device) : nullptr;
        plan.remove_bias = extras.remove_bias;
        plan.first_is_real = extras.first_is_real;
        plan.negate_imaginary = extras.negate;
        plan.threads.count = 1;
        return plan;
    }
    /** The first cell of an antenna. */
    size_t first_cell(size_t antenna) const
    {
        return fx8_cuda_first_baseline(antenna, shape.n_antennas) *
               (shape.n_channels / shape.average * shape.n_products);
    }
    std::vector<Cell> run_on_host(bool is_int8) const
    {
        const size_t n = first_cell(shape.n_antennas);
        const size_t kind = is_int8 ? FX8_RESULT_INT8 : FX8_RESULT_FP32;
        std::vector<float> visibilities(2 * n, -7.5F), nsamples(n, -7.5F);
        std::vector<uint8_t> flags(n, 77);
        std::vector<int64_t> sums8(int8.host);
        std::vector<double> sums32(fp32.host);
        void *sums[FX8_N_RESULTS] = {};
        fx8_result to[FX8_N_RESULTS] = {};
        sums[kind] =
            is_int8 ? static_cast<void *>(sums8.data()) : sums32.data();
        to[kind] = {visibilities.data(), flags.data(), nsamples.data()};
        const fx8_postprocess p = plan(false);
        fx8_postprocess_dump(&p, sums, counts.host.data(), to);
        return cells_of(visibilities, nsamples, flags);
    }
    fx8_cuda_postprocess job(bool is_int8) const
    {
        fx8_cuda_postprocess job = {};
        job.plan = plan(true);
        job.sums = is_int8 ? static_cast<const void *>(int8.data(true))
                           : fp32.data(true);
        job.is_int8 = is_int8;
        job.counts = counts.data(true);
        job.end_antenna = shape.n_antennas;
        return job;
    }
    /** Baselines of antennas [first, end) on the device. */
    std::vector<Cell> run(bool is_int8, size_t first, size_t end) const
    {
        const size_t n = first_cell(end) - first_cell(first);
        DeviceArray<float> visibilities(std::vector<float>(2 * n, -7.5F));
        DeviceArray<float> nsamples(std::vector<float>(n, -7.5F));
        DeviceArray<uint8_t> flags(std::vector<uint8_t>(n, 77));
        fx8_cuda_postprocess j = job(is_int8);
        j.first_antenna = first;
        j.end_antenna = end;
        j.result = {visibilities.data(), flags.data(), nsamples.data()};
        MUST(fx8_cuda_postprocess_sums(&j, nullptr));
        return cells_of(visibilities.read(), nsamples.read(), flags.read());
    }
};

static void check_task(const Shape &shape, const Extras &extras)
{
    const Task task(shape, extras);
    for (const bool is_int8 : {false, true})
        CHECK(task.run(is_int8, 0, shape.n_antennas) ==
              task.run_on_host(is_int8));
}

/* --- cases -----------------------------------------------------------------
 */

/* One block and many, columns and channels left over, averages of any
 * length. */
TEST(results_of_any_size_equal_the_hosts)
{
    static const Shape shapes[] = {
        {1, 1, 1, 1, 1},   {2, 2, 4, 5, 1},   {9, 2, 4, 33, 1},
        {31, 1, 1, 31, 1}, {33, 1, 1, 32, 1}, {40, 1, 1, 65, 1},
        {17, 2, 4, 36, 3}, {5, 3, 3, 70, 7},  {3, 3, 9, 64, 64},
        {2, 1, 1, 200, 2}, {12, 2, 2, 40, 1}, {35, 1, 1, 66, 2},
    };
    size_t n = 0;
    for (const Shape &shape : shapes)
        if (!is_short || n++ % 3 == 2)
            check_task(shape, {true, true, false, true, true, false, true});
}

/* Everything optional, left out and present. */
TEST(every_rule_holds_on_the_device)
{
    for (unsigned bits = 0; bits < 128; ++bits) {
        const Extras extras = {(bits & 1) != 0,  (bits & 2) != 0,
                               (bits & 4) != 0,  (bits & 8) != 0,
                               (bits & 16) != 0, (bits & 32) != 0,
                               (bits & 64) != 0};
        if (!is_short || bits % 5 == 0)
            check_task({4, 2, 4, 12, bits % 3 + 1}, extras);
    }
}

/* The order in which threads run does not matter. */
TEST(no_thread_waits_in_vain)
{
    in_every_order([] {
        check_task({10, 2, 4, 40, 1},
                   {true, true, true, true, true, true, true});
    });
}

/* Slabs of antennas are parts of the whole. */
TEST(baselines_of_some_antennas)
{
    const Task task({37, 1, 1, 40, 2},
                    {true, true, false, true, true, false, true});
    const std::vector<Cell> whole = task.run_on_host(true);
    const auto cell = [&](size_t antenna) {
        return whole.begin() + static_cast<ptrdiff_t>(task.first_cell(antenna));
    };
    static const size_t ranges[][2] = {{0, 1},   {1, 2},   {0, 33}, {5, 37},
                                       {36, 37}, {12, 12}, {37, 37}};
    for (const auto &range : ranges)
        CHECK(task.run(true, range[0], range[1]) ==
              std::vector<Cell>(cell(range[0]), cell(range[1])));
}

TEST(what_a_launch_has_no_room_for_is_refused)
{
    const Task task({3, 1, 1, 4, 1}, {});
    fx8_cuda_postprocess job = task.job(true);
    job.plan.n_products = FX8_CUDA_MOST_PRODUCTS + 1;
    CHECK(fx8_cuda_postprocess_sums(&job, nullptr) == cudaErrorInvalidValue);
    job = task.job(true);
    job.plan.n_products = 0;
    CHECK(fx8_cuda_postprocess_sums(&job, nullptr) == cudaErrorInvalidValue);
    job = task.job(true);
    job.plan.n_antennas = 70000;
    job.end_antenna = 3;
    CHECK(fx8_cuda_postprocess_sums(&job, nullptr) == cudaErrorInvalidValue);
    job.first_antenna = 4;
    CHECK(fx8_cuda_postprocess_sums(&job, nullptr) == cudaErrorInvalidValue);
}

/* a + b rounded towards `end`, an infinity: `lost` is the exact error of
 * rounding to nearest (Knuth, TwoSum). */
static double add_towards(double a, double b, double end)
{
    const double sum = a + b, of_b = sum - a;
    const double lost = (a - (sum - of_b)) + (b - of_b);
    return lost != 0.0 && (lost > 0.0) == (end > 0.0) ? nextafter(sum, end)
                                                      : sum;
}

/* More numbers than threads, fewer than a block, none. */
TEST(sums_of_devices_are_added)
{
    for (const size_t n : {size_t(0), size_t(1), size_t(255), size_t(1000)}) {
        std::vector<int64_t> a(n + 1), b(n + 1);
        std::vector<double> x(n + 1), y(n + 1);
        for (size_t k = 0; k <= n; ++k) {
            a[k] = static_cast<int64_t>(harness::random_next(&random_state));
            b[k] = static_cast<int64_t>(below(1000)) - a[k];
            x[k] = static_cast<double>(a[k]) / 3.0;
            y[k] = static_cast<double>(below(1000)) / 7.0;
        }
        DeviceArray<int64_t> from8(a), to8(b);
        DeviceArray<double> from32(x), to32(y), down(y), up(y);
        MUST(fx8_cuda_add_sums(FX8_RESULT_INT8, n, from8.data(), to8.data(),
                               nullptr));
        MUST(fx8_cuda_add_sums(FX8_RESULT_FP32, n, from32.data(), to32.data(),
                               nullptr));
        MUST(fx8_cuda_add_sums(FX8_RESULT_DOWN, n, from32.data(), down.data(),
                               nullptr));
        MUST(fx8_cuda_add_sums(FX8_RESULT_UP, n, from32.data(), up.data(),
                               nullptr));
        std::vector<double> below_it(y), above(y);
        for (size_t k = 0; k < n; ++k) {
            b[k] += a[k];
            below_it[k] = add_towards(x[k], y[k], -INFINITY);
            above[k] = add_towards(x[k], y[k], INFINITY);
            y[k] += x[k];
            CHECK(below_it[k] <= y[k] && y[k] <= above[k]);
        }
        CHECK(to8.read() == b);
        CHECK(to32.read() == y);
        CHECK(down.read() == below_it);
        CHECK(up.read() == above);
    }
}

} // namespace postprocess_tests
