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
#include <string.h>

#include <algorithm>

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
    bool gain, flag_cell, input_gain, remove_bias, first_is_real, negate;
};

/** Random sums and everything that decides what becomes of them. */
struct Task {
    fx8_postprocess plan = {};
    std::vector<fx8_product> products;
    std::vector<int64_t> int8, counts;
    std::vector<double> fp32, input_gain;
    std::vector<float> gain;
    std::vector<uint8_t> flag_channel, flag_input, flag_cell;

    Task(const Shape &s, const Extras &extras)
        : int8(2 * s.n_channels * pairs(s)), counts(pairs(s)),
          fp32(int8.size()), input_gain(inputs(s)),
          gain(inputs(s) * s.n_channels), flag_channel(s.n_channels),
          flag_input(inputs(s)), flag_cell(gain.size())
    {
        make_products(s);
        make_sums();
        for (double &each : input_gain)
            each = below(2) == 0 ? 1.0 : 0.25;
        for (float &each : gain)
            each = static_cast<float>(1 + below(3000)) / 1000.0F;
        for (uint8_t &each : flag_channel)
            each = below(3) == 0;
        for (uint8_t &each : flag_input)
            each = below(6) == 0;
        for (uint8_t &each : flag_cell)
            each = below(8) == 0;
        plan.n_antennas = s.n_antennas;
        plan.n_products = s.n_products;
        plan.n_inputs = inputs(s);
        plan.n_channels = s.n_channels;
        plan.channel_average = s.average;
        plan.products = products.data();
        plan.spectra_per_dump = 100;
        plan.gain = extras.gain ? gain.data() : nullptr;
        plan.input_gain = extras.input_gain ? input_gain.data() : nullptr;
        plan.flag_channel = flag_channel.data();
        plan.flag_input = flag_input.data();
        plan.flag_cell = extras.flag_cell ? flag_cell.data() : nullptr;
        plan.remove_bias = extras.remove_bias;
        plan.first_is_real = extras.first_is_real;
        plan.negate_imaginary = extras.negate;
        plan.threads.count = 1;
    }
    static size_t inputs(const Shape &s)
    {
        return s.n_antennas * s.n_feeds;
    }
    static size_t pairs(const Shape &s)
    {
        return fx8_pair_count(inputs(s));
    }
    size_t baselines() const
    {
        return fx8_pair_count(plan.n_antennas);
    }
    size_t row() const
    {
        return plan.n_channels / plan.channel_average * plan.n_products;
    }
    void make_products(const Shape &s)
    {
        for (size_t a = 0; a < s.n_antennas; ++a)
            for (size_t b = a; b < s.n_antennas; ++b)
                for (size_t p = 0; p < s.n_products; ++p) {
                    /* equal feeds first, on one antenna its autos */
                    const size_t i = a * s.n_feeds + p % s.n_feeds;
                    const size_t j =
                        b * s.n_feeds + (p + p / s.n_feeds) % s.n_feeds;
                    const size_t low = i < j ? i : j, high = i < j ? j : i;
                    products.push_back(
                        {static_cast<uint32_t>(fx8_pair_index(low, high)),
                         static_cast<uint32_t>(i), static_cast<uint32_t>(j),
                         i > j});
                }
    }
    /** Small numbers, zeros of both signs, some beyond 2^53; means near the
     *  level at which rounding noise is subtracted. */
    void make_sums()
    {
        for (size_t k = 0; k < int8.size(); ++k) {
            const int64_t small = static_cast<int64_t>(below(601)) - 300;
            const int64_t large =
                static_cast<int64_t>(harness::random_next(&random_state)) / 8;
            const uint64_t kind = below(8);
            int8[k] = kind == 0 ? large : kind == 1 ? 0 : small;
            fp32[k] = kind == 0   ? static_cast<double>(large) * 1e-9
                      : kind == 1 ? -0.0
                                  : static_cast<double>(small) / 7.0;
        }
        for (int64_t &each : counts)
            each = below(4) == 0 ? 0 : static_cast<int64_t>(1 + below(100));
    }
};

/** Results, garbage at first. */
struct Results {
    std::vector<float> visibilities, nsamples;
    std::vector<uint8_t> flags;

    explicit Results(size_t n_cells)
        : visibilities(2 * n_cells, -7.5F), nsamples(n_cells, -7.5F),
          flags(n_cells, 77)
    {
    }
    bool operator==(const Results &other) const
    {
        const size_t n = flags.size();
        if (n == 0 || n != other.flags.size())
            return n == other.flags.size();
        return flags == other.flags &&
               memcmp(visibilities.data(), other.visibilities.data(),
                      2 * n * sizeof(float)) == 0 &&
               memcmp(nsamples.data(), other.nsamples.data(),
                      n * sizeof(float)) == 0;
    }
};

static Results of_the_host(const Task &task, bool is_int8)
{
    Results results(task.baselines() * task.row());
    const size_t kind = is_int8 ? FX8_RESULT_INT8 : FX8_RESULT_FP32;
    std::vector<int64_t> int8(task.int8);
    std::vector<double> fp32(task.fp32);
    void *sums[FX8_N_RESULTS] = {};
    fx8_result to[FX8_N_RESULTS] = {};
    sums[kind] = is_int8 ? static_cast<void *>(int8.data()) : fp32.data();
    to[kind] = {results.visibilities.data(), results.flags.data(),
                results.nsamples.data()};
    fx8_postprocess_dump(&task.plan, sums, task.counts.data(), to);
    return results;
}

/** A task on the device, for any range of antennas. */
class DeviceTask
{
  public:
    explicit DeviceTask(const Task &task)
        : task_(task), products_(task.products), int8_(task.int8),
          counts_(task.counts), fp32_(task.fp32), input_gain_(task.input_gain),
          gain_(task.gain), flag_channel_(task.flag_channel),
          flag_input_(task.flag_input), flag_cell_(task.flag_cell)
    {
    }
    fx8_cuda_postprocess job(bool is_int8)
    {
        fx8_cuda_postprocess job = {};
        job.plan = task_.plan;
        job.plan.products = products_.data();
        job.plan.gain = task_.plan.gain != nullptr ? gain_.data() : nullptr;
        job.plan.input_gain =
            task_.plan.input_gain != nullptr ? input_gain_.data() : nullptr;
        job.plan.flag_channel = flag_channel_.data();
        job.plan.flag_input = flag_input_.data();
        job.plan.flag_cell =
            task_.plan.flag_cell != nullptr ? flag_cell_.data() : nullptr;
        job.sums = is_int8 ? static_cast<void *>(int8_.data()) : fp32_.data();
        job.is_int8 = is_int8;
        job.counts = counts_.data();
        job.end_antenna = task_.plan.n_antennas;
        return job;
    }
    /** The baselines of antennas [first, end). */
    Results run(bool is_int8, size_t first, size_t end)
    {
        const size_t n = task_.plan.n_antennas;
        const size_t n_baselines =
            fx8_cuda_first_baseline(end, n) - fx8_cuda_first_baseline(first, n);
        Results results(n_baselines * task_.row());
        DeviceArray<float> visibilities(results.visibilities);
        DeviceArray<float> nsamples(results.nsamples);
        DeviceArray<uint8_t> flags(results.flags);
        fx8_cuda_postprocess j = job(is_int8);
        j.first_antenna = first;
        j.end_antenna = end;
        j.result = {visibilities.data(), flags.data(), nsamples.data()};
        MUST(fx8_cuda_postprocess_sums(&j, nullptr));
        results.visibilities = visibilities.read();
        results.nsamples = nsamples.read();
        results.flags = flags.read();
        return results;
    }

  private:
    const Task &task_;
    DeviceArray<fx8_product> products_;
    DeviceArray<int64_t> int8_, counts_;
    DeviceArray<double> fp32_, input_gain_;
    DeviceArray<float> gain_;
    DeviceArray<uint8_t> flag_channel_, flag_input_, flag_cell_;
};

/** Part of the host's results: the baselines of antennas [first, end). */
static Results part_of(const Task &task, const Results &all, size_t first,
                       size_t end)
{
    const size_t n = task.plan.n_antennas;
    const size_t from = fx8_cuda_first_baseline(first, n) * task.row();
    Results part((fx8_cuda_first_baseline(end, n) * task.row()) - from);
    const size_t cells = part.flags.size();
    std::copy_n(all.visibilities.begin() + 2 * static_cast<ptrdiff_t>(from),
                2 * cells, part.visibilities.begin());
    std::copy_n(all.nsamples.begin() + static_cast<ptrdiff_t>(from), cells,
                part.nsamples.begin());
    std::copy_n(all.flags.begin() + static_cast<ptrdiff_t>(from), cells,
                part.flags.begin());
    return part;
}

static void check_task(const Shape &shape, const Extras &extras)
{
    const Task task(shape, extras);
    DeviceTask device(task);
    for (const bool is_int8 : {false, true})
        CHECK(device.run(is_int8, 0, shape.n_antennas) ==
              of_the_host(task, is_int8));
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
            check_task(shape, {true, true, false, true, true, false});
}

/* Everything optional, left out and present. */
TEST(every_rule_holds_on_the_device)
{
    for (unsigned bits = 0; bits < 64; ++bits) {
        const Extras extras = {(bits & 1) != 0,  (bits & 2) != 0,
                               (bits & 4) != 0,  (bits & 8) != 0,
                               (bits & 16) != 0, (bits & 32) != 0};
        if (!is_short || bits % 5 == 0)
            check_task({4, 2, 4, 12, bits % 3 + 1}, extras);
    }
}

/* The order in which threads run does not matter. */
TEST(no_thread_waits_in_vain)
{
    in_every_order([] {
        check_task({10, 2, 4, 40, 1}, {true, true, true, true, true, true});
    });
}

/* Slabs of antennas are parts of the whole. */
TEST(baselines_of_some_antennas)
{
    const Task task({37, 1, 1, 40, 2}, {true, true, false, true, true, false});
    DeviceTask device(task);
    const Results whole = of_the_host(task, true);
    static const size_t ranges[][2] = {{0, 1},   {1, 2},   {0, 33}, {5, 37},
                                       {36, 37}, {12, 12}, {37, 37}};
    for (const auto &range : ranges)
        CHECK(device.run(true, range[0], range[1]) ==
              part_of(task, whole, range[0], range[1]));
}

TEST(what_a_launch_has_no_room_for_is_refused)
{
    const Task task({3, 1, 1, 4, 1}, {});
    DeviceTask device(task);
    fx8_cuda_postprocess job = device.job(true);
    job.plan.n_products = FX8_CUDA_MOST_PRODUCTS + 1;
    CHECK(fx8_cuda_postprocess_sums(&job, nullptr) == cudaErrorInvalidValue);
    job = device.job(true);
    job.plan.n_products = 0;
    CHECK(fx8_cuda_postprocess_sums(&job, nullptr) == cudaErrorInvalidValue);
    job = device.job(true);
    job.plan.n_antennas = 70000;
    job.end_antenna = 3;
    CHECK(fx8_cuda_postprocess_sums(&job, nullptr) == cudaErrorInvalidValue);
    job.first_antenna = 4;
    CHECK(fx8_cuda_postprocess_sums(&job, nullptr) == cudaErrorInvalidValue);
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
        DeviceArray<double> from32(x), to32(y);
        MUST(fx8_cuda_add_sums(true, n, from8.data(), to8.data(), nullptr));
        MUST(fx8_cuda_add_sums(false, n, from32.data(), to32.data(), nullptr));
        for (size_t k = 0; k < n; ++k) {
            b[k] += a[k];
            y[k] += x[k];
        }
        CHECK(to8.read() == b);
        CHECK(to32.read() == y);
    }
}

} // namespace postprocess_tests
