/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * html.c -- a comparison as one self-explanatory page: verdict, key figures,
 * what was left out, and the figures of page.c.
 */
#include <inttypes.h>
#include <math.h>

#include "config/base/try.h"
#include "correlator/compare/figures.h"
#include "correlator/compare/sides.h"
#include "correlator/fx8.h"
#include "correlator/plot/svg.h"

/* Most items listed. */
#define MAX_LISTED 64

/* Figures lie side by side where there is room for two; wide tables scroll in a
 * box of their own, so that the page itself never does. */
static const char *const style =
    ":root{color-scheme:light}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:70em;margin:1em auto;"
    "padding:0 12px;color:#222;background:#fff}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin:2em 0 .3em}"
    "p{max-width:46em;overflow-wrap:anywhere}"
    ".box{overflow-x:auto}"
    "table{border-collapse:collapse;margin:.5em 0}"
    "td,th{padding:.15em .7em;text-align:right;vertical-align:top;"
    "border-bottom:1px solid #ddd;font-variant-numeric:tabular-nums}"
    "tr>:first-child,.files td,#judged tr>:last-child,"
    "#left-out tr>:nth-child(n+3){text-align:left}"
    "tr>:first-child{padding-left:0}"
    ".files td+td{overflow-wrap:anywhere}"
    "#key td,#judged td{white-space:nowrap}"
    "#left-out td:nth-child(n+3){min-width:8em}"
    ".verdict{padding:.6em 1em;border-left:.5em solid;background:#f4f4f4}"
    ".good{border-color:#2a7f2a}.outside{border-color:#b22}"
    ".none{border-color:#999}"
    ".figures{display:grid;gap:1.5em}"
    "@media(min-width:56em){.figures{grid-template-columns:1fr 1fr}}"
    "figure{margin:0;min-width:0;max-width:44em}"
    "svg{display:block;width:100%;height:auto}figcaption{color:#444;font-size:."
    "9em}"
    "[pointer-events]:hover{stroke:#000;stroke-width:0.7}";

static void put_head(const struct fx8_comparison *comparison, FILE *stream)
{
    fprintf(stream,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
            "charset=\"utf-8\"/>\n<meta name=\"viewport\" "
            "content=\"width=device-width, initial-scale=1\"/>\n<title>fx8 "
            "compare: %s</title>\n"
            "<style>%s</style>\n</head>\n<body>\n<h1>%s</h1>\n",
            fx8_compare_verdict_word(comparison), style,
            comparison->has_theory ? "What INT8 costs against FP32"
                                   : "Two sets of visibilities compared");
}

static void put_file(const char *what, const char *path, const char *precision,
                     FILE *stream)
{
    fprintf(stream, "<tr><td>%s</td><td>", what);
    fx8_svg_text(stream, path);
    fputs(precision[0] != '\0' ? ", " : "", stream);
    fx8_svg_text(stream, precision);
    fputs("</td></tr>\n", stream);
}

static void put_verdict(const struct fx8_comparison *comparison, FILE *stream)
{
    const struct fx8_compare_shape *shape = &comparison->shape;
    const char *word = fx8_compare_verdict_word(comparison);
    char reason[FX8_TEXT_SIZE];
    fx8_compare_verdict(comparison, reason);
    fprintf(stream, "<p class=\"verdict %s\"><strong>Verdict: %s.</strong> ",
            word, word);
    fx8_svg_text(stream, reason);
    fputs(".</p>\n<table class=\"files\">\n", stream);
    put_file("compared", comparison->subject_name, comparison->precision[0],
             stream);
    put_file("with", comparison->reference_name, comparison->precision[1],
             stream);
    fputs("<tr><td>size</td><td>", stream);
    fx8_compare_print_sizes(comparison->n_dumps, shape, stream);
    fputs("</td></tr>\n</table>\n", stream);
}

static void put_meaning(const struct fx8_comparison *comparison, FILE *stream)
{
    if (comparison->is_absolute)
        fputs("<p>The difference is in the units of the visibilities, since "
              "auto-correlations to form coherences with are missing; ",
              stream);
    else
        fputs("<p>The difference is measured in units of coherence: of every "
              "pair of inputs, channel and dump, the difference of the two "
              "visibilities over the geometric mean of the powers of both "
              "inputs; ",
              stream);
    fputs("the rms is over all that is not left out. ", stream);
    if (comparison->has_theory)
        fprintf(stream,
                "Rounding to 8 bits must cause a loss of sqrt((e₁ + e₂ + e₁ "
                "e₂) / M), where M is the number of spectra averaged, e = 1 / "
                "(%d σ²)%s and σ the level of an input in steps of the "
                "quantiser; that is the prediction. A ratio of 1 says that 8 "
                "bits cost that, and nothing else.</p>\n",
                comparison->has_dither ? 6 : 12,
                comparison->has_dither ? " with dither" : "");
    else
        fputs("Nothing is predicted: that takes one INT8 and one FP32 "
              "file of fx8, with the levels of the quantiser, and no "
              "van_vleck.</p>\n",
              stream);
}

/* A figure of the table; empty if unknown. */
static void put_cell(const char *format, double value, FILE *stream)
{
    fputs("<td>", stream);
    if (isfinite(value)) {
        char text[64];
        snprintf(text, sizeof text, format, value);
        fputs(text, stream);
    }
    fputs("</td>", stream);
}

static void put_row(const char *name, const struct fx8_compare_figures *figures,
                    bool has_theory, FILE *stream)
{
    fprintf(stream, "<tr><td>%s</td><td>%" PRId64 "</td>", name,
            figures->n_cells);
    put_cell("%.6f", figures->amplitude, stream);
    put_cell("%.6f", figures->phase_deg, stream);
    put_cell("%.6g", figures->measured, stream);
    if (has_theory) {
        put_cell("%.6g", figures->predicted, stream);
        put_cell("%.4f", figures->ratio, stream);
    }
    fputs("</tr>\n", stream);
}

static void put_figures(const struct fx8_comparison *comparison, FILE *stream)
{
    const struct fx8_compare_figures pairs = fx8_compare_figures_of(
        comparison, &comparison->overall, FX8_COMPARE_CHANNEL);
    const struct fx8_compare_figures autos = fx8_compare_figures_of(
        comparison, &comparison->autos, FX8_COMPARE_CHANNEL);
    fprintf(stream,
            "<h2>Key figures</h2>\n<div class=\"box\"><table "
            "id=\"key\">\n<tr><th></th><th>cells"
            "</th><th>amplitude ratio</th><th>phase difference, deg</th>"
            "<th>rms difference</th>%s</tr>\n",
            comparison->has_theory ? "<th>predicted</th><th>ratio</th>" : "");
    put_row("all pairs", &pairs, comparison->has_theory, stream);
    put_row("auto-correlations", &autos, comparison->has_theory, stream);
    fputs("</table></div>\n", stream);
    if (comparison->log_amplitude.n == 0)
        return;
    const struct fx8_compare_amplitudes amplitudes =
        fx8_compare_amplitudes_of(comparison);
    fprintf(stream,
            "<p>Cell by cell, where noise of both files counts in full, the "
            "median amplitude ratio is %.6g, and 68 %% of the cells lie within "
            "%.6g to %.6g.</p>\n",
            amplitudes.median, amplitudes.low, amplitudes.high);
}

/* --- checks ----------------------------------------------------- */

static void put_checks(const struct fx8_comparison *comparison, FILE *stream)
{
    if (!comparison->has_theory)
        return;
    fputs("<h2>Judged</h2>\n<p>Besides the median over channels: the worst "
          "of each kind beside the most that chance leaves to the worst of "
          "so many; of bounds, beside the most that rounding and clamping "
          "can do where chance does not rule.</p>\n<div class=\"box\"><table "
          "id=\"judged\">\n<tr><th></th><th>looked at</th><th>measured / "
          "predicted</th><th>at most</th><th>where</th></tr>\n",
          stream);
    for (enum fx8_compare_check check = 0; check < FX8_COMPARE_N_CHECKS;
         check++) {
        const struct fx8_compare_worst_of *worst = &comparison->worst[check];
        char place[FX8_COMPARE_PLACE_SIZE];
        fx8_compare_place_name(comparison, check, place);
        fprintf(stream, "<tr><td>%s</td><td>%" PRId64 "</td>",
                fx8_compare_check_names[check], worst->n_judged);
        put_cell("%.6g", worst->ratio, stream);
        put_cell("%.6g", worst->limits[1], stream);
        fprintf(stream, "<td>%s</td></tr>\n", place);
    }
    fputs("</table></div>\n", stream);
}

/* --- cells left out ---------------------------------------------- */

static void put_left_out(const struct fx8_comparison *comparison, FILE *stream)
{
    const size_t n_channels = comparison->shape.n_channels;
    const size_t n_inputs = fx8_compare_inputs(&comparison->shape);
    int64_t total = 0;
    for (size_t reason = 0; reason < FX8_COMPARE_N_REASONS; reason++)
        total += comparison->left_out[reason];
    fputs("<h2>Left out</h2>\n", stream);
    if (total == 0) {
        fprintf(stream, "<p>Nothing: %s.</p>\n",
                comparison->overall.n_cells > 0 ? "every cell counts"
                                                : "there are no pairs");
        return;
    }
    fputs("<p>Cells that say nothing about the quantiser do not count. A "
          "channel is named here as soon as one of its cells is left "
          "out.</p>\n<div class=\"box\"><table "
          "id=\"left-out\">\n<tr><th>reason"
          "</th><th>cells</th><th>channels</th><th>inputs</th></tr>\n",
          stream);
    for (size_t reason = 0; reason < FX8_COMPARE_N_REASONS; reason++) {
        if (comparison->left_out[reason] == 0)
            continue;
        fprintf(stream, "<tr><td>%s</td><td>%" PRId64 "</td><td>",
                fx8_compare_reason_names[reason], comparison->left_out[reason]);
        const size_t n_more = fx8_compare_print_ranges(
            comparison->channels_left_out + reason * n_channels, n_channels,
            MAX_LISTED, "–", stream);
        if (n_more > 0)
            fprintf(stream, " and %zu more ranges", n_more);
        fputs("</td><td>", stream);
        const size_t n_named = fx8_compare_print_inputs(
            comparison, comparison->inputs_left_out + reason * n_inputs,
            MAX_LISTED, stream);
        if (n_named > MAX_LISTED)
            fprintf(stream, " and %zu more", n_named - MAX_LISTED);
        fputs("</td></tr>\n", stream);
    }
    fputs("</table></div>\n", stream);
}

enum fx8_status fx8_compare_print_html(const struct fx8_comparison *comparison,
                                       FILE *stream, struct fx8_error *error)
{
    put_head(comparison, stream);
    put_verdict(comparison, stream);
    put_meaning(comparison, stream);
    put_figures(comparison, stream);
    put_checks(comparison, stream);
    FX8_TRY(fx8_compare_draw(comparison, stream, error));
    put_left_out(comparison, stream);
    fprintf(stream, "<p>Made by fx8 %s.</p>\n</body>\n</html>\n",
            fx8_version());
    return FX8_OK;
}
