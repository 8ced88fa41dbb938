/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * write_back.h -- results go to the disk as they are written.
 */
#ifndef FX8_CONFIG_BASE_WRITE_BACK_H
#define FX8_CONFIG_BASE_WRITE_BACK_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes that are worth a call. */
#define FX8_WRITE_BACK_LEAST ((size_t)128 << 10)

/** Send what was just written to the disk, if it is large: beside the next
 *  dumps, not when the run ends.  A failure shows when the file is
 *  synchronised. */
static inline void fx8_write_back(int descriptor, uint64_t offset, size_t size)
{
    if (size >= FX8_WRITE_BACK_LEAST)
        (void)sync_file_range(descriptor, (off_t)offset, (off_t)size,
                              SYNC_FILE_RANGE_WRITE);
}

#endif
