/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.h -- what a machine that channelises and correlates must do.  There
 * is one engine for the CPU and one for CUDA; the story above sees only this
 * table.  An engine owns memory layout, batching, cache blocking and fusion.
 */
#ifndef FX8_KERNELS_ENGINE_H
#define FX8_KERNELS_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/filterbank.h"
#include "kernels/operations.h"
#include "kernels/postprocess.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What an engine is to do.  Copied by open(); the arrays need not outlive it.
 *
 * Notes: 1) coefficients NULL, with bank.fft_length 1 on complex samples: the
 *           recorded integers go straight to the correlator (method none); no
 *           gains, no clips
 *        2) a negated imaginary part for method none (lower sideband) is the
 *           caller's: the sums are of the samples as given
 */
struct fx8_engine_plan {
    struct fx8_filterbank bank;
    const float *coefficients; /**< [n_taps][row]; NULL for method none */
    size_t n_inputs;           /**< N */
    int64_t spectra_per_dump;  /**< M */
    unsigned precisions;       /**< of enum fx8_precision, several bits: as
                                    many correlations of one channelisation */
    const char *kernel;        /**< "auto" or a level of the engine */
    const int *devices; /**< [n_devices] ordinals, of engines on devices */
    size_t n_devices;   /**< 0: the first device that is usable */
    /** What the host does for an engine that computes elsewhere; may be NULL
     *  for the CPU's. */
    const struct fx8_operations *host_operations;
    size_t n_threads; /**< at least 1 */
    bool pin_threads;
    bool fir_int16;   /**< the FIR is the operation fir_int16, with the
                           coefficients of fx8_filterbank_int16() */
    bool measure_fft; /**< --fft-plan measure */
    /** Asked by the CPU's, before it allocates, whether it may take so many
     *  bytes: a failure becomes open()'s.  NULL: it may. */
    enum fx8_status (*admit)(void *context, size_t bytes, size_t block_spectra,
                             struct fx8_error *error);
    void *admit_context;
    size_t n_engines; /**< engines of this plan that share the machine, each
                           taking as much; 0: 1 */
    size_t n_opened;  /**< how many of them are open already */
    /** What end_dump() is to make: antennas, products of a baseline and
     *  channels that become one; no antennas: it is not called. */
    size_t n_result_antennas, n_result_products, channel_average;
    /** Channels of the dumps that consume() is for, those of all bands; 0, or
     *  of an engine that is not the first: it is not called. */
    size_t consumed_channels;
    /** For a trial: seconds after which work on a device that is not done is
     *  given up, with the device, and that any of its kernels will do for; 0:
     *  never, and the fastest. */
    double deadline_s;
    /** Most inputs that watch() will name; 0: it is not called. */
    size_t n_watched_inputs;
};

/** Whether there will be sums of a kind. */
static inline bool fx8_is_planned(const struct fx8_engine_plan *plan,
                                  size_t kind)
{
    return (plan->precisions >> kind & 1) != 0;
}

/**
 * Phase to be added to one spectrum of one input, for delay and fringe:
 * channel c is multiplied by exp(2 pi i (phase_turns + c * slope_turns)).
 */
struct fx8_rotation {
    double phase_turns;
    double slope_turns; /**< per channel */
};

/**
 * Samples of consecutive spectra of one dump.
 *
 * samples: int8 or ci8, input i at samples + i * row_stride (bytes), holding
 *          (n_spectra + n_taps - 1) * N samples from that of first_spectrum
 * valid:   uint64 [n_inputs][fx8_bit_words(n_spectra)], bit t of row i:
 *          spectrum first_spectrum + t of input i is valid; bits beyond
 *          n_spectra are clear
 * rotation: [n_inputs][n_spectra], or NULL: no rotation
 */
struct fx8_engine_block {
    const int8_t *samples;
    size_t row_stride;
    int64_t first_spectrum; /**< counted from the start of the dump */
    size_t n_spectra;
    const uint64_t *valid;
    const struct fx8_rotation *rotation;
};

/**
 * Sums of one dump, memory owned by the caller.
 *
 * sums:   by kind, [n_channels][pair][re, im], conj(E_i) E_j; NULL unless
 *         planned.  INT8: int64, the others double.  DOWN, UP: no component is
 *         above, none below the exact sum of the float spectra
 * counts: int64 [pair] valid products
 * clips:  int64 [n_inputs][n_channels] valid spectra clamped
 */
struct fx8_engine_dump {
    void *sums[FX8_N_RESULTS];
    int64_t *counts;
    int64_t *clips;
};

/** Most inputs, and pairs of them, that are watched at a time. */
#define FX8_WATCHED_INPUTS 32
#define FX8_WATCHED_PAIRS  16

/**
 * fx8_engine_take -- receives watched spectra of a block, on the thread that
 * calls the engine.
 *
 * Given: int8  ci8  [watched inputs] rows of n_spectra, as they are correlated;
 *              NULL unless planned
 *        fp32  cf32 likewise, those of INTERVAL too
 */
typedef void fx8_engine_take(void *context, size_t n_spectra,
                             const struct fx8_ci8 *const *int8,
                             const struct fx8_cf32 *const *fp32);

/**
 * What an engine shows of a dump: spectra of some inputs in one channel, and
 * what it made of some pairs there.
 *
 * sums: by kind, [n_pairs][re, im] as in struct fx8_engine_dump; those of INT8
 *       and FP32, where planned, are filled by take_dump(), which hands over
 *       none
 */
struct fx8_engine_watch {
    size_t channel;
    size_t n_inputs; /**< at most n_watched_inputs of the plan */
    size_t inputs[FX8_WATCHED_INPUTS];
    size_t n_pairs;
    size_t pairs[FX8_WATCHED_PAIRS]; /**< fx8_pair_index() */
    fx8_engine_take *take;
    void *context; /**< of take */
    void *sums[FX8_N_RESULTS];
};

/** Seconds that an engine spent per stage since it was opened. */
struct fx8_engine_times {
    double channelize_s; /**< FIR, FFT, quantise, corner turn */
    double correlate_s;  /**< correlate and fold */
    double process_s;    /**< spent in end_dump() and take_dump() */
};

struct fx8_engine;

/**
 * fx8_engine_consume -- do on the engine's device what a consumer of finished
 * dumps would do on the host.
 *
 * Given:  work  what it says itself: kernels/quicklook_work.h
 * Status: FX8_ERR_USAGE: of another shape than was planned
 * Notes:  results in it may be of several engines, and averages of theirs;
 *         those of the last take_dump(), in the same arrays, are as it left
 *         them: an engine may have kept them
 */
typedef enum fx8_status fx8_engine_consume(struct fx8_engine *engine,
                                           const void *work,
                                           struct fx8_error *error);

/** The engine table. */
struct fx8_engine_operations {
    const char *name; /**< "cpu", "cuda" */

    /**
     * open -- plan, allocate, self-test.
     *
     * Status: FX8_ERR_UNSUPPORTED: no such machine, one line why;
     *         FX8_ERR_USAGE: unknown kernel; FX8_ERR_SYSTEM: memory, with the
     *         figures; FX8_ERR_DEVICE, as of every call: the device fails
     */
    enum fx8_status (*open)(const struct fx8_engine_plan *plan,
                            struct fx8_engine **engine,
                            struct fx8_error *error);

    /** Spectra per block that suit the engine, a function of the plan without
     *  threads and memory limit: FP32 sums depend on it. */
    size_t (*block_spectra)(const struct fx8_engine *engine);

    /** Bytes of the host's memory that the engine has allocated. */
    size_t (*memory)(const struct fx8_engine *engine);

    /**
     * pin -- memory of the caller that samples are pushed from or results go
     * to, so that they are copied beside all else; NULL: it makes no
     * difference.
     *
     * Notes: it must stay until the engine is closed; where the machine refuses
     *        to pin it, copies from there wait, and nothing is said
     */
    void (*pin)(struct fx8_engine *engine, void *memory, size_t bytes);

    /** The operations in use: the caller aligns samples with them. */
    const struct fx8_operations *(*operations)(const struct fx8_engine *engine);

    /** Text for the summary and the BACKEND, KERNEL and FFTPLAN keywords;
     *  static as long as the engine lives.  The device is its ordinal and name,
     *  "0 NVIDIA H200", or "" for the CPU. */
    const char *(*device_name)(const struct fx8_engine *engine);
    const char *(*kernel_name)(const struct fx8_engine *engine);
    const char *(*fft_plan_name)(const struct fx8_engine *engine);

    /** Gains of one input, float [n_channels]; must precede the first block
     *  in which the input has a valid spectrum with a sample other than 0. */
    enum fx8_status (*set_gain)(struct fx8_engine *engine, size_t input,
                                const float *gain, struct fx8_error *error);

    /**
     * push -- channelise and correlate one block.
     *
     * Notes: 1) blocks of a dump come in ascending order, each but the last
     *           of block_spectra() spectra, the first at first_spectrum 0;
     *           those without a valid spectrum may be left out, be it all of a
     *           dump
     *        2) samples in memory that pin() was told of must stay as they are
     *           until the next push(), finish_dump() or settle() has returned
     */
    enum fx8_status (*push)(struct fx8_engine *engine,
                            const struct fx8_engine_block *block,
                            struct fx8_error *error);

    /** settle -- wait until the memory of all blocks pushed is the caller's
     *  again; NULL: it is when push() returns. */
    enum fx8_status (*settle)(struct fx8_engine *engine,
                              struct fx8_error *error);

    /** Hand over the sums of the dump and start the next one. */
    enum fx8_status (*finish_dump)(struct fx8_engine *engine,
                                   struct fx8_engine_dump *dump,
                                   struct fx8_error *error);

    /**
     * end_dump -- finish_dump() of an engine that makes results itself, as far
     * as nothing is waited for: the next dump may begin.  NULL: it leaves
     * results to the caller.
     *
     * Given:    plan     of antennas, products and channel_average of the
     *                    engine's plan
     *           results  by kind, those of INT8 and FP32 where planned; their
     *                    memory stays until take_dump()
     * Notes:    what the last dump ended with was taken before
     */
    enum fx8_status (*end_dump)(struct fx8_engine *engine,
                                const struct fx8_postprocess *plan,
                                const struct fx8_result *results,
                                struct fx8_error *error);

    /**
     * take_dump -- what end_dump() has begun.
     *
     * Returned: results in their places, bit for bit those of
     *           fx8_postprocess_dump(); dump as finish_dump() leaves it,
     *           without the sums of INT8 and FP32, which may be NULL
     *           is_taken  whether it was all there; NULL: wait until it is
     * Notes:    where INTERVAL is planned, before the next push()
     */
    enum fx8_status (*take_dump)(struct fx8_engine *engine,
                                 struct fx8_engine_dump *dump, bool *is_taken,
                                 struct fx8_error *error);

    /** For a consumer of finished dumps; NULL: it is on its own. */
    fx8_engine_consume *consume;

    /**
     * export_spectra -- the spectra of the last block pushed, canonical order.
     *
     * Returned: int8  ci8  [n_channels][n_spectra][n_inputs], or NULL
     *           fp32  cf32 [n_channels][n_spectra][n_inputs], or NULL; those
     *                 of INTERVAL too
     * Status:   FX8_ERR_USAGE when that precision was not planned
     */
    enum fx8_status (*export_spectra)(struct fx8_engine *engine,
                                      struct fx8_ci8 *int8,
                                      struct fx8_cf32 *fp32,
                                      struct fx8_error *error);

    /** import_spectra -- correlate given spectra in place of a block: as push,
     *  with the channeliser left out; block.samples is not read. */
    enum fx8_status (*import_spectra)(struct fx8_engine *engine,
                                      const struct fx8_engine_block *block,
                                      const struct fx8_ci8 *int8,
                                      const struct fx8_cf32 *fp32,
                                      struct fx8_error *error);

    /**
     * watch -- show what the watch names of the dump that begins.
     *
     * Status: FX8_ERR_USAGE: more inputs than were planned
     * Notes:  before the first block of the dump.  The watch is copied; take()
     *         gets every block that has a valid spectrum, once, in any order,
     *         before finish_dump() or take_dump() returns; finish_dump() or
     *         end_dump() ends it
     */
    enum fx8_status (*watch)(struct fx8_engine *engine,
                             const struct fx8_engine_watch *watch,
                             struct fx8_error *error);

    void (*times)(const struct fx8_engine *engine,
                  struct fx8_engine_times *times);

    /** Release and null the handle; a NULL handle is legal. */
    void (*close)(struct fx8_engine **engine);
};

/** The engine on this machine's CPU. */
extern const struct fx8_engine_operations fx8_engine_cpu;

#ifdef __cplusplus
}
#endif

#endif
