/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info_visibilities.c -- `fx8 info` of a UVH5 file.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/commands/info.h"
#include "io/output.h"

/* Bytes of flags read at a time. */
#define READ_SIZE ((size_t)4 << 20)

/* Figures from the flags. */
struct flagged {
    double share; /* of all values; NaN without values */
    size_t n_dumps;
    size_t n_finished; /* dumps up to the last with an unflagged value */
};

static enum fx8_status measure_flagged(struct fx8_uvh5_file *file,
                                       const struct fx8_uvh5_header *header,
                                       struct flagged *flagged,
                                       struct fx8_error *error)
{
    const size_t row = header->n_channels * header->n_products;
    const size_t n_rows = header->n_rows;
    const size_t at_once = row > 0 && row < READ_SIZE ? READ_SIZE / row : 1;
    FX8_AUTO_FREE uint8_t *flags = NULL;
    FX8_TRY(fx8_allocate(fx8_product(row, at_once, 1, 1), 1, "flags", &flags,
                         error));
    double n_flagged = 0.0;
    flagged->n_finished = 0;
    for (size_t first = 0; first < n_rows; first += at_once) {
        const size_t n = n_rows - first < at_once ? n_rows - first : at_once;
        FX8_TRY(fx8_uvh5_read_rows(file, first, n, NULL, flags, NULL, error));
        for (size_t r = 0; r < n; r++) {
            size_t n_set = 0;
            for (size_t i = 0; i < row; i++)
                n_set += flags[r * row + i];
            n_flagged += (double)n_set;
            if (n_set < row)
                flagged->n_finished = (first + r) / header->n_baselines + 1;
        }
    }
    flagged->share = n_flagged / ((double)n_rows * (double)row);
    flagged->n_dumps = header->n_times;
    if (header->is_irregular) /* its dumps have marks, if it is of fx8 */
        fx8_uvh5_count_finished(file, &flagged->n_dumps, &flagged->n_finished);
    return FX8_OK;
}

/* --- text -------------------------------------------------------- */

static void print_axes(const struct fx8_uvh5_header *header)
{
    char first[FX8_NUMBER_TEXT_SIZE], last[FX8_NUMBER_TEXT_SIZE];
    char products[64];
    fx8_info_field("antennas", "%zu", header->n_antennas);
    fx8_info_field("baselines", "%zu", header->n_baselines);
    if (header->is_irregular) {
        fx8_info_julian_date(header->julian_dates[0], first);
        fx8_info_julian_date(header->julian_dates[header->n_times - 1], last);
        fx8_info_field("times", "%zu, centres %s to %s", header->n_times, first,
                       last);
        fx8_info_field(
            "rows", "%zu of %.6f to %.6f s: baselines have their own times",
            header->n_rows, header->lengths_s[0], header->lengths_s[1]);
    } else if (header->n_times > 0) {
        fx8_info_julian_date(header->julian_dates[0], first);
        fx8_info_julian_date(header->julian_dates[header->n_times - 1], last);
        const double length_s = fx8_uvh5_longest_s(header);
        const double last_s = header->integration_s[header->n_times - 1];
        char shorter[48] = "";
        if (last_s != length_s)
            snprintf(shorter, sizeof shorter, " (the last of %.6f s)", last_s);
        fx8_info_field("times", "%zu of %.6f s%s, centres %s to %s",
                       header->n_times, length_s, shorter, first, last);
    }
    if (header->n_channels > 0)
        fx8_info_field("channels", "%zu of %.6f MHz, centres %.6f to %.6f MHz",
                       header->n_channels, header->channel_widths_hz[0] * 1e-6,
                       header->frequencies_hz[0] * 1e-6,
                       header->frequencies_hz[header->n_channels - 1] * 1e-6);
    fx8_info_products(header->products, header->n_products, products,
                      sizeof products);
    fx8_info_field("products", "%s", products);
}

static double real_keyword(const struct fx8_uvh5_header *header,
                           const char *name)
{
    const struct fx8_keyword *keyword = fx8_uvh5_keyword(header, name);
    return keyword != NULL && keyword->type == FX8_KEYWORD_REAL ? keyword->real
                                                                : NAN;
}

/* Phase centre, and what fx8 removed. */
static void print_delays(const struct fx8_uvh5_header *header)
{
    if (header->is_phased && isfinite(header->center_deg[0]))
        fx8_info_field("phase centre", "ra %.6f, dec %.6f deg (ICRS)",
                       header->center_deg[0], header->center_deg[1]);
    else
        fx8_info_field("phase centre", "%s",
                       header->is_phased ? "not in ICRS" : "none");
    const double most_s = real_keyword(header, "DELMAX");
    if (isnan(most_s))
        return;
    fx8_info_field("delays",
                   "at most %.6g ns, %.3g ns/s; up to %.2f sample left by "
                   "whole-sample shifts; up to %.3g %% of the coherence lost",
                   most_s * 1e9, real_keyword(header, "DELRATE") * 1e9,
                   real_keyword(header, "DELREST"),
                   real_keyword(header, "DELLOSS") * 100);
}

static void print_keywords(const struct fx8_uvh5_header *header)
{
    if (header->n_keywords == 0)
        return;
    printf("\nkeywords\n");
    for (size_t k = 0; k < header->n_keywords; k++) {
        const struct fx8_keyword *keyword = &header->keywords[k];
        if (keyword->type == FX8_KEYWORD_TEXT)
            fx8_info_line(keyword->name, keyword->text);
        else if (keyword->type == FX8_KEYWORD_INTEGER)
            fx8_info_field(keyword->name, "%" PRId64, keyword->integer);
        else
            fx8_info_field(keyword->name, "%.9g", keyword->real);
    }
}

static void print(const char *path, const struct fx8_uvh5_header *header,
                  const struct flagged *flagged)
{
    fx8_info_head(path, ": visibilities (UVH5)");
    fx8_info_names(header->telescope, header->instrument, header->object,
                   &header->site);
    print_axes(header);
    print_delays(header);
    if (fx8_output_is_part(path))
        fx8_info_field("finished",
                       "%zu of %zu %s: a run has not come to its end",
                       flagged->n_finished,
                       FX8_COUNTED(flagged->n_dumps, "dump", "dumps"));
    fx8_info_field("flagged", "%.4f %%", 100.0 * flagged->share);
    print_keywords(header);
}

/* --- JSON -------------------------------------------------------- */

static void write_axes(struct fx8_json *json,
                       const struct fx8_uvh5_header *header)
{
    fx8_json_integer(json, "n_antennas", (int64_t)header->n_antennas);
    fx8_json_integer(json, "n_baselines", (int64_t)header->n_baselines);
    fx8_json_integer(json, "n_times", (int64_t)header->n_times);
    fx8_json_integer(json, "n_rows", (int64_t)header->n_rows);
    if (header->is_irregular)
        fx8_json_reals(json, "integration_range_s", header->lengths_s, 2);
    else
        fx8_json_reals(json, "integration_times_s", header->integration_s,
                       header->n_times);
    fx8_json_reals(json, "julian_dates", header->julian_dates, header->n_times);
    fx8_json_reals(json, "frequencies_hz", header->frequencies_hz,
                   header->n_channels);
    fx8_json_reals(json, "channel_widths_hz", header->channel_widths_hz,
                   header->n_channels);
    fx8_json_array(json, "products");
    for (size_t p = 0; p < header->n_products; p++) {
        char name[16];
        fx8_info_products(&header->products[p], 1, name, sizeof name);
        fx8_json_text(json, NULL, name);
    }
    fx8_json_end(json);
}

static void write_keywords(struct fx8_json *json,
                           const struct fx8_uvh5_header *header)
{
    fx8_json_object(json, "keywords");
    for (size_t k = 0; k < header->n_keywords; k++) {
        const struct fx8_keyword *keyword = &header->keywords[k];
        if (keyword->type == FX8_KEYWORD_TEXT)
            fx8_json_text(json, keyword->name, keyword->text);
        else if (keyword->type == FX8_KEYWORD_INTEGER)
            fx8_json_integer(json, keyword->name, keyword->integer);
        else
            fx8_json_real(json, keyword->name, keyword->real);
    }
    fx8_json_end(json);
}

static void write(const char *path, const struct fx8_uvh5_header *header,
                  const struct flagged *flagged)
{
    struct fx8_json json = {.stream = stdout};
    fx8_json_object(&json, NULL);
    fx8_json_text(&json, "file", path);
    fx8_json_text(&json, "kind", "visibilities");
    fx8_info_names_json(&json, header->telescope, header->instrument,
                        header->object, &header->site);
    write_axes(&json, header);
    if (header->is_phased)
        fx8_json_reals(&json, "phase_center_deg", header->center_deg, 2);
    if (fx8_output_is_part(path))
        fx8_json_integer(&json, "n_finished_times",
                         (int64_t)flagged->n_finished);
    fx8_json_real(&json, "flagged_share", flagged->share);
    write_keywords(&json, header);
    fx8_json_end(&json);
}

enum fx8_status fx8_info_visibilities(const struct fx8_info_request *request,
                                      struct fx8_uvh5_file *file,
                                      const struct fx8_uvh5_header *header,
                                      struct fx8_error *error)
{
    struct flagged flagged;
    FX8_TRY(measure_flagged(file, header, &flagged, error));
    if (request->is_json)
        write(request->paths[0], header, &flagged);
    else
        print(request->paths[0], header, &flagged);
    return FX8_OK;
}
