/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reference.c -- the manual page and the shell's completion.
 *
 * In the manual page options become tagged paragraphs; the notes of a command,
 * which are laid out by hand, are copied as they are.  Completion is four
 * functions generated from the tables, and a fixed one that uses them.
 */
#include "correlator/commands/command.h"

#include <string.h>

#include "config/keys.h"
#include "correlator/fx8.h"

/* --- roff ------------------------------------------------------------------
 */

/* Write one character so that roff prints it unchanged. */
static void put_character(FILE *stream, char character)
{
    static const struct {
        char character;
        const char *escape;
    } escapes[] = {
        {'\\', "\\e"},  {'-', "\\-"},   {'^', "\\(ha"},
        {'~', "\\(ti"}, {'`', "\\(ga"}, {'\'', "\\(aq"},
    };
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (escapes[i].character == character) {
            fputs(escapes[i].escape, stream);
            return;
        }
    fputc(character, stream);
}

static void put_part(FILE *stream, const char *text, int length)
{
    for (int i = 0; i < length; i++)
        put_character(stream, text[i]);
}

/* Write a line of text: a point at its beginning must not become a request. */
static void put_line(FILE *stream, const char *text, int length)
{
    if (length > 0 && text[0] == '.')
        fputs("\\&", stream);
    put_part(stream, text, length);
    fputc('\n', stream);
}

static void put_text(FILE *stream, const char *text)
{
    put_line(stream, text, (int)strlen(text));
}

/* Write in font B or I. */
static void put_font(FILE *stream, char font, const char *text)
{
    fprintf(stream, "\\f%c", font);
    put_part(stream, text, (int)strlen(text));
    fputs("\\fR", stream);
}

/* Write the rest of the text as laid out. */
static void put_verbatim(FILE *stream, const char *text)
{
    fputs(".PP\n.nf\n", stream);
    while (*text != '\0') {
        const int length = (int)strcspn(text, "\n");
        put_line(stream, text, length);
        text += length + (text[length] == '\n');
    }
    fputs(".fi\n", stream);
}

/* --- commands --------------------------------------------------------------
 */

static void put_option(FILE *stream, const struct fx8_option *option)
{
    fputs(".TP\n", stream);
    if (option->letter != 0)
        fprintf(stream, "\\fB\\-%c\\fR, ", option->letter);
    if (option->name != NULL) {
        fputs("\\fB\\-\\-", stream);
        put_part(stream, option->name, (int)strlen(option->name));
        fputs(option->argument != NULL ? "\\fR " : "\\fR", stream);
    }
    if (option->argument != NULL)
        put_font(stream, 'I', option->argument);
    fputc('\n', stream);
    put_text(stream, option->help);
}

static void put_command(FILE *stream, const struct fx8_command *command)
{
    fprintf(stream, ".SS %s\n\\fBfx8 %s\\fR ", command->name, command->name);
    put_text(stream, command->synopsis);
    fputs(".PP\n", stream);
    put_text(stream, command->summary);
    for (size_t i = 0; i < command->n_options; i++)
        put_option(stream, &command->options[i]);
    put_verbatim(stream, command->notes);
}

/* --- keys ------------------------------------------------------------------
 */

static void put_key(FILE *stream, const struct fx8_key *key)
{
    char accepted[FX8_KEY_EXPECTED_SIZE];
    fx8_key_describe(key, accepted);
    fputs(".TP\n", stream);
    put_font(stream, 'B', key->name);
    fputs(" = ", stream);
    put_text(stream, key->fallback == NULL ? "(required)" : key->fallback);
    put_part(stream, accepted, (int)strlen(accepted));
    fputs(".\n", stream);
    put_text(stream, key->help);
}

static void put_sections(FILE *stream)
{
    for (size_t s = 0; s < fx8_sections_count; s++) {
        fprintf(stream, ".SS [%s]\n", fx8_sections[s].name);
        put_text(stream, fx8_sections[s].help);
        for (size_t i = 0; i < fx8_keys_count; i++)
            if (strcmp(fx8_keys[i].section, fx8_sections[s].name) == 0)
                put_key(stream, &fx8_keys[i]);
    }
}

/* --- the page ---------------------------------------------------------------
 */

static const char description[] =
    ".SH DESCRIPTION\n"
    "Correlates recorded 8\\-bit antenna voltages in HDF5 into UVH5\n"
    "visibilities with times, flags and weights.  Results go to standard\n"
    "output, progress and messages to standard error.\n"
    "Options and files may come in any order; every command has\n"
    "\\fB\\-\\-help\\fR, and \\fBfx8 \\-\\-version\\fR prints the version.\n"
    ".SH COMMANDS\n";

static const char configuration[] =
    ".SH CONFIGURATION\n"
    "Lines are \"key = value\" under a [section]; a line that starts with # "
    "or\n"
    "; is a comment, and so is what follows a ; after a blank.  Relative\n"
    "paths are relative to the file.  A key without a value below is not\n"
    "given by default.  \\fB\\-\\-set\\fR \\fIsection.key=value\\fR gives any\n"
    "of them on the command line.\n";

static const char rest[] =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\ndone\n"
    ".TP\n.B 1\nfailed while running\n"
    ".TP\n.B 2\nwrong use or configuration\n"
    ".TP\n.B 3\n\\fBcompare\\fR found a difference outside its limits, or\n"
    "nothing to judge by\n"
    ".TP\n.B 75\n\\fBcorrelate\\fR was paused by SIGUSR1: \\fB\\-\\-resume\\fR "
    "goes on\n"
    ".TP\n.B 130\nstopped by a signal\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B FX8_CUDA_PLUGIN\n"
    "the plug\\-in for CUDA, instead of fx8\\-cuda.so beside the program, in\n"
    "\\&../lib and on the library path\n"
    ".TP\n.B FX8_MPI_PLUGIN\n"
    "the same for MPI, instead of fx8\\-mpi.so\n"
    ".TP\n.B TMPDIR\nwhere \\fBbench\\fR puts its recordings\n"
    ".SH EXAMPLES\n"
    ".nf\n"
    "fx8 info night1.h5\n"
    "fx8 correlate array.ini night1.h5 \\-o night1.uvh5\n"
    "fx8 correlate array.ini night1.h5 \\-\\-precision both \\-o night1.uvh5\n"
    "fx8 compare night1.int8.uvh5 night1.fp32.uvh5\n"
    ".fi\n";

void fx8_reference_man(FILE *stream)
{
    fprintf(stream,
            ".\\\" Made by fx8 config --man.\n"
            ".TH FX8 1 \"\" \"fx8 %s\" \"User Commands\"\n"
            ".SH NAME\n"
            "fx8 \\- FX cross\\-correlator for recorded observations\n"
            ".SH SYNOPSIS\n"
            "\\fBfx8\\fR \\fICOMMAND\\fR [\\fIoptions\\fR] \\fIFILE\\fR...\n"
            "%s",
            fx8_version(), description);
    for (size_t i = 0; i < fx8_commands_count; i++)
        put_command(stream, fx8_commands[i]);
    fputs(configuration, stream);
    put_sections(stream);
    fputs(rest, stream);
}

/* --- completion: what an option or a place takes -------------------------- */

/* Print what completes an argument, as the script's functions do: "keys",
 * "words A B", "files PATTERN" or a bare "words". */
static void put_kind(FILE *stream, const char *argument, int length)
{
    const char *last = argument + length;
    while (last > argument && last[-1] != '.')
        last--;
    if (memchr(argument, '=', (size_t)length) != NULL)
        fputs("keys", stream);
    else if (memchr(argument, '|', (size_t)length) != NULL) {
        fputs("words ", stream);
        for (int i = 0; i < length; i++)
            fputc(argument[i] == '|' ? ' ' : argument[i], stream);
    } else if (last > argument)
        fprintf(stream, "files *.%.*s", (int)(argument + length - last), last);
    else if (length == 4 && strncmp(argument, "FILE", 4) == 0)
        fputs("files *", stream);
    else
        fputs("words", stream);
}

/* --- options ----------------------------------------------------------------
 */

static void put_option_names(FILE *stream, const struct fx8_command *command)
{
    fprintf(stream, "    %s) echo '", command->name);
    for (size_t i = 0; i < command->n_options; i++)
        if (command->options[i].name != NULL)
            fprintf(stream, "--%s ", command->options[i].name);
    fputs("--help' ;;\n", stream);
}

/* A line for each option that takes an argument. */
static void put_arguments(FILE *stream, const struct fx8_command *command)
{
    for (size_t i = 0; i < command->n_options; i++) {
        const struct fx8_option *option = &command->options[i];
        if (option->name == NULL || option->argument == NULL)
            continue;
        fprintf(stream, "    '%s --%s'", command->name, option->name);
        if (option->letter != 0)
            fprintf(stream, " | '%s -%c'", command->name, option->letter);
        fputs(") echo '", stream);
        put_kind(stream, option->argument, (int)strlen(option->argument));
        fputs("' ;;\n", stream);
    }
}

/* The next file in a synopsis, skipping options in brackets; NULL if an option
 * or an alternative comes first. */
static const char *find_file(const char *synopsis)
{
    synopsis += strspn(synopsis, " ]");
    while (strncmp(synopsis, "[-", 2) == 0) {
        synopsis += strcspn(synopsis, "]");
        synopsis += strspn(synopsis, "]. ");
    }
    synopsis += synopsis[0] == '[';
    return synopsis[0] == '\0' || strchr("-|", synopsis[0]) != NULL ||
                   strncmp(synopsis, "options", 7) == 0
               ? NULL
               : synopsis;
}

/* Lines for the files of a command: first, second ... of its synopsis; the last
 * one also covers all that follow. */
static void put_files(FILE *stream, const struct fx8_command *command)
{
    const char *text = find_file(command->synopsis);
    for (int place = 1; text != NULL; place++) {
        const int length = (int)strcspn(text, " ]");
        const char *next = find_file(text + length);
        fprintf(stream, "    '%s '", command->name);
        if (next == NULL)
            fputs("*) echo '", stream);
        else
            fprintf(stream, "%d) echo '", place);
        if (length > 3 && strncmp(text + length - 3, "...", 3) == 0)
            fputs("files *", stream);
        else
            put_kind(stream, text, length);
        fputs("' ;;\n", stream);
        text = next;
    }
}

/* --- keys -------------------------------------------------------------------
 */

static bool is_plain(const char *word)
{
    return word[0] != '\0' && strpbrk(word, " '") == NULL;
}

/* A line for a key whose value is one of several words, or a file. */
static void put_values(FILE *stream, const struct fx8_key *key)
{
    const bool is_path =
        key->type == &fx8_type_path || key->type == &fx8_type_path_list;
    const bool has_word = key->word != NULL && is_plain(key->word);
    if (!is_path && !has_word && key->choices == NULL)
        return;
    fprintf(stream, "    %s.%s) echo '", key->section, key->name);
    if (is_path)
        fputs("files *", stream);
    else {
        fputs("words", stream);
        if (has_word)
            fprintf(stream, " %s", key->word);
        const struct fx8_choice *choice = key->choices;
        for (; choice != NULL && choice->name != NULL; choice++)
            if (is_plain(choice->name))
                fprintf(stream, " %s", choice->name);
    }
    fputs("' ;;\n", stream);
}

/* --- the script -------------------------------------------------------------
 */

static const char logic[] =
    "# Words of the line; bash takes them apart at =, which is undone.\n"
    "_fx8_words() {\n"
    "    local i word glue=\n"
    "    words=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $glue || $word == '=' ]]; then\n"
    "            words[${#words[@]}-1]+=$word\n"
    "        else\n"
    "            words+=(\"$word\")\n"
    "        fi\n"
    "        [[ $word == '=' ]] && glue=1 || glue=\n"
    "    done\n"
    "}\n"
    "\n"
    "# Which file of the command the last word is, from 1.\n"
    "_fx8_place() {\n"
    "    local i place=1\n"
    "    for ((i = 2; i < ${#words[@]} - 1; i++)); do\n"
    "        if [[ ${words[i]} != -* ]]; then\n"
    "            ((place++))\n"
    "        elif [[ $(_fx8_argument \"${words[1]} ${words[i]}\") ]]; then\n"
    "            ((i++))\n"
    "        fi\n"
    "    done\n"
    "    echo $place\n"
    "}\n"
    "\n"
    "# COMPREPLY for the text $1 of kind $2.\n"
    "_fx8_reply() {\n"
    "    local what=${2#* }\n"
    "    case $2 in\n"
    "    keys)\n"
    "        mapfile -t COMPREPLY < <(compgen -S = -W \"$(_fx8_keys)\" -- "
    "\"$1\")\n"
    "        compopt -o nospace 2>/dev/null ;;\n"
    "    'words '*)\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$what\" -- \"$1\") ;;\n"
    "    files*)\n"
    "        mapfile -t COMPREPLY < <(compgen -d -- \"$1\"\n"
    "            compgen -f -X \"!$what\" -- \"$1\")\n"
    "        compopt -o filenames 2>/dev/null ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "_fx8() {\n"
    "    local words text kind before lead=\n"
    "    COMPREPLY=()\n"
    "    _fx8_words\n"
    "    text=${words[${#words[@]}-1]}\n"
    "    before=${words[${#words[@]}-2]}\n"
    "    if ((${#words[@]} == 2)); then\n"
    "        _fx8_reply \"$text\" \"words $(_fx8_commands)\"\n"
    "        return\n"
    "    fi\n"
    "    if [[ $text == --*=* ]]; then\n"
    "        before=${text%%=*} lead=${text%%=*}=\n"
    "        text=${text#*=}\n"
    "    fi\n"
    "    kind=$(_fx8_argument \"${words[1]} $before\")\n"
    "    if [[ $kind == keys && $text == *=* ]]; then\n"
    "        kind=$(_fx8_values \"${text%%=*}\")\n"
    "        lead+=${text%%=*}=\n"
    "        text=${text#*=}\n"
    "    elif [[ ! $kind && $text == -* ]]; then\n"
    "        kind=\"words $(_fx8_options \"${words[1]}\")\"\n"
    "    elif [[ ! $kind ]]; then\n"
    "        kind=$(_fx8_file \"${words[1]} $(_fx8_place)\")\n"
    "    fi\n"
    "    _fx8_reply \"$text\" \"$kind\"\n"
    "    # where = parts no words, repeat what is before it\n"
    "    [[ $COMP_WORDBREAKS == *=* ]] || "
    "COMPREPLY=(\"${COMPREPLY[@]/#/$lead}\")\n"
    "}\n"
    "complete -F _fx8 fx8\n";

static void put_function(FILE *stream, const char *name,
                         void (*put)(FILE *, const struct fx8_command *))
{
    fprintf(stream, "%s() {\n    case $1 in\n", name);
    for (size_t i = 0; i < fx8_commands_count; i++)
        put(stream, fx8_commands[i]);
    fputs("    esac\n}\n\n", stream);
}

void fx8_reference_completion(FILE *stream)
{
    fprintf(stream,
            "# Completion for bash of fx8 %s; made by fx8 config "
            "--completion.\n\n_fx8_commands() {\n    echo '",
            fx8_version());
    for (size_t i = 0; i < fx8_commands_count; i++)
        fprintf(stream, "%s ", fx8_commands[i]->name);
    fputs("--help --version'\n}\n\n# Options of a command.\n", stream);
    put_function(stream, "_fx8_options", put_option_names);
    fputs("# What an option of a command takes.\n", stream);
    put_function(stream, "_fx8_argument", put_arguments);
    fputs("# What a command takes in a place.\n", stream);
    put_function(stream, "_fx8_file", put_files);
    fputs("_fx8_keys() {\n    echo '", stream);
    for (size_t i = 0; i < fx8_keys_count; i++)
        fprintf(stream, "%s%s.%s", i > 0 ? "\n" : "", fx8_keys[i].section,
                fx8_keys[i].name);
    fputs("'\n}\n\n# Values of a key.\n_fx8_values() {\n    case $1 in\n",
          stream);
    for (size_t i = 0; i < fx8_keys_count; i++)
        put_values(stream, &fx8_keys[i]);
    fputs("    esac\n}\n\n", stream);
    fputs(logic, stream);
}
