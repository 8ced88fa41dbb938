/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_engine.cu -- the whole CUDA engine against spectra and sums by the
 * definition: on the harness and, compiled by nvcc, on a card with no package
 * but CUDA. Tests that need the CPU engine are in test_engine_cuda.c.
 *
 * Shows (devices, engine whole): spectra, recorded integers or samples give the
 *     right sums, with every kind of kernel and filter bank, masks, rotation
 *     and blocks; also on a card with no package but CUDA, where there is no
 *     other FFT to compare cuFFT with
 * Within: spectra within Higham's bound; their integers within half a step
 *     more, one in 2000 another step off; sums of the engine's own spectra:
 *     integers equal, FP32 520·2⁻²⁴ of the magnitudes and between its bounds,
 *     bounds around the unrounded sum
 * Because: compared with the definition in double; values are a step off only
 *     near a tie; clips are compared where no tie is near
 */
#include <algorithm>

#include "config/base/shape.h"
#include "kernels/engine_find.h"
#include "validation/cuda/checkers.h"
#include "validation/cuda/device_array.h"
#include "validation/cuda/filterbank_job.h"
#include "validation/cuda/without.h"
#include "validation/exact_sum.h"

namespace engine_tests
{

/** What the plug-in exports; here it is linked. */
extern "C" const struct fx8_engine_plugin fx8_engine_plugin;

static const fx8_engine_operations &engine_table()
{
    return *fx8_engine_plugin.operations;
}

/** A call of the engine that must succeed. */
static void must_engine(fx8_status status, const fx8_error &error)
{
    if (status != FX8_OK)
        printf("# %s\n", error.message);
    CHECK(status == FX8_OK);
}

static uint64_t random_state = 12;

/** Whether a precision is computed: not if its kernels are left out. */
static bool is_made(unsigned precision)
{
    return !are_left_out(precision == FX8_PRECISION_INT8);
}

static unsigned precisions_made()
{
    return (is_made(FX8_PRECISION_INT8) ? FX8_PRECISION_INT8 : 0) |
           (is_made(FX8_PRECISION_FP32) ? FX8_PRECISION_FP32 : 0);
}

static std::vector<fx8_ci8> random_spectra(size_t count)
{
    std::vector<fx8_ci8> x(count);
    for (fx8_ci8 &each : x) {
        const uint64_t random = harness::random_next(&random_state);
        each = {static_cast<int8_t>(random % 8 == 0 ? 128 : random >> 32),
                static_cast<int8_t>(random >> 40)};
    }
    return x;
}

/* --- a dump ----------------------------------------------------------------
 */

/** Inputs, channels and spectra; the recorded integers are the spectra where
 *  there is one channel. */
struct Shape {
    size_t n_inputs, n_channels, n_spectra;
};

struct Sums {
    std::vector<int64_t> int8, counts, clips;
    std::vector<double> fp32;

    explicit Sums(const Shape &s)
        : int8(2 * s.n_channels * fx8_pair_count(s.n_inputs)),
          counts(fx8_pair_count(s.n_inputs)), clips(s.n_inputs * s.n_channels),
          fp32(int8.size())
    {
    }
};

/** conj(E_i) E_j by the definition; x: [channel][spectrum][input]. */
static Sums plain_sums(const Shape &s, const std::vector<fx8_ci8> &x)
{
    Sums sums(s);
    const size_t n_pairs = fx8_pair_count(s.n_inputs);
    for (size_t c = 0; c < s.n_channels; ++c)
        for (size_t t = 0; t < s.n_spectra; ++t)
            for (size_t j = 0; j < s.n_inputs; ++j)
                for (size_t i = 0; i <= j; ++i) {
                    const fx8_ci8 *at = &x[(c * s.n_spectra + t) * s.n_inputs];
                    int64_t *sum =
                        &sums.int8[2 * (c * n_pairs + fx8_pair_index(i, j))];
                    sum[0] += at[i].re * at[j].re + at[i].im * at[j].im;
                    sum[1] += at[i].re * at[j].im - at[i].im * at[j].re;
                }
    sums.counts.assign(n_pairs, static_cast<int64_t>(s.n_spectra));
    sums.fp32.assign(sums.int8.begin(), sums.int8.end());
    return sums;
}

/** An engine for a shape; closed with the object. */
class Engine
{
  public:
    Engine(const Shape &s, const char *kernel)
        : shape_(s), coefficients_(s.n_channels * 2, 1.0F)
    {
        fx8_engine_plan plan = {};
        plan.bank = {true, s.n_channels, 1, s.n_channels};
        plan.coefficients = s.n_channels == 1 ? nullptr : coefficients_.data();
        plan.n_inputs = s.n_inputs;
        plan.spectra_per_dump = static_cast<int64_t>(s.n_spectra);
        plan.precisions = precisions_made();
        plan.machine.kernel = kernel_in_place_of(kernel);
        plan.machine.threads.count = 1;
        plan.host_operations = fx8_operations_variant(0);
        status_ = engine_table().open(&plan, &engine_, &error_);
    }
    ~Engine()
    {
        engine_table().close(&engine_);
    }
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    /** Not every card has a kernel's instructions. */
    bool is_refused() const
    {
        return status_ == FX8_ERR_UNSUPPORTED;
    }
    bool is_open() const
    {
        if (status_ != FX8_OK)
            printf("# %s\n", error_.message);
        return status_ == FX8_OK;
    }
    /** A dump from spectra, or, if there is one channel, from samples. */
    Sums run(const std::vector<fx8_ci8> &x, bool from_samples)
    {
        const Shape &s = shape_;
        std::vector<fx8_cf32> floats(x.size());
        std::vector<fx8_ci8> samples(x.size());
        for (size_t k = 0; k < x.size(); ++k) {
            floats[k] = {static_cast<float>(x[k].re),
                         static_cast<float>(x[k].im)};
            if (from_samples) /* of an input, one after the other */
                samples[k % s.n_inputs * s.n_spectra + k / s.n_inputs] = x[k];
        }
        const size_t words = fx8_bit_words(s.n_spectra);
        std::vector<uint64_t> valid(s.n_inputs * words);
        for (size_t i = 0; i < s.n_inputs; ++i)
            for (size_t t = 0; t < s.n_spectra; ++t)
                valid[i * words + t / 64] |= uint64_t(1) << t % 64;
        fx8_engine_block block = {};
        block.n_spectra = s.n_spectra;
        block.valid = valid.data();
        block.samples = reinterpret_cast<const int8_t *>(samples.data());
        block.row_stride = s.n_spectra * sizeof(fx8_ci8);
        fx8_error error;
        CHECK(engine_table().block_spectra(engine_) >= s.n_spectra);
        must_engine(
            from_samples
                ? engine_table().push(engine_, &block, &error)
                : engine_table().import_spectra(
                      engine_, &block,
                      is_made(FX8_PRECISION_INT8) ? x.data() : nullptr,
                      is_made(FX8_PRECISION_FP32) ? floats.data() : nullptr,
                      &error),
            error);
        Sums sums(s);
        fx8_engine_dump dump = {};
        if (is_made(FX8_PRECISION_INT8))
            dump.sums[FX8_RESULT_INT8] = sums.int8.data();
        if (is_made(FX8_PRECISION_FP32))
            dump.sums[FX8_RESULT_FP32] = sums.fp32.data();
        dump.counts = sums.counts.data();
        dump.clips = sums.clips.data();
        must_engine(engine_table().finish_dump(engine_, &dump, &error), error);
        return sums;
    }

  private:
    Shape shape_;
    std::vector<float> coefficients_;
    struct fx8_engine *engine_ = nullptr;
    fx8_error error_;
    fx8_status status_;
};

static void check_dump(const Shape &shape, const char *kernel,
                       bool from_samples)
{
    const std::vector<fx8_ci8> x =
        random_spectra(shape.n_inputs * shape.n_channels * shape.n_spectra);
    Engine engine(shape, kernel);
    if (engine.is_refused()) {
        printf("# %s: not on this device\n", kernel);
        return;
    }
    CHECK(engine.is_open());
    if (!engine.is_open())
        return;
    const Sums expected = plain_sums(shape, x);
    for (int dump = 0; dump < 2; ++dump) {
        const Sums sums = engine.run(x, from_samples);
        CHECK(!is_made(FX8_PRECISION_INT8) || sums.int8 == expected.int8);
        /* integers: exact */
        CHECK(!is_made(FX8_PRECISION_FP32) || sums.fp32 == expected.fp32);
        CHECK(sums.counts == expected.counts);
    }
}

/* --- samples through a filter bank -----------------------------------------
 */

/** What the engine makes of the samples. */
struct Made {
    std::vector<fx8_ci8> x8;
    std::vector<fx8_cf32> x32;
    std::vector<int64_t> sums8, counts, clips;
    std::vector<double> sums32, down, up;

    explicit Made(const Job &job)
        : x8(job.n_cells()), x32(job.n_cells()),
          sums8(2 * job.bank.n_channels * fx8_pair_count(job.n_inputs)),
          counts(fx8_pair_count(job.n_inputs)),
          clips(job.n_inputs * job.bank.n_channels), sums32(sums8.size()),
          down(sums8.size()), up(sums8.size())
    {
    }
};

/** Push spectra [first, first + n), and get the spectra made from them. */
static void push_block(struct fx8_engine *engine, const Expected &expected,
                       size_t first, size_t n, Made *made)
{
    const Job &job = expected.job;
    const size_t words = fx8_bit_words(n);
    std::vector<uint64_t> valid(job.n_inputs * words);
    std::vector<fx8_rotation> rotation(job.n_inputs * n);
    for (size_t i = 0; i < job.n_inputs; ++i)
        for (size_t t = 0; t < n; ++t) {
            if (job.is_valid(i, first + t))
                fx8_bit_set(&valid[i * words], t);
            rotation[i * n + t] = job.rotation(i, first + t);
        }
    fx8_engine_block block = {};
    block.samples = &expected.samples[first * expected.row];
    block.row_stride = expected.row_stride;
    block.first_spectrum = static_cast<int64_t>(first);
    block.n_spectra = n;
    block.valid = valid.data();
    block.rotation = job.is_rotated ? rotation.data() : nullptr;
    const size_t row = n * job.n_inputs;
    std::vector<fx8_ci8> x8(job.bank.n_channels * row);
    std::vector<fx8_cf32> x32(x8.size());
    fx8_error error;
    must_engine(engine_table().push(engine, &block, &error), error);
    must_engine(engine_table().export_spectra(
                    engine, is_made(FX8_PRECISION_INT8) ? x8.data() : nullptr,
                    is_made(FX8_PRECISION_FP32) ? x32.data() : nullptr, &error),
                error);
    for (size_t k = 0; k < x8.size(); ++k) {
        const size_t at = job.cell(k / row, first, 0) + k % row;
        made->x8[at] = x8[k];
        made->x32[at] = x32[k];
    }
}

/** One dump of the job; false: the device does not have the kernel. */
static bool make(const Expected &expected, Made *made)
{
    const Job &job = expected.job;
    fx8_engine_plan plan = {};
    plan.bank = job.bank;
    plan.coefficients = expected.coefficients.data();
    plan.n_inputs = job.n_inputs;
    plan.spectra_per_dump = static_cast<int64_t>(job.n_spectra);
    const bool has_bounds = job.has_bounds && is_made(FX8_PRECISION_FP32);
    plan.precisions =
        precisions_made() | (has_bounds ? FX8_PRECISION_INTERVAL : 0);
    plan.machine.kernel = kernel_in_place_of(job.kernel);
    plan.channelizer.fir = job.fir_int16 ? FX8_FIR_DP2A : FX8_FIR_FP32;
    plan.machine.threads.count = 2;
    plan.host_operations = fx8_operations_variant(0);
    struct fx8_engine *engine = nullptr;
    fx8_error error;
    const fx8_status status = engine_table().open(&plan, &engine, &error);
    if (status == FX8_ERR_UNSUPPORTED)
        return false;
    must_engine(status, error);
    if (status != FX8_OK)
        return false;
    for (size_t i = 0; i < job.n_inputs; ++i)
        must_engine(
            engine_table().set_gain(
                engine, i, &expected.gains[i * job.bank.n_channels], &error),
            error);
    const size_t block = engine_table().block_spectra(engine);
    for (size_t first = 0; first < job.n_spectra; first += block)
        push_block(engine, expected, first,
                   std::min(block, job.n_spectra - first), made);
    fx8_engine_dump dump = {};
    void *const sums[FX8_N_RESULTS] = {made->sums8.data(), made->sums32.data(),
                                       made->down.data(), made->up.data()};
    for (size_t kind = 0; kind < FX8_N_RESULTS; ++kind)
        dump.sums[kind] = fx8_is_planned(&plan, kind) ? sums[kind] : nullptr;
    dump.counts = made->counts.data();
    dump.clips = made->clips.data();
    must_engine(engine_table().finish_dump(engine, &dump, &error), error);
    engine_table().close(&engine);
    return true;
}

/** Component `part` of a quantised sample, by the definition. */
static double quantised(double value, double gain)
{
    return fmax(-127, fmin(127, rint(value * gain)));
}

/* Floats within their limit; integers within half a step and the limit of the
 * product, so another step off only near a tie; clips exact if no tie is near.
 */
static void check_spectra(const Expected &e, const Made &made)
{
    const Job &job = e.job;
    std::vector<int64_t> least(made.clips.size()), most(made.clips.size());
    size_t n_float = 0, n_step = 0, n_far = 0;
    for (size_t k = 0; k < job.n_cells(); ++k) {
        const size_t input = k % job.n_inputs;
        const size_t c = k / job.n_inputs / job.n_spectra;
        const size_t at = input * job.bank.n_channels + c;
        const double gain = static_cast<double>(e.gains[at]);
        const double x[2] = {e.x[k].real(), e.x[k].imag()};
        const float found[2] = {made.x32[k].re, made.x32[k].im};
        const int8_t step[2] = {made.x8[k].re, made.x8[k].im};
        /* and the product with the gain is rounded */
        const double slack = gain * e.limit[k] + 0x1p-24 * 128;
        double largest = 0;
        for (int part = 0; part < 2; ++part) {
            n_float += !(fabs(static_cast<double>(found[part]) - x[part]) <=
                         e.limit[k]);
            const double exact = fmax(-127, fmin(127, x[part] * gain));
            n_far += !(fabs(step[part] - exact) <= 0.5 + slack);
            n_step += step[part] != quantised(x[part], gain);
            largest = fmax(largest, fabs(x[part] * gain));
        }
        least[at] += largest > 127.5 + slack;
        most[at] += largest >= 127.5 - slack;
    }
    CHECK(n_float == 0 || !is_made(FX8_PRECISION_FP32));
    if (!is_made(FX8_PRECISION_INT8))
        return;
    printf("# %zu of %zu numbers a step apart\n", n_step, 2 * job.n_cells());
    CHECK(n_far == 0);
    /* a float's error is some 2^-21 of 25 steps rms: twice 10^-5 */
    CHECK(n_step * 2000 <= 2 * job.n_cells());
    int64_t n_clips = 0;
    for (size_t k = 0; k < made.clips.size(); ++k) {
        CHECK(least[k] <= made.clips[k] && made.clips[k] <= most[k]);
        n_clips += made.clips[k];
    }
    CHECK(n_clips > 0 || job.bank.n_channels < 6);
}

/** conj(x_i) x_j without rounding, of numbers that are exact in float. */
struct PairSums {
    exact_sum re, im;
    double magnitude;
};

static void add_product(double ri, double mi, double rj, double mj,
                        PairSums *sums)
{
    const float r = static_cast<float>(ri), m = static_cast<float>(mi);
    const float s = static_cast<float>(rj), n = static_cast<float>(mj);
    exact_add_product(&sums->re, s, r);
    exact_add_product(&sums->re, n, m);
    exact_add_product(&sums->im, n, r);
    exact_add_product(&sums->im, -s, m);
    sums->magnitude += hypot(ri, mi) * hypot(rj, mj);
}

static bool is_between(const exact_sum &sum, double low, double high)
{
    return exact_compare(&sum, low) >= 0 && exact_compare(&sum, high) <= 0;
}

/* The sums must be those of the engine's own spectra: integers exactly, floats
 * within their bound (struct fx8_correlate_fp32), and bounds around both. */
static void check_sums(const Job &job, const Made &made)
{
    size_t k = 0;
    for (size_t c = 0; c < job.bank.n_channels; ++c)
        for (size_t j = 0; j < job.n_inputs; ++j)
            for (size_t i = 0; i <= j; ++i, k += 2) {
                PairSums int8 = {}, fp32 = {};
                int64_t count = 0;
                for (size_t t = 0; t < job.n_spectra; ++t) {
                    const size_t a = job.cell(c, t, i), b = job.cell(c, t, j);
                    add_product(made.x8[a].re, made.x8[a].im, made.x8[b].re,
                                made.x8[b].im, &int8);
                    add_product(made.x32[a].re, made.x32[a].im, made.x32[b].re,
                                made.x32[b].im, &fp32);
                    count += job.is_valid(i, t) && job.is_valid(j, t);
                }
                const double bound = 520 * 0x1p-24 * fp32.magnitude;
                for (size_t part = 0; part < 2; ++part) {
                    const double whole =
                        static_cast<double>(made.sums8[k + part]);
                    const double sum = made.sums32[k + part];
                    const exact_sum &exact = part == 0 ? fp32.re : fp32.im;
                    CHECK(!is_made(FX8_PRECISION_INT8) ||
                          is_between(part == 0 ? int8.re : int8.im, whole,
                                     whole));
                    if (!is_made(FX8_PRECISION_FP32))
                        continue;
                    CHECK(is_between(exact, sum - bound, sum + bound));
                    if (job.has_bounds) {
                        CHECK(is_between(exact, made.down[k + part],
                                         made.up[k + part]));
                        CHECK(made.down[k + part] <= sum &&
                              sum <= made.up[k + part]);
                    }
                }
                CHECK(made.counts[fx8_pair_index(i, j)] == count);
            }
}

static void check_job(const Job &job)
{
    const Expected expected(job, &random_state);
    Made made(job);
    if (!make(expected, &made)) {
        printf("# %s: not on this device\n", job.kernel);
        return;
    }
    check_spectra(expected, made);
    check_sums(job, made);
}

/* --- cases -----------------------------------------------------------------
 */

TEST(sums_of_given_spectra_are_exact)
{
    for (const char *kernel : {"auto", "dp4a", "mma", "wgmma"}) {
        check_dump({1, 2, 9}, kernel, false);
        check_dump({5, 3, 130}, kernel, false);
        check_dump({33, 2, 70}, kernel, false);
    }
}

TEST(sums_of_recorded_integers_are_exact)
{
    check_dump({3, 1, 500}, "auto", true);
    check_dump({17, 1, 77}, "auto", true);
}

/* Every kind of bank; N with factors other than two; blocks of a dump. */
TEST(complex_samples_have_the_spectra_and_sums_of_the_definition)
{
    check_job({{true, 16, 4, 16}, 5, 70, false, true, true, "auto"});
    check_job({{true, 30, 3, 20}, 3, 77, true, false, false, "dp4a"});
    check_job({{true, 1, 4, 1}, 3, 90, false, false, true, "mma"});
}

TEST(real_samples_have_the_spectra_and_sums_of_the_definition)
{
    check_job({{false, 48, 4, 24}, 4, 50, false, false, false, "wgmma"});
    check_job({{false, 14, 2, 7}, 2, 33, true, true, false, "auto"});
}

#if !FX8_THREAD_CHECKER && !FX8_ADDRESS_CHECKER
TEST(long_transforms_and_several_blocks)
{
    check_job({{false, 512, 8, 256}, 2, 16, false, false, false, "auto"});
    check_job({{true, 512, 4, 512}, 2, 16, true, true, false, "auto"});
    check_job({{true, 4, 2, 4}, 2, 8192 + 37, false, true, false, "auto"});
}
#endif

#if defined(FX8_CUDA_ON_CPU)
/* Kernels of a precision that are left out are not called. */
TEST(a_precision_is_made_without_the_other)
{
    const struct {
        const char *without, *plant;
    } all[] = {{"fp32", "fp32:crash"},
               {"dp4a,mma,wgmma", "dp4a:crash,mma:crash"}};
    for (const auto &each : all) {
        setenv("FX8_WITHOUT", each.without, 1);
        harness::settings().plant = each.plant;
        check_dump({5, 3, 130}, "auto", false);
        check_job({{true, 16, 4, 16}, 5, 70, false, true, true, "mma"});
        harness::settings().plant = nullptr;
        unsetenv("FX8_WITHOUT");
    }
}
#endif

/* A call of 15 blocks of 8 batches each wants as many slots as a device may
 * have, beside results and a quick-look: all its arrays are listed, even those
 * that find no room in the end. */
TEST(an_engine_with_every_array_is_opened)
{
    const std::vector<float> coefficients(4096 * 2, 1.0F);
    fx8_engine_plan plan = {};
    plan.bank = {true, 4096, 1, 1};
    plan.coefficients = coefficients.data();
    plan.n_inputs = 8;
    plan.spectra_per_dump = 65536;
    plan.precisions = precisions_made();
    plan.machine.kernel = kernel_in_place_of("auto");
    plan.machine.threads.count = 1;
    plan.host_operations = fx8_operations_variant(0);
    plan.n_result_antennas = 8;
    plan.n_result_products = plan.channel_average = plan.consumed_channels = 1;
    plan.n_watched_inputs = 2;
#if defined(FX8_CUDA_ON_CPU)
    harness::settings().memory_bytes = size_t(1) << 30;
    harness::reset_devices();
#endif
    fx8_error error = {};
    struct fx8_engine *engine = nullptr;
    must_engine(engine_table().open(&plan, &engine, &error), error);
    engine_table().close(&engine);
}

} // namespace engine_tests
