/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulator_private.h -- what simulator.c and sky.c share.
 */
#ifndef FX8_CORRELATOR_SIMULATE_SIMULATOR_PRIVATE_H
#define FX8_CORRELATOR_SIMULATE_SIMULATOR_PRIVATE_H

#include "config/base/shape.h"
#include "correlator/run/celestial.h"
#include "correlator/simulate/random.h"
#include "correlator/simulate/simulator.h"
#include "kernels/fft.h"
#include "kernels/operations.h"

/* Purposes of random streams: `kind` of struct fx8_random. */
enum { RANDOM_GAIN = 0, RANDOM_DROPOUT, RANDOM_NOISE, RANDOM_SOURCE };

/* Each input loses one stretch in each of so many equal parts. */
#define DROPOUT_PARTS 32

/* Buffers of a thread: all sources, and one that moves, with what is a quarter
 * of a turn behind it. */
enum { ALL_SOURCES, MOVING, BEHIND, SCRATCH };

/* Most arrays of a simulator. */
#define N_ARRAYS 22

/* A stretch of samples. */
struct stretch {
    int64_t first, n;
};

/* A tone over one half block: cos and sin of its phase at the site. */
struct tone {
    size_t source;
    double cycles_per_sample; /* (f - dc) / fs */
    float (*series)[2];       /* [half] */
};

struct fx8_simulator {
    struct fx8_simulation plan; /* its arrays are borrowed */
    double *gain;               /* [n_inputs] */
    double *gain_turns;         /* [n_inputs] */
    struct stretch *dropout;    /* [n_inputs][DROPOUT_PARTS], n may be 0 */
    struct fx8_missing *missing;
    size_t n_missing;
    size_t n_inputs;
    size_t n_parts; /* real numbers in a sample: 1 or 2 */

    /* celestial sources */
    size_t n_celestial;
    double (*icrs_deg)[2]; /* [n_celestial], in the order of the sources */
    struct fx8_celestial celestial;
    double (*celestial_enu)[3]; /* [n_celestial] of the last sample */

    /* the blocks: block b covers half blocks b - 1 and b */
    size_t length; /* L */
    size_t half;   /* L / 2 */
    struct fx8_fft *fft;
    float *window;            /* [length] */
    float *scratch;           /* [n_threads][SCRATCH][stride] */
    struct fx8_cf32 *spectra; /* [n_sources][2][length] of one block */
    double (*directions)[3];  /* [n_sources] at the centre of one block */
    double (*earlier)[3]; /* [n_sources] at the centre of the block before */
    double (*motion)[3];  /* [n_sources] change per sample at the centre */
    struct tone *tones;
    size_t n_tones;
    float (*series)[2]; /* [n_tones][half] */
    float *tail;        /* [n_inputs][half][n_parts] of tail_block, windowed */
    int64_t tail_block; /* -1: none */
    int8_t *samples;    /* [n_inputs][half][n_parts] of samples_half */
    int64_t samples_half; /* -1: none */
    int64_t *clipped;     /* [n_inputs] up to counted_half */
    int64_t counted_half; /* half blocks below this one are counted */

    struct fx8_array arrays[N_ARRAYS]; /* all of the above */
    size_t n_arrays;
};

/* Add zeroed arrays [n] to those of a simulator. */
enum fx8_status fx8_simulator_allocate(struct fx8_simulator *simulator,
                                       const struct fx8_array *arrays, size_t n,
                                       struct fx8_error *error);

/* Amplitudes of the two signals of a source in a feed: [signal][re, im]. */
void fx8_simulator_mix(const struct fx8_source *source, bool is_y,
                       double mix[2][2]);

/* Seconds by which a direction's signal reaches an input earlier than the site,
 * cable included. */
double fx8_simulator_advance(const struct fx8_simulator *simulator,
                             const double direction[3], size_t input);

/* Whether an input is the Y feed. */
bool fx8_simulator_is_y(const struct fx8_simulator *simulator, size_t input);

/* Fill simulator->samples with half block `half_block`. */
void fx8_simulator_make(struct fx8_simulator *simulator, int64_t half_block);

/* motion.c: prepare for celestial sources; after fx8_simulator.plan. */
enum fx8_status fx8_simulator_plan_motion(struct fx8_simulator *simulator,
                                          struct fx8_error *error);

/* Check that all blocks have a UTC and an orientation of the Earth; after
 * fx8_simulator.length. */
enum fx8_status fx8_simulator_check_motion(struct fx8_simulator *simulator,
                                           struct fx8_error *error);

/* Errors of blocks of a length, rad, with celestial sources: of the ends of the
 * band, and by the bend of fringes (see simulator.h). */
void fx8_simulator_block_errors(const struct fx8_simulator *simulator,
                                size_t length, double errors[2]);

/* Length of the longest baseline, seconds. */
double fx8_simulator_baseline(const struct fx8_simulator *simulator);

#endif
