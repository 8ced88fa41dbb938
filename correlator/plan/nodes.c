/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodes.c -- the time of a run on some nodes.
 *
 * On a node, reading, computing and writing overlap, but share its cores: a run
 * takes as long as the longest of them, or as computing and compressing do on
 * all cores.  If a card computes, copies to it are one more of them, and only
 * reading and writing share the cores.  The last dump is written when all is
 * computed; then the disk takes it, and what it has left of the dumps before.
 *
 * Nodes take ranges of dumps, whole blocks of those that are averaged, or, if
 * there are fewer than nodes, parts of dumps in turn (correlator/run/share.h),
 * which the first node adds.  It sets the levels while the others wait, and
 * compresses what is compressed.
 */
#include <math.h>

#include "correlator/plan/plan.h"

/* Most nodes that are tried for real time. */
#define MOST_NODES ((size_t)1 << 20)

/* A limit of the time. */
static void limit(struct fx8_cost_time *time, double seconds, const char *bound)
{
    if (seconds > time->seconds)
        *time = (struct fx8_cost_time){seconds, bound};
}

/* The stage with the most CPU time: `runs` of each on a node. */
static const char *longest(const struct fx8_cost_job *cost,
                           const double runs[FX8_COST_WRITE + 1])
{
    enum fx8_cost_stage found = FX8_COST_READ;
    double most = 0.0;
    for (enum fx8_cost_stage k = FX8_COST_READ; k <= FX8_COST_WRITE; k++) {
        const bool is_single = k == FX8_COST_READ || k == FX8_COST_WRITE;
        const double busy = runs[k] * cost->stages[k].seconds *
                            (is_single ? 1.0 : (double)cost->n_threads);
        if (busy > most) {
            most = busy;
            found = k;
        }
    }
    return cost->stages[found].name;
}

/* Dumps of the node that has most; by how much their computation is divided;
 * parts that this node gets from others. */
struct share {
    double n_dumps, n_parts, n_received;
};

static struct share share_of(const struct fx8_cost_job *cost, double n_nodes)
{
    if (n_nodes == 1.0)
        return (struct share){cost->whole_dumps, 1.0, 0.0};
    const double n_blocks = ceil(cost->n_dumps / cost->block_dumps);
    if (n_blocks >= n_nodes || cost->n_segments == 1.0)
        return (struct share){
            fmin(cost->n_dumps, ceil(n_blocks / n_nodes) * cost->block_dumps),
            1.0, 0.0};
    const double part = cost->is_exact ? ceil(cost->n_segments / n_nodes) : 1.0;
    const double n_parts = cost->n_dumps * ceil(cost->n_segments / part);
    const double own = ceil(n_parts / n_nodes);
    return (struct share){cost->n_dumps,
                          cost->n_dumps * cost->n_segments / (own * part),
                          n_parts - own};
}

/* To write a dump, by a node that does nothing else. */
static double write_one(const struct fx8_cost_job *cost)
{
    return cost->plain_write_s +
           (cost->stages[FX8_COST_WRITE].seconds - cost->plain_write_s) /
               (double)cost->n_packers;
}

/* Dumps that the node that has most of them writes; the first one compresses
 * the dumps of all. */
static double dumps_written(const struct fx8_cost_job *cost, double n_dumps)
{
    return cost->is_packed ? cost->n_dumps : ceil(n_dumps);
}

/* The cores compute a node's share, and write all but its last dump. */
static struct fx8_cost_time on_cores(const struct fx8_cost_job *cost,
                                     const struct share *share,
                                     double n_written)
{
    const struct fx8_cost_work *stages = cost->stages;
    const double cores = (double)cost->n_cores;
    const double write_s = stages[FX8_COST_WRITE].seconds;
    const double read_s = stages[FX8_COST_READ].seconds / share->n_parts;
    const double compute_s = (stages[FX8_COST_CHANNELIZE].seconds +
                              stages[FX8_COST_CORRELATE].seconds) /
                                 share->n_parts +
                             stages[FX8_COST_DUMP].seconds;
    const double computed_s = share->n_dumps * compute_s;
    const double n_summed = share->n_dumps / share->n_parts;
    const char *most =
        longest(cost, (const double[]){[FX8_COST_READ] = n_summed,
                                       [FX8_COST_CHANNELIZE] = n_summed,
                                       [FX8_COST_CORRELATE] = n_summed,
                                       [FX8_COST_DUMP] = share->n_dumps,
                                       [FX8_COST_WRITE] = n_written});
    struct fx8_cost_time time = {computed_s, most};
    const double packing_s = n_written * (write_s - cost->plain_write_s);
    limit(&time, (computed_s * (double)cost->n_threads + packing_s) / cores,
          most);
    limit(&time, share->n_dumps * read_s / (double)cost->n_threads,
          stages[FX8_COST_READ].name);
    limit(&time, compute_s + n_written * write_one(cost),
          stages[FX8_COST_WRITE].name);
    return time;
}

/* The same with a card, which computes one stage after the other. */
static struct fx8_cost_time on_card(const struct fx8_cost_job *cost,
                                    const struct share *share, double n_written)
{
    const struct fx8_cost_work *stages = cost->stages;
    const double n_summed = share->n_dumps / share->n_parts;
    const double read_s = n_summed * stages[FX8_COST_READ].seconds;
    const double write_s = n_written * stages[FX8_COST_WRITE].seconds;
    const char *both =
        stages[read_s > write_s ? FX8_COST_READ : FX8_COST_WRITE].name;
    struct fx8_cost_time time = {
        n_summed * (stages[FX8_COST_CHANNELIZE].seconds +
                    stages[FX8_COST_CORRELATE].seconds) +
            share->n_dumps * stages[FX8_COST_DUMP].seconds,
        longest(cost, (const double[]){[FX8_COST_CHANNELIZE] = n_summed,
                                       [FX8_COST_CORRELATE] = n_summed,
                                       [FX8_COST_DUMP] = share->n_dumps,
                                       [FX8_COST_WRITE] = 0.0})};
    limit(&time, n_summed * stages[FX8_COST_PCIE].seconds,
          stages[FX8_COST_PCIE].name);
    limit(&time, read_s / (double)cost->n_threads, stages[FX8_COST_READ].name);
    const double first_s = time.seconds / fmax(1.0, share->n_dumps);
    limit(&time, (read_s + write_s) / (double)cost->n_cores, both);
    limit(&time, first_s + n_written * write_one(cost),
          stages[FX8_COST_WRITE].name);
    return time;
}

/* Between the start and the last dump's writing. */
static struct fx8_cost_time middle(const struct fx8_cost_job *cost,
                                   const struct fx8_cost_site *site,
                                   double n_nodes)
{
    const struct fx8_cost_work *stages = cost->stages;
    const struct share share = share_of(cost, n_nodes);
    const double n_written =
        fmax(0.0, dumps_written(cost, share.n_dumps) - 1.0);
    struct fx8_cost_time time =
        (cost->has_card ? on_card : on_cores)(cost, &share, n_written);
    const double result_bytes = cost->n_dumps * stages[FX8_COST_WRITE].amount;
    limit(&time,
          (cost->whole_dumps * stages[FX8_COST_READ].amount +
           result_bytes * cost->stored_size) /
              site->storage_bytes_s,
          "storage");
    if (cost->is_packed)
        limit(&time,
              result_bytes * (1.0 - 1.0 / n_nodes) / site->network_bytes_s,
              "network");
    const double adding_s =
        share.n_received * cost->sums_bytes / site->network_bytes_s;
    if (adding_s > time.seconds)
        time.bound = "network";
    time.seconds += adding_s;
    return time;
}

/* What the disk takes when all is written, after `seconds`. */
static double rest_of_sync(const struct fx8_cost_job *cost, double n_nodes,
                           double seconds)
{
    const double n_dumps = dumps_written(cost, share_of(cost, n_nodes).n_dumps);
    const double sync_s = cost->stages[FX8_COST_SYNC].seconds;
    return sync_s + fmax(0.0, (n_dumps - 1.0) * sync_s - seconds);
}

struct fx8_cost_time fx8_cost_time_on(const struct fx8_cost_job *cost,
                                      const struct fx8_cost_site *site,
                                      size_t n_nodes)
{
    struct fx8_cost_time time = middle(cost, site, (double)n_nodes);
    /* plain writing beside computation is in the time of every dump */
    const double beside_s =
        cost->has_card ? 0.0 : cost->plain_write_s / (double)cost->n_threads;
    const double write_s = write_one(cost) - beside_s;
    const double fixed_s = cost->stages[FX8_COST_LEVEL].seconds +
                           cost->stages[FX8_COST_START].seconds +
                           (n_nodes > 1 ? FX8_COST_MPI_S : 0.0);
    const double sync_s = rest_of_sync(cost, (double)n_nodes, time.seconds);
    if (fixed_s > time.seconds + write_s + sync_s)
        time.bound = "start and levels";
    else if (fmax(write_s, sync_s) > time.seconds)
        time.bound =
            cost->stages[write_s > sync_s ? FX8_COST_WRITE : FX8_COST_SYNC]
                .name;
    time.seconds += fixed_s + write_s + sync_s;
    return time;
}

size_t fx8_cost_real_time_nodes(const struct fx8_cost_job *cost,
                                const struct fx8_cost_site *site)
{
    size_t enough = 1, less = 0;
    while (fx8_cost_time_on(cost, site, enough).seconds > cost->recorded_s) {
        if (enough >= MOST_NODES)
            return 0;
        less = enough;
        enough *= 2;
    }
    while (enough - less > 1) {
        const size_t middle_n = less + (enough - less) / 2;
        if (fx8_cost_time_on(cost, site, middle_n).seconds > cost->recorded_s)
            less = middle_n;
        else
            enough = middle_n;
    }
    return enough;
}
