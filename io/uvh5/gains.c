/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gains.c -- the quantiser's gains in /fx8, which a later run goes on with.  A
 * row, of an input in a band, has a checksum, written after its gains: a kill
 * leaves it with all of them or with none.
 */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/uvh5/writer.h"

/* In place of a checksum. */
static const double not_set = -1.0;

/* CRC-32 of the gains of a row, which are side by side. */
static double checksum(const struct fx8_uvh5_gains *gains, size_t band,
                       size_t input)
{
    const size_t n = gains->n_fine / gains->n_bands;
    const size_t cell = (input * gains->n_bands + band) * n;
    uLong crc = crc32_z(0, NULL, 0);
    crc = crc32_z(crc, (const Bytef *)(gains->gain + cell),
                  n * sizeof *gains->gain);
    crc = crc32_z(crc, (const Bytef *)(gains->no_power + cell),
                  n * sizeof *gains->no_power);
    return (double)crc;
}

enum fx8_status fx8_uvh5_put_gains(struct fx8_uvh5_writer *writer,
                                   const struct fx8_uvh5_gains *gains,
                                   struct fx8_error *error)
{
    const size_t cells[] = {gains->n_inputs, gains->n_fine};
    const size_t rows[] = {gains->n_bands, gains->n_inputs};
    const bool is_again =
        H5Lexists(writer->file, "fx8/gain_checksum", H5P_DEFAULT) > 0;
    FX8_AUTO_FREE double *checksums = NULL;
    FX8_TRY(fx8_allocate(fx8_product(rows[0], rows[1], 1, 1), sizeof *checksums,
                         "gains", &checksums, error));
    for (size_t row = 0; row < rows[0] * rows[1]; row++)
        checksums[row] =
            gains->is_set[row]
                ? checksum(gains, row / gains->n_inputs, row % gains->n_inputs)
                : not_set;
    FX8_TRY(fx8_uvh5_put(writer, "gain", 2, cells, gains->gain,
                         "quantiser gain, LSB per recorded count, by input "
                         "(antenna-major) and channel",
                         error));
    FX8_TRY(fx8_uvh5_put(writer, "no_power", 2, cells, gains->no_power,
                         "1: no power to set the gain from, by input and "
                         "channel",
                         error));
    FX8_TRY(fx8_output_flush(writer->output, writer->file, error));
    /* finished dumps need those of other rows, whose checksums are there */
    if (is_again)
        FX8_TRY(fx8_output_sync(writer->output, error));
    return fx8_uvh5_put(writer, "gain_checksum", 2, rows, checksums,
                        "CRC-32 of gain and no_power, by band and input; -1: "
                        "not set",
                        error);
}

/* Read n values of a dataset; false if it has another number. */
static enum fx8_status get(struct fx8_uvh5_file *file, const char *name,
                           size_t n, double *values, bool *is_there,
                           struct fx8_error *error)
{
    size_t shape[3];
    FX8_AUTO_FREE double *found = NULL;
    FX8_TRY(fx8_uvh5_get(file, name, shape, &found, error));
    *is_there = found != NULL && shape[0] * shape[1] * shape[2] == n;
    if (*is_there)
        memcpy(values, found, n * sizeof *values);
    return FX8_OK;
}

enum fx8_status fx8_uvh5_get_gains(struct fx8_uvh5_file *file,
                                   const struct fx8_uvh5_gains *gains,
                                   bool *is_whole, struct fx8_error *error)
{
    const size_t n_rows = gains->n_bands * gains->n_inputs;
    const size_t n_cells = gains->n_inputs * gains->n_fine;
    FX8_AUTO_FREE double *checksums = NULL;
    FX8_TRY(
        fx8_allocate(n_rows, sizeof *checksums, "gains", &checksums, error));
    bool has[3];
    FX8_TRY(get(file, "gain", n_cells, gains->gain, &has[0], error));
    FX8_TRY(get(file, "no_power", n_cells, gains->no_power, &has[1], error));
    FX8_TRY(get(file, "gain_checksum", n_rows, checksums, &has[2], error));
    *is_whole = has[0] && has[1] && has[2];
    for (size_t row = 0; row < n_rows && *is_whole; row++) {
        gains->is_set[row] = checksums[row] != not_set;
        *is_whole = !gains->is_set[row] ||
                    checksums[row] == checksum(gains, row / gains->n_inputs,
                                               row % gains->n_inputs);
    }
    return FX8_OK;
}
