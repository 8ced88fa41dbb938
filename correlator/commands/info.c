/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.c -- `fx8 info`: the contents of a recording, a visibility file or a
 * quick-look, in readable units (MHz, s, m), or in full as JSON.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/text.h"
#include "config/base/try.h"
#include "correlator/commands/command.h"
#include "correlator/commands/info.h"
#include "io/quicklook/read.h"

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error);

enum { FILES, SET, ALL, NO_LEVELS, JSON, QUIET };

static const struct fx8_option options[] = {
    [FILES] = {.argument = "FILE...",
               .help = "a recording in any format that fx8 reads, all its "
                       "files or its folder; or a UVH5 or a quick-look file"},
    [SET] = FX8_OPTION_SET("what is not recorded, as for fx8 correlate: "
                           "[input], [observation], the site and "
                           "flag.clip_level; may be given many times"),
    [ALL] = {.name = "all",
             .help = "levels of all samples, not only of blocks spread over "
                     "the recording, 64 MiB in all"},
    [NO_LEVELS] = {.name = "no-levels", .help = "read no samples"},
    [JSON] = {.name = "json",
              .help = "one JSON object; shares are 0 to 1, null means not "
                      "recorded, ? replaces bytes that are not UTF-8"},
    [QUIET] = FX8_OPTION_QUIET("no progress"),
};

const struct fx8_command fx8_command_info = {
    .name = "info",
    .synopsis = "FILE... [options]",
    .summary = "describe a recording, a visibility file or a quick-look",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "Frequencies are in MHz, times in seconds and UTC, positions in "
        "metres,\n"
        "levels in LSB of 8 bits, per real component, without missing samples."
        "\n"
        "An input looks wrong if\n"
        "  absent     all samples read are missing\n"
        "  dead       all of them are 0\n"
        "  clipped    more than 0.1 % are -127 or below or +127\n"
        "  weak, strong\n"
        "             its rms is 10 dB off the median of its band\n"
        "  DC offset  a tenth of its power or more is at zero frequency\n"
        "  -128       more than 0.1 % are -128, twice as many as are +127:\n"
        "             perhaps markers of lost samples ([input] "
        "missing_value)\n",
    .run = run,
    .stops_at_once = true,
};

/* --- lines ------------------------------------------------------- */

enum { LABEL_WIDTH = 15 };

static void print_label(const char *label)
{
    const int length = (int)strnlen(label, LABEL_WIDTH);
    printf("  ");
    fx8_text_print(label, stdout);
    printf("%*s", LABEL_WIDTH - length, "");
}

void fx8_info_field(const char *label, const char *format, ...)
{
    print_label(label);
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

void fx8_info_line(const char *label, const char *text)
{
    print_label(label);
    fx8_text_print(text, stdout);
    putchar('\n');
}

void fx8_info_text(const char *label, const char *text)
{
    if (text[0] != '\0')
        fx8_info_line(label, text);
}

void fx8_info_head(const char *path, const char *what)
{
    fx8_text_print(path, stdout);
    printf("%s\n", what);
}

void fx8_info_names(const char *telescope, const char *instrument,
                    const char *object, const struct fx8_site *site)
{
    fx8_info_text("telescope", telescope);
    fx8_info_text("instrument", instrument);
    fx8_info_text("object", object);
    if (site == NULL)
        return;
    if (isnan(site->latitude_deg) || isnan(site->longitude_deg))
        fx8_info_field("site", "not recorded");
    else
        fx8_info_field("site",
                       "latitude %.6f deg, longitude %.6f deg, "
                       "altitude %.1f m",
                       site->latitude_deg, site->longitude_deg,
                       site->altitude_m);
}

void fx8_info_names_json(struct fx8_json *json, const char *telescope,
                         const char *instrument, const char *object,
                         const struct fx8_site *site)
{
    fx8_json_text(json, "telescope", telescope);
    fx8_json_text(json, "instrument", instrument);
    fx8_json_text(json, "object", object);
    if (site == NULL)
        return;
    fx8_json_real(json, "latitude_deg", site->latitude_deg);
    fx8_json_real(json, "longitude_deg", site->longitude_deg);
    fx8_json_real(json, "altitude_m", site->altitude_m);
}

void fx8_info_julian_date(double julian_date, char text[FX8_NUMBER_TEXT_SIZE])
{
    fx8_number_format_time(fx8_time_from_julian_date(julian_date), text);
}

void fx8_info_products(const int *products, size_t n_products, char *text,
                       size_t size)
{
    static const char *const names[] = {"XX", "YY", "XY", "YX"};
    size_t used = 0;
    text[0] = '\0';
    for (size_t p = 0; p < n_products && used < size; p++) {
        const int kind = -5 - products[p];
        const char *blank = p == 0 ? "" : " ";
        const int length =
            kind >= 0 && kind < 4
                ? snprintf(text + used, size - used, "%s%s", blank, names[kind])
                : snprintf(text + used, size - used, "%s%d", blank,
                           products[p]);
        used += (size_t)length;
    }
}

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

/* Print a UVH5 or quick-look file: *known is false if it is neither, and
 * *as_visibilities then says why it is not UVH5. */
static enum fx8_status tell_result(const struct fx8_info_request *request,
                                   bool *known,
                                   struct fx8_error *as_visibilities,
                                   struct fx8_error *error)
{
    FX8_AUTO(fx8_uvh5_file_close) struct fx8_uvh5_file *file = NULL;
    FX8_AUTO(fx8_uvh5_header_clear) struct fx8_uvh5_header header = {0};
    *known = true;
    if (fx8_quicklook_probe(request->paths[0]))
        return fx8_info_quicklook(request, error);
    *known = fx8_uvh5_open_any(request->paths[0], &file, &header,
                               as_visibilities) == FX8_OK;
    return *known ? fx8_info_visibilities(request, file, &header, error)
                  : FX8_OK;
}

static enum fx8_status tell(const struct fx8_info_request *request,
                            struct fx8_error *error)
{
    struct fx8_error as_visibilities;
    bool known = false;
    FX8_TRY(check_readable(request, error));
    const bool may_be_result =
        request->n_paths == 1 && !is_folder(request->paths[0]);
    if (may_be_result)
        FX8_TRY(tell_result(request, &known, &as_visibilities, error));
    if (known)
        return FX8_OK;
    const enum fx8_status status = fx8_info_recording(request, error);
    /* one reason is enough if the format is known or it is not HDF5 at all;
     * both halves fit: a message holds 1,023 letters */
    if (status != FX8_OK && may_be_result &&
        fx8_reader_format_name(request->paths[0]) == NULL &&
        strcmp(error->message, as_visibilities.message) != 0) {
        const struct fx8_error as_recording = *error;
        fx8_fail(error, status, "%.500s; nor visibilities: %.480s",
                 as_recording.message, as_visibilities.message);
    }
    return status;
}

/* --- the command -------------------------------------------------- */

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error)
{
    FX8_AUTO(fx8_settings_clear) struct fx8_settings settings = {0};
    const struct fx8_info_request request = {
        .paths = (const char *const *)line->files,
        .n_paths = line->n_files,
        .settings = &settings,
        .is_json = line->given[JSON] != NULL,
        .has_levels = line->given[NO_LEVELS] == NULL,
        .is_all = line->given[ALL] != NULL,
        .is_quiet = line->given[QUIET] != NULL,
    };
    if (request.n_paths == 0)
        return fx8_command_misuse(line, error, "no FILE");
    if (request.is_all && !request.has_levels)
        return fx8_command_misuse(line, error,
                                  "--all: with --no-levels: expected one of "
                                  "them");
    FX8_TRY(fx8_settings_load(NULL, line->settings, line->n_settings, false,
                              &settings, error));
    return tell(&request, error);
}
