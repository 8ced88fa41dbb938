/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fir.cuh -- common parts of the device's two FIRs: splitting a job among
 * threads, loading samples and storing sums.
 *
 * A thread takes COLUMNS neighbouring columns of one input through a segment
 * of spectra; it keeps their last TAPS samples and all their coefficients in
 * registers, so each sample is loaded once, except the first TAPS - 1 of a
 * segment.  Jobs with fewer taps than TAPS get zero coefficients, which change
 * no sum, and zero samples after their end.
 */
#ifndef FX8_KERNELS_CUDA_FIR_CUH
#define FX8_KERNELS_CUDA_FIR_CUH

#include "kernels/cuda/channelize.h"

/** Threads of a block; spectra that a thread makes in one step. */
#define FX8_FIR_THREADS 128
#define FX8_FIR_STEP    8

/** Blocks of a grid along its second and third axis. */
#define FX8_FIR_MOST_BLOCKS 65535

/** A job split among threads.  A grid is [inputs][segments][groups of columns],
 *  a block [segments][groups]: all groups, rounded up to a power of two, and
 *  segments for the rest of its threads. */
struct fx8_fir_launch {
    fx8_cuda_fir_job job;
    unsigned segment; /**< spectra, a multiple of FX8_FIR_STEP */
    unsigned row;     /**< of the job */
    bool has_words;   /**< samples of a group may be loaded at once */
    bool has_pairs;   /**< or from the two words that contain them */
    bool has_vectors; /**< and its sums stored at once */
    dim3 grid, block;
};

/** Work of one thread: a segment of one input. */
struct fx8_fir_place {
    const int8_t *samples; /**< of the next row to be loaded */
    float *folded;         /**< of the next spectrum to be stored */
    unsigned column;       /**< the first */
    int n_columns;         /**< of COLUMNS, that exist */
    int rows_left;         /**< of the input, from the next one on */
    int spectra_left;      /**< of the segment */
};

/** The place of this thread; false: it has none. */
template <int COLUMNS>
static __device__ __forceinline__ bool fx8_fir_find(
    const fx8_fir_launch &launch, fx8_fir_place *place)
{
    const fx8_cuda_fir_job &job = launch.job;
    const unsigned column = (blockIdx.x * blockDim.x + threadIdx.x) * COLUMNS;
    const size_t begin =
        static_cast<size_t>(blockIdx.y * blockDim.y + threadIdx.y) *
        launch.segment;
    const size_t input = blockIdx.z;
    if (column >= launch.row || begin >= job.n_spectra)
        return false;
    const int left = static_cast<int>(job.n_spectra - begin);
    place->samples =
        job.samples + input * job.row_stride + begin * launch.row + column;
    if (job.rotation != nullptr)
        place->samples +=
            job.rotation[input * job.rotation_stride + begin / FX8_GROUP]
                .shift *
            static_cast<int64_t>(job.sample_size);
    place->folded = job.folded +
                    (input * job.n_spectra + begin) * job.folded_stride +
                    column;
    place->column = column;
    place->n_columns = min(static_cast<int>(launch.row - column), COLUMNS);
    place->rows_left = left + static_cast<int>(job.n_taps) - 1;
    place->spectra_left = min(left, static_cast<int>(launch.segment));
    return true;
}

/** COLUMNS samples in the bytes of a word. */
template <int COLUMNS>
static __device__ __forceinline__ unsigned fx8_fir_word(const int8_t *samples)
{
    static_assert(COLUMNS == 1 || COLUMNS == 2 || COLUMNS == 4,
                  "what one load takes");
    if (COLUMNS == 4)
        return *reinterpret_cast<const unsigned *>(samples);
    if (COLUMNS == 2)
        return *reinterpret_cast<const unsigned short *>(samples);
    return *reinterpret_cast<const unsigned char *>(samples);
}

/** Four samples at any address, from the two words that contain them. */
static __device__ __forceinline__ unsigned fx8_fir_pair(const int8_t *samples)
{
    const unsigned beyond =
        static_cast<unsigned>(reinterpret_cast<uintptr_t>(samples) % 4);
    const unsigned *words =
        reinterpret_cast<const unsigned *>(samples - beyond);
    return __funnelshift_r(words[0], words[1], 8 * beyond);
}

/** The samples of the next COUNT rows, a word each; zero after the last. */
template <int COLUMNS, int COUNT>
static __device__ __forceinline__ void fx8_fir_load(
    const fx8_fir_launch &launch, fx8_fir_place *place,
    unsigned (&words)[COUNT])
{
    const int8_t *samples = place->samples;
    if (launch.has_words) {
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            words[k] =
                k < place->rows_left ? fx8_fir_word<COLUMNS>(samples) : 0;
            samples += launch.row;
        }
    } else if (launch.has_pairs && COLUMNS == 4) {
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            words[k] = k < place->rows_left ? fx8_fir_pair(samples) : 0;
            samples += launch.row;
        }
    } else {
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            words[k] = 0;
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                if (k < place->rows_left && c < place->n_columns)
                    words[k] |=
                        static_cast<unsigned>(static_cast<uint8_t>(samples[c]))
                        << 8 * c;
            samples += launch.row;
        }
    }
    place->samples = samples;
    place->rows_left -= COUNT;
}

/** The sums of the next spectrum, unless the segment has ended. */
template <int COLUMNS>
static __device__ __forceinline__ void fx8_fir_store(
    const fx8_fir_launch &launch, fx8_fir_place *place,
    const float (&sums)[COLUMNS])
{
    float *folded = place->folded;
    place->folded += launch.job.folded_stride;
    if (--place->spectra_left < 0)
        return;
    if (launch.has_vectors && COLUMNS == 4) {
        *reinterpret_cast<float4 *>(folded) = make_float4(
            sums[0], sums[1 % COLUMNS], sums[2 % COLUMNS], sums[3 % COLUMNS]);
        return;
    }
    if (launch.has_vectors && COLUMNS == 2) {
        *reinterpret_cast<float2 *>(folded) =
            make_float2(sums[0], sums[1 % COLUMNS]);
        return;
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c)
        if (c < place->n_columns)
            folded[c] = sums[c];
}

/** Whether an address, or a number of bytes, is a multiple of `size`. */
static inline bool fx8_fir_is_multiple(const void *address, size_t size)
{
    return reinterpret_cast<uintptr_t>(address) % size == 0;
}

/* Threads that keep a large card busy; and least spectra of a segment: below,
 * samples loaded twice cost more than it gains. */
#define FX8_FIR_MANY_THREADS (static_cast<size_t>(1) << 18)
#define FX8_FIR_LEAST_TAPS   4

/** Split a job for threads of `columns` columns that keep `taps` samples. */
static inline fx8_fir_launch fx8_fir_cut(const fx8_cuda_fir_job *job,
                                         size_t columns, size_t taps)
{
    fx8_fir_launch launch = {};
    launch.job = *job;
    launch.row = static_cast<unsigned>(job->row);
    const unsigned groups =
        static_cast<unsigned>((job->row + columns - 1) / columns);
    const size_t n_items = job->n_inputs * groups;
    const size_t wanted = (FX8_FIR_MANY_THREADS + n_items - 1) / n_items;
    size_t segment = (job->n_spectra + wanted - 1) / wanted;
    if (segment < FX8_FIR_LEAST_TAPS * taps)
        segment = FX8_FIR_LEAST_TAPS * taps;
    launch.segment = static_cast<unsigned>((segment + FX8_FIR_STEP - 1) /
                                           FX8_FIR_STEP * FX8_FIR_STEP);
    const bool is_shifted = job->rotation != nullptr;
    if (is_shifted) /* shifts change between groups */
        launch.segment = FX8_GROUP;
    const unsigned segments = static_cast<unsigned>(
        (job->n_spectra + launch.segment - 1) / launch.segment);
    while (launch.block.x < groups && launch.block.x < FX8_FIR_THREADS)
        launch.block.x *= 2;
    launch.block.y = FX8_FIR_THREADS / launch.block.x;
    launch.grid = dim3((groups + launch.block.x - 1) / launch.block.x,
                       (segments + launch.block.y - 1) / launch.block.y,
                       static_cast<unsigned>(job->n_inputs));
    launch.has_pairs = is_shifted && job->row % columns == 0;
    launch.has_words = !is_shifted && job->row % columns == 0 &&
                       job->row_stride % columns == 0 &&
                       fx8_fir_is_multiple(job->samples, columns);
    launch.has_vectors =
        job->row % columns == 0 && job->folded_stride % columns == 0 &&
        fx8_fir_is_multiple(job->folded, columns * sizeof(float));
    return launch;
}

/** Whether there is nothing to do. */
static inline bool fx8_fir_is_empty(const fx8_cuda_fir_job *job)
{
    return job->n_inputs == 0 || job->n_spectra == 0 || job->row == 0;
}

/** Whether a job keeps the rules stated at its struct. */
static inline bool fx8_fir_is_legal(const fx8_cuda_fir_job *job)
{
    return job->n_taps >= 1 && job->n_taps <= FX8_MAX_TAPS &&
           job->folded_stride >= job->row && job->row <= FX8_CUDA_MOST_ITEMS &&
           job->n_spectra <= FX8_CUDA_MOST_ITEMS &&
           job->n_inputs <= FX8_FIR_MOST_BLOCKS;
}

/** A kernel of threads with `columns` columns, for up to `taps` taps. */
template <class... Coefficients> struct fx8_fir_variant {
    size_t taps, columns;
    void (*kernel)(fx8_fir_launch, Coefficients...);
};

/** Queue a job with the first variant that has enough taps; the last has
 *  FX8_MAX_TAPS. */
template <class... Coefficients>
static cudaError_t fx8_fir_queue(
    const fx8_fir_variant<Coefficients...> *variant,
    const struct fx8_cuda_fir_job *job, cudaStream_t stream,
    Coefficients... coefficients)
{
    if (fx8_fir_is_empty(job))
        return cudaSuccess;
    if (!fx8_fir_is_legal(job))
        return cudaErrorInvalidValue;
    while (variant->taps < job->n_taps)
        ++variant;
    const fx8_fir_launch launch =
        fx8_fir_cut(job, variant->columns, variant->taps);
    FX8_LAUNCH(variant->kernel, launch.grid, launch.block, 0, stream, launch,
               coefficients...);
    return cudaGetLastError();
}

#endif
