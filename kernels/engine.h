/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.h -- interface of the engines that channelise and correlate.  There
 * is one for the CPU and one for CUDA; the layer above sees only this table.
 * An engine owns memory layout, batching, cache blocking and fusion.
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
 * The task of an engine.  open() copies it; the arrays need not outlive open().
 *
 * Notes: 1) coefficients NULL, with bank.fft_length 1 on complex samples: the
 *           recorded integers go straight to the correlator (method none); no
 *           gains, no clips
 *        2) method none, lower sideband: the engine sums the samples as given;
 *           the caller negates the imaginary part
 */
struct fx8_engine_plan {
    struct fx8_filterbank bank;
    const float *coefficients; /**< [n_taps][row]; NULL for method none */
    size_t n_inputs;           /**< N */
    /** As of struct fx8_row_blocks; outlives the engine.  Sums of pairs that
     *  nobody needs may be anything. */
    const uint8_t *needed;
    int64_t spectra_per_dump; /**< M */
    unsigned precisions;      /**< bits of enum fx8_precision: each bit set is
                                   one correlation of the same spectra */
    bool has_moments; /**< whether dumps have moments; then end_dump() is not
                         called */
    size_t margin; /**< most samples of a shift; 0: blocks have no rotation */
    struct fx8_channelizer channelizer; /**< as planned; sizes are in bank */
    struct fx8_quantizer quantizer;     /**< only dither matters to an engine */
    uint32_t band_hz; /**< sky frequency of baseband zero, rounded, modulo
                           2^32: a key of the dither */
    struct fx8_machine machine; /**< kernel, threads (at least 1),
                                     transform and first_device matter
                                     to an engine */
    const int *devices; /**< [n_devices] ordinals; device engines only */
    size_t n_devices;   /**< 0: the first usable device */
    /** Operations that a device engine runs on the host; may be NULL for the
     *  CPU engine. */
    const struct fx8_operations *host_operations;
    /** Called by the CPU engine before it allocates: a failure of admit()
     *  becomes open()'s.  NULL: no limit. */
    enum fx8_status (*admit)(void *context, size_t bytes, size_t block_spectra,
                             struct fx8_error *error);
    void *admit_context;
    size_t n_engines; /**< engines of this plan that share the machine, each
                           of the same size; 0: 1 */
    size_t n_opened;  /**< how many of them are open already */
    /** For end_dump(): antennas, products per baseline, channels averaged into
     *  one.  No antennas: end_dump() is not called. */
    size_t n_result_antennas, n_result_products, channel_average;
    /** Channels, over all bands, of the dumps given to consume(); 0, or not
     *  the first engine: consume() is not called. */
    size_t consumed_channels;
    /** For a trial: give up the work and the device after so many seconds, and
     *  accept any kernel of the device.  0: no deadline, the fastest kernel. */
    double deadline_s;
    /** Most inputs that watch() will name; 0: watch() is not called. */
    size_t n_watched_inputs;
};

/** Whether the plan has sums of this kind. */
static inline bool fx8_is_planned(const struct fx8_engine_plan *plan,
                                  size_t kind)
{
    return (plan->precisions >> kind & 1) != 0;
}

/**
 * fx8_engine_segment -- spectra in a segment of a dump.
 *
 * Given:    spectra_per_dump  M
 * Returned: a multiple of 8192, and so of every fold and block of an engine;
 *           at most 64 segments are in a dump, the last may be shorter.  A dump
 *           of at most 8192 spectra is one segment
 * Notes:    sums of floats, moments and bounds are those of the segments,
 *           added in their order: whoever has the sums of all segments has the
 *           bits of the dump's
 */
static inline int64_t fx8_engine_segment(int64_t spectra_per_dump)
{
    const int64_t unit = 8192, most = 64;
    const int64_t units = (spectra_per_dump - 1) / (unit * most) + 1;
    return units * unit;
}

/** Whether to use the operation fir_int16, with the coefficients of
 *  fx8_filterbank_int16(). */
static inline bool fx8_has_int16_fir(const struct fx8_engine_plan *plan)
{
    return plan->channelizer.fir == FX8_FIR_DP2A;
}

/**
 * Samples of consecutive spectra of one dump.
 *
 * samples: int8 or ci8, input i at samples + i * row_stride (bytes), holding
 *          (n_spectra + n_taps - 1) * N samples, and the plan's margin before
 *          and after them; the first is the first sample of first_spectrum
 * valid:   uint64 [n_inputs][fx8_bit_words(n_spectra)], bit t of row i:
 *          spectrum first_spectrum + t of input i is valid; bits beyond
 *          n_spectra are clear
 * rotation: [n_inputs][fx8_groups(n_spectra)], or NULL: no delays.  Every
 *          |shift| is at most the plan's margin
 */
struct fx8_engine_block {
    const int8_t *samples;
    size_t row_stride;
    int64_t dump_sample; /**< of the recording, where the dump begins: a key of
                              the dither */
    int64_t first_spectrum; /**< counted from the start of the dump; a multiple
                                 of FX8_DITHER_SPECTRA where there is dither */
    size_t n_spectra;
    const uint64_t *valid;
    const struct fx8_rotation *rotation;
};

/**
 * Sums of one dump or of a strip of it, memory owned by the caller.
 *
 * sums:   by kind, [n_channels][pair][re, im], conj(E_i) E_j; NULL unless
 *         planned.  INT8: int64, the others double.  Every component of DOWN is
 *         <=, every component of UP >= the exact sum of the float spectra
 * counts: int64 [pair] valid products
 * clips:  int64 [n_inputs][n_channels] valid spectra clamped since the call
 *         before
 * moments: double [n_inputs][2][n_channels] sums of |X|^2 and of |X|^4 of the
 *         valid spectra before gain and quantiser, of the whole dump, with its
 *         first strip; unused unless planned
 */
struct fx8_engine_dump {
    void *sums[FX8_N_RESULTS];
    int64_t *counts;
    int64_t *clips;
    double *moments;
    struct fx8_strip strip; /**< whose pairs these are; end 0: all.  Engines
                                 with end_dump() take no other */
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
 *        fp32  cf32 likewise; also when INTERVAL is planned
 */
typedef void fx8_engine_take(void *context, size_t n_spectra,
                             const struct fx8_ci8 *const *int8,
                             const struct fx8_cf32 *const *fp32);

/**
 * Parts of a dump to watch in one channel: spectra of some inputs, sums of
 * some pairs.
 *
 * sums: by kind, [n_pairs][re, im] as in struct fx8_engine_dump.  take_dump(),
 *       which returns no INT8 and FP32 sums, fills these here where planned
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
    double process_s;    /**< end_dump() and take_dump() */
    double copy_s;       /**< samples to a device, beside the others */
    double results_s;    /**< results on a device, which process_s may await */
};

struct fx8_engine;

/**
 * What an engine says of itself; the texts are for the summary and the BACKEND,
 * KERNEL and FFTPLAN keywords.
 */
struct fx8_engine_facts {
    /** Spectra per block.  FP32 sums depend on it, so it is a function of the
     *  plan without threads and memory limit. */
    size_t block_spectra;
    size_t memory; /**< bytes of host memory that it has allocated */
    /** The operations in use: the caller aligns samples with them. */
    const struct fx8_operations *operations;
    const char *device; /**< "0 NVIDIA H200", or "" for the CPU */
    const char *kernel, *fft_plan;
};

/**
 * fx8_engine_consume -- run the quick-look of a finished dump on the engine's
 * device instead of the host.
 *
 * Given:  work  struct fx8_quicklook_work
 * Status: FX8_ERR_USAGE: not the planned shape
 * Notes:  the results in work may come from several engines, also averaged.
 *         The caller has not changed results that the last take_dump() wrote
 *         to the same arrays, so an engine may use its own copy
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
     * Status: FX8_ERR_UNSUPPORTED: no such machine, with the reason in one
     *         line; FX8_ERR_USAGE: unknown kernel; FX8_ERR_SYSTEM: memory, with
     *         the figures; FX8_ERR_DEVICE, from any call: the device failed
     */
    enum fx8_status (*open)(const struct fx8_engine_plan *plan,
                            struct fx8_engine **engine,
                            struct fx8_error *error);

    /** Valid until the engine is closed. */
    const struct fx8_engine_facts *(*facts)(const struct fx8_engine *engine);

    /**
     * pin -- pin caller memory that samples are pushed from or results are
     * written to, so that copies overlap with other work.  NULL: no effect.
     *
     * Notes: the memory must stay until the engine is closed.  If pinning
     *        fails, copies from it are synchronous; no error is returned
     */
    void (*pin)(struct fx8_engine *engine, void *memory, size_t bytes);

    /** Gains of one input, float [n_channels]; must precede the first block
     *  in which the input has a valid spectrum with a sample other than 0. */
    enum fx8_status (*set_gain)(struct fx8_engine *engine, size_t input,
                                const float *gain, struct fx8_error *error);

    /**
     * push -- channelise and correlate one block.
     *
     * Notes: 1) blocks of a dump come in ascending order, each but the last
     *           of block_spectra spectra, the first at first_spectrum 0 or
     * where a segment begins.  Any block without a valid spectrum may be left
     * out, even all blocks of a dump 2) samples in pinned memory must not
     * change until the next push(), finish_dump() or settle() has returned
     */
    enum fx8_status (*push)(struct fx8_engine *engine,
                            const struct fx8_engine_block *block,
                            struct fx8_error *error);

    /** settle -- wait until the caller may reuse the memory of all blocks
     *  pushed.  NULL: it may as soon as push() returns. */
    enum fx8_status (*settle)(struct fx8_engine *engine,
                              struct fx8_error *error);

    /** Write the sums of the dump and start the next one; or of strips of it,
     *  ascending and next to each other, and start the next one after the last.
     *  Nothing else is called between them. */
    enum fx8_status (*finish_dump)(struct fx8_engine *engine,
                                   struct fx8_engine_dump *dump,
                                   struct fx8_error *error);

    /**
     * end_dump -- finish_dump() for an engine that computes results itself.
     * Does not wait: the next dump may begin.  NULL: the caller computes the
     * results.
     *
     * Given:    plan     antennas, products and channel_average as in the
     *                    engine's plan
     *           results  by kind, INT8 and FP32 where planned; their memory
     *                    stays until take_dump()
     * Notes:    take_dump() of the dump before must have come first
     */
    enum fx8_status (*end_dump)(struct fx8_engine *engine,
                                const struct fx8_postprocess *plan,
                                const struct fx8_result *results,
                                struct fx8_error *error);

    /**
     * take_dump -- complete what end_dump() began.
     *
     * Returned: the results given to end_dump(), bit for bit those of
     *           fx8_postprocess_dump(); dump as from finish_dump(), without
     *           the INT8 and FP32 sums, which may be NULL
     *           is_taken  whether the dump was complete; NULL: wait for it
     * Notes:    must precede the next push() where INTERVAL is planned
     */
    enum fx8_status (*take_dump)(struct fx8_engine *engine,
                                 struct fx8_engine_dump *dump, bool *is_taken,
                                 struct fx8_error *error);

    /** NULL: the host runs the quick-look. */
    fx8_engine_consume *consume;

    /**
     * export_spectra -- the spectra of the last block pushed, canonical order.
     *
     * Returned: int8  ci8  [n_channels][n_spectra][n_inputs], or NULL
     *           fp32  cf32 [n_channels][n_spectra][n_inputs], or NULL; also
     *                 for INTERVAL
     * Status:   FX8_ERR_USAGE when that precision was not planned
     */
    enum fx8_status (*export_spectra)(struct fx8_engine *engine,
                                      struct fx8_ci8 *int8,
                                      struct fx8_cf32 *fp32,
                                      struct fx8_error *error);

    /** import_spectra -- correlate given spectra: as push(), without the
     *  channeliser; block.samples is not read. */
    enum fx8_status (*import_spectra)(struct fx8_engine *engine,
                                      const struct fx8_engine_block *block,
                                      const struct fx8_ci8 *int8,
                                      const struct fx8_cf32 *fp32,
                                      struct fx8_error *error);

    /**
     * watch -- watch the dump that begins.
     *
     * Status: FX8_ERR_USAGE: more inputs than were planned
     * Notes:  call before the first block of the dump.  The watch is copied;
     *         take() gets every block that has a valid spectrum, once, in any
     *         order, before finish_dump() or take_dump() returns; finish_dump()
     *         or end_dump() ends the watch
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
