/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/dump_arrays.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/averages.h"
#include "correlator/run/site.h"

/* --- how long ---------------------------------------------------- */

double fx8_averages_rate_hz(const double baseline_m[3], double latitude_deg,
                            double hz, double cos_dec)
{
    /* the pole is north and up; b x pole */
    const double latitude = latitude_deg * ERFA_DD2R;
    const double north = cos(latitude), up = sin(latitude);
    const double a[3] = {baseline_m[1] * up - baseline_m[2] * north,
                         -baseline_m[0] * up, baseline_m[0] * north};
    return FX8_EARTH_RAD_S * hypot(hypot(a[0], a[1]), a[2]) * (1.0 + cos_dec) *
           hz / FX8_LIGHT_M_S;
}

/* Share of its amplitude that a fringe of this many turns can lose. */
static double loss_of(double turns)
{
    const double x = ERFA_DPI * turns;
    return turns >= 1.0 ? 1.0 : x > 0.0 ? 1.0 - sin(x) / x : 0.0;
}

unsigned fx8_averages_level(double rate_hz, double dump_s, double loss)
{
    unsigned level = 0;
    while (level + 1 < FX8_UVH5_LEVELS &&
           loss_of(rate_hz * dump_s * (double)(2U << level)) <= loss)
        level++;
    return level;
}

/* Upper edge of the highest channel, or lower edge of one below zero. */
static enum fx8_status find_highest_hz(const struct fx8_job *job, double *hz,
                                       struct fx8_error *error)
{
    const size_t n = job->axes.n_channels;
    double width_hz;
    FX8_AUTO_FREE double *centres_hz = NULL;
    FX8_TRY(
        fx8_allocate(n, sizeof *centres_hz, "frequencies", &centres_hz, error));
    fx8_frequencies(&job->plan, centres_hz, &width_hz);
    *hz = fmax(fabs(centres_hz[0]), fabs(centres_hz[n - 1])) + 0.5 * width_hz;
    return FX8_OK;
}

/* Largest cosine of the apparent declination that is tracked.  Precession moves
 * it in one direction, so one of the ends of the run has the largest. */
static enum fx8_status find_cos_dec(const struct fx8_job_center *center,
                                    double *cos_dec, struct fx8_error *error)
{
    const struct fx8_job *job = center->job;
    struct fx8_celestial sky = center->sky;
    *cos_dec = 0.0;
    for (int end = 0; end < 2 && center->is_tracked; end++) {
        struct fx8_place place;
        const struct fx8_time time =
            fx8_dump_time(&job->plan, job->observation.start_time,
                          end == 0 ? 0 : job->n_dumps - 1);
        FX8_TRY(fx8_celestial_place(&sky, time, center->place.icrs_deg, &place,
                                    error));
        *cos_dec = fmax(*cos_dec, cos(place.app_dec_rad));
    }
    return FX8_OK;
}

/* Fill levels [n_baselines]; *most: the largest. */
static enum fx8_status find_levels(const struct fx8_job_center *center,
                                   uint8_t *levels, unsigned *most,
                                   struct fx8_error *error)
{
    const struct fx8_job *job = center->job;
    const struct fx8_antenna *antennas = job->observation.antennas;
    const double dump_s = (double)job->most_spectra * (double)job->axes.step /
                          fx8_rate_hz(job->plan.sample_rate);
    double hz, cos_dec;
    FX8_TRY(find_highest_hz(job, &hz, error));
    FX8_TRY(find_cos_dec(center, &cos_dec, error));
    *most = 0;
    for (size_t b = 0; b < job->axes.n_baselines; b++) {
        size_t a1, a2;
        double baseline_m[3];
        fx8_baseline_antennas(job->plan.n_antennas,
                              fx8_plan_baseline(&job->plan, b), &a1, &a2);
        for (size_t axis = 0; axis < 3; axis++)
            baseline_m[axis] =
                antennas[a2].enu_m[axis] - antennas[a1].enu_m[axis];
        const unsigned level = fx8_averages_level(
            fx8_averages_rate_hz(baseline_m, job->observation.site.latitude_deg,
                                 hz, cos_dec),
            dump_s, job->settings->output.time_average_loss);
        levels[b] = (uint8_t)level;
        *most = level > *most ? level : *most;
    }
    return FX8_OK;
}

enum fx8_status fx8_averages_plan(const struct fx8_job_center *center,
                                  struct fx8_uvh5_rows *rows,
                                  struct fx8_error *error)
{
    const struct fx8_job *job = center->job;
    const size_t n_dumps = (size_t)job->n_dumps, n = job->axes.n_baselines;
    FX8_AUTO_FREE uint8_t *levels = NULL;
    unsigned most;
    *rows = fx8_uvh5_all_rows(n_dumps, n);
    if (!(job->settings->output.time_average_loss > 0.0) || n_dumps == 1)
        return FX8_OK;
    FX8_TRY(fx8_allocate(n, 1, "averages", &levels, error));
    FX8_TRY(find_levels(center, levels, &most, error));
    return most == 0 ? FX8_OK
                     : fx8_uvh5_rows_open(n_dumps, n, levels, rows, error);
}

enum fx8_status fx8_averages_block_dumps(const struct fx8_job *job,
                                         int64_t *block_dumps,
                                         struct fx8_error *error)
{
    *block_dumps = 1;
    for (size_t c = 0; c < job->n_centers; c++) {
        FX8_AUTO(fx8_uvh5_rows_clear) struct fx8_uvh5_rows rows = {0};
        FX8_TRY(fx8_averages_plan(&job->centers[c], &rows, error));
        const int64_t n = (int64_t)fx8_uvh5_block_dumps(&rows);
        *block_dumps = n > *block_dumps ? n : *block_dumps;
    }
    return FX8_OK;
}

/* --- sums -------------------------------------------------------- */

enum { N_ARRAYS = 3 + FX8_RESULT_ARRAYS };

static void list_arrays(struct fx8_averages *a,
                        struct fx8_array arrays[N_ARRAYS])
{
    const size_t n_summed = a->rows.n_baselines - a->rows.n_of_level[0];
    const size_t n = fx8_product(n_summed, a->n_cells, 1, 1);
    const struct fx8_array sums[] = {
        FX8_ITEMS(a->sums, fx8_product(2, n, 1, 1)), FX8_ITEMS(a->weights, n),
        FX8_ITEMS(a->flags, n)};
    memcpy(arrays, sums, sizeof sums);
    fx8_list_result(&a->out, fx8_product(a->rows.n_baselines, a->n_cells, 1, 1),
                    true, arrays + 3);
}

enum fx8_status fx8_averages_open(const struct fx8_uvh5_rows *rows,
                                  size_t n_cells, struct fx8_averages *averages,
                                  struct fx8_error *error)
{
    struct fx8_array arrays[N_ARRAYS];
    *averages = (struct fx8_averages){.rows = *rows, .n_cells = n_cells};
    list_arrays(averages, arrays);
    return fx8_allocate_arrays(arrays, N_ARRAYS, "averages", error);
}

void fx8_averages_close(struct fx8_averages *averages)
{
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(averages, arrays);
    fx8_free_arrays(arrays, N_ARRAYS);
}

size_t fx8_averages_memory(const struct fx8_uvh5_rows *rows, size_t n_cells)
{
    struct fx8_averages averages = {.rows = *rows, .n_cells = n_cells};
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(&averages, arrays);
    return fx8_arrays_size(arrays, N_ARRAYS);
}

/* Row `row` of a result. */
static struct fx8_result row_of(const struct fx8_averages *a,
                                const struct fx8_result *result, size_t row)
{
    const size_t at = row * a->n_cells;
    return (struct fx8_result){.visibilities = result->visibilities + 2 * at,
                               .flags = result->flags + at,
                               .nsamples = result->nsamples + at};
}

/* memmove(): rows of one result may be one and the same. */
static void copy_row(const struct fx8_averages *a, struct fx8_result from,
                     struct fx8_result to)
{
    memmove(to.visibilities, from.visibilities,
            2 * a->n_cells * sizeof *to.visibilities);
    memmove(to.flags, from.flags, a->n_cells * sizeof *to.flags);
    memmove(to.nsamples, from.nsamples, a->n_cells * sizeof *to.nsamples);
}

/* Add a row to the sums of baseline `slot` of those that are averaged. */
static void add_row(struct fx8_averages *a, size_t slot, bool is_first,
                    double n_spectra, struct fx8_result row)
{
    const size_t at = slot * a->n_cells;
    double *sums = a->sums + 2 * at, *weights = a->weights + at;
    uint8_t *flags = a->flags + at;
    for (size_t i = 0; i < a->n_cells; i++) {
        const bool is_flagged = row.flags[i] != 0;
        const double weight = (double)row.nsamples[i] * n_spectra;
        if (is_first || (flags[i] != 0 && !is_flagged)) {
            flags[i] = is_flagged;
            sums[2 * i] = sums[2 * i + 1] = weights[i] = 0.0;
        }
        if (is_flagged != (flags[i] != 0))
            continue; /* others are not flagged */
        sums[2 * i] += weight * (double)row.visibilities[2 * i];
        sums[2 * i + 1] += weight * (double)row.visibilities[2 * i + 1];
        weights[i] += weight;
    }
}

/* The means of a baseline. */
static void end_row(const struct fx8_averages *a, size_t slot, double planned,
                    struct fx8_result row)
{
    const size_t at = slot * a->n_cells;
    for (size_t i = 0; i < a->n_cells; i++) {
        const double weight = a->weights[at + i];
        for (size_t part = 0; part < 2; part++)
            row.visibilities[2 * i + part] =
                weight > 0.0 ? (float)(a->sums[2 * (at + i) + part] / weight)
                             : 0.0F;
        row.flags[i] = a->flags[at + i];
        row.nsamples[i] = (float)(weight / planned);
    }
}

/* Baselines without sums have a row for each dump. */
static bool is_summed(const struct fx8_averages *a, size_t baseline)
{
    return a->rows.levels[baseline] > 0;
}

const struct fx8_result *fx8_averages_add(struct fx8_averages *averages,
                                          size_t dump, int64_t n_spectra,
                                          const struct fx8_result *result)
{
    struct fx8_averages *a = averages;
    size_t slot = 0, n = 0;
    for (size_t level = 0; level < a->rows.n_levels; level++) {
        if (dump % ((size_t)1 << level) == 0)
            a->planned[level] = 0.0;
        a->planned[level] += (double)n_spectra;
    }
    for (size_t b = 0; b < a->rows.n_baselines; b++) {
        const size_t length = (size_t)1 << a->rows.levels[b];
        const struct fx8_result row = row_of(a, result, b);
        const bool is_last =
            (dump + 1) % length == 0 || dump + 1 == a->rows.n_dumps;
        if (is_summed(a, b))
            add_row(a, slot, dump % length == 0, (double)n_spectra, row);
        else
            copy_row(a, row, row_of(a, &a->out, n));
        if (is_summed(a, b) && is_last)
            end_row(a, slot, a->planned[a->rows.levels[b]],
                    row_of(a, &a->out, n));
        slot += is_summed(a, b);
        n += is_last;
    }
    return &a->out;
}

const struct fx8_result *fx8_averages_end(struct fx8_averages *averages,
                                          size_t dump)
{
    struct fx8_averages *a = averages;
    const size_t *baselines;
    size_t n = fx8_uvh5_rows_of(&a->rows, dump, &baselines), slot = 0;
    /* the rows that the dump has ended, the last one first */
    while (n-- > 0 && baselines != NULL)
        copy_row(a, row_of(a, &a->out, n), row_of(a, &a->out, baselines[n]));
    for (size_t b = 0; b < a->rows.n_baselines; b++)
        if (is_summed(a, b))
            end_row(a, slot++, a->planned[a->rows.levels[b]],
                    row_of(a, &a->out, b));
    return &a->out;
}
