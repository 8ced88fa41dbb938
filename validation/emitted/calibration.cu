/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibration.cu -- kernels that hold a known number of one operation, twice:
 * what the longer one has more of is that operation.
 *
 * Notes: 1) a step needs the result of the one before it, and rounds or wraps,
 *           so that the compiler can neither fold nor drop any
 *        2) the integer ones show what is no floating-point instruction
 */
#include <cuda_fp16.h>

/** Kernel NAME_TIMES: so many of `step`, which changes x and n and knows a, b
 *  and m. */
#define KERNEL(name, type, times, step)                                        \
    extern "C" __global__ void name##_##times(type *data, type a, type b,      \
                                              int m)                           \
    {                                                                          \
        type x = data[threadIdx.x];                                            \
        int n = m;                                                             \
        _Pragma("unroll") for (int k = 0; k < times; ++k)                      \
        {                                                                      \
            step;                                                              \
        }                                                                      \
        data[threadIdx.x] = x;                                                 \
        ((int *)data)[threadIdx.x + m] = n;                                    \
    }

/** Both lengths of an operation; calibration.py knows them. */
#define OPERATION(name, type, step)                                            \
    KERNEL(calibrate_##name, type, 4, step)                                    \
    KERNEL(calibrate_##name, type, 12, step)

/** An instruction of the multi-function unit, with one addition, without which
 *  the compiler removes 1 / (1 / x). */
#define UNIT(name, instruction)                                                \
    OPERATION(mufu_##name, float, x = __fadd_rn(x, a);                         \
              asm(instruction " %0, %0;"                                       \
                  : "+f"(x)))

/** Integer arithmetic, memory and branches only. */
#define INTEGER(name, step) KERNEL(integer_##name, int, 4, step)

OPERATION(hfma2, __half2, x = __hfma2(x, a, b))
OPERATION(hadd2, __half2, x = __hadd2_rn(x, a))
OPERATION(hmul2, __half2, x = __hmul2_rn(x, a))
OPERATION(hset2, __half2, x = __hgt2(__hadd2_rn(x, a), b))
OPERATION(hmnmx2, __half2, x = __hmin2(__hadd2_rn(x, a), b))
OPERATION(fadd, float, x = __fadd_rn(x, a))
OPERATION(fmul, float, x = __fmul_rn(x, a))
OPERATION(ffma, float, x = __fmaf_rn(x, a, b))
OPERATION(fmnmx, float, x = fminf(__fadd_rn(x, a), b))
OPERATION(fsetp, float, x = __fadd_rn(x, a); n += x > b)
OPERATION(fsel, float, x = __fadd_rn(x, a) > b ? x : b)
OPERATION(fset, float, x = __fadd_rn(x, a) > b ? 1.0f : 0.0f)
OPERATION(frnd, float, x = rintf(__fadd_rn(x, a)))
OPERATION(fchk, float, x = __fdiv_rn(x, a))
OPERATION(f2i, float, x = __fadd_rn(x, a); n += __float2int_rn(x))
OPERATION(i2f, float, n = n * m + 1; x = __fadd_rn(x, __int2float_rn(n)))
OPERATION(f2f, float, x = __fadd_rn(x, a);
          n ^= __half_as_ushort(__float2half_rn(x)))
OPERATION(f2fp, float, x = __fadd_rn(x, a); __half2 h = __floats2half2_rn(x, b);
          n ^= *(int *)&h)
OPERATION(dadd, double, x = __dadd_rn(x, a))
OPERATION(dmul, double, x = __dmul_rn(x, a))
OPERATION(dfma, double, x = __fma_rn(x, a, b))
OPERATION(dsetp, double, x = __dadd_rn(x, a); n += x > b)
OPERATION(f2d, float, x = __double2float_rn(__dadd_rn((double)x, 1.1)))

UNIT(rcp, "rcp.approx.ftz.f32")
UNIT(rsq, "rsqrt.approx.ftz.f32")
UNIT(sqrt, "sqrt.approx.ftz.f32")
UNIT(ex2, "ex2.approx.ftz.f32")
UNIT(lg2, "lg2.approx.ftz.f32")
UNIT(sin, "sin.approx.ftz.f32")
UNIT(cos, "cos.approx.ftz.f32")
UNIT(tanh, "tanh.approx.f32")

/** A call that cannot be inlined. */
__device__ __noinline__ int call_of(int x)
{
    return x * x + 7;
}

INTEGER(multiply, x = x * a + b)
INTEGER(logic, x = (x * a) ^ b)
INTEGER(shift, x = (x * a) >> (n & 31))
INTEGER(funnel, x = (int)__funnelshift_l(x, a, b) + n)
INTEGER(select, x = (x * a) > b ? x : n)
INTEGER(minimum, x = min(x * a, b))
INTEGER(unsigned_minimum, x = (int)min((unsigned)x * a, (unsigned)b))
INTEGER(magnitude, x = abs(x * a))
INTEGER(bytes, x = (int)__byte_perm(x, a, (unsigned)b))
INTEGER(leading, x = __clz(x * a))
INTEGER(loop, for (int i = 0; i < x; ++i) x = data[x] + i)
INTEGER(wide, n += (int)((long long)x * a >> 32); x ^= n)
INTEGER(scaled, x = ((x ^ a) << 3) + b)
INTEGER(block, x = x * (int)(blockIdx.x * blockDim.x) + b)
INTEGER(address, const size_t at = (size_t)x * a + n;
        if (at < (size_t)m) x = data[at + b])
INTEGER(call, if (x > m) x = call_of(x))
