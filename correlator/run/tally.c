/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/tally.h"

/* Put the arrays into the memory; returns its size. */
static size_t lay_out(struct fx8_tally *t)
{
    const size_t rows = t->n_rows, levels = t->n_levels;
    int64_t *at = t->memory;
    t->dead_dumps = at;
    t->valid_spectra = at + rows;
    t->clips = at + 2 * rows;
    t->gain = (float *)(at + 2 * rows + levels);
    t->is_zero = (uint8_t *)(t->gain + levels);
    t->is_set = t->is_zero + levels;
    return (2 * rows + levels) * sizeof *at + levels * sizeof *t->gain +
           levels + rows;
}

enum fx8_status fx8_tally_open(const struct fx8_job *job,
                               struct fx8_tally *tally, struct fx8_error *error)
{
    *tally = (struct fx8_tally){
        .n_inputs = job->axes.n_inputs,
        .n_rows = job->axes.n_rows,
        .n_levels =
            job->axes.has_quantiser ? job->axes.n_inputs * job->axes.n_fine : 0,
    };
    const size_t per_row = 2 * sizeof(int64_t) + 1;
    const size_t per_level = sizeof(int64_t) + sizeof(float) + 1;
    tally->size = tally->n_rows * per_row + tally->n_levels * per_level;
    FX8_TRY(fx8_allocate(tally->size, 1, "counts", &tally->memory, error));
    tally->size = lay_out(tally);
    return FX8_OK;
}

void fx8_tally_clear(struct fx8_tally *tally)
{
    free(tally->memory);
    *tally = (struct fx8_tally){.memory = NULL};
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (from != NULL && bytes > 0)
        memcpy(to, from, bytes);
}

void fx8_tally_take_gains(struct fx8_tally *tally,
                          const struct fx8_session *session)
{
    const struct fx8_input_gains gains = fx8_gains(session);
    copy(tally->gain, gains.gain, tally->n_levels * sizeof *tally->gain);
    copy(tally->is_zero, gains.is_zero, tally->n_levels);
    copy(tally->is_set, gains.is_set, tally->n_rows);
}

void fx8_tally_take(struct fx8_tally *tally, const struct fx8_session *session)
{
    const struct fx8_input_counts counts = fx8_inputs(session);
    fx8_get_statistics(session, &tally->statistics);
    copy(tally->valid_spectra, counts.valid_spectra,
         tally->n_rows * sizeof *tally->valid_spectra);
    copy(tally->clips, counts.clips, tally->n_levels * sizeof *tally->clips);
    fx8_tally_take_gains(tally, session);
}

struct fx8_input_gains fx8_tally_gains(const struct fx8_tally *tally)
{
    return (struct fx8_input_gains){tally->gain, tally->is_zero, tally->is_set};
}

/* --- the sum over ranks --------------------------------------------------- */

/* Times are those of the slowest rank. */
static void add_seconds(double *most, double seconds)
{
    *most = seconds > *most ? seconds : *most;
}

static void add_statistics(struct fx8_statistics *sum,
                           const struct fx8_statistics *s)
{
    sum->n_dumps += s->n_dumps;
    sum->n_spectra += s->n_spectra;
    sum->n_valid_spectra += s->n_valid_spectra;
    sum->n_clipped += s->n_clipped;
    sum->n_sk_judged += s->n_sk_judged;
    sum->n_sk_flagged += s->n_sk_flagged;
    sum->n_gain_rounds += s->n_gain_rounds;
    add_seconds(&sum->align_s, s->align_s);
    add_seconds(&sum->channelize_s, s->channelize_s);
    add_seconds(&sum->correlate_s, s->correlate_s);
    add_seconds(&sum->postprocess_s, s->postprocess_s);
    add_seconds(&sum->quicklook_s, s->quicklook_s);
    add_seconds(&sum->gains_s, s->gains_s);
    add_seconds(&sum->spot_s, s->spot_s);
    add_seconds(&sum->copy_s, s->copy_s);
    add_seconds(&sum->results_s, s->results_s);
}

/* The gains of a row: the bands of an input are side by side. */
static void take_row(struct fx8_tally *sum, const struct fx8_tally *one,
                     size_t row)
{
    const size_t n_bands = sum->n_rows / sum->n_inputs;
    const size_t n = sum->n_levels / sum->n_rows;
    const size_t first =
        (row % sum->n_inputs * n_bands + row / sum->n_inputs) * n;
    memcpy(sum->gain + first, one->gain + first, n * sizeof *sum->gain);
    memcpy(sum->is_zero + first, one->is_zero + first, n);
    sum->is_set[row] = 1;
}

static void add(struct fx8_tally *sum, const struct fx8_tally *one)
{
    sum->n_clamped += one->n_clamped;
    add_statistics(&sum->statistics, &one->statistics);
    for (size_t level = 0; level < sum->n_levels; level++)
        sum->clips[level] += one->clips[level];
    for (size_t row = 0; row < sum->n_rows; row++) {
        sum->dead_dumps[row] += one->dead_dumps[row];
        sum->valid_spectra[row] += one->valid_spectra[row];
        if (one->is_set[row] && !sum->is_set[row])
            take_row(sum, one, row);
    }
}

/* What of a tally does not lie in its memory. */
struct head {
    struct fx8_statistics statistics;
    int64_t n_clamped;
};

static enum fx8_status receive(const struct fx8_ranks *ranks, int from, int tag,
                               struct fx8_tally *one, struct fx8_error *error)
{
    struct head head;
    FX8_TRY(ranks->operations->receive(from, tag, &head, sizeof head, error));
    one->statistics = head.statistics;
    one->n_clamped = head.n_clamped;
    return ranks->operations->receive(from, tag, one->memory, one->size, error);
}

enum fx8_status fx8_tally_add_ranks(struct fx8_tally *tally, int tag,
                                    const struct fx8_ranks *ranks,
                                    struct fx8_error *error)
{
    const struct head head = {tally->statistics, tally->n_clamped};
    struct fx8_tally one = *tally;
    FX8_AUTO_FREE void *memory = NULL;
    enum fx8_status status = FX8_OK;
    if (ranks->n == 1)
        return FX8_OK;
    if (ranks->rank == 0)
        status = fx8_allocate(tally->size, 1, "counts", &memory, error);
    FX8_TRY(fx8_ranks_agree(ranks, status, error));
    if (ranks->rank > 0) {
        FX8_TRY(ranks->operations->send(0, tag, &head, sizeof head, error));
        return ranks->operations->send(0, tag, tally->memory, tally->size,
                                       error);
    }
    one.memory = memory;
    lay_out(&one);
    for (int rank = 1; rank < ranks->n; rank++) {
        FX8_TRY(receive(ranks, rank, tag, &one, error));
        add(tally, &one);
    }
    return FX8_OK;
}
