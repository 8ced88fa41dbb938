/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine_cuda.h -- the state of the CUDA engine, shared by the files that make
 * it up: engine_cuda.cu (open, close and table), sizes.cu (sizes from the
 * plan), memory.cu (allocation), batch.cu (from samples to sums), dump.cu and
 * results.cu (end of a dump), staging.cu (copying results to the host),
 * exchange.cu (export and import of spectra, for tests), consumer.cu
 * (quick-look), watch.cu (watched spectra and sums), rehearse.cu (preparation
 * of trials).
 *
 * Blocks of a dump go to the devices in turn.  Their sums are added on the host
 * or, if results are computed here, one after the other on the first device. At
 * the end of a segment the sums of floats are added so, and then to those of
 * the segments before it: bits depend on the number of devices, but not on
 * which process computes a segment. A device processes a block in batches of
 * inputs:
 *
 *     copy     samples of the host -> a slot of the device
 *     compute  samples -> FIR, FFT -> spectra of the block, chunk by chunk
 *
 * The spectra of several blocks are correlated in one call, because a call
 * reads and writes all sums.  There are as many slots as a call has batches, so
 * that copies go on during a correlation.  The host waits only for the samples
 * of the block before last.
 *
 * The number of inputs in a batch and of blocks in a call depends on free
 * memory and changes no result; a chunk is a function of the plan, so one FFT
 * plan serves everything.
 *
 * Output is copied back in slabs: some channels of sums, or some baselines of
 * what the first device computes, results and then the quick-look:
 *
 *     compute  sums -> results
 *     back     results -> memory of the caller where that is pinned; else
 *              -> pinned memory of one of two slots
 *     host     pinned memory of a slot -> memory of the caller
 *
 * The next dump begins meanwhile if these slots, or the caller's memory, can
 * hold all of the output.
 */
#ifndef FX8_KERNELS_CUDA_ENGINE_CUDA_H
#define FX8_KERNELS_CUDA_ENGINE_CUDA_H

#include <cufft.h>

#include "config/base/shape.h"
#include "kernels/count_products.h"
#include "kernels/cuda/channelize.h"
#include "kernels/cuda/correlate.h"
#include "kernels/cuda/deadline.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/layout.h"
#include "kernels/cuda/watching.h"
#include "kernels/engine.h"

/** Slabs, and blocks, in flight at a time. */
#define FX8_CUDA_SLOTS 2

/** Moments, beside the kinds of sums. */
#define FX8_CUDA_MOMENTS FX8_N_RESULTS
#define FX8_CUDA_N_SUMS  (FX8_N_RESULTS + 1)

/** Blocks share a call if they end on a fold of the FP32 correlator: the sums
 *  are then the same as with one call per block. */
#define FX8_CUDA_CALL_UNIT (FX8_MAX_FP32_PRODUCTS / 2)

/** Blocks whose masks are on a device at a time: how far ahead the host may
 *  run. */
#define FX8_CUDA_NOTES 16

/** Most batches whose samples are on a device at a time. */
#define FX8_CUDA_MOST_BATCHES 64

/** Timers in use at a time: the copy and the F stage of every batch, the
 *  correlation of every call. */
#define FX8_CUDA_TIMERS (3 * FX8_CUDA_MOST_BATCHES)

/** When set: the size of a chunk in KiB, smaller than usual: for tests across
 *  chunks, and across slabs of results, which are no larger. */
#define FX8_CUDA_CHUNK_VARIABLE "FX8_CUDA_CHUNK_KIB"

/** Sizes that depend on the plan alone. */
struct fx8_cuda_shape {
    size_t block_spectra;
    size_t most_blocks;   /**< in a call, with any amount of memory */
    size_t row;           /**< bytes of a spectrum's samples */
    size_t margin_bytes;  /**< of samples, before and after a block */
    size_t samples_bytes; /**< from input to input in a slot */
    size_t valid_words;   /**< of an input, of a whole block */
    size_t most_inputs;   /**< in a batch, with any amount of memory */
    size_t chunk_inputs, chunk_spectra; /**< of one FIR and FFT */
    size_t folded_stride;               /**< floats from spectrum to spectrum */
    size_t n_pairs;
    size_t n_sums;        /**< numbers in the sums of a kind */
    int64_t segment;      /**< spectra: fx8_engine_segment() */
    bool is_divided;      /**< a dump has several segments */
    size_t n_baselines;   /**< of results; 0: no results are computed here */
    size_t plan_bytes;    /**< of the data that results depend on */
    size_t slab_antennas; /**< antennas in a slab of results */
    size_t slab_cells;    /**< most cells of these */
    size_t slab_bytes;    /**< copied at a time */
    size_t staging_bytes; /**< slab_bytes, or the smallest possible slab of
                               sums, results or quick-look if that is more */
    bool may_keep;        /**< the quick-look needs only results from here */
};

/** A batch in flight: samples of some inputs. */
struct fx8_cuda_slot {
    cudaEvent_t copied; /**< the samples are on the device */
    cudaEvent_t done;   /**< they became spectra: the slot is free */
};

/** The masks of a block in flight. */
struct fx8_cuda_notes {
    uint64_t *pinned_valid, *valid; /**< [n_inputs][valid_words] */
    cudaEvent_t copied;             /**< masks and samples have left the host */
    cudaEvent_t done;               /**< the masks are no longer in use */
};

/** The rotation of a block in flight, [n_inputs][groups of a block]. */
struct fx8_cuda_rotation {
    struct fx8_rotation *pinned, *rotation;
};

/** The spectra of the next correlation: blocks, one after the other. */
struct fx8_cuda_call {
    int8_t *x8; /**< layout.h; NULL: not planned */
    float *x32; /**< likewise */
    size_t most_spectra;
    size_t n_spectra;
    size_t last_block; /**< first spectrum of the last block: for export */
    bool has_valid;    /**< there is something to correlate */
    struct fx8_dither dither; /**< of the last block */
};

/** Times one piece of work. */
struct fx8_cuda_timer {
    cudaEvent_t begin, end;
    double *seconds; /**< the time is added to it; NULL: unused */
};

/** Alignment of arrays in pinned_plan. */
#define FX8_CUDA_PLAN_UNIT 16

/** Arrays in a slab: values, two per cell or one, and flags. */
#define FX8_CUDA_STAGED 3

/** Store a row at its destination: copy, or add its numbers. */
typedef void fx8_cuda_place(void *to, const void *from, size_t bytes);

/** Rows of one array of a slab: contiguous on the device, strided on the host.
 */
struct fx8_cuda_rows {
    char *to;
    size_t to_pitch;
    const void *from;
    size_t bytes;                    /**< of a row; 0: no array */
    fx8_cuda_place *place = nullptr; /**< null: copy */
};

/** A slab being copied to the host: owned by the stream `back` after `made`, by
 *  the host after `copied`. */
struct fx8_cuda_staging {
    char *pinned; /**< [staging_bytes], one array after the other */
    cudaEvent_t made, copied;
    size_t n_rows;
    struct fx8_cuda_rows rows[FX8_CUDA_STAGED];
    bool is_used;
};

/** For computing results from sums, on the first device if planned. */
struct fx8_cuda_results {
    struct fx8_product *products; /**< [n_baselines][n_products] */
    int64_t *counts;              /**< [n_pairs] */
    float *gain;                  /**< [n_inputs][n_channels] */
    uint8_t *flag_cell;           /**< likewise */
    double *input_gain;           /**< [n_inputs] */
    double *ripple;               /**< [n_channels] */
    uint8_t *flag_input;          /**< [n_inputs] */
    uint8_t *flag_channel;        /**< [n_channels] */
    /** [plan_bytes] on the host: staging for the above, because a copy from
     *  memory that is not pinned may wait for all earlier work. */
    char *pinned_plan;
    bool keeps;              /**< there is memory for a whole result */
    struct fx8_result slabs; /**< a whole result, or two slots */
    /** The caller's arrays that `slabs` is a copy of, until the next dump;
     *  NULL: none. */
    struct fx8_result kept;
};

/** Pinned memory of the caller; list item freed with the engine. */
struct fx8_cuda_pinned {
    char *memory;
    size_t bytes;
    struct fx8_cuda_pinned *next;
};

/** A device and the engine's state there. */
struct fx8_cuda_device {
    int ordinal;
    char name[64];
    size_t most_pitch; /**< bytes from row to row of one copy */
    cudaStream_t copy, compute, back;
    cudaEvent_t drained; /**< of fx8_cuda_drain() */
    cudaEvent_t ended;   /**< the output of the ended dump left the device */
    double deadline_s;   /**< of the plan; 0: none */
    struct fx8_cuda_slot slots[FX8_CUDA_MOST_BATCHES];
    int8_t *samples; /**< [n_slots][batch_inputs][samples_bytes] */
    struct fx8_cuda_notes notes[FX8_CUDA_NOTES];
    struct fx8_cuda_rotation rotations[FX8_CUDA_SLOTS];
    struct fx8_cuda_staging staging[FX8_CUDA_SLOTS];
    struct fx8_cuda_timer timers[FX8_CUDA_TIMERS];
    size_t n_batches, n_blocks, n_timers; /**< so far; selects the next slot */
    size_t batch_inputs, n_slots;
    bool has_fft;
    cufftHandle fft;
    size_t fft_bytes;
    void *fft_area;
    float *coefficients;                     /**< [n_taps][row] */
    int16_t *coefficients16;                 /**< likewise, for fir_int16 */
    float scale16;                           /**< of a unit of coefficients16 */
    float *gain;                             /**< [n_inputs][n_channels] */
    unsigned long long *clips, *ended_clips; /**< the latter pinned */
    float *folded; /**< [chunk][folded_stride], FIR and FFT in place */
    struct fx8_cuda_call call;
    /** By kind, and FX8_CUDA_MOMENTS: [fx8_cuda_count_sums()] as in struct
     *  fx8_engine_dump, and the correlators; NULL: not planned. */
    void *sums[FX8_CUDA_N_SUMS];
    const struct fx8_cuda_correlator *correlators[FX8_N_RESULTS];
    /** [n_tiles] as of struct fx8_cuda_correlation; NULL: all are needed. */
    unsigned *tiles[FX8_N_RESULTS];
    size_t n_tiles[FX8_N_RESULTS];
    /** Of the first device, likewise: sums of the segments that have ended of
     *  all devices; NULL for INT8, and unless dumps have several. */
    void *totals[FX8_CUDA_N_SUMS];
    /** [slots][staging_bytes] of the first device: sums of other devices; NULL:
     *  not needed. */
    char *received;
    bool has_sums;  /**< something was correlated in this dump */
    bool has_ended; /**< ended_clips holds the clips of the ended dump */
    size_t n_slabs; /**< slabs of the ended dump in flight */
    struct fx8_cuda_results results;
    struct fx8_cuda_watching watching;
    struct fx8_engine_times times;
};

struct fx8_engine {
    struct fx8_engine_plan plan;
    struct fx8_cuda_shape shape;
    struct fx8_cuda_consumer *consumer; /**< NULL: none was planned */
    bool has_filterbank;                /**< false: method none */
    struct fx8_cuda_device *devices;
    size_t n_devices;
    struct fx8_cuda_device *last;  /**< device of the last block */
    size_t n_spectra;              /**< of that block, for export */
    struct fx8_cuda_notes *taking; /**< block whose samples are being copied;
                                        NULL: none */
    int64_t segment;               /**< that is being summed; -1: none */
    bool has_totals;               /**< segments of this dump have ended */
    struct fx8_product_counts counts;
    int64_t *ended_counts; /**< of the ended dump */
    struct fx8_cuda_pinned *pinned;
    size_t memory; /**< bytes on the host */
    bool has_failed;
    struct fx8_engine_watch watches[2]; /**< of this dump and the last */
    size_t n_watches;                   /**< so far; selects the next one */
    /** Of the current dump, and of the ended one; NULL: none. */
    const struct fx8_engine_watch *watch, *ended_watch;
    char left_out[256]; /**< kernels that failed their trial, and why */
    char device_name[256], kernel_name[320], fft_name[64];
    struct fx8_engine_facts facts;
};

/* --- sizes.cu ------------------------------------------------------------- */

/** Set the sizes of a plan. */
void fx8_cuda_lay_out(struct fx8_engine *engine);

/** Numbers in device->sums[kind]; 0: not planned. */
static inline size_t fx8_cuda_count_sums(const struct fx8_engine *engine,
                                         size_t kind)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    if (kind == FX8_CUDA_MOMENTS)
        return plan->has_moments *
               fx8_product(plan->n_inputs, plan->bank.n_channels, 2, 1);
    return fx8_is_planned(plan, kind) * engine->shape.n_sums;
}

/** 16-byte vectors from channel to channel in a call of up to most_spectra,
 *  `times_per_vector` times in each vector. */
size_t fx8_cuda_stride(const struct fx8_engine *engine, size_t most_spectra,
                       size_t times_per_vector);

/* --- memory.cu ------------------------------------------------------------ */

/**
 * fx8_cuda_prepare -- create streams, events and FFT plan of a device, and find
 * how many inputs its memory allows in a batch.
 *
 * Status: FX8_ERR_DEVICE; FX8_ERR_SYSTEM, with the figures, when memory is
 *         short; fx8_cuda_release() releases everything, also after a failure
 */
enum fx8_status fx8_cuda_prepare(struct fx8_engine *engine,
                                 struct fx8_cuda_device *device,
                                 struct fx8_error *error);

/** Next, allocate its memory and set what is zero or constant. */
enum fx8_status fx8_cuda_allocate(struct fx8_engine *engine,
                                  struct fx8_cuda_device *device,
                                  struct fx8_error *error);

/** Wait for all queued work, ignoring errors: another device may be writing to
 *  memory that is about to be released. */
void fx8_cuda_quiesce(const struct fx8_cuda_device *device);

/** Release everything, after all devices are quiesced; a device without
 *  allocations is legal. */
void fx8_cuda_release(const struct fx8_engine *engine,
                      struct fx8_cuda_device *device);

/** pin() of the table. */
void fx8_cuda_pin(struct fx8_engine *engine, void *memory, size_t bytes);

/** Whether all of it is pinned. */
bool fx8_cuda_is_pinned(const struct fx8_engine *engine, const void *memory,
                        size_t bytes);

/** Unpin all memory. */
void fx8_cuda_unpin(struct fx8_engine *engine);

/* --- rehearse.cu ---------------------------------------------------------- */

/** Load the kernels of all correlators, of results and of quick-looks. */
enum fx8_status fx8_cuda_load_kernels(const struct fx8_cuda_device *device,
                                      struct fx8_error *error);

/** In a trial, before correlators are chosen: channelise zeros and export them,
 *  so that all kernels involved are loaded and have run once. */
enum fx8_status fx8_cuda_rehearse(struct fx8_engine *engine,
                                  struct fx8_cuda_device *device,
                                  struct fx8_error *error);

/* --- batch.cu ------------------------------------------------------------- */

/** Channelise a block, and correlate when a call is full; returns when the
 *  samples of the previous block have been copied. */
enum fx8_status fx8_cuda_push_block(struct fx8_engine *engine,
                                    struct fx8_cuda_device *device,
                                    const struct fx8_engine_block *block,
                                    enum fx8_block_validity validity,
                                    struct fx8_error *error);

/**
 * Begin a block before its batches: assign its place in a call, copy masks and
 * rotation.  End it after them: correlate a full call.
 */
enum fx8_status fx8_cuda_begin_block(struct fx8_engine *engine,
                                     struct fx8_cuda_device *device,
                                     const struct fx8_engine_block *block,
                                     enum fx8_block_validity validity,
                                     struct fx8_cuda_part *part,
                                     struct fx8_error *error);
enum fx8_status fx8_cuda_end_block(struct fx8_engine *engine,
                                   struct fx8_cuda_device *device,
                                   struct fx8_error *error);

/** Wait until the host memory of the last block may be reused. */
enum fx8_status fx8_cuda_await_samples(struct fx8_engine *engine,
                                       const struct fx8_cuda_device *device,
                                       struct fx8_error *error);

/** Correlate the gathered spectra. */
enum fx8_status fx8_cuda_end_call(struct fx8_engine *engine,
                                  struct fx8_cuda_device *device,
                                  struct fx8_error *error);

/** The arrays of spectra, starting at the last block. */
struct fx8_cuda_spectra fx8_cuda_last_block(
    const struct fx8_engine *engine, const struct fx8_cuda_device *device);

/** Time the work queued in a stream until fx8_cuda_stop_timer(); it is added to
 *  `seconds`.  One piece of work after the other. */
enum fx8_status fx8_cuda_start_timer(struct fx8_cuda_device *device,
                                     cudaStream_t stream, double *seconds,
                                     struct fx8_error *error);
enum fx8_status fx8_cuda_stop_timer(struct fx8_cuda_device *device,
                                    cudaStream_t stream,
                                    struct fx8_error *error);

/** Add up the times of finished work. */
enum fx8_status fx8_cuda_read_timers(struct fx8_cuda_device *device,
                                     struct fx8_error *error);

/** Wait for all work of a device and add up its times. */
enum fx8_status fx8_cuda_wait(struct fx8_cuda_device *device,
                              struct fx8_error *error);

/* --- dump.cu -------------------------------------------------------------- */

/** Before a block: if another segment begins with it, add up the one before. */
enum fx8_status fx8_cuda_begin_segment(struct fx8_engine *engine,
                                       const struct fx8_engine_block *block,
                                       struct fx8_error *error);

/** finish_dump() of the table: sums over all devices. */
enum fx8_status fx8_cuda_finish_dump(struct fx8_engine *engine,
                                     struct fx8_engine_dump *dump,
                                     struct fx8_error *error);

/** end_dump() and take_dump() of the table: results from the first device. */
enum fx8_status fx8_cuda_end_dump(struct fx8_engine *engine,
                                  const struct fx8_postprocess *plan,
                                  const struct fx8_result *results,
                                  struct fx8_error *error);
enum fx8_status fx8_cuda_take_dump(struct fx8_engine *engine,
                                   struct fx8_engine_dump *dump, bool *is_taken,
                                   struct fx8_error *error);

/* --- staging.cu ----------------------------------------------------------- */

/**
 * fx8_cuda_send -- queue copies of a slab written by the compute stream.
 *
 * Given: number  of the slab; fx8_cuda_receive() must have freed its slot
 *        rows    n_rows of each array
 * Notes: the slab must not change until it is received
 */
enum fx8_status fx8_cuda_send(
    struct fx8_cuda_device *device, size_t number, size_t n_rows,
    const struct fx8_cuda_rows (&rows)[FX8_CUDA_STAGED],
    struct fx8_error *error);

/** Wait for the slab in the slot of `number`, if any, store it at its
 *  destination and free the slot. */
enum fx8_status fx8_cuda_receive(const struct fx8_engine *engine,
                                 struct fx8_cuda_device *device, size_t number,
                                 struct fx8_error *error);

/** Receive every slab in flight, the oldest first; `next` is the number of the
 *  next slab. */
enum fx8_status fx8_cuda_receive_all(const struct fx8_engine *engine,
                                     struct fx8_cuda_device *device,
                                     size_t next, struct fx8_error *error);

/* --- results.cu ----------------------------------------------------------- */

/** Check that results have the shape that the engine was opened for. */
enum fx8_status fx8_cuda_check_results(const struct fx8_engine *engine,
                                       const struct fx8_postprocess *plan,
                                       struct fx8_error *error);

/**
 * fx8_cuda_make_results -- queue INT8 and FP32 results from the sums on the
 * first device, in its compute stream; the sums become zero.
 *
 * Given: plan, results  as for end_dump()
 *        counts         int64 [n_pairs] valid products, on the host
 * Notes: 1) the results are in flight, device->n_slabs slabs in slots:
 *           fx8_cuda_receive_all()
 *        2) the last kind, INT8 if planned, also stays on the device if there
 *           is memory for it
 */
enum fx8_status fx8_cuda_make_results(struct fx8_engine *engine,
                                      const struct fx8_postprocess *plan,
                                      const struct fx8_result *results,
                                      const int64_t *counts,
                                      struct fx8_error *error);

/* --- consumer.cu: the quick-look
 * ---------------------------------------------- */

/** Its state, on the first device of the first engine. */
struct fx8_cuda_consumer;

/** If it is planned, find its sizes and raise staging_bytes to them; free()
 *  releases it. */
enum fx8_status fx8_cuda_open_consumer(struct fx8_engine *engine,
                                       struct fx8_error *error);

/** List its arrays for memory.cu to allocate; returns their number. */
size_t fx8_cuda_list_consumer(const struct fx8_engine *engine,
                              struct fx8_cuda_array *arrays);

/** Load its kernels. */
cudaError_t fx8_cuda_load_consumer(void);

/** consume() of the table. */
enum fx8_status fx8_cuda_consume(struct fx8_engine *engine, const void *work,
                                 struct fx8_error *error);

/* --- watch.cu ------------------------------------------------------------- */

/** List the arrays for watching on a device, for memory.cu to allocate; returns
 *  their number. */
size_t fx8_cuda_list_watching(const struct fx8_engine *engine,
                              struct fx8_cuda_watching *watching,
                              struct fx8_cuda_array *arrays);

/** Queue a copy of the watched spectra of the last block, which is channelised
 *  and not empty; the previous block in its slot is taken first. */
enum fx8_status fx8_cuda_watch_block(const struct fx8_engine *engine,
                                     struct fx8_cuda_device *device,
                                     size_t n_spectra, struct fx8_error *error);

/** At the end of a dump: queue a copy of the watched sums, by then the totals
 *  on the first device, in its compute stream. */
enum fx8_status fx8_cuda_watch_sums(struct fx8_engine *engine,
                                    struct fx8_error *error);

/** Take the remaining spectra of the ended dump and, with has_sums, the sums;
 *  these must have been queued and their stream waited for. */
enum fx8_status fx8_cuda_take_watched(struct fx8_engine *engine, bool has_sums,
                                      struct fx8_error *error);

/* --- exchange.cu ---------------------------------------------------------- */

/** export_spectra() of the table. */
enum fx8_status fx8_cuda_export_block(struct fx8_engine *engine,
                                      struct fx8_ci8 *int8,
                                      struct fx8_cf32 *fp32,
                                      struct fx8_error *error);

/** Correlate given spectra instead of a block's samples. */
enum fx8_status fx8_cuda_import_block(struct fx8_engine *engine,
                                      struct fx8_cuda_device *device,
                                      const struct fx8_engine_block *block,
                                      enum fx8_block_validity validity,
                                      const struct fx8_ci8 *int8,
                                      const struct fx8_cf32 *fp32,
                                      struct fx8_error *error);

#endif
