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
    if (fx8_path_is_folder(view->path) ||
        fx8_reader_format_name(view->path) != NULL)
        return open_recording(view, error);
    if (request->n_paths > 1)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: not a recording: expected one result, one "
                        "quick-look or the files of one recording",
                        view->path);
    if (fx8_quicklook_probe(view->path)) {
        view->kind = FX8_VIEW_QUICKLOOK;
        return fx8_quicklook_dumps_open(view->path, &view->dumps, &view->header,
                                        error);
    }
    view->kind = FX8_VIEW_RESULT;
    return fx8_uvh5_open(view->path, &view->file, &view->header, error);
}

const char *fx8_view_kind_name(const struct fx8_view *view)
{
    return view->kind == FX8_VIEW_RESULT      ? "a result"
           : view->kind == FX8_VIEW_QUICKLOOK ? "a quick-look"
                                              : "a recording";
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
        /* the first antenna is mostly that of the baseline before */
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
                        "%s: no finished dump: expected at least one",
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
        if (h->ant_1[b] == wanted->first && h->ant_2[b] == wanted->last) {
            view->baseline = b;
            view->is_turned = false;
            break;
        } else if (h->ant_1[b] == wanted->last &&
                   h->ant_2[b] == wanted->first) {
            view->baseline = b;
            view->is_turned = true;
        }
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

/* Products by their AIPS codes, circular feeds too. */
struct product {
    int code;
    const char *name;
    size_t pol_1, pol_2;
};

static const struct product products[] = {
    {-5, "XX", 0, 0}, {-6, "YY", 1, 1}, {-7, "XY", 0, 1},
    {-8, "YX", 1, 0}, {-1, "RR", 0, 0}, {-2, "LL", 1, 1},
    {-3, "RL", 0, 1}, {-4, "LR", 1, 0}, {0, "Stokes", 0, 0}};

int fx8_view_product_code(const char *name)
{
    const struct product *row = products;
    while (name != NULL && row->code != 0 && strcmp(row->name, name) != 0)
        row++;
    return name != NULL ? row->code : 0;
}

static const struct product *find_product(const struct fx8_view *view,
                                          size_t product)
{
    const struct product *row = products;
    while (row->code != 0 && row->code != view->header.products[product])
        row++;
    return row;
}

size_t fx8_view_pol_1(const struct fx8_view *view, size_t product)
{
    return find_product(view, product)->pol_1;
}

size_t fx8_view_pol_2(const struct fx8_view *view, size_t product)
{
    return find_product(view, product)->pol_2;
}

const char *fx8_view_product_name(const struct fx8_view *view, size_t product)
{
    return find_product(view, product)->name;
}

size_t fx8_view_product(const struct fx8_view *view, int code)
{
    for (size_t p = 0; p < view->header.n_products; p++)
        if (view->header.products[p] == code)
            return p;
    return FX8_NOTHING;
}

size_t fx8_view_mirrored(const struct fx8_view *view, size_t product)
{
    const int code = view->header.products[product];
    return code == -7 || code == -3   ? fx8_view_product(view, code - 1)
           : code == -8 || code == -4 ? fx8_view_product(view, code + 1)
                                      : product;
}

size_t fx8_view_main_product(const struct fx8_view *view)
{
    return view->request->product == 0
               ? 0
               : fx8_view_product(view, view->request->product);
}

bool fx8_view_shows(const struct fx8_view *view, size_t product)
{
    return view->request->product != 0
               ? product == fx8_view_main_product(view)
               : fx8_view_pol_1(view, product) == fx8_view_pol_2(view, product);
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
    const char *first = h->antenna_names[view->index_1[baseline]];
    const char *second = h->antenna_names[view->index_2[baseline]];
    const bool is_turned = view->is_turned && baseline == view->baseline;
    snprintf(text, FX8_LABEL_SIZE, "%.20s and %.20s",
             is_turned ? second : first, is_turned ? first : second);
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

static double longest_s(const struct fx8_view *view)
{
    double found = 0.0;
    for (size_t time = 0; time < view->n_times; time++)
        found = fmax(found, length_s(view, time));
    return found;
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
    return count_cells(&axis, longest_s(view), most);
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

void fx8_view_title(const struct fx8_view *view, const char *what,
                    struct fx8_figure *figure)
{
    size_t length = strlen(view->path);
    while (length > 1 && view->path[length - 1] == '/')
        length--; /* of a folder */
    const char *slash = memrchr(view->path, '/', length);
    const char *name = slash != NULL ? slash + 1 : view->path;
    char more[64] = "";
    if (view->request->n_paths > 1)
        snprintf(more, sizeof more, " and %zu more",
                 view->request->n_paths - 1);
    snprintf(figure->title, sizeof figure->title, "%.*s%s: %s",
             (int)(view->path + length - name), name, more, what);
}

void fx8_view_describe(const struct fx8_view *view, const char *what,
                       size_t n_rows, size_t n_columns, size_t n_not_finite,
                       struct fx8_figure *figure)
{
    const struct fx8_uvh5_header *h = &view->header;
    const size_t dumps = (view->n_times + n_rows - 1) / n_rows;
    const size_t channels = (view->n_channels + n_columns - 1) / n_columns;
    char means[128] = "", lost[64] = "";
    if (dumps > 1 || channels > 1)
        snprintf(means, sizeof means,
                 "; drawn are means of up to %zu %s x %zu %s",
                 FX8_COUNTED(dumps, "dump", "dumps"),
                 FX8_COUNTED(channels, "channel", "channels"));
    if (n_not_finite > 0)
        snprintf(lost, sizeof lost, "; %zu %s not finite", n_not_finite,
                 FX8_NOUN(n_not_finite, "cell is", "cells are"));
    fx8_view_title(view, what, figure);
    snprintf(figure->subtitle, sizeof figure->subtitle,
             "%.60s%s%.60s%s%zu %s, %zu %s, %zu %s of %.6g s%s%s", h->telescope,
             h->telescope[0] != '\0' ? ", " : "", h->object,
             h->object[0] != '\0' ? ", " : "",
             FX8_COUNTED(h->n_antennas, "antenna", "antennas"),
             FX8_COUNTED(view->n_channels, "channel", "channels"),
             FX8_COUNTED(view->n_times, "dump", "dumps"), longest_s(view),
             means, lost);
}
