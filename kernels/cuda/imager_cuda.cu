/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * imager_cuda.cu -- the CUDA imager: visibilities stay on the device,
 * directions go there in pieces, whose sums come back one after the other.
 */
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/image.h"
#include "kernels/cuda/imager_cuda.h"

/* Most directions of a piece, enough for a whole card, and the least. */
static const size_t MOST_DIRECTIONS = 65536;
static const size_t LEAST_DIRECTIONS = 128;

struct fx8_imager {
    struct fx8_imager_plan plan;
    struct fx8_cuda_device *device;
    size_t piece; /* directions */
    double *turns;
    struct fx8_cf32 *matrices;
    double *directions;
    float2 *phasors;
    float *sums, *pinned_sums;
    char device_name[96];
    struct fx8_imager_facts facts;
};

/* --- memory ----------------------------------------------------------------
 */

static const size_t N_ARRAYS = 6;

static void list_arrays(struct fx8_imager *imager,
                        struct fx8_cuda_array (&arrays)[N_ARRAYS])
{
    const size_t n = imager->plan.n_antennas, piece = imager->piece;
    const size_t channels = imager->plan.n_channels;
    arrays[0] = {&imager->turns, fx8_product(channels, n, 3, 1),
                 sizeof *imager->turns};
    arrays[1] = {&imager->matrices,
                 fx8_product(channels, fx8_image_cells(n), 1, 1),
                 sizeof *imager->matrices};
    arrays[2] = {&imager->directions, 3 * piece, sizeof *imager->directions};
    arrays[3] = {&imager->phasors, fx8_product(n, piece, 1, 1),
                 sizeof *imager->phasors};
    arrays[4] = {&imager->sums, piece, sizeof *imager->sums};
    arrays[5] = {&imager->pinned_sums, piece, sizeof *imager->sums, true};
}

static size_t count_bytes(struct fx8_imager *imager)
{
    struct fx8_cuda_array arrays[N_ARRAYS];
    list_arrays(imager, arrays);
    return fx8_cuda_arrays_bytes(arrays, N_ARRAYS, false);
}

/* Choose pieces that fit half of the memory; others may need it.  If not even
 * the smallest does, it may have all. */
static enum fx8_status choose_piece(struct fx8_imager *imager,
                                    struct fx8_error *error)
{
    const struct fx8_cuda_device *device = imager->device;
    const size_t n = imager->plan.n_antennas, c = imager->plan.n_channels;
    size_t usable = 0;
    FX8_TRY(fx8_cuda_find_usable(device, &usable, error));
    imager->piece = MOST_DIRECTIONS;
    while (imager->piece > LEAST_DIRECTIONS && count_bytes(imager) > usable / 2)
        imager->piece /= 2;
    if (count_bytes(imager) <= usable)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_SYSTEM,
                    "cuda: device %d (%s): %s of memory free: expected %s for "
                    "an image from %zu %s and %zu %s",
                    device->ordinal, device->name, fx8_cuda_bytes(usable),
                    fx8_cuda_bytes(count_bytes(imager)), n,
                    FX8_NOUN(n, "antenna", "antennas"), c,
                    FX8_NOUN(c, "frequency", "frequencies"));
}

/* --- open ------------------------------------------------------------------
 */

/* The memory of a stuck device stays. */
static void cuda_close(struct fx8_imager **imager)
{
    struct fx8_imager *i = *imager;
    if (i == nullptr)
        return;
    if (i->device != nullptr && !fx8_cuda_is_any_stuck()) {
        struct fx8_cuda_array arrays[N_ARRAYS];
        list_arrays(i, arrays);
        fx8_cuda_quiesce(i->device);
        fx8_cuda_free_arrays(arrays, N_ARRAYS);
        if (i->device->drained != nullptr)
            (void)cudaEventDestroy(i->device->drained);
        if (i->device->compute != nullptr)
            (void)cudaStreamDestroy(i->device->compute);
        (void)cudaGetLastError();
    }
    free(i->device);
    free(i);
    *imager = nullptr;
}

static enum fx8_status open_device(struct fx8_imager *imager,
                                   struct fx8_error *error)
{
    size_t n_devices = 0;
    FX8_TRY(fx8_cuda_find_devices(nullptr, 0, 0, &imager->device, &n_devices,
                                  error));
    struct fx8_cuda_device *device = imager->device;
    device->deadline_s = imager->plan.deadline_s;
    FX8_TRY(fx8_cuda_enter(device, error));
    FX8_TRY(fx8_cuda_create_stream(device, &device->compute, error));
    FX8_TRY(fx8_cuda_create_event(device, cudaEventDisableTiming,
                                  &device->drained, error));
    struct fx8_cuda_image none = {};
    none.n_antennas = imager->plan.n_antennas;
    FX8_TRY(fx8_cuda_check(fx8_cuda_image_sum(&none, device->compute), device,
                           error, "loading kernels"));
    FX8_TRY(choose_piece(imager, error));
    struct fx8_cuda_array arrays[N_ARRAYS];
    list_arrays(imager, arrays);
    return fx8_cuda_allocate_arrays(arrays, N_ARRAYS, device, error);
}

static enum fx8_status cuda_open(const struct fx8_imager_plan *plan,
                                 struct fx8_imager **imager,
                                 struct fx8_error *error)
{
    void *memory;
    *imager = nullptr;
    FX8_TRY(
        fx8_allocate(1, sizeof(struct fx8_imager), "imager", &memory, error));
    struct fx8_imager *i = static_cast<struct fx8_imager *>(memory);
    i->plan = *plan;
    const enum fx8_status status = open_device(i, error);
    if (status != FX8_OK) {
        cuda_close(&i);
        return status;
    }
    snprintf(i->device_name, sizeof i->device_name, "%d %s", i->device->ordinal,
             i->device->name);
    i->facts = {i->device_name,
                plan->n_antennas <= FX8_CUDA_IMAGE_FEW ? "image-8" : "image-32",
                i->piece};
    *imager = i;
    return FX8_OK;
}

static const struct fx8_imager_facts *cuda_facts(
    const struct fx8_imager *imager)
{
    return &imager->facts;
}

/* --- images ----------------------------------------------------------------
 */

static enum fx8_status copy_in(const struct fx8_imager *imager, void *to,
                               const void *from, size_t bytes, const char *what,
                               struct fx8_error *error)
{
    return fx8_cuda_copy(imager->device, imager->device->compute, to, from,
                         bytes, cudaMemcpyHostToDevice, what, error);
}

static enum fx8_status cuda_set(struct fx8_imager *imager, const double *turns,
                                const struct fx8_cf32 *matrices,
                                struct fx8_error *error)
{
    const size_t n = imager->plan.n_antennas, c = imager->plan.n_channels;
    FX8_TRY(fx8_cuda_enter(imager->device, error));
    FX8_TRY(copy_in(imager, imager->turns, turns, 3 * n * c * sizeof *turns,
                    "of positions", error));
    return copy_in(imager, imager->matrices, matrices,
                   fx8_image_cells(n) * c * sizeof *matrices, "of visibilities",
                   error);
}

static enum fx8_status add_piece(struct fx8_imager *imager, size_t n,
                                 const double *directions, float *values,
                                 struct fx8_error *error)
{
    const struct fx8_cuda_device *device = imager->device;
    const size_t n_lanes = fx8_round_up(n, FX8_IMAGE_LANES);
    FX8_TRY(copy_in(imager, imager->directions, directions,
                    3 * n_lanes * sizeof *directions, "of directions", error));
    const struct fx8_cuda_image job = {imager->plan.n_antennas,
                                       imager->plan.n_channels,
                                       n,
                                       imager->turns,
                                       imager->matrices,
                                       imager->directions,
                                       imager->phasors,
                                       imager->sums};
    FX8_TRY(fx8_cuda_check(fx8_cuda_image_sum(&job, device->compute), device,
                           error, "imaging"));
    FX8_TRY(fx8_cuda_copy(device, device->compute, imager->pinned_sums,
                          imager->sums, n * sizeof *imager->sums,
                          cudaMemcpyDeviceToHost, "to the host", error));
    FX8_TRY(fx8_cuda_drain(device, device->compute, "an image", error));
    for (size_t k = 0; k < n; ++k)
        values[k] += imager->pinned_sums[k];
    return FX8_OK;
}

static enum fx8_status cuda_add(struct fx8_imager *imager, size_t n_directions,
                                const double *directions, float *values,
                                struct fx8_error *error)
{
    FX8_TRY(fx8_cuda_enter(imager->device, error));
    for (size_t first = 0; first < n_directions; first += imager->piece)
        FX8_TRY(add_piece(imager, std::min(imager->piece, n_directions - first),
                          directions + 3 * first, values + first, error));
    return FX8_OK;
}

/* In the order of the members: C++17 has no designated initialisers. */
const struct fx8_imager_operations fx8_imager_cuda = {
    "cuda", cuda_open, cuda_facts, cuda_set, cuda_add, cuda_close,
};
