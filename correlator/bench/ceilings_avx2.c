/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ceilings_avx2.c -- ruler loops on 256-bit registers: 12 accumulators ymm0
 * .. ymm11, operands ymm12 and ymm13, zero.
 */
#include "correlator/bench/ceilings.h"

#if defined(__x86_64__)

#define EACH_ACCUMULATOR(DO)                                                   \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

#define CLEAR(k) "vpxor %%ymm" #k ", %%ymm" #k ", %%ymm" #k "\n\t"
#define FMA(k)   "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #k "\n\t"

/* Multiply, then add: AVX2 has no instruction for both on integers. */
#define MADDWD(k)                                                              \
    "vpmaddwd %%ymm12, %%ymm13, %%ymm14\n\t"                                   \
    "vpaddd %%ymm14, %%ymm" #k ", %%ymm" #k "\n\t"

#define LOOP(n, INSTRUCTION)                                                   \
    __asm__ volatile(                                                          \
        EACH_ACCUMULATOR(CLEAR) CLEAR(12)                                      \
            CLEAR(13) "1:\n\t" EACH_ACCUMULATOR(INSTRUCTION) "dec %0\n\t"      \
                                                             "jnz 1b\n\t"      \
        : "+r"(n)                                                              \
        :                                                                      \
        : "cc", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6",        \
          "ymm7", "ymm8", "ymm9", "ymm10", "ymm11", "ymm12", "ymm13", "ymm14")

void fx8_ceiling_loop_maddwd_ymm(long n)
{
    LOOP(n, MADDWD);
}

void fx8_ceiling_loop_fma_ymm(long n)
{
    LOOP(n, FMA);
}

#else

void fx8_ceiling_loop_maddwd_ymm(long n)
{
    (void)n;
}

void fx8_ceiling_loop_fma_ymm(long n)
{
    (void)n;
}

#endif
