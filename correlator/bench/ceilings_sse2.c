/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ceilings_sse2.c -- ruler loops on 128-bit registers, which every x86-64 has
 * and the compiler may use for the plain reference: 12 accumulators xmm0 ..
 * xmm11, operands xmm12 and xmm13, zero, a product in xmm14.
 */
#include "correlator/bench/ceilings.h"

#if defined(__x86_64__)

#define EACH_ACCUMULATOR(DO)                                                   \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

#define CLEAR(k) "pxor %%xmm" #k ", %%xmm" #k "\n\t"

/* Two-operand instructions: the product needs a copy of one operand. */
#define MADDWD(k)                                                              \
    "movdqa %%xmm12, %%xmm14\n\t"                                              \
    "pmaddwd %%xmm13, %%xmm14\n\t"                                             \
    "paddd %%xmm14, %%xmm" #k "\n\t"
#define MULADD(k)                                                              \
    "movaps %%xmm12, %%xmm14\n\t"                                              \
    "mulps %%xmm13, %%xmm14\n\t"                                               \
    "addps %%xmm14, %%xmm" #k "\n\t"

#define LOOP(n, INSTRUCTIONS)                                                  \
    __asm__ volatile(                                                          \
        EACH_ACCUMULATOR(CLEAR) CLEAR(12)                                      \
            CLEAR(13) "1:\n\t" EACH_ACCUMULATOR(INSTRUCTIONS) "dec %0\n\t"     \
                                                              "jnz 1b\n\t"     \
        : "+r"(n)                                                              \
        :                                                                      \
        : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",        \
          "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14")

void fx8_ceiling_loop_maddwd_xmm(long n)
{
    LOOP(n, MADDWD);
}

void fx8_ceiling_loop_muladd_xmm(long n)
{
    LOOP(n, MULADD);
}

#else

void fx8_ceiling_loop_maddwd_xmm(long n)
{
    (void)n;
}

void fx8_ceiling_loop_muladd_xmm(long n)
{
    (void)n;
}

#endif
