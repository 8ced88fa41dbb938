/* SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/median.h"
#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "correlator/library/levels.h"

/* Largest number of powers kept in a round, in floats (256 MiB). */
#define ROUND_FLOATS ((size_t)64 << 20)

/* Spectra measured at a time; the remaining samples are moved after each. */
#define LOOK_AHEAD_SPECTRA ((size_t)1024)

/* Share of a spectrum's power that float rounding alone may put into a channel,
 * (16 2^-24)^2: see fx8_power_measure().  For comparison: a full-scale line
 * rounded to 8 bits puts 7e-6 / N into each. */
#define ROUNDING_SHARE 0x1p-40

/* Channels whose powers are transposed at a time: one cache line. */
#define CHANNEL_TILE ((size_t)16)

struct fx8_levels {
    struct fx8_levels_shape shape;
    size_t n_rows, n_channels; /* of the shape; rows of all bands */
    uint8_t *is_set;           /* [n_rows] */
    float *gain;               /* [n_inputs][n_bands][n_channels] */
    uint8_t *zero;             /* [n_inputs][n_bands][n_channels] */
    float *row_gain;           /* [n_channels] of one row, for its engine */
    uint64_t *valid;           /* [n_rows][words] in the look-ahead */
    /* the round */
    struct fx8_stream *stream;
    size_t round_capacity;
    size_t n_round;
    size_t *round_row;     /* [round_capacity] */
    size_t *round_spectra; /* [round_capacity] measured so far */
    float *power;          /* [round_capacity][FX8_LEVEL_SPECTRA][n_channels] */
    float *whole;          /* [round_capacity][FX8_LEVEL_SPECTRA] of all bins */
};

/* Index of a row's first gain: the bands of an input are side by side. */
static size_t first_cell(const struct fx8_levels *l, size_t row)
{
    const size_t input = row % l->shape.n_inputs;
    const size_t band = row / l->shape.n_inputs;
    return (input * l->shape.n_bands + band) * l->n_channels;
}

/* Factor in the samples of a row. */
static float input_gain(const struct fx8_levels *l, size_t row)
{
    return l->shape.input_gain == NULL ? 1.0f : (float)l->shape.input_gain[row];
}

#define N_ARRAYS 9

/* Derive sizes from the shape, and list the arrays. */
static void list_arrays(struct fx8_levels *l, struct fx8_array arrays[N_ARRAYS])
{
    const size_t per_row = FX8_LEVEL_SPECTRA * l->shape.n_channels;
    l->n_channels = l->shape.n_channels;
    l->n_rows = fx8_product(l->shape.n_bands, l->shape.n_inputs, 1, 1);
    l->round_capacity = ROUND_FLOATS / per_row;
    if (l->round_capacity < 1)
        l->round_capacity = 1;
    if (l->round_capacity > l->n_rows)
        l->round_capacity = l->n_rows;
    const size_t cells = fx8_product(l->n_rows, l->n_channels, 1, 1);
    const size_t words =
        fx8_product(l->n_rows, fx8_bit_words(LOOK_AHEAD_SPECTRA), 1, 1);
    const size_t powers = fx8_product(l->round_capacity, per_row, 1, 1);
    const struct fx8_array list[N_ARRAYS] = {
        {&l->is_set, l->n_rows, sizeof *l->is_set},
        {&l->gain, cells, sizeof *l->gain},
        {&l->zero, cells, sizeof *l->zero},
        {&l->row_gain, l->n_channels, sizeof *l->row_gain},
        {&l->valid, words, sizeof *l->valid},
        {&l->round_row, l->round_capacity, sizeof *l->round_row},
        {&l->round_spectra, l->round_capacity, sizeof *l->round_spectra},
        {&l->power, powers, sizeof *l->power},
        {&l->whole, fx8_product(l->round_capacity, FX8_LEVEL_SPECTRA, 1, 1),
         sizeof *l->whole},
    };
    memcpy(arrays, list, sizeof list);
}

size_t fx8_levels_size(const struct fx8_levels_shape *shape)
{
    struct fx8_levels unused = {.shape = *shape};
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(&unused, arrays);
    return fx8_arrays_size(arrays, N_ARRAYS);
}

enum fx8_status fx8_levels_open(const struct fx8_levels_shape *shape,
                                struct fx8_levels **levels,
                                struct fx8_error *error)
{
    *levels = NULL;
    struct fx8_levels *l;
    enum fx8_status status = fx8_allocate(1, sizeof *l, "levels", &l, error);
    if (status != FX8_OK)
        return status;
    struct fx8_array arrays[N_ARRAYS];
    l->shape = *shape;
    list_arrays(l, arrays);
    status = fx8_allocate_arrays(arrays, N_ARRAYS, "levels", error);
    if (status != FX8_OK) {
        fx8_levels_close(&l);
        return status;
    }
    for (size_t row = 0; row < l->n_rows; row++)
        for (size_t channel = 0; channel < l->n_channels; channel++)
            l->gain[first_cell(l, row) + channel] = input_gain(l, row);
    *levels = l;
    return FX8_OK;
}

void fx8_levels_close(struct fx8_levels **levels)
{
    struct fx8_levels *l = *levels;
    if (l == NULL)
        return;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(l, arrays);
    fx8_free_arrays(arrays, N_ARRAYS);
    fx8_stream_close(&l->stream);
    free(l);
    *levels = NULL;
}

struct fx8_input_gains fx8_levels_gains(const struct fx8_levels *levels)
{
    return (struct fx8_input_gains){levels->gain, levels->zero, levels->is_set};
}

bool fx8_levels_active(const struct fx8_levels *levels)
{
    return levels->stream != NULL;
}

enum fx8_status fx8_levels_begin(struct fx8_levels *levels,
                                 const struct fx8_stream *stream,
                                 const uint64_t *valid, size_t n_spectra,
                                 bool *needed, struct fx8_error *error)
{
    struct fx8_levels *l = levels;
    const size_t n_words = fx8_bit_words(n_spectra);
    l->n_round = 0;
    for (size_t row = 0; row < l->n_rows && l->n_round < l->round_capacity;
         row++) {
        if (l->is_set[row] ||
            fx8_stream_first_signal(stream, row, valid + row * n_words, 0,
                                    n_spectra) == n_spectra)
            continue;
        l->round_row[l->n_round] = row;
        l->round_spectra[l->n_round++] = 0;
    }
    *needed = l->n_round > 0;
    return *needed ? fx8_stream_copy(stream, &l->stream, error) : FX8_OK;
}

/* Rms of a real component of noise whose median of |X|^2 in a channel is
 * `median`, 0 if that is only rounding; `whole` is the median over all bins. */
static double level_of(const struct fx8_levels *l, size_t channel,
                       double median, double whole)
{
    if (median <= ROUNDING_SHARE * whole)
        return 0.0;
    /* |X|^2 of complex noise is exponential: its median is ln 2 times its mean
     * of 2 sigma^2.  For real noise it is the square of a normal variable: half
     * of its values are within 0.6745 sigma */
    const double quartile = 0.67448975019608174;
    const bool is_real = fx8_filterbank_is_real(&l->shape.bank, channel);
    return sqrt(median / (is_real ? quartile * quartile : 2.0 * M_LN2));
}

static void set_gain(struct fx8_levels *l, size_t row, size_t channel,
                     double sigma)
{
    const size_t at = first_cell(l, row) + channel;
    l->zero[at] = sigma == 0.0;
    /* exact: input_gain is a power of two, divided out again for the engine */
    l->gain[at] =
        (l->zero[at] ? 1.0f : (float)(l->shape.quantizer.target_rms / sigma)) *
        input_gain(l, row);
}

/* Gains of n <= CHANNEL_TILE channels from powers [n_spectra][n_channels]. */
static void set_tile(struct fx8_levels *l, size_t row, const float *power,
                     double whole, size_t n_spectra, size_t first, size_t n)
{
    float column[CHANNEL_TILE][FX8_LEVEL_SPECTRA];
    for (size_t s = 0; s < n_spectra; s++)
        for (size_t c = 0; c < n; c++)
            column[c][s] = power[s * l->n_channels + first + c];
    for (size_t c = 0; c < n; c++)
        set_gain(l, row, first + c,
                 level_of(l, first + c, fx8_median_float(column[c], n_spectra),
                          whole));
}

/* One gain for all channels, from the powers of all.  A channel of real spectra
 * has another distribution: it counts only if it is the only one. */
static void set_row(struct fx8_levels *l, size_t row, float *power,
                    double whole, size_t n_spectra)
{
    const size_t n = l->n_channels;
    const size_t first = n > 1 && fx8_filterbank_is_real(&l->shape.bank, 0);
    const size_t n_used = n - first;
    for (size_t s = 0; s < n_spectra && first > 0; s++)
        memmove(power + s * n_used, power + s * n + first,
                n_used * sizeof *power);
    const double sigma =
        level_of(l, first, fx8_median_float(power, n_spectra * n_used), whole);
    for (size_t channel = 0; channel < n; channel++)
        set_gain(l, row, channel, sigma);
}

static void set_gains_item(void *context, size_t item, size_t thread)
{
    (void)thread;
    struct fx8_levels *l = context;
    const size_t row = l->round_row[item];
    const size_t n_spectra = l->round_spectra[item];
    float *power = l->power + item * FX8_LEVEL_SPECTRA * l->n_channels;
    const double whole =
        fx8_median_float(l->whole + item * FX8_LEVEL_SPECTRA, n_spectra);
    if (l->shape.quantizer.level == FX8_LEVEL_INPUT) {
        set_row(l, row, power, whole, n_spectra);
        return;
    }
    for (size_t c = 0; c < l->n_channels; c += CHANNEL_TILE) {
        const size_t rest = l->n_channels - c;
        set_tile(l, row, power, whole, n_spectra, c,
                 rest < CHANNEL_TILE ? rest : CHANNEL_TILE);
    }
}

/* Give an engine the gains of a row. */
static enum fx8_status hand_to_engine(
    struct fx8_levels *l, size_t row,
    const struct fx8_engine_operations *operations,
    struct fx8_engine *const *engines, struct fx8_error *error)
{
    const size_t n_inputs = l->shape.n_inputs;
    const float *gain = l->gain + first_cell(l, row);
    for (size_t channel = 0; channel < l->n_channels; channel++)
        l->row_gain[channel] = gain[channel] / input_gain(l, row);
    l->is_set[row] = 1;
    return operations->set_gain(engines[row / n_inputs], row % n_inputs,
                                l->row_gain, error);
}

static enum fx8_status finish_round(
    struct fx8_levels *l, const struct fx8_engine_operations *operations,
    struct fx8_engine *const *engines, struct fx8_error *error)
{
    fx8_parallel_for(l->n_round, l->shape.threads.count, l->shape.threads.pin,
                     set_gains_item, l);
    for (size_t k = 0; k < l->n_round; k++) {
        const enum fx8_status status =
            hand_to_engine(l, l->round_row[k], operations, engines, error);
        if (status != FX8_OK)
            return status;
    }
    fx8_stream_close(&l->stream);
    return FX8_OK;
}

struct measure_context {
    struct fx8_levels *levels;
    size_t n_spectra; /* ready */
};

/* Measure the ready spectra of one row of the round. */
static void measure_item(void *context, size_t k, size_t thread)
{
    const struct measure_context *job = context;
    struct fx8_levels *l = job->levels;
    const size_t row = l->round_row[k], n = job->n_spectra;
    const size_t step = fx8_filterbank_row(&l->shape.bank);
    const uint64_t *valid = l->valid + row * fx8_bit_words(n);
    const int8_t *samples = fx8_stream_row(l->stream, row);
    size_t *seen = &l->round_spectra[k];
    for (size_t s = 0; *seen < FX8_LEVEL_SPECTRA; s++) {
        s = fx8_stream_first_signal(l->stream, row, valid, s, n);
        if (s >= n)
            break;
        const size_t at = k * FX8_LEVEL_SPECTRA + *seen;
        l->whole[at] = fx8_power_measure(l->shape.power, samples + s * step,
                                         thread, l->power + at * l->n_channels);
        (*seen)++;
    }
}

/* Measure the ready spectra, and take them from the round's stream. */
static void measure(struct fx8_levels *l, bool *done)
{
    size_t ready;
    while ((ready = fx8_stream_ready(l->stream)) > 0) {
        if (ready > LOOK_AHEAD_SPECTRA)
            ready = LOOK_AHEAD_SPECTRA;
        fx8_stream_validity(l->stream, ready, l->valid);
        struct measure_context context = {l, ready};
        fx8_parallel_for(l->n_round, l->shape.threads.count,
                         l->shape.threads.pin, measure_item, &context);
        *done = true;
        for (size_t k = 0; k < l->n_round; k++)
            *done = *done && l->round_spectra[k] == FX8_LEVEL_SPECTRA;
        if (*done)
            return;
        fx8_stream_take(l->stream, ready);
    }
}

enum fx8_status fx8_levels_push(struct fx8_levels *levels,
                                const struct fx8_engine_operations *operations,
                                struct fx8_engine *const *engines,
                                const struct fx8_block *block, bool *done,
                                struct fx8_error *error)
{
    struct fx8_levels *l = levels;
    *done = false;
    (void)fx8_stream_skip(l->stream, block->first_sample, INT64_MAX, 1);
    /* appends nothing if the stream is full already */
    const enum fx8_status status = fx8_stream_append(l->stream, block, error);
    if (status != FX8_OK)
        return status;
    measure(l, done);
    return *done ? finish_round(l, operations, engines, error) : FX8_OK;
}

int64_t fx8_levels_next_sample(const struct fx8_levels *levels)
{
    return fx8_stream_next_sample(levels->stream);
}

enum fx8_status fx8_levels_end(struct fx8_levels *levels,
                               const struct fx8_engine_operations *operations,
                               struct fx8_engine *const *engines,
                               struct fx8_error *error)
{
    bool done = false;
    fx8_stream_end(levels->stream);
    measure(levels, &done);
    return finish_round(levels, operations, engines, error);
}

/* FX8_ERR_USAGE naming the first gain of a row that is not positive. */
static enum fx8_status check_row(const struct fx8_levels *l, size_t row,
                                 const struct fx8_input_gains *gains,
                                 struct fx8_error *error)
{
    for (size_t channel = 0; channel < l->n_channels; channel++) {
        const size_t cell = first_cell(l, row) + channel;
        const float gain = gains->gain[cell] / input_gain(l, row);
        if (!(gain >= FLT_MIN && gain <= FLT_MAX))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "gains: input %zu, band %zu, channel %zu: %g: "
                            "expected a positive number",
                            row % l->shape.n_inputs, row / l->shape.n_inputs,
                            channel, (double)gains->gain[cell]);
    }
    return FX8_OK;
}

enum fx8_status fx8_levels_set(struct fx8_levels *levels,
                               const struct fx8_input_gains *gains,
                               const struct fx8_engine_operations *operations,
                               struct fx8_engine *const *engines,
                               struct fx8_error *error)
{
    struct fx8_levels *l = levels;
    enum fx8_status status = FX8_OK;
    for (size_t row = 0; row < l->n_rows && status == FX8_OK; row++)
        if (gains->is_set[row])
            status = check_row(l, row, gains, error);
    for (size_t row = 0; row < l->n_rows && status == FX8_OK; row++) {
        const size_t cell = first_cell(l, row);
        if (!gains->is_set[row])
            continue;
        memcpy(l->gain + cell, gains->gain + cell,
               l->n_channels * sizeof *l->gain);
        for (size_t c = cell; c < cell + l->n_channels; c++)
            l->zero[c] = gains->is_zero[c] != 0;
        status = hand_to_engine(l, row, operations, engines, error);
    }
    return status;
}
