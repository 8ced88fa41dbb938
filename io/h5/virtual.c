/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/h5/virtual.h"

/* Most boxes of all mappings, and most gaps open at a time: their product
 * bounds the work of a check. */
#define MOST_BOXES 131072
#define MOST_GAPS  4096

/* A virtual dataset and its elements not mapped so far. */
struct cover {
    const char *path, *name;
    struct fx8_error *error;
    int rank;
    hid_t rest;
    hssize_t n_boxes; /* boxes removed so far */
};

/* --- mappings ------------------------------------------------------------- */

/* Remove the boxes of a selection from the rest. */
static enum fx8_status take_boxes(struct cover *cover, hid_t space)
{
    const size_t rank = (size_t)cover->rank;
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK],
        block[H5S_MAX_RANK];
    const hssize_t n_boxes = H5Sget_select_hyper_nblocks(space);
    if (n_boxes < 0 || n_boxes > MOST_BOXES - cover->n_boxes)
        return fx8_refuse(cover->error, cover->path, cover->name,
                          "more than %d boxes mapped: expected fewer",
                          MOST_BOXES);
    cover->n_boxes += n_boxes;
    if (H5Sis_regular_hyperslab(space) > 0 &&
        H5Sget_regular_hyperslab(space, start, stride, count, block) >= 0 &&
        H5Sselect_hyperslab(cover->rest, H5S_SELECT_NOTB, start, stride, count,
                            block) >= 0)
        return FX8_OK;
    FX8_AUTO_FREE hsize_t *corners = NULL;
    FX8_TRY(fx8_allocate((size_t)n_boxes, 2 * rank * sizeof *corners,
                         "a mapping of a virtual dataset", &corners,
                         cover->error));
    const hsize_t *corner = corners;
    if (H5Sget_select_hyper_blocklist(space, 0, (hsize_t)n_boxes, corners) < 0)
        return fx8_h5_fail(cover->error, FX8_ERR_INPUT, cover->path,
                           cover->name);
    for (hssize_t i = 0; i < n_boxes; i++) {
        for (size_t axis = 0; axis < rank; axis++)
            count[axis] = corner[rank + axis] - corner[axis] + 1;
        H5Sselect_hyperslab(cover->rest, H5S_SELECT_NOTB, corner, NULL, count,
                            NULL);
        corner += 2 * rank;
    }
    return FX8_OK;
}

/* Remove the elements of one mapping. */
static enum fx8_status take_mapping(struct cover *cover, hid_t space)
{
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank != cover->rank)
        return fx8_refuse(cover->error, cover->path, cover->name,
                          "a mapping of %d %s: expected %d", rank,
                          FX8_NOUN(rank, "axis", "axes"), cover->rank);
    if ((hsize_t)H5Sget_select_npoints(space) == H5S_UNLIMITED)
        return fx8_refuse(cover->error, cover->path, cover->name,
                          "a mapping without an end: expected a virtual "
                          "dataset of sources that are whole and named");
    if (H5Sget_select_type(space) == H5S_SEL_ALL)
        H5Sselect_none(cover->rest);
    /* points: reported as gaps */
    if (H5Sget_select_type(space) == H5S_SEL_HYPERSLABS)
        FX8_TRY(take_boxes(cover, space));
    if (H5Sget_select_hyper_nblocks(cover->rest) > MOST_GAPS)
        return fx8_refuse(cover->error, cover->path, cover->name,
                          "more than %d gaps between mappings: "
                          "expected fewer",
                          MOST_GAPS);
    return FX8_OK;
}

/* Check that no element is left. */
static enum fx8_status check_rest(const struct cover *cover)
{
    hsize_t corners[2 * H5S_MAX_RANK] = {0}; /* stays 0 if everything is left */
    char place[H5S_MAX_RANK * 24] = "";
    size_t used = 0;
    if (H5Sget_select_npoints(cover->rest) == 0)
        return FX8_OK;
    H5Sget_select_hyper_blocklist(cover->rest, 0, 1, corners);
    for (int axis = 0; axis < cover->rank; axis++)
        used +=
            (size_t)snprintf(place + used, sizeof place - used, "%s%" PRIu64,
                             axis > 0 ? ", " : "", (uint64_t)corners[axis]);
    return fx8_refuse(cover->error, cover->path, cover->name,
                      "element (%s) has no source: expected a virtual "
                      "dataset that is mapped throughout",
                      place);
}

/* A mapping and its first element: in this order, usual mappings leave few gaps
 * open at a time. */
struct place {
    uint64_t first;
    size_t mapping;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static enum fx8_status list_places(const struct cover *cover, hid_t creation,
                                   size_t n, const hsize_t *extent,
                                   struct place **places)
{
    FX8_TRY(fx8_allocate(n, sizeof **places, "mappings of a virtual dataset",
                         places, cover->error));
    for (size_t i = 0; i < n; i++) {
        hsize_t first[H5S_MAX_RANK] = {0}, last[H5S_MAX_RANK];
        FX8_H5_AUTO space = H5Pget_virtual_vspace(creation, i);
        H5Sget_select_bounds(space, first, last);
        (*places)[i].mapping = i;
        for (int axis = 0; axis < cover->rank; axis++)
            (*places)[i].first =
                (*places)[i].first * extent[axis] + first[axis];
    }
    qsort(*places, n, sizeof **places, compare_places);
    return FX8_OK;
}

enum fx8_status fx8_h5_check_cover(const char *path, const char *name,
                                   hid_t creation, int rank,
                                   const hsize_t *extent,
                                   struct fx8_error *error)
{
    FX8_H5_AUTO rest = H5Screate_simple(rank, extent, NULL);
    FX8_AUTO_FREE struct place *places = NULL;
    struct cover cover = {path, name, error, rank, rest, 0};
    size_t n_mappings = 0;
    if (rest < 0 || H5Pget_virtual_count(creation, &n_mappings) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, path, name);
    FX8_TRY(list_places(&cover, creation, n_mappings, extent, &places));
    for (size_t i = 0; i < n_mappings; i++) {
        FX8_H5_AUTO space = H5Pget_virtual_vspace(creation, places[i].mapping);
        if (space < 0)
            return fx8_h5_fail(error, FX8_ERR_INPUT, path, name);
        FX8_TRY(take_mapping(&cover, space));
    }
    return check_rest(&cover);
}

/* --- sources -------------------------------------------------------------- */

/* A search; `why` describes the first file that exists but cannot be used. */
struct search {
    const char *name;
    hid_t access; /* properties that HDF5 opens a source with */
    hid_t file;
    struct fx8_error why;
};

/* Try to open FOLDER/NAME, or just NAME if the folder is "". */
static bool try_folder(struct search *search, const char *folder)
{
    FX8_AUTO_FREE char *path = fx8_path_join(folder, search->name);
    if (path == NULL)
        return false;
    struct fx8_error why = {FX8_OK, ""};
    const bool found =
        fx8_h5_open_as(path, search->access, &search->file, &why) == FX8_OK;
    if (!found && search->why.status == FX8_OK && access(path, F_OK) == 0)
        search->why = why;
    return found;
}

/* `prefix` is the prefix of the virtual dataset as resolved by HDF5. */
static bool find_source(struct search *search, const char *prefix,
                        const char *parent_path)
{
    if (*search->name == '/') {
        if (try_folder(search, ""))
            return true;
        search->name = strrchr(search->name, '/') + 1;
    }
    const char *given = getenv("HDF5_VDS_PREFIX");
    FX8_AUTO_FREE char *list = strdup(given != NULL ? given : "");
    FX8_AUTO_FREE char *beside = fx8_path_folder(parent_path);
    FX8_AUTO_FREE char *target = realpath(parent_path, NULL);
    FX8_AUTO_FREE char *beside_target =
        target == NULL ? NULL : fx8_path_folder(target);
    for (char *rest = list, *folder; (folder = strsep(&rest, ":")) != NULL;)
        if (*folder != '\0' && try_folder(search, folder))
            return true;
    return (*prefix != '\0' && try_folder(search, prefix)) ||
           (beside != NULL && try_folder(search, beside)) ||
           try_folder(search, "") ||
           (beside_target != NULL && try_folder(search, beside_target));
}

enum fx8_status fx8_h5_check_room(const char *path, const char *name,
                                  struct fx8_error *error)
{
    const int descriptor = open("/", O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        close(descriptor);
        return FX8_OK;
    }
    return fx8_fail(error, FX8_ERR_SYSTEM,
                    "%s: %s: %s: the sources of a virtual dataset need more "
                    "open files (ulimit -n)",
                    path, name, strerror(errno));
}

enum fx8_status fx8_h5_open_source(const char *path, const char *name,
                                   hid_t dataset, const char *source,
                                   hid_t *file, struct fx8_error *error)
{
    char parent_path[4096] = "", prefix[4096] = "";
    FX8_H5_AUTO parent = H5Iget_file_id(dataset);
    FX8_H5_AUTO dataset_access = H5Dget_access_plist(dataset);
    FX8_H5_AUTO access = H5Fget_access_plist(parent);
    struct search search = {
        .name = source, .access = access, .file = FX8_H5_NONE};
    *file = FX8_H5_NONE;
    if (H5Fget_name(parent, parent_path, sizeof parent_path) < 0 ||
        H5Pget_virtual_prefix(dataset_access, prefix, sizeof prefix) < 0 ||
        H5Pset_fclose_degree(access, H5F_CLOSE_WEAK) < 0)
        return fx8_h5_fail(error, FX8_ERR_SYSTEM, path, "access properties");
    if (strcmp(source, ".") == 0) {
        *file = parent;
        parent = FX8_H5_NONE;
        return FX8_OK;
    }
    const bool is_found = find_source(&search, prefix, parent_path);
    *file = search.file;
    if (is_found)
        return FX8_OK;
    FX8_TRY(fx8_h5_check_room(path, name, error));
    if (search.why.status != FX8_OK)
        return fx8_refuse(error, path, name, "source %s", search.why.message);
    return fx8_refuse(error, path, name,
                      "source %s: missing: expected the file beside the "
                      "virtual dataset, or in HDF5_VDS_PREFIX",
                      source);
}
