/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * print.c -- figures of an image, as JSON and for people.
 */
#include <erfam.h>
#include <math.h>

#include "config/base/json.h"
#include "config/base/line.h"
#include "config/base/number.h"
#include "correlator/image/image.h"

static double azimuth_deg(const double enu[3])
{
    const double azimuth = atan2(enu[0], enu[1]) / ERFA_DD2R;
    return azimuth < 0.0 ? azimuth + 360.0 : azimuth;
}

static double elevation_deg(const double enu[3])
{
    return atan2(enu[2], hypot(enu[0], enu[1])) / ERFA_DD2R;
}

static void put_place(struct fx8_json *json,
                      const struct fx8_image_place *place)
{
    fx8_json_real(json, "value", place->value);
    fx8_json_real(json, "x", place->x);
    fx8_json_real(json, "y", place->y);
    fx8_json_real(json, "azimuth_deg", azimuth_deg(place->enu));
    fx8_json_real(json, "elevation_deg", elevation_deg(place->enu));
    fx8_json_real(json, "ra_deg", place->icrs_deg[0]);
    fx8_json_real(json, "dec_deg", place->icrs_deg[1]);
}

void fx8_image_print_json(const struct fx8_image *image, const char *path,
                          FILE *stream)
{
    struct fx8_json json = {.stream = stream};
    char time[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_time(image->frame.time, time);
    fx8_json_object(&json, NULL);
    fx8_json_text(&json, "path", path);
    fx8_json_text(&json, "polarization", image->polarization);
    fx8_json_text(&json, "units", image->units);
    fx8_json_text(&json, "time_utc", time);
    fx8_json_real(&json, "lst_deg", image->frame.lst_rad / ERFA_DD2R);
    fx8_json_real(&json, "frequency_hz", image->frequency_hz);
    fx8_json_real(&json, "bandwidth_hz", image->bandwidth_hz);
    fx8_json_integer(&json, "n_antennas", (int64_t)image->n_antennas);
    fx8_json_integer(&json, "n_baselines", (int64_t)image->n_baselines);
    fx8_json_integer(&json, "n_dumps", (int64_t)image->n_dumps);
    fx8_json_integer(&json, "n_channels", (int64_t)image->n_channels);
    fx8_json_integer(&json, "size", (int64_t)image->frame.size);
    fx8_json_real(&json, "step", image->frame.step);
    fx8_json_real(&json, "center_ra_deg", image->frame.icrs_deg[0]);
    fx8_json_real(&json, "center_dec_deg", image->frame.icrs_deg[1]);
    fx8_json_real(&json, "beam_major_deg", image->beam_deg[0]);
    fx8_json_real(&json, "beam_minor_deg", image->beam_deg[1]);
    fx8_json_real(&json, "beam_angle_deg", image->beam_angle_deg);
    fx8_json_real(&json, "noise", image->noise);
    fx8_json_text(&json, "backend", image->backend);
    fx8_json_text(&json, "kernel", image->kernel);
    fx8_json_object(&json, "peak");
    put_place(&json, &image->peak);
    fx8_json_end(&json);
    fx8_json_array(&json, "sources");
    for (size_t k = 0; k < image->n_sources; k++) {
        fx8_json_object(&json, NULL);
        fx8_json_text(&json, "name", image->sources[k].name);
        put_place(&json, &image->sources[k].place);
        fx8_json_end(&json);
    }
    fx8_json_end(&json);
    fx8_json_end(&json);
}

static void print_place(const char *name, const struct fx8_image_place *place,
                        FILE *stream)
{
    fprintf(stream, "%-12s %10.4g  %6.1f %5.1f  %8.3f %+8.3f\n", name,
            place->value, azimuth_deg(place->enu), elevation_deg(place->enu),
            place->icrs_deg[0], place->icrs_deg[1]);
}

void fx8_image_print(const struct fx8_image *image, FILE *stream)
{
    char time[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_time(image->frame.time, time);
    fprintf(stream,
            "%s, %zu x %zu pixels, %zu %s, %zu %s\n"
            "%s, LST %.3f deg, %.6g MHz\n",
            image->polarization, image->frame.size, image->frame.size,
            FX8_COUNTED(image->n_dumps, "dump", "dumps"),
            FX8_COUNTED(image->n_channels, "channel", "channels"), time,
            image->frame.lst_rad / ERFA_DD2R, image->frequency_hz / 1e6);
    if (image->beam_deg[0] > 0.0)
        fprintf(stream, "beam %.3g x %.3g deg\n", image->beam_deg[0],
                image->beam_deg[1]);
    if (isfinite(image->noise))
        fprintf(stream, "noise %.3g, peak %.1f times as high\n", image->noise,
                image->peak.value / image->noise);
    fprintf(stream, "computed by %s, %s\n", image->backend, image->kernel);
    if (image->reason[0] != '\0')
        fprintf(stream, "backend auto: %s\n", image->reason);
    fprintf(stream,
            "\n                  value      az    el        ra      dec\n");
    print_place("peak", &image->peak, stream);
    for (size_t k = 0; k < image->n_sources; k++)
        print_place(image->sources[k].name, &image->sources[k].place, stream);
}
