/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types of key values that are texts: names, paths, lists of paths.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "config/keys.h"

/* --- texts on the heap ---------------------------------------------------- */

static const char *owned_text(const struct fx8_key *key,
                              const struct fx8_settings *settings)
{
    const char *text;
    memcpy(&text, (const char *)settings + key->offset, sizeof text);
    return text == NULL ? "" : text;
}

/* Takes ownership of `text`; NULL: memory was short. */
static enum fx8_status own_text(void *member, char *text)
{
    char *before;
    if (text == NULL)
        return FX8_ERR_SYSTEM;
    memcpy(&before, member, sizeof before);
    memcpy(member, &text, sizeof text);
    free(before);
    return FX8_OK;
}

static void clear_text(void *member)
{
    char *text, *const none = NULL;
    memcpy(&text, member, sizeof text);
    memcpy(member, &none, sizeof none);
    free(text);
}

/* --- names ---------------------------------------------------------------- */

/* Whether a name of at most size - 1 characters; UVH5 stores names as ASCII. */
static bool is_name(const char *text, size_t size)
{
    return strlen(text) < size && fx8_text_is_ascii(text);
}

static enum fx8_status read_text(const struct fx8_key_text *given)
{
    const struct fx8_choice *choice = given->key->choices;
    while (choice != NULL && choice->name != NULL &&
           strcmp(choice->name, given->text) != 0)
        choice++;
    if (!is_name(given->text, given->key->size) ||
        (choice != NULL && choice->name == NULL))
        return FX8_ERR_USAGE;
    memcpy(given->member, given->text, strlen(given->text) + 1);
    return FX8_OK;
}

static void write_text(const struct fx8_key *key,
                       const struct fx8_settings *settings, FILE *stream)
{
    fputs((const char *)settings + key->offset, stream);
}

static void describe_text(const struct fx8_key *key, FILE *stream)
{
    if (key->choices != NULL)
        fx8_type_choice.describe(key, stream);
    else
        fprintf(stream, "at most %zu ASCII characters",
                (key->type == &fx8_type_name ? FX8_TEXT_SIZE : key->size) - 1);
}

const struct fx8_key_type fx8_type_text = {
    .read = read_text, .write = write_text, .describe = describe_text};

/* The same on the heap, for structures of the library. */
static enum fx8_status read_name(const struct fx8_key_text *given)
{
    return is_name(given->text, FX8_TEXT_SIZE)
               ? own_text(given->member, strdup(given->text))
               : FX8_ERR_USAGE;
}

static void write_name(const struct fx8_key *key,
                       const struct fx8_settings *settings, FILE *stream)
{
    fputs(owned_text(key, settings), stream);
}

const struct fx8_key_type fx8_type_name = {.read = read_name,
                                           .write = write_name,
                                           .describe = describe_text,
                                           .clear = clear_text};

/* --- paths ---------------------------------------------------------------- */

/* Write a path as an absolute path. */
static void write_absolute(const char *path, FILE *stream)
{
    char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0);
    char *joined = NULL;
    if (folder != NULL)
        joined = fx8_path_is_pattern(path) ? fx8_path_join_pattern(folder, path)
                                           : fx8_path_join(folder, path);
    fputs(joined != NULL ? joined : path, stream);
    free(joined);
    free(folder);
}

/* The word of a path ("none") is stored as is, or as "" if the default. */
static enum fx8_status read_path(const struct fx8_key_text *given)
{
    const struct fx8_key *key = given->key;
    const char *text = given->text, *folder = given->folder;
    const bool is_word = key->word != NULL && strcmp(text, key->word) == 0;
    if (is_word && strcmp(text, key->fallback) == 0)
        text = "";
    if (*text == '\0' || is_word)
        folder = "";
    folder = fx8_path_home(&text, folder);
    return own_text(given->member, fx8_path_join(folder, text));
}

static void write_path(const struct fx8_key *key,
                       const struct fx8_settings *settings, FILE *stream)
{
    const char *path = owned_text(key, settings);
    if (*path == '\0')
        fputs(key->fallback, stream);
    else if (key->word != NULL && strcmp(path, key->word) == 0)
        fputs(path, stream);
    else
        write_absolute(path, stream);
}

const struct fx8_key_type fx8_type_path = {.read = read_path,
                                           .write = write_path,
                                           .what = "a path",
                                           .clear = clear_text};

/* --- lists of paths ------------------------------------------------------- */

void fx8_text_list_clear(struct fx8_text_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct fx8_text_list){0};
}

enum fx8_status fx8_text_list_add(struct fx8_text_list *list, char *text,
                                  struct fx8_error *error)
{
    static const char what[] = "the list of files";
    const enum fx8_status status =
        text == NULL ? fx8_no_memory(what, error)
                     : fx8_grow(&list->items, list->count, sizeof *list->items,
                                what, error);
    if (status != FX8_OK)
        free(text);
    else
        list->items[list->count++] = text;
    return status;
}

/* Append the path of `length` bytes, joined to the folder; refuse "". */
static enum fx8_status append_path(struct fx8_text_list *list,
                                   const char *start, size_t length,
                                   const char *folder)
{
    FX8_AUTO_FREE char *item = strndup(start, length);
    if (item == NULL)
        return FX8_ERR_SYSTEM;
    const char *path = fx8_text_trim(item);
    if (*path == '\0')
        return FX8_ERR_USAGE;
    folder = fx8_path_home(&path, folder);
    return fx8_text_list_add(list,
                             fx8_path_is_pattern(path)
                                 ? fx8_path_join_pattern(folder, path)
                                 : fx8_path_join(folder, path),
                             NULL);
}

static enum fx8_status read_path_list(const struct fx8_key_text *given)
{
    struct fx8_text_list list = {0};
    enum fx8_status status = FX8_OK;
    const char *start = given->text;
    while (status == FX8_OK && *given->text != '\0') {
        const size_t length = strcspn(start, ",");
        status = append_path(&list, start, length, given->folder);
        if (start[length] == '\0')
            break;
        start += length + 1;
    }
    if (status != FX8_OK) {
        fx8_text_list_clear(&list);
        return status;
    }
    fx8_text_list_clear(given->member);
    *(struct fx8_text_list *)given->member = list;
    return FX8_OK;
}

static void write_path_list(const struct fx8_key *key,
                            const struct fx8_settings *settings, FILE *stream)
{
    const struct fx8_text_list *list =
        (const struct fx8_text_list *)(const void *)((const char *)settings +
                                                     key->offset);
    for (size_t i = 0; i < list->count; i++) {
        fputs(i > 0 ? ", " : "", stream);
        write_absolute(list->items[i], stream);
    }
}

static void clear_path_list(void *member)
{
    fx8_text_list_clear(member);
}

const struct fx8_key_type fx8_type_path_list = {.read = read_path_list,
                                                .write = write_path_list,
                                                .what =
                                                    "paths separated by commas",
                                                .clear = clear_path_list};
