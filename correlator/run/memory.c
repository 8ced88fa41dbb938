/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <unistd.h>

#include "config/base/shape.h"
#include "correlator/run/memory.h"
#include "correlator/run/sink.h"
#include "io/uvh5/uvh5.h"

size_t fx8_memory_of_machine(void)
{
    return fx8_product((size_t)sysconf(_SC_PHYS_PAGES),
                       (size_t)sysconf(_SC_PAGESIZE), 1, 1);
}

/* Program and libraries, 22 MiB of the smallest run, and what HDF5 and malloc()
 * keep, for counts, columns and metadata: 512 and 2,048 inputs stayed 10 MiB
 * and more below. */
#define PROGRAM_BYTES ((size_t)40 << 20)

size_t fx8_memory_beside(const struct fx8_run_request *request, bool has_slices)
{
    size_t bytes = PROGRAM_BYTES;
    for (size_t c = 0; c < request->job->n_centers; c++)
        bytes += fx8_sink_memory(request, c, has_slices) +
                 (has_slices ? 0 : request->outputs[c].consumer.memory);
    return bytes;
}

/* What needs whole dumps, for the end of a message; NULL: nothing. */
static const char *find_reason(const struct fx8_run_request *request)
{
    const struct fx8_job *job = request->job;
    const struct fx8_axes *axes = &job->axes;
    if (job->n_centers > 1)
        return ", for each of the phase centres, which share the limit";
    if (request->n_ranks > 1)
        return "; a process alone may take less";
    if (job->settings->output.time_average_loss > 0.0)
        return "; less without output.time_average_loss, which takes whole "
               "dumps";
    if (job->plan.quicklook)
        return "; less without postprocess.quicklook, which takes whole dumps";
    if (!fx8_uvh5_takes_slices((size_t)job->n_dumps, axes->n_baselines,
                               axes->n_channels, axes->n_products,
                               job->settings->output.compression))
        return "; less with another number of antennas: chunks of the result "
               "cannot be smaller than a dump";
    return NULL;
}

size_t fx8_memory_slices_above(const struct fx8_run_request *request)
{
    const size_t limit = request->job->plan.machine.memory_limit;
    if (find_reason(request) != NULL)
        return 0;
    return limit > 0 ? limit : fx8_memory_of_machine() / 2;
}

enum fx8_status fx8_memory_name_key(const struct fx8_run_request *request,
                                    enum fx8_status status,
                                    struct fx8_error *error)
{
    enum { MEMORY };
    static const struct {
        const char *member, *key;
    } keys[] = {
        [MEMORY] = {"plan: memory_limit: ", "correlator.memory_limit_mib"},
        {"plan: device: ", "correlator.device"},
        {"plan: kernel: ", "correlator.kernel"},
        {"plan: n_bands: ", "channelizer.channels"},
        {"plan: sk_false_alarm: ", "flag.sk_false_alarm"},
        {"plan: van_vleck: ", "input.van_vleck"},
    };
    const struct fx8_error found = *error;
    const char *expected = strstr(found.message, "expected");
    const char *reason = find_reason(request);
    for (size_t k = 0; k < sizeof keys / sizeof *keys && expected != NULL; k++)
        if (strncmp(found.message, keys[k].member, strlen(keys[k].member)) == 0)
            fx8_settings_fail(request->job->settings, keys[k].key, error,
                              "%s%s", expected,
                              k == MEMORY && reason != NULL ? reason : "");
    error->status = status;
    return status;
}
