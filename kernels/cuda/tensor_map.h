/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tensor_map.h -- spectra in the layout of layout.h as a tensor that the copy
 * engine of sm_90 reads in boxes: [channel][column][group][64 words], a group
 * being the rows of 8 inputs.  Less than 256 bytes at a time would be slow.
 */
#ifndef FX8_KERNELS_CUDA_TENSOR_MAP_H
#define FX8_KERNELS_CUDA_TENSOR_MAP_H

#include "kernels/cuda/launch.h"
#include "kernels/cuda/layout.h"

#if CUDART_VERSION >= 12000
#define FX8_CUDA_HAS_TENSOR_MAPS 1
#include <cuda.h>
#else
#define FX8_CUDA_HAS_TENSOR_MAPS 0
#endif

/** Inputs of a group. */
#define FX8_CUDA_GROUP_INPUTS (FX8_CUDA_ROW_PAD / 2u)

#if FX8_CUDA_HAS_TENSOR_MAPS

/**
 * fx8_cuda_map_spectra -- the map of int8 spectra, for fx8_ptx_copy_box().
 *
 * Given:    x               of the first channel, a multiple of 16
 *           channel_stride  in units of 16 bytes
 *           n_columns       of 16 bytes, in time; later ones are zero
 *           box_inputs      of a box, a multiple of 8
 *           box_columns     of a box
 * Returned: map
 * Status:   cudaErrorInvalidValue if the driver refuses the shape;
 *           cudaErrorNoKernelImageForDevice if it has no tensor maps: no kernel
 *           that needs one runs
 * Source:   CUDA Driver API, "Tensor Map Object Management"
 */
cudaError_t fx8_cuda_map_spectra(const void *x, size_t channel_stride,
                                 size_t n_inputs, size_t n_columns,
                                 size_t n_channels, unsigned box_inputs,
                                 unsigned box_columns, CUtensorMap *map);

#endif

#endif
