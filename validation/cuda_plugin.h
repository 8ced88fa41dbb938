/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_plugin.h -- the CUDA engine for tests: the plug-in on pretend devices
 * (validation/cuda), or the one that FX8_CUDA_PLUGIN names.
 */
#ifndef FX8_VALIDATION_CUDA_PLUGIN_H
#define FX8_VALIDATION_CUDA_PLUGIN_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/engine_find.h"
#include "kernels/plugin.h"
#include "validation/cuda/without.h"
#include "validation/testing.h"

static const struct fx8_engine_operations *cuda;
static const int all_devices[] = {0, 1, 2};
static size_t n_there = 3; /* devices available */
static bool is_card;
static const char *kernels[] = {"dp4a", "mma", "wgmma"};
#define N_KERNELS LENGTH(kernels)

/* The pretend devices' plug-in is in the folder of this program. */
static inline void name_plugin(void)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
    assert_true(length > 0);
    path[length] = '\0';
    strcpy(strrchr(path, '/'), "/harness/" FX8_PLUGIN_FILE);
    setenv(FX8_PLUGIN_VARIABLE, path, 0);
    setenv("FX8_HARNESS_DEVICES", "3", 0);
}

/* Dumps of one recorded spectrum, INT8. */
static inline struct fx8_engine_plan recorded_plan(const char *kernel,
                                                   size_t n_devices)
{
    return (struct fx8_engine_plan){
        .bank = {.is_complex = true,
                 .fft_length = 1,
                 .n_taps = 1,
                 .n_channels = 1},
        .n_inputs = 1,
        .spectra_per_dump = 1,
        .precisions = FX8_PRECISION_INT8,
        .machine.kernel = kernel,
        .devices = all_devices,
        .n_devices = n_devices,
        .machine.threads.count = 1,
    };
}

/* Whether the engine opens with a kernel on the first n_devices devices; if so,
 * `cuda` is set. */
static inline bool opens(const char *kernel, size_t n_devices,
                         struct fx8_error *error)
{
    const struct fx8_engine_plan plan = recorded_plan(kernel, n_devices);
    struct fx8_engine_found found;
    if (fx8_engine_open(FX8_ENGINE_CUDA, &plan, &found, error) != FX8_OK)
        return false;
    cuda = found.operations;
    assert_non_null(strstr(cuda->facts(found.engine)->kernel, kernel));
    cuda->close(&found.engine);
    return true;
}

/* A card may lack the second or third device, and the tensor cores. */
static inline int find_cuda(void **state)
{
    (void)state;
    const char *const any = kernel_in_place_of("dp4a-16");
    struct fx8_error error;
    is_card = getenv(FX8_PLUGIN_VARIABLE) != NULL;
    name_plugin();
    if (!opens(any, 1, &error))
        fail_msg("%s", error.message);
    while (is_card && !opens(any, n_there, &error))
        n_there--;
    for (size_t k = 0; k < N_KERNELS; k++)
        if (is_left_out(kernels[k]))
            kernels[k] = any;
        else if (is_card && !opens(kernels[k], 1, &error))
            kernels[k] = "auto";
    return 0;
}

#endif
