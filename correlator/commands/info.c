/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.c -- `fx8 info`: what a recording, a visibility file or a quick-look
 * holds, in the units of people: MHz, s, m; or all of it for machines.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/shape.h"
#include "correlator/commands/command.h"
#include "correlator/commands/info.h"
#include "io/quicklook/read.h"

static int run(int argc, char **argv);

const struct fx8_command fx8_command_info = {
    .name = "info",
    .synopsis = "FILE... [options]",
    .summary = "tell what a recording, a visibility file or a quick-look holds",
    .help =
        "  FILE...                 a recording in any format that fx8 reads, "
        "all\n"
        "                          its files or its folder; or a UVH5 or a\n"
        "                          quick-look file\n"
        "  --set section.key=value what a recording lacks, as for fx8 "
        "correlate:\n"
        "                          [input], [observation] and the site; may "
        "be\n"
        "                          given many times\n"
        "  --all                   levels of all samples; else of blocks "
        "spread\n"
        "                          over the recording, 64 MiB in all\n"
        "  --no-levels             read no samples\n"
        "  --json                  all of it as one JSON object; shares are 0 "
        "to 1,\n"
        "                          null is what is not recorded, ? a byte of "
        "a\n"
        "                          text that is no UTF-8\n"
        "\n"
        "Frequencies are in MHz, times in seconds and UTC, positions in "
        "metres,\n"
        "levels in LSB of 8 bits, per real component.  Missing samples enter "
        "no\n"
        "level.  An input looks wrong when it is\n"
        "  absent     all samples looked at are missing\n"
        "  dead       all of them are 0\n"
        "  clipped    more than 0.1 % are -127 or below or +127\n"
        "  weak, strong\n"
        "             its rms is 10 dB off the median of its band\n"
        "  DC offset  a tenth of its power or more stands at zero frequency\n"
        "  -128       more than 0.1 % are -128, twice as many as are +127:\n"
        "             markers of lost samples, perhaps ([input] "
        "missing_value)\n",
    .run = run,
    .stops_at_once = true,
};

struct arguments {
    struct fx8_info_request request;
    const char **overrides; /* [n_overrides], room for argc of them */
    size_t n_overrides;
    bool help;
};

enum { OPT_SET = 256, OPT_ALL, OPT_NO_LEVELS, OPT_JSON };

/* --- which kind is it? -------------------------------------------- */

static enum fx8_status check_readable(const struct fx8_info_request *request,
                                      struct fx8_error *error)
{
    for (size_t i = 0; i < request->n_paths; i++)
        if (access(request->paths[i], R_OK) != 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s: expected a recording or a visibility file",
                            request->paths[i], strerror(errno));
    return FX8_OK;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A file that is whole by itself: *known says whether it is one, and
 * *as_visibilities why it is no UVH5 file. */
static enum fx8_status tell_result(const struct fx8_info_request *request,
                                   bool *known,
                                   struct fx8_error *as_visibilities,
                                   struct fx8_error *error)
{
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header header = {0};
    *known = true;
    if (fx8_quicklook_probe(request->paths[0]))
        return fx8_info_quicklook(request, error);
    if (fx8_uvh5_open(request->paths[0], &file, &header, as_visibilities) ==
        FX8_OK) {
        const enum fx8_status status =
            fx8_info_visibilities(request, file, &header, error);
        fx8_uvh5_file_close(&file);
        fx8_uvh5_header_clear(&header);
        return status;
    }
    *known = false;
    return FX8_OK;
}

static enum fx8_status tell(const struct fx8_info_request *request,
                            struct fx8_error *error)
{
    struct fx8_error as_visibilities, as_recording;
    bool known = false;
    enum fx8_status status = check_readable(request, error);
    if (status != FX8_OK)
        return status;
    const bool may_be_result =
        request->n_paths == 1 && !is_folder(request->paths[0]);
    if (may_be_result)
        status = tell_result(request, &known, &as_visibilities, error);
    if (known)
        return status;
    status = fx8_info_recording(request, &as_recording);
    if (status == FX8_OK)
        return FX8_OK;
    *error = as_recording;
    /* what has a format, or is no HDF5 file at all, is told off once; the two
     * halves fit: a message holds 1,023 letters */
    if (may_be_result && fx8_reader_format_name(request->paths[0]) == NULL &&
        strcmp(as_recording.message, as_visibilities.message) != 0)
        status = fx8_fail(error, status, "%.500s; nor visibilities: %.480s",
                          as_recording.message, as_visibilities.message);
    return status;
}

/* --- arguments ---------------------------------------------------- */

static int parse_option(int option, char **argv, struct arguments *arguments)
{
    switch (option) {
    case 'h':
        arguments->help = true;
        return 0;
    case OPT_SET:
        arguments->overrides[arguments->n_overrides++] = optarg;
        return 0;
    case OPT_ALL:
        arguments->request.is_all = true;
        return 0;
    case OPT_NO_LEVELS:
        arguments->request.has_levels = false;
        return 0;
    case OPT_JSON:
        arguments->request.is_json = true;
        return 0;
    default:
        return fx8_command_bad_option(&fx8_command_info, option, argv);
    }
}

/* Exit code of a wrong use, or 0. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
    static const struct option options[] = {
        {"set", required_argument, NULL, OPT_SET},
        {"all", no_argument, NULL, OPT_ALL},
        {"no-levels", no_argument, NULL, OPT_NO_LEVELS},
        {"json", no_argument, NULL, OPT_JSON},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    for (int option;
         (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        const int code = parse_option(option, argv, arguments);
        if (code != 0)
            return code;
    }
    if (arguments->help)
        return 0;
    if (optind >= argc)
        return fx8_command_misuse(&fx8_command_info,
                                  "no file: expected one or more");
    if (arguments->request.is_all && !arguments->request.has_levels)
        return fx8_command_misuse(&fx8_command_info,
                                  "--all and --no-levels: expected one of "
                                  "them");
    arguments->request.paths = (const char *const *)(argv + optind);
    arguments->request.n_paths = (size_t)(argc - optind);
    return 0;
}

static int tell_as_asked(struct arguments *arguments)
{
    struct fx8_settings settings;
    struct fx8_error error;
    enum fx8_status status =
        fx8_settings_load(NULL, arguments->overrides, arguments->n_overrides,
                          false, &settings, &error);
    if (status != FX8_OK)
        return fx8_command_error(&error);
    arguments->request.settings = &settings;
    status = tell(&arguments->request, &error);
    fx8_settings_clear(&settings);
    return status == FX8_OK ? 0 : fx8_command_error(&error);
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {.request.has_levels = true};
    struct fx8_error error;
    void *overrides;
    if (fx8_allocate((size_t)argc, sizeof *arguments.overrides, "arguments",
                     &overrides, &error) != FX8_OK)
        return fx8_command_error(&error);
    arguments.overrides = overrides;
    int code = parse(argc, argv, &arguments);
    if (code == 0)
        code = arguments.help ? fx8_command_help(&fx8_command_info)
                              : tell_as_asked(&arguments);
    free(overrides);
    return code;
}
