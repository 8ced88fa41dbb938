/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read.c -- from a result to the fringes of its baselines.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fringe/gains.h"
#include "correlator/fringe/model.h"
#include "correlator/fringe/search.h"

/* Bytes of cells that are kept, and of scratch memory of the threads. */
#define BLOCK_SIZE ((size_t)256 << 20)

/* Largest coherence that errors are computed with. */
#define MOST_COHERENCE 0.999

/* A walk through the file, a block of baselines at a time. */
struct walk {
    double *level;   /* [n_inputs] log of the root of its power */
    bool *has_power; /* [n_inputs] the file has its auto */
    struct fx8_fringes *fringes;
    struct fx8_compare_sides sides;
    struct fx8_fringe_model model;
    struct fx8_fringe_search *search;
    size_t n_parallel;      /* products */
    size_t parallel[2];     /* their places */
    size_t n_cells;         /* of a baseline and product */
    size_t n_block;         /* baselines */
    size_t *first;          /* [n_baselines] item; SIZE_MAX: an auto */
    float *cells, *weights; /* [n_block][n_parallel][n_cells], cells re, im */
    size_t begin, end;      /* baselines of this block */
};

static void close_walk(struct walk *walk)
{
    fx8_compare_sides_close(&walk->sides);
    fx8_fringe_model_close(&walk->model);
    fx8_fringe_search_close(&walk->search);
    free(walk->first);
    free(walk->level);
    free(walk->has_power);
    free(walk->cells);
    free(walk->weights);
}

/* --- what the file has ------------------------------------------- */

static enum fx8_status find_products(struct walk *walk, struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = &walk->sides.shape;
    for (size_t p = 0; p < shape->n_products; p++)
        if (shape->feeds[p][0] == shape->feeds[p][1])
            walk->parallel[walk->n_parallel++] = p;
    if (walk->n_parallel == 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: polarization_array: no parallel product: expected "
                        "XX or YY",
                        walk->fringes->path);
    if (shape->n_channels < 2)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: Nfreqs: 1: expected at least 2 channels, to "
                        "measure a delay",
                        walk->fringes->path);
    return FX8_OK;
}

/* Name the fringes: cross baselines, product by product. */
static enum fx8_status list_fringes(struct walk *walk, struct fx8_error *error)
{
    struct fx8_fringes *fringes = walk->fringes;
    const struct fx8_compare_sides *sides = &walk->sides;
    const size_t n_baselines = sides->shape.n_baselines;
    FX8_TRY(fx8_allocate(n_baselines, sizeof *walk->first, "baselines",
                         &walk->first, error));
    FX8_TRY(fx8_allocate(fx8_product(n_baselines, walk->n_parallel, 1, 1),
                         sizeof *fringes->items, "fringes", &fringes->items,
                         error));
    for (size_t b = 0; b < n_baselines; b++) {
        const size_t *antennas = sides->antennas[b];
        walk->first[b] = antennas[0] == antennas[1] ? SIZE_MAX : fringes->n;
        for (size_t k = 0; k < walk->n_parallel && antennas[0] != antennas[1];
             k++)
            fringes->items[fringes->n++] = (struct fx8_fringe){
                .antennas = {antennas[0], antennas[1]},
                .polarization =
                    (size_t)sides->shape.feeds[walk->parallel[k]][0]};
    }
    if (fringes->n == 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: Nbls: %zu: expected cross-correlations, not "
                        "only autos",
                        fringes->path, n_baselines);
    return FX8_OK;
}

static enum fx8_status lay_out_axes(struct walk *walk, struct fx8_error *error)
{
    const struct fx8_uvh5_header *header = &walk->sides.side[0].header;
    FX8_TRY(fx8_compare_side_check(&walk->sides.side[0], error));
    FX8_AUTO_FREE double *times_s = NULL;
    FX8_TRY(fx8_allocate(header->n_times, sizeof *times_s, "times", &times_s,
                         error));
    for (size_t t = 0; t < header->n_times; t++)
        times_s[t] =
            86400.0 * (header->julian_dates[t] - header->julian_dates[0]);
    return fx8_fringe_axes_open(header->n_times, times_s, header->n_channels,
                                header->frequencies_hz, &walk->fringes->time,
                                &walk->fringes->frequency, error);
}

/* --- levels ------------------------------------------------------ */

/* Mean power of an input and channel over all dumps. */
struct power {
    double sum, weight;
};

/* Scale every input and channel by the root of its mean power, so that noise is
 * the same everywhere; keep the geometric mean over channels, by which
 * amplitudes get their level back.  What has no auto stays as it is. */
static void set_scales(struct walk *walk, const struct power *powers)
{
    const struct fx8_compare_shape *shape = &walk->sides.shape;
    for (size_t input = 0; input < fx8_compare_inputs(shape); input++) {
        size_t n = 0;
        for (size_t c = 0; c < shape->n_channels; c++) {
            const size_t at = input * shape->n_channels + c;
            const struct power *power = &powers[at];
            if (!(power->weight > 0.0))
                continue;
            walk->model.scale[at] = 0.0;
            if (!(power->sum > 0.0))
                continue;
            const double root = sqrt(power->sum / power->weight);
            walk->model.scale[at] = 1.0 / root;
            walk->level[input] += log(root);
            n++;
        }
        walk->has_power[input] = n > 0;
        if (n > 0)
            walk->level[input] /= (double)n;
    }
}

static enum fx8_status find_levels(struct walk *walk, struct fx8_error *error)
{
    const struct fx8_compare_shape *shape = &walk->sides.shape;
    const size_t n_inputs = fx8_compare_inputs(shape);
    const size_t n = n_inputs * shape->n_channels;
    FX8_AUTO_FREE double *power = NULL, *weight = NULL;
    FX8_AUTO_FREE struct power *powers = NULL;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(power, n), FX8_ITEMS(weight, n), FX8_ITEMS(powers, n),
        FX8_ITEMS(walk->level, n_inputs), FX8_ITEMS(walk->has_power, n_inputs)};
    FX8_TRY(fx8_allocate_arrays(arrays, 5, "levels", error));
    for (size_t t = 0; t < walk->fringes->time.n_items; t++) {
        FX8_TRY(
            fx8_compare_sides_powers(&walk->sides, 0, t, power, weight, error));
        for (size_t i = 0; i < n; i++) {
            powers[i].sum += weight[i] * power[i];
            powers[i].weight += weight[i];
        }
    }
    set_scales(walk, powers);
    return FX8_OK;
}

/* --- reading ----------------------------------------------------- */

/* Add one baseline of one dump to its cells. */
static void add_row(struct walk *walk, size_t dump, size_t baseline,
                    const struct fx8_compare_row *row)
{
    const struct fx8_compare_shape *shape = &walk->sides.shape;
    const struct fx8_fringes *fringes = walk->fringes;
    const size_t *antennas = walk->sides.antennas[baseline];
    const size_t base = fringes->time.cell[dump] * fringes->frequency.n;
    const double length = fx8_compare_sides_length(&walk->sides, dump);
    for (size_t k = 0; k < walk->n_parallel; k++) {
        const size_t feed = (size_t)shape->feeds[walk->parallel[k]][0];
        const double *factor[2];
        for (size_t end = 0; end < 2; end++)
            factor[end] = walk->model.factors +
                          2 * shape->n_channels *
                              (antennas[end] * shape->n_polarizations + feed);
        const size_t block =
            ((baseline - walk->begin) * walk->n_parallel + k) * walk->n_cells;
        for (size_t c = 0; c < shape->n_channels; c++) {
            const size_t at = c * shape->n_products + walk->parallel[k];
            const double *f = factor[0] + 2 * c, *g = factor[1] + 2 * c;
            const double re = f[0] * g[0] + f[1] * g[1];
            const double im = f[0] * g[1] - f[1] * g[0];
            const double weight = length * (double)row->nsamples[at];
            const double *v = row->visibilities + 2 * at;
            if (row->flags[at] != 0 || (re == 0.0 && im == 0.0))
                continue;
            const size_t cell = block + base + fringes->frequency.cell[c];
            walk->cells[2 * cell] += (float)(weight * (v[0] * re - v[1] * im));
            walk->cells[2 * cell + 1] +=
                (float)(weight * (v[0] * im + v[1] * re));
            walk->weights[cell] += (float)weight;
        }
    }
}

/* Search one baseline and product of the block. */
static void search_one(void *context, size_t index, size_t thread)
{
    struct walk *walk = context;
    const size_t first = walk->first[walk->begin + index / walk->n_parallel];
    if (first != SIZE_MAX)
        fx8_fringe_find(
            walk->search, thread, walk->cells + 2 * index * walk->n_cells,
            walk->weights + index * walk->n_cells,
            &walk->fringes->items[first + index % walk->n_parallel]);
}

static enum fx8_status read_block(struct walk *walk, struct fx8_error *error)
{
    const size_t n = walk->n_block * walk->n_parallel * walk->n_cells;
    memset(walk->cells, 0, 2 * n * sizeof *walk->cells);
    memset(walk->weights, 0, n * sizeof *walk->weights);
    for (size_t t = 0; t < walk->fringes->time.n_items; t++) {
        FX8_TRY(fx8_fringe_model_set(&walk->model, t, error));
        for (size_t b = walk->begin; b < walk->end; b++) {
            struct fx8_compare_row row;
            FX8_TRY(
                fx8_compare_sides_read(&walk->sides, t, b, &row, NULL, error));
            if (walk->first[b] != SIZE_MAX)
                add_row(walk, t, b, &row);
        }
    }
    return FX8_OK;
}

/* Coherence, and the amplitude in the units of the result. */
static void restore_level(const struct walk *walk, struct fx8_fringe *item)
{
    double *amplitude = &item->value[FX8_FRINGE_AMPLITUDE];
    bool has_powers = true;
    const double coherence = exp(*amplitude);
    for (size_t end = 0; end < 2; end++) {
        const size_t input =
            item->antennas[end] * walk->sides.shape.n_polarizations +
            item->polarization;
        *amplitude += walk->level[input];
        has_powers = has_powers && walk->has_power[input];
    }
    item->coherence = has_powers ? fmin(coherence, MOST_COHERENCE) : 0.0;
}

/* Blocks are whole reads of the file. */
static enum fx8_status allocate_block(struct walk *walk, size_t *n_threads,
                                      struct fx8_error *error)
{
    const struct fx8_fringes *fringes = walk->fringes;
    const size_t n_baselines = walk->sides.shape.n_baselines;
    size_t *rows = &walk->sides.rows_per_read;
    walk->n_cells = fringes->time.n * fringes->frequency.n;
    const size_t most =
        BLOCK_SIZE / (3 * sizeof(float) * walk->n_cells * walk->n_parallel);
    *rows = *rows < most ? *rows : most;
    walk->n_block = most / *rows * *rows;
    if (walk->n_block > n_baselines)
        walk->n_block = n_baselines;
    const size_t n =
        fx8_product(walk->n_block, walk->n_parallel, walk->n_cells, 1);
    /* the transform of a thread has up to four times the cells */
    const size_t scratch = 4 * 2 * sizeof(float) * walk->n_cells;
    const size_t cpus = fx8_parallel_cpus();
    *n_threads = BLOCK_SIZE / scratch < cpus ? BLOCK_SIZE / scratch : cpus;
    const struct fx8_array arrays[] = {
        {&walk->cells, n, 2 * sizeof *walk->cells},
        FX8_ITEMS(walk->weights, n)};
    return fx8_allocate_arrays(arrays, 2, "visibilities", error);
}

static enum fx8_status note_names(struct walk *walk, struct fx8_error *error)
{
    const struct fx8_uvh5_header *header = &walk->sides.side[0].header;
    struct fx8_fringes *fringes = walk->fringes;
    fringes->shape = walk->sides.shape;
    FX8_TRY(fx8_allocate(header->n_antennas, sizeof *fringes->antenna_numbers,
                         "antennas", &fringes->antenna_numbers, error));
    memcpy(fringes->antenna_numbers, header->antenna_numbers,
           header->n_antennas * sizeof *header->antenna_numbers);
    return fx8_fringes_recall(walk->sides.side[0].file, header, fringes, error);
}

static enum fx8_status read(const struct fx8_fringe_direction *direction,
                            struct fx8_progress_display *progress,
                            struct walk *walk, struct fx8_error *error)
{
    struct fx8_fringes *fringes = walk->fringes;
    size_t n_threads;
    FX8_TRY(fx8_compare_sides_open((const char *const[]){fringes->path}, 1,
                                   &walk->sides, error));
    FX8_TRY(note_names(walk, error));
    FX8_TRY(find_products(walk, error));
    FX8_TRY(list_fringes(walk, error));
    FX8_TRY(lay_out_axes(walk, error));
    FX8_TRY(fx8_fringe_model_open(fringes->path, &walk->sides.side[0].header,
                                  &walk->sides.shape, direction, &walk->model,
                                  error));
    FX8_TRY(find_levels(walk, error));
    FX8_TRY(allocate_block(walk, &n_threads, error));
    FX8_TRY(fx8_fringe_search_open(&fringes->time, &fringes->frequency,
                                   n_threads, &walk->search, error));
    fringes->threshold = fx8_fringe_threshold(walk->search, fringes->n);
    const size_t n_baselines = walk->sides.shape.n_baselines;
    for (; walk->begin < n_baselines; walk->begin = walk->end) {
        const size_t left = n_baselines - walk->begin;
        walk->end = walk->begin + (left < walk->n_block ? left : walk->n_block);
        FX8_TRY(read_block(walk, error));
        fx8_parallel_for((walk->end - walk->begin) * walk->n_parallel,
                         n_threads, false, search_one, walk);
        fx8_progress_count(progress, (int64_t)walk->end, (int64_t)n_baselines);
    }
    for (size_t k = 0; k < fringes->n; k++) {
        struct fx8_fringe *item = &fringes->items[k];
        item->is_found = item->is_found && item->snr > fringes->threshold;
        restore_level(walk, item);
    }
    return FX8_OK;
}

enum fx8_status fx8_fringes_read(const char *path,
                                 const struct fx8_fringe_direction *direction,
                                 struct fx8_progress_display *progress,
                                 struct fx8_fringes *fringes,
                                 struct fx8_error *error)
{
    *fringes = (struct fx8_fringes){.path = path};
    FX8_AUTO(close_walk) struct walk walk = {.fringes = fringes};
    return read(direction, progress, &walk, error);
}

void fx8_fringes_clear(struct fx8_fringes *fringes)
{
    free(fringes->antenna_numbers);
    fx8_fringe_axis_clear(&fringes->time);
    fx8_fringe_axis_clear(&fringes->frequency);
    free(fringes->items);
    for (size_t p = 0; p < 2; p++)
        free(fringes->solutions[p].antennas);
    free(fringes->recorded);
    *fringes = (struct fx8_fringes){0};
}
