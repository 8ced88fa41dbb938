/* SPDX-License-Identifier: BSD-3-Clause */
#include "validation/fuzz/claims.h"
#include "validation/fuzz/good_recordings.h"
#include "validation/uvh5_file.h"

void make_good_uvh5(const char *folder)
{
    char path[SCRATCH_PATH_SIZE];
    snprintf(path, sizeof path, "%s/good.h5", folder);
    struct fixture *f = malloc(sizeof *f);
    claim(f != NULL, "no memory");
    fill(f, 2, 4, 4);
    struct fx8_uvh5_writer *writer = NULL;
    struct fx8_error error = no_error();
    claim(fx8_uvh5_create(path, true, &f->header, FX8_COMPRESSION_NONE, &writer,
                          &error) == FX8_OK,
          "no good file: %s", error.message);
    write_dump(writer, &f->header, 0);
    write_dump(writer, &f->header, 1);
    const size_t shape[2] = {N_ANT, 4};
    const double gains[N_ANT * 4] = {1};
    claim(fx8_uvh5_put(writer, "gain", 2, shape, gains, "gains", &error) ==
                  FX8_OK &&
              fx8_uvh5_close(&writer, 2, &error) == FX8_OK,
          "no good file: %s", error.message);
    free(f);
}
