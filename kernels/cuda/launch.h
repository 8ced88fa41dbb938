/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launch.h -- kernel launches and shared memory, in a form that nvcc compiles
 * and, with FX8_CUDA_ON_CPU, any C++ compiler with a stand-in for the runtime's
 * headers on its path.
 *
 * Kernels and host code use no <<<>>>, texture or assembly: launches are
 * FX8_LAUNCH(), PTX is in ptx.h and ptx_tensor.h.
 */
#ifndef FX8_KERNELS_CUDA_LAUNCH_H
#define FX8_KERNELS_CUDA_LAUNCH_H

#if defined(__CUDACC__)

#include <cuda_runtime.h>

/**
 * FX8_LAUNCH -- queue a kernel.
 *
 * Given: kernel        a __global__ function; in parentheses, (f<A, B>), if it
 *                      contains a comma
 *        grid, block   dim3
 *        shared_bytes  of dynamic shared memory for each block
 *        stream        cudaStream_t of the current device
 *        ...           the arguments, at least one
 * Status: the caller checks cudaGetLastError()
 */
#define FX8_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)             \
    kernel<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__)

/** Declare `name`, the dynamic shared memory of the block, as a pointer to
 *  `type`; aligned to 256 bytes.  Once in a kernel. */
#define FX8_DYNAMIC_SHARED(type, name)                                         \
    extern __shared__ __align__(256) unsigned char fx8_dynamic_shared[];       \
    type *const name = reinterpret_cast<type *>(fx8_dynamic_shared)

#elif defined(FX8_CUDA_ON_CPU)

#include <cuda_runtime.h>

#define FX8_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)             \
    harness::launch(#kernel, kernel, grid, block, shared_bytes, stream,        \
                    __VA_ARGS__)

#define FX8_DYNAMIC_SHARED(type, name)                                         \
    type *const name =                                                         \
        reinterpret_cast<type *>(harness::Block::current().shared())

#endif

#endif
