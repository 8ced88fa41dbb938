/* SPDX-License-Identifier: BSD-3-Clause */
/* block.cc -- see block.h: the life of a block, and who runs next. */
#include "validation/cuda/block.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "validation/cuda/checkers.h"

namespace harness
{

/* A stack and an inaccessible page below it. */
#if FX8_ADDRESS_CHECKER || FX8_THREAD_CHECKER
static const size_t STACK_BYTES = 256 * 1024;
#else
static const size_t STACK_BYTES = 64 * 1024;
#endif
static const size_t GUARD_BYTES = 4096;

/* The content of shared memory before the first write. */
static const int GARBAGE = 0xa5;

static thread_local Block *current_block;

Block::Block()
    : launch_(nullptr), n_threads_(0), n_alive_(0), current_(0), random_(0),
      order_(), all_(), named_(), warpgroup_(), alive_(), open_(), gates_(),
      n_fibres_(0), stacks_(), home_(), race_begin_(0), race_end_(0),
      shared_(static_cast<unsigned char *>(
          aligned_alloc(1024, MOST_SHARED_BYTES + 1024)))
{
    if (shared_ == nullptr)
        harness::fault("no memory for shared memory");
    context_of_thread(&home_);
}

Block::~Block()
{
    for (unsigned k = 0; k < n_fibres_; ++k) {
        context_destroy(&fibres_[k].context);
        munmap(stacks_[k], GUARD_BYTES + STACK_BYTES);
    }
    address_allow(shared_, MOST_SHARED_BYTES + 1024);
    free(shared_);
}

Block &Block::current()
{
    return *current_block;
}

FX8_UNSEEN Fibre &Block::fibre()
{
    return fibres_[current_];
}

void Block::fault(Site site, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    harness::fault("%s:%d: kernel %s, block (%u, %u, %u), thread (%u, %u, %u): "
                   "%s",
                   site.file, site.line, launch_->name, blockIdx.x, blockIdx.y,
                   blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, text);
}

/* --- a block from beginning to end -----------------------------------------
 */

/* Where every fibre begins: one round for each block in which it takes part. */
void Block::entry()
{
    context_begin();
    Block *block = current_block;
    for (;;) {
        race_acquire(&block->race_begin_);
        block->launch_->body(block->launch_->arguments);
        race_release(&block->race_end_);
        block->end_fibre();
    }
}

void Block::grow(unsigned threads)
{
    for (; n_fibres_ < threads; ++n_fibres_) {
        void *memory =
            mmap(nullptr, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE))
            harness::fault("no memory for the stack of thread %u", n_fibres_);
        stacks_[n_fibres_] = memory;
        char *stack = static_cast<char *>(memory) + GUARD_BYTES;
        /* the checker still forbids parts of a stack that was here before */
        address_allow(stack, STACK_BYTES);
        context_create(&fibres_[n_fibres_].context, stack, STACK_BYTES,
                       n_fibres_, entry);
    }
}

FX8_UNSEEN void Block::begin(const Launch &launch, size_t number)
{
    const dim3 size = launch.block;
    launch_ = &launch;
    n_threads_ = n_alive_ = size.x * size.y * size.z;
    grow(n_threads_);
    order_ = settings().fibres;
    random_ = order_.seed + number;
    memset(alive_, 0, sizeof alive_);
    boxes_.clear();
    for (unsigned k = 0; k < n_threads_; ++k) {
        Fibre &fibre = fibres_[k];
        fibre.index = {k % size.x, k / size.x % size.y, k / (size.x * size.y)};
        fibre.lane = k % LANES;
        fibre.warp = k / LANES;
        fibre.ended = false;
        fibre.watched = nullptr;
        fibre.copies.clear();
        fibre.products.clear();
        fibre.copy_group = fibre.product_group = 0;
        alive_[fibre.warp] |= UINT32_C(1) << fibre.lane;
    }
    const dim3 grid = launch.grid;
    blockIdx = {static_cast<unsigned>(number % grid.x),
                static_cast<unsigned>(number / grid.x % grid.y),
                static_cast<unsigned>(number / grid.x / grid.y)};
    blockDim = size;
    gridDim = grid;
    address_allow(shared_, launch.shared_bytes);
    memset(shared_, GARBAGE, launch.shared_bytes);
    address_forbid(shared_ + launch.shared_bytes,
                   MOST_SHARED_BYTES + 1024 - launch.shared_bytes);
}

FX8_UNSEEN void Block::run(const Launch &launch, size_t number)
{
    current_block = this;
    begin(launch, number);
    race_release(&race_begin_);
    current_ = order_.kind == Order::LAST ? 0 : n_threads_ - 1;
    current_ = next();
    threadIdx = fibres_[current_].index;
    context_switch(&home_, &fibres_[current_].context);
    race_acquire(&race_end_);
}

/* The running fibre has done its work; it returns from here in the next
 * block. */
FX8_UNSEEN void Block::end_fibre()
{
    Fibre &me = fibres_[current_];
    if (!me.products.empty())
        harness::fault("kernel %s: thread %u ended without waiting for its "
                       "wgmma products",
                       launch_->name, current_);
    me.ended = true;
    --n_alive_;
    alive_[me.warp] &= ~(UINT32_C(1) << me.lane);
    if (all_.arrived > 0 && all_.arrived == n_alive_) {
        all_.arrived = 0;
        ++all_.generation;
    }
    for (uint32_t open = open_[me.warp]; open != 0; open &= open - 1)
        open_if_met(gates_[me.warp][__builtin_ctz(open)], me.warp);
    if (n_alive_ == 0)
        context_switch(&me.context, &home_);
    else
        switch_to(next());
}

/* --- who runs --------------------------------------------------------------
 */

FX8_UNSEEN static inline bool is_ready(const Fibre &fibre)
{
    return !fibre.ended &&
           (fibre.watched == nullptr ||
            (*fibre.watched & fibre.watched_mask) != fibre.seen);
}

/* The first fibre that can continue, searched from the one after the running
 * fibre in the chosen order; n_threads_ if all wait. */
FX8_UNSEEN unsigned Block::find_ready()
{
    const unsigned n = n_threads_;
    unsigned k = current_;
    if (order_.kind == Order::RANDOM)
        k = static_cast<unsigned>((random_next(&random_) >> 32) * n >> 32);
    for (unsigned tried = 0; tried < n; ++tried) {
        if (order_.kind == Order::LAST)
            k = k == 0 ? n - 1 : k - 1;
        else
            k = k + 1 == n ? 0 : k + 1;
        if (is_ready(fibres_[k]))
            return k;
    }
    return n;
}

FX8_UNSEEN unsigned Block::next()
{
    const unsigned found = find_ready();
    if (found == n_threads_)
        report_stuck();
    return found;
}

FX8_UNSEEN void Block::switch_to(unsigned index)
{
    if (index == current_)
        return;
    Fibre &me = fibres_[current_];
    current_ = index;
    threadIdx = fibres_[index].index;
    context_switch(&me.context, &fibres_[index].context);
}

FX8_UNSEEN void Block::wait_for(const uint32_t *word, uint32_t mask,
                                uint32_t seen, const char *what,
                                const Site &site)
{
    Fibre &me = fibres_[current_];
    me.watched = word;
    me.watched_mask = mask;
    me.seen = seen;
    me.what = what;
    me.site.file = site.file; /* apart: a copy of the whole would stall */
    me.site.line = site.line;
    switch_to(next());
    me.watched = nullptr;
}

/* One line per group of neighbouring threads that wait for the same. */
void Block::report_stuck()
{
    fprintf(stderr,
            "harness: kernel %s, block (%u, %u, %u): no thread can go on; "
            "%u of %u have ended\n",
            launch_->name, blockIdx.x, blockIdx.y, blockIdx.z,
            n_threads_ - n_alive_, n_threads_);
    for (unsigned k = 0; k < n_threads_;) {
        const Fibre &first = fibres_[k];
        unsigned end = k + 1;
        while (end < n_threads_ && fibres_[end].ended == first.ended &&
               (first.ended || (fibres_[end].watched == first.watched &&
                                fibres_[end].site.line == first.site.line)))
            ++end;
        if (!first.ended)
            fprintf(stderr, "harness:   threads %u to %u wait at %s:%d: %s\n",
                    k, end - 1, first.site.file, first.site.line, first.what);
        k = end;
    }
    harness::fault("divergent barrier, or a wait for what never happens");
}

} // namespace harness
