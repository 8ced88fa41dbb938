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
#include "correlator/bench/gate.h"
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
                 .help = "one of those below; default: each of them"},
    [CASE] = {.name = "case",
              .argument = "PATTERN",
              .is_once = true,
              .help = "only cases of such names, \"512 x 32*\""},
    [KERNEL] = {.name = "kernel",
                .argument = "auto|reference|avx2|avx512",
                .help = "level of the operations; default auto, the fastest, "
                        "and in section variants all of them"},
    [ROUNDS] = {.name = "rounds",
                .argument = "N",
                .help = "rounds of each case, 1 to 99; figures are their "
                        "medians; default as suits the section"},
    [THREADS] = {.name = "threads",
                 .argument = "N",
                 .help = "of jobs and of unpacking; default 0, all CPUs; all "
                         "else is one thread, whose shares another load of "
                         "the machine changes least"},
    [JSON] = {.name = "json", .help = "one JSON document instead of tables"},
    [GATE] = {.name = "gate",
              .argument = "FILE.ini",
              .help = "shares not to fall below: measure its cases alone, "
                      "exit 1 where one does, or none can be measured"},
    [WRITE_GATE] = {.name = "write-gate",
                    .argument = "FILE.ini",
                    .is_once = true,
                    .help = "write such a file from what is measured"},
    [FORCE] = {.name = "force", .help = "replace it"},
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
        "A figure has a value, the ceiling that the same rounds found for it,\n"
        "the share value / ceiling, and the share in the worst round.  CMAC:\n"
        "complex multiply-accumulate, four real ones; only the N(N+1)/2 "
        "useful\n"
        "products are counted.\n"
        "\n"
        "ceilings   loops of one instruction on registers alone; a copy, a\n"
        "           triad.\n"
        "variants   every operation by itself, at every level.  Arithmetic is\n"
        "           held against the multiply-add that the level has for its\n"
        "           numbers, what moves data against memcpy() of as much.\n"
        "transforms FFTs as the engine plans them, against the best plan that\n"
        "           FFTW finds by trying.\n"
        "arrays     four arrays from small and wide to large and narrow, in\n"
        "           INT8 and FP32, from samples in memory to averaged\n"
        "           visibilities.  The filter bank's ceiling is its filter at\n"
        "           the multiply-add, then FFTW's best plan.  The whole is\n"
        "           held against the harmonic limit, 1 / sum(1 / rate), of\n"
        "           align, channelize and correlate as they are; whole of\n"
        "           machine: of their ceilings.\n"
        "functions  those of post-processing, in cache, in every form, the\n"
        "           vector libraries found beside them: against the C library\n"
        "           (ieee).  Conversions to half precision against a copy.\n"
        "jobs       the same arrays, one dump each, from a reader that copies\n"
        "           samples to UVH5 and quick-look files in TMPDIR: the parts\n"
        "           of the time, and the whole against the harmonic limit as\n"
        "           above.  Reading and writing have threads of their own.\n"
        "reading    recordings of 128 MiB in TMPDIR, packed ones of 32 MiB, "
        "in\n"
        "           every storage, through their reader, against read() of "
        "the\n"
        "           same file: from the page cache, and from the disk where\n"
        "           the system lets go of the file; packed ones also on all\n"
        "           threads.\n"
        "\n"
        "A gate file has cases for sections and lines QUANTITY = SHARE, for "
        "one\n"
        "level LEVEL QUANTITY = SHARE:\n"
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
    struct fx8_bench_wish cases;
    const char *gate_path, *write_path;
    bool json, force, list;
    struct fx8_bench_gate gate;
};

static int misuse(const char *option, const char *value, const char *expected)
{
    return fx8_command_misuse(&fx8_command_bench, "%s: %s: expected %s", option,
                              value, expected);
}

/* A whole number from `least` to `most`. */
static bool take_count(const char *text, int64_t least, int64_t most,
                       size_t *count)
{
    int64_t value;
    if (!fx8_number_integer(text, &value) || value < least || value > most)
        return false;
    *count = (size_t)value;
    return true;
}

/* Read the options; -1 to go on, or an exit code. */
static int take_options(const struct fx8_command_line *line, struct wish *wish)
{
    const char *const *given = line->given;
    const char *rounds = given[ROUNDS], *threads = given[THREADS];
    wish->cases.section = given[SECTION];
    wish->cases.pattern = given[CASE];
    wish->cases.kernel = given[KERNEL] != NULL ? given[KERNEL] : "auto";
    wish->gate_path = given[GATE];
    wish->write_path = given[WRITE_GATE];
    wish->json = given[JSON] != NULL;
    wish->force = given[FORCE] != NULL;
    wish->list = given[LIST] != NULL;
    if (rounds != NULL &&
        !take_count(rounds, 1, FX8_BENCH_ROUNDS, &wish->cases.n_rounds))
        return misuse("--rounds", rounds, "1 to 99");
    if (threads != NULL &&
        !take_count(threads, 0, 1024, &wish->cases.n_threads))
        return misuse("--threads", threads, "0 to 1024");
    return -1;
}

/* Refuse combinations that contradict or select nothing; -1 to go on. */
static int check_wish(const struct wish *wish)
{
    const struct fx8_bench_wish *cases = &wish->cases;
    if (wish->gate_path != NULL &&
        (cases->section != NULL || cases->pattern != NULL))
        return misuse("--gate", wish->gate_path,
                      "neither --section nor --case beside it");
    if (wish->gate_path != NULL && wish->write_path != NULL)
        return misuse("--gate", wish->gate_path, "no --write-gate beside it");
    if (fx8_bench_count(cases) == 0)
        return misuse("--case", cases->pattern,
                      "a pattern of names from fx8 bench --list");
    if (wish->write_path != NULL && wish->write_path[0] == '\0')
        return misuse("--write-gate", "\"\"", "the name of a file");
    if (wish->write_path != NULL && !wish->force &&
        faccessat(AT_FDCWD, wish->write_path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return misuse("--write-gate", wish->write_path,
                      "a name that is free, or --force");
    return -1;
}

/* --- running ----------------------------------------------------- */

/* Test that the gate file can be written before the minutes of measuring. */
static enum fx8_status try_to_write(const struct wish *wish,
                                    struct fx8_error *error)
{
    struct fx8_output *output = NULL;
    const enum fx8_status status =
        fx8_text_output_open(wish->write_path, wish->force, &output, error);
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
    return fx8_bench_gate_write(wish->write_path, report->records,
                                report->n_records, text, wish->force, error);
}

static int bench(struct wish *wish, const char *command)
{
    struct fx8_error error;
    struct fx8_bench_report report = {.is_silent = wish->json,
                                      .command = command};
    if (!wish->json)
        fx8_bench_print_machine(command);
    enum fx8_status status = fx8_bench_measure(&wish->cases, &report, &error);
    const bool is_measured = status == FX8_OK;
    if (is_measured && wish->gate_path != NULL)
        status = fx8_bench_gate_judge(&wish->gate, report.records,
                                      report.n_records, &error);
    if (is_measured && wish->json)
        fx8_bench_print_json(&report, wish->cases.gate);
    else if (is_measured && wish->gate_path != NULL)
        fx8_bench_gate_print(&wish->gate);
    if (status == FX8_OK && wish->write_path != NULL)
        status = write_gate(wish, &report, &error);
    fx8_bench_report_clear(&report);
    return status == FX8_OK ? 0 : fx8_command_error(&error);
}

/* The options are valid; check the kernel and the gate, then run. */
static int start(struct wish *wish, const char *command)
{
    struct fx8_error error;
    const struct fx8_operations *operations;
    if (fx8_operations_select(wish->cases.kernel, &operations, &error) !=
        FX8_OK)
        return fx8_command_error(&error);
    if (wish->list) {
        fx8_bench_list(&wish->cases);
        return 0;
    }
    if (wish->gate_path != NULL) {
        if (fx8_bench_gate_read(wish->gate_path, &wish->gate, &error) != FX8_OK)
            return fx8_command_error(&error);
        if (fx8_bench_gate_check(&wish->gate, wish->cases.kernel, &error) !=
            FX8_OK)
            return fx8_command_error(&error);
        wish->cases.gate = &wish->gate;
    }
    if (wish->write_path != NULL && try_to_write(wish, &error) != FX8_OK)
        return fx8_command_error(&error);
    return bench(wish, command);
}

static int run(const struct fx8_command_line *line)
{
    struct wish wish = {.json = false};
    if (line->n_files > 0)
        return fx8_command_misuse(&fx8_command_bench, "%s: expected no files",
                                  line->files[0]);
    int code = take_options(line, &wish);
    if (code < 0)
        code = check_wish(&wish);
    if (code < 0)
        code = start(&wish, line->text);
    fx8_bench_gate_clear(&wish.gate);
    return code;
}
