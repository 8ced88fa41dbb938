/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output_private.h -- the state of an output, shared by output.c and
 * output_end.c.
 */
#ifndef FX8_IO_OUTPUT_PRIVATE_H
#define FX8_IO_OUTPUT_PRIVATE_H

#include "io/driver.h"
#include "io/output.h"
#include "io/parts.h"

struct fx8_output {
    char *path;
    char *part;
    char *undo;                /* what is saved of the .part: see undo.h */
    enum fx8_undo_found found; /* of the .part of an earlier run */
    bool force;
    struct fx8_driver_file file;
    size_t number; /* of the .part in parts.h */
};

/** Whether the .part still has its name. */
static inline bool fx8_output_is_ours(const struct fx8_output *output)
{
    return fx8_part_is_name_of(output->part, output->file.descriptor);
}

/** FX8_ERR_SYSTEM: "PATH: cannot VERB it: reason of the system". */
enum fx8_status fx8_output_system_fail(const char *path, const char *verb,
                                       struct fx8_error *error);

/** As rename(); unless it replaces, a file of the new name is EEXIST, where the
 *  file system can do so. */
int fx8_output_rename(const char *from, const char *to, bool replaces);

/** Release memory and descriptor; closing the descriptor releases the lock. */
void fx8_output_release(struct fx8_output *output);

#endif
