/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * postprocess.cu -- sums are ordered by channel, results by baseline.  A block
 * takes the columns (first antenna, product) of one second antenna, whose sums
 * are adjacent, for a tile of output channels, and turns them in shared memory.
 *
 *     sums     [channel][column]            a warp reads a row of columns
 *     results  [baseline][channel][product] a warp writes a row of channels
 */
#include "kernels/cuda/launch.h"
#include "kernels/cuda/deadline.h"
#include "kernels/cuda/postprocess.h"
#include "kernels/numeric/visibility.h"

/** Columns and channels of a tile, one thread per column of a row. */
#define COLUMNS  32
#define CHANNELS 32
#define ROWS     8

/** A tile of results, padded by one channel so that neither a row nor a column
 *  is in one bank. */
struct fx8_postprocess_tile {
    float2 values[COLUMNS][CHANNELS + 1];
    float nsamples[COLUMNS][CHANNELS + 1];
    uint8_t flags[COLUMNS][CHANNELS + 4];
};

/** A job with values derived from its shape. */
struct fx8_postprocess_launch {
    fx8_cuda_postprocess job;
    size_t n_channels;     /**< output channels */
    size_t first_baseline; /**< of the job */
    unsigned n_products;
    unsigned n_antennas;  /**< first antennas in a tile */
    unsigned of_products; /**< 2^16 / n_products, rounded up */
};

/** Columns and channels of a block. */
struct fx8_postprocess_place {
    size_t antenna_1, antenna_2; /**< of the first column */
    unsigned n_baselines;        /**< whole ones */
    size_t first_channel;        /**< of the output */
    unsigned n_channels;
};

static __device__ __forceinline__ fx8_postprocess_place
find_place(const fx8_postprocess_launch &launch)
{
    const fx8_cuda_postprocess &job = launch.job;
    const size_t step = launch.n_antennas;
    fx8_postprocess_place place;
    place.antenna_2 = job.first_antenna + blockIdx.z;
    place.antenna_1 = job.first_antenna + blockIdx.y * step;
    place.first_channel = static_cast<size_t>(blockIdx.x) * CHANNELS;
    const size_t end = job.end_antenna <= place.antenna_2 ? job.end_antenna
                                                          : place.antenna_2 + 1;
    const size_t rest = end > place.antenna_1 ? end - place.antenna_1 : 0;
    place.n_baselines = static_cast<unsigned>(rest < step ? rest : step);
    const size_t left = launch.n_channels - place.first_channel;
    place.n_channels = static_cast<unsigned>(left < CHANNELS ? left : CHANNELS);
    return place;
}

/** Index of baseline (antenna_1, antenna_2). */
static __device__ __forceinline__ size_t baseline_of(size_t antenna_1,
                                                     size_t antenna_2,
                                                     size_t n_antennas)
{
    return antenna_1 * (2 * n_antennas - antenna_1 + 1) / 2 +
           (antenna_2 - antenna_1);
}

/** x / n_products, x below CHANNELS COLUMNS.  Exact: x times the rounding error
 *  of of_products, less than n_products, stays below 2^16. */
static __device__ __forceinline__ unsigned divide(
    const fx8_postprocess_launch &launch, unsigned x)
{
    return x * launch.of_products >> 16;
}

static_assert(CHANNELS * COLUMNS * FX8_CUDA_MOST_PRODUCTS <= 1 << 16 &&
                  FX8_CUDA_MOST_PRODUCTS <= COLUMNS,
              "divide() is exact, and a tile has a baseline");

/** Compute the cells of one column, with or without channel averaging. */
template <bool IS_INT8, bool IS_MEAN>
static __device__ __forceinline__ void make_column(
    const fx8_postprocess_launch &launch, const fx8_postprocess_place &place,
    unsigned column, fx8_postprocess_tile *tile)
{
    const fx8_cuda_postprocess &job = launch.job;
    fx8_postprocess plan = job.plan;
    plan.flag_float_cell = nullptr; /* no device takes plans that have them */
    const size_t n = IS_MEAN ? plan.channel_average : 1;
    const unsigned k = divide(launch, column);
    const size_t baseline =
        baseline_of(place.antenna_1 + k, place.antenna_2, plan.n_antennas);
    const fx8_series_sums sums = fx8_series_sums_open(
        &plan, job.sums, IS_INT8, job.counts,
        &plan.products[(baseline - k) * launch.n_products + column]);
#pragma unroll 1
    for (unsigned c = threadIdx.y; c < place.n_channels; c += ROWS) {
        const fx8_group group =
            fx8_group_open(&sums.series, (place.first_channel + c) * n, n);
        const fx8_visibility value = IS_MEAN
                                         ? fx8_visibility_mean(&sums, &group)
                                         : fx8_visibility_single(&sums, &group);
        tile->values[column][c] = make_float2(static_cast<float>(value.re),
                                              static_cast<float>(value.im));
        tile->nsamples[column][c] = group.nsamples;
        tile->flags[column][c] = group.is_flagged;
    }
}

/** Write the cells of one baseline to the results. */
static __device__ __forceinline__ void write_baseline(
    const fx8_postprocess_launch &launch, const fx8_postprocess_place &place,
    unsigned k, const fx8_postprocess_tile *tile)
{
    const fx8_result &results = launch.job.result;
    const unsigned n_products = launch.n_products;
    const size_t baseline = baseline_of(place.antenna_1 + k, place.antenna_2,
                                        launch.job.plan.n_antennas) -
                            launch.first_baseline;
    const size_t row =
        (baseline * launch.n_channels + place.first_channel) * n_products;
#pragma unroll 1
    for (unsigned item = threadIdx.x; item < place.n_channels * n_products;
         item += COLUMNS) {
        const unsigned c = divide(launch, item);
        const unsigned column = k * n_products + (item - c * n_products);
        reinterpret_cast<float2 *>(results.visibilities)[row + item] =
            tile->values[column][c];
        results.nsamples[row + item] = tile->nsamples[column][c];
        results.flags[row + item] = tile->flags[column][c];
    }
}

template <bool IS_INT8, bool IS_MEAN>
static __device__ __forceinline__ void postprocess(
    const fx8_postprocess_launch &launch)
{
    FX8_DYNAMIC_SHARED(fx8_postprocess_tile, tile);
    const fx8_postprocess_place place = find_place(launch);
    if (place.n_baselines == 0)
        return;
    if (threadIdx.x < place.n_baselines * launch.n_products)
        make_column<IS_INT8, IS_MEAN>(launch, place, threadIdx.x, tile);
    __syncthreads();
#pragma unroll 1
    for (unsigned k = threadIdx.y; k < place.n_baselines; k += ROWS)
        write_baseline(launch, place, k, tile);
}

/** A kernel; its grid is [channels][first antennas][second antennas]. */
#define FX8_POSTPROCESS_KERNEL(name, is_int8, is_mean)                         \
    extern "C" __global__ void __launch_bounds__(COLUMNS *ROWS, 2)             \
        name(const fx8_postprocess_launch launch)                              \
    {                                                                          \
        postprocess<is_int8, is_mean>(launch);                                 \
    }

FX8_POSTPROCESS_KERNEL(fx8_postprocess_int8_kernel, true, false)
FX8_POSTPROCESS_KERNEL(fx8_postprocess_int8_mean_kernel, true, true)
FX8_POSTPROCESS_KERNEL(fx8_postprocess_fp32_kernel, false, false)
FX8_POSTPROCESS_KERNEL(fx8_postprocess_fp32_mean_kernel, false, true)

/* --- sums of other devices and segments ------------------------------------
 */

/** Threads of a block, and most blocks; threads loop over the rest. */
#define ADD_THREADS 256
#define MOST_BLOCKS 65535

struct plainly {
    template <class Number>
    static __device__ __forceinline__ Number add(Number a, Number b)
    {
        return a + b;
    }
};

struct downwards {
    static __device__ __forceinline__ double add(double a, double b)
    {
        return __dadd_rd(a, b);
    }
};

struct upwards {
    static __device__ __forceinline__ double add(double a, double b)
    {
        return __dadd_ru(a, b);
    }
};

template <class Addition, class Number>
static __device__ __forceinline__ void add(size_t n, const Number *from,
                                           Number *to)
{
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t k = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         k < n; k += step)
        to[k] = Addition::add(to[k], from[k]);
}

extern "C" __global__ void __launch_bounds__(ADD_THREADS)
    fx8_add_int64_kernel(size_t n, const int64_t *from, int64_t *to)
{
    add<plainly>(n, from, to);
}

extern "C" __global__ void __launch_bounds__(ADD_THREADS)
    fx8_add_double_kernel(size_t n, const double *from, double *to)
{
    add<plainly>(n, from, to);
}

extern "C" __global__ void __launch_bounds__(ADD_THREADS)
    fx8_add_down_kernel(size_t n, const double *from, double *to)
{
    add<downwards>(n, from, to);
}

extern "C" __global__ void __launch_bounds__(ADD_THREADS)
    fx8_add_up_kernel(size_t n, const double *from, double *to)
{
    add<upwards>(n, from, to);
}

/* --- the host --------------------------------------------------------------
 */

cudaError_t fx8_cuda_postprocess_sums(const struct fx8_cuda_postprocess *job,
                                      cudaStream_t stream)
{
    const struct fx8_postprocess *plan = &job->plan;
    if (plan->n_products == 0 || plan->channel_average == 0 ||
        plan->n_products > FX8_CUDA_MOST_PRODUCTS ||
        job->first_antenna > job->end_antenna ||
        job->end_antenna > plan->n_antennas)
        return cudaErrorInvalidValue;
    fx8_postprocess_launch launch = {};
    launch.job = *job;
    launch.n_channels = plan->n_channels / plan->channel_average;
    launch.first_baseline =
        fx8_cuda_first_baseline(job->first_antenna, plan->n_antennas);
    launch.n_products = static_cast<unsigned>(plan->n_products);
    launch.n_antennas = COLUMNS / launch.n_products;
    launch.of_products = (65535 + launch.n_products) / launch.n_products;
    const size_t step = launch.n_antennas;
    const size_t x = (launch.n_channels + CHANNELS - 1) / CHANNELS;
    const size_t y = (job->end_antenna - job->first_antenna + step - 1) / step;
    const size_t z = plan->n_antennas - job->first_antenna;
    if (x > INT32_MAX || y > 65535 || z > 65535)
        return cudaErrorInvalidValue;
    static void (*const kernels[2][2])(fx8_postprocess_launch) = {
        {fx8_postprocess_fp32_kernel, fx8_postprocess_fp32_mean_kernel},
        {fx8_postprocess_int8_kernel, fx8_postprocess_int8_mean_kernel},
    };
    const auto kernel = kernels[job->is_int8][plan->channel_average > 1];
    if (x * y * z == 0)
        return fx8_cuda_load(kernel);
    const dim3 grid(static_cast<unsigned>(x), static_cast<unsigned>(y),
                    static_cast<unsigned>(z));
    FX8_LAUNCH(kernel, grid, dim3(COLUMNS, ROWS), sizeof(fx8_postprocess_tile),
               stream, launch);
    return cudaGetLastError();
}

/** A grid over n numbers and the kernel for them. */
template <class Number>
static cudaError_t launch_add(void (*kernel)(size_t, const Number *, Number *),
                              size_t n, const void *from, void *to,
                              cudaStream_t stream)
{
    const size_t n_blocks = (n + ADD_THREADS - 1) / ADD_THREADS;
    if (n == 0)
        return fx8_cuda_load(kernel);
    FX8_LAUNCH(kernel,
               dim3(static_cast<unsigned>(
                   n_blocks < MOST_BLOCKS ? n_blocks : MOST_BLOCKS)),
               dim3(ADD_THREADS), 0, stream, n,
               static_cast<const Number *>(from), static_cast<Number *>(to));
    return cudaGetLastError();
}

cudaError_t fx8_cuda_add_sums(size_t kind, size_t n, const void *from, void *to,
                              cudaStream_t stream)
{
    static void (*const kernels[FX8_N_RESULTS])(size_t, const double *,
                                                double *) = {
        nullptr, fx8_add_double_kernel, fx8_add_down_kernel, fx8_add_up_kernel};
    return kind == FX8_RESULT_INT8
               ? launch_add(fx8_add_int64_kernel, n, from, to, stream)
               : launch_add(kernels[kind], n, from, to, stream);
}
