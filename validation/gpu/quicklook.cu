/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicklook.cu -- see bench.cuh: the cells of a quick-look, as cells a second
 * and as bytes a second, visibilities counted once as they are read and halves
 * once as they are written, beside a copy.  engine.cu reports its share of a
 * whole dump.
 */
#include <cmath>

#include "kernels/cuda/quicklook.h"
#include "kernels/numeric/half.h"
#include "kernels/operations.h"
#include "validation/gpu/dump.cuh"

namespace bench
{

namespace
{

const DumpShape shapes[] = {
    {64, 1, 8192, 1}, {256, 1, 2048, 1}, {256, 2, 512, 1}};

const struct {
    const char *name;
    fx8_functions_mode mode;
} modes[] = {{"ieee", FX8_FUNCTIONS_IEEE}, {"fast", FX8_FUNCTIONS_FAST}};

/** A number between -0.5 and 0.5 that looks random and is never 0. */
float noise_of(size_t k)
{
    const uint32_t mixed = static_cast<uint32_t>(k) * 2654435761U | 1U;
    return static_cast<float>(static_cast<int32_t>(mixed)) * 0x1p-32F;
}

/** The visibilities of a dump and the plan of their quick-look: inputs of power
 *  1. */
struct Look {
    Dump dump;
    size_t n_levels;
    Memory<uint8_t> is_real;
    Memory<float> levels, steps;
    Memory<uint16_t> coherence, amplitude, phase;
    Memory<fx8_fisher_sums> sums;
    Memory<fx8_cell_notes> notes;

    Look(const Bench &bench, const DumpShape &s)
        : dump(s), n_levels(s.n_inputs() * s.n_channels), is_real(s.n_channels),
          levels(std::vector<float>(n_levels, 1.0F)), steps(n_levels),
          coherence(2 * dump.n_cells), amplitude(dump.n_cells),
          phase(dump.n_cells), sums(dump.host_products.size()), notes(1)
    {
        std::vector<float> noise(2 * dump.n_cells);
        for (size_t k = 0; k < noise.size(); ++k)
            noise[k] = noise_of(k);
        upload(noise, dump.visibilities.data());
        upload(std::vector<float>(dump.n_cells, 1.0F), dump.nsamples.data());
        dump.flags.clear(bench);
        steps.clear(bench);
        is_real.clear(bench);
        sums.clear(bench);
        notes.clear(bench);
    }
    void run(const Bench &bench, fx8_functions_mode mode) const
    {
        fx8_cuda_quicklook_job job = {};
        fx8_quicklook_work &work = job.work;
        work.n_products = dump.n_products;
        work.n_inputs = dump.shape.n_inputs();
        work.n_baselines = dump.n_baselines;
        work.n_channels = dump.shape.n_channels;
        work.products_per_cell = SPECTRA_OF_DUMP;
        work.mode = mode;
        work.products = dump.products.data();
        work.is_real = is_real.data();
        work.power = work.weight = levels.data();
        work.steps = steps.data();
        work.scale[FX8_FUNCTIONS_IEEE] = levels.data();
        work.scale[FX8_FUNCTIONS_FAST] = levels.data();
        work.in = dump.result();
        work.out.coherence = coherence.data();
        work.out.amplitude = amplitude.data();
        work.out.phase = phase.data();
        work.sums = sums.data();
        job.n_baselines = dump.n_baselines;
        job.notes = notes.data();
        must(fx8_cuda_quicklook(&job, bench.stream), "quick-look");
    }
    /** Whether the coherences equal the visibilities of inputs of power 1:
     *  times 2^14, within half a step of a half. */
    bool is_exact(const Bench &bench) const
    {
        std::vector<uint16_t> halves(2 * dump.n_cells);
        must(cudaStreamSynchronize(bench.stream), "quick-look");
        download(coherence.data(), &halves);
        size_t n_far = 0;
        for (size_t k = 0; k < halves.size(); ++k) {
            const float wanted = noise_of(k) * 0x1p14F;
            n_far += !(std::abs(fx8_half_to_float(halves[k]) - wanted) <=
                       std::abs(wanted) * 0x1p-11F + 0x1p-25F);
        }
        return n_far == 0;
    }
};

void measure_shape(Bench &bench, const DumpShape &shape)
{
    const Look look(bench, shape);
    for (const auto &each : modes) {
        look.run(bench, each.mode);
        if (!look.is_exact(bench)) {
            bench.report->text("%s: coherences are not the visibilities\n",
                               each.name);
            ++bench.n_wrong;
            continue;
        }
        const double seconds =
            measure(bench, [&](size_t) { look.run(bench, each.mode); });
        const double cells = static_cast<double>(look.dump.n_cells) / seconds;
        char mode[16];
        std::snprintf(mode, sizeof mode, "  %-5s", each.name);
        tell_cells(bench, look.dump.describe() + mode,
                   look.dump.row("quicklook").text("mode", each.name), cells,
                   cells * FX8_CUDA_CELL_BYTES);
    }
}

} // namespace

void measure_quicklook(Bench &bench)
{
    bench.report->text("Visibilities on the device to a quick-look: cells, "
                       "bytes read and written, share of the copy.\n"
                       "antennas feeds channels mode\n");
    for (const DumpShape &shape : shapes)
        if (bench.has_time())
            measure_shape(bench, shape.on(bench));
}

} // namespace bench
