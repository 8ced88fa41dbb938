/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/base/text.h"
#include "correlator/commands/info.h"

enum { LABEL_WIDTH = 15 };

static void print_label(const char *label)
{
    const int length = (int)strnlen(label, LABEL_WIDTH);
    printf("  ");
    fx8_text_print(label, stdout);
    printf("%*s", LABEL_WIDTH - length, "");
}

void fx8_info_field(const char *label, const char *format, ...)
{
    print_label(label);
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

void fx8_info_line(const char *label, const char *text)
{
    print_label(label);
    fx8_text_print(text, stdout);
    putchar('\n');
}

void fx8_info_text(const char *label, const char *text)
{
    if (text[0] != '\0')
        fx8_info_line(label, text);
}

void fx8_info_head(const char *path, const char *what)
{
    fx8_text_print(path, stdout);
    printf("%s\n", what);
}

void fx8_info_names(const char *telescope, const char *instrument,
                    const char *object, const struct fx8_site *site)
{
    fx8_info_text("telescope", telescope);
    fx8_info_text("instrument", instrument);
    fx8_info_text("object", object);
    if (site == NULL)
        return;
    if (isnan(site->latitude_deg) || isnan(site->longitude_deg))
        fx8_info_field("site", "not recorded");
    else
        fx8_info_field("site",
                       "latitude %.6f deg, longitude %.6f deg, "
                       "altitude %.1f m",
                       site->latitude_deg, site->longitude_deg,
                       site->altitude_m);
}

void fx8_info_names_json(struct fx8_json *json, const char *telescope,
                         const char *instrument, const char *object,
                         const struct fx8_site *site)
{
    fx8_json_text(json, "telescope", telescope);
    fx8_json_text(json, "instrument", instrument);
    fx8_json_text(json, "object", object);
    if (site == NULL)
        return;
    fx8_json_real(json, "latitude_deg", site->latitude_deg);
    fx8_json_real(json, "longitude_deg", site->longitude_deg);
    fx8_json_real(json, "altitude_m", site->altitude_m);
}

void fx8_info_julian_date(double julian_date, char text[FX8_NUMBER_TEXT_SIZE])
{
    fx8_number_format_time(fx8_time_from_julian_date(julian_date), text);
}

void fx8_info_products(const int *products, size_t n_products, char *text,
                       size_t size)
{
    static const char *const names[] = {"XX", "YY", "XY", "YX"};
    size_t used = 0;
    text[0] = '\0';
    for (size_t p = 0; p < n_products && used < size; p++) {
        const int kind = -5 - products[p];
        const char *blank = p == 0 ? "" : " ";
        const int length =
            kind >= 0 && kind < 4
                ? snprintf(text + used, size - used, "%s%s", blank, names[kind])
                : snprintf(text + used, size - used, "%s%d", blank,
                           products[p]);
        used += (size_t)length;
    }
}
