/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goals.cu -- see bench.cuh: what the kernels are meant to reach, beside what
 * they do: the lowest figure measured for a goal, with resident data.
 */
#include <cstring>

#include "validation/cuda/without.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

namespace
{

/* In place of a kind: the best of all integer kinds counts. */
const char INTEGERS[] = "int8";

constexpr size_t ANY = SIZE_MAX;

/* If no size is given: 512 inputs, 8192 spectra. */
const struct Goal {
    Aim aim;
    const char *section;
    const char *kind; /* a kind of kernel, which may be left out; "": none */
    const char *what;
    double wanted, stretch; /* stretch 0: none */
    size_t least_inputs, most_inputs, least_times, most_times;
} goals[] = {
    {Aim::FP32, "correlators", "fp32",
     "fp32, of FFMA: 512 inputs, calls of 1024 and more", 0.80, 0.88, 512, 512,
     1024, ANY},
    {Aim::DP4A, "correlators", "dp4a", "dp4a, of IDP.4A", 0.88, 0.93, 512, 512,
     8192, 8192},
    {Aim::MMA, "correlators", "mma", "mma, of IMMA: 256 to 2048 inputs", 0.80,
     0.88, 256, 2048, 8192, 8192},
    {Aim::WGMMA_512, "correlators", "wgmma",
     "wgmma, of the data sheet's dense int8: 512 inputs", 0.65, 0.75, 512, 512,
     8192, 8192},
    {Aim::WGMMA_2048, "correlators", "wgmma",
     "wgmma, of the data sheet's dense int8: 2048 inputs", 0.70, 0.75, 2048,
     2048, 8192, 8192},
    {Aim::PEER, "correlators", INTEGERS, "best of INT8, over cuBLAS int8", 1.3,
     1.8, 512, 512, 8192, 8192},
    {Aim::CORE, "correlators", INTEGERS,
     "best of INT8, over one core of the CPU", 100, 0, 512, 512, 8192, 8192},
    {Aim::FIR, "channelizer", "", "FIR, of a device copy", 0.85, 0.92, 0, ANY,
     0, ANY},
    {Aim::TURN, "channelizer", "", "quantise and turn, of a device copy", 0.85,
     0.92, 0, ANY, 0, ANY},
    {Aim::ENGINE, "engine", "", "whole engine, of max(copy, sum of stages)",
     0.90, 0.95, 512, 512, 0, ANY},
    {Aim::ENERGY, "energy", "", "joules of a product, fp32 over dp4a", 2, 3,
     512, 512, 8192, 8192},
};

/* Dense int8 operations / s by NVIDIA's data sheets, by the card's name. */
const struct {
    const char *part;
    double rate;
} sheets[] = {
    {"H200", 1979e12}, {"H100 80GB HBM3", 1979e12}, {"H100 PCIe", 1513e12}};

/** Whether every kernel of a goal is left out. */
bool is_without(const Goal &goal)
{
    return goal.kind == INTEGERS
               ? are_left_out(true)
               : goal.kind[0] != '\0' && is_left_out(goal.kind);
}

/** Whether a goal belongs to the section asked for; without one all do. */
bool is_asked_for(const Goal &goal, const std::string &section)
{
    if (section.empty())
        return true;
    if (section != "kernels")
        return section == goal.section;
    return std::strcmp(goal.section, "correlators") == 0 && !is_without(goal);
}

/** The verdict on a goal.  One kind alone says nothing about the best of all.
 */
const char *verdict_on(const Goal &goal, const Goals::Found &found)
{
    if (found.where.empty())
        return "not measured";
    if (found.value >= goal.wanted)
        return goal.stretch > 0 && found.value >= goal.stretch ? "stretch"
                                                               : "reached";
    return goal.kind == INTEGERS && !kinds_in("FX8_ONLY").empty()
               ? "not by these"
               : "MISSED";
}

} // namespace

double sheet_of(const char *card)
{
    for (const auto &sheet : sheets)
        if (std::strstr(card, sheet.part) != nullptr)
            return sheet.rate;
    return 0;
}

bool is_goal_of(const Bench &bench, Aim aim, size_t n_inputs, size_t n_times)
{
    for (const Goal &goal : goals)
        if (goal.aim == aim)
            return bench.is_tiny() ||
                   (n_inputs >= goal.least_inputs &&
                    n_inputs <= goal.most_inputs &&
                    n_times >= goal.least_times && n_times <= goal.most_times);
    return false;
}

void Goals::note(Aim aim, double value, const std::string &where)
{
    Found &found = found_[aim];
    if (!(value > 0))
        return;
    ++found.n;
    if (found.n == 1 || value < found.value) {
        found.value = value;
        found.where = where;
    }
}

size_t tell_goals(Bench &bench)
{
    size_t n_missed = 0;
    for (const Goal &goal : goals) {
        if (!is_asked_for(goal, bench.settings.section))
            continue;
        const Goals::Found found = bench.goals.find(goal.aim);
        const std::string verdict = verdict_on(goal, found);
        n_missed += verdict == "MISSED";
        bench.report->text("goal %-50s %6.2f", goal.what, goal.wanted);
        if (goal.stretch > 0)
            bench.report->text(" / %4.2f", goal.stretch);
        if (found.n > 0)
            bench.report->text(": %6.2f, least of %zu,", found.value, found.n);
        bench.report->text("%s %s %s\n", found.n > 0 ? "" : ":",
                           verdict.c_str(), found.where.c_str());
        Row row("goal");
        row.text("what", goal.what).number("wanted", goal.wanted);
        if (goal.stretch > 0)
            row.number("stretch", goal.stretch);
        if (found.n > 0)
            row.number("least", found.value).number("of", found.n);
        bench.report->row(
            row.text("verdict", verdict).text("where", found.where));
    }
    return n_missed;
}

} // namespace bench
