/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <unistd.h>

#include "config/base/shape.h"
#include "correlator/run/memory.h"

size_t fx8_memory_of_machine(void)
{
    return fx8_product((size_t)sysconf(_SC_PHYS_PAGES),
                       (size_t)sysconf(_SC_PAGESIZE), 1, 1);
}

enum fx8_status fx8_memory_name_key(const struct fx8_job *job,
                                    enum fx8_status status,
                                    struct fx8_error *error)
{
    static const struct {
        const char *member, *key;
    } keys[] = {
        {"plan: device: ", "correlator.device"},
        {"plan: kernel: ", "correlator.kernel"},
        {"plan: memory_limit: ", "correlator.memory_limit_mib"},
        {"plan: n_bands: ", "channelizer.channels"},
    };
    const struct fx8_error found = *error;
    const char *expected = strstr(found.message, "expected");
    for (size_t k = 0; k < sizeof keys / sizeof *keys && expected != NULL; k++)
        if (strncmp(found.message, keys[k].member, strlen(keys[k].member)) == 0)
            fx8_settings_fail(
                job->settings, keys[k].key, error, "%s%s", expected,
                job->n_centers > 1 ? ", for each phase centre" : "");
    error->status = status;
    return status;
}
