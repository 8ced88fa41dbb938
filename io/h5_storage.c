/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "io/h5.h"
#include "io/h5_storage.h"

/* Size by the descriptor that HDF5 reads from: the name may meanwhile belong
 * to another file. */
static enum fx8_status file_size_now(const char *path, hid_t file,
                                     int64_t *size, struct fx8_error *error)
{
    void *handle = NULL;
    if (H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 || handle == NULL)
        return fx8_h5_fail(error, FX8_ERR_SYSTEM, path, "file descriptor");
    const int *descriptor = handle; /* of the driver that open_file chooses */
    struct stat status;
    if (fstat(*descriptor, &status) != 0)
        return fx8_fail(error, FX8_ERR_SYSTEM,
                        "%s: %s: expected the size of the file", path,
                        strerror(errno));
    *size = (int64_t)status.st_size;
    return FX8_OK;
}

/* Chunks that the rows of the dataset take, against those in its index. */
static enum fx8_status check_chunks(const char *path, const char *name,
                                    hid_t dataset, hid_t creation,
                                    uint64_t n_rows, struct fx8_error *error)
{
    hsize_t extent[H5S_MAX_RANK];
    hsize_t chunk[H5S_MAX_RANK];
    hsize_t n_written = 0;
    hid_t space = H5Dget_space(dataset);
    const int rank = H5Sget_simple_extent_dims(space, extent, NULL);
    enum fx8_status status = FX8_OK;
    if (rank < 0 || H5Pget_chunk(creation, rank, chunk) != rank ||
        H5Dget_num_chunks(dataset, space, &n_written) < 0) {
        status = fx8_h5_fail(error, FX8_ERR_INPUT, path, name);
        goto done;
    }
    if (rank > 0 && extent[0] > n_rows)
        extent[0] = n_rows;
    hsize_t n_chunks = 1; /* at most one a sample: the readers bound those */
    for (int i = 0; i < rank; i++)
        n_chunks *= (extent[i] - 1) / chunk[i] + 1;
    if (n_written < n_chunks)
        status = fx8_fail(error, FX8_ERR_INPUT,
                          "%s: %s: %" PRIu64 " of %" PRIu64
                          " chunks were never written: expected a whole "
                          "recording",
                          path, name, (uint64_t)(n_chunks - n_written),
                          (uint64_t)n_chunks);
done:
    fx8_h5_close(&space);
    return status;
}

/* HDF5 takes space for a contiguous dataset at the first write into it. */
static enum fx8_status check_contiguous(const char *path, const char *name,
                                        hid_t dataset, int64_t file_size,
                                        struct fx8_error *error)
{
    const haddr_t offset = H5Dget_offset(dataset);
    const uint64_t bytes = H5Dget_storage_size(dataset);
    const uint64_t most = (uint64_t)file_size;
    if (offset == HADDR_UNDEF)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: %s: never written: expected a whole recording",
                        path, name);
    if (offset <= most && bytes <= most - offset)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: %s: %" PRIu64 " bytes from offset %" PRIu64
                    " in a file of %" PRIu64
                    " bytes: expected a whole recording",
                    path, name, bytes, (uint64_t)offset, most);
}

enum fx8_status fx8_h5_check_rows(const char *path, hid_t file,
                                  const char *name, hid_t dataset,
                                  uint64_t n_rows, int64_t *file_size,
                                  struct fx8_error *error)
{
    enum fx8_status status = file_size_now(path, file, file_size, error);
    if (status != FX8_OK)
        return status;
    hid_t creation = H5Dget_create_plist(dataset);
    if (creation < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, path, name);
    const H5D_layout_t layout = H5Pget_layout(creation);
    if (layout == H5D_CHUNKED)
        status = check_chunks(path, name, dataset, creation, n_rows, error);
    else if (layout == H5D_CONTIGUOUS && H5Pget_external_count(creation) <= 0)
        status = check_contiguous(path, name, dataset, *file_size, error);
    fx8_h5_close(&creation);
    return status;
}

enum fx8_status fx8_h5_check_storage(const char *path, hid_t file,
                                     const char *name, hid_t dataset,
                                     int64_t *file_size,
                                     struct fx8_error *error)
{
    return fx8_h5_check_rows(path, file, name, dataset, UINT64_MAX, file_size,
                             error);
}

enum fx8_status fx8_h5_check_uncut(const char *path, hid_t file,
                                   const char *name, int64_t first,
                                   int64_t n_samples, int64_t file_size,
                                   enum fx8_status status,
                                   struct fx8_error *error)
{
    int64_t now = 0;
    struct fx8_error ignored;
    if (status != FX8_OK && file_size_now(path, file, &now, &ignored) != FX8_OK)
        return status;
    if (status == FX8_OK &&
        (status = file_size_now(path, file, &now, error)) != FX8_OK)
        return status;
    if (now >= file_size)
        return status;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: %s: samples %" PRId64 " to %" PRId64
                    ": the file has shrunk from %" PRId64 " to %" PRId64
                    " bytes: expected a recording that stays whole while it "
                    "is read",
                    path, name, first, first + n_samples - 1, file_size, now);
}
