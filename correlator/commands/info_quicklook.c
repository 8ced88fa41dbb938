/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_quicklook.c -- `fx8 info` of a quick-look file.
 */
#include <inttypes.h>
#include <stdio.h>

#include "config/base/line.h"
#include "config/base/try.h"
#include "correlator/commands/info.h"
#include "io/quicklook/read.h"

/* --- text -------------------------------------------------------- */

static void print_counts(const struct fx8_quicklook_description *d)
{
    if (!d->has_counts) {
        fx8_info_field("counts", "none: the run has not come to its end");
        return;
    }
    printf("\ncounts\n");
    for (size_t i = 0; i < FX8_QUICKLOOK_COUNTS; i++)
        if (d->counts[i] != 0)
            fx8_info_field(fx8_quicklook_count_names[i], " %" PRId64,
                           d->counts[i]);
}

static void print(const char *path, const struct fx8_quicklook_description *d)
{
    fx8_info_head(path, ": quick-look");
    fx8_info_names(d->telescope, d->instrument, d->object, NULL);
    fx8_info_field("antennas", "%zu, %zu %s", d->n_antennas,
                   FX8_COUNTED(d->n_inputs, "input", "inputs"));
    fx8_info_field("baselines", "%zu, %zu %s each", d->n_baselines,
                   FX8_COUNTED(d->n_products, "product", "products"));
    fx8_info_field("times", "%zu of %zu %s, %.6f s and %" PRId64 " %s each",
                   d->n_written, FX8_COUNTED(d->n_dumps, "dump", "dumps"),
                   d->integration_time_s,
                   FX8_COUNTED(d->spectra_per_dump, "spectrum", "spectra"));
    if (d->n_written > 0) {
        char first[FX8_NUMBER_TEXT_SIZE], last[FX8_NUMBER_TEXT_SIZE];
        fx8_info_julian_date(d->first_julian_date, first);
        fx8_info_julian_date(d->last_julian_date, last);
        fx8_info_field("centres", "%s to %s", first, last);
    }
    fx8_info_field("channels", "%zu of %.6f MHz, centres %.6f to %.6f MHz",
                   d->n_channels, d->channel_width_hz * 1e-6,
                   d->first_frequency_hz * 1e-6, d->last_frequency_hz * 1e-6);
    fx8_info_field("looked at", "%s results, functions %s", d->precision,
                   d->math);
    print_counts(d);
}

/* --- JSON -------------------------------------------------------- */

static void write_counts(struct fx8_json *json,
                         const struct fx8_quicklook_description *d)
{
    if (!d->has_counts) {
        fx8_json_text(json, "counts", NULL);
        return;
    }
    fx8_json_object(json, "counts");
    for (size_t i = 0; i < FX8_QUICKLOOK_COUNTS; i++)
        fx8_json_integer(json, fx8_quicklook_count_names[i], d->counts[i]);
    fx8_json_end(json);
}

static void write(const char *path, const struct fx8_quicklook_description *d)
{
    struct fx8_json json = {.stream = stdout};
    fx8_json_object(&json, NULL);
    fx8_json_text(&json, "file", path);
    fx8_json_text(&json, "kind", "quick-look");
    fx8_info_names_json(&json, d->telescope, d->instrument, d->object, NULL);
    fx8_json_text(&json, "precision", d->precision);
    fx8_json_text(&json, "math", d->math);
    fx8_json_integer(&json, "n_antennas", (int64_t)d->n_antennas);
    fx8_json_integer(&json, "n_inputs", (int64_t)d->n_inputs);
    fx8_json_integer(&json, "n_baselines", (int64_t)d->n_baselines);
    fx8_json_integer(&json, "n_channels", (int64_t)d->n_channels);
    fx8_json_integer(&json, "n_products", (int64_t)d->n_products);
    fx8_json_integer(&json, "n_dumps", (int64_t)d->n_dumps);
    fx8_json_integer(&json, "n_dumps_written", (int64_t)d->n_written);
    fx8_json_integer(&json, "spectra_per_dump", d->spectra_per_dump);
    fx8_json_real(&json, "integration_time_s", d->integration_time_s);
    fx8_json_real(&json, "first_julian_date", d->first_julian_date);
    fx8_json_real(&json, "last_julian_date", d->last_julian_date);
    fx8_json_real(&json, "first_frequency_hz", d->first_frequency_hz);
    fx8_json_real(&json, "last_frequency_hz", d->last_frequency_hz);
    fx8_json_real(&json, "channel_width_hz", d->channel_width_hz);
    write_counts(&json, d);
    fx8_json_end(&json);
}

enum fx8_status fx8_info_quicklook(const struct fx8_info_request *request,
                                   struct fx8_error *error)
{
    struct fx8_quicklook_description description;
    FX8_TRY(fx8_quicklook_describe(request->paths[0], &description, error));
    if (request->is_json)
        write(request->paths[0], &description);
    else
        print(request->paths[0], &description);
    return FX8_OK;
}
