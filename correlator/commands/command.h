/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.h -- the commands of the program.  A command is one file that
 * exports a struct fx8_command, and one line in the table of command.c.
 */
#ifndef FX8_CORRELATOR_COMMANDS_COMMAND_H
#define FX8_CORRELATOR_COMMANDS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "correlator/fx8.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An option of a command.  Parser, help, fx8(1) and the completions are made
 *  of the same table. */
struct fx8_option {
    const char *name;     /**< "output"; NULL: no option, a file that help tells
                               of by `argument` */
    char letter;          /**< 'o' of -o; 0: none */
    const char *argument; /**< what it takes: one of the words "a|b", a file
                               "OUT.uvh5" or "FILE", else "N"; NULL: nothing */
    const char *key;  /**< its value is that of this key of the configuration,
                           or FX8_ANY_KEY; NULL: it is the command's */
    bool is_once;     /**< twice is an error; else the last one counts */
    const char *help; /**< what it does, one paragraph */
};

/** Of --set: the value names the key too. */
#define FX8_ANY_KEY ""

/** The option that all commands with a configuration have. */
#define FX8_OPTION_SET(text)                                                   \
    {                                                                          \
        .name = "set", .argument = "section.key=value", .key = FX8_ANY_KEY,    \
        .help = text                                                           \
    }

/** A command line taken apart. */
struct fx8_command_line {
    const char *text; /**< "fx8 NAME ..." as it was given, for histories */
    char **files;     /**< [n_files] what is no option */
    size_t n_files;
    const char **given;    /**< [n_options] values, "" of what takes none;
                                NULL: not given */
    const char **settings; /**< [n_settings] "section.key=value": --set, then
                                what options say of their keys */
    size_t n_settings;
};

/** A command.  `run` returns the exit code of the program. */
struct fx8_command {
    const char *name;
    const char *synopsis; /**< "CONFIG.ini [INPUT...] [-o OUT.uvh5] ..." */
    const char *summary;  /**< one line */
    const struct fx8_option *options; /**< [n_options] but for --help */
    size_t n_options;
    const char *notes; /**< what help says after the options; lines as laid
                            out here, below 80 columns */
    int (*run)(const struct fx8_command_line *line);
    bool stops_at_once; /**< has nothing to finish: a signal ends it with 130;
                             else it looks at fx8_command_interrupted() */
};

extern const struct fx8_command fx8_command_bench;
extern const struct fx8_command fx8_command_compare;
extern const struct fx8_command fx8_command_config;
extern const struct fx8_command fx8_command_correlate;
extern const struct fx8_command fx8_command_info;
extern const struct fx8_command fx8_command_simulate;

/** All of them, in the order of fx8 --help. */
extern const struct fx8_command *const fx8_commands[];
extern const size_t fx8_commands_count;

/** Exit code of the program for a status: 0 done, 1 failed while running, 2
 *  wrong use or configuration, 130 cancelled by a signal. */
int fx8_exit_code(enum fx8_status status);

/** Print "fx8: error: MESSAGE" on stderr; returns the exit code for it. */
int fx8_command_error(const struct fx8_error *error);

/** Print "fx8: warning: MESSAGE" on stderr. */
void fx8_command_warning(const char *message);

/** Warn where an output is called like a file of a format that fx8 does not
 *  write (.ms, .fits, .uvfits): `written` is what it will be; of UVH5, how
 *  pyuvdata converts it. */
void fx8_command_warn_of_name(const char *path, const char *written,
                              bool is_uvh5);

/** Take a command line apart, argv[0] of which is the command's name, and run
 *  the command, or print its help; returns the exit code. */
int fx8_command_run(const struct fx8_command *command, int argc, char **argv);

/** One text of many, separated by blanks, for histories: `first` (none when
 *  empty), then items [n].  The caller frees; NULL when memory is short. */
char *fx8_command_join(const char *first, char *const *items, size_t n);

/** Wrong use of a command: one line on stderr that ends in "(see fx8 NAME
 *  --help)"; returns 2. */
int fx8_command_misuse(const struct fx8_command *command, const char *format,
                       ...) FX8_PRINTF(2, 3);

/** From now on SIGINT, SIGTERM and SIGHUP (unless it is ignored, as nohup has
 *  it) are counted for fx8_command_interrupted(), or say so and end the program
 *  with 130 at once. */
void fx8_command_watch_signals(bool stop_at_once);

/** From now on signals are counted. */
void fx8_command_count_signals(void);

/**
 * fx8_command_stop_at_once -- from now on a signal ends the program with 130 at
 * once; so does one counted before.  The .part of every open output goes, and
 * the message then says that nothing is written.
 *
 * Given:  file  of this run alone, to be removed too; NULL: none.  The text
 *               lives until fx8_command_count_signals()
 */
void fx8_command_stop_at_once(const char *file);

/** Counts signals; commands that run long look at it.  1: finish what is
 *  begun; 2 or more: stop now. */
int fx8_command_interrupted(void);

#ifdef __cplusplus
}
#endif

#endif
