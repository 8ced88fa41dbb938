/* SPDX-License-Identifier: BSD-3-Clause */
/* sink_look.c -- see sink_private.h: the quick-look of dumps that are read from
 * the files again. */
#include <string.h>

#include "config/base/dump_arrays.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/sink_private.h"

/* Copy what a dump has of the quick-look. */
static void copy_quicklook(const struct fx8_sink *s, struct fx8_sink_copy *copy,
                           const struct fx8_dump *dump)
{
    const struct fx8_axes *axes = &s->job->axes;
    const size_t n_cells =
        axes->n_baselines * axes->n_channels * axes->n_products;
    const size_t n_levels = axes->n_inputs * axes->n_channels;
    struct fx8_quicklook_dump given = dump->quicklook;
    struct fx8_array to[FX8_QUICKLOOK_ARRAYS], from[FX8_QUICKLOOK_ARRAYS];
    fx8_list_quicklook(&copy->dump.quicklook, n_cells, n_levels, true, to);
    fx8_list_quicklook(&given, n_cells, n_levels, true, from);
    fx8_copy_arrays(to, from, FX8_QUICKLOOK_ARRAYS);
}

/* Read a dump that is finished. */
static enum fx8_status read_again(struct fx8_sink *s, int64_t dump,
                                  struct fx8_sink_copy *copy,
                                  struct fx8_error *error)
{
    const char *unfinished;
    FX8_TRY(
        fx8_sink_read_copy(s, (size_t)dump, false, copy, &unfinished, error));
    return unfinished == NULL
               ? FX8_OK
               : fx8_fail(error, FX8_ERR_SYSTEM,
                          "%s: dump %lld: cannot be read again: expected what "
                          "its checksum says",
                          unfinished, (long long)dump);
}

enum fx8_status fx8_sink_look(struct fx8_sink *sink, int64_t dump,
                              struct fx8_error *error)
{
    struct fx8_sink *s = sink;
    if (!fx8_sink_looks_at_each(s))
        return FX8_OK;
    /* once all copies are empty, the thread leaves the files alone */
    struct fx8_sink_copy *copy = NULL, *others[FX8_SINK_COPIES - 1];
    for (size_t i = 0; i < FX8_SINK_COPIES; i++) {
        if (copy != NULL)
            others[i - 1] = copy;
        if ((copy = fx8_sink_take_empty(s, error)) == NULL)
            return s->status;
    }
    const enum fx8_status status = read_again(s, dump, copy, error);
    for (size_t i = 0; i + 1 < FX8_SINK_COPIES; i++)
        fx8_queue_put(&s->empty, others[i]);
    FX8_TRY(status);
    struct fx8_dump kept = copy->dump;
    kept.index = copy->dump.index = dump;
    FX8_TRY(fx8_look(s->session, &kept, error));
    copy_quicklook(s, copy, &kept);
    copy->is_kept = true;
    fx8_queue_put(&s->full, copy);
    return FX8_OK;
}

enum fx8_status fx8_sink_look_at_all(struct fx8_sink *s,
                                     struct fx8_session *looker, size_t n_dumps,
                                     struct fx8_error *error)
{
    struct fx8_dump dump = {.index = 0};
    for (; dump.index < (int64_t)n_dumps; dump.index++) {
        FX8_TRY(read_again(s, dump.index, &s->copies[0], error));
        memcpy(dump.results, s->copies[0].dump.results, sizeof dump.results);
        FX8_TRY(fx8_look(looker, &dump, error));
        FX8_TRY(fx8_run_quicklook_take(s->quicklook, &dump, error));
    }
    return FX8_OK;
}
