/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "correlator/plot/view.h"

#define UNIX_EPOCH_DAYS 2440587.5 /* Julian date of 1970-01-01 */
#define DAY_S           86400.0

/* Bytes of visibilities read at a time. */
#define READ_SIZE ((size_t)8 << 20)

/* Dumps up to this size take less time to read whole than row by row. */
#define SMALL_DUMP ((size_t)256 << 10)

/* --- opening ------------------------------------------------------ */

static enum fx8_status open_recording(struct fx8_view *view,
                                      struct fx8_error *error)
{
    const struct fx8_view_request *request = view->request;
    view->kind = FX8_VIEW_RECORDING;
    return fx8_reader_open(request->paths, request->n_paths, request->settings,
                           &view->reader, error);
}

static enum fx8_status open_any(struct fx8_view *view, struct fx8_error *error)
{
    const struct fx8_view_request *request = view->request;
    for (size_t i = 0; i < request->n_paths; i++)
        if (access(request->paths[i], R_OK) != 0)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: %s: expected a result, a quick-look or a "
                            "recording",
                            request->paths[i], strerror(errno));
    if (request->n_paths > 1 || fx8_path_is_folder(view->path) ||
        fx8_reader_format_name(view->path) != NULL)
        return open_recording(view, error);
    if (fx8_quicklook_probe(view->path)) {
        view->kind = FX8_VIEW_QUICKLOOK;
        return fx8_quicklook_dumps_open(view->path, &view->dumps, &view->header,
                                        error);
    }
    view->kind = FX8_VIEW_RESULT;
    return fx8_uvh5_open(view->path, &view->file, &view->header, error);
}

void fx8_view_close(struct fx8_view *view)
{
    fx8_reader_close(&view->reader);
    fx8_uvh5_file_close(&view->file);
    fx8_quicklook_dumps_close(&view->dumps);
    fx8_uvh5_header_clear(&view->header);
    free(view->is_chosen);
    free(view->index_1);
    free(view->index_2);
    free(view->autos);
    *view = (struct fx8_view){0};
}

/* --- choosing ----------------------------------------------------- */

static size_t find_antenna(const struct fx8_uvh5_header *header, int64_t number)
{
    for (size_t a = 0; a < header->n_antennas; a++)
        if (header->antenna_numbers[a] == number)
            return a;
    return FX8_NOTHING;
}

/* Indices of the antennas of every baseline. */
static enum fx8_status index_baselines(struct fx8_view *view,
                                       struct fx8_error *error)
{
    const struct fx8_uvh5_header *h = &view->header;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(view->is_chosen, h->n_antennas),
        FX8_ITEMS(view->autos, h->n_antennas),
        FX8_ITEMS(view->index_1, h->n_baselines),
        FX8_ITEMS(view->index_2, h->n_baselines)};
    FX8_TRY(fx8_allocate_arrays(arrays, 4, "baselines", error));
    for (size_t a = 0; a < h->n_antennas; a++)
        view->autos[a] = FX8_NOTHING;
    for (size_t b = 0; b < h->n_baselines; b++) {
        /* in order of the antennas, mostly: begin at the last found */
        const size_t i = b > 0 && h->ant_1[b] == h->ant_1[b - 1]
                             ? view->index_1[b - 1]
                             : find_antenna(h, h->ant_1[b]);
        const size_t k = find_antenna(h, h->ant_2[b]);
        if (i == FX8_NOTHING || k == FX8_NOTHING)
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: baseline %" PRId64 "-%" PRId64
                            ": expected antennas of the file's table",
                            view->path, h->ant_1[b], h->ant_2[b]);
        view->index_1[b] = i;
        view->index_2[b] = k;
        if (i == k)
            view->autos[i] = b;
    }
    return FX8_OK;
}

static enum fx8_status choose_antennas(struct fx8_view *view,
                                       struct fx8_error *error)
{
    const struct fx8_number_list *list = view->request->antennas;
    for (size_t a = 0; a < view->header.n_antennas; a++)
        view->is_chosen[a] = list == NULL;
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        const size_t a = find_antenna(&view->header, list->items[i]);
        if (a == FX8_NOTHING)
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: --antennas: %" PRId64
                            ": expected numbers of antennas in the file",
                            view->path, list->items[i]);
        view->is_chosen[a] = true;
    }
    return FX8_OK;
}

static enum fx8_status choose_range(const struct fx8_view *view,
                                    const char *option,
                                    const struct fx8_view_range *range,
                                    size_t total, size_t *first, size_t *n,
                                    struct fx8_error *error)
{
    *first = 0;
    *n = total;
    if (total == 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: nothing finished: expected a dump at least",
                        view->path);
    if (!range->is_given)
        return FX8_OK;
    if (range->last >= (int64_t)total)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: %s: %" PRId64 ": expected 0 to %zu", view->path,
                        option, range->last, total - 1);
    *first = (size_t)range->first;
    *n = (size_t)(range->last - range->first) + 1;
    return FX8_OK;
}

static enum fx8_status choose_baseline(struct fx8_view *view,
                                       struct fx8_error *error)
{
    const struct fx8_view_range *wanted = &view->request->baseline;
    const struct fx8_uvh5_header *h = &view->header;
    view->baseline = FX8_NOTHING;
    for (size_t b = 0; wanted->is_given && b < h->n_baselines; b++)
        if ((h->ant_1[b] == wanted->first && h->ant_2[b] == wanted->last) ||
            (h->ant_1[b] == wanted->last && h->ant_2[b] == wanted->first))
            view->baseline = b;
    if (wanted->is_given && view->baseline == FX8_NOTHING)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: --baseline: %" PRId64 "-%" PRId64
                        ": expected numbers of two antennas in the file",
                        view->path, wanted->first, wanted->last);
    return FX8_OK;
}

static enum fx8_status choose(struct fx8_view *view, struct fx8_error *error)
{
    const struct fx8_view_request *request = view->request;
    FX8_TRY(choose_range(view, "--channels", &request->channels,
                         view->header.n_channels, &view->first_channel,
                         &view->n_channels, error));
    FX8_TRY(choose_range(view, "--times", &request->times, view->header.n_times,
                         &view->first_time, &view->n_times, error));
    FX8_TRY(index_baselines(view, error));
    FX8_TRY(choose_antennas(view, error));
    FX8_TRY(choose_baseline(view, error));
    if (request->product != 0 &&
        fx8_view_product(view, request->product) == FX8_NOTHING)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: --pol: expected a product that is in the file",
                        view->path);
    return FX8_OK;
}

enum fx8_status fx8_view_open(const struct fx8_view_request *request,
                              struct fx8_view *view, struct fx8_error *error)
{
    *view = (struct fx8_view){.request = request, .path = request->paths[0]};
    FX8_TRY(open_any(view, error));
    return view->kind == FX8_VIEW_RECORDING ? FX8_OK : choose(view, error);
}

/* --- names -------------------------------------------------------- */

static const struct {
    const char *name;
    size_t pol_1, pol_2;
} products[] = {{"XX", 0, 0}, {"YY", 1, 1}, {"XY", 0, 1}, {"YX", 1, 0}};

/* Row of a product of the header; others count as XX. */
static size_t row_of(const struct fx8_view *view, size_t product)
{
    const int row = -5 - view->header.products[product];
    return row >= 0 && row < 4 ? (size_t)row : 0;
}

size_t fx8_view_pol_1(const struct fx8_view *view, size_t product)
{
    return products[row_of(view, product)].pol_1;
}

size_t fx8_view_pol_2(const struct fx8_view *view, size_t product)
{
    return products[row_of(view, product)].pol_2;
}

const char *fx8_view_product_name(const struct fx8_view *view, size_t product)
{
    return products[row_of(view, product)].name;
}

size_t fx8_view_product(const struct fx8_view *view, int code)
{
    for (size_t p = 0; p < view->header.n_products; p++)
        if (view->header.products[p] == code)
            return p;
    return FX8_NOTHING;
}

size_t fx8_view_main_product(const struct fx8_view *view)
{
    return view->request->product == 0
               ? 0
               : fx8_view_product(view, view->request->product);
}

bool fx8_view_is_cross(const struct fx8_view *view, size_t baseline)
{
    const size_t i = view->index_1[baseline], k = view->index_2[baseline];
    return i != k && view->is_chosen[i] && view->is_chosen[k];
}

void fx8_view_baseline_name(const struct fx8_view *view, size_t baseline,
                            char text[FX8_LABEL_SIZE])
{
    const struct fx8_uvh5_header *h = &view->header;
    snprintf(text, FX8_LABEL_SIZE, "%.20s and %.20s",
             h->antenna_names[view->index_1[baseline]],
             h->antenna_names[view->index_2[baseline]]);
}

/* --- axes --------------------------------------------------------- */

static double megahertz(const struct fx8_view *view, size_t channel)
{
    return 1e-6 * view->header.frequencies_hz[view->first_channel + channel];
}

static double unix_time(const struct fx8_view *view, size_t time)
{
    return DAY_S * (view->header.julian_dates[view->first_time + time] -
                    UNIX_EPOCH_DAYS);
}

void fx8_view_frequency_axis(const struct fx8_view *view, struct fx8_axis *axis)
{
    const size_t last = view->n_channels - 1;
    const double half =
        0.5e-6 * fabs(view->header.channel_widths_hz[view->first_channel]);
    *axis = (struct fx8_axis){
        .label = "frequency / MHz",
        .low = fmin(megahertz(view, 0), megahertz(view, last)) - half,
        .high = fmax(megahertz(view, 0), megahertz(view, last)) + half};
    if (!(axis->high > axis->low))
        axis->high = axis->low + 1.0; /* no width recorded */
}

static double length_s(const struct fx8_view *view, size_t time)
{
    return fabs(view->header.integration_s[view->first_time + time]);
}

static struct fx8_axis time_axis(const struct fx8_view *view)
{
    const size_t last = view->n_times - 1;
    struct fx8_axis axis = {.low = unix_time(view, 0) - 0.5 * length_s(view, 0),
                            .high = unix_time(view, last) +
                                    0.5 * length_s(view, last),
                            .scale = FX8_SCALE_TIME};
    if (!(axis.high > axis.low))
        axis.high = axis.low + 1.0;
    return axis;
}

void fx8_view_time_axis(const struct fx8_view *view, struct fx8_axis *axis)
{
    char date[FX8_NUMBER_TEXT_SIZE];
    *axis = time_axis(view);
    fx8_number_format_time(
        fx8_time_from_julian_date(view->header.julian_dates[view->first_time]),
        date);
    snprintf(axis->label, sizeof axis->label, "UTC on %.10s", date);
}

/* Steps of `step` from end to end of an axis, at least 1. */
static size_t count_cells(const struct fx8_axis *axis, double step, size_t most)
{
    const double n = round((axis->high - axis->low) / step);
    return n >= (double)most ? most : n > 1.0 ? (size_t)n : 1;
}

size_t fx8_view_columns(const struct fx8_view *view, size_t most)
{
    struct fx8_axis axis;
    fx8_view_frequency_axis(view, &axis);
    return count_cells(
        &axis, 1e-6 * fabs(view->header.channel_widths_hz[view->first_channel]),
        most);
}

size_t fx8_view_rows(const struct fx8_view *view, size_t most)
{
    const struct fx8_axis axis = time_axis(view);
    return count_cells(&axis, length_s(view, 0), most);
}

static size_t cell_of(const struct fx8_axis *axis, double value, size_t n)
{
    const double cell = fx8_axis_place(axis, value, 0.0, (double)n);
    return cell < (double)n ? (size_t)cell : n - 1;
}

size_t fx8_view_column(const struct fx8_view *view, size_t channel, size_t n)
{
    struct fx8_axis axis;
    fx8_view_frequency_axis(view, &axis);
    return cell_of(&axis, megahertz(view, channel), n);
}

size_t fx8_view_row(const struct fx8_view *view, size_t time, size_t n)
{
    const struct fx8_axis axis = time_axis(view);
    return cell_of(&axis, unix_time(view, time), n);
}

double fx8_cell_middle(const struct fx8_axis *axis, size_t cell, size_t n)
{
    return axis->low +
           ((double)cell + 0.5) / (double)n * (axis->high - axis->low);
}

void fx8_view_describe(const struct fx8_view *view, const char *what,
                       size_t n_rows, size_t n_columns,
                       struct fx8_figure *figure)
{
    const struct fx8_uvh5_header *h = &view->header;
    const size_t dumps = (view->n_times + n_rows - 1) / n_rows;
    const size_t channels = (view->n_channels + n_columns - 1) / n_columns;
    char means[128] = "";
    const char *name = strrchr(view->path, '/');
    if (dumps > 1 || channels > 1)
        snprintf(means, sizeof means,
                 "; drawn are means of up to %zu %s x %zu %s",
                 FX8_COUNTED(dumps, "dump", "dumps"),
                 FX8_COUNTED(channels, "channel", "channels"));
    snprintf(figure->title, sizeof figure->title, "%.200s: %s",
             name != NULL ? name + 1 : view->path, what);
    snprintf(figure->subtitle, sizeof figure->subtitle,
             "%.60s%s%.60s%s%zu %s, %zu %s, %zu %s of %.6g s%s", h->telescope,
             h->telescope[0] != '\0' ? ", " : "", h->object,
             h->object[0] != '\0' ? ", " : "",
             FX8_COUNTED(h->n_antennas, "antenna", "antennas"),
             FX8_COUNTED(view->n_channels, "channel", "channels"),
             FX8_COUNTED(view->n_times, "dump", "dumps"), length_s(view, 0),
             means);
}

/* --- reading ------------------------------------------------------ */

/* A reading of dumps.  Row r of the file is baseline r % n_baselines of dump
 * r / n_baselines. */
struct scan {
    const struct fx8_view *view;
    const bool *wanted;
    fx8_view_take *take;
    void *context;
    bool is_whole;            /* dumps are read whole, many at once */
    size_t at_once;           /* rows that fit the memory */
    size_t end;               /* behind the last row to read */
    size_t first_row, n_rows; /* what is in memory: */
    double *values;           /* [at_once][n_channels][n_products][re, im] */
    uint8_t *flags;           /* [at_once][n_channels][n_products] */
    double *powers;           /* [n_antennas][2][n_channels] of this dump */
    bool *needs_powers;       /* [n_antennas] */
};

static void clear(struct scan *scan)
{
    free(scan->values);
    free(scan->flags);
    free(scan->powers);
    free(scan->needs_powers);
}

/* Values of a row in memory. */
static double *values_of(const struct scan *scan, size_t row)
{
    const struct fx8_uvh5_header *h = &scan->view->header;
    return scan->values +
           2 * (row - scan->first_row) * h->n_channels * h->n_products;
}

/* Have rows [row, row + n) in memory; with is_whole, as many more as fit. */
static enum fx8_status load(struct scan *scan, size_t row, size_t n,
                            struct fx8_error *error)
{
    const struct fx8_view *view = scan->view;
    const size_t n_baselines = view->header.n_baselines;
    if (row >= scan->first_row && row + n <= scan->first_row + scan->n_rows)
        return FX8_OK;
    scan->n_rows = n;
    if (scan->is_whole)
        scan->n_rows =
            scan->end - row < scan->at_once ? scan->end - row : scan->at_once;
    scan->first_row = row;
    return view->kind == FX8_VIEW_QUICKLOOK
               ? fx8_quicklook_dumps_read(view->dumps, row / n_baselines,
                                          row % n_baselines, n, scan->values,
                                          scan->flags, error)
               : fx8_uvh5_read_rows(view->file, row, scan->n_rows, scan->values,
                                    scan->flags, NULL, error);
}

/* Power of the antennas from their autos. */
static enum fx8_status read_powers(struct scan *scan, size_t dump,
                                   struct fx8_error *error)
{
    const struct fx8_view *view = scan->view;
    const struct fx8_uvh5_header *h = &view->header;
    const size_t n = h->n_channels;
    if (view->kind == FX8_VIEW_QUICKLOOK)
        return fx8_quicklook_dumps_powers(view->dumps, dump, scan->powers,
                                          error);
    for (size_t i = 0; i < 2 * h->n_antennas * n; i++)
        scan->powers[i] = NAN;
    for (size_t a = 0; a < h->n_antennas; a++) {
        const size_t row = dump * h->n_baselines + view->autos[a];
        if (!scan->needs_powers[a] || view->autos[a] == FX8_NOTHING)
            continue;
        FX8_TRY(load(scan, row, 1, error));
        for (size_t p = 0; p < h->n_products; p++) {
            const size_t pol = fx8_view_pol_1(view, p);
            if (pol != fx8_view_pol_2(view, p))
                continue;
            for (size_t c = 0; c < n; c++)
                scan->powers[(2 * a + pol) * n + c] =
                    values_of(scan, row)[2 * (c * h->n_products + p)];
        }
    }
    return FX8_OK;
}

/* Make visibilities of coherence. */
static void scale_row(const struct scan *scan, size_t baseline, double *values)
{
    const struct fx8_view *view = scan->view;
    const size_t n = view->header.n_channels, m = view->header.n_products;
    const double *powers_1 = scan->powers + 2 * n * view->index_1[baseline];
    const double *powers_2 = scan->powers + 2 * n * view->index_2[baseline];
    for (size_t p = 0; p < m; p++) {
        const double *x = powers_1 + n * fx8_view_pol_1(view, p);
        const double *y = powers_2 + n * fx8_view_pol_2(view, p);
        for (size_t c = 0; c < n; c++) {
            values[2 * (c * m + p)] *= sqrt(x[c] * y[c]);
            values[2 * (c * m + p) + 1] *= sqrt(x[c] * y[c]);
        }
    }
}

/* Hand on a row that is in memory. */
static void take_row(const struct scan *scan, size_t dump, size_t baseline)
{
    const struct fx8_view *view = scan->view;
    const size_t n = view->header.n_channels, m = view->header.n_products;
    const size_t skipped = view->first_channel;
    const size_t row = dump * view->header.n_baselines + baseline;
    double *values = values_of(scan, row);
    if (view->kind == FX8_VIEW_QUICKLOOK)
        scale_row(scan, baseline, values);
    const struct fx8_view_row taken = {
        .time = dump - view->first_time,
        .baseline = baseline,
        .values = values + 2 * skipped * m,
        .flags = scan->flags + (row - scan->first_row) * n * m + skipped * m,
        .powers_1 = scan->powers + 2 * n * view->index_1[baseline] + skipped,
        .powers_2 = scan->powers + 2 * n * view->index_2[baseline] + skipped};
    scan->take(scan->context, &taken);
}

static enum fx8_status take_dump(struct scan *scan, size_t dump,
                                 struct fx8_error *error)
{
    const size_t n = scan->view->header.n_baselines;
    if (scan->is_whole)
        FX8_TRY(load(scan, dump * n, n, error));
    FX8_TRY(read_powers(scan, dump, error));
    for (size_t first = 0; first < n;) {
        size_t end = first;
        while (end < n && scan->wanted[end] && end - first < scan->at_once)
            end++;
        if (end > first)
            FX8_TRY(load(scan, dump * n + first, end - first, error));
        for (size_t b = first; b < end; b++)
            take_row(scan, dump, b);
        first = end > first ? end : first + 1;
    }
    return FX8_OK;
}

static enum fx8_status prepare(struct scan *scan, bool is_consecutive,
                               struct fx8_error *error)
{
    const struct fx8_view *view = scan->view;
    const struct fx8_uvh5_header *h = &view->header;
    const size_t row = h->n_channels * h->n_products;
    const size_t row_bytes = 2 * sizeof(double) * row;
    const size_t fitting = READ_SIZE / row_bytes;
    const size_t total = h->n_baselines * view->n_times;
    scan->at_once = fitting > total ? total : fitting > 0 ? fitting : 1;
    scan->end = (view->first_time + view->n_times) * h->n_baselines;
    scan->is_whole = view->kind == FX8_VIEW_RESULT && is_consecutive &&
                     h->n_baselines * row_bytes <= SMALL_DUMP;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(scan->values, fx8_product(2, scan->at_once, row, 1)),
        FX8_ITEMS(scan->flags, fx8_product(scan->at_once, row, 1, 1)),
        FX8_ITEMS(scan->powers,
                  fx8_product(2, h->n_antennas, h->n_channels, 1)),
        FX8_ITEMS(scan->needs_powers, h->n_antennas)};
    FX8_TRY(fx8_allocate_arrays(arrays, 4, "visibilities", error));
    for (size_t b = 0; b < h->n_baselines; b++)
        if (scan->wanted[b])
            scan->needs_powers[view->index_1[b]] =
                scan->needs_powers[view->index_2[b]] = true;
    return FX8_OK;
}

enum fx8_status fx8_view_scan(const struct fx8_view *view, const bool *wanted,
                              size_t most, fx8_view_take *take, void *context,
                              struct fx8_error *error)
{
    const size_t n = view->n_times < most ? view->n_times : most;
    FX8_AUTO(clear)
    struct scan scan = {
        .view = view, .wanted = wanted, .take = take, .context = context};
    FX8_TRY(prepare(&scan, n == view->n_times, error));
    for (size_t i = 0; i < n; i++)
        FX8_TRY(
            take_dump(&scan, view->first_time + i * view->n_times / n, error));
    return FX8_OK;
}
