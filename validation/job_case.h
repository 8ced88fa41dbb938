/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job_case.h -- a small recording, and settings over it that must or must not
 * make a job.
 */
#ifndef FX8_VALIDATION_JOB_CASE_H
#define FX8_VALIDATION_JOB_CASE_H

#include <stdio.h>

#include "correlator/run/job.h"
#include "validation/settings_checks.h"

/* Limit on overrides of a case; the list ends with NULL. */
#define MOST_SETS 10

static struct fx8_antenna recorded_antennas[4] = {
    {.number = 11, .name = "A", .enu_m = {0, 0, 0}, .position = 0},
    {.number = 12, .name = "B", .enu_m = {10, 0, 0}, .position = 1},
    {.number = 13, .name = "C", .enu_m = {0, 20, 0}, .position = 2},
    {.number = 14, .name = "D", .enu_m = {0, 0, 30}, .position = 3},
};

/* Four antennas, two feeds, 0.1 s at 1 MS/s, every member set. */
static inline struct fx8_observation recording(void)
{
    struct fx8_observation o = fx8_observation_unknown();
    o.is_complex = true;
    o.n_antennas = 4;
    o.n_polarizations = 2;
    o.n_samples = 100000;
    o.sample_rate = (struct fx8_rate){1000000, 1};
    o.has_start_time = true;
    o.start_time = (struct fx8_time){1600000000, 5};
    o.dc_frequency_hz = 150e6;
    o.sideband = FX8_SIDEBAND_UPPER;
    snprintf(o.telescope, sizeof o.telescope, "Bench");
    o.site = (struct fx8_site){50, 6, 400};
    o.antennas = recorded_antennas;
    o.n_table = 4;
    return o;
}

/* The job of the last call; the next one clears it. */
static struct fx8_job job;

static inline enum fx8_status resolve(const struct fx8_observation *o,
                                      const char *const *sets,
                                      struct fx8_error *error)
{
    const char *all[MOST_SETS + 3] = {"channelizer.channels=16",
                                      "correlator.integration_time_s=0.01"};
    size_t n = 2;
    for (; sets != NULL && *sets != NULL; sets++)
        all[n++] = *sets;
    assert_true(n <= MOST_SETS + 2);
    fx8_job_clear(&job);
    fx8_job_clear(&job); /* clearing a zeroed one is legal */
    load_file(NULL, all, true);
    memset(&job, GARBAGE, sizeof job);
    return fx8_job_resolve(&settings, o, "rec.h5", &job, error);
}

/* A job that must resolve. */
static inline void good(const struct fx8_observation *o,
                        const char *const *sets)
{
    struct fx8_error error;
    must(resolve(o, sets, &error), error);
}

/* The job has exactly these warnings. */
static inline void expect_warnings(const char *const *texts)
{
    size_t n = 0;
    for (; texts[n] != NULL && n < job.n_warnings; n++)
        assert_string_equal(job.warnings[n], texts[n]);
    assert_int_equal(job.n_warnings, n);
    assert_null(texts[n]);
}

/* A job that must not resolve; it must be left empty. */
static inline void refuse_as(enum fx8_status status,
                             const struct fx8_observation *o,
                             const char *const *sets, const char *text)
{
    struct fx8_error error;
    must_fail(resolve(o, sets, &error), error, status, text);
    assert_null(job.inputs);
    assert_null(job.observation.antennas);
    assert_null(job.flag_antenna);
}

static inline void refuse(const struct fx8_observation *o,
                          const char *const *sets, const char *text)
{
    refuse_as(FX8_ERR_USAGE, o, sets, text);
}

/* The last override must be refused. */
static inline void refuse_last(const struct fx8_observation *o,
                               const char *const *sets, const char *expected)
{
    refuse(o, sets, fault_of(last_of(sets), expected));
}

/* Channels flagged at each end of a band, which are equally many. */
static inline size_t flagged_edges(void)
{
    const size_t n = job.axes.n_kept;
    uint8_t flags[256];
    size_t edge = 0;
    assert_true(job.axes.n_fine <= sizeof flags);
    fx8_plan_flag_channels(&job.plan, flags);
    while (edge < n && flags[edge])
        edge++;
    for (size_t k = 0; k < n; k++)
        assert_int_equal(flags[k], k < edge || k >= n - edge);
    return edge;
}

#endif
