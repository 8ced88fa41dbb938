/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quantise_simd.c -- quantise and corner turn.
 *
 * Spectra are quantised row by row into a tile of 32 spectra x 32 channels
 * that stays in the first-level cache, and transposed from there: the group of
 * 32 spectra of one channel is written as one whole cache line.
 *
 * Rotation takes place in the registers.  Its tiles are those of the transpose.
 */
#include <math.h>
#include <string.h>

#include "kernels/cpu/dither_simd.h"
#include "kernels/cpu/rotation_simd.h"
#include "kernels/cpu/transpose16.h"
#include "kernels/cpu/variants.h"

/* Real numbers in one spectrum of a tile, and their registers. */
#define TILE_FLOATS  (2 * FX8_TILE)
#define TILE_VECTORS (TILE_FLOATS / VEC_LANES)

/* Items of FP32 spectra in a cache line, and in a register. */
#define LINE_ITEMS (FX8_TILE_BYTES / sizeof(struct fx8_cf32))
#define SIDE       (VEC_BYTES / sizeof(struct fx8_cf32))

_Static_assert(FX8_ROTATION_TILE == FX8_TILE, "one tile for both");

/* Half a step above 127 is rounded to the even 128. */
#define CLIP_LIMIT 127.5f

/** Factors of a rotation: of the middle of a tile, by spectrum; of the places
 * in a tile, by channel, one each for re and im. */
struct factors {
    FX8_ALIGNED uint64_t phase[FX8_GROUP]; /* of the middle of the next tile */
    FX8_ALIGNED uint64_t step[FX8_GROUP];  /* from tile to tile */
    FX8_ALIGNED float middle_re[FX8_GROUP], middle_im[FX8_GROUP];
    FX8_ALIGNED float place_re[TILE_FLOATS], place_im[TILE_FLOATS];
};

/** The factors of places, common to all tiles of a group. */
static inline void find_places(const struct fx8_spectra_group *group,
                               struct factors *factors)
{
    const uint64_t slope = group->phases->middle_slope;
    for (size_t first = 0; first < FX8_TILE && first < group->n_channels;
         first += FACTORS) {
        uint64_t places[FACTORS];
        float re[FACTORS], im[FACTORS];
        for (size_t k = 0; k < FACTORS; k++)
            places[k] = fx8_rotation_place(slope, first + k);
        find_some(places, re, im);
        for (size_t k = 0; k < FACTORS; k++) {
            const size_t at = 2 * (first + k);
            factors->place_re[at] = factors->place_re[at + 1] = re[k];
            factors->place_im[at] = factors->place_im[at + 1] = im[k];
        }
    }
}

/** Before the tiles of a group: the factors of places, and the phases of the
 *  first middle. */
static inline void begin_factors(const struct fx8_spectra_group *group,
                                 struct factors *factors)
{
    const struct fx8_phases *phases = group->phases;
    find_places(group, factors);
    memset(factors->phase, 0, sizeof factors->phase);
    memset(factors->step, 0, sizeof factors->step);
    for (size_t t = 0; t < group->n_spectra; t++) {
        factors->step[t] = FX8_TILE * phases->slope[t];
        factors->phase[t] =
            phases->first[t] + fx8_rotation_middle(0) * phases->slope[t];
    }
}

/** For every tile in turn: the factors of its middle.  Sums of integers replace
 *  the products, which AVX2 lacks. */
static inline void find_middles(size_t n_spectra, struct factors *factors)
{
    for (size_t first = 0; first < n_spectra; first += FACTORS) {
        find_some(factors->phase + first, factors->middle_re + first,
                  factors->middle_im + first);
        for (size_t t = first; t < first + FACTORS; t++)
            factors->phase[t] += factors->step[t];
    }
}

/** x times complex factors, re and im of each given twice. */
FX8_INLINE vec_float times(vec_float x, vec_float re, vec_float im)
{
    return VEC(fmaddsub_ps)(x, re, vec_swap_pairs(x) * im);
}

/** Rotate VEC_LANES floats of spectrum t, from float `at` of the tile on. */
FX8_INLINE vec_float rotate(const struct factors *factors, size_t t, size_t at,
                            vec_float x)
{
    x = times(x, VEC(set1_ps)(factors->middle_re[t]),
              VEC(set1_ps)(factors->middle_im[t]));
    return times(x, VEC(load_ps)(factors->place_re + at),
                 VEC(load_ps)(factors->place_im + at));
}

/** Two registers of complex numbers, the re of both apart from the im: so they
 *  are multiplied without swapping lanes. */
struct apart {
    vec_float re, im;
};

FX8_INLINE struct apart take_apart(vec_float a, vec_float b)
{
    return (struct apart){VEC(shuffle_ps)(a, b, 0x88),
                          VEC(shuffle_ps)(a, b, 0xdd)};
}

/** Order of the bytes in a quarter of what is packed from two such pairs. */
#define INTERLEAVED                                                            \
    _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15)

FX8_INLINE struct apart times_apart(struct apart x, vec_float re, vec_float im)
{
    return (struct apart){VEC(fmsub_ps)(x.re, re, x.im * im),
                          VEC(fmadd_ps)(x.im, re, x.re * im)};
}

/** What the registers of a row are multiplied by: copies, which the bytes of
 *  the tile cannot alias.  With a rotation, gains times places, one for two
 *  registers. */
struct row_factors {
    vec_float gain[TILE_VECTORS];
    struct apart place[TILE_VECTORS / 2];
};

/** Add noise to two registers, whose re and im are apart if they are rotated.
 */
FX8_INLINE void add_noise(const float *noise, bool is_rotated, vec_float x[2])
{
    const vec_float a = VEC(load_ps)(noise);
    const vec_float b = VEC(load_ps)(noise + VEC_LANES);
    x[0] += is_rotated ? take_apart(a, b).re : a;
    x[1] += is_rotated ? take_apart(a, b).im : b;
}

/** The noise of a tile, [spectrum][channel][re, im] like its spectra. */
static void find_tile_noise(const struct fx8_dither *dither, size_t first,
                            float *tile)
{
    struct fx8_dither begin = *dither;
    const size_t offset = (size_t)(dither->spectrum % FX8_DITHER_SPECTRA);
    begin.spectrum -= (int64_t)offset;
    for (size_t k = 0; k < FX8_TILE; k++) {
        FX8_ALIGNED float re[FX8_GROUP], im[FX8_GROUP];
        find_noise(&begin, first + k, re, im);
        for (size_t t = offset; t < FX8_GROUP; t++) {
            float *at = tile + (t - offset) * TILE_FLOATS + 2 * k;
            at[0] = re[t];
            at[1] = im[t];
        }
    }
}

/** Registers k and k + 1 of a spectrum; from n_floats on 0. */
FX8_INLINE void load_two(size_t k, size_t n_floats, const float *spectrum,
                         vec_float x[2])
{
    FX8_UNROLL
    for (size_t i = 0; i < 2; i++) {
        const size_t at = (k + i) * VEC_LANES;
        x[i] = vec_load_first(n_floats > at ? n_floats - at : 0, spectrum + at,
                              VEC(set1_ps)(0.0f));
    }
}

/**
 * quantise_row -- one spectrum, t, of up to 32 channels.
 *
 * Given:    spectrum   float [n_floats], n_floats <= n_vectors * VEC_LANES
 *           n_vectors  a constant, TILE_VECTORS or half of it
 *           factors    NULL: not rotated
 *           by         gains and places
 *           noise      float [n_vectors * VEC_LANES], aligned; NULL: none
 * Returned: row        int8 [n_vectors * VEC_LANES]; from n_floats on 0
 *           true when some component was clamped
 * Notes:    the conversion gives the least int32 for numbers out of its range:
 *           right below it, so only the upper side is clamped before
 */
FX8_INLINE bool quantise_row(size_t t, const float *spectrum, size_t n_floats,
                             size_t n_vectors, const struct factors *factors,
                             const struct row_factors *by, const float *noise,
                             int8_t *row)
{
    const vec_float most = VEC(set1_ps)(INT16_MAX);
    vec_int largest = vec_set_int64(0);
    FX8_UNROLL
    for (size_t first = 0; first < n_vectors; first += 4) {
        vec_int pairs[2];
        FX8_UNROLL
        for (size_t i = 0; i < 2; i++) {
            const size_t k = first + 2 * i;
            pairs[i] = vec_set_int64(0);
            if (k >= n_vectors)
                continue;
            vec_float x[2];
            load_two(k, n_floats, spectrum, x);
            if (factors != NULL) {
                struct apart turned = times_apart(
                    take_apart(x[0], x[1]), VEC(set1_ps)(factors->middle_re[t]),
                    VEC(set1_ps)(factors->middle_im[t]));
                turned = times_apart(turned, by->place[k / 2].re,
                                     by->place[k / 2].im);
                x[0] = turned.re;
                x[1] = turned.im;
            } else {
                x[0] *= by->gain[k];
                x[1] *= by->gain[k + 1];
            }
            if (noise != NULL)
                add_noise(noise + k * VEC_LANES, factors != NULL, x);
            pairs[i] =
                VEC(packs_epi32)(VEC(cvtps_epi32)(VEC(min_ps)(x[0], most)),
                                 VEC(cvtps_epi32)(VEC(min_ps)(x[1], most)));
            largest = VEC(max_epu16)(largest, VEC(abs_epi16)(pairs[i]));
        }
        vec_int bytes = VEC(max_epi8)(VEC(packs_epi16)(pairs[0], pairs[1]),
                                      VEC(set1_epi8)(-127));
        if (factors != NULL)
            bytes = VEC(shuffle_epi8)(bytes, vec_repeat(INTERLEAVED));
        vec_store_int(row + first * VEC_LANES, vec_order_packed_twice(bytes));
    }
    return vec_any_above_int16(largest, 127);
}

/** Count the clamped channels of spectrum t, n_channels from `first` on.
 *  Clipping is rare: the quantiser of a row only reports whether anything was
 *  clamped. */
static void count_clips(const struct fx8_spectra_group *group, size_t t,
                        size_t first, size_t n_channels, const float *gain,
                        uint32_t *clips)
{
    for (size_t channel = first; channel < first + n_channels; channel++) {
        const struct fx8_cf32 x = fx8_dither_reference(
            fx8_rotate_reference(group->spectra[t * group->stride + channel],
                                 group->phases, t, channel, gain[channel]),
            group->dither, t, channel);
        clips[channel] +=
            fabsf(x.re) >= CLIP_LIMIT || fabsf(x.im) >= CLIP_LIMIT;
    }
}

/** Prefetch a line of each of the next n_channels rows of results; `line` is in
 *  the first one.  Into the second level: the first is no faster than no
 *  prefetch (measured). */
static inline void prefetch_rows(const void *line, size_t row_bytes,
                                 size_t n_channels)
{
    for (size_t channel = 0; channel < n_channels; channel++)
        __builtin_prefetch((const char *)line + channel * row_bytes, 1, 2);
}

/** Copy gains and places to registers. */
FX8_INLINE void load_row_factors(const float *gain, size_t n_channels,
                                 size_t n_vectors,
                                 const struct factors *factors,
                                 struct row_factors *by)
{
    FX8_ALIGNED float gains[TILE_FLOATS] = {0.0f};
    for (size_t k = 0; k < n_channels; k++)
        gains[2 * k] = gains[2 * k + 1] = gain[k];
    FX8_UNROLL
    for (size_t k = 0; k < n_vectors; k++)
        by->gain[k] = VEC(load_ps)(gains + k * VEC_LANES);
    if (factors == NULL)
        return;
    FX8_UNROLL
    for (size_t k = 0; k < n_vectors / 2; k++) {
        const float *re = factors->place_re + 2 * k * VEC_LANES;
        const float *im = factors->place_im + 2 * k * VEC_LANES;
        const vec_float of_two =
            take_apart(by->gain[2 * k], by->gain[2 * k + 1]).re;
        by->place[k].re =
            take_apart(VEC(load_ps)(re), VEC(load_ps)(re + VEC_LANES)).re *
            of_two;
        by->place[k].im =
            take_apart(VEC(load_ps)(im), VEC(load_ps)(im + VEC_LANES)).re *
            of_two;
    }
}

/** Up to n_vectors, as for quantise_row, of channels from `first` on; other
 *  arguments as for quantise. */
FX8_INLINE void quantise_tile(const struct fx8_spectra_group *group,
                              size_t first, size_t n_channels, size_t n_vectors,
                              const struct factors *factors, const float *gain,
                              const float *noise, struct fx8_ci8 *out,
                              size_t channel_stride, uint32_t *clips)
{
    FX8_ALIGNED int8_t tile[FX8_TILE * FX8_TILE_BYTES];
    FX8_ALIGNED int8_t transposed[FX8_TILE * FX8_TILE_BYTES];
    const size_t row_bytes = n_vectors * VEC_LANES;
    struct row_factors by;
    load_row_factors(gain + first, n_channels, n_vectors, factors, &by);
    const size_t n_spectra = group->n_spectra, stride = group->stride;
    const uint32_t valid = group->valid;
    uint32_t clipped = 0;
    const float *spectrum = &group->spectra[first].re;
    for (size_t t = 0; t < FX8_TILE; t++, spectrum += 2 * stride) {
        int8_t *row = tile + t * FX8_TILE_BYTES;
        if (t >= n_spectra || (valid >> t & 1) == 0) {
            memset(row, 0, row_bytes);
            continue;
        }
        clipped |= (uint32_t)quantise_row(
                       t, spectrum, 2 * n_channels, n_vectors, factors, &by,
                       noise == NULL ? NULL : noise + t * TILE_FLOATS, row)
                   << t;
    }
    /* apart: a call in the loop would cost it the registers of its constants */
    for (; clipped != 0; clipped &= clipped - 1)
        count_clips(group, (size_t)__builtin_ctz(clipped), first, n_channels,
                    gain, clips);
    out += first * channel_stride;
    if (n_spectra == FX8_TILE && n_channels == FX8_TILE) {
        fx8_transpose16(tile, FX8_TILE_BYTES, FX8_TILE_BYTES, (int8_t *)out,
                        channel_stride * sizeof *out);
        return;
    }
    fx8_transpose16(tile, FX8_TILE_BYTES, row_bytes, transposed,
                    FX8_TILE_BYTES);
    for (size_t k = 0; k < n_channels; k++)
        copy_narrow((int8_t *)(out + k * channel_stride),
                    transposed + k * FX8_TILE_BYTES, n_spectra * sizeof *out);
}

/** The entry; `factors`, if not NULL, is memory for those of the group, and
 *  `noise` for that of a tile. */
FX8_INLINE void quantise_tiles(const struct fx8_spectra_group *group,
                               struct factors *factors, float *noise,
                               const float *gain, struct fx8_ci8 *out,
                               size_t channel_stride, uint32_t *clips)
{
    if (factors != NULL)
        begin_factors(group, factors);
    for (size_t first = 0; first < group->n_channels; first += FX8_TILE) {
        const size_t n_left = group->n_channels - first;
        const size_t n_next = n_left > FX8_TILE ? n_left - FX8_TILE : 0;
        prefetch_rows(out + (first + FX8_TILE) * channel_stride,
                      channel_stride * sizeof *out,
                      n_next < FX8_TILE ? n_next : FX8_TILE);
        if (factors != NULL)
            find_middles(group->n_spectra, factors);
        if (noise != NULL)
            find_tile_noise(group->dither, first, noise);
        if (n_left >= FX8_TILE) /* a constant */
            quantise_tile(group, first, FX8_TILE, TILE_VECTORS, factors, gain,
                          noise, out, channel_stride, clips);
        else if (n_left > FX8_TILE / 2)
            quantise_tile(group, first, n_left, TILE_VECTORS, factors, gain,
                          noise, out, channel_stride, clips);
        else
            quantise_tile(group, first, n_left, TILE_VECTORS / 2, factors, gain,
                          noise, out, channel_stride, clips);
    }
}

static void quantise(const struct fx8_spectra_group *group, const float *gain,
                     struct fx8_ci8 *out, size_t channel_stride,
                     uint32_t *clips)
{
    struct factors factors, *rotated = group->phases == NULL ? NULL : &factors;
    if (group->dither != NULL) {
        FX8_ALIGNED float noise[FX8_TILE * TILE_FLOATS];
        quantise_tiles(group, rotated, noise, gain, out, channel_stride, clips);
    } else if (rotated != NULL) {
        quantise_tiles(group, &factors, NULL, gain, out, channel_stride, clips);
    } else {
        quantise_tiles(group, NULL, NULL, gain, out, channel_stride, clips);
    }
}

/** SIDE x SIDE items of FP32 spectra from (spectrum, channel) on. */
FX8_INLINE void turn_side(const struct fx8_spectra_group *group,
                          size_t spectrum, size_t channel,
                          const struct factors *factors, struct fx8_cf32 *out,
                          size_t channel_stride)
{
    const uint32_t valid = group->valid >> spectrum;
    const struct fx8_cf32 *spectra =
        group->spectra + spectrum * group->stride + channel;
    vec_int rows[SIDE];
    FX8_UNROLL
    for (size_t t = 0; t < SIDE; t++) {
        rows[t] = vec_set_int64(0);
        if ((valid >> t & 1) == 0)
            continue;
        rows[t] = vec_load_int(spectra + t * group->stride);
        if (factors != NULL)
            rows[t] =
                (vec_int)rotate(factors, spectrum + t, 2 * (channel % FX8_TILE),
                                (vec_float)rows[t]);
    }
    out += channel * channel_stride + spectrum;
    FX8_UNROLL
    for (size_t h = 0; h < 2; h++) {
        /* part L of pairs[i]: column 2 L + h of rows 2 i and 2 i + 1 */
        vec_int pairs[VEC_QUARTERS], columns[VEC_QUARTERS];
        FX8_UNROLL
        for (size_t i = 0; i < VEC_QUARTERS; i++)
            pairs[i] = h == 0
                           ? VEC(unpacklo_epi64)(rows[2 * i], rows[2 * i + 1])
                           : VEC(unpackhi_epi64)(rows[2 * i], rows[2 * i + 1]);
        vec_turn_quarters(pairs, columns);
        FX8_UNROLL
        for (size_t q = 0; q < VEC_QUARTERS; q++)
            vec_store_int(out + (2 * q + h) * channel_stride, columns[q]);
    }
}

/** The entry, `factors` as for quantise_tiles; the reference does the edges. */
FX8_INLINE void turn_sides(const struct fx8_spectra_group *group,
                           struct factors *factors, struct fx8_cf32 *out,
                           size_t channel_stride)
{
    const size_t spectra = group->n_spectra / SIDE * SIDE;
    const size_t channels = group->n_channels / SIDE * SIDE;
    if (factors != NULL)
        begin_factors(group, factors);
    for (size_t channel = 0; channel < channels; channel += SIDE) {
        if (factors != NULL && channel % FX8_TILE == 0)
            find_middles(group->n_spectra, factors);
        for (size_t t = 0; t < spectra; t += SIDE) {
            if (t % LINE_ITEMS == 0 && channel + SIDE < channels)
                prefetch_rows(out + (channel + SIDE) * channel_stride + t,
                              channel_stride * sizeof *out, SIDE);
            turn_side(group, t, channel, factors, out, channel_stride);
        }
    }
    fx8_corner_turn_part(group, 0, group->n_spectra, channels,
                         group->n_channels, out, channel_stride);
    fx8_corner_turn_part(group, spectra, group->n_spectra, 0, channels, out,
                         channel_stride);
}

/** Up to 32 channels from `first` on, rotated before, in the first-level cache.
 */
static void turn_rotated(const struct fx8_spectra_group *group, size_t first,
                         size_t n_channels, const struct factors *factors,
                         struct fx8_cf32 *out, size_t channel_stride)
{
    FX8_ALIGNED float rows[FX8_GROUP * TILE_FLOATS];
    const struct fx8_spectra_group turned = {
        .n_spectra = group->n_spectra,
        .n_channels = n_channels,
        .spectra = (const struct fx8_cf32 *)(const void *)rows,
        .stride = FX8_TILE,
        .valid = group->valid,
    };
    for (size_t t = 0; t < group->n_spectra; t++) {
        const float *spectrum = &group->spectra[t * group->stride + first].re;
        if ((group->valid >> t & 1) == 0)
            continue;
        for (size_t at = 0; at < 2 * n_channels; at += VEC_LANES) {
            const vec_float x = vec_load_first(
                2 * n_channels - at, spectrum + at, VEC(set1_ps)(0.0f));
            vec_store_first(VEC_LANES, rows + t * TILE_FLOATS + at,
                            rotate(factors, t, at, x));
        }
    }
    turn_sides(&turned, NULL, out + first * channel_stride, channel_stride);
}

/** The entry with a rotation where sides leave edges: the reference is too slow
 *  for rotating them. */
static void turn_edged(const struct fx8_spectra_group *group,
                       struct factors *factors, struct fx8_cf32 *out,
                       size_t channel_stride)
{
    begin_factors(group, factors);
    for (size_t first = 0; first < group->n_channels; first += FX8_TILE) {
        const size_t n_left = group->n_channels - first;
        find_middles(group->n_spectra, factors);
        turn_rotated(group, first, n_left < FX8_TILE ? n_left : FX8_TILE,
                     factors, out, channel_stride);
    }
}

static void corner_turn(const struct fx8_spectra_group *group,
                        struct fx8_cf32 *out, size_t channel_stride)
{
    struct factors factors;
    if (group->phases == NULL)
        turn_sides(group, NULL, out, channel_stride);
    else if (group->n_spectra % SIDE == 0 && group->n_channels % SIDE == 0)
        turn_sides(group, &factors, out, channel_stride);
    else
        turn_edged(group, &factors, out, channel_stride);
}

void FX8_VARIANT(fx8_fill_quantise)(struct fx8_operations *operations)
{
    operations->quantise = quantise;
    operations->corner_turn = corner_turn;
}
