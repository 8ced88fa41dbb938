/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers.c -- table of functions, libraries and symbol names.
 */
#include "correlator/bench/peers.h"

#include <dlfcn.h>
#include <string.h>

static const struct {
    const char *name, *file;
} libraries[FX8_N_PEER_LIBRARIES] = {
    [FX8_PEER_LIBMVEC] = {"libmvec", "libmvec.so.1"},
    [FX8_PEER_SLEEF] = {"SLEEF", "libsleef.so.3"},
};

/* The handle stays open: a benchmark calls the functions until it ends. */
static void *open_library(enum fx8_peer_library library)
{
    return dlopen(libraries[library].file, RTLD_NOW | RTLD_LOCAL);
}

const char *fx8_peer_name(enum fx8_peer_library library)
{
    return libraries[library].name;
}

bool fx8_peer_is_there(enum fx8_peer_library library)
{
    return open_library(library) != NULL;
}

#if defined(__x86_64__)

/* Names follow the vector ABI of x86-64 (libmvec: d AVX2, e AVX-512) and
 * SLEEF's own rule (u10: 1.0 ulp). */
static const struct {
    enum fx8_peer_library library;
    const char *function;
    bool is_binary;
    float scale;
    const char *avx2, *avx512;
} functions[] = {
    {FX8_PEER_LIBMVEC, "exp2", false, 1.0f, "_ZGVdN8v_exp2f",
     "_ZGVeN16v_exp2f"},
    {FX8_PEER_LIBMVEC, "log2", false, 1.0f, "_ZGVdN8v_log2f",
     "_ZGVeN16v_log2f"},
    {FX8_PEER_LIBMVEC, "log10", false, 1.0f, "_ZGVdN8v_log10f",
     "_ZGVeN16v_log10f"},
    {FX8_PEER_LIBMVEC, "tanh", false, 1.0f, "_ZGVdN8v_tanhf",
     "_ZGVeN16v_tanhf"},
    {FX8_PEER_LIBMVEC, "atanh", false, 1.0f, "_ZGVdN8v_atanhf",
     "_ZGVeN16v_atanhf"},
    {FX8_PEER_LIBMVEC, "atan2", true, 1.0f, "_ZGVdN8vv_atan2f",
     "_ZGVeN16vv_atan2f"},
    {FX8_PEER_SLEEF, "exp2", false, 1.0f, "Sleef_exp2f8_u10avx2",
     "Sleef_exp2f16_u10avx512f"},
    {FX8_PEER_SLEEF, "log2", false, 1.0f, "Sleef_log2f8_u10avx2",
     "Sleef_log2f16_u10avx512f"},
    {FX8_PEER_SLEEF, "log10", false, 1.0f, "Sleef_log10f8_u10avx2",
     "Sleef_log10f16_u10avx512f"},
    {FX8_PEER_SLEEF, "tanh", false, 1.0f, "Sleef_tanhf8_u10avx2",
     "Sleef_tanhf16_u10avx512f"},
    {FX8_PEER_SLEEF, "atanh", false, 1.0f, "Sleef_atanhf8_u10avx2",
     "Sleef_atanhf16_u10avx512f"},
    {FX8_PEER_SLEEF, "atan2", true, 1.0f, "Sleef_atan2f8_u10avx2",
     "Sleef_atan2f16_u10avx512f"},
    /* sin(pi x) of twice the phase in turns */
    {FX8_PEER_SLEEF, "sin_turns", false, 2.0f, "Sleef_sinpif8_u05avx2",
     "Sleef_sinpif16_u05avx512f"},
    {FX8_PEER_SLEEF, "cos_turns", false, 2.0f, "Sleef_cospif8_u05avx2",
     "Sleef_cospif16_u05avx512f"},
};

bool fx8_peer_find(enum fx8_peer_library library, const char *level,
                   const char *function, struct fx8_peer_function *peer)
{
    const bool is_wide = strcmp(level, "avx512") == 0;
    void *handle = open_library(library);
    if (handle == NULL || (!is_wide && strcmp(level, "avx2") != 0))
        return false;
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        if (functions[f].library != library ||
            strcmp(functions[f].function, function) != 0)
            continue;
        *peer = (struct fx8_peer_function){
            .symbol = dlsym(handle,
                            is_wide ? functions[f].avx512 : functions[f].avx2),
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

bool fx8_peer_find(enum fx8_peer_library library, const char *level,
                   const char *function, struct fx8_peer_function *peer)
{
    (void)library, (void)level, (void)function, (void)peer;
    return false;
}

#endif
