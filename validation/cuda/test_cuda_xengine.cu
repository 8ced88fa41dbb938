/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_xengine.cu -- every correlator of kernels/cuda against sums by the
 * definition: on the harness and, compiled by nvcc, on a card.
 *
 * Shows (devices, correlators): dp4a, mma, wgmma and fp32 with every size of
 *     tile, on the harness and by `$(BUILD)/gpu_xengine` on a card: 1 to 260
 *     inputs, any number of times, −128, garbage beside the data, calls that
 *     add up beyond 32 bits, 65,537 channels, four orders of threads; the
 *     choice among them, with each of its calls failing; a kernel that is not
 *     in the build or never ends is left out and named; kernels rounding
 *     downwards and upwards enclose the unrounded sum and the FP32 sum, also
 *     where the double sums are inexact
 * Within: integers, also as floats, equal to sums by the definition; floats
 *     520·2⁻²⁴ of the magnitudes, all sizes of tile equal to the bit
 * Because: `kernels/operations.h`: 512 roundings and a few
 * In: cuda/test_cuda_choose.cu
 */
#include <math.h>

#include <set>

#include "validation/cuda/checkers.h"
#include "validation/cuda/correlator_job.h"
#include "validation/cuda/without.h"
#include "validation/exact_sum.h"

namespace xengine_tests
{

/* Under a checker, also a device's (FX8_SHORT=1), everything is many times
 * slower, and a few sizes suffice. */
static const bool is_short = FX8_CHECKED || getenv("FX8_SHORT") != nullptr;

/* --- values ----------------------------------------------------------------
 */

template <int VALUE> double constant(uint64_t)
{
    return VALUE;
}
static double fraction(uint64_t random)
{
    return ldexp(static_cast<double>(random >> 40), -20) - 8;
}

/* Magnitudes 2^-40 to 2^41: a large sum keeps little of a small product. */
static double wide(uint64_t random)
{
    return ldexp(fraction(random), static_cast<int>(random % 79) - 40);
}

/* A pair's sums by the definition, and of the products' magnitudes. */
struct Exact {
    double re, im, magnitude;
};

/* Exact for integers; else the error is that of a double, far below a
 * float's.  [channel][pair] */
template <class T> std::vector<Exact> plain_sums(Spectra<T> &spectra)
{
    const Shape &s = spectra.shape;
    const size_t n_pairs = fx8_pair_count(s.n_inputs);
    std::vector<Exact> sums(s.n_channels * n_pairs);
    std::vector<double> rows(2 * s.n_inputs * s.n_times);
    for (size_t channel = 0; channel < s.n_channels; ++channel) {
        for (size_t row = 0; row < 2 * s.n_inputs; ++row)
            for (size_t t = 0; t < s.n_times; ++t)
                rows[row * s.n_times + t] =
                    static_cast<double>(spectra.at(channel, row, t));
        for (size_t j = 0; j < s.n_inputs; ++j)
            for (size_t i = 0; i <= j; ++i) {
                const double *const ri = &rows[2 * i * s.n_times];
                const double *const rj = &rows[2 * j * s.n_times];
                const double *const mi = ri + s.n_times;
                const double *const mj = rj + s.n_times;
                Exact sum = {0, 0, 0};
                for (size_t t = 0; t < s.n_times; ++t) {
                    sum.re += rj[t] * ri[t] + mj[t] * mi[t];
                    sum.im += mj[t] * ri[t] - rj[t] * mi[t];
                    sum.magnitude += hypot(ri[t], mi[t]) * hypot(rj[t], mj[t]);
                }
                sums[channel * n_pairs + fx8_pair_index(i, j)] = sum;
            }
    }
    return sums;
}

/* --- which correlators -----------------------------------------------------
 */

/* The correlators of a precision that run on the device, with tiles of at most
 * this size; the case is skipped if FX8_WITHOUT leaves none. */
static std::vector<fx8_cuda_correlator> correlators(bool is_int8,
                                                    unsigned largest_tile = 128)
{
    size_t n;
    fx8_cuda_capability capability;
    const fx8_cuda_correlator *all = fx8_cuda_correlators(&n);
    MUST(fx8_cuda_capability_of_device(&capability));
    std::vector<fx8_cuda_correlator> found;
    size_t n_running = 0;
    for (size_t k = 0; k < n; ++k)
        if (all[k].is_int8 == is_int8 && all[k].runs_on(&capability) &&
            all[k].tile_inputs <= largest_tile) {
            ++n_running;
            if (!is_left_out(all[k].name))
                found.push_back(all[k]);
        }
    CHECK(n_running >= 1);
    if (found.empty())
        tap::skip("left out, or not for this device");
    tap::is_run = tap::is_run || !found.empty();
    return found;
}

/* The first wrong numbers; for the first wrong shape of a correlator also where
 * numbers of a fragment arrive. */
template <class T, class Sum>
void report(const fx8_cuda_correlator &correlator, const Shape &shape,
            const std::vector<Sum> &found, const std::vector<Sum> &expected)
{
    static std::set<std::string> seen;
    size_t k = 0, n_wrong = 0;
    printf("# %s: sums differ, %zu inputs, %zu channels, %zu times\n",
           correlator.name, shape.n_inputs, shape.n_channels, shape.n_times);
    for (size_t channel = 0; channel < shape.n_channels; ++channel)
        for (size_t j = 0; j < shape.n_inputs; ++j)
            for (size_t i = 0; i <= j; ++i)
                for (size_t part = 0; part < 2; ++part, ++k)
                    if (found[k] != expected[k] && n_wrong++ < 16)
                        printf("#   channel %zu, i %zu, j %zu: %s got %.0f, "
                               "wanted %.0f\n",
                               channel, i, j, part == 0 ? "re" : "im",
                               static_cast<double>(found[k]),
                               static_cast<double>(expected[k]));
    printf("#   %zu of %zu numbers\n", n_wrong, k);
    if (!seen.insert(correlator.name).second)
        return;
    for (const bool are_rows : {true, false})
        for (const auto &each :
             find_impulses<T, Sum>(correlator, are_rows, is_short ? 4 : 32))
            printf("#   impulses in %s: %zu %s\n",
                   are_rows ? "rows (j)" : "columns (i)", each.second,
                   each.first.c_str());
}

/* Every correlator of T adds n_calls times the plain sums, to the bit. */
template <class T, class Sum>
void check_exact(const Shape &shape, Values values, int n_calls,
                 unsigned largest_tile = 128)
{
    Spectra<T> spectra(shape, values);
    const std::vector<Exact> exact = plain_sums(spectra);
    std::vector<Sum> before(2 * exact.size()), expected(2 * exact.size());
    for (size_t k = 0; k < exact.size(); ++k)
        for (size_t part = 0; part < 2; ++part) {
            before[2 * k + part] = static_cast<Sum>(3 * k + part) - 100;
            expected[2 * k + part] =
                before[2 * k + part] +
                static_cast<Sum>(n_calls *
                                 (part == 0 ? exact[k].re : exact[k].im));
        }
    for (const auto &correlator : correlators(sizeof(T) == 1, largest_tile)) {
        /* slow: the harness sets the rounding mode for each operation */
        if (correlator.rounding != FX8_CUDA_NEAREST && shape.n_inputs > 3)
            continue;
        const std::vector<Sum> found =
            sums_of(correlator, spectra, before, n_calls);
        if (found != expected)
            report<T>(correlator, shape, found, expected);
        CHECK(found == expected);
    }
}

template <class T, class Sum> void check_sizes()
{
    const size_t inputs[] = {1, 2, 3, 16, 17, 63, 64, 65, 130};
    const size_t times[] = {1, 15, 16, 17, 127, 128, 300};
    size_t number = 0;
    for (size_t n_inputs : inputs)
        for (size_t n_times : times) {
            ++number;
            if (is_long() || number % (is_short        ? 5
                                       : n_inputs < 60 ? 1
                                                       : 3) ==
                                 0)
                check_exact<T, Sum>({n_inputs, 1 + number % 3, n_times},
                                    full_range, 1);
        }
}

/* --- int8 ------------------------------------------------------------------
 */

TEST(int8_sums_of_any_size_are_exact)
{
    check_sizes<int8_t, int64_t>();
}

TEST(int8_extremes_are_exact)
{
    for (size_t n_inputs : {1, 17, 66}) {
        check_exact<int8_t, int64_t>({n_inputs, 2, 300}, constant<-128>, 1);
        check_exact<int8_t, int64_t>({n_inputs, 2, 40}, constant<0>, 1);
    }
}

/* Every stage of a ring is refilled at least twice: the longest ring has three
 * stages of 128 times.  Other shapes of the triangle, an odd end. */
TEST(int8_rings_come_round)
{
    for (size_t n_inputs : {5, 70, is_short ? 70 : 130})
        check_exact<int8_t, int64_t>({n_inputs, 1, 1001}, full_range, 1);
}

TEST(int8_longest_calls_add_up_beyond_32_bits)
{
    check_exact<int8_t, int64_t>({2, 1, FX8_MAX_INT32_SPECTRA}, constant<-128>,
                                 3, is_short ? 16 : 128);
}

#if !FX8_THREAD_CHECKER && !FX8_ADDRESS_CHECKER
/* Only the smallest tile: all share the loop over launches. */
TEST(channels_of_several_launches)
{
    check_exact<int8_t, int64_t>({1, 65537, 1}, full_range, 1, 16);
}
#endif

TEST(large_arrays)
{
    check_exact<int8_t, int64_t>({is_long() ? 530u : 260u, 1, 33}, full_range,
                                 1);
    check_exact<float, double>({is_long() ? 530u : 260u, 1, 33}, full_range, 1);
}

/* --- fp32 ------------------------------------------------------------------
 */

TEST(fp32_sums_of_integers_are_exact)
{
    check_sizes<float, double>();
    check_exact<float, double>({5, 2, 1025}, constant<-128>, 2);
    check_exact<float, double>({70, 1, 1001}, full_range, 1);
    /* Its sums have 25 bits: a float that is never folded cannot hold them. */
    check_exact<float, double>({5, 1, 1100}, constant<127>, 1);
}

/* 520 * 2^-24 of the magnitudes: struct fx8_correlate_fp32. */
TEST(fp32_sums_of_fractions_are_within_their_bound)
{
    for (size_t n_times : {1, 255, 256, 257, 900}) {
        Spectra<float> spectra({19, 2, n_times}, fraction);
        const std::vector<Exact> exact = plain_sums(spectra);
        std::vector<double> first;
        for (const auto &correlator : correlators(false)) {
            if (correlator.rounding != FX8_CUDA_NEAREST)
                continue;
            const std::vector<double> found = sums_of(
                correlator, spectra, std::vector<double>(2 * exact.size()), 1);
            for (size_t k = 0; k < exact.size(); ++k) {
                const double bound = 520 * 0x1p-24 * exact[k].magnitude;
                CHECK(fabs(found[2 * k] - exact[k].re) <= bound);
                CHECK(fabs(found[2 * k + 1] - exact[k].im) <= bound);
            }
            if (first.empty())
                first = found;
            CHECK(found == first);
        }
    }
}

/* Folds count from the first spectrum of a call. */
TEST(fp32_sums_do_not_depend_on_calls_of_whole_folds)
{
    Spectra<float> spectra({9, 1, 700}, fraction);
    const size_t n_sums = 2 * fx8_pair_count(9);
    for (const auto &correlator : correlators(false)) {
        const std::vector<double> whole =
            sums_of(correlator, spectra, std::vector<double>(n_sums), 1);
        DeviceArray<float> x(spectra.x);
        DeviceArray<double> sums((std::vector<double>(n_sums)));
        for (size_t begin : {0, 256, 512}) {
            const fx8_cuda_correlation job = {
                9,
                1,
                std::min<size_t>(256, 700 - begin),
                x.data() + begin / 4 * fx8_cuda_pitch(9) * 4,
                spectra.channel_stride(),
                sums.data(),
                nullptr};
            MUST(correlator.accumulate(&job));
        }
        CHECK(sums.read() == whole);
    }
}

/* --- fp32, rounded downwards and upwards ------------------------------------
 */

/* Sums of n_calls calls without any rounding, [channel][pair][re, im]. */
static std::vector<exact_sum> unrounded_sums(Spectra<float> &spectra,
                                             int n_calls)
{
    const Shape &s = spectra.shape;
    std::vector<exact_sum> sums;
    for (size_t channel = 0; channel < s.n_channels; ++channel)
        for (size_t j = 0; j < s.n_inputs; ++j)
            for (size_t i = 0; i <= j; ++i) {
                exact_sum re = {}, im = {};
                for (size_t n = 0; n < s.n_times * size_t(n_calls); ++n) {
                    const size_t t = n % s.n_times;
                    const float ri = spectra.at(channel, 2 * i, t);
                    const float mi = spectra.at(channel, 2 * i + 1, t);
                    const float rj = spectra.at(channel, 2 * j, t);
                    const float mj = spectra.at(channel, 2 * j + 1, t);
                    exact_add_product(&re, rj, ri);
                    exact_add_product(&re, mj, mi);
                    exact_add_product(&im, mj, ri);
                    exact_add_product(&im, -rj, mi);
                }
                sums.push_back(re);
                sums.push_back(im);
            }
    return sums;
}

/* Every correlator of a rounding has these sums. */
static std::vector<double> sums_rounded(fx8_cuda_rounding rounding,
                                        const Spectra<float> &spectra,
                                        const std::vector<double> &before,
                                        int n_calls)
{
    std::vector<double> sums;
    for (const auto &correlator : correlators(false)) {
        if (correlator.rounding != rounding)
            continue;
        const std::vector<double> found =
            sums_of(correlator, spectra, before, n_calls);
        CHECK(sums.empty() || found == sums);
        sums = found;
    }
    CHECK(sums.size() == before.size());
    return sums;
}

/* Each of 512 operations of a fold loses less than 2^-23 of the magnitudes, the
 * double sums far less: 520, in either direction. */
TEST(directed_sums_enclose_what_is_not_rounded_and_fp32)
{
    const Shape shapes[] = {{18, 2, 1}, {18, 2, 257}, {66, 1, 20}, {9, 1, 600}};
    if (correlators(false).empty())
        return;
    for (Values values : {fraction, wide})
        for (const Shape &shape : shapes) {
            Spectra<float> spectra(shape, values);
            const std::vector<exact_sum> exact = unrounded_sums(spectra, 2);
            const std::vector<Exact> plain = plain_sums(spectra);
            const std::vector<double> zero_sums(exact.size());
            const std::vector<double> down =
                sums_rounded(FX8_CUDA_DOWN, spectra, zero_sums, 2);
            const std::vector<double> up =
                sums_rounded(FX8_CUDA_UP, spectra, zero_sums, 2);
            const std::vector<double> nearest =
                sums_rounded(FX8_CUDA_NEAREST, spectra, zero_sums, 2);
            size_t n_wide = 0;
            for (size_t k = 0; k < exact.size(); ++k) {
                CHECK(exact_compare(&exact[k], down[k]) >= 0);
                CHECK(exact_compare(&exact[k], up[k]) <= 0);
                CHECK(down[k] <= nearest[k] && nearest[k] <= up[k]);
                CHECK(up[k] - down[k] <=
                      2 * 520 * 0x1p-23 * 2 * plain[k / 2].magnitude);
                n_wide += down[k] < up[k];
            }
            /* the others have only one exact product: real autos */
            CHECK(n_wide > exact.size() / 2);
        }
}

/* Sums from 2^60 on have steps of 256: only their own rounding matters. */
TEST(directed_sums_are_added_in_their_direction)
{
    if (correlators(false).empty())
        return;
    for (const double start : {0x1p60, -0x1p60}) {
        Spectra<float> spectra({7, 1, 300}, full_range);
        const std::vector<Exact> exact = plain_sums(spectra);
        const std::vector<double> before(2 * exact.size(), start);
        const std::vector<double> down =
            sums_rounded(FX8_CUDA_DOWN, spectra, before, 1);
        const std::vector<double> up =
            sums_rounded(FX8_CUDA_UP, spectra, before, 1);
        for (size_t k = 0; k < down.size(); ++k) {
            const double added = k % 2 == 0 ? exact[k / 2].re : exact[k / 2].im;
            const int64_t sum =
                static_cast<int64_t>(start) + static_cast<int64_t>(added);
            CHECK(static_cast<int64_t>(down[k]) <= sum);
            CHECK(static_cast<int64_t>(up[k]) >= sum);
            CHECK(up[k] - down[k] <= 4 * 256.0);
        }
    }
}

/* --- legal and illegal jobs ------------------------------------------------
 */

TEST(empty_jobs_do_nothing_and_long_ones_are_refused)
{
    const Spectra<float> spectra({3, 2, 40}, full_range);
    DeviceArray<float> x(spectra.x);
    const std::vector<double> before(24, 5);
    DeviceArray<double> sums(before);
    for (const auto &correlator : correlators(false))
        for (const Shape &shape : {Shape{0, 2, 40}, {3, 0, 40}, {3, 2, 0}}) {
            const fx8_cuda_correlation job = {
                shape.n_inputs, shape.n_channels,         shape.n_times,
                x.data(),       spectra.channel_stride(), sums.data(),
                nullptr};
            MUST(correlator.accumulate(&job));
        }
    for (const bool is_int8 : {true, false})
        for (const auto &correlator : correlators(is_int8)) {
            const fx8_cuda_correlation job = {3,
                                              2,
                                              FX8_MAX_INT32_SPECTRA + 1,
                                              x.data(),
                                              spectra.channel_stride(),
                                              sums.data(),
                                              nullptr};
            CHECK(correlator.accumulate(&job) == cudaErrorInvalidValue);
        }
    CHECK(sums.read() == before);
}

/* --- what a report finds ---------------------------------------------------
 */

/* mma-32 on spectra in which two words of 4 times are exchanged: of 4 times the
 * real parts of inputs 3 and 11 of the rows, of more times two words of input 5
 * of the columns. */
static cudaError_t exchange_and_correlate(const fx8_cuda_correlation *job)
{
    std::vector<int32_t> x(4 * job->channel_stride);
    MUST(cudaMemcpy(x.data(), job->x, 4 * x.size(), cudaMemcpyDeviceToHost));
    if (job->n_times == 4)
        std::swap(x[4 * fx8_cuda_row(32 + 3, 0)],
                  x[4 * fx8_cuda_row(32 + 11, 0)]);
    else
        std::swap(x[4 * fx8_cuda_row(5, 1) + 1], x[4 * fx8_cuda_row(5, 1) + 2]);
    DeviceArray<int32_t> changed(x);
    fx8_cuda_correlation own = *job;
    own.x = changed.data();
    for (const auto &correlator : correlators(true))
        if (strcmp(correlator.name, "mma-32") == 0)
            MUST(correlator.accumulate(&own));
    return cudaDeviceSynchronize();
}

TEST(numbers_that_arrive_elsewhere_are_found)
{
    using Landings = std::map<std::string, size_t>;
    for (fx8_cuda_correlator correlator : correlators(true)) {
        if (strcmp(correlator.name, "mma-32") != 0)
            continue;
        CHECK((find_impulses<int8_t, int64_t>(correlator, true, 4)).empty());
        correlator.accumulate = exchange_and_correlate;
        CHECK((find_impulses<int8_t, int64_t>(correlator, true, 4)) ==
              Landings({{"+8 inputs: re as re, +0 times", 4},
                        {"-8 inputs: re as re, +0 times", 4},
                        {"not in its own place", 8}}));
        CHECK((find_impulses<int8_t, int64_t>(correlator, false, 16)) ==
              Landings({{"+0 inputs: im as im, +4 times", 4},
                        {"+0 inputs: im as im, -4 times", 4}}));
    }
}

/* --- on the harness alone --------------------------------------------------
 */

#if defined(FX8_CUDA_ON_CPU)

TEST(the_order_of_threads_does_not_matter)
{
    in_every_order([] {
        for (size_t n_inputs : {3, is_short ? 20 : 65, is_short ? 66 : 130}) {
            check_exact<int8_t, int64_t>({n_inputs, 1, 150}, full_range, 1);
            check_exact<float, double>({n_inputs, 1, 20}, full_range, 1);
        }
    });
}

#endif

} // namespace xengine_tests
