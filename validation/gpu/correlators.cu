/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlators.cu -- see bench.cuh: every correlator for arrays from small to
 * large and calls from short to long, beside the ceilings, cuBLAS and the CPU.
 */
#include <algorithm>
#include <cstring>
#include <iterator>

#include "validation/gpu/task.cuh"

namespace bench
{

namespace
{

/* Sizes with goals come first: time may run out. */
const size_t all_inputs[] = {512, 1024, 2048, 256, 128, 64, 32, 16};
/* The last one: the times of a call of the engine, for each number of inputs.
 */
const size_t all_times[] = {8192, 1024, 256, 0};
const size_t tiny_times[] = {256, 0};
constexpr size_t TINY_INPUTS = 16;
constexpr size_t N_HOSTS = std::size(host_cases);

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

/** Everything reported about an array. */
struct Line {
    std::vector<Figure> figures; /* correlators, peers, CPU */
    Array array8;                /* of INT8 correlators */
    size_t host_times[N_HOSTS];  /* what the CPU measured */
};

/** The CPU on an array of these inputs and times. */
void measure_host(Bench &bench, const Host &host, const Task &task, Line *line)
{
    for (size_t k = 0; k < N_HOSTS; ++k) {
        Array array = task.array8;
        line->figures.push_back(host.measure(host_cases[k], &array));
        line->host_times[k] = array.n_times;
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

/** Columns in addition to those of the correlators. */
std::vector<std::string> other_names()
{
    std::vector<std::string> names = peer_names();
    for (const HostCase &host : host_cases)
        names.push_back(host.name);
    return names;
}

void print_head(Bench &bench, const Host &host, size_t n_times)
{
    bench.report->text(
        "\n%s spectra a call, T op/s; then shares of ceilings by the fastest "
        "of a kind, of the copy\nby the fastest of INT8, and the fastest of a "
        "precision over the CPU (%s) and\none core of it, with the spectra of "
        "a call there\n"
        "inputs",
        n_times > 0 ? std::to_string(n_times).c_str() : "the engine's",
        host.describe().c_str());
    for (const fx8_cuda_correlator &each : all_correlators())
        bench.report->text(" %9s", each.name);
    for (const std::string &name : other_names())
        bench.report->text(" | %s", name.c_str());
    for (const char *kind : kinds)
        bench.report->text(" %5s", kind);
    bench.report->text("  copy");
    for (const HostCase &each : host_cases)
        bench.report->text(" | over %s, spectra", each.name);
    bench.report->text("\n");
}

/** A figure of a column, or a dash if there is none. */
void print_cell(Bench &bench, int width, int digits, double value)
{
    if (value > 0)
        bench.report->text("%*.*f", width, digits, value);
    else
        bench.report->text("%*s", width, "-");
}

/** The speed of the fastest kernel of a precision relative to the CPU; 0: one
 *  of them was not measured. */
double over_host(const std::vector<Figure> &figures, const HostCase &what)
{
    const Figure *const card =
        what.is_int8 ? best_of_integers(figures) : best_of(figures, "fp32");
    const Figure *const host = best_of(figures, what.name);
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
    const Figure *const fastest = best_of_integers(line.figures);
    print_cell(bench, 6, 2,
               fastest != nullptr
                   ? share_of_copy(bench, line.array8, 1, fastest->seconds)
                   : 0);
    for (size_t k = 0; k < N_HOSTS; ++k) {
        const double over = over_host(line.figures, host_cases[k]);
        print_cell(bench, 16, 1, over);
        bench.report->text(" %8zu", line.host_times[k]);
        bench.report->row(
            Row("over_cpu")
                .text("cpu", host_cases[k].name)
                .number("inputs", static_cast<double>(n_inputs))
                .number("times", static_cast<double>(line.array8.n_times))
                .number("cpu_times", static_cast<double>(line.host_times[k]))
                .number("ratio", over));
    }
    bench.report->text("\n");
}

/** A line of a table. n_times 0: those of a call of the engine */
void measure_line(Bench &bench, const Host &host, size_t n_inputs,
                  size_t n_times)
{
    if (!bench.has_time()) {
        bench.report->text("%6zu not measured: out of time\n", n_inputs);
        return;
    }
    if (n_times == 0)
        n_times = times_of_call(bench, n_inputs);
    if (n_times == 0)
        return;
    const Line line = measure_array(bench, host, n_inputs, n_times);
    if (!line.figures.empty())
        print_line(bench, n_inputs, line);
    note_goals(bench, n_inputs, n_times, line.figures);
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
    const std::vector<size_t> times =
        is_tiny
            ? std::vector<size_t>(std::begin(tiny_times), std::end(tiny_times))
            : std::vector<size_t>(std::begin(all_times), std::end(all_times));
    for (const size_t n_times : times) {
        if (bench.settings.extent == Extent::QUICK && n_times == 1024)
            continue;
        print_head(bench, host, n_times);
        for (const size_t n_inputs : all_inputs)
            if (!is_tiny || n_inputs == TINY_INPUTS)
                measure_line(bench, host, n_inputs, n_times);
    }
}

} // namespace bench
