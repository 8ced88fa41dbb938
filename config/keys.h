/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keys.h -- the table of configuration keys.  It drives the parser, the
 * messages, `fx8 config --keys` and `fx8 config --dump`; a new key takes one
 * line of the table in keys.c and one member of struct fx8_settings.
 */
#ifndef FX8_CONFIG_KEYS_H
#define FX8_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/settings.h"
#include "correlator/fx8.h"

/** Size of the text written by fx8_key_describe(). */
#define FX8_KEY_EXPECTED_SIZE 320

struct fx8_key;

/** A text to be stored as the value of a key. */
struct fx8_key_text {
    const struct fx8_key *key;
    const char *text;
    const char *folder; /**< base of relative paths, "" or with a slash at the
                             end */
    struct fx8_settings *settings;
    void *member; /**< of the settings */
};

/** How values of one type are read, written and described. */
struct fx8_key_type {
    /**
     * read -- parse a text and store its value in the key's member.
     *
     * Status: FX8_ERR_USAGE if the text is not such a value or out of range,
     *         FX8_ERR_SYSTEM when memory is short; no message; the member is
     *         unchanged
     */
    enum fx8_status (*read)(const struct fx8_key_text *given);

    /** write -- write a text that read() maps to the same value. */
    void (*write)(const struct fx8_key *key,
                  const struct fx8_settings *settings, FILE *stream);

    /** What to print after "expected", before the key's range, unit and word:
     *  "an integer". */
    const char *what;

    /** Print all of it instead; NULL: `what` will do. */
    void (*describe)(const struct fx8_key *key, FILE *stream);

    /** Release the member's memory; NULL: it owns none. */
    void (*clear)(void *member);
};

/** One word that a key accepts.  A table ends with a NULL name. */
struct fx8_choice {
    const char *name;
    int value;
};

/** One key. */
struct fx8_key {
    const char *section;
    const char *name;
    const struct fx8_key_type *type;
    size_t offset; /**< of the member in struct fx8_settings ... */
    size_t size;   /**< ... and its size in bytes */
    const char *unit;
    int64_t factor; /**< of an integer: so many to one unit; 0: 1 */
    double minimum; /**< range of numbers, both ends included */
    double maximum;
    const char *word;  /**< accepted in place of a number or path ... */
    double word_value; /**< ... and the number it stands for */
    const struct fx8_choice *choices;
    const char *fallback; /**< text of the default; NULL: required */
    const char *help;
    bool is_execution; /**< decides how a run computes, not what */
};

/** One section, in the order of the table. */
struct fx8_section {
    const char *name;
    const char *help;
};

/** Where the value of a key came from. */
struct fx8_key_origin {
    enum { FX8_ORIGIN_DEFAULT = 0, FX8_ORIGIN_FILE, FX8_ORIGIN_OVERRIDE } kind;
    char *file;  /**< FX8_ORIGIN_FILE: as named by the user */
    size_t line; /**< FX8_ORIGIN_FILE: from 1 */
    char *text;  /**< the value as written; NULL for a default */
};

extern const struct fx8_key fx8_keys[];
extern const size_t fx8_keys_count;
extern const struct fx8_section fx8_sections[];
extern const size_t fx8_sections_count;

extern const struct fx8_key_type fx8_type_choice;
extern const struct fx8_key_type fx8_type_integer; /* int64_t or size_t */
extern const struct fx8_key_type fx8_type_real;
extern const struct fx8_key_type fx8_type_rate;
extern const struct fx8_key_type fx8_type_fraction;
extern const struct fx8_key_type fx8_type_scale; /* a power of two */
extern const struct fx8_key_type fx8_type_time;
extern const struct fx8_key_type fx8_type_text; /* char [] */
extern const struct fx8_key_type fx8_type_name; /* const char *, owned */
extern const struct fx8_key_type fx8_type_path;
extern const struct fx8_key_type fx8_type_path_list;
extern const struct fx8_key_type fx8_type_selection; /* all, count or list */
extern const struct fx8_key_type fx8_type_numbers;   /* list */
extern const struct fx8_key_type fx8_type_baselines; /* a word, or pairs */
extern const struct fx8_key_type fx8_type_marker;
extern const struct fx8_key_type fx8_type_frequencies; /* list or CSV */

/** Store a text as the value of a key; see struct fx8_key_type, read(). */
enum fx8_status fx8_key_read(const struct fx8_key *key, const char *text,
                             const char *folder, struct fx8_settings *settings);

/** Key by section and name, or NULL. */
const struct fx8_key *fx8_key_find(const char *section, const char *name);

/** Whether there is a section of that name. */
bool fx8_section_exists(const char *name);

/** Whether the key is required and was not given. */
bool fx8_key_is_missing(const struct fx8_key *key,
                        const struct fx8_settings *settings);

/** Lines of histories: before the resolved configuration, and in a joined file
 *  before the history of each file. */
#define FX8_HISTORY_CONFIGURATION "resolved configuration:\n"
#define FX8_HISTORY_OF            "history of "

/** The value, with the blank before it, that the configuration of a history,
 *  or the first one in a joined file, gives the key; NULL, of length 0, if
 *  none.  It points into the history. */
const char *fx8_key_in_history(const struct fx8_key *key, const char *history,
                               int *length);

/** Describe the values of the key: "an integer from 1 to 64". */
void fx8_key_describe(const struct fx8_key *key,
                      char text[FX8_KEY_EXPECTED_SIZE]);

#endif
