/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_memory.c -- from which size on the dumps of a run come in slices.
 *
 * Shows (results, memory of a run): beyond memory_limit_mib or, with auto,
 *     beyond half of this machine's memory; never with a quick-look, several
 *     phase centres or ranks, or chunks that run through all baselines
 * Within: exact
 */
#include <unistd.h>

#include "correlator/run/memory.h"
#include "validation/testing.h"

TEST(dumps_in_slices)
{
    const size_t machine =
        (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    const struct fx8_settings settings = {.output.compression =
                                              FX8_COMPRESSION_NONE};
    const struct fx8_job usual = {
        .settings = &settings,
        .n_dumps = 3,
        .n_centers = 1,
        .axes = {.n_baselines = 4950, .n_channels = 16, .n_products = 4}};
    struct fx8_job job = usual;
    struct fx8_run_request request = {.job = &job, .n_ranks = 1};
    assert_int_equal(fx8_memory_slices_above(&request), machine / 2);
    job.plan.machine.memory_limit = 12345;
    assert_int_equal(fx8_memory_slices_above(&request), 12345);
    request.n_ranks = 2;
    assert_int_equal(fx8_memory_slices_above(&request), 0);
    request.n_ranks = 1;
    job.n_centers = 2;
    assert_int_equal(fx8_memory_slices_above(&request), 0);
    job.n_centers = 1;
    job.plan.quicklook = true;
    assert_int_equal(fx8_memory_slices_above(&request), 0);
    job.plan.quicklook = false;
    job.axes.n_baselines = 12403; /* 79 x 157: no chunk of 1 to 4 MiB */
    assert_int_equal(fx8_memory_slices_above(&request), 0);
}
