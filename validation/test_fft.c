/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fft.c -- the FFT against a direct sum in double precision, at every
 * place in a batch; its neighbours in the batch do not matter.
 *
 * Shows (kernels, FFT): the FFT agrees with the direct sum and does not depend
 *     on its neighbours in a batch
 * Within: 8·2⁻²⁴ (1 + log₂ N) √Σ|x|²; neighbours change no bit
 * Because: an FFT rounds once a stage
 */
#include <math.h>

#include "config/base/shape.h"
#include "kernels/fft.h"
#include "validation/complex_value.h"
#include "validation/testing.h"

static const double PI = 3.14159265358979323846;

static const size_t lengths[] = {1,  2,  3,  5,  7,   8,    12,   13,
                                 16, 60, 64, 97, 128, 1000, 32768};
#define N_LENGTHS (sizeof lengths / sizeof lengths[0])

static float *new_floats(size_t n)
{
    void *memory;
    assert_int_equal(fx8_allocate(n, sizeof(float), "a test", &memory, NULL),
                     FX8_OK);
    return memory;
}

static bool is_complex(enum fx8_fft_kind kind)
{
    return kind == FX8_FFT_COMPLEX || kind == FX8_FFT_INVERSE_COMPLEX;
}

/** Floats that go in and come out of one transform. */
static size_t floats_in(enum fx8_fft_kind kind, size_t length)
{
    return is_complex(kind)               ? 2 * length
           : kind == FX8_FFT_INVERSE_REAL ? 2 * (length / 2 + 1)
                                          : length;
}

static size_t floats_out(enum fx8_fft_kind kind, size_t length)
{
    return is_complex(kind)       ? 2 * length
           : kind == FX8_FFT_REAL ? 2 * (length / 2 + 1)
                                  : length;
}

/** Input sample n of any kind: bins 0 .. N/2 of an inverse real transform
 *  represent the whole Hermitian spectrum. */
static double complex input_at(enum fx8_fft_kind kind, size_t length,
                               const float *in, size_t n)
{
    if (kind == FX8_FFT_REAL)
        return (double)in[n];
    if (kind == FX8_FFT_INVERSE_REAL && n > length / 2)
        return CMPLX(in[2 * (length - n)], -in[2 * (length - n) + 1]);
    return CMPLX(in[2 * n], in[2 * n + 1]);
}

/** Direct sum for output k. */
static double complex direct(enum fx8_fft_kind kind, size_t length,
                             const float *in, size_t k)
{
    const double sign =
        kind == FX8_FFT_COMPLEX || kind == FX8_FFT_REAL ? -1.0 : 1.0;
    double complex sum = 0.0;
    for (size_t n = 0; n < length; n++) {
        const double phase =
            sign * 2.0 * PI * (double)(k * n % length) / (double)length;
        sum += input_at(kind, length, in, n) * cexp(CMPLX(0.0, phase));
    }
    return sum;
}

/** Random input of a batch; DC (and Nyquist) of real spectra are real. */
static void fill(enum fx8_fft_kind kind, size_t length, size_t batch,
                 size_t stride, float *data, struct generator *g)
{
    for (size_t b = 0; b < batch; b++) {
        float *row = data + b * stride;
        for (size_t i = 0; i < stride; i++)
            row[i] = i < floats_in(kind, length)
                         ? (float)(2.0 * random_uniform(g) - 1.0)
                         : 3e5f;
        if (kind == FX8_FFT_INVERSE_REAL) {
            row[1] = 0.0f;
            if (length % 2 == 0)
                row[length + 1] = 0.0f;
        }
    }
}

static struct fx8_fft *opened(enum fx8_fft_kind kind, size_t length,
                              size_t batch, bool is_measured)
{
    struct fx8_fft *fft;
    struct fx8_error error;
    must(fx8_fft_open(kind, length, batch, is_measured, &fft, &error), error);
    return fft;
}

/**
 * Against the direct sum.  An FFT in floats errs by c 2^-24 sqrt(log2 N) of
 * the output's rms in the mean and c 2^-24 log2 N at worst; prime lengths go
 * through a convolution of more than twice the length with c of a few.  8
 * covers both; the rms of the output is sqrt(N) that of the input.
 */
static void check_kind(enum fx8_fft_kind kind, size_t length, size_t batch,
                       bool is_measured, struct generator *g)
{
    struct fx8_fft *fft = opened(kind, length, batch, is_measured);
    const size_t stride = fx8_fft_stride(fft);
    assert_int_equal(stride % 16, 0);
    assert_int_not_equal(stride % 256, 0); /* apart in the cache */
    assert_int_equal(fx8_fft_stride_of(kind, length), stride);
    assert_true(stride >= floats_in(kind, length));
    assert_true(stride >= floats_out(kind, length));
    const size_t size = fx8_fft_size(fft);
    assert_true(size >= batch * stride);
    float *in = new_floats(batch * stride), *data = new_floats(size);
    fill(kind, length, batch, stride, in, g);
    memcpy(data, in, batch * stride * sizeof *data);
    const float *results = fx8_fft_execute(fft, data);
    assert_true(results >= data && results + batch * stride <= data + size);

    const double steps = 1.0 + log2((double)length);
    for (size_t b = 0; b < batch; b++) {
        double power = 0.0;
        for (size_t n = 0; n < length; n++)
            power += pow(cabs(input_at(kind, length, in + b * stride, n)), 2);
        const double bound = 8.0 * 0x1p-24 * steps * sqrt(power);
        const float *out = results + b * stride;
        const bool real_out = kind == FX8_FFT_INVERSE_REAL;
        const size_t n_out = floats_out(kind, length) / (real_out ? 1 : 2);
        /* of a long spectrum every 2049th number */
        for (size_t k = 0; k < n_out; k += 1 + n_out / 1024 * 64) {
            const double complex want =
                direct(kind, length, in + b * stride, k);
            const size_t at = real_out ? k : 2 * k;
            assert_near((double)out[at], creal(want), bound);
            if (!real_out)
                assert_near((double)out[at + 1], cimag(want), bound);
        }
    }
    free(data);
    free(in);
    fx8_fft_close(&fft);
    assert_null(fft);
}

/* A measured plan overwrites its scratch memory while planning, never the data.
 */
TEST(test_direct)
{
    struct generator g = {1};
    for (int kind = FX8_FFT_COMPLEX; kind <= FX8_FFT_INVERSE_REAL; kind++)
        for (size_t i = 0; i < N_LENGTHS; i++) {
            check_kind((enum fx8_fft_kind)kind, lengths[i],
                       lengths[i] < 1000 ? 32 : 3, false, &g);
            check_kind((enum fx8_fft_kind)kind, lengths[i], 1,
                       lengths[i] <= 128, &g);
        }
}

/** A spectrum's bits depend on its samples and its place alone: neither its
 *  neighbours, nor the buffer, nor a second plan, nor measured wisdom. */
TEST(test_purity)
{
    struct generator g = {2};
    for (enum fx8_fft_kind kind = FX8_FFT_COMPLEX; kind <= FX8_FFT_REAL; kind++)
        for (size_t i = 0; i < N_LENGTHS; i++) {
            const size_t length = lengths[i], batch = fx8_fft_batch(length);
            struct fx8_fft *fft = opened(kind, length, batch, false);
            struct fx8_fft *measured =
                opened(kind, length, batch, length <= 128);
            struct fx8_fft *again = opened(kind, length, batch, false);
            const size_t stride = fx8_fft_stride(fft);
            float *in = new_floats(batch * stride);
            float *whole = new_floats(fx8_fft_size(fft));
            float *alone = new_floats(fx8_fft_size(fft));
            fill(kind, length, batch, stride, in, &g);
            memcpy(whole, in, batch * stride * sizeof *in);
            const float *spectra = fx8_fft_execute(fft, whole);
            for (size_t b = 0; b < batch; b++) {
                fill(kind, length, batch, stride, alone, &g);
                memcpy(alone + b * stride, in + b * stride,
                       stride * sizeof *in);
                const float *spectrum =
                    fx8_fft_execute(b % 2 ? fft : again, alone);
                assert_memory_equal(spectrum + b * stride, spectra + b * stride,
                                    floats_out(kind, length) * sizeof *in);
            }
            free(alone);
            free(whole);
            free(in);
            fx8_fft_close(&again);
            fx8_fft_close(&measured);
            fx8_fft_close(&fft);
        }
}

/* The largest power of two up to a group whose spectra fit in 2 MiB. */
TEST(test_batch)
{
    for (size_t length = 1; length < (size_t)1 << 24;
         length += 1 + length / 7) {
        size_t batch = FX8_GROUP;
        while (batch > 1 && batch * length * 8 > (size_t)2 << 20)
            batch /= 2;
        assert_int_equal(fx8_fft_batch(length), batch);
    }
    assert_int_equal(fx8_fft_batch(8192), 32);
    assert_int_equal(fx8_fft_batch(8193), 16);
}

TEST(test_errors)
{
    struct fx8_error error;
    static const struct {
        size_t length, batch;
        const char *message;
    } cases[] = {{0, 1, "FFT: length: 0: expected 1 to"},
                 {(size_t)1 << 31, 1, "FFT: length: 2147483648: expected"},
                 {SIZE_MAX, 1, "FFT: length: 18446744073709551615: expected"},
                 {8, 0, "FFT: batch: 0: expected 1 to 2147483647"},
                 {8, (size_t)1 << 31, "FFT: batch: 2147483648: expected"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fx8_fft *fft = (struct fx8_fft *)&error;
        must_fail_with(fx8_fft_open(FX8_FFT_COMPLEX, cases[i].length,
                                    cases[i].batch, false, &fft, &error),
                       error, FX8_ERR_USAGE, cases[i].message);
        assert_null(fft);
    }
}
