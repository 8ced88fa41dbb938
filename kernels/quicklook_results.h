/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook_results.h -- what a quick-look hands out besides its arrays;
 * part of the public interface (correlator/fx8.h).
 */
#ifndef FX8_KERNELS_QUICKLOOK_RESULTS_H
#define FX8_KERNELS_QUICKLOOK_RESULTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The quick-look of one dump.
 *
 * coherence  V_ij / sqrt(V_ii V_jj) x 2^14, V_ii and V_jj the parallel-hand
 *            autos of the same dump and channel
 * amplitude  its modulus x 2^14
 * phase      its angle, radians, within 10^-3
 * spectra_db 10 log10 of the parallel-hand autos, input counts squared
 *
 * IEEE halves as their bits.  NULL pointers when not planned.
 */
struct fx8_quicklook_dump {
    uint16_t *coherence; /**< [n_baselines][n_channels][n_products][re, im] */
    uint16_t *amplitude; /**< [n_baselines][n_channels][n_products] */
    uint16_t *phase;     /**< [n_baselines][n_channels][n_products] */
    float *spectra_db;   /**< [n_inputs][n_channels] */
};

/**
 * What was out of the ordinary, and what became of it.
 *
 * Cells are channels of products of baselines in dumps; spectra are channels
 * of inputs in dumps.  A cell is counted under the first that applies.
 */
struct fx8_quicklook_counts {
    int64_t n_cells;          /**< all that were looked at */
    int64_t no_product;       /**< no valid product: 0 */
    int64_t not_finite;       /**< V or an auto NaN or infinite: 0 */
    int64_t no_power;         /**< an auto below 1.2e-38 or negative: 0 */
    int64_t above_one;        /**< |rho| > 1 of a cross product: kept */
    int64_t beyond_half;      /**< |rho| x 2^14 from 65520 up: infinity;
                                   counted besides above_one */
    int64_t fisher_few;       /**< unflagged, but fewer than 16 independent
                                   products: not averaged */
    int64_t fisher_real;      /**< the first channel of real samples, whose
                                   spectra are real: not averaged */
    int64_t fisher_loud;      /**< unflagged, but an input of INT8 above 32
                                   steps rms, which clips: not averaged */
    int64_t fisher_clamped;   /**< r > 1 - 1e-6 averaged as 1 - 1e-6: no
                                   interval */
    int64_t n_spectra;        /**< all autos that were looked at */
    int64_t spectra_no_data;  /**< no valid spectrum: NaN dB */
    int64_t spectra_infinite; /**< NaN or infinite: NaN dB */
    int64_t spectra_no_power; /**< below 1.2e-38 or negative: -400 dB */
};

/** Largest difference between fast and IEEE mode of one kind of result. */
struct fx8_quicklook_difference {
    double largest;
    double bound;     /**< that no difference can exceed, where it is largest */
    int64_t n_beyond; /**< that exceed theirs all the same: 0 */
};

/** Both modes compared, before anything is rounded to half. */
struct fx8_quicklook_differences {
    int64_t n_dumps; /**< evaluated in both modes; 0 in mode IEEE */
    struct fx8_quicklook_difference coherence; /**< relative to |rho| */
    struct fx8_quicklook_difference amplitude; /**< relative */
    struct fx8_quicklook_difference phase;     /**< radians */
    struct fx8_quicklook_difference spectra;   /**< dB */
    struct fx8_quicklook_difference fisher;    /**< of the average, over the
                                                    dumps evaluated in both */
};

/** What an average of coherences is. */
enum fx8_quicklook_state {
    FX8_QUICKLOOK_NONE = 0,   /**< no cell to average */
    FX8_QUICKLOOK_INTERVAL,   /**< |rho| with a 95 % interval */
    FX8_QUICKLOOK_LIMIT,      /**< below 5 / sqrt(M): a 95 % upper limit */
    FX8_QUICKLOOK_AUTO,       /**< an input with itself: 1 by definition */
    FX8_QUICKLOOK_NO_INTERVAL /**< |rho| so near to 1 that no interval is
                                   honest: see kernels/fisher.h */
};

/** Coherence of one product of one baseline over all unflagged cells. */
struct fx8_quicklook_average {
    enum fx8_quicklook_state state;
    double coherence; /**< |rho|, NaN for a limit or none (auto: 1) */
    double lower;     /**< of the interval; 0 for a limit, else NaN (auto: 1) */
    double upper;     /**< of the interval, or the limit; NaN for none */
    int64_t n_cells;
    double n_products; /**< independent products, all cells together */
};

#ifdef __cplusplus
}
#endif

#endif
