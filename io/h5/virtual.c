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
#include "io/h5/h5.h"
#include "io/h5/virtual.h"

/* Most axes of a virtual dataset; the readers know of three. */
#define MOST_AXES 8

/* Most boxes of all mappings, and most that are left uncovered at a time: their
 * product is the work of a check, seconds at the worst. */
#define MOST_BOXES ((size_t)1 << 17)
#define MOST_RESTS ((size_t)4096)

/* Elements [start, end) along every axis. */
struct box {
    hsize_t start[MOST_AXES];
    hsize_t end[MOST_AXES];
};

/* A virtual dataset and the boxes that are mapped. */
struct cover {
    const char *path, *name;
    struct fx8_error *error;
    int rank;
    const hsize_t *extent;
    struct box *boxes; /* [n] */
    size_t n, capacity;
};

/* --- what is mapped ------------------------------------------------------- */

/* One more box, both corners within; what lies beyond the extent is of no
 * consequence. */
static enum fx8_status add_box(struct cover *cover, const hsize_t *first,
                               const hsize_t *last)
{
    if (cover->n == MOST_BOXES)
        return fx8_fail(cover->error, FX8_ERR_INPUT,
                        "%s: %s: more than %zu boxes mapped: expected fewer",
                        cover->path, cover->name, MOST_BOXES);
    if (cover->n == cover->capacity) {
        const size_t capacity = 2 * cover->capacity + 16;
        struct box *boxes =
            realloc(cover->boxes, capacity * sizeof *cover->boxes);
        if (boxes == NULL)
            return fx8_no_memory("mappings of a virtual dataset", cover->error);
        cover->boxes = boxes;
        cover->capacity = capacity;
    }
    struct box box = {{0}, {0}};
    for (int axis = 0; axis < cover->rank; axis++) {
        box.start[axis] = first[axis];
        box.end[axis] = last[axis] + 1;
    }
    cover->boxes[cover->n++] = box;
    return FX8_OK;
}

/* The boxes of a selection that consists of boxes. */
static enum fx8_status add_hyperslabs(struct cover *cover, hid_t space)
{
    const hssize_t n_boxes = H5Sget_select_hyper_nblocks(space);
    const size_t rank = (size_t)cover->rank;
    if (n_boxes < 0)
        return fx8_h5_fail(cover->error, FX8_ERR_INPUT, cover->path,
                           cover->name);
    if ((hsize_t)n_boxes > MOST_BOXES)
        return fx8_fail(cover->error, FX8_ERR_INPUT,
                        "%s: %s: a mapping of %" PRId64
                        " boxes: expected at most %zu",
                        cover->path, cover->name, (int64_t)n_boxes, MOST_BOXES);
    void *memory = NULL;
    enum fx8_status status =
        fx8_allocate((size_t)n_boxes, 2 * rank * sizeof(hsize_t),
                     "a mapping of a virtual dataset", &memory, cover->error);
    if (status != FX8_OK)
        return status;
    const hsize_t *corners = memory;
    if (H5Sget_select_hyper_blocklist(space, 0, (hsize_t)n_boxes, memory) < 0)
        status =
            fx8_h5_fail(cover->error, FX8_ERR_INPUT, cover->path, cover->name);
    for (size_t i = 0; i < (size_t)n_boxes && status == FX8_OK; i++)
        status = add_box(cover, corners + 2 * i * rank,
                         corners + (2 * i + 1) * rank);
    free(memory);
    return status;
}

/* What one mapping maps. */
static enum fx8_status add_mapping(struct cover *cover, hid_t space)
{
    static const hsize_t origin[MOST_AXES];
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank != cover->rank)
        return fx8_fail(cover->error, FX8_ERR_INPUT,
                        "%s: %s: a mapping of %d %s: expected %d", cover->path,
                        cover->name, rank, FX8_NOUN(rank, "axis", "axes"),
                        cover->rank);
    if ((hsize_t)H5Sget_select_npoints(space) == H5S_UNLIMITED)
        return fx8_fail(cover->error, FX8_ERR_INPUT,
                        "%s: %s: a mapping without an end: expected a virtual "
                        "dataset of sources that are whole and named",
                        cover->path, cover->name);
    switch (H5Sget_select_type(space)) {
    case H5S_SEL_HYPERSLABS:
        return add_hyperslabs(cover, space);
    case H5S_SEL_ALL:
        return add_box(cover, origin, cover->extent);
    default:
        break;
    }
    return FX8_OK; /* nothing: what it was to cover is found to lack */
}

/* --- what is not ---------------------------------------------------------- */

static int compare_boxes(const void *a, const void *b)
{
    const struct box *x = a, *y = b;
    for (int axis = 0; axis < MOST_AXES; axis++)
        if (x->start[axis] != y->start[axis])
            return x->start[axis] < y->start[axis] ? -1 : 1;
    return 0;
}

static bool meet(const struct box *a, const struct box *b, int rank)
{
    for (int axis = 0; axis < rank; axis++)
        if (a->end[axis] <= b->start[axis] || b->end[axis] <= a->start[axis])
            return false;
    return true;
}

/* Split what of `rest` is outside `box` into boxes at `to`: how many, at most
 * two an axis. */
static size_t split(struct box rest, const struct box *box, int rank,
                    struct box *to)
{
    size_t n = 0;
    for (int axis = 0; axis < rank; axis++) {
        if (rest.start[axis] < box->start[axis]) {
            to[n] = rest;
            to[n++].end[axis] = box->start[axis];
            rest.start[axis] = box->start[axis];
        }
        if (box->end[axis] < rest.end[axis]) {
            to[n] = rest;
            to[n++].start[axis] = box->end[axis];
            rest.end[axis] = box->end[axis];
        }
    }
    return n;
}

static enum fx8_status fail_rest(const struct cover *cover,
                                 const struct box *rest)
{
    char place[MOST_AXES * 24] = "";
    size_t used = 0;
    for (int axis = 0; axis < cover->rank; axis++)
        used +=
            (size_t)snprintf(place + used, sizeof place - used, "%s%" PRIu64,
                             axis > 0 ? ", " : "", (uint64_t)rest->start[axis]);
    return fx8_fail(cover->error, FX8_ERR_INPUT,
                    "%s: %s: element (%s) has no source: expected a virtual "
                    "dataset that is mapped throughout",
                    cover->path, cover->name, place);
}

/* Take every box away from the whole; nothing may be left. */
static enum fx8_status check_boxes(const struct cover *cover, struct box *rests)
{
    size_t n = 1;
    memset(rests, 0, sizeof *rests);
    for (int axis = 0; axis < cover->rank; axis++) {
        rests[0].end[axis] = cover->extent[axis];
        if (cover->extent[axis] == 0)
            n = 0;
    }
    for (size_t b = 0; b < cover->n; b++)
        for (size_t i = 0; i < n;) {
            if (!meet(&rests[i], &cover->boxes[b], cover->rank)) {
                i++;
                continue;
            }
            const struct box rest = rests[i];
            rests[i] = rests[--n];
            n += split(rest, &cover->boxes[b], cover->rank, rests + n);
            if (n > MOST_RESTS)
                return fx8_fail(cover->error, FX8_ERR_INPUT,
                                "%s: %s: more than %zu gaps between mappings: "
                                "expected fewer",
                                cover->path, cover->name, MOST_RESTS);
        }
    return n == 0 ? FX8_OK : fail_rest(cover, &rests[0]);
}

enum fx8_status fx8_h5_check_cover(const char *path, const char *name,
                                   hid_t creation, int rank,
                                   const hsize_t *extent,
                                   struct fx8_error *error)
{
    struct cover cover = {.path = path,
                          .name = name,
                          .error = error,
                          .rank = rank,
                          .extent = extent};
    size_t n_mappings = 0;
    if (rank < 1 || rank > MOST_AXES)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: %s: %d axes: expected 1 to %d", path, name, rank,
                        MOST_AXES);
    if (H5Pget_virtual_count(creation, &n_mappings) < 0)
        return fx8_h5_fail(error, FX8_ERR_INPUT, path, name);
    enum fx8_status status = FX8_OK;
    for (size_t i = 0; i < n_mappings && status == FX8_OK; i++) {
        hid_t space = H5Pget_virtual_vspace(creation, i);
        status = space < 0 ? fx8_h5_fail(error, FX8_ERR_INPUT, path, name)
                           : add_mapping(&cover, space);
        fx8_h5_close(&space);
    }
    /* in order: then few boxes are left at a time, for all usual mappings */
    if (status == FX8_OK && cover.n > 0)
        qsort(cover.boxes, cover.n, sizeof *cover.boxes, compare_boxes);
    void *rests = NULL;
    if (status == FX8_OK)
        status = fx8_allocate(MOST_RESTS + 2 * MOST_AXES, sizeof(struct box),
                              "gaps of a virtual dataset", &rests, error);
    if (status == FX8_OK)
        status = check_boxes(&cover, rests);
    free(rests);
    free(cover.boxes);
    return status;
}

/* --- sources -------------------------------------------------------------- */

/* A search; `why` is of the first file that is there and cannot be used. */
struct search {
    const char *name;
    hid_t access; /* properties that HDF5 opens a source with */
    hid_t file;
    struct fx8_error why;
};

/* Whether FOLDER/NAME, or the bare name where the folder is "", opens. */
static bool try_folder(struct search *search, const char *folder, size_t length)
{
    const bool has_slash = length == 0 || folder[length - 1] == '/';
    const size_t size = length + strlen(search->name) + 2;
    char *path = malloc(size);
    if (path == NULL)
        return false;
    snprintf(path, size, "%.*s%s%s", (int)length, folder, has_slash ? "" : "/",
             search->name);
    struct fx8_error why = {FX8_OK, ""};
    const bool found =
        fx8_h5_open_as(path, search->access, &search->file, &why) == FX8_OK;
    if (!found && search->why.status == FX8_OK && access(path, F_OK) == 0)
        search->why = why;
    free(path);
    return found;
}

/* Beside a file. */
static bool try_beside(struct search *search, const char *path)
{
    const char *slash = strrchr(path, '/');
    return try_folder(search, path,
                      slash == NULL ? 0 : (size_t)(slash - path) + 1);
}

/* In the folders that the environment names; last in all of it as one, which
 * may begin with the folder of the virtual dataset. */
static bool try_prefixes(struct search *search, const char *parent_path)
{
    static const char origin[] = "${ORIGIN}";
    const char *prefixes = getenv("HDF5_VDS_PREFIX");
    if (prefixes == NULL)
        return false;
    for (const char *at = prefixes; *at != '\0'; at += *at == ':') {
        const size_t length = strcspn(at, ":");
        if (length > 0 && try_folder(search, at, length))
            return true;
        at += length;
    }
    if (strncmp(prefixes, origin, sizeof origin - 1) != 0)
        return *prefixes != '\0' &&
               try_folder(search, prefixes, strlen(prefixes));
    char *folder = fx8_path_folder(parent_path);
    bool found = false;
    if (folder != NULL) {
        const char *rest = prefixes + sizeof origin - 1;
        const size_t size = strlen(folder) + strlen(rest) + 2;
        char *path = malloc(size);
        if (path != NULL) {
            snprintf(path, size, "%s%s", *folder != '\0' ? folder : ".", rest);
            found = try_folder(search, path, strlen(path));
        }
        free(path);
    }
    free(folder);
    return found;
}

static bool find_source(struct search *search, const char *parent_path)
{
    if (*search->name == '/') {
        if (try_folder(search, "", 0))
            return true;
        search->name = strrchr(search->name, '/') + 1;
    }
    if (try_prefixes(search, parent_path) || try_beside(search, parent_path) ||
        try_folder(search, "", 0))
        return true;
    char *real_path = realpath(parent_path, NULL);
    const bool found = real_path != NULL && try_beside(search, real_path);
    free(real_path);
    return found;
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
                                   hid_t parent, const char *parent_path,
                                   const char *source, hid_t *file,
                                   struct fx8_error *error)
{
    *file = FX8_H5_NONE;
    if (strcmp(source, ".") == 0) {
        H5Iinc_ref(parent);
        *file = parent;
        return FX8_OK;
    }
    struct search search = {.name = source,
                            .access = H5Fget_access_plist(parent),
                            .file = FX8_H5_NONE};
    if (search.access < 0 ||
        H5Pset_fclose_degree(search.access, H5F_CLOSE_WEAK) < 0) {
        fx8_h5_close(&search.access);
        return fx8_h5_fail(error, FX8_ERR_SYSTEM, path, "access properties");
    }
    const bool found = find_source(&search, parent_path);
    fx8_h5_close(&search.access);
    if (found) {
        *file = search.file;
        return FX8_OK;
    }
    const enum fx8_status status = fx8_h5_check_room(path, name, error);
    if (status != FX8_OK)
        return status;
    if (search.why.status != FX8_OK)
        return fx8_fail(error, FX8_ERR_INPUT, "%s: %s: source %s", path, name,
                        search.why.message);
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: %s: source %s: missing: expected the file beside the "
                    "virtual dataset, or in HDF5_VDS_PREFIX",
                    path, name, source);
}
