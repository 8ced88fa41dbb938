/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.c -- `fx8 bench`: what this machine can do at best, and what share of
 * it the stages reach, measured in the same rounds.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correlator/commands/command.h"
#include "correlator/commands/bench/bench.h"
#include "kernels/cpu/ceilings.h"
#include "kernels/operations.h"

static int run(int argc, char **argv);

const struct fx8_command fx8_command_bench = {
    .name = "bench",
    .synopsis = "[--kernel NAME] [--section NAME] [--json]",
    .summary = "measure stages against this machine's own ceilings",
    .help =
        "  --kernel NAME  reference, avx2, avx512; default auto\n"
        "  --section NAME one of those below; default all\n"
        "  --json         one JSON object per line instead of tables\n"
        "\n"
        "One thread.\n"
        "ceilings   loops of one instruction on registers alone; a copy.\n"
        "arrays     four arrays from small and wide to large and narrow, in\n"
        "           INT8 and FP32, from samples in memory to averaged\n"
        "           visibilities.  CMAC: complex multiply-accumulate, four\n"
        "           real ones; only the N(N+1)/2 useful products are counted.\n"
        "           Ceilings in the same round; medians of five rounds.\n"
        "functions  those of post-processing, in cache, in every form: ieee\n"
        "           is the C library or the hardware's correctly rounded\n"
        "           operation; beside them the vector libraries found.\n"
        "jobs       the same arrays, one dump each, from a reader that copies\n"
        "           samples to UVH5 and quick-look files in TMPDIR: shares of\n"
        "           post-processing and writing (a thread of its own).\n"
        "reading    recordings of 128 MiB in TMPDIR, in every storage, "
        "through\n"
        "           their reader, against read() of the same file: from the\n"
        "           page cache, and from the disk where the system lets go of\n"
        "           the file; packed ones also on all CPUs.  The turn of\n"
        "           time-major samples into rows against memcpy().  Best of\n"
        "           nine passes, packed ones of three.\n",
    .run = run,
    .stops_at_once = true,
};

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double fx8_bench_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return n % 2 == 1 ? values[n / 2]
                      : (values[n / 2 - 1] + values[n / 2]) / 2.0;
}

void fx8_bench_fill(int8_t *samples, size_t size)
{
    uint64_t state = 0x9e3779b97f4a7c15u; /* xorshift64: speed, not quality */
    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        samples[i] = (int8_t)((int)(state >> 56) % 61 - 30);
    }
}

/* --- sections ---------------------------------------------------- */

static enum fx8_status print_ceilings(const char *kernel, bool json,
                                      struct fx8_error *error)
{
    (void)kernel, (void)error;
    for (enum fx8_ceiling c = 0; c < FX8_N_CEILINGS; c++) {
        const struct fx8_ceiling_description *d = fx8_ceiling_describe(c);
        const double rate = fx8_ceiling_measure(c);
        if (json)
            printf("{\"ceiling\":\"%s\",\"rate\":%.6g,\"unit\":\"%s\"}\n",
                   d->name, rate, d->unit);
        else
            printf("ceiling    %-16s %9.2f G %s\n", d->name, rate * 1e-9,
                   d->unit);
    }
    return FX8_OK;
}

static const struct {
    const char *name;
    enum fx8_status (*measure)(const char *kernel, bool json,
                               struct fx8_error *error);
} sections[] = {
    {"ceilings", print_ceilings},       {"arrays", fx8_bench_arrays},
    {"functions", fx8_bench_functions}, {"jobs", fx8_bench_jobs},
    {"reading", fx8_bench_reading},
};

#define N_SECTIONS (sizeof sections / sizeof sections[0])

static bool is_section(const char *name)
{
    for (size_t k = 0; k < N_SECTIONS; k++)
        if (strcmp(sections[k].name, name) == 0)
            return true;
    return false;
}

/* The section asked for; NULL: all. */
static int bench(const char *kernel, const char *section, bool json)
{
    const struct fx8_operations *operations;
    struct fx8_error error;
    if (fx8_operations_select(kernel, &operations, &error) != FX8_OK)
        return fx8_command_error(&error);
    for (size_t k = 0, n_printed = 0; k < N_SECTIONS; k++) {
        if (section != NULL && strcmp(section, sections[k].name) != 0)
            continue;
        if (n_printed++ > 0 && !json)
            printf("\n");
        if (sections[k].measure(kernel, json, &error) != FX8_OK)
            return fx8_command_error(&error);
    }
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"kernel", required_argument, NULL, 'k'},
        {"section", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *kernel = "auto", *section = NULL;
    bool json = false, help = false;
    opterr = 0;
    for (int option;
         (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (option == 'k')
            kernel = optarg;
        else if (option == 's')
            section = optarg;
        else if (option == 'j')
            json = true;
        else if (option == 'h')
            help = true;
        else
            return fx8_command_bad_option(&fx8_command_bench, option, argv);
    }
    if (help)
        return fx8_command_help(&fx8_command_bench);
    if (optind < argc)
        return fx8_command_misuse(&fx8_command_bench, "%s: expected no files",
                                  argv[optind]);
    if (section != NULL && !is_section(section))
        return fx8_command_misuse(&fx8_command_bench,
                                  "--section: %s: expected ceilings, arrays, "
                                  "functions, jobs or reading",
                                  section);
    return bench(kernel, section, json);
}
