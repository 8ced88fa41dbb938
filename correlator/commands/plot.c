/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plot.c -- `fx8 plot`: pictures of results, quick-looks and recordings.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/number_list.h"
#include "correlator/commands/command.h"
#include "correlator/plot/kinds.h"
#include "io/output.h"

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error);

enum {
    FILES,
    OUTPUT,
    KIND,
    ANTENNAS,
    POL,
    CHANNELS,
    TIMES,
    BASELINE,
    SORT,
    SET,
    JSON,
    FORCE,
    QUIET
};

static const struct fx8_option options[] = {
    [FILES] = {.argument = "FILE...",
               .help = "a UVH5 or a quick-look file; or a recording in any "
                       "format that fx8 reads, all its files or its folder"},
    [OUTPUT] = {.name = "output",
                .letter = 'o',
                .argument = "OUT.html",
                .is_once = true,
                .help = "what to write; its end, .html, .svg, .png or .pdf, "
                        "says how; default: FILE.KIND.html beside FILE"},
    [KIND] = {.name = "kind",
              .argument = "overview|spectrum|waterfall|matrix|phase|delay|uv|"
                          "closure|levels",
              .is_once = true,
              .help = "what to show; default: overview"},
    [ANTENNAS] = {.name = "antennas",
                  .argument = "LIST",
                  .is_once = true,
                  .help = "numbers of antennas, such as 0-15,20; default: "
                          "all"},
    [POL] = {.name = "pol",
             .argument = "XX|YY|XY|YX",
             .is_once = true,
             .help = "one product; default: XX and YY, or the first"},
    [CHANNELS] = {.name = "channels",
                  .argument = "A-B",
                  .is_once = true,
                  .help = "only this stretch of channels, counted from 0"},
    [TIMES] = {.name = "times",
               .argument = "A-B",
               .is_once = true,
               .help = "only this stretch of dumps, counted from 0"},
    [BASELINE] = {.name = "baseline",
                  .argument = "A-B",
                  .is_once = true,
                  .help = "numbers of two antennas, for waterfall, phase and "
                          "delay; default: the pair with the highest "
                          "coherence"},
    [SORT] = {.name = "sort",
              .argument = "antenna|length",
              .is_once = true,
              .help = "antenna (default): a matrix of all pairs; length: a "
                      "dot for each, against the length of its baseline"},
    [SET] = FX8_OPTION_SET("of recordings: what is not recorded, as for fx8 "
                           "info; may be given many times"),
    [JSON] = {.name = "json",
              .help = "print what would be drawn, all numbers; a picture is "
                      "written only with -o"},
    [FORCE] = {.name = "force", .help = "replace what is there"},
    [QUIET] = {.name = "quiet", .help = "do not print what was found"},
};

const struct fx8_command fx8_command_plot = {
    .name = "plot",
    .synopsis = "FILE... [-o OUT.html] [--kind KIND] [options]",
    .summary = "draw a result, a quick-look or a recording",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "  overview   all that shows at a glance what works: levels, spectra,\n"
        "             coherence, the strongest baseline, flags; names the "
        "inputs\n"
        "             that look wrong\n"
        "  spectrum   power of every input, and what is flagged and clipped\n"
        "  waterfall  amplitude and phase of a baseline, or of an antenna "
        "with\n"
        "             itself (--baseline 3-3), against time and frequency\n"
        "  matrix     coherence of all pairs, by antennas or by length\n"
        "  phase      phase of a baseline against frequency and time\n"
        "  delay      its transform over frequency: a delay is a peak\n"
        "  uv         where the baselines measure\n"
        "  closure    closure phases of triangles, of five antennas or those\n"
        "             chosen\n"
        "  levels     histogram of the samples of a recording\n"
        "\n"
        "A recording has overview and levels, a quick-look all but levels and\n"
        "uv.  Cells are means of what is not flagged; a page has at most 1000\n"
        "by 260 of them and says what they average.  Where flags are not the\n"
        "same in all dumps, overview and spectrum show how many inputs they\n"
        "hit, against time and frequency.  An HTML page is one file\n"
        "and shows values under the pointer.  PNG and PDF need a build with\n"
        "cairo (libcairo2-dev).\n",
    .run = run,
    .stops_at_once = true,
};

/* Take "A-B" or "A,B", or "A" alone if `is_span`. */
static enum fx8_status take_range(const struct fx8_command_line *line,
                                  int option, bool is_span,
                                  struct fx8_view_range *range,
                                  struct fx8_error *error)
{
    const char *given = line->given[option];
    if (given == NULL)
        return FX8_OK;
    char first[FX8_NUMBER_TEXT_SIZE];
    const size_t length = strcspn(given, is_span ? "-" : "-,");
    snprintf(first, sizeof first, "%.*s",
             length < sizeof first ? (int)length : 0, given);
    const char *last = given[length] != '\0' ? given + length + 1
                       : is_span             ? first
                                             : "";
    range->is_given = true;
    if (fx8_number_integer(first, &range->first) &&
        fx8_number_integer(last, &range->last) && range->first >= 0 &&
        range->last >= (is_span ? range->first : 0))
        return FX8_OK;
    return fx8_command_misuse(
        line, error, "--%s: %s: expected %s", options[option].name, given,
        is_span ? "one stretch A-B, whole numbers from 0 up"
                : "A-B, numbers of two antennas");
}

static enum fx8_status take_antennas(const struct fx8_command_line *line,
                                     struct fx8_number_list *list,
                                     struct fx8_error *error)
{
    const char *given = line->given[ANTENNAS];
    const enum fx8_status status =
        fx8_number_list_read(given, false, 0, INT32_MAX, list);
    if (status == FX8_ERR_SYSTEM)
        return fx8_no_memory("antennas", error);
    if (status == FX8_OK && list->count > 0)
        return FX8_OK;
    return fx8_command_misuse(line, error,
                              "--antennas: %s: expected numbers of antennas, "
                              "such as 0-15,20",
                              given);
}

/* FILE.KIND.html without the suffix of FILE; the caller frees. */
static enum fx8_status name_output(const char *path, const char *kind,
                                   char **name, struct fx8_error *error)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--; /* of a folder */
    const char *slash = memrchr(path, '/', length);
    const char *dot = memrchr(path, '.', length);
    if (dot != NULL && dot > (slash != NULL ? slash + 1 : path))
        length = (size_t)(dot - path);
    if (asprintf(name, "%.*s.%s.html", (int)length, path, kind) >= 0)
        return FX8_OK;
    *name = NULL;
    return fx8_no_memory("a name", error);
}

static enum fx8_status write_picture(const struct fx8_figure *figure,
                                     const struct fx8_surface *surface,
                                     struct fx8_output **output,
                                     struct fx8_error *error)
{
    FX8_AUTO_FREE char *bytes = NULL;
    size_t size;
    FX8_TRY(fx8_figure_draw(figure, surface, &bytes, &size, error));
    return fx8_output_finish(output, bytes, size, error);
}

static void tell(const char *name, const struct fx8_figure *figure)
{
    fx8_text_print(name, stdout);
    printf("%s%s\n", figure->verdict != NULL ? ": " : "",
           figure->verdict != NULL ? figure->verdict : "");
}

/* Options that not every file or kind takes. */
static const struct {
    int option;
    unsigned views;    /* enum fx8_view_kind */
    const char *kinds; /* NULL: all of these files */
} limited[] = {
    {ANTENNAS, FX8_VIEW_RESULT | FX8_VIEW_QUICKLOOK, NULL},
    {POL, FX8_VIEW_RESULT | FX8_VIEW_QUICKLOOK, NULL},
    {CHANNELS, FX8_VIEW_RESULT | FX8_VIEW_QUICKLOOK, NULL},
    {TIMES, FX8_VIEW_RESULT | FX8_VIEW_QUICKLOOK, NULL},
    {BASELINE, FX8_VIEW_RESULT | FX8_VIEW_QUICKLOOK,
     "overview, waterfall, phase or delay"},
    {SORT, FX8_VIEW_RESULT | FX8_VIEW_QUICKLOOK, "matrix"},
    {SET, FX8_VIEW_RECORDING, NULL},
};

/* Refuse options that would change nothing. */
static enum fx8_status check_options(const struct fx8_command_line *line,
                                     const struct fx8_view *view,
                                     const char *kind, struct fx8_error *error)
{
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++) {
        const char *name = options[limited[i].option].name;
        if (line->given[limited[i].option] == NULL)
            continue;
        if ((limited[i].views & view->kind) == 0)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: --%s: has no effect on %s: expected %s",
                            view->path, name, fx8_view_kind_name(view),
                            limited[i].views == FX8_VIEW_RECORDING
                                ? "a recording"
                                : "a result or a quick-look");
        if (limited[i].kinds != NULL && strstr(limited[i].kinds, kind) == NULL)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: --%s: has no effect on --kind %s: expected %s",
                            view->path, name, kind, limited[i].kinds);
    }
    return FX8_OK;
}

/* The inputs are opened before the output, which thus cannot replace them. */
static enum fx8_status plot(const struct fx8_command_line *line,
                            const struct fx8_view_request *request,
                            struct fx8_error *error)
{
    const char *kind_name =
        line->given[KIND] != NULL ? line->given[KIND] : fx8_plot_kinds[0].name;
    const bool is_drawn =
        line->given[OUTPUT] != NULL || line->given[JSON] == NULL;
    const struct fx8_plot_kind *kind;
    const struct fx8_surface *surface;
    FX8_AUTO_FREE char *beside = NULL;
    FX8_AUTO(fx8_view_close) struct fx8_view view = {0};
    FX8_AUTO(fx8_figure_clear) struct fx8_figure figure = {0};
    FX8_AUTO(fx8_output_abandon) struct fx8_output *output = NULL;
    FX8_TRY(name_output(request->paths[0], kind_name, &beside, error));
    const char *name =
        line->given[OUTPUT] != NULL ? line->given[OUTPUT] : beside;
    FX8_TRY(fx8_surface_of(name, &surface, error));
    FX8_TRY(fx8_view_open(request, &view, error));
    FX8_TRY(fx8_plot_kind_of(&view, kind_name, &kind, error));
    FX8_TRY(check_options(line, &view, kind_name, error));
    if (is_drawn)
        FX8_TRY(fx8_output_open(name, line->given[FORCE] != NULL, 0, NULL,
                                &output, error));
    FX8_TRY(kind->fill(&view, &figure, error));
    FX8_TRY(fx8_figure_settle(&figure, error));
    if (is_drawn)
        FX8_TRY(write_picture(&figure, surface, &output, error));
    if (line->given[JSON] != NULL)
        fx8_figure_print_json(&figure, stdout);
    else if (line->given[QUIET] == NULL)
        tell(name, &figure);
    return FX8_OK;
}

static void warn_of(void *context, const char *text)
{
    (void)context;
    fx8_command_warning("%s", text);
}

static void clear_list(struct fx8_number_list *list)
{
    free(list->items);
}

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error)
{
    FX8_AUTO(fx8_settings_clear) struct fx8_settings settings = {0};
    FX8_AUTO(clear_list) struct fx8_number_list antennas = {0};
    struct fx8_view_request request = {
        .paths = (const char *const *)line->files,
        .n_paths = line->n_files,
        .settings = &settings,
        .warn = warn_of,
        .product = fx8_view_product_code(line->given[POL]),
        .by_length = line->given[SORT] != NULL &&
                     strcmp(line->given[SORT], "length") == 0,
    };
    if (request.n_paths == 0)
        return fx8_command_misuse(line, error, "no FILE");
    FX8_TRY(take_range(line, CHANNELS, true, &request.channels, error));
    FX8_TRY(take_range(line, TIMES, true, &request.times, error));
    FX8_TRY(take_range(line, BASELINE, false, &request.baseline, error));
    if (line->given[ANTENNAS] != NULL) {
        FX8_TRY(take_antennas(line, &antennas, error));
        request.antennas = &antennas;
    }
    FX8_TRY(fx8_settings_load(NULL, line->settings, line->n_settings, false,
                              &settings, error));
    return plot(line, &request, error);
}
