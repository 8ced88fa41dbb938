/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text.h -- reading small text files, and paths: shared by the readers of INI,
 * CSV and JSON.
 */
#ifndef FX8_CONFIG_BASE_TEXT_H
#define FX8_CONFIG_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "correlator/fx8.h"

/** Largest text file that is read, in bytes: enough for a table of 65,536
 *  antennas, too small for a recording named by mistake. */
#define FX8_TEXT_FILE_MAX ((size_t)16 << 20)

/**
 * fx8_text_read -- a whole text file, terminated by NUL.
 *
 * Returned:  text  line ends are '\n' (CR LF too), a UTF-8 byte order mark is
 *                  removed; the only control characters are '\t' and '\n'
 * Status:    FX8_ERR_USAGE "FILE[:LINE]: ..." if the file cannot be read, is
 *            not a regular file (pipes are refused without waiting), is longer
 *            than FX8_TEXT_FILE_MAX or has other control characters (a binary
 *            file); FX8_ERR_SYSTEM when memory is short
 * Ownership: the caller releases `text` with free(); NULL after failure
 */
enum fx8_status fx8_text_read(const char *path, char **text,
                              struct fx8_error *error);

/** Trim blanks and tabs at both ends, in place; returns the new start. */
char *fx8_text_trim(char *text);

/** Whether a text is printable ASCII. */
bool fx8_text_is_ascii(const char *text);

/** Print a text as part of a line: fx8_line_letter() for each letter. */
void fx8_text_print(const char *text, FILE *stream);

/** Folder part of a path with its slash, "" for a bare name; NULL when memory
 *  is short; free() it. */
char *fx8_path_folder(const char *path);

/** "FOLDER/PATH", or only the path if it is absolute or the folder is ""; NULL
 *  when memory is short; free() it. */
char *fx8_path_join(const char *folder, const char *path);

/** Where to look for a path: in `folder`, or for "~/PATH" in the home folder;
 *  *path is then the rest. */
const char *fx8_path_home(const char **path, const char *folder);

/** Whether there is a folder of that name. */
bool fx8_path_is_folder(const char *path);

/** Whether a text has characters that glob() expands. */
bool fx8_path_is_pattern(const char *path);

/** As fx8_path_join(), with glob() characters in `folder` escaped. */
char *fx8_path_join_pattern(const char *folder, const char *pattern);

#endif
