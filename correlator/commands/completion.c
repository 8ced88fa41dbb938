/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion of fx8 in bash: four functions generated from the tables, and a
 * fixed one that uses them.
 */
#include <string.h>

#include "config/keys.h"
#include "correlator/commands/command.h"
#include "correlator/fx8.h"

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
            if (!choice->is_later && is_plain(choice->name))
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
