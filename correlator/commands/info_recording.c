/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_recording.c -- `fx8 info` of a recording: metadata, missing samples, and
 * the levels of its inputs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/antennas.h"
#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/supply.h"
#include "correlator/commands/command.h"
#include "correlator/commands/info.h"
#include "correlator/run/gaps.h"
#include "correlator/run/progress.h"

/* Everything printed, released in one place. */
struct work {
    const struct fx8_info_request *request;
    struct fx8_reader *reader;
    int64_t *missing; /* [n_inputs] samples listed as missing */
    struct fx8_gap_count whole, single;
    struct fx8_survey survey;
};

static void clear(struct work *work)
{
    fx8_survey_clear(&work->survey);
    free(work->missing);
    fx8_reader_close(&work->reader);
}

/* --- frequencies -------------------------------------------------- */

static const char *sideband_name(enum fx8_sideband sideband)
{
    return sideband == FX8_SIDEBAND_UNKNOWN ? NULL
           : sideband == FX8_SIDEBAND_LOWER ? "lower"
                                            : "upper";
}

/* NaN if the rate is unknown. */
static double duration_s(const struct fx8_observation *o)
{
    if (o->sample_rate.numerator_hz <= 0)
        return NAN;
    return (double)((long double)o->n_samples *
                    (long double)o->sample_rate.denominator /
                    (long double)o->sample_rate.numerator_hz);
}

/* Instants of the first sample and of the end; "": not known. */
struct instants {
    char start[FX8_NUMBER_TEXT_SIZE], end[FX8_NUMBER_TEXT_SIZE];
};

static struct instants instants_of(const struct fx8_observation *o)
{
    struct instants instants = {"", ""};
    if (o->has_start_time)
        fx8_number_format_time(o->start_time, instants.start);
    if (o->has_start_time && o->sample_rate.numerator_hz > 0)
        fx8_number_format_time(fx8_time_add_half_samples(o->start_time,
                                                         2 * o->n_samples,
                                                         o->sample_rate),
                               instants.end);
    return instants;
}

/* Warn of what correlate would warn of, or refuse in the recorded table. */
static void warn(const char *path, const struct fx8_observation *o)
{
    char text[FX8_TEXT_SIZE];
    struct fx8_error error;
    if (fx8_observation_doubt(o, text))
        fx8_command_warning("%s", text);
    for (size_t a = 0; a < o->n_table; a++) {
        snprintf(text, sizeof text, "%.200s: antennas: row %zu", path, a);
        if (fx8_antennas_check_distance(text, o->antennas[a].enu_m, &error) ==
            FX8_OK)
            continue;
        fx8_command_warning("%s", error.message);
        return;
    }
}

/* --- text --------------------------------------------------------- */

static void print_frequencies(const struct fx8_observation *o)
{
    const char *name = sideband_name(o->sideband);
    char sideband[32] = "sideband not recorded";
    if (name != NULL)
        snprintf(sideband, sizeof sideband, "%s sideband", name);
    double edges_hz[2];
    fx8_observation_edges(o, edges_hz);
    if (isnan(o->dc_frequency_hz))
        fx8_info_field("frequencies", "not recorded (%s)", sideband);
    else if (isnan(edges_hz[0]))
        fx8_info_field("frequencies", "baseband zero at %.6f MHz (%s)",
                       o->dc_frequency_hz * 1e-6, sideband);
    else
        fx8_info_field("frequencies",
                       "%.6f to %.6f MHz, baseband zero at %.6f MHz (%s)",
                       edges_hz[0] * 1e-6, edges_hz[1] * 1e-6,
                       o->dc_frequency_hz * 1e-6, sideband);
    if (o->n_bands > 1)
        fx8_info_field("bands", "%zu, the last with baseband zero at %.6f MHz",
                       o->n_bands,
                       fx8_observation_band_hz(o, o->n_bands - 1) * 1e-6);
}

static void print_times(const struct fx8_observation *o)
{
    const struct instants instants = instants_of(o);
    const char *samples = FX8_NOUN(o->n_samples, "sample", "samples");
    fx8_info_field("start", "%s",
                   o->has_start_time ? instants.start : "not recorded");
    if (o->sample_rate.numerator_hz <= 0) {
        fx8_info_field("sample rate", "not recorded");
        fx8_info_field("duration", "%" PRId64 " %s", o->n_samples, samples);
        return;
    }
    fx8_info_text("end", instants.end);
    char fraction[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_fraction(o->sample_rate.numerator_hz,
                               o->sample_rate.denominator, fraction);
    fx8_info_field("sample rate", "%.6f MHz (%s Hz)",
                   fx8_rate_hz(o->sample_rate) * 1e-6, fraction);
    fx8_info_field("duration", "%.6f s (%" PRId64 " %s)", duration_s(o),
                   o->n_samples, samples);
}

static void print_gap_count(const char *label,
                            const struct fx8_gap_count *count,
                            struct fx8_rate rate)
{
    if (count->n_stretches == 0)
        return;
    char longest[64] = "";
    if (rate.numerator_hz > 0)
        snprintf(longest, sizeof longest, " (%.6f s)",
                 (double)count->longest_samples / fx8_rate_hz(rate));
    fx8_info_field(label, "%" PRId64 ", the longest of %" PRId64 " %s%s",
                   count->n_stretches,
                   FX8_COUNTED(count->longest_samples, "sample", "samples"),
                   longest);
}

static void print_missing(const struct work *work)
{
    const struct fx8_observation *o = &work->reader->observation;
    const size_t n_inputs = fx8_observation_inputs(o);
    if (work->reader->n_missing == 0) {
        fx8_info_field("missing", "nothing listed");
        return;
    }
    double sum = 0.0;
    size_t worst = 0;
    for (size_t i = 0; i < n_inputs; i++) {
        sum += (double)work->missing[i];
        if (work->missing[i] > work->missing[worst])
            worst = i;
    }
    const double percent = 100.0 / (double)o->n_samples;
    char name[FX8_INPUT_NAME_SIZE];
    fx8_input_name(o, work->request->settings->input.y_first, worst, name);
    fx8_info_field("missing",
                   "%.4f %% of the samples are listed as missing, at most "
                   "%.4f %% of an input (%s)",
                   sum / (double)n_inputs * percent,
                   (double)work->missing[worst] * percent, name);
    print_gap_count("gaps, all", &work->whole, o->sample_rate);
    print_gap_count("gaps, some", &work->single, o->sample_rate);
}

static void print_antennas(const struct fx8_observation *o)
{
    if (o->n_table == 0) {
        printf("\nno antenna table\n");
        return;
    }
    printf("\n%8s %-16s %12s %12s %12s %12s %12s\n", "antenna", "name",
           "east/m", "north/m", "up/m", "cable X/ns", "cable Y/ns");
    for (size_t a = 0; a < o->n_table; a++) {
        const struct fx8_antenna *antenna = &o->antennas[a];
        printf("%8" PRId64 " %-16s %12.3f %12.3f %12.3f %12.3f %12.3f\n",
               antenna->number, antenna->name, antenna->enu_m[0],
               antenna->enu_m[1], antenna->enu_m[2],
               antenna->cable_delay_s[0] * 1e9,
               antenna->cable_delay_s[1] * 1e9);
    }
}

static void print_given(const struct fx8_settings *settings)
{
    for (const char *const *key = fx8_supply_keys; *key != NULL; key++)
        if (fx8_settings_given(settings, *key))
            fx8_info_field("given", "%s", *key);
}

static void print_head(const struct work *work)
{
    const struct fx8_observation *o = &work->reader->observation;
    const struct fx8_info_request *request = work->request;
    const int64_t at_once = work->reader->read_samples(work->reader);
    char what[64] = ": recording";
    if (request->n_paths > 1)
        snprintf(what, sizeof what, " and %zu more: recording",
                 request->n_paths - 1);
    fx8_info_head(request->paths[0], what);
    fx8_info_field("format", "%s", work->reader->format->name);
    fx8_info_names(o->telescope, o->instrument, o->object, &o->site);
    fx8_info_field("antennas", "%zu", o->n_antennas);
    fx8_info_field("polarisations", "%zu", o->n_polarizations);
    fx8_info_field("samples", "%s, %s", o->is_complex ? "complex" : "real",
                   work->reader->is_16bit ? "16 bits, read as 8" : "8 bits");
    fx8_info_field("read at a time", "%" PRId64 " %s",
                   FX8_COUNTED(at_once, "sample", "samples"));
    print_times(o);
    print_frequencies(o);
    print_given(request->settings);
    print_missing(work);
}

/* --- JSON --------------------------------------------------------- */

static void write_times(struct fx8_json *json, const struct fx8_observation *o)
{
    const struct instants instants = instants_of(o);
    const bool has_rate = o->sample_rate.numerator_hz > 0;
    fx8_json_integer(json, "samples_per_input", o->n_samples);
    fx8_json_real(json, "sample_rate_hz",
                  has_rate ? fx8_rate_hz(o->sample_rate) : NAN);
    if (has_rate) {
        fx8_json_integer(json, "sample_rate_numerator_hz",
                         o->sample_rate.numerator_hz);
        fx8_json_integer(json, "sample_rate_denominator",
                         o->sample_rate.denominator);
    }
    fx8_json_real(json, "duration_s", duration_s(o));
    fx8_json_text(json, "start_time_utc", instants.start);
    fx8_json_text(json, "end_time_utc", instants.end);
}

static void write_frequencies(struct fx8_json *json,
                              const struct fx8_observation *o)
{
    double edges_hz[2];
    fx8_observation_edges(o, edges_hz);
    fx8_json_text(json, "sideband", sideband_name(o->sideband));
    fx8_json_real(json, "lowest_frequency_hz", edges_hz[0]);
    fx8_json_real(json, "highest_frequency_hz", edges_hz[1]);
    fx8_json_array(json, "dc_frequencies_hz");
    for (size_t band = 0; band < o->n_bands; band++)
        fx8_json_real(json, NULL, fx8_observation_band_hz(o, band));
    fx8_json_end(json);
}

static void write_gap_count(struct fx8_json *json, const char *key,
                            const struct fx8_gap_count *count)
{
    fx8_json_object(json, key);
    fx8_json_integer(json, "stretches", count->n_stretches);
    fx8_json_integer(json, "longest_samples", count->longest_samples);
    fx8_json_integer(json, "samples_per_input", count->n_samples);
    fx8_json_end(json);
}

static void write_missing(struct fx8_json *json, const struct work *work)
{
    const size_t n_inputs = fx8_observation_inputs(&work->reader->observation);
    fx8_json_object(json, "missing");
    write_gap_count(json, "of_all_inputs", &work->whole);
    write_gap_count(json, "of_some_inputs", &work->single);
    fx8_json_array(json, "samples_of_inputs");
    for (size_t i = 0; i < n_inputs; i++)
        fx8_json_integer(json, NULL, work->missing[i]);
    fx8_json_end(json);
    fx8_json_end(json);
}

static void write_antennas(struct fx8_json *json,
                           const struct fx8_observation *o)
{
    fx8_json_array(json, "antenna_table");
    for (size_t a = 0; a < o->n_table; a++) {
        const struct fx8_antenna *antenna = &o->antennas[a];
        fx8_json_object(json, NULL);
        fx8_json_integer(json, "position", (int64_t)antenna->position);
        fx8_json_integer(json, "number", antenna->number);
        fx8_json_text(json, "name", antenna->name);
        fx8_json_real(json, "east_m", antenna->enu_m[0]);
        fx8_json_real(json, "north_m", antenna->enu_m[1]);
        fx8_json_real(json, "up_m", antenna->enu_m[2]);
        fx8_json_real(json, "cable_delay_x_s", antenna->cable_delay_s[0]);
        fx8_json_real(json, "cable_delay_y_s", antenna->cable_delay_s[1]);
        fx8_json_end(json);
    }
    fx8_json_end(json);
}

static void write(const struct work *work)
{
    const struct fx8_observation *o = &work->reader->observation;
    const struct fx8_info_request *request = work->request;
    struct fx8_json json = {.stream = stdout};
    fx8_json_object(&json, NULL);
    fx8_json_array(&json, "files");
    for (size_t i = 0; i < request->n_paths; i++)
        fx8_json_text(&json, NULL, request->paths[i]);
    fx8_json_end(&json);
    fx8_json_text(&json, "kind", "recording");
    fx8_json_text(&json, "format", work->reader->format->name);
    fx8_info_names_json(&json, o->telescope, o->instrument, o->object,
                        &o->site);
    fx8_json_integer(&json, "n_antennas", (int64_t)o->n_antennas);
    fx8_json_integer(&json, "n_polarizations", (int64_t)o->n_polarizations);
    fx8_json_integer(&json, "n_bands", (int64_t)o->n_bands);
    fx8_json_bool(&json, "is_complex", o->is_complex);
    fx8_json_bool(&json, "is_16bit", work->reader->is_16bit);
    fx8_json_integer(&json, "read_at_a_time_samples",
                     work->reader->read_samples(work->reader));
    write_times(&json, o);
    write_frequencies(&json, o);
    fx8_json_array(&json, "given_keys");
    for (const char *const *key = fx8_supply_keys; *key != NULL; key++)
        if (fx8_settings_given(request->settings, *key))
            fx8_json_text(&json, NULL, *key);
    fx8_json_end(&json);
    write_missing(&json, work);
    write_antennas(&json, o);
    if (request->has_levels)
        fx8_info_levels_json(&json, work->reader,
                             request->settings->input.y_first, &work->survey);
    fx8_json_end(&json);
}

/* --- the whole ---------------------------------------------------- */

static enum fx8_status count_gaps(struct work *work, struct fx8_error *error)
{
    const size_t n_inputs = fx8_observation_inputs(&work->reader->observation);
    FX8_TRY(fx8_allocate(n_inputs, sizeof *work->missing, "inputs",
                         &work->missing, error));
    return fx8_gaps_count(work->reader, 0, work->reader->observation.n_samples,
                          &work->whole, &work->single, work->missing, error);
}

static enum fx8_status survey(struct work *work, struct fx8_survey_range *range,
                              struct fx8_error *error)
{
    struct fx8_progress_display display;
    fx8_progress_start(&display, "info", NULL,
                       work->request->is_quiet ? NULL : stderr);
    range->progress = fx8_progress_show;
    range->progress_context = &display;
    const enum fx8_status status = fx8_survey_run(
        work->reader, work->request->settings, range, &work->survey, error);
    fx8_progress_end(&display);
    return status;
}

static void warn_of(void *context, const char *text)
{
    (void)context;
    fx8_command_warning("%s", text);
}

static enum fx8_status tell(struct work *work, struct fx8_error *error)
{
    const struct fx8_info_request *request = work->request;
    const bool y_first = request->settings->input.y_first;
    struct fx8_observation *o = &work->reader->observation;
    struct fx8_survey_range range = {.is_all = request->is_all};
    FX8_TRY(fx8_supply(request->settings, o, warn_of, NULL, error));
    warn(request->paths[0], o);
    FX8_TRY(fx8_supply_range(request->settings, o, request->paths[0],
                             &range.first_sample, &range.n_samples, warn_of,
                             NULL, error));
    FX8_TRY(count_gaps(work, error));
    if (!request->is_json) {
        print_head(work); /* now: reading all may take hours */
        fflush(stdout);
    }
    if (request->has_levels)
        FX8_TRY(survey(work, &range, error));
    if (request->is_json) {
        write(work);
        return FX8_OK;
    }
    if (request->has_levels)
        FX8_TRY(fx8_info_verdict(work->reader, y_first, &work->survey, error));
    print_antennas(&work->reader->observation);
    if (request->has_levels)
        fx8_info_levels(work->reader, y_first, &work->survey);
    return FX8_OK;
}

enum fx8_status fx8_info_recording(const struct fx8_info_request *request,
                                   struct fx8_error *error)
{
    FX8_AUTO(clear) struct work work = {.request = request};
    FX8_TRY(fx8_reader_open(request->paths, request->n_paths, request->settings,
                            &work.reader, error));
    return tell(&work, error);
}
