/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/talk.h"

/* Seconds from one message of progress to the next. */
#define PERIOD_S 0.2

/* To rank 0: short, since an MPI hands long messages over only when the
 * receiver, which may compute for seconds, calls it. */
struct news {
    struct fx8_talk_state state;
    int stop;
    bool is_paused;
    bool has_error; /* which follows in a message of its own */
};

enum fx8_status fx8_talk_open(struct fx8_talk *talk,
                              const struct fx8_ranks *ranks,
                              struct fx8_error *error)
{
    *talk = (struct fx8_talk){.ranks = ranks};
    return fx8_allocate((size_t)ranks->n, sizeof *talk->states, "ranks",
                        &talk->states, error);
}

void fx8_talk_close(struct fx8_talk *talk)
{
    free(talk->states);
    talk->states = NULL;
}

static enum fx8_status tell(const struct fx8_talk *talk,
                            const struct news *news, struct fx8_error *error)
{
    return talk->ranks->operations->send(0, FX8_TAG_NEWS, news, sizeof *news,
                                         error);
}

/* --- rank 0 --------------------------------------------------------------- */

static enum fx8_status take_news(struct fx8_talk *talk, int from,
                                 struct fx8_error *error)
{
    const struct fx8_ranks_operations *ranks = talk->ranks->operations;
    struct news news;
    struct fx8_error failure;
    FX8_TRY(ranks->receive(from, FX8_TAG_NEWS, &news, sizeof news, error));
    talk->states[from] = news.state;
    if (news.stop > talk->stop)
        talk->stop = news.stop;
    talk->is_paused = talk->is_paused || news.is_paused;
    if (!news.has_error)
        return FX8_OK;
    FX8_TRY(
        ranks->receive(from, FX8_TAG_NEWS, &failure, sizeof failure, error));
    if (talk->failure.status == FX8_OK)
        talk->failure = failure;
    talk->stop = 2;
    return FX8_OK;
}

static enum fx8_status pass_on(struct fx8_talk *talk, struct fx8_error *error)
{
    if (talk->passed_on >= talk->stop)
        return FX8_OK;
    talk->passed_on = talk->stop;
    for (int rank = 1; rank < talk->ranks->n; rank++)
        if (!talk->states[rank].has_ended)
            FX8_TRY(talk->ranks->operations->send(
                rank, FX8_TAG_ORDERS, &talk->stop, sizeof talk->stop, error));
    return FX8_OK;
}

/* --- all ranks ------------------------------------------------------------ */

enum fx8_status fx8_talk_listen(struct fx8_talk *talk, struct fx8_error *error)
{
    const struct fx8_ranks_operations *ranks = talk->ranks->operations;
    const bool is_first = talk->ranks->rank == 0;
    int from;
    if (talk->ranks->n == 1)
        return FX8_OK;
    while (ranks->probe(-1, is_first ? FX8_TAG_NEWS : FX8_TAG_ORDERS, &from)) {
        int stop = 0;
        if (is_first) {
            FX8_TRY(take_news(talk, from, error));
            continue;
        }
        FX8_TRY(
            ranks->receive(from, FX8_TAG_ORDERS, &stop, sizeof stop, error));
        talk->stop = stop > talk->stop ? stop : talk->stop;
    }
    return is_first ? pass_on(talk, error) : FX8_OK;
}

enum fx8_status fx8_talk_progress(struct fx8_talk *talk, int64_t n_samples,
                                  int64_t n_dumps, struct fx8_error *error)
{
    struct fx8_talk_state *own = &talk->states[talk->ranks->rank];
    const double now = fx8_clock_seconds();
    own->n_samples = n_samples;
    own->n_dumps = n_dumps;
    if (talk->ranks->rank == 0 || now - talk->sent_s < PERIOD_S)
        return FX8_OK;
    talk->sent_s = now;
    const struct news news = {.state = *own};
    return tell(talk, &news, error);
}

enum fx8_status fx8_talk_stop(struct fx8_talk *talk, int stop, bool is_paused,
                              struct fx8_error *error)
{
    if (stop <= talk->stop)
        return FX8_OK;
    talk->stop = stop;
    talk->is_paused = talk->is_paused || is_paused;
    if (talk->ranks->n == 1)
        return FX8_OK;
    if (talk->ranks->rank == 0)
        return pass_on(talk, error);
    const struct news news = {.state = talk->states[talk->ranks->rank],
                              .stop = stop,
                              .is_paused = is_paused};
    return tell(talk, &news, error);
}

enum fx8_status fx8_talk_end(struct fx8_talk *talk, enum fx8_status status,
                             struct fx8_error *error)
{
    struct news news = {.state = talk->states[talk->ranks->rank]};
    struct fx8_error failure;
    news.state.has_ended = true;
    news.has_error = status != FX8_OK && status != FX8_ERR_CANCELLED;
    if (!news.has_error)
        return tell(talk, &news, error);
    fx8_fail(&failure, status, "rank %d: %s", talk->ranks->rank,
             error->message);
    FX8_TRY(tell(talk, &news, error));
    return talk->ranks->operations->send(0, FX8_TAG_NEWS, &failure,
                                         sizeof failure, error);
}

struct fx8_talk_state fx8_talk_total(const struct fx8_talk *talk)
{
    struct fx8_talk_state total = {0};
    for (int rank = 0; rank < talk->ranks->n; rank++) {
        total.n_samples += talk->states[rank].n_samples;
        total.n_dumps += talk->states[rank].n_dumps;
    }
    return total;
}

bool fx8_talk_is_over(const struct fx8_talk *talk)
{
    bool is_over = true;
    for (int rank = 1; rank < talk->ranks->n; rank++)
        is_over = is_over && talk->states[rank].has_ended;
    return is_over;
}
