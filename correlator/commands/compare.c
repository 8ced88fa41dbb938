/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.c -- `fx8 compare`: what INT8 cost, beside what it must cost; or
 * whether visibilities keep proved bounds.
 */
#include <getopt.h>
#include <stdio.h>

#include "correlator/commands/command.h"
#include "correlator/compare.h"
#include "correlator/compare_rigorous.h"

static int run(int argc, char **argv);

const struct fx8_command fx8_command_compare = {
    .name = "compare",
    .synopsis = "A.uvh5 B.uvh5 | --rigorous X.uvh5 DOWN.uvh5 UP.uvh5",
    .summary = "compare an INT8 with an FP32 correlation of the same voltages",
    .help =
        "  --rigorous              test DOWN <= X <= UP, see below\n"
        "\n"
        "The files may come in either order; keyword PRECISN tells which one\n"
        "is INT8.  Of every pair of different inputs, in every channel and\n"
        "dump, the difference is measured in units of coherence and put\n"
        "beside the loss that the quantiser must cause,\n"
        "\n"
        "  rms |V_int8 - V_fp32| / sqrt(P_i P_j)\n"
        "      = sqrt((e_i + e_j + e_i e_j) / M),  e = 1 / (12 sigma^2)\n"
        "\n"
        "where sigma is the level in LSB per real component (gain x auto) and\n"
        "M the number of valid spectra.  amplitude and phase are those of\n"
        "sum(conj(V_fp32) V_int8) / sum(|V_fp32|^2).  ratio is measured over\n"
        "predicted.\n"
        "\n"
        "Left out, listed and counted: what is flagged in either file, and\n"
        "per input and channel what was clipped in more than 1e-4 of the\n"
        "spectra or lies below 1 LSB, and cells with a coherence above 0.9.\n"
        "\n"
        "Good: the median over channels of the ratio lies within 0.9 to 1.1,\n"
        "widened by five of its standard errors.  Outside: the exit code is\n"
        "3.  None: nothing to judge by, as every cell is left out or the INT8\n"
        "file lacks its levels: 3 as well.  None: two files of one precision\n"
        "are measured, not judged: 0.\n"
        "\n"
        "--rigorous takes the two files of correlate --precision interval,\n"
        "which enclose the exact sum over the same float spectra, and tests\n"
        "every real and imaginary part of X, flagged or not, wherever there\n"
        "are data.  One that is outside, or none to test: the exit code is "
        "3.\n",
    .run = run,
    .stops_at_once = true,
};

static int compare(const char *path_a, const char *path_b)
{
    struct fx8_comparison comparison;
    struct fx8_error error;
    if (fx8_compare_files(path_a, path_b, &comparison, &error) != FX8_OK)
        return fx8_command_error(&error);
    fx8_compare_print(&comparison, false, stdout);
    char reason[FX8_TEXT_SIZE];
    const bool is_inside = fx8_compare_verdict(&comparison, reason);
    if (!is_inside)
        fprintf(stderr, "fx8: error: %s: against %s: %s\n",
                comparison.subject_name, comparison.reference_name, reason);
    fx8_compare_clear(&comparison);
    return is_inside ? 0 : 3;
}

static int compare_rigorously(char *const paths[3])
{
    struct fx8_enclosure enclosure;
    struct fx8_error error;
    if (fx8_enclosure_test((const char *const *)paths, &enclosure, &error) !=
        FX8_OK)
        return fx8_command_error(&error);
    fx8_enclosure_print(&enclosure, stdout);
    char reason[FX8_TEXT_SIZE];
    const bool is_inside = fx8_enclosure_verdict(&enclosure, reason);
    if (!is_inside)
        fprintf(stderr, "fx8: error: %s: %s\n", paths[0], reason);
    fx8_enclosure_clear(&enclosure);
    return is_inside ? 0 : 3;
}

static int run(int argc, char **argv)
{
    bool is_rigorous = false;
    static const struct option options[] = {
        {"rigorous", no_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    for (int option;
         (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (option == 'h')
            return fx8_command_help(&fx8_command_compare);
        if (option != 'r')
            return fx8_command_bad_option(&fx8_command_compare, option, argv);
        is_rigorous = true;
    }
    if (argc - optind != (is_rigorous ? 3 : 2))
        return fx8_command_misuse(&fx8_command_compare, "%d files: expected %s",
                                  argc - optind,
                                  is_rigorous ? "X, DOWN and UP" : "two");
    if (is_rigorous)
        return compare_rigorously(argv + optind);
    return compare(argv[optind], argv[optind + 1]);
}
