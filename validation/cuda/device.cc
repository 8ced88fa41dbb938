/* SPDX-License-Identifier: BSD-3-Clause */
/* device.cc -- see device.h: what is due when the lanes of a warp have met. */
#include "validation/cuda/device.h"

#include "validation/cuda/checkers.h"

namespace harness
{

void meet_shuffle(Mailbox &box, uint32_t lanes)
{
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if ((lanes >> lane & 1) == 0)
            continue;
        /* A lane that is not there shows nothing that could be relied on. */
        const unsigned source = box.given[lane][2];
        const bool there = (lanes >> source & 1) != 0;
        for (unsigned k = 0; k < 2; ++k)
            box.taken[lane][k] = there ? box.given[source][k] : 0xa5a5a5a5;
    }
}

void meet_ballot(Mailbox &box, uint32_t lanes)
{
    uint32_t bits = 0;
    for (unsigned lane = 0; lane < LANES; ++lane)
        if ((lanes >> lane & 1) != 0)
            bits |= box.given[lane][0] << lane;
    for (unsigned lane = 0; lane < LANES; ++lane)
        if ((lanes >> lane & 1) != 0)
            box.taken[lane][0] = bits;
}

/* One object for all fences: an order among those who use them. */
static char race_fence;

void fence_everywhere()
{
    race_acquire(&race_fence);
#if !FX8_THREAD_CHECKER
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    race_release(&race_fence);
}

} // namespace harness
