/* SPDX-License-Identifier: BSD-3-Clause */
/* without.h -- kernels to leave out of a run on a card: one that hangs, or ends
 * all work of its process, must not hide how the others perform. */
#ifndef FX8_VALIDATION_CUDA_WITHOUT_H
#define FX8_VALIDATION_CUDA_WITHOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/** Whether the kind of a kernel ("mma" for "mma-64") is in the list in an
 *  environment variable ("wgmma,mma"). */
static inline bool is_listed(const char *variable, const char *kernel)
{
    const size_t length = strcspn(kernel, "-");
    const char *each = getenv(variable);
    while (each != NULL && *each != '\0') {
        const size_t n = strcspn(each, ",");
        if (n == length && strncmp(each, kernel, n) == 0)
            return true;
        each += n + (each[n] == ',');
    }
    return false;
}

/** Whether the kind of a kernel is in FX8_WITHOUT, or missing from a non-empty
 *  FX8_ONLY. */
static inline bool is_left_out(const char *kernel)
{
    const char *const only = getenv("FX8_ONLY");
    return is_listed("FX8_WITHOUT", kernel) ||
           (only != NULL && only[0] != '\0' && !is_listed("FX8_ONLY", kernel));
}

/** Kinds of integer kernel; kinds for every card first. */
static const char *const integer_kinds[] = {"mma", "dp4a", "wgmma"};
enum { N_INTEGER_KINDS = sizeof integer_kinds / sizeof *integer_kinds };

/** Whether all kernels of a precision are left out. */
static inline bool are_left_out(bool is_int8)
{
    if (!is_int8)
        return is_left_out("fp32");
    for (size_t k = 0; k < N_INTEGER_KINDS; ++k)
        if (!is_left_out(integer_kinds[k]))
            return false;
    return true;
}

/** The kernel name to give an engine instead of one that is left out, or of
 *  "auto", which tries every kind; "auto" if none is left. */
static inline const char *kernel_in_place_of(const char *kernel)
{
    const char *first = NULL;
    bool are_all_there = true;
    for (size_t k = 0; k < N_INTEGER_KINDS; ++k) {
        are_all_there = are_all_there && !is_left_out(integer_kinds[k]);
        if (first == NULL && !is_left_out(integer_kinds[k]))
            first = integer_kinds[k];
    }
    const bool stays =
        strcmp(kernel, "auto") == 0 ? are_all_there : !is_left_out(kernel);
    return stays ? kernel : first != NULL ? first : "auto";
}

#ifdef __cplusplus
#include <string>

/** The list in an environment variable ("wgmma,mma"), or nothing. */
inline std::string kinds_in(const char *variable)
{
    const char *const list = getenv(variable);
    return list != nullptr ? list : "";
}

/** The kinds in FX8_WITHOUT, or nothing. */
inline std::string kinds_left_out()
{
    return kinds_in("FX8_WITHOUT");
}
#endif

#endif
