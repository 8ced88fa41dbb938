/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * imager.h -- interface of the imagers, which sum visibilities in directions of
 * the sky.  There is one for the CPU and one for CUDA: the same bits from both.
 */
#ifndef FX8_KERNELS_IMAGER_H
#define FX8_KERNELS_IMAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"
#include "kernels/operations.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What an imager is opened for. */
struct fx8_imager_plan {
    size_t n_antennas, n_channels; /**< at least 1 */
    size_t n_threads;              /**< of the CPU, at least 1 */
    /** For a trial: give up the work and the device after so many seconds.  0:
     *  no deadline. */
    double deadline_s;
};

/** What an imager says of itself. */
struct fx8_imager_facts {
    const char *device; /**< "0 NVIDIA H200", or "" for the CPU */
    const char *kernel; /**< "avx2", "image-32" */
    size_t n_busy;      /**< directions that keep it busy: with fewer in a call
                             it is slower */
};

struct fx8_imager;

/** The imager table. */
struct fx8_imager_operations {
    const char *name; /**< "cpu", "cuda" */

    /**
     * open -- allocate memory.
     *
     * Status: FX8_ERR_UNSUPPORTED: no such machine, with the reason in one
     *         line; FX8_ERR_SYSTEM: memory, with the figures; FX8_ERR_DEVICE,
     *         from any call: the device failed
     */
    enum fx8_status (*open)(const struct fx8_imager_plan *plan,
                            struct fx8_imager **imager,
                            struct fx8_error *error);

    /** Valid until the imager is closed. */
    const struct fx8_imager_facts *(*facts)(const struct fx8_imager *imager);

    /**
     * set -- set the visibilities that add() images.
     *
     * Given: turns     double [n_channels][n_antennas][3]
     *        matrices  [n_channels][fx8_image_cells(n_antennas)]
     *                  both as in struct fx8_image_channel; they must stay
     *                  unchanged until the next set() or close()
     */
    enum fx8_status (*set)(struct fx8_imager *imager, const double *turns,
                           const struct fx8_cf32 *matrices,
                           struct fx8_error *error);

    /**
     * add -- add what comes from some directions in all channels.
     *
     * Given:    n_directions  any number
     *           directions    double [groups][3][FX8_IMAGE_LANES]; those beyond
     *                         n_directions in the last group are numbers that
     *                         have no effect
     * Returned: values        float [n_directions]  increased by the sum over
     *                         channels of what the operation `image` adds, in
     *                         ascending order from 0
     * Numerics: the same bits from every imager
     */
    enum fx8_status (*add)(struct fx8_imager *imager, size_t n_directions,
                           const double *directions, float *values,
                           struct fx8_error *error);

    /** Release and null the handle; a NULL handle is legal. */
    void (*close)(struct fx8_imager **imager);
};

/** The imager on this machine's CPU. */
extern const struct fx8_imager_operations fx8_imager_cpu;

/** An imager, and why it was chosen. */
struct fx8_imager_found {
    const struct fx8_imager_operations *operations;
    struct fx8_imager *imager; /**< operations->close() releases it */
    char reason[512];          /**< one line */
    bool is_spare; /**< replaces the CUDA imager, whose failure is the reason */
};

/**
 * fx8_imager_open -- find an imager and open it.
 *
 * Given:    backend  AUTO: CUDA if it opens, else the CPU; the reason explains
 *                    why.  CUDA must first give the CPU's image of a small task
 * Returned: found
 * Status:   as open(); FX8_ERR_DEVICE also: that image differs
 */
enum fx8_status fx8_imager_open(enum fx8_backend backend,
                                const struct fx8_imager_plan *plan,
                                struct fx8_imager_found *found,
                                struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
