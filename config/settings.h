/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings.h -- the resolved configuration, which the table of keys (keys.c)
 * fills.  What the library takes is kept in the structures that it takes.
 */
#ifndef FX8_CONFIG_SETTINGS_H
#define FX8_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/observation.h"
#include "correlator/fx8.h"

enum fx8_format {
    FX8_FORMAT_AUTO = 0,
    FX8_FORMAT_FX8,
    FX8_FORMAT_AAVS,
    FX8_FORMAT_TART,
    FX8_FORMAT_DIGITAL_RF,
    FX8_FORMAT_GUPPI,
    FX8_FORMAT_VDIF,
    FX8_FORMAT_DADA
};
enum fx8_delay_mode { FX8_DELAY_NONE = 0, FX8_DELAY_CABLE, FX8_DELAY_TRACK };
enum fx8_compression {
    FX8_COMPRESSION_NONE = 0,
    FX8_COMPRESSION_GZIP,
    FX8_COMPRESSION_BITSHUFFLE
};
enum fx8_sample_type { FX8_SAMPLES_COMPLEX = 0, FX8_SAMPLES_REAL };

/** A list of whole numbers, or "all" (is_all), or a plain count (is_count,
 *  the first `count`).  Owned by the settings. */
struct fx8_number_list {
    bool is_all;
    bool is_count;
    size_t count;   /**< is_count: the number; else entries in `items` */
    int64_t *items; /**< [count], NULL when is_all or is_count */
};

enum fx8_baseline_kind {
    FX8_BASELINES_ALL = 0,
    FX8_BASELINES_CROSS,
    FX8_BASELINES_AUTO,
    FX8_BASELINES_LIST
};

/** Which baselines to write.  Owned by the settings. */
struct fx8_baseline_list {
    enum fx8_baseline_kind kind;
    size_t count;
    int64_t (*pairs)[2]; /**< [count] antenna numbers; NULL: not a list */
};

/** A list of strings, owned by the settings. */
struct fx8_text_list {
    size_t count;
    char **items;
};

/** Frequencies from first_hz to last_hz, which may be one. */
struct fx8_frequency_range {
    double first_hz, last_hz;
};

/** A list of frequencies, owned by the settings. */
struct fx8_frequency_list {
    size_t count;
    struct fx8_frequency_range *items; /**< [count] as written */
    char *path; /**< of a CSV that is not read yet; NULL after loading */
};

/** Numerator over denominator as written in the INI file ("27/32"). */
struct fx8_fraction {
    int64_t numerator;
    int64_t denominator;
};

/**
 * The resolved configuration.
 *
 * Ownership: filled by fx8_settings_load(), released by fx8_settings_clear()
 * Notes: 1) paths are absolute or relative to the working directory: relative
 *           paths of an INI file are already joined to its folder
 *        2) NaN (double), 0 (rate), "" (text) mean "not given"
 *        3) duration_s infinite means all; integration_time_s infinite means
 *           "all", one dump of everything
 */
struct fx8_settings {
    struct {
        enum fx8_format format;
        struct fx8_text_list files;
        bool conjugate;
        bool y_first; /**< polarization_order = yx */
        char column_order[FX8_TEXT_SIZE];
        bool allow_missing_tiles;
        struct fx8_marker marker;
        double scale_to_8bit; /**< a power of two, at most 1; 0: auto */
        bool van_vleck;
        double start_s;
        double duration_s;
    } input;
    struct fx8_observation observation; /**< what the user gives in place of
                                             what is recorded: [observation],
                                             the sideband and the site */
    struct {
        struct fx8_number_list antennas;
        int64_t polarizations; /**< 0: as recorded */
        char *positions;       /**< path, "none", or "" when not given */
        char x_orientation[FX8_TEXT_SIZE];
        struct fx8_number_list
            flag_antennas; /**< antenna numbers; empty: none */
        char *gains;       /**< path, or "" for none */
    } array;
    struct fx8_channelizer channelizer; /**< n_kept: from keep_fraction */
    struct fx8_fraction keep_fraction;
    char *ripple_file;              /**< path, or "" for none */
    struct fx8_quantizer quantizer; /**< remove_bias: [postprocess] */
    struct fx8_machine machine; /**< of [correlator]; the settings own device
                                     and kernel */
    struct {
        enum fx8_precision precision;
        double integration_time_s;
        double last_dump_min;
        bool is_aligned; /**< align = utc */
        bool has_ranks;  /**< of MPI */
    } correlator;
    struct {
        enum fx8_delay_mode mode;
        double phase_center_ra_deg;
        double phase_center_dec_deg;
        char phase_center_name[FX8_TEXT_SIZE];
        char *phase_centers; /**< path, or "" for none */
        double dut1_s;       /**< NaN: not given */
        char *iers_file;     /**< path, or "" for none */
    } delay;
    struct {
        enum fx8_math math;
        char *quicklook; /**< path, or "" for none */
    } postprocess;
    struct {
        struct fx8_blanking blanking; /**< clip_level, clip_margin */
        double min_weight;            /**< 0: all weights will do */
        double sk_false_alarm;        /**< 0: off */
        struct fx8_frequency_list channels;
    } flag;
    struct {
        char *file; /**< "" when not given */
        size_t channel_average;
        enum fx8_compression compression;
        double time_average_loss; /**< 0: dumps are not averaged */
        struct fx8_baseline_list baselines;
        double min_baseline_m; /**< of cross baselines, as the next */
        double max_baseline_m; /**< infinite: none */
    } output;
    struct {
        char *sources;
        double noise_rms; /**< LSB */
        double duration_s;
        enum fx8_sample_type samples;
        char axis_order[FX8_TEXT_SIZE]; /**< of the recording, slowest first */
        double gain_spread;
        double gain_phase_deg;
        double dropout_fraction;
        int64_t seed;
    } simulate;
    struct fx8_key_origin *origins; /**< [n_keys] where each value came from */
    char *path;                     /**< of the INI file; NULL: none */
};

/**
 * fx8_settings_load -- read, override, validate.
 *
 * Given:     ini_path     INI file, or NULL for defaults and overrides alone
 *            overrides    [n_overrides] texts "section.key=value", applied
 *                         after the file; their relative paths start at the
 *                         working directory
 *            check_required  whether a missing required key is an error (no
 *                         for a fragment, and where fx8_settings_complete()
 *                         follows)
 * Returned:  settings
 * Status:    FX8_ERR_USAGE: unknown section or key (with the nearest known
 *            one), wrong type or unit, out of range, duplicate, missing:
 *            "FILE:LINE: section.key: value: what was expected";
 *            FX8_ERR_USAGE also when the file cannot be read
 * Ownership: after failure `settings` is empty and need not be cleared
 */
enum fx8_status fx8_settings_load(const char *ini_path,
                                  const char *const *overrides,
                                  size_t n_overrides, bool check_required,
                                  struct fx8_settings *settings,
                                  struct fx8_error *error);

/**
 * fx8_settings_complete -- check that everything needed is known.
 *
 * Given:  observation  what is known of the recording and from [observation]
 *                      and [array]; NULL: required keys only
 *         recording    its path, for the message; NULL: none is read
 * Status: FX8_ERR_USAGE: "INI: missing: every key that is (what is expected)"
 */
enum fx8_status fx8_settings_complete(const struct fx8_settings *settings,
                                      const struct fx8_observation *observation,
                                      const char *recording,
                                      struct fx8_error *error);

/**
 * fx8_settings_files -- expand the list [input] files.
 *
 * Returned:  files  in the order of the list, matches of a pattern in
 *                   alphabetical order; empty if the key is not given
 * Status:    FX8_ERR_USAGE, with the key's origin, if a pattern matches
 *            nothing; FX8_ERR_SYSTEM when memory is short
 * Ownership: the caller releases `files` with fx8_text_list_clear(); empty
 *            after failure
 * Notes:     an entry that names an existing file is taken literally; any other
 *            entry with * ? [ is a pattern; an entry without these is kept, so
 *            that the reader reports it
 */
enum fx8_status fx8_settings_files(const struct fx8_settings *settings,
                                   struct fx8_text_list *files,
                                   struct fx8_error *error);

/** Append `text`; the list takes ownership.  FX8_ERR_SYSTEM if `text` is NULL
 *  or memory is short. */
enum fx8_status fx8_text_list_add(struct fx8_text_list *list, char *text,
                                  struct fx8_error *error);

/** Release a list of texts; a zeroed one is legal. */
void fx8_text_list_clear(struct fx8_text_list *list);

/** Whether "section.key" was given in the file or as an override. */
bool fx8_settings_given(const struct fx8_settings *settings, const char *key);

/** Release everything the settings own; a zeroed struct is legal. */
void fx8_settings_clear(struct fx8_settings *settings);

/** Print all keys with type, unit, range, default and help, in table order. */
void fx8_settings_print_keys(FILE *stream);

/** The same in Markdown: the text of config/README.md. */
void fx8_settings_print_markdown(FILE *stream);

/** Print the resolved configuration as an INI file that loads to the same
 *  settings (absolute paths). */
void fx8_settings_dump(const struct fx8_settings *settings, FILE *stream);

/** The same for the history of a result, which is the same for any ranks. */
void fx8_settings_dump_history(const struct fx8_settings *settings,
                               FILE *stream);

/** The same without keys that cannot change a result, such as threads. */
void fx8_settings_dump_results(const struct fx8_settings *settings,
                               FILE *stream);

/**
 * fx8_settings_fail -- report an error with the origin of a key's value.
 *
 * Given:  key     "section.key" from the table
 *         format  the fault and the expected value; printed after the value
 * Status: FX8_ERR_USAGE with "FILE:LINE: section.key: value: ..." where the
 *         value came from a file, "--set: section.key: value: ..." if it came
 *         from the command line, "default: ..." otherwise
 */
enum fx8_status fx8_settings_fail(const struct fx8_settings *settings,
                                  const char *key, struct fx8_error *error,
                                  const char *format, ...) FX8_PRINTF(4, 5);

#endif
