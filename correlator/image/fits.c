/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fits.c -- an image as FITS, by CFITSIO.
 *
 * The projection is SIN: its native coordinates are direction cosines, here in
 * degrees, so pixels of equal steps in l and m are exact up to the horizon.
 * Aberration bends the sky by at most 20 arcseconds against it.
 */
#include <stdlib.h>
#include <string.h>

#include "correlator/image/image.h"

#ifdef FX8_HAVE_CFITSIO
#include <erfam.h>
#include <fitsio.h>
#include <math.h>

#include "config/base/number.h"
#include "config/base/text.h"

/* A keyword; text NULL: a number. */
struct card {
    const char *name, *text;
    double value;
    const char *comment;
};

static void put_cards(fitsfile *file, const struct card *cards, size_t n,
                      int *status)
{
    for (size_t k = 0; k < n; k++)
        if (cards[k].text != NULL)
            fits_write_key_str(file, cards[k].name, cards[k].text,
                               cards[k].comment, status);
        else
            fits_write_key_dbl(file, cards[k].name, cards[k].value, -15,
                               cards[k].comment, status);
}

static void put_place(fitsfile *file, const struct fx8_image *image,
                      int *status)
{
    const struct fx8_image_frame *frame = &image->frame;
    const double step_deg = frame->step / ERFA_DD2R;
    const double middle = (double)(frame->size / 2) + 1.0;
    const struct card cards[] = {
        {"CTYPE1", "RA---SIN", 0.0, NULL},
        {"CTYPE2", "DEC--SIN", 0.0, NULL},
        {"CUNIT1", "deg", 0.0, NULL},
        {"CUNIT2", "deg", 0.0, NULL},
        {"CRPIX1", NULL, middle, NULL},
        {"CRPIX2", NULL, middle, NULL},
        {"CRVAL1", NULL, frame->icrs_deg[0], "centre, at DATE-AVG"},
        {"CRVAL2", NULL, frame->icrs_deg[1], NULL},
        {"CDELT1", NULL, -step_deg, NULL},
        {"CDELT2", NULL, step_deg, NULL},
        {"PC1_1", NULL, frame->turn[0][0], "from the image's north"},
        {"PC1_2", NULL, -frame->turn[0][1], "to that of the ICRS"},
        {"PC2_1", NULL, -frame->turn[1][0], NULL},
        {"PC2_2", NULL, frame->turn[1][1], NULL},
        {"RADESYS", "ICRS", 0.0, NULL},
    };
    put_cards(file, cards, sizeof cards / sizeof *cards, status);
}

/* The beam, whose angle is from north on the sky. */
static void put_beam(fitsfile *file, const struct fx8_image *image, int *status)
{
    const double angle = image->beam_angle_deg * ERFA_DD2R;
    const double(*turn)[2] = image->frame.turn;
    const double l = sin(angle), m = cos(angle);
    const double east = turn[0][0] * l + turn[0][1] * m;
    const double north = turn[1][0] * l + turn[1][1] * m;
    const struct card cards[] = {
        {"BMAJ", NULL, image->beam_deg[0],
         "deg, FWHM, from the curvature at the peak"},
        {"BMIN", NULL, image->beam_deg[1], "deg"},
        {"BPA", NULL, atan2(east, north) / ERFA_DD2R, "deg, north to east"},
    };
    if (image->beam_deg[0] > 0.0)
        put_cards(file, cards, sizeof cards / sizeof *cards, status);
}

/* Units of UVH5 as FITS spells them; others are left out. */
static void put_unit(fitsfile *file, const struct fx8_image *image, int *status)
{
    static const char *const units[][2] = {
        {"uncalib", "count2/beam"}, {"Jy", "Jy/beam"}, {"K str", "K.sr/beam"}};
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        if (strcmp(image->units, units[k][0]) == 0)
            fits_write_key_str(file, "BUNIT", units[k][1], NULL, status);
}

static void put_header(fitsfile *file, const struct fx8_image *image,
                       const char *history, int *status)
{
    char start[FX8_NUMBER_TEXT_SIZE], middle[FX8_NUMBER_TEXT_SIZE];
    fx8_number_format_time(image->start, start);
    fx8_number_format_time(image->frame.time, middle);
    start[strcspn(start, "Z")] = middle[strcspn(middle, "Z")] = '\0';
    const struct card cards[] = {
        {"TELESCOP", image->telescope, 0.0, NULL},
        {"STOKES", image->polarization, 0.0, NULL},
        {"TIMESYS", "UTC", 0.0, NULL},
        {"DATE-OBS", start, 0.0, "begin"},
        {"DATE-AVG", middle, 0.0, "mean by weight"},
        {"MJD-OBS", NULL, fx8_time_julian_date(image->start) - 2400000.5, NULL},
        {"MJD-AVG", NULL, fx8_time_julian_date(image->frame.time) - 2400000.5,
         NULL},
        {"TELAPSE", NULL, image->duration_s, "s, begin to end"},
        {"FREQ", NULL, image->frequency_hz, "Hz, weighted mean"},
        {"BANDWID", NULL, image->bandwidth_hz, "Hz, all channels"},
        {"LST", NULL, image->frame.lst_rad / ERFA_DD2R,
         "deg, apparent, at DATE-AVG"},
        {"SITELAT", NULL, image->site.latitude_deg, "deg"},
        {"SITELONG", NULL, image->site.longitude_deg, "deg, east"},
    };
    put_cards(file, cards, sizeof cards / sizeof *cards, status);
    put_unit(file, image, status);
    put_place(file, image, status);
    put_beam(file, image, status);
    fits_write_history(file, history, status);
    fits_write_comment(file, "dirty image: not divided by the antennas' beam",
                       status);
}

enum fx8_status fx8_image_fits(const struct fx8_image *image,
                               const char *history, char **bytes, size_t *size,
                               struct fx8_error *error)
{
    const long n = (long)image->frame.size;
    float blank = NAN;
    int status = 0;
    fitsfile *file = NULL;
    void *memory = NULL;
    *size = 0;
    fits_create_memfile(&file, &memory, size, 1 << 20, realloc, &status);
    fits_create_img(file, FLOAT_IMG, 2, (long[]){n, n}, &status);
    put_header(file, image, history, &status);
    fits_write_imgnull(file, TFLOAT, 1, n * n, image->pixels, &blank, &status);
    if (file != NULL)
        fits_close_file(file, &status);
    *bytes = memory;
    if (status == 0)
        return FX8_OK;
    char text[FLEN_STATUS];
    fits_get_errstatus(status, text);
    free(memory);
    *bytes = NULL;
    return fx8_fail(error, FX8_ERR_SYSTEM, "FITS: CFITSIO: %s", text);
}

enum fx8_status fx8_image_can_fits(struct fx8_error *error)
{
    (void)error;
    return FX8_OK;
}

#else

enum fx8_status fx8_image_can_fits(struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_USAGE,
                    "--output: .fits: fx8 was built without CFITSIO: apt-get "
                    "install libcfitsio-dev, and build again");
}

enum fx8_status fx8_image_fits(const struct fx8_image *image,
                               const char *history, char **bytes, size_t *size,
                               struct fx8_error *error)
{
    (void)image;
    (void)history;
    (void)size;
    *bytes = NULL;
    return fx8_image_can_fits(error);
}

#endif
