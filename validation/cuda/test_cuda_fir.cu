/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_fir.cu -- the FIRs of the device, in floats and in integers,
 * against the reference operations of the CPU: equal to the bit. Arrays have
 * their exact size and are compared whole, including gaps.
 *
 * Shows (devices, F stage): on the harness, these agree with the CPU's
 *     reference operations: both FIRs of 1 to 64 taps on rows of any length and
 *     alignment, shifted samples, quantised and rotated spectra, method none,
 *     canonical order, whole and in parts
 * Within: equal to the bit
 * In: cuda/test_cuda_spectra.cu
 */
#include "validation/cuda/host_spectra.h"

namespace fir_tests
{

struct FirCase {
    size_t n_inputs, n_spectra, n_taps, row;
    size_t shift;  /* of the samples, in bytes */
    size_t spare;  /* bytes between rows of inputs */
    size_t gap;    /* floats behind a row of results */
    size_t offset; /* of the results, in floats */
    size_t sample_size =
        0; /* > 0: groups are shifted by up to MARGIN samples */
};

enum { MARGIN = 7 };

/** Both FIRs on one shape; the arrays are of exact size. */
static void check_fir(const FirCase &c)
{
    const size_t used = (c.n_spectra + c.n_taps - 1) * c.row;
    const size_t margin = MARGIN * c.sample_size;
    const size_t before = c.shift + margin;
    const std::vector<int8_t> samples =
        random_samples(before + (c.n_inputs - 1) * (used + c.spare) + used +
                       (margin > 0 ? margin + FX8_CUDA_FIR_BEYOND : 0));
    const size_t n_groups = fx8_groups(c.n_spectra);
    std::vector<fx8_rotation> rotation(c.n_inputs * n_groups);
    for (fx8_rotation &r : rotation)
        r.shift = margin == 0
                      ? 0
                      : static_cast<int64_t>(next_random() % (2 * MARGIN + 1)) -
                            MARGIN;
    DeviceArray<fx8_rotation> device_rotation(rotation);
    std::vector<float> coefficients(c.n_taps * c.row);
    std::vector<int16_t> integers(c.n_taps * c.row);
    for (size_t k = 0; k < coefficients.size(); ++k) {
        integers[k] = static_cast<int16_t>(
            static_cast<int>(next_random() % 65535) - 32767);
        coefficients[k] = static_cast<float>(integers[k]) * 0x1.9p-17F +
                          static_cast<float>(next_random() % 64) * 0x1p-30F;
    }
    const float scale = 0x1.23456p-16F;

    fx8_cuda_fir_job job = {};
    job.row_stride = used + c.spare;
    job.n_inputs = c.n_inputs;
    job.n_spectra = c.n_spectra;
    job.n_taps = c.n_taps;
    job.row = c.row;
    job.folded_stride = c.row + c.gap;
    const size_t per_input = c.n_spectra * job.folded_stride;
    std::vector<float> expected =
        garbage<float>(c.offset + c.n_inputs * per_input);
    DeviceArray<int8_t> device_samples(samples);
    DeviceArray<float> device_coefficients(coefficients), folded(expected);
    DeviceArray<int16_t> device_integers(integers);
    DeviceArray<float> folded_integers(expected);
    job.samples = device_samples.data() + before;
    job.rotation = margin > 0 ? device_rotation.data() : nullptr;
    job.rotation_stride = n_groups;
    job.sample_size = c.sample_size;

    const fx8_operations operations = reference();
    /* by groups: input, first spectrum, samples, results */
    const auto by_groups = [&](auto fold) {
        for (size_t i = 0; i < c.n_inputs; ++i)
            for (size_t t = 0; t < c.n_spectra; t += FX8_GROUP)
                fold(std::min<size_t>(c.n_spectra - t, FX8_GROUP),
                     samples.data() + before + i * job.row_stride + t * c.row +
                         rotation[i * n_groups + t / FX8_GROUP].shift *
                             static_cast<int64_t>(c.sample_size),
                     expected.data() + c.offset + i * per_input +
                         t * job.folded_stride);
    };
    by_groups([&](size_t n, const int8_t *from, float *to) {
        operations.fir(n, c.n_taps, c.row, from, coefficients.data(), to,
                       job.folded_stride);
    });
    job.folded = folded.data() + c.offset;
    MUST(fx8_cuda_fir(&job, device_coefficients.data(), nullptr));
    CHECK(same(folded.read(), expected));

    by_groups([&](size_t n, const int8_t *from, float *to) {
        operations.fir_int16(n, c.n_taps, c.row, from, integers.data(), scale,
                             to, job.folded_stride);
    });
    job.folded = folded_integers.data() + c.offset;
    MUST(fx8_cuda_fir_int16(&job, device_integers.data(), scale, nullptr));
    CHECK(same(folded_integers.read(), expected));
}

TEST(firs_of_every_number_of_taps_equal_the_reference)
{
    for (size_t n_taps : {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 33, 63, 64})
        for (size_t row : {1, 3, 8, 30})
            check_fir({2, 37, n_taps, row, n_taps % 4, row, row % 2, 0});
}

/* Real samples of N = 16, 17, 64, 1000; complex ones of 1, 3, 16, 17, 30, 64.
 */
TEST(firs_of_any_row_equal_the_reference)
{
    for (size_t row : {2, 6, 16, 17, 32, 34, 60, 64, 128, 1000})
        for (size_t n_taps : {1, 4, 8, 16})
            for (size_t n_spectra : {1, 9, 70})
                check_fir({1 + row % 3, n_spectra, n_taps, row, 0, 0, 0, 0});
}

/* Whole vectors need aligned samples, rows of samples, results and rows of
 * results; here each of them is unaligned in turn. */
TEST(firs_of_any_alignment_equal_the_reference)
{
    for (size_t n_taps : {4, 8, 16, 64})
        for (size_t k = 1; k < 4; ++k) {
            check_fir({3, 20, n_taps, 64, k, 0, 0, 0});
            check_fir({3, 20, n_taps, 64, 0, k, 0, 0});
            check_fir({3, 20, n_taps, 64, 0, 0, k, 0});
            check_fir({3, 20, n_taps, 64, 0, 0, 0, k});
            check_fir({3, 20, n_taps, 64 + k, k, k, k, k});
        }
}

/* Delays: the samples of each group begin elsewhere. */
TEST(firs_of_shifted_samples_equal_the_reference)
{
    for (size_t n_taps : {1, 4, 8, 13, 64})
        for (size_t row : {2, 8, 17, 64})
            for (size_t size : {1, 2})
                check_fir(
                    {3, 81, n_taps, row, n_taps % 4, row % 3, 0, 0, size});
}

TEST(firs_of_many_segments_equal_the_reference)
{
    in_every_order([] {
        check_fir({2, 1000, 8, 4, 0, 0, 0, 0});
        check_fir({1, 700, 64, 3, 1, 0, 0, 0});
    });
}

/* The largest possible sums: 64 taps of 32767 * 128, either sign. */
TEST(largest_integers_do_not_overflow)
{
    for (int16_t coefficient : {32767, -32767}) {
        const std::vector<int8_t> samples(64, -128);
        const std::vector<int16_t> coefficients(64, coefficient);
        DeviceArray<int8_t> device_samples(samples);
        DeviceArray<int16_t> device_coefficients(coefficients);
        DeviceArray<float> folded(1);
        fx8_cuda_fir_job job = {};
        job.samples = device_samples.data();
        job.row_stride = job.n_taps = 64;
        job.n_inputs = job.n_spectra = job.row = job.folded_stride = 1;
        job.folded = folded.data();
        MUST(fx8_cuda_fir_int16(&job, device_coefficients.data(), 1.0F,
                                nullptr));
        CHECK(folded.read()[0] ==
              static_cast<float>(-128.0 * 64.0 * coefficient));
    }
}

TEST(empty_and_illegal_firs_are_told_apart)
{
    DeviceArray<float> floats(64);
    DeviceArray<int8_t> samples(64);
    fx8_cuda_fir_job job = {};
    job.samples = samples.data();
    job.row_stride = 64;
    job.n_inputs = job.n_spectra = job.n_taps = 1;
    job.row = job.folded_stride = 8;
    job.folded = floats.data();
    MUST(fx8_cuda_fir(&job, floats.data(), nullptr));
    MUST(cudaDeviceSynchronize());
    job.n_spectra = 0;
    MUST(fx8_cuda_fir(&job, floats.data(), nullptr));
    job.n_spectra = 1;
    job.n_taps = 65;
    CHECK(fx8_cuda_fir(&job, floats.data(), nullptr) == cudaErrorInvalidValue);
    job.n_taps = 0;
    CHECK(fx8_cuda_fir_int16(&job, nullptr, 1, nullptr) ==
          cudaErrorInvalidValue);
    job.n_taps = 1;
    job.folded_stride = 7;
    CHECK(fx8_cuda_fir(&job, floats.data(), nullptr) == cudaErrorInvalidValue);
}

} // namespace fir_tests
