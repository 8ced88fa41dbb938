/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shared_object.h -- shared objects of fx8 that are opened at run time, so that
 * the program starts where what they need is not installed.
 */
#ifndef FX8_CONFIG_BASE_SHARED_OBJECT_H
#define FX8_CONFIG_BASE_SHARED_OBJECT_H

#include "correlator/fx8.h"

/** What the symbol of every plug-in begins with. */
struct fx8_shared_object_head {
    unsigned abi;        /**< layout of what follows */
    const char *version; /**< of fx8 */
};

/** A plug-in. */
struct fx8_shared_object {
    const char *name;     /**< "cuda", before messages */
    const char *file;     /**< "fx8-cuda.so" */
    const char *symbol;   /**< a struct fx8_shared_object_head and more */
    const char *variable; /**< environment variable that names another file */
    unsigned abi;
    const char *hint; /**< appended when the file is missing; "" for none */
};

/**
 * fx8_shared_object_open -- load a plug-in, which is never unloaded.
 *
 * Returned: head  its symbol
 * Status:   FX8_ERR_UNSUPPORTED, with three reasons to tell apart: missing (it
 *           is looked for beside the program or library, in ../lib from there,
 *           and on the library path), cannot be loaded, of another version
 */
enum fx8_status fx8_shared_object_open(
    const struct fx8_shared_object *plugin,
    const struct fx8_shared_object_head **head, struct fx8_error *error);

#endif
