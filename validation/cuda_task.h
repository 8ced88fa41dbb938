/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_task.h -- tasks of engine_task.h on CUDA.
 */
#ifndef FX8_VALIDATION_CUDA_TASK_H
#define FX8_VALIDATION_CUDA_TASK_H

#include "validation/cuda_plugin.h"
#include "validation/engine_task.h"

/* The task on CUDA, with the task's threads and limits. */
static inline struct task on_cuda(const struct task *task, const char *kernel,
                                  size_t n_devices)
{
    struct task other = *task;
    other.engine = cuda;
    other.plan.machine.kernel = kernel_in_place_of(kernel);
    other.plan.devices = all_devices;
    other.plan.n_devices = n_devices < n_there ? n_devices : n_there;
    other.plan.host_operations = fx8_operations_variant(0);
    return other;
}

#endif
