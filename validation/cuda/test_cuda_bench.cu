/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_bench.cu -- the benchmark of a card (validation/gpu) on a pretend
 * one: every section runs, every kernel is checked before it is measured, and
 * a kernel that is wrong or a section that fails is told.  Times mean nothing
 * here and are written nowhere.
 */
#include <cstdio>
#include <string>

#include "kernels/cuda/correlate.h"
#include "validation/cuda/device_array.h"
#include "validation/gpu/bench.cuh"

/** Rows of a run, and what it returned. */
struct Outcome {
    size_t n_failed;
    std::vector<std::string> rows;

    size_t count(const std::string &part) const
    {
        size_t n = 0;
        for (const std::string &row : rows)
            n += row.find(part) != std::string::npos;
        return n;
    }
};

/* TAP needs stdout to itself: the text of the bench goes to a file. */
static Outcome run_bench(const char *section)
{
    Outcome outcome = {1, {}};
    bench::Settings settings;
    settings.extent = bench::Extent::TINY;
    settings.section = section;
    std::FILE *const rows = std::tmpfile();
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    std::FILE *const text = std::tmpfile();
    if (rows == nullptr || text == nullptr || kept < 0)
        return outcome;
    dup2(fileno(text), STDOUT_FILENO);
    {
        bench::Report report(nullptr, rows);
        outcome.n_failed = bench::run(settings, &report);
    }
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    std::rewind(rows);
    char line[2048];
    while (std::fgets(line, sizeof line, rows) != nullptr)
        outcome.rows.push_back(line);
    std::fclose(rows);
    std::fclose(text);
    return outcome;
}

/* What runs on sm_90: everything. */
CASE(every_section_measures)
{
    size_t n_correlators;
    fx8_cuda_correlators(&n_correlators);
    const Outcome outcome = run_bench("");
    for (const std::string &row : outcome.rows)
        if (outcome.n_failed != 0)
            printf("# %s", row.c_str());
    CHECK(outcome.n_failed == 0);
    CHECK(outcome.count("\"kind\": \"ceiling\"") == 7);
    CHECK(outcome.count("\"kind\": \"correlator\"") ==
          n_correlators + bench::peer_names().size());
    CHECK(outcome.count("\"note\"") == bench::peer_names().size());
    CHECK(outcome.count("\"kernel\": \"FIR ") == 2);
    CHECK(outcome.count("\"kernel\": \"turn ") == 3);
    CHECK(outcome.count("\"kind\": \"engine\"") == 2);
    CHECK(outcome.count("null") == 0);
}

/* Each time another call, from the ceilings to the last kernel. */
CASE(a_call_that_fails_is_told)
{
    const uint64_t before = harness::count_calls();
    CHECK(run_bench("correlators").n_failed == 0);
    const uint64_t n_calls = harness::count_calls() - before;
    size_t n_told = 0;
    for (uint64_t part = 1; part < 20; ++part) {
        harness::settings().fail_call =
            harness::count_calls() + part * n_calls / 20;
        const Outcome outcome = run_bench("correlators");
        harness::settings().fail_call = 0;
        const char *failed = harness::failed_call();
        const std::string name = failed != nullptr ? failed : "";
        const bool is_release = name == "cudaFree" || name == "cudaFreeHost" ||
                                name == "cudaEventDestroy";
        CHECK(!name.empty());
        CHECK(is_release || outcome.n_failed == 1);
        CHECK(is_release || outcome.count("unknown error") == 1);
        n_told += outcome.n_failed;
    }
    CHECK(n_told >= 8);
}

CASE(rows_are_json)
{
    CHECK(bench::Row("a").text("b", "c\"\\\n").number("d", 0.5).line() ==
          "{\"kind\": \"a\", \"b\": \"c\\\"\\\\\", \"d\": 0.5}");
    CHECK(bench::Row("a").number("d", 0.0 / 0.0).line() ==
          "{\"kind\": \"a\", \"d\": null}");
}

int main()
{
    return tap::run_all();
}
