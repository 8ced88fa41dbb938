/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cpu/power.h"
#include "kernels/fft.h"

struct fx8_power {
    struct fx8_filterbank bank;
    const struct fx8_operations *operations;
    struct fx8_fft *fft;
    float *coefficients; /* [n_taps][row] */
    float *scratch;      /* [n_threads][stride of the FFT] */
};

static enum fx8_fft_kind kind_of(const struct fx8_filterbank *bank)
{
    return bank->is_complex ? FX8_FFT_COMPLEX : FX8_FFT_REAL;
}

#define N_ARRAYS 2

static void list_arrays(const struct fx8_filterbank *bank, size_t n_threads,
                        struct fx8_power *p, struct fx8_array arrays[N_ARRAYS])
{
    const size_t scratch = fx8_fft_size_of(kind_of(bank), bank->fft_length, 1);
    arrays[0] = (struct fx8_array){
        &p->coefficients,
        fx8_product(bank->n_taps, fx8_filterbank_row(bank), 1, 1),
        sizeof *p->coefficients};
    arrays[1] = (struct fx8_array){
        &p->scratch, fx8_product(n_threads, scratch, 1, 1), sizeof *p->scratch};
}

size_t fx8_power_size(const struct fx8_filterbank *bank, size_t n_threads)
{
    struct fx8_power unused;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(bank, n_threads, &unused, arrays);
    return fx8_arrays_size(arrays, N_ARRAYS);
}

enum fx8_status fx8_power_open(const struct fx8_filterbank *bank,
                               const float *coefficients,
                               const struct fx8_operations *operations,
                               size_t n_threads, struct fx8_power **power,
                               struct fx8_error *error)
{
    *power = NULL;
    void *memory;
    FX8_TRY(
        fx8_allocate(1, sizeof(struct fx8_power), "levels", &memory, error));
    struct fx8_power *p = memory;
    p->bank = *bank;
    p->operations = operations;
    enum fx8_status status =
        fx8_fft_open(kind_of(bank), bank->fft_length, 1, false, &p->fft, error);
    if (status != FX8_OK)
        goto fail;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(bank, n_threads, p, arrays);
    status = fx8_allocate_arrays(arrays, N_ARRAYS, "levels", error);
    if (status != FX8_OK)
        goto fail;
    memcpy(p->coefficients, coefficients,
           arrays[0].n_items * sizeof *coefficients);
    *power = p;
    return FX8_OK;
fail:
    fx8_power_close(&p);
    return status;
}

/* Sum of squares, in eight independent sums. */
static double sum_squares(const float *values, size_t n)
{
    double sums[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            sums[k] += (double)values[i + k] * (double)values[i + k];
    for (; i < n; i++)
        sums[i % 8] += (double)values[i] * (double)values[i];
    double sum = 0.0;
    for (size_t k = 0; k < 8; k++)
        sum += sums[k];
    return sum;
}

float fx8_power_measure(const struct fx8_power *power, const int8_t *samples,
                        size_t thread, float *out)
{
    const struct fx8_filterbank *bank = &power->bank;
    float *data = power->scratch + thread * fx8_fft_size(power->fft);
    power->operations->fir(1, bank->n_taps, fx8_filterbank_row(bank), samples,
                           power->coefficients, data,
                           fx8_fft_stride(power->fft));
    /* by Parseval, before an FFT in place */
    const double all =
        (double)bank->fft_length * sum_squares(data, fx8_filterbank_row(bank));
    const struct fx8_cf32 *bins =
        (const struct fx8_cf32 *)(void *)fx8_fft_execute(power->fft, data);
    struct fx8_channel_range ranges[2];
    const size_t n_ranges = fx8_filterbank_ranges(bank, ranges);
    for (size_t r = 0; r < n_ranges; r++) {
        const struct fx8_cf32 *x = bins + ranges[r].bin;
        float *to = out + ranges[r].channel;
        for (size_t k = 0; k < ranges[r].n_channels; k++)
            to[k] = x[k].re * x[k].re + x[k].im * x[k].im;
    }
    return (float)all;
}

void fx8_power_close(struct fx8_power **power)
{
    struct fx8_power *p = *power;
    if (p == NULL)
        return;
    fx8_fft_close(&p->fft);
    free(p->coefficients);
    free(p->scratch);
    free(p);
    *power = NULL;
}
