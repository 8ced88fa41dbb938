/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ripple_table.h -- power response of the filter that cut a band out, from CSV.
 */
#ifndef FX8_CONFIG_RIPPLE_TABLE_H
#define FX8_CONFIG_RIPPLE_TABLE_H

#include <stddef.h>

#include "correlator/fx8.h"

/** A response by frequency. */
struct fx8_ripple_table {
    size_t n;          /**< rows, at least 1 */
    double *offset_hz; /**< [n] sky frequency minus that of the centre of the
                            band, ascending */
    double *power;     /**< [n] 1e-9 to 1e9 */
};

/**
 * fx8_ripple_load -- read `[channelizer] ripple_file`.
 *
 * Status:    FX8_ERR_USAGE with FILE:LINE: unreadable file; unknown, missing or
 *            duplicate column; a value out of range; an offset that is not
 *            above that of the row before; FX8_ERR_SYSTEM: memory
 * Ownership: release it with fx8_ripple_clear(); empty after a failure
 * Notes:     CSV with the columns offset_hz, power
 */
enum fx8_status fx8_ripple_load(const char *path,
                                struct fx8_ripple_table *table,
                                struct fx8_error *error);

/** Power at an offset, interpolated linearly; beyond the ends, that of the
 *  end. */
double fx8_ripple_at(const struct fx8_ripple_table *table, double offset_hz);

/** Release a table; a zeroed one is legal. */
void fx8_ripple_clear(struct fx8_ripple_table *table);

#endif
