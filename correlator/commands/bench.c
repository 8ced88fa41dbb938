/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.c -- `fx8 bench`: the limits of this machine, and the share of them
 * that the stages reach, measured in the same rounds.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/number.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/commands/command.h"
#include "correlator/fx8.h"
#include "io/output.h"

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error);

enum {
    SECTION,
    CASE,
    KERNEL,
    ROUNDS,
    THREADS,
    JSON,
    GATE,
    WRITE_GATE,
    FORCE,
    LIST,
    QUIET
};

static const struct fx8_option options[] = {
    [SECTION] = {.name = "section",
                 .argument = "ceilings|variants|transforms|banks|arrays|shapes|"
                             "growth|functions|jobs|reading|node",
                 .help = "one section, see below; default: all but shapes and "
                         "growth"},
    [CASE] = {.name = "case",
              .argument = "PATTERN",
              .is_once = true,
              .help = "only cases whose names match, such as \"512 x 32*\""},
    [KERNEL] = {.name = "kernel",
                .argument = "auto|reference|avx2|avxvnni|avx512|neon|dotprod",
                .help = "variant of the operations; default auto: the fastest, "
                        "and in section variants all"},
    [ROUNDS] = {.name = "rounds",
                .argument = "N",
                .help = "rounds of each case, 1 to 99; figures are medians; "
                        "default depends on the section"},
    [THREADS] = {.name = "threads",
                 .argument = "N",
                 .help = "of jobs and of unpacking; default 0: all CPUs; all "
                         "else runs on one thread, where other load of the "
                         "machine changes shares least"},
    [JSON] = {.name = "json", .help = "one JSON document instead of tables"},
    [GATE] = {.name = "gate",
              .argument = "FILE.ini",
              .help = "measure only the cases of a gate file; exit 1 if a "
                      "share is below the least, or none can be measured"},
    [WRITE_GATE] = {.name = "write-gate",
                    .argument = "FILE.ini",
                    .is_once = true,
                    .help = "write a gate file from the results"},
    [FORCE] = {.name = "force", .help = "replace an existing gate file"},
    [LIST] = {.name = "list",
              .help = "list the cases, and their quantities with a share"},
    [QUIET] = FX8_OPTION_QUIET("no progress"),
};

const struct fx8_command fx8_command_bench = {
    .name = "bench",
    .synopsis = "[--section NAME] [--case PATTERN] [--gate FILE.ini] "
                "[--json] [options]",
    .summary = "measure stages against this machine's own ceilings",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "Each figure has a value, the ceiling that the same rounds found for\n"
        "it, the share value / ceiling, and the share in the worst round.\n"
        "CMAC: complex multiply-accumulate, four real ones; only the\n"
        "N(N+1)/2 useful products are counted.\n"
        "\n"
        "ceilings   loops of one instruction on registers alone; a copy, a\n"
        "           triad.\n"
        "variants   every operation alone, in every variant: arithmetic "
        "against\n"
        "           the multiply-add that the variant has for its numbers,\n"
        "           other operations against memcpy() of as many bytes.\n"
        "transforms FFTW as the engine plans it, against the best plan that\n"
        "           FFTW finds by trying.\n"
        "banks      the engine's filter bank alone, 16 inputs, 8 taps, to "
        "INT8,\n"
        "           complex and real samples: against the same on FFTW's best\n"
        "           plan; in nominal float operations (a complex sample: 4 "
        "for\n"
        "           a tap, 5 log2(N) of an FFT of N; a real one: half of it)\n"
        "           against the multiply-add; real against complex samples.\n"
        "arrays     four arrays from small and wide to large and narrow, in\n"
        "           INT8 and FP32, from samples in memory to averaged\n"
        "           visibilities.  The filter bank's ceiling is its filter at\n"
        "           the multiply-add, then FFTW's best plan.  whole: against\n"
        "           the harmonic limit, 1 / sum(1 / rate), of align,\n"
        "           channelize and correlate as measured; whole of machine:\n"
        "           of their ceilings.  tracked: the same whole with delays "
        "of\n"
        "           a moving source on baselines up to 100 km, against the\n"
        "           whole without them; for real samples too.\n"
        "shapes     (only when chosen) arrays of odd numbers of inputs and\n"
        "           channels.  A share is of the rate on the line between the\n"
        "           two shapes named, measured in the same round: time per\n"
        "           sample over inputs, or over the logarithm of channels.\n"
        "growth     (only when chosen) seconds of a whole correlation, memory\n"
        "           to one dump, by antennas, channels and seconds recorded;\n"
        "           the exponent of the power law fitted to them, its "
        "standard\n"
        "           error, and the factor in time for twice as many.\n"
        "functions  those of post-processing, in cache, in every form, and\n"
        "           the vector libraries of this system, against the C\n"
        "           library (ieee); conversions to half precision against a\n"
        "           copy.\n"
        "jobs       the same arrays, one dump each, from a contiguous\n"
        "           recording in TMPDIR that the page cache holds (int8: 2 "
        "GiB,\n"
        "           others 512 MiB, less if room is short) to UVH5 and "
        "quick-look\n"
        "           files there: parts of the time, and the whole against its\n"
        "           harmonic limit.  Reading and writing have threads of "
        "their\n"
        "           own.  cores: the whole against that on one core.\n"
        "reading    recordings of 128 MiB in TMPDIR, packed ones of 32 MiB,\n"
        "           in every storage, through their reader, against read() of\n"
        "           the same file: from the page cache, and from the disk if\n"
        "           the system drops the file; packed ones also on all\n"
        "           threads.\n"
        "node       what fx8 plan needs to know of a node: time per sample of\n"
        "           filter bank and correlator, per cell of a dump, and of\n"
        "           level setting, on one thread and on all, for arrays from\n"
        "           4 x 4096 to 512 x 32 and as recorded (x 1); reading;\n"
        "           writing with every compression.  The same arrays on a\n"
        "           card, if there is one, by its own clock, and copies of\n"
        "           samples to it.\n"
        "\n"
        "A gate file has a section for each case, with lines QUANTITY = "
        "SHARE,\n"
        "or VARIANT QUANTITY = SHARE for one variant:\n"
        "\n"
        "    [512 x 32 int8]\n"
        "    correlate = 0.80\n"
        "    [correlate 64 int8]\n"
        "    avx2 rate = 0.70\n",
    .run = run,
    .stops_at_once = true,
};

/* A whole number from `least` to `most`; NULL leaves *count. */
static bool take_count(const char *text, int64_t least, int64_t most,
                       size_t *count)
{
    int64_t value;
    if (text == NULL)
        return true;
    if (!fx8_number_integer(text, &value) || value < least || value > most)
        return false;
    *count = (size_t)value;
    return true;
}

/* Refuse values and combinations that are wrong or select nothing. */
static enum fx8_status check(const struct fx8_command_line *line,
                             struct fx8_bench_wish *wish,
                             struct fx8_error *error)
{
    const char *const *given = line->given;
    const char *gate = given[GATE], *written = given[WRITE_GATE];
    const bool is_new =
        written == NULL || given[FORCE] != NULL ||
        faccessat(AT_FDCWD, written, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    const struct {
        bool holds;
        const char *option, *value, *expected;
    } rules[] = {
        {take_count(given[ROUNDS], 1, FX8_BENCH_ROUNDS, &wish->n_rounds),
         "--rounds", given[ROUNDS], "1 to 99"},
        {take_count(given[THREADS], 0, 1024, &wish->n_threads), "--threads",
         given[THREADS], "0 to 1024"},
        {gate == NULL || (wish->section == NULL && wish->pattern == NULL),
         "--gate", gate, "no --section and no --case with it"},
        {gate == NULL || written == NULL, "--gate", gate,
         "no --write-gate with it"},
        {fx8_bench_count(wish) > 0, "--case", wish->pattern,
         "a pattern of names from fx8 bench --list"},
        {written == NULL || written[0] != '\0', "--write-gate", "\"\"",
         "the name of a file"},
        {is_new, "--write-gate", written, "a new name, or --force"},
    };
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (!rules[k].holds)
            return fx8_command_misuse(line, error, "%s: %s: expected %s",
                                      rules[k].option, rules[k].value,
                                      rules[k].expected);
    return FX8_OK;
}

/* --- running ----------------------------------------------------- */

/* Test that the gate file can be written before the minutes of measuring. */
static enum fx8_status try_to_write(const struct fx8_command_line *line,
                                    struct fx8_error *error)
{
    FX8_AUTO(fx8_output_abandon) struct fx8_output *output = NULL;
    return fx8_output_open(line->given[WRITE_GATE], line->given[FORCE] != NULL,
                           0, NULL, &output, error);
}

static enum fx8_status write_gate(const struct fx8_command_line *line,
                                  const struct fx8_bench_report *report,
                                  struct fx8_error *error)
{
    struct fx8_bench_machine machine;
    char text[400];
    fx8_bench_machine_ask(&machine);
    snprintf(text, sizeof text, "%s: %s, %s, fx8 %s: %s", machine.date,
             machine.cpu, machine.compiler, fx8_version(), report->command);
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ')
            *at = '?';           /* must stay one line */
    fx8_command_count_signals(); /* brief: no partial file must remain */
    return fx8_bench_gate_write(line->given[WRITE_GATE], report->records,
                                report->n_records, text,
                                line->given[FORCE] != NULL, error);
}

static enum fx8_status measure(const struct fx8_command_line *line,
                               const struct fx8_bench_wish *wish,
                               struct fx8_bench_gate *gate,
                               struct fx8_error *error)
{
    FX8_AUTO(fx8_progress_end) struct fx8_progress_display progress;
    FX8_AUTO(fx8_bench_report_clear)
    struct fx8_bench_report report = {.is_silent = line->given[JSON] != NULL,
                                      .command = line->text,
                                      .progress = &progress};
    enum fx8_status status = FX8_OK;
    if (!report.is_silent)
        fx8_bench_print_machine(report.command);
    fx8_progress_start(&progress, "bench", "case",
                       line->given[QUIET] == NULL ? stderr : NULL);
    FX8_TRY(fx8_bench_measure(wish, &report, error));
    fx8_progress_end(&progress);
    if (wish->gate != NULL)
        status =
            fx8_bench_gate_judge(gate, report.records, report.n_records, error);
    if (report.is_silent)
        fx8_bench_print_json(&report, wish->gate, stdout);
    else if (wish->gate != NULL)
        fx8_bench_gate_print(gate);
    FX8_TRY(status);
    return line->given[WRITE_GATE] != NULL ? write_gate(line, &report, error)
                                           : FX8_OK;
}

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error)
{
    const char *const *given = line->given;
    const struct fx8_operations *operations;
    FX8_AUTO(fx8_bench_gate_clear) struct fx8_bench_gate gate = {0};
    struct fx8_bench_wish wish = {
        .section = given[SECTION],
        .pattern = given[CASE],
        .on_request = given[SECTION] != NULL || given[CASE] != NULL ||
                      given[GATE] != NULL || given[LIST] != NULL,
        .kernel = given[KERNEL] != NULL ? given[KERNEL] : "auto",
    };
    if (line->n_files > 0)
        return fx8_command_misuse(line, error, "%s: expected no files",
                                  line->files[0]);
    FX8_TRY(check(line, &wish, error));
    FX8_TRY(fx8_operations_select(wish.kernel, &operations, error));
    if (given[LIST] != NULL) {
        fx8_bench_list(&wish);
        return FX8_OK;
    }
    if (given[GATE] != NULL) {
        FX8_TRY(fx8_bench_gate_read(given[GATE], &gate, error));
        FX8_TRY(fx8_bench_gate_check(&gate, wish.kernel, error));
        wish.gate = &gate;
    }
    if (given[WRITE_GATE] != NULL)
        FX8_TRY(try_to_write(line, error));
    return measure(line, &wish, &gate, error);
}
