/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c -- the program: finds and runs the command, and checks that standard
 * output was written.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/base/nearest.h"
#include "correlator/commands/command.h"
#include "correlator/fx8.h"

static const struct fx8_command *find_command(const char *name)
{
    for (size_t i = 0; i < fx8_commands_count; i++)
        if (strcmp(fx8_commands[i]->name, name) == 0)
            return fx8_commands[i];
    return NULL;
}

static int print_help(void)
{
    printf("fx8 %s: FX cross-correlator for recorded observations\n\n"
           "usage: fx8 COMMAND [options] FILE...\n\n",
           fx8_version());
    for (size_t i = 0; i < fx8_commands_count; i++)
        printf("  %-10s %s\n", fx8_commands[i]->name, fx8_commands[i]->summary);
    printf(
        "\nfx8 COMMAND --help lists the options of a command; fx8 --version\n"
        "prints the version.  Results go to standard output, messages to\n"
        "standard error.  Exit code: 0 done, 1 failed while running, 2\n"
        "wrong use or configuration, 3 compare found a difference outside\n"
        "its limits or nothing to judge by, 75 paused by SIGUSR1, 130\n"
        "stopped by a signal.\n");
    return 0;
}

static int unknown_command(const char *name)
{
    struct fx8_nearest nearest = {.name = name};
    for (size_t i = 0; i < fx8_commands_count; i++)
        fx8_nearest_offer(&nearest, fx8_commands[i]->name, 0);
    struct fx8_error error;
    fx8_fail(&error, FX8_ERR_USAGE,
             "%s: unknown command%s%s%s (see fx8 --help)", name,
             nearest.word != NULL ? ": did you mean " : "",
             nearest.word != NULL ? nearest.word : "",
             nearest.word != NULL ? "?" : "");
    return fx8_command_error(&error);
}

/* Occupy closed standard descriptors, so that no file opened later becomes
 * standard output.  They are open for reading only: writing fails and is
 * noticed at the end. */
static void hold_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            (void)!open("/dev/null", O_RDONLY);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        struct fx8_error error;
        fx8_fail(&error, FX8_ERR_USAGE,
                 "no command: expected fx8 COMMAND (see fx8 --help)");
        return fx8_command_error(&error);
    }
    const bool is_help = strcmp(argv[1], "help") == 0;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (is_help && argc == 2))
        return print_help();
    if (strcmp(argv[1], "--version") == 0) {
        printf("fx8 %s\n", fx8_version());
        return 0;
    }
    const char *name = argv[is_help ? 2 : 1];
    const struct fx8_command *command = find_command(name);
    if (command == NULL)
        return unknown_command(name);
    if (is_help) {
        static char option[] = "--help";
        return fx8_command_run(command, 2, (char *[]){argv[2], option, NULL});
    }
    fx8_command_watch_signals(command->stops_at_once);
    return fx8_command_run(command, argc - 1, argv + 1);
}

/* A reader that left early, as head does, has what it wanted.  stdio does not
 * keep the error of an earlier write, so query the pipe itself. */
static bool has_reader_left(int write_error)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return write_error == EPIPE ||
           (write_error == 0 && poll(&output, 1, 0) == 1 &&
            (output.revents & POLLERR) != 0);
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    /* a closed pipe and a file-size limit become errors of write() */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    int code = dispatch(argc, argv);
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && !has_reader_left(errno)) {
        const int reason = errno;
        struct fx8_error error;
        fx8_fail(&error, FX8_ERR_SYSTEM,
                 "standard output: %s: expected to be written to the end",
                 reason != 0 ? strerror(reason) : "write failed");
        const int failure = fx8_command_error(&error);
        if (code == 0 || code == 3)
            code = failure;
    }
    return code;
}
