/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/median.h"
#include "config/base/number.h"
#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/image/data.h"
#include "correlator/image/frame.h"
#include "correlator/image/sources.h"
#include "correlator/run/site.h"
#include "kernels/imager.h"

enum {
    ITEM = 64 * FX8_IMAGE_LANES, /* pixels whose directions a thread finds */
    MOST_PARTS = 64              /* of a frame, between two steps of progress */
};

/* What the steps share. */
struct work {
    struct fx8_image_data data;
    struct fx8_image *image;
    struct fx8_imager_found imager;
    size_t n_done, n_steps; /* of progress: dumps read, parts of frames */
    size_t n_pixels;        /* above the horizon */
    size_t part;            /* pixels of a part: whole items */
    uint32_t *pixels;       /* [n_pixels] ascending */
    float *values;          /* [n_pixels] their sums: the start of the image */
    struct fx8_cf32 *matrices; /* [node][fx8_image_cells()] */
    double *turns;             /* [node][n_antennas][3] */
    double *directions;        /* [group of part][3][FX8_IMAGE_LANES] */
    size_t first;              /* pixel of this part */
};

static void close_work(struct work *work)
{
    fx8_image_data_close(&work->data);
    if (work->imager.operations != NULL)
        work->imager.operations->close(&work->imager.imager);
    free(work->pixels);
    free(work->matrices);
    free(work->turns);
    free(work->directions);
}

/* --- pixels ------------------------------------------------------- */

static enum fx8_status open_pixels(struct work *work, struct fx8_error *error)
{
    struct fx8_image *image = work->image;
    const size_t size = image->frame.size;
    FX8_TRY(fx8_allocate(size * size, sizeof *image->pixels, "pixels",
                         &image->pixels, error));
    FX8_TRY(fx8_allocate(size * size, sizeof *work->pixels, "pixels",
                         &work->pixels, error));
    for (size_t k = 0; k < size * size; k++) {
        double lmn[3];
        if (fx8_image_direction(&image->frame, (double)(k % size),
                                (double)(k / size), lmn))
            work->pixels[work->n_pixels++] = (uint32_t)k;
    }
    work->values = image->pixels;
    return work->n_pixels > 0
               ? FX8_OK
               : fx8_fail(error, FX8_ERR_USAGE,
                          "--center: %g,%g: below the horizon: expected a "
                          "place that is up at the middle of the dumps",
                          work->data.request->center_deg[0],
                          work->data.request->center_deg[1]);
}

/* From the sums to the image: no pixel is before its sum. */
static void spread_pixels(struct work *work)
{
    const size_t size = work->image->frame.size;
    size_t pixel = size * size;
    for (size_t k = work->n_pixels; k-- > 0;) {
        const float value = work->values[k];
        while (--pixel > work->pixels[k])
            work->image->pixels[pixel] = NAN;
        work->image->pixels[pixel] = value;
    }
    while (pixel-- > 0)
        work->image->pixels[pixel] = NAN;
}

/* Directions of some pixels of a part, relative to the centre; what is beyond
 * the last pixel repeats it. */
static void find_directions(void *context, size_t item, size_t thread)
{
    const struct work *work = context;
    const struct fx8_image_frame *frame = &work->image->frame;
    const size_t last = work->n_pixels - 1;
    (void)thread;
    for (size_t k = item * ITEM; k < (item + 1) * ITEM; k++) {
        const size_t at = work->first + k;
        const size_t pixel = work->pixels[at < last ? at : last];
        double *direction = work->directions +
                            k / FX8_IMAGE_LANES * 3 * FX8_IMAGE_LANES +
                            k % FX8_IMAGE_LANES;
        double lmn[3];
        (void)fx8_image_direction(frame, (double)(pixel % frame->size),
                                  (double)(pixel / frame->size), lmn);
        direction[0] = lmn[0];
        direction[FX8_IMAGE_LANES] = lmn[1];
        direction[2 * FX8_IMAGE_LANES] = lmn[2] - 1.0;
    }
}

/* --- frames ------------------------------------------------------- */

/* Move the sums to where the imager reads them. */
static void set_matrices(struct work *work)
{
    const size_t n = work->data.sides.shape.n_antennas;
    const size_t n_nodes = work->data.nodes.n;
    double *sums = work->data.sums;
    for (size_t j = 1; j < n; j++)
        for (size_t i = 0; i < j; i++)
            for (size_t node = 0; node < n_nodes; node++) {
                const size_t at = 2 * (n_nodes * (j * (j - 1) / 2 + i) + node);
                work->matrices[node * fx8_image_cells(n) +
                               fx8_image_cell(n, i, j)] =
                    (struct fx8_cf32){(float)sums[at], (float)sums[at + 1]};
                sums[at] = sums[at + 1] = 0.0;
            }
    for (size_t node = 0; node < n_nodes; node++)
        for (size_t k = 0; k < 3 * n; k++)
            work->turns[3 * n * node + k] =
                work->data.uvw_m[k] * work->data.nodes.hz[node] / FX8_LIGHT_M_S;
}

static void count_step(struct work *work)
{
    fx8_progress_count(work->data.request->progress, (int64_t)++work->n_done,
                       (int64_t)work->n_steps);
}

static enum fx8_status add_frame(struct work *work, struct fx8_error *error)
{
    const struct fx8_imager_operations *operations = work->imager.operations;
    struct fx8_imager *imager = work->imager.imager;
    set_matrices(work);
    FX8_TRY(operations->set(imager, work->turns, work->matrices, error));
    for (size_t first = 0; first < work->n_pixels; first += work->part) {
        const size_t left = work->n_pixels - first;
        const size_t n = left < work->part ? left : work->part;
        work->first = first;
        fx8_parallel_for((n + ITEM - 1) / ITEM, fx8_parallel_cpus(), false,
                         find_directions, work);
        FX8_TRY(operations->add(imager, n, work->directions,
                                work->values + first, error));
        count_step(work);
    }
    return FX8_OK;
}

/* The reason is not for users who have no GPU and ask for none. */
static void note_imager(const struct fx8_image_request *request,
                        const struct fx8_imager_found *found,
                        struct fx8_image *image)
{
    const struct fx8_imager_facts *facts =
        found->operations->facts(found->imager);
    snprintf(image->backend, sizeof image->backend, "%s%s%s",
             found->operations->name, facts->device[0] != '\0' ? " " : "",
             facts->device);
    snprintf(image->kernel, sizeof image->kernel, "%s", facts->kernel);
    image->is_spare = found->is_spare;
    if (request->backend == FX8_BACKEND_AUTO &&
        (facts->device[0] != '\0' || found->is_spare ||
         request->is_backend_given))
        memcpy(image->reason, found->reason, sizeof image->reason);
}

static enum fx8_status open_imager(struct work *work, struct fx8_error *error)
{
    const struct fx8_image_request *request = work->data.request;
    const struct fx8_imager_plan plan = {.n_antennas =
                                             work->data.sides.shape.n_antennas,
                                         .n_channels = work->data.nodes.n,
                                         .n_threads = fx8_parallel_cpus()};
    struct fx8_imager_found *found = &work->imager;
    FX8_TRY(fx8_imager_open(request->backend, &plan, found, error));
    note_imager(request, found, work->image);
    const size_t n_busy = found->operations->facts(found->imager)->n_busy;
    const size_t least = work->n_pixels / MOST_PARTS;
    work->part = fx8_round_up(least > n_busy ? least : n_busy, ITEM);
    return FX8_OK;
}

static enum fx8_status allocate(struct work *work, struct fx8_error *error)
{
    const size_t n = work->data.sides.shape.n_antennas;
    const size_t n_nodes = work->data.nodes.n;
    const size_t n_pixels =
        work->part < work->n_pixels ? work->part : work->n_pixels;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(work->matrices,
                  fx8_product(n_nodes, fx8_image_cells(n), 1, 1)),
        FX8_ITEMS(work->turns, 3 * n * n_nodes),
        FX8_ITEMS(work->directions, 3 * fx8_round_up(n_pixels, ITEM))};
    return fx8_allocate_arrays(arrays, 3, "visibilities", error);
}

/* In the horizon's frame all dumps share their directions: one image of their
 * sum.  On the sky each has its own. */
static enum fx8_status add_frames(struct work *work, struct fx8_error *error)
{
    struct fx8_image_data *data = &work->data;
    const bool is_fixed = !data->request->has_center;
    const size_t n_parts = (work->n_pixels + work->part - 1) / work->part;
    work->n_steps = data->n_times + n_parts * (is_fixed ? 1 : data->n_times);
    for (size_t t = 0; t < data->n_times; t++) {
        FX8_TRY(fx8_image_data_add(data, t, error));
        count_step(work);
        if (!is_fixed)
            FX8_TRY(add_frame(work, error));
    }
    if (is_fixed)
        FX8_TRY(add_frame(work, error));
    spread_pixels(work);
    return FX8_OK;
}

/* --- figures ------------------------------------------------------ */

/* A Gaussian exp(-4 ln2 x^2 / FWHM^2) bends like the beam, 1 - 2 pi^2 <u^2>
 * x^2, along both axes of the ellipse. */
static void fit_beam(const struct fx8_image_data *data, struct fx8_image *image)
{
    const double uu = data->moments[0] / data->weight;
    const double uv = data->moments[1] / data->weight;
    const double vv = data->moments[2] / data->weight;
    const double mean = 0.5 * (uu + vv), apart = hypot(0.5 * (uu - vv), uv);
    const double width_deg = sqrt(2.0 * log(2.0)) / ERFA_DPI / ERFA_DD2R;
    if (mean - apart <= 1e-12 * mean)
        return; /* antennas on a line */
    image->beam_deg[0] = width_deg / sqrt(mean - apart);
    image->beam_deg[1] = width_deg / sqrt(mean + apart);
    image->beam_angle_deg = -0.5 * atan2(2.0 * uv, uu - vv) / ERFA_DD2R;
}

/* From fewer beams the noise is uncertain by more than a third. */
#define FEWEST_BEAMS 10.0

/* 1.4826 times the median of |pixel - median| is the standard deviation of
 * Gaussian noise, little changed by sources. */
static enum fx8_status find_noise(const struct work *work,
                                  struct fx8_image *image,
                                  struct fx8_error *error)
{
    FX8_AUTO_FREE double *values = NULL;
    const double side = image->frame.step / ERFA_DD2R;
    image->noise = NAN;
    if ((double)work->n_pixels * side * side <
        FEWEST_BEAMS * image->beam_deg[0] * image->beam_deg[1])
        return FX8_OK;
    FX8_TRY(
        fx8_allocate(work->n_pixels, sizeof *values, "pixels", &values, error));
    for (size_t k = 0; k < work->n_pixels; k++)
        values[k] = (double)image->pixels[work->pixels[k]];
    const double middle = fx8_median(values, work->n_pixels);
    for (size_t k = 0; k < work->n_pixels; k++)
        values[k] = fabs(values[k] - middle);
    const double deviation = fx8_median(values, work->n_pixels);
    if (deviation > 0.0)
        image->noise = 1.4826 * deviation;
    return FX8_OK;
}

static enum fx8_status find_peak(struct work *work, struct fx8_error *error)
{
    struct fx8_image *image = work->image;
    const struct fx8_image_frame *frame = &image->frame;
    struct fx8_image_place *peak = &image->peak;
    size_t best = work->pixels[0];
    double lmn[3];
    for (size_t k = 1; k < work->n_pixels; k++)
        if (image->pixels[work->pixels[k]] > image->pixels[best])
            best = work->pixels[k];
    peak->x = (double)(best % frame->size);
    peak->y = (double)(best / frame->size);
    peak->value = (double)image->pixels[best];
    (void)fx8_image_direction(frame, peak->x, peak->y, lmn);
    for (size_t k = 0; k < 3; k++)
        peak->enu[k] = lmn[0] * frame->axes[0][k] + lmn[1] * frame->axes[1][k] +
                       lmn[2] * frame->axes[2][k];
    return fx8_image_icrs(&work->data.sky, frame->time, peak->enu,
                          peak->icrs_deg, error);
}

static enum fx8_status find_figures(struct work *work, struct fx8_error *error)
{
    struct fx8_image *image = work->image;
    for (size_t k = 0; k < work->n_pixels; k++)
        image->pixels[work->pixels[k]] /= (float)work->data.weight;
    image->frequency_hz = work->data.frequency / work->data.weight;
    fit_beam(&work->data, image);
    FX8_TRY(find_noise(work, image, error));
    FX8_TRY(find_peak(work, error));
    for (size_t k = 0; k < image->n_sources; k++) {
        struct fx8_image_place *place = &image->sources[k].place;
        place->value =
            (double)image->pixels[(size_t)lround(place->y) * image->frame.size +
                                  (size_t)lround(place->x)];
    }
    return FX8_OK;
}

/* --- all ---------------------------------------------------------- */

static void describe(const struct fx8_image_data *data, struct fx8_image *image)
{
    const struct fx8_uvh5_header *header = &data->sides.side[0].header;
    double begin = INFINITY, end = -INFINITY;
    for (size_t t = 0; t < data->n_times; t++) {
        const double middle = header->julian_dates[data->times[t]];
        const double half =
            0.5 * header->integration_s[data->times[t]] / 86400.0;
        begin = fmin(begin, middle - half);
        end = fmax(end, middle + half);
    }
    memcpy(image->telescope, header->telescope, sizeof image->telescope);
    memcpy(image->units, header->units, sizeof image->units);
    image->polarization = data->polarization;
    image->site = header->site;
    image->n_antennas = header->n_antennas;
    image->n_baselines = header->n_baselines;
    image->n_channels = data->n_channels;
    image->n_dumps = data->n_times;
    image->start = fx8_time_from_julian_date(begin);
    image->duration_s = 86400.0 * (end - begin);
    for (size_t c = 0; c < data->n_channels; c++)
        image->bandwidth_hz += header->channel_widths_hz[data->channels[c]];
    image->frame.time = fx8_time_from_julian_date(data->julian_date);
}

enum fx8_status fx8_image_make(const struct fx8_image_request *request,
                               struct fx8_image *image, struct fx8_error *error)
{
    *image = (struct fx8_image){.n_sources = 0};
    FX8_AUTO(close_work) struct work work = {.image = image};
    FX8_TRY(fx8_image_data_open(request, &work.data, error));
    describe(&work.data, image);
    FX8_TRY(
        fx8_image_frame_open(request, &work.data.sky, &image->frame, error));
    FX8_TRY(fx8_image_find_sources(request, &work.data.sky, image, error));
    FX8_TRY(open_pixels(&work, error));
    FX8_TRY(open_imager(&work, error));
    FX8_TRY(allocate(&work, error));
    FX8_TRY(add_frames(&work, error));
    return find_figures(&work, error);
}

void fx8_image_clear(struct fx8_image *image)
{
    free(image->pixels);
    free(image->sources);
    *image = (struct fx8_image){.n_sources = 0};
}
