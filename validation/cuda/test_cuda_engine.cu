/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_engine.cu -- the CUDA engine whole, against sums by the definition:
 * on the harness, and, compiled by nvcc, on a card with no package but CUDA.
 * What needs the CPU's engine beside it is in test_engine_cuda.c.
 */
#include "config/shape.h"
#include "kernels/engine_find.h"
#include "validation/cuda/device_array.h"

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
        plan.precisions = FX8_ENGINE_INT8 | FX8_ENGINE_FP32;
        plan.kernel = kernel;
        plan.n_threads = 1;
        plan.host_operations = fx8_operations_level(0);
        status_ = engine_table().open(&plan, &engine_, &error_);
    }
    ~Engine()
    {
        engine_table().close(&engine_);
    }
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    /** Not every card has the instructions of a kernel. */
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
    /** A dump from spectra, or, with one channel, from samples. */
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
        must_engine(from_samples
                        ? engine_table().push(engine_, &block, &error)
                        : engine_table().import_spectra(
                              engine_, &block, x.data(), floats.data(), &error),
                    error);
        Sums sums(s);
        fx8_engine_dump dump = {};
        dump.sums_int8 = sums.int8.data();
        dump.sums_fp32 = sums.fp32.data();
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
        CHECK(sums.int8 == expected.int8);
        CHECK(sums.fp32 == expected.fp32); /* integers: exact */
        CHECK(sums.counts == expected.counts);
    }
}

/* --- cases -----------------------------------------------------------------
 */

CASE(sums_of_given_spectra_are_exact)
{
    for (const char *kernel : {"auto", "dp4a", "mma", "wgmma"}) {
        check_dump({1, 2, 9}, kernel, false);
        check_dump({5, 3, 130}, kernel, false);
        check_dump({33, 2, 70}, kernel, false);
    }
}

CASE(sums_of_recorded_integers_are_exact)
{
    check_dump({3, 1, 500}, "auto", true);
    check_dump({17, 1, 77}, "auto", true);
}

int main()
{
    return run_all_on_device();
}
