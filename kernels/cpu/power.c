/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/shape.h"
#include "kernels/cpu/power.h"
#include "kernels/fft.h"

struct fx8_power {
    struct fx8_filterbank bank;
    const struct fx8_operations *operations;
    struct fx8_fft *fft;
    float *coefficients; /* [n_taps][row] */
    float *scratch;      /* [n_threads][stride of the FFT] */
    size_t memory;
};

enum fx8_status fx8_power_open(const struct fx8_filterbank *bank,
                               const float *coefficients,
                               const struct fx8_operations *operations,
                               size_t n_threads, struct fx8_power **power,
                               struct fx8_error *error)
{
    *power = NULL;
    void *memory;
    enum fx8_status status =
        fx8_allocate(1, sizeof(struct fx8_power), "levels", &memory, error);
    if (status != FX8_OK)
        return status;
    struct fx8_power *p = memory;
    p->bank = *bank;
    p->operations = operations;
    const size_t n_weights = bank->n_taps * fx8_filterbank_row(bank);
    status = fx8_fft_open(bank->is_complex ? FX8_FFT_COMPLEX : FX8_FFT_REAL,
                          bank->fft_length, 1, false, &p->fft, error);
    if (status != FX8_OK)
        goto fail;
    const struct fx8_array arrays[] = {
        {&p->coefficients, n_weights, sizeof *p->coefficients},
        {&p->scratch, fx8_product(n_threads, fx8_fft_size(p->fft), 1, 1),
         sizeof *p->scratch},
    };
    const size_t n_arrays = sizeof arrays / sizeof arrays[0];
    p->memory = fx8_arrays_size(arrays, n_arrays);
    status = fx8_allocate_arrays(arrays, n_arrays, "levels", error);
    if (status != FX8_OK)
        goto fail;
    memcpy(p->coefficients, coefficients, n_weights * sizeof *coefficients);
    *power = p;
    return FX8_OK;
fail:
    fx8_power_close(&p);
    return status;
}

void fx8_power_measure(const struct fx8_power *power, const int8_t *samples,
                       size_t thread, float *out)
{
    const struct fx8_filterbank *bank = &power->bank;
    float *data = power->scratch + thread * fx8_fft_size(power->fft);
    power->operations->fir(1, bank->n_taps, fx8_filterbank_row(bank), samples,
                           power->coefficients, data,
                           fx8_fft_stride(power->fft));
    const struct fx8_cf32 *bins =
        (const struct fx8_cf32 *)(void *)fx8_fft_execute(power->fft, data);
    for (size_t channel = 0; channel < bank->n_channels; channel++) {
        const struct fx8_cf32 x = bins[fx8_filterbank_bin(bank, channel)];
        out[channel] = fmaf(x.re, x.re, x.im * x.im);
    }
}

size_t fx8_power_memory(const struct fx8_power *power)
{
    return power->memory;
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
