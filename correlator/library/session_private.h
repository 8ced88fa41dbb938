/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_private.h -- the state of a session, shared by session.c (samples to
 * dumps), ranges.c (ranges of dumps), blocks.c (blocks used in place), dumps.c
 * (dumps to the caller), quicklook.c (the quick-look of dumps), kurtosis.c
 * (cells unlike noise), answers.c (getters), session_open.c (opening and
 * closing) and session_memory.c (memory and its limit).
 */
#ifndef FX8_CORRELATOR_LIBRARY_SESSION_PRIVATE_H
#define FX8_CORRELATOR_LIBRARY_SESSION_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/library/few_bits.h"
#include "correlator/library/kept.h"
#include "correlator/library/slices.h"
#include "correlator/library/gains.h"
#include "correlator/library/spot.h"
#include "correlator/library/stream.h"
#include "kernels/baseline.h"
#include "kernels/cpu/power.h"
#include "kernels/engine.h"
#include "kernels/postprocess.h"

struct fx8_session {
    struct fx8_plan plan;
    /* copies; plan points to them */
    uint8_t *flag_antenna; /* [n_antennas] */
    double *input_gain;    /* [n_bands][n_inputs] */
    double *ripple;        /* [n_bands][n_kept] */
    size_t *baselines;     /* [n_baselines]; NULL: all */
    uint8_t *needed;       /* of an engine's plan; NULL: all pairs */
    char reason[512];      /* why this engine was chosen */
    bool is_spare;         /* the CPU replaces a device that fails */
    /* derived from the plan */
    struct fx8_axes axes;
    struct fx8_filterbank bank;
    double *weights; /* [window]; NULL after fx8_open() */
    fx8_dump_callback *callback;
    void *context;
    const struct fx8_engine_operations *operations;
    struct fx8_engine **engines; /* [n_bands] */
    struct fx8_stream *stream;
    struct fx8_tracker *tracker;    /* NULL: no delays */
    struct fx8_rotation *rotations; /* [n_rows][groups of a block] */
    struct fx8_power *power;        /* NULL: no quantiser */
    struct fx8_gain_setting *gains; /* likewise */
    struct fx8_few_bits *few_bits;  /* NULL: samples are not corrected */
    struct fx8_session_quicklook
        *quicklook;           /* takes dumps; NULL: no quick-look */
    struct fx8_spot spots[2]; /* for dumps in turn, which may overlap */
    struct fx8_postprocess postprocess;
    struct fx8_product *products;
    uint8_t *flag_channel; /* [n_bands][n_kept] */
    uint8_t *flag_input;   /* [n_rows] */
    /* [n_inputs][n_bands][n_kept] of the dump that ended, by spectral kurtosis,
     * and with the inputs without power; NULL if not planned */
    uint8_t *flag_sk, *flag_cell;
    struct fx8_engine_dump band; /* sums that an engine leaves to us */
    size_t slice_baselines;      /* most of a slice of a dump; or all */
    struct fx8_slice slice;      /* to take of the dump that ended */
    /* [slice_baselines][channels of all bands][n_products]; delivered are those
     * of the plan, packed */
    struct fx8_result results[FX8_N_RESULTS];
    uint64_t *valid;        /* [n_rows][words of a block] */
    int64_t *valid_in_dump; /* [n_rows] */
    int64_t *valid_of_dump; /* [n_rows] of the dump that ended */
    bool *has_signal;       /* [n_rows] in this dump */
    uint8_t *dead;          /* [n_rows] */
    int64_t *clips;         /* [n_inputs][n_bands][n_kept] */
    int64_t *valid_spectra; /* [n_rows] */
    int64_t dump;           /* index of the current dump */
    int64_t end_dump;       /* behind the last to compute: fx8_seek() */
    bool has_skipped;       /* dumps before it, by fx8_seek() */
    int64_t seen_behind;    /* up to here a round that looks back has seen what
                               lies before its first sample */
    int64_t position;       /* spectra of it already correlated */
    /* spectra of it that make the part to compute: fx8_seek_part(); part_end
     * is 0 for whole dumps */
    int64_t part_first, part_end;
    bool is_part_ready;    /* for fx8_take_part() */
    int64_t n_pushed;      /* blocks of spectra, to the engines */
    bool has_ended;        /* the previous dump is not delivered yet */
    size_t n_taken;        /* bands taken of its slice */
    struct fx8_dump ready; /* for fx8_take_dump(), without a callback */
    bool is_ready;
    /* samples waiting for gains */
    struct fx8_kept kept;   /* copies, without a reread callback */
    struct fx8_block again; /* last reread block; no samples: none */
    struct fx8_block gap;   /* no samples, at pushed_end */
    int64_t pushed_end;     /* behind the last block pushed */
    int64_t samples_end;    /* behind the last block with samples */
    bool has_begun;         /* a block was pushed */
    size_t memory;          /* bytes of the session without kept */
    size_t beside;          /* of the caller, which count too */
    struct fx8_statistics statistics;
    enum fx8_status stopped; /* first failure, or FX8_OK */
    bool has_finished;       /* by fx8_finish() */
    bool is_delivering;      /* the callback is running */
    atomic_bool is_cancelled;
};

/* Whether the spectra of channel 0 are real: a rotation makes them complex. */
static inline bool fx8_session_has_real(const struct fx8_session *s)
{
    return fx8_filterbank_is_real(&s->bank, 0) && s->tracker == NULL;
}

/* Whether flags follow from the dump that ends: an engine that computes results
 * itself would need them before, so they are computed here. */
static inline bool fx8_session_needs_sums(const struct fx8_session *s)
{
    return s->plan.sk_false_alarm > 0.0;
}

/* Whether results are computed here, from the sums of engines of these
 * operations. */
static inline bool fx8_session_has_sums(
    const struct fx8_session *s, const struct fx8_engine_operations *operations)
{
    return operations->end_dump == NULL || fx8_session_needs_sums(s);
}

/* Spectra of the current dump, up to the end of the part to compute; 0 behind
 * the last one to compute. */
static inline int64_t fx8_session_spectra(const struct fx8_session *s)
{
    const int64_t n =
        s->dump < s->end_dump ? fx8_dump_spectra(&s->plan, s->dump) : 0;
    return s->part_end > 0 && s->part_end < n ? s->part_end : n;
}

/* Samples before the first of a window that may make samples in it missing. */
static inline int64_t fx8_session_reach(const struct fx8_session *s)
{
    return fx8_missing_reach(&s->plan.marker, &s->plan.blanking);
}

/* Whether inputs without gains may have delivered in dumps that this session
 * has passed over: then it looks for their first spectra from the start. */
static inline bool fx8_session_looks_back(const struct fx8_session *s)
{
    return s->has_skipped && s->plan.reread != NULL;
}

/* Whether the session waits for gains of some rows. */
static inline bool fx8_session_sets_gains(const struct fx8_session *s)
{
    return s->gains != NULL && fx8_gains_active(s->gains);
}

/* --- session.c --- */

/* Wait until no engine reads samples of blocks any more. */
enum fx8_status fx8_session_settle(struct fx8_session *s,
                                   struct fx8_error *error);

/* Refuse calls that change the session if its state does not allow them. */
enum fx8_status fx8_session_enter(const struct fx8_session *s,
                                  struct fx8_error *error);

/* Stop after a failure: spectra of the dump may be lost, so none may follow. */
enum fx8_status fx8_session_leave(struct fx8_session *s,
                                  enum fx8_status status);

/* --- session_memory.c --- */

/* A stream for engine blocks of block_spectra.  Engines that pin memory may
 * still copy one block while the next is gathered: two sets.  The caller sets
 * shape.operations. */
struct fx8_stream_shape fx8_session_stream_shape(
    const struct fx8_session *s, const struct fx8_engine_operations *operations,
    size_t block_spectra);

/* Cells of the results of a slice, before bands are averaged. */
size_t fx8_session_cells(const struct fx8_session *s);

/* Called by the CPU engine before it allocates: check the limit for engines of
 * all bands and everything else, and deliver dumps in slices if it asks for
 * that. */
enum fx8_status fx8_session_admit(void *session, size_t bytes,
                                  size_t block_spectra,
                                  struct fx8_error *error);

/* Check the limit with the engines that were opened, which have these bytes. */
enum fx8_status fx8_session_check_memory(struct fx8_session *s, size_t engines,
                                         struct fx8_error *error);

/* Allocate the session's own arrays; released by fx8_session_free(). */
enum fx8_status fx8_session_allocate(struct fx8_session *s,
                                     struct fx8_error *error);
void fx8_session_free(struct fx8_session *s);

/* --- quicklook.c --- */

/* Bytes that fx8_session_quicklook_open() allocates, SIZE_MAX on overflow; 0
 * without a quick-look. */
size_t fx8_session_quicklook_size(const struct fx8_session *s);

/* Open the quick-look if planned; needs the engines and products.
 * FX8_ERR_SYSTEM: memory. */
enum fx8_status fx8_session_quicklook_open(struct fx8_session *s,
                                           struct fx8_error *error);

/* Add a dump: its INT8 results if any, else FP32, on the engine's device if
 * that supports it.  The arrays in dump->quicklook are valid until the next
 * call. */
enum fx8_status fx8_session_quicklook_take(struct fx8_session *s,
                                           struct fx8_dump *dump,
                                           struct fx8_error *error);

void fx8_session_quicklook_close(struct fx8_session *s);

/* --- kurtosis.c --- */

/* Flag the cells of a band of the dump that ended by the moments of its engine;
 * with the first slice.  Nothing if not planned. */
void fx8_session_judge(struct fx8_session *s, size_t band,
                       const double *moments);

/* --- dumps.c --- */

/* Deliver the dump that ended, if any: once all of its bands are available, or,
 * with must_be, after a wait.  FX8_DUMP_READY: a dump, or a slice of it, waits
 * for fx8_take_dump(); nothing else was done. */
enum fx8_status fx8_session_take_dump(struct fx8_session *s, bool must_be,
                                      struct fx8_error *error);

/* Deliver a dump whose sums were computed in parts: [n_bands], all kinds.  The
 * session holds its counts per row.  Status as above. */
enum fx8_status fx8_session_end_sums(struct fx8_session *s, int64_t dump,
                                     const struct fx8_engine_dump *bands,
                                     struct fx8_error *error);

/* Deliver the other slices of a dump whose first one was delivered.  The engine
 * would add the sums of the next dump to theirs, so it must not begin before.
 * FX8_DUMP_READY: as above. */
enum fx8_status fx8_session_take_slices(struct fx8_session *s,
                                        struct fx8_error *error);

/* Choose the slice to be taken next: that which begins with an antenna. */
void fx8_session_set_slice(struct fx8_session *s, size_t begin);

/* Whether dumps are delivered in slices. */
static inline bool fx8_session_has_slices(const struct fx8_session *s)
{
    return s->slice_baselines < fx8_baseline_count(s->plan.n_antennas);
}

/* End the current dump if its spectra are complete.  The next one may begin
 * while its results return, except that sums left to the session, and bounds,
 * are taken first.  FX8_DUMP_READY: as above; call again after
 * fx8_take_dump().  A part of a dump waits for fx8_take_part() likewise. */
enum fx8_status fx8_session_end_dump(struct fx8_session *s,
                                     struct fx8_error *error);

#endif
