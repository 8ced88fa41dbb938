/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_trial_checks.c -- see engine_trial_private.h: compare the output of an
 * engine with the CPU engine's. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/base/try.h"
#include "kernels/engine_trial_private.h"

/* Relative error of a float sum: struct fx8_correlate_fp32. */
#define SUM_ERROR (520 * 0x1p-24)

/* Relative error of a power from three roundings, and of double sums. */
#define POWER_ERROR (4 * 0x1p-24)

/* Error in steps of a quantised number, at most 127, from one rounding: of its
 * product with a gain, or of the sum of that and noise. */
#define STEP_ERROR (128 * 0x1p-24)

/* --- error messages ------------------------------------------------------- */

enum fx8_status fx8_trial_differs(const struct fx8_trial *trial,
                                  struct fx8_error *error, const char *format,
                                  ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return fx8_fail(
        error, FX8_ERR_DEVICE,
        "%s: device %s, kernel %s: result differs from the CPU's: %s",
        trial->tried->name, trial->tried->facts(trial->engine)->device,
        trial->tried->facts(trial->engine)->kernel, what);
}

static struct fx8_engine_block block_of(const struct fx8_trial *trial)
{
    return (struct fx8_engine_block){
        .samples = trial->samples + trial->margin_bytes,
        .row_stride = trial->row_stride,
        .n_spectra = trial->n_spectra,
        .valid = trial->valid,
    };
}

static enum fx8_status set_gains(const struct fx8_trial *trial,
                                 const struct fx8_engine_operations *operations,
                                 struct fx8_engine *engine,
                                 struct fx8_error *error)
{
    for (size_t k = 0; k < trial->plan.n_inputs; k++)
        FX8_TRY(operations->set_gain(
            engine, k, trial->gains + k * trial->plan.bank.n_channels, error));
    return FX8_OK;
}

/* --- spectra -------------------------------------------------------------- */

/* Bound of the difference between the engines' spectra: in each, a rounding per
 * product of the FIR (mostly equal in both) and per halving of the length in
 * the FFT; four times that, because a transform of prime length takes
 * several. */
static double spectrum_error(const struct fx8_trial *trial)
{
    double peak = 0.0;
    for (size_t k = 0; k < trial->n_cells; k++)
        peak = fmax(peak, hypot((double)trial->wanted_fp32[k].re,
                                (double)trial->wanted_fp32[k].im));
    return trial->plan.coefficients == NULL
               ? 0.0
               : 8.0 * 0x1p-24 * peak *
                     (8.0 + log2((double)trial->plan.bank.fft_length));
}

/* Whether the quantiser may give `number` for x, which is known to `margin`. */
static bool is_quantised(int number, double x, double margin)
{
    const double clamped = fmin(fmax(x, -127.0), 127.0);
    return fabs(number - clamped) <= 0.5 + margin;
}

/* The word of noise of a cell: the block is the first of dump 0. */
static uint32_t noise_of(const struct fx8_trial *trial, size_t input,
                         size_t spectrum, size_t channel)
{
    const struct fx8_dither dither = {
        .input = (uint32_t)input,
        .band_hz = trial->plan.band_hz,
    };
    return fx8_dither_at(&dither, spectrum, channel);
}

/* Check one number of the spectra; count where x may, and must, clip. */
static bool is_int8_right(struct fx8_trial *trial, size_t cell, size_t input,
                          size_t spectrum, size_t channel,
                          double spectrum_error)
{
    const struct fx8_ci8 got = trial->int8[cell];
    const struct fx8_cf32 x = trial->wanted_fp32[cell];
    if (trial->plan.coefficients == NULL)
        return (float)got.re == x.re && (float)got.im == x.im;
    const size_t at = input * trial->plan.bank.n_channels + channel;
    const double gain = (double)trial->gains[at];
    const double n_roundings = trial->plan.quantizer.dither ? 2.0 : 1.0;
    const double margin = spectrum_error * gain + n_roundings * STEP_ERROR;
    double re = gain * (double)x.re, im = gain * (double)x.im;
    if (trial->plan.quantizer.dither) {
        const uint32_t noise = noise_of(trial, input, spectrum, channel);
        re += (double)fx8_dither_re(noise);
        im += (double)fx8_dither_im(noise);
    }
    const double most = fmax(fabs(re), fabs(im));
    trial->least_clips[at] += most > 127.5 + margin;
    trial->most_clips[at] += most >= 127.5 - margin;
    return is_quantised(got.re, re, margin) && is_quantised(got.im, im, margin);
}

static enum fx8_status check_cell(struct fx8_trial *trial, size_t cell,
                                  double most, struct fx8_error *error)
{
    const size_t inputs = trial->plan.n_inputs;
    const size_t input = cell % inputs;
    const size_t spectrum = cell / inputs % trial->n_spectra;
    const size_t channel = cell / inputs / trial->n_spectra;
    const struct fx8_cf32 x = trial->wanted_fp32[cell];
    const struct fx8_cf32 *y = trial->fp32 == NULL ? &x : trial->fp32 + cell;
    if (!(hypot((double)x.re - (double)y->re, (double)x.im - (double)y->im) <=
          most))
        return fx8_trial_differs(
            trial, error,
            "spectrum %zu of input %zu in channel %zu: %g%+gi: expected "
            "%g%+gi",
            spectrum, input, channel, (double)y->re, (double)y->im,
            (double)x.re, (double)x.im);
    if (trial->int8 != NULL &&
        !is_int8_right(trial, cell, input, spectrum, channel, most))
        return fx8_trial_differs(
            trial, error,
            "quantised spectrum %zu of input %zu in channel %zu: %d%+di of "
            "%g%+gi at gain %g",
            spectrum, input, channel, trial->int8[cell].re,
            trial->int8[cell].im, (double)x.re, (double)x.im,
            (double)
                trial->gains[input * trial->plan.bank.n_channels + channel]);
    return FX8_OK;
}

static enum fx8_status check_spectra(struct fx8_trial *trial,
                                     struct fx8_error *error)
{
    const double most = spectrum_error(trial);
    for (size_t cell = 0; cell < trial->n_cells; cell++)
        FX8_TRY(check_cell(trial, cell, most, error));
    return FX8_OK;
}

/* Both engines get the same samples. */
enum fx8_status fx8_trial_spectra(struct fx8_trial *trial,
                                  struct fx8_error *error)
{
    const struct fx8_engine_operations *tried = trial->tried;
    const struct fx8_engine_block block = block_of(trial);
    FX8_TRY(set_gains(trial, tried, trial->engine, error));
    FX8_TRY(tried->push(trial->engine, &block, error));
    FX8_TRY(
        tried->export_spectra(trial->engine, trial->int8, trial->fp32, error));
    FX8_TRY(fx8_engine_cpu.push(trial->cpu, &block, error));
    FX8_TRY(fx8_engine_cpu.export_spectra(trial->cpu, NULL, trial->wanted_fp32,
                                          error));
    FX8_TRY(fx8_engine_cpu.finish_dump(trial->cpu, &trial->wanted, error));
    return check_spectra(trial, error);
}

/* --- sums ----------------------------------------------------------------- */

/* Sum of the magnitudes of the products of a pair. */
static double size_of(const struct fx8_trial *trial, size_t channel, size_t i,
                      size_t j)
{
    const size_t inputs = trial->plan.n_inputs;
    const struct fx8_cf32 *x =
        trial->fp32 + channel * trial->n_spectra * inputs;
    double size = 0.0;
    for (size_t t = 0; t < trial->n_spectra; t++, x += inputs)
        size += hypot((double)x[i].re, (double)x[i].im) *
                hypot((double)x[j].re, (double)x[j].im);
    return size;
}

/* Whether float sums and bounds are near the CPU's: a sum is off by at most
 * SUM_ERROR, a bound by twice that. */
static bool are_floats_right(const struct fx8_trial *trial, size_t at,
                             double wanted, double size)
{
    const double *fp32 = trial->got.sums[FX8_RESULT_FP32];
    const double *down = trial->got.sums[FX8_RESULT_DOWN];
    const double *up = trial->got.sums[FX8_RESULT_UP];
    const double most = 2.0 * SUM_ERROR * size;
    if (fp32 != NULL && !(fabs(fp32[at] - wanted) <= most))
        return false;
    return down == NULL ||
           (down[at] <= up[at] && fabs(down[at] - wanted) <= 1.5 * most &&
            fabs(up[at] - wanted) <= 1.5 * most);
}

static enum fx8_status check_pair(const struct fx8_trial *trial, size_t channel,
                                  size_t i, size_t j, struct fx8_error *error)
{
    const size_t pair = fx8_pair_index(i, j);
    const double size =
        trial->fp32 != NULL ? size_of(trial, channel, i, j) : 0.0;
    const int64_t *got = trial->got.sums[FX8_RESULT_INT8];
    const int64_t *wanted = trial->wanted.sums[FX8_RESULT_INT8];
    const double *floats = trial->wanted.sums[FX8_RESULT_FP32];
    for (size_t part = 0; part < 2; part++) {
        const size_t at = 2 * (channel * trial->n_pairs + pair) + part;
        const char *name = part == 0 ? "real" : "imaginary";
        if (trial->int8 != NULL && got[at] != wanted[at])
            return fx8_trial_differs(
                trial, error,
                "int8, %s sum of inputs %zu and %zu in channel %zu: "
                "%lld: expected %lld",
                name, i, j, channel, (long long)got[at], (long long)wanted[at]);
        if (trial->fp32 != NULL &&
            !are_floats_right(trial, at, floats[at], size))
            return fx8_trial_differs(
                trial, error,
                "floats, %s sum of inputs %zu and %zu in channel "
                "%zu: expected one near %g",
                name, i, j, channel, floats[at]);
    }
    if (trial->got.counts[pair] != trial->wanted.counts[pair])
        return fx8_trial_differs(
            trial, error,
            "valid products of inputs %zu and %zu: %lld: expected "
            "%lld",
            i, j, (long long)trial->got.counts[pair],
            (long long)trial->wanted.counts[pair]);
    return FX8_OK;
}

static enum fx8_status check_sums(const struct fx8_trial *trial,
                                  struct fx8_error *error)
{
    const size_t channels = trial->plan.bank.n_channels;
    for (size_t channel = 0; channel < channels; channel++)
        for (size_t j = 0; j < trial->plan.n_inputs; j++)
            for (size_t i = 0; i <= j; i++)
                if (fx8_is_needed(trial->plan.needed, i, j))
                    FX8_TRY(check_pair(trial, channel, i, j, error));
    for (size_t k = 0; trial->int8 != NULL && k < trial->n_gains; k++)
        if (trial->got.clips[k] < trial->least_clips[k] ||
            trial->got.clips[k] > trial->most_clips[k])
            return fx8_trial_differs(
                trial, error,
                "clips of input %zu in channel %zu: %lld: expected "
                "%lld",
                k / channels, k % channels, (long long)trial->got.clips[k],
                (long long)trial->least_clips[k]);
    return FX8_OK;
}

/* The moments of an input in a channel against those of the CPU's spectra, from
 * which its own differ by up to `most`. */
static bool are_moments_right(const struct fx8_trial *trial, size_t input,
                              size_t channel, double most)
{
    const size_t inputs = trial->plan.n_inputs;
    const size_t channels = trial->plan.bank.n_channels;
    const double *got = trial->got.moments + 2 * input * channels + channel;
    const struct fx8_cf32 *x =
        trial->wanted_fp32 + channel * trial->n_spectra * inputs + input;
    double power = 0.0, square = 0.0, power_error = 0.0, square_error = 0.0;
    for (size_t t = 0; t < trial->n_spectra; t++, x += inputs) {
        const double size = hypot((double)x->re, (double)x->im);
        const double p = size * size;
        const double off = (2.0 * size + most) * most + POWER_ERROR * p;
        power += p;
        square += p * p;
        power_error += off;
        square_error += (2.0 * p + off) * off;
    }
    return fabs(got[0] - power) <= power_error &&
           fabs(got[channels] - square) <= square_error;
}

static enum fx8_status check_moments(const struct fx8_trial *trial,
                                     struct fx8_error *error)
{
    const size_t channels = trial->plan.bank.n_channels;
    const double most = spectrum_error(trial);
    for (size_t k = 0; trial->got.moments != NULL && k < trial->n_gains; k++)
        if (!are_moments_right(trial, k / channels, k % channels, most))
            return fx8_trial_differs(
                trial, error,
                "moments of input %zu in channel %zu: expected those of the "
                "spectra",
                k / channels, k % channels);
    return FX8_OK;
}

/* Both engines get the spectra of the engine under test. */
enum fx8_status fx8_trial_sums(struct fx8_trial *trial, struct fx8_error *error)
{
    const struct fx8_engine_block block = block_of(trial);
    FX8_TRY(trial->tried->finish_dump(trial->engine, &trial->got, error));
    FX8_TRY(fx8_engine_cpu.import_spectra(trial->cpu, &block, trial->int8,
                                          trial->fp32, error));
    FX8_TRY(fx8_engine_cpu.finish_dump(trial->cpu, &trial->wanted, error));
    FX8_TRY(check_moments(trial, error));
    return check_sums(trial, error);
}

/* --- results -------------------------------------------------------------- */

static struct fx8_postprocess plan_results(const struct fx8_trial *trial)
{
    const struct fx8_engine_plan *plan = &trial->plan;
    const bool has_gain = plan->coefficients != NULL;
    return (struct fx8_postprocess){
        .n_antennas = plan->n_result_antennas,
        .n_products = plan->n_result_products,
        .n_inputs = plan->n_inputs,
        .n_channels = plan->bank.n_channels,
        .channel_average = plan->channel_average,
        .products = trial->products,
        .spectra_per_dump = plan->spectra_per_dump,
        .gain = has_gain ? trial->gains : NULL,
        .flag_cell = has_gain ? trial->flag_cell : NULL,
        .flag_channel = trial->flag_channel,
        .flag_input = trial->flag_input,
        .remove_bias = has_gain,
        .has_dither = plan->quantizer.dither,
        .first_is_real = fx8_filterbank_is_real(&plan->bank, 0),
        .threads.count = 1,
    };
}

static enum fx8_status check_results(const struct fx8_trial *trial, size_t kind,
                                     struct fx8_error *error)
{
    const struct fx8_result *a = &trial->made[kind], *b = &trial->again[kind];
    for (size_t k = 0; k < trial->n_results && a->flags != NULL; k++)
        if (memcmp(a->visibilities + 2 * k, b->visibilities + 2 * k,
                   2 * sizeof(float)) != 0 ||
            a->flags[k] != b->flags[k] || a->nsamples[k] != b->nsamples[k])
            return fx8_trial_differs(
                trial, error,
                "%s, result %zu: %g%+gi, flag %d, weight %g: "
                "expected %g%+gi, %d, %g",
                kind == FX8_RESULT_INT8 ? "int8" : "fp32", k,
                (double)a->visibilities[2 * k],
                (double)a->visibilities[2 * k + 1], a->flags[k],
                (double)a->nsamples[k], (double)b->visibilities[2 * k],
                (double)b->visibilities[2 * k + 1], b->flags[k],
                (double)b->nsamples[k]);
    return FX8_OK;
}

/* Process the same block again; its sums are known. */
enum fx8_status fx8_trial_results(struct fx8_trial *trial,
                                  struct fx8_error *error)
{
    const struct fx8_engine_block block = block_of(trial);
    const struct fx8_postprocess plan = plan_results(trial);
    void *const *sums = trial->got.sums;
    void *const known[FX8_N_RESULTS] = {sums[FX8_RESULT_INT8],
                                        sums[FX8_RESULT_FP32]};
    struct fx8_engine_dump rest = trial->got;
    rest.sums[FX8_RESULT_INT8] = rest.sums[FX8_RESULT_FP32] = NULL;
    FX8_TRY(trial->tried->push(trial->engine, &block, error));
    FX8_TRY(trial->tried->end_dump(trial->engine, &plan, trial->made, error));
    FX8_TRY(trial->tried->take_dump(trial->engine, &rest, NULL, error));
    fx8_postprocess_dump(&plan, known, trial->got.counts, trial->again);
    FX8_TRY(check_results(trial, FX8_RESULT_INT8, error));
    return check_results(trial, FX8_RESULT_FP32, error);
}
