/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.cu -- see bench.cuh: the CUDA engine as fx8 uses it, from samples in
 * memory to visibilities in memory, both pinned, the next dump pushed while
 * results of the last one return.  Beside it the rate that its stages allow:
 * channelising and correlating follow each other on the device, copying runs
 * alongside.  Then the quick-look of these visibilities.
 */
#include <algorithm>
#include <memory>
#include <thread>

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/engine_find.h"
#include "kernels/operations.h"
#include "kernels/quicklook_work.h"
#include "validation/cuda/without.h"
#include "validation/gpu/bench.cuh"

/** What the plug-in exports; here it is linked. */
extern "C" const struct fx8_engine_plugin fx8_engine_plugin;

namespace bench
{

namespace
{

const struct Case {
    size_t n_inputs, n_channels;
} cases[] = {{512, 64}, {1024, 32}, {256, 128}, {64, 512}, {16, 1024}};

constexpr size_t TAPS = 8;
constexpr size_t SPECTRA = 65536; /* of a dump */
constexpr unsigned MOST_THREADS = 16;

/* Inputs times channels of one band of a case. */
constexpr size_t ROWS = 32768;
/* The least samples that are worth pinning. */
constexpr size_t TINY_CHANNELS = 64, TINY_SPECTRA = 512;

/** The calls of an engine; errors are thrown. */
void must_engine(enum fx8_status status, const fx8_error &error)
{
    if (status != FX8_OK)
        throw Failure(error.message);
}

/** The visibilities of a dump, single inputs as antennas, and the plan that
 *  makes them. */
class Results
{
  public:
    Results(size_t n_inputs, size_t n_channels, size_t n_spectra)
        : n_inputs_(n_inputs), n_channels_(n_channels),
          n_spectra_(static_cast<int64_t>(n_spectra)),
          n_baselines_(fx8_pair_count(n_inputs)),
          gain_(n_inputs * n_channels, 1.0F), unflagged_(gain_.size()),
          visibilities_(2 * n_baselines_ * n_channels),
          nsamples_(n_baselines_ * n_channels), flags_(nsamples_.size()),
          none_(gain_.size()), coherence_(visibilities_.size()),
          amplitude_(nsamples_.size()), phase_(nsamples_.size()),
          sums_(n_baselines_)
    {
        for (uint32_t i = 0; i < n_inputs; ++i)
            for (uint32_t j = i; j < n_inputs; ++j)
                products_.push_back(
                    {static_cast<uint32_t>(fx8_pair_index(i, j)), i, j, 0});
    }
    fx8_postprocess plan() const
    {
        fx8_postprocess plan = {};
        plan.n_antennas = plan.n_inputs = n_inputs_;
        plan.n_products = plan.channel_average = plan.threads.count = 1;
        plan.n_channels = n_channels_;
        plan.products = products_.data();
        plan.spectra_per_dump = n_spectra_;
        plan.gain = gain_.data();
        plan.flag_channel = plan.flag_input = plan.flag_cell =
            unflagged_.data();
        plan.remove_bias = true;
        return plan;
    }
    fx8_result place()
    {
        return {visibilities_.data(), flags_.data(), nsamples_.data()};
    }
    /** Pin the results, as the session does. */
    void pin(const fx8_engine_operations &operations, fx8_engine *engine)
    {
        operations.pin(engine, visibilities_.data(),
                       visibilities_.size() * sizeof(float));
        operations.pin(engine, nsamples_.data(),
                       nsamples_.size() * sizeof(float));
        operations.pin(engine, flags_.data(), flags_.size());
    }
    /** All inputs of power 1. */
    fx8_quicklook_work work()
    {
        fx8_quicklook_work work = {};
        work.n_products = 1;
        work.n_inputs = n_inputs_;
        work.n_baselines = n_baselines_;
        work.n_channels = n_channels_;
        work.products_per_cell = static_cast<float>(n_spectra_);
        work.mode = FX8_FUNCTIONS_IEEE;
        work.products = products_.data();
        work.is_real = unflagged_.data();
        work.power = work.weight = work.scale[FX8_FUNCTIONS_IEEE] =
            gain_.data();
        work.steps = none_.data();
        work.in = place();
        work.out.coherence = coherence_.data();
        work.out.amplitude = amplitude_.data();
        work.out.phase = phase_.data();
        work.sums = sums_.data();
        work.counts = &counts_;
        work.differences = &differences_;
        return work;
    }

  private:
    size_t n_inputs_, n_channels_;
    int64_t n_spectra_;
    size_t n_baselines_;
    std::vector<struct fx8_product> products_;
    std::vector<float> gain_;
    std::vector<uint8_t> unflagged_;
    std::vector<float> visibilities_, nsamples_;
    std::vector<uint8_t> flags_;
    std::vector<float> none_;
    std::vector<uint16_t> coherence_, amplitude_, phase_;
    std::vector<fx8_fisher_sums> sums_;
    fx8_quicklook_counts counts_ = {};
    fx8_quicklook_differences differences_ = {};
};

/** An engine with samples, masks and memory for results. */
class Engine
{
  public:
    Engine(const Bench &bench, const Case &shape, unsigned precision)
        : bank_{true, shape.n_channels, TAPS, shape.n_channels},
          n_inputs_(shape.n_inputs), precision_(precision),
          n_spectra_(bench.is_tiny() ? TINY_SPECTRA : SPECTRA),
          operations_(*fx8_engine_plugin.operations),
          results_(shape.n_inputs, shape.n_channels, n_spectra_)
    {
        open(bench.settings.device);
        block_spectra_ =
            std::min(n_spectra_, operations_.block_spectra(engine_));
        row_stride_ = (block_spectra_ + TAPS - 1) * fx8_filterbank_row(&bank_);
        samples_.resize(n_inputs_ * row_stride_);
        uint64_t state = 1;
        for (int8_t &sample : samples_) {
            state = state * UINT64_C(6364136223846793005) +
                    UINT64_C(1442695040888963407);
            sample = static_cast<int8_t>(
                static_cast<int>((state >> 40) % 64 + (state >> 50) % 64) - 63);
        }
        counts_.resize(fx8_pair_count(n_inputs_));
        clips_.resize(n_inputs_ * bank_.n_channels);
        operations_.pin(engine_, samples_.data(), samples_.size());
        results_.pin(operations_, engine_);
    }
    ~Engine()
    {
        operations_.close(&engine_);
    }
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    /** Dumps as the session makes them.  Returned: seconds of one, from results
     *  to results, those of the first and of the last */
    double run_dumps(size_t n_dumps)
    {
        taken_s_.clear();
        for (size_t dump = 0; dump < n_dumps; ++dump) {
            push_dump();
            take(true);
            end_dump();
            take(false);
        }
        take(true);
        return (taken_s_.back() - taken_s_.front()) /
               static_cast<double>(n_dumps - 1);
    }
    void look()
    {
        fx8_error error;
        const fx8_quicklook_work work = results_.work();
        must_engine(operations_.consume(engine_, &work, &error), error);
    }
    fx8_engine_times times() const
    {
        fx8_engine_times times = {};
        operations_.times(engine_, &times);
        return times;
    }
    size_t call_spectra() const
    {
        return engine_->devices[0].call.most_spectra;
    }
    /** Whether the samples are pinned: a machine may refuse. */
    bool is_pinned() const
    {
        return fx8_cuda_is_pinned(engine_, samples_.data(), samples_.size());
    }
    const char *kernel() const
    {
        return operations_.kernel_name(engine_);
    }
    /** Of a dump. */
    double n_samples() const
    {
        return static_cast<double>(n_inputs_ * n_spectra_ * bank_.fft_length);
    }
    double n_bytes() const
    {
        return 2 * n_samples();
    }

  private:
    void push_dump()
    {
        fx8_error error;
        for (size_t first = 0; first < n_spectra_; first += block_spectra_) {
            const size_t n = std::min(block_spectra_, n_spectra_ - first);
            const size_t words = fx8_bit_words(n);
            /* Bits beyond the last spectrum are clear. */
            std::vector<uint64_t> valid(n_inputs_ * words, UINT64_MAX);
            if (n % 64 != 0)
                for (size_t i = 0; i < n_inputs_; ++i)
                    valid[(i + 1) * words - 1] = UINT64_MAX >> (64 - n % 64);
            fx8_engine_block block = {};
            block.samples = samples_.data();
            block.row_stride = row_stride_;
            block.first_spectrum = static_cast<int64_t>(first);
            block.n_spectra = n;
            block.valid = valid.data();
            must_engine(operations_.push(engine_, &block, &error), error);
            if (first + n < n_spectra_)
                take(false);
        }
    }
    void end_dump()
    {
        fx8_error error;
        plan_ = results_.plan();
        const fx8_result wanted[FX8_N_RESULTS] = {results_.place(),
                                                  results_.place()};
        must_engine(operations_.end_dump(engine_, &plan_, wanted, &error),
                    error);
        has_ended_ = true;
    }
    /** Results of the last dump, if there is one; must_be: wait for them. */
    void take(bool must_be)
    {
        fx8_error error;
        fx8_engine_dump dump = {};
        dump.counts = counts_.data();
        dump.clips = clips_.data();
        bool is_taken = true;
        if (!has_ended_)
            return;
        must_engine(operations_.take_dump(
                        engine_, &dump, must_be ? nullptr : &is_taken, &error),
                    error);
        if (!is_taken)
            return;
        has_ended_ = false;
        taken_s_.push_back(fx8_clock_seconds());
    }
    void open(int device)
    {
        std::vector<double> weights(TAPS * bank_.fft_length);
        std::vector<float> coefficients(TAPS * fx8_filterbank_row(&bank_));
        fx8_filterbank_weights(FX8_FILTER_HAMMING, TAPS, bank_.fft_length, true,
                               weights.data());
        fx8_filterbank_coefficients(&bank_, weights.data(), false, false,
                                    coefficients.data());
        fx8_engine_plan plan = {};
        plan.bank = bank_;
        plan.coefficients = coefficients.data();
        plan.n_inputs = n_inputs_;
        plan.spectra_per_dump = static_cast<int64_t>(n_spectra_);
        plan.precisions = precision_;
        plan.machine.kernel = precision_ == FX8_PRECISION_INT8
                                  ? kernel_in_place_of("auto")
                                  : "auto";
        plan.devices = &device;
        plan.n_devices = 1;
        plan.host_operations = fx8_operations_variant(0);
        plan.machine.threads.count = std::max(
            1U, std::min(MOST_THREADS, std::thread::hardware_concurrency()));
        plan.n_result_antennas = n_inputs_;
        plan.n_result_products = plan.channel_average = 1;
        plan.consumed_channels = bank_.n_channels;
        fx8_error error;
        must_engine(operations_.open(&plan, &engine_, &error), error);
        const std::vector<float> gain(bank_.n_channels, 1.0F);
        for (size_t input = 0; input < n_inputs_; ++input)
            must_engine(
                operations_.set_gain(engine_, input, gain.data(), &error),
                error);
    }

    fx8_filterbank bank_;
    size_t n_inputs_;
    unsigned precision_;
    size_t n_spectra_;
    const fx8_engine_operations &operations_;
    struct fx8_engine *engine_ = nullptr;
    size_t block_spectra_ = 0, row_stride_ = 0;
    std::vector<int8_t> samples_;
    std::vector<int64_t> counts_, clips_;
    Results results_;
    fx8_postprocess plan_ = {};
    bool has_ended_ = false;      /* a dump has ended and was not taken */
    std::vector<double> taken_s_; /* times at which dumps were taken */
};

/** Seconds of a dump. */
struct Round {
    double whole, channelize, correlate, process, look; /* last: after whole */
};

/** The times of stages are for all dumps: once the last one was taken, all are
 *  done. */
Round run_round(Engine *engine, size_t n_dumps)
{
    const double n = static_cast<double>(n_dumps);
    const fx8_engine_times before = engine->times();
    const double whole = engine->run_dumps(n_dumps);
    const fx8_engine_times after = engine->times();
    const double begin = fx8_clock_seconds();
    engine->look();
    return {whole, (after.channelize_s - before.channelize_s) / n,
            (after.correlate_s - before.correlate_s) / n,
            (after.process_s - before.process_s) / n,
            fx8_clock_seconds() - begin};
}

void measure_case(Bench &bench, const Case &shape, unsigned precision)
{
    Engine engine(bench, shape, precision);
    (void)run_round(&engine, 2); /* warm-up */
    std::vector<Round> rounds;
    for (int k = 0; k < (bench.is_quick() ? 1 : 3); ++k)
        rounds.push_back(run_round(&engine, bench.is_quick() ? 2 : 4));
    std::sort(rounds.begin(), rounds.end(),
              [](const Round &a, const Round &b) { return a.whole < b.whole; });
    const Round &r = rounds[rounds.size() / 2];
    const double copy = bench.ceilings.to_device > 0
                            ? engine.n_bytes() / bench.ceilings.to_device
                            : 0;
    const double compute = r.channelize + r.correlate;
    const double limit = std::max(copy, compute);
    const char *name = precision == FX8_PRECISION_INT8 ? "int8" : "fp32";
    const double n = engine.n_samples();
    bench.report->text(
        "%6zu x %-5zu %-5s %-10s %6zu %9.0f %11.0f %10.0f %10.0f %6.2f %9.2f "
        "%9.2f  %s%s\n",
        shape.n_inputs, shape.n_channels, name, engine.kernel(),
        engine.call_spectra(), n / r.whole * 1e-6, n / r.channelize * 1e-6,
        n / r.correlate * 1e-6, copy > 0 ? n / copy * 1e-6 : 0, limit / r.whole,
        r.process / r.whole, r.look / (r.whole + r.look),
        copy > compute ? "copying" : "computing",
        engine.is_pinned() ? "" : ", samples not pinned");
    if (is_goal_of(bench, Aim::ENGINE, shape.n_inputs, SPECTRA) && copy > 0)
        bench.goals.note(Aim::ENGINE, limit / r.whole,
                         std::string(engine.kernel()) + ", " +
                             std::to_string(shape.n_inputs) +
                             " inputs, calls of " +
                             std::to_string(engine.call_spectra()));
    bench.report->row(
        Row("engine")
            .number("inputs", static_cast<double>(shape.n_inputs))
            .number("channels", static_cast<double>(shape.n_channels))
            .text("precision", name)
            .text("kernel", engine.kernel())
            .number("call_spectra", static_cast<double>(engine.call_spectra()))
            .number("is_pinned", engine.is_pinned())
            .number("samples", n)
            .number("whole_s", r.whole)
            .number("channelize_s", r.channelize)
            .number("correlate_s", r.correlate)
            .number("process_s", r.process)
            .number("look_s", r.look)
            .number("copy_s", copy)
            .number("of_limit", limit / r.whole));
}

/** A case that fails does not stop the others. */
void try_case(Bench &bench, const Case &shape, unsigned precision)
{
    try {
        measure_case(bench, shape, precision);
    } catch (const Failure &failure) {
        bench.report->text("%6zu FAILED: %s\n", shape.n_inputs, failure.what());
        ++bench.n_wrong;
    }
}

} // namespace

size_t call_of_engine(const Bench &bench, size_t n_inputs)
{
    const Case shape = {n_inputs, bench.is_tiny() ? 4 : ROWS / n_inputs};
    return Engine(bench, shape,
                  are_left_out(true) ? FX8_PRECISION_FP32 : FX8_PRECISION_INT8)
        .call_spectra();
}

void measure_engine(Bench &bench)
{
    bench.report->text(
        "Dumps of %zu spectra, %zu taps, complex samples in pinned memory, one "
        "dump after the other;\nMsamples/s over all inputs.  Limit: the longer "
        "of the two stages' sum and the copy at its\nceiling.  Call: spectra "
        "that are correlated at a time.  Results: the part of the whole that "
        "the\nhost spends on them.  Quick-look: its part of the whole and "
        "itself.\n"
        "inputs x chan. prec. kernel       call     whole  channelise  "
        "correlate"
        "       copy  of limit  results  quick-look\n",
        SPECTRA, TAPS);
    for (const Case &shape : cases) {
        if (bench.is_tiny() && shape.n_inputs != 16)
            continue;
        if (bench.settings.extent == Extent::QUICK && shape.n_inputs != 64 &&
            shape.n_inputs != 512)
            continue;
        const Case used = {shape.n_inputs,
                           bench.is_tiny() ? TINY_CHANNELS : shape.n_channels};
        for (const unsigned precision :
             {FX8_PRECISION_INT8, FX8_PRECISION_FP32}) {
            const char *const why =
                are_left_out(precision == FX8_PRECISION_INT8) ? "left out"
                : bench.has_time()                            ? nullptr
                                                              : "out of time";
            if (why == nullptr)
                try_case(bench, used, precision);
            else
                bench.report->text("%6zu not measured: %s\n", shape.n_inputs,
                                   why);
        }
    }
}

} // namespace bench
