/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image.c -- `fx8 image`: a picture of the sky.
 */
#include <erfam.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/commands/command.h"
#include "correlator/image/image.h"
#include "io/output.h"

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error);

enum {
    OUTPUT,
    POLARIZATION,
    CENTER,
    FOV,
    SIZE,
    WEIGHTS,
    CHANNELS,
    TIMES,
    GAINS,
    CATALOG,
    BACKEND,
    JSON,
    FORCE,
    QUIET
};

static const struct fx8_option options[] = {
    [OUTPUT] = {.name = "output",
                .letter = 'o',
                .argument = "SKY.png",
                .is_once = true,
                .help = "write the image: .png, .svg, .pdf, .html or .fits"},
    [POLARIZATION] = {.name = "pol",
                      .argument = "XX|YY|I",
                      .is_once = true,
                      .help = "polarisation; default: I = (XX + YY) / 2, if "
                              "there are both"},
    [CENTER] = {.name = "center",
                .argument = "RA_DEG,DEC_DEG",
                .is_once = true,
                .help = "a place on the sky (ICRS) instead of the zenith"},
    [FOV] = {.name = "fov",
             .argument = "DEG",
             .is_once = true,
             .help = "field of view, default 180: everything"},
    [SIZE] = {.name = "size",
              .argument = "PIXELS",
              .is_once = true,
              .help = "along a side, default 512"},
    [WEIGHTS] = {.name = "weights",
                 .argument = "natural|uniform",
                 .is_once = true,
                 .help = "natural (default): least noise; uniform: the "
                         "narrowest beam"},
    [CHANNELS] = {.name = "channels",
                  .argument = "LIST",
                  .is_once = true,
                  .help = "only these, such as 0-15,20, from 0"},
    [TIMES] = {.name = "times",
               .argument = "LIST",
               .is_once = true,
               .help = "only these dumps, from 0"},
    [GAINS] = {.name = "gains",
               .argument = "GAINS.csv",
               .is_once = true,
               .help = "divide gains out, as [array] gains does"},
    [CATALOG] = {.name = "catalog",
                 .argument = "FILE",
                 .is_once = true,
                 .help = "name these sources too: CSV with name and ra_deg, "
                         "dec_deg or az_deg, el_deg, as [simulate] sources"},
    [BACKEND] = {.name = "backend",
                 .argument = "auto|cpu|cuda",
                 .is_once = true,
                 .help = "where to compute; auto (default): on a GPU if one "
                         "can be used, else on the CPU"},
    [JSON] = {.name = "json", .help = "all figures as JSON"},
    [FORCE] = {.name = "force", .help = "replace the output"},
    [QUIET] = FX8_OPTION_QUIET("no progress"),
};

const struct fx8_command fx8_command_image = {
    .name = "image",
    .synopsis = "RESULT.uvh5 [-o SKY.png|SKY.fits] [--center RA_DEG,DEC_DEG] "
                "[--fov DEG]",
    .summary = "image the sky",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "The dirty image: every cross baseline, channel and dump is summed in\n"
        "every pixel with its exact phase, w included.  Flags and weights of\n"
        "RESULT count.  North is up and east is left, as the sky is seen from\n"
        "below.\n"
        "\n"
        "Without --center the zenith is in the middle, and dumps are added as\n"
        "the antennas see them: sources of long observations leave trails.\n"
        "With --center they turn with the sky, and each is imaged on its own:\n"
        "time grows with their number.\n"
        "\n"
        "FITS has a SIN projection in right ascension and declination (ICRS),\n"
        "at the mean time of the dumps with data, by weight.  Values are in "
        "the\n"
        "unit of RESULT, per dirty beam; uncalibrated, in counts squared:\n"
        "BUNIT is count2/beam, Jy/beam or K.sr/beam, left out for other "
        "units.\n"
        "\n"
        "CPU and GPU give the same pixels; what is printed says which was "
        "used.\n"
        "\n"
        "The Sun, the Moon, Cas A, Cyg A, Vir A, Tau A and the sources of\n"
        "--catalog are named.  Uncalibrated results need `fx8 fringe` first.\n",
    .run = run,
    .stops_at_once = true,
};

/* --- the line ---------------------------------------------------- */

static enum fx8_status take_center(const struct fx8_command_line *line,
                                   struct fx8_image_request *request,
                                   struct fx8_error *error)
{
    request->has_center = line->given[CENTER] != NULL;
    return request->has_center ? fx8_command_take_place(
                                     line, CENTER, request->center_deg, error)
                               : FX8_OK;
}

static enum fx8_status take_sizes(const struct fx8_command_line *line,
                                  struct fx8_image_request *request,
                                  struct fx8_error *error)
{
    const char *fov = line->given[FOV], *size = line->given[SIZE];
    int64_t n = 512;
    request->fov_deg = 180.0;
    if (fov != NULL && (!fx8_number_real(fov, &request->fov_deg) ||
                        request->fov_deg < 1e-6 || request->fov_deg > 180.0))
        return fx8_command_misuse(
            line, error, "--fov: %s: expected 1e-06 to 180 degrees", fov);
    if (size != NULL &&
        (!fx8_number_integer(size, &n) || n < 8 || n > FX8_IMAGE_MOST_SIZE))
        return fx8_command_misuse(line, error,
                                  "--size: %s: expected 8 to %d pixels", size,
                                  FX8_IMAGE_MOST_SIZE);
    request->size = (size_t)n;
    return FX8_OK;
}

static enum fx8_status take_request(const struct fx8_command_line *line,
                                    struct fx8_image_request *request,
                                    struct fx8_error *error)
{
    static const char *const backends[] = {[FX8_BACKEND_AUTO] = "auto",
                                           [FX8_BACKEND_CPU] = "cpu",
                                           [FX8_BACKEND_CUDA] = "cuda"};
    const char *polarization = line->given[POLARIZATION];
    const char *weights = line->given[WEIGHTS];
    if (line->n_files != 1)
        return fx8_command_misuse(line, error, "%zu %s: expected one result",
                                  FX8_COUNTED(line->n_files, "file", "files"));
    *request = (struct fx8_image_request){
        .path = line->files[0],
        .polarization = polarization != NULL ? polarization[0] : '\0',
        .is_uniform = weights != NULL && strcmp(weights, "uniform") == 0,
        .channels = line->given[CHANNELS],
        .times = line->given[TIMES],
        .gains = line->given[GAINS],
        .catalogue = line->given[CATALOG],
        .is_backend_given = line->given[BACKEND] != NULL,
    };
    for (size_t k = 0; k < sizeof backends / sizeof *backends; k++)
        if (request->is_backend_given &&
            strcmp(line->given[BACKEND], backends[k]) == 0)
            request->backend = (enum fx8_backend)k;
    FX8_TRY(take_center(line, request, error));
    return take_sizes(line, request, error);
}

/* --- the work ---------------------------------------------------- */

/* An output: FITS, or a picture. */
struct target {
    struct fx8_output *output;         /* NULL: not wanted */
    const struct fx8_surface *surface; /* NULL: FITS */
};

static void close_target(struct target *target)
{
    fx8_output_abandon(&target->output);
}

static enum fx8_status open_target(const struct fx8_command_line *line,
                                   struct target *target,
                                   struct fx8_error *error)
{
    const char *path = line->given[OUTPUT];
    if (path == NULL)
        return FX8_OK;
    const char *suffix = strrchr(path, '.');
    if (suffix != NULL && strcasecmp(suffix, ".fits") == 0)
        FX8_TRY(fx8_image_can_fits(error));
    else if (fx8_surface_of(path, &target->surface, error) != FX8_OK)
        return target->surface != NULL
                   ? FX8_ERR_USAGE
                   : fx8_fail(error, FX8_ERR_USAGE,
                              "%s: expected a name that ends in .png, .svg, "
                              ".pdf, .html or .fits",
                              path);
    return fx8_command_open_output(line, path, line->given[FORCE] != NULL,
                                   &target->output, error);
}

static enum fx8_status write_image(const struct fx8_command_line *line,
                                   const struct fx8_image *image,
                                   struct target *target,
                                   struct fx8_error *error)
{
    FX8_AUTO_FREE char *bytes = NULL;
    size_t size = 0;
    if (target->output == NULL)
        return FX8_OK;
    FX8_TRY(target->surface != NULL
                ? fx8_image_draw(image, target->surface, &bytes, &size, error)
                : fx8_image_fits(image, line->text, &bytes, &size, error));
    return fx8_output_finish(&target->output, bytes, size, error);
}

/* With two pixels to a beam the nearest has at least 0.7 of a source. */
static void warn_of_pixels(const struct fx8_image *image)
{
    const double pixel_deg = image->frame.step / ERFA_DD2R;
    const double beam_deg = image->beam_deg[1];
    const double sizes = (double)image->frame.size * 2.0 * pixel_deg / beam_deg;
    int size = 8;
    if (!(beam_deg > 0.0) || pixel_deg <= 0.5 * beam_deg)
        return;
    while (size < sizes && size < FX8_IMAGE_MOST_SIZE)
        size *= 2;
    char expected[64] = "a smaller --fov";
    if (size < sizes) /* 0.99: printed with three digits it still fits */
        snprintf(expected, sizeof expected, "--fov %.3g",
                 0.99 * 2.0 / ERFA_DD2R *
                     asin(0.25 * size * beam_deg * ERFA_DD2R));
    fx8_command_warning("pixels of %.2g deg, beam of %.2g deg: sources fall "
                        "between pixels: expected --size %d %s %s",
                        pixel_deg, beam_deg, size, size < sizes ? "and" : "or",
                        expected);
}

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error)
{
    struct fx8_image_request request;
    FX8_AUTO(close_target) struct target target = {0};
    FX8_AUTO(fx8_image_clear) struct fx8_image image = {0};
    FX8_AUTO(fx8_progress_end) struct fx8_progress_display progress;
    fx8_progress_start(&progress, "image", NULL,
                       line->given[QUIET] == NULL ? stderr : NULL);
    FX8_TRY(take_request(line, &request, error));
    request.progress = &progress;
    FX8_TRY(open_target(line, &target, error));
    FX8_TRY(fx8_image_make(&request, &image, error));
    FX8_TRY(write_image(line, &image, &target, error));
    fx8_progress_end(&progress);
    if (image.is_spare)
        fx8_command_warning("%s: the CPU computes in its place", image.reason);
    warn_of_pixels(&image);
    if (line->given[JSON] != NULL)
        fx8_image_print_json(&image, request.path, stdout);
    else
        fx8_image_print(&image, stdout);
    return FX8_OK;
}
