/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlators.cu -- see bench.cuh: correlators for arrays from small to large
 * and calls from short to long, beside the ceilings, cuBLAS and the CPU.  Every
 * correlator ("correlators"), or those with which large arrays are correlated,
 * at a few sizes ("kernels"): times first, then the ceilings for their shares,
 * then the others.  FX8_ONLY=wgmma,cublas,cpu runs one kind in a process of its
 * own.
 */
#include <memory>

#include "validation/cuda/without.h"
#include "validation/gpu/task.cuh"

namespace bench
{

namespace
{

/** An array to measure. */
struct Size {
    size_t n_inputs;
    size_t n_times;  /* 0: that of a call of the engine */
    bool has_others; /* cuBLAS and the CPU are measured too */
};

/* The most important first, here and below: time may run out.  The last two are
 * for a goal. */
const Size main_sizes[] = {{512, 8192, true},  {2048, 8192, true},
                           {512, 1024, false}, {2048, 1024, false},
                           {512, 256, false},  {2048, 256, false},
                           {512, 0, false},    {2048, 0, false},
                           {256, 8192, false}, {1024, 8192, false}};
const size_t all_inputs[] = {512, 1024, 2048, 256, 128, 64, 32, 16};
const size_t all_times[] = {8192, 1024, 256, 0};

std::vector<Size> sizes(const Bench &bench, bool are_main)
{
    if (bench.is_tiny())
        return {{16, 256, true}, {16, 0, !are_main}};
    if (are_main)
        return {std::begin(main_sizes), std::end(main_sizes)};
    std::vector<Size> list;
    for (const size_t n_times : all_times)
        for (const size_t n_inputs : all_inputs)
            if (!bench.is_quick() || n_times != 1024)
                list.push_back({n_inputs, n_times, true});
    return list;
}

constexpr unsigned LEAST_TILE = 64;

/** Every correlator, or those that round to nearest and have tiles for large
 *  arrays. */
std::vector<fx8_cuda_correlator> correlators(bool are_main)
{
    size_t n;
    const fx8_cuda_correlator *all = fx8_cuda_correlators(&n);
    std::vector<fx8_cuda_correlator> list;
    for (size_t k = 0; k < n; ++k)
        if (!are_main ||
            (all[k].rounding == FX8_CUDA_NEAREST &&
             all[k].tile_inputs >= LEAST_TILE && !is_left_out(all[k].name)))
            list.push_back(all[k]);
    return list;
}

/** An array and its figures. */
struct Measured {
    Size size;
    std::vector<Figure> figures;
};

/** Measure correlators on an array; the task is empty if that is impossible. */
Task measure_array(Bench &bench, Size size, bool are_main, Measured *measured)
{
    Task task = {};
    if (!bench.has_time()) {
        bench.report->text("  %zu inputs, %zu spectra%s: not measured: out of "
                           "time\n",
                           size.n_inputs, size.n_times,
                           size.n_times == 0 ? " (a call of the engine)" : "");
        return task;
    }
    if (size.n_times == 0)
        size.n_times = times_of_call(bench, size.n_inputs);
    *measured = {size, {}};
    if (size.n_times > 0)
        task = make_task(bench, size.n_inputs, size.n_times);
    if (!task.is_possible())
        return task;
    for (const fx8_cuda_correlator &each : correlators(are_main)) {
        measured->figures.push_back(measure_one(bench, &task, each));
        tell_figure(bench, each.is_int8 ? task.array8 : task.array32,
                    measured->figures.back(), each.is_int8 ? 1 : 4);
    }
    return task;
}

/** The CPU on an array, and how much faster the best kernel of the same
 *  precision is. */
void measure_host(Bench &bench, const Host &host, const Task &task,
                  std::vector<Figure> *figures)
{
    for (const HostCase &each : host_cases) {
        Array part = task.array8;
        const Figure figure = host.measure(each, &part);
        const Figure *const best = each.is_int8 ? best_of_integers(*figures)
                                                : best_of(*figures, "fp32");
        const double over = best != nullptr && figure.seconds > 0
                                ? best->rate() / figure.rate()
                                : 0;
        tell_figure(bench, part, figure, 0);
        if (over > 0)
            bench.report->text("  %s: %.1f times %s\n", best->name.c_str(),
                               over, each.name);
        bench.report->row(Row("over_cpu")
                              .text("cpu", each.name)
                              .number("inputs", part.n_inputs)
                              .number("times", task.array8.n_times)
                              .number("cpu_times", part.n_times)
                              .number("ratio", over));
        figures->push_back(figure);
    }
}

/** cuBLAS and the CPU on an array; host null: without the CPU. */
void measure_others(Bench &bench, const Host *host, const Task &task,
                    std::vector<Figure> *figures)
{
    if (!is_left_out("cublas")) {
        figures->push_back(measure_peer(bench, task.array8, task.x8->data(),
                                        task.expected->data()));
        tell_figure(bench, task.array8, figures->back(), 0);
    }
    if (host != nullptr)
        measure_host(bench, *host, task, figures);
}

std::unique_ptr<Host> make_host(const Bench &bench)
{
    std::unique_ptr<Host> host;
    if (!is_left_out("cpu")) {
        host.reset(new Host(bench));
        bench.report->text("CPU: %s\n", host->describe().c_str());
    }
    return host;
}

} // namespace

void measure_correlators(Bench &bench)
{
    const std::unique_ptr<Host> host = make_host(bench);
    bench.report->text(
        "Useful operations: 8 for each of N (N + 1) / 2 complex products and "
        "spectrum, for\npeers too, which compute more of them.  All kernels "
        "had the same integers first.\n");
    for (const Size &size : sizes(bench, false)) {
        Measured measured = {};
        Task task = measure_array(bench, size, false, &measured);
        task.x32.reset();
        if (task.is_possible())
            measure_others(bench, host.get(), task, &measured.figures);
        note_goals(bench, size.n_inputs, measured.size.n_times,
                   measured.figures);
    }
}

void measure_kernels(Bench &bench)
{
    std::vector<Measured> all;
    for (const Size &size : sizes(bench, true)) {
        Measured measured = {};
        if (measure_array(bench, size, true, &measured).is_possible())
            all.push_back(measured);
    }
    measure_ceilings(bench);
    bench.report->text("\n");
    for (const Measured &array : all)
        for (const Figure &figure : array.figures)
            print_figure(bench, {array.size.n_inputs, array.size.n_times, 0},
                         figure);
    const std::unique_ptr<Host> host = make_host(bench);
    for (Measured &array : all) {
        if (array.size.has_others && bench.has_time())
            measure_others(
                bench, host.get(),
                make_task(bench, array.size.n_inputs, array.size.n_times),
                &array.figures);
        note_goals(bench, array.size.n_inputs, array.size.n_times,
                   array.figures);
    }
}

void call_kernel(Bench &bench)
{
    size_t n_calls = 0;
    const Size size = sizes(bench, true).front();
    const Task task = make_task(bench, size.n_inputs, size.n_times);
    for (const fx8_cuda_correlator &each : correlators(true))
        if (bench.settings.profile == each.name && task.is_possible())
            for (size_t set = 0; set < 2; ++set, ++n_calls) {
                const fx8_cuda_correlation job =
                    job_of(bench, task, each.is_int8, set);
                must(each.accumulate(&job), each.name);
                must(cudaStreamSynchronize(bench.stream), each.name);
                bench.report->text("  %s: %zu inputs, %zu spectra, %zu "
                                   "channels\n",
                                   each.name, job.n_inputs, job.n_times,
                                   job.n_channels);
            }
    if (n_calls == 0)
        throw Failure(bench.settings.profile + ": no main correlator");
}

} // namespace bench
