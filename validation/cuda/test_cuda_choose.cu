/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_choose.cu -- which correlator a device gets: by name, by what the
 * device supports, by trial and by time; and what happens to one that fails its
 * trial. Runs on the harness and, compiled by nvcc, on a card.
 *
 * Shows: as cuda/test_cuda_xengine.cu
 */
#include <string.h>

#include "kernels/cuda/correlate.h"
#include "validation/cuda/checkers.h"
#include "validation/cuda/device_array.h"

namespace choose_tests
{

static bool begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

TEST(a_choice_is_of_the_name_and_exact)
{
    const fx8_cuda_correlator_use int8 = {true, 9, 5, 300, FX8_CUDA_NEAREST};
    const fx8_cuda_correlator_use fp32 = {false, 9, 5, 300, FX8_CUDA_NEAREST};
    fx8_cuda_choice choice;
    MUST(fx8_cuda_correlator_choose("auto", &int8, nullptr, &choice));
    CHECK(choice.correlator != nullptr && choice.correlator->is_int8);
    CHECK(choice.n_trials >= 1);
    for (size_t k = 0; k < choice.n_trials; ++k) {
        const auto &trial = choice.trials[k];
        CHECK(trial.trouble == nullptr && trial.milliseconds > 0);
        CHECK(!begins(trial.correlator->name, "dp4a") ||
              trial.correlator->tile_inputs == 16);
    }
    MUST(fx8_cuda_correlator_choose("auto", &fp32, nullptr, &choice));
    CHECK(choice.correlator != nullptr && !choice.correlator->is_int8);
    for (size_t k = 0; k < choice.n_trials; ++k)
        CHECK(choice.trials[k].correlator->rounding == FX8_CUDA_NEAREST);
    fx8_cuda_correlator_use up = fp32;
    up.rounding = FX8_CUDA_UP;
    for (const char *name : {"auto", "fp32", "fp32-up"}) {
        MUST(fx8_cuda_correlator_choose(name, &up, nullptr, &choice));
        CHECK(choice.correlator != nullptr && choice.n_trials == 1 &&
              strcmp(choice.correlator->name, "fp32-up-16") == 0);
    }
    for (const char *name : {"fp32-16", "fp32-down"}) {
        MUST(fx8_cuda_correlator_choose(name, &up, nullptr, &choice));
        CHECK(choice.correlator == nullptr && choice.n_trials == 0);
    }
    MUST(fx8_cuda_correlator_choose("dp4a", &int8, nullptr, &choice));
    CHECK(choice.correlator != nullptr &&
          strcmp(choice.correlator->name, "dp4a-16") == 0);
    MUST(fx8_cuda_correlator_choose("dp4a-64", &int8, nullptr, &choice));
    CHECK(choice.correlator != nullptr && choice.n_trials == 1 &&
          strcmp(choice.correlator->name, "dp4a-64") == 0);
    for (const char *name : {"", "dp4", "dp4a-", "dp4a-128", "fp32"}) {
        MUST(fx8_cuda_correlator_choose(name, &int8, nullptr, &choice));
        CHECK(choice.correlator == nullptr && choice.n_trials == 0);
    }
}

/* Of the correlators that the device runs, to nearest, the one with the least
 * estimated cost. */
static const char *cheapest(bool is_int8, const fx8_cuda_capability &capability,
                            size_t n_inputs)
{
    size_t n = 0;
    const fx8_cuda_correlator *const all = fx8_cuda_correlators(&n),
                                     *best = nullptr;
    for (const auto *each = all; each < all + n; ++each)
        if (each->is_int8 == is_int8 && each->rounding == FX8_CUDA_NEAREST &&
            each->runs_on(&capability) &&
            (best == nullptr || fx8_cuda_correlator_cost(each, n_inputs) <
                                    fx8_cuda_correlator_cost(best, n_inputs)))
            best = each;
    return best == nullptr ? "none" : best->name;
}

TEST(devices_get_what_they_can_run)
{
    const struct {
        fx8_cuda_capability capability;
        const char *small, *large;
    } devices[] = {
        {{6, 1, 49152}, "dp4a-16", "dp4a-64"},
        {{7, 5, 65536}, "mma-32", "mma-128"},
        {{8, 9, 101376}, "mma-32", "mma-128"},
        {{9, 0, 232448}, "mma-32", "wgmma-128"},
        {{9, 0, 101376}, "mma-32", "mma-128"},
        {{12, 0, 101376}, "mma-32", "mma-128"},
    };
    for (const auto &device : devices) {
        const auto &capability = device.capability;
        CHECK(strcmp(cheapest(true, capability, 4), device.small) == 0);
        CHECK(strcmp(cheapest(true, capability, 1024), device.large) == 0);
        CHECK(strcmp(cheapest(false, capability, 1024), "fp32-64") == 0);
    }
    CHECK(strcmp(cheapest(true, {6, 0, 49152}, 4), "none") == 0);
}

/* --- on the harness alone --------------------------------------------------
 */

#if defined(FX8_CUDA_ON_CPU)

#if !FX8_THREAD_CHECKER
/* A choice makes many similar calls: a checker runs every seventh. */
static const uint64_t STEP = FX8_CHECKED ? 7 : 1;

/* Calls of the runtime for a choice among kernels dp4a. */
static uint64_t calls_of_choice(const fx8_cuda_correlator_use &use,
                                fx8_cuda_choice *choice)
{
    const uint64_t before = harness::count_calls();
    MUST(fx8_cuda_correlator_choose("dp4a", &use, nullptr, choice));
    return harness::count_calls() - before;
}

TEST(a_choice_passes_on_every_error)
{
    const fx8_cuda_correlator_use use = {true, 17, 1, 20, FX8_CUDA_NEAREST};
    fx8_cuda_choice choice;
    const size_t live = harness::count_live();
    const uint64_t n_calls = calls_of_choice(use, &choice);
    CHECK(choice.n_trials == 2);
    for (uint64_t call = 1; call <= n_calls; call += STEP) {
        harness::settings().fail_call = harness::count_calls() + call;
        const cudaError_t error =
            fx8_cuda_correlator_choose("dp4a", &use, nullptr, &choice);
        harness::settings().fail_call = 0;
        const char *failed = harness::failed_call();
        const bool is_release =
            failed != nullptr && (strcmp(failed, "cudaFree") == 0 ||
                                  strcmp(failed, "cudaEventDestroy") == 0 ||
                                  strcmp(failed, "cudaStreamDestroy") == 0);
        if (!is_release && error == cudaSuccess)
            printf("# call %d of %d: %s\n", static_cast<int>(call),
                   static_cast<int>(n_calls), failed ? failed : "none");
        CHECK(is_release || error != cudaSuccess);
        CHECK(is_release || harness::count_live() == live);
        /* a kernel is left out if its launches fail */
        const bool is_launch =
            failed != nullptr && strcmp(failed, "kernel") == 0;
        CHECK(!is_launch || choice.trying != nullptr);
        cudaGetLastError();
    }
}

/* One choice after the other without looking at errors: the address checker has
 * seen a full one above. */
#if !FX8_ADDRESS_CHECKER
/* Spoil one call of a choice after the other; returns how often kernels were
 * left out for this reason.  The other kernel is then used. */
static size_t count_left_out(const fx8_cuda_correlator_use &use,
                             uint64_t &spoilt_call, const char *why)
{
    fx8_cuda_choice choice;
    const uint64_t n_calls = calls_of_choice(use, &choice);
    const auto *cheapest = choice.correlator;
    size_t n = 0;
    for (uint64_t call = 1; call <= n_calls; ++call) {
        spoilt_call = harness::count_calls() + call;
        const cudaError_t error =
            fx8_cuda_correlator_choose("dp4a", &use, nullptr, &choice);
        CHECK(error == cudaSuccess ||
              &spoilt_call == &harness::settings().fail_call);
        spoilt_call = 0;
        cudaGetLastError();
        if (error != cudaSuccess)
            continue;
        const size_t last = choice.n_trials - 1;
        CHECK(last == 1 || (last == 0 && use.is_any));
        /* of any, the first exact one: the cheapest or, if it is wrong, the
         * next, and neither is timed */
        if (use.is_any) {
            CHECK(choice.trials[last].correlator == choice.correlator);
            CHECK(choice.trials[last].milliseconds <= 0);
            CHECK(choice.trials[0].correlator == cheapest);
            CHECK((last == 1) == (choice.trials[0].trouble != nullptr));
        }
        for (size_t k = 0; k <= last; ++k) {
            const char *const trouble = choice.trials[k].trouble;
            if (trouble == nullptr)
                continue;
            ++n;
            CHECK(strcmp(trouble, why) == 0);
            CHECK(choice.correlator == choice.trials[1 - k].correlator);
        }
    }
    return n;
}

TEST(a_choice_without_what_is_not_built_or_wrong)
{
    fx8_cuda_correlator_use use = {true, 17, 1, 20, FX8_CUDA_NEAREST};
    harness::Settings &settings = harness::settings();
    const int error_before = settings.fail_error;
    settings.fail_error = cudaErrorNoKernelImageForDevice;
    /* for each of two kernels: loading, two launches, and the two queries after
     * each launch */
    CHECK(count_left_out(use, settings.fail_call, "not in this build") == 10);
    settings.fail_error = error_before;
    /* launches that do nothing: the two of a trial; later ones are only timed
     */
    CHECK(count_left_out(use, settings.idle_call, "wrong sums") == 4);
    use.is_any = true;
    CHECK(count_left_out(use, settings.idle_call, "wrong sums") == 2);
}

#endif

/* --- kernels that never end ------------------------------------------- */

/* Each in a process of its own: a hang is remembered. */

/* The expected choice among all kernels for 300 inputs when one hangs: that one
 * is left out, the others are tried; then nothing is timed. */
static void choose_beside(const char *kernel, const char *name,
                          const char *wanted)
{
    fx8_cuda_correlator_use use = {true, 300, 1, 20, FX8_CUDA_NEAREST};
    use.deadline_s = 0.001;
    fx8_cuda_choice choice;
    harness::settings().hanging_kernel = kernel;
    harness::settings().streams.kind = harness::Order::LAST;
    for (int n = 0; n < 2; ++n) {
        const size_t live = harness::count_live();
        MUST(fx8_cuda_correlator_choose("auto", &use, nullptr, &choice));
        CHECK(choice.n_trials == 7 && choice.trying == nullptr &&
              strcmp(choice.correlator->name, wanted) == 0 &&
              harness::count_live() > live);
        for (size_t k = 0; k < choice.n_trials; ++k) {
            const auto &trial = choice.trials[k];
            const bool hangs = strcmp(trial.correlator->name, name) == 0;
            CHECK(trial.milliseconds == 0 &&
                  hangs == (trial.trouble != nullptr) &&
                  (!hangs || strcmp(trial.trouble, "does not end") == 0));
        }
        /* the second choice does not try it, which would end at once */
        harness::settings().hanging_kernel = nullptr;
    }
}

TEST(a_choice_without_what_hangs)
{
    static const struct {
        const char *kernel, *name, *wanted;
    } all[] = {
        {"fx8_correlate_wgmma_128_kernel", "wgmma-128", "mma-64"},
        {"fx8_correlate_dp4a_16_kernel", "dp4a-16", "wgmma-128"},
    };
    for (const auto &each : all) {
        tap::must_pass_in_child(
            [&] { choose_beside(each.kernel, each.name, each.wanted); });
    }
}

/* Each launch is made to hang, also the timed ones: its kernel is left out, the
 * other one used. */
TEST(a_choice_without_what_hangs_at_times)
{
    fx8_cuda_correlator_use use = {true, 17, 1, 20, FX8_CUDA_NEAREST};
    use.deadline_s = 0.001;
    fx8_cuda_choice choice;
    const uint64_t n_calls = calls_of_choice(use, &choice);
    size_t n_left_out = 0;
    for (uint64_t call = 1; call <= n_calls; call += STEP) {
        const tap::Ending ending = tap::in_child([&] {
            harness::settings().hanging_call = harness::count_calls() + call;
            MUST(fx8_cuda_correlator_choose("dp4a", &use, nullptr, &choice));
            const auto *trials = choice.trials;
            const bool first = trials[0].trouble != nullptr;
            const bool second = trials[1].trouble != nullptr;
            if (choice.n_trials != 2 || choice.correlator == nullptr ||
                (first && choice.correlator != trials[1].correlator) ||
                (second && choice.correlator != trials[0].correlator))
                _exit(1);
            _exit(first || second ? 2 : 0);
        });
        CHECK(ending.status == 0 || ending.status == 2);
        if (ending.status != 0 && ending.status != 2)
            tap::show(ending);
        n_left_out += ending.status == 2;
    }
    /* each of two kernels has two launches tried and six timed, the first also
     * where the job grows; half the expected share for every seventh call */
    CHECK(n_left_out >= (2 * (2 + 6) + 1) / (2 * STEP));
}

#endif

#endif

} // namespace choose_tests
