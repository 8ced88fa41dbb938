/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_runtime.h -- found in place of CUDA's where kernels and their host code
 * are compiled for the CPU: ../README.md. */
#ifndef FX8_VALIDATION_CUDA_INCLUDE_CUDA_RUNTIME_H
#define FX8_VALIDATION_CUDA_INCLUDE_CUDA_RUNTIME_H

#include "validation/cuda/device.h"
#include "validation/cuda/runtime.h"
#include "validation/cuda/twins.h"

#endif
