/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page.h -- the figures on the page of a comparison, each with title and
 * caption; every mark carries its numbers as text.
 */
#ifndef FX8_CORRELATOR_COMPARE_PAGE_H
#define FX8_CORRELATOR_COMPARE_PAGE_H

#include "correlator/compare/figures.h"
#include "correlator/compare/plot.h"

/** Measured against predicted rms, a mark per baseline. */
void fx8_compare_draw_baselines(const struct fx8_comparison *comparison,
                                FILE *stream);

/** Measured and predicted rms along the frequency axis. */
void fx8_compare_draw_channels(const struct fx8_comparison *comparison,
                               FILE *stream);

/** Histogram of the phase differences. */
void fx8_compare_draw_phases(const struct fx8_comparison *comparison,
                             FILE *stream);

/** The worst baselines. */
void fx8_compare_draw_worst(const struct fx8_comparison *comparison,
                            FILE *stream);

/** Gains and clips of the inputs. */
void fx8_compare_draw_inputs(const struct fx8_comparison *comparison,
                             FILE *stream);

#endif
