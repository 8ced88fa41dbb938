/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels.cu -- see bench.cuh: the correlators with which large arrays are
 * correlated, at a few sizes, the most important first: times, then the
 * ceilings for their shares, then cuBLAS and the CPU on the same data.
 * FX8_ONLY=wgmma,cublas,cpu runs one kind in a process of its own.
 */
#include <cstring>

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

/* The most important first; the last two are for a goal. */
const Size all_sizes[] = {{512, 8192, true},  {2048, 8192, true},
                          {512, 1024, false}, {2048, 1024, false},
                          {512, 256, false},  {2048, 256, false},
                          {512, 0, false},    {2048, 0, false},
                          {256, 8192, false}, {1024, 8192, false}};
/* Small sizes for a pretend device. */
const Size tiny_sizes[] = {{16, 256, true}, {16, 0, false}};

constexpr unsigned LEAST_TILE = 64;

/** Figures of an array. */
struct Measured {
    size_t n_inputs, n_times;
    bool has_others;
    std::vector<Figure> figures;
};

/** Correlators that round to nearest and have tiles for large arrays. */
std::vector<fx8_cuda_correlator> main_correlators()
{
    size_t n;
    const fx8_cuda_correlator *all = fx8_cuda_correlators(&n);
    std::vector<fx8_cuda_correlator> list;
    for (size_t k = 0; k < n; ++k)
        if (all[k].rounding == FX8_CUDA_NEAREST &&
            all[k].tile_inputs >= LEAST_TILE && !is_left_out(all[k].name))
            list.push_back(all[k]);
    return list;
}

/** The line of a figure, with its share if the ceiling is known. */
void tell_line(Bench &bench, const Measured &array, const Figure &figure)
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

/** Every main correlator on an array. */
Measured measure_array(Bench &bench, const Size &size)
{
    Measured array = {size.n_inputs, size.n_times, size.has_others, {}};
    Task task = make_task(bench, size.n_inputs, size.n_times);
    if (!task.is_possible())
        return array;
    for (const fx8_cuda_correlator &each : main_correlators()) {
        array.figures.push_back(measure_one(bench, &task, each));
        const Figure &figure = array.figures.back();
        tell_line(bench, array, figure);
        tell_figure(bench, each.is_int8 ? task.array8 : task.array32, figure,
                    each.is_int8 ? 1 : 4);
    }
    return array;
}

/** cuBLAS and the CPU on an array of long calls. */
void measure_others(Bench &bench, Measured *array)
{
    const Task task = make_task(bench, array->n_inputs, array->n_times);
    const size_t first = array->figures.size();
    if (!task.is_possible())
        return;
    if (!is_left_out("cublas"))
        for (const Figure &peer : measure_peers(
                 bench, task.array8, task.x8->data(), task.expected->data())) {
            array->figures.push_back(peer);
            tell_figure(bench, task.array8, peer, 0);
        }
    if (!is_left_out("cpu")) {
        const Host host(bench);
        for (const HostCase &each : host_cases) {
            Array part = task.array8;
            array->figures.push_back(host.measure(each, &part));
            tell_figure(bench, part, array->figures.back(), 0);
        }
    }
    for (size_t k = first; k < array->figures.size(); ++k)
        tell_line(bench, *array, array->figures[k]);
}

std::vector<Size> sizes(const Bench &bench)
{
    return bench.is_tiny()
               ? std::vector<Size>(std::begin(tiny_sizes), std::end(tiny_sizes))
               : std::vector<Size>(std::begin(all_sizes), std::end(all_sizes));
}

/** Every size for which there is time. */
std::vector<Measured> measure_sizes(Bench &bench)
{
    std::vector<Measured> all;
    for (Size size : sizes(bench)) {
        if (!bench.has_time()) {
            bench.report->text("  %zu inputs, %zu spectra%s: not measured: out "
                               "of time\n",
                               size.n_inputs, size.n_times,
                               size.n_times == 0 ? " (a call of the engine)"
                                                 : "");
            continue;
        }
        if (size.n_times == 0)
            size.n_times = times_of_call(bench, size.n_inputs);
        if (size.n_times > 0)
            all.push_back(measure_array(bench, size));
    }
    return all;
}

} // namespace

void measure_kernels(Bench &bench)
{
    std::vector<Measured> all = measure_sizes(bench);
    measure_ceilings(bench);
    bench.report->text("\n");
    for (const Measured &array : all)
        for (const Figure &figure : array.figures)
            tell_line(bench, array, figure);
    for (Measured &array : all) {
        if (array.has_others && bench.has_time())
            measure_others(bench, &array);
        note_goals(bench, array.n_inputs, array.n_times, array.figures);
    }
}

void call_kernel(Bench &bench)
{
    size_t n_calls = 0;
    const Size size = sizes(bench).front();
    Task task = make_task(bench, size.n_inputs, size.n_times);
    for (const fx8_cuda_correlator &each : main_correlators())
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
