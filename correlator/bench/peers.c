/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers.c -- table of functions, libraries and symbol names.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "correlator/bench/peers.h"

static const struct {
    const char *name, *file;
} libraries[FX8_N_PEER_LIBRARIES] = {
    [FX8_PEER_LIBMVEC] = {"libmvec", "libmvec.so.1"},
    [FX8_PEER_SLEEF] = {"SLEEF", "libsleef.so.3"},
};

const char *fx8_peer_name(enum fx8_peer_library library)
{
    return libraries[library].name;
}

#if defined(__x86_64__)

static const struct {
    const char *function;
    const char *libmvec;  /* its arguments and name, or NULL */
    const char *sleef[2]; /* its name, and its error in tenths of an ulp */
    bool is_binary;
    float scale;
} functions[] = {
    {"exp2", "v_exp2", {"exp2", "10"}, false, 1.0f},
    {"log2", "v_log2", {"log2", "10"}, false, 1.0f},
    {"log10", "v_log10", {"log10", "10"}, false, 1.0f},
    {"tanh", "v_tanh", {"tanh", "10"}, false, 1.0f},
    {"atanh", "v_atanh", {"atanh", "10"}, false, 1.0f},
    {"atan2", "vv_atan2", {"atan2", "10"}, true, 1.0f},
    /* sin(pi x) of twice the phase in turns */
    {"sin_turns", NULL, {"sinpi", "05"}, false, 2.0f},
    {"cos_turns", NULL, {"cospi", "05"}, false, 2.0f},
};

bool fx8_peer_find(enum fx8_peer_library library, const char *variant,
                   const char *function, struct fx8_peer_function *peer)
{
    const bool is_wide = strcmp(variant, "avx512") == 0;
    /* stays open: a benchmark calls the functions until it ends */
    void *handle = dlopen(libraries[library].file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL || (!is_wide && strcmp(variant, "avx2") != 0))
        return false;
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        const bool is_mvec = library == FX8_PEER_LIBMVEC;
        char symbol[64];
        if (strcmp(functions[f].function, function) != 0 ||
            (is_mvec && functions[f].libmvec == NULL))
            continue;
        if (is_mvec) /* the vector ABI of x86-64: d AVX2, e AVX-512 */
            snprintf(symbol, sizeof symbol, "_ZGV%s%sf",
                     is_wide ? "eN16" : "dN8", functions[f].libmvec);
        else
            snprintf(symbol, sizeof symbol, "Sleef_%sf%s_u%s%s",
                     functions[f].sleef[0], is_wide ? "16" : "8",
                     functions[f].sleef[1], is_wide ? "avx512f" : "avx2");
        *peer = (struct fx8_peer_function){
            .symbol = dlsym(handle, symbol),
            .scale = functions[f].scale,
            .loop = functions[f].is_binary ? is_wide ? fx8_peer_binary_avx512
                                                     : fx8_peer_binary_avx2
                    : is_wide              ? fx8_peer_unary_avx512
                                           : fx8_peer_unary_avx2,
        };
        return peer->symbol != NULL;
    }
    return false;
}

#else

bool fx8_peer_find(enum fx8_peer_library library, const char *variant,
                   const char *function, struct fx8_peer_function *peer)
{
    (void)library, (void)variant, (void)function, (void)peer;
    return false;
}

#endif
