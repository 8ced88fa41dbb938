/* SPDX-License-Identifier: BSD-3-Clause */
/* imager_cuda.h -- the CUDA imager: see imager_cuda.cu. */
#ifndef FX8_KERNELS_CUDA_IMAGER_CUDA_H
#define FX8_KERNELS_CUDA_IMAGER_CUDA_H

#include "kernels/imager.h"

/** On the first usable device. */
extern const struct fx8_imager_operations fx8_imager_cuda;

#endif
