/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unscale_simd.c -- sums over counts over gains, a register of pairs at a time:
 * 4 with AVX-512, 2 with AVX2, each as (re, im) in doubles.  The operations and
 * their order are those of fx8_visibility_of(), so the bits are.
 *
 * What only some pairs need costs no branch: a pair without products is
 * divided like the others and then set to 0; the last pair of a row, the auto,
 * is in a register of its own round, as are pairs that fill no register.
 *
 * The count of a pair is the same in all channels.  An integer a is divided by
 * it with three operations that cost less than a division, from the reciprocal
 * r = 1 (/) count (Markstein; see kernels/numeric/divide.h):
 *
 *     q0 = a (x) r,  q = q0 (+) r (a (-) count q0)       each (.) one rounding
 *
 * r is the reciprocal rounded to nearest, q0 is within one unit of the last
 * place of a / count, so the residual is exact and q the quotient rounded to
 * nearest: Markstein's theorem asks for no more but that nothing overflows or
 * underflows, and a is 0 or from 1 to 2^63, the count from 1 to 2^63.  Sums in
 * double have no such limits, nor a single zero: they are divided.
 */
#include <string.h>

#include "kernels/cpu/variants.h"
#include "kernels/cpu/vector.h"
#include "kernels/numeric/visibility.h"

/* Pairs and doubles of a register. */
enum { PAIRS = VEC_LANES / 4, DOUBLES = 2 * PAIRS };

/* Bytes of a cache line, and of the sums of a channel that are fetched ahead:
 * rows of pairs follow each other. */
enum { LINE = 64, AHEAD = 512 };

/* What the pairs of a register have in common in all channels. */
struct pairs {
    size_t first, n;
    vec_double counts, reciprocals, signs;
    vec_int is_noisy, is_kept; /* all bits of lanes; at the end of a row */
};

FX8_INLINE struct pairs open_pairs(const struct fx8_unscale *row, size_t first,
                                   size_t n)
{
    const int64_t sign = row->negates ? INT64_MIN : 0;
    struct pairs pairs = {.first = first, .n = n};
    pairs.counts = vec_load_twice(row->counts + first);
    pairs.reciprocals = VEC(set1_pd)(1.0) / pairs.counts;
    pairs.signs = (vec_double)vec_repeat(_mm_set_epi64x(sign, 0));
    return pairs;
}

/* n words of 0, one of all bits, n words of 0. */
#define ONE_LANE(n) (one_lane + DOUBLES - (n))
static const int64_t one_lane[2 * DOUBLES + 1] = {[DOUBLES] = -1};

/** The same for the end of a row, whose last pair may be an auto. */
FX8_INLINE struct pairs open_end(const struct fx8_unscale *row, size_t first,
                                 size_t n)
{
    struct pairs pairs = open_pairs(row, first, n);
    const vec_int zero = vec_set_int64(0);
    const bool is_auto = row->ends_on_auto;
    pairs.is_noisy = is_auto ? vec_load_int(ONE_LANE(2 * n - 2)) : zero;
    pairs.is_kept = ~(is_auto ? vec_load_int(ONE_LANE(2 * n - 1)) : zero);
    return pairs;
}

/** The means in one channel. */
FX8_INLINE vec_double load_means(const struct fx8_unscale *row,
                                 const struct pairs *pairs, bool is_int8,
                                 size_t channel)
{
    const size_t at = channel * row->sum_step + 2 * pairs->first;
    const void *sums = is_int8 ? (const void *)(row->int8 + at)
                               : (const void *)(row->fp32 + at);
    _mm_prefetch((const char *)sums + AHEAD, _MM_HINT_T0);
    const vec_int words = pairs->n == PAIRS
                              ? vec_load_int(sums)
                              : vec_load_words(2 * pairs->n, sums);
    if (!is_int8)
        return (vec_double)words / pairs->counts;
    const vec_double a = vec_int64_to_double(words);
    const vec_double q = a * pairs->reciprocals;
    return VEC(fmadd_pd)(VEC(fnmadd_pd)(pairs->counts, q, a),
                         pairs->reciprocals, q);
}

/** Means without the noise of an auto, where a level of 1 remains. */
FX8_INLINE vec_double remove_noise(const struct fx8_unscale *row,
                                   const struct pairs *pairs, size_t channel,
                                   vec_double v)
{
    const double n_parts = row->first_is_real && channel == 0 ? 1.0 : 2.0;
    const vec_double noise =
        (vec_double)((vec_int)VEC(set1_pd)(n_parts * row->noise) &
                     pairs->is_noisy);
    return vec_if_at_least(v - noise, VEC(set1_pd)(n_parts), v);
}

/** Visibilities in one channel. */
FX8_INLINE vec_double find_values(const struct fx8_unscale *row,
                                  const struct pairs *pairs, bool is_int8,
                                  bool is_end, size_t channel)
{
    vec_double v = load_means(row, pairs, is_int8, channel);
    if (is_end)
        v = remove_noise(row, pairs, channel, v);
    const vec_double gains =
        vec_load_twice(row->gain_i + channel * row->step + pairs->first);
    v = v / (gains * VEC(set1_pd)(row->gain_j[channel * row->gain_j_step]));
    if (row->ripple != NULL)
        v = v / VEC(set1_pd)(row->ripple[channel]);
    v = vec_if_nonzero(pairs->counts,
                       (vec_double)((vec_int)v ^ (vec_int)pairs->signs));
    return is_end ? (vec_double)((vec_int)v & pairs->is_kept) : v;
}

/** All channels of a register of pairs. */
FX8_INLINE void take_pairs(const struct fx8_unscale *row,
                           const struct pairs *pairs, bool is_int8,
                           bool is_added, bool is_end)
{
    if (!is_added) {
        for (size_t c = 0; c < row->n_channels; c++)
            vec_store_narrow(
                &row->values[c * row->value_step + pairs->first].re,
                find_values(row, pairs, is_int8, is_end, c));
        return;
    }
    double *const to_all = row->all + 2 * pairs->first;
    double *const to_unflagged = row->unflagged + 2 * pairs->first;
    vec_double all = VEC(loadu_pd)(to_all);
    vec_double unflagged = VEC(loadu_pd)(to_unflagged);
    for (size_t c = 0; c < row->n_channels; c++) {
        const vec_double v = find_values(row, pairs, is_int8, is_end, c);
        all = all + v;
        unflagged = vec_add_unflagged(
            unflagged, row->flags + c * row->step + pairs->first, v);
    }
    VEC(storeu_pd)(to_all, all);
    VEC(storeu_pd)(to_unflagged, unflagged);
}

FX8_INLINE void unscale_row(const struct fx8_unscale *row, bool is_int8,
                            bool is_added)
{
    size_t k = 0;
    for (; k + PAIRS < row->n; k += PAIRS) {
        const struct pairs pairs = open_pairs(row, k, PAIRS);
        take_pairs(row, &pairs, is_int8, is_added, false);
    }
    const struct pairs pairs = open_end(row, k, row->n - k);
    take_pairs(row, &pairs, is_int8, is_added, true);
}

static void unscale(const struct fx8_unscale *row)
{
    const bool is_int8 = row->int8 != NULL, is_added = row->values == NULL;
    if (is_int8 && is_added)
        unscale_row(row, true, true);
    else if (is_int8)
        unscale_row(row, true, false);
    else if (is_added)
        unscale_row(row, false, true);
    else
        unscale_row(row, false, false);
}

static void stream(size_t n, const void *from, void *to)
{
    const char *in = from;
    char *out = to;
    /* whole lines only: a part of one would be written twice */
    const size_t n_streamed = (uintptr_t)to % LINE == 0 ? n / LINE * LINE : 0;
    for (size_t k = 0; k < n_streamed; k += VEC_BYTES)
        vec_stream_int(out + k, vec_load_int(in + k));
    if (n > n_streamed)
        memcpy(out + n_streamed, in + n_streamed, n - n_streamed);
}

static void settle(void)
{
    vec_stream_end();
}

void FX8_VARIANT(fx8_fill_unscale)(struct fx8_operations *operations)
{
    operations->unscale = unscale;
    operations->stream = stream;
    operations->settle = settle;
}
