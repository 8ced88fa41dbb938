/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cards.h -- headers made of keys and values as text, with typed access.
 */
#ifndef FX8_IO_FRAMES_CARDS_H
#define FX8_IO_FRAMES_CARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/observation.h"
#include "correlator/fx8.h"

/** A key and its value; both printable ASCII. */
struct fx8_card {
    char key[32];
    char value[FX8_TEXT_SIZE];
};

/** A header.  `path` belongs to the caller, `items` is released by
 *  fx8_cards_clear(). */
struct fx8_cards {
    const char *path; /**< file, for messages */
    struct fx8_card *items;
    size_t n;
};

/** Add a card from text of given lengths: trimmed, cut to fit; bytes that are
 *  not printable ASCII become '?'. */
enum fx8_status fx8_cards_add(struct fx8_cards *cards, const char *key,
                              size_t key_length, const char *value,
                              size_t value_length, struct fx8_error *error);

/** Remove all cards; a zeroed header is legal. */
void fx8_cards_clear(struct fx8_cards *cards);

/** The value of a key; NULL: absent.  The last one of a key counts. */
const char *fx8_cards_find(const struct fx8_cards *cards, const char *key);

/** Copy the value of a key, which may be absent, "unset" or "unknown": then
 *  empty. */
void fx8_cards_text(const struct fx8_cards *cards, const char *key,
                    char text[FX8_TEXT_SIZE]);

/** FX8_ERR_INPUT "FILE: KEY: VALUE: expected ..."; "missing" for an absent
 *  value. */
enum fx8_status fx8_cards_refuse(const struct fx8_cards *cards, const char *key,
                                 struct fx8_error *error, const char *format,
                                 ...) FX8_PRINTF(4, 5);

/** An integer within [least, most]; absent: *value stays, or an error if it is
 *  outside them. */
enum fx8_status fx8_cards_integer(const struct fx8_cards *cards,
                                  const char *key, int64_t least, int64_t most,
                                  int64_t *value, struct fx8_error *error);

/** A real number; absent: *value stays. */
enum fx8_status fx8_cards_real(const struct fx8_cards *cards, const char *key,
                               double *value, struct fx8_error *error);

/** Add seconds below 1 given as a decimal; absent: none.  To the nearest
 *  picosecond, exact. */
enum fx8_status fx8_cards_add_seconds(const struct fx8_cards *cards,
                                      const char *key, struct fx8_time *time,
                                      struct fx8_error *error);

/** The names of the keys for fx8_cards_band(). */
struct fx8_cards_keys {
    const char *frequency; /**< of the middle of all channels, MHz */
    const char *bandwidth; /**< of all channels, MHz; negative: descending */
    const char *interval;  /**< between samples; may be absent */
    double interval_unit_s;
};

/** Rate and frequencies of channels side by side. */
struct fx8_cards_band {
    struct fx8_rate rate;
    double dc_frequency_hz; /**< of the lowest channel; NaN: not recorded */
    double step_hz;         /**< between channels */
    bool is_descending;
};

/**
 * fx8_cards_band -- rate and frequencies of channels that are sampled
 * critically.
 *
 * Given:  given  rate by the user, which wins; numerator 0: none
 * Status: FX8_ERR_INPUT: no number, or the interval is not that of the
 *         bandwidth to 1e-6, which is more than its rounding to a float
 * Notes:  the rate is an exact fraction of the bandwidth, because an interval
 *         such as 3.41e-7 s is rounded
 */
enum fx8_status fx8_cards_band(const struct fx8_cards *cards,
                               const struct fx8_cards_keys *keys,
                               size_t n_channels, bool is_complex,
                               struct fx8_rate given,
                               struct fx8_cards_band *band,
                               struct fx8_error *error);

#endif
