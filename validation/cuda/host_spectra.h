/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_spectra.h -- shared by the tests of the F stage on the device: the
 * reference operations, random numbers, spectra in the correlators' layout on
 * host and device.
 */
#ifndef FX8_VALIDATION_CUDA_HOST_SPECTRA_H
#define FX8_VALIDATION_CUDA_HOST_SPECTRA_H

#include "config/base/shape.h"
#include "kernels/cpu/variants.h"
#include "kernels/cuda/channelize.h"
#include "kernels/cuda/layout.h"
#include "validation/cuda/device_array.h"

/** State of the generator; every run has the same numbers. */
inline uint64_t random_state = 8;

inline uint64_t next_random()
{
    return harness::random_next(&random_state);
}

/** The reference operations of this stage. */
inline fx8_operations reference()
{
    fx8_operations operations = {};
    fx8_fill_fir_reference(&operations);
    fx8_fill_quantise_reference(&operations);
    return operations;
}

/** Elements with every byte garbage. */
template <class T> std::vector<T> garbage(size_t count)
{
    std::vector<T> result(count);
    memset(static_cast<void *>(result.data()), 0xa5, count * sizeof(T));
    return result;
}

template <class T> bool same(const std::vector<T> &a, const std::vector<T> &b)
{
    return a.size() == b.size() &&
           memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/** Integers of all values, with -128 often. */
inline std::vector<int8_t> random_samples(size_t count)
{
    std::vector<int8_t> samples(count);
    for (int8_t &sample : samples) {
        const uint64_t random = next_random();
        sample =
            random % 16 == 0 ? int8_t(-128) : static_cast<int8_t>(random >> 32);
    }
    return samples;
}

/** Both arrays of a block of spectra on the host. */
struct HostSpectra {
    size_t n_inputs, n_channels, n_times;
    std::vector<int8_t> int8;
    std::vector<float> fp32;

    HostSpectra(size_t inputs, size_t channels, size_t n_spectra)
        : n_inputs(inputs), n_channels(channels),
          n_times(fx8_cuda_times(n_spectra)),
          int8(garbage<int8_t>(vectors(FX8_CUDA_TIMES_INT8) * 16)),
          fp32(garbage<float>(vectors(FX8_CUDA_TIMES_FP32) * 4))
    {
    }

    size_t vectors(size_t times) const
    {
        return n_channels * fx8_cuda_channel_vectors(n_inputs, n_times, times);
    }

    /** Index of an element of a part (0: real); vectors hold `times` times. */
    size_t at(size_t times, size_t channel, size_t time, size_t input,
              unsigned part) const
    {
        const size_t column = channel * (n_times / times) + time / times;
        const size_t row =
            column * fx8_cuda_pitch(n_inputs) + fx8_cuda_row(input, part);
        return row * times + time % times;
    }

    void set_int8(size_t channel, size_t time, size_t input, fx8_ci8 x)
    {
        int8[at(FX8_CUDA_TIMES_INT8, channel, time, input, 0)] = x.re;
        int8[at(FX8_CUDA_TIMES_INT8, channel, time, input, 1)] = x.im;
    }

    void set_fp32(size_t channel, size_t time, size_t input, fx8_cf32 x)
    {
        fp32[at(FX8_CUDA_TIMES_FP32, channel, time, input, 0)] = x.re;
        fp32[at(FX8_CUDA_TIMES_FP32, channel, time, input, 1)] = x.im;
    }

    fx8_cf32 get_fp32(size_t channel, size_t time, size_t input) const
    {
        return {fp32[at(FX8_CUDA_TIMES_FP32, channel, time, input, 0)],
                fp32[at(FX8_CUDA_TIMES_FP32, channel, time, input, 1)]};
    }
};

/** The same on the device. */
struct DeviceSpectra {
    DeviceArray<int8_t> int8;
    DeviceArray<float> fp32;
    fx8_cuda_spectra view;

    explicit DeviceSpectra(const HostSpectra &host)
        : int8(host.int8),
          fp32(host.fp32), view{int8.data(), fp32.data(), host.n_inputs,
                                host.n_channels, host.n_times}
    {
    }
};

/** Both arrays equal the host's, to the bit. */
inline void check_spectra(const DeviceSpectra &got, const HostSpectra &expected)
{
    CHECK(same(got.int8.read(), expected.int8));
    CHECK(same(got.fp32.read(), expected.fp32));
}

/** A mask by kind: 0 all valid, 1 half, 2 none.  Bits behind the last spectrum
 *  are arbitrary, except in kind 2. */
inline std::vector<uint64_t> make_mask(size_t n_inputs, size_t n_spectra,
                                       int kind)
{
    std::vector<uint64_t> mask(n_inputs * fx8_bit_words(n_spectra));
    for (uint64_t &word : mask)
        word = kind == 0 ? UINT64_MAX : kind == 1 ? next_random() : 0;
    return mask;
}

inline bool is_valid(const std::vector<uint64_t> &mask, size_t n_spectra,
                     size_t input, size_t time)
{
    return time < n_spectra &&
           (mask[input * fx8_bit_words(n_spectra) + time / 64] >> time % 64 &
            1) != 0;
}

/** A whole block as one part. */
inline fx8_cuda_part whole(size_t n_inputs, size_t n_spectra,
                           DeviceArray<uint64_t> *mask)
{
    fx8_cuda_part part = {};
    part.n_inputs = n_inputs;
    part.n_spectra = n_spectra;
    part.end_time = fx8_cuda_times(n_spectra);
    part.valid = mask->data();
    part.valid_words = fx8_bit_words(n_spectra);
    return part;
}

#endif
