/* SPDX-License-Identifier: BSD-3-Clause */
/* reader_rows.h -- reads into rows that are longer than the range read. */
#ifndef FX8_VALIDATION_READER_ROWS_H
#define FX8_VALIDATION_READER_ROWS_H

#include "io/reader.h"
#include "validation/testing.h"

/** Read [first, first + n) into rows of that length, or longer by 7 or 14
 *  samples, which must stay unchanged; layout has room for the offsets.  The
 *  caller frees the buffer. */
static inline int8_t *read_rows(struct fx8_reader *reader, int64_t first,
                                int64_t n, struct fx8_sample_layout *layout)
{
    const int64_t more = 7 * ((first + n) % 3);
    const size_t size = reader->buffer_size(reader, n + more);
    int8_t *buffer = (int8_t *)exact(size);
    struct fx8_error error;
    layout->row_samples = more > 0 ? n + more : 0;
    must(reader->read(reader, first, n, buffer, layout, &error), error);
    const size_t used = (size_t)(n * layout->time_stride);
    const size_t row = (size_t)((n + more) * layout->time_stride);
    assert_int_equal(size % row, 0);
    for (size_t at = 0; at < size; at++)
        if (at % row >= used)
            assert_int_equal((uint8_t)buffer[at], GARBAGE);
    return buffer;
}

#endif
