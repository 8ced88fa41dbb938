/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/clock.h"
#include "config/base/try.h"
#include "correlator/run/gaps.h"
#include "correlator/run/memory.h"
#include "correlator/run/queue.h"
#include "correlator/run/source.h"

/* Blocks in flight: one being read, one being correlated, the one before it;
 * for a GPU, to which that one is still being copied, another that waits.  The
 * fewer, the more of them stay in the caches. */
#define N_BLOCKS     4
#define N_BLOCKS_CPU 3

/* Memory for blocks that end where the session's blocks do: at most so much
 * each, and this share of the machine's memory for all.  If that is too little,
 * or memory_limit is set, blocks suit the file and the session gathers them. */
#define MOST_BYTES     ((size_t)512 << 20)
#define PART_OF_MEMORY 8

struct fx8_source {
    struct fx8_reader *reader;
    const struct fx8_job *job;
    struct fx8_session *session;      /* may be NULL */
    int64_t first_sample, end_sample; /* absolute, of the job */
    int64_t start_sample;             /* to read from */
    int64_t pause_sample, taken_end;  /* see fx8_source_start() */
    int64_t block_samples;            /* wanted */
    bool is_fitted;       /* blocks end at the session's block ends */
    int64_t most_samples; /* of a block */
    int64_t room;         /* samples in front of a row */
    int64_t row_samples;
    /* if the recording has no rows: they are made of pieces */
    int64_t piece_samples; /* at most; 0: it has rows */
    int8_t *piece;
    ptrdiff_t *piece_offset; /* [n_inputs] */
    struct fx8_source_block blocks[N_BLOCKS];
    struct fx8_source_block *again; /* [n_again], by phase centre */
    size_t n_again;
    int64_t *row; /* [inputs of the recording] row in the job; -1: none */
    struct fx8_gaps gaps, again_gaps;
    struct fx8_queue empty, full;
    struct fx8_queue more; /* an item: go on behind pause_sample */
    pthread_mutex_t mutex; /* guards the reader and the members below */
    double seconds;
    enum fx8_status status; /* of the thread, read after it has ended */
    struct fx8_error error;
    pthread_t thread;
    bool has_thread;
};

static size_t sample_bytes(const struct fx8_source *s)
{
    return s->job->plan.is_complex ? 2 : 1;
}

/* Bytes of all rows, with room before the first too; SIZE_MAX on overflow. */
static size_t buffer_bytes(const struct fx8_source *s)
{
    const size_t row = (size_t)s->row_samples * sample_bytes(s);
    const size_t rows = s->piece_samples > 0
                            ? fx8_product(s->job->n_inputs, row, 1, 1)
                            : s->reader->buffer_size(s->reader, s->row_samples);
    const size_t room = (size_t)s->room * sample_bytes(s);
    return rows > SIZE_MAX - room ? SIZE_MAX : rows + room;
}

static enum fx8_status allocate_block(const struct fx8_source *s, size_t bytes,
                                      struct fx8_source_block *block,
                                      struct fx8_error *error)
{
    const struct fx8_array arrays[] = {
        {&block->buffer, bytes, 1},
        FX8_ITEMS(block->input_offset, s->job->n_inputs),
    };
    return fx8_allocate_arrays(arrays, 2, "samples", error);
}

static enum fx8_status add_missing(struct fx8_source_block *block,
                                   const struct fx8_gap *gap,
                                   struct fx8_error *error)
{
    FX8_TRY(fx8_grow(&block->missing, block->block.n_missing,
                     sizeof *block->missing, "missing stretches", error));
    block->missing[block->block.n_missing++] = *gap;
    return FX8_OK;
}

/* Add the gaps of samples [first, end), just read, by row of the job, and the
 * samples after those that are needed. */
static enum fx8_status list_missing(const struct fx8_source *s, int64_t first,
                                    int64_t end, struct fx8_gaps *gaps,
                                    struct fx8_source_block *block,
                                    struct fx8_error *error)
{
    FX8_TRY(fx8_gaps_list(gaps, s->reader, first, end - first, error));
    for (size_t i = 0; i < gaps->n; i++) {
        struct fx8_gap gap = gaps->items[i];
        if (gap.input >= 0 && (gap.input = s->row[gap.input]) < 0)
            continue; /* of an input that is not correlated */
        FX8_TRY(add_missing(block, &gap, error));
    }
    const int64_t stop = s->job->plan.first_sample + s->job->n_samples +
                         (int64_t)s->job->axes.margin;
    if (end > stop) {
        /* read only for what it makes missing, not processed */
        const struct fx8_gap beyond = {stop, end - stop, -1};
        FX8_TRY(add_missing(block, &beyond, error));
    }
    return FX8_OK;
}

/* Samples of the next block. */
static int64_t next_samples(const struct fx8_source *s, int64_t first,
                            bool is_fitted)
{
    const int64_t left =
        (first < s->pause_sample ? s->pause_sample : s->end_sample) - first;
    const int64_t n =
        is_fitted ? fx8_block_end(s->session, first, s->block_samples) - first
                  : s->block_samples;
    return n < left ? n : left;
}

/* Read n samples as the recording has them. */
static enum fx8_status read_samples(struct fx8_source *s, int64_t first,
                                    int64_t n, int8_t *samples,
                                    struct fx8_sample_layout *layout,
                                    struct fx8_gaps *gaps,
                                    struct fx8_source_block *block,
                                    struct fx8_error *error)
{
    FX8_TRY(s->reader->read(s->reader, first, n, samples, layout, error));
    block->n_clamped += s->reader->n_clamped;
    return list_missing(s, first, first + n, gaps, block, error);
}

/* Read samples piece by piece, each of whole chunks of the file, and turn it
 * into rows while it is in the caches. */
static enum fx8_status read_pieces(struct fx8_source *s, int8_t *samples,
                                   struct fx8_source_block *block,
                                   struct fx8_error *error)
{
    const size_t bytes = sample_bytes(s);
    struct fx8_sample_layout layout = {.input_offset = s->piece_offset};
    struct fx8_block piece = {.samples = s->piece,
                              .input_offset = s->piece_offset,
                              .first_sample = block->block.first_sample};
    for (int64_t left = block->block.n_samples; left > 0;
         left -= piece.n_samples) {
        const int64_t whole =
            s->piece_samples - piece.first_sample % s->piece_samples;
        piece.n_samples = whole < left ? whole : left;
        FX8_TRY(read_samples(s, piece.first_sample, piece.n_samples, s->piece,
                             &layout, &s->gaps, block, error));
        piece.time_stride = layout.time_stride;
        fx8_turn(s->session, &piece, samples, (size_t)s->row_samples * bytes);
        samples += (size_t)piece.n_samples * bytes;
        piece.first_sample += piece.n_samples;
    }
    for (size_t i = 0; i < s->job->n_inputs; i++)
        block->input_offset[i] =
            (ptrdiff_t)(i * (size_t)s->row_samples * bytes);
    block->block.time_stride = (ptrdiff_t)bytes;
    return FX8_OK;
}

/* Whether a block is one of those that are read ahead, not again. */
static bool is_ahead(const struct fx8_source *s,
                     const struct fx8_source_block *block)
{
    return block >= s->blocks && block < s->blocks + N_BLOCKS;
}

/* Read a block as the recording has it. */
static enum fx8_status read_whole(struct fx8_source *s, int8_t *samples,
                                  struct fx8_gaps *gaps,
                                  struct fx8_source_block *block,
                                  struct fx8_error *error)
{
    struct fx8_sample_layout layout = {.input_offset = block->input_offset};
    if (is_ahead(s, block))
        layout.row_samples = s->row_samples;
    FX8_TRY(read_samples(s, block->block.first_sample, block->block.n_samples,
                         samples, &layout, gaps, block, error));
    block->block.time_stride = layout.time_stride;
    return FX8_OK;
}

static enum fx8_status read_block(struct fx8_source *s, int64_t first,
                                  struct fx8_gaps *gaps,
                                  struct fx8_source_block *block,
                                  struct fx8_error *error)
{
    const bool is_fitted = s->is_fitted && is_ahead(s, block);
    int8_t *samples = block->buffer;
    if (is_ahead(s, block))
        samples += (size_t)s->room * sample_bytes(s);
    block->block = (struct fx8_block){
        .samples = samples,
        .input_offset = block->input_offset,
        .first_sample = first,
        .n_samples = next_samples(s, first, is_fitted),
        .in_place = is_fitted ? samples : NULL,
        .room = is_fitted ? s->room : 0,
    };
    block->n_clamped = 0;
    pthread_mutex_lock(&s->mutex);
    const double start = fx8_clock_seconds();
    const enum fx8_status status =
        is_fitted && s->piece_samples > 0
            ? read_pieces(s, samples, block, error)
            : read_whole(s, samples, gaps, block, error);
    s->seconds += fx8_clock_seconds() - start;
    pthread_mutex_unlock(&s->mutex);
    block->block.missing = block->missing;
    return status;
}

static void *read_all(void *argument)
{
    struct fx8_source *s = argument;
    int64_t first = s->start_sample;
    while (first < s->end_sample) {
        if (first == s->pause_sample && fx8_queue_take(&s->more) == NULL)
            break;
        struct fx8_source_block *block = fx8_queue_take(&s->empty);
        if (block == NULL)
            break;
        s->status = read_block(s, first, &s->gaps, block, &s->error);
        if (s->status != FX8_OK)
            break;
        first += block->block.n_samples;
        if (!fx8_queue_put(&s->full, block))
            break;
    }
    fx8_queue_close(&s->full);
    return NULL;
}

/* Delays shift samples in from either side of the stretch to be processed, and
 * samples beyond it may make others missing: read as far as that can matter. */
static void set_range(struct fx8_source *s)
{
    const struct fx8_plan *plan = &s->job->plan;
    const int64_t more = (int64_t)s->job->axes.margin +
                         fx8_missing_reach(&plan->marker, &plan->blanking);
    const int64_t first = plan->first_sample;
    const int64_t left =
        s->job->observation.n_samples - first - s->job->n_samples;
    s->first_sample = first > more ? first - more : 0;
    s->end_sample = first + s->job->n_samples + (left < more ? left : more);
}

/* Set the row distance: the longest block and what filter, delays and margins
 * reach back for; not a power of two. */
static void set_rows_apart(struct fx8_source *s)
{
    const struct fx8_axes *axes = &s->job->axes;
    const struct fx8_blanking *blanking = &s->job->plan.blanking;
    s->room = (int64_t)(axes->window - axes->step + 2 * axes->margin) +
              (blanking->level > 0 ? blanking->margin : 0);
    const size_t bytes = (size_t)(s->most_samples + s->room) * sample_bytes(s);
    s->row_samples =
        (int64_t)((fx8_round_up(bytes, FX8_ALIGNMENT) + FX8_ALIGNMENT) /
                  sample_bytes(s));
}

/* Largest block that ends at a block end of the session. */
static size_t most_bytes(void)
{
    const size_t part =
        fx8_memory_of_machine() / PART_OF_MEMORY / (N_BLOCKS + 1);
    return part < MOST_BYTES ? part : MOST_BYTES;
}

/* Whether a buffer of the reader is what the session can use in place: each
 * input in one row, in the job's order. */
static bool is_by_rows(const struct fx8_source *s)
{
    const struct fx8_reader *reader = s->reader;
    bool is_by_rows = reader->sample_bytes == sample_bytes(s);
    for (size_t i = 1; i < s->job->n_inputs && is_by_rows; i++)
        is_by_rows = reader->places[i].row == reader->places[i - 1].row + 1;
    return is_by_rows;
}

/* Samples of the longest block that ends at the first block end of the session:
 * the first one has those before the first spectrum, too, but its dump may be
 * the shortest. */
static int64_t longest_block(const struct fx8_source *s)
{
    const struct fx8_plan *plan = &s->job->plan;
    const int64_t step = (int64_t)s->job->axes.step;
    const int64_t end = fx8_block_end(s->session, s->first_sample, 0);
    const int64_t first = end - s->first_sample;
    const int64_t later = first - fx8_dump_spectra(plan, 0) * step +
                          fx8_block_end(s->session, end, 0) - end +
                          (plan->grid.denominator > 1 ? step : 0);
    return first > later ? first : later;
}

/* Block sizes that suit the file; with a session, blocks end at its block ends.
 */
static void set_sizes(struct fx8_source *s, int64_t block_samples)
{
    const int64_t total = s->end_sample - s->first_sample;
    const int64_t wanted =
        block_samples > 0 ? block_samples : s->reader->read_samples(s->reader);
    s->block_samples = wanted < total ? wanted : total;
    s->most_samples = s->row_samples = s->block_samples;
    if (s->session == NULL || block_samples > 0)
        return;
    const int64_t longest = longest_block(s);
    if (longest > s->most_samples)
        s->most_samples = longest < total ? longest : total;
    set_rows_apart(s);
    s->piece_samples = is_by_rows(s) ? 0 : wanted;
    s->is_fitted = buffer_bytes(s) <= most_bytes() &&
                   s->job->plan.machine.memory_limit == 0;
    if (!s->is_fitted) {
        s->most_samples = s->row_samples = s->block_samples;
        s->room = s->piece_samples = 0;
    }
}

/* Only an engine that takes samples in place still reads a block behind. */
static size_t n_blocks(const struct fx8_source *s)
{
    return s->session != NULL &&
                   strcmp(fx8_info(s->session).backend, "cpu") != 0
               ? N_BLOCKS
               : N_BLOCKS_CPU;
}

static enum fx8_status allocate_piece(struct fx8_source *s,
                                      struct fx8_error *error)
{
    const struct fx8_array arrays[] = {
        {&s->piece, s->reader->buffer_size(s->reader, s->piece_samples), 1},
        FX8_ITEMS(s->piece_offset, s->job->n_inputs),
    };
    return s->piece_samples > 0
               ? fx8_allocate_arrays(arrays, 2, "samples", error)
               : FX8_OK;
}

/* Map each input of the recording to its row in the job. */
static enum fx8_status set_rows(struct fx8_source *s, struct fx8_error *error)
{
    const struct fx8_observation *o = &s->reader->observation;
    const size_t n = fx8_observation_inputs(o);
    FX8_TRY(fx8_allocate(n, sizeof *s->row, "inputs", &s->row, error));
    for (size_t i = 0; i < n; i++)
        s->row[i] = -1;
    for (size_t i = 0; i < s->job->n_inputs; i++) {
        const struct fx8_input_position *at = &s->job->inputs[i];
        s->row[(at->band * o->n_antennas + at->antenna) * o->n_polarizations +
               at->polarization] = (int64_t)i;
    }
    return FX8_OK;
}

enum fx8_status fx8_source_open(struct fx8_reader *reader,
                                const struct fx8_job *job,
                                int64_t block_samples,
                                struct fx8_session *session,
                                struct fx8_source **source,
                                struct fx8_error *error)
{
    *source = NULL;
    FX8_AUTO(fx8_source_close) struct fx8_source *s = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *s, "reader", &s, error));
    s->reader = reader;
    s->job = job;
    s->session = session;
    reader->n_threads = fx8_job_threads(job);
    set_range(s);
    fx8_queue_init(&s->empty);
    fx8_queue_init(&s->full);
    fx8_queue_init(&s->more);
    pthread_mutex_init(&s->mutex, NULL);
    s->n_again = job->n_centers > 0 ? job->n_centers : 1;
    FX8_TRY(fx8_allocate(s->n_again, sizeof *s->again, "samples", &s->again,
                         error));
    FX8_TRY(set_rows(s, error));
    set_sizes(s, block_samples);
    FX8_TRY(allocate_piece(s, error));
    for (size_t i = 0; i < n_blocks(s); i++)
        FX8_TRY(allocate_block(s, buffer_bytes(s), &s->blocks[i], error));
    *source = s;
    s = NULL;
    return FX8_OK;
}

enum fx8_status fx8_source_start(struct fx8_source *source,
                                 int64_t first_sample, int64_t pause_sample,
                                 struct fx8_error *error)
{
    struct fx8_source *s = source;
    fx8_source_stop(s);
    fx8_queue_destroy(&s->empty);
    fx8_queue_destroy(&s->full);
    fx8_queue_destroy(&s->more);
    fx8_queue_init(&s->empty);
    fx8_queue_init(&s->full);
    fx8_queue_init(&s->more);
    for (size_t i = 0; i < n_blocks(s); i++)
        fx8_queue_put(&s->empty, &s->blocks[i]);
    s->status = FX8_OK;
    s->start_sample =
        first_sample > s->first_sample ? first_sample : s->first_sample;
    s->pause_sample =
        pause_sample < s->end_sample && pause_sample > s->start_sample
            ? pause_sample
            : s->end_sample;
    s->taken_end = s->start_sample;
    if (pthread_create(&s->thread, NULL, read_all, s) != 0)
        return fx8_fail(error, FX8_ERR_SYSTEM,
                        "cannot start the reader thread");
    s->has_thread = true;
    return FX8_OK;
}

struct fx8_source_block *fx8_source_take(struct fx8_source *source)
{
    if (source->taken_end == source->pause_sample)
        fx8_queue_put(&source->more, source);
    struct fx8_source_block *block = fx8_queue_take(&source->full);
    if (block != NULL)
        source->taken_end = block->block.first_sample + block->block.n_samples;
    if (block != NULL && block->block.in_place != NULL && !block->is_pinned) {
        fx8_pin(source->session, block->buffer, buffer_bytes(source));
        block->is_pinned = true;
    }
    return block;
}

void fx8_source_release(struct fx8_source *source,
                        struct fx8_source_block *block)
{
    fx8_queue_put(&source->empty, block);
}

enum fx8_status fx8_source_status(struct fx8_source *source,
                                  struct fx8_error *error)
{
    if (source->status != FX8_OK)
        *error = source->error;
    return source->status;
}

enum fx8_status fx8_source_reread(struct fx8_source *source, size_t center,
                                  int64_t first_sample, struct fx8_block *block,
                                  struct fx8_error *error)
{
    struct fx8_source_block *again = &source->again[center];
    *block = (struct fx8_block){.first_sample = first_sample};
    if (first_sample >= source->end_sample)
        return FX8_OK;
    if (again->buffer == NULL)
        FX8_TRY(allocate_block(
            source,
            source->reader->buffer_size(source->reader, source->block_samples),
            again, error));
    FX8_TRY(
        read_block(source, first_sample, &source->again_gaps, again, error));
    *block = again->block;
    return FX8_OK;
}

size_t fx8_source_memory(const struct fx8_source *source)
{
    const int64_t n = source->piece_samples;
    return fx8_product(n_blocks(source), buffer_bytes(source), 1, 1) +
           (n > 0 ? source->reader->buffer_size(source->reader, n) : 0);
}

size_t fx8_source_limited_memory(struct fx8_reader *reader,
                                 const struct fx8_job *job,
                                 int64_t block_samples)
{
    struct fx8_source s = {.reader = reader, .job = job};
    set_range(&s);
    set_sizes(&s, block_samples);
    /* and one of each phase centre that is read again */
    return fx8_product(N_BLOCKS + job->n_centers, buffer_bytes(&s), 1, 1);
}

double fx8_source_seconds(struct fx8_source *source)
{
    pthread_mutex_lock(&source->mutex);
    const double seconds = source->seconds;
    pthread_mutex_unlock(&source->mutex);
    return seconds;
}

static void free_block(struct fx8_source_block *block)
{
    free(block->buffer);
    free(block->input_offset);
    free(block->missing);
}

void fx8_source_stop(struct fx8_source *source)
{
    struct fx8_source *s = source;
    if (s == NULL)
        return;
    fx8_queue_close(&s->empty);
    fx8_queue_close(&s->full);
    fx8_queue_close(&s->more);
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    s->has_thread = false;
}

void fx8_source_close(struct fx8_source **source)
{
    struct fx8_source *s = *source;
    if (s == NULL)
        return;
    fx8_source_stop(s);
    for (size_t i = 0; i < N_BLOCKS; i++)
        free_block(&s->blocks[i]);
    for (size_t center = 0; center < s->n_again && s->again != NULL; center++)
        free_block(&s->again[center]);
    free(s->again);
    free(s->piece);
    free(s->piece_offset);
    fx8_gaps_clear(&s->gaps);
    fx8_gaps_clear(&s->again_gaps);
    free(s->row);
    fx8_queue_destroy(&s->empty);
    fx8_queue_destroy(&s->full);
    fx8_queue_destroy(&s->more);
    pthread_mutex_destroy(&s->mutex);
    free(s);
    *source = NULL;
}
