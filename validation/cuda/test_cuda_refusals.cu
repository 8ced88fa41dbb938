/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_refusals.cu -- messages on opening the CUDA engine when kernels are
 * not in the build or devices hang.
 *
 * Shows (devices, engines that are refused): opening an engine names kernels
 *     that are not in the build and devices that hang; the next engine avoids
 *     them
 * Within: the words
 * Because: a message is a text
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "kernels/engine_find.h"
#include "kernels/operations.h"
#include "validation/cuda/checkers.h"
#include "validation/cuda/device_array.h"
#include "validation/cuda/tap.h"

namespace refusals_tests
{

/** What the plug-in exports; here it is linked. */
extern "C" const struct fx8_engine_plugin fx8_engine_plugin;

static const fx8_engine_operations &engine_table()
{
    return *fx8_engine_plugin.operations;
}

/* The runtime says for one kernel after the other that the device has no code
 * for it: the other one's name reports it, and an engine for that kernel alone
 * does not open. */
TEST(a_kernel_left_out_is_told)
{
    fx8_engine_plan plan = {};
    plan.bank = {true, 1, 1, 1};
    plan.n_inputs = 17;
    plan.spectra_per_dump = 20;
    plan.precisions = FX8_PRECISION_INT8;
    plan.machine.threads.count = 1;
    plan.host_operations = fx8_operations_variant(0);
    const int error_before = harness::settings().fail_error;
    harness::settings().fail_error = cudaErrorNoKernelImageForDevice;
    for (const char *kernel : {"dp4a", "dp4a-16"}) {
        std::string told;
        plan.machine.kernel = kernel;
        for (uint64_t call = 1; call < 1000 && told.empty(); ++call) {
            struct fx8_engine *engine = nullptr;
            fx8_error error = {};
            harness::settings().fail_call = harness::count_calls() + call;
            const fx8_status status =
                engine_table().open(&plan, &engine, &error);
            harness::settings().fail_call = 0;
            const std::string text = status == FX8_OK
                                         ? engine_table().kernel_name(engine)
                                         : error.message;
            if (text.find("; not ") != std::string::npos)
                told = text;
            engine_table().close(&engine);
        }
        CHECK(told.find(strlen(kernel) == 4
                            ? "dp4a-32; not dp4a-16: not in this build"
                            : "of its trial; not dp4a-16: not in this build") !=
              std::string::npos);
    }
    harness::settings().fail_error = error_before;
}

#if !FX8_THREAD_CHECKER /* which does not let a child start threads */
/* Open an engine on a device whose kernel of this name hangs, and another
 * engine afterwards; both must give the right message. */
static void open_beside(const char *kernel, const char *wanted)
{
    const float coefficients[] = {1, 2, 3, 4, 5, 6, 7, 8};
    fx8_engine_plan plan = {};
    plan.bank = {true, 4, 1, 4};
    plan.coefficients = coefficients;
    plan.n_inputs = 3;
    plan.spectra_per_dump = 20;
    plan.precisions = FX8_PRECISION_INT8 | FX8_PRECISION_FP32;
    plan.machine.kernel = "auto";
    plan.machine.threads.count = 1;
    plan.host_operations = fx8_operations_variant(0);
    plan.deadline_s = 0.01;
    harness::settings().hanging_kernel = kernel;
    struct fx8_engine *engine = nullptr;
    fx8_error error = {};
    bool is_right =
        engine_table().open(&plan, &engine, &error) == FX8_ERR_DEVICE &&
        strstr(error.message, wanted) != nullptr;
    const std::string first = error.message;
    harness::settings().hanging_kernel = nullptr;
    if (harness::settings().n_devices > 1)
        is_right = is_right &&
                   engine_table().open(&plan, &engine, &error) == FX8_OK &&
                   strncmp(engine_table().device_name(engine), "1 ", 2) == 0;
    else
        is_right =
            is_right &&
            engine_table().open(&plan, &engine, &error) == FX8_ERR_DEVICE &&
            strstr(error.message, "stopped answering this process earlier") !=
                nullptr;
    engine_table().close(&engine);
    if (!is_right) {
        fprintf(stderr, "%s\n%s\n", first.c_str(), error.message);
        _exit(1);
    }
}

TEST(a_device_that_hangs_is_given_up)
{
    const struct {
        const char *kernel, *wanted;
        int n_devices;
    } all[] = {
        {"fx8_fir_4_kernel", "waiting for FIR: not done within 0.01 s", 1},
        {"fx8_corner_turn_kernel", "for corner turn: not done within 0.01 s",
         2},
        {"fx8_export_fp32_kernel", "for spectra: not done within 0.01 s", 1},
    };
    for (const auto &each : all) {
        const tap::Ending ending = tap::in_child([&] {
            harness::settings().n_devices = each.n_devices;
            harness::reset_devices();
            open_beside(each.kernel, each.wanted);
        });
        CHECK(ending.status == 0);
        if (ending.status != 0)
            tap::show(ending);
    }
}

/* One correlator hangs and another is used: the caller's pinned memory is
 * unpinned when the engine is closed. */
TEST(nothing_stays_pinned_beside_a_kernel_that_hangs)
{
    const tap::Ending ending = tap::in_child([] {
        const size_t bytes = size_t(4) << 20;
        void *const memory = aligned_alloc(4096, bytes);
        fx8_engine_plan plan = {};
        plan.bank = {true, 1, 1, 1};
        plan.n_inputs = 17;
        plan.spectra_per_dump = 20;
        plan.precisions = FX8_PRECISION_INT8;
        plan.machine.kernel = "dp4a";
        plan.machine.threads.count = 1;
        plan.host_operations = fx8_operations_variant(0);
        plan.deadline_s = 0.01;
        harness::settings().hanging_kernel = "fx8_correlate_dp4a_32_kernel";
        struct fx8_engine *engine = nullptr;
        fx8_error error = {};
        if (engine_table().open(&plan, &engine, &error) != FX8_OK ||
            strstr(engine_table().kernel_name(engine), "does not end") ==
                nullptr) {
            fprintf(stderr, "%s\n", error.message);
            _exit(1);
        }
        engine_table().pin(engine, memory, bytes);
        engine_table().close(&engine);
        _exit(cudaHostRegister(memory, bytes, cudaHostRegisterPortable) !=
              cudaSuccess);
    });
    CHECK(ending.status == 0);
    if (ending.status != 0)
        tap::show(ending);
}
#endif

} // namespace refusals_tests
