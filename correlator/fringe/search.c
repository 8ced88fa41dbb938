/* SPDX-License-Identifier: BSD-3-Clause */
#include <complex.h>
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fringe/search.h"
#include "kernels/fft.h"

/* Steps of Newton's method; from a quarter of a cell it takes 4 or 5. */
#define MAX_STEPS 20

/* Relative rounding of stored values: residuals cannot be known better. */
#define ROUNDING 1e-7

struct fx8_fringe_search {
    const struct fx8_fringe_axis *time, *frequency;
    size_t n_delays, n_rates; /* padded */
    struct fx8_fft *rows;     /* time.n transforms of n_delays */
    struct fx8_fft *column;   /* one of n_rates */
    size_t size;              /* floats of each thread */
    float *scratch;           /* [thread][size] */
    double complex *turns;    /* [thread][frequency.n] */
    size_t n_threads;
};

static size_t padded(size_t n)
{
    size_t length = 1;
    while (n > 1 && length < 2 * n)
        length *= 2;
    return length;
}

enum fx8_status fx8_fringe_search_open(const struct fx8_fringe_axis *time,
                                       const struct fx8_fringe_axis *frequency,
                                       size_t n_threads,
                                       struct fx8_fringe_search **result,
                                       struct fx8_error *error)
{
    *result = NULL;
    FX8_AUTO(fx8_fringe_search_close) struct fx8_fringe_search *search = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *search, "a fringe search", &search, error));
    search->time = time;
    search->frequency = frequency;
    search->n_delays = padded(frequency->n);
    search->n_rates = padded(time->n);
    search->n_threads = n_threads;
    FX8_TRY(fx8_fft_open(FX8_FFT_INVERSE_COMPLEX, search->n_delays, time->n,
                         false, &search->rows, error));
    FX8_TRY(fx8_fft_open(FX8_FFT_INVERSE_COMPLEX, search->n_rates, 1, false,
                         &search->column, error));
    search->size = fx8_fft_size(search->rows) + fx8_fft_size(search->column);
    const struct fx8_array arrays[] = {
        FX8_ITEMS(search->scratch, fx8_product(search->size, n_threads, 1, 1)),
        FX8_ITEMS(search->turns, fx8_product(frequency->n, n_threads, 1, 1))};
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "a fringe search", error));
    *result = search;
    search = NULL;
    return FX8_OK;
}

void fx8_fringe_search_close(struct fx8_fringe_search **handle)
{
    struct fx8_fringe_search *search = *handle;
    *handle = NULL;
    if (search == NULL)
        return;
    fx8_fft_close(&search->rows);
    fx8_fft_close(&search->column);
    free(search->scratch);
    free(search->turns);
    free(search);
}

double fx8_fringe_threshold(const struct fx8_fringe_search *search, size_t n)
{
    const double cells = (double)search->n_delays * (double)search->n_rates;
    return sqrt(2.0 * log(cells * (double)n / FX8_FRINGE_FALSE_ALARM));
}

/* --- the transform ----------------------------------------------- */

/* What Newton's method varies, with the size of a cell of the transform. */
struct peak {
    double delay_s, rate_hz;
    double delay_cell, rate_cell;
};

/* Signed frequency of a bin. */
static double bin_of(size_t bin, size_t length)
{
    return bin < (length + 1) / 2 ? (double)bin : (double)bin - (double)length;
}

/* The highest cell.  Bin k of exp(+2 pi i k n / N) over frequency is the delay
 * k / (N step); over time, minus the rate. */
static struct peak find_peak(const struct fx8_fringe_search *search,
                             float *data, const float *cells)
{
    const size_t n_channels = search->frequency->n, n_times = search->time->n;
    const size_t stride = fx8_fft_stride(search->rows);
    float *column = data + fx8_fft_size(search->rows);
    memset(data, 0, fx8_fft_size(search->rows) * sizeof *data);
    for (size_t t = 0; t < n_times; t++)
        memcpy(data + t * stride, cells + 2 * t * n_channels,
               2 * n_channels * sizeof *data);
    fx8_fft_execute(search->rows, data);
    float highest = -1.0F;
    size_t delay = 0, rate = 0;
    for (size_t k = 0; k < search->n_delays; k++) {
        memset(column, 0, fx8_fft_size(search->column) * sizeof *column);
        for (size_t t = 0; t < n_times; t++)
            memcpy(column + 2 * t, data + t * stride + 2 * k,
                   2 * sizeof *column);
        fx8_fft_execute(search->column, column);
        for (size_t r = 0; r < search->n_rates; r++) {
            const float re = column[2 * r], im = column[2 * r + 1];
            if (re * re + im * im > highest) {
                highest = re * re + im * im;
                delay = k;
                rate = r;
            }
        }
    }
    const double delay_cell =
        1.0 / ((double)search->n_delays * search->frequency->step);
    const double rate_cell =
        1.0 / ((double)search->n_rates * search->time->step);
    return (struct peak){
        .delay_s = bin_of(delay, search->n_delays) * delay_cell,
        .rate_hz = -bin_of(rate, search->n_rates) * rate_cell,
        .delay_cell = delay_cell,
        .rate_cell = rate_cell,
    };
}

/* --- the fit ----------------------------------------------------- */

/* Sums over cells, turned by delay and rate, with x = 2 pi (f - f0) and
 * y = 2 pi (t - t0). */
struct sums {
    double complex s, x, y, xx, xy, yy;
};

static struct sums sum_up(const struct fx8_fringe_search *search,
                          double complex *turns, const float *cells,
                          const struct peak *at)
{
    const size_t n_channels = search->frequency->n;
    struct sums sums = {.s = 0.0};
    for (size_t c = 0; c < n_channels; c++)
        turns[c] =
            cexp(I * ERFA_D2PI * search->frequency->position[c] * at->delay_s);
    for (size_t t = 0; t < search->time->n; t++) {
        const double y = ERFA_D2PI * search->time->position[t];
        const double complex turn = cexp(-I * y * at->rate_hz);
        const float *row = cells + 2 * t * n_channels;
        double s[2] = {0.0}, sx[2] = {0.0}, sxx[2] = {0.0};
        for (size_t c = 0; c < n_channels; c++) {
            const double x = ERFA_D2PI * search->frequency->position[c];
            const double re = (double)row[2 * c], im = (double)row[2 * c + 1];
            const double a = creal(turns[c]), b = cimag(turns[c]);
            const double z[2] = {re * a - im * b, re * b + im * a};
            for (size_t part = 0; part < 2; part++) {
                s[part] += z[part];
                sx[part] += x * z[part];
                sxx[part] += x * x * z[part];
            }
        }
        const double complex by_one = turn * (s[0] + I * s[1]);
        const double complex by_x = turn * (sx[0] + I * sx[1]);
        sums.s += by_one;
        sums.x += by_x;
        sums.xx += turn * (sxx[0] + I * sxx[1]);
        sums.y += y * by_one;
        sums.xy += y * by_x;
        sums.yy += y * y * by_one;
    }
    return sums;
}

/* One step of Newton's method on the logarithm of |S(delay, rate)|, which is
 * nearly a parabola over the whole peak; false where it has no maximum.  A
 * single dump is at y = 0. */
static bool improve(const struct sums *m, bool has_rate, struct peak *at,
                    double *change)
{
    const double complex by_delay = I * m->x / m->s;
    const double complex by_rate = -I * m->y / m->s;
    const double g[2] = {creal(by_delay), creal(by_rate)};
    const double h_dd = -creal(m->xx / m->s + by_delay * by_delay);
    const double h_dr = creal(m->xy / m->s - by_delay * by_rate);
    const double h_rr =
        has_rate ? -creal(m->yy / m->s + by_rate * by_rate) : -1.0;
    const double determinant = h_dd * h_rr - h_dr * h_dr;
    if (!(h_dd < 0.0 && determinant > 0.0))
        return false;
    const double delay = (h_dr * g[1] - h_rr * g[0]) / determinant;
    const double rate = (h_dr * g[0] - h_dd * g[1]) / determinant;
    at->delay_s += delay;
    at->rate_hz += rate;
    *change = fmax(fabs(delay) / at->delay_cell, fabs(rate) / at->rate_cell);
    return true;
}

/* Moments of the weights, and the power of all cells. */
struct moments {
    size_t n;
    double power;
    double w, x, y, xx, xy, yy;
};

static struct moments weigh(const struct fx8_fringe_search *search,
                            const float *cells, const float *weights)
{
    struct moments m = {.n = 0};
    for (size_t t = 0, at = 0; t < search->time->n; t++) {
        const double y = ERFA_D2PI * search->time->position[t];
        for (size_t c = 0; c < search->frequency->n; c++, at++) {
            const double w = (double)weights[at];
            const double x = ERFA_D2PI * search->frequency->position[c];
            const double re = (double)cells[2 * at],
                         im = (double)cells[2 * at + 1];
            if (!(w > 0.0))
                continue;
            m.n++;
            m.power += (re * re + im * im) / w;
            m.w += w;
            m.x += w * x;
            m.y += w * y;
            m.xx += w * x * x;
            m.xy += w * x * y;
            m.yy += w * y * y;
        }
    }
    return m;
}

/* Errors of delay, rate and phase: the inverse of the information that unit
 * signal to noise has about (phase, delay, rate), with gradient (1, -x, y). */
static void find_errors(const struct moments *m, bool has_rate, double snr,
                        double sigma[FX8_FRINGE_QUANTITIES])
{
    const double x = -m->x / m->w, xx = m->xx / m->w, xy = -m->xy / m->w;
    const double y = m->y / m->w, yy = has_rate ? m->yy / m->w : 1.0;
    const double of_phase = xx * yy - xy * xy;
    const double of_delay = yy - y * y, of_rate = xx - x * x;
    const double determinant =
        of_phase - x * (x * yy - xy * y) + y * (x * xy - xx * y);
    sigma[FX8_FRINGE_PHASE] = sqrt(of_phase / determinant) / snr;
    sigma[FX8_FRINGE_DELAY] = sqrt(of_delay / determinant) / snr;
    sigma[FX8_FRINGE_RATE] = has_rate ? sqrt(of_rate / determinant) / snr : 0.0;
}

/* Sum of (imaginary part)^2 / weight, seen along the fringe. */
static double power_across(const struct fx8_fringe_search *search,
                           const double complex *turns, const float *cells,
                           const float *weights, const struct peak *at,
                           double complex sum)
{
    const size_t n_channels = search->frequency->n;
    double power = 0.0;
    for (size_t t = 0; t < search->time->n; t++) {
        const double y = ERFA_D2PI * search->time->position[t];
        const double complex turn =
            cexp(-I * y * at->rate_hz) * conj(sum) / cabs(sum);
        for (size_t c = 0; c < n_channels; c++) {
            const size_t cell = t * n_channels + c;
            const double complex whole = turn * turns[c];
            const double across = (double)cells[2 * cell] * cimag(whole) +
                                  (double)cells[2 * cell + 1] * creal(whole);
            if (weights[cell] > 0.0F)
                power += across * across / (double)weights[cell];
        }
    }
    return power;
}

/* Least squares from the highest cell on; false without a maximum near it. */
static bool climb(const struct fx8_fringe_search *search, double complex *turns,
                  const float *cells, struct peak *at, struct sums *sums)
{
    const struct peak start = *at;
    double change = 1.0;
    *sums = sum_up(search, turns, cells, at);
    for (size_t k = 0; k < MAX_STEPS && change > 1e-9; k++) {
        if (!improve(sums, search->time->n > 1, at, &change) ||
            fabs(at->delay_s - start.delay_s) > at->delay_cell ||
            fabs(at->rate_hz - start.rate_hz) > at->rate_cell)
            return false;
        *sums = sum_up(search, turns, cells, at);
    }
    return true;
}

/*
 * Errors come from the residuals across the fringe for delay, rate and phase,
 * and along it for the amplitude: a strong source is a noise of its own, which
 * a mean of products has along the fringe alone.
 */
void fx8_fringe_find(const struct fx8_fringe_search *search, size_t thread,
                     const float *cells, const float *weights,
                     struct fx8_fringe *fringe)
{
    const bool has_rate = search->time->n > 1;
    double complex *turns = search->turns + thread * search->frequency->n;
    const struct moments m = weigh(search, cells, weights);
    const double freedom = (double)m.n - (has_rate ? 3.0 : 2.0);
    fringe->snr = 0.0;
    fringe->is_found = false;
    if (!(m.power > 0.0) || freedom <= 0.0)
        return;
    struct sums sums;
    struct peak at =
        find_peak(search, search->scratch + thread * search->size, cells);
    fringe->is_found = climb(search, turns, cells, &at, &sums);
    const double size = cabs(sums.s), least = ROUNDING * ROUNDING * m.power;
    const double across =
        power_across(search, turns, cells, weights, &at, sums.s);
    const double along = fmax(m.power - across - size * size / m.w, least);
    const double variances[2] = {fmax(across, least) / freedom,
                                 along / ((double)m.n - 1.0)};
    fringe->snr = size / sqrt(m.w * 0.5 * (variances[0] + variances[1]));
    fringe->value[FX8_FRINGE_DELAY] = at.delay_s;
    fringe->value[FX8_FRINGE_RATE] = has_rate ? at.rate_hz : 0.0;
    fringe->value[FX8_FRINGE_PHASE] = carg(sums.s);
    fringe->value[FX8_FRINGE_AMPLITUDE] = log(size / m.w);
    find_errors(&m, has_rate, size / sqrt(m.w * variances[0]), fringe->sigma);
    fringe->sigma[FX8_FRINGE_AMPLITUDE] = sqrt(m.w * variances[1]) / size;
    /* data in a single dump or channel tell nothing of rate or delay */
    for (int q = 0; q < FX8_FRINGE_QUANTITIES; q++)
        fringe->is_found = fringe->is_found && isfinite(fringe->sigma[q]);
}
