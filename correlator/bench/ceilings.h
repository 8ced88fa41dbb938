/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ceilings.h -- the measured limits of this machine: the rulers against which
 * fx8's speeds are given as shares.  A share stays comparable when the machine
 * is slower today than yesterday; a rate in seconds does not.
 *
 * The arithmetic rulers are loops of one instruction on registers only, in
 * assembly, so that no compiler can shorten them.
 */
#ifndef FX8_CORRELATOR_BENCH_CEILINGS_H
#define FX8_CORRELATOR_BENCH_CEILINGS_H

/** The rulers. */
enum fx8_ceiling {
    FX8_CEILING_DPBUSD_ZMM, /**< 8-bit dot product, 512 bits */
    FX8_CEILING_DPWSSD_ZMM, /**< 16-bit dot product, 512 bits */
    FX8_CEILING_FMA_ZMM,    /**< float fused multiply-add, 512 bits */
    FX8_CEILING_DPBUSD_YMM, /**< as DPBUSD_ZMM, 256 bits, of AVX-VNNI */
    FX8_CEILING_DPWSSD_YMM, /**< as DPWSSD_ZMM, likewise */
    FX8_CEILING_MADDWD_YMM, /**< 16-bit multiply and add, then add, 256 bits */
    FX8_CEILING_FMA_YMM,    /**< float fused multiply-add, 256 bits */
    FX8_CEILING_MADDWD_XMM, /**< as MADDWD_YMM, 128 bits: the most that the
                               plain reference may use */
    FX8_CEILING_MULADD_XMM, /**< float multiply, then add, 128 bits: likewise */
    FX8_CEILING_MEMCPY,     /**< copy beyond the caches */
    FX8_CEILING_TRIAD,      /**< a = b + s c in double, beyond the caches */
    FX8_N_CEILINGS
};

/** Type of the multiply-adds of an operation. */
enum fx8_ceiling_work {
    FX8_CEILING_INT8,  /**< integers of 8 bits into 32 */
    FX8_CEILING_INT16, /**< integers of 16 bits into 32 */
    FX8_CEILING_FLOAT, /**< floats */
    FX8_N_CEILING_WORKS
};

/** Name and unit of a ruler. */
struct fx8_ceiling_description {
    const char *name;    /**< "vpdpbusd zmm" */
    const char *unit;    /**< "CMAC/s", "byte/s" */
    const char *variant; /**< its variant of operations, or NULL */
};

/** Description of a ruler; static. */
const struct fx8_ceiling_description *fx8_ceiling_describe(
    enum fx8_ceiling ceiling);

/** The fastest ruler for some work that applies to a variant of operations:
 *  "reference", "avx2", "avxvnni" or "avx512". */
enum fx8_ceiling fx8_ceiling_of(const char *variant,
                                enum fx8_ceiling_work work);

/**
 * fx8_ceiling_measure -- rate of a ruler on the calling thread.
 *
 * Returned: double  per second: complex products (four real ones, CMAC), or
 *                   bytes, read plus written; 0 if this CPU lacks the
 *                   instruction, or 192 MiB of memory for the last two
 * Notes:    1) takes about 30 ms, the memory rulers 110 ms, mostly to touch
 *              their memory first; the best of 20 parts (memory: 4) counts,
 *              since other load only makes parts slower
 *           2) threads may measure at the same time, and then share the
 *              resources that cores share
 */
double fx8_ceiling_measure(enum fx8_ceiling ceiling);

#endif
