/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spectra.h -- the filter bank of the peer: filter, FFTW, quantiser, corner
 * turn.
 *
 * What FFTW does not do is written in the vectors of the compiler, for the
 * machine that it runs on: 16 spectra at a time share the weights of the filter
 * in registers, and blocks of 32 x 32 spectra and channels are turned by
 * shuffles.  How FFTW is called is a choice among many, made by timing.
 */
#ifndef FX8_VALIDATION_PEERS_SPECTRA_H
#define FX8_VALIDATION_PEERS_SPECTRA_H

#include <fftw3.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <chrono>
#include <memory>
#include <vector>

enum { TAPS = 8, GROUP = 32 };

/* --- vectors ----------------------------------------------------- */

typedef float Floats __attribute__((vector_size(64)));
typedef int32_t Ints __attribute__((vector_size(64)));
typedef int8_t Bytes __attribute__((vector_size(16)));
typedef uint16_t Pairs __attribute__((vector_size(64))); /* 32 of re, im */

template <class V> static inline V load(const void *from)
{
    V v;
    memcpy(&v, from, sizeof v);
    return v;
}

template <class V> static inline void store(void *to, V v)
{
    memcpy(to, &v, sizeof v);
}

/* gcc 12 does not find the instructions for these two by itself. */
static inline Floats widen(const int8_t *from)
{
#if defined(__AVX512F__)
    return (Floats)_mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from)));
#else
    return __builtin_convertvector(
        __builtin_convertvector(load<Bytes>(from), Ints), Floats);
#endif
}

/* To the nearest integer, ties to even, clamped to +-127. */
static inline Bytes quantise(Floats x)
{
    const Floats most = Floats{} + 127.0f;
    x = x > most ? most : x;
    x = x < -most ? -most : x;
#if defined(__AVX512F__)
    return (Bytes)_mm512_cvtsepi32_epi8(_mm512_cvtps_epi32((__m512)x));
#else
    /* the sum with 1.5 x 2^23 has the integer in its lowest bits */
    return __builtin_convertvector((Ints)(x + 12582912.0f), Bytes);
#endif
}

/* Conjugate times i: (im, -re). */
static inline Pairs turn_quarter(Pairs x)
{
    return (x >> 8) | ((0 - x) << 8);
}

/* The pairs of two vectors by turns: their first or their last halves. */
template <int half> static inline Pairs zip(Pairs a, Pairs b)
{
    Pairs order;
    for (int k = 0; k < 32; k++)
        order[k] = (uint16_t)(k / 2 + 16 * half + k % 2 * 32);
    return __builtin_shuffle(a, b, order);
}

/* Transpose 32 x 32 pairs: five rounds of zips. */
static inline void transpose(Pairs *rows)
{
    Pairs other[32];
    for (int round = 0; round < 5; round++) {
#pragma GCC unroll 16
        for (int k = 0; k < 16; k++) {
            other[2 * k] = zip<0>(rows[k], rows[k + 16]);
            other[2 * k + 1] = zip<1>(rows[k], rows[k + 16]);
        }
        memcpy(rows, other, sizeof other);
    }
}

/* --- memory ------------------------------------------------------ */

/* In large pages, zero. */
template <class T> struct Array {
    explicit Array(size_t n)
    {
        const size_t page = (size_t)2 << 20;
        const size_t size = (n * sizeof(T) + page - 1) / page * page;
        if (posix_memalign(&memory, page, size) != 0)
            abort();
        madvise(memory, size, MADV_HUGEPAGE);
        memset(memory, 0, size);
    }
    Array(const Array &) = delete;
    ~Array()
    {
        free(memory);
    }
    T *at(size_t k)
    {
        return (T *)memory + k;
    }
    void *memory;
};

static inline double now()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/* --- the filter -------------------------------------------------- */

/* 16 spectra of 16 floats from k on. */
static inline void filter_column(const int8_t *samples, size_t row,
                                 const float *weights, float *to, size_t pitch)
{
    Floats w[TAPS], sums[16] = {};
#pragma GCC unroll 8
    for (int tap = 0; tap < TAPS; tap++)
        w[tap] = load<Floats>(weights + tap * row);
#pragma GCC unroll 32
    for (int r = 0; r < 16 + TAPS - 1; r++) {
        const Floats x = widen(samples + r * row);
#pragma GCC unroll 8
        for (int tap = 0; tap < TAPS; tap++)
            if (r - tap >= 0 && r - tap < 16)
                sums[r - tap] += w[tap] * x;
    }
#pragma GCC unroll 16
    for (int k = 0; k < 16; k++)
        store(to + k * pitch, sums[k]);
}

/* --- ways to call FFTW ------------------------------------------- */

struct Way {
    size_t batch; /* transforms of a call */
    bool in_place;
    bool is_turned; /* FFTW writes [channel][spectrum] */
    unsigned effort;
};

/* Spectra of a group, transformed in one way. */
struct Transform {
    Transform(size_t n_channels, const Way &given)
        : way(given), length(n_channels), pitch(n_channels + 8),
          z(2 * GROUP * pitch), turned(2 * GROUP * pitch)
    {
        const int n = (int)length, distance = (int)pitch;
        fftwf_complex *from = (fftwf_complex *)z.at(0);
        fftwf_complex *to = way.in_place ? from : (fftwf_complex *)turned.at(0);
        fftwf_set_timelimit(10.0);
        plan = fftwf_plan_many_dft(
            1, &n, (int)way.batch, from, NULL, 1, distance, to, NULL,
            way.is_turned ? GROUP : 1, way.is_turned ? 1 : distance,
            FFTW_FORWARD, way.effort);
    }
    Transform(const Transform &) = delete;
    ~Transform()
    {
        fftwf_destroy_plan(plan);
    }

    /* The results: [GROUP][pitch], or [length][GROUP]. */
    const float *execute()
    {
        float *to = way.in_place ? z.at(0) : turned.at(0);
        const size_t step = way.is_turned ? 1 : pitch;
        for (size_t k = 0; k < GROUP; k += way.batch)
            fftwf_execute_dft(plan, (fftwf_complex *)z.at(2 * k * pitch),
                              (fftwf_complex *)(to + 2 * k * step));
        return to;
    }

    Way way;
    size_t length, pitch;
    Array<float> z, turned;
    fftwf_plan plan;
};

/* --- the filter bank --------------------------------------------- */

struct Bank {
    Bank(size_t n_channels, const std::vector<float> &given)
        : length(n_channels), weights(given), pairs(2 * GROUP * n_channels)
    {
    }

    /* Channelise 32 spectra of an input; place(channel) says where
     * their pairs go. */
    template <class F>
    void run(Transform &transform, const int8_t *samples, const float *gain,
             const F &place)
    {
        const size_t row = 2 * length;
        for (size_t half = 0; half < GROUP; half += 16)
            for (size_t k = 0; k < row; k += 16)
                filter_column(samples + half * row + k, row, &weights[k],
                              transform.z.at(2 * half * transform.pitch + k),
                              2 * transform.pitch);
        const float *z = transform.execute();
        if (transform.way.is_turned)
            quantise_turned(z, gain, place);
        else
            quantise_rows(z, transform.pitch, gain, place);
    }

    template <class F>
    void quantise_turned(const float *z, const float *gain, const F &place)
    {
        for (size_t c = 0; c < length; c++) {
            Bytes bytes[4];
            for (int k = 0; k < 4; k++)
                bytes[k] = quantise(load<Floats>(z + 64 * c + 16 * k) *
                                    (Floats{} + gain[2 * c]));
            store(place(c), load<Pairs>(bytes));
        }
    }

    template <class F>
    void quantise_rows(const float *z, size_t pitch, const float *gain,
                       const F &place)
    {
        const size_t row = 2 * length;
        for (size_t t = 0; t < GROUP; t++)
            for (size_t k = 0; k < row; k += 16)
                store(pairs.at(t * row + k),
                      quantise(load<Floats>(z + 2 * t * pitch + k) *
                               load<Floats>(gain + k)));
        for (size_t c = 0; c < length; c += 32) {
            Pairs block[32];
            for (size_t t = 0; t < GROUP; t++)
                block[t] = load<Pairs>(pairs.at(t * row + 2 * c));
            transpose(block);
            for (size_t k = 0; k < 32; k++)
                store(place(c + k), block[k]);
        }
    }

    size_t length;
    const std::vector<float> &weights; /* [TAPS][2 length] */
    Array<int8_t> pairs;               /* [GROUP][length][re, im] */
};

#endif
