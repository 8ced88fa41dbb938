/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine_cpu.h -- the state of the CPU engine, shared by the files that make
 * it up: engine_cpu.c (open, dumps, close), channelize.c (F), correlate.c (X).
 */
#ifndef FX8_KERNELS_CPU_ENGINE_CPU_H
#define FX8_KERNELS_CPU_ENGINE_CPU_H

#include "kernels/count_products.h"
#include "kernels/engine.h"
#include "kernels/cpu/lanes.h"
#include "kernels/fft.h"

/**
 * The CPU engine.
 *
 * Spectra of one block, X-engine order (times fastest, a row per input):
 *   x8   ci8  [n_channels][n_rows][stride8]
 *   x32  cf32 [n_channels][n_rows][stride32], for FP32 and INTERVAL
 */
struct fx8_engine {
    struct fx8_engine_plan plan;
    const struct fx8_operations *operations;
    bool has_filterbank; /* false: method none */
    size_t n_channels;   /* K */
    size_t n_rows;       /* inputs, rounded up to FX8_ROW_BLOCK */
    size_t block_spectra;
    size_t stride8, stride32; /* elements between rows */
    float *coefficients;      /* [n_taps][row] */
    int16_t *coefficients16;  /* likewise, for FX8_FIR_DP2A */
    float scale16;            /* value of one unit of coefficients16 */
    float *gain;              /* [n_inputs][n_channels] */
    bool is_streamed;         /* spectra bypass the caches */
    bool has_lanes;           /* the transform in lanes, not FFTW */
    struct fx8_lanes_plan lanes;
    struct fx8_lanes_channel *parts;       /* [n_channels], by part of the
                                              transform */
    size_t part_begin[FX8_MOST_RADIX + 1]; /* of each part, in parts; then
                                              n_channels */
    struct fx8_fft *fft; /* the batch of the stream; NULL with lanes */
    size_t fft_batch;
    float *scratch; /* [n_threads][scratch_size], filter and transform */
    size_t scratch_size;
    struct fx8_ci8 *x8;
    struct fx8_cf32 *x32;
    size_t size8, size32;  /* accumulator items of one channel */
    int32_t *accumulator8; /* [n_channels][size8] */
    double *accumulator32; /* [n_channels][size32] */
    size_t size_interval;
    double *accumulator_interval; /* [n_channels][size_interval] */
    /* By kind, as in struct fx8_engine_dump, only for long dumps: integers that
     * left accumulator8 before they could overflow, the sums of the segments
     * that have ended. */
    void *folded[FX8_N_RESULTS];
    unsigned used; /* bits of the kinds in folded that hold sums of this dump */
    int64_t unfolded; /* spectra in accumulator8 */
    int64_t segment;  /* that is being summed; -1: none */
    struct fx8_product_counts counts;
    size_t n_segments; /* time segments per input, for the F threads */
    uint32_t *clips;   /* [n_segments][n_inputs][n_channels] */
    /* [n_segments + 1][n_inputs][S1, S2][n_channels] sums of |X|^2 and |X|^4 of
     * time segments, and what they were folded into; NULL unless planned */
    double *moments;
    size_t n_spectra; /* of the last block, for export */
    bool is_empty;    /* it has no valid spectrum: x8 and x32 are stale */
    struct fx8_engine_watch watch; /* unused if take is NULL */
    struct fx8_engine_times times;
    size_t memory; /* bytes of the arrays */
    char fft_name[64];
    struct fx8_engine_facts facts;
};

/** FIR, FFT, rotation, quantiser and corner turn of a block into x8 and x32. */
void fx8_cpu_channelize(struct fx8_engine *engine,
                        const struct fx8_engine_block *block);

/** Correlate n_spectra of x8 and x32 into the accumulators. */
void fx8_cpu_correlate(struct fx8_engine *engine, size_t n_spectra);

/** Fold a strip of the accumulators of every kind not NULL in `sums`, which is
 *  as in struct fx8_engine_dump: added to the sums or, if `is_first`, replacing
 *  them. */
void fx8_cpu_fold(struct fx8_engine *engine, struct fx8_strip strip,
                  void *const *sums, bool is_first);

/** Fold the accumulators of these kinds (bits) into those of engine->folded. */
void fx8_cpu_fold_aside(struct fx8_engine *engine, unsigned kinds);

/** Moments of a time segment of an input; NULL unless planned. */
double *fx8_cpu_moments(const struct fx8_engine *engine, size_t segment,
                        size_t input);

/** Add spectra of the channels from `first` on to the moments of an input. */
void fx8_cpu_add_moments(const struct fx8_engine *engine,
                         const struct fx8_spectra_group *group, size_t first,
                         double *moments);

/** The same for spectra side by side, and for n integers without filter bank.
 */
void fx8_cpu_add_lane_moments(const struct fx8_engine *engine,
                              const struct fx8_lanes_group *group,
                              double *moments);
void fx8_cpu_add_integer_moments(size_t n, const struct fx8_ci8 *x,
                                 double *moments);

/** Fold the moments of all time segments, in their order. */
void fx8_cpu_fold_moments(struct fx8_engine *engine);

/** Fold and return the moments of the dump, as in struct fx8_engine_dump, and
 *  clear them; nothing unless planned. */
void fx8_cpu_take_moments(struct fx8_engine *engine, double *moments);

#endif
