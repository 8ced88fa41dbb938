/* SPDX-License-Identifier: BSD-3-Clause */
/* without.h -- kernels that a run on a card is to do without: one that hangs,
 * or ends all work of its process, must not hide what the others do. */
#ifndef FX8_VALIDATION_CUDA_WITHOUT_H
#define FX8_VALIDATION_CUDA_WITHOUT_H

#include <stdlib.h>
#include <string.h>

#include <string>

/** The kinds in FX8_WITHOUT, "wgmma,mma", or nothing. */
inline std::string kinds_left_out()
{
    const char *const list = getenv("FX8_WITHOUT");
    return list != nullptr ? list : "";
}

/** Whether the kind of a kernel, "mma" of "mma-64", is one of them. */
inline bool is_left_out(const char *kernel)
{
    const std::string kind(kernel, strcspn(kernel, "-"));
    return ("," + kinds_left_out() + ",").find("," + kind + ",") !=
           std::string::npos;
}

/** The name to give an engine in place of a kernel that is left out, or of
 *  "auto", which tries every kind. */
inline const char *kernel_in_place_of(const char *kernel)
{
    if (kinds_left_out().empty() ||
        (strcmp(kernel, "auto") != 0 && !is_left_out(kernel)))
        return kernel;
    return is_left_out("mma") ? "dp4a" : "mma";
}

#endif
