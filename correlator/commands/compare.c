/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.c -- `fx8 compare`: the measured error of INT8 against the predicted
 * one; or whether visibilities keep proved bounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/commands/command.h"
#include "correlator/compare/compare.h"
#include "correlator/compare/rigorous.h"
#include "io/output.h"
#include "io/uvh5/uvh5.h"

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error);

enum { JSON, HTML, FORCE, RIGOROUS, QUIET };

static const struct fx8_option options[] = {
    [JSON] = {.name = "json",
              .help = "all figures as JSON, of every channel and baseline"},
    [HTML] = {.name = "html",
              .argument = "PAGE.html",
              .is_once = true,
              .help = "also write a page with figures"},
    [FORCE] = {.name = "force", .help = "replace PAGE.html"},
    [RIGOROUS] = {.name = "rigorous",
                  .help = "test that DOWN <= X <= UP, see below"},
    [QUIET] = FX8_OPTION_QUIET("no progress"),
};

const struct fx8_command fx8_command_compare = {
    .name = "compare",
    .synopsis = "[--json] [--html PAGE.html] A.uvh5 B.uvh5 | --rigorous X.uvh5 "
                "DOWN.uvh5 UP.uvh5",
    .summary = "compare an INT8 with an FP32 correlation of the same voltages",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "The files may come in either order; keyword PRECISN says which one\n"
        "is INT8.  Of every pair of different inputs, in every channel and\n"
        "dump, the difference is measured in units of coherence and put\n"
        "beside the loss that the quantiser must cause,\n"
        "\n"
        "  rms |V_int8 - V_fp32| / sqrt(P_i P_j)\n"
        "      = sqrt((e_i + e_j + e_i e_j) / M),  e = 1 / (12 sigma^2)\n"
        "\n"
        "where sigma is the level in LSB per real component (gain x auto) and\n"
        "M the number of valid spectra; with dither e = 1 / (6 sigma^2).\n"
        "amplitude and phase are those of sum(conj(V_fp32) V_int8) /\n"
        "sum(|V_fp32|^2).  ratio is measured over predicted; sigma, how far\n"
        "the mean square difference is from the predicted one, in its\n"
        "standard deviations.\n"
        "\n"
        "Left out, listed and counted: what is flagged in either file, and\n"
        "per input, channel and dump what was clipped in more than 1e-4 of\n"
        "the spectra of that dump (of the whole run, if the file has no clips\n"
        "by dump) or lies below 1 LSB, and cells with a coherence above 0.9.\n"
        "\n"
        "The prediction is for spectra much finer than a step.  It does not\n"
        "hold for method fft with fewer than 8 channels, whose spectra are\n"
        "nearly whole numbers already, and is 1.4 times too large in channel\n"
        "0 of real samples, which is flagged unless flag_edges = 0.\n"
        "\n"
        "Good: the median over channels of the ratio lies within 0.9 to 1.1,\n"
        "widened by five of its standard errors, and so do all pairs\n"
        "together and the worst channel, baseline, dump, cell and\n"
        "auto-correlation, widened by what chance leaves to the worst of so\n"
        "many (1 in 100,000); cells that chance does not rule, as they are\n"
        "left out or interference drowns what dithers the rounding, differ by\n"
        "no more than rounding and clips can cause; flags and weights are the\n"
        "same.  Outside: the reason says which failed and where, the exit "
        "code\n"
        "is 3.  None: nothing to judge by, as every cell is left out or the\n"
        "INT8 file lacks its levels: 3 as well.  None: two files of one\n"
        "precision, or of other correlators, are measured, not judged: 0.\n"
        "Antennas have their numbers; channels and dumps count from 0.\n"
        "\n"
        "--rigorous takes the two files of correlate --precision interval,\n"
        "which enclose the exact sum over the same float spectra, and tests\n"
        "every real and imaginary part of X, flagged or not, wherever there\n"
        "are data.  One that is outside, or none to test: the exit code is "
        "3.\n",
    .run = run,
    .stops_at_once = true,
};

/* Open the page before the minutes of reading, but after the headers: opening
 * both inputs first protects them from being overwritten. */
static enum fx8_status open_page(const struct fx8_command_line *line,
                                 struct fx8_output **page,
                                 struct fx8_error *error)
{
    for (size_t k = 0; k < 2; k++) {
        FX8_AUTO(fx8_uvh5_file_close) struct fx8_uvh5_file *file = NULL;
        FX8_AUTO(fx8_uvh5_header_clear) struct fx8_uvh5_header header = {0};
        FX8_TRY(fx8_uvh5_open(line->files[k], &file, &header, error));
    }
    return fx8_output_open(line->given[HTML], line->given[FORCE] != NULL, 0,
                           NULL, page, error);
}

static enum fx8_status write_page(const struct fx8_comparison *comparison,
                                  struct fx8_output **page,
                                  struct fx8_error *error)
{
    FX8_AUTO_FREE char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return fx8_no_memory("the page", error);
    const enum fx8_status status =
        fx8_compare_print_html(comparison, stream, error);
    const bool is_whole = fclose(stream) == 0;
    FX8_TRY(status);
    return is_whole ? fx8_output_finish(page, text, size, error)
                    : fx8_no_memory("the page", error);
}

static enum fx8_status compare(const struct fx8_command_line *line,
                               struct fx8_progress_display *progress,
                               struct fx8_error *error)
{
    const bool has_page = line->given[HTML] != NULL;
    char reason[FX8_TEXT_SIZE];
    FX8_AUTO(fx8_output_abandon) struct fx8_output *page = NULL;
    FX8_AUTO(fx8_compare_clear) struct fx8_comparison comparison = {0};
    if (has_page)
        FX8_TRY(open_page(line, &page, error));
    FX8_TRY(fx8_compare_files(line->files[0], line->files[1], progress,
                              &comparison, error));
    fx8_progress_end(progress);
    if (has_page)
        FX8_TRY(write_page(&comparison, &page, error));
    if (line->given[JSON] != NULL)
        fx8_compare_print_json(&comparison, stdout);
    else
        fx8_compare_print(&comparison, false, stdout);
    return fx8_compare_verdict(&comparison, reason)
               ? FX8_OK
               : fx8_fail(error, FX8_COMMAND_OUTSIDE, "%s: against %s: %s",
                          comparison.subject_name, comparison.reference_name,
                          reason);
}

static enum fx8_status compare_rigorously(const struct fx8_command_line *line,
                                          struct fx8_progress_display *progress,
                                          struct fx8_error *error)
{
    char reason[FX8_TEXT_SIZE];
    FX8_AUTO(fx8_enclosure_clear) struct fx8_enclosure enclosure = {0};
    FX8_TRY(fx8_enclosure_test((const char *const *)line->files, progress,
                               &enclosure, error));
    fx8_progress_end(progress);
    fx8_enclosure_print(&enclosure, stdout);
    return fx8_enclosure_verdict(&enclosure, reason)
               ? FX8_OK
               : fx8_fail(error, FX8_COMMAND_OUTSIDE, "%s: %s", line->files[0],
                          reason);
}

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error)
{
    const bool is_rigorous = line->given[RIGOROUS] != NULL;
    const char *page = line->given[HTML];
    if (is_rigorous && (page != NULL || line->given[JSON] != NULL))
        return fx8_command_misuse(line, error,
                                  "--rigorous: with %s: expected none "
                                  "of --json and --html",
                                  page != NULL ? "--html" : "--json");
    const char *ending = page != NULL ? strrchr(page, '.') : ".html";
    if (ending == NULL ||
        (strcasecmp(ending, ".html") != 0 && strcasecmp(ending, ".htm") != 0))
        return fx8_command_misuse(
            line, error, "--html: %s: expected a name that ends in .html",
            page[0] != '\0' ? page : "\"\"");
    if (line->given[FORCE] != NULL && page == NULL)
        return fx8_command_misuse(
            line, error, "--force: without --html, nothing to replace");
    if (line->n_files != (is_rigorous ? 3 : 2))
        return fx8_command_misuse(line, error, "%zu %s: expected %s",
                                  FX8_COUNTED(line->n_files, "file", "files"),
                                  is_rigorous ? "X, DOWN and UP" : "two");
    FX8_AUTO(fx8_progress_end) struct fx8_progress_display progress;
    fx8_progress_start(&progress, "compare", NULL,
                       line->given[QUIET] == NULL ? stderr : NULL);
    return is_rigorous ? compare_rigorously(line, &progress, error)
                       : compare(line, &progress, error);
}
