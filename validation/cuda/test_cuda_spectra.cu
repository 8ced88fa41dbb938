/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_spectra.cu -- the kernels that produce spectra in the layout of the
 * correlators, against the reference operations of the CPU: equal to the bit.
 * Arrays begin as garbage and are compared whole: padding in time is zero,
 * padding of inputs stays untouched.
 *
 * Shows: as cuda/test_cuda_fir.cu
 */
#include <math.h>

#include <algorithm>

#include "validation/cuda/host_spectra.h"

namespace spectra_tests
{

/* --- corner turn ------------------------------------------------------ */

struct TurnCase {
    bool is_complex;
    size_t n_inputs, n_spectra, fft_length, n_channels;
    int mask;
    size_t gap; /* bins behind a spectrum */
    bool is_rotated = false, is_dithered = false;
};

/** Numbers to be quantised: noise of which some is clipped, ties, ends. */
static float random_part()
{
    static const float special[] = {127.5F,  -127.5F, 127.49999F, 126.5F,
                                    -126.5F, 127.0F,  -128.0F,    0.5F,
                                    -0.5F,   1.5F,    -2.5F,      -0.0F,
                                    1e30F,   -1e30F,  0x1p-149F,  0x1p31F};
    const uint64_t random = next_random();
    if (random % 4 == 0)
        return special[random / 4 % 16];
    return (static_cast<float>(random >> 40) - 0x1p23F) * 150.0F * 0x1p-23F;
}

/** The input of a job, on host and device. */
struct Turn {
    TurnCase shape;
    fx8_filterbank bank;
    size_t stride, n_levels;
    std::vector<fx8_cf32> bins;
    std::vector<float> gain;
    std::vector<uint64_t> mask;
    DeviceArray<fx8_cf32> device_bins;
    DeviceArray<float> device_gain;
    DeviceArray<uint64_t> device_mask;
    DeviceArray<unsigned long long> clips; /* 7 at first */
    std::vector<fx8_rotation> rotation;    /* [input][group], and a gap */
    DeviceArray<fx8_rotation> device_rotation;
    fx8_dither dither = {0, 150000000, 70, 3,
                         (INT64_C(1) << 34) - FX8_DITHER_SPECTRA};

    /** Random bins and gains, or all bins the same with a gain of 100. */
    explicit Turn(const TurnCase &c, const fx8_cf32 *same_bin = nullptr)
        : shape(c), bank{c.is_complex, c.fft_length, 1, c.n_channels},
          stride(fx8_filterbank_bins(&bank) + c.gap),
          n_levels(c.n_inputs * c.n_channels),
          bins(c.n_inputs * c.n_spectra * stride), gain(n_levels, 100.0F),
          mask(make_mask(c.n_inputs, c.n_spectra, c.mask)),
          device_bins(bins.size()), device_gain(n_levels), device_mask(mask),
          clips(std::vector<unsigned long long>(n_levels, 7)),
          rotation(c.n_inputs * rotation_stride()),
          device_rotation(rotation.size())
    {
        for (fx8_rotation &r : rotation)
            r = {next_random(), next_random(), next_random(),
                 next_random(), next_random(), 0};
        device_rotation.write(rotation);
        for (fx8_cf32 &bin : bins)
            bin = same_bin != nullptr ? *same_bin
                                      : fx8_cf32{random_part(), random_part()};
        for (float &g : gain)
            if (same_bin == nullptr)
                g = next_random() % 2 == 0
                        ? 1.0F
                        : 0.25F + static_cast<float>(next_random() >> 40) *
                                      0x1p-24F;
        device_bins.write(bins);
        device_gain.write(gain);
    }
    size_t rotation_stride() const
    {
        return fx8_groups(shape.n_spectra) + 1;
    }
    const fx8_cf32 &bin(size_t input, size_t time, size_t channel) const
    {
        return bins[(input * shape.n_spectra + time) * stride +
                    fx8_filterbank_bin(&bank, channel)];
    }
    HostSpectra untouched() const
    {
        return HostSpectra(shape.n_inputs, shape.n_channels, shape.n_spectra);
    }
    fx8_cuda_corner_turn_job job()
    {
        fx8_cuda_corner_turn_job job = {};
        job.bank = bank;
        job.part = whole(shape.n_inputs, shape.n_spectra, &device_mask);
        job.bins = device_bins.data();
        job.bins_stride = stride;
        job.gain = device_gain.data();
        job.clips = clips.data();
        job.rotation = shape.is_rotated ? device_rotation.data() : nullptr;
        job.rotation_stride = rotation_stride();
        job.has_dither = shape.is_dithered;
        job.dither = dither;
        return job;
    }
};

/** Channels [begin, end) of the group of spectra from `first` on. */
static void expect_group(const Turn &turn, size_t input, size_t first,
                         size_t begin, size_t end, HostSpectra *spectra,
                         std::vector<unsigned long long> *clips)
{
    const fx8_operations operations = reference();
    const size_t n = std::min<size_t>(turn.shape.n_spectra - first, FX8_GROUP);
    fx8_phases phases;
    fx8_find_phases(
        &turn.rotation[input * turn.rotation_stride() + first / FX8_GROUP], 0,
        n, begin, &phases);
    fx8_spectra_group group = {};
    group.n_spectra = n;
    group.n_channels = end - begin;
    group.spectra = &turn.bin(input, first, begin);
    group.stride = turn.stride;
    group.phases = turn.shape.is_rotated ? &phases : nullptr;
    fx8_dither dither = turn.dither;
    dither.input = static_cast<uint32_t>(input);
    dither.channel += static_cast<uint32_t>(begin);
    dither.spectrum += static_cast<int64_t>(first);
    group.dither = turn.shape.is_dithered ? &dither : nullptr;
    for (size_t t = 0; t < n; ++t)
        if (is_valid(turn.mask, turn.shape.n_spectra, input, first + t))
            group.valid |= 1U << t;
    std::vector<fx8_ci8> x8(group.n_channels * n);
    std::vector<fx8_cf32> x32(x8.size());
    std::vector<uint32_t> n_clips(group.n_channels, 0);
    operations.quantise(&group,
                        &turn.gain[input * turn.shape.n_channels + begin],
                        x8.data(), n, n_clips.data());
    operations.corner_turn(&group, x32.data(), n);
    for (size_t k = 0; k < x8.size(); ++k) {
        const size_t c = begin + k / n, t = first + k % n;
        spectra->set_int8(c, t, input, x8[k]);
        spectra->set_fp32(c, t, input, x32[k]);
    }
    for (size_t c = begin; c < end; ++c)
        (*clips)[input * turn.shape.n_channels + c] += n_clips[c - begin];
}

/** The same by the reference quantise and corner turn, by groups and by ranges
 *  of channels that are consecutive bins. */
static HostSpectra expect_turned(const Turn &turn,
                                 std::vector<unsigned long long> *clips)
{
    HostSpectra spectra = turn.untouched();
    const size_t half = turn.bank.is_complex ? spectra.n_channels / 2 : 0;
    clips->assign(turn.n_levels, 7);
    for (size_t i = 0; i < spectra.n_inputs; ++i) {
        for (size_t c = 0; c < spectra.n_channels; ++c)
            for (size_t t = 0; t < spectra.n_times; ++t) {
                spectra.set_int8(c, t, i, {0, 0});
                spectra.set_fp32(c, t, i, {0, 0});
            }
        for (size_t t = 0; t < turn.shape.n_spectra; t += FX8_GROUP) {
            if (half > 0)
                expect_group(turn, i, t, 0, half, &spectra, clips);
            expect_group(turn, i, t, half, spectra.n_channels, &spectra, clips);
        }
    }
    return spectra;
}

/** A job in parts: inputs split at `input`, times at `time`. */
static void turn_in_parts(const Turn &turn, fx8_cuda_corner_turn_job job,
                          size_t input, size_t time,
                          const fx8_cuda_spectra &spectra)
{
    const fx8_cuda_part all = job.part;
    const size_t inputs[] = {0, input, all.n_inputs};
    const size_t times[] = {0, time, all.end_time};
    for (int i = 0; i < 2; ++i)
        for (int t = 0; t < 2; ++t) {
            fx8_cuda_part &part = job.part;
            part.first_input = inputs[i];
            part.n_inputs = inputs[i + 1] - inputs[i];
            part.first_time = times[t];
            part.end_time = times[t + 1];
            const size_t end = std::min(times[t + 1], all.n_spectra);
            part.n_spectra = end > times[t] ? end - times[t] : 0;
            /* the bins of the part, arranged as the FFT writes them */
            std::vector<fx8_cf32> bins;
            for (size_t k = inputs[i]; k < inputs[i + 1]; ++k) {
                const auto from =
                    turn.bins.begin() +
                    static_cast<ptrdiff_t>((k * all.n_spectra + times[t]) *
                                           turn.stride);
                bins.insert(bins.end(), from,
                            from + static_cast<ptrdiff_t>(part.n_spectra *
                                                          turn.stride));
            }
            bins.resize(bins.size() + 1); /* no array if there are none */
            DeviceArray<fx8_cf32> device_bins(bins);
            job.bins = device_bins.data();
            MUST(fx8_cuda_corner_turn(&job, &spectra, nullptr));
            MUST(cudaDeviceSynchronize());
        }
}

static void check_turn(const TurnCase &c)
{
    static const struct {
        bool in_parts, int8, fp32, dither;
    } ways[] = {{false, true, true, false},
                {true, true, true, true},
                {false, true, false, true},
                {false, false, true, true}};
    for (const auto &way : ways) {
        TurnCase shape = c;
        shape.is_dithered = way.dither;
        Turn turn(shape);
        const HostSpectra untouched = turn.untouched();
        std::vector<unsigned long long> clips;
        HostSpectra expected = expect_turned(turn, &clips);
        DeviceSpectra spectra(untouched);
        fx8_cuda_corner_turn_job job = turn.job();
        if (!way.int8) {
            spectra.view.int8 = nullptr;
            job.gain = nullptr;
            job.clips = nullptr;
            expected.int8 = untouched.int8;
            clips.assign(turn.n_levels, 7);
        }
        if (!way.fp32) {
            spectra.view.fp32 = nullptr;
            expected.fp32 = untouched.fp32;
        }
        if (way.in_parts)
            turn_in_parts(turn, job, c.n_inputs / 2, c.n_spectra / 32 * 16,
                          spectra.view);
        else
            MUST(fx8_cuda_corner_turn(&job, &spectra.view, nullptr));
        check_spectra(spectra, expected);
        CHECK(same(turn.clips.read(), clips));
    }
}

TEST(turned_spectra_equal_the_reference)
{
    const TurnCase cases[] = {
        {true, 1, 1, 1, 1, 0, 0},      {true, 2, 15, 5, 5, 0, 0},
        {true, 3, 16, 64, 64, 1, 0},   {true, 5, 17, 65, 65, 1, 3},
        {true, 4, 130, 16, 7, 1, 0},   {true, 9, 33, 128, 101, 0, 1},
        {false, 1, 20, 2, 1, 1, 0},    {false, 3, 64, 16, 8, 1, 0},
        {false, 6, 129, 34, 17, 1, 1}, {false, 2, 40, 200, 100, 0, 0},
        {true, 4, 40, 30, 30, 2, 0},   {true, 17, 40, 4, 3, 1, 0},
        {true, 65, 16, 2, 2, 1, 0},    {false, 130, 33, 4, 2, 1, 0},
    };
    for (const TurnCase &c : cases) {
        check_turn(c);
        TurnCase rotated = c;
        rotated.is_rotated = true;
        check_turn(rotated);
    }
}

TEST(turned_spectra_depend_on_no_order)
{
    in_every_order([] { check_turn({true, 5, 50, 66, 65, 1, 0, true}); });
}

/* Ways to make a job of two inputs and sixteen spectra invalid. */
static void (*const spoil[])(fx8_cuda_corner_turn_job *) = {
    [](fx8_cuda_corner_turn_job *job) { job->part.n_inputs = 3; },
    [](fx8_cuda_corner_turn_job *job) { job->part.first_time = 8; },
    [](fx8_cuda_corner_turn_job *job) { job->part.end_time = 144; },
    [](fx8_cuda_corner_turn_job *job) { job->part.n_spectra = 129; },
    [](fx8_cuda_corner_turn_job *job) { job->part.valid_words = 0; },
    [](fx8_cuda_corner_turn_job *job) { job->bins_stride = 3; },
    [](fx8_cuda_corner_turn_job *job) {
        job->has_dither = true;
        job->dither.spectrum = 8;
    },
};

TEST(illegal_turns_are_refused)
{
    Turn turn({true, 2, 16, 4, 4, 0, 0});
    DeviceSpectra spectra(turn.untouched());
    for (const auto &each : spoil) {
        fx8_cuda_corner_turn_job job = turn.job();
        each(&job);
        CHECK(fx8_cuda_corner_turn(&job, &spectra.view, nullptr) ==
              cudaErrorInvalidValue);
    }
    fx8_cuda_corner_turn_job legal = turn.job();
    legal.part.n_inputs = 0;
    MUST(fx8_cuda_corner_turn(&legal, &spectra.view, nullptr));
}

/* --- method none -------------------------------------------------------------
 */

static void check_gather(size_t n_inputs, size_t n_spectra, size_t shift,
                         size_t spare, int mask_kind)
{
    const size_t stride = 2 * n_spectra + spare;
    const std::vector<int8_t> samples =
        random_samples(shift + (n_inputs - 1) * stride + 2 * n_spectra);
    const std::vector<uint64_t> mask =
        make_mask(n_inputs, n_spectra, mask_kind);
    HostSpectra expected(n_inputs, 1, n_spectra);
    DeviceSpectra spectra(expected), in_parts(expected);
    for (size_t i = 0; i < n_inputs; ++i)
        for (size_t t = 0; t < expected.n_times; ++t) {
            const int8_t *at = samples.data() + shift + i * stride + 2 * t;
            const bool valid = is_valid(mask, n_spectra, i, t);
            const fx8_ci8 x = valid ? fx8_ci8{at[0], at[1]} : fx8_ci8{0, 0};
            expected.set_int8(0, t, i, x);
            expected.set_fp32(
                0, t, i, {static_cast<float>(x.re), static_cast<float>(x.im)});
        }
    DeviceArray<int8_t> device_samples(samples);
    DeviceArray<uint64_t> device_mask(mask);
    fx8_cuda_part part = whole(n_inputs, n_spectra, &device_mask);
    const int8_t *first = device_samples.data() + shift;
    MUST(fx8_cuda_gather(&part, first, stride, &spectra.view, nullptr));
    check_spectra(spectra, expected);
    /* the last input and the last times separately */
    const size_t last = n_inputs - 1, cut = n_spectra / 16 * 16;
    const struct {
        size_t input, n_inputs, time, n_spectra, end_time;
    } parts[] = {{0, last, 0, n_spectra, part.end_time},
                 {last, 1, 0, cut, cut},
                 {last, 1, cut, n_spectra - cut, part.end_time}};
    for (const auto &each : parts) {
        part.first_input = each.input;
        part.n_inputs = each.n_inputs;
        part.first_time = each.time;
        part.n_spectra = each.n_spectra;
        part.end_time = each.end_time;
        MUST(fx8_cuda_gather(&part, first + each.input * stride + 2 * each.time,
                             stride, &in_parts.view, nullptr));
    }
    check_spectra(in_parts, expected);
}

TEST(gathered_samples_are_the_spectra)
{
    for (size_t n_inputs : {1, 2, 4, 7, 65})
        for (size_t n_spectra : {1, 15, 16, 17, 64, 300}) {
            check_gather(n_inputs, n_spectra, 0, 16 - 2 * n_spectra % 16, 0);
            check_gather(n_inputs, n_spectra, 1, 3, 1);
        }
    in_every_order([] { check_gather(5, 200, 0, 0, 1); });
}

/* --- canonical order ---------------------------------------------------------
 */

template <class T> static std::vector<T> random_complex(size_t count)
{
    std::vector<T> x(count);
    for (T &one : x) {
        one.re = static_cast<decltype(one.re)>(next_random() % 256 - 128);
        one.im = static_cast<decltype(one.im)>(next_random() % 256 - 128);
    }
    return x;
}

static void check_canonical(size_t n_channels, size_t n_spectra,
                            size_t n_inputs, int mask_kind)
{
    const size_t count = n_channels * n_spectra * n_inputs;
    std::vector<fx8_ci8> x8 = random_complex<fx8_ci8>(count);
    std::vector<fx8_cf32> x32 = random_complex<fx8_cf32>(count);
    const std::vector<uint64_t> mask =
        make_mask(n_inputs, n_spectra, mask_kind);
    HostSpectra expected(n_inputs, n_channels, n_spectra);
    DeviceSpectra spectra(expected), half(expected);
    DeviceArray<fx8_ci8> device8(x8), back8(count);
    DeviceArray<fx8_cf32> device32(x32), back32(count);
    DeviceArray<uint64_t> device_mask(mask);
    for (size_t c = 0; c < n_channels; ++c)
        for (size_t t = 0; t < expected.n_times; ++t)
            for (size_t i = 0; i < n_inputs; ++i) {
                const size_t k = (c * n_spectra + t) * n_inputs + i;
                const bool valid = is_valid(mask, n_spectra, i, t);
                if (t < n_spectra && !valid) {
                    x8[k] = {0, 0};
                    x32[k] = {0, 0};
                }
                expected.set_int8(c, t, i, valid ? x8[k] : fx8_ci8{0, 0});
                expected.set_fp32(c, t, i, valid ? x32[k] : fx8_cf32{0, 0});
            }
    const fx8_cuda_part part = whole(n_inputs, n_spectra, &device_mask);
    MUST(fx8_cuda_import(&part, device8.data(), device32.data(), &spectra.view,
                         nullptr));
    check_spectra(spectra, expected);
    MUST(fx8_cuda_export(&spectra.view, n_spectra, back8.data(), back32.data(),
                         nullptr));
    CHECK(same(back8.read(), x8));
    CHECK(same(back32.read(), x32));

    /* import of nothing gives zeros; NULL arrays are not exported */
    half.view.fp32 = nullptr;
    MUST(fx8_cuda_import(&part, nullptr, nullptr, &half.view, nullptr));
    MUST(
        fx8_cuda_export(&half.view, n_spectra, back8.data(), nullptr, nullptr));
    CHECK(same(back8.read(), std::vector<fx8_ci8>(count, fx8_ci8{0, 0})));
    CHECK(fx8_cuda_export(&half.view, n_spectra, nullptr, back32.data(),
                          nullptr) == cudaErrorInvalidValue);
}

TEST(export_gives_back_what_import_took)
{
    for (size_t n_channels : {1, 3})
        for (size_t n_spectra : {1, 17, 130})
            for (size_t n_inputs : {1, 3, 8})
                check_canonical(n_channels, n_spectra, n_inputs,
                                n_inputs == 8 ? 0 : 1);
    in_every_order([] { check_canonical(2, 20, 5, 1); });
}

} // namespace spectra_tests
