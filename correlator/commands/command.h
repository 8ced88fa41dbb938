/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.h -- the commands of the program.  A command is one file that
 * exports a struct fx8_command and one line in the table of command.c.
 */
#ifndef FX8_CORRELATOR_COMMANDS_COMMAND_H
#define FX8_CORRELATOR_COMMANDS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "config/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A command.  `run` gets the arguments after the command's name (argv[0] is
 *  that name) and returns the exit code of the program. */
struct fx8_command {
    const char *name;
    const char *synopsis; /**< "CONFIG.ini [INPUT…] [-o OUT.uvh5] …" */
    const char *summary;  /**< one line */
    const char *help;     /**< the rest of --help: lines of two blanks and an
                               option, its argument one blank after it, what
                               it does; then, after an empty line, the rest */
    int (*run)(int argc, char **argv);
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

/** Print the help page of a command on stdout; returns 0. */
int fx8_command_help(const struct fx8_command *command);

/** One text of many, separated by blanks, for histories: `first` (none when
 *  empty), then items [n].  The caller frees; NULL when memory is short. */
char *fx8_command_join(const char *first, char *const *items, size_t n);

/** Wrong use of a command: one line on stderr that ends in "(see fx8 NAME
 *  --help)"; returns 2. */
int fx8_command_misuse(const struct fx8_command *command, const char *format,
                       ...) FX8_PRINTF(2, 3);

/**
 * fx8_command_bad_option -- the answer to '?' and ':' of getopt_long().
 *
 * Given:  option  what getopt_long() returned, the option string starting
 *                 with "-:" or ":" so that the two differ; opterr is 0
 *         argv    as given to getopt_long()
 * Status: one line on stderr; returns 2
 */
int fx8_command_bad_option(const struct fx8_command *command, int option,
                           char **argv);

/** From now on SIGINT, SIGTERM and SIGHUP (unless it is ignored, as nohup has
 *  it) are counted for fx8_command_interrupted(), or end the program with 130
 *  at once. */
void fx8_command_watch_signals(bool stop_at_once);

/** From now on signals are counted. */
void fx8_command_count_signals(void);

/**
 * fx8_command_stop_removes -- from now on a signal removes these files, says
 * so and ends the program with 130 at once; so does one counted before.
 *
 * Given:  first, second  .part files that this run holds; NULL: none.  The
 *                        texts live until fx8_command_count_signals()
 */
void fx8_command_stop_removes(const char *first, const char *second);

/** Counts signals; commands that run long look at it.  1: finish what is
 *  begun; 2 or more: stop now. */
int fx8_command_interrupted(void);

#ifdef __cplusplus
}
#endif

#endif
