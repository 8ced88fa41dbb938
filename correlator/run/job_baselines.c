/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/run/job_private.h"

/* The index of the correlated antenna with this number; n_antennas if there is
 * none. */
static size_t find_antenna(const struct fx8_job *job, int64_t number)
{
    size_t a = 0;
    while (a < job->plan.n_antennas &&
           job->observation.antennas[a].number != number)
        a++;
    return a;
}

/* Mark the pairs of the list; is_listed [n_antennas][n_antennas]. */
static enum fx8_status mark_listed(const struct fx8_job *job,
                                   uint8_t *is_listed, struct fx8_error *error)
{
    const struct fx8_baseline_list *list = &job->settings->output.baselines;
    const size_t n = job->plan.n_antennas;
    for (size_t k = 0; k < list->count; k++) {
        size_t at[2];
        for (size_t end = 0; end < 2; end++) {
            at[end] = find_antenna(job, list->pairs[k][end]);
            if (at[end] == n)
                return fx8_settings_fail(
                    job->settings, "output.baselines", error,
                    "number %lld: expected an antenna that is correlated",
                    (long long)list->pairs[k][end]);
        }
        is_listed[at[0] * n + at[1]] = is_listed[at[1] * n + at[0]] = 1;
    }
    return FX8_OK;
}

/* Length of a baseline. */
static double length_m(const struct fx8_job *job, size_t a1, size_t a2)
{
    const double *r1 = job->observation.antennas[a1].enu_m;
    const double *r2 = job->observation.antennas[a2].enu_m;
    return hypot(hypot(r2[0] - r1[0], r2[1] - r1[1]), r2[2] - r1[2]);
}

static bool is_wanted(const struct fx8_job *job, const uint8_t *is_listed,
                      size_t a1, size_t a2)
{
    const struct fx8_settings *settings = job->settings;
    const bool is_auto = a1 == a2;
    const bool is_chosen[] = {
        [FX8_BASELINES_ALL] = true,
        [FX8_BASELINES_CROSS] = !is_auto,
        [FX8_BASELINES_AUTO] = is_auto,
        [FX8_BASELINES_LIST] =
            is_listed != NULL && is_listed[a1 * job->plan.n_antennas + a2],
    };
    if (!is_chosen[settings->output.baselines.kind] || is_auto)
        return is_chosen[settings->output.baselines.kind];
    const double length = length_m(job, a1, a2);
    return length >= settings->output.min_baseline_m &&
           length <= settings->output.max_baseline_m;
}

static enum fx8_status check(const struct fx8_job *job, struct fx8_error *error)
{
    const double least = job->settings->output.min_baseline_m;
    const double most = job->settings->output.max_baseline_m;
    const char *key =
        isfinite(most) ? "output.max_baseline_m" : "output.min_baseline_m";
    if (job->positions_are_faked && (least > 0.0 || isfinite(most)))
        return fx8_settings_fail(job->settings, key, error,
                                 "expected positions of the antennas, not "
                                 "array.positions = none");
    if (least > most)
        return fx8_settings_fail(job->settings, "output.min_baseline_m", error,
                                 "expected at most max_baseline_m, %.9g", most);
    return FX8_OK;
}

/* Fill plan.baselines, unless all are wanted. */
static enum fx8_status choose(struct fx8_job *job, const uint8_t *is_listed,
                              struct fx8_error *error)
{
    struct fx8_plan *plan = &job->plan;
    const size_t n_antennas = plan->n_antennas;
    const size_t n_all = n_antennas * (n_antennas + 1) / 2;
    size_t baseline = 0;
    FX8_TRY(fx8_allocate(n_all, sizeof *job->baselines, "baselines",
                         &job->baselines, error));
    for (size_t a1 = 0; a1 < n_antennas; a1++)
        for (size_t a2 = a1; a2 < n_antennas; a2++, baseline++)
            if (is_wanted(job, is_listed, a1, a2))
                job->baselines[plan->n_baselines++] = baseline;
    if (plan->n_baselines == 0)
        return fx8_settings_fail(job->settings, "output.baselines", error,
                                 "no baseline is left of the %zu %s: expected "
                                 "others, or lengths that min_baseline_m and "
                                 "max_baseline_m allow",
                                 FX8_COUNTED(n_all, "baseline", "baselines"));
    if (plan->n_baselines == n_all)
        return FX8_OK;
    plan->baselines = job->baselines;
    return plan->quicklook
               ? fx8_settings_fail(job->settings, "postprocess.quicklook",
                                   error,
                                   "expected none with output.baselines, "
                                   "min_baseline_m or max_baseline_m: it is "
                                   "made of all baselines")
               : FX8_OK;
}

/* What the averages of dumps cannot be combined with. */
static enum fx8_status check_averages(const struct fx8_job *job,
                                      struct fx8_error *error)
{
    static const char key[] = "output.time_average_loss";
    const struct fx8_settings *settings = job->settings;
    const struct {
        bool is_set;
        const char *expected;
    } others[] = {
        {job->positions_are_faked,
         "expected positions of the antennas, not array.positions = none"},
        {(settings->correlator.precision & FX8_PRECISION_INTERVAL) != 0,
         "expected 0 with correlator.precision = interval: averages of bounds "
         "are rounded, too"},
        {(settings->correlator.precision & FX8_PRECISION_BOTH) ==
             FX8_PRECISION_BOTH,
         "expected 0 with correlator.precision = both: the comparison needs "
         "every dump"},
        {settings->output.compression != FX8_COMPRESSION_NONE,
         "expected 0 with output.compression: packed chunks do not end where "
         "the dumps do that are averaged"},
        {settings->postprocess.quicklook[0] != '\0',
         "expected 0 with postprocess.quicklook: --resume makes it again, of "
         "dumps that are not averaged"},
    };
    if (!(settings->output.time_average_loss > 0.0))
        return FX8_OK;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].is_set)
            return fx8_settings_fail(settings, key, error, "%s",
                                     others[i].expected);
    return FX8_OK;
}

enum fx8_status fx8_job_choose_baselines(struct fx8_job *job,
                                         struct fx8_error *error)
{
    FX8_TRY(check_averages(job, error));
    const struct fx8_settings *settings = job->settings;
    const enum fx8_baseline_kind kind = settings->output.baselines.kind;
    const size_t n = job->plan.n_antennas;
    FX8_AUTO_FREE uint8_t *is_listed = NULL;
    FX8_TRY(check(job, error));
    if (kind == FX8_BASELINES_ALL && !(settings->output.min_baseline_m > 0.0) &&
        !isfinite(settings->output.max_baseline_m))
        return FX8_OK;
    if (kind == FX8_BASELINES_LIST) {
        FX8_TRY(fx8_allocate(fx8_product(n, n, 1, 1), 1, "baselines",
                             &is_listed, error));
        FX8_TRY(mark_listed(job, is_listed, error));
    }
    return choose(job, is_listed, error);
}
