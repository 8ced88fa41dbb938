/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_engine.cu -- the CUDA engine on recorded integers: how many blocks
 * of a dump are correlated in one call, and how many batches a device holds,
 * depends on its memory alone, and sums depend on neither; samples are copied
 * from the host by the time that push() states.  Spectra of filter banks by the
 * definition, for a card with no package but CUDA; test_engine_cuda.c has the
 * CPU engine beside them.  On the harness also engines that are refused.
 *
 * Shows (devices, engine whole): recorded integers give the sums of the
 *     definition, whatever the number of blocks per correlation and of batches
 *     on a device; spectra are those of the definition, also on a card without
 *     another FFT to compare cuFFT with; samples are copied from the host by
 *     the time that push() states; opening an engine names kernels that are not
 *     in the build and devices that hang; the next engine avoids them
 * Within: sums to the bit; spectra within Higham's bound; the words
 * Because: integers below 2^24 are exact in every order; spectra are compared
 *     with the definition in double
 */
#include <math.h>

#include <algorithm>
#include <complex>
#include <set>
#include <string>

#include "config/base/shape.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/plugin.h"
#include "kernels/filterbank.h"
#include "validation/cuda/checkers.h"
#include "validation/cuda/device_array.h"
#include "validation/cuda/without.h"

namespace engine_tests
{

/** What the plug-in exports; here it is linked. */
extern "C" const struct fx8_plugin fx8_plugin;

static const fx8_engine_operations &table()
{
    return *fx8_plugin.engines;
}

static void must(fx8_status status, const fx8_error &error)
{
    if (status != FX8_OK)
        printf("# %s\n", error.message);
    CHECK(status == FX8_OK);
}

/** Recorded integers without a filter bank. */
static fx8_engine_plan plan_of(size_t n_inputs, size_t n_spectra,
                               unsigned precisions, const char *kernel)
{
    fx8_engine_plan plan = {};
    plan.bank = {true, 1, 1, 1};
    plan.n_inputs = n_inputs;
    plan.spectra_per_dump = static_cast<int64_t>(n_spectra);
    plan.precisions = precisions;
    plan.machine.kernel = kernel;
    plan.machine.threads.count = 1;
    plan.host_operations = fx8_operations_variant(0);
    return plan;
}

/* --- calls -----------------------------------------------------------------
 */

/** Four blocks and part of a fifth of recorded integers; the third block is
 *  missing. */
constexpr size_t BLOCK = 8192;
constexpr size_t N_SPECTRA = 4 * BLOCK + 37;
constexpr size_t N_INPUTS = 5;
constexpr size_t MISSING = 2;

static bool is_made(unsigned precision)
{
    return !are_left_out(precision == FX8_PRECISION_INT8);
}

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

/** conj(E_i) E_j by the definition. */
static std::vector<int64_t> plain_sums(const std::vector<fx8_ci8> &x)
{
    std::vector<int64_t> sums(2 * fx8_pair_count(N_INPUTS));
    for (size_t j = 0; j < N_INPUTS; ++j)
        for (size_t i = 0; i <= j; ++i) {
            int64_t *sum = &sums[2 * fx8_pair_index(i, j)];
            for (size_t t = 0; t < N_SPECTRA; ++t) {
                if (t / BLOCK == MISSING)
                    continue;
                const fx8_ci8 a = x[i * N_SPECTRA + t];
                const fx8_ci8 b = x[j * N_SPECTRA + t];
                sum[0] += a.re * b.re + a.im * b.im;
                sum[1] += a.re * b.im - a.im * b.re;
            }
        }
    return sums;
}

/** An engine, and two buffers that blocks are pushed from in turn. */
class Run
{
  public:
    explicit Run(bool is_pinned, const char *kernel = "dp4a-16")
        : is_pinned_(is_pinned)
    {
        const unsigned precisions =
            (is_made(FX8_PRECISION_INT8) ? FX8_PRECISION_INT8 : 0) |
            (is_made(FX8_PRECISION_FP32) ? FX8_PRECISION_FP32 : 0);
        for (std::vector<int8_t> &buffer : buffers_)
            buffer.resize(BUFFER_BYTES);
        const fx8_engine_plan plan = plan_of(N_INPUTS, N_SPECTRA, precisions,
                                             kernel_in_place_of(kernel));
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
    /** Whether a dump has the sums of the definition, in each precision. */
    bool is_exact(const std::vector<fx8_ci8> &x,
                  const std::vector<int64_t> &expected)
    {
        for (size_t first = 0; first < N_SPECTRA; first += BLOCK)
            push(x, first, std::min(BLOCK, N_SPECTRA - first));
        std::vector<int64_t> int8(expected), counts(fx8_pair_count(N_INPUTS));
        std::vector<double> fp32(expected.begin(), expected.end());
        const std::vector<double> expected_fp32(fp32);
        std::vector<int64_t> clips(N_INPUTS);
        fx8_engine_dump dump = {};
        if (is_made(FX8_PRECISION_INT8)) {
            int8.assign(int8.size(), 0);
            dump.sums[FX8_RESULT_INT8] = int8.data();
        }
        if (is_made(FX8_PRECISION_FP32)) {
            fp32.assign(fp32.size(), 0);
            dump.sums[FX8_RESULT_FP32] = fp32.data();
        }
        dump.counts = counts.data();
        dump.clips = clips.data();
        must(table().finish_dump(engine_, &dump, &error_), error_);
        for (const int64_t count : counts)
            CHECK(count == static_cast<int64_t>(N_SPECTRA - BLOCK));
        return int8 == expected && fp32 == expected_fp32;
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
    const std::vector<int64_t> expected = plain_sums(x);
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
        for (int dump = 0; dump < (FX8_THREAD_CHECKER ? 1 : 2); ++dump)
            CHECK(run.is_exact(x, expected));
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
    const std::vector<int64_t> expected = plain_sums(x);
    for (const bool is_pinned : {false, true}) {
        Run run(is_pinned, "auto");
        CHECK(run.is_open());
        if (!run.is_open())
            return;
        CHECK(run.n_pinned() == (is_pinned ? 2U : 0U));
        for (int dump = 0; dump < 3; ++dump)
            CHECK(run.is_exact(x, expected));
    }
}

/* --- filter banks ----------------------------------------------------------
 */

/* Spectra of random samples by the definition, for a card without another FFT
 * beside it.  A FIR rounds once for each tap and twice more.  A transform of
 * N = 2^m numbers y has |error| <= 7 m 2^-24 sqrt(N) |y| (Higham, Accuracy and
 * Stability of Numerical Algorithms, theorem 24.2, with twiddle factors rounded
 * to float); other factors of N: assumed twice that. */
static void check_bank(const fx8_filterbank &bank)
{
    using Complex = std::complex<double>;
    constexpr size_t INPUTS = 3, SPECTRA = 50;
    const size_t row = fx8_filterbank_row(&bank), n = bank.fft_length;
    const size_t stride = (SPECTRA + bank.n_taps - 1) * row;
    const size_t parts = bank.is_complex ? 2 : 1;
    uint64_t state = n;
    std::vector<int8_t> samples(INPUTS * stride);
    std::vector<float> weights(bank.n_taps * row);
    for (int8_t &each : samples)
        each = static_cast<int8_t>(harness::random_next(&state) >> 32);
    for (float &each : weights)
        each =
            static_cast<float>(harness::random_next(&state) >> 44) * 0x1p-19F -
            1.0F;
    fx8_engine_plan plan = plan_of(INPUTS, SPECTRA, FX8_PRECISION_FP32, "auto");
    plan.bank = bank;
    plan.coefficients = weights.data();
    const std::vector<uint64_t> valid(INPUTS, UINT64_MAX);
    fx8_engine_block block = {};
    block.samples = samples.data();
    block.row_stride = stride;
    block.n_spectra = SPECTRA;
    block.valid = valid.data();
    std::vector<fx8_cf32> found(bank.n_channels * SPECTRA * INPUTS);
    struct fx8_engine *engine = nullptr;
    fx8_error error;
    must(table().open(&plan, &engine, &error), error);
    must(table().push(engine, &block, &error), error);
    must(table().export_spectra(engine, nullptr, found.data(), &error), error);
    table().close(&engine);
    size_t n_wrong = 0;
    for (size_t k = 0; k < SPECTRA * INPUTS; ++k) {
        const int8_t *const x =
            &samples[k % INPUTS * stride + k / INPUTS * row];
        std::vector<Complex> folded(n);
        double magnitudes = 0, power = 0;
        for (size_t m = 0; m < weights.size(); ++m) {
            const double product = static_cast<double>(weights[m]) * x[m];
            const size_t r = m % row;
            folded[r / parts] +=
                r % parts == 0 ? Complex(product, 0) : Complex(0, product);
            magnitudes += fabs(product);
        }
        for (const Complex &each : folded)
            power += std::norm(each);
        const double length = static_cast<double>(n);
        const double limit =
            0x1p-24 * (static_cast<double>(bank.n_taps + 2) * magnitudes +
                       14 * log2(length) * sqrt(length * power));
        for (size_t c = 0; c < bank.n_channels; ++c) {
            const size_t bin = fx8_filterbank_bin(&bank, c);
            Complex sum = 0;
            for (size_t m = 0; m < n; ++m)
                sum += folded[m] *
                       std::polar(1.0, -2 * M_PI *
                                           static_cast<double>(bin * m % n) /
                                           length);
            const fx8_cf32 y = found[c * SPECTRA * INPUTS + k];
            n_wrong +=
                !(fabs(static_cast<double>(y.re) - sum.real()) <= limit &&
                  fabs(static_cast<double>(y.im) - sum.imag()) <= limit);
        }
    }
    CHECK(n_wrong == 0);
}

/* Lengths with factors other than two, real and complex samples. */
TEST(filter_banks_have_the_spectra_of_the_definition)
{
    if (is_made(FX8_PRECISION_FP32))
        for (const fx8_filterbank &bank :
             {fx8_filterbank{true, 16, 4, 16}, fx8_filterbank{true, 30, 3, 20},
              fx8_filterbank{false, 48, 4, 24}, fx8_filterbank{false, 14, 2, 7},
              fx8_filterbank{false, 512, 8, 256}})
            check_bank(bank);
}

#if defined(FX8_CUDA_ON_CPU)

/* A call of 15 blocks of 8 batches each wants as many slots as a device may
 * have, beside results and a quick-look: all its arrays are listed, even those
 * that find no room in the end. */
TEST(an_engine_with_every_array_is_opened)
{
    const std::vector<float> coefficients(4096 * 2, 1.0F);
    fx8_engine_plan plan =
        plan_of(8, 65536, FX8_PRECISION_INT8 | FX8_PRECISION_FP32, "dp4a");
    plan.bank = {true, 4096, 1, 1};
    plan.coefficients = coefficients.data();
    plan.n_result_antennas = 8;
    plan.n_result_products = plan.channel_average = plan.consumed_channels = 1;
    plan.n_watched_inputs = 2;
    harness::settings().memory_bytes = size_t(1) << 30;
    harness::reset_devices();
    fx8_error error = {};
    struct fx8_engine *engine = nullptr;
    must(table().open(&plan, &engine, &error), error);
    table().close(&engine);
}

/* --- engines that are refused ----------------------------------------------
 */

/* The runtime reports for one call after the other that the device has no code:
 * an engine that may use the other kernel names the missing one, an engine for
 * that kernel alone does not open. */
TEST(a_kernel_that_is_not_built_is_named)
{
    const int error_before = harness::settings().fail_error;
    harness::settings().fail_error = cudaErrorNoKernelImageForDevice;
    for (const bool is_alone : {false, true}) {
        const fx8_engine_plan plan =
            plan_of(17, 20, FX8_PRECISION_INT8, is_alone ? "dp4a-16" : "dp4a");
        std::string text;
        for (uint64_t call = 1;
             call < 1000 && text.find("; not ") == std::string::npos; ++call) {
            struct fx8_engine *engine = nullptr;
            fx8_error error = {};
            harness::settings().fail_call = harness::count_calls() + call;
            const fx8_status status = table().open(&plan, &engine, &error);
            harness::settings().fail_call = 0;
            text = status == FX8_OK ? table().facts(engine)->kernel
                                    : error.message;
            table().close(&engine);
        }
        CHECK(text.find(is_alone ? "of its trial; not dp4a-16: not in this "
                                   "build"
                                 : "dp4a-32; not dp4a-16: not in this build") !=
              std::string::npos);
    }
    harness::settings().fail_error = error_before;
}

#if !FX8_THREAD_CHECKER /* which does not let a child start threads */

/* A device on which a kernel hangs is given up; the next engine takes the other
 * device, or is refused. */
TEST(a_device_that_hangs_is_given_up)
{
    static const struct {
        const char *kernel, *wanted;
        int n_devices;
    } all[] = {
        {"fx8_fir_4_kernel", "waiting for FIR: not done within 0.01 s", 1},
        {"fx8_corner_turn_kernel", "for corner turn: not done within 0.01 s",
         2},
        {"fx8_export_fp32_kernel", "for spectra: not done within 0.01 s", 1},
    };
    for (const auto &each : all)
        tap::must_pass_in_child([&each] {
            const float coefficients[] = {1, 2, 3, 4, 5, 6, 7, 8};
            fx8_engine_plan plan =
                plan_of(3, 20, FX8_PRECISION_INT8 | FX8_PRECISION_FP32, "auto");
            plan.bank = {true, 4, 1, 4};
            plan.coefficients = coefficients;
            plan.deadline_s = 0.01;
            harness::settings().n_devices = each.n_devices;
            harness::reset_devices();
            harness::settings().hanging_kernel = each.kernel;
            struct fx8_engine *engine = nullptr;
            fx8_error error = {};
            CHECK(table().open(&plan, &engine, &error) == FX8_ERR_DEVICE &&
                  strstr(error.message, each.wanted) != nullptr);
            harness::settings().hanging_kernel = nullptr;
            const fx8_status status = table().open(&plan, &engine, &error);
            if (each.n_devices == 2)
                CHECK(status == FX8_OK &&
                      !strncmp(table().facts(engine)->device, "1 ", 2));
            else
                CHECK(status == FX8_ERR_DEVICE &&
                      strstr(error.message,
                             "stopped answering this process earlier"));
            table().close(&engine);
        });
}

/* One correlator hangs and another is used: the caller's pinned memory is
 * unpinned when the engine is closed. */
TEST(nothing_stays_pinned_beside_a_kernel_that_hangs)
{
    tap::must_pass_in_child([] {
        const size_t bytes = size_t(4) << 20;
        void *const memory = aligned_alloc(4096, bytes);
        fx8_engine_plan plan = plan_of(17, 20, FX8_PRECISION_INT8, "dp4a");
        plan.deadline_s = 0.01;
        harness::settings().hanging_kernel = "fx8_correlate_dp4a_32_kernel";
        struct fx8_engine *engine = nullptr;
        fx8_error error = {};
        must(table().open(&plan, &engine, &error), error);
        CHECK(strstr(table().facts(engine)->kernel, "does not end") != nullptr);
        table().pin(engine, memory, bytes);
        table().close(&engine);
        MUST(cudaHostRegister(memory, bytes, cudaHostRegisterPortable));
    });
}

#endif
#endif

} // namespace engine_tests
