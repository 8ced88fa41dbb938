/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ceilings.c -- the table of rulers, and what they run.
 */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "correlator/bench/bench.h"
#include "correlator/bench/ceilings.h"

/* Parts of a measurement, and the least time of each: long against the
 * resolution of the clock. */
#define N_PARTS 20
#define PART_S  1e-3

/* Bytes of each array of the memory rulers: twice the largest L3 cache that one
 * core of today's machines can fill (32 MiB); and timed passes over them: four
 * take about 20 ms. */
#define ARRAY_BYTES ((size_t)64 << 20)
#define N_PASSES    4

/* --- loops of one instruction ------------------------------------ */

#if defined(__x86_64__)

/*
 * A round of a loop has 12 or 24 instructions, each into a register of its own:
 * more than latency times throughput of any known core (4 x 2, 5 x 2).  The two
 * operands are the registers after these, and zero: the values do not matter,
 * and zeros are never slow.  A product that is added by another instruction
 * goes through register 14.
 *
 * The compiler knows a register by its lowest 128 bits.  Those above 15 are its
 * own only if it may use AVX-512.
 */
#if defined(__AVX512F__)
#define HIGH_REGISTERS                                                         \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23",  \
        "xmm24", "xmm25"
#else
#define HIGH_REGISTERS
#endif

#define EACH_OF_12(DO)                                                         \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define EACH_OF_24(DO)                                                         \
    EACH_OF_12(DO)                                                             \
    DO(12)                                                                     \
    DO(13) DO(14) DO(15) DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23)

#define CLEAR_X(k) "pxor %%xmm" #k ", %%xmm" #k "\n\t"
#define CLEAR_Y(k) "vpxor %%ymm" #k ", %%ymm" #k ", %%ymm" #k "\n\t"
#define CLEAR_Z(k) "vpxord %%zmm" #k ", %%zmm" #k ", %%zmm" #k "\n\t"

/* A function that runs n rounds of a loop, and leaves no upper halves. */
#define LOOP(name, EACH, CLEAR, a, b, end, INSTRUCTION)                        \
    static void name(void *unused, size_t n)                                   \
    {                                                                          \
        (void)unused;                                                          \
        __asm__ volatile(                                                      \
            EACH(CLEAR) CLEAR(a)                                               \
                CLEAR(b) "1:\n\t" EACH(INSTRUCTION) "dec %0\n\tjnz 1b\n\t" end \
            : "+r"(n)                                                          \
            :                                                                  \
            : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",    \
              "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",      \
              "xmm14", "xmm15" HIGH_REGISTERS);                                \
    }

#define DPBUSD_Z(k) "vpdpbusd %%zmm24, %%zmm25, %%zmm" #k "\n\t"
#define DPWSSD_Z(k) "vpdpwssd %%zmm24, %%zmm25, %%zmm" #k "\n\t"
#define FMA_Z(k)    "vfmadd231ps %%zmm24, %%zmm25, %%zmm" #k "\n\t"
#define DPBUSD_Y(k) "%{vex%} vpdpbusd %%ymm12, %%ymm13, %%ymm" #k "\n\t"
#define DPWSSD_Y(k) "%{vex%} vpdpwssd %%ymm12, %%ymm13, %%ymm" #k "\n\t"
#define FMA_Y(k)    "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #k "\n\t"

/* AVX2 has no instruction that multiplies and adds integers. */
#define MADDWD_Y(k)                                                            \
    "vpmaddwd %%ymm12, %%ymm13, %%ymm14\n\t"                                   \
    "vpaddd %%ymm14, %%ymm" #k ", %%ymm" #k "\n\t"

/* Two-operand instructions: the product needs a copy of one operand. */
#define MADDWD_X(k)                                                            \
    "movdqa %%xmm12, %%xmm14\n\t"                                              \
    "pmaddwd %%xmm13, %%xmm14\n\t"                                             \
    "paddd %%xmm14, %%xmm" #k "\n\t"
#define MULADD_X(k)                                                            \
    "movaps %%xmm12, %%xmm14\n\t"                                              \
    "mulps %%xmm13, %%xmm14\n\t"                                               \
    "addps %%xmm14, %%xmm" #k "\n\t"

LOOP(dpbusd_zmm, EACH_OF_24, CLEAR_Z, 24, 25, "vzeroupper", DPBUSD_Z)
LOOP(dpwssd_zmm, EACH_OF_24, CLEAR_Z, 24, 25, "vzeroupper", DPWSSD_Z)
LOOP(fma_zmm, EACH_OF_24, CLEAR_Z, 24, 25, "vzeroupper", FMA_Z)
LOOP(dpbusd_ymm, EACH_OF_12, CLEAR_Y, 12, 13, "vzeroupper", DPBUSD_Y)
LOOP(dpwssd_ymm, EACH_OF_12, CLEAR_Y, 12, 13, "vzeroupper", DPWSSD_Y)
LOOP(maddwd_ymm, EACH_OF_12, CLEAR_Y, 12, 13, "vzeroupper", MADDWD_Y)
LOOP(fma_ymm, EACH_OF_12, CLEAR_Y, 12, 13, "vzeroupper", FMA_Y)
LOOP(maddwd_xmm, EACH_OF_12, CLEAR_X, 12, 13, "", MADDWD_X)
LOOP(muladd_xmm, EACH_OF_12, CLEAR_X, 12, 13, "", MULADD_X)

#define ON_X86(loop) loop
#else
#define ON_X86(loop) NULL
#endif

/* --- memory ------------------------------------------------------ */

/* Keep the compiler from removing the writes. */
static void use(const void *array)
{
    __asm__ volatile("" : : "r"(array) : "memory");
}

static void pass_memcpy(void *context, size_t n)
{
    void **arrays = context;
    for (size_t pass = 0; pass < n; pass++) {
        memcpy(arrays[0], arrays[1], ARRAY_BYTES);
        use(arrays[0]);
    }
}

static void pass_triad(void *context, size_t n)
{
    void **arrays = context;
    double *restrict a = arrays[0];
    const double *restrict b = arrays[1], *restrict c = arrays[2];
    for (size_t pass = 0; pass < n; pass++) {
        for (size_t k = 0; k < ARRAY_BYTES / sizeof(double); k++)
            a[k] = b[k] + 3.0 * c[k];
        use(a);
    }
}

/* --- the rulers -------------------------------------------------- */

static const struct {
    struct fx8_ceiling_description description;
    void (*run)(void *arrays, size_t n_rounds); /* NULL: not on such CPUs */
    double work; /* of a round: complex products, a quarter of the real ones, or
                    bytes */
} rulers[FX8_N_CEILINGS] = {
#define X86(variant, name, loop, n_real)                                       \
    {                                                                          \
        {name, "CMAC/s", variant}, ON_X86(loop), (n_real) / 4.0                \
    }
    [FX8_CEILING_DPBUSD_ZMM] =
        X86("avx512", "vpdpbusd zmm", dpbusd_zmm, 24 * 64),
    [FX8_CEILING_DPWSSD_ZMM] =
        X86("avx512", "vpdpwssd zmm", dpwssd_zmm, 24 * 32),
    [FX8_CEILING_FMA_ZMM] = X86("avx512", "vfmadd zmm", fma_zmm, 24 * 16),
    [FX8_CEILING_DPBUSD_YMM] =
        X86("avxvnni", "vpdpbusd ymm", dpbusd_ymm, 12 * 32),
    [FX8_CEILING_DPWSSD_YMM] =
        X86("avxvnni", "vpdpwssd ymm", dpwssd_ymm, 12 * 16),
    [FX8_CEILING_MADDWD_YMM] = X86("avx2", "vpmaddwd ymm", maddwd_ymm, 12 * 16),
    [FX8_CEILING_FMA_YMM] = X86("avx2", "vfmadd ymm", fma_ymm, 12 * 8),
    [FX8_CEILING_MADDWD_XMM] =
        X86("reference", "pmaddwd xmm", maddwd_xmm, 12 * 8),
    [FX8_CEILING_MULADD_XMM] =
        X86("reference", "mulps, addps xmm", muladd_xmm, 12 * 4),
    [FX8_CEILING_MEMCPY] = {{"memcpy", "byte/s", NULL},
                            pass_memcpy,
                            2 * ARRAY_BYTES},
    [FX8_CEILING_TRIAD] = {{"triad", "byte/s", NULL},
                           pass_triad,
                           3 * ARRAY_BYTES},
};

/* Rulers of a variant, by type of work. */
static const struct {
    const char *variant;
    enum fx8_ceiling of[FX8_N_CEILING_WORKS];
} variants[] = {
    {"reference",
     {FX8_CEILING_MADDWD_XMM, FX8_CEILING_MADDWD_XMM, FX8_CEILING_MULADD_XMM}},
    {"avx2",
     {FX8_CEILING_MADDWD_YMM, FX8_CEILING_MADDWD_YMM, FX8_CEILING_FMA_YMM}},
    {"avxvnni",
     {FX8_CEILING_DPBUSD_YMM, FX8_CEILING_DPWSSD_YMM, FX8_CEILING_FMA_YMM}},
    {"avx512",
     {FX8_CEILING_DPBUSD_ZMM, FX8_CEILING_DPWSSD_ZMM, FX8_CEILING_FMA_ZMM}},
};

/* Whether this CPU supports a variant of operations; only their table queries
 * the CPU. */
static bool variant_runs(const char *name)
{
    for (size_t k = 0; k < fx8_operations_variants(); k++) {
        const struct fx8_operations *variant = fx8_operations_variant(k);
        if (variant != NULL && strcmp(variant->name, name) == 0)
            return true;
    }
    return false;
}

/* Seconds of a pass over arrays; 0 if memory is short. */
static double time_passes(void (*run)(void *arrays, size_t n))
{
    double seconds = 0.0;
    void *memory[3];
    const struct fx8_array arrays[] = {{&memory[0], ARRAY_BYTES, 1},
                                       {&memory[1], ARRAY_BYTES, 1},
                                       {&memory[2], ARRAY_BYTES, 1}};
    if (fx8_allocate_arrays(arrays, 3, "ruler", NULL) == FX8_OK) {
        for (int k = 0; k < 3; k++)
            memset(memory[k], k, ARRAY_BYTES); /* maps its pages */
        seconds = fx8_bench_time(run, memory, 0.0, N_PASSES);
    }
    fx8_free_arrays(arrays, 3);
    return seconds;
}

const struct fx8_ceiling_description *fx8_ceiling_describe(
    enum fx8_ceiling ceiling)
{
    return &rulers[ceiling].description;
}

enum fx8_ceiling fx8_ceiling_of(const char *variant, enum fx8_ceiling_work work)
{
    size_t k = sizeof variants / sizeof variants[0] - 1;
    while (k > 0 && strcmp(variants[k].variant, variant) != 0)
        k--;
    return variants[k].of[work];
}

double fx8_ceiling_measure(enum fx8_ceiling ceiling)
{
    const char *variant = rulers[ceiling].description.variant;
    if (rulers[ceiling].run == NULL ||
        (variant != NULL && !variant_runs(variant)))
        return 0.0;
    const double seconds =
        variant != NULL
            ? fx8_bench_time(rulers[ceiling].run, NULL, PART_S, N_PARTS)
            : time_passes(rulers[ceiling].run);
    return seconds > 0.0 ? rulers[ceiling].work / seconds : 0.0;
}
