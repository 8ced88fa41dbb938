/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/base/parallel.h"
#include "validation/numerics/reference.h"
#include "validation/numerics/sample.h"
#include "validation/numerics/survey.h"

/* Arguments in one call of a function: its arrays fit in a cache. */
#define CHUNK 1024

/* Chunks that a thread takes at once. */
#define ITEM 1024

static const struct {
    const char *name;
    double (*reference)(float a, float b);
} functions[] = {
#define FUNCTION(function, value) {#function, reference_##function},
    NUMERIC_REFERENCES(FUNCTION)};

/* --- subjects --------------------------------------------------------------
 */

static bool has_code(const struct subject *subject,
                     const struct fx8_function_form *form)
{
    for (size_t i = 0; i < subject->n_variants; i++)
        if (subject->code[i]->unary == form->unary &&
            subject->code[i]->binary == form->binary)
            return true;
    return false;
}

/* Add the form of every variant, the fastest first, once where a variant
 * inherits it; return how many variants have it. */
static size_t add_variants(struct subject *subject)
{
    const struct bound *bound = &subject->row.bound;
    size_t n = 0;
    for (size_t at = fx8_operations_variants(); at-- > 0;) {
        const struct fx8_operations *variant = fx8_operations_variant(at);
        for (size_t i = 0; variant != NULL && i < variant->n_forms; i++) {
            const struct fx8_function_form *form = &variant->forms[i];
            if (strcmp(form->function, bound->function) != 0 ||
                strcmp(form->form, bound->form) != 0)
                continue;
            n++;
            if (has_code(subject, form))
                continue;
            subject->code[subject->n_variants] = form;
            subject->variant[subject->n_variants++] = variant->name;
        }
    }
    return n;
}

size_t list_subjects(struct subject *subjects)
{
    size_t n = 0, n_forms = 0, n_bound = 0;
    for (size_t i = 0; i < n_numeric_bounds; i++) {
        const struct bound *row = &numeric_bounds[i];
        if (strcmp(row->device, "host") != 0)
            continue;
        struct subject *subject = &subjects[n++];
        *subject = (struct subject){
            .row = {.bound = find_bound("host", row->function, row->form)}};
        for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
            if (strcmp(functions[f].name, row->function) == 0)
                subject->reference = functions[f].reference;
        n_bound += add_variants(subject);
        if (subject->n_variants == 0 || subject->reference == NULL)
            return 0;
    }
    for (size_t at = 0; at < fx8_operations_variants(); at++)
        if (fx8_operations_variant(at) != NULL)
            n_forms += fx8_operations_variant(at)->n_forms;
    return n_bound == n_forms ? n : 0;
}

/* --- one chunk --------------------------------------------------------------
 */

/* Arguments, references and results of one call. */
struct chunk {
    size_t n;
    uint32_t a_bits[CHUNK], b_bits[CHUNK];
    float a[CHUNK], b[CHUNK], y[CHUNK], other[CHUNK];
    double reference[CHUNK];
};

static void set_references(struct chunk *chunk, const struct subject *subject)
{
    memcpy(chunk->a, chunk->a_bits, sizeof chunk->a);
    memcpy(chunk->b, chunk->b_bits, sizeof chunk->b);
    for (size_t k = 0; k < chunk->n; k++)
        chunk->reference[k] = subject->reference(chunk->a[k], chunk->b[k]);
}

static void evaluate(const struct fx8_function_form *code,
                     const struct chunk *chunk, float *y)
{
    if (code->unary != NULL)
        code->unary(chunk->n, chunk->a, y);
    else
        code->binary(chunk->n, chunk->a, chunk->b, y);
}

static void measure_chunk(struct subject *subject, struct chunk *chunk)
{
    evaluate(subject->code[0], chunk, chunk->y);
    for (size_t k = 0; k < chunk->n; k++)
        measure(&subject->row.measured, &subject->row.bound, chunk->a_bits[k],
                chunk->b_bits[k], chunk->reference[k], chunk->y[k]);
    for (size_t variant = 1; variant < subject->n_variants; variant++) {
        evaluate(subject->code[variant], chunk, chunk->other);
        if (memcmp(chunk->y, chunk->other, chunk->n * sizeof *chunk->y) == 0)
            continue;
        for (size_t k = 0; k < chunk->n; k++)
            if (!same_float(chunk->y[k], chunk->other[k]))
                keep_worst(&subject->differing[variant], 1.0, chunk->a_bits[k],
                           chunk->b_bits[k]);
    }
}

void survey_arguments(struct subject *subject, size_t n, const uint32_t *a,
                      const uint32_t *b)
{
    struct chunk chunk = {0};
    for (size_t first = 0; first < n; first += CHUNK) {
        chunk.n = n - first < CHUNK ? n - first : CHUNK;
        memcpy(chunk.a_bits, a + first, chunk.n * sizeof *a);
        memcpy(chunk.b_bits, b + first, chunk.n * sizeof *b);
        set_references(&chunk, subject);
        measure_chunk(subject, &chunk);
    }
}

/* --- all chunks --------------------------------------------------------------
 */

/* A thread's own data: the forms of one function. */
struct worker {
    struct chunk chunk;
    struct subject subjects[FX8_MAX_FUNCTION_FORMS];
    size_t n_subjects;
};

struct campaign {
    uint64_t n; /* arguments */
    uint32_t stride;
    struct worker *workers;
};

static void survey_item(void *context, size_t item, size_t thread)
{
    const struct campaign *campaign = context;
    struct worker *worker = &campaign->workers[thread];
    struct chunk *chunk = &worker->chunk;
    for (uint64_t i = item * ITEM; i < (item + 1) * ITEM; i++) {
        const uint64_t first = i * CHUNK;
        if (first >= campaign->n)
            return;
        const uint64_t left = campaign->n - first;
        chunk->n = left < CHUNK ? (size_t)left : CHUNK;
        for (size_t k = 0; k < chunk->n; k++) {
            chunk->a_bits[k] = (uint32_t)(first + k) * campaign->stride;
            chunk->b_bits[k] = 0;
            if (worker->subjects->row.bound.is_pair)
                sample_pair(first + k, &chunk->a_bits[k], &chunk->b_bits[k]);
        }
        set_references(chunk, worker->subjects);
        for (size_t s = 0; s < worker->n_subjects; s++)
            measure_chunk(&worker->subjects[s], chunk);
    }
}

/* The forms of one function. */
static void survey_function(struct subject *subjects, size_t n,
                            struct campaign *campaign, size_t n_threads)
{
    for (size_t thread = 0; thread < n_threads; thread++) {
        campaign->workers[thread].n_subjects = n;
        memcpy(campaign->workers[thread].subjects, subjects,
               n * sizeof *subjects);
    }
    fx8_parallel_for((size_t)(campaign->n / (ITEM * CHUNK)) + 1, n_threads,
                     false, survey_item, campaign);
    for (size_t thread = 0; thread < n_threads; thread++)
        for (size_t s = 0; s < n; s++) {
            const struct subject *from = &campaign->workers[thread].subjects[s];
            merge_measured(&subjects[s].row.measured, &from->row.measured);
            for (size_t v = 1; v < from->n_variants; v++)
                keep_worst(&subjects[s].differing[v], from->differing[v].error,
                           from->differing[v].a, from->differing[v].b);
        }
}

void survey(struct subject *subjects, size_t n, uint64_t n_floats,
            uint64_t n_pairs)
{
    const size_t n_threads = fx8_parallel_cpus();
    struct campaign campaign = {
        .stride = sample_stride(n_floats),
        .workers = calloc(n_threads, sizeof *campaign.workers)};
    if (campaign.workers == NULL)
        abort();
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1;
             end < n && subjects[end].reference == subjects[first].reference;)
            end++;
        campaign.n = subjects[first].row.bound.is_pair ? n_pairs : n_floats;
        survey_function(&subjects[first], end - first, &campaign, n_threads);
    }
    free(campaign.workers);
}

size_t judge_subject(const struct subject *subject, bool is_tight)
{
    const struct bound *bound = &subject->row.bound;
    size_t n_faults = judge_row(&subject->row, is_tight);
    for (size_t v = 1; v < subject->n_variants; v++) {
        char text[TABLE_TEXT];
        if (subject->differing[v].error == 0.0)
            continue;
        fprintf(stderr, "%s %s: %s and %s differ, first at %s\n",
                bound->function, bound->form, subject->variant[0],
                subject->variant[v],
                argument_text(&subject->differing[v], bound->is_pair, text));
        n_faults++;
    }
    return n_faults;
}
