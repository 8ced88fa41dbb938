/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes_simd.c -- quantise and corner turn of spectra side by side (lanes.h).
 *
 * The 32 spectra of a channel are one cache line of the correlator's rows, in
 * order, and are written as a whole, past the caches if a block does not fit
 * them: no line is fetched just to be overwritten.  16-bit numbers are packed
 * to bytes within the 128-bit parts of registers, where re and im are then
 * interleaved.
 */
#include <string.h>

#include "kernels/cpu/dither_simd.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rotation_simd.h"
#include "kernels/cpu/variants.h"
#include "kernels/cpu/vector.h"

/** Order of the bytes of each part: four re, four im, and again. */
#define INTERLEAVED                                                            \
    _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15)

/* Factors are [1 + tiles][re, im][FX8_GROUP]: of the places in a tile, then of
 * the middle of each tile by spectrum. */
#define TILE_FACTORS (2 * FX8_GROUP)
_Static_assert(FX8_ROTATION_TILE == FX8_GROUP, "as many places as spectra");

/** exp(2 pi i phase): re, then im. */
static inline void find_turns(const uint64_t phases[FX8_GROUP],
                              float factors[TILE_FACTORS])
{
    for (size_t first = 0; first < FX8_GROUP; first += FACTORS)
        find_some(phases + first, factors + first, factors + FX8_GROUP + first);
}

static void find_factors(const struct fx8_phases *phases, size_t n_channels,
                         float *factors)
{
    uint64_t step[FX8_GROUP], phase[FX8_GROUP];
    for (size_t t = 0; t < FX8_GROUP; t++) {
        step[t] = FX8_ROTATION_TILE * phases->slope[t];
        phase[t] = phases->first[t] + fx8_rotation_middle(0) * phases->slope[t];
    }
    uint64_t place[FX8_GROUP];
    for (size_t k = 0; k < FX8_GROUP; k++)
        place[k] = fx8_rotation_place(phases->middle_slope, k);
    find_turns(place, factors);
    for (size_t c = 0; c < n_channels; c += FX8_ROTATION_TILE) {
        factors += TILE_FACTORS;
        find_turns(phase, factors);
        for (size_t t = 0; t < FX8_GROUP; t++)
            phase[t] += step[t];
    }
}

/** VEC_LANES spectra of a channel. */
struct values {
    vec_float re, im;
};

/** A channel to quantise or turn: the gain times the factors of its place. */
struct channel {
    const float *halves[2];
    const float *middle; /* of its tile; NULL: not rotated */
    vec_float re, im;
};

FX8_INLINE struct values times(struct values x, vec_float re, vec_float im)
{
    return (struct values){VEC(fmsub_ps)(x.re, re, x.im * im),
                           VEC(fmadd_ps)(x.im, re, x.re * im)};
}

/** Spectra t .. t + VEC_LANES - 1. */
FX8_INLINE struct values take(const struct channel *channel, bool is_rotated,
                              size_t t)
{
    const float *at = channel->halves[t / FX8_LANES] + t % FX8_LANES;
    struct values x = {VEC(load_ps)(at), VEC(load_ps)(at + FX8_LANES)};
    if (!is_rotated)
        return (struct values){x.re * channel->re, x.im * channel->re};
    x = times(x, VEC(load_ps)(channel->middle + t),
              VEC(load_ps)(channel->middle + FX8_GROUP + t));
    return times(x, channel->re, channel->im);
}

/** Channel k of the group. */
FX8_INLINE struct channel open_channel(const struct fx8_lanes_group *group,
                                       bool is_rotated, size_t k, float gain)
{
    FX8_ALIGNED static const float zeros[FX8_COLUMN] = {0.0f};
    const struct fx8_lanes_channel *of = &group->channels[k];
    const size_t column = (size_t)of->column * FX8_COLUMN;
    struct channel channel = {.re = VEC(set1_ps)(gain)};
    FX8_UNROLL
    for (size_t h = 0; h < 2; h++)
        channel.halves[h] =
            group->halves[h] == NULL ? zeros : group->halves[h] + column;
    if (is_rotated) {
        const size_t tile = of->channel / FX8_ROTATION_TILE;
        const float *place = group->factors + of->channel % FX8_ROTATION_TILE;
        channel.middle = group->factors + (1 + tile) * TILE_FACTORS;
        channel.im = VEC(set1_ps)(place[FX8_GROUP]) * channel.re;
        channel.re = VEC(set1_ps)(place[0]) * channel.re;
    }
    return channel;
}

/** Round 2 VEC_LANES spectra to bytes, right unless a magnitude is above 127;
 *  `largest` gets the magnitudes.  Numbers that are no int32 become the least
 *  one, so their magnitude is too large as well. */
FX8_INLINE vec_int round_two(struct values a, struct values b, vec_int *largest)
{
    const vec_int first =
        VEC(packs_epi32)(VEC(cvtps_epi32)(a.re), VEC(cvtps_epi32)(a.im));
    const vec_int second =
        VEC(packs_epi32)(VEC(cvtps_epi32)(b.re), VEC(cvtps_epi32)(b.im));
    *largest = VEC(max_epu16)(*largest, VEC(max_epu16)(VEC(abs_epi16)(first),
                                                       VEC(abs_epi16)(second)));
    return vec_order_packed(VEC(shuffle_epi8)(VEC(packs_epi16)(first, second),
                                              vec_repeat(INTERLEAVED)));
}

/** Add the noise of spectra t .. t + VEC_LANES - 1 to theirs. */
FX8_INLINE struct values add_noise(struct values x, const float *noise,
                                   size_t t)
{
    return (struct values){x.re + VEC(load_ps)(noise + t),
                           x.im + VEC(load_ps)(noise + FX8_GROUP + t)};
}

/** Store part of a row. */
FX8_INLINE void put(const struct fx8_lanes_group *group, void *at, vec_int x)
{
    if (group->is_streamed)
        vec_stream_int(at, x);
    else
        vec_store_int(at, x);
}

FX8_INLINE void quantise_channels(const struct fx8_lanes_group *group,
                                  bool is_rotated, bool is_dithered,
                                  const float *gain, struct fx8_ci8 *out,
                                  size_t channel_stride, uint32_t *clips)
{
    FX8_ALIGNED float noise[2 * FX8_GROUP];
    for (size_t k = 0; k < group->n_channels; k++) {
        const size_t c = group->channels[k].channel;
        struct fx8_ci8 *line = out + c * channel_stride;
        const struct channel channel =
            open_channel(group, is_rotated, k, gain[c]);
        vec_int largest = vec_set_int64(0);
        if (is_dithered)
            find_noise(group->dither, c, noise, noise + FX8_GROUP);
        FX8_UNROLL
        for (size_t t = 0; t < FX8_GROUP; t += 2 * VEC_LANES) {
            struct values a = take(&channel, is_rotated, t);
            struct values b = take(&channel, is_rotated, t + VEC_LANES);
            if (is_dithered) {
                a = add_noise(a, noise, t);
                b = add_noise(b, noise, t + VEC_LANES);
            }
            put(group, line + t, round_two(a, b, &largest));
        }
        if (vec_any_above_int16(largest, 127)) /* rare */
            clips[c] += fx8_lanes_quantise_channel(group, k, gain[c], line);
    }
}

static void quantise(const struct fx8_lanes_group *group, const float *gain,
                     struct fx8_ci8 *out, size_t channel_stride,
                     uint32_t *clips)
{
    const bool is_rotated = group->phases != NULL;
    if (group->dither != NULL)
        quantise_channels(group, is_rotated, true, gain, out, channel_stride,
                          clips);
    else if (is_rotated)
        quantise_channels(group, true, false, gain, out, channel_stride, clips);
    else
        quantise_channels(group, false, false, gain, out, channel_stride,
                          clips);
}

FX8_INLINE void turn_channels(const struct fx8_lanes_group *group,
                              bool is_rotated, struct fx8_cf32 *out,
                              size_t channel_stride)
{
    for (size_t k = 0; k < group->n_channels; k++) {
        struct fx8_cf32 *row =
            out + group->channels[k].channel * channel_stride;
        const struct channel channel = open_channel(group, is_rotated, k, 1.0f);
        FX8_UNROLL
        for (size_t t = 0; t < FX8_GROUP; t += VEC_LANES) {
            /* transformed zeros may be -0 */
            const struct values x = take(&channel, is_rotated, t);
            const vec_float re = vec_keep_lanes(group->valid >> t, x.re);
            const vec_float im = vec_keep_lanes(group->valid >> t, x.im);
            put(group, row + t, vec_interleave_low(re, im));
            put(group, row + t + VEC_LANES / 2, vec_interleave_high(re, im));
        }
    }
}

static void corner_turn(const struct fx8_lanes_group *group,
                        struct fx8_cf32 *out, size_t channel_stride)
{
    if (group->phases == NULL)
        turn_channels(group, false, out, channel_stride);
    else
        turn_channels(group, true, out, channel_stride);
}

void FX8_VARIANT(fx8_fill_lanes)(struct fx8_operations *operations)
{
    operations->lanes.find_factors = find_factors;
    operations->lanes.quantise = quantise;
    operations->lanes.corner_turn = corner_turn;
}
