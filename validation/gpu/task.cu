/* SPDX-License-Identifier: BSD-3-Clause */
/* task.cu -- see task.cuh. */
#include "validation/gpu/task.cuh"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/layout.h"
#include "kernels/operations.h"
#include "validation/cuda/without.h"

namespace bench
{

namespace
{

constexpr size_t SETS = 2;
constexpr size_t CHECKED_CHANNELS = 2;

/* Blocks of the largest tile for each multiprocessor, enough that little of a
 * launch's end is idle. */
constexpr size_t WAVES = 16;
constexpr size_t LARGEST_TILE = 128;

/* A call need not take longer than this on the card's floating-point units. */
constexpr double LONG_S = 0.05;

size_t vectors_of(const Array &a)
{
    return fx8_cuda_channel_vectors(a.n_inputs, a.n_times, FX8_CUDA_TIMES_INT8);
}

size_t sum_numbers(const Array &a)
{
    return 2 * fx8_pair_count(a.n_inputs);
}

/** Floating-point operations / s: the ceiling or, before it is measured, the
 *  most that present cards have. */
double float_rate(const Bench &bench)
{
    int kilohertz = 0;
    must(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate,
                                bench.settings.device),
         "cudaDeviceGetAttribute");
    return bench.ceilings.ffma > 0
               ? bench.ceilings.ffma
               : 2.0 * 128 * 1e3 * kilohertz * bench.card.multiProcessorCount;
}

/** Enough channels for a call to be larger than the cache and to fill the
 *  device, as far as memory allows. item_bytes: of a number, 1 or 4 */
size_t choose_channels(const Bench &bench, const Array &a, size_t item_bytes)
{
    const size_t x_bytes = 16 * vectors_of(a) * item_bytes;
    const size_t sum_bytes = sum_numbers(a) * sizeof(int64_t);
    const size_t side = (a.n_inputs + LARGEST_TILE - 1) / LARGEST_TILE;
    const size_t filling = WAVES *
                           static_cast<size_t>(bench.card.multiProcessorCount) /
                           fx8_pair_count(side);
    const Array one = {a.n_inputs, a.n_times, 1};
    size_t n = std::max(bench.streamed_bytes() / x_bytes, filling);
    n = std::min(
        n, static_cast<size_t>(LONG_S * float_rate(bench) / one.operations()));
    n = std::max(n, CHECKED_CHANNELS);
    const size_t most = bench.free_bytes() / 3 / (SETS * x_bytes + sum_bytes);
    return bench.is_tiny() ? CHECKED_CHANNELS : std::min(n, most);
}

void allocate(Bench &bench, Task *task)
{
    const Array &a8 = task->array8, &a32 = task->array32;
    const size_t tail = FX8_CUDA_TAIL_ROWS * 16;
    const size_t n8 = SETS * a8.n_channels * vectors_of(a8);
    const size_t n32 = SETS * a32.n_channels * vectors_of(a32);
    const size_t n_sums = sum_numbers(a8);
    task->x8.reset(new Memory<int8_t>(16 * std::max(n8, n32) + tail));
    task->x32.reset(new Memory<float>(16 * n32 + tail));
    task->sums.reset(
        new Memory<int64_t>(n_sums * std::max(a8.n_channels, a32.n_channels)));
    task->expected.reset(new Memory<int64_t>(n_sums * CHECKED_CHANNELS));
    fill_noise(bench, task->x8->data(), std::max(n8, n32), 7);
    widen(bench, task->x8->data(), task->x32->data(),
          fx8_cuda_pitch(a8.n_inputs),
          SETS * a32.n_channels * a32.n_times / FX8_CUDA_TIMES_INT8);
    correlate_plainly(bench, task->x8->data(), task->expected->data(),
                      a8.n_inputs, CHECKED_CHANNELS, a8.n_times);
}

} // namespace

Task make_task(Bench &bench, size_t n_inputs, size_t n_times)
{
    Task task = {};
    task.array8 = task.array32 = {n_inputs, n_times, 0};
    task.array8.n_channels = choose_channels(bench, task.array8, 1);
    task.array32.n_channels = choose_channels(bench, task.array32, 4);
    if (task.array8.n_channels < CHECKED_CHANNELS ||
        task.array32.n_channels < CHECKED_CHANNELS) {
        bench.report->text("  # %zu inputs: not enough memory\n", n_inputs);
        task.array8.n_channels = 0;
    } else {
        allocate(bench, &task);
    }
    return task;
}

fx8_cuda_correlation job_of(const Bench &bench, const Task &task, bool is_int8,
                            size_t set)
{
    const Array &a = is_int8 ? task.array8 : task.array32;
    fx8_cuda_correlation job = {};
    job.n_inputs = a.n_inputs;
    job.n_channels = a.n_channels;
    job.n_times = a.n_times;
    job.channel_stride = vectors_of(a) * (is_int8 ? 1 : 4);
    job.x = is_int8 ? static_cast<const void *>(task.x8->data() +
                                                set * a.n_channels *
                                                    job.channel_stride * 16)
                    : static_cast<const void *>(task.x32->data() +
                                                set * a.n_channels *
                                                    job.channel_stride * 4);
    job.sums = task.sums->data();
    job.stream = bench.stream;
    return job;
}

namespace
{

/** Whether the sums of some channels match the definition. */
bool check(Bench &bench, Task *task, const fx8_cuda_correlator &correlator)
{
    fx8_cuda_correlation job = job_of(bench, *task, correlator.is_int8, 0);
    job.n_channels = CHECKED_CHANNELS;
    const size_t n = CHECKED_CHANNELS * sum_numbers(task->array8);
    task->sums->clear(bench);
    must(correlator.accumulate(&job), correlator.name);
    return 0 ==
           (correlator.is_int8
                ? count_differing(bench, task->expected->data(),
                                  task->sums->data(), n)
                : count_differing(
                      bench, task->expected->data(),
                      reinterpret_cast<const double *>(task->sums->data()), n));
}

} // namespace

Figure measure_one(Bench &bench, Task *task,
                   const fx8_cuda_correlator &correlator)
{
    const Array &array = correlator.is_int8 ? task->array8 : task->array32;
    Figure figure = {correlator.name, "", 0, array.operations()};
    if (!correlator.runs_on(&bench.capability)) {
        figure.note = "not on this device";
        return figure;
    }
    if (is_left_out(correlator.name)) {
        figure.note = "left out";
        return figure;
    }
    try {
        if (!check(bench, task, correlator)) {
            figure.note = "DIFFERS";
            ++bench.n_wrong;
            return figure;
        }
        figure.seconds = measure(bench, [&](size_t k) {
            const fx8_cuda_correlation job =
                job_of(bench, *task, correlator.is_int8, k % SETS);
            must(correlator.accumulate(&job), correlator.name);
        });
    } catch (const Failure &failure) {
        figure.note = failure.what();
        ++bench.n_wrong;
    }
    return figure;
}

/** The ceiling for a kernel's share; 0: none. */
static double ceiling_of(const Ceilings &c, const std::string &name)
{
    const struct {
        const char *beginning;
        double ceiling;
    } table[] = {{"dp4a", c.dp4a},
                 {"mma", c.imma},
                 {"wgmma", c.igmma},
                 {"fp32", c.ffma},
                 {"cublasLt int8", std::max(c.imma, c.igmma)}};
    for (const auto &entry : table)
        if (name.compare(0, std::strlen(entry.beginning), entry.beginning) == 0)
            return entry.ceiling;
    return 0;
}

/** Bytes that a call must at least read and write, per second, as a share of a
 *  copy's. */
static double share_of_copy(const Bench &bench, const Array &a,
                            size_t item_bytes, double seconds)
{
    const double bytes =
        static_cast<double>(a.n_channels) *
        (16.0 * static_cast<double>(vectors_of(a) * item_bytes) +
         16.0 * static_cast<double>(sum_numbers(a)));
    return seconds > 0 && bench.ceilings.copy > 0
               ? bytes / seconds / bench.ceilings.copy
               : 0;
}

void print_figure(Bench &bench, const Array &array, const Figure &figure)
{
    const double ceiling = ceiling_of(bench.ceilings, figure.name);
    bench.report->text("  %-18s %5zu inputs %5zu spectra", figure.name.c_str(),
                       array.n_inputs, array.n_times);
    if (figure.seconds > 0)
        bench.report->text(" %9.2f T op/s", figure.rate() * 1e-12);
    if (figure.seconds > 0 && ceiling > 0)
        bench.report->text(" %6.3f of its ceiling", figure.rate() / ceiling);
    bench.report->text("%s%s\n", figure.note.empty() ? "" : " ",
                       figure.note.c_str());
}

void tell_figure(Bench &bench, const Array &array, const Figure &figure,
                 size_t item_bytes)
{
    const double ceiling = ceiling_of(bench.ceilings, figure.name);
    Row row("correlator");
    row.text("kernel", figure.name)
        .number("inputs", array.n_inputs)
        .number("times", array.n_times)
        .number("operations", figure.operations)
        .number("seconds", figure.seconds)
        .number("operations_s", figure.rate());
    if (ceiling > 0)
        row.number("of_ceiling", figure.rate() / ceiling);
    if (item_bytes > 0)
        row.number("of_copy",
                   share_of_copy(bench, array, item_bytes, figure.seconds));
    if (!figure.note.empty())
        row.text("note", figure.note);
    bench.report->row(row);
    print_figure(bench, array, figure);
}

const Figure *best_of(const std::vector<Figure> &figures, const char *kind)
{
    const Figure *best = nullptr;
    for (const Figure &figure : figures)
        if (figure.name.compare(0, std::strlen(kind), kind) == 0 &&
            figure.seconds > 0 &&
            (best == nullptr || figure.rate() > best->rate()))
            best = &figure;
    return best;
}

const Figure *best_of_integers(const std::vector<Figure> &figures)
{
    const Figure *best = nullptr;
    for (const char *kind : integer_kinds) {
        const Figure *const each = best_of(figures, kind);
        if (each != nullptr && (best == nullptr || each->rate() > best->rate()))
            best = each;
    }
    return best;
}

size_t times_of_call(Bench &bench, size_t n_inputs)
{
    const std::string head =
        "  " + std::to_string(n_inputs) + " inputs, calls of the engine: ";
    if (call_of_engine == nullptr) {
        bench.report->text("%snot measured: this program has none\n",
                           head.c_str());
        return 0;
    }
    try {
        const size_t n_times = call_of_engine(bench, n_inputs);
        bench.report->text("%s%zu spectra\n", head.c_str(), n_times);
        return n_times;
    } catch (const Failure &failure) {
        bench.report->text("%snot measured: FAILED: %s\n", head.c_str(),
                           failure.what());
        bench.report->row(Row("failure")
                              .text("section", "calls of the engine")
                              .text("what", failure.what()));
        ++bench.n_wrong;
        return 0;
    }
}

void note_goals(Bench &bench, size_t n_inputs, size_t n_times,
                const std::vector<Figure> &figures)
{
    const Figure *const integer = best_of_integers(figures);
    const auto rate_of = [&](const char *name) {
        const Figure *const best = best_of(figures, name);
        return best != nullptr ? best->rate() : 0;
    };
    const double sheet = sheet_of(bench.card.name);
    const struct {
        Aim aim;
        const Figure *figure;
        double rate; /* of its ceiling; 0: not known */
    } shares[] = {
        {Aim::FP32, best_of(figures, "fp32"), bench.ceilings.ffma},
        {Aim::DP4A, best_of(figures, "dp4a"), bench.ceilings.dp4a},
        {Aim::MMA, best_of(figures, "mma"), bench.ceilings.imma},
        {Aim::WGMMA_512, best_of(figures, "wgmma"), sheet},
        {Aim::WGMMA_2048, best_of(figures, "wgmma"), sheet},
        {Aim::PEER, integer, rate_of("cublasLt int8")},
        {Aim::CORE, integer, rate_of("one core int8")},
    };
    for (const auto &share : shares)
        if (share.figure != nullptr && share.rate > 0 &&
            is_goal_of(bench, share.aim, n_inputs, n_times))
            bench.goals.note(share.aim, share.figure->rate() / share.rate,
                             share.figure->name + ", " +
                                 std::to_string(n_inputs) + " inputs, " +
                                 std::to_string(n_times) + " spectra");
}

} // namespace bench
