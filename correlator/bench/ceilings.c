/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ceilings.c -- the table of rulers and their timing.
 */
#include "correlator/bench/ceilings.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/base/shape.h"
#include "kernels/operations.h"

/** Parts of a measurement, and the least time of each, which sets the length of
 *  the loop: long against the resolution of the clock. */
#define N_PARTS 20
#define PART_S  1e-3

/** Bytes of each array of the memory rulers: twice the largest L3 cache that
 *  one core of today's machines can fill (32 MiB). */
#define ARRAY_BYTES ((size_t)64 << 20)

/** Timed copies of the arrays: four take about 20 ms. */
#define N_COPIES 4

/** Level of the x86-64 rulers; no level has this name on other CPUs. */
#if defined(__x86_64__)
#define REFERENCE_X86 "reference"
#else
#define REFERENCE_X86 "x86-64"
#endif

/** A ruler: its description, how to run it, and the work of one round. */
struct ruler {
    struct fx8_ceiling_description description;
    void (*loop)(long n);      /* arithmetic: NULL for memory */
    double products_per_round; /* complex: a quarter of the real ones */
    void (*pass)(double *arrays[3]);
    double bytes_per_pass;
};

static void pass_memcpy(double *arrays[3])
{
    memcpy(arrays[0], arrays[1], ARRAY_BYTES);
}

static void pass_triad(double *arrays[3])
{
    double *restrict a = arrays[0];
    const double *restrict b = arrays[1];
    const double *restrict c = arrays[2];

    for (size_t k = 0; k < ARRAY_BYTES / sizeof(double); k++)
        a[k] = b[k] + 3.0 * c[k];
}

static const struct ruler rulers[FX8_N_CEILINGS] = {
    [FX8_CEILING_DPBUSD_ZMM] =
        {
            .description = {"vpdpbusd zmm", "CMAC/s", "avx512"},
            .loop = fx8_ceiling_loop_dpbusd_zmm,
            .products_per_round = FX8_CEILING_ROUND_ZMM * 64 / 4,
        },
    [FX8_CEILING_DPWSSD_ZMM] =
        {
            .description = {"vpdpwssd zmm", "CMAC/s", "avx512"},
            .loop = fx8_ceiling_loop_dpwssd_zmm,
            .products_per_round = FX8_CEILING_ROUND_ZMM * 32 / 4,
        },
    [FX8_CEILING_FMA_ZMM] =
        {
            .description = {"vfmadd zmm", "CMAC/s", "avx512"},
            .loop = fx8_ceiling_loop_fma_zmm,
            .products_per_round = FX8_CEILING_ROUND_ZMM * 16 / 4,
        },
    [FX8_CEILING_MADDWD_YMM] =
        {
            .description = {"vpmaddwd ymm", "CMAC/s", "avx2"},
            .loop = fx8_ceiling_loop_maddwd_ymm,
            .products_per_round = FX8_CEILING_ROUND_YMM * 16 / 4,
        },
    [FX8_CEILING_FMA_YMM] =
        {
            .description = {"vfmadd ymm", "CMAC/s", "avx2"},
            .loop = fx8_ceiling_loop_fma_ymm,
            .products_per_round = FX8_CEILING_ROUND_YMM * 8 / 4,
        },
    [FX8_CEILING_MADDWD_XMM] =
        {
            .description = {"pmaddwd xmm", "CMAC/s", REFERENCE_X86},
            .loop = fx8_ceiling_loop_maddwd_xmm,
            .products_per_round = FX8_CEILING_ROUND_XMM * 8 / 4,
        },
    [FX8_CEILING_MULADD_XMM] =
        {
            .description = {"mulps, addps xmm", "CMAC/s", REFERENCE_X86},
            .loop = fx8_ceiling_loop_muladd_xmm,
            .products_per_round = FX8_CEILING_ROUND_XMM * 4 / 4,
        },
    [FX8_CEILING_MEMCPY] =
        {
            .description = {"memcpy", "byte/s", NULL},
            .pass = pass_memcpy,
            .bytes_per_pass = 2.0 * ARRAY_BYTES,
        },
    [FX8_CEILING_TRIAD] =
        {
            .description = {"triad", "byte/s", NULL},
            .pass = pass_triad,
            .bytes_per_pass = 3.0 * ARRAY_BYTES,
        },
};

/** Rulers of a level, by type of work. */
static const struct {
    const char *level;
    enum fx8_ceiling of[FX8_N_CEILING_WORKS];
} levels[] = {
    {"reference",
     {FX8_CEILING_MADDWD_XMM, FX8_CEILING_MADDWD_XMM, FX8_CEILING_MULADD_XMM}},
    {"avx2",
     {FX8_CEILING_MADDWD_YMM, FX8_CEILING_MADDWD_YMM, FX8_CEILING_FMA_YMM}},
    {"avx512",
     {FX8_CEILING_DPBUSD_ZMM, FX8_CEILING_DPWSSD_ZMM, FX8_CEILING_FMA_ZMM}},
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/** Whether this CPU supports a level of operations; only their table queries
 *  the CPU. */
static bool level_runs(const char *name)
{
    for (size_t k = 0; k < fx8_operations_levels(); k++) {
        const struct fx8_operations *level = fx8_operations_level(k);

        if (level != NULL && strcmp(level->name, name) == 0)
            return true;
    }
    return false;
}

static double time_loop(void (*loop)(long n), long n)
{
    double start = now_s();

    loop(n);
    return now_s() - start;
}

static double measure_arithmetic(const struct ruler *ruler)
{
    long n = 1000;
    double best;

    while ((best = time_loop(ruler->loop, n)) < PART_S)
        n *= 2;
    for (size_t part = 0; part < N_PARTS; part++) {
        double taken = time_loop(ruler->loop, n);

        if (taken < best)
            best = taken;
    }
    return ruler->products_per_round * (double)n / best;
}

static double measure_memory(const struct ruler *ruler)
{
    double *arrays[3] = {NULL, NULL, NULL};
    double best = 0.0;
    double rate = 0.0;

    for (size_t k = 0; k < 3; k++) {
        void *memory;

        if (fx8_allocate(ARRAY_BYTES, 1, "ruler", &memory, NULL) != FX8_OK)
            goto cleanup;
        arrays[k] = memory;
        memset(memory, (int)k, ARRAY_BYTES); /* maps its pages */
    }
    for (size_t part = 0; part < N_COPIES; part++) {
        double start = now_s();
        double taken;

        ruler->pass(arrays);
        /* Keeps the compiler from removing the writes. */
        __asm__ volatile("" : : "r"(arrays[0]) : "memory");
        taken = now_s() - start;
        if (part == 0 || taken < best)
            best = taken;
    }
    rate = ruler->bytes_per_pass / best;
cleanup:
    for (size_t k = 0; k < 3; k++)
        free(arrays[k]);
    return rate;
}

const struct fx8_ceiling_description *fx8_ceiling_describe(
    enum fx8_ceiling ceiling)
{
    return &rulers[ceiling].description;
}

enum fx8_ceiling fx8_ceiling_of(const char *level, enum fx8_ceiling_work work)
{
    size_t k = sizeof levels / sizeof levels[0] - 1;

    while (k > 0 && strcmp(levels[k].level, level) != 0)
        k--;
    return levels[k].of[work];
}

double fx8_ceiling_measure(enum fx8_ceiling ceiling)
{
    const struct ruler *ruler = &rulers[ceiling];

    if (ruler->description.level != NULL &&
        !level_runs(ruler->description.level))
        return 0.0;
    return ruler->loop != NULL ? measure_arithmetic(ruler)
                               : measure_memory(ruler);
}
