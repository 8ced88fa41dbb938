/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_calls.cu -- how many blocks of a dump are correlated in one call,
 * and how many batches a device holds, depends on its memory alone; sums do not
 * depend on either. Samples are copied from the host by the time that push()
 * states.
 *
 * Shows (devices, calls of any length): the number of blocks per correlation
 *     and of batches on a device changes no sum; samples are copied from the
 *     host by the time that push() states
 * Within: to the bit
 * Because: integers below 2^24 are exact in every order
 */
#include <set>
#include <string>

#include "config/base/shape.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/engine_find.h"
#include "validation/cuda/checkers.h"
#include "validation/cuda/device_array.h"
#include "validation/cuda/without.h"

namespace calls_tests
{

/** What the plug-in exports; here it is linked. */
extern "C" const struct fx8_engine_plugin fx8_engine_plugin;

static const fx8_engine_operations &table()
{
    return *fx8_engine_plugin.operations;
}

static void must(fx8_status status, const fx8_error &error)
{
    if (status != FX8_OK)
        printf("# %s\n", error.message);
    CHECK(status == FX8_OK);
}

/** Four blocks and part of a fifth of recorded integers; the third block is
 *  missing. */
constexpr size_t BLOCK = 8192;
constexpr size_t N_SPECTRA = 4 * BLOCK + 37;
constexpr size_t N_INPUTS = 5;
constexpr size_t MISSING = 2;

/** The samples: [input][spectrum]. */
static std::vector<fx8_ci8> random_samples()
{
    uint64_t state = 13;
    std::vector<fx8_ci8> x(N_INPUTS * N_SPECTRA);
    for (fx8_ci8 &each : x) {
        const uint64_t random = harness::random_next(&state);
        each = {static_cast<int8_t>(random >> 32),
                static_cast<int8_t>(random >> 40)};
    }
    return x;
}

struct Sums {
    std::vector<int64_t> int8;
    std::vector<double> fp32;

    Sums() : int8(2 * fx8_pair_count(N_INPUTS)), fp32(int8.size())
    {
    }
    bool operator==(const Sums &other) const
    {
        return int8 == other.int8 && fp32 == other.fp32;
    }
};

/** conj(E_i) E_j by the definition. */
static Sums plain_sums(const std::vector<fx8_ci8> &x)
{
    Sums sums;
    for (size_t j = 0; j < N_INPUTS; ++j)
        for (size_t i = 0; i <= j; ++i) {
            int64_t *sum = &sums.int8[2 * fx8_pair_index(i, j)];
            for (size_t t = 0; t < N_SPECTRA; ++t) {
                if (t / BLOCK == MISSING)
                    continue;
                const fx8_ci8 a = x[i * N_SPECTRA + t];
                const fx8_ci8 b = x[j * N_SPECTRA + t];
                sum[0] += a.re * b.re + a.im * b.im;
                sum[1] += a.re * b.im - a.im * b.re;
            }
        }
    sums.fp32.assign(sums.int8.begin(), sums.int8.end());
    return sums;
}

/** An engine, and two buffers that blocks are pushed from in turn. */
class Run
{
  public:
    explicit Run(bool is_pinned) : is_pinned_(is_pinned)
    {
        for (std::vector<int8_t> &buffer : buffers_)
            buffer.resize(BUFFER_BYTES);
        fx8_engine_plan plan = {};
        plan.bank = {true, 1, 1, 1};
        plan.n_inputs = N_INPUTS;
        plan.spectra_per_dump = N_SPECTRA;
        plan.precisions = FX8_PRECISION_INT8 | FX8_PRECISION_FP32;
        plan.machine.kernel = kernel_in_place_of("dp4a-16");
        plan.machine.threads.count = 1;
        plan.host_operations = fx8_operations_variant(0);
        is_open_ = table().open(&plan, &engine_, &error_) == FX8_OK;
        for (std::vector<int8_t> &buffer : buffers_)
            if (is_open_ && is_pinned)
                table().pin(engine_, buffer.data(), buffer.size());
    }
    ~Run()
    {
        table().close(&engine_);
    }
    Run(const Run &) = delete;
    Run &operator=(const Run &) = delete;

    bool is_open() const
    {
        return is_open_;
    }
    const fx8_cuda_device &device() const
    {
        return engine_->devices[0];
    }
    size_t n_pinned() const
    {
        size_t n = 0;
        for (auto *each = engine_->pinned; each != nullptr; each = each->next)
            ++n;
        return n;
    }
    Sums dump(const std::vector<fx8_ci8> &x)
    {
        for (size_t first = 0; first < N_SPECTRA; first += BLOCK)
            push(x, first, std::min(BLOCK, N_SPECTRA - first));
        Sums sums;
        std::vector<int64_t> counts(fx8_pair_count(N_INPUTS)), clips(N_INPUTS);
        fx8_engine_dump dump = {};
        dump.sums[FX8_RESULT_INT8] = sums.int8.data();
        dump.sums[FX8_RESULT_FP32] = sums.fp32.data();
        dump.counts = counts.data();
        dump.clips = clips.data();
        must(table().finish_dump(engine_, &dump, &error_), error_);
        for (const int64_t count : counts)
            CHECK(count == static_cast<int64_t>(N_SPECTRA - BLOCK));
        return sums;
    }

  private:
    /* Rows long enough for the buffer to be worth pinning. */
    static constexpr size_t ROW_BYTES = size_t(1) << 19;
    static constexpr size_t BUFFER_BYTES = N_INPUTS * ROW_BYTES;

    /* Samples are overwritten as soon as allowed: pageable memory when push()
     * returns, pinned memory when the next push() does. */
    void push(const std::vector<fx8_ci8> &x, size_t first, size_t n)
    {
        std::vector<int8_t> &buffer = buffers_[n_pushed_ % 2];
        for (size_t i = 0; i < N_INPUTS; ++i)
            memcpy(&buffer[i * ROW_BYTES], &x[i * N_SPECTRA + first],
                   n * sizeof(fx8_ci8));
        const size_t words = fx8_bit_words(n);
        std::vector<uint64_t> valid(N_INPUTS * words);
        for (size_t i = 0; i < N_INPUTS && first / BLOCK != MISSING; ++i)
            for (size_t t = 0; t < n; ++t)
                fx8_bit_set(&valid[i * words], t);
        fx8_engine_block block = {};
        block.samples = buffer.data();
        block.row_stride = ROW_BYTES;
        block.first_spectrum = static_cast<int64_t>(first);
        block.n_spectra = n;
        block.valid = valid.data();
        must(table().push(engine_, &block, &error_), error_);
        ++n_pushed_;
        std::vector<int8_t> &free = buffers_[(n_pushed_ - !is_pinned_) % 2];
        std::fill(free.begin(), free.end(), int8_t(77));
    }

    bool is_pinned_;
    std::vector<int8_t> buffers_[2];
    size_t n_pushed_ = 0;
    struct fx8_engine *engine_ = nullptr;
    fx8_error error_;
    bool is_open_ = false;
};

/** From more memory than needed to less than suffices. */
TEST(calls_and_slots_of_any_size)
{
    const std::vector<fx8_ci8> x = random_samples();
    const Sums expected = plain_sums(x);
    std::set<size_t> calls, slots, batches;
    bool was_refused = false;
    /* below 1 MiB batches shrink, step by step */
    const auto step = [](size_t kib) {
        return kib / (is_long() ? 32 : kib > 1024 ? 3 : 24);
    };
    for (size_t kib = 16 << 10; !was_refused; kib -= step(kib)) {
        setenv(FX8_CUDA_MEMORY_VARIABLE, std::to_string(kib).c_str(), 1);
        Run run(true);
        was_refused = !run.is_open();
        if (was_refused)
            continue;
        calls.insert(run.device().call.most_spectra);
        slots.insert(run.device().n_slots);
        batches.insert(run.device().batch_inputs);
        for (int dump = 0; dump < 2; ++dump)
            CHECK(run.dump(x) == expected);
    }
    unsetenv(FX8_CUDA_MEMORY_VARIABLE);
    CHECK(calls.count(BLOCK) == 1 && calls.count(5 * BLOCK) == 1);
    CHECK(calls.size() >= 3);
    CHECK(slots.size() >= 2);
    CHECK(batches.size() >= 3);
}

TEST(samples_are_taken_in_time)
{
    const std::vector<fx8_ci8> x = random_samples();
    const Sums expected = plain_sums(x);
    for (const bool is_pinned : {false, true}) {
        Run run(is_pinned);
        CHECK(run.is_open());
        if (!run.is_open())
            return;
        CHECK(run.n_pinned() == (is_pinned ? 2U : 0U));
        for (int dump = 0; dump < 3; ++dump)
            CHECK(run.dump(x) == expected);
    }
}

} // namespace calls_tests
