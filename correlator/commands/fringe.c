/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fringe.c -- `fx8 fringe`: delays and phases of the antennas from a strong
 * source.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/commands/command.h"
#include "correlator/fringe/gains.h"
#include "io/output.h"

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error);

enum {
    OUTPUT,
    SOURCE,
    AZIMUTH,
    ELEVATION,
    BLIND,
    REFERENCE,
    JSON,
    FORCE,
    QUIET
};

static const struct fx8_option options[] = {
    [OUTPUT] = {.name = "output",
                .letter = 'o',
                .argument = "GAINS.csv",
                .is_once = true,
                .help = "write the gains of the antennas, for [array] gains"},
    [SOURCE] = {.name = "source",
                .argument = "RA_DEG,DEC_DEG",
                .is_once = true,
                .help = "where the source is on the sky (ICRS)"},
    [AZIMUTH] = {.name = "az",
                 .argument = "DEG",
                 .is_once = true,
                 .help = "azimuth of a source fixed to the ground, from north "
                         "through east"},
    [ELEVATION] = {.name = "el",
                   .argument = "DEG",
                   .is_once = true,
                   .help = "its elevation"},
    [BLIND] = {.name = "blind",
               .help = "search the visibilities as they are: delays and phases "
                       "then include the way to the source"},
    [REFERENCE] = {.name = "reference",
                   .argument = "NUMBER",
                   .is_once = true,
                   .help = "the antenna to refer to; default: the one with the "
                           "highest signal to noise"},
    [JSON] = {.name = "json", .help = "all figures as JSON"},
    [FORCE] = {.name = "force", .help = "replace GAINS.csv"},
    [QUIET] = FX8_OPTION_QUIET("no progress"),
};

const struct fx8_command fx8_command_fringe = {
    .name = "fringe",
    .synopsis = "RESULT.uvh5 [--source RA_DEG,DEC_DEG | --az DEG --el DEG | "
                "--blind] [-o GAINS.csv] [--json]",
    .summary = "find delays and phases of the antennas from a strong source",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "Takes off the way to the source, finds the strongest fringe of\n"
        "every cross baseline in XX and YY, and fits delay, rate, phase and\n"
        "amplitude of every antenna to those of its baselines.  Bad baselines\n"
        "are rejected while they are a minority.  A result that follows a\n"
        "phase centre needs no direction.\n"
        "\n"
        "Errors (+-) are those of the noise or, where baselines scatter more,\n"
        "of their scatter.  chi-square per degree of freedom is near 1 with\n"
        "one source in noise; other sources and interference raise it.\n"
        "\n"
        "GAINS.csv has number, pol, amplitude, phase_deg, delay_ns:\n"
        "\n"
        "  E_recorded = amplitude exp(i phase) exp(-2 pi i f delay) E_true\n"
        "\n"
        "at sky frequency f.  Gains and cable delays that RESULT is already\n"
        "free of are accounted for, so the file serves the next run as it is:\n"
        "\n"
        "  fx8 correlate CONFIG.ini --set array.gains=GAINS.csv\n"
        "\n"
        "in mode cable or track.  Amplitudes have geometric mean 1; all are 1\n"
        "if any is uncertain by more than 10 %, or only two antennas are "
        "left.\n"
        "Antennas without a solution have no row.\n",
    .run = run,
    .stops_at_once = true,
};

/* --- the line ---------------------------------------------------- */

static enum fx8_status take_number(const struct fx8_command_line *line,
                                   size_t option, double low, double high,
                                   double *value, struct fx8_error *error)
{
    const char *text = line->given[option];
    return fx8_number_real(text, value) && *value >= low && *value <= high
               ? FX8_OK
               : fx8_command_misuse(line, error,
                                    "--%s: %s: expected %g to %g degrees",
                                    options[option].name, text, low, high);
}

static enum fx8_status take_direction(const struct fx8_command_line *line,
                                      struct fx8_fringe_direction *direction,
                                      struct fx8_error *error)
{
    const bool has_azimuth = line->given[AZIMUTH] != NULL;
    *direction = (struct fx8_fringe_direction){.kind = FX8_FRINGE_CENTRE};
    if (has_azimuth != (line->given[ELEVATION] != NULL))
        return fx8_command_misuse(line, error,
                                  "--%s: expected --az and --el together",
                                  has_azimuth ? "az" : "el");
    if ((line->given[SOURCE] != NULL) + has_azimuth +
            (line->given[BLIND] != NULL) >
        1)
        return fx8_command_misuse(
            line, error, "expected one of --source, --az with --el, --blind");
    if (line->given[SOURCE] != NULL) {
        direction->kind = FX8_FRINGE_SKY;
        return fx8_command_take_place(line, SOURCE, direction->icrs_deg, error);
    }
    if (line->given[BLIND] != NULL)
        direction->kind = FX8_FRINGE_BLIND;
    if (!has_azimuth)
        return FX8_OK;
    direction->kind = FX8_FRINGE_FIXED;
    FX8_TRY(take_number(line, AZIMUTH, -360.0, 360.0, &direction->azimuth_deg,
                        error));
    return take_number(line, ELEVATION, -90.0, 90.0, &direction->elevation_deg,
                       error);
}

/* --- the work ---------------------------------------------------- */

static void warn_of_missing(const struct fx8_fringes *fringes,
                            const char *gains)
{
    for (size_t p = 0; p < fringes->shape.n_polarizations; p++)
        for (size_t a = 0; a < fringes->shape.n_antennas; a++)
            if (!fx8_fringes_has(fringes, a, p))
                fx8_command_warning("antenna %" PRId64 " %c: no solution%s%s",
                                    fringes->antenna_numbers[a],
                                    fx8_fringes_letter(fringes, p),
                                    gains != NULL ? ": no row in " : "",
                                    gains != NULL ? gains : "");
}

static enum fx8_status write_gains(const struct fx8_fringes *fringes,
                                   struct fx8_output **output,
                                   struct fx8_error *error)
{
    FX8_AUTO_FREE char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream != NULL)
        fx8_fringes_print_gains(fringes, stream);
    return stream == NULL || fclose(stream) != 0
               ? fx8_no_memory("gains", error)
               : fx8_output_finish(output, text, size, error);
}

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error)
{
    struct fx8_fringe_direction direction;
    int64_t reference;
    const char *gains = line->given[OUTPUT];
    FX8_AUTO(fx8_output_abandon) struct fx8_output *output = NULL;
    FX8_AUTO(fx8_fringes_clear) struct fx8_fringes fringes = {0};
    FX8_AUTO(fx8_progress_end) struct fx8_progress_display progress;
    fx8_progress_start(&progress, "fringe", "baseline",
                       line->given[QUIET] == NULL ? stderr : NULL);
    if (line->n_files != 1)
        return fx8_command_misuse(line, error, "%zu %s: expected one result",
                                  FX8_COUNTED(line->n_files, "file", "files"));
    FX8_TRY(take_direction(line, &direction, error));
    if (line->given[REFERENCE] != NULL &&
        !fx8_number_integer(line->given[REFERENCE], &reference))
        return fx8_command_misuse(line, error,
                                  "--reference: %s: expected the number of an "
                                  "antenna",
                                  line->given[REFERENCE]);
    if (gains != NULL)
        FX8_TRY(fx8_command_open_output(line, gains, line->given[FORCE] != NULL,
                                        &output, error));
    FX8_TRY(fx8_fringes_read(line->files[0], &direction, &progress, &fringes,
                             error));
    fx8_progress_end(&progress);
    FX8_TRY(fx8_fringes_solve(
        &fringes, line->given[REFERENCE] != NULL ? &reference : NULL, error));
    if (gains != NULL)
        FX8_TRY(write_gains(&fringes, &output, error));
    if (line->given[JSON] != NULL)
        fx8_fringes_print_json(&fringes, stdout);
    else
        fx8_fringes_print(&fringes, stdout);
    warn_of_missing(&fringes, gains);
    return FX8_OK;
}
