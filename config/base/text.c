/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/line.h"
#include "config/base/read_files.h"
#include "config/base/shape.h"
#include "config/base/text.h"

/* Open a regular file.  Opening a pipe without a writer would block forever,
 * despite signals, so open without blocking and then refuse. */
static FILE *open_regular(const char *path, struct fx8_error *error)
{
    FILE *file = NULL;
    struct stat status;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) {
        close(fd);
        fx8_fail(error, FX8_ERR_USAGE, "%s: expected a regular file", path);
        return NULL;
    }
    if (fd < 0 || !fx8_read_files_add(&status) ||
        (file = fdopen(fd, "rb")) == NULL) {
        fx8_fail(error, FX8_ERR_USAGE, "%s: cannot be read: %s", path,
                 strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    return file;
}

/* Read all of `file`.  Files below /proc report no size. */
static enum fx8_status read_all(FILE *file, const char *path, char **text,
                                size_t *size, struct fx8_error *error)
{
    size_t room = 0;
    *size = 0;
    do {
        room = room == 0 ? 4096 : room * 2;
        char *larger = realloc(*text, room + 1);
        if (larger == NULL)
            return fx8_no_memory(path, error);
        *text = larger;
        errno = 0;
        *size += fread(*text + *size, 1, room - *size, file);
        if (ferror(file))
            return fx8_fail(error, FX8_ERR_USAGE, "%s: cannot be read: %s",
                            path, strerror(errno));
    } while (*size == room && room <= FX8_TEXT_FILE_MAX);
    if (*size > FX8_TEXT_FILE_MAX)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: expected a text file of at most %zu bytes", path,
                        FX8_TEXT_FILE_MAX);
    (*text)[*size] = '\0';
    return FX8_OK;
}

/* In place: drop the byte order mark, turn "\r\n" into '\n', refuse other
 * control characters. */
static enum fx8_status clean(const char *path, char *text, size_t size,
                             struct fx8_error *error)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t line = 1, to = 0;
    size_t from = size >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    for (; from < size; from++) {
        const unsigned char c = (unsigned char)text[from];
        if (c == '\r' && (from + 1 == size || text[from + 1] == '\n'))
            continue;
        if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s:%zu: byte 0x%02x: expected a text file", path,
                            line, c);
        line += c == '\n';
        text[to++] = (char)c;
    }
    text[to] = '\0';
    return FX8_OK;
}

enum fx8_status fx8_text_read(const char *path, char **text,
                              struct fx8_error *error)
{
    *text = NULL;
    FILE *file = open_regular(path, error);
    if (file == NULL)
        return FX8_ERR_USAGE;
    size_t size = 0;
    enum fx8_status status = read_all(file, path, text, &size, error);
    fclose(file);
    if (status == FX8_OK)
        status = clean(path, *text, size, error);
    if (status != FX8_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

char *fx8_text_trim(char *text)
{
    static const char blanks[] = " \t";
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]) != NULL)
        length--;
    text[length] = '\0';
    return text;
}

bool fx8_text_is_ascii(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text < 0x20 || *text > 0x7e)
            return false;
    return true;
}

void fx8_text_print(const char *text, FILE *stream)
{
    for (; *text != '\0'; text++)
        putc(fx8_line_letter(*text), stream);
}

/* --- paths ---------------------------------------------------------------- */

char *fx8_path_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strndup(path, slash == NULL ? 0 : (size_t)(slash - path) + 1);
}

char *fx8_path_join(const char *folder, const char *path)
{
    if (path[0] == '/')
        folder = "";
    const size_t length = strlen(folder);
    const bool has_slash = length == 0 || folder[length - 1] == '/';
    char *joined;
    return asprintf(&joined, "%s%s%s", folder, has_slash ? "" : "/", path) < 0
               ? NULL
               : joined;
}

const char *fx8_path_home(const char **path, const char *folder)
{
    const char *home = getenv("HOME");
    if (home == NULL || strncmp(*path, "~/", 2) != 0)
        return folder;
    *path += 1 + strspn(*path + 1, "/");
    return home;
}

bool fx8_path_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static const char glob_characters[] = "*?[\\";

bool fx8_path_is_pattern(const char *path)
{
    return strpbrk(path, glob_characters) != NULL;
}

char *fx8_path_join_pattern(const char *folder, const char *pattern)
{
    char *escaped = malloc(2 * strlen(folder) + 1);
    if (escaped == NULL)
        return NULL;
    char *to = escaped;
    for (const char *from = folder; *from != '\0'; from++) {
        if (strchr(glob_characters, *from) != NULL)
            *to++ = '\\';
        *to++ = *from;
    }
    *to = '\0';
    char *joined = fx8_path_join(escaped, pattern);
    free(escaped);
    return joined;
}
