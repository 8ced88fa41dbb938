/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "correlator/run/sample_sums.h"
#include "correlator/run/verdict.h"

/* Most inputs named in a verdict. */
#define MOST_NAMED 6

struct fx8_input_label fx8_input_label(const struct fx8_observation *o,
                                       bool y_first, size_t input)
{
    const size_t antenna = input / o->n_polarizations % o->n_antennas;
    const struct fx8_antenna *row = fx8_observation_antenna(o, antenna);
    return (struct fx8_input_label){
        .antenna = antenna,
        .band = input / o->n_polarizations / o->n_antennas,
        .number = row != NULL ? row->number : (int64_t)antenna,
        .name = row != NULL ? row->name : "",
        .letter = (input % o->n_polarizations == 0) == y_first ? "Y" : "X",
    };
}

void fx8_input_name(const struct fx8_observation *o, bool y_first, size_t input,
                    char text[FX8_INPUT_NAME_SIZE])
{
    const struct fx8_input_label at = fx8_input_label(o, y_first, input);
    char band[40] = "", name[64];
    if (o->n_bands > 1)
        snprintf(band, sizeof band, " band %zu", at.band);
    snprintf(name, sizeof name, "antenna %zu", at.antenna);
    snprintf(text, FX8_INPUT_NAME_SIZE, "%s %s%s",
             at.name[0] != '\0' ? at.name : name, at.letter, band);
}

void fx8_remarks_list(unsigned remarks, char text[FX8_INPUT_NAME_SIZE])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < FX8_N_REMARKS && used < FX8_INPUT_NAME_SIZE; k++)
        if ((remarks >> k & 1) != 0)
            used += (size_t)snprintf(text + used, FX8_INPUT_NAME_SIZE - used,
                                     "%s%s", used > 0 ? ", " : "",
                                     fx8_remark_names[k]);
}

size_t fx8_remarks_count(const unsigned *remarks, size_t n_inputs)
{
    size_t n = 0;
    for (size_t i = 0; i < n_inputs; i++)
        n += remarks[i] != 0;
    return n;
}

enum fx8_status fx8_verdict(const unsigned *remarks, size_t n_inputs,
                            void (*name)(const void *context, size_t input,
                                         char text[FX8_INPUT_NAME_SIZE]),
                            const void *context, char **text,
                            struct fx8_error *error)
{
    const size_t n_wrong = fx8_remarks_count(remarks, n_inputs);
    size_t n_named = 0, size = 0;
    FILE *stream = open_memstream(text, &size);
    if (stream == NULL)
        return fx8_no_memory("a verdict", error);
    if (n_wrong == 0)
        fputs("no input looks wrong", stream);
    else
        fprintf(stream, "%zu of %zu %s %s wrong", n_wrong,
                FX8_COUNTED(n_inputs, "input", "inputs"),
                FX8_NOUN(n_wrong, "looks", "look"));
    for (unsigned k = 0; k < FX8_N_REMARKS; k++)
        for (size_t i = 0; i < n_inputs && n_named < MOST_NAMED; i++) {
            const unsigned remark = 1U << k;
            char who[FX8_INPUT_NAME_SIZE], why[FX8_INPUT_NAME_SIZE];
            if ((remarks[i] & (2 * remark - 1)) != remark)
                continue; /* fine, or already named for something worse */
            name(context, i, who);
            fx8_remarks_list(remarks[i], why);
            fprintf(stream, "%s %s (%s)", n_named++ == 0 ? ":" : ",", who, why);
        }
    if (n_wrong > n_named)
        fprintf(stream, " and %zu more", n_wrong - n_named);
    return fclose(stream) == 0 ? FX8_OK : fx8_no_memory("a verdict", error);
}
