/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlators.cu -- see bench.cuh: every correlator for arrays from small to
 * large and calls from short to long, beside the ceilings, cuBLAS and the CPU.
 */
#include <algorithm>
#include <cstring>

#include "validation/gpu/task.cuh"

namespace bench
{

namespace
{

/* First what goals are about: time may run out. */
const size_t all_inputs[] = {512, 1024, 2048, 256, 128, 64, 32, 16};
const size_t all_times[] = {8192, 1024, 256};

/** Every correlator, integers first. */
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
    Task task = make_task(bench, n_inputs, n_times);
    Line line = {};
    std::vector<Figure> &figures = line.figures;
    if (!task.is_possible())
        return line;
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
                note_goals(bench, n_inputs, line.figures);
        }
    }
}

} // namespace bench
