/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cufft.h -- the part of cuFFT that fx8 uses, by FFTW in single precision:
 * same layouts, signs and scale (none), other roundings.
 *
 * Notes: 1) a transform is work of its stream like a kernel
 *        2) the work area is filled with garbage by every transform, as cuFFT
 *           may: two plans that share one must not run at the same time
 * Source: cuFFT API reference
 */
#ifndef FX8_VALIDATION_CUDA_INCLUDE_CUFFT_H
#define FX8_VALIDATION_CUDA_INCLUDE_CUFFT_H

#include <cuda_runtime.h>

using cufftReal = float;
using cufftComplex = float2;
using cufftHandle = int;

enum cufftResult {
    CUFFT_SUCCESS = 0,
    CUFFT_INVALID_PLAN = 1,
    CUFFT_ALLOC_FAILED = 2,
    CUFFT_INVALID_TYPE = 3,
    CUFFT_INVALID_VALUE = 4,
    CUFFT_INTERNAL_ERROR = 5,
    CUFFT_EXEC_FAILED = 6,
    CUFFT_SETUP_FAILED = 7,
    CUFFT_INVALID_SIZE = 8,
    CUFFT_NO_WORKSPACE = 13
};

enum cufftType { CUFFT_R2C = 0x2a, CUFFT_C2C = 0x29 };

constexpr int CUFFT_FORWARD = -1;
constexpr int CUFFT_INVERSE = 1;

cufftResult cufftGetVersion(int *version);
cufftResult cufftCreate(cufftHandle *plan);
cufftResult cufftDestroy(cufftHandle plan);
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream);
cufftResult cufftSetAutoAllocation(cufftHandle plan, int is_automatic);
cufftResult cufftSetWorkArea(cufftHandle plan, void *area);

cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed,
                              int istride, int idist, int *onembed, int ostride,
                              int odist, cufftType type, int batch,
                              size_t *bytes);
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out,
                         int direction);
cufftResult cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out);

#endif
