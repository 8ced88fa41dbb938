/* SPDX-License-Identifier: BSD-3-Clause */
/* sink_averages.c -- see sink_private.h: results whose dumps are averaged
 * before they are written. */
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/describe.h"
#include "correlator/run/sink_private.h"

enum fx8_status fx8_sink_open_averages(struct fx8_sink *s,
                                       struct fx8_error *error)
{
    const struct fx8_axes *axes = &s->job->axes;
    FX8_TRY(fx8_averages_plan(&s->job->centers[s->center], &s->rows, error));
    for (size_t f = 0; f < FX8_N_RESULTS && fx8_sink_has_averages(s); f++)
        if (s->output->paths[f] != NULL)
            FX8_TRY(fx8_averages_open(&s->rows,
                                      axes->n_channels * axes->n_products,
                                      &s->averages[f], error));
    return FX8_OK;
}

size_t fx8_sink_averages_memory(const struct fx8_sink *s)
{
    const struct fx8_axes *axes = &s->job->axes;
    FX8_AUTO(fx8_uvh5_rows_clear) struct fx8_uvh5_rows rows = {0};
    size_t bytes = 0;
    if (fx8_averages_plan(&s->job->centers[s->center], &rows, NULL) != FX8_OK ||
        rows.n_levels == 1)
        return 0; /* or the run fails with a message */
    for (size_t f = 0; f < FX8_N_RESULTS; f++)
        if (s->output->paths[f] != NULL)
            bytes +=
                fx8_averages_memory(&rows, axes->n_channels * axes->n_products);
    return bytes;
}

const struct fx8_result *fx8_sink_rows(struct fx8_sink *s,
                                       enum fx8_result_kind kind,
                                       const struct fx8_dump *dump,
                                       size_t *n_rows)
{
    const struct fx8_result *given = &dump->results[kind];
    *n_rows = dump->n_baselines;
    if (!fx8_sink_has_averages(s))
        return given;
    *n_rows = fx8_uvh5_rows_of(&s->rows, (size_t)dump->index, NULL);
    return fx8_averages_add(&s->averages[kind], (size_t)dump->index,
                            fx8_dump_spectra(&s->job->plan, dump->index),
                            given);
}

int64_t fx8_sink_whole_dumps(const struct fx8_sink *s)
{
    const int64_t n_dumps = s->job->n_dumps;
    int64_t n_whole = 0;
    if (s->earlier.finished == NULL) /* not opened, for want of memory */
        return 0;
    for (int64_t end, d = 0; d < n_dumps; d = end) {
        end = fx8_averages_block_end(d, s->block_dumps, n_dumps);
        if (memchr(s->earlier.finished + d, 0, (size_t)(end - d)) == NULL)
            n_whole += end - d;
    }
    /* what ranks wrote elsewhere did not arrive: take_back() */
    const int64_t n_there = fx8_sink_n_finished(s);
    return n_whole < n_there ? n_whole : n_there;
}

void fx8_sink_keep_blocks(struct fx8_sink *sink, int64_t block_dumps)
{
    sink->block_dumps = block_dumps;
}

enum fx8_status fx8_sink_end_averages(struct fx8_sink *s,
                                      struct fx8_error *error)
{
    struct fx8_uvh5_rows rows = s->rows;
    const size_t n_dumps = (size_t)fx8_sink_n_finished(s);
    if (!fx8_sink_has_averages(s) || n_dumps == rows.n_dumps)
        return FX8_OK;
    const bool is_whole = fx8_uvh5_block_begin(&rows, n_dumps) == n_dumps;
    rows.n_dumps = n_dumps;
    for (size_t f = 0; f < FX8_N_RESULTS; f++) {
        FX8_AUTO(fx8_uvh5_header_clear) struct fx8_uvh5_header header = {0};
        if (s->files[f] == NULL)
            continue;
        const struct fx8_provenance none = {"", "", "", "", "", ""};
        FX8_TRY(fx8_describe(&s->job->centers[s->center], &none, &rows, &header,
                             error));
        FX8_TRY(fx8_uvh5_end_early(
            s->files[f], &header,
            is_whole ? NULL : fx8_averages_end(&s->averages[f], n_dumps - 1),
            error));
    }
    return FX8_OK;
}
