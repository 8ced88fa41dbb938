/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_job_delays.c -- delays of a job: which keys go together, what each mode
 * removes from which input, phase centres, and what the summary says of losses.
 *
 * Shows (commands, delays of a job): modes none, cable and track remove what
 *     CONVENTIONS.md says, from the input that it belongs to; keys of [delay]
 *     that contradict each other or the recording are refused
 * Within: paths 2e-4 of the baseline; else 1e-15 s; messages word for word
 * Because: the test's sky turns without precession, nutation and aberration,
 *     which move a place by less than 2e-4 rad within a month of J2000
 *
 * Shows (commands, losses by delays): the summary's figures for a plain FFT,
 *     where formulas are exact
 * Within: 1e-9
 * Because: sums of 32 doubles
 */
#include <math.h>

#include "correlator/run/delays.h"
#include "correlator/run/site.h"
#include "validation/job_case.h"
#include "validation/scratch.h"

static const double pi = 3.14159265358979323846;

/* Cables of X and Y, ns. */
static const double cables_ns[4][2] = {
    {0, 10}, {-250.5, 20}, {1000, -30}, {5, 40}};

static struct fx8_antenna with_cables[4];

/* The recording with cables, at J2000: sidereal time is known by hand. */
static struct fx8_observation cabled(void)
{
    struct fx8_observation o = recording();
    for (size_t a = 0; a < 4; a++) {
        with_cables[a] = recorded_antennas[a];
        for (size_t pol = 0; pol < 2; pol++)
            with_cables[a].cable_delay_s[pol] = cables_ns[a][pol] * 1e-9;
    }
    o.antennas = with_cables;
    o.start_time = (struct fx8_time){946728000, 0}; /* 2000-01-01T12:00 */
    return o;
}

static void find(int64_t sample, double *delay_s)
{
    struct fx8_error error;
    must(fx8_delays_find(job.plan.delays.context, sample, delay_s, &error),
         error);
}

TEST(keys_that_do_not_go_together)
{
    static const struct {
        const char *sets[5], *text;
    } cases[] = {
        {{"delay.mode=track"},
         "--set: delay.mode: track: expected delay.phase_center_ra_deg and "
         "phase_center_dec_deg, or phase_centers, beside it"},
        {{"delay.mode=track", "delay.phase_center_ra_deg=1"},
         "--set: delay.mode: track: expected delay.phase_center_ra_deg and "
         "phase_center_dec_deg, or phase_centers, beside it"},
        {{"delay.phase_center_ra_deg=1"},
         "--set: delay.phase_center_ra_deg: 1: expected delay.mode = track "
         "beside it"},
        {{"delay.mode=cable", "delay.phase_center_dec_deg=1"},
         "--set: delay.phase_center_dec_deg: 1: expected delay.mode = track "
         "beside it"},
        {{"delay.mode=cable", "channelizer.method=none",
          "channelizer.channels=1"},
         "--set: delay.mode: cable: expected none: without channels there is "
         "nothing to align"},
        {{"delay.dut1_s=0.1", "delay.iers_file=/x"},
         "--set: delay.iers_file: /x: expected either this or delay.dut1_s"},
        {{"array.positions=none", "delay.mode=track",
          "delay.phase_center_ra_deg=1", "delay.phase_center_dec_deg=1"},
         "--set: delay.mode: track: expected none or cable: array.positions = "
         "none has no positions"},
    };
    const struct fx8_observation o = recording();
    for (size_t i = 0; i < LENGTH(cases); i++)
        refuse(&o, cases[i].sets, cases[i].text);
}

/* phase_centers is a path, which --set makes absolute. */
TEST(a_catalogue_needs_mode_track_alone)
{
    struct fx8_observation o = recording();
    char list[FX8_TEXT_SIZE];
    snprintf(list, sizeof list, "delay.phase_centers=%s",
             scratch_text("two.csv", "name,ra_deg,dec_deg\nA,1,2\nB,3,4\n"));
    struct fx8_error error;
    assert_int_equal(resolve(&o, LIST(list), &error), FX8_ERR_USAGE);
    assert_non_null(strstr(error.message, "expected delay.mode = track"));
    assert_int_equal(
        resolve(&o, LIST(list, "delay.mode=track", "delay.phase_center_name=C"),
                &error),
        FX8_ERR_USAGE);
    assert_non_null(
        strstr(error.message, "expected either this or delay.phase_center_*"));
    good(&o, LIST(list, "delay.mode=track"));
    assert_int_equal(job.n_centers, 2);
    assert_string_equal(job.centers[1].place.name, "B");
    assert_true(job.centers[1].place.icrs_deg[0] == 3);
    assert_true(job.centers[1].place.icrs_deg[1] == 4);
}

TEST(cables_of_each_input)
{
    struct fx8_observation o = cabled();
    double delay_s[8];
    good(&o, NULL);
    assert_null(job.plan.delays.delay);
    assert_int_equal(job.axes.margin, 0);
    good(&o, LIST("delay.mode=cable"));
    find(7, delay_s);
    for (size_t input = 0; input < 8; input++)
        assert_near(delay_s[input], cables_ns[input / 2][input % 2] * 1e-9,
                    1e-15);
    assert_true(job.plan.delays.most_s == 1000 * 1e-9);
    /* a sample, and one more; rounding may add another */
    assert_true(job.axes.margin == 2 || job.axes.margin == 3);
    /* slot 0 is Y: inputs remain X before Y */
    good(&o, LIST("delay.mode=cable", "input.polarization_order=yx"));
    find(7, delay_s);
    assert_near(delay_s[1], 10e-9, 1e-15);
    good(&o, LIST("delay.mode=cable", "array.antennas=1,3",
                  "array.polarizations=1"));
    find(7, delay_s);
    assert_near(delay_s[0], -250.5e-9, 1e-15);
    assert_near(delay_s[1], 5e-9, 1e-15);
}

/* Gains join the cables; phases go to the plan. */
TEST(gains_join_the_cables)
{
    struct fx8_observation o = cabled();
    char key[FX8_TEXT_SIZE];
    snprintf(key, sizeof key, "array.gains=%s",
             scratch_text("gains.csv", "number,pol,amplitude,phase_deg,"
                                       "delay_ns\n12,X,2,90,7\n"));
    double delay_s[8];
    good(&o, LIST("delay.mode=cable", key));
    find(0, delay_s);
    assert_near(delay_s[2], (7 - 250.5) * 1e-9, 1e-15);
    assert_near(delay_s[3], 20e-9, 1e-15);
    assert_true(job.gains[2].amplitude == 2 && job.gains[3].amplitude == 1);
    assert_true(job.plan.delays.turns[2] == 0.25);
    assert_true(job.plan.delays.turns[3] == 0);
}

/* Towards a source on the meridian and one due east, by hand: at 2000-01-01
 * 12:00 Greenwich mean sidereal time is 280.4606 deg. */
TEST(path_to_the_centre)
{
    struct fx8_observation o = cabled();
    const double lst_deg = 280.4606 + 6; /* the site is at 6 deg east */
    static const struct {
        double hour_angle_deg, dec_deg;
    } cases[] = {{0, 10}, {-90, 0}, {30, -20}};
    for (size_t c = 0; c < LENGTH(cases); c++) {
        char ra[64], dec[64];
        snprintf(ra, sizeof ra, "delay.phase_center_ra_deg=%.9f",
                 fmod(lst_deg - cases[c].hour_angle_deg, 360));
        snprintf(dec, sizeof dec, "delay.phase_center_dec_deg=%.9f",
                 cases[c].dec_deg);
        good(&o, LIST("delay.mode=track", "delay.dut1_s=0.355", ra, dec));
        const double h = cases[c].hour_angle_deg * pi / 180;
        const double d = cases[c].dec_deg * pi / 180, l = 50 * pi / 180;
        const double towards[3] = {-cos(d) * sin(h),
                                   cos(l) * sin(d) - sin(l) * cos(d) * cos(h),
                                   sin(l) * sin(d) + cos(l) * cos(d) * cos(h)};
        double delay_s[8];
        find(0, delay_s);
        for (size_t input = 0; input < 8; input++) {
            const double *r = with_cables[input / 2].enu_m;
            const double path_s =
                (r[0] * towards[0] + r[1] * towards[1] + r[2] * towards[2]) /
                FX8_LIGHT_M_S;
            assert_near(delay_s[input],
                        cables_ns[input / 2][input % 2] * 1e-9 - path_s,
                        2e-4 * 30 / FX8_LIGHT_M_S);
        }
        /* bound: any direction */
        assert_near(job.plan.delays.most_s, 1000e-9 + 20 / FX8_LIGHT_M_S,
                    1e-6 * 20 / FX8_LIGHT_M_S + 1e-15);
    }
}

/* 100 km away the antenna moves while the wave is on its way: its delay is that
 * of the place a little later. */
TEST(the_earth_turns_under_the_wave)
{
    struct fx8_observation o = cabled();
    with_cables[1].enu_m[0] = 1e5;
    good(&o, LIST("delay.mode=track", "delay.dut1_s=0",
                  "delay.phase_center_ra_deg=300",
                  "delay.phase_center_dec_deg=40"));
    struct fx8_job_center *center = &job.centers[0];
    struct fx8_error error;
    double delay_s[8], path_s = 0;
    find(0, delay_s);
    for (size_t round = 0; round < 3; round++) {
        struct fx8_time time = o.start_time;
        time.unix_s -= path_s < 0;
        time.picosecond = (int64_t)rint((path_s + (path_s < 0)) * 1e12);
        struct fx8_place place;
        must(fx8_celestial_place(&center->sky, time, center->place.icrs_deg,
                                 &place, &error),
             error);
        path_s = -1e5 * place.axes[2][0] / FX8_LIGHT_M_S;
    }
    assert_true(fabs(path_s) > 3e-5);
    /* without it: 1e-12 s */
    assert_near(delay_s[2], path_s - 250.5e-9, 1e-14);
}

TEST(centre_below_the_horizon_is_followed_with_a_warning)
{
    struct fx8_observation o = recording();
    good(&o, LIST("delay.mode=track", "delay.phase_center_ra_deg=10",
                  "delay.phase_center_dec_deg=-89", "delay.dut1_s=0"));
    assert_int_equal(job.n_warnings, 1);
    assert_non_null(strstr(job.warnings[0], "below the horizon"));
    good(&o, LIST("delay.mode=track", "delay.phase_center_ra_deg=10",
                  "delay.phase_center_dec_deg=89"));
    expect_warnings(LIST("delay.dut1_s: not given, nor delay.iers_file: UT1 is "
                         "taken as UTC, which may move the centre by 13 "
                         "arcsec"));
}

TEST(delay_longer_than_the_recording)
{
    struct fx8_observation o = cabled();
    with_cables[2].cable_delay_s[1] = 0.1;
    refuse(&o, LIST("delay.mode=cable"),
           "--set: delay.mode: cable: antenna 13: delay of up to 0.1 s: "
           "expected less than the 0.1 s of rec.h5");
    good(&o, NULL);
}

/* 16 samples a spectrum, 1 MS/s: 1000 ns and -250.5 ns leave 0 and -0.2505. */
TEST(losses)
{
    struct fx8_observation o = cabled();
    struct fx8_delay_figures f;
    struct fx8_error error;
    good(&o, LIST("delay.mode=cable", "channelizer.method=fft",
                  "array.polarizations=1"));
    must(fx8_delays_measure(&job.centers[0], &f, &error), error);
    assert_near(f.most_s, 1e-6, 1e-15);
    assert_true(f.most_rate == 0);
    assert_near(f.rest_samples, 0.2505, 1e-9);
    assert_near(f.delay_loss, (0.2505 + 0.005) / 16, 1e-9);
    assert_near(f.fringe_loss, 0, 1e-9);
    /* a baseline of 20 m, 0.01 s a dump: 2e-8 turns */
    const double diagonal_m = sqrt(10 * 10 + 20 * 20 + 30 * 30);
    assert_near(fx8_delays_dump_turns(&job) / (diagonal_m / FX8_LIGHT_M_S *
                                               150.5e6 * 7.2921159e-5 * 0.01),
                1, 1e-9);
    good(&o, LIST("delay.mode=track", "channelizer.method=fft",
                  "delay.phase_center_ra_deg=286", "delay.dut1_s=0",
                  "delay.phase_center_dec_deg=10"));
    must(fx8_delays_measure(&job.centers[0], &f, &error), error);
    /* in 0.1 s nothing moves by a sample */
    assert_true(f.most_rate > 0 && f.rest_samples < 0.5);
    /* cables of -0.2505 and 0.04 sample, and paths below 0.1 sample */
    assert_near(f.delay_loss, (0.04 + 0.2505) / 16, 0.1 / 16);
    o.n_samples = INT64_C(1) << 40;
    good(&o, LIST("delay.mode=track", "channelizer.method=fft",
                  "correlator.integration_time_s=1000",
                  "delay.phase_center_ra_deg=286", "delay.dut1_s=0",
                  "delay.phase_center_dec_deg=10"));
    must(fx8_delays_measure(&job.centers[0], &f, &error), error);
    assert_true(f.rest_samples == 0.5);
    assert_near(f.delay_loss, 1.0 / 16, 1e-9);
}
