/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fx8.h -- the public header of libfx8: voltages in, visibilities out.
 *
 * Plan a correlation, open a session, push blocks of samples, take finished
 * dumps.  The library never prints, never exits and installs no signal handler.
 *
 *     struct fx8_plan plan = fx8_plan_default();
 *     ... fill in sizes, rates ...
 *     fx8_open(&plan, NULL, NULL, &session, &error);
 *     while (more samples) {
 *         while ((status = fx8_push(session, &block, &error)) ==
 *                FX8_DUMP_READY)
 *             use(fx8_take_dump(session));
 *         if (status != FX8_OK)
 *             ... error.message says why ...
 *     }
 *     while (fx8_finish(session, NULL, &error) == FX8_DUMP_READY)
 *         use(fx8_take_dump(session));
 *     fx8_close(&session);
 *
 * With a callback in place of the first NULL, dumps arrive there instead, on
 * the thread that pushes.
 *
 * Whole programs: memory.c and follow.c of the examples.
 *
 * Errors.  A function that can fail returns a status, negative for a failure,
 * and then fills the caller's error record (NULL: none wanted); otherwise it
 * leaves the record alone.  Arguments that cannot be are FX8_ERR_USAGE and
 * change nothing.  After any other failure the session takes no more samples:
 * questions are still answered, every other call repeats that status, and
 * fx8_close() is due.
 *
 * Pointers.  None may be NULL but where that is said.  Functions that return a
 * status refuse it with FX8_ERR_USAGE; to the others it is undefined, and so
 * is a session that was closed.
 *
 * Threads.  Sessions know nothing of each other: there may be many, in as many
 * threads.  One session is for one thread at a time, but for fx8_cancel().
 * The threads that it computes with live within the calls.  Functions of
 * plans, times and errors keep no state.
 *
 * Layout.  Structures are filled by name, from fx8_plan_default() or from
 * zeros, never by position.  They keep their layout as long as the library
 * keeps its soname: see CHANGELOG.md.  C11 or C++11 and later.
 *
 * Signs, axes and units: CONVENTIONS.md.
 */
#ifndef FX8_H
#define FX8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version that this header belongs to; fx8_version() tells the library's. */
#define FX8_VERSION_MAJOR 0
#define FX8_VERSION_MINOR 1
#define FX8_VERSION_PATCH 0

/* --- statuses and errors ------------------------------------------------- */

/** What libfx8 offers to others, and nothing else, is marked with this. */
#ifndef FX8_API
#define FX8_API __attribute__((visibility("default")))
#endif

/** What a function of fx8 returns.  Zero is success; negative is failure;
 *  positive is success with something the caller must attend to. */
enum fx8_status {
    FX8_OK = 0,
    FX8_DUMP_READY = 1,     /**< fx8_take_dump(), then make the call again */
    FX8_ERR_USAGE = -1,     /**< wrong use or configuration: exit 2 */
    FX8_ERR_INPUT = -2,     /**< a file's content is unusable: exit 1 */
    FX8_ERR_SYSTEM = -3,    /**< disk, memory, thread: exit 1 */
    FX8_ERR_CANCELLED = -4, /**< cancelled by the caller: exit 130 */
    FX8_ERR_UNSUPPORTED =
        -5,             /**< not in this build or on this machine: exit 1 */
    FX8_ERR_DEVICE = -6 /**< a GPU failed, or computed wrongly: exit 1; the CPU
                             may do what it did not: see fx8_push() */
};

/** Longest message in an error record, terminator included. */
#define FX8_ERROR_MESSAGE_SIZE 1024

/** Error record: owned by the caller, filled by the failing function.  The
 *  message is one line without a trailing newline, in the form
 *  "FILE[:LINE]: KEY or DATASET: value: what was expected". */
struct fx8_error {
    enum fx8_status status;
    char message[FX8_ERROR_MESSAGE_SIZE];
};

#if defined(__GNUC__)
#define FX8_PRINTF(nth, first) __attribute__((format(printf, nth, first)))
#else
#define FX8_PRINTF(nth, first)
#endif

/**
 * fx8_fail -- fill an error record and return its status: how a dump callback
 * gives its reason.
 *
 * Given:     error   record to fill, or NULL to keep only the status
 *            status  a negative enum fx8_status
 *            format  printf format of the message, and its arguments; control
 *                    characters in the result (a file name may hold a
 *                    newline) become '?', what is too long is cut off
 * Status:    returns `status`, so that `return fx8_fail(...)` reads well
 */
FX8_API enum fx8_status fx8_fail(struct fx8_error *error,
                                 enum fx8_status status, const char *format,
                                 ...) FX8_PRINTF(3, 4);

/* --- times -----------------------------------------------------------------
 */

/** Picoseconds in a second. */
#define FX8_PICOSECONDS INT64_C(1000000000000)

/** UTC instant: seconds since 1970-01-01 as Unix counts them (leap seconds
 *  not counted) and picoseconds, 0 <= picosecond < FX8_PICOSECONDS. */
struct fx8_time {
    int64_t unix_s;
    int64_t picosecond;
};

/** Sampling rate numerator/denominator in Hz; both positive, lowest terms. */
struct fx8_rate {
    int64_t numerator_hz;
    int64_t denominator;
};

/** Rate as a double in Hz, for widths and frequencies, never for time. */
FX8_API double fx8_rate_hz(struct fx8_rate rate);

/** `rate` in lowest terms. */
FX8_API struct fx8_rate fx8_rate_reduced(struct fx8_rate rate);

/**
 * fx8_time_add_half_samples -- start + half_samples / (2 * rate).
 *
 * Given:    half_samples  int64  may be negative; half samples because the
 *                         centre of a dump may lie between two samples
 * Returned: the instant, rounded to the nearest picosecond
 * Numerics: exact 128-bit integers; |half_samples| * denominator < 2^86
 */
FX8_API struct fx8_time fx8_time_add_half_samples(struct fx8_time start,
                                                  int64_t half_samples,
                                                  struct fx8_rate rate);

/**
 * fx8_time_julian_date -- Julian date (UTC) of an instant, in days, as ERFA,
 * astropy and pyuvdata read it: a day that ends in a leap second (since 1972,
 * the last 2016-12-31) has 86,401 s.
 *
 * Numerics: one rounding to double (40 microseconds in this century)
 */
FX8_API double fx8_time_julian_date(struct fx8_time time);

/** The instant of a Julian date (UTC), to the nearest 0.1 ms.  In a leap second
 *  it is 23:59:59 with one second and more in `picosecond`.  1970-01-01 where
 *  the date is NaN or beyond 10^12 days. */
FX8_API struct fx8_time fx8_time_from_julian_date(double julian_date);

/* --- plans -----------------------------------------------------------------
 */

/** How samples become channels. */
enum fx8_method {
    FX8_METHOD_PFB = 0, /**< polyphase filter bank: FIR and FFT */
    FX8_METHOD_FFT,     /**< plain FFT */
    FX8_METHOD_NONE     /**< one channel: the recorded integers */
};

/** Window of the prototype filter; AUTO: Hamming for PFB, else rectangular. */
enum fx8_window_shape {
    FX8_WINDOW_AUTO = 0,
    FX8_WINDOW_HAMMING,
    FX8_WINDOW_HANN,
    FX8_WINDOW_RECTANGULAR
};

/** Arithmetic of the FIR: floats, or integers with coefficients of 16 bits. */
enum fx8_fir { FX8_FIR_FP32 = 0, FX8_FIR_DP2A };

/** What one quantiser gain covers. */
enum fx8_level {
    FX8_LEVEL_CHANNEL = 0, /**< one gain per input and channel */
    FX8_LEVEL_INPUT        /**< one gain per input */
};

/** Kinds of result: of integers, of floats, and bounds of the exact sums of
 *  these floats, by directed rounding. */
enum fx8_result_kind {
    FX8_RESULT_INT8 = 0,
    FX8_RESULT_FP32,
    FX8_RESULT_DOWN,
    FX8_RESULT_UP,
    FX8_N_RESULTS
};

/** Precision of the correlation: the kinds of result, a bit for each. */
enum fx8_precision {
    FX8_PRECISION_INT8 = 1 << FX8_RESULT_INT8,
    FX8_PRECISION_FP32 = 1 << FX8_RESULT_FP32,
    FX8_PRECISION_BOTH = FX8_PRECISION_INT8 | FX8_PRECISION_FP32,
    FX8_PRECISION_INTERVAL = 1 << FX8_RESULT_DOWN | 1 << FX8_RESULT_UP
};

/** Functions of the post-processing: those of the C library, or approximate
 *  ones of known error. */
enum fx8_math { FX8_MATH_IEEE = 0, FX8_MATH_FAST };

/** Which engine; AUTO: CUDA where a usable device is, else the CPU. */
enum fx8_backend { FX8_BACKEND_AUTO = 0, FX8_BACKEND_CPU, FX8_BACKEND_CUDA };

/** Whether a few sums of every dump are checked on the CPU; AUTO: where another
 *  machine computes. */
enum fx8_spot_check { FX8_SPOT_AUTO = 0, FX8_SPOT_YES, FX8_SPOT_NO };

/** Spectra from which the gains of an input are set. */
#define FX8_LEVEL_SPECTRA 256

/** Most whole dumps that may be missing between two blocks, or before the
 * first: 12 days of dumps of 1 s. */
#define FX8_MAX_MISSING_DUMPS 1048576

/** Most antennas of a plan: pairs of inputs are counted in 32 bits. */
#define FX8_MAX_ANTENNAS 32768

struct fx8_block;

/**
 * fx8_reread_callback -- delivers samples again, for a plan whose session need
 * not keep those that it sets gains from.
 *
 * Given:    context       the plan's
 *           first_sample  absolute
 * Returned: block  samples as they were pushed, from first_sample on or, where
 *                  those are missing, from a later one; at least one of them.
 *                  Memory of the caller, left as it is until the callback is
 *                  called again, or fx8_close()
 *           error  never NULL; for a failure, filled by fx8_fail()
 * Status:   negative: the session is stopped, and fx8_push() or fx8_finish()
 *           returns this status and the record
 * Notes:    as note 1 of fx8_dump_callback
 */
typedef enum fx8_status fx8_reread_callback(void *context, int64_t first_sample,
                                            struct fx8_block *block,
                                            struct fx8_error *error);

/**
 * What to correlate.  Fill it from fx8_plan_default(); it is copied by
 * fx8_open(), arrays included.
 *
 * Inputs are numbered antenna-major: input = antenna * n_polarizations + pol.
 *
 * Samples may be of several bands, recorded side by side at one rate, each
 * channelised and correlated by itself.  What is said "of a row" below is of
 * one input in one band: row = band * n_inputs + input.  Channels of the
 * results run through the bands in ascending order.
 */
struct fx8_plan {
    /* the samples */
    bool is_complex;             /**< int8 {re, im} pairs, else real int8 */
    size_t n_antennas;           /**< 1 .. FX8_MAX_ANTENNAS */
    size_t n_polarizations;      /**< 1 (X) or 2 (X, Y) */
    struct fx8_rate sample_rate; /**< real or complex samples a second of one
                                      band, in lowest terms: see
                                      fx8_rate_reduced() */
    double dc_frequency_hz;      /**< sky frequency of baseband zero */
    bool lower_sideband; /**< the sky frequency falls as baseband rises */
    size_t n_bands;      /**< 1 .. 4096 */
    const double
        *band_offset_hz; /**< [n_bands] ascending: baseband zero of a band is
                              at dc_frequency_hz + this; NULL: one band at 0 */
    const double *input_gain; /**< [n_bands][n_inputs] powers of two at most 1
                                   that recorded values were multiplied by:
                                   divided out of all results; NULL: 1 */
    int64_t first_sample;     /**< absolute index at which spectrum 0 starts */
    bool has_marker;          /**< a value stands for missing samples … */
    int marker_value;         /**< … this one, in both parts if complex … */
    int64_t marker_run; /**< … where at least this many follow each other */

    /* the filter bank */
    enum fx8_method method;
    size_t n_channels; /**< C of a band; 1 for FX8_METHOD_NONE */
    size_t n_kept;     /**< K, the central channels of each band that are kept,
                            k = -floor(K/2) .. -floor(K/2)+K-1; complex samples
                            only; 0: all */
    size_t n_taps;     /**< P, 1 .. 64, for FX8_METHOD_PFB */
    enum fx8_window_shape window;
    enum fx8_fir fir;  /**< arithmetic of the filter */
    size_t flag_edges; /**< channels flagged at each end of a band's K */
    bool flag_dc;      /**< flag the channel of baseband zero */

    /* the quantiser */
    double target_rms; /**< LSB per real component */
    enum fx8_level level;
    fx8_reread_callback *reread; /**< delivers samples again that the gains
                                      were set from; NULL: the session keeps
                                      them until it knows the gains */
    void *reread_context;

    /* the correlator */
    enum fx8_precision precision; /**< any of the bits */
    enum fx8_backend backend;
    const char *device;       /**< GPUs: "auto" or ordinals, "0" or "0,1" */
    const char *kernel;       /**< "auto" or one of the engine's kernels, which
                                   the refusal of any other lists */
    int64_t spectra_per_dump; /**< M, at least 1 */
    size_t n_threads;         /**< 0: all CPUs of the process; at most 1024 */
    bool pin_threads;         /**< each of them to a CPU */
    bool measure_fft;         /**< time FFT algorithms instead of estimating:
                                   the last bits may differ from run to run */
    enum fx8_spot_check spot_check; /**< in every dump, a few sums formed again
                                         from the same spectra */
    size_t memory_limit; /**< bytes of engine, levels, samples and results;
                              what needs more does not open, and the
                              message names the least that will do.  For
                              samples kept to set gains from it names, once
                              these are known, what they took.  0: none */

    /* the results */
    bool remove_quantization_bias; /**< the quantiser's noise, from the
                                        parallel-hand autos of INT8 */
    size_t channel_average;      /**< n, a divisor of a band's K channels; where
                                      K is 1, of the bands */
    const uint8_t *flag_antenna; /**< [n_antennas] 1: flag; NULL: none */
    bool quicklook;     /**< look at the INT8 results, else at the FP32 ones */
    enum fx8_math math; /**< functions of the quick-look */
};

/** A plan with every default: complex samples of one polarisation and one
 *  band, upper sideband, from sample 0 on, no marker (runs of 64 where one is
 *  set); PFB of 8 taps, window AUTO, FIR in floats, all channels, none flagged;
 *  INT8 at 20 LSB by channel, its noise removed; engine, device and kernel
 *  "auto", all CPUs, no limit of memory; no average, no quick-look.  Zero or
 *  NaN, to be filled in: n_antennas, sample_rate, dc_frequency_hz, n_channels
 *  and spectra_per_dump. */
FX8_API struct fx8_plan fx8_plan_default(void);

/** A stretch of samples that is missing. */
struct fx8_run {
    int64_t first_sample; /**< absolute index, between -2^61 and 2^61 */
    int64_t n_samples;    /**< at least 0 */
    int64_t input; /**< a row, band * n_inputs + input; -1: all of them */
};

/**
 * A block of consecutive samples of all inputs in all bands; memory of the
 * caller, who may use it again when the call returns (but see in_place).
 *
 * Sample t of row i, relative to first_sample, stands at
 * samples + input_offset[i] + t * time_stride (bytes): any order of axes will
 * do, and samples are fetched fastest where those of one row, or of all rows
 * at one time, stand side by side.
 */
struct fx8_block {
    const int8_t *samples;         /**< real, or pairs re, im; may be NULL where
                                        n_samples is 0, like input_offset */
    const ptrdiff_t *input_offset; /**< [n_bands][n_inputs] bytes */
    ptrdiff_t time_stride;         /**< bytes, may be negative */
    int64_t first_sample;          /**< absolute index, 0 to below 2^61 */
    int64_t n_samples;             /**< 0 to below 2^61 */
    const struct fx8_run
        *missing; /**< [n_missing] in any order; what of them lies outside the
                       block is not looked at.  NULL where there are none */
    size_t n_missing;
    int8_t *in_place; /**< `samples`, where fx8_push() may use and overwrite
                           them in their place.  The block is lent then, until
                           an fx8_push() of another block, fx8_finish() (each
                           FX8_OK) or fx8_close() has returned.  It is copied
                           nowhere if
                           the samples of an input lie side by side and each
                           input n_samples + room or more behind the one before,
                           all equally far.  NULL: samples are only read */
    int64_t room;     /**< of in_place: samples in front of each input's first
                           that may be overwritten.  Fewer than the filter
                           reaches back for: the block is copied */
};

/** A result of a dump, axes [n_baselines][n_channels][n_products]; NULL
 *  pointers: it was not planned. */
struct fx8_result {
    float *visibilities; /**< [...][re, im] conj(E_1) E_2, input counts^2 */
    uint8_t *flags;      /**< 1: flagged.  Without a valid product value and
                              weight are 0; what the plan flags, and what has
                              a dead input or one without power to set its
                              level by, keeps its data */
    float *nsamples;     /**< valid products / M, 0 .. 1 */
};

/* --- the quick-look ------------------------------------------------------ */

/** Coherences are stored times this, so that the normal halves reach from
 *  3.7e-9 to 3.998. */
#define FX8_COHERENCE_SCALE 16384.0f

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

/* --- sessions ---------------------------------------------------------------
 */

/** A finished dump; valid until the callback returns, or until the session's
 *  next call that is not a question. */
struct fx8_dump {
    int64_t index;      /**< 0 is the dump that starts at first_sample */
    size_t n_baselines; /**< n_antennas (n_antennas + 1) / 2 */
    size_t n_channels;  /**< of all bands, after channel_average */
    size_t n_products;  /**< 1: XX; 4: XX, YY, XY, YX */
    struct fx8_result results[FX8_N_RESULTS]; /**< by enum fx8_result_kind.
                                                   DOWN, UP: no component is
                                                   above, none below that of
                                                   the exact sum of the float
                                                   spectra; flags and weights
                                                   are those of FP32 */
    const uint8_t *dead; /**< [n_bands][n_inputs] 1: all samples zero in this
                              dump */
    struct fx8_quicklook_dump quicklook; /**< NULL pointers: not planned */
};

/**
 * fx8_dump_callback -- receives each dump, in order, on the thread that pushes,
 * flushes or finishes.
 *
 * Given:    context  as fx8_open() got it
 *           dump     what points anywhere in it is valid until the return
 * Returned: error    never NULL; for a failure, filled by fx8_fail()
 * Status:   negative: the session is stopped, and fx8_push() or fx8_finish()
 *           returns this status and the record; anything else: it goes on
 * Notes:    1) it may ask questions of its session, and fx8_cancel() it.
 *              Other calls are FX8_ERR_USAGE, and fx8_close() does nothing.  It
 *              must return: no longjmp() nor exception may leave it
 *           2) it may be called some blocks after the last one of the dump, at
 *              the latest by fx8_flush() or fx8_finish()
 */
typedef enum fx8_status fx8_dump_callback(void *context,
                                          const struct fx8_dump *dump,
                                          struct fx8_error *error);

/** Counters, and seconds by the clock on the wall within the calls, since
 *  fx8_open(). */
struct fx8_statistics {
    int64_t n_dumps;
    int64_t n_spectra;       /**< spectra correlated, per row */
    int64_t n_valid_spectra; /**< summed over rows */
    int64_t n_clipped;       /**< spectra × channels clamped, over rows */
    int64_t n_level_rounds;  /**< times that gains were set, for rows that had
                                  begun to deliver */
    double align_s;          /**< corner turn, masks */
    double channelize_s;     /**< FIR, FFT, quantise */
    double correlate_s;
    double postprocess_s; /**< without the quick-look */
    double quicklook_s;
    double level_s; /**< level setting */
    double spot_s;  /**< the spot check, in none of the others */
};

/** A correlation under way; all its memory belongs to the library. */
struct fx8_session;

/**
 * fx8_open -- check the plan, choose an engine, allocate.
 *
 * Given:     plan      copied
 *            callback  receives the dumps, and context, which may be NULL;
 *                      NULL: they wait for fx8_take_dump()
 * Returned:  session   fx8_close() releases it; NULL on failure
 * Status:    FX8_ERR_USAGE: a member of the plan is out of range, named;
 *            FX8_ERR_UNSUPPORTED: backend or kernel not on this machine;
 *            FX8_ERR_DEVICE: a GPU that fails, or computes wrongly in a trial
 *            beside the CPU, where the backend or kernel asks for it;
 *            FX8_ERR_SYSTEM: memory, threads
 */
FX8_API enum fx8_status fx8_open(const struct fx8_plan *plan,
                                 fx8_dump_callback *callback, void *context,
                                 struct fx8_session **session,
                                 struct fx8_error *error);

/**
 * fx8_push -- hand over samples.
 *
 * Status: FX8_OK: consumed; FX8_DUMP_READY, without a callback: take the dump,
 *         then push the same block again (what of it was consumed is skipped);
 *         FX8_ERR_USAGE: a range below 0 or too far out, a missing stretch of
 *         an unknown row, more than FX8_MAX_MISSING_DUMPS before the block, a
 *         session that is finished;
 *         FX8_ERR_CANCELLED: fx8_cancel(); FX8_ERR_SYSTEM: memory, and what
 *         memory_limit allows of it, a sum that the spot check finds wrong,
 *         whose dump is not delivered; FX8_ERR_DEVICE: a GPU fails; what a
 *         callback returned, or FX8_ERR_USAGE where reread delivers nothing
 * Notes:  1) blocks ascend in time; samples between two blocks, and between
 *            the plan's first_sample and the first block, are missing: dumps
 *            of nothing else are delivered too, flagged; samples that were
 *            consumed already are skipped
 *         2) block sizes never change a result
 *         3) INT8: where inputs begin to deliver, a session that was given no
 *            gains waits for FX8_LEVEL_SPECTRA spectra of them before it
 *            correlates on.  The gain of an input and channel, for samples as
 *            pushed, is target_rms / sigma, sigma^2 = median(|X|^2) / (2 ln 2),
 *            / 0.45494 in channel 0 of real samples, over the first of its
 *            spectra that are valid and not all zero; 1 where the median is at
 *            most 2^-40 of the power of all bins, zero but for rounding, and
 *            that input and channel is flagged.  An input that begins and then
 *            delivers nothing holds back all dumps until fx8_finish()
 *         4) after FX8_ERR_DEVICE the session can only be closed; dumps that
 *            were delivered are right.  A new session with FX8_BACKEND_CPU
 *            starts over, or goes on behind them, with first_sample moved by
 *            whole dumps and the gains that the first one had: fx8_gains()
 */
FX8_API enum fx8_status fx8_push(struct fx8_session *session,
                                 const struct fx8_block *block,
                                 struct fx8_error *error);

/**
 * fx8_pin -- memory that blocks will be pushed from in place, so that a GPU
 * reads it while the CPU goes on.
 *
 * Notes: it must stay until fx8_close() has returned; memory that cannot be
 *        pinned, or of less than 2 MiB, does as well, but slower
 */
FX8_API void fx8_pin(struct fx8_session *session, void *memory, size_t bytes);

/**
 * fx8_block_end -- where a block to be used in place should end: up to there
 * spectra are correlated at once, unless it ends with what may be missing
 * markers.
 *
 * Given:    first_sample  of the block, from 0 to below 2^61
 *           most          samples that are wanted, 0 to below 2^61
 * Returned: the last such place within `most` samples, or else the first
 * Notes:    callable from any thread while the session is open
 */
FX8_API int64_t fx8_block_end(const struct fx8_session *session,
                              int64_t first_sample, int64_t most);

/** No more samples: gains that are waited for are set from what there is, and
 *  the last dump is delivered if it is complete.  An incomplete one is dropped;
 *  `dropped_spectra` (may be NULL) says how many spectra it held.  A second
 *  call does nothing and says the same.  Status as fx8_push(); the session
 *  takes no more samples after FX8_DUMP_READY either. */
FX8_API enum fx8_status fx8_finish(struct fx8_session *session,
                                   int64_t *dropped_spectra,
                                   struct fx8_error *error);

/** Deliver the dump that has ended, if it was not yet, after a wait: with
 *  CUDA the next one begins while its results return, and a later call delivers
 *  it.  Status as fx8_push(). */
FX8_API enum fx8_status fx8_flush(struct fx8_session *session,
                                  struct fx8_error *error);

/** The dump that FX8_DUMP_READY is about, or NULL.  It is valid until the next
 *  call of the session that is not a question. */
FX8_API const struct fx8_dump *fx8_take_dump(struct fx8_session *session);

/** Make the running or next fx8_push() or fx8_finish(), and all after it,
 *  return FX8_ERR_CANCELLED; callable from any thread and from a signal handler
 *  while the session is open. */
FX8_API void fx8_cancel(struct fx8_session *session);

/** Release and null the handle; a NULL handle is legal.  Nothing more is
 *  delivered: fx8_finish() first. */
FX8_API void fx8_close(struct fx8_session **session);

/* --- questions, answered from opening to closing ---------------------------
 */

/** Counters so far. */
FX8_API void fx8_get_statistics(const struct fx8_session *session,
                                struct fx8_statistics *statistics);

/** What a session turned out to be; texts are never NULL and live with it. */
struct fx8_session_info {
    const char *backend; /**< "cpu" or "cuda" */
    const char *reason;  /**< why it is this engine, one line */
    bool is_spare;       /**< the CPU computes because a GPU that is there
                              fails; the reason says how */
    const char *device;  /**< "0 NVIDIA H200"; "" for the CPU */
    const char *kernel;  /**< "avx512" or "wgmma" */
    const char *fft_plan;
};

FX8_API struct fx8_session_info fx8_info(const struct fx8_session *session);

/** Gains of the quantiser, from recorded counts to its steps; NULL pointers
 *  where a plan has no quantiser. */
struct fx8_input_gains {
    const float *gain; /**< [n_inputs][n_fine]: an input_gain is part
                            of them, and all there is where not set */
    const uint8_t
        *is_zero;          /**< [n_inputs][n_fine] 1: nothing but
                                rounding was there; the quantiser's gain is 1 */
    const uint8_t *is_set; /**< [n_bands][n_inputs] 1: the gains are known */
};

/** The gains so far: arrays that live and change with the session. */
FX8_API struct fx8_input_gains fx8_gains(const struct fx8_session *session);

/**
 * fx8_set_gains -- give a session gains instead of having them set from its
 * first samples: those of another run, of the same plan.
 *
 * Given:  gains  copied; rows that are not set there set their own
 * Status: FX8_ERR_USAGE: after the first block, without a quantiser, or a gain
 *         that is not positive; FX8_ERR_DEVICE
 */
FX8_API enum fx8_status fx8_set_gains(struct fx8_session *session,
                                      const struct fx8_input_gains *gains,
                                      struct fx8_error *error);

/** Counters of inputs so far: arrays that live and change with the session. */
struct fx8_input_counts {
    const int64_t *clips;         /**< [n_inputs][n_fine] spectra that
                                       the quantiser clamped */
    const int64_t *valid_spectra; /**< [n_bands][n_inputs] */
};

FX8_API struct fx8_input_counts fx8_inputs(const struct fx8_session *session);

/** What was out of the ordinary in the quick-looks so far, and by how much the
 *  two modes of math differ; zeros where none is planned. */
FX8_API void fx8_get_quicklook(const struct fx8_session *session,
                               struct fx8_quicklook_counts *counts,
                               struct fx8_quicklook_differences *differences);

/** Coherence of every baseline and product over all dumps so far, into the
 *  caller's [n_baselines][n_products]; FX8_QUICKLOOK_NONE where no quick-look
 *  is planned. */
FX8_API void fx8_get_coherences(const struct fx8_session *session,
                                struct fx8_quicklook_average *averages);

/* --- what follows from a plan that fx8_open() accepts ----------------------
 */

/** Sizes that a plan gives its samples and results. */
struct fx8_axes {
    size_t n_inputs;     /**< n_antennas n_polarizations */
    size_t n_rows;       /**< n_bands n_inputs */
    size_t n_kept;       /**< K, channels of a band */
    size_t n_fine;       /**< n_bands K, channels before channel_average: those
                              of gains and clips */
    size_t n_channels;   /**< of the results */
    size_t band_average; /**< channels of a band that become one: of
                              channel_average, or 1 where K is 1 and bands
                              become one */
    size_t n_baselines;  /**< n_antennas (n_antennas + 1) / 2 */
    size_t n_products;   /**< 1: XX; 4: XX, YY, XY, YX */
    size_t step;         /**< N, samples from the start of one spectrum to the
                              next: C or 2 C; 1 for FX8_METHOD_NONE */
    size_t window;       /**< P N, samples under a spectrum */
    size_t zero_channel; /**< of a band, that of baseband zero; n_kept: none, of
                              real samples of the lower sideband */
    bool has_quantiser;
};

FX8_API struct fx8_axes fx8_plan_axes(const struct fx8_plan *plan);

/** The prototype filter, double [window], sum of squares 1. */
FX8_API void fx8_plan_weights(const struct fx8_plan *plan, double *weights);

/** Channels of a band that the plan flags, uint8 [n_kept]: edges and DC. */
FX8_API void fx8_plan_flag_channels(const struct fx8_plan *plan,
                                    uint8_t *flags);

/** Number of complete dumps in `n_samples` samples from first_sample on. */
FX8_API int64_t fx8_count_dumps(const struct fx8_plan *plan, int64_t n_samples);

/** Antennas (positions, antenna_1 <= antenna_2) of baseline `baseline`, below
 *  n_antennas (n_antennas + 1) / 2, in output order:
 *  (0,0), (0,1) … (0,n-1), (1,1) …. */
FX8_API void fx8_baseline_antennas(size_t n_antennas, size_t baseline,
                                   size_t *antenna_1, size_t *antenna_2);

/** Sky frequencies (Hz, channel centres, ascending) after channel_average, into
 *  double [n_channels] of the caller's, and the width of
 *  one channel (Hz). */
FX8_API void fx8_frequencies(const struct fx8_plan *plan,
                             double *frequencies_hz, double *width_hz);

/** Centre of dump `index`, where the sample of absolute index 0 was taken at
 *  `start`. */
FX8_API struct fx8_time fx8_dump_time(const struct fx8_plan *plan,
                                      struct fx8_time start, int64_t index);

/* --- samples as a session sees them, for statistics ------------------------
 */

/** What to scan; has_marker to marker_run as in struct fx8_plan. */
struct fx8_scan_plan {
    size_t n_rows;
    bool is_complex;
    int64_t first_sample; /**< absolute index of the first to be handed over */
    int64_t n_samples;    /**< to be handed over, at least 1 */
    bool has_marker;
    int marker_value;
    int64_t marker_run;
    size_t most_samples; /**< handed over at a time, at least 1 */
    size_t n_threads;    /**< 0: all CPUs of the process */
};

/**
 * fx8_scan_callback -- receives samples of one row: from several threads at
 * once, each with another row.
 *
 * Given: samples  int8 [n_samples], pairs re, im if complex, until the return
 *        valid    uint64 [(n_samples + 63) / 64] bit t % 64 of word t / 64: 1:
 *                 sample t is not missing
 */
typedef void fx8_scan_callback(void *context, size_t row, const int8_t *samples,
                               const uint64_t *valid, size_t n_samples);

struct fx8_scan;

/** Prepare; FX8_ERR_USAGE: a member out of range, named; FX8_ERR_SYSTEM:
 * memory. fx8_scan_close() releases it. */
FX8_API enum fx8_status fx8_scan_open(const struct fx8_scan_plan *plan,
                                      fx8_scan_callback *callback,
                                      void *context, struct fx8_scan **scan,
                                      struct fx8_error *error);

/** Hand over what of a block, and of those before, is decided: blocks as for
 *  fx8_push(), and gaps like that; those before first_sample are searched for
 *  markers.  With NULL: there are no more.  `n_scanned`: samples so far. */
FX8_API enum fx8_status fx8_scan_push(struct fx8_scan *scan,
                                      const struct fx8_block *block,
                                      int64_t *n_scanned,
                                      struct fx8_error *error);

/** Release and null the handle; a NULL handle is legal. */
FX8_API void fx8_scan_close(struct fx8_scan **scan);

/** Version of the library, "MAJOR.MINOR.PATCH"; static. */
FX8_API const char *fx8_version(void);

#ifdef __cplusplus
}
#endif

#endif
