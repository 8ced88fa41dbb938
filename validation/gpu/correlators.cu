/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlators.cu -- see bench.cuh: every correlator for arrays from small to
 * large and calls from short to long, beside the ceilings, cuBLAS and the CPU.
 *
 * The job of a call is larger than the cache, and a second one of as many
 * bytes takes turns with it.  Every kernel first correlates some channels from
 * zeroed sums: all must have the same integers, or it is not measured.
 */
#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/cuda/layout.h"
#include "kernels/operations.h"
#include "validation/cuda/without.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

namespace
{

/* First what goals are about: time may run out. */
const size_t all_inputs[] = {512, 1024, 2048, 256, 128, 64, 32, 16};
const size_t all_times[] = {8192, 1024, 256};

/** Every correlator, integers first: theirs are the sums to agree with. */
std::vector<fx8_cuda_correlator> all_correlators()
{
    size_t n;
    const fx8_cuda_correlator *all = fx8_cuda_correlators(&n);
    std::vector<fx8_cuda_correlator> list(all, all + n);
    std::stable_partition(
        list.begin(), list.end(),
        [](const fx8_cuda_correlator &each) { return each.is_int8; });
    return list;
}

constexpr size_t SETS = 2;
constexpr size_t CHECKED_CHANNELS = 2;

/* Blocks of the largest tile, so that what is left over at the end of a launch
 * is little: so many for each multiprocessor. */
constexpr size_t WAVES = 16;
constexpr size_t LARGEST_TILE = 128;

/* Beyond what the card's floating-point units do in this time a call need not
 * grow. */
constexpr double LONG_S = 0.05;

size_t vectors_of(const Array &a)
{
    return fx8_cuda_channel_vectors(a.n_inputs, a.n_times, FX8_CUDA_TIMES_INT8);
}

size_t sum_numbers(const Array &a)
{
    return 2 * fx8_pair_count(a.n_inputs);
}

/** Channels so that a call is larger than the cache and fills the device, as
 *  far as memory goes.  item_bytes: of a number, 1 or 4 */
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
    n = std::min(n, static_cast<size_t>(LONG_S * bench.ceilings.ffma /
                                        one.operations()));
    n = std::max(n, CHECKED_CHANNELS);
    const size_t most = bench.free_bytes() / 3 / (SETS * x_bytes + sum_bytes);
    return bench.is_tiny() ? CHECKED_CHANNELS : std::min(n, most);
}

/* --- one kernel ------------------------------------------------------------
 */

/** Spectra of both precisions and the sums that the first kernel made. */
struct Task {
    Array array8, array32;
    std::unique_ptr<Memory<int8_t>> x8;
    std::unique_ptr<Memory<float>> x32;
    std::unique_ptr<Memory<int64_t>> sums; /* int64 or double */
    std::unique_ptr<Memory<int64_t>> expected;
    bool has_expected;
};

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

/** Whether the sums of some channels are those of the first kernel. */
bool check(Bench &bench, Task *task, const fx8_cuda_correlator &correlator)
{
    fx8_cuda_correlation job = job_of(bench, *task, correlator.is_int8, 0);
    job.n_channels = std::min(job.n_channels, CHECKED_CHANNELS);
    const size_t n = job.n_channels * sum_numbers(task->array8);
    must(cudaMemsetAsync(task->sums->data(), 0, n * sizeof(int64_t),
                         bench.stream),
         "cudaMemsetAsync");
    must(correlator.accumulate(&job), correlator.name);
    if (!task->has_expected) {
        must(cudaMemcpyAsync(task->expected->data(), task->sums->data(),
                             n * sizeof(int64_t), cudaMemcpyDeviceToDevice,
                             bench.stream),
             "copy of sums");
        task->has_expected = true;
        return true;
    }
    return 0 ==
           (correlator.is_int8
                ? count_differing(bench, task->expected->data(),
                                  task->sums->data(), n)
                : count_differing(
                      bench, task->expected->data(),
                      reinterpret_cast<const double *>(task->sums->data()), n));
}

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

/* --- an array --------------------------------------------------------------
 */

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
}

/** The ceiling that a kernel is a share of. */
double ceiling_of(const Ceilings &c, const std::string &name)
{
    const struct {
        const char *beginning;
        double ceiling;
    } table[] = {
        {"dp4a", c.dp4a},         {"mma", c.imma},
        {"wgmma", c.igmma},       {"fp32", c.ffma},
        {"cublasCherk ", c.ffma}, {"cublasLt int8", std::max(c.imma, c.igmma)}};
    for (const auto &entry : table)
        if (name.compare(0, std::strlen(entry.beginning), entry.beginning) == 0)
            return entry.ceiling;
    return 0;
}

/** Bytes that a call must read and write at least, per second, beside those of
 *  a copy. */
double share_of_copy(const Bench &bench, const Array &a, size_t item_bytes,
                     double seconds)
{
    const double bytes =
        static_cast<double>(a.n_channels) *
        (16.0 * static_cast<double>(vectors_of(a) * item_bytes) +
         16.0 * static_cast<double>(sum_numbers(a)));
    return seconds > 0 && bench.ceilings.copy > 0
               ? bytes / seconds / bench.ceilings.copy
               : 0;
}

void tell_figure(Bench &bench, const Array &array, const Figure &figure,
                 size_t item_bytes)
{
    const double ceiling = ceiling_of(bench.ceilings, figure.name);
    Row row("correlator");
    row.text("kernel", figure.name)
        .number("inputs", static_cast<double>(array.n_inputs))
        .number("times", static_cast<double>(array.n_times))
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
    if (!figure.note.empty() && figure.note != "not on this device" &&
        bench.told.insert(figure.name + figure.note).second)
        bench.report->text("  # %zu inputs, %s: %s\n", array.n_inputs,
                           figure.name.c_str(), figure.note.c_str());
}

/** The fastest figure of a kind, or null. */
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

/** What an array is told of. */
struct Line {
    std::vector<Figure> figures; /* correlators, peers, CPU */
    Array array8;                /* of INT8 correlators */
    size_t host_times[2];        /* what the CPU measured: INT8, FP32 */
};

/** The CPU on an array of these inputs and times. */
void measure_host(Bench &bench, const Host &host, const Task &task, Line *line)
{
    for (const bool is_int8 : {true, false}) {
        Array array = task.array8;
        line->figures.push_back(host.measure(is_int8, &array));
        line->host_times[is_int8 ? 0 : 1] = array.n_times;
        tell_figure(bench, array, line->figures.back(), 0);
    }
}

Line measure_array(Bench &bench, const Host &host, size_t n_inputs,
                   size_t n_times)
{
    Task task = {};
    Line line = {};
    std::vector<Figure> &figures = line.figures;
    task.array8 = task.array32 = {n_inputs, n_times, 0};
    task.array8.n_channels = choose_channels(bench, task.array8, 1);
    task.array32.n_channels = choose_channels(bench, task.array32, 4);
    if (task.array8.n_channels < CHECKED_CHANNELS ||
        task.array32.n_channels < CHECKED_CHANNELS) {
        bench.report->text("  # %zu inputs: not enough memory\n", n_inputs);
        return line;
    }
    allocate(bench, &task);
    for (const fx8_cuda_correlator &each : all_correlators()) {
        figures.push_back(measure_one(bench, &task, each));
        tell_figure(bench, each.is_int8 ? task.array8 : task.array32,
                    figures.back(), each.is_int8 ? 1 : 4);
    }
    task.x32.reset();
    for (const Figure &peer : measure_peers(bench, task.array8, task.x8->data(),
                                            task.expected->data())) {
        figures.push_back(peer);
        tell_figure(bench, task.array8, peer, 0);
    }
    line.array8 = task.array8;
    measure_host(bench, host, task, &line);
    return line;
}

/* --- tables ----------------------------------------------------------------
 */

const char *const kinds[] = {"dp4a", "mma", "wgmma", "fp32"};

/* What the CPU is compared with: the fastest kernel of its precision. */
const struct {
    const char *host;
    std::vector<const char *> kinds;
} ratios[] = {{"CPU int8", {"dp4a", "mma", "wgmma"}}, {"CPU fp32", {"fp32"}}};

/** Columns beside those of the correlators. */
std::vector<std::string> other_names()
{
    std::vector<std::string> names = peer_names();
    for (const auto &ratio : ratios)
        names.push_back(ratio.host);
    return names;
}

void print_head(Bench &bench, const Host &host, size_t n_times)
{
    bench.report->text(
        "\n%zu spectra a call, T op/s; then shares of ceilings by the fastest "
        "of a kind, of the copy\nby the fastest of INT8, and the fastest of a "
        "precision over the CPU (%s), with\nthe spectra of a call there\n"
        "inputs",
        n_times, host.describe().c_str());
    for (const fx8_cuda_correlator &each : all_correlators())
        bench.report->text(" %9s", each.name);
    for (const std::string &name : other_names())
        bench.report->text(" | %s", name.c_str());
    for (const char *kind : kinds)
        bench.report->text(" %5s", kind);
    bench.report->text("  copy");
    for (const auto &ratio : ratios)
        bench.report->text(" | over %s, spectra", ratio.host);
    bench.report->text("\n");
}

/** A figure of a column, or a dash for none. */
void print_cell(Bench &bench, int width, int digits, double value)
{
    if (value > 0)
        bench.report->text("%*.*f", width, digits, value);
    else
        bench.report->text("%*s", width, "-");
}

/** The fastest kernel of a precision, or null. */
const Figure *fastest_of(const std::vector<Figure> &figures, size_t ratio)
{
    const Figure *fastest = nullptr;
    for (const char *kind : ratios[ratio].kinds) {
        const Figure *const best = best_of(figures, kind);
        if (best != nullptr &&
            (fastest == nullptr || best->rate() > fastest->rate()))
            fastest = best;
    }
    return fastest;
}

/** How many times faster than the CPU; 0: one of them was not measured. */
double over_host(const std::vector<Figure> &figures, size_t ratio)
{
    const Figure *const card = fastest_of(figures, ratio);
    const Figure *const host = best_of(figures, ratios[ratio].host);
    return card != nullptr && host != nullptr ? card->rate() / host->rate() : 0;
}

void print_line(Bench &bench, size_t n_inputs, const Line &line)
{
    const std::vector<fx8_cuda_correlator> all = all_correlators();
    const std::vector<std::string> others = other_names();
    bench.report->text("%6zu", n_inputs);
    for (size_t k = 0; k < line.figures.size(); ++k) {
        const size_t width =
            k < all.size() ? 1 + std::max<size_t>(9, std::strlen(all[k].name))
                           : 3 + others[k - all.size()].size();
        print_cell(bench, static_cast<int>(width), 2,
                   line.figures[k].rate() * 1e-12);
    }
    for (const char *kind : kinds) {
        const Figure *const best = best_of(line.figures, kind);
        const double ceiling = ceiling_of(bench.ceilings, kind);
        print_cell(bench, 6, 2,
                   best != nullptr && ceiling > 0 ? best->rate() / ceiling : 0);
    }
    const Figure *const fastest = fastest_of(line.figures, 0);
    print_cell(bench, 6, 2,
               fastest != nullptr
                   ? share_of_copy(bench, line.array8, 1, fastest->seconds)
                   : 0);
    for (size_t ratio = 0; ratio < 2; ++ratio) {
        const double over = over_host(line.figures, ratio);
        print_cell(bench, 16, 1, over);
        bench.report->text(" %8zu", line.host_times[ratio]);
        bench.report->row(Row("over_cpu")
                              .text("cpu", ratios[ratio].host)
                              .number("inputs", static_cast<double>(n_inputs))
                              .number("cpu_times", static_cast<double>(
                                                       line.host_times[ratio]))
                              .number("ratio", over));
    }
    bench.report->text("\n");
}

/** What the goals make of an array. */
void note_goals(Bench &bench, size_t n_inputs, const Line &line)
{
    const struct {
        Aim share, over_peer;
        const char *kind;
        double ceiling;
        std::vector<const char *> peers;
    } aims[] = {
        {Aim::FP32,
         Aim::FP32_PEER,
         "fp32",
         bench.ceilings.ffma,
         {"cublasCherk "}},
        {Aim::DP4A,
         Aim::DP4A_PEER,
         "dp4a",
         bench.ceilings.dp4a,
         {"cublasCherk3m", "cublasLt"}},
        {Aim::MMA,
         Aim::MMA_PEER,
         "mma",
         bench.ceilings.imma,
         {"cublasCherk3m", "cublasLt"}},
        {Aim::WGMMA,
         Aim::WGMMA_PEER,
         "wgmma",
         sheet_of(bench.card.name),
         {"cublasCherk3m", "cublasLt"}},
    };
    for (const auto &aim : aims) {
        const Figure *const best = best_of(line.figures, aim.kind);
        if (best == nullptr)
            continue;
        const std::string where =
            best->name + ", " + std::to_string(n_inputs) + " inputs";
        if (aim.ceiling > 0)
            bench.goals.note(aim.share, best->rate() / aim.ceiling, where);
        for (const char *name : aim.peers) {
            const Figure *const peer = best_of(line.figures, name);
            if (peer != nullptr)
                bench.goals.note(aim.over_peer, best->rate() / peer->rate(),
                                 where + ", " + peer->name);
        }
    }
}

} // namespace

void measure_correlators(Bench &bench)
{
    const bool is_tiny = bench.is_tiny();
    const Host host(bench);
    bench.report->text(
        "Useful operations: 8 for each of N (N + 1) / 2 complex products and "
        "spectrum, for\npeers too, which compute more of them.  All kernels "
        "had the same integers first.\n");
    for (const size_t n_times : all_times) {
        if (is_tiny && n_times != 256)
            continue;
        if (bench.settings.extent == Extent::QUICK && n_times == 1024)
            continue;
        print_head(bench, host, n_times);
        for (const size_t n_inputs : all_inputs) {
            if (is_tiny && n_inputs != 16)
                continue;
            if (!bench.has_time()) {
                bench.report->text("%6zu not measured: out of time\n",
                                   n_inputs);
                continue;
            }
            const Line line = measure_array(bench, host, n_inputs, n_times);
            if (!line.figures.empty())
                print_line(bench, n_inputs, line);
            if (bench.is_aimed_at(n_inputs, n_times))
                note_goals(bench, n_inputs, line);
        }
    }
}

} // namespace bench
