/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine_cuda.h -- the state of the CUDA engine, shared by the files that make
 * it up: engine_cuda.cu (life and table), device.cu (which devices, and errors
 * in words), sizes.cu (what follows from the plan), memory.cu (what is
 * allocated), batch.cu (from samples to sums), dump.cu and results.cu (what a
 * dump ends with), staging.cu (how results reach the host), exchange.cu
 * (spectra in and out, for tests), look.cu (what consumes finished dumps),
 * watch.cu (spectra and sums that the engine shows while it works), rehearse.cu
 * (what comes before trials).
 *
 * The blocks of a dump go round the devices; the sums of each are added on the
 * host or, where they become results, on the first device, from one to the
 * other.  On a device a block is done in batches of inputs:
 *
 *     copy     samples of the host -> a slot of the device
 *     compute  samples -> FIR, FFT -> spectra of the block, chunk by chunk
 *
 * The spectra of several blocks are gathered and correlated in one call, since
 * a call reads and writes all sums.  There are as many slots as a call has
 * batches, so that copying goes on while it is correlated.  The host waits for
 * the samples of the block before last, and for nothing else.
 *
 * How many inputs a batch, and how many blocks a call has depends on the memory
 * that is free, and changes no result; a chunk is a function of the plan, so
 * that there is one FFT plan for everything.
 *
 * What comes back does so some of it at a time, a slab: sums, some channels of
 * them; or what the first device makes of a dump, results and then what a
 * consumer makes of these, some baselines of them:
 *
 *     compute  sums -> results
 *     back     results -> memory of the caller where that is pinned; else
 *              -> pinned memory of one of two slots
 *     host     pinned memory of a slot -> memory of the caller
 *
 * The next dump begins meanwhile, where these slots, or the caller's memory,
 * have room for all of it.
 */
#ifndef FX8_KERNELS_CUDA_ENGINE_CUDA_H
#define FX8_KERNELS_CUDA_ENGINE_CUDA_H

#include <cufft.h>

#include "kernels/count_products.h"
#include "kernels/cuda/channelize.h"
#include "kernels/cuda/correlate.h"
#include "kernels/cuda/deadline.h"
#include "kernels/cuda/layout.h"
#include "kernels/cuda/watching.h"
#include "kernels/engine.h"

/** Slabs, and blocks, that are under way at a time. */
#define FX8_CUDA_SLOTS 2

/** Blocks share a call where they end on a fold of the FP32 correlator: its
 *  sums are then those of one call for each. */
#define FX8_CUDA_CALL_UNIT (FX8_MAX_FP32_PRODUCTS / 2)

/** Blocks whose masks a device has at a time: the host may be that far ahead.
 */
#define FX8_CUDA_NOTES 16

/** Most batches whose samples a device has at a time. */
#define FX8_CUDA_MOST_BATCHES 64

/** Pieces of work that are timed at a time: of every batch the F stage, of
 *  every call the correlation. */
#define FX8_CUDA_TIMERS (2 * FX8_CUDA_MOST_BATCHES)

/** When set: the size of a chunk in KiB, smaller than the usual one: for tests
 *  of what happens between chunks, and between slabs of results, which are no
 *  larger. */
#define FX8_CUDA_CHUNK_VARIABLE "FX8_CUDA_CHUNK_KIB"

/** When set: KiB of a device's memory that an engine may take, where less is
 *  free: for tests of what depends on it. */
#define FX8_CUDA_MEMORY_VARIABLE "FX8_CUDA_MEMORY_KIB"

/** Sizes that depend on the plan alone. */
struct fx8_cuda_shape {
    size_t block_spectra;
    size_t most_blocks;   /**< in a call, however much memory is free */
    size_t row;           /**< bytes of a spectrum's samples */
    size_t samples_bytes; /**< from input to input in a slot */
    size_t valid_words;   /**< of an input, of a whole block */
    size_t most_inputs;   /**< in a batch, however much memory is free */
    size_t chunk_inputs, chunk_spectra; /**< through FIR and FFT at a time */
    size_t folded_stride;               /**< floats from spectrum to spectrum */
    size_t n_pairs;
    size_t n_sums;        /**< numbers in the sums of a kind */
    size_t n_baselines;   /**< of results; 0: none are made here */
    size_t plan_bytes;    /**< that results depend on */
    size_t slab_antennas; /**< whose baselines are made at a time ... */
    size_t slab_cells;    /**< ... and cells of these, at most */
    size_t slab_bytes;    /**< what is copied at a time */
    size_t staging_bytes; /**< the same, or the least of sums, results or what
                               a consumer makes, if that is more */
    bool may_keep;        /**< a consumer gets what is made here alone */
};

/** A batch under way: samples of some inputs. */
struct fx8_cuda_slot {
    cudaEvent_t copied; /**< the samples are there */
    cudaEvent_t done;   /**< they became spectra: the slot is free */
};

/** A block under way: what goes with its samples. */
struct fx8_cuda_notes {
    uint64_t *pinned_valid, *valid; /**< [n_inputs][valid_words] */
    cudaEvent_t copied; /**< these, and the samples, have left the host */
    cudaEvent_t done;   /**< nobody looks at them any more */
};

/** The rotation of a block under way, which is large, so that there are few:
 *  [n_inputs][block_spectra]. */
struct fx8_cuda_rotation {
    struct fx8_rotation *pinned, *rotation;
};

/** The spectra that the next correlation is of: blocks, one behind the other.
 */
struct fx8_cuda_call {
    int8_t *x8; /**< layout.h; NULL: not planned */
    float *x32; /**< likewise */
    size_t most_spectra;
    size_t n_spectra;
    size_t last_block; /**< where the last one begins: for export */
    bool has_valid;    /**< there is something to correlate */
};

/** How long a piece of work took. */
struct fx8_cuda_timer {
    cudaEvent_t begin, end;
    double *seconds; /**< what it is added to; NULL: nothing to be added */
};

/** Where what results depend on begins in pinned memory. */
#define FX8_CUDA_PLAN_UNIT 16

/** Arrays of which a slab is made: values, two to a cell or one, and marks. */
#define FX8_CUDA_STAGED 3

/** What becomes of a row where it comes to: bytes replace those there, or
 *  numbers are added to those there. */
typedef void fx8_cuda_place(void *to, const void *from, size_t bytes);

/** Rows of an array of a slab: side by side on the device, apart on the host.
 */
struct fx8_cuda_rows {
    char *to;
    size_t to_pitch;
    const void *from;
    size_t bytes;                    /**< of a row; 0: there is no array */
    fx8_cuda_place *place = nullptr; /**< null: they replace */
};

/** A slab on its way to the host: it is of the stream `back` from `made` on, of
 *  the host from `copied` on. */
struct fx8_cuda_staging {
    char *pinned; /**< [staging_bytes], one array after the other */
    cudaEvent_t made, copied;
    size_t n_rows;
    struct fx8_cuda_rows rows[FX8_CUDA_STAGED];
    bool is_used;
};

/** What makes results of sums, on the first device where they are planned. */
struct fx8_cuda_results {
    struct fx8_product *products; /**< [n_baselines][n_products] */
    int64_t *counts;              /**< [n_pairs] */
    float *gain;                  /**< [n_inputs][n_channels] */
    uint8_t *flag_cell;           /**< likewise */
    double *input_gain;           /**< [n_inputs] */
    uint8_t *flag_input;          /**< likewise */
    uint8_t *flag_channel;        /**< [n_channels] */
    /** [plan_bytes] of the host: the above on its way, since a copy of memory
     *  that is not pinned may wait for all work before it. */
    char *pinned_plan;
    bool keeps;              /**< there is memory for a whole result */
    struct fx8_result slabs; /**< all of them, or those of two slots */
    /** Whose copies `slabs` are, until the next dump; NULL: of nobody's. */
    struct fx8_result kept;
    /** [slots][staging_bytes] sums of other devices; NULL: there are none. */
    char *received;
};

/** Memory of the caller that was pinned; freed with the engine. */
struct fx8_cuda_pinned {
    char *memory;
    size_t bytes;
    struct fx8_cuda_pinned *next;
};

/** An array of the device, or of the host, pinned. */
struct fx8_cuda_array {
    void *pointer;             /**< address of a pointer to objects */
    size_t n_items, item_size; /**< 0: not wanted */
    bool is_pinned;
    bool is_zero; /**< to begin with */
};

/** A device and what the engine has there. */
struct fx8_cuda_device {
    int ordinal;
    char name[64];
    size_t most_pitch; /**< bytes from row to row of one copy */
    cudaStream_t copy, compute, back;
    cudaEvent_t drained; /**< of fx8_cuda_drain() */
    cudaEvent_t ended;   /**< what a dump ended with has left the device */
    double deadline_s;   /**< of the plan; 0: none */
    struct fx8_cuda_slot slots[FX8_CUDA_MOST_BATCHES];
    int8_t *samples; /**< [n_slots][batch_inputs][samples_bytes] */
    struct fx8_cuda_notes notes[FX8_CUDA_NOTES];
    struct fx8_cuda_rotation rotations[FX8_CUDA_SLOTS];
    struct fx8_cuda_staging staging[FX8_CUDA_SLOTS];
    struct fx8_cuda_timer timers[FX8_CUDA_TIMERS];
    size_t n_batches, n_blocks, n_timers; /**< so far: which one is next */
    size_t batch_inputs, n_slots;
    bool has_fft;
    cufftHandle fft;
    size_t fft_bytes;
    void *fft_area;
    float *coefficients;                     /**< [n_taps][row] */
    int16_t *coefficients16;                 /**< likewise, in place of them */
    float scale16;                           /**< of a unit of coefficients16 */
    float *gain;                             /**< [n_inputs][n_channels] */
    unsigned long long *clips, *ended_clips; /**< the latter pinned */
    float *folded; /**< [chunk][folded_stride], FIR and FFT in place */
    struct fx8_cuda_call call;
    /** By kind, [n_sums] as in struct fx8_engine_dump, and what makes them;
     *  NULL: not planned. */
    void *sums[FX8_N_RESULTS];
    const struct fx8_cuda_correlator *correlators[FX8_N_RESULTS];
    bool has_sums;  /**< something was correlated in this dump */
    bool has_ended; /**< of the dump that ended there are clips */
    size_t n_slabs; /**< that are under way of what it ended with */
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
    struct fx8_cuda_device *last;  /**< which had the last block */
    size_t n_spectra;              /**< of that block, for export */
    struct fx8_cuda_notes *taking; /**< whose samples leave; NULL: nobody's */
    struct fx8_product_counts counts;
    int64_t *ended_counts; /**< of the dump that ended */
    struct fx8_cuda_pinned *pinned;
    size_t memory; /**< bytes on the host */
    bool has_failed;
    struct fx8_engine_watch watches[2]; /**< of this dump and the last */
    size_t n_watches;                   /**< so far: which one is next */
    /** Of the dump at hand, and of the one that ended; NULL: none. */
    const struct fx8_engine_watch *watch, *ended_watch;
    char left_out[256]; /**< kernels that failed their trial, and why */
    char device_name[256], kernel_name[320], fft_name[64];
};

/* --- device.cu ------------------------------------------------------------ */

/**
 * fx8_cuda_check -- what a call of the runtime said, in one line.
 *
 * Given:  device  that the call was for, or NULL
 *         format  what was called, "cudaMalloc of 1.2 GiB"
 * Status: FX8_OK for success, else FX8_ERR_DEVICE: "cuda: device 0 (NAME):
 *         WHAT: words of the runtime"
 */
enum fx8_status fx8_cuda_check(cudaError_t code,
                               const struct fx8_cuda_device *device,
                               struct fx8_error *error, const char *format, ...)
    FX8_PRINTF(4, 5);

/** The same of cuFFT. */
enum fx8_status fx8_cuda_check_fft(cufftResult code,
                                   const struct fx8_cuda_device *device,
                                   struct fx8_error *error, const char *what);

/**
 * fx8_cuda_find_devices -- the devices asked for, or the first usable one.
 *
 * Given:    ordinals   [n_ordinals], none: whichever is usable
 * Returned: devices    [n_devices], ordinal and name; the caller frees it
 * Status:   FX8_ERR_UNSUPPORTED: no driver, or a device that is not there or
 *           not usable
 */
enum fx8_status fx8_cuda_find_devices(const int *ordinals, size_t n_ordinals,
                                      struct fx8_cuda_device **devices,
                                      size_t *n_devices,
                                      struct fx8_error *error);

/** Make the device the current one of the thread. */
enum fx8_status fx8_cuda_enter(const struct fx8_cuda_device *device,
                               struct fx8_error *error);

/** Note the end of what is queued in a stream of the device. */
enum fx8_status fx8_cuda_record(const struct fx8_cuda_device *device,
                                cudaEvent_t event, cudaStream_t stream,
                                struct fx8_error *error);

/** Hold what is queued next in a stream of the device until an event, which may
 *  be another device's; one that was never recorded holds nothing. */
enum fx8_status fx8_cuda_hold(const struct fx8_cuda_device *device,
                              cudaStream_t stream, cudaEvent_t event,
                              struct fx8_error *error);

/**
 * fx8_cuda_await -- wait for an event of the device: every wait of the engine.
 *
 * Given:  what  is waited for, "correlating", for the message
 * Status: FX8_ERR_DEVICE: what the runtime says, or the deadline has passed:
 *         the device is stuck from then on
 */
enum fx8_status fx8_cuda_await(const struct fx8_cuda_device *device,
                               cudaEvent_t event, const char *what,
                               struct fx8_error *error);

/** Whether what an event of the device notes is over, without a wait. */
enum fx8_status fx8_cuda_is_over(const struct fx8_cuda_device *device,
                                 cudaEvent_t event, bool *is_over,
                                 struct fx8_error *error);

/** Wait for all that is queued in a stream of the device. */
enum fx8_status fx8_cuda_drain(const struct fx8_cuda_device *device,
                               cudaStream_t stream, const char *what,
                               struct fx8_error *error);

/** Where there is a deadline: wait for what was just queued to be computed, so
 *  that no kernel is loaded behind one that never ends, which is named. */
enum fx8_status fx8_cuda_settle(const struct fx8_cuda_device *device,
                                const char *what, struct fx8_error *error);

/* --- sizes.cu ------------------------------------------------------------- */

/** Sizes of a plan. */
void fx8_cuda_lay_out(struct fx8_engine *engine);

/** 16-byte vectors from channel to channel of spectra of `times_per_vector`
 *  times each, of a call with room for most_spectra. */
size_t fx8_cuda_stride(const struct fx8_engine *engine, size_t most_spectra,
                       size_t times_per_vector);

/* --- memory.cu ------------------------------------------------------------ */

/**
 * fx8_cuda_prepare -- streams, events and FFT plan of a device, and how many
 * inputs its memory allows in a batch.
 *
 * Status: FX8_ERR_DEVICE; FX8_ERR_SYSTEM, with the figures, when memory is
 *         short; what was
 *         made is released by fx8_cuda_release(), also after a failure
 */
enum fx8_status fx8_cuda_prepare(struct fx8_engine *engine,
                                 struct fx8_cuda_device *device,
                                 struct fx8_error *error);

/** Then its memory, and what is zero or constant in it. */
enum fx8_status fx8_cuda_allocate(struct fx8_engine *engine,
                                  struct fx8_cuda_device *device,
                                  struct fx8_error *error);

/** Wait for all that was queued, whatever became of it: another device may be
 *  writing what is given back next. */
void fx8_cuda_quiesce(const struct fx8_cuda_device *device);

/** Give everything back, when all devices are quiet; a device of which nothing
 *  was allocated is legal. */
void fx8_cuda_release(const struct fx8_engine *engine,
                      struct fx8_cuda_device *device);

/** As pin() of the table. */
void fx8_cuda_pin(struct fx8_engine *engine, void *memory, size_t bytes);

/** Whether all of it is pinned. */
bool fx8_cuda_is_pinned(const struct fx8_engine *engine, const void *memory,
                        size_t bytes);

/** Give back what was pinned. */
void fx8_cuda_unpin(struct fx8_engine *engine);

/** "1.2 GiB" of a number of bytes; a text of its own for each call but eight.
 */
const char *fx8_cuda_bytes(size_t bytes);

/* --- rehearse.cu ---------------------------------------------------------- */

/** Load every correlator, and what makes results and quick-looks. */
enum fx8_status fx8_cuda_load_kernels(const struct fx8_cuda_device *device,
                                      struct fx8_error *error);

/** In a trial, before there are correlators: channelise zeros and export them,
 *  so that all that has a part in it is loaded, and has ended once. */
enum fx8_status fx8_cuda_rehearse(struct fx8_engine *engine,
                                  struct fx8_cuda_device *device,
                                  struct fx8_error *error);

/* --- batch.cu ------------------------------------------------------------- */

/** Channelise a block, and correlate when a call is full; returns when the
 *  samples of the block before were taken. */
enum fx8_status fx8_cuda_push_block(struct fx8_engine *engine,
                                    struct fx8_cuda_device *device,
                                    const struct fx8_engine_block *block,
                                    enum fx8_block_validity validity,
                                    struct fx8_error *error);

/**
 * What is known of a block on the device, before and after its batches: it gets
 * its place in a call, masks and rotation are copied; a full call is
 * correlated.
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

/** Wait until the host's memory of the last block is free. */
enum fx8_status fx8_cuda_await_samples(struct fx8_engine *engine,
                                       const struct fx8_cuda_device *device,
                                       struct fx8_error *error);

/** Correlate what was gathered. */
enum fx8_status fx8_cuda_end_call(struct fx8_engine *engine,
                                  struct fx8_cuda_device *device,
                                  struct fx8_error *error);

/** The arrays of spectra, from the beginning of the last block on. */
struct fx8_cuda_spectra fx8_cuda_last_block(
    const struct fx8_engine *engine, const struct fx8_cuda_device *device);

/** Add up the times of what is done. */
enum fx8_status fx8_cuda_read_timers(struct fx8_cuda_device *device,
                                     struct fx8_error *error);

/** Wait for all work of a device and add up its times. */
enum fx8_status fx8_cuda_wait(struct fx8_cuda_device *device,
                              struct fx8_error *error);

/* --- dump.cu -------------------------------------------------------------- */

/** The sums of a dump, of all devices, as finish_dump() of the table. */
enum fx8_status fx8_cuda_finish_dump(struct fx8_engine *engine,
                                     struct fx8_engine_dump *dump,
                                     struct fx8_error *error);

/** Its results, made by the first device, as end_dump() and take_dump() of the
 *  table. */
enum fx8_status fx8_cuda_end_dump(struct fx8_engine *engine,
                                  const struct fx8_postprocess *plan,
                                  const struct fx8_result *results,
                                  struct fx8_error *error);
enum fx8_status fx8_cuda_take_dump(struct fx8_engine *engine,
                                   struct fx8_engine_dump *dump, bool *is_taken,
                                   struct fx8_error *error);

/* --- staging.cu ----------------------------------------------------------- */

/**
 * fx8_cuda_send -- queue copies of a slab that the compute stream makes.
 *
 * Given: number  of the slab, whose slot is free: fx8_cuda_receive()
 *        rows    n_rows of each array
 * Notes: the slab must stay as it is until it is received
 */
enum fx8_status fx8_cuda_send(
    struct fx8_cuda_device *device, size_t number, size_t n_rows,
    const struct fx8_cuda_rows (&rows)[FX8_CUDA_STAGED],
    struct fx8_error *error);

/** Wait for the slab that has the slot of `number`, if any, and bring it to its
 *  places: the slot is free. */
enum fx8_status fx8_cuda_receive(const struct fx8_engine *engine,
                                 struct fx8_cuda_device *device, size_t number,
                                 struct fx8_error *error);

/** Every slab under way, the oldest first: `next` would be the next one. */
enum fx8_status fx8_cuda_receive_all(const struct fx8_engine *engine,
                                     struct fx8_cuda_device *device,
                                     size_t next, struct fx8_error *error);

/* --- results.cu ----------------------------------------------------------- */

/** Whether results are of the shape that the engine was opened for. */
enum fx8_status fx8_cuda_check_results(const struct fx8_engine *engine,
                                       const struct fx8_postprocess *plan,
                                       struct fx8_error *error);

/**
 * fx8_cuda_make_results -- INT8's and FP32's, of the sums that the first device
 * has, by its compute stream; the sums are left zero.
 *
 * Given: plan, results  as for end_dump()
 *        counts         int64 [n_pairs] valid products, of the host
 * Notes: 1) the results are on their way, device->n_slabs of them in slots:
 *           fx8_cuda_receive_all()
 *        2) the last of them, INT8's if planned, stay on the device too where
 *           it keeps them
 */
enum fx8_status fx8_cuda_make_results(struct fx8_engine *engine,
                                      const struct fx8_postprocess *plan,
                                      const struct fx8_result *results,
                                      const int64_t *counts,
                                      struct fx8_error *error);

/* --- look.cu: the consumer of finished dumps ------------------------------ */

/** What it has, on the first device of the first engine. */
struct fx8_cuda_consumer;

/** Find its sizes, if it is planned, and raise staging_bytes to them; free()
 *  releases it. */
enum fx8_status fx8_cuda_open_consumer(struct fx8_engine *engine,
                                       struct fx8_error *error);

/** Its arrays, as memory.cu allocates them; how many. */
size_t fx8_cuda_list_consumer(const struct fx8_engine *engine,
                              struct fx8_cuda_array *arrays);

/** Load its kernels. */
cudaError_t fx8_cuda_load_consumer(void);

/** As consume() of the table. */
enum fx8_status fx8_cuda_consume(struct fx8_engine *engine, const void *work,
                                 struct fx8_error *error);

/* --- watch.cu ------------------------------------------------------------- */

/** What watching takes on a device: its arrays, as memory.cu allocates them,
 *  how many; stream and events; these given back. */
size_t fx8_cuda_list_watching(const struct fx8_engine *engine,
                              struct fx8_cuda_watching *watching,
                              struct fx8_cuda_array *arrays);
enum fx8_status fx8_cuda_open_watching(struct fx8_cuda_device *device,
                                       struct fx8_error *error);
void fx8_cuda_close_watching(const struct fx8_cuda_watching *watching);

/** Queue a copy of the watched spectra of the last block, which is channelised
 *  and not empty; that which had its slot is taken. */
enum fx8_status fx8_cuda_watch_block(const struct fx8_engine *engine,
                                     struct fx8_cuda_device *device,
                                     size_t n_spectra, struct fx8_error *error);

/** The dump ends: queue a copy of the watched sums, which the first device has
 *  of all, in its compute stream. */
enum fx8_status fx8_cuda_watch_sums(struct fx8_engine *engine,
                                    struct fx8_error *error);

/** What is still to be taken of the dump that ended, and, where they were
 *  queued and that stream was waited for, the sums. */
enum fx8_status fx8_cuda_take_watched(struct fx8_engine *engine, bool has_sums,
                                      struct fx8_error *error);

/* --- exchange.cu ---------------------------------------------------------- */

/** The spectra of the last block, as export_spectra() of the table. */
enum fx8_status fx8_cuda_export_block(struct fx8_engine *engine,
                                      struct fx8_ci8 *int8,
                                      struct fx8_cf32 *fp32,
                                      struct fx8_error *error);

/** Spectra in place of a block's samples, and correlate them. */
enum fx8_status fx8_cuda_import_block(struct fx8_engine *engine,
                                      struct fx8_cuda_device *device,
                                      const struct fx8_engine_block *block,
                                      enum fx8_block_validity validity,
                                      const struct fx8_ci8 *int8,
                                      const struct fx8_cf32 *fp32,
                                      struct fx8_error *error);

#endif
