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
#include "validation/testing.h"

static const double PI = 3.14159265358979323846;

static const size_t lengths[] = {1,  2,  3,  5,  7,  8,   12,
                                 13, 16, 60, 64, 97, 128, 1000};
#define N_LENGTHS (sizeof lengths / sizeof lengths[0])

static uint32_t random_state;

/** Uniform in [-1, 1). */
static float next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return ((float)(random_state >> 8) - 0x1p23f) * 0x1p-23f;
}

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

/** Input sample n of any kind as a complex number: bins 0 .. N/2 of an inverse
 *  real transform represent the whole Hermitian spectrum. */
static void input_at(enum fx8_fft_kind kind, size_t length, const float *in,
                     size_t n, double x[2])
{
    if (kind == FX8_FFT_REAL) {
        x[0] = (double)in[n];
        x[1] = 0.0;
        return;
    }
    const bool mirrored = kind == FX8_FFT_INVERSE_REAL && n > length / 2;
    const size_t at = mirrored ? length - n : n;
    x[0] = (double)in[2 * at];
    x[1] = mirrored ? -(double)in[2 * at + 1] : (double)in[2 * at + 1];
}

/** Direct sum for output k. */
static void direct(enum fx8_fft_kind kind, size_t length, const float *in,
                   size_t k, double sum[2])
{
    const double sign =
        kind == FX8_FFT_COMPLEX || kind == FX8_FFT_REAL ? -1.0 : 1.0;
    sum[0] = sum[1] = 0.0;
    for (size_t n = 0; n < length; n++) {
        const double phase =
            sign * 2.0 * PI * (double)(k * n % length) / (double)length;
        double x[2];
        input_at(kind, length, in, n, x);
        sum[0] += x[0] * cos(phase) - x[1] * sin(phase);
        sum[1] += x[0] * sin(phase) + x[1] * cos(phase);
    }
}

/** Random input of a batch; DC (and Nyquist) of real spectra are real. */
static void fill(enum fx8_fft_kind kind, size_t length, size_t batch,
                 size_t stride, float *data)
{
    for (size_t b = 0; b < batch; b++) {
        float *row = data + b * stride;
        for (size_t i = 0; i < stride; i++)
            row[i] = i < floats_in(kind, length) ? next_random() : 3e5f;
        if (kind == FX8_FFT_INVERSE_REAL) {
            row[1] = 0.0f;
            if (length % 2 == 0)
                row[length + 1] = 0.0f;
        }
    }
}

/**
 * Against the direct sum.  An FFT in floats errs by c 2^-24 sqrt(log2 N) of
 * the output's rms in the mean and c 2^-24 log2 N at worst; prime lengths go
 * through a convolution of more than twice the length with c of a few.  8
 * covers both; the rms of the output is sqrt(N) that of the input.
 */
static void check_kind(enum fx8_fft_kind kind, size_t length, size_t batch)
{
    struct fx8_fft *fft;
    assert_int_equal(fx8_fft_open(kind, length, batch, false, &fft, NULL),
                     FX8_OK);
    const size_t stride = fx8_fft_stride(fft);
    assert_int_equal(stride % 16, 0);
    assert_int_not_equal(stride % 256, 0); /* apart in the cache */
    assert_int_equal(fx8_fft_stride_of(kind, length), stride);
    assert_true(stride >= floats_in(kind, length));
    assert_true(stride >= floats_out(kind, length));
    const size_t size = fx8_fft_size(fft);
    assert_true(size >= batch * stride);
    float *in = new_floats(batch * stride), *data = new_floats(size);
    fill(kind, length, batch, stride, in);
    memcpy(data, in, batch * stride * sizeof *data);
    const float *results = fx8_fft_execute(fft, data);
    assert_true(results >= data && results + batch * stride <= data + size);

    const double steps = 1.0 + log2((double)length);
    for (size_t b = 0; b < batch; b++) {
        double power = 0.0;
        for (size_t n = 0; n < length; n++) {
            double x[2];
            input_at(kind, length, in + b * stride, n, x);
            power += x[0] * x[0] + x[1] * x[1];
        }
        const double bound = 8.0 * 0x1p-24 * steps * sqrt(power);
        const float *out = results + b * stride;
        const bool real_out = kind == FX8_FFT_INVERSE_REAL;
        const size_t n_out = floats_out(kind, length) / (real_out ? 1 : 2);
        for (size_t k = 0; k < n_out; k++) {
            double want[2];
            direct(kind, length, in + b * stride, k, want);
            const size_t at = real_out ? k : 2 * k;
            assert_true(fabs((double)out[at] - want[0]) <= bound);
            if (!real_out)
                assert_true(fabs((double)out[at + 1] - want[1]) <= bound);
        }
    }
    free(data);
    free(in);
    fx8_fft_close(&fft);
    assert_null(fft);
}

TEST(test_direct)
{
    random_state = 1;
    for (int kind = FX8_FFT_COMPLEX; kind <= FX8_FFT_INVERSE_REAL; kind++)
        for (size_t i = 0; i < N_LENGTHS; i++) {
            check_kind((enum fx8_fft_kind)kind, lengths[i],
                       lengths[i] < 1000 ? 32 : 3);
            check_kind((enum fx8_fft_kind)kind, lengths[i], 1);
        }
}

/** A spectrum's bits depend on its samples and its place alone: neither its
 *  neighbours, nor the buffer, nor a second plan, nor measured wisdom. */
TEST(test_purity)
{
    random_state = 2;
    for (int kind = FX8_FFT_COMPLEX; kind <= FX8_FFT_REAL; kind++)
        for (size_t i = 0; i < N_LENGTHS; i++) {
            const size_t length = lengths[i], batch = fx8_fft_batch(length);
            const size_t floats = floats_out((enum fx8_fft_kind)kind, length);
            struct fx8_fft *fft, *measured, *again;
            assert_int_equal(fx8_fft_open((enum fx8_fft_kind)kind, length,
                                          batch, false, &fft, NULL),
                             FX8_OK);
            if (length <= 128) {
                assert_int_equal(fx8_fft_open((enum fx8_fft_kind)kind, length,
                                              batch, true, &measured, NULL),
                                 FX8_OK);
                fx8_fft_close(&measured);
            }
            assert_int_equal(fx8_fft_open((enum fx8_fft_kind)kind, length,
                                          batch, false, &again, NULL),
                             FX8_OK);
            const size_t stride = fx8_fft_stride(fft);
            float *in = new_floats(batch * stride);
            float *whole = new_floats(fx8_fft_size(fft));
            float *alone = new_floats(fx8_fft_size(fft));
            fill((enum fx8_fft_kind)kind, length, batch, stride, in);
            memcpy(whole, in, batch * stride * sizeof *in);
            const float *spectra = fx8_fft_execute(fft, whole);
            for (size_t b = 0; b < batch; b++) {
                fill((enum fx8_fft_kind)kind, length, batch, stride, alone);
                memcpy(alone + b * stride, in + b * stride,
                       stride * sizeof *in);
                const float *spectrum =
                    fx8_fft_execute(b % 2 ? fft : again, alone);
                assert_memory_equal(spectrum + b * stride, spectra + b * stride,
                                    floats * sizeof *in);
            }
            free(alone);
            free(whole);
            free(in);
            fx8_fft_close(&again);
            fx8_fft_close(&fft);
        }
}

TEST(test_measured)
{
    /* A measured plan overwrites its scratch memory while planning, never the
     * data: an impulse at 0 has the spectrum 1. */
    struct fx8_fft *fft;
    assert_int_equal(fx8_fft_open(FX8_FFT_COMPLEX, 48, 4, true, &fft, NULL),
                     FX8_OK);
    const size_t stride = fx8_fft_stride(fft);
    float *data = new_floats(fx8_fft_size(fft));
    for (size_t b = 0; b < 4; b++)
        data[b * stride] = (float)(b + 1);
    const float *spectra = fx8_fft_execute(fft, data);
    for (size_t b = 0; b < 4; b++)
        for (size_t k = 0; k < 48; k++) {
            assert_true(spectra[b * stride + 2 * k] == (float)(b + 1));
            assert_true(spectra[b * stride + 2 * k + 1] == 0.0f);
        }
    free(data);
    fx8_fft_close(&fft);
}

TEST(test_errors)
{
    struct fx8_error error;
    struct fx8_fft *fft = (struct fx8_fft *)&error;
    static const struct {
        size_t length, batch;
        const char *message;
    } cases[] = {{0, 1, "FFT: length: 0: expected 1 to"},
                 {(size_t)1 << 31, 1, "FFT: length: 2147483648: expected"},
                 {SIZE_MAX, 1, "FFT: length: 18446744073709551615: expected"},
                 {8, 0, "FFT: batch: 0: expected 1 to 2147483647"},
                 {8, (size_t)1 << 31, "FFT: batch: 2147483648: expected"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(fx8_fft_open(FX8_FFT_COMPLEX, cases[i].length,
                                      cases[i].batch, false, &fft, &error),
                         FX8_ERR_USAGE);
        assert_null(fft);
        assert_non_null(strstr(error.message, cases[i].message));
    }
    fx8_fft_close(&fft);
}

TEST(test_batch)
{
    for (size_t length = 1; length < (size_t)1 << 24;
         length += 1 + length / 7) {
        const size_t batch = fx8_fft_batch(length);
        assert_true(batch >= 1 && batch <= FX8_GROUP);
        assert_int_equal(batch & (batch - 1), 0);
        const size_t bytes = batch * length * sizeof(struct fx8_cf32);
        assert_true(batch == 1 || bytes <= (size_t)2 << 20);
        assert_true(batch == FX8_GROUP || 2 * bytes > (size_t)2 << 20);
    }
    assert_int_equal(fx8_fft_batch(8192), 32);
    assert_int_equal(fx8_fft_batch(8193), 16);
}
