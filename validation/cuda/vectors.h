/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vectors.h -- CUDA's vector types, with its alignments.
 * Source: CUDA C++ Programming Guide, "Built-in Vector Types"
 */
#ifndef FX8_VALIDATION_CUDA_VECTORS_H
#define FX8_VALIDATION_CUDA_VECTORS_H

/** Define a type's vectors of 1 to 4 elements and their make functions. */
#define FX8_VECTORS(name, type, align2, align4)                                \
    struct name##1                                                             \
    {                                                                          \
        type x;                                                                \
    };                                                                         \
    struct alignas(align2) name##2                                             \
    {                                                                          \
        type x, y;                                                             \
    };                                                                         \
    struct name##3                                                             \
    {                                                                          \
        type x, y, z;                                                          \
    };                                                                         \
    struct alignas(align4) name##4                                             \
    {                                                                          \
        type x, y, z, w;                                                       \
    };                                                                         \
    inline name##1 make_##name##1(type x)                                      \
    {                                                                          \
        return {x};                                                            \
    }                                                                          \
    inline name##2 make_##name##2(type x, type y)                              \
    {                                                                          \
        return {x, y};                                                         \
    }                                                                          \
    inline name##3 make_##name##3(type x, type y, type z)                      \
    {                                                                          \
        return {x, y, z};                                                      \
    }                                                                          \
    inline name##4 make_##name##4(type x, type y, type z, type w)              \
    {                                                                          \
        return {x, y, z, w};                                                   \
    }

FX8_VECTORS(char, signed char, 2, 4)
FX8_VECTORS(uchar, unsigned char, 2, 4)
FX8_VECTORS(short, short, 4, 8)
FX8_VECTORS(ushort, unsigned short, 4, 8)
FX8_VECTORS(int, int, 8, 16)
FX8_VECTORS(uint, unsigned int, 8, 16)
FX8_VECTORS(long, long, 16, 16)
FX8_VECTORS(ulong, unsigned long, 16, 16)
FX8_VECTORS(longlong, long long, 16, 16)
FX8_VECTORS(ulonglong, unsigned long long, 16, 16)
FX8_VECTORS(float, float, 8, 16)
FX8_VECTORS(double, double, 16, 16)

#undef FX8_VECTORS

/** A size in up to three dimensions. */
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
        : x(x_), y(y_), z(z_)
    {
    }
};

#endif
