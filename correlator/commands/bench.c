/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.c -- `fx8 bench`: what this machine can do at best, and what share of
 * it the stages reach, measured in the same rounds.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/number.h"
#include "correlator/commands/bench/machine.h"
#include "correlator/commands/bench/measure.h"
#include "correlator/commands/command.h"
#include "correlator/fx8.h"
#include "io/text_output.h"

static int run(int argc, char **argv);

const struct fx8_command fx8_command_bench = {
    .name = "bench",
    .synopsis = "[--section NAME] [--case PATTERN] [--gate FILE.ini] "
                "[--json] [options]",
    .summary = "measure stages against this machine's own ceilings",
    .help =
        "  --section "
        "ceilings|variants|transforms|arrays|functions|jobs|reading\n"
        "                 one of those below; default all\n"
        "  --case PATTERN only cases of such names, \"512 x 32*\"\n"
        "  --kernel auto|reference|avx2|avx512\n"
        "                 level of the operations; default auto, the fastest,\n"
        "                 and in section variants all of them\n"
        "  --rounds N     rounds of each case, 1 to 99; figures are their\n"
        "                 medians; default as suits the section\n"
        "  --threads N    of jobs and of unpacking; default 0, all CPUs; all\n"
        "                 else is one thread, whose shares another load of\n"
        "                 the machine changes least\n"
        "  --json         one JSON document instead of tables\n"
        "  --gate FILE.ini\n"
        "                 shares not to fall below: measure its cases alone,\n"
        "                 exit 1 where one does, or none can be measured\n"
        "  --write-gate FILE.ini\n"
        "                 write such a file from what is measured\n"
        "  --force        replace it\n"
        "  --list         tell the cases, and their quantities with a share\n"
        "\n"
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
        "reading    recordings of 128 MiB in TMPDIR, in every storage, "
        "through\n"
        "           their reader, against read() of the same file: from the\n"
        "           page cache, and from the disk where the system lets go of\n"
        "           the file; packed ones also on all threads.\n"
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
    bool json, force, list, help;
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

enum { SECTION = 1, CASE, KERNEL, ROUNDS, THREADS, GATE, WRITE_GATE };

/* Returns an exit code, or -1 to go on. */
static int take_option(int option, char **argv, struct wish *wish)
{
    switch (option) {
    case SECTION:
        wish->cases.section = optarg;
        return fx8_bench_has_section(optarg)
                   ? -1
                   : misuse("--section", optarg,
                            "ceilings, variants, transforms, arrays, "
                            "functions, jobs or reading");
    case CASE:
        if (wish->cases.pattern != NULL)
            return misuse("--case", optarg, "it once");
        wish->cases.pattern = optarg;
        return -1;
    case KERNEL:
        wish->cases.kernel = optarg;
        return -1;
    case ROUNDS:
        return take_count(optarg, 1, FX8_BENCH_ROUNDS, &wish->cases.n_rounds)
                   ? -1
                   : misuse("--rounds", optarg, "1 to 99");
    case THREADS:
        return take_count(optarg, 0, 1024, &wish->cases.n_threads)
                   ? -1
                   : misuse("--threads", optarg, "0 to 1024");
    case GATE:
        wish->gate_path = optarg;
        return -1;
    case WRITE_GATE:
        wish->write_path = optarg;
        return -1;
    case 0:
        return -1; /* a flag */
    default:
        return fx8_command_bad_option(&fx8_command_bench, option, argv);
    }
}

/* What does not go together, or asks for nothing; -1 to go on. */
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
                      "a pattern of names that fx8 bench --list tells");
    if (wish->write_path != NULL && wish->write_path[0] == '\0')
        return misuse("--write-gate", "\"\"", "the name of a file");
    if (wish->write_path != NULL && !wish->force &&
        faccessat(AT_FDCWD, wish->write_path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return misuse("--write-gate", wish->write_path,
                      "a name that is free, or --force");
    return -1;
}

/* --- running ----------------------------------------------------- */

/* Whether a gate can be written is known before the minutes of measuring. */
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
            *at = '?';           /* one line it stays */
    fx8_command_count_signals(); /* a moment: nothing half-written stays */
    return fx8_bench_gate_write(wish->write_path, report->records,
                                report->n_records, text, wish->force, error);
}

static int bench(struct wish *wish, const char *command)
{
    struct fx8_error error;
    struct fx8_bench_report report = {.is_silent = wish->json,
                                      .command = command};
    bool is_kept = true;
    if (!wish->json)
        fx8_bench_print_machine(command);
    enum fx8_status status = fx8_bench_measure(&wish->cases, &report, &error);
    if (status == FX8_OK && wish->gate_path != NULL)
        is_kept =
            fx8_bench_gate_judge(&wish->gate, report.records, report.n_records);
    if (status == FX8_OK && wish->json)
        fx8_bench_print_json(&report, wish->cases.gate);
    else if (status == FX8_OK && wish->gate_path != NULL)
        fx8_bench_gate_print(&wish->gate);
    if (status == FX8_OK && wish->write_path != NULL)
        status = write_gate(wish, &report, &error);
    fx8_bench_report_clear(&report);
    if (status != FX8_OK)
        return fx8_command_error(&error);
    return is_kept ? 0 : 1;
}

/* Options are right; the kernel and the gate are still to be looked at. */
static int start(struct wish *wish, int argc, char **argv)
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
    char *command = fx8_command_join("fx8 bench", argv + 1, (size_t)argc - 1);
    const int code = bench(wish, command != NULL ? command : "fx8 bench");
    free(command);
    return code;
}

static int run(int argc, char **argv)
{
    struct wish wish = {.cases = {.kernel = "auto"}};
    int json = 0, force = 0, list = 0, help = 0, code = -1;
    const struct option options[] = {
        {"section", required_argument, NULL, SECTION},
        {"case", required_argument, NULL, CASE},
        {"kernel", required_argument, NULL, KERNEL},
        {"rounds", required_argument, NULL, ROUNDS},
        {"threads", required_argument, NULL, THREADS},
        {"json", no_argument, &json, 1},
        {"gate", required_argument, NULL, GATE},
        {"write-gate", required_argument, NULL, WRITE_GATE},
        {"force", no_argument, &force, 1},
        {"list", no_argument, &list, 1},
        {"help", no_argument, &help, 1},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    for (int option; code < 0 && (option = getopt_long(argc, argv, ":h",
                                                       options, NULL)) != -1;)
        code =
            option == 'h' ? (help = 1, -1) : take_option(option, argv, &wish);
    if (code >= 0)
        return code;
    if (help)
        return fx8_command_help(&fx8_command_bench);
    if (optind < argc)
        return fx8_command_misuse(&fx8_command_bench, "%s: expected no files",
                                  argv[optind]);
    wish.json = json;
    wish.force = force;
    wish.list = list;
    code = check_wish(&wish);
    if (code < 0)
        code = start(&wish, argc, argv);
    fx8_bench_gate_clear(&wish.gate);
    return code;
}
