/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_engine_find.c -- which engine is opened, and the reasons reported when
 * it is not the CUDA engine. The plug-ins here are not real plug-ins.
 *
 * Shows (devices, choice of the engine): lists of devices, and plug-ins that
 *     are missing, are no libraries or belong to another program each give one
 *     line; names of kernels; kernels choose the engine
 * Within: texts equal
 * In: scenario/device.py
 */
#include "validation/cuda_plugin.h"
#include "validation/scratch.h"

TEST(lists_of_devices)
{
    static const char *const wrong[] = {"",     "all",        ",",  "0,",
                                        "0,,1", "-1",         "x",  "0 1",
                                        "1,1",  "2147483648", "+1", "0,1x"};
    int devices[FX8_MAX_DEVICES];
    size_t n = 9;
    struct fx8_error error;
    must(fx8_engine_devices("auto", devices, &n, &error), error);
    assert_int_equal(n, 0);
    must(fx8_engine_devices("2,0,11", devices, &n, &error), error);
    assert_int_equal(n, 3);
    assert_memory_equal(devices, ((const int[]){2, 0, 11}), 3 * sizeof(int));
    for (size_t k = 0; k < LENGTH(wrong); k++)
        assert_int_equal(fx8_engine_devices(wrong[k], devices, &n, &error),
                         FX8_ERR_USAGE);
    char many[512] = "0";
    for (int k = 1; k < 65; k++)
        snprintf(many + strlen(many), sizeof many - strlen(many), ",%d", k);
    assert_int_equal(fx8_engine_devices(many, devices, &n, &error),
                     FX8_ERR_USAGE);
    *strrchr(many, ',') = '\0';
    must(fx8_engine_devices(many, devices, &n, &error), error);
    assert_int_equal(n, 64);
}

/* Auto takes the CPU, and gives the reason in `wanted`; cuda fails with the
 * same reason. */
static void check_missing(const char *wanted)
{
    struct fx8_engine_plan plan = recorded_plan("auto", 0);
    struct fx8_engine_found found;
    struct fx8_error error;
    must_fail(fx8_engine_open(FX8_ENGINE_CUDA, &plan, &found, &error), error,
              FX8_ERR_UNSUPPORTED, wanted);
    must(fx8_engine_open(FX8_ENGINE_ANY, &plan, &found, &error), error);
    assert_string_equal(found.operations->name, "cpu");
    assert_string_equal(found.operations->facts(found.engine)->device, "");
    assert_string_equal(found.reason, wanted);
    found.operations->close(&found.engine);
    plan.machine.kernel = "dp4a";
    must_fail(fx8_engine_open(FX8_ENGINE_ANY, &plan, &found, &error), error,
              FX8_ERR_UNSUPPORTED, wanted);
}

TEST(plugins_that_are_none)
{
    char wanted[1200];
    const char *path = scratch_path("fx8-cuda.so");
    setenv(FX8_PLUGIN_VARIABLE, path, 1);
    snprintf(wanted, sizeof wanted, "cuda: plug-in missing: there is no %s",
             path);
    check_missing(wanted);

    scratch_text("fx8-cuda.so", "not a library\n");
    snprintf(wanted, sizeof wanted,
             "cuda: plug-in %s: cannot be loaded: %s: file too short", path,
             path);
    check_missing(wanted);

    /* a library, but not fx8's */
    setenv(FX8_PLUGIN_VARIABLE, "/proc/self/exe", 1);
    struct fx8_engine_plan plan = recorded_plan("auto", 0);
    struct fx8_engine_found found;
    struct fx8_error error;
    must_fail_with(fx8_engine_open(FX8_ENGINE_CUDA, &plan, &found, &error),
                   error, FX8_ERR_UNSUPPORTED,
                   "cuda: plug-in /proc/self/exe: ");
    unsetenv(FX8_PLUGIN_VARIABLE);
}

TEST(names_of_kernels)
{
    static const struct {
        enum fx8_engine_wish wish;
        const char *kernel, *text;
    } wrong[] = {
        {FX8_ENGINE_ANY, "sse2",
         "plan: kernel: sse2: expected auto; reference, avx2, avxvnni or "
         "avx512 (cpu); "
         "dp4a, mma, wgmma or fp32 (cuda)"},
        {FX8_ENGINE_CPU, "mma",
         "plan: kernel: mma: expected auto, reference, avx2, avxvnni or "
         "avx512"},
        {FX8_ENGINE_CUDA, "reference",
         "plan: kernel: reference: expected auto, dp4a, mma, wgmma or fp32"},
    };
    struct fx8_engine_found found;
    struct fx8_error error;
    setenv(FX8_PLUGIN_VARIABLE, "/nowhere", 1);
    for (size_t k = 0; k < LENGTH(wrong); k++) {
        const struct fx8_engine_plan plan = recorded_plan(wrong[k].kernel, 0);
        must_fail(fx8_engine_open(wrong[k].wish, &plan, &found, &error), error,
                  FX8_ERR_USAGE, wrong[k].text);
    }
    for (size_t k = 0; k < 2; k++) {
        const struct fx8_engine_plan plan =
            recorded_plan(k == 0 ? "reference" : "auto", 0);
        must(fx8_engine_open(k == 0 ? FX8_ENGINE_ANY : FX8_ENGINE_CPU, &plan,
                             &found, &error),
             error);
        assert_string_equal(found.operations->name, "cpu");
        assert_string_equal(found.reason, k == 0 ? "kernel reference is the "
                                                   "CPU's"
                                                 : "asked for");
        found.operations->close(&found.engine);
    }
    unsetenv(FX8_PLUGIN_VARIABLE);
}
