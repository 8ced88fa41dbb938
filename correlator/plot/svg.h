/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg.h -- text inside SVG and HTML.
 */
#ifndef FX8_CORRELATOR_PLOT_SVG_H
#define FX8_CORRELATOR_PLOT_SVG_H

#include <stdio.h>

/** Write text escaped for HTML and XML; control characters, and all bytes of
 *  invalid UTF-8, become '?'. */
void fx8_svg_text(FILE *stream, const char *text);

#endif
