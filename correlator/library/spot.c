/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/base/clock.h"
#include "config/base/divisor.h"
#include "config/base/try.h"
#include "correlator/library/plan.h"
#include "correlator/library/spot.h"

/* Inputs times channels per checked pair.  A product takes 0.4 to 0.9 ns with
 * integers, 2 to 3 ns with floats (measured); the samples of this many inputs
 * times channels take at least 330 ns per spectrum to a device, at 25 GB/s. */
#define CELLS_PER_PAIR 4096

/* From this many pairs on, one is an auto, since few of all pairs are. */
#define PAIRS_WITH_AUTO 8

/* Largest number of roundings from a product to a sum of floats (struct
 * fx8_correlate_fp32): 2^-24 each to nearest, twice that if directed. */
#define ROUNDINGS       520
#define ROUNDED         0x1p-24
#define ROUNDED_ONE_WAY 0x1p-23

/* Largest error of a spectrum by underflow: four subnormal products and their
 * sums. */
#define UNDERFLOW_OF_A_SPECTRUM 0x1p-147

/* Spectra whose products fit an int32 sum: 2 * 128 * 128 each. */
#define SHORT_SPECTRA ((size_t)4096)

/* --- which pairs --------------------------------------------------
 */

size_t fx8_spot_pairs(const struct fx8_axes *axes)
{
    const size_t all = fx8_pair_count(axes->n_inputs);
    size_t n = axes->n_inputs * axes->n_fine / CELLS_PER_PAIR;
    n = n < 1 ? 1 : n > FX8_WATCHED_PAIRS ? FX8_WATCHED_PAIRS : n;
    return n < all ? n : all;
}

size_t fx8_spot_inputs(const struct fx8_axes *axes)
{
    const size_t most = 2 * fx8_spot_pairs(axes);
    return most < axes->n_inputs ? most : axes->n_inputs;
}

/* Element `number` of a permutation of 0 .. n - 1 whose neighbours are far
 * apart: steps of about the golden section of n, coprime to n; n below 2^32. */
static size_t scattered(uint64_t number, uint64_t n)
{
    uint64_t step = (uint64_t)(0.6180339887498949 * (double)n) + 1;
    while (fx8_greatest_divisor(step, n) != 1)
        step++;
    return (size_t)(number % n * (step % n) % n);
}

/* Inputs of a pair: the inverse of fx8_pair_index(). */
static void split_pair(size_t index, size_t *i, size_t *j)
{
    size_t row = (size_t)((sqrt(8.0 * (double)index + 1.0) - 1.0) / 2.0);
    while (fx8_pair_index(0, row) > index)
        row--;
    while (fx8_pair_index(row, row) < index)
        row++;
    *j = row;
    *i = index - fx8_pair_index(0, row);
}

/* Index of an input among the watched ones; added if it is new. */
static size_t watch_input(struct fx8_engine_watch *watch, size_t input)
{
    size_t row = 0;
    while (row < watch->n_inputs && watch->inputs[row] != input)
        row++;
    if (row == watch->n_inputs)
        watch->inputs[watch->n_inputs++] = input;
    return row;
}

void fx8_spot_choose(struct fx8_spot *spot, int64_t dump)
{
    const uint64_t number = (uint64_t)dump;
    const uint64_t n_channels = (uint64_t)spot->n_channels * spot->n_bands;
    const uint64_t n_inputs = spot->n_inputs;
    const uint64_t n_all = fx8_pair_count(spot->n_inputs);
    const size_t channel = scattered(number, n_channels);
    const size_t n_autos = spot->n_pairs >= PAIRS_WITH_AUTO ? 1 : 0;
    const uint64_t n_others = spot->n_pairs - n_autos;
    spot->dump = dump;
    spot->band = channel / spot->n_channels;
    spot->n_spectra = 0;
    memset(spot->sums_int8, 0, sizeof spot->sums_int8);
    memset(spot->sums_fp32, 0, sizeof spot->sums_fp32);
    spot->watch = (struct fx8_engine_watch){
        .channel = channel % spot->n_channels, .n_pairs = spot->n_pairs};
    for (size_t k = 0; k < spot->n_pairs; k++) {
        struct fx8_spot_pair *pair = &spot->pairs[k];
        *pair = (struct fx8_spot_pair){0};
        if (k < n_autos)
            pair->i = pair->j = scattered(number, n_inputs);
        else
            split_pair(scattered(number % n_all * n_others + k, n_all),
                       &pair->i, &pair->j);
        if (!fx8_is_needed(spot->needed, pair->i, pair->j))
            pair->i = pair->j;
        pair->row_i = watch_input(&spot->watch, pair->i);
        pair->row_j = watch_input(&spot->watch, pair->j);
        spot->watch.pairs[k] = fx8_pair_index(pair->i, pair->j);
    }
}

/* --- the sums -----------------------------------------------------
 */

/* conj(a) b over n spectra. */
static void add_int8(size_t n, const struct fx8_ci8 *a, const struct fx8_ci8 *b,
                     int64_t sum[2])
{
    for (size_t first = 0; first < n; first += SHORT_SPECTRA) {
        const size_t end =
            n - first < SHORT_SPECTRA ? n : first + SHORT_SPECTRA;
        int32_t re = 0, im = 0;
        for (size_t t = first; t < end; t++) {
            re += a[t].re * b[t].re + a[t].im * b[t].im;
            im += a[t].re * b[t].im - a[t].im * b[t].re;
        }
        sum[0] += re;
        sum[1] += im;
    }
}

/* Products of floats are exact in double. */
static void add_fp32(size_t n, const struct fx8_cf32 *a,
                     const struct fx8_cf32 *b, struct fx8_spot_sum *sum)
{
    double re = 0.0, im = 0.0, of_re = 0.0, of_im = 0.0;
    for (size_t t = 0; t < n; t++) {
        const double rr = (double)a[t].re * (double)b[t].re;
        const double ii = (double)a[t].im * (double)b[t].im;
        const double ri = (double)a[t].re * (double)b[t].im;
        const double ir = (double)a[t].im * (double)b[t].re;
        re += rr + ii;
        im += ri - ir;
        of_re += fabs(rr) + fabs(ii);
        of_im += fabs(ri) + fabs(ir);
    }
    sum->fp32[0] += re;
    sum->fp32[1] += im;
    sum->magnitude[0] += of_re;
    sum->magnitude[1] += of_im;
}

static void take(void *context, size_t n_spectra,
                 const struct fx8_ci8 *const *int8,
                 const struct fx8_cf32 *const *fp32)
{
    struct fx8_spot *spot = context;
    const double start = fx8_clock_seconds();
    for (size_t k = 0; k < spot->n_pairs; k++) {
        struct fx8_spot_pair *pair = &spot->pairs[k];
        if (int8 != NULL)
            add_int8(n_spectra, int8[pair->row_i], int8[pair->row_j],
                     pair->sum.int8);
        if (fp32 != NULL)
            add_fp32(n_spectra, fp32[pair->row_i], fp32[pair->row_j],
                     &pair->sum);
    }
    spot->n_spectra += (int64_t)n_spectra;
    spot->seconds += fx8_clock_seconds() - start;
}

enum fx8_status fx8_spot_begin(struct fx8_spot *spot,
                               const struct fx8_engine_operations *operations,
                               struct fx8_engine *const *engines, int64_t dump,
                               struct fx8_error *error)
{
    if (spot->n_pairs == 0 || spot->is_watching)
        return FX8_OK;
    fx8_spot_choose(spot, dump);
    spot->watch.take = take;
    spot->watch.context = spot;
    spot->watch.sums[FX8_RESULT_INT8] = spot->sums_int8;
    spot->watch.sums[FX8_RESULT_FP32] = spot->sums_fp32;
    spot->is_watching = true;
    return operations->watch(engines[spot->band], &spot->watch, error);
}

/* --- comparison ---------------------------------------------------
 */

/* The sum being compared, for the message. */
struct finding {
    const struct fx8_spot *spot;
    const char *engine, *device, *kernel;
    size_t pair, part;
    size_t n_pairs, at; /* of the sums; the pair among them */
};

static const char *name_feed(const struct fx8_spot *spot, size_t input)
{
    static const char *const feeds[] = {" X", " Y"};
    return spot->n_polarizations == 1 ? ""
                                      : feeds[input % spot->n_polarizations];
}

/* Fill the error record; got and wanted as text. */
static enum fx8_status tell(const struct finding *f, const char *kind,
                            const char *got, const char *wanted,
                            struct fx8_error *error)
{
    const struct fx8_spot *spot = f->spot;
    const struct fx8_spot_pair *pair = &spot->pairs[f->pair];
    const size_t n = spot->n_polarizations;
    return fx8_fail(
        error, FX8_ERR_SYSTEM,
        "spot check: dump %lld, channel %zu, antennas %zu%s and %zu%s (all "
        "counted from 0), %s, %s part: %s: expected %s, of the same spectra: "
        "%s%s%s, kernel %s, computes wrongly",
        (long long)spot->dump,
        spot->band * spot->n_channels + spot->watch.channel, pair->i / n,
        name_feed(spot, pair->i), pair->j / n, name_feed(spot, pair->j), kind,
        f->part == 0 ? "real" : "imaginary", got, wanted, f->engine,
        f->device[0] == '\0' ? "" : " device ", f->device, f->kernel);
}

/* Find the pair among the sums of a strip; false: it is in another one. */
static bool find_pair(struct finding *f, struct fx8_strip strip)
{
    const struct fx8_spot_pair *pair = &f->spot->pairs[f->pair];
    const size_t width = strip.end - strip.begin;
    if (pair->i < strip.begin || pair->i >= strip.end)
        return false;
    f->n_pairs = fx8_strip_count(f->spot->n_inputs - strip.begin, width);
    f->at =
        fx8_strip_index(width, pair->i - strip.begin, pair->j - strip.begin);
    return true;
}

/* The engine must have shown at least all valid spectra. */
static enum fx8_status check_shown(const struct fx8_spot *spot,
                                   int64_t n_products, struct fx8_error *error)
{
    if (spot->n_spectra >= n_products)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_SYSTEM,
                    "spot check: dump %lld: the engine showed %lld of at least "
                    "%lld spectra",
                    (long long)spot->dump, (long long)spot->n_spectra,
                    (long long)n_products);
}

static enum fx8_status check_int8(const struct finding *f, int64_t got,
                                  struct fx8_error *error)
{
    const int64_t sum = f->spot->pairs[f->pair].sum.int8[f->part];
    char said[32], wanted[32];
    if (got == sum)
        return FX8_OK;
    snprintf(said, sizeof said, "%lld", (long long)got);
    snprintf(wanted, sizeof wanted, "%lld", (long long)sum);
    return tell(f, "INT8", said, wanted, error);
}

/* got must be in [sum - below, sum + above]; NaN is not. */
static enum fx8_status check_double(const struct finding *f, const char *kind,
                                    double got, double below, double above,
                                    struct fx8_error *error)
{
    const double sum = f->spot->pairs[f->pair].sum.fp32[f->part];
    char said[32], wanted[96];
    if (got >= sum - below && got <= sum + above)
        return FX8_OK;
    snprintf(said, sizeof said, "%.17g", got);
    snprintf(wanted, sizeof wanted, "%.17g to %.17g", sum - below, sum + above);
    return tell(f, kind, said, wanted, error);
}

/* The engine's sum of a kind, from the dump or the watch; NULL if the kind is
 * not planned. */
static const void *find_number(const struct finding *f,
                               const struct fx8_engine_dump *dump, size_t kind)
{
    const struct fx8_engine_watch *watch = &f->spot->watch;
    const size_t at = watch->channel * f->n_pairs + f->at;
    if ((f->spot->precisions >> kind & 1) == 0)
        return NULL;
    return dump->sums[kind] == NULL
               ? (const double *)watch->sums[kind] + 2 * f->pair + f->part
               : (const double *)dump->sums[kind] + 2 * at + f->part;
}

/* Check one part of a pair in every planned precision. */
static enum fx8_status check_part(const struct finding *f,
                                  const struct fx8_engine_dump *dump,
                                  struct fx8_error *error)
{
    const double magnitude = f->spot->pairs[f->pair].sum.magnitude[f->part];
    const double n = (double)f->spot->n_spectra;
    /* rounding of the sum computed here, and of its magnitude: two additions
     * per spectrum */
    const double own = (n + 1.0) * 0x1p-51 * magnitude;
    const double small = own + n * UNDERFLOW_OF_A_SPECTRUM;
    const double near = ROUNDINGS * ROUNDED * magnitude + small;
    const double far = ROUNDINGS * ROUNDED_ONE_WAY * magnitude + small;
    const struct {
        const char *name;
        double below, above;
    } floats[FX8_N_RESULTS] = {
        [FX8_RESULT_FP32] = {"FP32", near, near},
        [FX8_RESULT_DOWN] = {"lower bound", far, own},
        [FX8_RESULT_UP] = {"upper bound", own, far},
    };
    const int64_t *int8 = find_number(f, dump, FX8_RESULT_INT8);
    if (int8 != NULL)
        FX8_TRY(check_int8(f, *int8, error));
    for (size_t k = FX8_RESULT_FP32; k < FX8_N_RESULTS; k++) {
        const double *got = find_number(f, dump, k);
        if (got != NULL)
            FX8_TRY(check_double(f, floats[k].name, *got, floats[k].below,
                                 floats[k].above, error));
    }
    return FX8_OK;
}

enum fx8_status fx8_spot_end(struct fx8_spot *spot,
                             const struct fx8_engine_operations *operations,
                             struct fx8_engine *const *engines, size_t band,
                             const struct fx8_engine_dump *sums,
                             struct fx8_error *error)
{
    if (!spot->is_watching || band != spot->band)
        return FX8_OK;
    spot->is_watching = sums->strip.end < spot->n_inputs;
    const double start = fx8_clock_seconds();
    struct fx8_engine *engine = engines[band];
    struct finding f = {
        .spot = spot,
        .engine = operations->name,
        .device = operations->facts(engine)->device,
        .kernel = operations->facts(engine)->kernel,
    };
    enum fx8_status status = FX8_OK;
    for (size_t k = 0; k < 2 * spot->n_pairs && status == FX8_OK; k++) {
        f.pair = k / 2;
        f.part = k % 2;
        if (!find_pair(&f, sums->strip))
            continue;
        status = check_shown(spot, sums->counts[f.at], error);
        if (status == FX8_OK)
            status = check_part(&f, sums, error);
    }
    spot->seconds += fx8_clock_seconds() - start;
    return status;
}
