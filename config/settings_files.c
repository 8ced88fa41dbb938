/* SPDX-License-Identifier: BSD-3-Clause */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/settings.h"

static enum fx8_status append_matches(const struct fx8_settings *settings,
                                      const char *pattern,
                                      struct fx8_text_list *files,
                                      struct fx8_error *error)
{
    glob_t matches = {0};
    enum fx8_status status = FX8_OK;
    const int code = glob(pattern, 0, NULL, &matches);
    if (code == GLOB_NOSPACE)
        status = fx8_no_memory("the list of files", error);
    else if (code != 0)
        status = fx8_settings_fail(settings, "input.files", error,
                                   "expected files that match %s", pattern);
    for (size_t i = 0; status == FX8_OK && i < matches.gl_pathc; i++)
        status = fx8_text_list_add(files, strdup(matches.gl_pathv[i]), error);
    globfree(&matches);
    return status;
}

enum fx8_status fx8_settings_files(const struct fx8_settings *settings,
                                   struct fx8_text_list *files,
                                   struct fx8_error *error)
{
    *files = (struct fx8_text_list){0};
    enum fx8_status status = FX8_OK;
    for (size_t i = 0; status == FX8_OK && i < settings->input.files.count;
         i++) {
        const char *entry = settings->input.files.items[i];
        status = fx8_path_is_pattern(entry) && access(entry, F_OK) != 0
                     ? append_matches(settings, entry, files, error)
                     : fx8_text_list_add(files, strdup(entry), error);
    }
    if (status != FX8_OK)
        fx8_text_list_clear(files);
    return status;
}
