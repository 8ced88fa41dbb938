/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.c -- `fx8 bench`: what this machine can do at best, and what share of
 * it the stages reach, measured in the same rounds.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "correlator/commands/command.h"
#include "correlator/commands/bench.h"
#include "kernels/cpu/ceilings.h"
#include "kernels/operations.h"

static int run(int argc, char **argv);

const struct fx8_command fx8_command_bench = {
    .name = "bench",
    .synopsis = "[--kernel NAME] [--json]",
    .summary = "measure stages against this machine's own ceilings",
    .help =
        "  --kernel NAME  reference, avx2, avx512; default auto\n"
        "  --json         one JSON object per line instead of the table\n"
        "\n"
        "One thread.  Four arrays from small and wide to large and narrow, in\n"
        "INT8 and FP32, from samples in memory to averaged visibilities.\n"
        "CMAC: complex multiply-accumulate, four real ones; only the\n"
        "N(N+1)/2 useful products are counted.  Ceilings: loops of the one\n"
        "instruction on registers alone, in the same round.  Medians of five\n"
        "rounds.\n",
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

static void print_ceilings(bool json)
{
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
}

static int bench_all(const char *kernel, bool json)
{
    const struct fx8_operations *operations;
    struct fx8_error error;
    if (fx8_operations_select(kernel, &operations, &error) != FX8_OK)
        return fx8_command_error(&error);
    print_ceilings(json);
    if (fx8_bench_arrays(kernel, json, &error) != FX8_OK)
        return fx8_command_error(&error);
    return 0;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"kernel", required_argument, NULL, 'k'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *kernel = "auto";
    bool json = false, help = false;
    opterr = 0;
    for (int option;
         (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (option == 'k')
            kernel = optarg;
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
    return bench_all(kernel, json);
}
