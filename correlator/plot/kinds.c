/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "correlator/plot/kinds.h"

#define RESULTS (FX8_VIEW_RESULT | FX8_VIEW_QUICKLOOK)

const struct fx8_plot_kind fx8_plot_kinds[] = {
    {"overview", RESULTS | FX8_VIEW_RECORDING, fx8_plot_overview},
    {"spectrum", RESULTS, fx8_plot_spectrum},
    {"waterfall", RESULTS, fx8_plot_waterfall},
    {"matrix", RESULTS, fx8_plot_matrix},
    {"phase", RESULTS, fx8_plot_phase},
    {"delay", RESULTS, fx8_plot_delay},
    {"uv", FX8_VIEW_RESULT, fx8_plot_uv},
    {"closure", RESULTS, fx8_plot_closure},
    {"levels", FX8_VIEW_RECORDING, fx8_plot_levels},
};
const size_t fx8_plot_kinds_count =
    sizeof fx8_plot_kinds / sizeof *fx8_plot_kinds;

enum fx8_status fx8_plot_kind_of(const struct fx8_view *view, const char *name,
                                 const struct fx8_plot_kind **kind,
                                 struct fx8_error *error)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < fx8_plot_kinds_count; i++) {
        const struct fx8_plot_kind *row = &fx8_plot_kinds[i];
        if ((row->views & view->kind) == 0)
            continue;
        if (strcmp(name, row->name) == 0) {
            *kind = row;
            return FX8_OK;
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                 used > 0 ? ", " : "", row->name);
    }
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: --kind: %s: expected a kind that %s can give: %s",
                    view->path, name, fx8_view_kind_name(view), names);
}
