/* SPDX-License-Identifier: BSD-3-Clause */
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "correlator/commands/command.h"

/* Signals so far.  Two threads may each take one: a lost count matters less
 * than a lock in a handler would. */
static volatile sig_atomic_t n_signals;

int fx8_command_error(const struct fx8_error *error)
{
    fprintf(stderr, "fx8: error: %s\n", error->message);
    return fx8_exit_code(error->status);
}

void fx8_command_warning(const char *message)
{
    fprintf(stderr, "fx8: warning: %s\n", message);
}

int fx8_command_help(const struct fx8_command *command)
{
    printf("usage: fx8 %s %s\n\n%s\n\n%s", command->name, command->synopsis,
           command->summary, command->help);
    return 0;
}

int fx8_command_misuse(const struct fx8_command *command, const char *format,
                       ...)
{
    struct fx8_error error; /* for its care of control characters */
    char text[FX8_ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fx8_fail(&error, FX8_ERR_USAGE, "%s", text);
    fprintf(stderr, "fx8: error: %s (see fx8 %s --help)\n", error.message,
            command->name);
    return fx8_exit_code(FX8_ERR_USAGE);
}

int fx8_command_bad_option(const struct fx8_command *command, int option,
                           char **argv)
{
    /* getopt_long() stands behind a faulty long option, but may still stand
     * at a faulty letter of a group such as -xy: optopt tells the letter */
    const char *given = argv[optind > 0 ? optind - 1 : 0];
    char letter[3] = {'-', (char)optopt, '\0'};
    const char *name =
        strncmp(given, "--", 2) == 0 || optopt == 0 ? given : letter;
    if (option == ':')
        return fx8_command_misuse(command, "%s: expected a value after it",
                                  name);
    const size_t length = strcspn(given, "=");
    if (optopt != 0 && name == given)
        return fx8_command_misuse(command, "%.*s: takes no value", (int)length,
                                  given);
    return fx8_command_misuse(command, "%s: unknown option", name);
}

static void count_signal(int number)
{
    (void)number;
    n_signals++;
}

static void stop_at_signal(int number)
{
    (void)number;
    _exit(fx8_exit_code(FX8_ERR_CANCELLED));
}

void fx8_command_watch_signals(bool stop_at_once)
{
    /* SA_RESTART: no read or write may fail because someone is impatient */
    struct sigaction action = {.sa_flags = SA_RESTART};
    action.sa_handler = stop_at_once ? stop_at_signal : count_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int fx8_command_interrupted(void)
{
    return (int)n_signals;
}
