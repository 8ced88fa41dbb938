/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "correlator/simulate/tones.h"

/* Channels on either side of a tone in which it counts. */
#define TONE_REACH 256.0

static const double pi = 3.14159265358979323846;

struct fx8_tone fx8_tone_find(const struct fx8_filterbank *bank,
                              const double *weights, double offset)
{
    const double length = (double)bank->fft_length;
    struct fx8_tone tone = {offset - length * rint(offset / length), {0, 0}};
    if (fabs(tone.offset) <= TONE_REACH)
        fx8_filterbank_response(weights, bank->n_taps * bank->fft_length,
                                bank->fft_length, tone.offset, tone.response);
    return tone;
}

void fx8_tone_beat(const struct fx8_tone *tone,
                   const struct fx8_filterbank *bank, int64_t first_sample,
                   int64_t first, int64_t n, double beat[2])
{
    const double *h = tone->response;
    /* cycles from spectrum to spectrum, modulo 1: the mean over a dump is a
     * geometric series */
    const double step = 2.0 * tone->offset - rint(2.0 * tone->offset);
    const double size =
        step == 0.0 ? 1.0
                    : sin(pi * step * (double)n) / ((double)n * sin(pi * step));
    const double start =
        2.0 * tone->offset * (double)first_sample / (double)bank->fft_length;
    const double middle = step * ((double)first + 0.5 * (double)(n - 1));
    const double phase = 2.0 * pi * (start - rint(start)) +
                         2.0 * pi * (middle - rint(middle)) +
                         2.0 * atan2(h[1], h[0]);
    const double power = size * (h[0] * h[0] + h[1] * h[1]);
    beat[0] = power * cos(phase);
    beat[1] = power * sin(phase);
}
