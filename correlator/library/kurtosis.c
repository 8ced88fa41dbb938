/* SPDX-License-Identifier: BSD-3-Clause */
/* kurtosis.c -- see session_private.h: flags of cells whose power scatters
 * otherwise than that of Gaussian noise. */
#include <string.h>

#include "correlator/library/session_private.h"
#include "kernels/kurtosis.h"

/* Limits for n_spectra; kept, since most inputs have the same number.  0: none
 * yet. */
struct limits {
    int64_t n_spectra;
    struct fx8_kurtosis_limits of[2]; /* complex, real */
};

static const double shapes[2] = {FX8_KURTOSIS_COMPLEX, FX8_KURTOSIS_REAL};

static void find_limits(const struct fx8_session *s, int64_t n_spectra,
                        struct limits *limits)
{
    if (limits->n_spectra == n_spectra)
        return;
    limits->n_spectra = n_spectra;
    for (size_t k = 0; k < 2; k++)
        limits->of[k] =
            fx8_kurtosis_limits(n_spectra, shapes[k], s->plan.sk_false_alarm);
}

/* Judge an input of a band by S1 and S2 [n_kept] each. */
static void judge_input(struct fx8_session *s, const struct limits *limits,
                        const double *moments, uint8_t *flags)
{
    for (size_t channel = 0; channel < s->axes.n_kept; channel++) {
        const bool is_real = fx8_filterbank_is_real(&s->bank, channel);
        const double power = moments[channel];
        if (power == 0.0) /* no signal, which is flagged as such */
            continue;
        const double estimate =
            fx8_kurtosis(limits->n_spectra, shapes[is_real], power,
                         moments[s->axes.n_kept + channel]);
        flags[channel] = !(estimate >= limits->of[is_real].lower &&
                           estimate <= limits->of[is_real].upper);
        s->statistics.n_sk_judged++;
        s->statistics.n_sk_flagged += flags[channel];
    }
}

void fx8_session_judge(struct fx8_session *s, size_t band,
                       const double *moments)
{
    const size_t kept = s->axes.n_kept;
    const struct fx8_input_gains gains =
        s->gains != NULL ? fx8_gains_get(s->gains)
                         : (struct fx8_input_gains){NULL, NULL, NULL};
    struct limits limits = {.n_spectra = 0};
    if (s->flag_sk == NULL || s->slice.begin > 0)
        return;
    for (size_t input = 0; input < s->axes.n_inputs; input++) {
        const int64_t n = s->valid_of_dump[band * s->axes.n_inputs + input];
        const size_t at = input * s->axes.n_fine + band * kept;
        memset(s->flag_sk + at, 0, kept);
        if (n >= FX8_LEAST_KURTOSIS_SPECTRA) {
            find_limits(s, n, &limits);
            judge_input(s, &limits, moments + input * 2 * kept,
                        s->flag_sk + at);
        }
        memcpy(s->flag_cell + at, s->flag_sk + at, kept);
        for (size_t k = at; gains.is_zero != NULL && k < at + kept; k++)
            s->flag_cell[k] |= gains.is_zero[k];
    }
}
