/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verdict.h -- which inputs look wrong, in words.
 */
#ifndef FX8_CORRELATOR_RUN_VERDICT_H
#define FX8_CORRELATOR_RUN_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/observation.h"
#include "correlator/fx8.h"

/** Room for the name of an input and for its remarks, with their ends. */
#define FX8_INPUT_NAME_SIZE 128

/** Band, antenna and polarisation of an input of a survey. */
struct fx8_input_label {
    size_t antenna, band;
    int64_t number;     /**< the antenna's, its position without a table */
    const char *name;   /**< likewise, "" */
    const char *letter; /**< "X" or "Y" */
};

struct fx8_input_label fx8_input_label(const struct fx8_observation *o,
                                       bool y_first, size_t input);

/** Name of an input: "ANT003 X", "antenna 3 Y band 1". */
void fx8_input_name(const struct fx8_observation *o, bool y_first, size_t input,
                    char text[FX8_INPUT_NAME_SIZE]);

/** List a set of enum fx8_remark: "clipped, DC offset". */
void fx8_remarks_list(unsigned remarks, char text[FX8_INPUT_NAME_SIZE]);

/** Inputs with a remark. */
size_t fx8_remarks_count(const unsigned *remarks, size_t n_inputs);

/**
 * fx8_verdict -- one sentence about all inputs.
 *
 * Given:    remarks  [n_inputs] sets of enum fx8_remark
 *           name     writes the name of an input
 *           context  for it
 * Returned: text     "2 of 16 inputs look wrong: ANT003 X (dead), ...": at most
 *                    six, the worst first; the caller frees
 * Status:   FX8_ERR_SYSTEM when memory is short
 */
enum fx8_status fx8_verdict(const unsigned *remarks, size_t n_inputs,
                            void (*name)(const void *context, size_t input,
                                         char text[FX8_INPUT_NAME_SIZE]),
                            const void *context, char **text,
                            struct fx8_error *error);

#endif
