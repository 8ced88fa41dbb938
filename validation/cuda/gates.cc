/* SPDX-License-Identifier: BSD-3-Clause */
/* gates.cc -- see block.h: the points at which threads wait. */
#include <string.h>

#include "validation/cuda/block.h"
#include "validation/cuda/checkers.h"

namespace harness
{

/* --- barriers ---------------------------------------------------------------
 */

/* Arrive, and continue when `expected` threads have arrived. */
FX8_UNSEEN void Block::pass(Gate &gate, unsigned expected, const char *what,
                            Site site)
{
    char *race = &gate.race[gate.generation & 1];
    race_release(race);
    if (++gate.arrived == expected) {
        gate.arrived = 0;
        ++gate.generation;
    } else {
        wait_for(&gate.generation, ~UINT32_C(0), gate.generation, what, site);
    }
    race_acquire(race);
}

FX8_UNSEEN void Block::sync_all(Site site)
{
    if (all_.arrived == 0)
        all_.site = site;
    else if (all_.site.line != site.line)
        fault(site, "other threads wait at line %d: a divergent barrier",
              all_.site.line);
    pass(all_, n_alive_, "__syncthreads", site);
}

FX8_UNSEEN void Block::sync_named(unsigned barrier, unsigned threads, Site site)
{
    if (barrier == 0 || barrier >= NAMED_BARRIERS || threads == 0 ||
        threads % LANES != 0)
        fault(site,
              "barrier %u for %u threads: barriers are 1 to 15, threads "
              "whole warps",
              barrier, threads);
    pass(named_[barrier], threads, "a named barrier", site);
}

/* --- meetings of a warp ------------------------------------------------------
 */

/* The gate at which lanes with this mask wait, else a free one.  A lane waits
 * at no more than one gate, so that one of 32 is always free. */
FX8_UNSEEN WarpGate &Block::find_gate(uint32_t mask)
{
    const unsigned warp = fibres_[current_].warp;
    WarpGate *gates = gates_[warp];
    for (uint32_t open = open_[warp]; open != 0; open &= open - 1) {
        WarpGate &gate = gates[__builtin_ctz(open)];
        if (gate.mask == mask)
            return gate;
    }
    return gates[__builtin_ctz(~open_[warp])];
}

/* Once all existing lanes have arrived, do the work and open. */
FX8_UNSEEN bool Block::open_if_met(WarpGate &warp_gate, unsigned warp)
{
    if (warp_gate.lanes != (warp_gate.mask & alive_[warp]))
        return false;
    char *race = &warp_gate.gate.race[warp_gate.gate.generation & 1];
    race_acquire(race);
    if (warp_gate.meeting != nullptr)
        warp_gate.meeting(warp_gate.box, warp_gate.lanes);
    race_release(race);
    warp_gate.lanes = 0;
    open_[warp] &= ~(UINT32_C(1) << (&warp_gate - gates_[warp]));
    ++warp_gate.gate.generation;
    return true;
}

/* A few words: copying one by one is cheaper than a call. */
FX8_UNSEEN static inline void copy_words(void *to, const void *from,
                                         size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint32_t))
        __builtin_memcpy(static_cast<char *>(to) + at,
                         static_cast<const char *>(from) + at,
                         sizeof(uint32_t));
}

FX8_UNSEEN void Block::meet(const char *what, uint32_t mask, Meeting meeting,
                            const void *given, size_t given_bytes, void *taken,
                            size_t taken_bytes, Site site)
{
    Fibre &me = fibres_[current_];
    const uint32_t lane = UINT32_C(1) << me.lane;
    if ((mask & lane) == 0)
        fault(site, "%s: the mask %08x leaves out its own lane %u", what, mask,
              me.lane);
    WarpGate &warp_gate = find_gate(mask);
    Gate &gate = warp_gate.gate;
    if (warp_gate.lanes == 0) {
        warp_gate.mask = mask;
        warp_gate.meeting = meeting;
        warp_gate.what = what;
        gate.site = site;
        open_[me.warp] |= UINT32_C(1) << (&warp_gate - gates_[me.warp]);
    } else if (warp_gate.what != what && strcmp(warp_gate.what, what) != 0) {
        fault(site, "%s: other lanes of the warp wait at line %d for %s", what,
              gate.site.line, warp_gate.what);
    }
    copy_words(warp_gate.box.given[me.lane], given, given_bytes);
    char *race = &gate.race[gate.generation & 1];
    race_release(race);
    warp_gate.lanes |= lane;
    if (!open_if_met(warp_gate, me.warp))
        wait_for(&gate.generation, ~UINT32_C(0), gate.generation, what, site);
    race_acquire(race);
    copy_words(taken, warp_gate.box.taken[me.lane], taken_bytes);
}

/* --- mbarriers ---------------------------------------------------------------
 */

/* The object by which the checker knows a phase of a barrier; only its address
 * is used. */
FX8_UNSEEN static char *race_of(Barrier *barrier)
{
    return reinterpret_cast<char *>(barrier) +
           ((barrier->state & Barrier::PHASE) != 0 ? 4 : 0);
}

FX8_UNSEEN void Block::barrier_init(Barrier *barrier, unsigned arrivals)
{
    barrier->expected = barrier->pending = static_cast<uint16_t>(arrivals);
    barrier->state = 0;
}

FX8_UNSEEN void Block::barrier_arrive(Barrier *barrier)
{
    if (barrier->pending == 0)
        harness::fault("kernel %s: more arrivals at an mbarrier than it was "
                       "made for",
                       launch_->name);
    race_release(race_of(barrier));
    --barrier->pending;
    end_phase_if_complete(barrier);
}

FX8_UNSEEN void Block::end_phase_if_complete(Barrier *barrier)
{
    if (barrier->pending != 0 || (barrier->state & ~Barrier::PHASE) != 0)
        return;
    barrier->state ^= Barrier::PHASE;
    barrier->pending = barrier->expected;
}

FX8_UNSEEN void Block::barrier_expect(Barrier *barrier, unsigned bytes)
{
    barrier->state += bytes;
    barrier_arrive(barrier);
}

/* For the checker, the thread that starts a copy hands it on to the one that
 * waits for it; only the address of `to` is used. */
FX8_UNSEEN void Block::box_start(const PendingBox &box, Site site)
{
    if (box.to < shared_ ||
        box.to + box_bytes(*box.map) > shared_ + launch_->shared_bytes)
        fault(site, "cp.async.bulk: not within dynamic shared memory");
    race_release(box.to);
    boxes_.push_back(box);
}

/* Do the copies that a barrier waits for. */
FX8_UNSEEN void Block::boxes_arrive(const Barrier *barrier)
{
    size_t kept = 0;
    for (const PendingBox &box : boxes_) {
        if (box.barrier != barrier) {
            boxes_[kept++] = box;
            continue;
        }
        race_acquire(box.to);
        const unsigned bytes = copy_box(*box.map, box.place, box.to);
        if ((box.barrier->state & ~Barrier::PHASE) < bytes)
            harness::fault("kernel %s: more bytes than an mbarrier expects",
                           launch_->name);
        race_release(race_of(box.barrier));
        box.barrier->state -= bytes;
        end_phase_if_complete(box.barrier);
    }
    boxes_.resize(kept);
}

FX8_UNSEEN void Block::barrier_wait(Barrier *barrier, unsigned phase, Site site)
{
    const uint32_t parity = (phase & 1) != 0 ? Barrier::PHASE : 0;
    boxes_arrive(barrier);
    if ((barrier->state & Barrier::PHASE) == parity)
        wait_for(&barrier->state, Barrier::PHASE, parity, "an mbarrier", site);
    /* The phase that has ended: the word already has the other one. */
    race_acquire(reinterpret_cast<char *>(barrier) + (parity != 0 ? 4 : 0));
}

/* --- wgmma -------------------------------------------------------------------
 */

FX8_UNSEEN void Block::products_start(const PendingProduct &product)
{
    Fibre &me = fibres_[current_];
    me.products.push_back(product);
    me.products.back().group = me.product_group;
}

/* Every product of the warpgroup that begins with thread `first`, except those
 * of the last `groups_left` groups and of the open group. */
FX8_UNSEEN void Block::run_products(unsigned first, unsigned groups_left,
                                    Site site)
{
    std::vector<PendingProduct> &mine = fibres_[first].products;
    size_t done = 0;
    for (; done < mine.size(); ++done) {
        const PendingProduct *of_threads[WARPGROUP];
        if (mine[done].group + groups_left >= fibres_[first].product_group)
            break;
        for (unsigned k = 0; k < WARPGROUP; ++k) {
            const Fibre &other = fibres_[first + k];
            if (other.products.size() != mine.size() ||
                other.products[done].a != mine[done].a ||
                other.products[done].b != mine[done].b ||
                other.products[done].run != mine[done].run ||
                other.products[done].group != mine[done].group)
                fault(site, "wgmma: the threads of a warpgroup disagree");
            of_threads[k] = &other.products[done];
        }
        mine[done].run(of_threads);
    }
    for (unsigned k = 0; k < WARPGROUP; ++k) {
        std::vector<PendingProduct> &products = fibres_[first + k].products;
        products.erase(products.begin(),
                       products.begin() + static_cast<ptrdiff_t>(done));
    }
}

FX8_UNSEEN void Block::products_run(unsigned groups_left, Site site)
{
    const unsigned group = current_ / WARPGROUP;
    Gate &gate = warpgroup_[group];
    if ((group + 1) * WARPGROUP > n_threads_)
        fault(site, "wgmma: no whole warpgroup");
    if (gate.arrived + 1 == WARPGROUP) {
        race_acquire(&gate.race[gate.generation & 1]);
        run_products(group * WARPGROUP, groups_left, site);
    }
    pass(gate, WARPGROUP, "wgmma.wait_group", site);
}

} // namespace harness
