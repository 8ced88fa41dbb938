/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * same.c -- compare the header of an earlier run's file with what this run
 * would write.  That is written to memory, item by item as into a new file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

/* Differ between runs (history), or grow with the file. */
static const char *const others[] = {"history", "Nblts", "Ntimes"};

struct search {
    const struct fx8_uvh5_writer *writer; /* of the earlier file */
    const struct fx8_uvh5_differences *differences;
    bool has_failed; /* so far, for want of memory */
};

/* A value of up to eight bytes, or a string, as a text. */
static void print(hid_t type, const char *value, char *text, size_t size)
{
    const int length = (int)H5Tget_size(type);
    double real;
    int64_t integer;
    int8_t byte;
    if (H5Tget_class(type) == H5T_STRING) {
        snprintf(text, size, "%.*s", length, value);
        fx8_h5_printable(text);
    } else if (H5Tget_class(type) == H5T_FLOAT) {
        memcpy(&real, value, sizeof real);
        snprintf(text, size, "%.17g", real);
    } else if (length == 1) {
        memcpy(&byte, value, sizeof byte);
        snprintf(text, size, "%d", byte);
    } else {
        memcpy(&integer, value, sizeof integer);
        snprintf(text, size, "%lld", (long long)integer);
    }
}

bool fx8_uvh5_compare_values(const struct fx8_uvh5_differences *differences,
                             const char *name, hid_t type, size_t n,
                             const char *theirs, const char *mine)
{
    const size_t size = H5Tget_size(type);
    char their_text[FX8_TEXT_SIZE], my_text[FX8_TEXT_SIZE];
    size_t i = 0;
    while (i < n && memcmp(theirs + i * size, mine + i * size, size) == 0)
        i++;
    if (i == n)
        return true;
    print(type, theirs + i * size, their_text, sizeof their_text);
    print(type, mine + i * size, my_text, sizeof my_text);
    differences->take(differences->context, name, their_text, my_text);
    return false;
}

/* Whether two datasets have types of one class and the same extent; texts may
 * have different lengths. */
static bool are_alike(hid_t a, hid_t b)
{
    FX8_H5_AUTO type_a = H5Dget_type(a), type_b = H5Dget_type(b);
    FX8_H5_AUTO space_a = H5Dget_space(a), space_b = H5Dget_space(b);
    return H5Tget_class(type_a) == H5Tget_class(type_b) &&
           H5Tis_variable_str(type_a) <= 0 &&
           H5Sextent_equal(space_a, space_b) > 0;
}

/* Read all of a dataset as values of `type`. */
static char *read_values(hid_t dataset, hid_t type, size_t n)
{
    char *values = calloc(n > 0 ? n : 1, H5Tget_size(type));
    if (values != NULL &&
        H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0)
        return values;
    free(values);
    return NULL;
}

/* The longer type, if these are texts: the other one is padded with zeros. */
static hid_t choose_type(hid_t a, hid_t b)
{
    FX8_H5_AUTO type_a = H5Dget_type(a), type_b = H5Dget_type(b);
    const bool is_longer = H5Tget_class(type_a) == H5T_STRING &&
                           H5Tget_size(type_a) > H5Tget_size(type_b);
    return H5Tcopy(is_longer ? type_a : type_b);
}

/* Compare a dataset of the new header with that of the file. */
static void compare_item(struct search *search, hid_t header, const char *name)
{
    FX8_H5_AUTO mine = H5Dopen2(header, name, H5P_DEFAULT);
    FX8_H5_AUTO theirs = H5Dopen2(search->writer->header, name, H5P_DEFAULT);
    const struct fx8_uvh5_differences *differences = search->differences;
    if (theirs < 0 || !are_alike(theirs, mine)) {
        differences->take(differences->context, name,
                          theirs < 0 ? "missing" : "another type or shape",
                          "as this run writes it");
        return;
    }
    FX8_H5_AUTO type = choose_type(theirs, mine);
    FX8_H5_AUTO space = H5Dget_space(mine);
    const size_t n = (size_t)H5Sget_simple_extent_npoints(space);
    FX8_AUTO_FREE char *their_values = read_values(theirs, type, n);
    FX8_AUTO_FREE char *my_values = read_values(mine, type, n);
    search->has_failed = search->has_failed || my_values == NULL;
    if (their_values == NULL)
        differences->take(differences->context, name, "unreadable",
                          "as this run writes it");
    if (their_values != NULL && my_values != NULL)
        (void)fx8_uvh5_compare_values(differences, name, type, n, their_values,
                                      my_values);
}

/* Called for each object below the new header. */
static herr_t visit(hid_t header, const char *name, const H5O_info_t *info,
                    void *context)
{
    struct search *search = context;
    bool is_other = info->type != H5O_TYPE_DATASET;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        is_other = is_other || strcmp(name, others[i]) == 0;
    if (!is_other)
        compare_item(search, header, name);
    return 0;
}

enum fx8_status fx8_uvh5_compare_header(
    struct fx8_uvh5_writer *writer, const struct fx8_uvh5_header *header,
    const struct fx8_uvh5_differences *differences, struct fx8_error *error)
{
    fx8_h5_quiet();
    struct search search = {writer, differences, false};
    FX8_H5_AUTO file = FX8_H5_NONE;
    FX8_TRY(fx8_uvh5_create_aside(writer, &file, error));
    FX8_H5_AUTO group =
        H5Gcreate2(file, "Header", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0)
        return fx8_output_fail(writer->output, "copy in memory", error);
    struct fx8_uvh5_writer fresh = *writer;
    fresh.file = file;
    fresh.header = group;
    struct fx8_uvh5_header bare = *header;
    bare.n_keywords = 0;
    FX8_TRY(fx8_uvh5_put_header(&fresh, &bare, error));
    if (H5Ovisit(group, H5_INDEX_NAME, H5_ITER_INC, visit, &search) < 0 ||
        search.has_failed)
        return fx8_no_memory("a UVH5 header", error);
    FX8_TRY(fx8_uvh5_compare_columns(writer, header, differences, error));
    /* what could not be read seems to be missing */
    return fx8_output_check_reads(writer->output, error);
}
