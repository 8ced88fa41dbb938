/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operations.h -- the arithmetic of fx8 as pure functions in a table.  A
 * variant ("reference", "avx2", "avxvnni", "avx512"; on Arm "neon", "dotprod")
 * is one table: the reference fills every entry, each higher variant overrides
 * what it does faster.  Integers and the FIR are equal bit for bit in every
 * variant; FP32 sums are within the bound stated at their entry.
 */
#ifndef FX8_KERNELS_OPERATIONS_H
#define FX8_KERNELS_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "kernels/functions.h"
#include "kernels/numeric/dither.h"
#include "kernels/numeric/rotate.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Complex float; layout of float[2] and of FFTW's fftwf_complex. */
struct fx8_cf32 {
    float re, im;
};

/** Complex int8; layout of the recorded {r, i} pairs. */
struct fx8_ci8 {
    int8_t re, im;
};

/** Spectra in one group: the unit in which spectra are quantised and
 * transposed, and the alignment of every time axis of spectra (32 ci8 = 64
 * bytes). */
#define FX8_GROUP 32

/**
 * Phases of a group of spectra, in units of 2^-64 turn
 * (kernels/numeric/rotate.h).  Channels, and their tiles, count from the first
 * one of the group.
 */
struct fx8_phases {
    uint64_t first[FX8_GROUP]; /**< of channel 0 of each spectrum */
    uint64_t slope[FX8_GROUP]; /**< from channel to channel */
    uint64_t middle_slope;     /**< common to the group */
};

/** The phases of n spectra of a group, from spectrum `first` of it on; channel
 *  `channel` is channel 0 of the call. */
static inline void fx8_find_phases(const struct fx8_rotation *rotation,
                                   size_t first, size_t n, size_t channel,
                                   struct fx8_phases *phases)
{
    uint64_t phase = fx8_rotation_phase(rotation, first, channel);
    uint64_t step = fx8_rotation_phase(rotation, first + 1, channel) - phase;
    uint64_t slope = fx8_rotation_slope(rotation, first);
    for (size_t s = 0; s < n; s++) {
        phases->first[s] = phase;
        phases->slope[s] = slope;
        phase += step;
        step += rotation->bend;
        slope += rotation->drift;
    }
    phases->middle_slope = fx8_rotation_slope(rotation, FX8_GROUP / 2);
}

/** Spectra of one input as the FFT delivers them. */
struct fx8_spectra_group {
    size_t n_spectra;                /**< at most FX8_GROUP */
    size_t n_channels;               /**< to read, from the first one on */
    const struct fx8_cf32 *spectra;  /**< [n_spectra][stride] */
    size_t stride;                   /**< at least n_channels */
    uint32_t valid;                  /**< bit t: spectrum t is valid */
    const struct fx8_phases *phases; /**< to rotate by; NULL: not rotated */
    const struct fx8_dither *dither; /**< added by quantise; NULL: none.  Its
                                          spectrum modulo FX8_DITHER_SPECTRA,
                                          plus n_spectra: at most FX8_GROUP */
};

/** Groups that n_spectra begin. */
static inline size_t fx8_groups(size_t n_spectra)
{
    return (n_spectra + FX8_GROUP - 1) / FX8_GROUP;
}

/** Inputs in one row block of the correlator; the input axis of spectra is
 *  padded to a multiple of it with readable memory. */
#define FX8_ROW_BLOCK 4

/** Most spectra that an int32 accumulator may take between two folds:
 *  2 * 128 * 128 * 65535 < 2^31. */
#define FX8_MAX_INT32_SPECTRA 65535

/** Most complex products of integers that one FP32 accumulator takes before
 *  it is folded into double: 512 * 2 * 128 * 128 = 2^24 is exact. */
#define FX8_MAX_FP32_PRODUCTS 512

/** Directions of one call of `image`, and rows of a block of its matrix. */
#define FX8_IMAGE_LANES 16
#define FX8_IMAGE_ROWS  4

/** One channel of an image. */
struct fx8_image_channel {
    size_t n_antennas;
    const double *turns; /**< [n_antennas][3] positions in wavelengths */
    /** V_ij of rows i in blocks: [block][j][FX8_IMAGE_ROWS], 0 unless i < j */
    const struct fx8_cf32 *matrix;
};

/** Cells of the matrix of a channel. */
FX8_NUMERIC size_t fx8_image_cells(size_t n_antennas)
{
    return (n_antennas + FX8_IMAGE_ROWS - 1) / FX8_IMAGE_ROWS * FX8_IMAGE_ROWS *
           n_antennas;
}

/** The cell of V_ij. */
FX8_NUMERIC size_t fx8_image_cell(size_t n_antennas, size_t i, size_t j)
{
    return (i / FX8_IMAGE_ROWS * n_antennas + j) * FX8_IMAGE_ROWS +
           i % FX8_IMAGE_ROWS;
}

/** Number of input pairs (i, j), i <= j. */
FX8_NUMERIC size_t fx8_pair_count(size_t n_inputs)
{
    return n_inputs * (n_inputs + 1) / 2;
}

/** Index of pair (i, j), i <= j, in every array "per pair" of kernels/: the
 *  triangle packed by rows of j.  The product of a pair is conj(E_i) E_j. */
static inline size_t fx8_pair_index(size_t i, size_t j)
{
    return j * (j + 1) / 2 + i;
}

/** A strip of the triangle: the pairs (i, j), i <= j, with begin <= i < end. */
struct fx8_strip {
    size_t begin, end;
};

/** The whole triangle. */
static inline struct fx8_strip fx8_strip_whole(size_t n_inputs)
{
    const struct fx8_strip whole = {0, n_inputs};
    return whole;
}

/** Pairs in the strip of the first `width` of n_inputs inputs i. */
FX8_NUMERIC size_t fx8_strip_count(size_t n_inputs, size_t width)
{
    return width * (width + 1) / 2 + (n_inputs - width) * width;
}

/** Index of pair (i, j) in that strip, packed by rows of j. */
static inline size_t fx8_strip_index(size_t width, size_t i, size_t j)
{
    return j < width ? fx8_pair_index(i, j)
                     : width * (width + 1) / 2 + (j - width) * width + i;
}

/** Pairs of row j in a strip that holds some of them. */
static inline size_t fx8_strip_row(struct fx8_strip strip, size_t j)
{
    return (j < strip.end ? j + 1 : strip.end) - strip.begin;
}

/** Row blocks [begin, end) of the triangle of pairs, each with all i <= j. */
struct fx8_row_blocks {
    size_t begin, end;
    /** [fx8_pair_index(block of i, block of j)] 0: nobody needs these pairs,
     *  whose sums may be anything.  On the diagonal all are needed, with NULL
     *  everywhere */
    const uint8_t *needed;
};

/** The whole triangle of so many inputs. */
static inline struct fx8_row_blocks fx8_row_blocks_all(size_t n_inputs)
{
    const struct fx8_row_blocks all = {
        0, (n_inputs + FX8_ROW_BLOCK - 1) / FX8_ROW_BLOCK, NULL};
    return all;
}

/** Whether the sum of a pair of inputs is needed. */
static inline bool fx8_is_needed(const uint8_t *needed, size_t i, size_t j)
{
    return needed == NULL || i / FX8_ROW_BLOCK == j / FX8_ROW_BLOCK ||
           needed[fx8_pair_index(i / FX8_ROW_BLOCK, j / FX8_ROW_BLOCK)] != 0;
}

/**
 * INT8 correlator of one channel.
 *
 * Notes: 1) spectra x: ci8 [round_up(n_inputs, FX8_ROW_BLOCK)][input_stride],
 *           of which n_times (a multiple of FX8_GROUP) are used; rows from
 *           n_inputs on may hold anything and affect no result; x and
 *           input_stride * sizeof(struct fx8_ci8) are multiples of 64 bytes
 *        2) each variant orders the accumulator its own way; all zero bytes
 *           is the empty accumulator
 *        3) exact for -128 .. 127 as long as at most FX8_MAX_INT32_SPECTRA
 *           spectra are accumulated between two folds
 *        4) different threads may take different row blocks
 *        5) memory after the rows is prefetched but never read: fastest if the
 *           channel correlated next is there
 *        6) a fold of the whole accumulator takes one strip or several, in
 *           ascending order, next to each other, from input 0 to the last.
 *           Pairs count from the first input of the strip: fx8_strip_index()
 */
struct fx8_correlate_int8 {
    /** int32 items of an accumulator for n_inputs inputs. */
    size_t (*accumulator_size)(size_t n_inputs);
    /** Add conj(x_i) x_j over n_times spectra for the row blocks given. */
    void (*accumulate)(size_t n_inputs, struct fx8_row_blocks rows,
                       size_t n_times, const struct fx8_ci8 *x,
                       size_t input_stride, int32_t *accumulator);
    /** Add a strip of the accumulator to sums int64 [pair][re, im] and empty
     *  it. */
    void (*fold)(size_t n_inputs, struct fx8_strip strip, int32_t *accumulator,
                 int64_t *sums);
};

/**
 * FP32 correlator of one channel; as fx8_correlate_int8 except:
 *
 * Notes: 1) spectra x: cf32, every row 64-byte aligned; the accumulator is
 *           double.  Float sums are folded into it every 512 spectra, counted
 *           from the start of the call: the result depends on the call
 *           boundaries only if these are not multiples of 512
 *        2) integers up to 128 in magnitude are summed exactly
 *        3) against an exact sum of T < 10^12 spectra, barring underflow:
 *           |error| <= 520 * 2^-24 * (sum over t of |x_i(t)| |x_j(t)|) per
 *           component.  Before the fold into double the reference rounds a
 *           product at most 514 times (itself, the sum of two, 512 float sums);
 *           the variants, which sum in lanes, 68 to 258 times.  The doubles
 *           add T / 512 * 2^-53, covered by the rest of the 520
 */
struct fx8_correlate_fp32 {
    /** double items of an accumulator for n_inputs inputs. */
    size_t (*accumulator_size)(size_t n_inputs);
    void (*accumulate)(size_t n_inputs, struct fx8_row_blocks rows,
                       size_t n_times, const struct fx8_cf32 *x,
                       size_t input_stride, double *accumulator);
    /** Add a strip of the accumulator to sums double [pair][re, im] and empty
     *  it. */
    void (*fold)(size_t n_inputs, struct fx8_strip strip, double *accumulator,
                 double *sums);
};

/**
 * Enclosing correlator of one channel: the FP32 correlator twice, every step
 * rounded downwards and upwards; as fx8_correlate_fp32 except:
 *
 * Notes: 1) float sums are folded into double every `segment` spectra, counted
 *           from the start of the call: a multiple of FX8_GROUP,
 *           FX8_MAX_FP32_PRODUCTS outside of tests
 *        2) for each component, down <= exact sum <= up
 *        3) operations have the order of the variant's fp32 correlator, so its
 *           sums lie between the two
 *        4) spectra must be finite and their sums not overflow a float
 *        5) independent of the caller's rounding mode, which is restored;
 *           subnormal numbers are not flushed to zero
 */
struct fx8_correlate_interval {
    /** double items of an accumulator, both directions, for n_inputs. */
    size_t (*accumulator_size)(size_t n_inputs);
    void (*accumulate)(size_t n_inputs, struct fx8_row_blocks rows,
                       size_t n_times, const struct fx8_cf32 *x,
                       size_t input_stride, size_t segment,
                       double *accumulator);
    /** Add a strip of the accumulator to down and up, double [pair][re, im]
     *  each, in their directions, and empty it. */
    void (*fold)(size_t n_inputs, struct fx8_strip strip, double *accumulator,
                 double *down, double *up);
};

/** Add n bounds to others, down and up, as the fold of fx8_correlate_interval
 *  does. */
void fx8_add_bounds(size_t n, const double *down, const double *up,
                    double *sum_down, double *sum_up);

struct fx8_lanes_plan;

/** The filter of a filter bank, in floats or, if integers is not NULL, in
 *  integers; as for fir and fir_int16. */
struct fx8_lanes_filter {
    size_t n_taps, row; /**< row: at least 16 */
    const float *coefficients;
    const int16_t *integers;
    float scale;
};

/** A channel, and the column of its bin. */
struct fx8_lanes_channel {
    uint32_t channel, column;
};

/**
 * Some channels of a group of spectra of one input, as the transform in lanes
 * leaves them (kernels/cpu/lanes.h).
 */
struct fx8_lanes_group {
    size_t n_channels;
    const struct fx8_lanes_channel *channels; /**< [n_channels] */
    /** Spectra 0 .. 15 and 16 .. 31: float [column][re, im][16], 64-byte
     *  aligned; NULL where none of them is valid. */
    const float *halves[2];
    uint32_t valid;                  /**< bit t: spectrum t is valid; others
                                          are zero */
    const struct fx8_phases *phases; /**< to rotate by; NULL: not rotated */
    const float *factors;            /**< what find_factors() made of them */
    const struct fx8_dither *dither; /**< added by quantise; NULL: none.  Its
                                          spectrum is a multiple of
                                          FX8_DITHER_SPECTRA */
    bool is_streamed; /**< results are too many for the caches: bypass them;
                           settle() after the last group of a thread */
};

/** Floats that find_factors() fills: re and im, of the places in a tile and of
 *  the middles of all tiles. */
static inline size_t fx8_lanes_factors(size_t n_channels)
{
    const size_t last = FX8_ROTATION_TILE - 1;
    return (1 + (n_channels + last) / FX8_ROTATION_TILE) * 2 * FX8_GROUP;
}

/**
 * The filter bank with 16 spectra of one input side by side: what fir,
 * fir_int16, a transform, quantise and corner_turn do one spectrum at a time.
 */
struct fx8_lanes {
    /**
     * Filter 16 spectra, and the first pass of their transform.
     *
     * Given:    plan     without passes: only the filter
     *           valid    not 0; spectra whose bit is clear become zero
     *           samples  as for fir; those behind the last valid spectrum are
     *                    not read
     * Returned: columns  float [row][16], 64-byte aligned: [column][re, im] of
     *                    complex samples, pairs of real ones
     * Numerics: the filter is that of fir, bit for bit
     */
    void (*begin)(const struct fx8_lanes_plan *plan,
                  const struct fx8_lanes_filter *filter, uint32_t valid,
                  const int8_t *samples, float *columns);
    /**
     * The other passes of one part of the columns, in place.
     *
     * Numerics: all vector variants have the same bits, in every lane;
     *           rounding errors are within 16 times 2^-24 of the norm of a
     *           spectrum
     */
    void (*finish)(const struct fx8_lanes_plan *plan, size_t part,
                   float *columns);
    /** Prepare the rotation of channels 0 .. n_channels - 1: 64-byte aligned
     *  factors for the same variant. */
    void (*find_factors)(const struct fx8_phases *phases, size_t n_channels,
                         float *factors);
    /** quantise() and corner_turn() of FX8_GROUP spectra; gain, out and clips
     *  are those of channel 0, rows of `out` 64-byte aligned. */
    void (*quantise)(const struct fx8_lanes_group *group, const float *gain,
                     struct fx8_ci8 *out, size_t channel_stride,
                     uint32_t *clips);
    void (*corner_turn)(const struct fx8_lanes_group *group,
                        struct fx8_cf32 *out, size_t channel_stride);
};

/** Pairs that fx8_unscale may read and write beyond the last one. */
#define FX8_UNSCALE_PAD 4

/**
 * Pairs (i, j) of neighbouring i and one j in some channels, on their way from
 * sums to visibilities (kernels/postprocess.h).
 *
 * Notes: 1) counts, gain_i, flags, values, all and unflagged have space for
 *           FX8_UNSCALE_PAD more pairs, whose values mean nothing
 */
struct fx8_unscale {
    size_t n;            /**< pairs, at least 1 */
    size_t n_channels;   /**< at least 1 */
    const int64_t *int8; /**< sums [n_channels][sum_step]: re, im of the pairs;
                              or NULL */
    const double *fp32;  /**< the same, without int8 */
    size_t sum_step;
    const double *counts; /**< [n] valid products */
    const double *gain_i; /**< [n_channels][step] of inputs i: floats */
    const double *gain_j; /**< [n_channels][gain_j_step] of input j */
    size_t step, gain_j_step;
    const double *ripple;    /**< [n_channels] a divisor after these, or NULL */
    bool negates;            /**< imaginary parts */
    bool ends_on_auto;       /**< the last pair is (j, j) */
    double noise;            /**< of a component, removed from an auto where a
                                  level of 1 remains */
    bool first_is_real;      /**< channel 0 has one component, not two */
    struct fx8_cf32 *values; /**< [n_channels][value_step], results; NULL: they
                                  are added up */
    size_t value_step;
    const uint8_t *flags;    /**< [n_channels][step], without values */
    double *all, *unflagged; /**< sums [n][re, im] over all channels, and over
                                  those whose flag is 0; without values */
};

/** All operations in one variant. */
struct fx8_operations {
    /** Name of the variant: "reference", "avx2", "avxvnni", "avx512", "neon",
     *  "dotprod". */
    const char *name;

    /**
     * gather -- bring strided samples into one contiguous row per input.
     *
     * Given:    n_inputs, n_samples
     *           sample_size   1 (real int8) or 2 (complex int8) bytes
     *           base          samples of input i, time t at
     *                         base + input_offset[i] + t * time_stride (bytes)
     * Returned: out           [n_inputs] rows of n_samples samples, row_stride
     *                         bytes apart
     * Notes:    fast if time_stride equals sample_size (copy) or neighbouring
     *           inputs have neighbouring offsets (corner turn); correct for
     *           any strides, also negative ones
     */
    void (*gather)(size_t n_inputs, size_t n_samples, size_t sample_size,
                   const int8_t *base, const ptrdiff_t *input_offset,
                   ptrdiff_t time_stride, int8_t *out, size_t row_stride);

    /**
     * fir -- window and fold samples for the FFT.
     *
     * Given:    samples       int8 [n_spectra + n_taps - 1][row]
     *           coefficients  float [n_taps][row], 64-byte aligned
     * Returned: folded        float [n_spectra][folded_stride]: element
     *                         [t][r] = c[0][r] x[t][r] (+) c[1][r] x[t+1][r]
     *                         (+) ..., each (+) one fused multiply-add in
     *                         ascending tap order starting from zero
     * Numerics: equal bit for bit in every variant
     * Notes:    memory after the samples is prefetched but never read: fastest
     *           if the next samples are there
     */
    void (*fir)(size_t n_spectra, size_t n_taps, size_t row,
                const int8_t *samples, const float *coefficients, float *folded,
                size_t folded_stride);

    /**
     * fir_int16 -- fir() in integers, with 16-bit coefficients.
     *
     * Given:    samples       int8 [n_spectra + n_taps - 1][row]
     *           coefficients  int16 [n_taps][row], -32767 .. 32767, n_taps at
     *                         most FX8_MAX_TAPS: a sum is less than 2^28
     *           scale         value of one unit of the coefficients
     * Returned: folded        float [n_spectra][folded_stride]: element
     *                         [t][r] = (float)(sum over p of c[p][r]
     *                         x[t+p][r]) * scale
     * Numerics: exact integers, then two roundings to float; equal bit for bit
     *           in every variant
     */
    void (*fir_int16)(size_t n_spectra, size_t n_taps, size_t row,
                      const int8_t *samples, const int16_t *coefficients,
                      float scale, float *folded, size_t folded_stride);

    /**
     * quantise -- rotate, gain, dither, round half to even, clamp to +-127,
     * corner turn.
     *
     * Given:    gain    float [n_channels]
     * Returned: out     ci8 [n_channels][channel_stride], elements
     *                   [0, n_spectra) of each row; 0 if not valid
     *           clips   uint32 [n_channels]: the number of valid spectra
     *                   with a component beyond +-127 is added
     * Numerics: fx8_rotate_reference() with the gain, plus the noise of
     *           kernels/numeric/dither.h, then rint; equal in every variant.
     *           Inputs are finite.
     */
    void (*quantise)(const struct fx8_spectra_group *group, const float *gain,
                     struct fx8_ci8 *out, size_t channel_stride,
                     uint32_t *clips);

    /** corner_turn -- the same for FP32, without gain.  out: cf32
     *  [n_channels][channel_stride]. */
    void (*corner_turn)(const struct fx8_spectra_group *group,
                        struct fx8_cf32 *out, size_t channel_stride);

    struct fx8_lanes lanes;

    /**
     * count -- valid products per pair.
     *
     * Given:    valid   uint64 [n_inputs][n_words], a bit per spectrum
     * Returned: counts  int64 [pair]: popcount(valid_i & valid_j) is added
     */
    void (*count)(size_t n_inputs, size_t n_words, const uint64_t *valid,
                  int64_t *counts);

    /**
     * unscale -- sums over counts over gains, over ripple.
     *
     * Numerics: as fx8_visibility_of(); 0 without a valid product, and for the
     *           imaginary part of an auto; equal bit for bit in every variant
     * Notes:    NULL in the reference: postprocess.c does it cell by cell
     */
    void (*unscale)(const struct fx8_unscale *row);

    /**
     * stream -- copy n bytes, past the caches where whole lines allow it.
     *
     * Notes:    NULL in the reference
     */
    void (*stream)(size_t n, const void *from, void *to);
    /** Wait until what this thread has streamed is in memory, where other
     *  threads see it. */
    void (*settle)(void);

    struct fx8_correlate_int8 int8;
    struct fx8_correlate_fp32 fp32;
    struct fx8_correlate_interval interval;

    /**
     * image -- add what comes from some directions in one channel.
     *
     * Given:    channel     antennas and their visibilities
     *           directions  double [3][FX8_IMAGE_LANES]
     *           phasors     float [n_antennas][2][FX8_IMAGE_LANES], scratch
     *                       memory at a multiple of 64 bytes
     * Returned: sums        float [FX8_IMAGE_LANES]  increased by the real part
     *                       of the sum over i < j of V_ij a_j conj(a_i), a_i =
     *                       exp(-2 pi i turns_i . direction)
     * Numerics: phases are rounded from doubles to 2^-25 turn; the same bits in
     *           every variant
     */
    void (*image)(const struct fx8_image_channel *channel,
                  const double *directions, float *phasors, float *sums);

    /** The functions of post-processing, by mode. */
    struct fx8_functions functions[FX8_N_FUNCTIONS_MODES];
    struct fx8_half_functions half;

    /** Every form of every function that the variant offers. */
    struct fx8_function_form forms[FX8_MAX_FUNCTION_FORMS];
    size_t n_forms;
};

/** The variants besides the reference, for messages. */
#if defined(__aarch64__)
#define FX8_VECTOR_KERNELS "neon or dotprod"
#else
#define FX8_VECTOR_KERNELS "avx2, avxvnni or avx512"
#endif

/** Number of variants compiled in; variant 0 is the reference. */
size_t fx8_operations_variants(void);

/** Variant `index`, ascending in speed; NULL if this CPU cannot run it. */
const struct fx8_operations *fx8_operations_variant(size_t index);

/**
 * fx8_operations_select -- select the fastest variant that this CPU can run and
 * that agrees with the reference on a built-in test.
 *
 * Given:    name        "auto" or the name of a variant
 * Returned: operations  static, never freed
 * Status:   FX8_ERR_USAGE for an unknown name, FX8_ERR_UNSUPPORTED when this
 *           CPU lacks the variant or it fails its test
 */
enum fx8_status fx8_operations_select(const char *name,
                                      const struct fx8_operations **operations,
                                      struct fx8_error *error);

#ifdef __cplusplus
}
#endif

#endif
