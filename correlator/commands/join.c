/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join.c -- `fx8 join`: results of one observation, joined by time or
 * frequency.
 */
#include <stdio.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/try.h"
#include "correlator/commands/command.h"
#include "correlator/run/progress.h"
#include "io/uvh5/uvh5.h"

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error);

enum { OUTPUT, COMPRESSION, FORCE, QUIET };

static const struct fx8_option options[] = {
    [OUTPUT] = {.name = "output",
                .letter = 'o',
                .argument = "ALL.uvh5",
                .is_once = true,
                .help = "the result"},
    [COMPRESSION] = {.name = "compression",
                     .argument = "none|gzip|bitshuffle",
                     .help = "how ALL.uvh5 is packed; default: as the first of "
                             "the files in time or frequency"},
    [FORCE] = {.name = "force", .help = "replace ALL.uvh5"},
    [QUIET] = FX8_OPTION_QUIET("no progress"),
};

const struct fx8_command fx8_command_join = {
    .name = "join",
    .synopsis = "A.uvh5 B.uvh5... -o ALL.uvh5",
    .summary = "join results of one observation by time or frequency",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "The files may come in any order.  Those with the same channels are\n"
        "joined by time, those with the same dumps by frequency; gaps may be\n"
        "left, overlaps may not.  Antennas, baselines, products, positions,\n"
        "phase centre, units and precision must be the same, so must the\n"
        "widths of the channels and the lengths of the dumps, but for the\n"
        "last dump of each file.\n"
        "\n"
        "Visibilities, flags, weights and the header are copied, not computed\n"
        "again.  What cannot be said of all files is left out: keywords that\n"
        "differ, such as CONFSHA, and, where the gains of files joined by\n"
        "time differ, the gains.  Without them fx8 compare cannot judge the\n"
        "result.  correlate sets gains anew for each part of a recording.\n"
        "data/README.md lists all.\n"
        "\n"
        "A station recorded by coarse channel:\n"
        "\n"
        "  fx8 join channel_*.uvh5 -o station.uvh5\n"
        "\n"
        "Two channels of two parts in time: join each part by frequency, then\n"
        "the results by time.\n",
    .run = run,
    .stops_at_once = true,
};

static enum fx8_compression find_compression(const char *word)
{
    static const char *const words[] = {[FX8_COMPRESSION_NONE] = "none",
                                        [FX8_COMPRESSION_GZIP] = "gzip",
                                        [FX8_COMPRESSION_BITSHUFFLE] =
                                            "bitshuffle"};
    size_t i = 0;
    while (strcmp(words[i], word) != 0) /* the parser knows the words */
        i++;
    return (enum fx8_compression)i;
}

static void show(void *display, int64_t done, int64_t total)
{
    fx8_progress_count(display, done, total);
}

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error)
{
    const char *output = line->given[OUTPUT];
    const char *compression = line->given[COMPRESSION];
    struct fx8_uvh5_joined joined;
    FX8_AUTO(fx8_progress_end) struct fx8_progress_display progress;
    fx8_progress_start(&progress, "join", NULL,
                       line->given[QUIET] == NULL ? stderr : NULL);
    if (line->n_files < 2)
        return fx8_command_misuse(line, error,
                                  "%zu %s: expected at least two results",
                                  FX8_COUNTED(line->n_files, "file", "files"));
    if (output == NULL)
        return fx8_command_misuse(line, error,
                                  "expected -o with the name of the result");
    fx8_command_warn_of_name(output, "UVH5", true);
    const struct fx8_uvh5_join_request request = {
        .paths = (const char *const *)line->files,
        .n_paths = line->n_files,
        .output = output,
        .force = line->given[FORCE] != NULL,
        .has_compression = compression != NULL,
        .compression = compression != NULL ? find_compression(compression)
                                           : FX8_COMPRESSION_NONE,
        .command = line->text,
        .warn = fx8_command_warning,
        .progress = show,
        .context = &progress,
    };
    FX8_TRY(fx8_uvh5_join(&request, &joined, error));
    fx8_progress_end(&progress);
    printf("%s: %zu files joined by %s: %zu %s, %zu %s\n", output,
           line->n_files, joined.by_time ? "time" : "frequency",
           FX8_COUNTED(joined.n_times, "dump", "dumps"),
           FX8_COUNTED(joined.n_channels, "channel", "channels"));
    return FX8_OK;
}
