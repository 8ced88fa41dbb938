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
#include <stdio.h>

#include "config/observation.h"
#include "correlator/fx8.h"
#include "correlator/run/pipeline.h"
#include "correlator/run/progress.h"
#include "kernels/operations.h"

/** Room for the name of a case; inih accepts no longer section name. */
#define FX8_BENCH_NAME_SIZE 48

/** Most quantities with a share of one case. */
#define FX8_BENCH_QUANTITIES 12

/** Most rounds of a case. */
#define FX8_BENCH_ROUNDS 99

struct fx8_json;

/** A case of a section. */
struct fx8_bench_case {
    const struct fx8_bench_section *section;
    size_t index;
    char name[FX8_BENCH_NAME_SIZE];
};

/** A case about to be measured. */
struct fx8_bench_run {
    const struct fx8_bench_case *which;
    const struct fx8_operations *operations; /**< variant to measure */
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
    size_t n_rounds;       /**< by default */
    bool is_every_variant; /**< measured in all variants unless one is given */
    bool has_variants;     /**< figures name their variant */
    bool is_on_request;    /**< only if the command line chooses it */
    bool is_best;          /**< of its best rounds; else medians of all */
    /** The quantities of every case that have a share, then NULL. */
    const char *quantities[FX8_BENCH_QUANTITIES + 1];
    /** List those of one case instead, as above; NULL: all cases are alike. */
    void (*list)(size_t index, const char *quantities[]);
    /** Name of a case. */
    void (*name_case)(size_t index, char name[FX8_BENCH_NAME_SIZE]);
    /** Measure a case and report its figures. */
    enum fx8_status (*measure)(const struct fx8_bench_run *run,
                               struct fx8_error *error);
};

extern const struct fx8_bench_section fx8_bench_arrays;
extern const struct fx8_bench_section fx8_bench_banks;
extern const struct fx8_bench_section fx8_bench_functions;
extern const struct fx8_bench_section fx8_bench_growth;
extern const struct fx8_bench_section fx8_bench_jobs;
extern const struct fx8_bench_section fx8_bench_node;
extern const struct fx8_bench_section fx8_bench_reading;
extern const struct fx8_bench_section fx8_bench_shapes;
extern const struct fx8_bench_section fx8_bench_transforms;
extern const struct fx8_bench_section fx8_bench_variants;

/* --- choice of cases: measure.c ------------------------------------------ */

struct fx8_bench_gate;

/** What to measure, from the command line. */
struct fx8_bench_wish {
    const char *kernel;  /**< "auto" or a variant */
    const char *section; /**< NULL: all */
    bool on_request;     /**< those measured only on request, too */
    const char *pattern; /**< file-name pattern for case names; NULL: all */
    const struct fx8_bench_gate *gate; /**< only its cases; NULL: all */
    size_t n_threads;                  /**< 0: all CPUs */
    size_t n_rounds;                   /**< 0: the section's default */
};

/** Number of requested cases. */
size_t fx8_bench_count(const struct fx8_bench_wish *wish);

/** Print a line per requested case on stdout: section, case, quantities. */
void fx8_bench_list(const struct fx8_bench_wish *wish);

/** List the quantities of a case that have a share; returns how many. */
size_t fx8_bench_quantities(const struct fx8_bench_case *which,
                            const char *quantities[FX8_BENCH_QUANTITIES + 1]);

/** Find a case by its name.  False: not found; *found is then the case with the
 *  nearest name, or has the section NULL if no name is near. */
bool fx8_bench_find(const char *name, struct fx8_bench_case *found);

/** Measure the requested cases and report the figures. */
enum fx8_status fx8_bench_measure(const struct fx8_bench_wish *wish,
                                  struct fx8_bench_report *report,
                                  struct fx8_error *error);

/* --- lines through measured times: shapes.c, growth.c -------------------- */

/** Time per sample at `size` on the straight line through two others, `times`
 * at `sizes`: straight in the size or, if is_log, in its logarithm. */
double fx8_bench_between(const double sizes[2], const double times[2],
                         double size, bool is_log);

/** A power law, seconds = c size^exponent. */
struct fx8_bench_power {
    double exponent, standard_error;
};

/** Fit one to n >= 3 times by least squares in the logarithms. */
struct fx8_bench_power fx8_bench_fit(const double *sizes, const double *seconds,
                                     size_t n);

/* --- figures: report.c --------------------------------------------------- */

/** A figure with its case. */
struct fx8_bench_record {
    struct fx8_bench_case which;
    size_t n_rounds;
    struct fx8_bench_figure figure;
};

/** A remark with its case. */
struct fx8_bench_text {
    struct fx8_bench_case which;
    char text[160];
};

/** The figures of one call of `fx8 bench`: collected, and printed as tables
 *  while they come in, or at the end as one JSON document.  Zero it, then set
 *  is_silent, command, progress and n_threads; fx8_bench_report_clear() frees.
 */
struct fx8_bench_report {
    bool is_silent; /**< collect only: JSON is printed at the end */
    const char *command;
    struct fx8_progress_display *progress; /**< of the cases */
    size_t n_threads; /**< of measurements on several threads */
    struct fx8_bench_record *records;
    size_t n_records;
    struct fx8_bench_text *texts;
    size_t n_texts;
};

/**
 * fx8_bench_put -- add a figure to the report and print it in the table.
 *
 * Given:  figure    without value, ceiling and lowest
 *         values    [n_rounds] of the quantity
 *         ceilings  [n_rounds]; NULL without a ruler
 * Notes:  value (unless the section is_best) and ceiling are medians, lowest is
 * the lowest quotient Status: FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_bench_put(const struct fx8_bench_run *run,
                              struct fx8_bench_figure figure,
                              const double *values, const double *ceilings,
                              struct fx8_error *error);

/** The same for a whole whose ceiling is the harmonic limit of its stages: of
 *  the medians of their rates [n_stages], and for `lowest` of each round. */
enum fx8_status fx8_bench_put_whole(const struct fx8_bench_run *run,
                                    struct fx8_bench_figure figure,
                                    const double *values,
                                    const double (*rates)[FX8_BENCH_ROUNDS],
                                    size_t n_stages, struct fx8_error *error);

/** Add a remark on a case, such as why it is left out; copied. */
enum fx8_status fx8_bench_remark(const struct fx8_bench_run *run,
                                 const char *text, struct fx8_error *error);

/** value / ceiling, NaN without a ruler. */
double fx8_bench_share(const struct fx8_bench_figure *figure);

/** 1 / (1 / rates[0] + ...): the rate of stages that share a core. */
double fx8_bench_harmonic(const double *rates, size_t n);

/** Describe this machine, in one or two lines before the tables. */
void fx8_bench_print_machine(const char *command);

/** Print the heading of a section's table. */
void fx8_bench_print_heading(const struct fx8_bench_section *section);

/** "105.2 of 130.1 GCMAC/s" with the unit's prefix only once; `text` is
 *  truncated. */
void fx8_bench_print_rates(const struct fx8_bench_figure *figure, char *text,
                           size_t size);

/** Print the JSON document; verdicts of `gate`, NULL: none. */
void fx8_bench_print_json(const struct fx8_bench_report *report,
                          const struct fx8_bench_gate *gate, FILE *stream);

void fx8_bench_report_clear(struct fx8_bench_report *report);

/* --- least shares: gate.c ------------------------------------------------
 *
 * From an INI file:
 *
 *     [512 x 32 int8]          ; a case
 *     correlate = 0.80         ; its quantity, the least share
 *     whole = 0.85
 *     [correlate 64 int8]
 *     avx2 rate = 0.70         ; of one variant; else of all measured
 */

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
 * fx8_bench_gate_check -- whether every variant that the file names, and that
 * this machine has, will be measured.
 *
 * Given:  kernel  "auto" or a variant, as on the command line
 * Status: FX8_ERR_USAGE "FILE:LINE: ...": the section or the requested kernel
 *         leaves out a variant
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
 * Status: as fx8_output_open() and _finish(); FX8_ERR_USAGE if no record
 *         has a share
 */
enum fx8_status fx8_bench_gate_write(const char *path,
                                     const struct fx8_bench_record *records,
                                     size_t n, const char *machine, bool force,
                                     struct fx8_error *error);

void fx8_bench_gate_clear(struct fx8_bench_gate *gate);

/* --- this machine: machine.c --------------------------------------------- */

/** Description of the machine, as far as the system reports it.  Texts are ""
 *  and numbers NaN if unknown. */
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

/** Seconds that one of the n calls of work(context, n) takes: the best of
 *  `n_parts` parts of at least `part_s`, since other load only makes parts
 *  slower. */
double fx8_bench_time(void (*work)(void *context, size_t n), void *context,
                      double part_s, size_t n_parts);

/* --- arrays: arrays.c ---------------------------------------------------- */

/** An array: complex samples of two polarisations. */
struct fx8_bench_array {
    size_t n_inputs, n_channels;
    bool is_time_major; /**< recorded as [time][input], else [input][time] */
};

#define FX8_N_BENCH_ARRAYS 4

/** From small arrays with wide bands to large ones with narrow bands. */
extern const struct fx8_bench_array fx8_bench_array_shapes[FX8_N_BENCH_ARRAYS];

/* --- whole runs: runs.c -------------------------------------------------- */

/** A kind of run: from a recording in TMPDIR to files there. */
struct fx8_bench_job {
    const char *precision;   /**< "int8" or "fp32" */
    const char *compression; /**< word of [output] compression; NULL: none */
    const char *quicklook;   /**< mode of math, or NULL: no quick-look */
    int64_t n_spectra;       /**< of a dump; 0: one dump of all */
    int64_t n_dumps;         /**< 0: the whole recording */
    size_t n_threads;
    bool is_on_one_core; /**< reading and writing share it */
    bool is_on_card;     /**< backend cuda, with its fastest kernel */
};

/** What a run has come to. */
struct fx8_bench_outcome {
    struct fx8_run_report report; /**< without the inputs that are dead */
    double result_bytes;
};

/** Jobs on one recording, in rounds, by turns. */
struct fx8_bench_runs {
    const struct fx8_bench_run *run;
    const struct fx8_bench_array *array; /**< of 1 channel: as recorded */
    int64_t n_samples; /**< over all inputs; set to fewer if room is short,
                            unless is_divided */
    bool is_divided;   /**< all jobs have n_dumps; a few spectra more are
                            recorded */
    bool is_repeated;  /**< no turns: all rounds of a job, then the next job, so
                            that each finds the memory that it has freed */
    const struct fx8_bench_job *jobs;
    size_t n_jobs;
    /** Takes the outcome of a job. */
    void (*keep)(void *context, size_t job, size_t round,
                 const struct fx8_bench_outcome *outcome);
    void *context;
};

/** Write the recording and run the jobs.  Status as of a job; FX8_ERR_USAGE
 *  without the plug-in of a compression. */
enum fx8_status fx8_bench_measure_runs(struct fx8_bench_runs *runs,
                                       struct fx8_error *error);

/* --- writing: jobs.c ----------------------------------------------------- */

/** Report the figures of writing: a job of one dump of 256 inputs x 64
 *  channels, whose result is written when all is computed.  `compression` is a
 *  word of [output] compression.  Status as of a job: FX8_ERR_USAGE without
 *  its plug-in. */
enum fx8_status fx8_bench_measure_writing(const struct fx8_bench_run *run,
                                          const char *compression,
                                          struct fx8_error *error);

/* --- a card: card.c ------------------------------------------------------ */

/** Report what a card takes for an array: filter bank, correlator and results
 *  by its own clock, the copy of samples to it, the start of a run. `precision`
 *  is "int8" or "fp32".  Without a card that works, a remark says why. */
enum fx8_status fx8_bench_measure_card(const struct fx8_bench_run *run,
                                       const struct fx8_bench_array *array,
                                       const char *precision,
                                       struct fx8_error *error);

/* --- samples: memory.c; recordings: reading.c ---------------------------- */

/** Random samples, -30 .. 30. */
void fx8_bench_fill(int8_t *samples, size_t size);

/** Metadata of a recording of such an array: complex, upper sideband, 1 MHz.
 *  Owns no memory. */
struct fx8_observation fx8_bench_observation(size_t n_inputs,
                                             int64_t n_samples);

struct fx8_native_storage;

/** Write a recording of random samples, the same in every 32 MiB.
 *  FX8_ERR_UNSUPPORTED as fx8_native_create_stored(). */
enum fx8_status fx8_bench_record(const char *path,
                                 const struct fx8_observation *observation,
                                 const char *axis_order,
                                 const struct fx8_native_storage *storage,
                                 struct fx8_error *error);

/* --- transforms: transforms.c -------------------------------------------- */

/** Complex samples per second that FFTW transforms on one thread, in spectra of
 *  `length` laid out as in the engine: with the engine's plan (as_used), and
 *  with the better of it and the plan that FFTW finds by measuring (best). */
struct fx8_bench_fft;
enum fx8_status fx8_bench_fft_open(size_t length, struct fx8_bench_fft **fft,
                                   struct fx8_error *error);
void fx8_bench_fft_measure(const struct fx8_bench_fft *fft, double *as_used,
                           double *best);
void fx8_bench_fft_close(struct fx8_bench_fft **fft);

#endif
