/* SPDX-License-Identifier: BSD-3-Clause */
/* device.cc -- see device.h: the work done once the lanes of a warp have met.
 */
#include "validation/cuda/device.h"

namespace harness
{

void meet_shuffle(Mailbox &box, uint32_t lanes)
{
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if ((lanes >> lane & 1) == 0)
            continue;
        /* A lane that is absent offers an arbitrary value. */
        const unsigned source = box.given[lane][2];
        const bool there = (lanes >> source & 1) != 0;
        for (unsigned k = 0; k < 2; ++k)
            box.taken[lane][k] = there ? box.given[source][k] : 0xa5a5a5a5;
    }
}

} // namespace harness
