/* SPDX-License-Identifier: BSD-3-Clause */
/* scan.c -- delivers samples as a session would correlate them: a stream whose
 * spectra are single samples. */
#include <stdlib.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fx8.h"
#include "correlator/library/plan.h"
#include "correlator/library/stream.h"

struct fx8_scan {
    struct fx8_stream_shape shape;
    struct fx8_stream *stream;
    fx8_scan_callback *callback;
    void *context;
    uint64_t *valid;   /* [n_rows][words of most_samples] */
    int64_t first, at; /* absolute: first sample, next sample */
    int64_t end;
    bool has_ended;
};

/* FX8_ERR_USAGE naming the first member that is out of range. */
static enum fx8_status check(const struct fx8_scan_plan *plan,
                             struct fx8_error *error)
{
    const int64_t far = INT64_MAX / 4;
    const struct {
        bool is_good;
        const char *message;
    } rules[] = {
        {plan->n_rows >= 1, "n_rows: expected at least 1"},
        {plan->first_sample >= 0 && plan->first_sample <= far,
         "first_sample: expected 0 to 2^61"},
        {plan->n_samples >= 1 && plan->n_samples <= far,
         "n_samples: expected 1 to 2^61"},
        {!plan->marker.is_used ||
             (plan->marker.value >= -128 && plan->marker.value <= 127),
         "marker.value: expected -128 to 127"},
        {!plan->marker.is_used ||
             (plan->marker.least_length >= 1 &&
              plan->marker.least_length <= FX8_MAX_MARKER_RUN),
         "marker.least_length: expected 1 to 2^20"},
        {fx8_plan_is_blanking(&plan->blanking),
         "blanking: expected a level of 0 to 127, a margin of 0 to 2^20"},
        {plan->most_samples >= 1, "most_samples: expected at least 1"},
        {plan->n_threads <= 1024, "n_threads: expected at most 1024"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!rules[i].is_good)
            return fx8_fail(error, FX8_ERR_USAGE, "scan: %s", rules[i].message);
    return FX8_OK;
}

enum fx8_status fx8_scan_open(const struct fx8_scan_plan *plan,
                              fx8_scan_callback *callback, void *context,
                              struct fx8_scan **scan, struct fx8_error *error)
{
    if (plan == NULL || callback == NULL || scan == NULL)
        return fx8_fail(error, FX8_ERR_USAGE, "scan: %s: NULL: expected one",
                        plan == NULL       ? "plan"
                        : callback == NULL ? "callback"
                                           : "handle");
    *scan = NULL;
    FX8_TRY(check(plan, error));
    FX8_AUTO(fx8_scan_close) struct fx8_scan *s = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *s, "samples", &s, error));
    *s = (struct fx8_scan){
        .shape = {.n_inputs = plan->n_rows,
                  .sample_size = plan->is_complex ? 2 : 1,
                  .step = 1,
                  .window = 1,
                  .most_spectra = plan->most_samples,
                  .marker = plan->marker,
                  .blanking = plan->blanking,
                  .threads.count = plan->n_threads > 0 ? plan->n_threads
                                                       : fx8_parallel_cpus()},
        .callback = callback,
        .context = context,
        .first = plan->first_sample,
        .at = plan->first_sample,
        .end = plan->first_sample + plan->n_samples,
    };
    FX8_TRY(fx8_operations_select("auto", &s->shape.operations, error));
    FX8_TRY(fx8_allocate(
        fx8_product(plan->n_rows, fx8_bit_words(plan->most_samples), 1, 1),
        sizeof *s->valid, "samples", &s->valid, error));
    FX8_TRY(fx8_stream_open(&s->shape, s->first, &s->stream, error));
    *scan = s;
    s = NULL;
    return FX8_OK;
}

struct hand_over_context {
    const struct fx8_scan *scan;
    size_t n_samples;
};

static void hand_over_row(void *context, size_t row, size_t thread)
{
    (void)thread;
    const struct hand_over_context *job = context;
    const struct fx8_scan *s = job->scan;
    s->callback(s->context, row, fx8_stream_row(s->stream, row),
                s->valid + row * fx8_bit_words(job->n_samples), job->n_samples);
}

/* Deliver the ready samples up to the end of the scan. */
static enum fx8_status hand_over(struct fx8_scan *s, struct fx8_error *error)
{
    size_t n;
    while (s->at < s->end && (n = fx8_stream_ready(s->stream)) > 0) {
        if (n > s->shape.most_spectra)
            n = s->shape.most_spectra;
        if ((int64_t)n > s->end - s->at)
            n = (size_t)(s->end - s->at);
        FX8_TRY(fx8_stream_validity(s->stream, n, s->valid, error));
        struct hand_over_context context = {s, n};
        fx8_parallel_for(s->shape.n_inputs, s->shape.threads.count, false,
                         hand_over_row, &context);
        fx8_stream_take(s->stream, n);
        s->at += (int64_t)n;
    }
    return FX8_OK;
}

static enum fx8_status push_block(struct fx8_scan *s,
                                  const struct fx8_block *block,
                                  struct fx8_error *error)
{
    const int64_t end = block->first_sample + block->n_samples;
    struct fx8_block read = *block;
    read.in_place = NULL;
    FX8_TRY(fx8_stream_check(s->stream, &read, error));
    /* a block before the first sample is only searched for markers: one
     * append */
    do {
        const enum fx8_status status =
            fx8_stream_append(s->stream, &read, error);
        FX8_TRY(hand_over(s, error));
        FX8_TRY(status);
    } while (s->at < s->end && fx8_stream_next_sample(s->stream) < end);
    return FX8_OK;
}

enum fx8_status fx8_scan_push(struct fx8_scan *scan,
                              const struct fx8_block *block, int64_t *n_scanned,
                              struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    if (scan == NULL || n_scanned == NULL)
        return fx8_fail(error, FX8_ERR_USAGE, "scan: %s: NULL: expected one",
                        scan == NULL ? "handle" : "n_scanned");
    if (scan->has_ended)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "scan: finished: expected no more samples");
    if (block == NULL) {
        scan->has_ended = true;
        fx8_stream_end(scan->stream);
        status = hand_over(scan, error);
    } else {
        status = push_block(scan, block, error);
    }
    *n_scanned = scan->at - scan->first;
    return status;
}

void fx8_scan_close(struct fx8_scan **scan)
{
    struct fx8_scan *s = *scan;
    if (s == NULL)
        return;
    fx8_stream_close(&s->stream);
    free(s->valid);
    free(s);
    *scan = NULL;
}
