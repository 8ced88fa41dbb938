/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * operations.c -- the variants: their families, CPU detection, and their
 * self-test.
 */
#include <pthread.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "kernels/cpu/selftest.h"
#include "kernels/cpu/variants.h"

/** Overrides entries of a table with one family of a variant. */
typedef void fill_family(struct fx8_operations *operations);

#define COUNT(name)     +1
#define REFERENCE(name) fx8_fill_##name##_reference,
#define AVX2(name)      fx8_fill_##name##_avx2,
#define AVX512(name)    fx8_fill_##name##_avx512,

enum { N_FAMILIES = FX8_FAMILIES(COUNT) };

/** A variant: where it runs and what it overrides of the variant below. */
struct variant {
    const char *name;
    bool (*is_runnable)(void);
    fill_family *families[N_FAMILIES]; /* up to the first NULL */
};

static bool runs_everywhere(void)
{
    return true;
}

#if defined(__x86_64__)

/* The CPU must have every feature that the compiler may use in a file: keep
 * these lists in step with the flags of *_avx2.o and *_avx512.o in the
 * Makefile.  (Every CPU with AVX2 has F16C; not every compiler can test for
 * it.) */
static bool runs_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* Leaf 7, subleaf 1, EAX bit 4; gcc 12 cannot ask for it by name. */
static bool runs_avxvnni(void)
{
    unsigned most, a, b, c, d;
    return runs_avx2() && __get_cpuid_count(7, 0, &most, &b, &c, &d) != 0 &&
           most >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
           (a >> 4 & 1) != 0;
}

static bool runs_avx512(void)
{
    return runs_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}

#elif defined(__aarch64__)

/* Every such CPU has NEON; HWCAP_ASIMDDP, where the headers are older. */
#define HWCAP_DOT_PRODUCT (1ul << 20)

static bool runs_dotprod(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_DOT_PRODUCT) != 0;
}

#endif

static const struct variant variants[] = {
    {
        .name = "reference",
        .is_runnable = runs_everywhere,
        .families = {FX8_FAMILIES(REFERENCE)},
    },
#if defined(__x86_64__)
    {
        .name = "avx2",
        .is_runnable = runs_avx2,
        .families = {FX8_FAMILIES(AVX2)},
    },
    {
        .name = "avxvnni", /* avx2 but for its dot product */
        .is_runnable = runs_avxvnni,
        .families = {fx8_fill_correlate_int8_avxvnni},
    },
    {
        .name = "avx512",
        .is_runnable = runs_avx512,
        .families = {FX8_FAMILIES(AVX512)},
    },
#elif defined(__aarch64__)
    {
        .name = "neon",
        .is_runnable = runs_everywhere,
        .families = {fx8_fill_fir_neon, fx8_fill_correlate_int8_neon,
                     fx8_fill_correlate_fp32_neon, fx8_fill_interval_neon},
    },
    {
        .name = "dotprod",
        .is_runnable = runs_dotprod,
        .families = {fx8_fill_correlate_int8_dotprod},
    },
#endif
};

#define N_VARIANTS (sizeof variants / sizeof variants[0])

/** State of a variant on this machine. */
struct verdict {
    bool is_runnable;
    bool is_tried;
    const char *disagreement; /**< NULL: agrees with the reference */
};

/* Filled once by build_tables(); `trial_lock` guards is_tried and
 * disagreement, which are filled on first use. */
static struct fx8_operations tables[N_VARIANTS];
static struct verdict verdicts[N_VARIANTS];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t trial_lock = PTHREAD_MUTEX_INITIALIZER;

/** Only variants that run here are filled, because a fill function is itself
 *  compiled for its variant.  Each begins as the next slower one that runs. */
static void build_tables(void)
{
    struct fx8_operations table = {0};
    for (size_t index = 0; index < N_VARIANTS; index++) {
        const struct variant *variant = &variants[index];
        verdicts[index].is_runnable = variant->is_runnable();
        if (!verdicts[index].is_runnable)
            continue;
        for (size_t family = 0;
             family < N_FAMILIES && variant->families[family] != NULL; family++)
            variant->families[family](&table);
        table.name = variant->name;
        tables[index] = table;
    }
}

/** Test a variant once per process; NULL if it agrees with the reference. */
static const char *try_variant(size_t index)
{
    if (index == 0)
        return NULL;
    pthread_mutex_lock(&trial_lock);
    struct verdict *verdict = &verdicts[index];
    if (!verdict->is_tried) {
        verdict->disagreement =
            fx8_operations_disagreement(&tables[0], &tables[index]);
        verdict->is_tried = true;
    }
    const char *disagreement = verdict->disagreement;
    pthread_mutex_unlock(&trial_lock);
    return disagreement;
}

size_t fx8_operations_variants(void)
{
    return N_VARIANTS;
}

const struct fx8_operations *fx8_operations_variant(size_t index)
{
    pthread_once(&tables_once, build_tables);
    return index < N_VARIANTS && verdicts[index].is_runnable ? &tables[index]
                                                             : NULL;
}

/** Select the named variant, or return an error with the reason. */
static enum fx8_status select_named(size_t index,
                                    const struct fx8_operations **operations,
                                    struct fx8_error *error)
{
    const struct fx8_operations *table = fx8_operations_variant(index);
    if (table == NULL)
        return fx8_fail(
            error, FX8_ERR_UNSUPPORTED,
            "plan: kernel: %s: expected a variant that this CPU runs",
            variants[index].name);
    const char *disagreement = try_variant(index);
    if (disagreement != NULL)
        return fx8_fail(
            error, FX8_ERR_UNSUPPORTED,
            "plan: kernel: %s: its %s differs from the reference on this "
            "machine",
            variants[index].name, disagreement);
    *operations = table;
    return FX8_OK;
}

enum fx8_status fx8_operations_select(const char *name,
                                      const struct fx8_operations **operations,
                                      struct fx8_error *error)
{
    *operations = NULL;
    const bool is_auto = strcmp(name, "auto") == 0;
    for (size_t index = N_VARIANTS; index-- > 0;) {
        if (is_auto) {
            if (select_named(index, operations, NULL) == FX8_OK)
                return FX8_OK;
        } else if (strcmp(name, variants[index].name) == 0) {
            return select_named(index, operations, error);
        }
    }
    return fx8_fail(
        error, FX8_ERR_USAGE,
        "plan: kernel: %s: expected auto, reference, " FX8_VECTOR_KERNELS,
        name);
}
