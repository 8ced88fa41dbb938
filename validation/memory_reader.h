/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_reader.h -- a small recording in memory, and random lists of missing
 * samples, searched sample by sample.
 */
#ifndef FX8_VALIDATION_MEMORY_READER_H
#define FX8_VALIDATION_MEMORY_READER_H

#include "io/reader.h"
#include "validation/testing.h"

/** The recording, and limits on samples held and on rows of a list. */
enum {
    N_BANDS = 2,
    N_ANTENNAS = 3,
    N_POLARIZATIONS = 2,
    N_INPUTS = N_BANDS * N_ANTENNAS * N_POLARIZATIONS,
    MOST_SAMPLES = 3000,
    MOST_GAPS = 60
};

/* --- a recording ------------------------------------------------------ */

struct memory_reader {
    struct fx8_reader base;
    struct fx8_missing missing[MOST_GAPS], found[MOST_GAPS]; /**< of `base` */
    struct fx8_input_position inputs[N_INPUTS];              /**< selected */
    struct fx8_input_place places[N_INPUTS];                 /**< of `base` */
    size_t n_inputs;
    size_t components;
    int64_t read_samples;
    size_t sample_bytes; /**< buffer memory that a sample is said to need */
    bool is_time_major;  /**< [time][input], else [input][time] */
    int64_t n_read;
    int8_t samples[N_INPUTS][MOST_SAMPLES][2]; /**< repeated for ever */
};

/** An input by its number: bands slowest, polarisations fastest. */
static inline struct fx8_input_position position_of(size_t input)
{
    const struct fx8_input_position at = {input / N_POLARIZATIONS % N_ANTENNAS,
                                          input % N_POLARIZATIONS,
                                          input / N_POLARIZATIONS / N_ANTENNAS};
    return at;
}

/** Its number. */
static inline size_t number_of(const struct fx8_input_position *at)
{
    return (at->band * N_ANTENNAS + at->antenna) * N_POLARIZATIONS +
           at->polarization;
}

static inline enum fx8_status memory_select(
    struct fx8_reader *base, const struct fx8_input_position *inputs,
    size_t n_inputs, struct fx8_error *error)
{
    (void)error;
    struct memory_reader *reader = (struct memory_reader *)base;
    assert_in_range(n_inputs, 1, N_INPUTS);
    memcpy(reader->inputs, inputs, n_inputs * sizeof *inputs);
    reader->n_inputs = n_inputs;
    const size_t c = reader->components;
    for (size_t i = 0; i < n_inputs; i++)
        reader->places[i] = reader->is_time_major
                                ? (struct fx8_input_place){0, i * c}
                                : (struct fx8_input_place){i, 0};
    base->places = reader->places;
    base->sample_bytes = reader->is_time_major ? n_inputs * c : c;
    return FX8_OK;
}

static inline size_t memory_size(const struct fx8_reader *base,
                                 int64_t n_samples)
{
    return ((const struct memory_reader *)base)->sample_bytes *
           (size_t)n_samples;
}

static inline int64_t memory_read_samples(const struct fx8_reader *base)
{
    return ((const struct memory_reader *)base)->read_samples;
}

/** Gaps found are reported by every read, even outside its range. */
static inline enum fx8_status memory_read(struct fx8_reader *base,
                                          int64_t first, int64_t n_samples,
                                          int8_t *buffer,
                                          struct fx8_sample_layout *layout,
                                          struct fx8_error *error)
{
    (void)error;
    struct memory_reader *reader = (struct memory_reader *)base;
    assert_true(first >= 0 && n_samples >= 1 &&
                first + n_samples <= base->observation.n_samples);
    const size_t c = reader->components;
    const size_t row = (size_t)fx8_row_samples(layout, n_samples);
    const size_t input_step = reader->is_time_major ? c : row * c;
    const size_t time_step = reader->is_time_major ? reader->n_inputs * c : c;
    layout->time_stride = (ptrdiff_t)time_step;
    for (size_t i = 0; i < reader->n_inputs; i++) {
        const size_t input = number_of(&reader->inputs[i]);
        layout->input_offset[i] = (ptrdiff_t)(i * input_step);
        for (size_t t = 0; t < (size_t)n_samples; t++)
            memcpy(buffer + i * input_step + t * time_step,
                   reader->samples[input][((size_t)first + t) % MOST_SAMPLES],
                   c);
    }
    reader->n_read += n_samples;
    base->n_clamped = n_samples;
    return FX8_OK;
}

/** Lasts for the case. */
static inline struct memory_reader *open_memory(size_t components,
                                                int64_t n_samples)
{
    struct memory_reader *reader = temporary_zeros(sizeof *reader);
    reader->components = components;
    reader->read_samples = 100;
    reader->sample_bytes = N_INPUTS * 2;
    reader->base = (struct fx8_reader){
        .observation = fx8_observation_unknown(),
        .select = memory_select,
        .buffer_size = memory_size,
        .read_samples = memory_read_samples,
        .read = memory_read,
        .missing = reader->missing,
        .found = reader->found,
    };
    struct fx8_observation *o = &reader->base.observation;
    o->is_complex = components == 2;
    o->n_antennas = N_ANTENNAS;
    o->n_polarizations = N_POLARIZATIONS;
    o->n_bands = N_BANDS;
    o->n_samples = n_samples;
    return reader;
}

/** Samples of which two thirds are -7. */
static inline void fill_memory(struct memory_reader *reader,
                               struct generator *g)
{
    for (size_t i = 0; i < N_INPUTS; i++)
        for (size_t t = 0; t < MOST_SAMPLES; t++)
            for (size_t part = 0; part < 2; part++)
                reader->samples[i][t][part] =
                    random_below(g, 3) == 0 ? (int8_t)random_bits(g) : -7;
}

/* --- missing samples -------------------------------------------------- */

static inline bool is_of(int32_t listed, size_t index)
{
    return listed == -1 || (size_t)listed == index;
}

/** Whether a reader lists a sample of an input as missing or found it so. */
static inline bool lacks(const struct fx8_reader *reader,
                         const struct fx8_input_position *at, int64_t t)
{
    for (size_t k = 0; k < reader->n_missing + reader->n_found; k++) {
        const struct fx8_missing *gap =
            k < reader->n_missing ? &reader->missing[k]
                                  : &reader->found[k - reader->n_missing];
        if (is_of(gap->antenna, at->antenna) && is_of(gap->band, at->band) &&
            is_of(gap->polarization, at->polarization) &&
            t >= gap->first_sample && t - gap->first_sample < gap->n_samples)
            return true;
    }
    return false;
}

static inline int ascending(const void *a, const void *b)
{
    const struct fx8_missing *x = a;
    const struct fx8_missing *y = b;
    return (x->first_sample > y->first_sample) -
           (x->first_sample < y->first_sample);
}

/** Draw n gaps within n_samples samples, ascending: of all inputs, of some or
 *  of one, overlapping, some twice, most of them short. */
static inline void draw_gaps(struct generator *g, struct fx8_missing *gaps,
                             size_t n, int64_t n_samples)
{
    for (size_t k = 0; k < n; k++) {
        const int64_t first = random_in(g, 0, n_samples - 1);
        const int64_t most = random_below(g, 8) == 0 ? n_samples : 60;
        const int64_t rest = n_samples - first;
        const bool is_all = random_below(g, 3) == 0;
        gaps[k] = (struct fx8_missing){
            first, random_in(g, 1, rest < most ? rest : most),
            is_all ? -1 : (int32_t)random_in(g, -1, N_ANTENNAS - 1),
            is_all ? -1 : (int32_t)random_in(g, -1, N_POLARIZATIONS - 1),
            is_all ? -1 : (int32_t)random_in(g, -1, N_BANDS - 1)};
        if (k > 0 && random_below(g, 4) == 0)
            gaps[k] = gaps[random_below(g, k)];
    }
    qsort(gaps, n, sizeof *gaps, ascending);
}

#endif
