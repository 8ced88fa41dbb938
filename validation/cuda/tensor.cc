/* SPDX-License-Identifier: BSD-3-Clause */
/* tensor.cc -- see tensor.h. */
#include "validation/cuda/tensor.h"

#include <string.h>

#include "validation/cuda/machine.h"

/* The driver's rules that a wrong shape breaks first. */
static bool is_legal(const CUtensorMap &map, const cuuint32_t *steps)
{
    constexpr cuuint64_t MOST_BYTES = cuuint64_t(1) << 40;
    constexpr cuuint64_t MOST_WORDS = cuuint64_t(1) << 32;
    constexpr cuuint32_t MOST_BOX = 256;
    bool is_good = reinterpret_cast<uintptr_t>(map.at) % 16 == 0 &&
                   map.box[0] * map.strides[0] % 16 == 0;
    for (unsigned k = 0; k < CUtensorMap::RANK; ++k)
        is_good = is_good && map.shape[k] > 0 && map.shape[k] <= MOST_WORDS &&
                  map.box[k] > 0 && map.box[k] <= MOST_BOX && steps[k] == 1 &&
                  (k == 0 ||
                   (map.strides[k] % 16 == 0 && map.strides[k] < MOST_BYTES));
    return is_good;
}

CUresult cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *at,
    const cuuint64_t *shape, const cuuint64_t *strides, const cuuint32_t *box,
    const cuuint32_t *steps, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill)
{
    if (type != CU_TENSOR_MAP_DATA_TYPE_INT32 || rank != CUtensorMap::RANK ||
        interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
        swizzle != CU_TENSOR_MAP_SWIZZLE_NONE)
        return CUDA_ERROR_INVALID_VALUE;
    *map = {};
    map->at = static_cast<const unsigned char *>(at);
    for (unsigned k = 0; k < CUtensorMap::RANK; ++k) {
        map->shape[k] = shape[k];
        map->strides[k] = k == 0 ? sizeof(uint32_t) : strides[k - 1];
        map->box[k] = box[k];
    }
    return is_legal(*map, steps) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

cudaError_t cudaGetDriverEntryPointByVersion(
    const char *name, void **found, unsigned, unsigned long long,
    cudaDriverEntryPointQueryResult *result)
{
    FX8_ENTER(__func__);
    const bool is_known = strcmp(name, "cuTensorMapEncodeTiled") == 0;
    *found =
        is_known ? reinterpret_cast<void *>(cuTensorMapEncodeTiled) : nullptr;
    *result = is_known ? cudaDriverEntryPointSuccess
                       : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

namespace harness
{

unsigned box_bytes(const CUtensorMap &map)
{
    return map.box[0] * map.box[1] * map.box[2] * map.box[3] *
           static_cast<unsigned>(sizeof(uint32_t));
}

unsigned copy_box(const CUtensorMap &map, const unsigned (&place)[4],
                  unsigned char *to)
{
    const size_t row = map.box[0] * sizeof(uint32_t);
    const unsigned n_rows = map.box[1] * map.box[2] * map.box[3];
    for (unsigned k = 0; k < n_rows; ++k, to += row) {
        const cuuint64_t at[3] = {place[1] + k % map.box[1],
                                  place[2] + k / map.box[1] % map.box[2],
                                  place[3] + k / map.box[1] / map.box[2]};
        memset(to, 0, row);
        if (at[0] >= map.shape[1] || at[1] >= map.shape[2] ||
            at[2] >= map.shape[3] || place[0] >= map.shape[0])
            continue;
        const cuuint64_t left = map.shape[0] - place[0];
        memcpy(to,
               map.at + place[0] * sizeof(uint32_t) + at[0] * map.strides[1] +
                   at[1] * map.strides[2] + at[2] * map.strides[3],
               (left < map.box[0] ? left : map.box[0]) * sizeof(uint32_t));
    }
    return box_bytes(map);
}

} // namespace harness
