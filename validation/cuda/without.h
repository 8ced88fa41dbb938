/* SPDX-License-Identifier: BSD-3-Clause */
/* without.h -- kernels that a run on a card is to do without: one that hangs,
 * or ends all work of its process, must not hide what the others do. */
#ifndef FX8_VALIDATION_CUDA_WITHOUT_H
#define FX8_VALIDATION_CUDA_WITHOUT_H

#include <stdlib.h>
#include <string.h>

#include <string>

/** The list in a variable of the environment, "wgmma,mma", or nothing. */
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

/** Whether the kind of a kernel, "mma" of "mma-64", is in FX8_WITHOUT, or not
 *  in FX8_ONLY where that has any. */
inline bool is_left_out(const char *kernel)
{
    const std::string kind =
        "," + std::string(kernel, strcspn(kernel, "-")) + ",";
    const auto has = [&](const char *variable) {
        return ("," + kinds_in(variable) + ",").find(kind) != std::string::npos;
    };
    return has("FX8_WITHOUT") ||
           (!kinds_in("FX8_ONLY").empty() && !has("FX8_ONLY"));
}

/** Kinds of integer kernel, those for every card first. */
inline const char *const integer_kinds[] = {"mma", "dp4a", "wgmma"};

/** Whether no kernel of a precision is left. */
inline bool are_left_out(bool is_int8)
{
    if (!is_int8)
        return is_left_out("fp32");
    for (const char *kind : integer_kinds)
        if (!is_left_out(kind))
            return false;
    return true;
}

/** The name to give an engine in place of a kernel that is left out, or of
 *  "auto", which tries every kind; "auto" where none is left. */
inline const char *kernel_in_place_of(const char *kernel)
{
    const char *first = nullptr;
    bool are_all_there = true;
    for (const char *kind : integer_kinds) {
        are_all_there = are_all_there && !is_left_out(kind);
        if (first == nullptr && !is_left_out(kind))
            first = kind;
    }
    const bool stays =
        strcmp(kernel, "auto") == 0 ? are_all_there : !is_left_out(kernel);
    return stays ? kernel : first != nullptr ? first : "auto";
}

#endif
