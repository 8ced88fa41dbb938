/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image.cu -- see image.h.
 *
 * For each channel a first kernel turns every antenna towards every direction;
 * the second one has a thread for each direction, which keeps the sums of some
 * rows of the matrix in registers while it goes over the columns.  The matrix
 * is the same for all threads of a block: tiles of it are in shared memory,
 * where one read serves a warp.  The phasor of a column is read once for 4 ROWS
 * fmas, the next one while these go on.
 *
 * Rows are added in the order of the reference: only the zeros left of the
 * diagonal, which change no sum, differ in number.
 */
#include "kernels/cuda/image.h"

#include "kernels/cuda/deadline.h"
#include "kernels/numeric/image.h"

/** Directions of a block, and columns of a tile. */
#define THREADS 128
#define COLUMNS 32

/** Antennas that a thread turns towards its direction. */
#define TURNED 8

#define MOST_BLOCKS 65535

/** A channel of a job. */
struct fx8_image_launch {
    unsigned n_antennas, n_directions;
    const double *turns;
    const float2 *matrix;
    const double *directions;
    float2 *phasors;
    float *sums;
    bool is_first; /**< channel: sums begin at 0 */
};

/* Its grid is [directions][antennas]. */
extern "C" __global__ void __launch_bounds__(THREADS)
    fx8_image_phasors_kernel(const fx8_image_launch launch)
{
    const unsigned k = blockIdx.x * THREADS + threadIdx.x;
    const unsigned first = blockIdx.y * TURNED;
    if (k >= launch.n_directions)
        return;
    const double *direction = launch.directions +
                              k / FX8_IMAGE_LANES * 3 * FX8_IMAGE_LANES +
                              k % FX8_IMAGE_LANES;
    const double x = direction[0], y = direction[FX8_IMAGE_LANES];
    const double z = direction[2 * FX8_IMAGE_LANES];
    for (unsigned i = first; i < launch.n_antennas && i < first + TURNED; ++i) {
        const float turns =
            fx8_image_turns(launch.turns + 3 * size_t(i), x, y, z);
        launch.phasors[size_t(i) * launch.n_directions + k] =
            make_float2(fx8_rotation_re(turns), fx8_rotation_im(turns));
    }
}

/* Two rows of a column. */
template <unsigned ROWS> using fx8_image_tile = float4[COLUMNS][ROWS / 2];

/* Load columns [column, column + COLUMNS) of rows [first, first + ROWS); what
 * is beyond the matrix is 0. */
template <unsigned ROWS>
static __device__ __forceinline__ void load_tile(const fx8_image_launch &launch,
                                                 unsigned first,
                                                 unsigned column,
                                                 fx8_image_tile<ROWS> &tile)
{
    float2 *cells = reinterpret_cast<float2 *>(tile);
#pragma unroll
    for (unsigned turn = 0; turn < COLUMNS * ROWS / THREADS; ++turn) {
        const unsigned k = turn * THREADS + threadIdx.x;
        const unsigned i = first + k % ROWS, j = column + k / ROWS;
        cells[k] = i < launch.n_antennas && j < launch.n_antennas
                       ? launch.matrix[fx8_image_cell(launch.n_antennas, i, j)]
                       : make_float2(0, 0);
    }
}

/* Add a tile to the sums of its rows; phasors are those of this thread. */
template <unsigned ROWS>
static __device__ __forceinline__ void add_tile(
    const fx8_image_launch &launch, const float2 *phasors, unsigned column,
    const fx8_image_tile<ROWS> &tile, float (&re)[ROWS], float (&im)[ROWS])
{
    const size_t step = launch.n_directions;
    const unsigned left = launch.n_antennas - column;
    const unsigned end = left < COLUMNS ? left : COLUMNS;
    phasors += column * step;
    float2 next = *phasors;
#pragma unroll 1
    for (unsigned c = 0; c < end; ++c) {
        const float2 a = next;
        if (c + 1 < end)
            next = phasors[(c + 1) * step];
#pragma unroll
        for (unsigned r = 0; r < ROWS; r += 2) {
            const float4 v = tile[c][r / 2];
            fx8_image_add(v.x, v.y, a.x, a.y, &re[r], &im[r]);
            fx8_image_add(v.z, v.w, a.x, a.y, &re[r + 1], &im[r + 1]);
        }
    }
}

/* Add rows, complete now, to the sum of a direction.  Eight phasors are read at
 * a time, because each fma waits for the one before. */
template <unsigned ROWS>
static __device__ __forceinline__ float end_rows(
    const fx8_image_launch &launch, const float2 *phasors, unsigned first,
    const float (&re)[ROWS], const float (&im)[ROWS], float sum)
{
    const unsigned last = launch.n_antennas - 1;
#pragma unroll
    for (unsigned begin = 0; begin < ROWS; begin += 8) {
        float2 a[8];
#pragma unroll
        for (unsigned r = 0; r < 8; ++r) {
            const unsigned i = first + begin + r;
            a[r] = phasors[size_t(i < last ? i : last) * launch.n_directions];
        }
#pragma unroll
        for (unsigned r = 0; r < 8; ++r)
            if (first + begin + r <= last)
                sum = fx8_fma(a[r].y, im[begin + r],
                              fx8_fma(a[r].x, re[begin + r], sum));
    }
    return sum;
}

template <unsigned ROWS>
static __device__ __forceinline__ void sum_rows(const fx8_image_launch &launch)
{
    __shared__ fx8_image_tile<ROWS> tile;
    const unsigned n = launch.n_antennas;
    const unsigned own = blockIdx.x * THREADS + threadIdx.x;
    /* threads beyond the last direction repeat it */
    const unsigned k =
        own < launch.n_directions ? own : launch.n_directions - 1;
    const float2 *phasors = launch.phasors + k;
    /* not launch.sums[k]: its own thread may have written it */
    float sum = launch.is_first || own != k ? 0.0F : launch.sums[own];
#pragma unroll 1
    for (unsigned first = 0; first < n; first += ROWS) {
        float re[ROWS] = {}, im[ROWS] = {};
#pragma unroll 1
        for (unsigned column = first + 1; column < n; column += COLUMNS) {
            __syncthreads();
            load_tile<ROWS>(launch, first, column, tile);
            __syncthreads();
            add_tile<ROWS>(launch, phasors, column, tile, re, im);
        }
        sum = end_rows<ROWS>(launch, phasors, first, re, im, sum);
    }
    if (own == k)
        launch.sums[own] = sum;
}

/** A kernel; its grid is [directions]. */
#define FX8_IMAGE_KERNEL(rows, blocks)                                         \
    extern "C" __global__ void __launch_bounds__(THREADS, blocks)              \
        fx8_image_##rows##_kernel(const fx8_image_launch launch)               \
    {                                                                          \
        sum_rows<rows>(launch);                                                \
    }

FX8_IMAGE_KERNEL(8, 8)
FX8_IMAGE_KERNEL(32, 4)

cudaError_t fx8_cuda_image_sum(const struct fx8_cuda_image *job,
                               cudaStream_t stream)
{
    const auto kernel = job->n_antennas <= FX8_CUDA_IMAGE_FEW
                            ? fx8_image_8_kernel
                            : fx8_image_32_kernel;
    const size_t x = (job->n_directions + THREADS - 1) / THREADS;
    const size_t y = (job->n_antennas + TURNED - 1) / TURNED;
    if (x > INT32_MAX / THREADS || y > MOST_BLOCKS)
        return cudaErrorInvalidValue;
    if (x == 0) {
        const cudaError_t loaded = fx8_cuda_load(fx8_image_phasors_kernel);
        return loaded != cudaSuccess ? loaded : fx8_cuda_load(kernel);
    }
    fx8_image_launch launch = {};
    launch.n_antennas = static_cast<unsigned>(job->n_antennas);
    launch.n_directions = static_cast<unsigned>(job->n_directions);
    launch.directions = job->directions;
    launch.phasors = job->phasors;
    launch.sums = job->sums;
    const dim3 blocks(static_cast<unsigned>(x));
    for (size_t c = 0; c < job->n_channels; ++c) {
        launch.turns = job->turns + 3 * job->n_antennas * c;
        launch.matrix = reinterpret_cast<const float2 *>(
            job->matrices + fx8_image_cells(job->n_antennas) * c);
        launch.is_first = c == 0;
        FX8_LAUNCH(fx8_image_phasors_kernel,
                   dim3(blocks.x, static_cast<unsigned>(y)), dim3(THREADS), 0,
                   stream, launch);
        FX8_LAUNCH(kernel, blocks, dim3(THREADS), 0, stream, launch);
        const cudaError_t code = cudaGetLastError();
        if (code != cudaSuccess)
            return code;
    }
    return cudaSuccess;
}
