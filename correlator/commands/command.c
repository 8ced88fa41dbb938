/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "correlator/commands/command.h"
#include "correlator/run/progress.h"
#include "io/output.h"
#include "io/parts.h"
#include "io/uvh5/uvh5.h"

const struct fx8_command *const fx8_commands[] = {
    &fx8_command_correlate, &fx8_command_compare, &fx8_command_info,
    &fx8_command_plot,      &fx8_command_image,   &fx8_command_simulate,
    &fx8_command_fringe,    &fx8_command_join,    &fx8_command_config,
    &fx8_command_plan,      &fx8_command_bench,
};
const size_t fx8_commands_count = sizeof fx8_commands / sizeof *fx8_commands;

/* Used by the signal handler.  Any thread may run it, so these are atomic, and
 * lock-free as a handler requires. */
static atomic_int n_signals;
static atomic_bool stops_at_once;
static atomic_bool is_paused;
static _Atomic(const char *) temporary; /* removed on a stop; or NULL */

/* 0 done, 1 failed while running, 2 wrong use or configuration, 3 outside
 * limits, 130 cancelled by a signal, 75 (EX_TEMPFAIL) paused by one. */
static int exit_code(enum fx8_status status)
{
    if (status >= 0)
        return 0;
    if (status == FX8_ERR_USAGE)
        return 2;
    if (status == FX8_COMMAND_OUTSIDE)
        return 3;
    if (status == FX8_ERR_CANCELLED)
        return is_paused ? 75 : 130;
    return 1;
}

int fx8_command_error(const struct fx8_error *error)
{
    if (error->message[0] != '\0')
        fprintf(stderr, "fx8: error: %s\n", error->message);
    return exit_code(error->status);
}

void fx8_command_warning(const char *format, ...)
{
    char text[FX8_ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "fx8: warning: ");
    fx8_text_print(text, stderr);
    fprintf(stderr, "\n");
}

void fx8_command_warn_of_name(const char *path, const char *written,
                              bool is_uvh5)
{
    static const struct {
        const char *ending, *method;
    } formats[] = {
        {".ms", "write_ms"},
        {".uvfits", "write_uvfits"},
        {".fits", "write_uvfits"},
    };
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const size_t tail = strlen(formats[i].ending);
        if (length <= tail ||
            strcasecmp(path + length - tail, formats[i].ending) != 0)
            continue;
        const int stem = (int)(length - tail);
        char how[FX8_ERROR_MESSAGE_SIZE] = "";
        if (is_uvh5)
            snprintf(how, sizeof how,
                     ": expected %.*s.uvh5; in Python, UVData.from_file("
                     "\"%.*s.uvh5\").%s(\"%s\", force_phase=True) converts it",
                     stem, path, stem, path, formats[i].method, path);
        fx8_command_warning("%s: %s is written, whatever the name%s", path,
                            written, how);
    }
}

enum fx8_status fx8_command_misuse(const struct fx8_command_line *line,
                                   struct fx8_error *error, const char *format,
                                   ...)
{
    char text[FX8_ERROR_MESSAGE_SIZE - 40]; /* room for the end */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fx8_fail(error, FX8_ERR_USAGE, "%s (see fx8 %s --help)", text,
                    line->command->name);
}

enum fx8_status fx8_command_open_output(const struct fx8_command_line *line,
                                        const char *path, bool force,
                                        struct fx8_output **output,
                                        struct fx8_error *error)
{
    FX8_AUTO(fx8_uvh5_file_close) struct fx8_uvh5_file *file = NULL;
    FX8_AUTO(fx8_uvh5_header_clear) struct fx8_uvh5_header header = {0};
    FX8_TRY(fx8_uvh5_open(line->files[0], &file, &header, error));
    return fx8_output_open(path, force, 0, NULL, output, error);
}

enum fx8_status fx8_command_take_place(const struct fx8_command_line *line,
                                       size_t option, double icrs_deg[2],
                                       struct fx8_error *error)
{
    const char *text = line->given[option], *comma = strchr(text, ',');
    FX8_AUTO_FREE char *first =
        strndup(text, comma != NULL ? (size_t)(comma - text) : 0);
    if (first == NULL)
        return fx8_no_memory("arguments", error);
    if (comma == NULL || !fx8_number_real(first, &icrs_deg[0]) ||
        !fx8_number_real(comma + 1, &icrs_deg[1]) || icrs_deg[0] < 0.0 ||
        icrs_deg[0] >= 360.0 || icrs_deg[1] < -90.0 || icrs_deg[1] > 90.0)
        return fx8_command_misuse(line, error,
                                  "--%s: %s: expected right ascension (0 to "
                                  "360) and declination (-90 to 90) in "
                                  "degrees, separated by a comma",
                                  line->command->options[option].name, text);
    return FX8_OK;
}

static void put_text(const char *text, FILE *stream)
{
    fputs(text, stream);
}

/* Print a word so that a shell takes it for one. */
static void put_word(const char *word, FILE *stream)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz"
                                "0123456789%+,-./:=@_";
    if (*word != '\0' && word[strspn(word, plain)] == '\0') {
        fputs(word, stream);
        return;
    }
    fputc('\'', stream);
    for (; *word != '\0'; word++)
        if (*word == '\'')
            fputs("'\\''", stream);
        else
            fputc(*word, stream);
    fputc('\'', stream);
}

static char *join(const char *first, char *const *items, size_t n,
                  void (*put)(const char *item, FILE *stream))
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    fputs(first, stream);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 || *first != '\0')
            fputc(' ', stream);
        put(items[i], stream);
    }
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

char *fx8_command_join_texts(const char *first, char *const *items, size_t n)
{
    return join(first, items, n, put_text);
}

char *fx8_command_join_words(const char *first, char *const *items, size_t n)
{
    return join(first, items, n, put_word);
}

/* Async-signal-safe, like everything it calls. */
static void stop_now(void)
{
    static const char message[] = "fx8: error: stopped by a signal\n";
    static const char removed[] =
        "fx8: error: stopped by a signal: nothing is written\n";
    const char *file = temporary;
    const bool is_removed = fx8_part_remove_all() > 0 || file != NULL;
    if (file != NULL)
        (void)unlink(file);
    fx8_progress_wipe();
    if (write(STDERR_FILENO, is_removed ? removed : message,
              (is_removed ? sizeof removed : sizeof message) - 1) < 0)
        errno = 0; /* nothing else to do */
    _exit(exit_code(FX8_ERR_CANCELLED));
}

static void take_signal(int number)
{
    (void)number;
    n_signals++;
    if (stops_at_once)
        stop_now();
}

void fx8_command_pause(void)
{
    is_paused = true;
}

static void take_pause(int number)
{
    (void)number;
    fx8_command_pause();
}

void fx8_command_watch_signals(bool stop_at_once)
{
    stops_at_once = stop_at_once;
    /* SA_RESTART: a signal must not make a read or write fail */
    struct sigaction action = {.sa_flags = SA_RESTART}, before;
    action.sa_handler = stop_at_once ? take_signal : take_pause;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = take_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* leave it ignored under nohup */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

bool fx8_command_is_paused(void)
{
    return is_paused;
}

void fx8_command_count_signals(void)
{
    stops_at_once = false;
    temporary = NULL;
}

void fx8_command_stop_at_once(const char *file)
{
    temporary = file;
    stops_at_once = true;
    if (n_signals > 0)
        stop_now();
}

int fx8_command_interrupted(void)
{
    return n_signals + is_paused;
}
