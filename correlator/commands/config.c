/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config.c -- `fx8 config`: lists the keys, and resolves a configuration file.
 */
#include <stdio.h>

#include "config/settings.h"
#include "config/base/try.h"
#include "correlator/commands/command.h"

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error);

enum { KEYS, MARKDOWN, MAN, COMPLETION, DUMP, SET };

static const struct fx8_option options[] = {
    [KEYS] = {.name = "keys",
              .help = "every key with type, unit, range, default and help"},
    [MARKDOWN] = {.name = "markdown",
                  .help = "the same in Markdown, as in config/README.md"},
    [MAN] = {.name = "man", .help = "the manual page fx8(1), for man"},
    [COMPLETION] = {.name = "completion",
                    .help = "completion of fx8's words for bash to source"},
    [DUMP] = {.name = "dump",
              .help = "the resolved configuration: defaults, then the file, "
                      "then each --set; it loads to the same again"},
    [SET] = FX8_OPTION_SET("override a key; may be given many times"),
};

/* Output that needs only the tables. */
static void (*const references[])(FILE *stream) = {
    [KEYS] = fx8_settings_print_keys,
    [MARKDOWN] = fx8_settings_print_markdown,
    [MAN] = fx8_reference_man,
    [COMPLETION] = fx8_reference_completion,
};

const struct fx8_command fx8_command_config = {
    .name = "config",
    .synopsis = "[CONFIG.ini] --keys|--markdown|--man|--completion|--dump "
                "[--set section.key=value]...",
    .summary = "list every key, or print the resolved configuration",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes = "The file may be a part of a configuration: keys that correlate\n"
             "requires may be missing.  Those given are checked.\n",
    .run = run,
    .stops_at_once = true,
};

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error)
{
    const char *const *given = line->given;
    int n_wanted = 0;
    for (int i = KEYS; i <= DUMP; i++)
        n_wanted += given[i] != NULL;
    if (line->n_files > 1)
        return fx8_command_misuse(line, error, "%s: expected one CONFIG.ini",
                                  line->files[1]);
    if (n_wanted != 1)
        return fx8_command_misuse(line, error,
                                  "expected one of --keys, --markdown, --man, "
                                  "--completion and --dump");
    FX8_AUTO(fx8_settings_clear) struct fx8_settings settings = {0};
    FX8_TRY(fx8_settings_load(line->n_files > 0 ? line->files[0] : NULL,
                              line->settings, line->n_settings, false,
                              &settings, error));
    if (given[DUMP] != NULL)
        fx8_settings_dump(&settings, stdout);
    for (int i = KEYS; i < DUMP; i++)
        if (given[i] != NULL)
            references[i](stdout);
    return FX8_OK;
}
