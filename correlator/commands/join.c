/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join.c -- `fx8 join`: results of one observation, joined by time or
 * frequency.
 */
#include <stdio.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/try.h"
#include "config/keys.h"
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
        "phase centre, units, precision, filter and averages must be the\n"
        "same, so must the widths of the channels and the lengths of the\n"
        "dumps, but for the last dump of each run, or any of align = utc.\n"
        "Where other keys of the configuration, the version or the kernel\n"
        "differ, a warning names them.\n"
        "\n"
        "Visibilities, flags, weights and the header are copied, not computed\n"
        "again; data that do not match their checksums are refused.  What\n"
        "cannot be said of all files is left out: keywords that differ, such\n"
        "as CONFSHA, and, where the gains of files joined by time differ, the\n"
        "gains.  Without them fx8 compare cannot judge the result.  correlate\n"
        "sets gains anew for each part of a recording.  data/README.md lists\n"
        "all.\n"
        "\n"
        "Memory: about 72 MiB, 2 MiB for each file and, of packed files, as\n"
        "much as a dump of the result, but at least 32 MiB.\n"
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

/* Keys in which files of one observation must not differ, or not without a
 * remark.  Others decide nothing that lasts, or the header shows it. */
static const struct fx8_uvh5_join_rule rules[] = {
    /* another response to the sky, or another noise */
    {"channelizer.method", FX8_UVH5_REFUSED},
    {"channelizer.taps", FX8_UVH5_REFUSED},
    {"channelizer.window", FX8_UVH5_REFUSED},
    {"correlator.integration_time_s", FX8_UVH5_REFUSED},
    {"correlator.align", FX8_UVH5_REFUSED},
    {"channelizer.channels", FX8_UVH5_LEGAL}, /* of bands of other widths */
    {"channelizer.*", FX8_UVH5_REMARKED},
    /* gains are divided out: other rounding noise, but the same mean */
    {"quantizer.*", FX8_UVH5_REMARKED},
    {"input.sideband", FX8_UVH5_REMARKED},
    {"input.conjugate", FX8_UVH5_REMARKED},
    {"input.polarization_order", FX8_UVH5_REMARKED},
    {"input.missing_*", FX8_UVH5_REMARKED},
    {"input.scale_to_8bit", FX8_UVH5_REMARKED},
    {"array.flag_antennas", FX8_UVH5_REMARKED},
    {"flag.*", FX8_UVH5_REMARKED},
};

static enum fx8_compression find_compression(const char *word)
{
    const struct fx8_choice *choice =
        fx8_key_find("output", "compression")->choices;
    while (strcmp(choice->name, word) != 0) /* the parser knows the words */
        choice++;
    return (enum fx8_compression)choice->value;
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
        .rules = rules,
        .n_rules = sizeof rules / sizeof *rules,
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
