/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_correlators.cu -- two whole kernels on the harness: a triangle of
 * complex products by dp4a and by mma.sync, against plain sums. They exercise
 * the harness and are not meant to be fast.
 *
 * Shows: as cuda/test_cuda_threads.cu
 */
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx_tensor.h"
#include "validation/cuda/device_array.h"

namespace correlators_tests
{

/* Samples [time / 16][2 input + part][16]; the triangle in packed order. */
struct Shape {
    int n_inputs, n_blocks; /* of 16 times */
};

__host__ __device__ static inline size_t packed(int i, int j)
{
    return static_cast<size_t>(i) * static_cast<size_t>(i + 1) / 2 +
           static_cast<size_t>(j);
}

/* Row and column of tile `index` of a triangle, column <= row. */
__device__ static inline void tile_of(int index, int *row, int *column)
{
    *row = 0;
    while (index > *row)
        index -= ++*row;
    *column = index;
}

/* --- dp4a: 8 x 8 threads, an input pair each, through shared memory
 * ------------------- */

__global__ void __launch_bounds__(64)
    correlate_dp4a(const int4 *samples, int2 *sums, Shape shape)
{
    __shared__ int4 tile[2][2][16]; /* buffer, side, row */
    int row = 0, column = 0;
    tile_of(static_cast<int>(blockIdx.x), &row, &column);
    const int me = static_cast<int>(threadIdx.y * 8 + threadIdx.x);
    const int side = me / 16, r = me % 16;
    const int source = 16 * (side == 0 ? row : column) + r;
    const int n_rows = 2 * shape.n_inputs;
    int re = 0, plus = 0, minus = 0;
    for (int t = 0; t < shape.n_blocks; ++t) {
        if (me < 32)
            tile[t % 2][side][r] = source < n_rows
                                       ? samples[t * n_rows + source]
                                       : make_int4(0, 0, 0, 0);
        __syncthreads();
        const int4 ar = tile[t % 2][0][2 * threadIdx.y];
        const int4 ai = tile[t % 2][0][2 * threadIdx.y + 1];
        const int4 br = tile[t % 2][1][2 * threadIdx.x];
        const int4 bi = tile[t % 2][1][2 * threadIdx.x + 1];
        const int a[2][4] = {{ar.x, ar.y, ar.z, ar.w},
                             {ai.x, ai.y, ai.z, ai.w}};
        const int b[2][4] = {{br.x, br.y, br.z, br.w},
                             {bi.x, bi.y, bi.z, bi.w}};
        for (int k = 0; k < 4; ++k) {
            re = __dp4a(a[0][k], b[0][k], re);
            re = __dp4a(a[1][k], b[1][k], re);
            plus = __dp4a(a[1][k], b[0][k], plus);
            minus = __dp4a(a[0][k], b[1][k], minus);
        }
    }
    const int i = 8 * row + static_cast<int>(threadIdx.y);
    const int j = 8 * column + static_cast<int>(threadIdx.x);
    if (i < shape.n_inputs && j <= i)
        sums[packed(i, j)] = make_int2(re, plus - minus);
}

/* --- mma.sync: a warp, 16 rows x 8 columns of the real matrix
 * ---------------------------- */

__global__ void __launch_bounds__(32)
    correlate_mma(const int4 *samples, int *sums, Shape shape)
{
    __shared__ int4 a[2][16], b[2][8]; /* half of k, row */
    const int lane = static_cast<int>(threadIdx.x);
    const int row0 = 16 * static_cast<int>(blockIdx.x);
    const int column0 = 8 * static_cast<int>(blockIdx.y);
    const int n_rows = 2 * shape.n_inputs;
    int c[4] = {0, 0, 0, 0};
    if (column0 > row0 + 15)
        return;
    for (int t = 0; t < shape.n_blocks; t += 2) {
        const int half = lane / 16, r = lane % 16;
        const bool there = t + half < shape.n_blocks;
        const int4 none = make_int4(0, 0, 0, 0);
        const int4 *const from = samples + (t + half) * n_rows;
        a[half][r] = there && row0 + r < n_rows ? from[row0 + r] : none;
        if (r < 8)
            b[half][r] =
                there && column0 + r < n_rows ? from[column0 + r] : none;
        __syncwarp();
        int of_a[4], of_b[4];
        fx8_ptx_ldmatrix_x4(of_a, &a[lane / 16][lane % 16]);
        fx8_ptx_ldmatrix_x4(of_b, &b[lane / 8 % 2][lane % 8]);
        const int pair[2] = {of_b[0], of_b[1]};
        fx8_ptx_mma_s8(c, of_a, pair);
        __syncwarp();
    }
    for (int h = 0; h < 2; ++h) {
        const int row = row0 + lane / 4 + 8 * h;
        const int i = row / 2, j = column0 / 2 + lane % 4;
        const int other = __shfl_xor_sync(0xffffffff, c[2 * h + 1], 4);
        const int value = row % 2 == 0 ? c[2 * h] + other : c[2 * h] - other;
        if (i < shape.n_inputs && j <= i)
            sums[2 * packed(i, j) + static_cast<size_t>(row % 2)] = value;
    }
}

/* --- against plain sums
 * ---------------------------------------------------------------------- */

static std::vector<int4> make_samples(const Shape &shape)
{
    std::vector<int4> samples(static_cast<size_t>(2 * shape.n_inputs) *
                              static_cast<size_t>(shape.n_blocks));
    int8_t *const bytes = reinterpret_cast<int8_t *>(samples.data());
    uint64_t state = 17;
    for (size_t k = 0; k < samples.size() * 16; ++k) {
        const uint64_t random = harness::random_next(&state);
        bytes[k] = static_cast<int8_t>(random % 16 == 0 ? -128 : random >> 32);
    }
    return samples;
}

static std::vector<int2> plain_sums(const std::vector<int4> &samples,
                                    const Shape &shape)
{
    const int n = shape.n_inputs;
    const int8_t *const bytes =
        reinterpret_cast<const int8_t *>(samples.data());
    std::vector<int2> sums(packed(n, 0), make_int2(0, 0));
    for (int t = 0; t < shape.n_blocks; ++t)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j <= i; ++j) {
                const int8_t *const a = bytes + 16 * (2 * (t * n + i));
                const int8_t *const b = bytes + 16 * (2 * (t * n + j));
                int2 &sum = sums[packed(i, j)];
                for (int k = 0; k < 16; ++k) {
                    sum.x += a[k] * b[k] + a[16 + k] * b[16 + k];
                    sum.y += a[16 + k] * b[k] - a[k] * b[16 + k];
                }
            }
    return sums;
}

static bool same(const std::vector<int2> &a, const std::vector<int2> &b)
{
    return a.size() == b.size() &&
           memcmp(a.data(), b.data(), a.size() * sizeof(int2)) == 0;
}

static void check_shape(const Shape &shape)
{
    const std::vector<int4> samples = make_samples(shape);
    const std::vector<int2> expected = plain_sums(samples, shape);
    DeviceArray<int4> from(samples);
    DeviceArray<int2> by_dp4a(expected.size()), by_mma(expected.size());
    const unsigned tiles = static_cast<unsigned>((shape.n_inputs + 7) / 8);
    FX8_LAUNCH(correlate_dp4a, dim3(tiles * (tiles + 1) / 2), dim3(8, 8), 0,
               nullptr, from.data(), by_dp4a.data(), shape);
    MUST(cudaGetLastError());
    FX8_LAUNCH(correlate_mma, dim3(tiles, 2 * tiles), dim3(32), 0, nullptr,
               from.data(), reinterpret_cast<int *>(by_mma.data()), shape);
    MUST(cudaGetLastError());
    CHECK(same(by_dp4a.read(), expected));
    CHECK(same(by_mma.read(), expected));
}

TEST(triangles_of_any_size_equal_plain_sums)
{
    in_every_order([] {
        for (int n : {1, 2, 3, 16, 17, 33})
            for (int blocks : {1, 2, 5})
                check_shape({n, blocks});
    });
}

} // namespace correlators_tests
