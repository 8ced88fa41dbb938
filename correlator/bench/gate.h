/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gate.h -- minimum shares, from an INI file:
 *
 *     [512 x 32 int8]          ; a case
 *     correlate = 0.80         ; its quantity, the least share
 *     whole = 0.85
 *     [correlate 64 int8]
 *     avx2 rate = 0.70         ; of one variant; else of all measured
 */
#ifndef FX8_CORRELATOR_BENCH_GATE_H
#define FX8_CORRELATOR_BENCH_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/bench/bench.h"

struct fx8_json;

enum fx8_bench_verdict {
    FX8_BENCH_LEFT_OUT = 0, /**< nothing it covers was measured */
    FX8_BENCH_KEPT,
    FX8_BENCH_BROKEN,
};

/** A line of the file. */
struct fx8_bench_limit {
    size_t line;
    struct fx8_bench_case which;
    char variant[16];     /**< "": any */
    const char *quantity; /**< static */
    double least;
    enum fx8_bench_verdict verdict;
    const struct fx8_bench_record *worst; /**< of those judged, or NULL */
};

/** A file; zero it before fx8_bench_gate_read(). */
struct fx8_bench_gate {
    const char *path; /**< owned by the caller */
    struct fx8_bench_limit *limits;
    size_t n_limits;
};

/**
 * fx8_bench_gate_read -- read a gate file.
 *
 * Status:    FX8_ERR_USAGE "FILE:LINE: ...": an unknown case, quantity or
 *            variant (the message says what is expected); a share that is not a
 *            number from 0 up; a duplicate line; no line at all
 * Ownership: fx8_bench_gate_clear(), also after a failure
 */
enum fx8_status fx8_bench_gate_read(const char *path,
                                    struct fx8_bench_gate *gate,
                                    struct fx8_error *error);

/**
 * fx8_bench_gate_check -- whether every level that the file names, and that
 * this machine has, will be measured.
 *
 * Given:  kernel  "auto" or a level, as on the command line
 * Status: FX8_ERR_USAGE "FILE:LINE: ...": the section or the requested kernel
 *         leaves out a level
 */
enum fx8_status fx8_bench_gate_check(const struct fx8_bench_gate *gate,
                                     const char *kernel,
                                     struct fx8_error *error);

/** Whether a line of the file covers a case. */
bool fx8_bench_gate_names(const struct fx8_bench_gate *gate, const char *name);

/**
 * fx8_bench_gate_judge -- judge every line by records [n].
 *
 * Status: FX8_ERR_INPUT: a share is too low, or none could be judged
 */
enum fx8_status fx8_bench_gate_judge(struct fx8_bench_gate *gate,
                                     const struct fx8_bench_record *records,
                                     size_t n, struct fx8_error *error);

/** Print a line on stdout for each broken limit, and one with the counts. */
void fx8_bench_gate_print(const struct fx8_bench_gate *gate);

/** The same as member "gate" of the open object. */
void fx8_bench_gate_put(const struct fx8_bench_gate *gate,
                        struct fx8_json *json);

/**
 * fx8_bench_gate_write -- write a gate file from measured records.
 *
 * Given:  records  [n]; each with a share that a gate can demand becomes a
 *                  line: its lowest round minus a margin, rounded down to three
 *                  digits.  The margin is the distance of the lowest from the
 *                  median, at least 0.02, at most half of the lowest
 *         machine  one line, a comment at the top
 *         force    replace a file
 * Status: as fx8_text_output_open() and _finish(); FX8_ERR_USAGE if no record
 *         has a share
 */
enum fx8_status fx8_bench_gate_write(const char *path,
                                     const struct fx8_bench_record *records,
                                     size_t n, const char *machine, bool force,
                                     struct fx8_error *error);

void fx8_bench_gate_clear(struct fx8_bench_gate *gate);

#endif
