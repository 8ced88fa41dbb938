/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_levels.c -- levels of the inputs of a recording: verdict and table.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/try.h"
#include "correlator/commands/info.h"

/* The reader of a survey, and which slot is Y. */
struct source {
    const struct fx8_reader *reader;
    bool y_first;
};

static void name_input(const void *context, size_t input,
                       char text[FX8_INPUT_NAME_SIZE])
{
    const struct source *source = context;
    fx8_input_name(&source->reader->observation, source->y_first, input, text);
}

/* --- the verdict -------------------------------------------------- */

/* Missing samples, whatever made them so. */
static void print_left_out(const struct fx8_survey *survey)
{
    double n_missing = 0.0;
    for (size_t i = 0; i < survey->n_inputs; i++)
        n_missing += (double)survey->sums[i].n_missing;
    if (n_missing > 0.0)
        fx8_info_field("left out",
                       "%.4f %% of them: listed as missing, not found, "
                       "markers, or near a sample beyond clip_level",
                       100.0 * n_missing / (double)survey->n_inputs /
                           (double)survey->n_samples);
}

enum fx8_status fx8_info_verdict(const struct fx8_reader *reader, bool y_first,
                                 const struct fx8_survey *survey,
                                 struct fx8_error *error)
{
    const int64_t length = reader->observation.n_samples;
    const struct source source = {reader, y_first};
    FX8_AUTO_FREE char *words = NULL;
    FX8_TRY(fx8_verdict(survey->remarks, survey->n_inputs, name_input, &source,
                        &words, error));
    if (survey->n_samples == length)
        fx8_info_field("levels of", "all samples");
    else
        fx8_info_field("levels of",
                       "%" PRId64 " %s of %" PRId64
                       " %s, %.3g %% of the recording",
                       FX8_COUNTED(survey->n_blocks, "block", "blocks"),
                       FX8_COUNTED(survey->block_samples, "sample", "samples"),
                       100.0 * (double)survey->n_samples / (double)length);
    print_left_out(survey);
    if (reader->is_16bit)
        fx8_info_field("clamped", "%" PRId64 " real %s read, to 8 bits",
                       FX8_COUNTED(survey->n_clamped, "number", "numbers"));
    fx8_info_field("verdict", "%s", words);
    return FX8_OK;
}

/* A figure in a column, "-" for NaN. */
static void print_cell(int width, int decimals, double value)
{
    if (isnan(value))
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, decimals, value);
}

/* --- the table ---------------------------------------------------- */

void fx8_info_levels(const struct fx8_reader *reader, bool y_first,
                     const struct fx8_survey *survey)
{
    const struct fx8_observation *o = &reader->observation;
    const size_t components = o->is_complex ? 2 : 1;
    printf("\n%8s %-16s %-3s%s%s %8s %8s", "antenna", "name", "pol",
           o->n_bands > 1 ? " band" : "",
           reader->input_gain != NULL ? "     gain" : "", "rms/LSB",
           o->is_complex ? "mean re" : "mean");
    if (o->is_complex)
        printf(" %8s", "mean im");
    printf(" %9s %8s %8s %9s  %s\n", "clipped/%", "-128/%", "zero/%",
           "missing/%", "remarks");
    for (size_t i = 0; i < survey->n_inputs; i++) {
        const struct fx8_input_label at = fx8_input_label(o, y_first, i);
        const struct fx8_sample_figures f =
            fx8_sample_sums_figures(&survey->sums[i], components);
        char words[FX8_INPUT_NAME_SIZE];
        fx8_remarks_list(survey->remarks[i], words);
        printf("%8" PRId64 " %-16s %-3s", at.number, at.name, at.letter);
        if (o->n_bands > 1)
            printf(" %4zu", at.band);
        if (reader->input_gain != NULL)
            printf(" %8.3g", reader->input_gain[i]);
        print_cell(8, 3, f.rms_lsb);
        print_cell(8, 3, f.mean_lsb[0]);
        if (o->is_complex)
            print_cell(8, 3, f.mean_lsb[1]);
        print_cell(9, 4, 100.0 * f.clipped_share);
        print_cell(8, 4, 100.0 * f.least_share);
        print_cell(8, 3, 100.0 * f.zero_share);
        print_cell(9, 4, 100.0 * f.missing_share);
        printf("%s%s\n", words[0] == '\0' ? "" : "  ", words);
    }
}

/* --- JSON --------------------------------------------------------- */

static void write_remarks(struct fx8_json *json, unsigned remarks)
{
    fx8_json_array(json, "remarks");
    for (size_t k = 0; k < FX8_N_REMARKS; k++)
        if ((remarks >> k & 1) != 0)
            fx8_json_text(json, NULL, fx8_remark_names[k]);
    fx8_json_end(json);
}

static void write_input(struct fx8_json *json, const struct fx8_reader *reader,
                        bool y_first, const struct fx8_survey *survey, size_t i)
{
    const struct fx8_observation *o = &reader->observation;
    const struct fx8_input_label at = fx8_input_label(o, y_first, i);
    const struct fx8_sample_sums *sums = &survey->sums[i];
    const struct fx8_sample_figures f =
        fx8_sample_sums_figures(sums, o->is_complex ? 2 : 1);
    fx8_json_object(json, NULL);
    fx8_json_integer(json, "antenna_position", (int64_t)at.antenna);
    fx8_json_integer(json, "antenna_number", at.number);
    fx8_json_text(json, "antenna_name", at.name);
    fx8_json_text(json, "polarization", at.letter);
    fx8_json_integer(json, "band", (int64_t)at.band);
    fx8_json_real(json, "input_gain",
                  reader->input_gain != NULL ? reader->input_gain[i] : 1.0);
    fx8_json_integer(json, "n_samples", sums->n_samples);
    fx8_json_integer(json, "n_missing_samples", sums->n_missing);
    fx8_json_real(json, "missing_share", f.missing_share);
    fx8_json_real(json, "rms_lsb", f.rms_lsb);
    fx8_json_real(json, "mean_re_lsb", f.mean_lsb[0]);
    if (o->is_complex)
        fx8_json_real(json, "mean_im_lsb", f.mean_lsb[1]);
    fx8_json_real(json, "clipped_share", f.clipped_share);
    fx8_json_real(json, "minus_128_share", f.least_share);
    fx8_json_real(json, "zero_share", f.zero_share);
    write_remarks(json, survey->remarks[i]);
    fx8_json_end(json);
}

void fx8_info_levels_json(struct fx8_json *json,
                          const struct fx8_reader *reader, bool y_first,
                          const struct fx8_survey *survey)
{
    fx8_json_object(json, "levels");
    fx8_json_integer(json, "n_blocks", survey->n_blocks);
    fx8_json_integer(json, "block_samples", survey->block_samples);
    fx8_json_integer(json, "samples_looked_at", survey->n_samples);
    fx8_json_integer(json, "n_clamped_components", survey->n_clamped);
    fx8_json_integer(
        json, "n_wrong_inputs",
        (int64_t)fx8_remarks_count(survey->remarks, survey->n_inputs));
    fx8_json_array(json, "inputs");
    for (size_t i = 0; i < survey->n_inputs; i++)
        write_input(json, reader, y_first, survey, i);
    fx8_json_end(json);
    fx8_json_end(json);
}
