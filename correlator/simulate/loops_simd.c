/* SPDX-License-Identifier: BSD-3-Clause */
#include "correlator/simulate/loops_body.h"
#include "kernels/cpu/vector.h"

/* A word is the lower half of a lane of 64 bits; what is in the upper half does
 * not matter until the end. */
enum { COUNTERS = VEC_BYTES / 8 };

struct counters {
    vec_int c[4];
};

/* The ten rounds of fx8_random_words() for COUNTERS indices. */
FX8_INLINE struct counters make_counters(struct fx8_random stream,
                                         uint64_t index)
{
    static const uint64_t places[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const vec_int multiplier[2] = {vec_set_int64(0xD2511F53ll),
                                   vec_set_int64(0xCD9E8D57ll)};
    uint32_t k0 = (uint32_t)stream.seed, k1 = (uint32_t)(stream.seed >> 32);
    vec_int c0 = vec_load_int(places) + vec_set_int64((long long)index);
    vec_int c1 = VEC(srli_epi64)(c0, 32);
    vec_int c2 = vec_set_int64((long long)stream.kind);
    vec_int c3 = vec_set_int64((long long)stream.item);
    FX8_UNROLL
    for (int round = 0; round < 10; round++) {
        const vec_int p0 = VEC(mul_epu32)(multiplier[0], c0);
        const vec_int p1 = VEC(mul_epu32)(multiplier[1], c2);
        c0 = VEC(srli_epi64)(p1, 32) ^ c1 ^ vec_set_int64((long long)k0);
        c1 = p1;
        c2 = VEC(srli_epi64)(p0, 32) ^ c3 ^ vec_set_int64((long long)k1);
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (struct counters){{c0, c1, c2, c3}};
}

/* Words `first` and `second` of each counter, one after the other. */
FX8_INLINE void store_words(vec_int first, vec_int second, uint32_t *to)
{
    const vec_int low = vec_set_int64(0xffffffffll);
    vec_store_int(to, (first & low) | VEC(slli_epi64)(second, 32));
}

static void make_words(struct fx8_random stream, uint64_t index, size_t n,
                       uint32_t *radius, uint32_t *angle)
{
    for (size_t k = 0; k < n; k += COUNTERS) {
        const struct counters words = make_counters(stream, index + k);
        store_words(words.c[0], words.c[2], radius + 2 * k);
        store_words(words.c[1], words.c[3], angle + 2 * k);
    }
}

static void normals(struct fx8_random stream, uint64_t index, size_t n,
                    float *to)
{
    draw_normals(make_words, stream, index, n, to);
}

const struct fx8_loops FX8_VARIANT(fx8_loops) = LOOPS_OF(VEC_BYTES == 64
                                                             ? "avx512"
                                                             : "avx2");
