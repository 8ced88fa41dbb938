/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulator.h -- voltages of an array under a known sky.
 *
 * Every input gets  gain * (sky + receiver noise), rounded to int8.  The sky
 * reaches input i as s(f) exp(2 pi i f a_i) at sky frequency f, with
 * a_i = r_i . s / c - cable delay: antennas nearer the source hear it earlier,
 * so that conj(E_i) E_j has the phase 2 pi f (r_j - r_i) . s / c.  Broad-band
 * sources are Gaussian noise, white over the band; tones are sinusoids.
 *
 * Broad-band signals are made in blocks of L samples: random spectra, the
 * phases above in each bin, an inverse FFT, a sine window; blocks overlap by
 * half, and as the windows squared add up to 1 the power is constant.  Errors:
 * a delay of d samples between two inputs loses the share
 * 1 - cos(pi d / L) < 5 (d / L)^2 of the coherence; L is chosen so that this
 * stays below 2e-5 for the longest delay.
 *
 * A celestial source moves.  Its direction is that of ERFA once a second of
 * the recording, on straight lines between: within (w 1 s)^2 / 8 < 7e-10 of
 * its length, w = 7.29e-5 rad/s the rotation of the Earth.  A block has the
 * direction of its centre.  Where the fringe of a pair of inputs turns by q
 * from one centre to the next, at u from 0 to 1 between them the two blocks add
 * up to  cos^2(pi u/2) + sin^2(pi u/2) exp(iq)  instead of exp(iqu): a phase
 * that errs by at most 0.105 q, as often one way as the other, a modulus that
 * is short by at most q^2 / 8, and on the mean over whole half blocks a
 * coherence that is short by less than q^2 / 15.  L is chosen so that q, at
 * most 2 pi f (baseline / c) w (L / 2 fs) at the highest frequency, stays below
 * 1/16 rad for the longest baseline: 0.007 rad, 5e-4 and 3e-4.  The phase of a
 * tone runs on a straight line from centre to centre.
 */
#ifndef FX8_CORRELATOR_SIMULATE_SIMULATOR_H
#define FX8_CORRELATOR_SIMULATE_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/observation.h"
#include "correlator/fx8.h"
#include "correlator/simulate/sources.h"
#include "io/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What to simulate; inputs are antenna * n_polarizations + slot as recorded.
 *
 * Notes: noise_rms is that of a real sample or of one part of a complex one;
 *        with 0 there is no receiver noise, and the unit of the sources is
 *        that of an rms of 1 LSB
 */
struct fx8_simulation {
    bool is_complex;
    bool lower_sideband; /**< the sky frequency falls as baseband rises */
    struct fx8_rate sample_rate;
    double dc_frequency_hz; /**< sky frequency of baseband zero */
    int64_t n_samples;
    size_t n_antennas;
    size_t n_polarizations;
    bool y_first;                  /**< slot 0 is Y, of two */
    const double (*position_m)[3]; /**< [n_antennas] ENU */
    const double *cable_delay_s;   /**< [n_inputs] */
    const struct fx8_source *sources;
    size_t n_sources;
    struct fx8_site site; /**< these three for celestial sources alone */
    struct fx8_time start_time;
    double dut1_s; /**< UT1 - UTC */
    double noise_rms;
    double gain_spread;    /**< gain exp(gain_spread * normal) of each input */
    double gain_phase_deg; /**< and its phase gain_phase_deg * normal */
    double dropout_fraction;
    uint64_t seed;
    size_t n_threads; /**< at least 1; changes no sample */
};

struct fx8_simulator;

/**
 * fx8_simulator_open -- plan, draw gains and dropouts.
 *
 * Given:  simulation  copied, arrays included
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
 * Numerics: rounded half to even, clamped to +-127; the same sample is the
 *           same number whatever was read before and on however many threads
 * Notes:    fastest when read in ascending order
 */
void fx8_simulator_read(struct fx8_simulator *simulator, int64_t first,
                        int64_t n, int8_t *samples);

/** Stretches that are marked missing, ascending first_sample. */
const struct fx8_missing *fx8_simulator_missing(
    const struct fx8_simulator *simulator, size_t *n_missing);

/** Real numbers clamped so far, reading in ascending order. */
int64_t fx8_simulator_clipped(const struct fx8_simulator *simulator);

/** Modulus of the voltage gain of an input. */
double fx8_simulator_gain(const struct fx8_simulator *simulator, size_t input);

/** Phase of the gain of an input, in turns: that of sky frequencies, as a
 *  delay's is. */
double fx8_simulator_gain_turns(const struct fx8_simulator *simulator,
                                size_t input);

/**
 * fx8_simulator_directions -- where the sources stand at a sample.
 *
 * Given:    sample      of the recording, from 1 s before it to its end
 * Returned: directions  double [n_sources][3]  east, north, up, within 7e-10 of
 *                       unit vectors
 * Notes:    not for several threads at a time
 */
void fx8_simulator_directions(struct fx8_simulator *simulator, double sample,
                              double (*directions)[3]);

/** Most that the fringe of any pair of inputs turns in so many samples, rad: 0
 *  where no source is celestial. */
double fx8_simulator_turn(const struct fx8_simulator *simulator,
                          double n_samples);

/** Seconds by which a signal from a direction reaches an input's antenna before
 *  the reference of the positions; linear in the direction, without cable. */
double fx8_simulator_path(const struct fx8_simulator *simulator,
                          const double direction[3], size_t input);

/**
 * fx8_simulator_voltage -- what a source does to an input at one frequency.
 *
 * Given:    direction  double [3]  of the source, then
 * Returned: voltage  double [2][re, im]  coefficients of two independent
 *                    complex signals of the unit power, gain included; a tone
 *                    uses the first alone, with power 1 in a complex sample
 *                    and, for real samples, in the half of it that lies at
 *                    positive frequency: 1/2
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

/** What is simulated; lives as long as the simulator. */
const struct fx8_simulation *fx8_simulator_plan(
    const struct fx8_simulator *simulator);

/** Release and null the handle; a NULL handle is legal. */
void fx8_simulator_close(struct fx8_simulator **simulator);

#ifdef __cplusplus
}
#endif

#endif
