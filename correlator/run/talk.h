/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * talk.h -- what the ranks of a run tell one another while it goes on: how far
 * they are, that they have failed or were interrupted, that all must stop.
 *
 * All goes to rank 0 and from there to the others.  Nobody waits for a message
 * of a rank that may be busy, so a rank listens only now and then.
 */
#ifndef FX8_CORRELATOR_RUN_TALK_H
#define FX8_CORRELATOR_RUN_TALK_H

#include <stdbool.h>
#include <stdint.h>

#include "correlator/fx8.h"
#include "correlator/ranks/ranks.h"

/** Tags of messages. */
enum {
    FX8_TAG_NEWS = 1, /**< to rank 0 */
    FX8_TAG_ORDERS,   /**< from rank 0 */
    FX8_TAG_REPORTS,  /**< to rank 0, at the end */
    FX8_TAG_PARTS,    /**< to rank 0: parts of dumps, by phase centre */
    FX8_TAG_DUMPS     /**< and above: to rank 0, by phase centre */
};

/** How far a rank is. */
struct fx8_talk_state {
    int64_t n_samples, n_dumps;
    bool has_ended;
};

struct fx8_talk {
    const struct fx8_ranks *ranks;
    int stop; /**< wanted by any rank: 0 go on, 1 finish the dump, 2 at once */
    bool is_paused;                /**< and another run is to go on */
    int passed_on;                 /**< of it, what the others know */
    double sent_s;                 /**< when progress was last sent */
    struct fx8_talk_state *states; /**< [n ranks] known to rank 0 */
    struct fx8_error failure; /**< of rank 0: the first failure of another */
};

enum fx8_status fx8_talk_open(struct fx8_talk *talk,
                              const struct fx8_ranks *ranks,
                              struct fx8_error *error);

void fx8_talk_close(struct fx8_talk *talk);

/** Take in what the others have sent, and pass on what they must know. */
enum fx8_status fx8_talk_listen(struct fx8_talk *talk, struct fx8_error *error);

/** Say how far this rank is; sent now and then. */
enum fx8_status fx8_talk_progress(struct fx8_talk *talk, int64_t n_samples,
                                  int64_t n_dumps, struct fx8_error *error);

/** Ask all ranks to stop: as members of the structure. */
enum fx8_status fx8_talk_stop(struct fx8_talk *talk, int stop, bool is_paused,
                              struct fx8_error *error);

/** This rank has ended with this status and error; not of rank 0. */
enum fx8_status fx8_talk_end(struct fx8_talk *talk, enum fx8_status status,
                             struct fx8_error *error);

/** Sum over all ranks as far as rank 0 knows. */
struct fx8_talk_state fx8_talk_total(const struct fx8_talk *talk);

/** Whether all other ranks have ended. */
bool fx8_talk_is_over(const struct fx8_talk *talk);

#endif
