/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "correlator/plot/colours.h"

#define TURN 6.283185307179586

/* Lightness and chroma of the cycle: about the largest that sRGB has at all
 * hues. */
#define LIGHTNESS 0.70
#define CHROMA    0.12

static double limited(double value)
{
    return fmin(fmax(value, 0.0), 1.0);
}

static uint32_t packed(const double rgb[3])
{
    uint32_t colour = 0;
    for (int i = 0; i < 3; i++)
        colour = colour << 8 | (uint32_t)lrint(255.0 * limited(rgb[i]));
    return colour;
}

/* Brightness of a screen to the value that gives it (IEC 61966-2-1). */
static double encoded(double linear)
{
    return linear <= 0.0031308 ? 12.92 * linear
                               : 1.055 * pow(linear, 1.0 / 2.4) - 0.055;
}

static uint32_t amplitude(double t)
{
    static const double terms[7][3] = {
        {0.2777273272234177, 0.005407344544966578, 0.3340998053353061},
        {0.1050930431085774, 1.404613529898575, 1.384590162594685},
        {-0.3308618287255563, 0.214847559468213, 0.09509516302823659},
        {-4.634230498983486, -5.799100973351585, -19.33244095627987},
        {6.228269936347081, 14.17993336680509, 56.69055260068105},
        {4.776384997670288, -13.74514537774601, -65.35303263337234},
        {-5.435455855934631, 4.645852612178535, 26.3124352495832},
    };
    double rgb[3] = {0.0, 0.0, 0.0};
    for (int k = 6; k >= 0; k--)
        for (int i = 0; i < 3; i++)
            rgb[i] = rgb[i] * t + terms[k][i];
    return packed(rgb);
}

static uint32_t cycle(double t)
{
    const double a = CHROMA * cos(TURN * t), b = CHROMA * sin(TURN * t);
    const double l = pow(LIGHTNESS + 0.3963377774 * a + 0.2158037573 * b, 3.0);
    const double m = pow(LIGHTNESS - 0.1055613458 * a - 0.0638541728 * b, 3.0);
    const double s = pow(LIGHTNESS - 0.0894841775 * a - 1.2914855480 * b, 3.0);
    const double rgb[3] = {
        encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
        encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
        encoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
    return packed(rgb);
}

uint32_t fx8_colour_at(enum fx8_colour_map map, double value)
{
    if (isnan(value) || (map == FX8_MAP_SHARE && value <= 0.0))
        return FX8_COLOUR_BLANK;
    return map == FX8_MAP_CYCLE ? cycle(limited(value))
                                : amplitude(limited(value));
}

uint32_t fx8_colour_of(size_t index, size_t n)
{
    /* without vermilion, which FX8_COLOUR_BAD is close to */
    static const uint32_t few[] = {0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7,
                                   0x56b4e9, 0x000000, 0x999933, 0x882255,
                                   0x8c8c8c, 0x332288, 0xddcc77, 0x661100};
    if (n <= sizeof few / sizeof *few)
        return few[index];
    /* not its bright end, which is faint on white */
    return amplitude(0.88 * (double)index / (double)(n - 1));
}
