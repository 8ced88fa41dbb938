/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h -- the Digital RF reader object, filled by opening and used by
 * reading.
 */
#ifndef FX8_IO_DIGITAL_RF_LOAD_H
#define FX8_IO_DIGITAL_RF_LOAD_H

#include "io/digital_rf/digital_rf_reader.h"
#include "io/reader.h"

/** A selected input. */
struct fx8_drf_wanted {
    size_t channel;
    size_t subchannel;
    size_t row; /**< in the selection and in the buffer */
    struct fx8_input_position at;
};

/** An open recording. */
struct fx8_drf_reader {
    struct fx8_reader base;           /**< first: the interface */
    struct fx8_drf_channel *channels; /**< [n_channels] */
    size_t n_channels;
    size_t *first_input; /**< [n_channels + 1] inputs before each channel */
    size_t sample_bytes; /**< of int8: 1 real, 2 complex */
    int64_t origin;      /**< absolute index of sample 0 */
    int64_t from, until; /**< absolute: range given by start_s and duration_s */
    int *shifts;         /**< [inputs recorded] gain 2^-shift; -1: unknown */
    struct fx8_drf_wanted *wanted; /**< [n_wanted] by channel */
    size_t n_wanted;
    double *gains;             /**< [n_wanted] by row */
    struct fx8_missing *found; /**< what base.found shows */
    void *rows; /**< buffer for the rows read at once, large enough for any
                   channel */
};

/** Rows of a channel read at once, without the margins for the fill value. */
int64_t fx8_drf_rows_at_once(const struct fx8_drf_channel *channel);

/**
 * fx8_drf_load -- open all channels and fill everything but the selection.
 *
 * Given:  reader    zeroed but for path and base; closed by the caller also
 *                   after failure
 *         settings  start_s, duration_s, scale_to_8bit, polarizations
 * Status: FX8_ERR_INPUT: an unusable channel, or channels that contradict each
 *         other; FX8_ERR_USAGE: an odd number of inputs for two polarisations
 */
enum fx8_status fx8_drf_load(struct fx8_drf_reader *reader,
                             const struct fx8_settings *settings,
                             struct fx8_error *error);

#endif
