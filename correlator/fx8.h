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
 * With a callback in place of the first NULL, it receives the dumps instead, on
 * the thread that pushes.
 *
 * Complete programs: memory.c and follow.c of the examples.
 *
 * Errors.  A function that can fail returns a status.  On failure it is
 * negative and the caller's error record is filled (NULL: no record wanted);
 * otherwise the record is left alone.  Invalid arguments return FX8_ERR_USAGE
 * and change nothing.  After any other failure the session takes no more
 * samples: getters still work, every other call repeats that status, and the
 * caller must fx8_close() it.
 *
 * Pointers must not be NULL unless the comment allows it.  Functions that
 * return a status then return FX8_ERR_USAGE; the behaviour of the others is
 * undefined.  So is any use of a closed session.
 *
 * Threads.  Sessions are independent: any number may run in different threads.
 * A session may be used by one thread at a time, except for fx8_cancel().  Its
 * own threads run only during calls.  Functions of plans, times and errors
 * keep no state.
 *
 * Layout.  Fill structures by member name, starting from fx8_plan_default() or
 * from zeros, never by position.  Their layout is fixed as long as the library
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

/** Version of this header; fx8_version() returns the library's. */
#define FX8_VERSION_MAJOR 0
#define FX8_VERSION_MINOR 1
#define FX8_VERSION_PATCH 0

/* --- statuses and errors ------------------------------------------------- */

/** Marks the exported symbols of libfx8; all others are hidden. */
#ifndef FX8_API
#define FX8_API __attribute__((visibility("default")))
#endif

/** Return status.  Zero: success; negative: failure; positive: success, but
 *  the caller must act. */
enum fx8_status {
    FX8_OK = 0,
    FX8_DUMP_READY = 1,     /**< fx8_take_dump(), then repeat the call */
    FX8_ERR_USAGE = -1,     /**< wrong use or configuration: exit 2 */
    FX8_ERR_INPUT = -2,     /**< a file's content is unusable: exit 1 */
    FX8_ERR_SYSTEM = -3,    /**< disk, memory, thread: exit 1 */
    FX8_ERR_CANCELLED = -4, /**< cancelled by the caller: exit 130 */
    FX8_ERR_UNSUPPORTED =
        -5,             /**< not in this build or on this machine: exit 1 */
    FX8_ERR_DEVICE = -6 /**< a GPU failed or computed wrongly: exit 1; a session
                             on the CPU can take over: see fx8_push() */
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
 * fx8_fail -- fill an error record and return its status.  Dump callbacks use
 * it to report a reason.
 *
 * Given:     error   record to fill, or NULL to keep only the status
 *            status  a negative enum fx8_status
 *            format  printf format of the message, and its arguments; control
 *                    characters in the result (a file name may contain a
 *                    newline) become '?'; a long message is truncated
 * Status:    returns `status`, for use in `return fx8_fail(...)`
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

/** Rate as a double in Hz: for widths and frequencies, never for time. */
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

/** The instant of a Julian date (UTC), to the nearest 0.1 ms.  Within a leap
 *  second: 23:59:59 with `picosecond` at least FX8_PICOSECONDS.  1970-01-01 if
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

/** What shares one quantiser gain. */
enum fx8_gain_per {
    FX8_GAIN_PER_CHANNEL = 0, /**< one gain per input and channel */
    FX8_GAIN_PER_INPUT        /**< one gain per input */
};

/** Kinds of result: INT8 and FP32 correlate integers and floats; DOWN and UP
 *  bound the exact sums of the same floats, by directed rounding. */
enum fx8_result_kind {
    FX8_RESULT_INT8 = 0,
    FX8_RESULT_FP32,
    FX8_RESULT_DOWN,
    FX8_RESULT_UP,
    FX8_N_RESULTS
};

/** Precision of the correlation: one bit for each kind of result. */
enum fx8_precision {
    FX8_PRECISION_INT8 = 1 << FX8_RESULT_INT8,
    FX8_PRECISION_FP32 = 1 << FX8_RESULT_FP32,
    FX8_PRECISION_BOTH = FX8_PRECISION_INT8 | FX8_PRECISION_FP32,
    FX8_PRECISION_INTERVAL = 1 << FX8_RESULT_DOWN | 1 << FX8_RESULT_UP
};

/** Mathematical functions of the quick-look: the C library's, or
 *  approximations with known error bounds. */
enum fx8_math { FX8_MATH_IEEE = 0, FX8_MATH_FAST };

/** Choice of engine; AUTO: CUDA if there is a usable device, else the CPU. */
enum fx8_backend { FX8_BACKEND_AUTO = 0, FX8_BACKEND_CPU, FX8_BACKEND_CUDA };

/** Whether to check a few sums of every dump on the CPU; AUTO: if a GPU
 *  computes. */
enum fx8_spot_check { FX8_SPOT_AUTO = 0, FX8_SPOT_YES, FX8_SPOT_NO };

/** A value that marks missing samples. */
struct fx8_marker {
    bool is_used;
    int value;            /**< -128 .. 127; in both parts if complex */
    int64_t least_length; /**< fewest in a row that count as missing */
};

/** Samples beyond a level, which interference drives there.  They count as
 *  missing in their row before the filter bank, by their recorded values. */
struct fx8_blanking {
    int64_t level;  /**< 1 .. 127: a real sample, or a part of a complex one,
                         below -level or above level; 0: none */
    int64_t margin; /**< samples on either side that are missing too, 0 .. 2^20;
                         they are found across blocks */
};

/** flag_edges: 2 for complex samples, 1 for real ones, fewer if no channel
 *  would be left; 0 for FX8_METHOD_NONE, or if n_kept is set. */
#define FX8_FLAG_EDGES_AUTO SIZE_MAX

/** The filter bank. */
struct fx8_channelizer {
    enum fx8_method method;
    size_t n_channels; /**< C of a band; 1 for FX8_METHOD_NONE */
    size_t n_kept;     /**< K: keep the central channels of each band,
                            k = -floor(K/2) .. -floor(K/2)+K-1; complex samples
                            only; 0: all */
    size_t n_taps;     /**< P, 1 .. 64, for FX8_METHOD_PFB */
    enum fx8_window_shape window;
    enum fx8_fir fir;  /**< arithmetic of the filter */
    size_t flag_edges; /**< channels to flag at each end of a band's K */
    bool flag_dc;      /**< flag the channel of baseband zero */
};

/** The quantiser of INT8. */
struct fx8_quantizer {
    double target_rms; /**< LSB per real component */
    enum fx8_gain_per gain_per;
    bool remove_bias; /**< subtract its rounding noise from the parallel-hand
                           autos */
    bool dither;      /**< add uniform noise of one step before rounding: the
                           mean error is 0 at any level, and the rounding noise
                           is doubled */
};

/** Threads that compute. */
struct fx8_threads {
    size_t count; /**< 0: all CPUs of the process; at most 1024 */
    bool pin;     /**< bind each to a CPU */
};

/** How the CPU transforms spectra.  All agree to rounding. */
enum fx8_transform {
    FX8_TRANSFORM_AUTO = 0, /**< the faster of the next two */
    FX8_TRANSFORM_LANES,    /**< our own, for lengths 2^a 3^b 5^c: bits are the
                                 same on every CPU */
    FX8_TRANSFORM_ESTIMATE, /**< FFTW, with the plan it thinks best */
    FX8_TRANSFORM_MEASURE   /**< FFTW, with the plan it finds by timing: the
                                 last bits may differ between runs */
};

/** Where and how to compute. */
struct fx8_machine {
    enum fx8_backend backend;
    const char *device;  /**< GPUs: "auto" or ordinals, "0" or "0,1" */
    size_t first_device; /**< with device "auto": take the first usable one from
                              this ordinal on, going round; processes that share
                              a machine take turns so */
    const char *kernel;  /**< "auto" or a kernel of the engine; the error for an
                              unknown name lists them */
    struct fx8_threads threads;
    enum fx8_transform transform;   /**< of the CPU engine */
    enum fx8_spot_check spot_check; /**< recompute a few sums of every dump from
                                         the same spectra */
    size_t memory_limit; /**< bytes for engine, levels, samples and results;
                              0: no limit.  fx8_open() refuses a plan that needs
                              more and reports the smallest sufficient limit.
                              Samples kept for level setting count too: if they
                              exceed it, fx8_push() or fx8_finish() fails once
                              the gains are known and reports what would have
                              sufficed */
    size_t slices_above; /**< bytes: if a session takes more with whole dumps,
                             the CPU delivers them in slices, as large as this
                             allows, or else 64 or so; 0: always whole.  Not
                             with a quick-look; INT8 needs reread */
    size_t beside; /**< bytes that the caller takes for itself, which count
                        towards memory_limit and slices_above */
    size_t beside_whole; /**< and how many more if dumps are whole */
};

/** Number of spectra that set the gains of an input. */
#define FX8_GAIN_SPECTRA 256

/** Largest number of whole dumps that may be missing between two blocks, or
 *  before the first: 12 days of dumps of 1 s. */
#define FX8_MAX_MISSING_DUMPS 1048576

/** Largest number of antennas: pairs of inputs are indexed with 32 bits. */
#define FX8_MAX_ANTENNAS 32768

struct fx8_block;

/**
 * fx8_reread_callback -- delivers samples again.  With it, a session does not
 * have to keep the samples that set its gains.
 *
 * Given:    context       the plan's reread_context
 *           first_sample  absolute index
 * Returned: block  samples as they were pushed, at least one, starting at
 *                  first_sample or, if that one is missing, later.  The
 *                  caller's memory: must not change until the callback is
 *                  called again, or until fx8_close()
 *           error  never NULL; fill it with fx8_fail() on failure
 * Status:   negative: stops the session; fx8_push() or fx8_finish() returns
 *           this status and the record
 * Notes:    see note 1 of fx8_dump_callback
 */
typedef enum fx8_status fx8_reread_callback(void *context, int64_t first_sample,
                                            struct fx8_block *block,
                                            struct fx8_error *error);

/**
 * fx8_delay_callback -- returns the delays of all inputs at an instant.
 *
 * Given:    context  of struct fx8_delays
 *           sample   absolute index of the instant; up to two minutes before
 *                    the first or behind the last sample pushed
 * Returned: delay_s  double [n_inputs], positive: the signal arrives late.  A
 *                    function of `sample` alone, smooth over minutes: it is
 *                    evaluated every 20 s
 *           error    never NULL; fill it with fx8_fail() on failure
 * Status:   negative: stops the session, as for fx8_reread_callback
 */
typedef enum fx8_status fx8_delay_callback(void *context, int64_t sample,
                                           double *delay_s,
                                           struct fx8_error *error);

/** Delays and phases to remove.  Delays take their phases in all channels with
 *  them: the signal of a delay tau at sky frequency f is multiplied by exp(2 pi
 *  i f tau). */
struct fx8_delays {
    fx8_delay_callback *delay; /**< NULL: none */
    void *context;
    double most_s; /**< bound of their magnitude, of less than 2^30 samples */
    const double *turns; /**< [n_inputs] turns to subtract from the phases of
                              all channels; NULL: 0 */
};

/**
 * Where dumps of varying length begin: see fx8_align_dumps().  They have
 * numerator / denominator spectra on average; dump d holds the spectra t = 0, 1
 * ... with
 *
 *     d numerator <= t denominator + offset < (d + 1) numerator
 */
struct fx8_dump_grid {
    int64_t numerator;   /**< at least denominator */
    int64_t denominator; /**< 0: no grid */
    int64_t offset;      /**< 0 .. numerator - 1 */
};

/**
 * What to correlate.  Fill it from fx8_plan_default().  fx8_open() copies it,
 * including the arrays.
 *
 * Inputs are numbered antenna-major: input = antenna * n_polarizations + pol.
 *
 * Samples may have several bands, recorded side by side at one rate.  Each is
 * channelised and correlated by itself.  A row is one input in one band:
 * row = band * n_inputs + input.  The channels of the results run through the
 * bands in ascending order.
 */
struct fx8_plan {
    /* the samples */
    bool is_complex;             /**< int8 {re, im} pairs, else real int8 */
    size_t n_antennas;           /**< 1 .. FX8_MAX_ANTENNAS */
    size_t n_polarizations;      /**< 1 (X) or 2 (X, Y) */
    struct fx8_rate sample_rate; /**< real or complex samples per second of one
                                      band, in lowest terms: see
                                      fx8_rate_reduced() */
    double dc_frequency_hz;      /**< sky frequency of baseband zero */
    bool lower_sideband; /**< sky frequency falls as baseband frequency rises */
    size_t n_bands;      /**< 1 .. 4096 */
    const double
        *band_offset_hz; /**< [n_bands] ascending: baseband zero of a band is
                              at dc_frequency_hz + this; NULL: one band at 0 */
    const double *input_gain; /**< [n_bands][n_inputs] 2^-30 to 2^30, by which
                                   the samples were multiplied; rounded to float
                                   and divided out of all results; NULL: 1 */
    const double *ripple;     /**< [n_bands][K] 1e-9 to 1e9: power response, in
                                   each channel, of the filter that cut out the
                                   bands; divided out of all results.  NULL: 1.
                                   Not with van_vleck */
    int64_t first_sample;     /**< absolute index at which spectrum 0 starts */
    struct fx8_marker marker;
    struct fx8_blanking blanking;

    bool van_vleck; /**< samples have at most 4 bits: correct the visibilities
                         for their levels, which are measured in each dump.
                         FX8_METHOD_FFT with a rectangular window, all channels,
                         INT8 or FP32; no delays, average or quick-look */
    struct fx8_delays delays; /**< not with FX8_METHOD_NONE */
    struct fx8_channelizer channelizer;
    struct fx8_quantizer quantizer;
    fx8_reread_callback *reread; /**< delivers again the samples that set the
                                      gains; NULL: the session keeps them until
                                      the gains are known */
    void *reread_context;
    struct fx8_machine machine;

    /* the results */
    enum fx8_precision precision; /**< any combination of bits, but both bounds
                                       or neither */
    int64_t spectra_per_dump;     /**< M, at least 1; with a grid, the most */
    struct fx8_dump_grid grid;    /**< of zeros: none, every dump has M */
    int64_t n_spectra; /**< spectra of the whole run: the last dump gets those
                            that fill no whole one; later samples are ignored.
                            0: the run has no end, and whole dumps only */
    size_t channel_average;      /**< n, a divisor of a band's K channels; if K
                                      is 1, of the number of bands */
    const uint8_t *flag_antenna; /**< [n_antennas] 1: flag; NULL: none */
    const uint8_t *flag_channel; /**< [n_bands][K] 1: flag, besides those of
                                      channelizer; NULL: none */
    double min_weight;           /**< 0 .. 1: flag what has nsamples below it */
    double sk_false_alarm;   /**< 1e-9 .. 0.1: flag an input's channel in a dump
                                  whose spectral kurtosis is beyond limits that
                                  Gaussian noise passes this often; 0: no limits.
                                  M at least 64 */
    const size_t *baselines; /**< [n_baselines] those to deliver, ascending, by
                                  their places in the order of
                                  fx8_baseline_antennas(); NULL: all.  Not with
                                  a quick-look, which takes all */
    size_t n_baselines;
    bool quicklook;     /**< of the INT8 results if planned, else of FP32 */
    enum fx8_math math; /**< functions of the quick-look */
};

/** A plan with every default: complex samples of one polarisation and one
 *  band, upper sideband, from sample 0, no marker (least_length 64); PFB of 8
 *  taps, window AUTO, FIR in floats, all channels, none flagged; INT8 at 20 LSB
 *  by channel, quantiser noise removed; engine, device and kernel "auto", all
 *  CPUs, no memory limit; no end, average or quick-look.  The caller must
 *  fill in n_antennas, sample_rate, dc_frequency_hz, channelizer.n_channels
 *  and spectra_per_dump, which are zero or NaN. */
FX8_API struct fx8_plan fx8_plan_default(void);

/** A stretch of missing samples. */
struct fx8_gap {
    int64_t first_sample; /**< absolute index, between -2^61 and 2^61 */
    int64_t n_samples;    /**< at least 0 */
    int64_t input;        /**< a row, band * n_inputs + input; -1: all rows */
};

/**
 * A block of consecutive samples of all inputs in all bands.  The memory is the
 * caller's, free for reuse when the call returns (but see in_place).
 *
 * Sample t of row i, counted from first_sample, is at
 * samples + input_offset[i] + t * time_stride (bytes).  Any order of axes
 * works; it is fastest if the samples of a row, or all rows at one time, are
 * contiguous.
 */
struct fx8_block {
    const int8_t *samples;         /**< real, or pairs re, im.  If n_samples is
                                        0, this and input_offset may be NULL */
    const ptrdiff_t *input_offset; /**< [n_bands][n_inputs] bytes */
    ptrdiff_t time_stride;         /**< bytes, may be negative */
    int64_t first_sample;          /**< absolute index, 0 to below 2^61 */
    int64_t n_samples;             /**< 0 to below 2^61 */
    const struct fx8_gap
        *missing; /**< [n_missing] in any order; parts outside the block are
                       ignored.  NULL if n_missing is 0 */
    size_t n_missing;
    int8_t *in_place; /**< `samples` if fx8_push() may use and overwrite them in
                           place; NULL: they are only read.  The library
                           borrows the block until an fx8_push() of another
                           block or fx8_finish() has returned FX8_OK, or
                           fx8_close() has returned.  No copy is made if the
                           samples of each row are contiguous and each row
                           follows the one before at the same distance, at
                           least n_samples + room samples */
    int64_t room;     /**< with in_place: samples before each row's first that
                           may be overwritten.  If these are fewer than the
                           filter reaches back for, the block is copied */
};

/** A result of a dump, axes [n_baselines][n_channels][n_products]; NULL
 *  pointers if not planned. */
struct fx8_result {
    float *visibilities; /**< [...][re, im] conj(E_1) E_2, input counts^2 */
    uint8_t *flags;      /**< 1: flagged.  Without a valid product, value and
                              weight are 0.  Data are kept if flagged by the
                              plan, for a dead input, for an input without
                              power to set its level, for its weight, or by
                              spectral kurtosis */
    float *nsamples;     /**< valid products / spectra of the dump, 0 .. 1 */
};

/* --- the quick-look ------------------------------------------------------ */

/** Factor of the stored coherences: the normal halves then cover 3.7e-9 to
 *  3.998. */
#define FX8_COHERENCE_SCALE 16384.0f

/**
 * The quick-look of one dump.
 *
 * coherence  V_ij / sqrt(V_ii V_jj) x 2^14, V_ii and V_jj the parallel-hand
 *            autos of the same dump and channel
 * amplitude  modulus x 2^14
 * phase      angle, radians, within 10^-3
 * spectra_db 10 log10 of the parallel-hand autos, input counts squared
 *
 * IEEE halves, stored as their bits.  NULL pointers if not planned.
 */
struct fx8_quicklook_dump {
    uint16_t *coherence; /**< [n_baselines][n_channels][n_products][re, im] */
    uint16_t *amplitude; /**< [n_baselines][n_channels][n_products] */
    uint16_t *phase;     /**< [n_baselines][n_channels][n_products] */
    float *spectra_db;   /**< [n_inputs][n_channels] */
};

/**
 * Special cases, and how each is stored or averaged.
 *
 * A cell is one channel of one product of one baseline in one dump; a spectrum
 * here is one channel of one input in one dump.  A cell counts under the first
 * case that applies.
 */
struct fx8_quicklook_counts {
    int64_t n_cells;          /**< all cells examined */
    int64_t no_product;       /**< no valid product: 0 */
    int64_t not_finite;       /**< V or an auto NaN or infinite: 0 */
    int64_t no_power;         /**< an auto below 1.2e-38 or negative: 0 */
    int64_t above_one;        /**< |rho| > 1 of a cross product: kept */
    int64_t beyond_half;      /**< |rho| x 2^14 at least 65520: infinity; also
                                   counted in above_one */
    int64_t fisher_few;       /**< unflagged, but fewer than 16 independent
                                   products: not averaged */
    int64_t fisher_real;      /**< first channel of real samples, whose spectra
                                   are real: not averaged */
    int64_t fisher_loud;      /**< unflagged, but an INT8 input above 32 steps
                                   rms, which clips: not averaged */
    int64_t fisher_clamped;   /**< r > 1 - 1e-6 averaged as 1 - 1e-6: no
                                   interval */
    int64_t n_spectra;        /**< all autos examined */
    int64_t spectra_no_data;  /**< no valid spectrum: NaN dB */
    int64_t spectra_infinite; /**< NaN or infinite: NaN dB */
    int64_t spectra_no_power; /**< below 1.2e-38 or negative: -400 dB */
};

/** Largest difference between fast and IEEE mode of one kind of result. */
struct fx8_quicklook_difference {
    double largest;
    double bound;     /**< bound that holds for the largest difference */
    int64_t n_beyond; /**< differences above their bound: 0 if all is well */
};

/** Both modes compared before rounding to half. */
struct fx8_quicklook_differences {
    int64_t n_dumps; /**< computed in both modes; 0 in mode IEEE */
    struct fx8_quicklook_difference coherence; /**< relative to |rho| */
    struct fx8_quicklook_difference amplitude; /**< relative */
    struct fx8_quicklook_difference phase;     /**< radians */
    struct fx8_quicklook_difference spectra;   /**< dB */
    struct fx8_quicklook_difference fisher;    /**< of the average, over the
                                                    dumps computed in both */
};

/** What an average of coherences could determine. */
enum fx8_quicklook_state {
    FX8_QUICKLOOK_NONE = 0,   /**< no cell to average */
    FX8_QUICKLOOK_INTERVAL,   /**< |rho| with a 95 % interval */
    FX8_QUICKLOOK_LIMIT,      /**< below 5 / sqrt(M): a 95 % upper limit */
    FX8_QUICKLOOK_AUTO,       /**< an input with itself: 1 by definition */
    FX8_QUICKLOOK_NO_INTERVAL /**< |rho| too close to 1 for a valid interval:
                                   see kernels/fisher.h */
};

/** Coherence of one product of one baseline over all unflagged cells. */
struct fx8_quicklook_average {
    enum fx8_quicklook_state state;
    double coherence; /**< |rho|; NaN for a limit or none (auto: 1) */
    double lower;     /**< of the interval; 0 for a limit, else NaN (auto: 1) */
    double upper;     /**< of the interval, or the limit; NaN for none */
    int64_t n_cells;
    double n_products; /**< independent products of all cells */
};

/* --- sessions ---------------------------------------------------------------
 */

/** A finished dump, or the next slice of one.  Valid until the callback
 * returns, or until the session's next call that is not a getter. */
struct fx8_dump {
    int64_t index;         /**< 0 is the dump that starts at first_sample */
    int64_t n_spectra;     /**< spectra that it covers: fx8_dump_spectra() */
    size_t first_baseline; /**< row of the results with which the slice begins;
                                0 without slices_above */
    size_t n_baselines;    /**< of the slice; of a dump: those of fx8_axes */
    size_t n_channels;     /**< of all bands, after channel_average */
    size_t n_products;     /**< 1: XX; 4: XX, YY, XY, YX */
    struct fx8_result results[FX8_N_RESULTS]; /**< by enum fx8_result_kind.
                                                   DOWN <= exact sum of the
                                                   float spectra <= UP, in each
                                                   component; flags and weights
                                                   of both are FP32's */
    const uint8_t *dead; /**< [n_bands][n_inputs] 1: all samples zero in this
                              dump */
    struct fx8_quicklook_dump quicklook; /**< NULL pointers: not planned */
};

/**
 * fx8_dump_callback -- receives each dump, in order, on the thread that calls
 * fx8_push(), fx8_flush() or fx8_finish().
 *
 * Given:    context  as passed to fx8_open()
 *           dump     valid until the return, including everything it points to
 * Returned: error    never NULL; fill it with fx8_fail() on failure
 * Status:   negative: stops the session; fx8_push() or fx8_finish() returns
 *           this status and the record; anything else: the session goes on
 * Notes:    1) it may call getters and fx8_cancel() of its session.  Other
 *              calls return FX8_ERR_USAGE, and fx8_close() does nothing.  It
 *              must return: no longjmp() or exception may leave it
 *           2) it may be called some blocks after the dump's last one, at the
 *              latest by fx8_flush() or fx8_finish()
 */
typedef enum fx8_status fx8_dump_callback(void *context,
                                          const struct fx8_dump *dump,
                                          struct fx8_error *error);

/** Counters, and wall-clock seconds spent within calls, since fx8_open(). */
struct fx8_statistics {
    int64_t n_dumps;
    int64_t n_spectra;       /**< spectra correlated, per row */
    int64_t n_valid_spectra; /**< summed over rows */
    int64_t n_clipped;       /**< spectra × channels clamped, over rows */
    int64_t n_sk_judged;     /**< channels of inputs in dumps of which the
                                  spectral kurtosis was computed */
    int64_t n_sk_flagged;    /**< those of them that it flagged */
    int64_t n_gain_rounds;   /**< rounds of level setting, each for rows that
                                   had begun to deliver */
    double align_s;          /**< corner turn, masks */
    double channelize_s;     /**< FIR, FFT, quantise */
    double correlate_s;
    double postprocess_s; /**< without the quick-look */
    double quicklook_s;
    double gains_s;   /**< level setting */
    double spot_s;    /**< the spot check; not part of the others */
    double copy_s;    /**< samples to a GPU, beside the others */
    double results_s; /**< a GPU's, for results: beside the others */
};

/** A running correlation; the library owns all its memory. */
struct fx8_session;

/**
 * fx8_open -- check the plan, choose an engine, allocate.
 *
 * Given:     plan      copied
 *            callback  receives the dumps and context; NULL: dumps wait for
 *                      fx8_take_dump()
 *            context   may be NULL
 * Returned:  session   release it with fx8_close(); NULL on failure
 * Status:    FX8_ERR_USAGE: a member of the plan is out of range; the message
 *            names it; FX8_ERR_UNSUPPORTED: backend or kernel not on this
 *            machine; FX8_ERR_DEVICE: the plan requires a GPU by backend or
 *            kernel, but it fails or differs from the CPU in a trial;
 *            FX8_ERR_SYSTEM: memory, threads
 */
FX8_API enum fx8_status fx8_open(const struct fx8_plan *plan,
                                 fx8_dump_callback *callback, void *context,
                                 struct fx8_session **session,
                                 struct fx8_error *error);

/**
 * fx8_push -- push a block of samples.
 *
 * Status: FX8_OK: consumed; FX8_DUMP_READY, without a callback: take the dump,
 *         then push the same block again (its consumed part is skipped);
 *         FX8_ERR_USAGE: a range below 0 or too large, a missing stretch of an
 *         unknown row, more than FX8_MAX_MISSING_DUMPS before the block, a
 *         finished session; reread delivered nothing; more than 16 values of an
 *         input in a dump, with van_vleck;
 *         FX8_ERR_CANCELLED: fx8_cancel(); FX8_ERR_SYSTEM: out of memory or of
 *         memory_limit; a sum that the spot check finds wrong (its dump is not
 *         delivered); FX8_ERR_DEVICE: a GPU fails; any failure that a callback
 *         returned
 * Notes:  1) blocks ascend in time.  Samples between two blocks, and between
 *            the plan's first_sample and the first block, are missing; a dump
 *            without any samples is delivered too, flagged.  Samples consumed
 *            before are skipped
 *         2) block sizes never change a result
 *         3) INT8: when inputs without gains begin to deliver, the session
 *            waits for FX8_GAIN_SPECTRA of their spectra before it correlates
 *            further.  The gain of an input and channel, for samples as pushed,
 *            is target_rms / sigma, sigma^2 = median(|X|^2) / (2 ln 2), or
 *            median(X^2) / 0.45494 in channel 0 of real samples, over the first
 *            of its spectra that are valid and not all zero.  A median of at
 *            most 2^-40 of the power of all bins is only rounding: the gain is
 *            1, and that input and channel is flagged.  An input that begins
 *            and then stops holds back all dumps until fx8_finish()
 *         4) after FX8_ERR_DEVICE the session can only be closed; the dumps
 *            delivered are right.  A new session with FX8_BACKEND_CPU can start
 *            over, or continue after them: pass on the first session's
 *            fx8_gains(), and fx8_seek() the next dump
 */
FX8_API enum fx8_status fx8_push(struct fx8_session *session,
                                 const struct fx8_block *block,
                                 struct fx8_error *error);

/**
 * fx8_pin -- register memory from which blocks will be pushed in place, so that
 * a GPU can read it while the CPU goes on.
 *
 * Notes: it must stay allocated until fx8_close() has returned; memory that
 *        cannot be pinned, or is smaller than 2 MiB, works too, but slower
 */
FX8_API void fx8_pin(struct fx8_session *session, void *memory, size_t bytes);

/**
 * fx8_turn -- put samples in any layout into rows, which a block can then use
 * in place.
 *
 * Given:    block       samples, input_offset, time_stride and n_samples as for
 *                       fx8_push()
 *           row_stride  bytes from row to row
 * Returned: rows        [n_inputs of all bands][n_samples], row_stride apart
 * Notes:    callable from any thread while the session is open; uses as many
 *           threads as the session
 */
FX8_API void fx8_turn(const struct fx8_session *session,
                      const struct fx8_block *block, int8_t *rows,
                      size_t row_stride);

/**
 * fx8_block_end -- best end for a block used in place: all spectra up to there
 * are correlated at once, unless the block ends in a possible run of markers.
 *
 * Given:    first_sample  of the block, from 0 to below 2^61
 *           most          samples wanted, 0 to below 2^61
 * Returned: absolute index behind the block: the last such end within `most`
 *           samples, or else the first
 * Notes:    callable from any thread while the session is open
 */
FX8_API int64_t fx8_block_end(const struct fx8_session *session,
                              int64_t first_sample, int64_t most);

/**
 * fx8_seek -- compute only n_dumps dumps from this one on, in any order of
 * ranges: on many machines, or to complete the results of an earlier run.
 *
 * Given:    dump          index of the first
 *           n_dumps       0: to the end of the run
 * Returned: first_sample  absolute index from which on the session needs
 *                         samples; may be NULL
 * Status:   FX8_ERR_USAGE: no dump of the run; a dump has begun, or waits to be
 *           taken: call it before the first block, after the last dump of a
 *           range, or after fx8_finish(); FX8_ERR_DEVICE
 * Notes:    1) the dumps are those of a whole run, to the bit, if the gains of
 *              all inputs that deliver before them are known: from
 *              fx8_set_gains(), or from dumps computed before.  With the plan's
 *              reread, the session looks for gains that are not known from the
 *              first sample of the run on
 *           2) push until the last dump is delivered, or the recording ends:
 *              samples behind it may set gains, or decide on markers
 */
FX8_API enum fx8_status fx8_seek(struct fx8_session *session, int64_t dump,
                                 int64_t n_dumps, int64_t *first_sample,
                                 struct fx8_error *error);

/** Spectra in a segment of a dump.  The sums of floats of a dump are those of
 * its segments, added in their order, and so are bounds; a dump of at most 8192
 *  spectra is one segment, others have up to 64, the last of which may be
 *  shorter. */
FX8_API int64_t fx8_segment_spectra(const struct fx8_plan *plan);

/**
 * fx8_seek_part -- compute only a part of a dump: sums, which sessions of the
 * same plan, anywhere, can add to those of the other parts.
 *
 *     each part, in any session:       in one session:
 *     fx8_seek_part()                  sum = the first part of a dump
 *     fx8_push() until FX8_DUMP_READY  fx8_add_part() each of the others, in
 *     fx8_take_part()                  their order; fx8_end_parts()
 *
 * Given:    dump          its index
 *           segment       first one of the part, 0 the first of the dump
 *           n_segments    1; more only if INT8 alone is planned, without
 *                         sk_false_alarm
 * Returned: first_sample  as fx8_seek()
 * Status:   FX8_ERR_USAGE: no segments of a dump of the run, too many, a plan
 *           with quick-look or slices; otherwise as fx8_seek()
 * Notes:    notes 1 and 2 of fx8_seek() hold; the dump has the bits of a whole
 *           run, FP32 and bounds only if each device list has as many GPUs
 */
FX8_API enum fx8_status fx8_seek_part(struct fx8_session *session, int64_t dump,
                                      int64_t segment, int64_t n_segments,
                                      int64_t *first_sample,
                                      struct fx8_error *error);

/** Bytes of a part of a dump: sums, counts, and the gains known. */
FX8_API size_t fx8_part_size(const struct fx8_session *session);

/** After FX8_DUMP_READY, copy the part to the caller's memory of
 *  fx8_part_size() bytes, aligned to 8.  FX8_ERR_USAGE: no part is ready;
 *  otherwise as fx8_push(), a failed spot check included. */
FX8_API enum fx8_status fx8_take_part(struct fx8_session *session, void *part,
                                      struct fx8_error *error);

/** Add a part to those before it, any number of them in order. */
FX8_API void fx8_add_part(const struct fx8_session *session, void *sum,
                          const void *part);

/** Deliver the dump that is the sum of all its parts, as fx8_flush() does,
 * while the session computes no other; `sum` is used up.  Its counts are added
 * to the session's, which takes over gains that it has not set itself.  Then
 * fx8_seek() or fx8_seek_part() what is to be computed next. */
FX8_API enum fx8_status fx8_end_parts(struct fx8_session *session, int64_t dump,
                                      void *sum, struct fx8_error *error);

/** No more samples: set pending gains from the spectra there are, and deliver
 *  the last dump if it is complete.  An incomplete one is dropped;
 *  `dropped_spectra` (may be NULL) receives its number of spectra.  A second
 *  call does nothing and gives the same number.  Status as fx8_push(); even
 *  after FX8_DUMP_READY the session takes no more samples. */
FX8_API enum fx8_status fx8_finish(struct fx8_session *session,
                                   int64_t *dropped_spectra,
                                   struct fx8_error *error);

/** Wait for the dump that has ended and deliver it, unless delivered already.
 *  With CUDA, results return while the next dump begins; without a flush, a
 *  later call delivers them.  Status as fx8_push(). */
FX8_API enum fx8_status fx8_flush(struct fx8_session *session,
                                  struct fx8_error *error);

/** Add a dump that was computed before to the quick-look, in the order of
 * dumps: `index`, and `results` as they were delivered.  Sets dump->quicklook,
 * valid until the next dump.  FX8_ERR_USAGE: no quick-look is planned, or
 * results that it needs are NULL; FX8_ERR_DEVICE. */
FX8_API enum fx8_status fx8_look(struct fx8_session *session,
                                 struct fx8_dump *dump,
                                 struct fx8_error *error);

/** The dump announced by FX8_DUMP_READY, or NULL.  Valid until the session's
 *  next call that is not a getter. */
FX8_API const struct fx8_dump *fx8_take_dump(struct fx8_session *session);

/** Make the running or next fx8_push() or fx8_finish(), and all later ones,
 *  return FX8_ERR_CANCELLED.  While the session is open, any thread and any
 *  signal handler may call this. */
FX8_API void fx8_cancel(struct fx8_session *session);

/** Release and null the handle; a NULL handle is legal.  Delivers nothing more:
 *  call fx8_finish() first. */
FX8_API void fx8_close(struct fx8_session **session);

/* --- getters ("questions"): usable from opening to closing -----------------
 */

/** Counters so far. */
FX8_API void fx8_get_statistics(const struct fx8_session *session,
                                struct fx8_statistics *statistics);

/** What a session runs on; strings are never NULL and live as long as it. */
struct fx8_session_info {
    const char *backend; /**< "cpu" or "cuda" */
    const char *reason;  /**< why this engine was chosen, one line */
    bool is_spare;       /**< the CPU replaces a GPU that is present but fails;
                              see reason */
    const char *device;  /**< "0 NVIDIA H200"; "" for the CPU */
    const char *kernel;  /**< "avx512" or "wgmma" */
    const char *fft_plan;
    size_t memory;   /**< bytes allocated, without samples kept for gains */
    size_t n_slices; /**< of each dump; 1: dumps are whole.  Those without a
                          baseline of the plan are not delivered */
};

FX8_API struct fx8_session_info fx8_info(const struct fx8_session *session);

/** Gains of the quantiser, from recorded counts to quantiser steps; NULL
 *  pointers if the plan has no quantiser. */
struct fx8_input_gains {
    const float *gain;      /**< [n_inputs][n_fine] input_gain included; only
                                 input_gain if not set */
    const uint8_t *is_zero; /**< [n_inputs][n_fine] 1: the channel held only
                                 rounding; its quantiser gain is 1 */
    const uint8_t *is_set;  /**< [n_bands][n_inputs] 1: the gains are known */
};

/** The gains so far.  The session owns and updates the arrays. */
FX8_API struct fx8_input_gains fx8_gains(const struct fx8_session *session);

/**
 * fx8_set_gains -- use the gains of another run of the same plan instead of
 * setting them from the first samples.
 *
 * Given:  gains  copied; rows without is_set set their own
 * Status: FX8_ERR_USAGE: called after the first block, no quantiser, or a gain
 *         that is not positive; FX8_ERR_DEVICE
 */
FX8_API enum fx8_status fx8_set_gains(struct fx8_session *session,
                                      const struct fx8_input_gains *gains,
                                      struct fx8_error *error);

/** Counters per input so far.  The session owns and updates the arrays. */
struct fx8_input_counts {
    const int64_t *clips;         /**< [n_inputs][n_fine] spectra clamped by
                                       the quantiser */
    const int64_t *valid_spectra; /**< [n_bands][n_inputs] */
};

FX8_API struct fx8_input_counts fx8_inputs(const struct fx8_session *session);

/** Counts of special cases in the quick-looks so far, and the differences
 *  between the two modes of math; zeros without a quick-look. */
FX8_API void fx8_get_quicklook(const struct fx8_session *session,
                               struct fx8_quicklook_counts *counts,
                               struct fx8_quicklook_differences *differences);

/** Coherence of every baseline and product over all dumps so far, written to
 *  the caller's [n_baselines][n_products]; FX8_QUICKLOOK_NONE without a
 *  quick-look. */
FX8_API void fx8_get_coherences(const struct fx8_session *session,
                                struct fx8_quicklook_average *averages);

/* --- derived from a plan that fx8_open() accepts ---------------------------
 */

/** Sizes of samples and results that follow from a plan. */
struct fx8_axes {
    size_t n_inputs;     /**< n_antennas n_polarizations */
    size_t n_rows;       /**< n_bands n_inputs */
    size_t n_kept;       /**< K, channels of a band */
    size_t n_fine;       /**< n_bands K, channels before channel_average, as in
                              gains and clips */
    size_t n_channels;   /**< of the results */
    size_t band_average; /**< channels averaged within a band: channel_average,
                              or 1 if K is 1, when bands are averaged */
    size_t n_baselines;  /**< n_antennas (n_antennas + 1) / 2, or the plan's */
    size_t n_products;   /**< 1: XX; 4: XX, YY, XY, YX */
    size_t step;         /**< N, samples from the start of one spectrum to the
                              next: C or 2 C; 1 for FX8_METHOD_NONE */
    size_t window;       /**< P N, samples per spectrum */
    size_t margin;       /**< samples that delays may need before and after a
                              window; 0 without delays */
    size_t zero_channel; /**< channel of baseband zero in a band; n_kept for
                              real samples of the lower sideband: none */
    bool has_quantiser;
};

FX8_API struct fx8_axes fx8_plan_axes(const struct fx8_plan *plan);

/** The prototype filter, double [window], sum of squares 1. */
FX8_API void fx8_plan_weights(const struct fx8_plan *plan, double *weights);

/** Channels flagged by the plan (edges, DC, flag_channel), uint8
 *  [n_bands][K]. */
FX8_API void fx8_plan_flag_channels(const struct fx8_plan *plan,
                                    uint8_t *flags);

/** Number of complete dumps in `n_samples` samples from first_sample on. */
FX8_API int64_t fx8_count_dumps(const struct fx8_plan *plan, int64_t n_samples);

/**
 * fx8_align_dumps -- plan dumps that begin at whole multiples of their length
 * since 0 h UTC of the day of spectrum 0: dump d holds the spectra whose
 * windows have their centres from T + d L to before T + (d + 1) L.  T is the
 * last such multiple not after the centre of spectrum 0, so dump 0 may be
 * incomplete.
 *
 * Given:    plan          sample_rate, channelizer and first_sample are final
 *           start         time of absolute sample 0
 *           numerator_s   L = numerator_s / denominator, in lowest terms, above
 *           denominator   0
 * Returned: plan  grid, spectra_per_dump
 * Status:   FX8_ERR_USAGE: less than one spectrum, or more digits than fit
 * Numerics: exact
 */
FX8_API enum fx8_status fx8_align_dumps(struct fx8_plan *plan,
                                        struct fx8_time start,
                                        int64_t numerator_s,
                                        int64_t denominator,
                                        struct fx8_error *error);

/** First spectrum of dump `index`, counted from first_sample, whether or not
 *  n_spectra reaches it; INT64_MAX beyond the range of the type. */
FX8_API int64_t fx8_dump_first(const struct fx8_plan *plan, int64_t index);

/** The dump that a spectrum, counted from first_sample, belongs to. */
FX8_API int64_t fx8_dump_of(const struct fx8_plan *plan, int64_t spectrum);

/** Spectra of dump `index`: spectra_per_dump, or as the grid has it; fewer if
 *  n_spectra ends within it, 0 behind that. */
FX8_API int64_t fx8_dump_spectra(const struct fx8_plan *plan, int64_t index);

/** Place of a row of the results among all baselines: `row` itself, or of the
 *  plan's `baselines`. */
FX8_API size_t fx8_plan_baseline(const struct fx8_plan *plan, size_t row);

/** Antennas (positions, antenna_1 <= antenna_2) of baseline `baseline`, below
 *  n_antennas (n_antennas + 1) / 2, in output order:
 *  (0,0), (0,1) … (0,n-1), (1,1) …. */
FX8_API void fx8_baseline_antennas(size_t n_antennas, size_t baseline,
                                   size_t *antenna_1, size_t *antenna_2);

/** Sky frequencies (Hz, channel centres, ascending) after channel_average, into
 *  the caller's double [n_channels], and the width of one channel (Hz). */
FX8_API void fx8_frequencies(const struct fx8_plan *plan,
                             double *frequencies_hz, double *width_hz);

/** Centre of the spectra of dump `index`; `start` is the time of absolute
 *  sample 0. */
FX8_API struct fx8_time fx8_dump_time(const struct fx8_plan *plan,
                                      struct fx8_time start, int64_t index);

/** The same of n_dumps dumps from `index` on, taken together. */
FX8_API struct fx8_time fx8_dumps_time(const struct fx8_plan *plan,
                                       struct fx8_time start, int64_t index,
                                       int64_t n_dumps);

/* --- samples as a session uses them, for statistics ------------------------
 */

/** Samples on either side of one that may make it missing: those of a run of
 *  markers, those whose margin it is in. */
FX8_API int64_t fx8_missing_reach(const struct fx8_marker *marker,
                                  const struct fx8_blanking *blanking);

/** What to scan. */
struct fx8_scan_plan {
    size_t n_rows;
    bool is_complex;
    int64_t first_sample; /**< absolute index of the first sample to deliver */
    int64_t n_samples;    /**< to deliver, at least 1 */
    struct fx8_marker marker;
    struct fx8_blanking blanking;
    size_t most_samples; /**< delivered at a time, at least 1 */
    size_t n_threads;    /**< 0: all CPUs of the process */
};

/**
 * fx8_scan_callback -- receives samples of one row.  Several threads may call
 * it at once, each with a different row.
 *
 * Given: samples  int8 [n_samples], pairs re, im if complex; valid until the
 *                 return
 *        valid    uint64 [(n_samples + 63) / 64]; bit t % 64 of word t / 64 is
 *                 1 if sample t is not missing
 */
typedef void fx8_scan_callback(void *context, size_t row, const int8_t *samples,
                               const uint64_t *valid, size_t n_samples);

struct fx8_scan;

/** Open a scan.  FX8_ERR_USAGE: a member out of range, named in the message;
 *  FX8_ERR_SYSTEM: memory.  Release it with fx8_scan_close(). */
FX8_API enum fx8_status fx8_scan_open(const struct fx8_scan_plan *plan,
                                      fx8_scan_callback *callback,
                                      void *context, struct fx8_scan **scan,
                                      struct fx8_error *error);

/** Deliver all samples so far that are known to be data or missing.  Blocks and
 *  gaps are treated as in fx8_push(); samples before first_sample are searched
 *  as far as they may make it missing.  NULL block: no more samples.
 * `n_scanned`: samples delivered so far. */
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
