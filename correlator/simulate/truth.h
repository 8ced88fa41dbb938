/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * truth.h -- the expected visibilities of simulated voltages, from formulas
 * instead of samples.
 */
#ifndef FX8_CORRELATOR_SIMULATE_TRUTH_H
#define FX8_CORRELATOR_SIMULATE_TRUTH_H

#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/run/job.h"
#include "correlator/simulate/simulator.h"
#include "kernels/postprocess.h"

struct fx8_truth;

/**
 * fx8_truth_open -- expected visibilities of a job over simulated voltages.
 *
 * Per plan channel with centre f: the broad-band sources at f, the tones
 * through the filter's power response, and in the autos receiver noise and
 * rounding to int8; all with the gains of the inputs.  The spectra of channel 0
 * of real samples are real: a product there is the real part of the formula,
 * twice that for tones.  Half of the channel lies in the band, centred at
 * f + width / 4.  Celestial sources: the mean over the spectra that are valid
 * in both inputs, each with the source's direction at the middle of its window.
 * What the job removes is removed: gains of the antennas, and delays as of the
 * first phase centre, which shift windows and turn phases.
 *
 * Given:     simulator, job  live as long as the truth
 * Status:    FX8_ERR_SYSTEM: memory
 * Numerics:  a dump is cut into segments of at most 8 s, in which the fringe of
 *            the longest baseline turns by at most a = 1/16 rad; at least one
 *            spectrum each.  In each, exp(i p t), with fringe rate p and t from
 *            the middle, is summed over the valid spectra as
 *            count + i p sum(t) - p^2 sum(t^2) / 2.  The error is below
 *            (a/2)^3 / 6 for the third power and (a/2) (w 4 s) / 2 for the
 *            change of p, together 1e-5 of the power of the source
 * Notes:     1) losses of the filter bank itself are not modelled: a delay of d
 *               samples between two inputs scales the coherence of a broad-band
 *               source by sum w_n w_(n+d), a fringe of p rad per sample by
 *               sum w_n^2 exp(ipn).  In channel 0 of real samples a delay also
 *               turns a product by 2 pi e d / N, where e channels lie between
 *               f + width / 4 and the mean frequency that the filter passes:
 *               e = 0.02 with 8 taps, 0.4 and more with method fft
 *            2) a tone counts within 256 channels of its own: beyond, a filter
 *               passes less than -58 dB of it
 *            3) products of different tones are taken to average to zero over a
 *               dump; so is, in channel 0 of real samples, the product of a
 *               celestial tone and its mirror image.  For other tones that
 *               product is the mean over all spectra of the dump, missing ones
 *               included
 *            4) delays turn a tone as they do its own frequency, while the
 *               correlator turns a channel by what whole samples leave: for a
 *               tone d channels from the centre d / 2N turns at most.
 *               Channel 0 of real samples, which is flagged unless asked for,
 *               is that of mode none
 */
enum fx8_status fx8_truth_open(struct fx8_simulator *simulator,
                               const struct fx8_job *job,
                               struct fx8_truth **truth,
                               struct fx8_error *error);

/**
 * fx8_truth_dump -- one dump, flagged, weighted and averaged as by correlate.
 *
 * Returned: results  [n_baselines][n_channels / channel_average][n_products],
 *                    owned by the truth, valid until the next call
 * Notes:    a dump does not depend on the dumps made before
 */
void fx8_truth_dump(struct fx8_truth *truth, int64_t dump,
                    struct fx8_result *results);

/** Release and null the handle; a NULL handle is legal. */
void fx8_truth_close(struct fx8_truth **truth);

#endif
