/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/base/number.h"
#include "config/base/sha256.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/keys.h"
#include "correlator/run/delays.h"
#include "correlator/run/describe.h"
#include "correlator/run/site.h"

/* Room for the keywords of add_keywords(). */
#define MAX_KEYWORDS 24

/* Copy as one line of printable ASCII, which is what UVH5 takes. */
static void copy_text(char *to, size_t size, const char *from)
{
    size_t n = 0;
    for (; from[n] != '\0' && n + 1 < size; n++)
        to[n] = from[n] >= 0x20 && from[n] < 0x7f ? from[n] : '?';
    to[n] = '\0';
}

#define COPY_TEXT(to, from) copy_text(to, sizeof(to), from)

static void add_text(struct fx8_uvh5_header *header, const char *name,
                     const char *text)
{
    struct fx8_keyword *keyword = &header->keywords[header->n_keywords++];
    keyword->type = FX8_KEYWORD_TEXT;
    COPY_TEXT(keyword->name, name);
    COPY_TEXT(keyword->text, text);
}

static void add_integer(struct fx8_uvh5_header *header, const char *name,
                        int64_t value)
{
    struct fx8_keyword *keyword = &header->keywords[header->n_keywords++];
    keyword->type = FX8_KEYWORD_INTEGER;
    COPY_TEXT(keyword->name, name);
    keyword->integer = value;
}

static void add_real(struct fx8_uvh5_header *header, const char *name,
                     double value)
{
    struct fx8_keyword *keyword = &header->keywords[header->n_keywords++];
    keyword->type = FX8_KEYWORD_REAL;
    COPY_TEXT(keyword->name, name);
    keyword->real = value;
}

/* What delays were removed, and what that cost. */
static enum fx8_status add_delays(const struct fx8_job_center *center,
                                  struct fx8_uvh5_header *header,
                                  struct fx8_error *error)
{
    static const char *const modes[] = {
        [FX8_DELAY_NONE] = "NONE",
        [FX8_DELAY_CABLE] = "CABLE",
        [FX8_DELAY_TRACK] = "TRACK",
    };
    const enum fx8_delay_mode mode = center->job->settings->delay.mode;
    add_text(header, "DELAYMOD", modes[mode]);
    if (mode == FX8_DELAY_NONE)
        return FX8_OK;
    struct fx8_delay_figures figures;
    FX8_TRY(fx8_delays_measure(center, &figures, error));
    add_real(header, "DELMAX", figures.most_s);
    add_real(header, "DELRATE", figures.most_rate);
    add_real(header, "DELREST", figures.rest_samples);
    add_real(header, "DELLOSS", figures.delay_loss + figures.fringe_loss);
    return FX8_OK;
}

static enum fx8_status add_keywords(const struct fx8_job_center *center,
                                    const struct fx8_provenance *provenance,
                                    const char *digest,
                                    struct fx8_uvh5_header *header,
                                    struct fx8_error *error)
{
    FX8_TRY(fx8_allocate(MAX_KEYWORDS, sizeof *header->keywords, "keywords",
                         &header->keywords, error));
    const struct fx8_job *job = center->job;
    const struct fx8_plan *plan = &job->plan;
    char short_digest[17];
    snprintf(short_digest, sizeof short_digest, "%.16s", digest);
    add_text(header, "FX8VERS", fx8_version());
    add_text(header, "PRECISN", provenance->precision);
    add_text(header, "BACKEND", provenance->backend);
    add_text(header, "KERNEL", provenance->kernel);
    add_text(header, "FFTPLAN", provenance->fft_plan);
    add_text(header, "INPUT", provenance->input);
    add_text(header, "CONFSHA", short_digest);
    add_integer(header, "NSPECTRA", job->most_spectra);
    add_integer(header, "CHANAVG", (int64_t)plan->channel_average);
    if (strcmp(provenance->precision, "INT8") == 0 && job->axes.has_quantiser)
        add_text(header, "AUTOCORR",
                 plan->quantizer.remove_bias ? "QUANTISER NOISE REMOVED"
                                             : "AS MEASURED");
    if (strcmp(provenance->precision, "INT8") == 0 && job->axes.has_quantiser &&
        plan->quantizer.dither)
        add_text(header, "DITHER", "UNIFORM");
    if (job->positions_are_faked)
        add_integer(header, "POSFAKE", 1);
    if (plan->van_vleck)
        add_integer(header, "VANVLECK", 1);
    if (header->rows != NULL)
        add_real(header, "TIMELOSS", job->settings->output.time_average_loss);
    return add_delays(center, header, error);
}

/* Version, date, command, input, then the resolved configuration. */
static enum fx8_status write_history(const struct fx8_provenance *provenance,
                                     const char *configuration,
                                     struct fx8_uvh5_header *header,
                                     struct fx8_error *error)
{
    char date[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_time((struct fx8_time){time(NULL), 0}, date);
    if (asprintf(&header->history,
                 "fx8 %s, written %s\n"
                 "command: %s\n"
                 "input: %s\n" FX8_HISTORY_CONFIGURATION "%s",
                 fx8_version(), date, provenance->command, provenance->input,
                 configuration) < 0) {
        header->history = NULL; /* undefined after a failure */
        return fx8_no_memory("history", error);
    }
    for (char *c = header->history; *c != '\0'; c++)
        if (*c != '\n' && (*c < 0x20 || *c >= 0x7f))
            *c = '?';
    return FX8_OK;
}

/* The resolved configuration as a text; the caller frees it. */
static enum fx8_status print_settings(
    const struct fx8_settings *settings,
    void (*dump)(const struct fx8_settings *settings, FILE *stream),
    char **text, struct fx8_error *error)
{
    size_t size = 0;
    FILE *stream = open_memstream(text, &size);
    if (stream == NULL)
        return fx8_no_memory("the configuration", error);
    dump(settings, stream);
    const bool failed = ferror(stream) != 0;
    return fclose(stream) != 0 || failed
               ? fx8_no_memory("the configuration", error)
               : FX8_OK;
}

/* Origin of the data: history, and digest of the keys that decide it. */
static enum fx8_status describe_origin(const struct fx8_job_center *center,
                                       const struct fx8_provenance *provenance,
                                       struct fx8_uvh5_header *header,
                                       struct fx8_error *error)
{
    const struct fx8_settings *settings = center->job->settings;
    FX8_AUTO_FREE char *configuration = NULL, *results = NULL;
    char digest[FX8_SHA256_TEXT_SIZE];
    FX8_TRY(print_settings(settings, fx8_settings_dump_history, &configuration,
                           error));
    FX8_TRY(
        print_settings(settings, fx8_settings_dump_results, &results, error));
    fx8_sha256(results, strlen(results), digest);
    FX8_TRY(add_keywords(center, provenance, digest, header, error));
    return write_history(provenance, configuration, header, error);
}

static size_t count_intervals(const struct fx8_uvh5_header *header)
{
    const struct fx8_uvh5_rows rows = fx8_uvh5_rows_of_header(header);
    return fx8_uvh5_first_interval(&rows, rows.n_levels);
}

static enum fx8_status allocate_axes(struct fx8_uvh5_header *header,
                                     struct fx8_error *error)
{
    const size_t n_antennas = header->n_antennas;
    const size_t n_times = count_intervals(header);
    const size_t n_baselines = header->n_baselines;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(header->antenna_numbers, n_antennas),
        FX8_ITEMS(header->antenna_names, n_antennas),
        {&header->antenna_positions_m, n_antennas,
         3 * sizeof *header->antenna_positions_m},
        FX8_ITEMS(header->ant_1, n_baselines),
        FX8_ITEMS(header->ant_2, n_baselines),
        {&header->uvw_m, n_baselines, 3 * sizeof *header->uvw_m},
        FX8_ITEMS(header->times, n_times),
        FX8_ITEMS(header->julian_dates, n_times),
        FX8_ITEMS(header->integration_s, n_times),
        FX8_ITEMS(header->apparent_lst_rad, n_times),
        FX8_ITEMS(header->places, header->is_phased ? n_times : 0),
        FX8_ITEMS(header->frequencies_hz, header->n_channels),
        FX8_ITEMS(header->channel_widths_hz, header->n_channels),
    };
    return fx8_allocate_arrays(arrays, sizeof arrays / sizeof *arrays, "header",
                               error);
}

static void describe_antennas(const struct fx8_job *job,
                              struct fx8_uvh5_header *header)
{
    const struct fx8_antenna *antennas = job->observation.antennas;
    for (size_t a = 0; a < header->n_antennas; a++) {
        header->antenna_numbers[a] = antennas[a].number;
        COPY_TEXT(header->antenna_names[a], antennas[a].name);
        fx8_site_rotate(&header->site, antennas[a].enu_m,
                        header->antenna_positions_m + 3 * a);
    }
    for (size_t b = 0; b < header->n_baselines; b++) {
        size_t a1, a2;
        fx8_baseline_antennas(header->n_antennas,
                              fx8_plan_baseline(&job->plan, b), &a1, &a2);
        header->ant_1[b] = antennas[a1].number;
        header->ant_2[b] = antennas[a2].number;
        for (size_t axis = 0; axis < 3; axis++)
            header->uvw_m[3 * b + axis] =
                antennas[a2].enu_m[axis] - antennas[a1].enu_m[axis];
    }
}

/* Dates and lengths of dumps, and of all intervals. */
static void describe_times(const struct fx8_job *job,
                           struct fx8_uvh5_header *header)
{
    const struct fx8_plan *plan = &job->plan;
    const struct fx8_uvh5_rows rows = fx8_uvh5_rows_of_header(header);
    size_t i = 0;
    for (size_t level = 0; level < rows.n_levels; level++)
        for (size_t n, first = 0; first < rows.n_dumps; first += n, i++) {
            int64_t spectra = 0;
            n = (size_t)1 << level;
            if (n > rows.n_dumps - first)
                n = rows.n_dumps - first;
            for (size_t dump = first; dump < first + n; dump++)
                spectra += fx8_dump_spectra(plan, (int64_t)dump);
            header->times[i] = fx8_dumps_time(plan, job->observation.start_time,
                                              (int64_t)first, (int64_t)n);
            header->integration_s[i] = (double)spectra *
                                       (double)job->axes.step /
                                       fx8_rate_hz(plan->sample_rate);
            header->julian_dates[i] = fx8_time_julian_date(header->times[i]);
        }
}

static void describe_axes(const struct fx8_job *job,
                          struct fx8_uvh5_header *header)
{
    const struct fx8_plan *plan = &job->plan;
    double width_hz;
    fx8_frequencies(plan, header->frequencies_hz, &width_hz);
    for (size_t c = 0; c < header->n_channels; c++)
        header->channel_widths_hz[c] = width_hz;
    for (size_t p = 0; p < header->n_products; p++)
        header->products[p] = -5 - (int)p; /* AIPS: XX, YY, XY, YX */
}

/* Sidereal times, and where the phase centre is. */
static enum fx8_status describe_sky(const struct fx8_job_center *center,
                                    struct fx8_uvh5_header *header,
                                    struct fx8_error *error)
{
    const struct fx8_job *job = center->job;
    struct fx8_earth earth;
    FX8_TRY(fx8_earth_find(job->earth, header->times[header->n_times / 2],
                           &earth, error));
    header->write_lst = fx8_earth_is_known(job->earth);
    header->dut1_s = earth.dut1_s;
    struct fx8_celestial sky = {.site = header->site, .earth = job->earth};
    const size_t n_intervals = count_intervals(header);
    for (size_t t = 0; t < n_intervals; t++) {
        double *lst_rad = &header->apparent_lst_rad[t];
        if (!header->is_phased) {
            FX8_TRY(fx8_celestial_sidereal_time(&sky, header->times[t], lst_rad,
                                                error));
            continue;
        }
        struct fx8_place *place = &header->places[t];
        FX8_TRY(fx8_celestial_place(&sky, header->times[t], header->center_deg,
                                    place, error));
        *lst_rad = place->lst_rad;
    }
    return FX8_OK;
}

static enum fx8_status describe(const struct fx8_job_center *center,
                                const struct fx8_provenance *provenance,
                                struct fx8_uvh5_header *header,
                                struct fx8_error *error)
{
    FX8_TRY(allocate_axes(header, error));
    describe_axes(center->job, header);
    describe_times(center->job, header);
    FX8_TRY(describe_sky(center, header, error));
    FX8_TRY(describe_origin(center, provenance, header, error));
    describe_antennas(center->job, header);
    return FX8_OK;
}

enum fx8_status fx8_describe(const struct fx8_job_center *center,
                             const struct fx8_provenance *provenance,
                             const struct fx8_uvh5_rows *rows,
                             struct fx8_uvh5_header *header,
                             struct fx8_error *error)
{
    const struct fx8_job *job = center->job;
    const struct fx8_plan *plan = &job->plan;
    *header = (struct fx8_uvh5_header){
        .is_phased = center->is_tracked,
        .center_deg = {center->place.icrs_deg[0], center->place.icrs_deg[1]},
        .site = job->observation.site,
        .n_antennas = plan->n_antennas,
        .n_baselines = job->axes.n_baselines,
        .n_times = rows != NULL ? rows->n_dumps : (size_t)job->n_dumps,
        .rows = rows,
        .n_channels = job->axes.n_channels,
        .n_products = job->axes.n_products,
    };
    COPY_TEXT(header->telescope, job->observation.telescope);
    COPY_TEXT(header->instrument, job->observation.instrument);
    COPY_TEXT(header->object, center->is_tracked ? center->place.name
                                                 : job->observation.object);
    COPY_TEXT(header->x_orientation, job->settings->array.x_orientation);
    const enum fx8_status status = describe(center, provenance, header, error);
    if (status != FX8_OK)
        fx8_uvh5_header_clear(header);
    return status;
}

/* --- tables of the inputs and channels --------------------------- */

static size_t count_inputs(const struct fx8_job *job)
{
    return job->axes.n_inputs;
}

static void fill_cable_delay(const struct fx8_job *job, size_t input,
                             double *columns)
{
    const size_t n_feeds = job->plan.n_polarizations;
    columns[0] = job->observation.antennas[input / n_feeds]
                     .cable_delay_s[input % n_feeds];
}

static void fill_calibration(const struct fx8_job *job, size_t input,
                             double *columns)
{
    const struct fx8_gain *gain = &job->gains[input];
    columns[0] = gain->amplitude;
    columns[1] = gain->phase_deg;
    columns[2] = gain->delay_s * 1e9;
}

static size_t count_ripple(const struct fx8_job *job)
{
    return job->ripple == NULL ? 0 : job->axes.n_fine;
}

static void fill_ripple(const struct fx8_job *job, size_t channel,
                        double *columns)
{
    columns[0] = job->ripple[channel];
}

const struct fx8_table_item fx8_table_items[FX8_TABLE_ITEMS] = {
    {"cable_delay",
     "cable delay of the antenna tables, s, by input (antenna-major); not "
     "removed in mode none",
     1, fill_cable_delay, count_inputs},
    {"calibration",
     "gain divided out, by input: amplitude, phase (deg), delay (ns)", 3,
     fill_calibration, count_inputs},
    {"ripple", "power response divided out, by channel before averages", 1,
     fill_ripple, count_ripple},
};

enum fx8_status fx8_describe_table(const struct fx8_job *job,
                                   const struct fx8_table_item *item,
                                   size_t *n_rows, double **values,
                                   struct fx8_error *error)
{
    *n_rows = item->count(job);
    FX8_TRY(fx8_allocate(fx8_product(*n_rows, item->n_columns, 1, 1),
                         sizeof **values, item->name, values, error));
    for (size_t row = 0; row < *n_rows; row++)
        item->fill(job, row, *values + row * item->n_columns);
    return FX8_OK;
}
