/* SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/median.h"
#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/session_private.h"

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

struct fx8_gain_setting {
    const struct fx8_session *s;
    size_t n_rows, n_channels; /* of all bands; of one */
    uint8_t *is_set;           /* [n_rows] */
    float *gain;               /* [n_inputs][n_bands][n_channels] */
    uint8_t *zero;             /* [n_inputs][n_bands][n_channels] */
    float *row_gain;           /* [n_channels] of one row, for its engine */
    uint64_t *valid;           /* [n_rows][words] in the look-ahead */
    /* the round */
    struct fx8_stream *stream;
    size_t round_capacity;
    size_t n_round;
    size_t *round_row;     /* [n_rows] */
    size_t *round_spectra; /* [n_rows] measured so far */
    float *power;          /* [round_capacity][FX8_GAIN_SPECTRA][n_channels] */
    float *whole;          /* [round_capacity][FX8_GAIN_SPECTRA] of all bins */
};

/* Index of a row's first gain: the bands of an input are side by side. */
static size_t first_cell(const struct fx8_gain_setting *g, size_t row)
{
    const size_t input = row % g->s->axes.n_inputs;
    const size_t band = row / g->s->axes.n_inputs;
    return (input * g->s->plan.n_bands + band) * g->n_channels;
}

/* Factor in the samples of a row. */
static float input_gain(const struct fx8_gain_setting *g, size_t row)
{
    return g->s->plan.input_gain == NULL ? 1.0f
                                         : (float)g->s->plan.input_gain[row];
}

#define N_ARRAYS 9

/* Derive sizes from the session's, and list the arrays. */
static void list_arrays(struct fx8_gain_setting *g,
                        struct fx8_array arrays[N_ARRAYS])
{
    const size_t per_row = FX8_GAIN_SPECTRA * g->s->axes.n_kept;
    g->n_channels = g->s->axes.n_kept;
    g->n_rows = g->s->axes.n_rows;
    g->round_capacity = ROUND_FLOATS / per_row;
    if (g->round_capacity < 1)
        g->round_capacity = 1;
    if (g->round_capacity > g->n_rows)
        g->round_capacity = g->n_rows;
    const size_t cells = fx8_product(g->n_rows, g->n_channels, 1, 1);
    const size_t words =
        fx8_product(g->n_rows, fx8_bit_words(LOOK_AHEAD_SPECTRA), 1, 1);
    const size_t powers = fx8_product(g->round_capacity, per_row, 1, 1);
    const struct fx8_array list[N_ARRAYS] = {
        FX8_ITEMS(g->is_set, g->n_rows),
        FX8_ITEMS(g->gain, cells),
        FX8_ITEMS(g->zero, cells),
        FX8_ITEMS(g->row_gain, g->n_channels),
        FX8_ITEMS(g->valid, words),
        FX8_ITEMS(g->round_row, g->n_rows),
        FX8_ITEMS(g->round_spectra, g->n_rows),
        FX8_ITEMS(g->power, powers),
        FX8_ITEMS(g->whole,
                  fx8_product(g->round_capacity, FX8_GAIN_SPECTRA, 1, 1)),
    };
    memcpy(arrays, list, sizeof list);
}

size_t fx8_gains_size(const struct fx8_session *session)
{
    struct fx8_gain_setting unused = {.s = session};
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(&unused, arrays);
    return fx8_arrays_size(arrays, N_ARRAYS);
}

enum fx8_status fx8_gains_open(const struct fx8_session *session,
                               struct fx8_gain_setting **setting,
                               struct fx8_error *error)
{
    *setting = NULL;
    FX8_AUTO(fx8_gains_close) struct fx8_gain_setting *g = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *g, "gains", &g, error));
    struct fx8_array arrays[N_ARRAYS];
    g->s = session;
    list_arrays(g, arrays);
    FX8_TRY(fx8_allocate_arrays(arrays, N_ARRAYS, "gains", error));
    for (size_t row = 0; row < g->n_rows; row++)
        for (size_t channel = 0; channel < g->n_channels; channel++)
            g->gain[first_cell(g, row) + channel] = input_gain(g, row);
    *setting = g;
    g = NULL;
    return FX8_OK;
}

void fx8_gains_close(struct fx8_gain_setting **setting)
{
    struct fx8_gain_setting *g = *setting;
    if (g == NULL)
        return;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(g, arrays);
    fx8_free_arrays(arrays, N_ARRAYS);
    fx8_stream_close(&g->stream);
    free(g);
    *setting = NULL;
}

struct fx8_input_gains fx8_gains_get(const struct fx8_gain_setting *setting)
{
    return (struct fx8_input_gains){setting->gain, setting->zero,
                                    setting->is_set};
}

bool fx8_gains_active(const struct fx8_gain_setting *setting)
{
    return setting->stream != NULL;
}

/* Rms of a real component of noise whose median of |X|^2 in a channel is
 * `median`, 0 if that is only rounding; `whole` is the median over all bins. */
static double level_of(const struct fx8_gain_setting *g, size_t channel,
                       double median, double whole)
{
    if (median <= ROUNDING_SHARE * whole)
        return 0.0;
    /* |X|^2 of complex noise is exponential: its median is ln 2 times its mean
     * of 2 sigma^2.  For real noise it is the square of a normal variable: half
     * of its values are within 0.6745 sigma */
    const double quartile = 0.67448975019608174;
    const bool is_real = fx8_filterbank_is_real(&g->s->bank, channel);
    return sqrt(median / (is_real ? quartile * quartile : 2.0 * M_LN2));
}

static void set_gain(struct fx8_gain_setting *g, size_t row, size_t channel,
                     double sigma)
{
    const size_t at = first_cell(g, row) + channel;
    g->zero[at] = sigma == 0.0;
    /* divided out again for the engine: see hand_to_engine() */
    g->gain[at] =
        (g->zero[at] ? 1.0f
                     : (float)(g->s->plan.quantizer.target_rms / sigma)) *
        input_gain(g, row);
}

/* Gains of n <= CHANNEL_TILE channels from powers [n_spectra][n_channels]. */
static void set_tile(struct fx8_gain_setting *g, size_t row, const float *power,
                     double whole, size_t n_spectra, size_t first, size_t n)
{
    float column[CHANNEL_TILE][FX8_GAIN_SPECTRA];
    for (size_t s = 0; s < n_spectra; s++)
        for (size_t c = 0; c < n; c++)
            column[c][s] = power[s * g->n_channels + first + c];
    for (size_t c = 0; c < n; c++)
        set_gain(g, row, first + c,
                 level_of(g, first + c,
                          fx8_median_of_powers(column[c], n_spectra), whole));
}

/* One gain for all channels, from the powers of all.  A channel of real spectra
 * has another distribution: it counts only if it is the only one. */
static void set_row(struct fx8_gain_setting *g, size_t row, float *power,
                    double whole, size_t n_spectra)
{
    const size_t n = g->n_channels;
    const size_t first = n > 1 && fx8_filterbank_is_real(&g->s->bank, 0);
    const size_t n_used = n - first;
    for (size_t s = 0; s < n_spectra && first > 0; s++)
        memmove(power + s * n_used, power + s * n + first,
                n_used * sizeof *power);
    const double sigma = level_of(
        g, first, fx8_median_of_powers(power, n_spectra * n_used), whole);
    for (size_t channel = 0; channel < n; channel++)
        set_gain(g, row, channel, sigma);
}

/* Set the gains of a row from its powers in `slot`. */
static void set_levels(struct fx8_gain_setting *g, size_t row, size_t slot,
                       size_t n_spectra)
{
    float *power = g->power + slot * FX8_GAIN_SPECTRA * g->n_channels;
    const double whole =
        fx8_median_of_powers(g->whole + slot * FX8_GAIN_SPECTRA, n_spectra);
    if (g->s->plan.quantizer.gain_per == FX8_GAIN_PER_INPUT) {
        set_row(g, row, power, whole, n_spectra);
        return;
    }
    for (size_t c = 0; c < g->n_channels; c += CHANNEL_TILE) {
        const size_t rest = g->n_channels - c;
        set_tile(g, row, power, whole, n_spectra, c,
                 rest < CHANNEL_TILE ? rest : CHANNEL_TILE);
    }
}

static void set_levels_item(void *context, size_t item, size_t thread)
{
    (void)thread;
    struct fx8_gain_setting *g = context;
    set_levels(g, g->round_row[item], item, g->round_spectra[item]);
}

/* Give an engine the gains of a row, for samples as pushed.  The division is
 * exact if input_gain is a power of two; otherwise the quantiser's gain is
 * within 2^-24 of the gain that is divided out. */
static enum fx8_status hand_to_engine(struct fx8_gain_setting *g, size_t row,
                                      struct fx8_error *error)
{
    const size_t n_inputs = g->s->axes.n_inputs;
    const float *gain = g->gain + first_cell(g, row);
    for (size_t channel = 0; channel < g->n_channels; channel++)
        g->row_gain[channel] = gain[channel] / input_gain(g, row);
    g->is_set[row] = 1;
    return g->s->operations->set_gain(g->s->engines[row / n_inputs],
                                      row % n_inputs, g->row_gain, error);
}

static enum fx8_status finish_round(struct fx8_gain_setting *g,
                                    struct fx8_error *error)
{
    fx8_parallel_for(g->n_round, g->s->plan.machine.threads.count,
                     g->s->plan.machine.threads.pin, set_levels_item, g);
    for (size_t k = 0; k < g->n_round; k++)
        FX8_TRY(hand_to_engine(g, g->round_row[k], error));
    fx8_stream_close(&g->stream);
    return FX8_OK;
}

/* Spectra to measure. */
struct measure_context {
    struct fx8_gain_setting *setting;
    const struct fx8_stream *stream;
    const uint64_t *valid; /* [n_rows][words] */
    size_t n_spectra;      /* ready */
};

/* Measure spectra of a row into `slot`, behind those it has seen. */
static void measure_row(const struct measure_context *job, size_t k,
                        size_t slot, size_t thread)
{
    struct fx8_gain_setting *g = job->setting;
    const size_t row = g->round_row[k], n = job->n_spectra;
    const uint64_t *valid = job->valid + row * fx8_bit_words(n);
    size_t *seen = &g->round_spectra[k];
    for (size_t s = 0; *seen < FX8_GAIN_SPECTRA; s++) {
        s = fx8_stream_first_signal(job->stream, row, valid, s, n);
        if (s >= n)
            break;
        const size_t at = slot * FX8_GAIN_SPECTRA + *seen;
        g->whole[at] = fx8_power_measure(g->s->power,
                                         fx8_stream_window(job->stream, row, s),
                                         thread, g->power + at * g->n_channels);
        (*seen)++;
    }
}

static void measure_item(void *context, size_t k, size_t thread)
{
    measure_row(context, k, k, thread);
}

/* Measure a row and set its gains, if this block suffices: then its powers stay
 * in the cache of one thread. */
static void measure_at_once(void *context, size_t k, size_t thread)
{
    const struct measure_context *job = context;
    struct fx8_gain_setting *g = job->setting;
    measure_row(job, k, thread, thread);
    if (g->round_spectra[k] == FX8_GAIN_SPECTRA)
        set_levels(g, g->round_row[k], thread, FX8_GAIN_SPECTRA);
}

/* Set the gains of those rows of the round that the block suffices for, and
 * leave the others in the round. */
static enum fx8_status set_at_once(struct measure_context *job,
                                   struct fx8_error *error)
{
    struct fx8_gain_setting *g = job->setting;
    const struct fx8_machine *machine = &g->s->plan.machine;
    const size_t n_threads = machine->threads.count < g->round_capacity
                                 ? machine->threads.count
                                 : g->round_capacity;
    const size_t n = g->n_round;
    fx8_parallel_for(n, n_threads, machine->threads.pin, measure_at_once, job);
    g->n_round = 0;
    for (size_t k = 0; k < n; k++)
        if (g->round_spectra[k] == FX8_GAIN_SPECTRA)
            FX8_TRY(hand_to_engine(g, g->round_row[k], error));
        else
            g->round_row[g->n_round++] = g->round_row[k];
    return FX8_OK;
}

enum fx8_status fx8_gains_begin(struct fx8_gain_setting *g,
                                const struct fx8_stream *stream,
                                const uint64_t *valid, size_t n_spectra,
                                bool looks_back, size_t *n_set, bool *needed,
                                struct fx8_error *error)
{
    const size_t n_words = fx8_bit_words(n_spectra);
    *needed = false;
    g->n_round = 0;
    for (size_t row = 0; row < g->n_rows; row++)
        if (!g->is_set[row] &&
            fx8_stream_first_signal(stream, row, valid + row * n_words, 0,
                                    n_spectra) < n_spectra)
            g->round_row[g->n_round++] = row;
    const size_t n_found = g->n_round;
    memset(g->round_spectra, 0, n_found * sizeof *g->round_spectra);
    struct measure_context job = {g, stream, valid, n_spectra};
    if (n_spectra >= FX8_GAIN_SPECTRA && !looks_back)
        FX8_TRY(set_at_once(&job, error));
    *n_set = n_found - g->n_round;
    if (g->n_round > g->round_capacity)
        g->n_round = g->round_capacity;
    memset(g->round_spectra, 0, g->n_round * sizeof *g->round_spectra);
    *needed = g->n_round > 0;
    if (!*needed)
        return FX8_OK;
    FX8_TRY(fx8_stream_copy(stream, &g->stream, error));
    if (looks_back)
        fx8_stream_restart(g->stream, 0);
    return FX8_OK;
}

/* Measure the ready spectra, and take them from the round's stream. */
static enum fx8_status measure(struct fx8_gain_setting *g, bool *done,
                               struct fx8_error *error)
{
    size_t ready;
    while ((ready = fx8_stream_ready(g->stream)) > 0) {
        if (ready > LOOK_AHEAD_SPECTRA)
            ready = LOOK_AHEAD_SPECTRA;
        FX8_TRY(fx8_stream_validity(g->stream, ready, g->valid, error));
        struct measure_context context = {g, g->stream, g->valid, ready};
        fx8_parallel_for(g->n_round, g->s->plan.machine.threads.count,
                         g->s->plan.machine.threads.pin, measure_item,
                         &context);
        *done = true;
        for (size_t k = 0; k < g->n_round; k++)
            *done = *done && g->round_spectra[k] == FX8_GAIN_SPECTRA;
        if (*done)
            break;
        fx8_stream_take(g->stream, ready);
    }
    return FX8_OK;
}

enum fx8_status fx8_gains_push(struct fx8_gain_setting *g,
                               const struct fx8_block *block, bool *done,
                               struct fx8_error *error)
{
    *done = false;
    (void)fx8_stream_skip(g->stream, block->first_sample, INT64_MAX, 1);
    /* appends nothing if the stream is full already */
    FX8_TRY(fx8_stream_append(g->stream, block, error));
    FX8_TRY(measure(g, done, error));
    return *done ? finish_round(g, error) : FX8_OK;
}

int64_t fx8_gains_next_sample(const struct fx8_gain_setting *setting)
{
    return fx8_stream_next_sample(setting->stream);
}

enum fx8_status fx8_gains_end(struct fx8_gain_setting *setting,
                              struct fx8_error *error)
{
    bool done = false;
    fx8_stream_end(setting->stream);
    FX8_TRY(measure(setting, &done, error));
    return finish_round(setting, error);
}

/* FX8_ERR_USAGE naming the first gain of a row that is not positive. */
static enum fx8_status check_row(const struct fx8_gain_setting *g, size_t row,
                                 const struct fx8_input_gains *gains,
                                 struct fx8_error *error)
{
    for (size_t channel = 0; channel < g->n_channels; channel++) {
        const size_t cell = first_cell(g, row) + channel;
        const float gain = gains->gain[cell] / input_gain(g, row);
        if (!(gain >= FLT_MIN && gain <= FLT_MAX))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "gains: input %zu, band %zu, channel %zu: %g: "
                            "expected a positive number",
                            row % g->s->axes.n_inputs,
                            row / g->s->axes.n_inputs, channel,
                            (double)gains->gain[cell]);
    }
    return FX8_OK;
}

enum fx8_status fx8_gains_set(struct fx8_gain_setting *g,
                              const struct fx8_input_gains *gains,
                              struct fx8_error *error)
{
    for (size_t row = 0; row < g->n_rows; row++)
        if (gains->is_set[row])
            FX8_TRY(check_row(g, row, gains, error));
    for (size_t row = 0; row < g->n_rows; row++) {
        const size_t cell = first_cell(g, row);
        if (!gains->is_set[row])
            continue;
        memcpy(g->gain + cell, gains->gain + cell,
               g->n_channels * sizeof *g->gain);
        for (size_t c = cell; c < cell + g->n_channels; c++)
            g->zero[c] = gains->is_zero[c] != 0;
        FX8_TRY(hand_to_engine(g, row, error));
    }
    return FX8_OK;
}
