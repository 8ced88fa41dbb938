/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manual page.  Options become tagged paragraphs; the notes of a command,
 * which are laid out by hand, are copied as they are.
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
        fputs("\\fR", stream);
    }
    if (option->name != NULL && option->argument != NULL)
        fputc(' ', stream);
    if (option->argument != NULL)
        put_font(stream, 'I', option->argument);
    fputc('\n', stream);
    put_text(stream, option->help);
}

static void put_command(FILE *stream, const struct fx8_command *command)
{
    fputs(".SS ", stream);
    put_text(stream, command->name);
    fputs("\\fBfx8 ", stream);
    put_part(stream, command->name, (int)strlen(command->name));
    fputs("\\fR ", stream);
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
    if (key->fallback == NULL)
        put_text(stream, "(required)");
    else
        put_text(stream, key->fallback);
    put_part(stream, accepted, (int)strlen(accepted));
    fputs(".\n", stream);
    put_text(stream, key->help);
    if (key->default_only)
        fputs("Not built yet: only the default is accepted.\n", stream);
}

static void put_sections(FILE *stream)
{
    for (size_t s = 0; s < fx8_sections_count; s++) {
        fputs(".SS [", stream);
        fputs(fx8_sections[s].name, stream);
        fputs("]\n", stream);
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
    ".TP\n.B 130\nstopped by a signal\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B FX8_CUDA_PLUGIN\n"
    "the plug\\-in for CUDA, instead of fx8\\-cuda.so beside the program, in\n"
    "\\&../lib and on the library path\n"
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
