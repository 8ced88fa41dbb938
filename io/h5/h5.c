/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/driver.h"
#include "io/h5/h5.h"

/* HDF5 reads pieces of a row shorter than this together with the data between
 * them.  Its default of 64 KiB makes recordings with one row per input several
 * times as large to read (measured: 5 times as slow). */
#define SIEVE_BYTES 4096

/* At exit, HDF5 1.10 crashes over a dataset that could not be closed because
 * its file is damaged; everything else is closed by then. */
__attribute__((constructor)) static void end_without_hdf5(void)
{
    H5dont_atexit();
}

void fx8_h5_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void fx8_h5_close(hid_t *id)
{
    if (*id <= 0)
        return;
    if (H5Iget_type(*id) == H5I_FILE)
        H5Fclose(*id);
    else
        H5Idec_ref(*id);
    *id = FX8_H5_NONE;
}

/* Receives the innermost reason. */
struct reason {
    char text[256];
};

/* Keep the first record of an upward walk: the innermost one. */
static herr_t keep_first(unsigned depth, const H5E_error2_t *record,
                         void *client)
{
    struct reason *reason = client;
    if (depth == 0 && record->desc != NULL)
        snprintf(reason->text, sizeof reason->text, "%s", record->desc);
    return 1;
}

/* The innermost reason of the call that has just failed.  Version numbers
 * unknown to this library occur in files of newer ones. */
static struct reason last_reason(void)
{
    struct reason reason = {"no reason given by HDF5"};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
    unsigned version[3] = {0, 0, 0};
    const size_t length = strlen(reason.text);
    if (strstr(reason.text, "bad version number") != NULL &&
        H5get_libversion(&version[0], &version[1], &version[2]) >= 0)
        snprintf(reason.text + length, sizeof reason.text - length,
                 " (a newer HDF5 than %u.%u.%u may have written it)",
                 version[0], version[1], version[2]);
    return reason;
}

enum fx8_status fx8_h5_fail(struct fx8_error *error, enum fx8_status status,
                            const char *path, const char *what)
{
    const struct reason reason = last_reason();
    return fx8_fail(error, status, "%s: %s: %s", path, what, reason.text);
}

/* Report a file that has HDF5's signature but does not open. */
static enum fx8_status fail_to_open(const char *path, struct fx8_error *error)
{
    const struct reason reason = last_reason();
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: HDF5 file: %s: expected a whole HDF5 file", path,
                    reason.text);
}

enum fx8_status fx8_h5_open_as(const char *path, hid_t access_list, hid_t *file,
                               struct fx8_error *error)
{
    *file = FX8_H5_NONE;
    struct stat status;
    if (stat(path, &status) != 0 || access(path, R_OK) != 0)
        return fx8_refuse(error, path, strerror(errno),
                          "expected a readable file");
    if (!S_ISREG(status.st_mode))
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: not a regular file: expected an HDF5 file", path);
    if (H5Fis_hdf5(path) <= 0)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: no HDF5 signature: expected an HDF5 file", path);
    *file = H5Fopen(path, H5F_ACC_RDONLY, access_list);
    return *file < 0 ? fail_to_open(path, error) : FX8_OK;
}

enum fx8_status fx8_h5_open_file(const char *path, hid_t *file,
                                 struct fx8_error *error)
{
    *file = FX8_H5_NONE;
    FX8_H5_AUTO access_list = H5Pcreate(H5P_FILE_ACCESS);
    if (access_list < 0 || fx8_driver_set(access_list, NULL) < 0)
        return fx8_h5_fail(error, FX8_ERR_SYSTEM, path, "access properties");
    H5Pset_fclose_degree(access_list, H5F_CLOSE_STRONG);
    H5Pset_sieve_buf_size(access_list, SIEVE_BYTES);
    return fx8_h5_open_as(path, access_list, file, error);
}

enum fx8_status fx8_h5_open_dataset(const char *path, hid_t group,
                                    const char *name, hid_t access,
                                    hid_t *dataset, struct fx8_error *error)
{
    *dataset = FX8_H5_NONE;
    if (H5Lexists(group, name, H5P_DEFAULT) <= 0)
        return fx8_refuse(error, path, name, "missing: expected a dataset");
    H5O_info_t info;
    if (H5Oget_info_by_name(group, name, &info, H5P_DEFAULT) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, path, name);
    if (info.type != H5O_TYPE_DATASET)
        return fx8_refuse(error, path, name,
                          "not a dataset: expected a dataset");
    *dataset = H5Dopen2(group, name, access);
    if (*dataset < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, path, name);
    return FX8_OK;
}

/* Read or write elements; keeps HDF5's reason of a failure. */
static herr_t transfer(hid_t dataset, hid_t type, const hsize_t *start,
                       const hsize_t *count, void *to, const void *from)
{
    hid_t space = H5Dget_space(dataset);
    hid_t memory =
        H5Screate_simple(H5Sget_simple_extent_ndims(space), count, NULL);
    herr_t result = -1;
    if (space >= 0 && memory >= 0 &&
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >=
            0)
        result =
            to != NULL
                ? H5Dread(dataset, type, memory, space, H5P_DEFAULT, to)
                : H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, from);
    hid_t reason = result < 0 ? H5Eget_current_stack() : FX8_H5_NONE;
    fx8_h5_close(&memory);
    fx8_h5_close(&space);
    if (reason >= 0)
        H5Eset_current_stack(reason);
    return result;
}

herr_t fx8_h5_read_part(hid_t dataset, hid_t type, const hsize_t *start,
                        const hsize_t *count, void *values)
{
    return transfer(dataset, type, start, count, values, NULL);
}

herr_t fx8_h5_write_part(hid_t dataset, hid_t type, const hsize_t *start,
                         const hsize_t *count, const void *values)
{
    return transfer(dataset, type, start, count, NULL, values);
}

hid_t fx8_h5_pair_type(hid_t part, const char *const members[2])
{
    const size_t bytes = H5Tget_size(part);
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * bytes);
    if (type >= 0 && H5Tinsert(type, members[0], 0, part) >= 0 &&
        H5Tinsert(type, members[1], bytes, part) >= 0)
        return type;
    fx8_h5_close(&type);
    return FX8_H5_NONE;
}

bool fx8_h5_has(const struct fx8_h5_place *place, const char *name)
{
    if (place->attributes)
        return H5Aexists(place->object, name) > 0;
    return H5Lexists(place->object, name, H5P_DEFAULT) > 0;
}

/* Write the members of a compound type, "compound {r: int8, i: int8}". */
static void compound_name(hid_t type, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "compound {");
    const int n_members = H5Tget_nmembers(type);
    for (int i = 0; i < n_members && used < size; i++) {
        char *name = H5Tget_member_name(type, (unsigned)i);
        FX8_H5_AUTO member = H5Tget_member_type(type, (unsigned)i);
        char kind[32] = "compound";
        if (H5Tget_class(member) != H5T_COMPOUND)
            fx8_h5_type_name(member, kind, sizeof kind);
        used += (size_t)snprintf(text + used, size - used, "%s%s: %s",
                                 i > 0 ? ", " : "", name ? name : "?", kind);
        H5free_memory(name);
    }
    if (used < size)
        snprintf(text + used, size - used, "}");
}

void fx8_h5_type_name(hid_t type, char *text, size_t size)
{
    static const char *const names[] = {[H5T_STRING] = "string",
                                        [H5T_ENUM] = "enumeration",
                                        [H5T_ARRAY] = "array"};
    const size_t bits = 8 * H5Tget_size(type);
    const int class = (int)H5Tget_class(type);
    if (class == H5T_COMPOUND)
        compound_name(type, text, size);
    else if (class == H5T_INTEGER)
        snprintf(text, size, "%sint%zu",
                 H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", bits);
    else if (class == H5T_FLOAT)
        snprintf(text, size, "float%zu", bits);
    else if (class >= 0 && class <= H5T_ARRAY && names[class] != NULL)
        snprintf(text, size, "%s", names[class]);
    else
        snprintf(text, size, "type of class %d", class);
}

hid_t fx8_h5_native_type(enum fx8_h5_kind kind)
{
    const hid_t types[] = {
        [FX8_H5_TEXT] = FX8_H5_NONE,           [FX8_H5_BOOL] = FX8_H5_NONE,
        [FX8_H5_INTEGER] = H5T_NATIVE_INT64,   [FX8_H5_INT] = H5T_NATIVE_INT32,
        [FX8_H5_UNSIGNED] = H5T_NATIVE_UINT64, [FX8_H5_BYTE] = H5T_NATIVE_UINT8,
        [FX8_H5_REAL] = H5T_NATIVE_DOUBLE,
    };
    return types[kind];
}

bool fx8_h5_is_int8(hid_t type)
{
    return H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 1 &&
           H5Tget_sign(type) == H5T_SGN_2;
}
