/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_diagnose.cu -- diagnose.cuh on correlators with planted faults;
 * with arguments, on correlators of the given kinds or names: the report of
 * gpu_diagnose on a kernel that failed on a card. Each correlator runs in a
 * process of its own, for at most 8 seconds.
 *
 * Shows (devices, diagnosis of a kernel): on correlators with planted faults
 *     `gpu_diagnose` reports wrong numbers and their sub-tiles, inputs and
 *     times that end up elsewhere, and errors by name; on correct correlators
 *     it reports nothing
 * Within: words
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "validation/cuda/diagnose.cuh"

namespace diagnose_tests
{

/* --- planted faults --------------------------------------------------------
 */

static const fx8_cuda_correlator &correlator_named(const char *name)
{
    size_t n;
    const fx8_cuda_correlator *all = fx8_cuda_correlators(&n);
    size_t k = 0;
    while (k + 1 < n && strcmp(all[k].name, name) != 0)
        ++k;
    return all[k];
}

/* The correlator with a fault: its spectra or its sums are modified. */
static const fx8_cuda_correlator *whole;

/** Add one to the sums of a sub-tile of the tile below the diagonal. */
static cudaError_t add_to_sub_tile(const fx8_cuda_correlation *job)
{
    const cudaError_t status = whole->accumulate(job);
    const size_t n_pairs = fx8_pair_count(job->n_inputs);
    const size_t tile = whole->tile_inputs;
    std::vector<int64_t> sums(2 * n_pairs * job->n_channels);
    const size_t bytes = sums.size() * sizeof(int64_t);
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy(sums.data(), job->sums, bytes, cudaMemcpyDeviceToHost));
    for (size_t c = 0; c < job->n_channels; ++c)
        for (size_t j = tile + 16; j < tile + 32; ++j)
            for (size_t i = 8; i < 16; ++i)
                for (size_t part = 0; part < 2; ++part)
                    ++sums[2 * (c * n_pairs + fx8_pair_index(i, j)) + part];
    MUST(cudaMemcpy(job->sums, sums.data(), bytes, cudaMemcpyHostToDevice));
    return status;
}

/** The correlator on spectra in which two words of 4 times are exchanged: those
 *  of rows a and b of the first column. */
static cudaError_t exchange(const fx8_cuda_correlation *job, size_t a,
                            size_t word_a, size_t b, size_t word_b)
{
    std::vector<uint32_t> x(
        4 * (job->n_channels * job->channel_stride + FX8_CUDA_TAIL_ROWS));
    MUST(cudaMemcpy(x.data(), job->x, 4 * x.size(), cudaMemcpyDeviceToHost));
    for (size_t c = 0; c < job->n_channels; ++c) {
        uint32_t *const first = &x[4 * c * job->channel_stride];
        std::swap(first[4 * a + word_a], first[4 * b + word_b]);
    }
    DeviceArray<uint32_t> changed(x);
    fx8_cuda_correlation own = *job;
    own.x = changed.data();
    const cudaError_t status = whole->accumulate(&own);
    MUST(cudaDeviceSynchronize());
    return status;
}

/** Inputs 3 and 11 of the rows of a tile, their real parts. */
static cudaError_t exchange_rows(const fx8_cuda_correlation *job)
{
    const size_t first = whole->tile_inputs;
    return exchange(job, 2 * (first + 3), 0, 2 * (first + 11), 0);
}

/** Times 4 to 7 and 8 to 11 of an input of the columns, imaginary parts. */
static cudaError_t exchange_times(const fx8_cuda_correlation *job)
{
    return exchange(job, 2 * 5 + 1, 1, 2 * 5 + 1, 2);
}

static fx8_cuda_correlator with_fault(
    const char *name, cudaError_t (*accumulate)(const fx8_cuda_correlation *))
{
    whole = &correlator_named(name);
    fx8_cuda_correlator faulty = *whole;
    faulty.accumulate = accumulate;
    return faulty;
}

static bool says(const diagnose::Verdict &verdict, const char *part)
{
    const bool is_said = verdict.text.find(part) != std::string::npos;
    if (!is_said)
        printf("# not said: %s\n# %s\n", part, verdict.text.c_str());
    return is_said;
}

TEST(nothing_is_wrong_with_what_is_right)
{
    for (const char *name : {"dp4a-16", "fp32-16", "mma-32"}) {
        const fx8_cuda_correlator &correlator = correlator_named(name);
        CHECK(diagnose::tell_differences(correlator, 50).n_wrong == 0);
        for (const bool are_rows : {true, false}) {
            const diagnose::Verdict verdict =
                diagnose::tell_impulses(correlator, are_rows, 4);
            CHECK(verdict.n_wrong == 0 && !verdict.is_error);
            CHECK(says(verdict, ": 0 of "));
        }
    }
}

TEST(wrong_numbers_and_their_sub_tile_are_told)
{
    const diagnose::Verdict verdict =
        diagnose::tell_differences(with_fault("mma-32", add_to_sub_tile), 20);
    CHECK(verdict.n_wrong == 2 * 2 * 16 * 8);
    CHECK(says(verdict, "mma-32: 512 of "));
    CHECK(says(verdict, "  channel 0, i 8, j 48, re: got "));
    CHECK(says(verdict, "  channel 0, i 15, j 48, im: got "));
    CHECK(verdict.text.find("j 49") == std::string::npos); /* 16 are listed */
    CHECK(says(verdict, "tiles below it"));
    CHECK(says(verdict, "    j   0  ....\n    j  16  .#..\n"));
    CHECK(verdict.text.find("on the diagonal") == std::string::npos);
}

TEST(a_row_that_lands_in_another_is_told)
{
    const fx8_cuda_correlator faulty = with_fault("mma-32", exchange_rows);
    const diagnose::Verdict rows = diagnose::tell_impulses(faulty, true, 16);
    CHECK(rows.n_wrong == 2 * 4);
    CHECK(says(rows, "impulses in rows (j): 8 of 1024 places are wrong\n"));
    CHECK(says(rows, "     4: not in its own, +8 inputs, re as re, +0 times "
                     "(first: fragment 0, input 3, re, time 0)"));
    CHECK(says(rows, "-8 inputs, re as re, +0 times, not in its own"));
}

TEST(times_that_change_places_are_told)
{
    const diagnose::Verdict verdict = diagnose::tell_impulses(
        with_fault("dp4a-16", exchange_times), false, 16);
    CHECK(verdict.n_wrong == 8);
    CHECK(says(verdict, "     4: +0 inputs, im as im, +4 times"));
    CHECK(says(verdict, "     4: +0 inputs, im as im, -4 times"));
}

#if defined(FX8_CUDA_ON_CPU)
TEST(an_error_has_its_name_told)
{
    const tap::Ending ending = tap::in_child([] {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        harness::settings().plant = "correlate_mma_32:refuse";
        const diagnose::Verdict verdict =
            diagnose::tell_differences(correlator_named("mma-32"), 20);
        printf("%s\n", verdict.is_error ? "is an error" : "is none");
        fflush(stdout);
    });
    CHECK(ending.says("cudaErrorLaunchFailure"));
    CHECK(ending.says("is an error"));
}
#endif

/* --- on a card -------------------------------------------------------- */

constexpr unsigned MOST_S = 8;
constexpr int NOT_HERE = 78;

/** Print everything about a correlator at once: it may crash or hang. */
static int diagnose_one(const fx8_cuda_correlator &correlator)
{
    const bool is_short = getenv("FX8_SHORT") != nullptr;
    fx8_cuda_capability capability;
    const cudaError_t status = fx8_cuda_capability_of_device(&capability);
    if (status != cudaSuccess) {
        printf("%s: %s\n", correlator.name, cudaGetErrorName(status));
        return 0;
    }
    if (!correlator.runs_on(&capability))
        return NOT_HERE;
    diagnose::Verdict verdict =
        diagnose::tell_differences(correlator, is_short ? 50 : 300);
    fputs(verdict.text.c_str(), stdout);
    fflush(stdout);
    if (verdict.n_wrong == 0 || verdict.is_error)
        return 0;
    for (const bool are_rows : {true, false}) {
        verdict = diagnose::tell_impulses(correlator, are_rows,
                                          is_short ? 4 : FX8_CUDA_TIME_PAD);
        fputs(verdict.text.c_str(), stdout);
        fflush(stdout);
    }
    return 0;
}

/** The same in a child, before this process uses the device. */
static bool diagnose_apart(const fx8_cuda_correlator &correlator)
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(MOST_S);
        const int result = diagnose_one(correlator);
        fflush(stdout);
        _exit(result);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    if (WIFSIGNALED(status))
        printf("%s: ended by %s\n", correlator.name,
               WTERMSIG(status) == SIGALRM ? "its time limit"
                                           : strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != NOT_HERE)
        printf("%s: ended with status %d\n", correlator.name,
               WEXITSTATUS(status));
    return !WIFEXITED(status) || WEXITSTATUS(status) != NOT_HERE;
}

/* Kinds or names of correlators: diagnose only those, and print it all. */
ON_WORDS(words)
{
    size_t n, n_looked_at = 0;
    const fx8_cuda_correlator *all = fx8_cuda_correlators(&n);
    for (const std::string &word : words)
        for (size_t k = 0; k < n; ++k) {
            const std::string kind(all[k].name, strcspn(all[k].name, "-"));
            if (word == kind || word == all[k].name)
                n_looked_at += diagnose_apart(all[k]);
        }
    return n_looked_at > 0 ? 0 : NOT_HERE;
}

} // namespace diagnose_tests
