/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join.c -- files in fx8's own format as one recording: compared with each
 * other, placed in time, gaps as missing samples.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/divisor.h"
#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/try.h"
#include "io/native/format.h"
#include "io/native/native_reader.h"

#define NANOSECONDS INT64_C(1000000000)

/* --- the same in all files ------------------------------------------------ */

/* Two files that are compared. */
struct pair {
    const char *path, *other;
    struct fx8_error *error;
};

static enum fx8_status same_text(const struct pair *pair, const char *name,
                                 const char *value, const char *expected)
{
    if (strcmp(value, expected) == 0)
        return FX8_OK;
    return fx8_refuse(pair->error, pair->path, name,
                      "%s: expected %s, as in %s",
                      *value != '\0' ? value : "none",
                      *expected != '\0' ? expected : "none", pair->other);
}

/* NaN, which means unknown, equals itself. */
static enum fx8_status same_real(const struct pair *pair, const char *name,
                                 double value, double expected)
{
    char text[2][FX8_NUMBER_TEXT_SIZE] = {"", ""};
    if (!isnan(value))
        fx8_number_format_real(value, text[0]);
    if (!isnan(expected))
        fx8_number_format_real(expected, text[1]);
    return same_text(pair, name, text[0], text[1]);
}

static double real_member(const struct fx8_antenna *antenna,
                          const struct fx8_h5_member *member)
{
    double value;
    memcpy(&value, (const char *)antenna + member->offset, sizeof value);
    return value;
}

static enum fx8_status same_antenna(const struct pair *pair, size_t row,
                                    const struct fx8_antenna *a,
                                    const struct fx8_antenna *b)
{
    char text[2][sizeof a->name + 32], name[64];
    snprintf(text[0], sizeof text[0], "%" PRId64 " '%s'", a->number, a->name);
    snprintf(text[1], sizeof text[1], "%" PRId64 " '%s'", b->number, b->name);
    snprintf(name, sizeof name, "%s: row %zu: number", FX8_NATIVE_ANTENNAS,
             row);
    FX8_TRY(same_text(pair, name, text[0], text[1]));
    for (size_t k = 0; k < FX8_NATIVE_ANTENNA_MEMBERS; k++) {
        const struct fx8_h5_member *member = &fx8_native_antenna_members[k];
        if (member->kind != FX8_H5_REAL)
            continue;
        snprintf(name, sizeof name, "%s: row %zu: %s", FX8_NATIVE_ANTENNAS, row,
                 member->name);
        FX8_TRY(same_real(pair, name, real_member(a, member),
                          real_member(b, member)));
    }
    return FX8_OK;
}

static enum fx8_status same_antennas(const struct pair *pair,
                                     const struct fx8_observation *o,
                                     const struct fx8_observation *expected)
{
    const double site[3][2] = {
        {o->site.latitude_deg, expected->site.latitude_deg},
        {o->site.longitude_deg, expected->site.longitude_deg},
        {o->site.altitude_m, expected->site.altitude_m},
    };
    static const char *const names[3] = {"antennas: latitude_deg",
                                         "antennas: longitude_deg",
                                         "antennas: altitude_m"};
    FX8_TRY(same_text(pair, FX8_NATIVE_ANTENNAS,
                      o->n_table > 0 ? "a table" : "",
                      expected->n_table > 0 ? "a table" : ""));
    for (size_t i = 0; i < 3; i++)
        FX8_TRY(same_real(pair, names[i], site[i][0], site[i][1]));
    for (size_t row = 0; row < o->n_table; row++)
        FX8_TRY(same_antenna(pair, row, &o->antennas[row],
                             &expected->antennas[row]));
    return FX8_OK;
}

/* "complex samples (antenna, pol, time) of 4 antennas, 2 polarisations" */
static void describe_samples(const struct fx8_native_file *file,
                             const struct fx8_observation *o,
                             char text[FX8_TEXT_SIZE])
{
    const char *axes[3];
    for (int axis = 0; axis < 3; axis++)
        axes[file->order.place[axis]] = fx8_native_axes[axis];
    snprintf(text, FX8_TEXT_SIZE, "%s samples (%s, %s, %s) of %zu %s, %zu %s",
             o->is_complex ? "complex" : "real", axes[0], axes[1], axes[2],
             FX8_COUNTED(o->n_antennas, "antenna", "antennas"),
             FX8_COUNTED(o->n_polarizations, "polarisation", "polarisations"));
}

enum fx8_status fx8_native_agree(const struct fx8_native_file *file,
                                 const struct fx8_observation *observation,
                                 const struct fx8_native_file *other,
                                 const struct fx8_observation *expected,
                                 struct fx8_error *error)
{
    static const char *const sidebands[] = {
        [FX8_SIDEBAND_UPPER] = "upper", [FX8_SIDEBAND_LOWER] = "lower"};
    const struct pair pair = {file->path, other->path, error};
    const struct fx8_observation *o[2] = {observation, expected};
    char rate[2][FX8_NUMBER_TEXT_SIZE], samples[2][FX8_TEXT_SIZE];
    for (int k = 0; k < 2; k++) {
        fx8_number_format_fraction(o[k]->sample_rate.numerator_hz,
                                   o[k]->sample_rate.denominator, rate[k]);
        describe_samples(k == 0 ? file : other, o[k], samples[k]);
    }
    const struct {
        const char *name, *value, *expected;
    } texts[] = {
        {FX8_NATIVE_VOLTAGES, samples[0], samples[1]},
        {"sample_rate", rate[0], rate[1]},
        {"sideband", sidebands[o[0]->sideband], sidebands[o[1]->sideband]},
        {"telescope", o[0]->telescope, o[1]->telescope},
        {"instrument", o[0]->instrument, o[1]->instrument},
        {"object", o[0]->object, o[1]->object},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        FX8_TRY(
            same_text(&pair, texts[i].name, texts[i].value, texts[i].expected));
    FX8_TRY(same_real(&pair, "dc_frequency_hz", o[0]->dc_frequency_hz,
                      o[1]->dc_frequency_hz));
    return same_antennas(&pair, o[0], o[1]);
}

/* --- time ----------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b)
{
    const struct fx8_native_file *x = a, *y = b;
    if (x->start_time.unix_s != y->start_time.unix_s)
        return x->start_time.unix_s < y->start_time.unix_s ? -1 : 1;
    return (x->start_time.picosecond > y->start_time.picosecond) -
           (x->start_time.picosecond < y->start_time.picosecond);
}

/* Most samples of a recording: fewer than 2^63 bytes. */
static int64_t most_samples(const struct fx8_native_file *file)
{
    return INT64_MAX / (int64_t)(file->order.extent[FX8_AXIS_ANTENNA] *
                                 file->order.extent[FX8_AXIS_POLARIZATION] * 2);
}

/* Place a file on the sample grid of the first one.  A start is known to 1 ns,
 * which may be most of a sample or more: then it is taken as exact. */
static enum fx8_status place(const struct fx8_native_file *first,
                             struct fx8_rate rate, struct fx8_native_file *file,
                             struct fx8_error *error)
{
    const fx8_wide after_ns =
        (fx8_wide)(file->start_time.unix_s - first->start_time.unix_s) *
            NANOSECONDS +
        (file->start_time.picosecond - first->start_time.picosecond) / 1000;
    const fx8_wide unit = (fx8_wide)rate.denominator * NANOSECONDS;
    if (after_ns > (fx8_wide)(FX8_READER_LONGEST_S * 1e9) ||
        after_ns * rate.numerator_hz / unit >=
            most_samples(file) - file->n_samples)
        return fx8_refuse(error, file->path, "start_time_unix_s",
                          "%" PRId64 " s after %s: expected files of one "
                          "recording, at most %g s long",
                          file->start_time.unix_s - first->start_time.unix_s,
                          first->path, FX8_READER_LONGEST_S);
    const fx8_wide length = after_ns * rate.numerator_hz;
    const fx8_wide nearest = (length + unit / 2) / unit;
    const double off = (double)(length - nearest * unit) / (double)unit;
    const double doubt = fx8_rate_hz(rate) * 1e-9;
    const double most =
        FX8_READER_MOST_OFF + (doubt + FX8_READER_MOST_OFF < 0.5 ? doubt : 0);
    if (fabs(off) > most)
        return fx8_refuse(error, file->path, "start_time_ns",
                          "%+.3g samples off the sampling of %s: expected at "
                          "most %.3g",
                          off, first->path, most);
    file->first_sample = (int64_t)nearest;
    return FX8_OK;
}

/* List what is missing before a file and within it. */
static enum fx8_status list_missing(struct fx8_reader *base, int64_t end,
                                    struct fx8_native_file *file,
                                    struct fx8_error *error)
{
    const struct fx8_missing before = {end, file->first_sample - end, -1, -1,
                                       -1};
    if (before.n_samples > 0)
        FX8_TRY(
            fx8_missing_add(&base->missing, &base->n_missing, &before, error));
    for (size_t i = 0; i < file->n_missing; i++) {
        struct fx8_missing gap = file->missing[i];
        gap.first_sample += file->first_sample;
        FX8_TRY(fx8_missing_add(&base->missing, &base->n_missing, &gap, error));
    }
    free(file->missing);
    file->missing = NULL;
    return FX8_OK;
}

enum fx8_status fx8_native_join(struct fx8_native_reader *reader,
                                struct fx8_rate rate, struct fx8_error *error)
{
    struct fx8_native_file *files = reader->files;
    int64_t end = 0;
    if (reader->n_files > 1)
        qsort(files, reader->n_files, sizeof *files, compare_starts);
    for (size_t i = 0; i < reader->n_files; i++) {
        if (i > 0)
            FX8_TRY(place(&files[0], rate, &files[i], error));
        const int64_t overlap = end - files[i].first_sample;
        if (overlap > 0)
            return fx8_refuse(
                error, files[i].path, "start_time_unix_s",
                "%" PRId64 " %s before the end of %s: expected files one after "
                "the other",
                FX8_COUNTED(overlap, "sample", "samples"), files[i - 1].path);
        FX8_TRY(list_missing(&reader->base, end, &files[i], error));
        end = files[i].first_sample + files[i].n_samples;
    }
    reader->base.observation.start_time = files[0].start_time;
    reader->base.observation.n_samples = end;
    return FX8_OK;
}
