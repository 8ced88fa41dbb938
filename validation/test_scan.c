/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_scan.c -- misuse of scans, and blocks without samples. test_survey.c
 * tests what a scan delivers.
 *
 * Shows: as test_engine.c
 */
#include "validation/session_run.h"

static void ignore_samples(void *context, size_t row, const int8_t *samples,
                           const uint64_t *valid, size_t n_samples)
{
    (void)context;
    (void)row;
    (void)samples;
    (void)valid;
    (void)n_samples;
}

TEST(scans_that_are_none)
{
    const struct fx8_scan_plan good = {
        .n_rows = 1, .n_samples = 100, .most_samples = 10, .n_threads = 1};
    struct fx8_scan *scan;
    struct fx8_error error;
    int64_t n;
    must_fail(fx8_scan_open(NULL, ignore_samples, NULL, &scan, &error), error,
              FX8_ERR_USAGE, "scan: plan: NULL: expected one");
    must_fail(fx8_scan_open(&good, NULL, NULL, &scan, &error), error,
              FX8_ERR_USAGE, "scan: callback: NULL: expected one");
    must_fail(fx8_scan_push(NULL, NULL, &n, &error), error, FX8_ERR_USAGE,
              "scan: handle: NULL: expected one");
    const struct {
        struct fx8_scan_plan plan;
        const char *text;
    } bad[] = {
        {{0}, "scan: n_rows: expected at least 1"},
        {{.n_rows = 1, .first_sample = -1},
         "scan: first_sample: expected 0 to 2^61"},
        {{.n_rows = 1}, "scan: n_samples: expected 1 to 2^61"},
        {{.n_rows = 1,
          .n_samples = 1,
          .marker.is_used = true,
          .marker.value = 300},
         "scan: marker.value: expected -128 to 127"},
        {{.n_rows = 1, .n_samples = 1, .blanking.level = 128},
         "scan: blanking: expected a level of 0 to 127, a margin of 0 to 2^20"},
        {{.n_rows = 1, .n_samples = 1, .marker.is_used = true},
         "scan: marker.least_length: expected 1 to 2^20"},
        {{.n_rows = 1, .n_samples = 1},
         "scan: most_samples: expected at least 1"},
        {{.n_rows = 1, .n_samples = 1, .most_samples = 1, .n_threads = 1025},
         "scan: n_threads: expected at most 1024"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        must_fail(
            fx8_scan_open(&bad[i].plan, ignore_samples, NULL, &scan, &error),
            error, FX8_ERR_USAGE, bad[i].text);
        assert_null(scan);
    }
    must(fx8_scan_open(&good, ignore_samples, NULL, &scan, &error), error);
    must_fail(fx8_scan_push(scan, NULL, NULL, &error), error, FX8_ERR_USAGE,
              "scan: n_scanned: NULL: expected one");
    must(fx8_scan_push(scan, NULL, &n, &error), error);
    must_fail(fx8_scan_push(scan, NULL, &n, &error), error, FX8_ERR_USAGE,
              "scan: finished: expected no more samples");
    fx8_scan_close(&scan);
}

/* A block without samples is not searched for markers. */
TEST(an_empty_block_before_the_first_sample)
{
    struct fx8_plan plan = small_plan(2, 1, true, 4, 8);
    plan.marker.is_used = true;
    plan.marker.value = -128;
    plan.first_sample = 100;
    struct fx8_session *session;
    struct fx8_error error;
    const struct fx8_block empty = {.first_sample = 50};
    must(fx8_open(&plan, NULL, NULL, &session, &error), error);
    must(fx8_push(session, &empty, &error), error);
    must(fx8_finish(session, NULL, &error), error);
    fx8_close(&session);
    const struct fx8_scan_plan all = {.n_rows = 2,
                                      .is_complex = true,
                                      .first_sample = 100,
                                      .n_samples = 100,
                                      .marker.is_used = true,
                                      .marker.value = -128,
                                      .marker.least_length = 8,
                                      .most_samples = 10,
                                      .n_threads = 1};
    struct fx8_scan *scan;
    int64_t n = -1;
    must(fx8_scan_open(&all, ignore_samples, NULL, &scan, &error), error);
    must(fx8_scan_push(scan, &empty, &n, &error), error);
    assert_int_equal(n, 0);
    fx8_scan_close(&scan);
}
