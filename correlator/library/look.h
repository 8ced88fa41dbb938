/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * look.h -- the quick-look of a session: kernels/quicklook.h set up from a
 * plan, with memory for the arrays of a dump.
 */
#ifndef FX8_CORRELATOR_LIBRARY_LOOK_H
#define FX8_CORRELATOR_LIBRARY_LOOK_H

#include <stddef.h>

#include "correlator/fx8.h"
#include "kernels/operations.h"
#include "kernels/postprocess.h"
#include "kernels/quicklook_work.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fx8_look;

/** Bytes that fx8_look_open() allocates, SIZE_MAX where they overflow. */
size_t fx8_look_size(const struct fx8_plan *plan, const struct fx8_axes *axes);

/**
 * fx8_look_open -- allocate and set up.
 *
 * Given:    plan        with threads resolved
 *           products    of its baselines, kept by the caller until close
 *           operations  whose functions and halves are used
 *           on_device   what evaluates the cells in place of them, or NULL
 * Status:   FX8_ERR_SYSTEM: memory
 */
enum fx8_status fx8_look_open(const struct fx8_plan *plan,
                              const struct fx8_axes *axes,
                              const struct fx8_product *products,
                              const struct fx8_operations *operations,
                              fx8_quicklook_look *on_device,
                              struct fx8_look **look, struct fx8_error *error);

/** Look at the next dump, of INT8 with its gains, [n_inputs][n_fine],
 *  else NULL, on the engine's device where that was chosen; the arrays are
 * valid until the next call.  Status: that of the engine's look(). */
enum fx8_status fx8_look_process(struct fx8_look *look,
                                 struct fx8_engine *engine,
                                 const struct fx8_result *visibilities,
                                 const float *gain,
                                 struct fx8_quicklook_dump *dump,
                                 struct fx8_error *error);

/** See fx8_get_quicklook(), fx8_get_coherences(). */
void fx8_look_report(const struct fx8_look *look,
                     struct fx8_quicklook_counts *counts,
                     struct fx8_quicklook_differences *differences);
void fx8_look_averages(const struct fx8_look *look,
                       struct fx8_quicklook_average *averages);

/** Release and null the handle; a NULL handle is legal. */
void fx8_look_close(struct fx8_look **look);

#ifdef __cplusplus
}
#endif

#endif
