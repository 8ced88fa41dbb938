/* SPDX-License-Identifier: BSD-3-Clause */
/* grid.cc -- the blocks of a launch, over several threads of the system. */
#include <algorithm>

#include "config/base/parallel.h"
#include "validation/cuda/block.h"

namespace harness
{

static size_t count_blocks(const Launch &launch)
{
    return size_t(launch.grid.x) * launch.grid.y * launch.grid.z;
}

/* The block that the k-th step of a launch runs: forward, backward, or from
 * somewhere in the middle. */
static size_t block_at(size_t step, size_t n_blocks)
{
    const Order order = settings().fibres;
    if (order.kind == Order::LAST)
        return n_blocks - 1 - step;
    if (order.kind == Order::RANDOM)
        return (step + order.seed % n_blocks) % n_blocks;
    return step;
}

static void run_step(void *context, size_t step, size_t)
{
    static thread_local std::unique_ptr<Block> block;
    const Launch &launch = *static_cast<const Launch *>(context);
    if (!block)
        block.reset(new Block);
    block->run(launch, block_at(step, count_blocks(launch)));
}

void run_grid(const Launch &launch)
{
    Launch mine = launch;
    const int n_threads = std::max(1, settings().n_threads);
    fx8_parallel_for(count_blocks(launch), static_cast<size_t>(n_threads),
                     false, run_step, &mine);
}

} // namespace harness
