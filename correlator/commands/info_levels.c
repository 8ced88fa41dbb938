/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_levels.c -- levels of the inputs of a recording: verdict and table.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/base/line.h"
#include "correlator/commands/info.h"

/* Most inputs named in a verdict. */
#define MOST_NAMED 6

/* Band, antenna and polarisation of an input of a survey. */
struct place {
    size_t antenna, band;
    int64_t number;     /* the antenna's, its position without a table */
    const char *name;   /* likewise, "" */
    const char *letter; /* "X" or "Y" */
};

static struct place place_of(const struct fx8_observation *o, bool y_first,
                             size_t input)
{
    const size_t antenna = input / o->n_polarizations % o->n_antennas;
    const struct fx8_antenna *row = fx8_observation_antenna(o, antenna);
    return (struct place){
        .antenna = antenna,
        .band = input / o->n_polarizations / o->n_antennas,
        .number = row != NULL ? row->number : (int64_t)antenna,
        .name = row != NULL ? row->name : "",
        .letter = (input % o->n_polarizations == 0) == y_first ? "Y" : "X",
    };
}

void fx8_info_input_name(const struct fx8_reader *reader, bool y_first,
                         size_t input, char *text, size_t size)
{
    const struct fx8_observation *o = &reader->observation;
    const struct place at = place_of(o, y_first, input);
    char band[40] = "", name[64];
    if (o->n_bands > 1)
        snprintf(band, sizeof band, " band %zu", at.band);
    snprintf(name, sizeof name, "antenna %zu", at.antenna);
    snprintf(text, size, "%s %s%s", at.name[0] != '\0' ? at.name : name,
             at.letter, band);
}

/* List a set of remarks: "clipped, DC offset". */
static void list_remarks(unsigned remarks, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < FX8_N_REMARKS && used < size; k++)
        if ((remarks >> k & 1) != 0)
            used += (size_t)snprintf(text + used, size - used, "%s%s",
                                     used > 0 ? ", " : "", fx8_remark_names[k]);
}

/* --- the verdict -------------------------------------------------- */

static size_t count_wrong(const struct fx8_survey *survey)
{
    size_t n = 0;
    for (size_t i = 0; i < survey->n_inputs; i++)
        n += survey->remarks[i] != 0;
    return n;
}

/* Name the inputs that look wrong, the worst remark first. */
static void print_wrong(const struct fx8_reader *reader, bool y_first,
                        const struct fx8_survey *survey, size_t n_wrong)
{
    size_t n_named = 0;
    for (unsigned k = 0; k < FX8_N_REMARKS && n_named < MOST_NAMED; k++) {
        const unsigned remark = 1U << k;
        for (size_t i = 0; i < survey->n_inputs && n_named < MOST_NAMED; i++) {
            const unsigned remarks = survey->remarks[i];
            if ((remarks & (2 * remark - 1)) != remark)
                continue; /* fine, or already named for something worse */
            char name[128], words[128];
            fx8_info_input_name(reader, y_first, i, name, sizeof name);
            list_remarks(remarks, words, sizeof words);
            printf("%s %s (%s)", n_named++ == 0 ? ":" : ",", name, words);
        }
    }
    if (n_wrong > n_named)
        printf(" and %zu more", n_wrong - n_named);
}

/* Missing samples, from the recording's list, reading and markers together. */
static void print_left_out(const struct fx8_survey *survey)
{
    double n_missing = 0.0;
    for (size_t i = 0; i < survey->n_inputs; i++)
        n_missing += (double)survey->sums[i].n_missing;
    if (n_missing > 0.0)
        fx8_info_field("left out",
                       "%.4f %% of them: listed as missing, not found, or "
                       "markers",
                       100.0 * n_missing / (double)survey->n_inputs /
                           (double)survey->n_samples);
}

void fx8_info_verdict(const struct fx8_reader *reader, bool y_first,
                      const struct fx8_survey *survey)
{
    const int64_t length = reader->observation.n_samples;
    const size_t n_wrong = count_wrong(survey);
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
    printf("  %-15s", "verdict");
    if (n_wrong == 0) {
        printf("no input looks wrong\n");
        return;
    }
    printf("%zu of %zu %s %s wrong", n_wrong,
           FX8_COUNTED(survey->n_inputs, "input", "inputs"),
           FX8_NOUN(n_wrong, "looks", "look"));
    print_wrong(reader, y_first, survey, n_wrong);
    putchar('\n');
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
        const struct place at = place_of(o, y_first, i);
        const struct fx8_sample_figures f =
            fx8_sample_sums_figures(&survey->sums[i], components);
        char words[128];
        list_remarks(survey->remarks[i], words, sizeof words);
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
    const struct place at = place_of(o, y_first, i);
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
    fx8_json_integer(json, "n_wrong_inputs", (int64_t)count_wrong(survey));
    fx8_json_array(json, "inputs");
    for (size_t i = 0; i < survey->n_inputs; i++)
        write_input(json, reader, y_first, survey, i);
    fx8_json_end(json);
    fx8_json_end(json);
}
