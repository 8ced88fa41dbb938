/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_half.c -- half precision against its definition: all 2^32 floats at
 * every variant and in the hardware's F16C, and all 65,536 halves.
 *
 * The address and thread checkers slow this down too much: under them the pass
 * over all floats takes one block of 65,536 in 61.
 *
 * Shows (kernels, half precision): all 2³² floats in every variant and in F16C,
 *     all halves, and scale-and-add are correct
 * Within: to the bit (any NaN for any NaN)
 * Because: conversions are checked against a table of the 31,744 floats at
 *     which the nearest half changes, scale-and-add against 128-bit integers
 * In: test_half_scale_add.c
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "config/base/parallel.h"
#include "kernels/operations.h"
#include "validation/half_definition.h"

/* --- what is tested --------------------------------------------------- */

/** The entry from_float of a table, or something like it. */
typedef void from_float(size_t n, float scale, const float *x, uint16_t *half);

#if defined(__x86_64__)

/** The instruction itself, to nearest even; n a multiple of 4, scale 1. */
static void f16c(size_t n, float scale, const float *x, uint16_t *half)
{
    typedef float four_floats[4];
    typedef uint16_t four_halves[4];
    (void)scale;
    for (size_t k = 0; k < n; k += 4)
        __asm__("vmovups %1, %%xmm0\n\t"
                "vcvtps2ph $0, %%xmm0, %0"
                : "=m"(*(four_halves *)(half + k))
                : "m"(*(const four_floats *)(x + k))
                : "xmm0");
}

/** F16C came before AVX2 in every CPU; not every compiler can ask for it. */
static from_float *hardware(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? f16c : NULL;
}

#else

static from_float *hardware(void)
{
    return NULL;
}

#endif

/** Whether the kernel lists F16C among the flags of the CPU. */
static bool is_listed(void)
{
    char line[8192];
    bool found = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = strncmp(line, "flags", 5) == 0 && strstr(line, " f16c") != NULL;
    if (file != NULL)
        fclose(file);
    return found;
}

/** The hardware's conversion; the case is skipped only on a CPU that lacks it,
 *  also according to the kernel. */
static from_float *hardware_or_skip(void)
{
    if (hardware() == NULL) {
        assert_false(is_listed());
        skip();
    }
    return hardware();
}

/** Call body(variant) for every variant of this machine. */
static void at_every_variant(void (*body)(const struct fx8_operations *variant))
{
    for (size_t index = 0; index < fx8_operations_variants(); index++)
        if (fx8_operations_variant(index) != NULL)
            body(fx8_operations_variant(index));
}

/* --- single values ----------------------------------------------------------
 */

/** Floats and their halves: both ends, the seam of the subnormals, ties. */
static const struct {
    uint32_t bits;
    uint16_t half;
} edges[] = {
    {0x00000000, 0x0000},
    {0x00000001, 0x0000},
    {0x00800000, 0x0000},
    {0x32ffffff, 0x0000}, /* published as the largest to round to zero */
    {0x33000000, 0x0000}, /* 2^-25, really the largest: a tie to even */
    {0x33000001, 0x0001},
    {0x33800000, 0x0001},
    {0x33bfffff, 0x0001},
    {0x33c00000, 0x0002}, /* a tie between 1 and 2 */
    {0x34200000, 0x0002}, /* a tie between 2 and 3 */
    {0x34200001, 0x0003},
    {0x387fc000, 0x03ff},
    {0x387fdfff, 0x03ff},
    {0x387fe000, 0x0400}, /* a tie between subnormal and normal */
    {0x387fffff, 0x0400},
    {0x38800000, 0x0400},
    {0x38801000, 0x0400},
    {0x38801001, 0x0401},
    {0x3f800000, 0x3c00},
    {0x3f801000, 0x3c00},
    {0x3f801001, 0x3c01},
    {0x3f802fff, 0x3c01},
    {0x3f803000, 0x3c02},
    {0x477fe000, 0x7bff},
    {0x477fefff, 0x7bff},
    {0x477ff000, 0x7c00}, /* 65520 */
    {0x47800000, 0x7c00},
    {0x7f7fffff, 0x7c00},
    {0x7f800000, 0x7c00},
};

#define N_EDGES (sizeof edges / sizeof edges[0])

static void check_edges(from_float *convert)
{
    enum { N = 64 }; /* whole vectors */
    _Static_assert(2 * N_EDGES <= N, "room for both signs");
    float x[N] = {0};
    uint16_t half[N];
    for (size_t k = 0; k < 2 * N_EDGES; k++)
        x[k] = fx8_bits_float(edges[k / 2].bits | (uint32_t)(k % 2) << 31);
    convert(N, 1.0f, x, half);
    for (size_t k = 0; k < 2 * N_EDGES; k++)
        assert_int_equal(half[k], edges[k / 2].half | (k % 2) << 15);
}

static void edges_of_variant(const struct fx8_operations *variant)
{
    check_edges(variant->half.from_float);
}

TEST(edges_of_the_range)
{
    for (size_t k = 0; k < N_EDGES; k++)
        assert_int_equal(definition(fx8_bits_float(edges[k].bits)),
                         edges[k].half);
    at_every_variant(edges_of_variant);
}

TEST(edges_of_the_range_in_hardware)
{
    check_edges(hardware_or_skip());
}

/* --- all halves -------------------------------------------------------------
 */

static void halves_of_variant(const struct fx8_operations *variant)
{
    enum { N = 0x10000 };
    uint16_t *half = exact(N * sizeof *half);
    uint16_t *back = exact(N * sizeof *back);
    float *x = exact(N * sizeof *x);
    for (uint32_t k = 0; k < N; k++)
        half[k] = (uint16_t)k;
    variant->half.to_float(N, half, x);
    variant->half.from_float(N, 1.0f, x, back);
    for (uint32_t k = 0; k < N; k++) {
        const uint32_t magnitude = k & 0x7fff;
        assert_int_equal(signbit(x[k]) != 0, k >> 15);
        if (magnitude > INFINITE)
            assert_true(isnan(x[k]) && is_nan(back[k]));
        else if (magnitude == INFINITE)
            assert_true(isinf(x[k]));
        else
            assert_true(fabs((double)x[k]) == value_of(magnitude));
        assert_true(agree(back[k], half[k]));
    }
    free(half);
    free(back);
    free(x);
}

TEST(halves_round_trip)
{
    at_every_variant(halves_of_variant);
}

/* --- all floats -------------------------------------------------------------
 */

#define N_BLOCK 4096
#define N_ITEM                                                                 \
    0x10000 /* floats of one item: those with the same upper half              \
             */

#define MOST_VARIANTS 8

/** A pass over the floats. */
struct pass {
    size_t n_variants;
    const char *name[MOST_VARIANTS];
    from_float *convert[MOST_VARIANTS];
    size_t step;                          /**< items from one to the next */
    _Atomic int64_t wrong[MOST_VARIANTS]; /**< bits of a float that disagrees
                                             with the definition, or -1 */
};

static void add_variant(struct pass *pass, const char *name,
                        from_float *convert)
{
    assert_true(pass->n_variants < MOST_VARIANTS);
    pass->name[pass->n_variants] = name;
    pass->convert[pass->n_variants] = convert;
    pass->wrong[pass->n_variants++] = -1;
}

static void check_block(struct pass *pass, uint32_t first)
{
    float x[N_BLOCK];
    uint16_t expected[N_BLOCK], half[N_BLOCK];
    for (uint32_t k = 0; k < N_BLOCK; k++)
        x[k] = fx8_bits_float(first + k);
    define(N_BLOCK, first, expected);
    if ((first & ONES_OF_FLOAT) == 0x7f800000) /* infinity; then NaN */
        define(N_BLOCK - 1, first + 1, expected + 1);
    for (size_t variant = 0; variant < pass->n_variants; variant++) {
        if (pass->wrong[variant] >= 0)
            continue;
        pass->convert[variant](N_BLOCK, 1.0f, x, half);
        if (memcmp(half, expected, sizeof half) == 0)
            continue;
        for (uint32_t k = 0; k < N_BLOCK; k++)
            if (!agree(half[k], expected[k]))
                pass->wrong[variant] = (int64_t)(first + k);
    }
}

static void check_item(void *context, size_t item, size_t thread)
{
    (void)thread;
    struct pass *pass = context;
    const uint32_t first = (uint32_t)(item * pass->step * N_ITEM);
    for (uint32_t k = 0; k < N_ITEM; k += N_BLOCK)
        check_block(pass, first + k);
}

static void check_floats(struct pass *pass)
{
    pass->step = FX8_CHECKED ? 251 : 1;
    fx8_parallel_for((N_ITEM - 1) / pass->step + 1, fx8_parallel_cpus(), false,
                     check_item, pass);
    for (size_t variant = 0; variant < pass->n_variants; variant++)
        if (pass->wrong[variant] >= 0)
            fail_msg("%s: float 0x%08x does not become the nearest half",
                     pass->name[variant], (unsigned)pass->wrong[variant]);
}

TEST(every_float)
{
    struct pass pass = {.n_variants = 0};
    for (size_t index = 0; index < fx8_operations_variants(); index++) {
        const struct fx8_operations *variant = fx8_operations_variant(index);
        if (variant != NULL)
            add_variant(&pass, variant->name, variant->half.from_float);
    }
    check_floats(&pass);
}

TEST(every_float_in_hardware)
{
    struct pass pass = {.n_variants = 0};
    add_variant(&pass, "F16C", hardware_or_skip());
    check_floats(&pass);
}

/** Every float at which the half changes and its neighbours: the critical ones,
 *  in case the pass above takes only a sample. */
static void thresholds_of_variant(const struct fx8_operations *variant)
{
    enum { N = 6 };
    float x[N];
    uint16_t half[N];
    for (uint32_t h = 0; h < INFINITE; h++) {
        for (uint32_t k = 0; k < N; k++)
            x[k] = fx8_bits_float((threshold[h] - 2 + k / 2) | (k % 2) << 31);
        variant->half.from_float(N, 1.0f, x, half);
        for (uint32_t k = 0; k < N; k++)
            assert_int_equal(half[k], (h + (k >= 4)) | (k % 2) << 15);
    }
}

TEST(every_threshold)
{
    at_every_variant(thresholds_of_variant);
}

/* --- scale, ragged ends -----------------------------------------------------
 */

/** x scale is rounded to float first, then to half: two roundings. */
static void scale_of_variant(const struct fx8_operations *variant)
{
    static const float scales[] = {0.0f,     1.0f,     -1.0f,    16384.0f,
                                   0x1p-14f, 1 / 3.0f, 65504.0f, 1e-30f,
                                   1e30f,    INFINITY, NAN};
    enum { N = 1000 };
    struct generator g = {61};
    float x[N];
    uint16_t half[N];
    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
        for (size_t k = 0; k < N; k++) {
            const uint32_t bits = (uint32_t)random_bits(&g);
            /* any float, and floats near 1 */
            x[k] = fx8_bits_float(k % 2 == 0 ? bits : 0x3f000000 + (bits >> 7));
        }
        variant->half.from_float(N, scales[s], x, half);
        for (size_t k = 0; k < N; k++)
            assert_true(agree(half[k], definition(x[k] * scales[s])));
    }
}

TEST(scales)
{
    at_every_variant(scale_of_variant);
}

/** Nothing is read or written beyond n (the address checker watches reads). */
static void ends_of_variant(const struct fx8_operations *variant)
{
    enum { GUARD = 64, MOST = 100 };
    for (size_t n = 0; n <= MOST; n++)
        for (size_t offset = 0; offset < 3; offset++) {
            float *x = exact((offset + n) * sizeof *x);
            uint16_t *half = exact((offset + n) * sizeof *half);
            float to[MOST + 2 * GUARD];
            uint16_t from[MOST + 2 * GUARD];
            memset(to, GARBAGE, sizeof to);
            memset(from, GARBAGE, sizeof from);
            for (size_t k = 0; k < n; k++) {
                x[offset + k] = (float)k * 0.5f - 7.0f;
                half[offset + k] = definition(x[offset + k]);
            }
            variant->half.from_float(n, 1.0f, x + offset,
                                     from + GUARD + offset);
            variant->half.to_float(n, half + offset, to + GUARD + offset);
            for (size_t k = 0; k < MOST + 2 * GUARD; k++) {
                const size_t at = k - GUARD; /* wraps below the results */
                const bool is_result = at >= offset && at - offset < n;
                uint32_t garbage;
                memset(&garbage, GARBAGE, sizeof garbage);
                assert_int_equal(from[k],
                                 is_result ? half[at] : (uint16_t)garbage);
                assert_int_equal(fx8_float_bits(to[k]),
                                 is_result ? fx8_float_bits(x[at]) : garbage);
            }
            free(x);
            free(half);
        }
}

TEST(ragged_ends)
{
    at_every_variant(ends_of_variant);
}

FIXTURE(make_thresholds, NULL)
