/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_image.cu -- the kernels of images against the reference of the CPU,
 * which test_image.c compares with the definition.  Sums and phasors begin as
 * garbage.
 *
 * Shows (devices, images on a device): any number of antennas, around every
 *     block of rows and tile of columns, of directions and of channels gives
 *     the sums of the reference, in four orders of threads; what no launch has
 *     room for is refused
 * Within: equal to the bit
 * Because: one definition of phasor and product, each operation rounded once,
 *     in one order
 */
#include <string.h>

#include "config/base/shape.h"
#include "kernels/cuda/image.h"
#include "validation/cuda/checkers.h"
#include "validation/cuda/device_array.h"

namespace image_tests
{

static uint64_t random_state = 43;

/* In [-1, 1). */
static double uniform()
{
    return static_cast<double>(harness::random_next(&random_state) >> 11) *
               0x1p-52 -
           1.0;
}

static std::vector<double> uniforms(size_t n, double scale)
{
    std::vector<double> all(n);
    for (double &each : all)
        each = scale * uniform();
    return all;
}

static size_t round_up_lanes(size_t n)
{
    return fx8_round_up(n, FX8_IMAGE_LANES);
}

/** An array that sees noise. */
struct Task {
    size_t n_antennas, n_channels, n_directions;
    std::vector<double> turns, directions;
    std::vector<fx8_cf32> matrices;

    Task(size_t antennas, size_t channels, size_t directions_)
        : n_antennas(antennas), n_channels(channels), n_directions(directions_),
          turns(uniforms(3 * antennas * channels, 3000.0)),
          directions(uniforms(3 * round_up_lanes(directions_), 1.0)),
          matrices(fx8_image_cells(antennas) * channels)
    {
        for (size_t c = 0; c < channels; ++c)
            for (size_t j = 0; j < antennas; ++j)
                for (size_t i = 0; i < j; ++i)
                    matrices[c * fx8_image_cells(antennas) +
                             fx8_image_cell(antennas, i, j)] = {
                        static_cast<float>(uniform()),
                        static_cast<float>(uniform())};
    }
    std::vector<float> run_on_host() const
    {
        std::vector<float> sums(round_up_lanes(n_directions));
        std::vector<float> phasors(2 * n_antennas * FX8_IMAGE_LANES);
        const fx8_operations *reference = fx8_operations_variant(0);
        for (size_t c = 0; c < n_channels; ++c) {
            const fx8_image_channel channel = {
                n_antennas, &turns[3 * n_antennas * c],
                matrices.data() + fx8_image_cells(n_antennas) * c};
            for (size_t k = 0; k < n_directions; k += FX8_IMAGE_LANES)
                reference->image(&channel, &directions[3 * k], phasors.data(),
                                 &sums[k]);
        }
        sums.resize(n_directions);
        return sums;
    }
    std::vector<float> run() const
    {
        const DeviceArray<double> turns_there(turns);
        const DeviceArray<double> directions_there(directions);
        const DeviceArray<fx8_cf32> matrices_there(matrices);
        const DeviceArray<float2> phasors(std::vector<float2>(
            n_antennas * n_directions, make_float2(7.5F, -7.5F)));
        const DeviceArray<float> sums(std::vector<float>(n_directions, 7.5F));
        const fx8_cuda_image job = {n_antennas,
                                    n_channels,
                                    n_directions,
                                    turns_there.data(),
                                    matrices_there.data(),
                                    directions_there.data(),
                                    phasors.data(),
                                    sums.data()};
        MUST(fx8_cuda_image_sum(&job, nullptr));
        return sums.read();
    }
};

static void check_task(size_t n_antennas, size_t n_channels,
                       size_t n_directions)
{
    const Task task(n_antennas, n_channels, n_directions);
    const std::vector<float> got = task.run(), wanted = task.run_on_host();
    const bool is_equal =
        memcmp(got.data(), wanted.data(), got.size() * sizeof(float)) == 0;
    CHECK(is_equal);
    for (size_t k = 0; k < got.size() && !is_equal; ++k)
        if (got[k] != wanted[k]) {
            printf("# %zu antennas, %zu channels, direction %zu of %zu: %.9g: "
                   "expected %.9g\n",
                   n_antennas, n_channels, k, n_directions,
                   static_cast<double>(got[k]), static_cast<double>(wanted[k]));
            break;
        }
}

/* Around blocks of 4, 8 and 32 rows, tiles of 32 columns, and both kernels. */
TEST(images_of_any_number_of_antennas)
{
    for (const size_t n :
         {1,  2,  3,  4,  5,  8,  9,  23, 24, 25, 31,  32,  33,
          34, 40, 41, 63, 64, 65, 66, 95, 96, 97, 128, 129, 257})
        if (!FX8_CHECKED || n < 24 || n % 32 < 2)
            check_task(n, 2, n < 128 ? 137 : 21);
}

TEST(images_of_any_number_of_directions)
{
    for (const size_t n :
         {1, 2, 15, 16, 17, 127, 128, 129, 255, 256, 257, 1000})
        for (const size_t antennas : {5, 70})
            if (!FX8_CHECKED || n < 130)
                check_task(antennas, 1, n);
}

TEST(channels_are_added_in_order)
{
    for (const size_t n : {1, 2, 3, 8, 33})
        for (const size_t antennas : {6, 66})
            if (!FX8_CHECKED || n < 8)
                check_task(antennas, n, 19);
}

TEST(no_thread_of_an_image_waits_in_vain)
{
    in_every_order([] {
        check_task(11, 2, 150);
        check_task(71, 2, 150);
    });
}

TEST(images_beyond_a_launch_are_refused)
{
    fx8_cuda_image job = {};
    job.n_antennas = 8 * 65535 + 1;
    job.n_directions = 1;
    CHECK(fx8_cuda_image_sum(&job, nullptr) == cudaErrorInvalidValue);
    job.n_antennas = 1;
    job.n_directions = size_t(1) << 32;
    CHECK(fx8_cuda_image_sum(&job, nullptr) == cudaErrorInvalidValue);
}

} // namespace image_tests
