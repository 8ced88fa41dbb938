/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe.cu -- every function of the numerics headers and of ptx.h in a kernel
 * of its own, to see what the compiler makes of it.  Never run.
 */
#include "kernels/cuda/ptx.h"
#include "kernels/numeric/atan2.h"
#include "kernels/numeric/coherence.h"
#include "kernels/numeric/dither.h"
#include "kernels/numeric/divide.h"
#include "kernels/numeric/exp2.h"
#include "kernels/numeric/fdividef.h"
#include "kernels/numeric/half.h"
#include "kernels/numeric/image.h"
#include "kernels/numeric/log.h"
#include "kernels/numeric/rsqrt.h"
#include "kernels/numeric/tanh.h"
#include "kernels/numeric/target.h"
#include "kernels/numeric/rotate.h"
#include "kernels/numeric/turns.h"

/** Kernel probe_NAME: y = expression of x, of one thread's element. */
#define PROBE(name, result, argument, expression)                              \
    extern "C" __global__ void probe_##name(result *y, const argument *in)     \
    {                                                                          \
        const argument x = in[threadIdx.x];                                    \
        y[threadIdx.x] = expression;                                           \
    }

/** The same of floats. */
#define UNARY(name, expression) PROBE(name, float, float, expression)

/** Kernel probe_NAME: y = expression of a, b and c, floats of one thread. */
#define TERNARY(name, expression)                                              \
    extern "C" __global__ void probe_##name(                                   \
        float *y, const float *in_a, const float *in_b, const float *in_c)     \
    {                                                                          \
        const float a = in_a[threadIdx.x], b = in_b[threadIdx.x];              \
        [[maybe_unused]] const float c = in_c[threadIdx.x];                    \
        y[threadIdx.x] = expression;                                           \
    }

/** The hardware's tanh, or what serves where there is none. */
static __device__ __forceinline__ float best_tanh(float x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 750
    return fx8_tanh_ex2(x);
#else
    return fx8_tanh_hardware(x);
#endif
}

static __device__ __forceinline__ float2 image_add(float4 x)
{
    float re = x.x, im = x.y;
    fx8_image_add(x.z, x.w, x.x, x.y, &re, &im);
    return make_float2(re, im);
}

UNARY(ptx_rcp, fx8_ptx_rcp(x))
UNARY(ptx_rsqrt, fx8_ptx_rsqrt(x))
UNARY(ptx_ex2, fx8_ptx_ex2(x))
UNARY(ptx_lg2, fx8_ptx_lg2(x))
UNARY(ptx_sin, fx8_ptx_sin(x))
UNARY(ptx_cos, fx8_ptx_cos(x))

UNARY(reciprocal, fx8_reciprocal(x))
UNARY(rsqrt, fx8_rsqrt(x))
UNARY(exp2, fx8_exp2(x))
UNARY(log2, fx8_log2(x))
UNARY(log10, fx8_log10(x))
UNARY(sin_turns, fx8_sin_turns(x))
UNARY(cos_turns, fx8_cos_turns(x))
UNARY(rotation_re, fx8_rotation_re(x))
UNARY(rotation_im, fx8_rotation_im(x))
PROBE(rotation_turns, float, uint64_t, fx8_rotation_turns(x))
PROBE(rotation_place, uint64_t, uint64_t, fx8_rotation_place(x, x))
PROBE(rotation_phase, uint64_t, fx8_rotation,
      fx8_rotation_phase(&x, 3, fx8_rotation_middle(x.slope)))
PROBE(dither_at, uint32_t, fx8_dither, fx8_dither_at(&x, 3, 5))
PROBE(dither_re, float, uint32_t, fx8_dither_re(x))
PROBE(dither_im, float, uint32_t, fx8_dither_im(x))
PROBE(image_turns, float, double3, fx8_image_turns(&x.x, x.y, x.z, x.x))
PROBE(image_add, float2, float4, image_add(x))
UNARY(tanh, fx8_tanh(x))
UNARY(tanh_ex2, fx8_tanh_ex2(x))
UNARY(tanh_hardware, best_tanh(x))
UNARY(atanh, fx8_atanh(x))
TERNARY(atan2, fx8_atan2(a, b))
TERNARY(divide_fast, fx8_divide_fast(a, b))
TERNARY(divide_markstein, fx8_divide(a, b))

PROBE(half_from_float, uint16_t, float, fx8_half_from_float(x))
PROBE(half_to_float, float, uint16_t, fx8_half_to_float(x))
PROBE(half_round, uint16_t, double, fx8_half_round(x))
PROBE(half_scale_add, uint16_t, ushort3, fx8_half_scale_add(x.x, x.y, x.z))

TERNARY(coherence_part, fx8_coherence_part(a, b, c))
TERNARY(coherence_power, fx8_coherence_power(a, b))
TERNARY(coherence_unbiased, fx8_coherence_unbiased(a, b, c, c))
