/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metadata.c -- read the metadata of a recording in fx8's own format.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/native/format.h"

const char *const fx8_native_axes[3] = {"antenna", "pol", "time"};

#define AT(member) offsetof(struct fx8_antenna, member)
const struct fx8_h5_member fx8_native_antenna_members[] = {
    {"number", FX8_H5_INTEGER, AT(number), 0, false},
    {"name", FX8_H5_TEXT, AT(name), sizeof((struct fx8_antenna *)0)->name,
     false},
    {"east_m", FX8_H5_REAL, AT(enu_m[0]), 0, false},
    {"north_m", FX8_H5_REAL, AT(enu_m[1]), 0, false},
    {"up_m", FX8_H5_REAL, AT(enu_m[2]), 0, false},
    {"cable_delay_s", FX8_H5_REAL, AT(cable_delay_s[0]), 0, true},
    {"cable_delay_y_s", FX8_H5_REAL, AT(cable_delay_s[1]), 0, true},
};

#undef AT
#define AT(member) offsetof(struct fx8_missing, member)
const struct fx8_h5_member fx8_native_missing_members[] = {
    {"antenna", FX8_H5_INT, AT(antenna), 0, false},
    {"pol", FX8_H5_INT, AT(polarization), 0, false},
    {"first_sample", FX8_H5_INTEGER, AT(first_sample), 0, false},
    {"count", FX8_H5_INTEGER, AT(n_samples), 0, false},
};

static enum fx8_status read_sideband(const struct fx8_h5_place *root,
                                     enum fx8_sideband *sideband,
                                     struct fx8_error *error)
{
    char text[FX8_TEXT_SIZE];
    FX8_TRY(fx8_h5_get_texts(root, "sideband", 1, sizeof text, text, error));
    if (strcmp(text, "upper") == 0)
        *sideband = FX8_SIDEBAND_UPPER;
    else if (strcmp(text, "lower") == 0)
        *sideband = FX8_SIDEBAND_LOWER;
    else
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: sideband: %s: expected upper or lower", root->path,
                        text);
    return FX8_OK;
}

enum fx8_status fx8_native_read_attributes(const char *path, hid_t file,
                                           struct fx8_observation *observation,
                                           struct fx8_error *error)
{
    const struct fx8_h5_place root = {path, file, true};
    int64_t version = 0;
    int64_t nanosecond = 0;
    struct fx8_rate rate = {0, 0};
    const struct fx8_h5_integer integers[] = {
        {"version", FX8_NATIVE_VERSION, FX8_NATIVE_VERSION, &version},
        {"sample_rate_numerator_hz", 1, INT64_MAX, &rate.numerator_hz},
        {"sample_rate_denominator", 1, INT64_MAX, &rate.denominator},
        /* the years 0001 to 9999 */
        {"start_time_unix_s", INT64_C(-62135596800), INT64_C(253402300799),
         &observation->start_time.unix_s},
        {"start_time_ns", 0, 999999999, &nanosecond},
    };
    const struct {
        const char *name;
        char *text;
    } texts[] = {{"telescope", observation->telescope},
                 {"instrument", observation->instrument},
                 {"object", observation->object}};
    FX8_TRY(fx8_h5_get_each(&root, integers,
                            sizeof integers / sizeof integers[0], error));
    observation->sample_rate = fx8_rate_reduced(rate);
    observation->start_time.picosecond = nanosecond * 1000;
    observation->has_start_time = true;
    FX8_TRY(fx8_h5_get_real(&root, "dc_frequency_hz",
                            &observation->dc_frequency_hz, error));
    /* as in the configuration: up to 1 PHz */
    if (observation->dc_frequency_hz < 0 || observation->dc_frequency_hz > 1e15)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: dc_frequency_hz: %g: expected 0 to 1e15 Hz", path,
                        observation->dc_frequency_hz);
    FX8_TRY(read_sideband(&root, &observation->sideband, error));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!fx8_h5_has(&root, texts[i].name))
            continue;
        FX8_TRY(fx8_h5_get_texts(&root, texts[i].name, 1, FX8_TEXT_SIZE,
                                 texts[i].text, error));
        fx8_h5_printable(texts[i].text);
    }
    return FX8_OK;
}

/* Read the site: all three attributes or none. */
static enum fx8_status read_site(const struct fx8_h5_place *attributes,
                                 struct fx8_site *site, struct fx8_error *error)
{
    const struct {
        const char *name;
        double most;
        double *value;
    } members[] = {
        {"latitude_deg", 90, &site->latitude_deg},
        {"longitude_deg", 360, &site->longitude_deg},
        {"altitude_m", 1e5, &site->altitude_m},
    };
    if (!fx8_h5_has(attributes, members[0].name) &&
        !fx8_h5_has(attributes, members[1].name) &&
        !fx8_h5_has(attributes, members[2].name))
        return FX8_OK;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!fx8_h5_has(attributes, members[i].name))
            return fx8_refuse(error, attributes->path, FX8_NATIVE_ANTENNAS,
                              "attribute %s: missing: expected all of "
                              "%s, %s, %s, or none",
                              members[i].name, members[0].name, members[1].name,
                              members[2].name);
        double value = 0;
        FX8_TRY(fx8_h5_get_real(attributes, members[i].name, &value, error));
        if (fabs(value) > members[i].most)
            return fx8_refuse(error, attributes->path, FX8_NATIVE_ANTENNAS,
                              "attribute %s: %g: expected %g to %g",
                              members[i].name, value, -members[i].most,
                              members[i].most);
        *members[i].value = value;
    }
    return FX8_OK;
}

/* UVH5 readers store antenna numbers in 32 bits. */
#define MAX_NUMBER INT64_C(2147483647)

/* Positions may be NaN (unknown), delays may not. */
static enum fx8_status check_row(const struct fx8_h5_item *table,
                                 const struct fx8_antenna *antenna, size_t row,
                                 struct fx8_error *error)
{
    const double values[] = {antenna->enu_m[0], antenna->enu_m[1],
                             antenna->enu_m[2], antenna->cable_delay_s[0],
                             antenna->cable_delay_s[1]};
    if (antenna->number < 0 || antenna->number > MAX_NUMBER)
        return fx8_refuse(error, table->path, table->name,
                          "row %zu: number: %" PRId64
                          ": expected an integer from 0 to %" PRId64,
                          row, antenna->number, MAX_NUMBER);
    for (size_t k = 0; k < 5; k++) {
        const bool is_delay = k >= 3;
        if (is_delay ? !(fabs(values[k]) <= FX8_MAX_CABLE_DELAY_S)
                     : isinf(values[k]))
            return fx8_refuse(
                error, table->path, table->name, "row %zu: %s: %g: expected %s",
                row, fx8_native_antenna_members[2 + k].name, values[k],
                is_delay ? "a finite number of seconds, at most 1"
                         : "a finite number of metres, or NaN where "
                           "it is not known");
    }
    return FX8_OK;
}

/* Check that no number occurs twice. */
static enum fx8_status check_numbers(const struct fx8_h5_item *table,
                                     const struct fx8_antenna *antennas,
                                     struct fx8_error *error)
{
    const size_t n = (size_t)table->extent[0];
    FX8_AUTO_FREE int64_t *numbers = NULL;
    FX8_TRY(
        fx8_allocate(n, sizeof *numbers, "antenna numbers", &numbers, error));
    for (size_t i = 0; i < n; i++)
        numbers[i] = antennas[i].number;
    fx8_number_sort(numbers, n);
    for (size_t i = 1; i < n; i++)
        if (numbers[i] == numbers[i - 1])
            return fx8_refuse(error, table->path, table->name,
                              "number %" PRId64
                              ": twice: expected every number once",
                              numbers[i]);
    return FX8_OK;
}

/* Read and check the rows of an opened table. */
static enum fx8_status read_antennas(const struct fx8_h5_item *table,
                                     struct fx8_antenna *antennas,
                                     struct fx8_error *error)
{
    FX8_TRY(fx8_h5_read_table(table, fx8_native_antenna_members,
                              FX8_NATIVE_ANTENNA_MEMBERS, sizeof *antennas,
                              antennas, error));
    const bool has_x = fx8_h5_has_column(table, "cable_delay_s");
    const bool has_y = fx8_h5_has_column(table, "cable_delay_y_s");
    for (size_t i = 0; i < (size_t)table->extent[0]; i++) {
        struct fx8_antenna *antenna = &antennas[i];
        /* missing delays are 0; a missing Y delay equals X's */
        double *delay_s = antenna->cable_delay_s;
        delay_s[0] = has_x ? delay_s[0] : 0;
        delay_s[1] = has_y ? delay_s[1] : delay_s[0];
        FX8_TRY(check_row(table, antenna, i, error));
        antenna->position = i;
        fx8_h5_printable(antenna->name);
    }
    return check_numbers(table, antennas, error);
}

enum fx8_status fx8_native_read_antennas(const char *path, hid_t file,
                                         struct fx8_observation *observation,
                                         struct fx8_error *error)
{
    const struct fx8_h5_place root = {path, file, false};
    if (!fx8_h5_has(&root, FX8_NATIVE_ANTENNAS))
        return FX8_OK;
    FX8_H5_AUTO_ITEM table = {0};
    FX8_TRY(fx8_h5_open_table(&root, FX8_NATIVE_ANTENNAS, &table, error));
    const size_t n = (size_t)table.extent[0];
    if (n != observation->n_antennas)
        return fx8_refuse(error, path, table.name,
                          "%zu %s: expected %zu, as the antenna axis "
                          "of %s",
                          n, FX8_NOUN(n, "row", "rows"),
                          observation->n_antennas, FX8_NATIVE_VOLTAGES);
    const struct fx8_h5_place attributes = {path, table.id, true};
    FX8_TRY(read_site(&attributes, &observation->site, error));
    /* released with the observation */
    FX8_TRY(fx8_allocate(n, sizeof *observation->antennas, "antennas",
                         &observation->antennas, error));
    observation->n_table = n;
    return read_antennas(&table, observation->antennas, error);
}

/* Read the rows of /missing and check them against the axes. */
static enum fx8_status read_missing(const struct fx8_h5_item *table,
                                    const struct fx8_observation *observation,
                                    struct fx8_missing *missing,
                                    struct fx8_error *error)
{
    FX8_TRY(fx8_h5_read_table(table, fx8_native_missing_members,
                              FX8_NATIVE_MISSING_MEMBERS, sizeof *missing,
                              missing, error));
    for (size_t i = 0; i < (size_t)table->extent[0]; i++) {
        struct fx8_missing *row = &missing[i];
        if (row->antenna < -1 ||
            row->antenna >= (int64_t)observation->n_antennas ||
            row->polarization < -1 ||
            row->polarization >= (int64_t)observation->n_polarizations ||
            row->first_sample < 0 ||
            row->first_sample >= observation->n_samples ||
            row->n_samples <= 0 ||
            row->n_samples > observation->n_samples - row->first_sample)
            return fx8_refuse(error, table->path, table->name,
                              "row %zu: antenna %" PRId32 ", pol %" PRId32
                              ", first_sample %" PRId64 ", count %" PRId64
                              ": expected a stretch of the recording",
                              i, row->antenna, row->polarization,
                              row->first_sample, row->n_samples);
        row->band = -1;
    }
    return FX8_OK;
}

enum fx8_status fx8_native_read_missing(
    const char *path, hid_t file, const struct fx8_observation *observation,
    struct fx8_missing **missing, size_t *n_missing, struct fx8_error *error)
{
    *missing = NULL;
    *n_missing = 0;
    const struct fx8_h5_place root = {path, file, false};
    if (!fx8_h5_has(&root, FX8_NATIVE_MISSING))
        return FX8_OK;
    FX8_H5_AUTO_ITEM table = {0};
    FX8_TRY(fx8_h5_open_table(&root, FX8_NATIVE_MISSING, &table, error));
    const size_t n = (size_t)table.extent[0];
    /* the caller's also after failure */
    FX8_TRY(fx8_allocate(n, sizeof **missing, "missing table", missing, error));
    FX8_TRY(read_missing(&table, observation, *missing, error));
    *n_missing = n;
    return FX8_OK;
}
