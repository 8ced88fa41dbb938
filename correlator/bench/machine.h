/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine.h -- description of the machine that a benchmark ran on, as far as
 * the system reports it.
 */
#ifndef FX8_CORRELATOR_BENCH_MACHINE_H
#define FX8_CORRELATOR_BENCH_MACHINE_H

#include <stddef.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Texts are "" and numbers NaN if unknown. */
struct fx8_bench_machine {
    char cpu[96];         /**< "AMD EPYC 9B45, family 26 model 2" */
    size_t n_cpus;        /**< usable by this process */
    double frequency_mhz; /**< of the first CPU, now */
    char governor[32];    /**< of its frequency */
    double load;          /**< one-minute load average */
    char compiler[96], c_library[32];
    char date[48]; /**< now, UTC, to the second */
};

void fx8_bench_machine_ask(struct fx8_bench_machine *machine);

/** Size of the path of a file in TMPDIR, suffix included; leaves room for
 *  ".part". */
#define FX8_BENCH_PATH_SIZE 512

/** Name of a file in TMPDIR or /tmp that only this process uses.
 *  FX8_ERR_USAGE: the folder's name is too long. */
enum fx8_status fx8_bench_file(const char *suffix,
                               char path[FX8_BENCH_PATH_SIZE],
                               struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
