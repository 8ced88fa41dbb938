/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "io/h5/h5.h"
#include "io/h5/lzf.h"

/* Registered filter number of LZF. */
#define LZF 32000

/* Smaller control bytes are runs of literal bytes. */
#define FIRST_COPY 32u

/* A length that continues in the next byte. */
#define LONG_LENGTH 7u

size_t fx8_h5_lzf_unpack(const uint8_t *packed, size_t n_packed, uint8_t *bytes,
                         size_t capacity)
{
    size_t in = 0, out = 0;
    while (in < n_packed) {
        const unsigned control = packed[in++];
        if (control < FIRST_COPY) {
            const size_t n = control + 1u;
            if (n > n_packed - in || n > capacity - out)
                return 0;
            memcpy(bytes + out, packed + in, n);
            in += n;
            out += n;
            continue;
        }
        size_t n = (control >> 5) + 2u;
        if (control >> 5 == LONG_LENGTH) {
            if (in == n_packed)
                return 0;
            n += packed[in++];
        }
        if (in == n_packed)
            return 0;
        const size_t distance = ((control & 31u) << 8 | packed[in++]) + 1u;
        if (distance > out || n > capacity - out)
            return 0;
        /* byte by byte: a copy may overlap its own output */
        for (size_t k = 0; k < n; k++, out++)
            bytes[out] = bytes[out - distance];
    }
    return out;
}

/* HDF5's filter signature; the third value is the size of a whole chunk. */
static size_t undo(unsigned flags, size_t n_values, const unsigned values[],
                   size_t n_bytes, size_t *capacity, void **bytes)
{
    const size_t size = n_values > 2 ? values[2] : 0;
    if ((flags & H5Z_FLAG_REVERSE) == 0 || size == 0)
        return 0;
    uint8_t *unpacked = malloc(size);
    if (unpacked == NULL)
        return 0;
    const size_t n = fx8_h5_lzf_unpack(*bytes, n_bytes, unpacked, size);
    if (n != size) {
        free(unpacked);
        return 0;
    }
    free(*bytes);
    *bytes = unpacked;
    *capacity = size;
    return n;
}

bool fx8_h5_lzf_is_whole(hid_t dataset)
{
    FX8_H5_AUTO creation = H5Dget_create_plist(dataset);
    FX8_H5_AUTO type = H5Dget_type(dataset);
    unsigned flags = 0, values[3] = {0};
    size_t n_values = 3;
    bool is_whole = true;
    if (H5Pget_filter_by_id2(creation, LZF, &flags, &n_values, values, 0, NULL,
                             NULL) >= 0) {
        hsize_t chunk[H5S_MAX_RANK];
        const int rank = H5Pget_chunk(creation, H5S_MAX_RANK, chunk);
        size_t size = H5Tget_size(type);
        for (int i = 0; i < rank; i++)
            size *= (size_t)chunk[i];
        is_whole = n_values >= 3 && values[2] == size;
    }
    return is_whole;
}

void fx8_h5_lzf_register(void)
{
    static const H5Z_class2_t lzf = {
        .version = H5Z_CLASS_T_VERS,
        .id = LZF,
        .encoder_present = 0,
        .decoder_present = 1,
        .name = "lzf",
        .filter = undo,
    };
    (void)H5Zregister(&lzf); /* on failure, files that need it report so */
}
