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
#include "io/text_output.h"

static int run(const struct fx8_command_line *line);

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
    LIST
};

static const struct fx8_option options[] = {
    [SECTION] = {.name = "section",
                 .argument = "ceilings|variants|transforms|arrays|functions|"
                             "jobs|reading",
                 .help = "one section, see below; default: all"},
    [CASE] = {.name = "case",
              .argument = "PATTERN",
              .is_once = true,
              .help = "only cases whose names match, such as \"512 x 32*\""},
    [KERNEL] = {.name = "kernel",
                .argument = "auto|reference|avx2|avx512",
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
        "transforms FFTs as the engine plans them, against the best plan that\n"
        "           FFTW finds by trying.\n"
        "arrays     four arrays from small and wide to large and narrow, in\n"
        "           INT8 and FP32, from samples in memory to averaged\n"
        "           visibilities.  The filter bank's ceiling is its filter at\n"
        "           the multiply-add, then FFTW's best plan.  whole: against\n"
        "           the harmonic limit, 1 / sum(1 / rate), of align,\n"
        "           channelize and correlate as measured; whole of machine:\n"
        "           of their ceilings.\n"
        "functions  those of post-processing, in cache, in every form, and\n"
        "           the vector libraries of this system, against the C\n"
        "           library (ieee); conversions to half precision against a\n"
        "           copy.\n"
        "jobs       the same arrays, one dump each, from a reader that copies\n"
        "           samples to UVH5 and quick-look files in TMPDIR: parts of\n"
        "           the time, and the whole against its harmonic limit.\n"
        "           Reading and writing have threads of their own.\n"
        "reading    recordings of 128 MiB in TMPDIR, packed ones of 32 MiB,\n"
        "           in every storage, through their reader, against read() of\n"
        "           the same file: from the page cache, and from the disk if\n"
        "           the system drops the file; packed ones also on all\n"
        "           threads.\n"
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

/* The command line. */
struct wish {
    const char *const *given;
    struct fx8_bench_wish cases;
    struct fx8_bench_gate gate;
};

static int misuse(const char *option, const char *value, const char *expected)
{
    return fx8_command_misuse(&fx8_command_bench, "%s: %s: expected %s", option,
                              value, expected);
}

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

/* Refuse values and combinations that are wrong or select nothing; -1 to go
 * on. */
static int check_wish(struct wish *wish)
{
    struct fx8_bench_wish *cases = &wish->cases;
    const char *const *given = wish->given;
    const char *gate = given[GATE], *written = given[WRITE_GATE];
    if (!take_count(given[ROUNDS], 1, FX8_BENCH_ROUNDS, &cases->n_rounds))
        return misuse("--rounds", given[ROUNDS], "1 to 99");
    if (!take_count(given[THREADS], 0, 1024, &cases->n_threads))
        return misuse("--threads", given[THREADS], "0 to 1024");
    if (gate != NULL && (cases->section != NULL || cases->pattern != NULL))
        return misuse("--gate", gate, "no --section and no --case with it");
    if (gate != NULL && written != NULL)
        return misuse("--gate", gate, "no --write-gate with it");
    if (fx8_bench_count(cases) == 0)
        return misuse("--case", cases->pattern,
                      "a pattern of names from fx8 bench --list");
    if (written != NULL && written[0] == '\0')
        return misuse("--write-gate", "\"\"", "the name of a file");
    if (written != NULL && given[FORCE] == NULL &&
        faccessat(AT_FDCWD, written, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return misuse("--write-gate", written, "a new name, or --force");
    return -1;
}

/* --- running ----------------------------------------------------- */

/* Test that the gate file can be written before the minutes of measuring. */
static enum fx8_status try_to_write(const struct wish *wish,
                                    struct fx8_error *error)
{
    struct fx8_output *output = NULL;
    const enum fx8_status status = fx8_text_output_open(
        wish->given[WRITE_GATE], wish->given[FORCE] != NULL, &output, error);
    fx8_text_output_abandon(&output);
    return status;
}

static enum fx8_status write_gate(const struct wish *wish,
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
    return fx8_bench_gate_write(wish->given[WRITE_GATE], report->records,
                                report->n_records, text,
                                wish->given[FORCE] != NULL, error);
}

static enum fx8_status measure(struct wish *wish,
                               struct fx8_bench_report *report,
                               struct fx8_error *error)
{
    const bool is_json = wish->given[JSON] != NULL;
    enum fx8_status status = FX8_OK;
    if (!is_json)
        fx8_bench_print_machine(report->command);
    FX8_TRY(fx8_bench_measure(&wish->cases, report, error));
    if (wish->cases.gate != NULL)
        status = fx8_bench_gate_judge(&wish->gate, report->records,
                                      report->n_records, error);
    if (is_json)
        fx8_bench_print_json(report, wish->cases.gate);
    else if (wish->cases.gate != NULL)
        fx8_bench_gate_print(&wish->gate);
    FX8_TRY(status);
    return wish->given[WRITE_GATE] != NULL ? write_gate(wish, report, error)
                                           : FX8_OK;
}

/* The options are valid; check the kernel and the gate, then run. */
static enum fx8_status bench(struct wish *wish, const char *command,
                             struct fx8_error *error)
{
    const struct fx8_operations *operations;
    const char *gate = wish->given[GATE];
    struct fx8_bench_report report = {.is_silent = wish->given[JSON] != NULL,
                                      .command = command};
    FX8_TRY(fx8_operations_select(wish->cases.kernel, &operations, error));
    if (wish->given[LIST] != NULL) {
        fx8_bench_list(&wish->cases);
        return FX8_OK;
    }
    if (gate != NULL) {
        FX8_TRY(fx8_bench_gate_read(gate, &wish->gate, error));
        FX8_TRY(fx8_bench_gate_check(&wish->gate, wish->cases.kernel, error));
        wish->cases.gate = &wish->gate;
    }
    if (wish->given[WRITE_GATE] != NULL)
        FX8_TRY(try_to_write(wish, error));
    const enum fx8_status status = measure(wish, &report, error);
    fx8_bench_report_clear(&report);
    return status;
}

static int run(const struct fx8_command_line *line)
{
    const char *const *given = line->given;
    struct wish wish = {
        .given = given,
        .cases = {.section = given[SECTION],
                  .pattern = given[CASE],
                  .kernel = given[KERNEL] != NULL ? given[KERNEL] : "auto"},
    };
    struct fx8_error error;
    if (line->n_files > 0)
        return fx8_command_misuse(&fx8_command_bench, "%s: expected no files",
                                  line->files[0]);
    const int code = check_wish(&wish);
    if (code >= 0)
        return code;
    const enum fx8_status status = bench(&wish, line->text, &error);
    fx8_bench_gate_clear(&wish.gate);
    return status == FX8_OK ? 0 : fx8_command_error(&error);
}
