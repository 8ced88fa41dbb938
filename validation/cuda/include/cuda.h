/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda.h -- the part of the CUDA driver's interface that fx8 uses, for pretend
 * devices: maps of tensors.
 * Source: CUDA Driver API, "Tensor Map Object Management" */
#ifndef FX8_VALIDATION_CUDA_INCLUDE_CUDA_H
#define FX8_VALIDATION_CUDA_INCLUDE_CUDA_H

#include "validation/cuda/tensor.h"

#endif
