/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/parallel.h"
#include "kernels/operations.h"
#include "validation/numerics/sample.h"
#include "validation/numerics/survey.h"

/* Arguments in one call of a function: its arrays fit in a cache. */
#define CHUNK 1024

/* Arguments that a thread takes at once. */
#define ITEM (UINT64_C(1) << 20)

/* One argument in this many, a prime, has its reference checked. */
#define CHECKED_STEP 4093

/* --- subjects ----------------------------------------------------------------
 */

/* The subject of a form, added if it is missing. */
static struct subject *subject_of(struct subject *subjects, size_t *n,
                                  const struct function *function,
                                  const char *form)
{
    for (size_t i = 0; i < *n; i++)
        if (subjects[i].function == function &&
            strcmp(subjects[i].form, form) == 0)
            return &subjects[i];
    struct subject *subject = &subjects[(*n)++];
    *subject = (struct subject){.function = function, .form = form};
    subject->has_bound =
        find_bound("host", function->name, form, &subject->bound);
    return subject;
}

static void add_variant(struct subject *subject, const char *variant,
                        fx8_unary *unary, fx8_binary *binary)
{
    /* a variant inherits what it does not override: once is enough */
    for (size_t i = 0; i < subject->n_variants; i++)
        if (subject->unary[i] == unary && subject->binary[i] == binary)
            return;
    subject->unary[subject->n_variants] = unary;
    subject->binary[subject->n_variants] = binary;
    subject->variant[subject->n_variants++] = variant;
}

static bool has_unknown_name(const struct fx8_operations *variant)
{
    for (size_t i = 0; i < variant->n_forms; i++)
        if (function_named(variant->forms[i].function) == NULL)
            return true;
    return false;
}

size_t list_subjects(struct subject *subjects)
{
    size_t n = 0;
    for (size_t f = 0; f < function_count(); f++) {
        const struct function *function = function_at(f);
        for (size_t at = fx8_operations_variants(); at-- > 0;) {
            const struct fx8_operations *variant = fx8_operations_variant(at);
            if (variant == NULL)
                continue;
            if (has_unknown_name(variant))
                return 0;
            for (size_t i = 0; i < variant->n_forms; i++) {
                const struct fx8_function_form *form = &variant->forms[i];
                if (strcmp(form->function, function->name) == 0)
                    add_variant(subject_of(subjects, &n, function, form->form),
                                variant->name, form->unary, form->binary);
            }
        }
        struct subject *library =
            subject_of(subjects, &n, function, function->library_name);
        library->is_library = true;
        add_variant(library, "library", function->library_unary,
                    function->library_binary);
    }
    return n;
}

/* --- one chunk ---------------------------------------------------------------
 */

/* Arguments, references and results of one call. */
struct chunk {
    size_t n;
    uint32_t a_bits[CHUNK], b_bits[CHUNK];
    float a[CHUNK], b[CHUNK], y[CHUNK], other[CHUNK];
    double reference[CHUNK];
    /* the part of struct expected for the fast path */
    double value[CHUNK], per_ulp[CHUNK], size[CHUNK];
    uint32_t nearest[CHUNK]; /* bits */
    uint32_t settled[CHUNK]; /* all ones if only `nearest` is right */
};

/* The bits that replace those of any NaN before a comparison. */
#define ANY_NAN 0x7fc00000u

static uint32_t plain_bits(float x)
{
    return x != x ? ANY_NAN : fx8_float_bits(x);
}

static void set_references(struct chunk *chunk, const struct function *function)
{
    memcpy(chunk->a, chunk->a_bits, sizeof chunk->a);
    memcpy(chunk->b, chunk->b_bits, sizeof chunk->b);
    for (size_t k = 0; k < chunk->n; k++) {
        chunk->reference[k] = function->unary != NULL
                                  ? function->unary(chunk->a[k])
                                  : function->binary(chunk->a[k], chunk->b[k]);
        const struct expected e = expect(chunk->reference[k]);
        chunk->value[k] = e.is_special ? NAN : e.value;
        chunk->per_ulp[k] = e.per_ulp;
        chunk->size[k] = e.size;
        chunk->nearest[k] = plain_bits(e.nearest);
        chunk->settled[k] = e.is_special || e.value == 0.0 ? UINT32_MAX : 0;
    }
}

static void evaluate(const struct subject *subject, size_t variant,
                     const struct chunk *chunk, float *y)
{
    if (subject->unary[variant] != NULL)
        subject->unary[variant](chunk->n, chunk->a, y);
    else
        subject->binary[variant](chunk->n, chunk->a, chunk->b, y);
}

static void compare_variants(const struct subject *subject, struct chunk *chunk,
                             struct finding *finding)
{
    for (size_t variant = 1; variant < subject->n_variants; variant++) {
        evaluate(subject, variant, chunk, chunk->other);
        if (memcmp(chunk->y, chunk->other, chunk->n * sizeof *chunk->y) == 0)
            continue;
        for (size_t k = 0; k < chunk->n; k++) {
            if (same_float(chunk->y[k], chunk->other[k]))
                continue;
            finding->n_differing[variant]++;
            keep_worst(&finding->differing[variant], 1.0, chunk->a_bits[k],
                       chunk->b_bits[k]);
        }
    }
}

/* Results that are checked together by the fast path: nearly all only add to
 * counts; measure() takes the others. */
#define BATCH 64

/* Whether the errors of a batch are below the largest so far and below the
 * bound or, if only one result is right, whether results equal it. */
static bool is_unremarkable(const struct bound *bound, const struct measured *m,
                            const struct chunk *chunk, size_t first)
{
    const double ulp =
        m->ulp.error < bound->max_ulp ? m->ulp.error : bound->max_ulp;
    const double relative = m->relative.error < bound->max_relative
                                ? m->relative.error
                                : bound->max_relative;
    uint64_t large[BATCH];
    uint32_t remarkable = 0;
    for (size_t i = 0; i < BATCH; i++) {
        const size_t k = first + i;
        const double error = fabs((double)chunk->y[k] - chunk->value[k]);
        large[i] = error * chunk->per_ulp[k] < ulp ? 0 : UINT64_MAX;
        large[i] |= error < relative * chunk->size[k] ? 0 : UINT64_MAX;
        large[i] |= error < m->absolute.error ? 0 : UINT64_MAX;
    }
    for (size_t i = 0; i < BATCH; i++) {
        const size_t k = first + i;
        const uint32_t other = plain_bits(chunk->y[k]) ^ chunk->nearest[k];
        remarkable |= (uint32_t)large[i] & (other | ~chunk->settled[k]);
    }
    return remarkable == 0;
}

static uint32_t count_not_nearest(const struct chunk *chunk, size_t first)
{
    uint32_t n = 0;
    for (size_t k = first; k < first + BATCH; k++)
        n += plain_bits(chunk->y[k]) != chunk->nearest[k] ? 1 : 0;
    return n;
}

static void measure_one(const struct subject *subject,
                        const struct chunk *chunk, size_t k,
                        struct measured *measured)
{
    const uint32_t a = chunk->a_bits[k], b = chunk->b_bits[k];
    const struct argument x = subject->function->unary != NULL
                                  ? argument_of(&subject->bound, a)
                                  : pair_of(&subject->bound, a, b);
    const struct expected e = expect(chunk->reference[k]);
    measure(measured, &subject->bound, &e, &x, chunk->y[k]);
}

static void measure_chunk(const struct subject *subject, struct chunk *chunk,
                          struct finding *finding)
{
    evaluate(subject, 0, chunk, chunk->y);
    struct measured *measured = &finding->measured;
    for (size_t first = 0; first < chunk->n; first += BATCH) {
        const size_t end = first + BATCH < chunk->n ? first + BATCH : chunk->n;
        if (end == first + BATCH &&
            is_unremarkable(&subject->bound, measured, chunk, first)) {
            measured->n += BATCH;
            measured->n_not_nearest += count_not_nearest(chunk, first);
            continue;
        }
        for (size_t k = first; k < end; k++)
            measure_one(subject, chunk, k, measured);
    }
    compare_variants(subject, chunk, finding);
}

static void check_reference(const struct function *function, uint32_t a,
                            uint32_t b, double reference,
                            struct reference_check *check)
{
    check->n++;
    keep_worst(&check->deviation,
               reference_deviation(function, a, b, reference), a, b);
}

/* --- all chunks --------------------------------------------------------------
 */

/* A thread's own data. */
struct worker {
    struct chunk chunk;
    struct reference_check check;
    struct finding findings[MAX_SUBJECTS];
};

struct survey {
    const struct subject *subjects;
    size_t n_subjects;
    uint64_t n; /* arguments */
    uint32_t stride;
    struct worker *workers;
    atomic_size_t items_done;
    size_t n_items;
    bool is_verbose;
};

static void set_arguments(const struct survey *survey, uint64_t first,
                          struct chunk *chunk)
{
    const bool is_unary = survey->subjects->function->unary != NULL;
    for (size_t k = 0; k < chunk->n; k++) {
        if (is_unary) {
            chunk->a_bits[k] = (uint32_t)(first + k) * survey->stride;
            chunk->b_bits[k] = 0;
        } else {
            sample_pair(first + k, &chunk->a_bits[k], &chunk->b_bits[k]);
        }
    }
}

static void survey_item(void *context, size_t item, size_t thread)
{
    struct survey *survey = context;
    struct worker *worker = &survey->workers[thread];
    struct chunk *chunk = &worker->chunk;
    const struct function *function = survey->subjects->function;
    const uint64_t begin = item * ITEM;
    const uint64_t end = begin + ITEM < survey->n ? begin + ITEM : survey->n;
    for (uint64_t first = begin; first < end; first += CHUNK) {
        chunk->n = end - first < CHUNK ? (size_t)(end - first) : CHUNK;
        set_arguments(survey, first, chunk);
        set_references(chunk, function);
        for (size_t i = 0; i < survey->n_subjects; i++)
            measure_chunk(&survey->subjects[i], chunk, &worker->findings[i]);
        const size_t skip = (size_t)(first % CHECKED_STEP);
        const size_t k = skip == 0 ? 0 : CHECKED_STEP - skip;
        if (k < chunk->n)
            check_reference(function, chunk->a_bits[k], chunk->b_bits[k],
                            chunk->reference[k], &worker->check);
    }
    const size_t done = atomic_fetch_add(&survey->items_done, 1) + 1;
    if (survey->is_verbose && thread == 0 && done % 16 == 0)
        fprintf(stderr, "\r%-10s %3zu %%", function->name,
                100 * done / survey->n_items);
}

static void merge_finding(struct finding *into, const struct finding *from)
{
    merge_measured(&into->measured, &from->measured);
    for (size_t variant = 0; variant < MAX_VARIANTS; variant++) {
        const struct error_at *at = &from->differing[variant];
        into->n_differing[variant] += from->n_differing[variant];
        keep_worst(&into->differing[variant], at->error, at->a, at->b);
    }
}

/* The reference must be right above all where a form errs most. */
static void check_worst(const struct function *function,
                        const struct finding *finding,
                        struct reference_check *check)
{
    const struct error_at *const worst[] = {&finding->measured.ulp,
                                            &finding->measured.relative,
                                            &finding->measured.absolute};
    for (size_t i = 0; i < sizeof worst / sizeof *worst; i++) {
        const float a = fx8_bits_float(worst[i]->a);
        const float b = fx8_bits_float(worst[i]->b);
        check_reference(function, worst[i]->a, worst[i]->b,
                        function->unary != NULL ? function->unary(a)
                                                : function->binary(a, b),
                        check);
    }
}

bool survey_function(const struct subject *subjects, size_t n,
                     const struct extent *extent, struct finding *findings,
                     struct reference_check *check)
{
    const struct function *function = subjects->function;
    struct survey survey = {
        .subjects = subjects,
        .n_subjects = n,
        .n = function->unary != NULL ? extent->n_floats : extent->n_pairs,
        .stride = sample_stride(extent->n_floats),
        .workers = calloc(extent->n_threads, sizeof *survey.workers),
        .is_verbose = extent->is_verbose,
    };
    if (survey.workers == NULL)
        return false;
    survey.n_items = (size_t)((survey.n + ITEM - 1) / ITEM);
    fx8_parallel_for(survey.n_items, extent->n_threads, false, survey_item,
                     &survey);
    memset(findings, 0, n * sizeof *findings);
    *check = (struct reference_check){0};
    for (size_t thread = 0; thread < extent->n_threads; thread++) {
        const struct worker *worker = &survey.workers[thread];
        const struct error_at *at = &worker->check.deviation;
        check->n += worker->check.n;
        keep_worst(&check->deviation, at->error, at->a, at->b);
        for (size_t i = 0; i < n; i++)
            merge_finding(&findings[i], &worker->findings[i]);
    }
    for (size_t i = 0; i < n; i++)
        check_worst(function, &findings[i], check);
    free(survey.workers);
    return true;
}

void survey_arguments(const struct subject *subject, size_t n_arguments,
                      const uint32_t *a, const uint32_t *b,
                      struct finding *finding)
{
    struct chunk chunk;
    for (size_t first = 0; first < n_arguments; first += CHUNK) {
        memset(&chunk, 0, sizeof chunk);
        chunk.n = n_arguments - first < CHUNK ? n_arguments - first : CHUNK;
        memcpy(chunk.a_bits, a + first, chunk.n * sizeof *a);
        memcpy(chunk.b_bits, b + first, chunk.n * sizeof *b);
        set_references(&chunk, subject->function);
        measure_chunk(subject, &chunk, finding);
    }
}
