/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.c -- what a session computes of a run: ranges of dumps, and parts of a
 * dump, in any order. */
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/plan.h"
#include "correlator/library/session_private.h"

/* --- where to go --------------------------------------------------------- */

static bool is_dump(const struct fx8_session *s, int64_t dump)
{
    const int64_t step = (int64_t)s->axes.step;
    return dump >= 0 &&
           fx8_dump_first(&s->plan, dump) <= FX8_LAST_SAMPLE / step &&
           fx8_dump_spectra(&s->plan, dump) > 0;
}

/* Refuse to leave a dump or part that has begun. */
static enum fx8_status check_idle(const struct fx8_session *s, const char *call,
                                  struct fx8_error *error)
{
    if (!s->is_ready && !s->is_part_ready && !s->has_ended &&
        s->position == s->part_first && !fx8_session_sets_gains(s))
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: dump %lld has begun: expected the dumps of a range to "
                    "be complete and taken",
                    call, (long long)s->dump);
}

/* Restart the session's samples at a spectrum of a dump. */
static enum fx8_status go_to(struct fx8_session *s, int64_t dump,
                             int64_t spectrum, int64_t *first_sample,
                             struct fx8_error *error)
{
    FX8_TRY(fx8_session_leave(s, fx8_session_settle(s, error)));
    fx8_stream_restart(s->stream, fx8_dump_first(&s->plan, dump) + spectrum);
    fx8_kept_clear(&s->kept);
    s->again = (struct fx8_block){0};
    s->has_finished = false;
    s->has_skipped = s->has_skipped || dump > s->dump || spectrum > 0;
    s->dump = dump;
    s->position = s->part_first = spectrum;
    const int64_t next =
        fx8_stream_next_sample(s->stream) - fx8_session_reach(s);
    const int64_t first = next > 0 ? next : 0;
    /* what lies before can be read again */
    s->pushed_end = s->samples_end = fx8_session_looks_back(s) ? first : 0;
    if (first_sample != NULL)
        *first_sample = first;
    return FX8_OK;
}

enum fx8_status fx8_seek(struct fx8_session *session, int64_t dump,
                         int64_t n_dumps, int64_t *first_sample,
                         struct fx8_error *error)
{
    struct fx8_session *s = session;
    FX8_TRY(fx8_session_enter(s, error));
    if (!is_dump(s, dump) || n_dumps < 0 || n_dumps > INT64_MAX - dump)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "seek: %lld dumps from %lld: expected dumps of the run",
                        (long long)n_dumps, (long long)dump);
    FX8_TRY(check_idle(s, "seek", error));
    s->end_dump = n_dumps == 0 ? INT64_MAX : dump + n_dumps;
    s->part_end = 0;
    return go_to(s, dump, 0, first_sample, error);
}

/* --- parts of a dump ------------------------------------------------------ */

int64_t fx8_segment_spectra(const struct fx8_plan *plan)
{
    return fx8_engine_segment(plan->spectra_per_dump);
}

enum fx8_status fx8_seek_part(struct fx8_session *session, int64_t dump,
                              int64_t segment, int64_t n_segments,
                              int64_t *first_sample, struct fx8_error *error)
{
    struct fx8_session *s = session;
    FX8_TRY(fx8_session_enter(s, error));
    const int64_t spectra = fx8_segment_spectra(&s->plan);
    const int64_t n_all =
        is_dump(s, dump) ? (fx8_dump_spectra(&s->plan, dump) - 1) / spectra + 1
                         : 0;
    if (segment < 0 || n_segments < 1 || segment >= n_all ||
        n_segments > n_all - segment)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "part: %lld segments from %lld of dump %lld: expected "
                        "segments of a dump of the run",
                        (long long)n_segments, (long long)segment,
                        (long long)dump);
    if (n_segments > 1 && (s->plan.precision != FX8_PRECISION_INT8 ||
                           s->plan.sk_false_alarm > 0.0))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "part: %lld segments: expected 1, except of INT8 alone "
                        "without spectral kurtosis",
                        (long long)n_segments);
    if (s->quicklook != NULL || fx8_session_has_slices(s))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "part: expected a plan without quick-look, and memory "
                        "for whole dumps");
    FX8_TRY(check_idle(s, "part", error));
    s->end_dump = dump + 1;
    s->part_end = (segment + n_segments) * spectra;
    return go_to(s, dump, segment * spectra, first_sample, error);
}

/* The arrays of a part, one after the other. */
struct part {
    void *sums[FX8_N_RESULTS]; /* [n_bands] as in struct fx8_engine_dump */
    double *moments;           /* likewise; NULL if not planned */
    int64_t *counts, *clips;   /* likewise */
    int64_t *valid_spectra;    /* [n_rows] */
    int64_t *values;           /* fx8_few_bits_counts(), NULL without */
    /* as struct fx8_input_gains; NULL without a quantiser */
    float *gain;
    uint8_t *is_zero, *is_set;
    uint8_t *has_signal; /* [n_rows] */
};

/* Counters of values of samples. */
static size_t count_values(const struct fx8_session *s)
{
    return s->few_bits == NULL ? 0 : s->axes.n_rows * FX8_ROW_VALUES;
}

/* Numbers of a part that add up like clips. */
static size_t count_counts(const struct fx8_session *s)
{
    const size_t pairs = fx8_pair_count(s->axes.n_inputs);
    return s->plan.n_bands * pairs + s->axes.n_rows * (s->axes.n_kept + 1) +
           count_values(s);
}

/* Moments of a part. */
static size_t count_moments(const struct fx8_session *s)
{
    return s->flag_sk == NULL ? 0 : 2 * s->axes.n_rows * s->axes.n_kept;
}

/* Find the arrays in the memory of a part, which may be NULL; returns their
 * size. */
static size_t lay_out(const struct fx8_session *s, void *memory,
                      struct part *part)
{
    const size_t rows = s->axes.n_rows, bands = s->plan.n_bands;
    const size_t pairs = fx8_pair_count(s->axes.n_inputs);
    const size_t sums = s->axes.n_fine * pairs * 2;
    const size_t levels = s->gains != NULL ? rows * s->axes.n_kept : 0;
    const struct fx8_array others[] = {
        FX8_ITEMS(part->moments, count_moments(s)),
        FX8_ITEMS(part->counts, bands * pairs),
        FX8_ITEMS(part->clips, rows * s->axes.n_kept),
        FX8_ITEMS(part->valid_spectra, rows),
        FX8_ITEMS(part->values, count_values(s)),
        FX8_ITEMS(part->gain, levels),
        FX8_ITEMS(part->is_zero, levels),
        FX8_ITEMS(part->is_set, levels > 0 ? rows : 0),
        FX8_ITEMS(part->has_signal, rows),
    };
    struct fx8_array arrays[FX8_N_RESULTS + sizeof others / sizeof *others];
    size_t size = 0;
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++)
        arrays[kind] = (struct fx8_array){&part->sums[kind], sums,
                                          (s->plan.precision >> kind & 1) *
                                              sizeof(double)};
    memcpy(arrays + FX8_N_RESULTS, others, sizeof others);
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        const size_t bytes = arrays[k].n_items * arrays[k].item_size;
        void *const at =
            memory == NULL || bytes == 0 ? NULL : (char *)memory + size;
        memcpy(arrays[k].pointer, &at, sizeof at);
        size += bytes;
    }
    return size;
}

size_t fx8_part_size(const struct fx8_session *session)
{
    struct part unused;
    return lay_out(session, NULL, &unused);
}

/* What of a part an engine computes. */
static struct fx8_engine_dump band_of(const struct fx8_session *s,
                                      const struct part *part, size_t band)
{
    const size_t pairs = fx8_pair_count(s->axes.n_inputs);
    const size_t cells = s->axes.n_inputs * s->axes.n_kept;
    struct fx8_engine_dump dump = {.strip = fx8_strip_whole(s->axes.n_inputs),
                                   .counts = part->counts + band * pairs,
                                   .clips = part->clips + band * cells};
    if (part->moments != NULL)
        dump.moments = part->moments + band * 2 * cells;
    for (size_t kind = 0; kind < FX8_N_RESULTS; kind++)
        if (part->sums[kind] != NULL)
            dump.sums[kind] =
                (double *)part->sums[kind] + band * s->axes.n_kept * pairs * 2;
    return dump;
}

/* The cells of a row in arrays of gains, the bands of an input side by side. */
static size_t first_level(const struct fx8_session *s, size_t row)
{
    const size_t n = s->axes.n_inputs;
    return (row % n * s->plan.n_bands + row / n) * s->axes.n_kept;
}

/* Take over the gains of rows that have none in the part yet. */
static void add_gains(const struct fx8_session *s, struct part *part,
                      const struct fx8_input_gains *gains)
{
    for (size_t row = 0; row < s->axes.n_rows && part->is_set != NULL; row++) {
        const size_t at = first_level(s, row), n = s->axes.n_kept;
        if (part->is_set[row] || !gains->is_set[row])
            continue;
        part->is_set[row] = 1;
        memcpy(part->gain + at, gains->gain + at, n * sizeof *part->gain);
        memcpy(part->is_zero + at, gains->is_zero + at, n);
    }
}

static enum fx8_status take(struct fx8_session *s, void *memory,
                            struct fx8_error *error)
{
    struct part part;
    memset(memory, 0, lay_out(s, memory, &part));
    for (size_t band = 0; band < s->plan.n_bands; band++) {
        struct fx8_engine_dump sums = band_of(s, &part, band);
        FX8_TRY(s->operations->finish_dump(s->engines[band], &sums, error));
        FX8_TRY(fx8_spot_end(&s->spots[(s->dump - 1) % 2], s->operations,
                             s->engines, band, &sums, error));
    }
    const struct fx8_input_gains gains = fx8_gains(s);
    add_gains(s, &part, &gains);
    for (size_t row = 0; row < s->axes.n_rows; row++) {
        part.valid_spectra[row] = s->valid_in_dump[row];
        part.has_signal[row] = s->has_signal[row];
        s->valid_in_dump[row] = 0;
        s->has_signal[row] = false;
    }
    for (size_t k = 0; k < count_values(s); k++) {
        part.values[k] = fx8_few_bits_counts(s->few_bits)[k];
        fx8_few_bits_counts(s->few_bits)[k] = 0;
    }
    s->is_part_ready = false;
    return FX8_OK;
}

enum fx8_status fx8_take_part(struct fx8_session *session, void *part,
                              struct fx8_error *error)
{
    FX8_TRY(fx8_session_enter(session, error));
    if (part == NULL || !session->is_part_ready)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "part: expected one that is complete, and room for it");
    return fx8_session_leave(session, take(session, part, error));
}

/* Two parts to add. */
struct addition {
    struct part sum, part;
    size_t n; /* sums of a channel */
};

static void add_channel(void *context, size_t channel, size_t thread)
{
    const struct addition *job = context;
    const size_t first = channel * job->n;
    void *const *to = job->sum.sums, *const *from = job->part.sums;
    (void)thread;
    for (size_t k = first; k < first + job->n; k++) {
        if (to[FX8_RESULT_INT8] != NULL)
            ((int64_t *)to[FX8_RESULT_INT8])[k] +=
                ((const int64_t *)from[FX8_RESULT_INT8])[k];
        if (to[FX8_RESULT_FP32] != NULL)
            ((double *)to[FX8_RESULT_FP32])[k] +=
                ((const double *)from[FX8_RESULT_FP32])[k];
    }
    if (to[FX8_RESULT_DOWN] != NULL)
        fx8_add_bounds(job->n, (const double *)from[FX8_RESULT_DOWN] + first,
                       (const double *)from[FX8_RESULT_UP] + first,
                       (double *)to[FX8_RESULT_DOWN] + first,
                       (double *)to[FX8_RESULT_UP] + first);
}

void fx8_add_part(const struct fx8_session *session, void *sum,
                  const void *part)
{
    const struct fx8_session *s = session;
    const struct fx8_threads *threads = &s->plan.machine.threads;
    struct addition job = {.n = 2 * fx8_pair_count(s->axes.n_inputs)};
    lay_out(s, sum, &job.sum);
    lay_out(s, (void *)part, &job.part);
    fx8_parallel_for(s->axes.n_fine, threads->count, threads->pin, add_channel,
                     &job);
    for (size_t k = 0; k < count_moments(s); k++)
        job.sum.moments[k] += job.part.moments[k];
    for (size_t k = 0; k < count_counts(s); k++)
        job.sum.counts[k] += job.part.counts[k];
    for (size_t row = 0; row < s->axes.n_rows; row++)
        job.sum.has_signal[row] |= job.part.has_signal[row];
    add_gains(s, &job.sum,
              &(struct fx8_input_gains){job.part.gain, job.part.is_zero,
                                        job.part.is_set});
}

static enum fx8_status end_parts(struct fx8_session *s, int64_t dump,
                                 const struct part *sum,
                                 struct fx8_error *error)
{
    FX8_AUTO_FREE struct fx8_engine_dump *bands = NULL;
    FX8_TRY(
        fx8_allocate(s->plan.n_bands, sizeof *bands, "bands", &bands, error));
    for (size_t band = 0; band < s->plan.n_bands; band++)
        bands[band] = band_of(s, sum, band);
    for (size_t row = 0; row < s->axes.n_rows; row++) {
        s->valid_in_dump[row] = sum->valid_spectra[row];
        s->has_signal[row] = sum->has_signal[row] != 0;
        if (s->gains != NULL && fx8_gains(s).is_set[row])
            sum->is_set[row] = 0; /* known here */
    }
    for (size_t k = 0; k < count_values(s); k++)
        fx8_few_bits_counts(s->few_bits)[k] = sum->values[k];
    if (s->gains != NULL)
        FX8_TRY(fx8_gains_set(
            s->gains,
            &(struct fx8_input_gains){sum->gain, sum->is_zero, sum->is_set},
            error));
    return fx8_session_end_sums(s, dump, bands, error);
}

enum fx8_status fx8_end_parts(struct fx8_session *session, int64_t dump,
                              void *sum, struct fx8_error *error)
{
    struct part part;
    FX8_TRY(fx8_session_enter(session, error));
    if (sum == NULL || !is_dump(session, dump))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "part: dump %lld: expected one of the run, and the sum "
                        "of its parts",
                        (long long)dump);
    FX8_TRY(check_idle(session, "part", error));
    lay_out(session, sum, &part);
    return fx8_session_leave(session, end_parts(session, dump, &part, error));
}
