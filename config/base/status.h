/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * status.h -- status codes and the error record that every fallible function
 * of fx8 fills; part of the public interface (correlator/fx8.h).  A failing
 * line calls fx8_fail() once, where the fault is detected; callers pass the
 * record on and never replace it.
 */
#ifndef FX8_CONFIG_BASE_STATUS_H
#define FX8_CONFIG_BASE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/** What libfx8 offers to others, and nothing else, is marked with this. */
#ifndef FX8_API
#define FX8_API __attribute__((visibility("default")))
#endif

/** What a function of fx8 returns.  Zero is success; negative is failure;
 *  positive is success with something the caller must attend to. */
enum fx8_status {
    FX8_OK = 0,
    FX8_DUMP_READY = 1,     /**< fx8_take_dump(), then make the call again */
    FX8_ERR_USAGE = -1,     /**< wrong use or configuration: exit 2 */
    FX8_ERR_INPUT = -2,     /**< a file's content is unusable: exit 1 */
    FX8_ERR_SYSTEM = -3,    /**< disk, memory, thread: exit 1 */
    FX8_ERR_CANCELLED = -4, /**< cancelled by the caller: exit 130 */
    FX8_ERR_UNSUPPORTED =
        -5,             /**< not in this build or on this machine: exit 1 */
    FX8_ERR_DEVICE = -6 /**< a GPU failed, or computed wrongly: exit 1; the CPU
                             may do what it did not: see fx8_push() */
};

/** Longest message in an error record, terminator included. */
#define FX8_ERROR_MESSAGE_SIZE 1024

/** Error record: owned by the caller, filled by the failing function.  The
 *  message is one line without a trailing newline, in the form
 *  "FILE[:LINE]: KEY or DATASET: value: what was expected". */
struct fx8_error {
    enum fx8_status status;
    char message[FX8_ERROR_MESSAGE_SIZE];
};

#if defined(__GNUC__)
#define FX8_PRINTF(nth, first) __attribute__((format(printf, nth, first)))
#else
#define FX8_PRINTF(nth, first)
#endif

/**
 * fx8_fail -- fill an error record and return its status: how a dump callback
 * gives its reason.
 *
 * Given:     error   record to fill, or NULL to keep only the status
 *            status  a negative enum fx8_status
 *            format  printf format of the message, and its arguments; control
 *                    characters in the result (a file name may hold a
 *                    newline) become '?', what is too long is cut off
 * Status:    returns `status`, so that `return fx8_fail(...)` reads well
 */
FX8_API enum fx8_status fx8_fail(struct fx8_error *error,
                                 enum fx8_status status, const char *format,
                                 ...) FX8_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif

#endif
