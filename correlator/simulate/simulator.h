/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulator.h -- voltages of an array under a known sky.
 *
 * Every input gets  gain * (sky + receiver noise), rounded to int8.  The sky
 * reaches input i as s(f) exp(2 pi i f a_i) at sky frequency f, with
 * a_i = r_i . s / c - cable delay: antennas nearer the source receive it
 * earlier, so conj(E_i) E_j has the phase 2 pi f (r_j - r_i) . s / c.
 * Broad-band sources are Gaussian noise, white over the band; tones are
 * sinusoids.
 *
 * Broad-band signals are made in blocks of L samples: random spectra, the
 * phases above in each bin, an inverse FFT.  A block overlaps with the next by
 * F samples, in which one goes down as a cosine and the other up as a sine; the
 * squares add up to 1, so the power is constant.  Error: where they overlap, a
 * delay of d samples between two inputs loses the share
 * 1 - cos(pi d / 2F) of the coherence, so on average less than
 * (pi d)^2 / 8 F (L - F).  L is chosen so that this stays below 2e-5 for the
 * longest delay: at least 768 d for F = L/8, and 512 d for F = L/2.
 *
 * With celestial sources F is L/2, otherwise L/8.
 *
 * A celestial source moves.  A block has the delay of its centre, and turns
 * with the fringe at the middle of the band; the phase of a tone is linear from
 * centre to centre.  Two errors are left, both of the longest baseline, at
 * most, with T = L / 2 fs from centre to centre and w = 7.29e-5 rad/s, the
 * Earth's rotation:
 *
 * - The ends of the band turn against its middle by q = pi B (baseline / c) w
 * T, B the bandwidth.  At u from 0 to 1 between two centres the blocks add up
 * to cos^2(pi u/2) + sin^2(pi u/2) exp(iq)  instead of exp(iqu): the phase errs
 *   by at most 0.105 q, with both signs alike, the mean coherence is low by
 *   less than q^2 / 15.  L is chosen so that q stays below 1/16 rad: 0.007 rad
 *   and 3e-4.
 * - A fringe bends: its phase errs by 2 pi f (baseline / c) w^2 T^2 / 8, which
 *   stays below 1e-3 rad.
 */
#ifndef FX8_CORRELATOR_SIMULATE_SIMULATOR_H
#define FX8_CORRELATOR_SIMULATE_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/earth.h"
#include "config/observation.h"
#include "config/settings.h"
#include "correlator/fx8.h"
#include "correlator/simulate/sources.h"
#include "io/reader.h"

/**
 * What to simulate; inputs are antenna * n_polarizations + slot as recorded.
 *
 * Notes: noise_rms is the rms of a real sample or of one part of a complex one;
 *        with 0 there is no receiver noise, and the unit of the sources is an
 *        rms of 1 LSB
 */
struct fx8_simulation {
    bool is_complex;
    bool lower_sideband; /**< the sky frequency falls as baseband rises */
    struct fx8_rate sample_rate;
    double dc_frequency_hz; /**< sky frequency of baseband zero */
    int64_t n_samples;
    size_t n_antennas;
    size_t n_polarizations;
    bool y_first;                  /**< with two: slot 0 is Y */
    const double (*position_m)[3]; /**< [n_antennas] ENU */
    const double *cable_delay_s;   /**< [n_inputs] */
    const struct fx8_source *sources;
    size_t n_sources;
    struct fx8_site site; /**< these three: only for celestial sources */
    struct fx8_time start_time;
    const struct fx8_earth_table *earth;
    double noise_rms;
    double gain_spread;    /**< gain exp(gain_spread * normal) of each input */
    double gain_phase_deg; /**< and its phase gain_phase_deg * normal */
    double dropout_fraction;
    uint64_t seed;
    size_t n_threads; /**< at least 1; changes no sample */
};

/**
 * fx8_simulator_observe -- metadata of the recording that a configuration
 * asks for.
 *
 * Rate, frequency, start and names come from [observation], site and antennas
 * from [array], kind and length of the samples from [simulate]; there are two
 * polarisations unless [array] says otherwise.  The recording holds every
 * antenna of the table, correlated or not; with positions = none, as many as
 * [array] antennas needs, and no table.
 *
 * Returned:  observation  antennas in order of position
 * Status:    FX8_ERR_USAGE: a key is missing that correlate would take from a
 *            recording; positions are missing in the table
 * Ownership: fx8_observation_clear() releases it, also after a failure
 */
enum fx8_status fx8_simulator_observe(const struct fx8_settings *settings,
                                      struct fx8_observation *observation,
                                      struct fx8_error *error);

struct fx8_simulator;

/**
 * fx8_simulator_open -- plan, draw gains and dropouts.
 *
 * Given:  simulation  copied; its arrays outlive the simulator
 * Status: FX8_ERR_USAGE: a tone outside the band, no samples, delays or
 *         motion that no block can follow, a date without a UTC;
 *         FX8_ERR_SYSTEM: memory
 */
enum fx8_status fx8_simulator_open(const struct fx8_simulation *simulation,
                                   struct fx8_simulator **simulator,
                                   struct fx8_error *error);

/**
 * fx8_simulator_read -- samples [first, first + n) of every input.
 *
 * Returned: samples  int8 or ci8 [n_inputs][n], 0 where missing
 * Numerics: rounded half to even, clamped to +-127; a sample does not depend on
 *           what was read before, nor on the number of threads, nor on the
 *           vectors of the CPU, except for the rounding of its FFT
 * Notes:    each read makes one block more than it has steps: long reads are
 *           faster
 */
void fx8_simulator_read(struct fx8_simulator *simulator, int64_t first,
                        int64_t n, int8_t *samples);

/** Stretches marked missing, in order of first_sample. */
const struct fx8_missing *fx8_simulator_missing(
    const struct fx8_simulator *simulator, size_t *n_missing);

/** Real numbers clamped so far; a read that begins before the end of an earlier
 *  one does not count. */
int64_t fx8_simulator_clipped(const struct fx8_simulator *simulator);

/** Modulus of the voltage gain of an input. */
double fx8_simulator_gain(const struct fx8_simulator *simulator, size_t input);

/** Phase of the gain of an input, in turns, at the sky frequency (like the
 *  phase of a delay). */
double fx8_simulator_gain_turns(const struct fx8_simulator *simulator,
                                size_t input);

/**
 * fx8_simulator_directions -- directions of the sources at a sample.
 *
 * Given:    sample      a multiple of 0.5, at most 1.5 L outside the recording
 * Returned: directions  double [n_sources][3]  unit vectors east, north, up
 * Notes:    not thread-safe
 */
void fx8_simulator_directions(struct fx8_simulator *simulator, double sample,
                              double (*directions)[3]);

/** Largest turn of the fringe of any pair of inputs in n_samples, rad, of
 *  whatever moves with the sky. */
double fx8_simulator_turn(const struct fx8_simulator *simulator,
                          double n_samples);

/** Seconds by which a signal from a direction reaches an input's antenna before
 *  the reference of the positions; linear in the direction, without cable. */
double fx8_simulator_path(const struct fx8_simulator *simulator,
                          const double direction[3], size_t input);

/**
 * fx8_simulator_voltage -- response of an input to a source at one frequency.
 *
 * Given:    direction  double [3]  of the source at that time
 * Returned: voltage  double [2][re, im]  coefficients of two independent
 *                    complex signals of unit power, gain included.  A tone uses
 *                    only the first, with power 1 in complex samples; for real
 *                    samples 1/2, the half at positive frequency
 * Notes:    V_ij = sum over both of conj(voltage_i) voltage_j, times
 *           fx8_simulator_unit()
 */
void fx8_simulator_voltage(const struct fx8_simulator *simulator, size_t source,
                           const double direction[3], size_t input,
                           double frequency_hz, double voltage[2][2]);

/** Power E|x|^2 of the unit of the sources, LSB^2 of a sample. */
double fx8_simulator_unit(const struct fx8_simulator *simulator);

/** Power of receiver noise and of the rounding to int8 in an input, LSB^2. */
double fx8_simulator_noise(const struct fx8_simulator *simulator, size_t input);

/** Rms of a real sample of an input, or of one part of a complex one, before it
 *  is rounded: sky, noise and gain, LSB. */
double fx8_simulator_rms(const struct fx8_simulator *simulator, size_t input);

/** The simulated configuration; lives as long as the simulator. */
const struct fx8_simulation *fx8_simulator_plan(
    const struct fx8_simulator *simulator);

/** Release and null the handle; a NULL handle is legal. */
void fx8_simulator_close(struct fx8_simulator **simulator);

#endif
