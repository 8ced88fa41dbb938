/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * truth.h -- the visibilities that a correlation of simulated voltages tends
 * to: formulas, no samples.
 */
#ifndef FX8_CORRELATOR_SIMULATE_TRUTH_H
#define FX8_CORRELATOR_SIMULATE_TRUTH_H

#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/run/job.h"
#include "correlator/simulate/simulator.h"
#include "kernels/postprocess.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fx8_truth;

/**
 * fx8_truth_open -- expected visibilities of a job over simulated voltages.
 *
 * Per plan channel with centre f: the broad-band sources at f, the tones
 * through the filter's power response, receiver noise and rounding to int8 in
 * the autos; all with the gains of the inputs.  The spectra of channel 0
 * of real samples are real: a product there is the real part of the formula, of
 * tones twice that.  Half of the channel lies in the band, with its middle at
 * f + width / 4.
 Celestial sources: the mean
 * over the spectra that are valid in both inputs, each taken where the source
 * stands in the middle of its window.
 *
 * Given:     simulator, job  live as long as the truth
 * Status:    FX8_ERR_SYSTEM: memory
 * Numerics:  a dump is cut into segments of at most 8 s in which the fringe of
 *            the longest baseline turns by at most a = 1/16 rad, or of one
 *            spectrum.  In each, exp(i p t) with the fringe's rate p, t from
 *            the middle, is summed over the valid spectra as count + i p sum(t)
 *            - p^2 sum(t^2) / 2: an error below (a/2)^3 / 6 for the third power
 *            and (a/2) (w 4 s) / 2 for the change of p, together 1e-5 of the
 *            power of the source
 * Notes:     1) what the filter bank itself loses is left out: a delay of d
 *               samples between two inputs lowers the coherence of a broad
 *               band by sum w_n w_(n+d), a fringe of p rad a sample by
 *               sum w_n^2 exp(ipn).  In channel 0 of real samples it also turns
 *               a product by 2 pi e d / N, e channels from f + width / 4 to the
 *               mean of what the filter passes: 0.02 with 8 taps, 0.4 and more
 *               with method fft
 *            2) a tone is looked for within 256 channels of its own: beyond,
 *               a filter passes less than -58 dB of it
 *            3) the mean over a dump of products of different tones is taken
 *               to be zero, and in channel 0 of real samples that of a
 celestial
 *               tone and its mirror image; of other tones it is that over all
 *               spectra of the dump, missing ones too
 */
enum fx8_status fx8_truth_open(struct fx8_simulator *simulator,
                               const struct fx8_job *job,
                               struct fx8_truth **truth,
                               struct fx8_error *error);

/**
 * fx8_truth_dump -- one dump, flagged, weighted and averaged as correlate
 * does it.
 *
 * Returned: results  [n_baselines][n_channels / channel_average][n_products],
 *                    owned by the truth, valid until the next call
 * Notes:    one dump does not depend on which were made before
 */
void fx8_truth_dump(struct fx8_truth *truth, int64_t dump,
                    struct fx8_result *results);

/** Release and null the handle; a NULL handle is legal. */
void fx8_truth_close(struct fx8_truth **truth);

#ifdef __cplusplus
}
#endif

#endif
