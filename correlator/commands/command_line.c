/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command_line.c -- uses of a command's table of options: to parse its command
 * line, and to print its help.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "config/base/line.h"
#include "config/base/nearest.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/settings.h"
#include "correlator/commands/command.h"
#include "correlator/ranks/ranks.h"

/* A command line while it is parsed; `line` points into it. */
struct parsed {
    struct fx8_command_line line;
    char *text;
    struct option *options; /* [n_options + 2] for getopt_long() */
    size_t n_typed;         /* settings from argv, before those of options */
    struct fx8_text_list values; /* those not as typed: of "~/FILE", "FP32" */
    bool wants_help;
};

/* --- help -------------------------------------------------------- */

#define TEXT_COLUMN 26
#define LAST_COLUMN 79

/* Print a paragraph from `column` on, indented to TEXT_COLUMN. */
static void print_paragraph(const char *text, int column)
{
    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");
        if (column > TEXT_COLUMN && column + 1 + length > LAST_COLUMN) {
            printf("\n%*s", TEXT_COLUMN, "");
            column = TEXT_COLUMN;
        }
        const int gap = column > TEXT_COLUMN ? 1 : TEXT_COLUMN - column;
        printf("%*s%.*s", gap, "", length, text);
        column += gap + length;
        text += length + (text[length] == ' ');
    }
    printf("\n");
}

/* Print the words of an argument; returns the column behind them. */
static int print_argument(const char *argument, int column)
{
    const int begin = column;
    while (*argument != '\0') {
        const int length =
            (int)(strcspn(argument, "|") + (strchr(argument, '|') != NULL));
        if (column + length > LAST_COLUMN) {
            printf("\n%*s", begin, "");
            column = begin;
        }
        column += printf("%.*s", length, argument);
        argument += length;
    }
    return column;
}

static void print_option(const struct fx8_option *option)
{
    int column = printf("  ");
    if (option->letter != 0)
        column += printf("-%c, ", option->letter);
    if (option->name != NULL)
        column +=
            printf("--%s%s", option->name, option->argument != NULL ? " " : "");
    if (option->argument != NULL)
        column = print_argument(option->argument, column);
    if (column >= TEXT_COLUMN) {
        printf("\n");
        column = 0;
    }
    print_paragraph(option->help, column);
}

static void print_help(const struct fx8_command *command)
{
    printf("usage: fx8 %s %s\n\n%s\n\n", command->name, command->synopsis,
           command->summary);
    for (size_t i = 0; i < command->n_options; i++)
        print_option(&command->options[i]);
    printf("\n%s", command->notes);
}

/* --- errors ------------------------------------------------------ */

/* Number of long options, --help included, that begin with these letters. */
static size_t count_beginning(const struct fx8_command *command,
                              const char *letters, size_t n)
{
    size_t count = strncmp("help", letters, n) == 0;
    for (size_t i = 0; i < command->n_options; i++) {
        const char *name = command->options[i].name;
        count += name != NULL && strncmp(name, letters, n) == 0;
    }
    return count;
}

/* "--NAME" or "--NAME=VALUE" that is not an option. */
static enum fx8_status refuse_name(const struct fx8_command_line *line,
                                   const char *given, struct fx8_error *error)
{
    const struct fx8_command *command = line->command;
    char name[FX8_ERROR_MESSAGE_SIZE];
    const char *start = given + strspn(given, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "="), start);
    struct fx8_nearest nearest = {.name = name};
    for (size_t i = 0; i < command->n_options; i++)
        if (command->options[i].name != NULL)
            fx8_nearest_offer(&nearest, command->options[i].name, 0);
    if (nearest.word == NULL)
        return fx8_command_misuse(line, error, "%s: unknown option", given);
    return fx8_command_misuse(line, error,
                              "%s: unknown option; did you mean --%s?", given,
                              nearest.word);
}

/* Handle '?' and ':' of getopt_long(); the option string starts with ":" so
 * that the two differ, and opterr is 0. */
static enum fx8_status refuse_option(const struct fx8_command_line *line,
                                     int option, char **argv,
                                     struct fx8_error *error)
{
    /* optind is after a faulty long option, but may still be at a faulty letter
     * of a group such as -xy: optopt is the letter */
    const char *given = argv[optind > 0 ? optind - 1 : 0];
    char letter[3] = {'-', (char)optopt, '\0'};
    const char *name =
        strncmp(given, "--", 2) == 0 || optopt == 0 ? given : letter;
    if (option == ':')
        return fx8_command_misuse(line, error, "%s: expected a value after it",
                                  name);
    const size_t length = strcspn(given, "=");
    if (optopt != 0 && name == given)
        return fx8_command_misuse(line, error, "%.*s: takes no value",
                                  (int)length, given);
    if (name == given && length > 2 &&
        count_beginning(line->command, given + 2, length - 2) > 1)
        return fx8_command_misuse(line, error,
                                  "%.*s: several options begin so: expected "
                                  "more of its letters",
                                  (int)length, given);
    return name == given
               ? refuse_name(line, given, error)
               : fx8_command_misuse(line, error, "%s: unknown option", name);
}

/* Room for "a, b or c". */
#define WORDS_SIZE 256

/* The one of the words "a|b|c" that a value is, in letters of either case, and
 * its *length; or NULL.  *list becomes "a, b or c". */
static const char *find_word(const char *words, const char *value,
                             size_t *length_found, char list[WORDS_SIZE])
{
    const char *found = NULL;
    size_t end = 0;
    list[0] = '\0';
    for (const char *word = words, *next; word != NULL; word = next) {
        const int length = (int)strcspn(word, "|");
        next = word[length] == '|' ? word + length + 1 : NULL;
        if (strlen(value) == (size_t)length &&
            strncasecmp(value, word, (size_t)length) == 0) {
            found = word;
            *length_found = (size_t)length;
        }
        const char *comma = next == NULL ? " or " : ", ";
        if (end < WORDS_SIZE)
            end += (size_t)snprintf(list + end, WORDS_SIZE - end, "%s%.*s",
                                    word == words ? "" : comma, length, word);
    }
    return found;
}

/* --- options ----------------------------------------------------- */

/* Whether an option takes "FILE" or "OUT.uvh5". */
static bool takes_file(const struct fx8_option *option)
{
    const char *argument = option->argument;
    return argument != NULL &&
           (strcmp(argument, "FILE") == 0 ||
            (strchr(argument, '.') != NULL && strpbrk(argument, "|=") == NULL));
}

/* Let *value be a text that the parsed line owns; NULL: memory is short. */
static enum fx8_status replace(struct parsed *parsed, char *text,
                               const char **value, struct fx8_error *error)
{
    FX8_TRY(fx8_text_list_add(&parsed->values, text, error));
    *value = parsed->values.items[parsed->values.count - 1];
    return FX8_OK;
}

/* The shell does not know that --output=~/FILE has a path. */
static enum fx8_status expand_home(struct parsed *parsed, const char **value,
                                   struct fx8_error *error)
{
    const char *rest = *value, *home = fx8_path_home(&rest, "");
    return rest == *value
               ? FX8_OK
               : replace(parsed, fx8_path_join(home, rest), value, error);
}

/* One of an option's words, as the table writes it. */
static enum fx8_status take_word(struct parsed *parsed,
                                 const struct fx8_option *option,
                                 const char **value, struct fx8_error *error)
{
    char list[WORDS_SIZE];
    size_t length = 0;
    const char *word = find_word(option->argument, *value, &length, list);
    return word == NULL ? fx8_command_misuse(&parsed->line, error,
                                             "--%s: %s: expected %s",
                                             option->name, *value, list)
                        : replace(parsed, strndup(word, length), value, error);
}

static enum fx8_status take_option(struct parsed *parsed, size_t index,
                                   struct fx8_error *error)
{
    const struct fx8_command_line *line = &parsed->line;
    const struct fx8_option *option = &line->command->options[index];
    const char *value = option->argument != NULL ? optarg : "";
    const char **given = &parsed->line.given[index];
    if (option->is_once && *given != NULL)
        return fx8_command_misuse(line, error, "--%s: %s: expected it once",
                                  option->name, value);
    if (takes_file(option) && strcmp(value, "-") == 0)
        return fx8_command_misuse(line, error,
                                  "--%s: -: expected the name of a file, not a "
                                  "standard stream",
                                  option->name);
    if (takes_file(option))
        FX8_TRY(expand_home(parsed, &value, error));
    if (option->argument != NULL && strchr(option->argument, '|') != NULL)
        FX8_TRY(take_word(parsed, option, &value, error));
    if (option->key != NULL && strcmp(option->key, FX8_ANY_KEY) == 0)
        parsed->line.settings[parsed->n_typed++] = value;
    *given = value;
    return FX8_OK;
}

/* getopt_long() returns the index of a long option, or the letter of a short
 * one. */
static enum fx8_status take_options(struct parsed *parsed, int argc,
                                    char **argv, struct fx8_error *error)
{
    const struct fx8_command *command = parsed->line.command;
    const int first_index = 256;
    char letters[2 * 26 + 3] = ":h";
    size_t n_long = 0;
    for (size_t i = 0; i < command->n_options; i++) {
        const struct fx8_option *option = &command->options[i];
        const bool takes = option->argument != NULL;
        const char letter[] = {option->letter, takes ? ':' : '\0', '\0'};
        if (option->name == NULL)
            continue;
        strcat(letters, letter); /* "" without a letter */
        parsed->options[n_long++] = (struct option){
            option->name, takes ? required_argument : no_argument, NULL,
            first_index + (int)i};
    }
    parsed->options[n_long] = (struct option){"help", no_argument, NULL, 'h'};
    opterr = 0;
    for (int found; (found = getopt_long(argc, argv, letters, parsed->options,
                                         NULL)) != -1;) {
        size_t index = 0;
        if (found == '?' || found == ':')
            return refuse_option(&parsed->line, found, argv, error);
        parsed->wants_help = found == 'h';
        if (parsed->wants_help)
            return FX8_OK;
        if (found >= first_index)
            index = (size_t)(found - first_index);
        else
            while (command->options[index].letter != found)
                index++;
        FX8_TRY(take_option(parsed, index, error));
    }
    parsed->line.files = argv + optind;
    parsed->line.n_files = (size_t)(argc - optind);
    return FX8_OK;
}

/* --precision X is --set correlator.precision=X, and so on. */
static enum fx8_status add_settings(struct parsed *parsed,
                                    struct fx8_error *error)
{
    struct fx8_command_line *line = &parsed->line;
    line->n_settings = parsed->n_typed;
    for (size_t i = 0; i < line->command->n_options; i++) {
        const char *key = line->command->options[i].key;
        char *text;
        if (line->given[i] == NULL || key == NULL ||
            strcmp(key, FX8_ANY_KEY) == 0)
            continue;
        if (asprintf(&text, "%s=%s", key, line->given[i]) < 0)
            return fx8_no_memory("arguments", error);
        line->settings[line->n_settings++] = text;
    }
    return FX8_OK;
}

/* --- the line ---------------------------------------------------- */

char *fx8_command_with(const struct fx8_command_line *line, const char *option)
{
    const char *name = line->command->name;
    const char *rest = line->text + strlen("fx8 ") + strlen(name);
    FX8_AUTO_FREE char *program =
        fx8_command_join_words("", &program_invocation_name, 1);
    char *text;
    /* in front, as the line may have -- */
    if (program == NULL ||
        asprintf(&text, "%s %s %s%s", program, name, option, rest) < 0)
        return NULL;
    for (const char *c = text; *c != '\0'; c++)
        if (fx8_line_letter(*c) != *c) {
            free(text);
            return NULL;
        }
    return text;
}

static enum fx8_status open_line(struct parsed *parsed, int argc, char **argv,
                                 struct fx8_error *error)
{
    struct fx8_command_line *line = &parsed->line;
    const size_t n = line->command->n_options;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(parsed->options, n + 2), FX8_ITEMS(line->given, n),
        FX8_ITEMS(line->settings, (size_t)argc + n)};
    line->text = parsed->text =
        fx8_command_join_words("fx8", argv, (size_t)argc);
    return parsed->text == NULL
               ? fx8_no_memory("arguments", error)
               : fx8_allocate_arrays(arrays, 3, "arguments", error);
}

static void close_line(struct parsed *parsed)
{
    struct fx8_command_line *line = &parsed->line;
    for (size_t i = parsed->n_typed; i < line->n_settings; i++)
        free((char *)line->settings[i]);
    fx8_text_list_clear(&parsed->values);
    free(line->settings);
    free(line->given);
    free(parsed->options);
    free(parsed->text);
}

static enum fx8_status parse(struct parsed *parsed, int argc, char **argv,
                             struct fx8_error *error)
{
    FX8_TRY(open_line(parsed, argc, argv, error));
    FX8_TRY(take_options(parsed, argc, argv, error));
    return parsed->wants_help ? FX8_OK : add_settings(parsed, error);
}

/* Ranks have one command line: the first of them reports a fault in it.  The
 * others end later, because a launcher stops all when one has failed. */
static void hush_copies(int argc, char **argv, struct fx8_error *error)
{
    bool has_ranks = false;
    for (int i = 1; i < argc; i++)
        has_ranks = has_ranks || strcmp(argv[i], "--mpi") == 0;
    if (!has_ranks || !fx8_ranks_is_copy())
        return;
    error->message[0] = '\0';
    sleep(1);
}

int fx8_command_run(const struct fx8_command *command, int argc, char **argv)
{
    struct parsed parsed = {.line.command = command};
    struct fx8_error error;
    enum fx8_status status = parse(&parsed, argc, argv, &error);
    if (status != FX8_OK)
        hush_copies(argc, argv, &error);
    else if (parsed.wants_help)
        print_help(command);
    else
        status = command->run(&parsed.line, &error);
    close_line(&parsed);
    return status == FX8_OK ? 0 : fx8_command_error(&error);
}
