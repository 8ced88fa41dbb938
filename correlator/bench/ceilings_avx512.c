/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ceilings_avx512.c -- ruler loops on 512-bit registers: 24 instructions on
 * accumulators zmm0 .. zmm23, operands zmm24 and zmm25 (zero: the values do
 * not matter, and zeros are never slow).
 */
#include "correlator/bench/ceilings.h"

#if defined(__x86_64__)

/* clang-format off */
#define EACH_ACCUMULATOR(DO)                                                   \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)                            \
    DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)                      \
    DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23)
/* clang-format on */

#define CLEAR(k)  "vpxord %%zmm" #k ", %%zmm" #k ", %%zmm" #k "\n\t"
#define DPBUSD(k) "vpdpbusd %%zmm24, %%zmm25, %%zmm" #k "\n\t"
#define DPWSSD(k) "vpdpwssd %%zmm24, %%zmm25, %%zmm" #k "\n\t"
#define FMA(k)    "vfmadd231ps %%zmm24, %%zmm25, %%zmm" #k "\n\t"

#define LOOP(n, INSTRUCTION)                                                   \
    __asm__ volatile(                                                          \
        EACH_ACCUMULATOR(CLEAR) CLEAR(24)                                      \
            CLEAR(25) "1:\n\t" EACH_ACCUMULATOR(INSTRUCTION) "dec %0\n\t"      \
                                                             "jnz 1b\n\t"      \
        : "+r"(n)                                                              \
        :                                                                      \
        : "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6",        \
          "zmm7", "zmm8", "zmm9", "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", \
          "zmm15", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21",       \
          "zmm22", "zmm23", "zmm24", "zmm25")

void fx8_ceiling_loop_dpbusd_zmm(long n)
{
    LOOP(n, DPBUSD);
}

void fx8_ceiling_loop_dpwssd_zmm(long n)
{
    LOOP(n, DPWSSD);
}

void fx8_ceiling_loop_fma_zmm(long n)
{
    LOOP(n, FMA);
}

#else

void fx8_ceiling_loop_dpbusd_zmm(long n)
{
    (void)n;
}

void fx8_ceiling_loop_dpwssd_zmm(long n)
{
    (void)n;
}

void fx8_ceiling_loop_fma_zmm(long n)
{
    (void)n;
}

#endif
