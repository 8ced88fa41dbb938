/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulator_private.h -- what simulator.c, motion.c and sky.c share.
 */
#ifndef FX8_CORRELATOR_SIMULATE_SIMULATOR_PRIVATE_H
#define FX8_CORRELATOR_SIMULATE_SIMULATOR_PRIVATE_H

#include <stdatomic.h>

#include "config/base/shape.h"
#include "correlator/run/celestial.h"
#include "correlator/simulate/loops.h"
#include "correlator/simulate/random.h"
#include "correlator/simulate/simulator.h"
#include "kernels/fft.h"

/* Purposes of random streams: `kind` of struct fx8_random. */
enum { RANDOM_GAIN = 0, RANDOM_DROPOUT, RANDOM_NOISE, RANDOM_SOURCE };

/* Each input loses one stretch in each of so many equal parts. */
#define DROPOUT_PARTS 32

/* Most arrays of a simulator. */
#define N_ARRAYS 10

/* A stretch of samples. */
struct stretch {
    int64_t first, n;
};

/* A tone. */
struct tone {
    size_t source;
    double cycles_per_sample; /* (f - dc) / fs */
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

    /* the blocks: the centre of block b is before sample b step */
    size_t length;            /* L */
    size_t step;              /* L - F */
    size_t n_bins;            /* of a spectrum: whole tiles */
    size_t n_fixed, n_moving; /* broad-band sources at rest, and moving */
    struct fx8_fft *fft;
    float *window; /* [length][n_parts] */
    const struct fx8_loops *loops;
    size_t group;            /* inputs that a thread makes at a time */
    size_t desk;             /* floats that a thread needs for them */
    float *desks;            /* [n_threads][desk] */
    double (*directions)[3]; /* [blocks of a batch][n_sources] at the centres */
    struct tone *tones;
    size_t n_tones;
    int64_t counted_to; /* samples below this one are counted */
    atomic_llong n_clamped;

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

/* Choose how many inputs a thread makes at a time, and allocate; after
 * fx8_simulator.length, .fft and the tones. */
enum fx8_status fx8_simulator_plan_sky(struct fx8_simulator *simulator,
                                       struct fx8_error *error);

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
