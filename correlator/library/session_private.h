/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_private.h -- the state of a session, shared by the files that make
 * it up: session.c (samples to dumps), dumps.c (where these go), look.c (the
 * quick-look, which consumes them), answers.c (what it knows of itself),
 * session_open.c (its beginning and end).
 */
#ifndef FX8_CORRELATOR_LIBRARY_SESSION_PRIVATE_H
#define FX8_CORRELATOR_LIBRARY_SESSION_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/library/kept.h"
#include "correlator/library/levels.h"
#include "correlator/library/spot.h"
#include "correlator/library/stream.h"
#include "kernels/engine.h"
#include "kernels/postprocess.h"

struct fx8_session {
    struct fx8_plan plan;
    /* the copies that plan points to */
    uint8_t *flag_antenna;      /* [n_antennas] */
    double *input_gain;         /* [n_bands][n_inputs] */
    char reason[512];           /* why it is this engine */
    bool is_spare;              /* a device that is there fails: that is why */
    struct fx8_axes axes;       /* what follows from the plan */
    struct fx8_filterbank bank; /* likewise */
    fx8_dump_callback *callback;
    void *context;
    const struct fx8_engine_operations *operations;
    struct fx8_engine **engines; /* [n_bands] */
    struct fx8_stream *stream;
    struct fx8_power *power;   /* NULL: no quantiser */
    struct fx8_levels *levels; /* likewise */
    struct fx8_look *look;     /* consumes dumps; NULL: nobody does */
    struct fx8_spot spots[2];  /* of dumps by turns: one may be under way */
    struct fx8_postprocess postprocess;
    struct fx8_product *products;
    uint8_t *flag_channel;       /* [n_kept] */
    uint8_t *flag_input;         /* [n_rows] */
    struct fx8_engine_dump band; /* sums of one, that are left to us */
    /* [n_baselines][channels of all bands][n_products] */
    struct fx8_result results[FX8_N_RESULTS];
    uint64_t *valid;        /* [n_rows][words of a block] */
    int64_t *valid_in_dump; /* [n_rows] */
    bool *has_signal;       /* [n_rows] in this dump */
    uint8_t *dead;          /* [n_rows] */
    int64_t *clips;         /* [n_inputs][n_bands][n_kept] */
    int64_t *valid_spectra; /* [n_rows] */
    int64_t dump;           /* index of the current dump */
    int64_t position;       /* spectra of it that are done */
    int64_t n_pushed;       /* blocks of spectra, to the engines */
    bool has_ended;         /* the dump before, which was not handed over */
    size_t n_taken;         /* bands of that dump */
    struct fx8_dump ready;  /* handed over, to be taken: without a callback */
    bool is_ready;
    /* samples that wait for gains */
    struct fx8_kept kept;   /* copies of them, where nobody delivers again */
    struct fx8_block again; /* or what was delivered last; no samples: none */
    struct fx8_block gap;   /* no samples, at pushed_end */
    int64_t pushed_end;     /* behind the last block that was pushed */
    int64_t samples_end;    /* and behind the last that had samples */
    bool has_begun;         /* something was pushed */
    size_t memory;          /* bytes of the session without them */
    struct fx8_statistics statistics;
    enum fx8_status stopped; /* why no more samples are taken, or FX8_OK */
    bool has_finished;       /* by fx8_finish() */
    bool is_delivering;      /* the callback is running */
    atomic_bool is_cancelled;
};

/* --- look.c --- */

/* Bytes that fx8_look_open() allocates, SIZE_MAX where they overflow; 0 where
 * no quick-look is planned. */
size_t fx8_look_size(const struct fx8_session *s);

/* Set it up, if it is planned, when there are engines, with their functions,
 * and products.  FX8_ERR_SYSTEM: memory. */
enum fx8_status fx8_look_open(struct fx8_session *s, struct fx8_error *error);

/* Consume a dump: look at its INT8 where there is any, which is what people
 * get, on the engine's device where that can.  The arrays in dump->quicklook
 * are valid until the next call. */
enum fx8_status fx8_look_take(struct fx8_session *s, struct fx8_dump *dump,
                              struct fx8_error *error);

void fx8_look_close(struct fx8_session *s);

/* --- dumps.c --- */

/* Hands over the dump that ended, if there is one: when all of its bands are
 * there, or, where it must be, after a wait.  FX8_DUMP_READY: it waits to be
 * taken, and nothing else was done. */
enum fx8_status fx8_session_take_dump(struct fx8_session *s, bool must_be,
                                      struct fx8_error *error);

/* Ends the current dump if its spectra are complete.  The next one may begin
 * while its results return; sums that are left to the session, and bounds, are
 * taken before.  FX8_DUMP_READY: as above; call again when it is taken. */
enum fx8_status fx8_session_end_dump(struct fx8_session *s,
                                     struct fx8_error *error);

#endif
