/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.cu -- see bench.cuh: the CUDA engine as fx8 uses it, from samples in
 * memory to visibilities in memory, both pinned, the next dump pushed while
 * results of the last one return.  Beside it the rate that its stages allow:
 * channelising and correlating follow each other on the device, copying runs
 * alongside.  Then the quick-look of these visibilities.
 */
#include <algorithm>
#include <thread>

#include "config/base/clock.h"
#include "config/base/shape.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/plugin.h"
#include "kernels/operations.h"
#include "kernels/quicklook_work.h"
#include "validation/cuda/without.h"
#include "validation/gpu/dump.cuh"

/** What the plug-in exports; here it is linked. */
extern "C" const struct fx8_plugin fx8_plugin;

namespace bench
{

namespace
{

const struct Case {
    size_t n_inputs, n_channels;
} cases[] = {{512, 64}, {1024, 32}, {256, 128}, {64, 512}, {16, 1024}};

constexpr size_t TAPS = 8;
constexpr size_t SPECTRA = 65536; /* of a dump */
/* Filling and draining the pipeline are part of the time: a few per cent of so
 * many dumps. */
constexpr size_t DUMPS = 8, QUICK_DUMPS = 2, WARM_UP_DUMPS = 2;
constexpr int ROUNDS = 2;
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

/** The visibilities of a dump, single inputs as antennas, and its quick-look.
 */
struct Results {
    size_t n_inputs, n_channels;
    int64_t n_spectra;
    std::vector<struct fx8_product> products;
    std::vector<float> gain, none, visibilities, nsamples;
    std::vector<uint8_t> unflagged, flags;
    std::vector<uint16_t> coherence, amplitude, phase;
    std::vector<fx8_fisher_sums> sums;
    fx8_quicklook_counts counts = {};
    fx8_quicklook_differences differences = {};

    Results(size_t inputs, size_t channels, size_t spectra)
        : n_inputs(inputs), n_channels(channels),
          n_spectra(static_cast<int64_t>(spectra)),
          products(fx8_pair_count(inputs)), gain(inputs * channels, 1.0F),
          none(gain.size()), visibilities(2 * products.size() * channels),
          nsamples(visibilities.size() / 2), unflagged(gain.size()),
          flags(nsamples.size()), coherence(visibilities.size()),
          amplitude(nsamples.size()), phase(nsamples.size()),
          sums(products.size())
    {
        fx8_baseline_table(n_inputs, 1, products.data());
    }
    fx8_postprocess plan() const
    {
        fx8_postprocess plan = {};
        plan.n_antennas = plan.n_inputs = n_inputs;
        plan.n_products = plan.channel_average = plan.threads.count = 1;
        plan.n_channels = n_channels;
        plan.products = products.data();
        plan.spectra_per_dump = n_spectra;
        plan.gain = gain.data();
        plan.flag_channel = plan.flag_input = plan.flag_cell = unflagged.data();
        plan.remove_bias = true;
        return plan;
    }
    fx8_result place()
    {
        return {visibilities.data(), flags.data(), nsamples.data()};
    }
    /** All inputs of power 1. */
    fx8_quicklook_work work()
    {
        fx8_quicklook_work work = {};
        work.n_products = 1;
        work.n_inputs = n_inputs;
        work.n_baselines = products.size();
        work.n_channels = n_channels;
        work.products_per_cell = static_cast<float>(n_spectra);
        work.mode = FX8_FUNCTIONS_IEEE;
        work.products = products.data();
        work.is_real = unflagged.data();
        work.power = work.weight = work.scale[FX8_FUNCTIONS_IEEE] = gain.data();
        work.steps = none.data();
        work.in = place();
        work.out.coherence = coherence.data();
        work.out.amplitude = amplitude.data();
        work.out.phase = phase.data();
        work.sums = sums.data();
        work.counts = &counts;
        work.differences = &differences;
        return work;
    }
};

/** An engine with samples, masks and memory for results. */
class Engine
{
  public:
    const fx8_engine_operations &operations;
    struct fx8_engine *engine = nullptr;
    std::vector<int8_t> samples;

    Engine(const Bench &bench, const Case &shape, unsigned precision)
        : operations(*fx8_plugin.engines), bank_{true, shape.n_channels, TAPS,
                                                 shape.n_channels},
          n_inputs_(shape.n_inputs),
          n_spectra_(bench.is_tiny() ? TINY_SPECTRA : SPECTRA),
          results_(shape.n_inputs, shape.n_channels, n_spectra_)
    {
        open(bench.settings.device, precision);
        block_spectra_ =
            std::min(n_spectra_, operations.facts(engine)->block_spectra);
        row_stride_ = (block_spectra_ + TAPS - 1) * fx8_filterbank_row(&bank_);
        samples.resize(n_inputs_ * row_stride_);
        uint64_t state = 1;
        for (int8_t &sample : samples) {
            state = state * UINT64_C(6364136223846793005) +
                    UINT64_C(1442695040888963407);
            sample = static_cast<int8_t>(
                static_cast<int>((state >> 40) % 64 + (state >> 50) % 64) - 63);
        }
        /* as the session does */
        pin(samples);
        pin(results_.visibilities);
        pin(results_.nsamples);
        pin(results_.flags);
    }
    ~Engine()
    {
        operations.close(&engine);
    }
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    /** Dumps as the session makes them.  Returned: seconds of one.  The clock
     *  runs from before the first sample is pushed until the last results are
     *  there: whatever is counted was copied and computed in between */
    double run_dumps(size_t n_dumps)
    {
        const double begin = fx8_clock_seconds();
        for (size_t dump = 0; dump < n_dumps; ++dump) {
            push_dump();
            take(true);
            end_dump();
            take(false);
        }
        take(true);
        return (fx8_clock_seconds() - begin) / static_cast<double>(n_dumps);
    }
    void look()
    {
        fx8_error error;
        const fx8_quicklook_work work = results_.work();
        must_engine(operations.consume(engine, &work, &error), error);
    }
    fx8_engine_times times() const
    {
        fx8_engine_times times = {};
        operations.times(engine, &times);
        return times;
    }
    size_t call_spectra() const
    {
        return engine->devices[0].call.most_spectra;
    }
    /** Of a dump; each has two bytes. */
    double n_samples() const
    {
        return static_cast<double>(n_inputs_ * n_spectra_ * bank_.fft_length);
    }

  private:
    template <class T> void pin(std::vector<T> &memory)
    {
        operations.pin(engine, memory.data(), memory.size() * sizeof(T));
    }
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
            block.samples = samples.data();
            block.row_stride = row_stride_;
            block.first_spectrum = static_cast<int64_t>(first);
            block.n_spectra = n;
            block.valid = valid.data();
            must_engine(operations.push(engine, &block, &error), error);
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
        must_engine(operations.end_dump(engine, &plan_, wanted, &error), error);
        has_ended_ = true;
    }
    /** Results of the last dump, if there is one; must_be: wait for them. */
    void take(bool must_be)
    {
        fx8_error error;
        std::vector<int64_t> counts(fx8_pair_count(n_inputs_));
        std::vector<int64_t> clips(n_inputs_ * bank_.n_channels);
        fx8_engine_dump dump = {};
        dump.counts = counts.data();
        dump.clips = clips.data();
        bool is_taken = true;
        if (!has_ended_)
            return;
        must_engine(operations.take_dump(engine, &dump,
                                         must_be ? nullptr : &is_taken, &error),
                    error);
        has_ended_ = !is_taken;
    }
    void open(int device, unsigned precision)
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
        plan.precisions = precision;
        plan.machine.kernel = precision == FX8_PRECISION_INT8
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
        must_engine(operations.open(&plan, &engine, &error), error);
        for (size_t input = 0; input < n_inputs_; ++input)
            must_engine(operations.set_gain(engine, input, results_.gain.data(),
                                            &error),
                        error);
    }

    fx8_filterbank bank_;
    size_t n_inputs_, n_spectra_;
    size_t block_spectra_ = 0, row_stride_ = 0;
    Results results_;
    fx8_postprocess plan_ = {};
    bool has_ended_ = false; /* a dump has ended and was not taken */
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
    (void)run_round(&engine, WARM_UP_DUMPS);
    Round r = run_round(&engine, bench.is_quick() ? QUICK_DUMPS : DUMPS);
    for (int k = 1; k < ROUNDS && !bench.is_quick(); ++k) {
        const Round next = run_round(&engine, DUMPS);
        if (next.whole < r.whole)
            r = next;
    }
    const double copy = bench.ceilings.to_device > 0
                            ? 2 * engine.n_samples() / bench.ceilings.to_device
                            : 0;
    const double compute = r.channelize + r.correlate;
    const double limit = std::max(copy, compute);
    const char *name = precision == FX8_PRECISION_INT8 ? "int8" : "fp32";
    const char *kernel = engine.operations.facts(engine.engine)->kernel;
    /* a machine may refuse */
    const bool is_pinned = fx8_cuda_is_pinned(
        engine.engine, engine.samples.data(), engine.samples.size());
    const double n = engine.n_samples();
    bench.report->text(
        "%6zu x %-5zu %-5s %-10s %6zu %9.0f %11.0f %10.0f %10.0f %6.2f %9.2f "
        "%9.2f  %s%s\n",
        shape.n_inputs, shape.n_channels, name, kernel, engine.call_spectra(),
        n / r.whole * 1e-6, n / r.channelize * 1e-6, n / r.correlate * 1e-6,
        copy > 0 ? n / copy * 1e-6 : 0, limit / r.whole, r.process / r.whole,
        r.look / (r.whole + r.look), copy > compute ? "copying" : "computing",
        is_pinned ? "" : ", samples not pinned");
    if (is_goal_of(bench, Aim::ENGINE, shape.n_inputs, SPECTRA) && copy > 0)
        bench.goals.note(
            Aim::ENGINE, limit / r.whole,
            std::string(kernel) + ", " + std::to_string(shape.n_inputs) +
                " inputs, calls of " + std::to_string(engine.call_spectra()));
    bench.report->row(Row("engine")
                          .number("inputs", shape.n_inputs)
                          .number("channels", shape.n_channels)
                          .text("precision", name)
                          .text("kernel", kernel)
                          .number("call_spectra", engine.call_spectra())
                          .number("is_pinned", is_pinned)
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
        "%zu dumps of %zu spectra, %zu taps, complex samples in pinned memory; "
        "Msamples/s over all\ninputs, from before the first sample is pushed "
        "until the last results are there, the better\nof %d.  Limit: the "
        "longer of the two stages' sum and the copy at its ceiling.  Call: "
        "spectra\nthat are correlated at a time.  Results: the part of the "
        "whole that the host spends on them.\nQuick-look: its part of the "
        "whole and itself.\n"
        "inputs x chan. prec. kernel       call     whole  channelise  "
        "correlate       copy  of limit  results  quick-look\n",
        bench.is_quick() ? QUICK_DUMPS : DUMPS, SPECTRA, TAPS,
        bench.is_quick() ? 1 : ROUNDS);
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
