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

#include "kernels/cpu/transpose16.h"
#include "kernels/cpu/variants.h"

/* Real numbers in one spectrum of a tile. */
#define TILE_FLOATS (2 * FX8_TILE)

/* Items of FP32 spectra in a cache line, and in a register. */
#define LINE_ITEMS (FX8_TILE_BYTES / sizeof(struct fx8_cf32))
#define SIDE       (VEC_BYTES / sizeof(struct fx8_cf32))

_Static_assert(FX8_ROTATION_TILE == FX8_TILE, "one tile for both");

/* Half a step above 127 is rounded to the even 128. */
#define CLIP_LIMIT 127.5f

/** Factors of a rotation: of the middle of a tile, by spectrum; of the places
 * in a tile, by channel, one each for re and im. */
struct factors {
    FX8_ALIGNED float middle_re[FX8_GROUP], middle_im[FX8_GROUP];
    FX8_ALIGNED float place_re[TILE_FLOATS], place_im[TILE_FLOATS];
};

/** exp(2 pi i phase). */
static inline void find_factors(const uint64_t phases[FX8_TILE],
                                float re[FX8_TILE], float im[FX8_TILE])
{
    for (size_t k = 0; k < FX8_TILE; k++) {
        const float turns = fx8_rotation_turns(phases[k]);
        re[k] = fx8_rotation_re(turns);
        im[k] = fx8_rotation_im(turns);
    }
}

/** The factors of places, common to all tiles of a group. */
static inline void find_places(const struct fx8_phases *phases,
                               struct factors *factors)
{
    uint64_t places[FX8_TILE];
    float re[FX8_TILE], im[FX8_TILE];
    for (size_t k = 0; k < FX8_TILE; k++)
        places[k] = fx8_rotation_place(phases->middle_slope, k);
    find_factors(places, re, im);
    for (size_t k = 0; k < FX8_TILE; k++) {
        factors->place_re[2 * k] = factors->place_re[2 * k + 1] = re[k];
        factors->place_im[2 * k] = factors->place_im[2 * k + 1] = im[k];
    }
}

/** The factors of the middle of the tile of `channel`. */
static inline void find_middles(const struct fx8_spectra_group *group,
                                size_t channel, struct factors *factors)
{
    uint64_t phases[FX8_GROUP] = {0};
    const size_t middle = fx8_rotation_middle(channel);
    for (size_t t = 0; t < group->n_spectra; t++)
        phases[t] = group->phases->first[t] + middle * group->phases->slope[t];
    find_factors(phases, factors->middle_re, factors->middle_im);
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

/**
 * quantise_row -- one spectrum, t, of up to 32 channels.
 *
 * Given:    spectrum  float [n_floats], n_floats <= TILE_FLOATS
 *           factors   NULL: not rotated
 *           gains     float [TILE_FLOATS], one each for re and im
 * Returned: row       int8 [TILE_FLOATS]; from n_floats on 0
 *           true when some component was clamped
 * Notes:    clamping before rounding gives the same as after it, and keeps the
 *           conversion to int32 in range
 */
FX8_INLINE bool quantise_row(size_t t, const float *spectrum, size_t n_floats,
                             const struct factors *factors, const float *gains,
                             int8_t *row)
{
    const vec_float most = VEC(set1_ps)(127.0f);
    const vec_float least = VEC(set1_ps)(-127.0f);
    vec_float largest = VEC(set1_ps)(0.0f);
    FX8_UNROLL
    for (size_t first = 0; first < TILE_FLOATS; first += VEC_BYTES) {
        vec_int values[4];
        FX8_UNROLL
        for (size_t i = 0; i < 4; i++) {
            const size_t at = first + i * VEC_LANES;
            const size_t n_left = n_floats > at ? n_floats - at : 0;
            vec_float x =
                vec_load_first(n_left, spectrum + at, VEC(set1_ps)(0.0f));
            if (factors != NULL)
                x = rotate(factors, t, at, x);
            const vec_float scaled = x * VEC(load_ps)(gains + at);
            largest = VEC(max_ps)(largest, vec_absolute(scaled));
            values[i] =
                VEC(cvtps_epi32)(VEC(max_ps)(VEC(min_ps)(scaled, most), least));
        }
        vec_store_int(row + first,
                      vec_order_packed_twice(VEC(packs_epi16)(
                          VEC(packs_epi32)(values[0], values[1]),
                          VEC(packs_epi32)(values[2], values[3]))));
    }
    return vec_any_at_least(largest, VEC(set1_ps)(CLIP_LIMIT));
}

/** Count the clamped channels of spectrum t, n_channels from `first` on.
 *  Clipping is rare: the quantiser of a row only reports whether anything was
 *  clamped. */
static void count_clips(const struct fx8_spectra_group *group, size_t t,
                        size_t first, size_t n_channels, const float *gain,
                        uint32_t *clips)
{
    for (size_t channel = first; channel < first + n_channels; channel++) {
        const struct fx8_cf32 x = fx8_rotate_reference(group, t, channel);
        clips[channel] += fabsf(x.re * gain[channel]) >= CLIP_LIMIT ||
                          fabsf(x.im * gain[channel]) >= CLIP_LIMIT;
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

/** Up to 32 channels from `first` on; other arguments as for quantise. */
FX8_INLINE void quantise_tile(const struct fx8_spectra_group *group,
                              size_t first, size_t n_channels,
                              const struct factors *factors, const float *gain,
                              struct fx8_ci8 *out, size_t channel_stride,
                              uint32_t *clips)
{
    FX8_ALIGNED float gains[TILE_FLOATS] = {0.0f};
    FX8_ALIGNED int8_t tile[FX8_TILE * FX8_TILE_BYTES];
    FX8_ALIGNED int8_t transposed[FX8_TILE * FX8_TILE_BYTES];
    for (size_t k = 0; k < n_channels; k++)
        gains[2 * k] = gains[2 * k + 1] = gain[first + k];
    /* copies, which the bytes of the tile cannot alias */
    const size_t n_spectra = group->n_spectra, stride = group->stride;
    const uint32_t valid = group->valid;
    uint32_t clipped = 0;
    const float *spectrum = &group->spectra[first].re;
    for (size_t t = 0; t < FX8_TILE; t++, spectrum += 2 * stride) {
        int8_t *row = tile + t * FX8_TILE_BYTES;
        if (t >= n_spectra || (valid >> t & 1) == 0) {
            memset(row, 0, FX8_TILE_BYTES);
            continue;
        }
        clipped |= (uint32_t)quantise_row(t, spectrum, 2 * n_channels, factors,
                                          gains, row)
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
    fx8_transpose16(tile, FX8_TILE_BYTES, FX8_TILE_BYTES, transposed,
                    FX8_TILE_BYTES);
    for (size_t k = 0; k < n_channels; k++)
        memcpy(out + k * channel_stride, transposed + k * FX8_TILE_BYTES,
               n_spectra * sizeof *out);
}

/** The entry; `factors`, if not NULL, is memory for those of the group. */
FX8_INLINE void quantise_tiles(const struct fx8_spectra_group *group,
                               struct factors *factors, const float *gain,
                               struct fx8_ci8 *out, size_t channel_stride,
                               uint32_t *clips)
{
    if (factors != NULL)
        find_places(group->phases, factors);
    for (size_t first = 0; first < group->n_channels; first += FX8_TILE) {
        const size_t n_left = group->n_channels - first;
        const size_t n_next = n_left > FX8_TILE ? n_left - FX8_TILE : 0;
        prefetch_rows(out + (first + FX8_TILE) * channel_stride,
                      channel_stride * sizeof *out,
                      n_next < FX8_TILE ? n_next : FX8_TILE);
        if (factors != NULL)
            find_middles(group, first, factors);
        if (n_left >= FX8_TILE) /* a constant */
            quantise_tile(group, first, FX8_TILE, factors, gain, out,
                          channel_stride, clips);
        else
            quantise_tile(group, first, n_left, factors, gain, out,
                          channel_stride, clips);
    }
}

static void quantise(const struct fx8_spectra_group *group, const float *gain,
                     struct fx8_ci8 *out, size_t channel_stride,
                     uint32_t *clips)
{
    struct factors factors;
    if (group->phases == NULL)
        quantise_tiles(group, NULL, gain, out, channel_stride, clips);
    else
        quantise_tiles(group, &factors, gain, out, channel_stride, clips);
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
        find_places(group->phases, factors);
    for (size_t channel = 0; channel < channels; channel += SIDE) {
        if (factors != NULL && channel % FX8_TILE == 0)
            find_middles(group, channel, factors);
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

static void corner_turn(const struct fx8_spectra_group *group,
                        struct fx8_cf32 *out, size_t channel_stride)
{
    struct factors factors;
    if (group->phases == NULL)
        turn_sides(group, NULL, out, channel_stride);
    else
        turn_sides(group, &factors, out, channel_stride);
}

void FX8_VARIANT(fx8_fill_quantise)(struct fx8_operations *operations)
{
    operations->quantise = quantise;
    operations->corner_turn = corner_turn;
}
