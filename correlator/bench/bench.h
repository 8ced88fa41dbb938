/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.h -- the parts of `fx8 bench`: sections that measure, a report that
 * prints, a gate that judges.
 *
 * A section is a list of cases with unique names.  Measuring a case adds
 * figures to the report: a quantity, its value, and the ceiling found in the
 * same rounds.  Quantity and case name a figure in tables, in JSON and in a
 * gate file alike.
 */
#ifndef FX8_CORRELATOR_BENCH_BENCH_H
#define FX8_CORRELATOR_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/operations.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Room for the name of a case; inih accepts no longer section name. */
#define FX8_BENCH_NAME_SIZE 48

/** Most quantities with a share of one case. */
#define FX8_BENCH_QUANTITIES 12

/** Most rounds of a case. */
#define FX8_BENCH_ROUNDS 99

struct fx8_bench_report;

/** A case about to be measured. */
struct fx8_bench_run {
    const char *section;
    const char *name;                        /**< of the case */
    const struct fx8_operations *operations; /**< level to measure */
    size_t n_threads;                        /**< of jobs and unpacking */
    size_t n_rounds;                         /**< 1 .. FX8_BENCH_ROUNDS */
    struct fx8_bench_report *report;
};

/** The result for a quantity of a case. */
struct fx8_bench_figure {
    const char *quantity; /**< "correlate"; static, like all texts here */
    const char *variant;  /**< "avx512"; NULL: no variants */
    size_t n_threads;     /**< 0: one */
    double value;
    const char *unit;  /**< one of the units of the JSON document */
    const char *ruler; /**< name of the ceiling; NULL: no ceiling */
    double ceiling;    /**< in the same unit */
    double lowest;     /**< share of the ceiling in the worst round */
};

/** A section of the benchmark. */
struct fx8_bench_section {
    const char *name;
    const char *about; /**< one line above its table */
    size_t n_cases;
    size_t n_rounds;     /**< by default */
    bool is_every_level; /**< measured at all levels unless one is given */
    bool has_levels;     /**< the variant of a figure is the level */
    /** Name of a case. */
    void (*name_case)(size_t index, char name[FX8_BENCH_NAME_SIZE]);
    /** List its quantities that have a share; returns how many.  NULL: none. */
    size_t (*list)(size_t index, const char *quantities[FX8_BENCH_QUANTITIES]);
    /** Measure a case and report its figures. */
    enum fx8_status (*measure)(const struct fx8_bench_run *run, size_t index,
                               struct fx8_error *error);
};

/** The sections, in the order in which they are measured. */
extern const struct fx8_bench_section *const fx8_bench_sections[];
extern const size_t fx8_bench_sections_count;

extern const struct fx8_bench_section fx8_bench_arrays;
extern const struct fx8_bench_section fx8_bench_functions;
extern const struct fx8_bench_section fx8_bench_jobs;
extern const struct fx8_bench_section fx8_bench_reading;
extern const struct fx8_bench_section fx8_bench_transforms;
extern const struct fx8_bench_section fx8_bench_variants;

/* --- figures ------------------------------------------------------------- */

/**
 * fx8_bench_put -- add a figure to the report and print it in the table.
 *
 * Status: FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_bench_put(const struct fx8_bench_run *run,
                              const struct fx8_bench_figure *figure,
                              struct fx8_error *error);

/** The same from a value and a ceiling per round, double [n_rounds] each: puts
 *  the medians and the lowest quotient; `figure` has the other members. */
enum fx8_status fx8_bench_put_rounds(const struct fx8_bench_run *run,
                                     struct fx8_bench_figure figure,
                                     const double *values,
                                     const double *ceilings,
                                     struct fx8_error *error);

/** Add a remark on a case, such as why it is left out; copied. */
enum fx8_status fx8_bench_remark(const struct fx8_bench_run *run,
                                 const char *text, struct fx8_error *error);

/** Median of values [n], n at least 1; values are not changed. */
double fx8_bench_median(const double *values, size_t n);

/** 1 / (1 / rates[0] + ...): the rate of stages that share a core. */
double fx8_bench_harmonic(const double *rates, size_t n);

/** Random samples, -30 .. 30. */
void fx8_bench_fill(int8_t *samples, size_t size);

/* --- arrays -------------------------------------------------------------- */

/** An array: complex samples of two polarisations. */
struct fx8_bench_array {
    size_t n_inputs, n_channels;
    bool is_time_major; /**< recorded as [time][input], else [input][time] */
};

#define FX8_N_BENCH_ARRAYS 4

/** From small arrays with wide bands to large ones with narrow bands. */
extern const struct fx8_bench_array fx8_bench_array_shapes[FX8_N_BENCH_ARRAYS];

/** Complex samples per second that FFTW transforms on one thread, in spectra of
 *  `length` laid out as in the engine: with the engine's plan (as_used), and
 *  with the better of it and the plan that FFTW finds by measuring (best). */
struct fx8_bench_fft;
enum fx8_status fx8_bench_fft_open(size_t length, struct fx8_bench_fft **fft,
                                   struct fx8_error *error);
void fx8_bench_fft_measure(const struct fx8_bench_fft *fft, double *as_used,
                           double *best);
void fx8_bench_fft_close(struct fx8_bench_fft **fft);

#ifdef __cplusplus
}
#endif

#endif
