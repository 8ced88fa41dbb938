/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <zlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plot/png.h"

static const uint8_t signature[8] = {0x89, 'P',  'N',  'G',
                                     '\r', '\n', 0x1a, '\n'};

/* Length, type and checksum of a chunk. */
#define CHUNK_EXTRA 12

static uint8_t *put_number(uint8_t *at, size_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        *at++ = (uint8_t)(number >> shift);
    return at;
}

/* Append a chunk; data NULL: they are in place already, 8 bytes on. */
static uint8_t *put_chunk(uint8_t *at, const char *type, const uint8_t *data,
                          size_t size)
{
    uint8_t *begin = put_number(at, size);
    memcpy(begin, type, 4);
    if (data != NULL)
        memcpy(begin + 4, data, size);
    return put_number(begin + 4 + size, crc32(0, begin, (uInt)(size + 4)));
}

enum fx8_status fx8_png_encode(const uint8_t *pixels, size_t n_columns,
                               size_t n_rows, uint8_t **bytes, size_t *size,
                               struct fx8_error *error)
{
    const size_t row = 3 * n_columns;
    uint8_t header[13] = {0};
    put_number(put_number(header, n_columns), n_rows);
    header[8] = 8; /* bits */
    header[9] = 2; /* red, green, blue */
    FX8_AUTO_FREE uint8_t *rows = NULL;
    FX8_TRY(fx8_allocate(fx8_product(row + 1, n_rows, 1, 1), 1, "a raster",
                         &rows, error));
    for (size_t r = 0; r < n_rows; r++) /* after a byte 0: no filter */
        memcpy(rows + r * (row + 1) + 1, pixels + r * row, row);
    uLongf packed = compressBound((row + 1) * n_rows);
    const size_t most =
        sizeof signature + 3 * CHUNK_EXTRA + sizeof header + packed;
    FX8_TRY(fx8_allocate(most, 1, "a raster", bytes, error));
    memcpy(*bytes, signature, sizeof signature);
    uint8_t *at =
        put_chunk(*bytes + sizeof signature, "IHDR", header, sizeof header);
    if (compress(at + 8, &packed, rows, (row + 1) * n_rows) != Z_OK) {
        fx8_free_at(bytes);
        *bytes = NULL;
        return fx8_no_memory("a raster", error);
    }
    at = put_chunk(at, "IDAT", NULL, packed);
    at = put_chunk(at, "IEND", NULL, 0);
    *size = (size_t)(at - *bytes);
    return FX8_OK;
}
