/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FX8_CONFIG_GAIN_TABLE_H
#define FX8_CONFIG_GAIN_TABLE_H
#include "config/observation.h"
struct fx8_gain { double amplitude, phase_deg, delay_s; };
enum fx8_status fx8_gain_table_load(const char *path, const struct fx8_antenna *antennas, size_t n_antennas, size_t n_polarizations, bool delays_allowed, struct fx8_gain *gains, struct fx8_error *error);
#endif
