/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "validation/fuzz/spoil.h"

enum { MOST_OBJECTS = 96, NAME_SIZE = 64, MOST_BYTES = 1 << 20 };

/* --- the items of the file ------------------------------------------- */

struct names {
    char name[MOST_OBJECTS][NAME_SIZE];
    size_t n;
};

static void add_name(struct names *names, const char *name)
{
    if (names->n < MOST_OBJECTS && strlen(name) < NAME_SIZE)
        strcpy(names->name[names->n++], name);
}

static herr_t visit_object(hid_t file, const char *name,
                           const H5O_info_t *information, void *context)
{
    (void)file;
    (void)information;
    add_name(context, name);
    return 0;
}

static herr_t visit_attribute(hid_t object, const char *name,
                              const H5A_info_t *information, void *context)
{
    (void)object;
    (void)information;
    add_name(context, name);
    return 0;
}

/* --- values ------------------------------------------------------------ */

static bool has_pointers(hid_t type)
{
    const H5T_class_t class = H5Tget_class(type);
    if (class == H5T_VLEN || class == H5T_REFERENCE ||
        H5Tis_variable_str(type) > 0)
        return true;
    const int n = class == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
    for (int k = 0; k < n; k++) {
        hid_t member = H5Tget_member_type(type, (unsigned)k);
        const bool found = has_pointers(member);
        H5Tclose(member);
        if (found)
            return true;
    }
    return false;
}

/* Texts that a terminal, a parser or a buffer may dislike. */
static const char *odd_text(struct choices *choices)
{
    static char own[33];
    static const char *const texts[] = {
        "",
        " ",
        "\xc3\xa9toile",
        "\xff\xfe",
        "\x1b[2Jgone",
        "two\nlines",
        "%n%s%n%s",
        "-1",
        "nan",
        "1e999",
        "2019-13-99T25:61:61",
        "9999-12-31T23:59:59.999999999999Z",
        "{\"sampling_frequency\": 1e999}",
        "{\"a\": [[[[[[[[[[",
        "{\"\\ud800\": \"\\u0000\"}",
        "upper",
        "lower",
        "antenna",
        "time",
        "fx8-voltages",
    };
    const size_t n = sizeof texts / sizeof texts[0];
    const size_t k = choose(choices, n + 2);
    if (k < n)
        return texts[k];
    for (size_t i = 0; i + 1 < sizeof own; i++)
        own[i] = (char)next_byte(choices);
    return own;
}

/* Numbers at which something may overflow or wrap. */
static void odd_value(uint8_t *to, size_t size, struct choices *choices)
{
    static const uint64_t numbers[] = {
        0,
        1,
        UINT64_MAX,                   /* -1 */
        UINT64_C(0x8000000000000000), /* smallest int64, -0.0 */
        UINT64_C(0x7fffffffffffffff), /* largest int64, NaN */
        UINT64_C(0x7ff0000000000000), /* infinity */
        UINT64_C(0xfff0000000000000), /* -infinity */
        UINT64_C(0x7fefffffffffffff), /* largest double */
        UINT64_C(0x4330000000000000), /* 2^52 */
        UINT64_C(0x7f8000007fc00000), /* infinity and NaN of single precision */
        UINT64_C(0x0000000100000000),
        UINT64_C(0x7fffffff80000000),
        127,
        128,
    };
    const size_t n = sizeof numbers / sizeof numbers[0];
    const size_t k = choose(choices, n + 2);
    const uint64_t number = k < n ? numbers[k] : next_number(choices);
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)(number >> (i % 8 * 8));
}

/* Values for something new or to be replaced: elements of `type` in memory,
 * [count]; some of them odd. */
static void spoil_elements(uint8_t *elements, hid_t type, size_t count,
                           struct choices *choices)
{
    const size_t size = H5Tget_size(type);
    const bool is_text = H5Tget_class(type) == H5T_STRING;
    const size_t n = 1 + choose(choices, 4);
    for (size_t k = 0; k < n && count > 0; k++) {
        uint8_t *element =
            elements + (next_byte(choices) * (size_t)257 % count) * size;
        if (is_text) {
            strncpy((char *)element, odd_text(choices), size);
            continue;
        }
        const size_t at = size > 8 ? choose(choices, 256) % (size - 7) : 0;
        odd_value(element + at, size - at < 8 ? size - at : 8, choices);
    }
}

/* A text of variable length in every element. */
static void write_texts(hid_t item, bool is_attribute, hid_t type, size_t count,
                        struct choices *choices)
{
    const char **texts = calloc(count + 1, sizeof *texts);
    if (texts == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        texts[i] = i < 8 ? odd_text(choices) : "text";
    if (is_attribute)
        H5Awrite(item, type, texts);
    else
        H5Dwrite(item, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts);
    free(texts);
}

/* Whether HDF5 would need much memory to write a dataset's chunks. */
static bool has_huge_chunks(hid_t dataset, size_t element_bytes)
{
    hid_t list = H5Dget_create_plist(dataset);
    hsize_t chunk[H5S_MAX_RANK];
    const int rank = H5Pget_layout(list) == H5D_CHUNKED
                         ? H5Pget_chunk(list, H5S_MAX_RANK, chunk)
                         : 0;
    double bytes = (double)element_bytes;
    for (int k = 0; k < rank; k++)
        bytes *= (double)chunk[k];
    H5Pclose(list);
    return bytes > MOST_BYTES;
}

/* Odd values in an attribute or a dataset, between its old ones. */
static void spoil_values(hid_t item, bool is_attribute, struct choices *choices)
{
    hid_t type = is_attribute ? H5Aget_type(item) : H5Dget_type(item);
    hid_t space = is_attribute ? H5Aget_space(item) : H5Dget_space(item);
    const size_t size = type < 0 ? 0 : H5Tget_size(type);
    const hssize_t count = space < 0 ? 0 : H5Sget_simple_extent_npoints(space);
    if (size > 0 && count > 0 && count <= MOST_BYTES / (hssize_t)size &&
        (is_attribute || !has_huge_chunks(item, size))) {
        if (H5Tis_variable_str(type) > 0) {
            write_texts(item, is_attribute, type, (size_t)count, choices);
        } else if (!has_pointers(type)) {
            uint8_t *elements = calloc((size_t)count, size);
            if (is_attribute)
                H5Aread(item, type, elements);
            else
                H5Dread(item, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements);
            spoil_elements(elements, type, (size_t)count, choices);
            if (is_attribute)
                H5Awrite(item, type, elements);
            else
                H5Dwrite(item, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements);
            free(elements);
        }
    }
    H5Sclose(space);
    H5Tclose(type);
}

/* --- items ------------------------------------------------------------- */

/* Replace an item by one of another type, another shape, or both. */
static void change_shape(hid_t *type, hid_t *space, struct choices *choices)
{
    const size_t what = choose(choices, 3);
    if (what != 1) {
        H5Tclose(*type);
        *type = spoil_type(choices);
    }
    if (what != 0) {
        H5Sclose(*space);
        *space = spoil_space(choices);
    }
}

static void replace_attribute(hid_t object, const char *name,
                              struct choices *choices)
{
    hid_t old = H5Aopen(object, name, H5P_DEFAULT);
    if (old < 0)
        return;
    hid_t type = H5Aget_type(old);
    hid_t space = H5Aget_space(old);
    H5Aclose(old);
    change_shape(&type, &space, choices);
    H5Adelete(object, name);
    hid_t new = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (new >= 0) {
        if (!perhaps(choices))
            spoil_values(new, true, choices);
        H5Aclose(new);
    }
    H5Sclose(space);
    H5Tclose(type);
}

static void spoil_attribute(hid_t object, struct choices *choices)
{
    static struct names names;
    names.n = 0;
    H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_attribute,
                &names);
    if (names.n == 0)
        return;
    const char *name = names.name[choose(choices, names.n)];
    switch (choose(choices, 4)) {
    case 0:
    case 1: {
        hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
        if (attribute >= 0)
            spoil_values(attribute, true, choices);
        H5Aclose(attribute);
        break;
    }
    case 2:
        replace_attribute(object, name, choices);
        break;
    default:
        H5Adelete(object, name);
        break;
    }
}

/* The same elements in another layout, or a dataset of another type or shape.
 */
static void replace_dataset(hid_t file, const char *name, bool same_shape,
                            struct choices *choices)
{
    hid_t old = H5Dopen2(file, name, H5P_DEFAULT);
    if (old < 0)
        return;
    hid_t type = H5Dget_type(old);
    hid_t space = H5Dget_space(old);
    uint8_t *elements = NULL;
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    const size_t size = H5Tget_size(type);
    if (same_shape && !has_pointers(type) && count > 0 &&
        count <= MOST_BYTES / (hssize_t)size) {
        elements = calloc((size_t)count, size);
        H5Dread(old, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements);
    }
    H5Dclose(old);
    if (!same_shape)
        change_shape(&type, &space, choices);
    hid_t list = same_shape || perhaps(choices)
                     ? spoil_layout(space, type, choices)
                     : H5Pcreate(H5P_DATASET_CREATE);
    H5Ldelete(file, name, H5P_DEFAULT);
    hid_t new =
        H5Dcreate2(file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (new >= 0 && elements != NULL && !has_huge_chunks(new, size) &&
        !perhaps(choices))
        H5Dwrite(new, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements);
    if (new >= 0 && !same_shape && !perhaps(choices))
        spoil_values(new, false, choices);
    free(elements);
    H5Dclose(new);
    H5Pclose(list);
    H5Sclose(space);
    H5Tclose(type);
}

/* Replace an item by a link to nothing or to something else, a group or a type.
 */
static void replace_link(hid_t file, const char *name, const char *other,
                         struct choices *choices)
{
    H5Ldelete(file, name, H5P_DEFAULT);
    hid_t group = H5I_INVALID_HID;
    hid_t type = H5I_INVALID_HID;
    switch (choose(choices, 6)) {
    case 0:
        group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 1:
        H5Lcreate_soft("nowhere/at/all", file, name, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 2: /* to itself */
        H5Lcreate_soft(name, file, name, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 3:
        H5Lcreate_hard(file, other, file, name, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 4:
        H5Lcreate_external("absent.h5", name, file, name, H5P_DEFAULT,
                           H5P_DEFAULT);
        break;
    default:
        type = H5Tcopy(H5T_STD_I8LE);
        H5Tcommit2(file, name, type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        break;
    }
    H5Gclose(group);
    H5Tclose(type);
}

void spoil_object(hid_t file, struct choices *choices)
{
    static struct names names;
    names.n = 0;
    H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit_object, &names);
    if (names.n == 0)
        return;
    const char *name = names.name[choose(choices, names.n)];
    hid_t object = H5I_INVALID_HID;
    switch (choose(choices, 8)) {
    case 0:
    case 1:
    case 2:
        object = H5Oopen(file, name, H5P_DEFAULT);
        spoil_attribute(object, choices);
        H5Oclose(object);
        break;
    case 3:
    case 4:
        object = H5Dopen2(file, name, H5P_DEFAULT);
        if (object >= 0)
            spoil_values(object, false, choices);
        H5Dclose(object);
        break;
    case 5:
        replace_dataset(file, name, perhaps(choices), choices);
        break;
    case 6:
        replace_dataset(file, name, true, choices);
        break;
    default:
        if (perhaps(choices))
            H5Ldelete(file, name, H5P_DEFAULT);
        else
            replace_link(file, name, names.name[choose(choices, names.n)],
                         choices);
        break;
    }
}
