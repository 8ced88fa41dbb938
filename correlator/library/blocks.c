/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.c -- see session_private.h: blocks to be used in place. */
#include "correlator/library/align.h"
#include "correlator/library/session_private.h"

void fx8_pin(struct fx8_session *session, void *memory, size_t bytes)
{
    if (session->operations->pin != NULL)
        session->operations->pin(session->engines[0], memory, bytes);
}

void fx8_turn(const struct fx8_session *session, const struct fx8_block *block,
              int8_t *rows, size_t row_stride)
{
    fx8_align(fx8_stream_shape(session->stream), block, rows, row_stride);
}

/* After the first n spectra: those in the unfinished engine block (rest), and
 * the full size of that block (next). */
struct progress {
    int64_t rest, next;
};

static struct progress progress_after(const struct fx8_session *s, int64_t n)
{
    const int64_t block =
        (int64_t)s->operations->facts(s->engines[0])->block_spectra;
    const int64_t dump = fx8_dump_of(&s->plan, n);
    const int64_t rest = (n - fx8_dump_first(&s->plan, dump)) % block;
    const int64_t left = fx8_dump_first(&s->plan, dump + 1) - (n - rest);
    return (struct progress){rest, left < block ? left : block};
}

int64_t fx8_block_end(const struct fx8_session *session, int64_t first_sample,
                      int64_t most)
{
    const struct fx8_plan *plan = &session->plan;
    const int64_t step = (int64_t)session->axes.step;
    const int64_t held = plan->blanking.level > 0 ? plan->blanking.margin : 0;
    /* start of the first spectrum if its window were one step long, and no
     * margin of later samples reached back */
    const int64_t origin = plan->first_sample + (int64_t)session->axes.margin +
                           (int64_t)session->axes.window - step + held;
    const int64_t begin = first_sample > origin ? first_sample - origin : 0;
    const int64_t n = begin / step;
    const struct progress now = progress_after(session, n);
    const int64_t next = origin + (n - now.rest + now.next) * step;
    if (next - first_sample >= most)
        return next;
    const int64_t n_most = (first_sample + most - origin) / step;
    return origin + (n_most - progress_after(session, n_most).rest) * step;
}
