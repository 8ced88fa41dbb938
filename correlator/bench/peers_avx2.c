/* SPDX-License-Identifier: BSD-3-Clause */
#include "correlator/bench/peers_loops.h"

#if defined(__x86_64__)

#include <immintrin.h>

FX8_PEER_LOOPS(avx2, __m256, 8, _mm256)

#endif
