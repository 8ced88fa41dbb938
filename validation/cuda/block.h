/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * block.h -- a block of CUDA threads as fibres of one thread of the system:
 * scheduling, waiting and exchange of values.
 *
 * One fibre runs at a time, until it waits or ends; then the next runnable one
 * continues, in the order that the settings choose.  CUDA threads always wait
 * for each other at a Gate: the last to arrive does the work for all and opens
 * it.  If no fibre can run, the block is deadlocked: each fibre's place is
 * reported and the program ends.
 *
 * For the thread checker each CUDA thread is its own flow of control.  Arriving
 * at a gate is a release, passing it an acquire.
 * Successive generations of a gate alternate between two objects: with a single
 * one, a fast thread's arrival at the next gate would hide a race with a slow
 * thread that has yet to pass this one.
 */
#ifndef FX8_VALIDATION_CUDA_BLOCK_H
#define FX8_VALIDATION_CUDA_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <vector>

#include "validation/cuda/context.h"
#include "validation/cuda/settings.h"
#include "validation/cuda/tensor.h"
#include "validation/cuda/vectors.h"

/* Built-in variables of a kernel. */
inline thread_local uint3 threadIdx;
inline thread_local uint3 blockIdx;
inline thread_local dim3 blockDim;
inline thread_local dim3 gridDim;
static const int warpSize = 32;

namespace harness
{

constexpr unsigned MOST_THREADS = 1024;
constexpr unsigned LANES = 32;
constexpr unsigned MOST_WARPS = MOST_THREADS / LANES;
constexpr unsigned WARPGROUP = 128;
constexpr unsigned NAMED_BARRIERS = 16;
constexpr unsigned MOST_SHARED_BYTES = 227 * 1024;

/** A place in the kernel's source. */
struct Site {
    const char *file;
    int line;
};

/** The parameters of a launch. */
struct Launch {
    const char *name;
    dim3 grid;
    dim3 block;
    size_t shared_bytes;
    void (*body)(const void *arguments);
    const void *arguments;
};

/** Words that the lanes of a warp exchange at a meeting. */
struct Mailbox {
    static constexpr unsigned GIVEN = 12;
    static constexpr unsigned TAKEN = 4;
    uint32_t given[LANES][GIVEN];
    uint32_t taken[LANES][TAKEN];
};

/** The work that the last of `lanes` (a bit each) to arrive does for all. */
using Meeting = void (*)(Mailbox &box, uint32_t lanes);

/** A point where threads wait for one another. */
struct Gate {
    uint32_t generation;
    unsigned arrived;
    Site site; /* of the first to arrive */
    char race[2];
};

/** A gate for some lanes of a warp; free until a lane arrives. */
struct WarpGate {
    Gate gate;
    uint32_t mask;
    uint32_t lanes; /* the lanes that have arrived */
    Meeting meeting;
    const char *what;
    Mailbox box;
};

/** A copy that a thread has started and not yet waited for: cp.async. */
struct PendingCopy {
    void *to;
    const void *from;
    unsigned copied, zeroed; /* bytes */
    unsigned group;
};

/** A product of tiles that a warpgroup has started: wgmma. */
struct PendingProduct {
    void (*run)(const PendingProduct *const *of_threads);
    int32_t *sums;
    const int32_t *rows; /* of A, four words per thread; null: see a */
    uint64_t a, b;
    unsigned group;
};

/** An mbarrier in shared memory: 8 bytes in a layout of our own.  A phase ends
 *  when neither arrivals nor bytes are outstanding. */
struct Barrier {
    static constexpr uint32_t PHASE = 0x80000000;
    uint16_t expected;
    uint16_t pending;
    uint32_t state; /* PHASE or 0, and bytes */
};
static_assert(sizeof(Barrier) == 8, "an mbarrier has 64 bits");

/** A copy of a box that a thread has started: cp.async.bulk.tensor. */
struct PendingBox {
    const CUtensorMap *map;
    unsigned place[4];
    unsigned char *to;
    Barrier *barrier;
};

/** A CUDA thread. */
struct Fibre {
    Context context;
    uint3 index;
    unsigned lane, warp;
    bool ended;
    /* The fibre waits while the masked word keeps the value seen. */
    const uint32_t *watched;
    uint32_t watched_mask, seen;
    const char *what; /* what the fibre waits for */
    Site site;
    std::vector<PendingCopy> copies;
    unsigned copy_group;
    std::vector<PendingProduct> products;
    unsigned product_group;
};

/** A block, with the resources reused from one to the next. */
class Block
{
  public:
    Block();
    ~Block();
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;

    /** Run block `number` of a launch to its end. */
    void run(const Launch &launch, size_t number);

    /** The block that this thread of the system runs. */
    static Block &current();

    /* Calls for the running fibre. */
    Fibre &fibre();
    void sync_all(Site site);
    void sync_named(unsigned barrier, unsigned threads, Site site);
    void meet(const char *what, uint32_t mask, Meeting meeting,
              const void *given, size_t given_bytes, void *taken,
              size_t taken_bytes, Site site);
    void products_start(const PendingProduct &product);
    void barrier_init(Barrier *barrier, unsigned arrivals);
    void barrier_arrive(Barrier *barrier);
    void barrier_expect(Barrier *barrier, unsigned bytes);
    void box_start(const PendingBox &box, Site site);
    void barrier_wait(Barrier *barrier, unsigned phase, Site site);
    void products_run(unsigned groups_left, Site site);
    [[noreturn]] void fault(Site site, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

    unsigned char *shared()
    {
        return shared_;
    }
    size_t shared_bytes() const
    {
        return launch_->shared_bytes;
    }

  private:
    static void entry();
    void grow(unsigned threads);
    void begin(const Launch &launch, size_t number);
    unsigned next();
    unsigned find_ready();
    void switch_to(unsigned index);
    void end_fibre();
    void wait_for(const uint32_t *word, uint32_t mask, uint32_t seen,
                  const char *what, const Site &site);
    bool open_if_met(WarpGate &warp_gate, unsigned warp);
    void end_phase_if_complete(Barrier *barrier);
    void boxes_arrive(const Barrier *barrier);
    void pass(Gate &gate, unsigned expected, const char *what, Site site);
    WarpGate &find_gate(uint32_t mask);
    void run_products(unsigned first, unsigned groups_left, Site site);
    [[noreturn]] void report_stuck();

    const Launch *launch_;
    unsigned n_threads_, n_alive_, current_;
    uint64_t random_;
    Order order_;
    Gate all_, named_[NAMED_BARRIERS], warpgroup_[MOST_THREADS / WARPGROUP];
    uint32_t alive_[MOST_WARPS];
    uint32_t open_[MOST_WARPS]; /* gates at which lanes wait, a bit each */
    WarpGate gates_[MOST_WARPS][LANES];
    Fibre fibres_[MOST_THREADS];
    std::vector<PendingBox> boxes_;
    unsigned n_fibres_; /* fibres with a stack */
    void *stacks_[MOST_THREADS];
    Context home_;
    char race_begin_, race_end_;
    unsigned char *shared_;
};

/** Run a launch to its end, its blocks on several threads of the system. */
void run_grid(const Launch &launch);

} // namespace harness

#endif
