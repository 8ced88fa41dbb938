/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.h -- the commands of the program.  A command is one file that
 * exports a struct fx8_command, and one line in the table of command.c.
 */
#ifndef FX8_CORRELATOR_COMMANDS_COMMAND_H
#define FX8_CORRELATOR_COMMANDS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "correlator/fx8.h"

struct fx8_output;
struct fx8_text_list;

/** An option of a command.  Parser, help, fx8(1) and the completions all use
 *  this table. */
struct fx8_option {
    const char *name;     /**< "output"; NULL: not an option, but a file that
                               help describes by `argument` */
    char letter;          /**< 'o' of -o; 0: none */
    const char *argument; /**< its value: one of the words "a|b", a file
                               "OUT.uvh5" or "FILE", else "N"; NULL: no value */
    const char *key;      /**< the configuration key that it sets, or
                               FX8_ANY_KEY; NULL: handled by the command */
    bool is_once;         /**< twice is an error; else the last counts */
    const char *help;     /**< what it does, one paragraph */
};

/** For --set: the value names the key too. */
#define FX8_ANY_KEY ""

/** The option of all commands that take a configuration. */
#define FX8_OPTION_SET(text)                                                   \
    {                                                                          \
        .name = "set", .argument = "section.key=value", .key = FX8_ANY_KEY,    \
        .help = text                                                           \
    }

/** The option of all commands that show progress; the display gets
 *  `given[QUIET] == NULL ? stderr : NULL` as its stream. */
#define FX8_OPTION_QUIET(text)                                                 \
    {                                                                          \
        .name = "quiet", .help = text                                          \
    }

/** A parsed command line. */
struct fx8_command_line {
    const struct fx8_command *command;
    const char *text; /**< "fx8 NAME ..." as it was given, quoted for a shell
                           where need be */
    char **files;     /**< [n_files] arguments that are not options */
    size_t n_files;
    const char **given;    /**< [n_options] values, "" for options without a
                                value; NULL: not given */
    const char **settings; /**< [n_settings] "section.key=value": --set first,
                                then the options that set keys */
    size_t n_settings;
};

/** Status of a comparison outside its limits, or without anything to judge by:
 *  exit code 3. */
#define FX8_COMMAND_OUTSIDE ((enum fx8_status) - 100)

/** A command. */
struct fx8_command {
    const char *name;
    const char *synopsis; /**< "CONFIG.ini [INPUT...] [-o OUT.uvh5] ..." */
    const char *summary;  /**< one line */
    const struct fx8_option *options; /**< [n_options] without --help */
    size_t n_options;
    const char *notes; /**< printed by help after the options, line by line as
                            laid out here; below 80 columns */
    enum fx8_status (*run)(const struct fx8_command_line *line,
                           struct fx8_error *error);
    bool stops_at_once; /**< nothing to finish: a signal ends it with 130;
                             else it polls fx8_command_interrupted() */
};

extern const struct fx8_command fx8_command_bench;
extern const struct fx8_command fx8_command_compare;
extern const struct fx8_command fx8_command_config;
extern const struct fx8_command fx8_command_correlate;
extern const struct fx8_command fx8_command_fringe;
extern const struct fx8_command fx8_command_image;
extern const struct fx8_command fx8_command_info;
extern const struct fx8_command fx8_command_join;
extern const struct fx8_command fx8_command_plan;
extern const struct fx8_command fx8_command_plot;
extern const struct fx8_command fx8_command_simulate;

/** All of them, in the order of fx8 --help. */
extern const struct fx8_command *const fx8_commands[];
extern const size_t fx8_commands_count;

/** Print "fx8: error: MESSAGE" on stderr; returns the exit code for it. */
int fx8_command_error(const struct fx8_error *error);

/** Print "fx8: warning: MESSAGE" on stderr. */
void fx8_command_warning(const char *format, ...) FX8_PRINTF(1, 2);

/** Warn if an output is named like a file of a format that fx8 does not write
 *  (.ms, .fits, .uvfits): `written` is what it will be; for UVH5, how pyuvdata
 *  converts it. */
void fx8_command_warn_of_name(const char *path, const char *written,
                              bool is_uvh5);

/** Parse a command line, where argv[0] is the command's name, and run the
 *  command or print its help; returns the exit code. */
int fx8_command_run(const struct fx8_command *command, int argc, char **argv);

/** Join texts with blanks, for histories: `first` (skipped when empty), then
 *  items [n].  The caller frees; NULL when memory is short. */
char *fx8_command_join_texts(const char *first, char *const *items, size_t n);

/** The same with items that a shell takes for one word each. */
char *fx8_command_join_words(const char *first, char *const *items, size_t n);

/** The command line with one more option, for a shell to go on with: one line;
 *  NULL if it cannot be one, or memory is short.  The caller frees. */
char *fx8_command_with(const struct fx8_command_line *line, const char *option);

/** FX8_ERR_USAGE with a message that ends in "(see fx8 NAME --help)". */
enum fx8_status fx8_command_misuse(const struct fx8_command_line *line,
                                   struct fx8_error *error, const char *format,
                                   ...) FX8_PRINTF(3, 4);

/** Open an output before minutes of work, but after the result, the line's only
 *  file, which is thereby protected from being overwritten. */
enum fx8_status fx8_command_open_output(const struct fx8_command_line *line,
                                        const char *path, bool force,
                                        struct fx8_output **output,
                                        struct fx8_error *error);

/** Read the value of an option, "RA_DEG,DEC_DEG". */
enum fx8_status fx8_command_take_place(const struct fx8_command_line *line,
                                       size_t option, double icrs_deg[2],
                                       struct fx8_error *error);

/** Handle SIGINT, SIGTERM, SIGUSR1 and SIGHUP (unless ignored, as under nohup):
 *  either print a message and end the program with 130 at once, or count them
 *  for fx8_command_interrupted().  Of these SIGUSR1, which batch systems send
 *  ahead of a time limit, counts once; a cancelled command then ends with 75,
 *  on which scripts requeue it. */
void fx8_command_watch_signals(bool stop_at_once);

/** From now on signals are counted. */
void fx8_command_count_signals(void);

/**
 * fx8_command_stop_at_once -- from now on a signal ends the program with 130 at
 * once; so does a signal counted before.  The .part files of all open outputs
 * are removed, and the message then says that nothing is written.
 *
 * Given:  file  a private file of this run to remove too; NULL: none.  The text
 *               must live until fx8_command_count_signals()
 */
void fx8_command_stop_at_once(const char *file);

/** Do what SIGUSR1 does: another rank has got it.  Async-signal-safe. */
void fx8_command_pause(void);

/** Whether SIGUSR1 has come. */
bool fx8_command_is_paused(void);

/** Number of signals so far; long commands poll it.  1: finish the current
 *  step; 2 or more: stop now. */
int fx8_command_interrupted(void);

/* --- generated from the tables of commands and keys, so they cannot drift ---
 */

/** Print the manual page fx8(1), in the macros of man(7). */
void fx8_reference_man(FILE *stream);

/** Print a script for bash to source: it completes commands, options, values of
 *  options, names and values of keys, and files. */
void fx8_reference_completion(FILE *stream);

/** A name with words before its suffix: OUT.uvh5 becomes OUT.int8.uvh5; empty
 *  words are left out.  The caller frees it; NULL when memory is short. */
char *fx8_command_name_with(const char *path, const char *suffix,
                            const char *const words[2]);

/** The first recording and the number of the others; the caller frees it; NULL
 *  when memory is short. */
char *fx8_command_name_inputs(char *const *files, size_t n);

/** Refuse results that would overwrite each other: FX8_ERR_USAGE names them.  A
 *  result PATH also occupies PATH.part. */
enum fx8_status fx8_command_check_names(const struct fx8_text_list *names,
                                        struct fx8_error *error);

#endif
