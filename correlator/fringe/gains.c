/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/fringe/gains.h"

/* One dataset of /fx8, [n_inputs][n_values]; NULL if absent. */
static enum fx8_status get(struct fx8_uvh5_file *file, const char *name,
                           size_t n_values, const struct fx8_fringes *fringes,
                           double **values, struct fx8_error *error)
{
    const size_t n_inputs = fx8_compare_inputs(&fringes->shape);
    size_t shape[3];
    FX8_TRY(fx8_uvh5_get(file, name, shape, values, error));
    if (*values == NULL)
        return FX8_OK;
    if (shape[0] != n_inputs || shape[1] != n_values || shape[2] != 1)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: /fx8/%s: %zu x %zu: expected %zu inputs x %zu",
                        fringes->path, name, shape[0], shape[1], n_inputs,
                        n_values);
    for (size_t i = 0; i < n_inputs * n_values; i++)
        if (!isfinite((*values)[i]))
            return fx8_fail(error, FX8_ERR_INPUT,
                            "%s: /fx8/%s: %g: expected a finite number",
                            fringes->path, name, (*values)[i]);
    return FX8_OK;
}

enum fx8_status fx8_fringes_recall(struct fx8_uvh5_file *file,
                                   const struct fx8_uvh5_header *header,
                                   struct fx8_fringes *fringes,
                                   struct fx8_error *error)
{
    const size_t n_inputs = fx8_compare_inputs(&fringes->shape);
    const struct fx8_keyword *mode = fx8_uvh5_keyword(header, "DELAYMOD");
    const bool is_removed = mode != NULL && mode->type == FX8_KEYWORD_TEXT &&
                            strcmp(mode->text, "NONE") != 0;
    FX8_AUTO_FREE double *cable_s = NULL, *gain = NULL;
    FX8_TRY(get(file, "cable_delay", 1, fringes, &cable_s, error));
    FX8_TRY(get(file, "calibration", 3, fringes, &gain, error));
    FX8_TRY(fx8_allocate(n_inputs, 3 * sizeof(double), "gains",
                         &fringes->recorded, error));
    for (size_t input = 0; input < n_inputs; input++) {
        double *recorded = fringes->recorded + 3 * input;
        recorded[0] = 1.0;
        if (gain != NULL)
            memcpy(recorded, gain + 3 * input, 3 * sizeof *recorded);
        if (cable_s != NULL && !is_removed)
            recorded[2] -= 1e9 * cable_s[input];
    }
    return FX8_OK;
}

void fx8_fringes_gain(const struct fx8_fringes *fringes, size_t antenna,
                      size_t polarization, double gain[3])
{
    const double *value =
        fringes->solutions[polarization].antennas[antenna].value;
    const double *recorded =
        fringes->recorded +
        3 * (antenna * fringes->shape.n_polarizations + polarization);
    const double delay_s = value[FX8_FRINGE_DELAY];
    const double turns = remainder(fringes->frequency.centre * delay_s, 1.0);
    gain[0] = value[FX8_FRINGE_AMPLITUDE] * recorded[0];
    gain[1] = remainder(360.0 * turns + value[FX8_FRINGE_PHASE] / ERFA_DD2R +
                            recorded[1],
                        360.0);
    gain[2] = 1e9 * delay_s + recorded[2];
}

void fx8_fringes_print_gains(const struct fx8_fringes *fringes, FILE *stream)
{
    fputs("number,pol,amplitude,phase_deg,delay_ns\n", stream);
    for (size_t a = 0; a < fringes->shape.n_antennas; a++)
        for (size_t p = 0; p < fringes->shape.n_polarizations; p++) {
            double gain[3];
            if (!fx8_fringes_has(fringes, a, p))
                continue;
            fx8_fringes_gain(fringes, a, p, gain);
            fprintf(stream, "%" PRId64 ",%c", fringes->antenna_numbers[a],
                    fx8_fringes_letter(fringes, p));
            for (size_t k = 0; k < 3; k++) {
                char text[FX8_NUMBER_TEXT_SIZE];
                fx8_number_format_real(gain[k], text);
                fprintf(stream, ",%s", text);
            }
            fputc('\n', stream);
        }
}
