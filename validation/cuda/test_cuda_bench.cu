/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_bench.cu -- the benchmark of a card (validation/gpu) on a pretend
 * one: every section runs, every kernel is checked before it is measured, and a
 * wrong kernel or a failing section is reported. Times mean nothing here and
 * are not recorded.
 *
 * Shows (devices, benchmark): the benchmark of a card (`gpu/`) works on the
 *     harness: every section runs; before it is measured, every kernel gives
 *     the sums of the definition, and the CPU those of its spectra; a kernel
 *     that is wrong or refused is skipped alone; a failing call is reported;
 *     calls as long as the engine's are measured; the engine is fed from pinned
 *     memory; a goal is the lowest value reached by arrays of its size, and is
 *     reported as missing if nothing was measured
 * Within: integers equal
 * Because: times mean nothing on pretend devices and are not recorded
 */
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/cuda/correlate.h"
#include "kernels/cuda/layout.h"
#include "kernels/operations.h"
#include "validation/cuda/checkers.h"
#include "validation/cuda/device_array.h"
#include "validation/gpu/task.cuh"

namespace bench_tests
{

/* Of calls, on a pretend device: 256 spectra, and as many as the engine's. */
static const size_t N_SIZES = 2;

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

/** Rows of what a function reports, and the number that it returns. */
template <class Function> Outcome collect_rows(Function report_to)
{
    Outcome outcome = {1, {}};
    std::FILE *const rows = std::tmpfile();
    if (rows == nullptr)
        return outcome;
    bench::Report report(nullptr, rows, nullptr);
    outcome.n_failed = report_to(&report);
    std::rewind(rows);
    char line[2048];
    while (std::fgets(line, sizeof line, rows) != nullptr)
        outcome.rows.push_back(line);
    std::fclose(rows);
    return outcome;
}

static Outcome run_bench(const char *section)
{
    bench::Settings settings;
    settings.extent = bench::Extent::TINY;
    settings.section = section;
    return collect_rows(
        [&](bench::Report *report) { return bench::run(settings, report); });
}

/* sm_90 runs everything. */
TEST(every_section_measures)
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
          N_SIZES * (n_correlators + 1 + 3));
    CHECK(outcome.count("\"kernel\": \"CPU ") == N_SIZES * 2);
    CHECK(outcome.count("\"kernel\": \"one core int8") == N_SIZES);
    CHECK(outcome.count("\"kind\": \"over_cpu\"") == N_SIZES * 3);
    CHECK(outcome.count("\"times\": 512, \"operations\"") == n_correlators + 1);
    /* too few samples to be pinned */
    CHECK(outcome.count("\"call_spectra\": 512, \"is_pinned\": 0,") == 2);
    CHECK(outcome.count("\"note\"") == N_SIZES);
    CHECK(outcome.count("\"kernel\": \"FIR ") == 2);
    CHECK(outcome.count("\"kernel\": \"turn ") == 3);
    CHECK(outcome.count("\"kind\": \"postprocess\"") == 4);
    CHECK(outcome.count("\"kind\": \"quicklook\"") == 6);
    CHECK(outcome.count("\"kind\": \"engine\"") == 2);
    /* no peer, no data sheet and no energy counter here */
    CHECK(outcome.count("\"kind\": \"goal\"") == 11);
    CHECK(outcome.count("\"verdict\": \"not measured\"") == 4);
    CHECK(outcome.count("null") == 0);
}

/* Fail one call at a time, from the ceilings to the last kernel; under a
 * checker only two of them. */
TEST(a_call_that_fails_is_reported)
{
    const uint64_t before = harness::count_calls();
    CHECK(run_bench("correlators").n_failed == 0);
    const uint64_t n_calls = harness::count_calls() - before;
    size_t n_reported = 0;
    for (uint64_t part = 1; part < 9; part += FX8_CHECKED ? 4 : 1) {
        harness::settings().fail_call =
            harness::count_calls() + part * n_calls / 9;
        const Outcome outcome = run_bench("correlators");
        harness::settings().fail_call = 0;
        const char *failed = harness::failed_call();
        const std::string name = failed != nullptr ? failed : "";
        const bool is_release = name == "cudaFree" || name == "cudaFreeHost" ||
                                name == "cudaEventDestroy";
        CHECK(!name.empty());
        /* a call that only clears an error cannot report one */
        const bool is_quiet =
            is_release || (name == "cudaGetLastError" && outcome.n_failed == 0);
        CHECK(is_quiet || outcome.n_failed == 1);
        CHECK(is_quiet || outcome.count("unknown error") == 1);
        n_reported += outcome.n_failed;
    }
    CHECK(n_reported >= (FX8_CHECKED ? 1 : 5));
}

TEST(kinds_left_out_are_not_run)
{
    setenv("FX8_WITHOUT", "wgmma,mma", 1);
    const Outcome outcome = run_bench("correlators");
    unsetenv("FX8_WITHOUT");
    size_t n_left_out = 0, n;
    const fx8_cuda_correlator *all = fx8_cuda_correlators(&n);
    for (size_t k = 0; k < n; ++k)
        n_left_out += strstr(all[k].name, "mma") != nullptr;
    CHECK(outcome.n_failed == 0);
    CHECK(outcome.count("\"note\": \"left out\"") == N_SIZES * n_left_out);
    CHECK(outcome.count("\"name\": \"IMMA\", \"operations_s\": 0}") == 1);
}

TEST(one_kind_is_measured_alone)
{
    setenv("FX8_ONLY", "mma,cpu", 1);
    const Outcome outcome = run_bench("kernels");
    unsetenv("FX8_ONLY");
    CHECK(outcome.n_failed == 0);
    CHECK(outcome.count("\"kind\": \"correlator\"") == N_SIZES * 2 + 3);
    CHECK(outcome.count("\"kernel\": \"mma-64\"") == N_SIZES);
    CHECK(outcome.count("\"kernel\": \"mma-128\"") == N_SIZES);
    CHECK(outcome.count("\"times\": 512, ") == 2);
    CHECK(outcome.count("\"kernel\": \"CPU ") == 2);
    CHECK(outcome.count("\"kernel\": \"one core int8") == 1);
    CHECK(outcome.count("\"kind\": \"ceiling\"") == 7);
    CHECK(outcome.count("\"kind\": \"goal\"") == 3);
    CHECK(outcome.count("\"what\": \"mma, of ") == 1);
    CHECK(outcome.count("over cuBLAS int8\"") == 1);
}

/* Also the first kernel of the table: its sums are not taken as correct. */
TEST(a_kernel_that_is_wrong_costs_itself_alone)
{
    size_t n;
    fx8_cuda_correlators(&n);
    for (const char *plant : {"correlate_dp4a_16:idle", "mma_64:refuse"}) {
        harness::settings().plant = plant;
        const Outcome outcome = run_bench("correlators");
        harness::settings().plant = nullptr;
        CHECK(outcome.n_failed == N_SIZES);
        CHECK(outcome.count("DIFFERS") +
                  outcome.count("cudaErrorLaunchFailure") ==
              N_SIZES);
        CHECK(outcome.count("\"note\"") == N_SIZES * 2);
    }
}

/* --- data for the peers ----------------------------------------------- */

/* Products of rows of noise against sums by the definition. */
TEST(products_of_rows_are_compared)
{
    constexpr size_t N = 5, TIMES = 128, CHANNELS = 2, ROWS = 2 * N;
    const size_t x_bytes = CHANNELS * TIMES * fx8_cuda_pitch(N);
    const bench::Bench bench = {};
    DeviceArray<int8_t> x(x_bytes), rows(CHANNELS * ROWS * TIMES);
    DeviceArray<int64_t> sums(2 * CHANNELS * fx8_pair_count(N));
    bench::fill_noise(bench, x.data(), x_bytes / 16, 1);
    bench::unroll_rows(bench, x.data(), rows.data(), N, CHANNELS, TIMES);
    bench::correlate_plainly(bench, x.data(), sums.data(), N, CHANNELS, TIMES);
    const std::vector<int8_t> all = rows.read();
    std::vector<int32_t> products(CHANNELS * ROWS * ROWS);
    for (size_t k = 0; k < products.size(); ++k) {
        const size_t row = k / ROWS, column = row / ROWS * ROWS + k % ROWS;
        for (size_t t = 0; t < TIMES; ++t)
            products[k] += all[row * TIMES + t] * all[column * TIMES + t];
    }
    const auto count = [&] {
        DeviceArray<int32_t> on_device(products);
        return bench::count_differing_products(bench, sums.data(),
                                               on_device.data(), N, CHANNELS);
    };
    CHECK(count() == 0);
    products.back() += 1; /* the last input's power */
    CHECK(count() == 1);
    products.front() -= 1;
    CHECK(count() == 2);
}

/** Rows of all goals, from the figures noted in a bench. */
static Outcome rows_of_goals(bench::Bench *bench)
{
    return collect_rows([&](bench::Report *report) {
        bench->report = report;
        return bench::tell_goals(*bench);
    });
}

TEST(a_goal_is_the_least_that_was_reached)
{
    bench::Bench bench = {};
    bench.settings.section = "channelizer";
    bench.goals.note(bench::Aim::FIR, 0.92, "one");
    bench.goals.note(bench::Aim::FIR, 0, "not measured");
    bench.goals.note(bench::Aim::TURN, 0.85, "two");
    Outcome outcome = rows_of_goals(&bench);
    CHECK(outcome.n_failed == 0);
    CHECK(outcome.count("\"stretch\", \"where\": \"one\"") == 1);
    CHECK(outcome.count("\"reached\", \"where\": \"two\"") == 1);
    bench.goals.note(bench::Aim::FIR, 0.849999, "three");
    bench.goals.note(bench::Aim::FIR, 0.9, "four");
    outcome = rows_of_goals(&bench);
    CHECK(outcome.n_failed == 1);
    CHECK(outcome.count("\"MISSED\", \"where\": \"three\"") == 1);
    CHECK(bench.goals.find(bench::Aim::FIR).n == 3);
    CHECK(bench.goals.find(bench::Aim::ENGINE).where.empty());
    CHECK(bench::sheet_of("NVIDIA H200") == 1979e12);
    CHECK(bench::sheet_of("pretend device 0") == 0);
    CHECK(bench::Row("a").text("b", "c\"\\\n").number("d", NAN).line() ==
          "{\"kind\": \"a\", \"b\": \"c\\\"\\\\\", \"d\": null}");
}

/** A bench of a card whose ceilings are known. */
static bench::Bench bench_of_card(double ceiling)
{
    bench::Bench bench = {};
    std::strcpy(bench.card.name, "NVIDIA H200");
    bench.ceilings.ffma = bench.ceilings.dp4a = bench.ceilings.imma = ceiling;
    return bench;
}

/* A kernel of 80 operations a second, with ceilings of 100. */
TEST(a_goal_is_about_arrays_of_its_size)
{
    static const struct {
        size_t n_inputs, n_times;
        const char *kernel, *aims; /* the aims to which it counts */
    } arrays[] = {
        {512, 8192, "fp32-64", "FP32"},  {512, 1024, "fp32-64", "FP32"},
        {512, 61440, "fp32-64", "FP32"}, {512, 256, "fp32-64", ""},
        {1024, 8192, "fp32-64", ""},     {512, 8192, "dp4a-64", "DP4A"},
        {512, 1024, "dp4a-64", ""},      {256, 8192, "mma-128", "MMA"},
        {2048, 8192, "mma-128", "MMA"},  {128, 8192, "mma-128", ""},
        {512, 8192, "wgmma-128", "512"}, {2048, 8192, "wgmma-128", "2048"},
        {1024, 8192, "wgmma-128", ""}};
    for (const auto &array : arrays) {
        bench::Bench bench = bench_of_card(100);
        bench::note_goals(bench, array.n_inputs, array.n_times,
                          {{array.kernel, "", 1, 80}});
        const std::pair<const char *, bench::Aim> aims[] = {
            {"FP32", bench::Aim::FP32},
            {"DP4A", bench::Aim::DP4A},
            {"MMA", bench::Aim::MMA},
            {"512", bench::Aim::WGMMA_512},
            {"2048", bench::Aim::WGMMA_2048}};
        for (const auto &aim : aims) {
            const bench::Goals::Found found = bench.goals.find(aim.second);
            CHECK(found.n == (std::strcmp(aim.first, array.aims) == 0));
            CHECK(found.n == 0 || found.value == 0.8 ||
                  found.value == 80 / 1979e12);
        }
    }
}

/* cuBLAS and one core are compared with the fastest integer kernel. */
TEST(the_best_of_integers_is_beside_others)
{
    const std::vector<bench::Figure> figures = {
        {"dp4a-64", "", 1, 40},       {"wgmma-128", "", 1, 90},
        {"mma-128", "", 1, 80},       {"fp32-64", "", 1, 95},
        {"cublasLt int8", "", 1, 60}, {"CPU int8", "", 1, 9},
        {"one core int8", "", 1, 3}};
    bench::Bench bench = bench_of_card(100);
    bench::note_goals(bench, 512, 8192, figures);
    bench::note_goals(bench, 512, 1024, {{"mma-64", "", 1, 1}, figures[4]});
    CHECK(bench.goals.find(bench::Aim::PEER).value == 1.5);
    CHECK(bench.goals.find(bench::Aim::PEER).where ==
          "wgmma-128, 512 inputs, 8192 spectra");
    CHECK(bench.goals.find(bench::Aim::CORE).value == 30);
    /* one kind alone says nothing about the others */
    bench.goals = {};
    bench::note_goals(bench, 512, 8192, {{"mma-64", "", 1, 1}, figures[4]});
    CHECK(rows_of_goals(&bench).count("\"MISSED\"") == 1 + 1);
    setenv("FX8_ONLY", "mma", 1);
    CHECK(rows_of_goals(&bench).count("\"MISSED\"") == 1);
    CHECK(rows_of_goals(&bench).count("\"not by these\"") == 1);
    unsetenv("FX8_ONLY");
}

} // namespace bench_tests
