/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FX8_CONFIG_CATALOGUE_H
#define FX8_CONFIG_CATALOGUE_H
#include "config/observation.h"
struct fx8_phase_center { char name[FX8_TEXT_SIZE]; double icrs_deg[2]; };
enum fx8_status fx8_catalogue_load(const char *path, struct fx8_phase_center **centers, size_t *n, struct fx8_error *error);
#endif
