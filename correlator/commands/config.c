/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config.c -- `fx8 config`: the keys there are, and what a file comes to.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/settings.h"
#include "config/shape.h"
#include "correlator/commands/command.h"
#include "correlator/commands/reference.h"

static int run(int argc, char **argv);

const struct fx8_command fx8_command_config = {
    .name = "config",
    .synopsis = "[CONFIG.ini] --keys|--dump|--man|--completion "
                "[--set section.key=value]...",
    .summary = "list every key, or print the resolved configuration",
    .help = "  --keys      every key with type, unit, range, default and help\n"
            "  --dump      the resolved configuration: defaults, then the\n"
            "              file, then each --set; it loads to the same again\n"
            "  --man       the manual page fx8(1), for man\n"
            "  --completion\n"
            "              what completes fx8's words in bash: to be sourced\n"
            "  --set section.key=value\n"
            "              override a key; may be given many times\n"
            "\n"
            "The file may be a part of a configuration: keys that correlate\n"
            "requires may be missing here.  What is there is checked.\n",
    .run = run,
    .stops_at_once = true,
};

struct arguments {
    char wanted;     /* value of the option that says what to print; or 0 */
    bool is_several; /* more than one of them */
    bool help;
    const char *ini_path;
    const char **overrides; /* [n_overrides], room for argc of them */
    size_t n_overrides;
};

/* Exit code of a wrong use, or 0. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
    static const struct option options[] = {
        {"keys", no_argument, NULL, 'k'},
        {"dump", no_argument, NULL, 'd'},
        {"man", no_argument, NULL, 'm'},
        {"completion", no_argument, NULL, 'c'},
        {"set", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    for (int option;
         (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (option == 's')
            arguments->overrides[arguments->n_overrides++] = optarg;
        else if (option == 'h')
            arguments->help = true;
        else if (option == '?' || option == ':')
            return fx8_command_bad_option(&fx8_command_config, option, argv);
        else {
            arguments->is_several |=
                arguments->wanted != 0 && arguments->wanted != (char)option;
            arguments->wanted = (char)option;
        }
    }
    if (arguments->help)
        return 0;
    if (argc - optind > 1)
        return fx8_command_misuse(&fx8_command_config,
                                  "%s: expected one CONFIG.ini",
                                  argv[optind + 1]);
    arguments->ini_path = optind < argc ? argv[optind] : NULL;
    if (arguments->wanted == 0 || arguments->is_several)
        return fx8_command_misuse(&fx8_command_config,
                                  "expected one of --keys, --dump, --man and "
                                  "--completion");
    return 0;
}

static int print(const struct arguments *arguments)
{
    struct fx8_settings settings;
    struct fx8_error error;
    if (fx8_settings_load(arguments->ini_path, arguments->overrides,
                          arguments->n_overrides, false, &settings,
                          &error) != FX8_OK)
        return fx8_command_error(&error);
    if (arguments->wanted == 'k')
        fx8_settings_print_keys(stdout);
    else if (arguments->wanted == 'm')
        fx8_reference_man(stdout);
    else if (arguments->wanted == 'c')
        fx8_reference_completion(stdout);
    else
        fx8_settings_dump(&settings, stdout);
    fx8_settings_clear(&settings);
    return 0;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct fx8_error error;
    void *overrides;
    if (fx8_allocate((size_t)argc, sizeof *arguments.overrides, "arguments",
                     &overrides, &error) != FX8_OK)
        return fx8_command_error(&error);
    arguments.overrides = overrides;
    int code = parse(argc, argv, &arguments);
    if (code == 0)
        code = arguments.help ? fx8_command_help(&fx8_command_config)
                              : print(&arguments);
    free(overrides);
    return code;
}
