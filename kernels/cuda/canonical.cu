/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * canonical.cu -- convert spectra between the layout of the correlators and
 * canonical order, [channel][spectrum][input]: for exports, imports and tests,
 * where speed does not matter.
 *
 * A thread takes one vector of real and one of imaginary parts of one input
 * and channel; neighbouring threads take neighbouring inputs.
 */
#include "kernels/cuda/spectra.cuh"

/** A job; its grid is [inputs][vectors of times][channels], its block
 *  [vectors][inputs], of inputs a power of two. */
template <class Complex> struct fx8_canonical_launch {
    fx8_cuda_part part; /**< of import */
    typename fx8_cuda_vector_of<Complex>::Part *spectra;
    const Complex *in; /**< of import; NULL: zero */
    Complex *out;      /**< of export */
    size_t n_channels, n_vectors, n_inputs, n_spectra, pitch;
    size_t channel_vectors; /* from channel to channel */
};

/** Work of one thread. */
template <class Complex> struct fx8_canonical_place {
    typename fx8_cuda_vector_of<Complex>::Part *re, *im;
    size_t input, time;
    size_t canonical; /* index of the first spectrum */
    bool exists;
};

template <class Complex>
static __device__ __forceinline__ fx8_canonical_place<Complex> find_place(
    const fx8_canonical_launch<Complex> &launch)
{
    constexpr int TIMES = fx8_cuda_vector_of<Complex>::TIMES;
    const size_t channel = blockIdx.x;
    const size_t vector = blockIdx.y * blockDim.y + threadIdx.y;
    const size_t column = channel * launch.channel_vectors + vector;
    fx8_canonical_place<Complex> place;
    place.input = blockIdx.z * blockDim.x + threadIdx.x;
    place.time = vector * TIMES;
    const size_t row = column * launch.pitch;
    place.re = launch.spectra + (row + fx8_cuda_row(place.input, 0)) * TIMES;
    place.im = launch.spectra + (row + fx8_cuda_row(place.input, 1)) * TIMES;
    place.canonical =
        (channel * launch.n_spectra + place.time) * launch.n_inputs +
        place.input;
    place.exists = place.input < launch.n_inputs && vector < launch.n_vectors;
    return place;
}

template <class Complex>
static __device__ __forceinline__ void import_vector(
    const fx8_canonical_launch<Complex> &launch)
{
    constexpr int TIMES = fx8_cuda_vector_of<Complex>::TIMES;
    const fx8_canonical_place<Complex> place = find_place(launch);
    if (!place.exists)
        return;
    const size_t group = place.time / FX8_CUDA_TIMES_INT8 * FX8_CUDA_TIMES_INT8;
    const unsigned bits =
        launch.in == nullptr ? 0
                             : fx8_part_bits(launch.part, place.input, group) >>
                                   static_cast<unsigned>(place.time - group);
#pragma unroll
    for (int t = 0; t < TIMES; ++t) {
        Complex x = {0, 0};
        if ((bits >> t & 1) != 0)
            x = launch.in[place.canonical + t * launch.n_inputs];
        place.re[t] = x.re;
        place.im[t] = x.im;
    }
}

template <class Complex>
static __device__ __forceinline__ void export_vector(
    const fx8_canonical_launch<Complex> &launch)
{
    constexpr int TIMES = fx8_cuda_vector_of<Complex>::TIMES;
    const fx8_canonical_place<Complex> place = find_place(launch);
    if (!place.exists)
        return;
#pragma unroll
    for (int t = 0; t < TIMES; ++t)
        if (place.time + t < launch.n_spectra)
            launch.out[place.canonical + t * launch.n_inputs] = {place.re[t],
                                                                 place.im[t]};
}

/** A kernel: `work` on numbers of type `Complex`. */
#define FX8_CANONICAL_KERNEL(name, work, Complex)                              \
    extern "C" __global__ void __launch_bounds__(FX8_SPECTRA_THREADS)          \
        name(const fx8_canonical_launch<Complex> launch)                       \
    {                                                                          \
        work(launch);                                                          \
    }

FX8_CANONICAL_KERNEL(fx8_import_int8_kernel, import_vector, fx8_ci8)
FX8_CANONICAL_KERNEL(fx8_import_fp32_kernel, import_vector, fx8_cf32)
FX8_CANONICAL_KERNEL(fx8_export_int8_kernel, export_vector, fx8_ci8)
FX8_CANONICAL_KERNEL(fx8_export_fp32_kernel, export_vector, fx8_cf32)

namespace
{

template <class Complex> using Kernel = void (*)(fx8_canonical_launch<Complex>);

/** A launch for the times before end_time, with values derived from the shape.
 */
template <class Complex>
fx8_canonical_launch<Complex> launch_of(
    const fx8_cuda_spectra *spectra,
    typename fx8_cuda_vector_of<Complex>::Part *array, size_t n_spectra,
    size_t end_time)
{
    constexpr size_t TIMES = fx8_cuda_vector_of<Complex>::TIMES;
    fx8_canonical_launch<Complex> launch = {};
    launch.spectra = array;
    launch.n_channels = spectra->n_channels;
    launch.n_vectors = (end_time + TIMES - 1) / TIMES;
    launch.channel_vectors = spectra->n_times / TIMES;
    launch.n_inputs = spectra->n_inputs;
    launch.n_spectra = n_spectra;
    launch.pitch = fx8_cuda_pitch(spectra->n_inputs);
    return launch;
}

template <class Complex>
cudaError_t run(Kernel<Complex> kernel,
                const fx8_canonical_launch<Complex> &launch,
                cudaStream_t stream)
{
    dim3 block, grid;
    while (block.x < launch.n_inputs && block.x < FX8_SPECTRA_THREADS)
        block.x *= 2;
    block.y = FX8_SPECTRA_THREADS / block.x;
    if (!fx8_spectra_grid(launch.n_channels,
                          (launch.n_vectors + block.y - 1) / block.y,
                          (launch.n_inputs + block.x - 1) / block.x, &grid))
        return cudaErrorInvalidValue;
    if (grid.x == 0)
        return cudaSuccess;
    FX8_LAUNCH(kernel, grid, block, 0, stream, launch);
    return cudaGetLastError();
}

/** Import into one array, if not NULL. */
template <class Complex>
cudaError_t import_array(Kernel<Complex> kernel, const fx8_cuda_part *part,
                         const Complex *in, const fx8_cuda_spectra *spectra,
                         typename fx8_cuda_vector_of<Complex>::Part *array,
                         cudaStream_t stream)
{
    if (array == nullptr)
        return cudaSuccess;
    fx8_canonical_launch<Complex> launch =
        launch_of<Complex>(spectra, array, part->n_spectra, part->end_time);
    launch.part = *part;
    launch.in = in;
    return run(kernel, launch, stream);
}

/** Export one array, if not NULL. */
template <class Complex>
cudaError_t export_array(Kernel<Complex> kernel,
                         const fx8_cuda_spectra *spectra,
                         typename fx8_cuda_vector_of<Complex>::Part *array,
                         size_t n_spectra, Complex *out, cudaStream_t stream)
{
    if (out == nullptr)
        return cudaSuccess;
    if (array == nullptr)
        return cudaErrorInvalidValue;
    fx8_canonical_launch<Complex> launch =
        launch_of<Complex>(spectra, array, n_spectra, n_spectra);
    launch.out = out;
    return run(kernel, launch, stream);
}

} // namespace

cudaError_t fx8_cuda_import(const struct fx8_cuda_part *part,
                            const struct fx8_ci8 *int8,
                            const struct fx8_cf32 *fp32,
                            const struct fx8_cuda_spectra *spectra,
                            cudaStream_t stream)
{
    if (!fx8_part_is_legal(part, spectra) || part->first_input != 0 ||
        part->first_time != 0 || part->n_inputs != spectra->n_inputs)
        return cudaErrorInvalidValue;
    const cudaError_t error = import_array<fx8_ci8>(
        fx8_import_int8_kernel, part, int8, spectra, spectra->int8, stream);
    if (error != cudaSuccess)
        return error;
    return import_array<fx8_cf32>(fx8_import_fp32_kernel, part, fp32, spectra,
                                  spectra->fp32, stream);
}

cudaError_t fx8_cuda_export(const struct fx8_cuda_spectra *spectra,
                            size_t n_spectra, struct fx8_ci8 *int8,
                            struct fx8_cf32 *fp32, cudaStream_t stream)
{
    if (n_spectra > spectra->n_times)
        return cudaErrorInvalidValue;
    const cudaError_t error =
        export_array<fx8_ci8>(fx8_export_int8_kernel, spectra, spectra->int8,
                              n_spectra, int8, stream);
    if (error != cudaSuccess)
        return error;
    return export_array<fx8_cf32>(fx8_export_fp32_kernel, spectra,
                                  spectra->fp32, n_spectra, fp32, stream);
}
