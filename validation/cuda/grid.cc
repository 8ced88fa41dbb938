/* SPDX-License-Identifier: BSD-3-Clause */
/* grid.cc -- the blocks of a launch, over several threads of the system. */
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "validation/cuda/block.h"

namespace harness
{

/* Threads that all run the same work on request. */
class Crew
{
  public:
    explicit Crew(int n_threads)
    {
        for (int k = 0; k < n_threads; ++k)
            threads_.emplace_back([this] { serve(); });
    }

    ~Crew()
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            is_over_ = true;
        }
        wake_.notify_all();
        for (std::thread &thread : threads_)
            thread.join();
    }

    size_t size() const
    {
        return threads_.size();
    }

    /* Run `work` on every thread of the crew and on the caller. */
    void run(const std::function<void()> &work)
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            work_ = &work;
            n_busy_ = threads_.size();
            ++round_;
        }
        wake_.notify_all();
        work();
        std::unique_lock<std::mutex> lock(mutex_);
        idle_.wait(lock, [this] { return n_busy_ == 0; });
    }

  private:
    void serve()
    {
        uint64_t served = 0;
        for (;;) {
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return is_over_ || round_ != served; });
            if (is_over_)
                return;
            served = round_;
            const std::function<void()> *work = work_;
            lock.unlock();
            (*work)();
            lock.lock();
            if (--n_busy_ == 0)
                idle_.notify_one();
        }
    }

    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable wake_, idle_;
    const std::function<void()> *work_ = nullptr;
    size_t n_busy_ = 0;
    uint64_t round_ = 0;
    bool is_over_ = false;
};

static std::unique_ptr<Crew> crew;

/* A child of fork() has none of the threads, so it must not wait for them. */
static void forget_crew()
{
    crew.release();
}

static Crew &crew_of(int n_threads)
{
    static const int is_registered =
        pthread_atfork(nullptr, nullptr, forget_crew);
    const size_t helpers =
        is_registered == 0 && n_threads > 1 ? size_t(n_threads) - 1 : 0;
    if (!crew || crew->size() != helpers) {
        crew.reset();
        crew.reset(new Crew(static_cast<int>(helpers)));
    }
    return *crew;
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

void run_grid(const Launch &launch)
{
    const size_t n_blocks =
        size_t(launch.grid.x) * launch.grid.y * launch.grid.z;
    std::atomic<size_t> next_step{0};
    const std::function<void()> work = [&] {
        static thread_local std::unique_ptr<Block> block;
        for (;;) {
            const size_t step = next_step++;
            if (step >= n_blocks)
                return;
            if (!block)
                block.reset(new Block);
            block->run(launch, block_at(step, n_blocks));
        }
    };
    if (n_blocks == 1)
        work();
    else
        crew_of(settings().n_threads).run(work);
}

} // namespace harness
