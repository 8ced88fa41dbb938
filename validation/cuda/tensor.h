/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tensor.h -- maps of tensors, and the copies of boxes that they describe.
 *
 * Notes: 1) four dimensions of 32-bit words, neither interleaved nor swizzled:
 *           what fx8 uses; other maps are refused
 *        2) a box arrives when a thread waits for its mbarrier, so that a
 *           missing wait shows as wrong data
 * Source: CUDA Driver API, "Tensor Map Object Management"; PTX ISA,
 *         "cp.async.bulk.tensor"
 */
#ifndef FX8_VALIDATION_CUDA_TENSOR_H
#define FX8_VALIDATION_CUDA_TENSOR_H

#include <stdint.h>

using cuuint32_t = uint32_t;
using cuuint64_t = uint64_t;

enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 };
enum CUtensorMapDataType { CU_TENSOR_MAP_DATA_TYPE_INT32 = 4 };
enum CUtensorMapInterleave { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };
enum CUtensorMapSwizzle { CU_TENSOR_MAP_SWIZZLE_NONE = 0 };
enum CUtensorMapL2promotion { CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3 };
enum CUtensorMapFloatOOBfill { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };

/** A map, in a layout of our own. */
struct CUtensorMap {
    static constexpr unsigned RANK = 4;
    const unsigned char *at;
    cuuint64_t shape[RANK];   /* the fastest first, in words */
    cuuint64_t strides[RANK]; /* bytes; of the first: a word */
    cuuint32_t box[RANK];     /* words */
    cuuint64_t unused[5];
};
static_assert(sizeof(CUtensorMap) == 128, "a map has 128 bytes");

CUresult cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *at,
    const cuuint64_t *shape, const cuuint64_t *strides, const cuuint32_t *box,
    const cuuint32_t *steps, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill);

namespace harness
{

/** Copy the box of a map at `place` to `to`; returns its bytes. */
unsigned copy_box(const CUtensorMap &map, const unsigned (&place)[4],
                  unsigned char *to);

/** Bytes of a box. */
unsigned box_bytes(const CUtensorMap &map);

} // namespace harness

#endif
