/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * channelizer.cu -- see bench.cuh: the kernels from samples to spectra as bytes
 * a second, each number counted once as it is read and once as it is written,
 * beside a copy.
 */
#include <algorithm>
#include <cstring>

#include "validation/gpu/channelizer.cuh"

namespace bench
{

namespace
{

const fx8_filterbank banks[] = {
    {true, 64, 4, 64},
    {true, 1024, 8, 1024},
    {false, 1024, 8, 512},
    {true, 4096, 16, 4096},
};

} // namespace

void tell_stage(Bench &bench, const Chain &chain, const char *name,
                double bytes, const Work &work)
{
    const double seconds = measure(bench, work);
    const double rate = bytes / seconds;
    const double share =
        bench.ceilings.copy > 0 ? rate / bench.ceilings.copy : 0;
    const double samples =
        static_cast<double>(INPUTS * chain.n_spectra * chain.bank.fft_length);
    const std::string where =
        std::string(name) + ", " + std::to_string(chain.bank.fft_length) +
        (chain.bank.is_complex ? " complex, " : " real, ") +
        std::to_string(INPUTS) + " inputs";
    if (std::strncmp(name, "FIR", 3) == 0)
        bench.goals.note(Aim::FIR, share, where);
    if (std::strncmp(name, "turn", 4) == 0)
        bench.goals.note(Aim::TURN, share, where);
    bench.report->text(
        "%5zu %-7s %4zu  %-22s %9.1f GB/s %6.2f %10.2f G/s\n",
        chain.bank.fft_length, chain.bank.is_complex ? "complex" : "real",
        chain.bank.n_taps, name, rate * 1e-9, share, samples / seconds * 1e-9);
    bench.report->row(Row("channelizer")
                          .text("kernel", name)
                          .number("fft_length", chain.bank.fft_length)
                          .number("is_complex", chain.bank.is_complex)
                          .number("taps", chain.bank.n_taps)
                          .number("bytes_s", rate)
                          .number("of_copy", share)
                          .number("samples_s", samples / seconds));
}

namespace
{

/* --- the section -----------------------------------------------------------
 */

void measure_bank(Bench &bench, const fx8_filterbank &bank)
{
    const size_t row = fx8_filterbank_row(&bank);
    const size_t n_spectra =
        bench.is_tiny()
            ? 32
            : std::max<size_t>(32, bench.streamed_bytes() / 2 / INPUTS / row);
    const Chain chain(bench, bank, n_spectra);
    const fx8_cuda_fir_job fir = chain.fir();
    const double fir_bytes = chain.bytes(row, 1 + sizeof(float));
    tell_stage(bench, chain, "FIR fp32", fir_bytes, [&](size_t) {
        must(fx8_cuda_fir(&fir, chain.coefficients.data(), bench.stream),
             "FIR");
    });
    tell_stage(bench, chain, "FIR dp2a", fir_bytes, [&](size_t) {
        must(fx8_cuda_fir_int16(&fir, chain.integers.data(), chain.scale,
                                bench.stream),
             "FIR");
    });
    if (measure_fft != nullptr)
        measure_fft(bench, chain);
    const struct {
        const char *name;
        bool is_int8, is_rotated;
    } turns[] = {{"turn to int8", true, false},
                 {"turn to int8, rotated", true, true},
                 {"turn to fp32", false, false}};
    for (const auto &turn : turns) {
        const fx8_cuda_corner_turn_job job = chain.turn(turn.is_rotated);
        const fx8_cuda_spectra out = chain.spectra(turn.is_int8, !turn.is_int8);
        tell_stage(
            bench, chain, turn.name,
            chain.bytes(2 * bank.n_channels,
                        sizeof(float) + (turn.is_int8 ? 1 : sizeof(float))),
            [&](size_t) {
                must(fx8_cuda_corner_turn(&job, &out, bench.stream), "turn");
            });
    }
}

} // namespace

void measure_channelizer(Bench &bench)
{
    bench.report->text("%zu inputs; bytes that are read and written once, "
                       "share of the copy, samples\n"
                       "  FFT samples taps  kernel\n",
                       INPUTS);
    for (const fx8_filterbank &bank : banks) {
        if (bench.is_tiny() && bank.fft_length > 64)
            continue;
        if (bench.has_time())
            measure_bank(bench, bank);
        else
            bench.report->text("%5zu not measured: out of time\n",
                               bank.fft_length);
    }
}

} // namespace bench
