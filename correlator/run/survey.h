/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * survey.h -- levels of a recording: sums per input over all samples, or over
 * blocks spread evenly.
 */
#ifndef FX8_CORRELATOR_RUN_SURVEY_H
#define FX8_CORRELATOR_RUN_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"
#include "correlator/fx8.h"
#include "correlator/run/sample_sums.h"
#include "correlator/run/pipeline.h"
#include "io/reader.h"

/** Bytes of samples that a survey reads unless all are requested: seconds on a
 *  slow disk, and a few thousand samples of each of 512 inputs per block. */
#define FX8_SURVEY_BYTES ((size_t)64 << 20)

/** What to survey. */
struct fx8_survey_range {
    int64_t first_sample;
    int64_t n_samples;   /**< at least 1, within the recording */
    bool is_all;         /**< every sample; else about FX8_SURVEY_BYTES  */
    bool has_histograms; /**< count values too */
    /** Called after every read if is_all; NULL: none.  Reports no dumps. */
    void (*progress)(void *context, const struct fx8_progress *progress);
    void *progress_context;
};

/**
 * The result of a survey.
 *
 * Ownership: filled by fx8_survey_run(), released by fx8_survey_clear(), also
 *            after a failure
 * Notes:     inputs are all inputs of the recording,
 * [band][antenna][polarisation]
 */
struct fx8_survey {
    size_t n_inputs;
    struct fx8_sample_sums *sums; /**< [n_inputs] */
    unsigned *remarks;            /**< [n_inputs] sets of enum fx8_remark */
    /** [n_inputs] how many real components are -128 .. 127; NULL unless asked
     *  for */
    int64_t (*histograms)[256];
    int64_t n_blocks;      /**< stretches read */
    int64_t block_samples; /**< per stretch; the last may be shorter */
    int64_t n_samples;     /**< read, per input */
    int64_t n_clamped;     /**< real numbers read, over all inputs, that were
                                clamped to 8 bits */
};

/**
 * fx8_survey_run -- read samples and sum their levels.
 *
 * Given:  reader    all its inputs are selected
 *         settings  what makes samples missing: markers, clip_level
 * Status: errors of reading; FX8_ERR_SYSTEM when memory is short
 * Notes:  1) missing samples are counted as missing and enter no other sum:
 *            those the recording lists, and by the correlator's rule markers
 *            and those around clip_level, across the ends of blocks too
 *         2) blocks are whole reads of the file, including the first and the
 *            last; if one read is as large as FX8_SURVEY_BYTES, only the first
 *         3) memory does not grow with the recording
 */
enum fx8_status fx8_survey_run(struct fx8_reader *reader,
                               const struct fx8_settings *settings,
                               const struct fx8_survey_range *range,
                               struct fx8_survey *survey,
                               struct fx8_error *error);

/** Release; a zeroed one is legal. */
void fx8_survey_clear(struct fx8_survey *survey);

#endif
