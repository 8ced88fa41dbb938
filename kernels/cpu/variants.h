/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * variants.h -- the families of operations and their fill functions.
 *
 * A file holds one family in one variant.  NAME_ref.c is the reference that all
 * others are compared with.  NAME_simd.c is written once for vectors of any
 * width (vector.h) and compiled for avx2 and for avx512, NAME_dot.c for avxvnni
 * and for avx512; NAME_avx2.c is for an algorithm that differs.  A fill
 * function overrides only the family's entries of a table; operations.c applies
 * reference, avx2, avxvnni and avx512 in that order, so that a variant inherits
 * what it does not do faster.
 *
 * 64-bit Arm has files of its own, NAME_neon.c and NAME_dotprod.c, for what
 * takes most of the time; the rest is the reference.
 *
 * Notes: 1) a fill function is compiled with the flags of its variant:
 *           operations.c calls it only if CPU detection allows the variant
 *        2) on other CPUs there is only the reference
 */
#ifndef FX8_KERNELS_CPU_VARIANTS_H
#define FX8_KERNELS_CPU_VARIANTS_H

#include "kernels/operations.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The families, in the order of filling; a row is a NAME. */
#define FX8_FAMILIES(ROW)                                                      \
    ROW(gather)                                                                \
    ROW(fir)       /* entries fir and fir_int16 */                             \
    ROW(transform) /* entries begin and finish of lanes */                     \
    ROW(quantise)  /* entries quantise and corner turn */                      \
    ROW(lanes)     /* the other entries of lanes */                            \
    ROW(correlate_int8)                                                        \
    ROW(correlate_fp32)                                                        \
    ROW(count)                                                                 \
    ROW(unscale) /* entries unscale and stream */                              \
    ROW(interval)                                                              \
    ROW(image)                                                                 \
    ROW(functions) /* entries functions and forms */                           \
    ROW(divide)    /* form markstein of divide, after the others */            \
    ROW(half)

#define FX8_DECLARE_FAMILY(name)                                               \
    void fx8_fill_##name##_reference(struct fx8_operations *operations);       \
    void fx8_fill_##name##_avx2(struct fx8_operations *operations);            \
    void fx8_fill_##name##_avx512(struct fx8_operations *operations);
FX8_FAMILIES(FX8_DECLARE_FAMILY)

/** The one family of variant avxvnni, and the same in the encoding of AVX-512,
 *  which only tests have. */
void fx8_fill_correlate_int8_avxvnni(struct fx8_operations *operations);
void fx8_fill_correlate_int8_evex(struct fx8_operations *operations);
#if defined(__aarch64__)
void fx8_fill_fir_neon(struct fx8_operations *operations);
void fx8_fill_correlate_int8_neon(struct fx8_operations *operations);
void fx8_fill_correlate_int8_dotprod(struct fx8_operations *operations);
void fx8_fill_correlate_fp32_neon(struct fx8_operations *operations);
void fx8_fill_interval_neon(struct fx8_operations *operations);
#endif

/** Reference functions, for edges that a variant does not cover; as the entries
 *  of the same name. */
void fx8_gather_reference(size_t n_inputs, size_t n_samples, size_t sample_size,
                          const int8_t *base, const ptrdiff_t *input_offset,
                          ptrdiff_t time_stride, int8_t *out,
                          size_t row_stride);

/** The entry corner_turn for spectra [first_spectrum, end_spectrum) and
 * channels [first_channel, end_channel). */
void fx8_corner_turn_part(const struct fx8_spectra_group *group,
                          size_t first_spectrum, size_t end_spectrum,
                          size_t first_channel, size_t end_channel,
                          struct fx8_cf32 *out, size_t channel_stride);

/** A spectrum's value x times `gain`; if phases are not NULL: times the factor
 * of the middle of its tile, then times the factor of its place in the tile
 * times the gain. */
struct fx8_cf32 fx8_rotate_reference(struct fx8_cf32 x,
                                     const struct fx8_phases *phases,
                                     size_t spectrum, size_t channel,
                                     float gain);

/** The entry lanes.quantise for channel k of the group; returns its clips. */
uint32_t fx8_lanes_quantise_channel(const struct fx8_lanes_group *group,
                                    size_t k, float gain,
                                    struct fx8_ci8 out[FX8_GROUP]);

/** x and the noise of a spectrum and a channel; NULL: x. */
struct fx8_cf32 fx8_dither_reference(struct fx8_cf32 x,
                                     const struct fx8_dither *dither,
                                     size_t spectrum, size_t channel);

/** Round half to even and clamp to +-127; sets *is_clipped if it clamped. */
int8_t fx8_quantise_reference(float value, bool *is_clipped);

#ifdef __cplusplus
}
#endif

#endif
