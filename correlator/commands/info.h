/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.h -- internals of `fx8 info`: one source file for each kind of input.
 */
#ifndef FX8_CORRELATOR_COMMANDS_INFO_H
#define FX8_CORRELATOR_COMMANDS_INFO_H

#include <stdbool.h>
#include <stddef.h>

#include "config/base/json.h"
#include "config/base/number.h"
#include "config/observation.h"
#include "config/settings.h"
#include "correlator/fx8.h"
#include "correlator/run/survey.h"
#include "correlator/run/verdict.h"
#include "io/reader.h"
#include "io/uvh5/uvh5.h"

/** What to print. */
struct fx8_info_request {
    const char *const *paths; /**< [n_paths] of one recording, or one file */
    size_t n_paths;
    const struct fx8_settings *settings; /**< override recorded metadata */
    bool is_json;
    bool has_levels;
    bool is_all;   /**< levels of all samples */
    bool is_quiet; /**< show no progress */
};

/* --- shared by all kinds: info.c ---------------------------------------- */

/** One aligned line "  label      text". */
void fx8_info_field(const char *label, const char *format, ...)
    FX8_PRINTF(2, 3);

/** The same with text from a file; control characters become '?'. */
void fx8_info_line(const char *label, const char *text);

/** The first line: a path, printed as by fx8_info_line(), and its kind. */
void fx8_info_head(const char *path, const char *what);

/** fx8_info_line() unless the text is empty. */
void fx8_info_text(const char *label, const char *text);

/** Names that are not empty, and the site; NULL: none. */
void fx8_info_names(const char *telescope, const char *instrument,
                    const char *object, const struct fx8_site *site);
void fx8_info_names_json(struct fx8_json *json, const char *telescope,
                         const char *instrument, const char *object,
                         const struct fx8_site *site);

/** Instant of a Julian date; a double resolves 40 microseconds. */
void fx8_info_julian_date(double julian_date, char text[FX8_NUMBER_TEXT_SIZE]);

/** "XX YY XY YX" of AIPS codes, [n_products]. */
void fx8_info_products(const int *products, size_t n_products, char *text,
                       size_t size);

/* --- the kinds -------------------------------------------------------- */

/** Open and print a recording; settings override its metadata. */
enum fx8_status fx8_info_recording(const struct fx8_info_request *request,
                                   struct fx8_error *error);

/** Print an open UVH5 file. */
enum fx8_status fx8_info_visibilities(const struct fx8_info_request *request,
                                      struct fx8_uvh5_file *file,
                                      const struct fx8_uvh5_header *header,
                                      struct fx8_error *error);

/** Open and print a quick-look file. */
enum fx8_status fx8_info_quicklook(const struct fx8_info_request *request,
                                   struct fx8_error *error);

/* --- levels of a recording: info_levels.c ------------------------------- */

/** Print the verdict and how much was read, as fields; FX8_ERR_SYSTEM when
 *  memory is short. */
enum fx8_status fx8_info_verdict(const struct fx8_reader *reader, bool y_first,
                                 const struct fx8_survey *survey,
                                 struct fx8_error *error);

/** Print one line per input. */
void fx8_info_levels(const struct fx8_reader *reader, bool y_first,
                     const struct fx8_survey *survey);

/** Write member "levels": the whole survey. */
void fx8_info_levels_json(struct fx8_json *json,
                          const struct fx8_reader *reader, bool y_first,
                          const struct fx8_survey *survey);

#endif
