/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_engine.c -- the CPU engine in every variant of this machine, on several
 * threads, against plain sums: a direct DFT in double precision, products added
 * one by one, for bounds without rounding.
 *
 * Shows (correlation, engine and library): engine and stream agree with plain
 *     sums in double precision, medians with a sort; samples that never come
 * count as gaps, up to 2⁶¹ samples, within a minute; memory limits are kept
 * Within: integers equal; spectra 16·2⁻²⁴ of their norm, sums 520·2⁻²⁴ of the
 *     magnitudes
 * Because: the filter and 512 products round
 * In: test_session.c, test_session_use.c, test_session_misuse.c, test_scan.c,
 *     test_stream.c, test_gains.c
 */
#include <fenv.h>

#include "kernels/fft.h"
#include "validation/complex_value.h"
#include "validation/engine_task.h"

/* A float spectrum is off by at most 16 roundings of its norm: one per tap in
 * the FIR, two per halving of the length in the FFT, most of them of only a
 * part of the norm. */
#define SPECTRUM_ERROR (16 * 0x1p-24)

/* The longest transform here. */
#define MOST_LENGTH 32768

/* A rotation adds two factors, each within 2^-22, and two rounded products; a
 * drift of 2^-34 turn adds 256 times as much, 2^-23 rad. */
#define TURNED_ERROR (SPECTRUM_ERROR + 2 * 0x1p-22 + 2 * 0x1p-23 + 0x1p-23)

/* --- the plain computation -------------------------------------------------
 */

/* The factor of channel c of spectrum t of a group. */
static double complex plain_rotation(const struct fx8_rotation *r, uint64_t t,
                                     uint64_t c)
{
    uint64_t turns = r->phase + c * r->slope + t * (r->rate + c * r->drift);
    for (uint64_t k = 0; k < t; k++)
        turns += k * r->bend;
    return cexp(CMPLX(0, 2 * M_PI * (double)turns * 0x1p-64));
}

/* X of one spectrum, double [n_channels]; returns the norm of the folded
 * samples, the sum of the absolute values of all terms, to which errors are
 * relative. */
static double plain_spectrum(const struct task *task, size_t input, size_t t,
                             double complex *x)
{
    const struct fx8_rotation *rotation =
        task->rotation == NULL ? NULL : task_rotation(task, input, t);
    const int8_t *samples = task->samples + input * task->row_stride;
    if (rotation != NULL)
        samples += rotation->shift * (task->plan.bank.is_complex ? 2 : 1);
    const struct fx8_filterbank *bank = &task->plan.bank;
    const size_t n = bank->fft_length, row = fx8_filterbank_row(bank);
    const size_t n_parts = row / n;
    static double complex folded[MOST_LENGTH], turn[MOST_LENGTH];
    double square = 0.0;
    for (size_t i = 0; i < n; i++) {
        double part[2] = {0, 0};
        for (size_t p = 0; p < n_parts; p++) {
            double size = 0.0;
            for (size_t tap = 0; tap < bank->n_taps; tap++) {
                const size_t at = tap * row + i * n_parts + p;
                const double term =
                    (double)task->coefficients[at] * samples[t * row + at];
                part[p] += term;
                size += fabs(term);
            }
            square += size * size;
        }
        folded[i] = CMPLX(part[0], part[1]);
    }
    for (size_t i = 0; i < n; i++)
        turn[i] = cexp(CMPLX(0, -2 * M_PI * (double)i / (double)n));
    for (size_t c = 0; c < bank->n_channels; c++) {
        const size_t k =
            bank->is_complex ? (c + n - bank->n_channels / 2) % n : c;
        x[c] = 0.0;
        for (size_t i = 0; i < n; i++)
            x[c] += folded[i] * turn[k * i % n];
        if (rotation != NULL)
            x[c] *= plain_rotation(rotation, t % FX8_GROUP, c);
    }
    return sqrt(square);
}

/* The quantiser: one rounding of the product to float, one of its sum with the
 * noise, then to the nearest even integer, clamped; returns whether it was. */
static bool quantise(float value, float gain, float noise, int8_t *out)
{
    const float rounded = rintf(value * gain + noise);
    *out = (int8_t)fminf(fmaxf(rounded, -127.0f), 127.0f);
    return fabsf(rounded) > 127.0f;
}

/* Exported spectra against the direct DFT; INT8 spectra and their clips also
 * against the FP32 ones, bit for bit.  Masked spectra are zero. */
static void check_spectra(const struct task *task, const struct outcome *o)
{
    const size_t inputs = task->plan.n_inputs;
    const size_t channels = task->plan.bank.n_channels;
    int64_t *clips = temporary_zeros(inputs * channels * sizeof *clips);
    double complex x[40];
    for (size_t input = 0; input < inputs; input++)
        for (size_t t = 0; t < task->n_spectra; t++) {
            const bool is_valid = task_valid(task, input, t);
            const double norm =
                is_valid ? plain_spectrum(task, input, t, x) : 0.0;
            for (size_t c = 0; c < channels; c++) {
                const size_t at = (c * task->n_spectra + t) * inputs + input;
                const struct fx8_cf32 got = o->x32[at];
                const double complex wanted = is_valid ? x[c] : 0.0;
                const double error =
                    task->rotation == NULL ? SPECTRUM_ERROR : TURNED_ERROR;
                assert_true(cabs(CMPLX(got.re, got.im) - wanted) <=
                            error * norm);
                struct fx8_ci8 q = {0, 0};
                const float gain = task->gains[input * channels + c];
                const uint32_t noise = fx8_dither_at(
                    &(struct fx8_dither){.input = (uint32_t)input,
                                         .band_hz = task->plan.band_hz,
                                         .first_sample = TASK_SAMPLE},
                    t, c);
                const bool has_noise = task->plan.quantizer.dither && is_valid;
                const bool clips_re = quantise(
                    got.re, gain, has_noise ? fx8_dither_re(noise) : 0, &q.re);
                const bool clips_im = quantise(
                    got.im, gain, has_noise ? fx8_dither_im(noise) : 0, &q.im);
                clips[input * channels + c] += clips_re || clips_im;
                assert_int_equal(o->x8[at].re, q.re);
                assert_int_equal(o->x8[at].im, q.im);
            }
        }
    assert_memory_equal(clips, o->clips, inputs * channels * sizeof *clips);
}

/* A variant on one thread and several, from samples and from spectra: spectra
 * and integers equal bit for bit, also those of `before`, if any; FP32 sums
 * equal within a variant and within their bound between variants. */
static struct outcome check_level(
    struct task *task, const struct outcome *before, size_t n_threads,
    void (*check)(const struct task *, const struct outcome *))
{
    task->plan.machine.threads.count = 1;
    struct outcome one = run_task(task, NULL);
    check_sums(task, &one);
    if (check != NULL)
        check(task, &one);
    assert_int_equal(fegetround(), FE_TONEAREST);
    task->plan.machine.threads.count = n_threads;
    const struct outcome several = run_task(task, NULL);
    check_equal(task, &one, &several);
    struct outcome again = run_task(task, &one);
    again.clips = NULL;
    check_equal(task, &one, &again);
    one.sums32 = one.down = one.up = NULL;
    check_equal(task, before, &one);
    return one;
}

/* Every variant with FFTW, then those with vectors and a transform of their
 * own: each kind has spectra of its own. */
static void check_levels(struct task *task, size_t n_threads,
                         void (*check)(const struct task *,
                                       const struct outcome *))
{
    static const enum fx8_transform transforms[] = {FX8_TRANSFORM_ESTIMATE,
                                                    FX8_TRANSFORM_AUTO};
    for (size_t kind = 0; kind < 2; kind++) {
        struct outcome before = {0};
        task->plan.machine.transform = transforms[kind];
        for (size_t index = kind; index < fx8_operations_variants(); index++) {
            if (fx8_operations_variant(index) == NULL)
                continue;
            task->plan.machine.kernel = fx8_operations_variant(index)->name;
            before = check_level(task, &before, n_threads,
                                 index == kind ? check : NULL);
        }
    }
}

/* A filter in integers, whose coefficients have 16 bits: spectra in double with
 * these differ from the floats' by more than the error allowed here. */
static void round_coefficients(struct task *task)
{
    const size_t n =
        task->plan.bank.n_taps * fx8_filterbank_row(&task->plan.bank);
    int16_t *rounded = temporary(n * sizeof *rounded);
    const float scale =
        fx8_filterbank_int16(n, task->plan.coefficients, rounded);
    task->coefficients = temporary(n * sizeof *task->coefficients);
    for (size_t k = 0; k < n; k++)
        task->coefficients[k] = scale * rounded[k];
    task->plan.channelizer.fir = FX8_FIR_DP2A;
}

/* --- tests -----------------------------------------------------------------
 */

TEST(spectra_and_sums_of_many_shapes)
{
    static const size_t inputs[] = {1, 2, 3, 5, 17};
    static const size_t channels[] = {1, 2, 3, 5, 8, 16, 33};
    static const size_t taps[] = {1, 3, 8};
    static const size_t spectra[] = {1, 31, 32, 33, 63, 64, 65, 97};
    struct generator g = {11};
    for (size_t k = 0; k < 5 * 7 * 3 * 2; k += FX8_CHECKED ? 5 : 1) {
        struct task task =
            make_task(inputs[k / 42], k % 2, channels[k / 6 % 7],
                      taps[k / 2 % 3], spectra[k % 8], k / 2 % 4, false, &g);
        if (k % (inputs[k / 42] <= 5 ? 7 : 42) < 2)
            task.plan.precisions |= FX8_PRECISION_INTERVAL;
        if (k % 11 == 0)
            round_coefficients(&task);
        check_levels(&task, 2 + k % 2, check_spectra);
    }
}

/* Blocks of 2048 spectra, the last one ragged: sums continue across blocks, FFT
 * batches begin anew with each.  Blocks in which nothing is valid add nothing,
 * nor does a whole dump of them. */
TEST(several_blocks_per_dump)
{
    static const size_t holes[][2] = {
        {0, 0}, {0, 2048}, {2048, 4096}, {4096, 4160}, {0, 4160}};
    struct generator g = {12};
    for (size_t k = 0; k < LENGTH(holes); k++) {
        struct task task =
            make_task(3, k % 2, 2, 3, 2 * 2048 + 45, k % 3, false, &g);
        const size_t words = fx8_bit_words(task.n_spectra);
        struct fx8_engine *engine;
        struct fx8_error error;
        task.plan.precisions |= FX8_PRECISION_INTERVAL;
        task.plan.machine.threads.count = 1 + 4 * k;
        must(cpu->open(&task.plan, &engine, &error), error);
        assert_int_equal(cpu->facts(engine)->block_spectra, 2048);
        cpu->close(&engine);
        for (size_t input = 0; input < 3; input++)
            memset(task.valid + input * words + holes[k][0] / 64, 0,
                   (holes[k][1] - holes[k][0]) / 8);
        check_levels(&task, 3, check_spectra);
    }
}

/* Long transforms have batches of less than a group of 32 spectra: masks must
 * still match their spectra. */
TEST(batches_shorter_than_a_group)
{
    struct generator g = {21};
    struct task task = make_task(1, true, MOST_LENGTH, 1, 45, 1, false, &g);
    task.plan.bank.n_channels = 3;
    assert_true(fx8_fft_batch(MOST_LENGTH) < FX8_GROUP);
    check_levels(&task, 2, check_spectra);
}

TEST(one_precision_equals_all)
{
    struct generator g = {13};
    struct task task = make_task(5, true, 8, 3, 70, 1, false, &g);
    task.plan.precisions |= FX8_PRECISION_INTERVAL;
    const struct outcome all = run_task(&task, NULL);
    static const unsigned precisions[] = {
        FX8_PRECISION_INT8, FX8_PRECISION_FP32, FX8_PRECISION_INTERVAL};
    for (size_t k = 0; k < LENGTH(precisions); k++) {
        task.plan.precisions = precisions[k];
        const struct outcome one = run_task(&task, NULL);
        assert_int_equal(one.x8 != NULL, k == 0);
        check_equal(&task, &all, &one);
    }
}

/* Method none: the recorded integers, exact in both precisions. */
static void check_none(const struct task *task, const struct outcome *o)
{
    const size_t inputs = task->plan.n_inputs;
    for (size_t input = 0; input < inputs; input++) {
        assert_int_equal(o->clips[input], 0);
        for (size_t t = 0; t < task->n_spectra; t++) {
            const size_t at = t * inputs + input;
            const int8_t *sample =
                task->samples + input * task->row_stride + 2 * t;
            const bool is_valid = task_valid(task, input, t);
            assert_int_equal(o->x8[at].re, is_valid ? sample[0] : 0);
            assert_int_equal(o->x8[at].im, is_valid ? sample[1] : 0);
            assert_true(o->x32[at].re == (float)o->x8[at].re);
            assert_true(o->x32[at].im == (float)o->x8[at].im);
        }
    }
    for (size_t i = 0; i < n_sums(task); i++) {
        assert_true(o->sums32[i] == (double)o->sums8[i]);
        assert_true(o->down[i] == (double)o->sums8[i]);
        assert_true(o->up[i] == (double)o->sums8[i]);
    }
}

TEST(method_none_is_exact)
{
    struct generator g = {14};
    static const size_t inputs[] = {1, 2, 3, 5, 17};
    for (size_t k = 0; k < 4 * LENGTH(inputs); k++) {
        struct task task = make_task(inputs[k / 4], true, 1, 1,
                                     600 + 33 * (k % 4), k % 4, true, &g);
        task.plan.precisions |= FX8_PRECISION_INTERVAL;
        check_levels(&task, 1 + k % 3, check_none);
    }
}

/* Full scale for more spectra than an int32 holds: 2 * 128 * 128 each. */
TEST(long_dumps_are_folded)
{
    struct generator g = {15};
    static const size_t lengths[] = {63487, 63488, 65535, 65536, 200001};
    for (size_t i = 0; i < LENGTH(lengths); i++) {
        struct task task = make_task(4, true, 1, 1, lengths[i], 0, true, &g);
        for (size_t k = 0; k < 4 * task.row_stride; k++) /* the last one: -i */
            task.samples[k] =
                (int8_t)(k >= 3 * task.row_stride && k % 2 == 0 ? 127 : -128);
        for (size_t index = 0; index < fx8_operations_variants(); index++) {
            if (fx8_operations_variant(index) == NULL)
                continue;
            task.plan.machine.kernel = fx8_operations_variant(index)->name;
            task.plan.machine.threads.count = 1 + index;
            const struct outcome o = run_task(&task, NULL);
            check_sums(&task, &o);
            for (size_t k = 0; k < n_sums(&task); k++)
                assert_true(o.sums32[k] == (double)o.sums8[k]);
        }
    }
}

/* Delays: shifted samples and rotated channels, in blocks that end within a
 * group and with ragged tiles; last, with several FFT batches in a group.
 * Bounds enclose the sums of the rotated spectra. */
TEST(delays)
{
    struct generator g = {16};
    for (size_t i = 0; i < 13; i++) {
        static const size_t channels[] = {1, 5, 33, 40};
        struct task task =
            i == 12 ? make_task(1, true, MOST_LENGTH, 1, 45, 1, false, &g)
                    : make_task(3, i % 2, channels[i % 4], 1 + i % 3,
                                45 + 32 * i, i % 3, false, &g);
        if (i == 12)
            task.plan.bank.n_channels = 3;
        make_rotation(&task, &g);
        if (i % 2 == 1)
            task.plan.precisions |= FX8_PRECISION_INTERVAL;
        check_levels(&task, 2, check_spectra);
    }
}

/* --- refusals --------------------------------------------------------------
 */

/* The latest request, and the number of requests; the first is refused. */
static size_t asked_bytes, asked_spectra, n_asked;

static enum fx8_status admit(void *context, size_t bytes, size_t block_spectra,
                             struct fx8_error *error)
{
    assert_null(context);
    asked_bytes = bytes;
    asked_spectra = block_spectra;
    return n_asked++ > 0 ? FX8_OK : fx8_fail(error, FX8_ERR_USAGE, "too much");
}

/* It asks once, for the memory that it then allocates. */
/* The sums of powers and of their squares: those of the exported spectra; the
 * same bits on any number of threads. */
TEST(moments_of_spectra)
{
    struct generator g = {23};
    for (size_t k = 0; k < 40; k += FX8_CHECKED ? 3 : 1) {
        const bool is_none = k % 5 == 4;
        const size_t n_channels = is_none ? 1 : k % 4 < 2 ? 16 : 11;
        struct task task =
            make_task(3, is_none || k % 2 == 0, n_channels, is_none ? 1 : 3,
                      2100 + 17 * k, k % 4, is_none, &g);
        task.plan.has_moments = true;
        task.plan.machine.kernel = "auto";
        const struct outcome o = run_task(&task, NULL);
        check_moments(&task, &o);
        for (size_t threads = 2; threads <= 5; threads++) {
            task.plan.machine.threads.count = threads;
            const struct outcome other = run_task(&task, NULL);
            assert_memory_equal(other.moments, o.moments, moment_bytes(&task));
        }
    }
}

/* Loud and quiet stretches: squares of powers then exceed the bits of a
 * double. */
TEST(moments_of_segments)
{
    struct generator g = {24};
    for (size_t k = 0; k < 3; k++) {
        struct task task = make_moment_task(k, &g);
        task.plan.machine.kernel = "auto";
        check_segments(&task);
    }
}

TEST(what_an_engine_refuses)
{
    struct generator g = {19};
    struct task task = make_task(2, true, 1, 1, 40, 0, true, &g);
    struct fx8_engine *engine = (void *)&task;
    struct fx8_error error;
    task.plan.precisions = FX8_PRECISION_INT8;
    task.plan.admit = admit;
    must_fail(cpu->open(&task.plan, &engine, &error), error, FX8_ERR_USAGE,
              "too much");
    assert_null(engine);
    must(cpu->open(&task.plan, &engine, &error), error);
    assert_int_equal(n_asked, 2);
    assert_int_equal(asked_bytes, cpu->facts(engine)->memory);
    assert_int_equal(asked_spectra, cpu->facts(engine)->block_spectra);
    const struct fx8_engine_block block = cut_block(&task, 0, 40);
    struct fx8_cf32 x32[80] = {{0, 0}};
    static const char text[] =
        "engine: spectra of a precision that was not planned";
    must_fail(cpu->export_spectra(engine, NULL, x32, &error), error,
              FX8_ERR_USAGE, text);
    must_fail(cpu->import_spectra(engine, &block, NULL, x32, &error), error,
              FX8_ERR_USAGE, text);
    cpu->close(&engine);
    cpu->close(&engine);
}
