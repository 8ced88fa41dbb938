/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdlib.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/averages.h"
#include "correlator/run/share.h"

/* First block of a rank; of rank n: behind the last one.  This is n_blocks
 * times rank divided by n, without overflow. */
static int64_t first_block(int64_t n_blocks, int64_t rank, int64_t n)
{
    return n_blocks / n * rank + n_blocks % n * rank / n;
}

/* a / b, rounded up. */
static int64_t divide_up(int64_t a, int64_t b)
{
    return (a - 1) / b + 1;
}

int64_t fx8_share_parts(const struct fx8_plan *plan, int64_t dump, int64_t part)
{
    const int64_t n_segments =
        divide_up(fx8_dump_spectra(plan, dump), fx8_segment_spectra(plan));
    return divide_up(n_segments, part);
}

bool fx8_share_is_exact(const struct fx8_plan *plan)
{
    return plan->precision == FX8_PRECISION_INT8 && plan->sk_false_alarm == 0.0;
}

/* Segments in a part of n_left blocks for n ranks; 0: dumps are not divided. */
static int64_t choose_part(const struct fx8_plan *plan, int64_t n_left, int n)
{
    const int64_t n_segments =
        divide_up(plan->spectra_per_dump, fx8_segment_spectra(plan));
    if (n_left >= n || n_segments == 1)
        return 0;
    return fx8_share_is_exact(plan) ? divide_up(n_segments, n) : 1;
}

int64_t fx8_share_idle(const struct fx8_plan *plan, int64_t n_dumps,
                       int64_t block_dumps, int n)
{
    const int64_t n_blocks = divide_up(n_dumps, block_dumps);
    const int64_t part = choose_part(plan, n_blocks, n);
    int64_t n_busy = part > 0 ? 0 : n_blocks;
    for (int64_t d = 0; d < n_dumps && part > 0; d++)
        n_busy += fx8_share_parts(plan, d, part);
    return n_busy < n ? n - n_busy : 0;
}

struct fx8_share fx8_share_of(const uint8_t *finished, int64_t n_dumps,
                              int64_t block_dumps, const struct fx8_plan *plan,
                              const struct fx8_ranks *ranks)
{
    struct fx8_share share = {0, n_dumps, 0};
    int64_t n_left = 0, n_before = 0;
    if (ranks->n == 1)
        return share;
    for (int64_t d = 0; d < n_dumps; d += block_dumps)
        n_left += !finished[d];
    share.part = choose_part(plan, n_left, ranks->n);
    const int64_t n_shares = share.part > 0 ? 1 : ranks->n;
    const int64_t begin = first_block(n_left, ranks->rank, n_shares);
    const int64_t end = first_block(n_left, ranks->rank + 1, n_shares);
    share.end = 0;
    for (int64_t d = 0; d < n_dumps; d += block_dumps) {
        if (finished[d])
            continue;
        if (n_before == begin)
            share.first = d;
        if (n_before >= begin && n_before < end)
            share.end = fx8_averages_block_end(d, block_dumps, n_dumps);
        n_before++;
    }
    return begin < end && ranks->rank < n_shares
               ? share
               : (struct fx8_share){0, 0, share.part};
}

/* The processors that a rank may use, and on which node. */
struct processors {
    int node;
    cpu_set_t set;
};

enum fx8_status fx8_share_threads(const struct fx8_ranks *ranks,
                                  size_t *n_threads, struct fx8_error *error)
{
    *n_threads = fx8_parallel_cpus();
    if (ranks->n == 1)
        return FX8_OK;
    FX8_AUTO_FREE struct processors *all = NULL;
    struct processors own = {.node = ranks->node};
    CPU_ZERO(&own.set);
    sched_getaffinity(0, sizeof own.set, &own.set);
    enum fx8_status status =
        fx8_allocate((size_t)ranks->n, sizeof *all, "ranks", &all, error);
    FX8_TRY(fx8_ranks_agree(ranks, status, error));
    FX8_TRY(ranks->operations->gather(&own, sizeof own, all, error));
    FX8_TRY(ranks->operations->broadcast(all, (size_t)ranks->n * sizeof *all,
                                         error));
    size_t n_alike = 0;
    for (int rank = 0; rank < ranks->n; rank++)
        n_alike +=
            all[rank].node == own.node && CPU_EQUAL(&all[rank].set, &own.set);
    *n_threads = *n_threads > n_alike ? *n_threads / n_alike : 1;
    return FX8_OK;
}
