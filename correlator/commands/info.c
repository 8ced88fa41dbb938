/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info.c -- `fx8 info`: what a recording or a visibility file holds, in the
 * units of people: MHz, s, m.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/number.h"
#include "config/settings.h"
#include "config/shape.h"
#include "correlator/commands/command.h"
#include "io/reader.h"
#include "io/uvh5.h"

static int run(int argc, char **argv);

const struct fx8_command fx8_command_info = {
    .name = "info",
    .synopsis = "FILE",
    .summary = "tell what a recording or a visibility file holds",
    .help =
        "FILE is a recording in any format that fx8 reads, or UVH5; which\n"
        "one it is, is told by its content.  Frequencies are in MHz, times\n"
        "in seconds and UTC, positions in metres.\n",
    .run = run,
    .stops_at_once = true,
};

/* Bytes of flags read at a time. */
#define READ_SIZE ((size_t)4 << 20)

/* One aligned line "  label      text". */
static void print_field(const char *label, const char *format, ...)
    FX8_PRINTF(2, 3);

static void print_field(const char *label, const char *format, ...)
{
    printf("  %-15s", label);
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static void print_text(const char *label, const char *text)
{
    if (text[0] != '\0')
        print_field(label, "%s", text);
}

static void print_site(const struct fx8_site *site)
{
    if (isnan(site->latitude_deg) || isnan(site->longitude_deg))
        print_field("site", "not recorded");
    else
        print_field("site",
                    "latitude %.6f deg, longitude %.6f deg, "
                    "altitude %.1f m",
                    site->latitude_deg, site->longitude_deg, site->altitude_m);
}

/* --- recordings -------------------------------------------------- */

/* dc_frequency_hz is the middle of a complex band, an edge of a real one. */
static void print_band(const struct fx8_observation *observation)
{
    const double dc_mhz = observation->dc_frequency_hz * 1e-6;
    const bool is_lower = observation->sideband == FX8_SIDEBAND_LOWER;
    const char *sideband = observation->sideband == FX8_SIDEBAND_UNKNOWN
                               ? "sideband not recorded"
                           : is_lower ? "lower sideband"
                                      : "upper sideband";
    if (isnan(dc_mhz)) {
        print_field("frequencies", "not recorded (%s)", sideband);
        return;
    }
    if (observation->sample_rate.numerator_hz == 0) {
        print_field("frequencies", "baseband zero at %.6f MHz (%s)", dc_mhz,
                    sideband);
        return;
    }
    const double half_mhz = 0.5e-6 * fx8_rate_hz(observation->sample_rate);
    const double low_mhz =
        observation->is_complex || is_lower ? dc_mhz - half_mhz : dc_mhz;
    const double high_mhz =
        observation->is_complex || !is_lower ? dc_mhz + half_mhz : dc_mhz;
    print_field("frequencies",
                "%.6f to %.6f MHz, baseband zero at %.6f MHz (%s)", low_mhz,
                high_mhz, dc_mhz, sideband);
}

static void print_duration(const struct fx8_observation *observation)
{
    char text[FX8_NUMBER_TEXT_SIZE];
    if (observation->has_start_time) {
        fx8_number_format_time(observation->start_time, text);
        print_field("start", "%s", text);
    } else {
        print_field("start", "not recorded");
    }
    if (observation->sample_rate.numerator_hz == 0) {
        print_field("sample rate", "not recorded");
        print_field("duration", "%" PRId64 " samples", observation->n_samples);
        return;
    }
    const double rate_hz = fx8_rate_hz(observation->sample_rate);
    fx8_number_format_fraction(observation->sample_rate.numerator_hz,
                               observation->sample_rate.denominator, text);
    print_field("sample rate", "%.6f MHz (%s Hz)", rate_hz * 1e-6, text);
    print_field("duration", "%.6f s (%" PRId64 " samples)",
                (double)observation->n_samples / rate_hz,
                observation->n_samples);
}

static void print_missing(const struct fx8_reader *reader)
{
    const struct fx8_observation *observation = &reader->observation;
    const double n_antennas = (double)observation->n_antennas;
    const double n_polarizations = (double)observation->n_polarizations;
    double lost = 0.0;
    for (size_t i = 0; i < reader->n_missing; i++) {
        const struct fx8_missing *missing = &reader->missing[i];
        lost += (double)missing->n_samples *
                (missing->antenna < 0 ? n_antennas : 1.0) *
                (missing->polarization < 0 ? n_polarizations : 1.0);
    }
    const double all =
        n_antennas * n_polarizations * (double)observation->n_samples;
    if (reader->n_missing == 0)
        print_field("missing", "nothing listed");
    else
        print_field("missing",
                    "%zu stretches listed, %.4f %% of the samples (what is "
                    "listed twice counts twice)",
                    reader->n_missing, 100.0 * lost / all);
}

static void print_antennas(const struct fx8_observation *observation)
{
    if (observation->n_table == 0) {
        printf("\nno antenna table\n");
        return;
    }
    printf("\n%8s %-16s %12s %12s %12s %12s %12s\n", "antenna", "name",
           "east/m", "north/m", "up/m", "cable X/ns", "cable Y/ns");
    for (size_t a = 0; a < observation->n_table; a++) {
        const struct fx8_antenna *antenna = &observation->antennas[a];
        printf("%8" PRId64 " %-16s %12.3f %12.3f %12.3f %12.3f %12.3f\n",
               antenna->number, antenna->name, antenna->enu_m[0],
               antenna->enu_m[1], antenna->enu_m[2],
               antenna->cable_delay_s[0] * 1e9,
               antenna->cable_delay_s[1] * 1e9);
    }
}

static void print_recording(const char *path, const struct fx8_reader *reader)
{
    const struct fx8_observation *observation = &reader->observation;
    printf("%s: recording\n", path);
    print_field("format", "%s", reader->format->name);
    print_text("telescope", observation->telescope);
    print_text("instrument", observation->instrument);
    print_text("object", observation->object);
    print_site(&observation->site);
    print_field("antennas", "%zu", observation->n_antennas);
    print_field("polarisations", "%zu", observation->n_polarizations);
    print_field("samples", "%s, 8 bits",
                observation->is_complex ? "complex" : "real");
    print_duration(observation);
    print_band(observation);
    print_missing(reader);
    print_antennas(observation);
}

/* --- visibilities ------------------------------------------------ */

/* Instant of a Julian date; what a double holds is good to 40 microseconds. */
static void format_julian_date(double julian_date,
                               char text[FX8_NUMBER_TEXT_SIZE])
{
    const double second = (julian_date - 2440587.5) * 86400.0;
    const double tenths_of_ms = floor(second * 1e4 + 0.5);
    struct fx8_time time = {0};
    if (fabs(tenths_of_ms) < 1e18) {
        const int64_t ticks = (int64_t)tenths_of_ms;
        time.unix_s = ticks / 10000 - (ticks % 10000 < 0);
        time.picosecond =
            (ticks - time.unix_s * 10000) * (FX8_PICOSECONDS / 10000);
    }
    fx8_number_format_time(time, text);
}

static void print_axes(const struct fx8_uvh5_header *header)
{
    char first[FX8_NUMBER_TEXT_SIZE], last[FX8_NUMBER_TEXT_SIZE];
    print_field("antennas", "%zu", header->n_antennas);
    print_field("baselines", "%zu", header->n_baselines);
    if (header->n_times > 0) {
        format_julian_date(header->julian_dates[0], first);
        format_julian_date(header->julian_dates[header->n_times - 1], last);
        print_field("times", "%zu of %.6f s, centres %s to %s", header->n_times,
                    header->integration_time_s, first, last);
    }
    if (header->n_channels > 0)
        print_field("channels", "%zu of %.6f MHz, centres %.6f to %.6f MHz",
                    header->n_channels, header->channel_widths_hz[0] * 1e-6,
                    header->frequencies_hz[0] * 1e-6,
                    header->frequencies_hz[header->n_channels - 1] * 1e-6);
    static const char *const names[] = {"XX", "YY", "XY", "YX"};
    char products[64] = "";
    for (size_t p = 0; p < header->n_products; p++) {
        const int kind = -5 - header->products[p];
        const size_t used = strlen(products);
        if (kind >= 0 && kind < 4)
            snprintf(products + used, sizeof products - used, "%s%s",
                     p == 0 ? "" : " ", names[kind]);
        else
            snprintf(products + used, sizeof products - used, "%s%d",
                     p == 0 ? "" : " ", header->products[p]);
    }
    print_field("products", "%s", products);
}

static void print_keywords(const struct fx8_uvh5_header *header)
{
    if (header->n_keywords == 0)
        return;
    printf("\nkeywords\n");
    for (size_t k = 0; k < header->n_keywords; k++) {
        const struct fx8_keyword *keyword = &header->keywords[k];
        if (keyword->type == FX8_KEYWORD_TEXT)
            print_field(keyword->name, "%s", keyword->text);
        else if (keyword->type == FX8_KEYWORD_INTEGER)
            print_field(keyword->name, "%" PRId64, keyword->integer);
        else
            print_field(keyword->name, "%.9g", keyword->real);
    }
}

/* Share of the values that are flagged; NaN where there are none. */
static enum fx8_status measure_flagged(struct fx8_uvh5_file *file,
                                       const struct fx8_uvh5_header *header,
                                       double *share, struct fx8_error *error)
{
    const size_t row = header->n_channels * header->n_products;
    const size_t n_rows = header->n_times * header->n_baselines;
    const size_t at_once = row > 0 && row < READ_SIZE ? READ_SIZE / row : 1;
    void *memory;
    enum fx8_status status = fx8_allocate(fx8_product(row, at_once, 1, 1), 1,
                                          "flags", &memory, error);
    if (status != FX8_OK)
        return status;
    uint8_t *flags = memory;
    double n_flagged = 0.0;
    for (size_t first = 0; first < n_rows && status == FX8_OK;
         first += at_once) {
        const size_t n = n_rows - first < at_once ? n_rows - first : at_once;
        status = fx8_uvh5_read_rows(file, first, n, NULL, flags, NULL, error);
        for (size_t i = 0; i < n * row && status == FX8_OK; i++)
            n_flagged += flags[i] != 0;
    }
    free(memory);
    *share = n_flagged / ((double)n_rows * (double)row);
    return status;
}

static enum fx8_status print_visibilities(const char *path,
                                          struct fx8_uvh5_file *file,
                                          const struct fx8_uvh5_header *header,
                                          struct fx8_error *error)
{
    double flagged;
    const enum fx8_status status =
        measure_flagged(file, header, &flagged, error);
    if (status != FX8_OK)
        return status;
    printf("%s: visibilities (UVH5)\n", path);
    print_text("telescope", header->telescope);
    print_text("instrument", header->instrument);
    print_text("object", header->object);
    print_site(&header->site);
    print_axes(header);
    print_field("flagged", "%.4f %%", 100.0 * flagged);
    print_keywords(header);
    return FX8_OK;
}

/* --- which one is it? -------------------------------------------- */

static enum fx8_status tell_recording(const char *path, struct fx8_error *error)
{
    struct fx8_settings settings;
    struct fx8_reader *reader = NULL;
    enum fx8_status status =
        fx8_settings_load(NULL, NULL, 0, false, &settings, error);
    if (status != FX8_OK)
        return status;
    status = fx8_reader_open(&path, 1, &settings, &reader, error);
    if (status == FX8_OK)
        print_recording(path, reader);
    fx8_reader_close(&reader);
    fx8_settings_clear(&settings);
    return status;
}

static int tell(const char *path)
{
    struct fx8_error as_visibilities, as_recording, error;
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header header = {0};
    if (access(path, R_OK) != 0) {
        fx8_fail(&error, FX8_ERR_INPUT,
                 "%s: %s: expected a recording or a visibility file", path,
                 strerror(errno));
        return fx8_command_error(&error);
    }
    if (fx8_uvh5_open(path, &file, &header, &as_visibilities) == FX8_OK) {
        const enum fx8_status status =
            print_visibilities(path, file, &header, &error);
        fx8_uvh5_file_close(&file);
        fx8_uvh5_header_clear(&header);
        return status == FX8_OK ? 0 : fx8_command_error(&error);
    }
    if (tell_recording(path, &as_recording) == FX8_OK)
        return 0;
    /* the two halves fit: a message holds 1,023 letters */
    if (fx8_reader_format_name(path) != NULL ||
        strcmp(as_recording.message, as_visibilities.message) == 0)
        error = as_recording;
    else
        fx8_fail(&error, FX8_ERR_INPUT, "%.500s; nor visibilities: %.480s",
                 as_recording.message, as_visibilities.message);
    return fx8_command_error(&error);
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    for (int option;
         (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (option == 'h')
            return fx8_command_help(&fx8_command_info);
        return fx8_command_bad_option(&fx8_command_info, option, argv);
    }
    if (argc - optind != 1)
        return fx8_command_misuse(&fx8_command_info, "%d files: expected one",
                                  argc - optind);
    return tell(argv[optind]);
}
