/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "correlator/commands/outputs.h"

static bool is_same_file(const char *path, const struct stat *file)
{
    struct stat other;
    return path != NULL && path[0] != '\0' && stat(path, &other) == 0 &&
           other.st_dev == file->st_dev && other.st_ino == file->st_ino;
}

/* One name that will be written. */
static enum fx8_status spare(const char *written, char *const *recordings,
                             size_t n_recordings, const char *config,
                             const struct fx8_settings *settings,
                             struct fx8_error *error)
{
    struct stat file;
    if (stat(written, &file) != 0)
        return FX8_OK;
    for (size_t i = 0; i < n_recordings; i++)
        if (is_same_file(recordings[i], &file))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: is the recording itself: expected another "
                            "name for the result",
                            written);
    const char *const tables[] = {config, settings->array.positions,
                                  settings->simulate.sources};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (is_same_file(tables[i], &file))
            return fx8_fail(error, FX8_ERR_USAGE,
                            "%s: is a file that this run reads: expected "
                            "another name for the result",
                            written);
    return FX8_OK;
}

enum fx8_status fx8_outputs_spare_inputs(
    const char *const *outputs, size_t n_outputs, char *const *recordings,
    size_t n_recordings, const char *config,
    const struct fx8_settings *settings, struct fx8_error *error)
{
    enum fx8_status status = FX8_OK;
    for (size_t i = 0; i < n_outputs && status == FX8_OK; i++) {
        if (outputs[i] == NULL)
            continue;
        char *part = NULL;
        if (asprintf(&part, "%s.part", outputs[i]) < 0)
            return fx8_fail(error, FX8_ERR_SYSTEM,
                            "memory for names: expected to be available");
        const char *const written[] = {outputs[i], part};
        for (size_t k = 0; k < 2 && status == FX8_OK; k++)
            status = spare(written[k], recordings, n_recordings, config,
                           settings, error);
        free(part);
    }
    return status;
}
