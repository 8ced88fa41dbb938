/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tensor_map.cu -- see tensor_map.h.  The driver makes the map; its function is
 * asked for by name, so that fx8 needs no library of the driver.
 */
#include "kernels/cuda/tensor_map.h"

#if FX8_CUDA_HAS_TENSOR_MAPS

using Encode = decltype(cuTensorMapEncodeTiled);

/* The driver's function. */
static cudaError_t find_encode(Encode **encode)
{
    const char *const name = "cuTensorMapEncodeTiled";
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion(
        name, &found, 12000, cudaEnableDefault, &result);
#else
    const cudaError_t error =
        cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
    if (error != cudaSuccess)
        return error;
    *encode = reinterpret_cast<Encode *>(found);
    return result == cudaDriverEntryPointSuccess
               ? cudaSuccess
               : cudaErrorNoKernelImageForDevice;
}

cudaError_t fx8_cuda_map_spectra(const void *x, size_t channel_stride,
                                 size_t n_inputs, size_t n_columns,
                                 size_t n_channels, unsigned box_inputs,
                                 unsigned box_columns, CUtensorMap *map)
{
    constexpr size_t VECTOR = 16, GROUP = FX8_CUDA_ROW_PAD * VECTOR;
    const size_t pitch = fx8_cuda_pitch(n_inputs);
    Encode *encode;
    const cudaError_t error = find_encode(&encode);
    if (error != cudaSuccess)
        return error;
    const cuuint64_t shape[] = {GROUP / sizeof(int32_t),
                                pitch / FX8_CUDA_ROW_PAD, n_columns,
                                n_channels};
    const cuuint64_t strides[] = {GROUP, pitch * VECTOR,
                                  channel_stride * VECTOR};
    const cuuint32_t box[] = {GROUP / sizeof(int32_t),
                              box_inputs / FX8_CUDA_GROUP_INPUTS, box_columns,
                              1};
    const cuuint32_t steps[] = {1, 1, 1, 1};
    const CUresult result =
        encode(map, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, const_cast<void *>(x),
               shape, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

#endif
