/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goals.cu -- see bench.cuh: what the kernels are meant to reach, beside what
 * they do: the least over all arrays that a goal speaks of, those of 512 inputs
 * and 8192 spectra a call or more, data resident.
 */
#include <cstring>

#include "validation/cuda/without.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

namespace
{

const struct Goal {
    Aim aim;
    const char *section, *what; /* a kernel's begins with its kind */
    double wanted;
} goals[] = {
    {Aim::FP32, "correlators", "fp32, of the FFMA ceiling", 0.80},
    {Aim::DP4A, "correlators", "dp4a, of the IDP.4A ceiling", 0.85},
    {Aim::MMA, "correlators", "mma, of the IMMA ceiling", 0.85},
    {Aim::WGMMA, "correlators", "wgmma, of the data sheet's dense int8", 0.65},
    {Aim::FP32_PEER, "correlators", "fp32, over cuBLAS fp32", 1.0},
    {Aim::DP4A_PEER, "correlators", "dp4a, over cuBLAS int8", 1.0},
    {Aim::MMA_PEER, "correlators", "mma, over cuBLAS int8", 1.0},
    {Aim::WGMMA_PEER, "correlators", "wgmma, over cuBLAS int8", 1.0},
    {Aim::FIR, "channelizer", "FIR, of the copy", 0.85},
    {Aim::TURN, "channelizer", "quantise and corner turn, of the copy", 0.85},
    {Aim::ENGINE, "engine", "whole engine, of what its stages allow", 0.90},
};

/* Dense int8 operations / s of NVIDIA's data sheets, by the card's name. */
const struct {
    const char *part;
    double rate;
} sheets[] = {
    {"H200", 1979e12}, {"H100 80GB HBM3", 1979e12}, {"H100 PCIe", 1513e12}};

/** Whether a goal is about what was asked for. */
bool is_asked_for(const Goal &goal, const std::string &section)
{
    if (section != "kernels")
        return section.empty() || section == goal.section;
    const std::string kind(goal.what, std::strcspn(goal.what, ","));
    return std::strcmp(goal.section, "correlators") == 0 &&
           !is_left_out(kind.c_str());
}

} // namespace

double sheet_of(const char *card)
{
    for (const auto &sheet : sheets)
        if (std::strstr(card, sheet.part) != nullptr)
            return sheet.rate;
    return 0;
}

void Goals::note(Aim aim, double value, const std::string &where)
{
    Found &found = found_[aim];
    if (value > 0 && (found.where.empty() || value < found.value))
        found = {value, where};
}

size_t tell_goals(Bench &bench)
{
    size_t n_missed = 0;
    for (const Goal &goal : goals) {
        if (!is_asked_for(goal, bench.settings.section))
            continue;
        const Goals::Found found = bench.goals.find(goal.aim);
        const bool is_known = !found.where.empty();
        const char *const verdict = !is_known                    ? "not known"
                                    : found.value >= goal.wanted ? "reached"
                                                                 : "MISSED";
        n_missed += is_known && found.value < goal.wanted;
        bench.report->text("goal %-40s %4.2f: %5.2f  %-9s %s\n", goal.what,
                           goal.wanted, found.value, verdict,
                           found.where.c_str());
        bench.report->row(Row("goal")
                              .text("what", goal.what)
                              .number("wanted", goal.wanted)
                              .number("least", found.value)
                              .text("verdict", verdict)
                              .text("where", found.where));
    }
    return n_missed;
}

} // namespace bench
