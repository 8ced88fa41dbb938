/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dither.h -- uniform noise of one quantiser step, added before rounding.
 *
 * Noise is a function of its place alone: band, channel, input, first sample of
 * the dump, spectrum of the dump and component.  It therefore depends neither
 * on blocks, threads, ranges and ranks nor on the machine, nor on the other
 * bands and dumps of the run.
 *
 * Source: Salmon, Moraes, Dror and Shaw (2011), "Parallel random numbers: as
 *         easy as 1, 2, 3", SC '11: Philox4x32 with 7 rounds, which passes
 *         TestU01's BigCrush
 */
#ifndef FX8_KERNELS_NUMERIC_DITHER_H
#define FX8_KERNELS_NUMERIC_DITHER_H

#include <stddef.h>

#include "kernels/numeric/target.h"

/** Words of a call of the generator, and its rounds. */
#define FX8_PHILOX_WORDS  4
#define FX8_PHILOX_ROUNDS 7

/** Multipliers of the rounds; what they add to the key. */
#define FX8_PHILOX_FACTOR_0 UINT32_C(0xD2511F53)
#define FX8_PHILOX_FACTOR_1 UINT32_C(0xCD9E8D57)
#define FX8_PHILOX_STEP_0   UINT32_C(0x9E3779B9)
#define FX8_PHILOX_STEP_1   UINT32_C(0xBB67AE85)

/** The second word of the key, plus the band: "fx8d".  The first one is the
 *  input. */
#define FX8_DITHER_SEED UINT32_C(0x66783864)

/** Spectra that four calls serve. */
#define FX8_DITHER_SPECTRA 16

/** Whose noise: that of some spectra of an input and its channels. */
struct fx8_dither {
    uint32_t input;
    uint32_t band_hz; /**< sky frequency of its baseband zero, modulo 2^32 */
    uint32_t channel; /**< number of channel 0 in the band */
    int64_t first_sample; /**< of the dump, counted in the recording */
    int64_t spectrum;     /**< number of spectrum 0 in the dump */
};

/** A block of the generator: `words` is the counter, and becomes the noise. */
FX8_NUMERIC void fx8_philox(uint32_t words[FX8_PHILOX_WORDS], uint32_t key_0,
                            uint32_t key_1)
{
    for (int round = 0; round < FX8_PHILOX_ROUNDS; round++) {
        const uint64_t a = (uint64_t)FX8_PHILOX_FACTOR_0 * words[0];
        const uint64_t b = (uint64_t)FX8_PHILOX_FACTOR_1 * words[2];
        words[0] = (uint32_t)(b >> 32) ^ words[1] ^ key_0;
        words[1] = (uint32_t)b;
        words[2] = (uint32_t)(a >> 32) ^ words[3] ^ key_1;
        words[3] = (uint32_t)a;
        key_0 += FX8_PHILOX_STEP_0;
        key_1 += FX8_PHILOX_STEP_1;
    }
}

/** The call of the generator that serves a spectrum of a dump, modulo 2^32. */
FX8_NUMERIC uint32_t fx8_dither_call(int64_t spectrum)
{
    const uint64_t s = (uint64_t)spectrum;
    return (uint32_t)(s / FX8_DITHER_SPECTRA * 4 + s / 2 % 4);
}

/** Its word for that spectrum: words 0 and 1 serve neighbours, 2 and 3 those
 *  eight spectra later, so that registers of 64-bit lanes hold noise in the
 *  order of the spectra. */
FX8_NUMERIC int fx8_dither_word(int64_t spectrum)
{
    return (int)(spectrum / 8 % 2 * 2 + spectrum % 2);
}

/** The words of a call for a channel. */
FX8_NUMERIC void fx8_dither_words(const struct fx8_dither *dither,
                                  uint32_t call, size_t channel,
                                  uint32_t words[FX8_PHILOX_WORDS])
{
    words[0] = call;
    words[1] = (uint32_t)dither->first_sample;
    words[2] = (uint32_t)((uint64_t)dither->first_sample >> 32);
    words[3] = dither->channel + (uint32_t)channel;
    fx8_philox(words, dither->input, FX8_DITHER_SEED + dither->band_hz);
}

/** The word of spectrum `spectrum` in a channel: both count from those of the
 *  dither. */
FX8_NUMERIC uint32_t fx8_dither_at(const struct fx8_dither *dither,
                                   size_t spectrum, size_t channel)
{
    const int64_t number = dither->spectrum + (int64_t)spectrum;
    uint32_t words[FX8_PHILOX_WORDS];
    fx8_dither_words(dither, fx8_dither_call(number), channel, words);
    return words[fx8_dither_word(number)];
}

/** The noise of a component from 16 bits, -2^15 .. 2^15 - 1: the middles of
 *  2^16 parts of a step, symmetric and never as much as half a step, so that 0
 *  stays 0. */
FX8_NUMERIC float fx8_dither_noise(int32_t bits)
{
    return fx8_fma((float)bits, 0x1p-16f, 0x1p-17f); /* exact */
}

/** The noise of a word: the lower half for re, the upper one for im. */
FX8_NUMERIC float fx8_dither_re(uint32_t word)
{
    return fx8_dither_noise((int32_t)(word << 16) >> 16);
}

FX8_NUMERIC float fx8_dither_im(uint32_t word)
{
    return fx8_dither_noise((int32_t)word >> 16);
}

#endif
