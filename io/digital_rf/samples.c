/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * samples.c -- find fill values in rows of samples, convert rows of 8 or 16
 * bits to int8.
 */
#include <string.h>

#include "io/digital_rf/digital_rf_reader.h"

/* Bytes of fill values that count as a gap, not as signal. */
#define FILL_BYTES 8

size_t fx8_drf_shortest_fill(size_t row_bytes)
{
    return row_bytes >= FILL_BYTES ? 1 : (FILL_BYTES - 1) / row_bytes + 1;
}

/* The recorder's fill value is the smallest number of the type. */
static bool is_fill8(const int8_t *row, size_t n_numbers)
{
    for (size_t i = 0; i < n_numbers; i++)
        if (row[i] != INT8_MIN)
            return false;
    return true;
}

static bool is_fill16(const int16_t *row, size_t n_numbers)
{
    for (size_t i = 0; i < n_numbers; i++)
        if (row[i] != INT16_MIN)
            return false;
    return true;
}

/* First row from `from` on that is (is_fill), or is not, fill. */
static size_t find_row(const void *rows, size_t n_rows, size_t n_numbers,
                       size_t part_bytes, size_t from, bool is_fill)
{
    if (part_bytes == 1) {
        const int8_t *row = rows;
        while (from < n_rows &&
               is_fill8(row + from * n_numbers, n_numbers) != is_fill)
            from++;
    } else {
        const int16_t *row = rows;
        while (from < n_rows &&
               is_fill16(row + from * n_numbers, n_numbers) != is_fill)
            from++;
    }
    return from;
}

struct fx8_drf_rows fx8_drf_next_rows(const void *rows, size_t n_rows,
                                      size_t n_numbers, size_t part_bytes,
                                      size_t from, bool starts, bool ends)
{
    const size_t shortest = fx8_drf_shortest_fill(n_numbers * part_bytes);
    size_t end = from;
    while (end < n_rows) {
        const size_t fill =
            find_row(rows, n_rows, n_numbers, part_bytes, end, true);
        end = find_row(rows, n_rows, n_numbers, part_bytes, fill, false);
        const bool is_gap = end - fill >= shortest || (starts && fill == 0) ||
                            (ends && end == n_rows);
        if (fill == n_rows || !is_gap)
            continue;
        if (fill > from)
            return (struct fx8_drf_rows){from, fill - from, false};
        return (struct fx8_drf_rows){from, end - from, true};
    }
    return (struct fx8_drf_rows){from, n_rows - from, false};
}

/* Copy samples of a sub-channel side by side.  A sample has 1, 2 or 4 bytes;
 * with a constant size, a copy is one instruction. */
static void gather(const char *from, size_t n, size_t stride, size_t size,
                   char *to)
{
    if (stride == size)
        memcpy(to, from, n * size);
    else if (size == 1)
        for (size_t i = 0; i < n; i++)
            to[i] = from[i * stride];
    else if (size == 2)
        for (size_t i = 0; i < n; i++)
            memcpy(to + 2 * i, from + i * stride, 2);
    else
        for (size_t i = 0; i < n; i++)
            memcpy(to + 4 * i, from + i * stride, 4);
}

/* x / 2^shift, half to even, clamped; returns the number clamped.  Works on x +
 * 2^15, where 2^15 is a multiple of 2^shift, because C does not define shifts
 * of negative numbers. */
static int divide(const int16_t *numbers, size_t n, int shift,
                  int8_t *quotients)
{
    const int below_half = shift > 0 ? (1 << (shift - 1)) - 1 : 0;
    const int is_rounded = shift > 0;
    const int zero = -INT16_MIN >> shift;
    int n_clamped = 0;
    for (size_t i = 0; i < n; i++) {
        const int raised = numbers[i] - INT16_MIN;
        const int odd = raised >> shift & is_rounded;
        const int value = ((raised + below_half + odd) >> shift) - zero;
        const int most = value > INT8_MAX ? INT8_MAX : value;
        const int kept = most < -INT8_MAX ? -INT8_MAX : most;
        n_clamped += kept != value;
        quotients[i] = (int8_t)kept;
    }
    return n_clamped;
}

int64_t fx8_drf_convert(const void *rows, size_t n_rows, size_t stride,
                        size_t offset, size_t n_parts, size_t part_bytes,
                        int shift, int8_t *samples)
{
    enum { BLOCK = 2048 }; /* 8 KiB at most */
    int16_t block[2 * BLOCK];
    const char *from = (const char *)rows + offset * part_bytes;
    const size_t size = n_parts * part_bytes;
    int64_t n_clamped = 0;
    stride *= part_bytes;
    if (part_bytes == 1) {
        gather(from, n_rows, stride, size, (char *)samples);
        return 0;
    }
    for (size_t i = 0; i < n_rows; i += BLOCK) {
        const size_t n = n_rows - i < BLOCK ? n_rows - i : BLOCK;
        gather(from + i * stride, n, stride, size, (char *)block);
        n_clamped += divide(block, n * n_parts, shift, samples + i * n_parts);
    }
    return n_clamped;
}

void fx8_drf_count_levels(const int16_t *rows, size_t n_rows, size_t stride,
                          size_t offset, size_t n_parts, uint32_t *histogram)
{
    for (size_t i = 0; i < n_rows; i++)
        for (size_t part = 0; part < n_parts; part++) {
            const int value = rows[i * stride + offset + part];
            histogram[value < 0 ? -value : value]++;
        }
}

/* The value at `rank` in ascending order, rank below the count. */
static size_t value_of_rank(const uint32_t histogram[32769], uint64_t rank)
{
    size_t value = 0;
    for (uint64_t n = histogram[0]; n <= rank;)
        n += histogram[++value];
    return value;
}

int fx8_drf_choose_shift(const uint32_t histogram[32769])
{
    uint64_t n = 0;
    for (size_t i = 0; i < 32769; i++)
        n += histogram[i];
    if (n == 0)
        return 0;
    /* as in fx8_median() */
    const double median = (double)(value_of_rank(histogram, (n - 1) / 2) +
                                   value_of_rank(histogram, n / 2)) /
                          2.0;
    int shift = 0;
    for (double rms = median / 0.6745; rms > 32 && shift < FX8_DRF_MAX_SHIFT;
         rms /= 2)
        shift++;
    return shift;
}
