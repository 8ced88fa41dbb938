/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlator_job.h -- a correlator's spectra and sums; where each number of a
 * fragment arrives in a correlator that computes wrongly.
 */
#ifndef FX8_VALIDATION_CUDA_CORRELATOR_JOB_H
#define FX8_VALIDATION_CUDA_CORRELATOR_JOB_H

#include <algorithm>
#include <map>
#include <string>

#include "kernels/cuda/correlate.h"
#include "kernels/cuda/layout.h"
#include "kernels/operations.h"
#include "validation/cuda/device_array.h"

struct Shape {
    size_t n_inputs, n_channels, n_times;
};

/* Makes the value of an input at a time. */
using Values = double (*)(uint64_t random);

inline double full_range(uint64_t random)
{
    return random % 8 == 0 ? -128 : static_cast<int8_t>(random >> 32);
}

/* Spectra in the device's layout.  Everything that no correlator may use is
 * garbage: rows without an input, columns behind the last time, the tail.  Only
 * the times that share 16 bytes with the last one are zero. */
template <class T> struct Spectra {
    Shape shape;
    std::vector<T> x;
    static constexpr size_t TIMES = 16 / sizeof(T);

    Spectra(const Shape &s, Values values)
        : shape(s),
          x((s.n_channels * channel_stride() + FX8_CUDA_TAIL_ROWS) * TIMES)
    {
        uint64_t state = 11 * s.n_inputs + s.n_times;
        for (T &value : x)
            value = static_cast<T>(full_range(harness::random_next(&state)));
        const size_t last = (s.n_times + TIMES - 1) / TIMES * TIMES;
        for (size_t channel = 0; channel < s.n_channels; ++channel)
            for (size_t row = 0; row < 2 * s.n_inputs; ++row)
                for (size_t t = 0; t < last; ++t)
                    at(channel, row, t) = static_cast<T>(
                        t < s.n_times ? values(harness::random_next(&state))
                                      : 0);
    }

    /* A column of garbage lies behind those of a channel. */
    size_t channel_stride() const
    {
        return ((shape.n_times + TIMES - 1) / TIMES + 1) *
               fx8_cuda_pitch(shape.n_inputs);
    }
    /* `row` is twice the input, and one more for an imaginary part. */
    T &at(size_t channel, size_t row, size_t t)
    {
        const size_t vector = channel * channel_stride() +
                              t / TIMES * fx8_cuda_pitch(shape.n_inputs) +
                              fx8_cuda_row(row / 2, row % 2);
        return x[vector * TIMES + t % TIMES];
    }
};

/* Sums as the device adds them to `before`, in n_calls equal calls. */
template <class T, class Sum>
std::vector<Sum> sums_of(const fx8_cuda_correlator &correlator,
                         const Spectra<T> &spectra, std::vector<Sum> before,
                         int n_calls)
{
    DeviceArray<T> x(spectra.x);
    DeviceArray<Sum> sums(before);
    const fx8_cuda_correlation job = {spectra.shape.n_inputs,
                                      spectra.shape.n_channels,
                                      spectra.shape.n_times,
                                      x.data(),
                                      spectra.channel_stride(),
                                      sums.data(),
                                      nullptr};
    for (int call = 0; call < n_calls; ++call)
        MUST(correlator.accumulate(&job));
    return sums.read();
}

/* One number of each fragment of a side of a tile is 1, the others are 0; the
 * other side is random. */
template <class T> struct Impulses {
    size_t first, other, tile; /* inputs: of the side, of the other one, both */
    Spectra<T> spectra;

    Impulses(bool are_rows, size_t tile_inputs, size_t n_times)
        : first(are_rows ? tile_inputs : 0), other(tile_inputs - first),
          tile(tile_inputs), spectra({2 * tile_inputs, 1, n_times}, full_range)
    {
    }
    void set(size_t input, size_t part, size_t time)
    {
        for (size_t row = 0; row < 2 * tile; ++row)
            for (size_t t = 0; t < spectra.shape.n_times; ++t)
                spectra.at(0, 2 * first + row, t) =
                    row / 2 % FRAGMENT == input && row % 2 == part && t == time;
    }
    /* Whether an input of the side has the sums of a 1 at this time, or of
     * nothing at all (`time` beyond the last). */
    template <class Sum>
    bool is_at(const std::vector<Sum> &sums, size_t input, size_t part,
               size_t time)
    {
        for (size_t o = other; o < other + tile; ++o) {
            const size_t i = std::min(first + input, o);
            const Sum *sum =
                &sums[2 * fx8_pair_index(i, first + input + o - i)];
            const bool is_there = time < spectra.shape.n_times;
            const Sum r = is_there ? spectra.at(0, 2 * o, time) : 0;
            const Sum m = is_there ? spectra.at(0, 2 * o + 1, time) : 0;
            const Sum im = part == 0 ? m : -r;
            if (sum[0] != (part == 0 ? r : m) ||
                sum[1] != (first > 0 ? -im : im)) /* conj(E_i) E_j */
                return false;
        }
        return true;
    }
    static constexpr size_t FRAGMENT = 16;
};

/* Where the numbers of fragments arrive, if elsewhere, and how many. */
template <class T, class Sum>
std::map<std::string, size_t> find_impulses(
    const fx8_cuda_correlator &correlator, bool are_rows, size_t n_times)
{
    Impulses<T> impulses(are_rows, correlator.tile_inputs, n_times);
    const size_t fragment = Impulses<T>::FRAGMENT;
    const size_t n_pairs = fx8_pair_count(2 * correlator.tile_inputs);
    const int n_failed = tap::n_failed_checks;
    std::map<std::string, size_t> landings;
    for (size_t k = 0; k < fragment * 2 * n_times; ++k) {
        const size_t part = k / n_times % 2, time = k % n_times;
        impulses.set(k / n_times / 2, part, time);
        const std::vector<Sum> sums = sums_of(correlator, impulses.spectra,
                                              std::vector<Sum>(2 * n_pairs), 1);
        if (tap::n_failed_checks != n_failed)
            break; /* an error of the runtime */
        for (size_t input = 0; input < correlator.tile_inputs; ++input) {
            const int shift = static_cast<int>(input % fragment) -
                              static_cast<int>(k / n_times / 2);
            size_t at = shift == 0 ? k % (2 * n_times) : 2 * n_times;
            const auto is_at = [&] {
                return impulses.is_at(sums, input, at / n_times,
                                      at == 2 * n_times ? SIZE_MAX
                                                        : at % n_times);
            };
            if (is_at())
                continue;
            for (at = 0; at < 2 * n_times && !is_at();)
                ++at;
            char text[80];
            snprintf(text, sizeof text, "%+d inputs: %s as %s, %+d times",
                     shift, part == 0 ? "re" : "im",
                     at / n_times == 0 ? "re" : "im",
                     static_cast<int>(at % n_times) - static_cast<int>(time));
            ++landings[at < 2 * n_times ? text
                       : is_at()        ? "not in its own place"
                                        : "sums of no single number"];
        }
    }
    return landings;
}

#endif
