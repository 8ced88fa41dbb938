/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.c -- ranges of dumps, computed in any order. */
#include "config/base/try.h"
#include "correlator/library/plan.h"
#include "correlator/library/session_private.h"

enum fx8_status fx8_seek(struct fx8_session *session, int64_t dump,
                         int64_t n_dumps, int64_t *first_sample,
                         struct fx8_error *error)
{
    struct fx8_session *s = session;
    const int64_t per_dump = s->plan.spectra_per_dump;
    const int64_t step = (int64_t)s->axes.step;
    FX8_TRY(fx8_session_enter(s, error));
    if (dump < 0 || n_dumps < 0 || n_dumps > INT64_MAX - dump ||
        dump > FX8_LAST_SAMPLE / step / per_dump ||
        fx8_dump_spectra(&s->plan, dump) == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "seek: %lld dumps from %lld: expected dumps of the run",
                        (long long)n_dumps, (long long)dump);
    if (s->is_ready || s->has_ended || s->position > 0 ||
        fx8_session_sets_gains(s))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "seek: dump %lld has begun: expected the dumps of a "
                        "range to be complete and taken",
                        (long long)s->dump);
    FX8_TRY(fx8_session_leave(s, fx8_session_settle(s, error)));
    fx8_stream_restart(s->stream, dump * per_dump);
    fx8_kept_clear(&s->kept);
    s->again = (struct fx8_block){0};
    s->has_finished = false;
    s->has_skipped = s->has_skipped || dump > s->dump;
    s->dump = dump;
    s->end_dump = n_dumps == 0 ? INT64_MAX : dump + n_dumps;
    const int64_t next =
        fx8_stream_next_sample(s->stream) - fx8_session_run_before(s);
    const int64_t first = next > 0 ? next : 0;
    /* what lies before can be read again */
    s->pushed_end = s->samples_end = fx8_session_looks_back(s) ? first : 0;
    if (first_sample != NULL)
        *first_sample = first;
    return FX8_OK;
}
