/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine.h -- what an error table says of the machine it was measured on.
 */
#ifndef FX8_VALIDATION_NUMERICS_MACHINE_H
#define FX8_VALIDATION_NUMERICS_MACHINE_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The CPU: its name, and family and model if the system gives them. */
const char *machine_cpu(void);

/** Compiler of this program, version of the C library; one line. */
const char *machine_software(void);

/** Today, UTC, as 2026-11-20. */
const char *machine_date(void);

/** validation/results/numerics-KIND-NAME.md, the name in lower-case letters,
 *  digits and hyphens; an empty kind leaves its hyphen out. */
void result_path(const char *kind, const char *name, char *path, size_t size);

/** The words of a command line separated by blanks, the program without its
 *  folder, cut at `size`. */
void join_command(int argc, char **argv, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
