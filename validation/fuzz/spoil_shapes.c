/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spoil_shapes.c -- types, sizes and layouts that a reader does not expect.
 */
#include "validation/fuzz/spoil.h"

static hid_t number_type(struct choices *choices)
{
    const hid_t types[] = {
        H5T_STD_I8LE,   H5T_STD_U8LE,       H5T_STD_I16LE,  H5T_STD_I16BE,
        H5T_STD_U16LE,  H5T_STD_I32LE,      H5T_STD_U32BE,  H5T_STD_I64LE,
        H5T_STD_U64LE,  H5T_STD_U64BE,      H5T_IEEE_F32LE, H5T_IEEE_F64LE,
        H5T_IEEE_F64BE, H5T_NATIVE_LDOUBLE,
    };
    return H5Tcopy(types[choose(choices, sizeof types / sizeof types[0])]);
}

/* A number of fewer bits than its bytes hold, at any place in them. */
static hid_t odd_number_type(struct choices *choices)
{
    hid_t type = H5Tcopy(H5T_STD_I16LE);
    H5Tset_precision(type, 1 + choose(choices, 16));
    H5Tset_offset(type, choose(choices, 8));
    return type;
}

static hid_t string_type(struct choices *choices)
{
    static const size_t sizes[] = {1, 7, 64, 300, 65536, H5T_VARIABLE};
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, sizes[choose(choices, sizeof sizes / sizeof sizes[0])]);
    H5Tset_strpad(type, (H5T_str_t)choose(choices, 3));
    H5Tset_cset(type, perhaps(choices) ? H5T_CSET_UTF8 : H5T_CSET_ASCII);
    return type;
}

/* {r, i} and types that look like it. */
static hid_t compound_type(struct choices *choices)
{
    static const char *const names[] = {"r",      "i",    "real",  "imag",
                                        "number", "name", "count", "\xc3\xa9"};
    const size_t n = 1 + choose(choices, 4);
    hid_t type = H5Tcreate(H5T_COMPOUND, 1024);
    size_t at = 0;
    for (size_t k = 0; k < n; k++) {
        hid_t member =
            perhaps(choices) ? odd_number_type(choices) : number_type(choices);
        at += choose(choices, 4);
        H5Tinsert(type, names[(k + choose(choices, 8)) % 8], at, member);
        at += H5Tget_size(member);
        H5Tclose(member);
    }
    if (!perhaps(choices))
        H5Tpack(type);
    return type;
}

static hid_t enumeration_type(struct choices *choices)
{
    hid_t base = H5Tcopy(perhaps(choices) ? H5T_STD_I32LE : H5T_STD_I8LE);
    hid_t type = H5Tenum_create(base);
    const uint8_t values[2][4] = {{0}, {1}};
    H5Tenum_insert(type, "FALSE", values[0]);
    H5Tenum_insert(type, "TRUE", values[1]);
    H5Tclose(base);
    return type;
}

static hid_t array_type(struct choices *choices)
{
    static const hsize_t extents[] = {2, 1, 3, 1000};
    const hsize_t extent[2] = {extents[choose(choices, 4)],
                               extents[choose(choices, 4)]};
    hid_t base = number_type(choices);
    hid_t type = H5Tarray_create2(base, 1 + (unsigned)perhaps(choices), extent);
    H5Tclose(base);
    return type;
}

static hid_t opaque_type(struct choices *choices)
{
    hid_t type = H5Tcreate(H5T_OPAQUE, 1 + choose(choices, 16));
    H5Tset_tag(type, "opaque");
    return type;
}

static hid_t other_type(struct choices *choices)
{
    switch (choose(choices, 3)) {
    case 0:
        return H5Tcopy(H5T_STD_REF_OBJ);
    case 1:
        return H5Tcopy(H5T_STD_B8LE);
    default:
        return H5Tvlen_create(H5T_STD_I8LE);
    }
}

hid_t spoil_type(struct choices *choices)
{
    static hid_t (*const kinds[])(struct choices *) = {
        number_type,      compound_type, string_type, odd_number_type,
        enumeration_type, array_type,    opaque_type, other_type};
    return kinds[choose(choices, sizeof kinds / sizeof kinds[0])](choices);
}

hid_t spoil_space(struct choices *choices)
{
    static const hsize_t extents[] = {1,
                                      2,
                                      3,
                                      0,
                                      5,
                                      17,
                                      101,
                                      1000,
                                      65536,
                                      65537,
                                      (hsize_t)1 << 31,
                                      (hsize_t)1 << 32,
                                      (hsize_t)1 << 40,
                                      (hsize_t)1 << 62};
    const size_t rank = choose(choices, 8);
    if (rank == 0)
        return H5Screate(H5S_SCALAR);
    if (rank == 7)
        return H5Screate(H5S_NULL);
    hsize_t extent[6];
    hsize_t most[6];
    for (size_t k = 0; k < rank; k++) {
        extent[k] =
            extents[choose(choices, sizeof extents / sizeof extents[0])];
        most[k] = perhaps(choices) ? H5S_UNLIMITED : extent[k];
    }
    return H5Screate_simple((int)rank, extent, most);
}

static void set_chunks(hid_t list, hid_t space, struct choices *choices)
{
    static const hsize_t sizes[] = {1, 2, 7, 16, 100, 4096, 1 << 20};
    hsize_t extent[H5S_MAX_RANK];
    const int rank = H5Sget_simple_extent_dims(space, extent, NULL);
    if (rank <= 0)
        return;
    for (int k = 0; k < rank; k++) {
        const size_t size = choose(choices, 1 + sizeof sizes / sizeof sizes[0]);
        if (size > 0)
            extent[k] = sizes[size - 1];
    }
    H5Pset_chunk(list, rank, extent);
}

/* Packing filters come alone and only with whole numbers: libhdf5 1.10 fails on
 * its own files otherwise. */
static void set_filters(hid_t list, hid_t type, struct choices *choices)
{
    const bool is_packable = H5Tget_class(type) == H5T_INTEGER;
    switch (choose(choices, 6)) {
    case 1:
        H5Pset_shuffle(list);
        break;
    case 2:
        if (is_packable)
            H5Pset_scaleoffset(list, H5Z_SO_INT, 4);
        return;
    case 3:
        if (is_packable)
            H5Pset_nbit(list);
        return;
    default:
        break;
    }
    if (perhaps(choices))
        H5Pset_deflate(list, 1);
    if (perhaps(choices))
        H5Pset_fletcher32(list);
}

/* A dataset that was never written must be filled: garbage would be taken for
 * pointers, which no file made by HDF5 holds. */
static void set_fill(hid_t list, hid_t type, struct choices *choices)
{
    uint8_t value[1024];
    const bool has_pointers = H5Tis_variable_str(type) > 0 ||
                              H5Tget_class(type) == H5T_VLEN ||
                              H5Tget_class(type) == H5T_REFERENCE;
    if (has_pointers)
        return;
    if (H5Tget_size(type) <= sizeof value && perhaps(choices)) {
        for (size_t i = 0; i < H5Tget_size(type); i++)
            value[i] = next_byte(choices);
        H5Pset_fill_value(list, type, value);
    }
    H5Pset_fill_time(list, (H5D_fill_time_t)choose(choices, 3));
}

hid_t spoil_layout(hid_t space, hid_t type, struct choices *choices)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    switch (choose(choices, 6)) {
    case 0:
    case 1:
        set_chunks(list, space, choices);
        set_filters(list, type, choices);
        break;
    case 2:
        H5Pset_layout(list, H5D_CONTIGUOUS);
        break;
    case 3:
        H5Pset_layout(list, H5D_COMPACT);
        break;
    case 4:
        H5Pset_external(list, "nowhere/absent.bin", 0, H5F_UNLIMITED);
        break;
    default:
        H5Pset_virtual(list, space, "absent.h5", "voltages", space);
        break;
    }
    set_fill(list, type, choices);
    return list;
}
