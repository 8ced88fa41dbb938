/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_job_antennas.c -- which antennas and feeds of a recording a job takes,
 * and their positions.
 *
 * Shows: as test_job.c
 */
#include "validation/job_case.h"
#include "validation/scratch.h"

/* --- which antennas, which feeds
 * ----------------------------------------------------
 */

TEST(antennas_by_count_and_by_list)
{
    static const struct {
        const char *set;
        size_t n, positions[4];
    } cases[] = {
        {"array.antennas=all", 4, {0, 1, 2, 3}},
        {"array.antennas=3", 3, {0, 1, 2}},
        {"array.antennas=2-2", 1, {2}},
        {"array.antennas=3,0-1", 3, {3, 0, 1}},
    };
    const struct fx8_observation o = recording();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        good(&o, LIST(cases[i].set));
        assert_int_equal(job.plan.n_antennas, cases[i].n);
        assert_int_equal(job.n_inputs, 2 * cases[i].n);
        for (size_t a = 0; a < cases[i].n; a++) {
            const size_t position = cases[i].positions[a];
            assert_int_equal(job.inputs[2 * a].antenna, position);
            assert_int_equal(job.inputs[2 * a + 1].antenna, position);
            assert_int_equal(job.observation.antennas[a].number, 11 + position);
        }
    }
    refuse_last(&o, LIST("array.antennas=5"),
                "expected at most the 4 antennas of rec.h5");
    refuse_last(&o, LIST("array.antennas=0,4"),
                "position 4: expected 0 to 3, the antennas of rec.h5");
}

/* Too many antennas are refused by key before anything of that size is
 * allocated. */
TEST(more_antennas_than_can_be_paired)
{
    struct fx8_observation o = recording();
    o.n_antennas = 65536;
    o.n_polarizations = 1;
    refuse(&o, LIST("array.positions=none"),
           "default: array.antennas: all: expected at most 32768 of the 65536 "
           "antennas of rec.h5");
    refuse_last(&o, LIST("array.positions=none", "array.antennas=32769"),
                "expected at most 32768 of the 65536 antennas of rec.h5");
    refuse_last(&o,
                LIST("array.positions=none", "array.antennas=0-32767,65535"),
                "expected at most 32768 of the 65536 antennas of rec.h5");
    good(&o, LIST("array.positions=none", "array.antennas=32767-65534"));
    assert_int_equal(job.plan.n_antennas, 32768);
    assert_int_equal(job.inputs[32767].antenna, 65534);
}

TEST(feeds_in_either_order)
{
    static const struct {
        size_t recorded;
        const char *sets[3];
        size_t n, slots[2];
    } cases[] = {
        {2, {NULL}, 2, {0, 1}},
        {2, {"input.polarization_order=yx"}, 2, {1, 0}},
        {2, {"array.polarizations=1"}, 1, {0}},
        {2, {"input.polarization_order=yx", "array.polarizations=1"}, 1, {1}},
        {1, {NULL}, 1, {0}},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct fx8_observation o = recording();
        o.n_polarizations = cases[i].recorded;
        good(&o, cases[i].sets);
        assert_int_equal(job.plan.n_polarizations, cases[i].n);
        assert_int_equal(job.n_inputs, 4 * cases[i].n);
        for (size_t input = 0; input < job.n_inputs; input++)
            assert_int_equal(job.inputs[input].polarization,
                             cases[i].slots[input % cases[i].n]);
    }
    struct fx8_observation o = recording();
    o.n_polarizations = 1;
    refuse_last(&o, LIST("array.polarizations=2"),
                "expected at most 1, as rec.h5 has");
    refuse_last(
        &o, LIST("input.polarization_order=yx"),
        "expected xy: rec.h5 has one polarisation, which is written as X");
}

/* --- positions -------------------------------------------------------- */

TEST(positions_from_a_table)
{
    const struct fx8_observation o = recording();
    char set[600], text[900];
    const char *path =
        scratch_text("antennas.csv", "number,east_m,north_m,up_m,input\n"
                                     "7,1,2,3,2\n8,4,5,6,0\n9,7,8,9,1\n");
    snprintf(set, sizeof set, "array.positions=%s", path);
    good(&o, LIST(set, "array.antennas=3", "array.flag_antennas=9,7"));
    static const int numbers[] = {8, 9, 7}, flags[] = {0, 1, 1};
    for (size_t a = 0; a < 3; a++) {
        assert_int_equal(job.observation.antennas[a].number, numbers[a]);
        assert_int_equal(job.observation.antennas[a].position, a);
        assert_int_equal(job.flag_antenna[a], flags[a]);
    }
    assert_true(job.observation.antennas[2].enu_m[2] == 3);
    expect_warnings(LIST(
        ("array.positions: antenna 7 of the table is at position 2, where the "
         "recording has antenna 13: sort the rows, or add a column input")));
    snprintf(text, sizeof text,
             "%s: 3 rows: expected one for the antenna at position 3 of the "
             "recording",
             path);
    refuse(&o, LIST(set), text);
    refuse_last(&o, LIST(set, "array.antennas=2", "array.flag_antennas=7"),
                "number 7: expected an antenna that is correlated");
    path = scratch_text("more.csv", "number,east_m,north_m,up_m\n11,1,2,3\n"
                                    "12,4,5,6\n13,7,8,9\n14,8,8,8\n15,9,9,9\n");
    snprintf(set, sizeof set, "array.positions=%s", path);
    good(&o, LIST(set));
    expect_warnings(LIST("array.positions: 1 of 5 rows ignored: the recording "
                         "has 4 antennas"));
}

/* Cable delays: the table wins, per polarisation; rows are matched by their
 * position in the recording, names by the antenna's number. */
TEST(cable_delays_of_two_tables)
{
    static const struct {
        const char *columns, *rows[2];
        double delay_s[2][2]; /* of the antennas at positions 0 and 2 */
        const char *warnings[3];
    } cases[] = {
        {"", {"", ""}, {{1e-9, 2e-9}, {5e-9, 0}}, {NULL}},
        {",cable_delay_ns",
         {",7", ",8"},
         {{7e-9, 7e-9}, {8e-9, 8e-9}},
         {"array.positions: antenna 13: cable delay of X 8 ns wins over 5 ns "
          "recorded"}},
        {",cable_delay_x_ns",
         {",1", ",8"},
         {{1e-9, 2e-9}, {8e-9, 0}},
         {"array.positions: antenna 13: cable delay of X 8 ns wins over 5 ns "
          "recorded"}},
        {",cable_delay_y_ns",
         {",2", ",8"},
         {{1e-9, 2e-9}, {5e-9, 8e-9}},
         {NULL}},
        {NULL,
         {"", ""},
         {{1e-9, 2e-9}, {5e-9, 0}},
         {"array.positions: none: antennas are written 1 m apart eastward "
          "(keyword POSFAKE)"}},
        {",cable_delay_y_ns,name",
         {",0,A", ",-1000000000,B"},
         {{1e-9, 0}, {5e-9, -1}},
         {"array.positions: antenna 13: B wins over C recorded",
          "array.positions: antenna 11: cable delay of Y 0 ns wins over 2 ns "
          "recorded"}},
    };
    struct fx8_antenna antennas[4];
    memcpy(antennas, recorded_antennas, sizeof antennas);
    antennas[0].cable_delay_s[0] = 1e-9;
    antennas[0].cable_delay_s[1] = 2e-9;
    antennas[2].cable_delay_s[0] = 5e-9;
    struct fx8_observation o = recording();
    o.antennas = antennas;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char text[400], set[600];
        snprintf(text, sizeof text,
                 "number,east_m,north_m,up_m,input%s\n"
                 "13,1,2,3,2%s\n11,4,5,6,0%s\n",
                 cases[i].columns != NULL ? cases[i].columns : "",
                 cases[i].rows[1], cases[i].rows[0]);
        snprintf(set, sizeof set, "array.positions=%s",
                 cases[i].columns == NULL ? "none"
                                          : scratch_text("antennas.csv", text));
        good(&o, LIST(set, "array.antennas=0,2"));
        for (size_t a = 0; a < 2; a++)
            check_bytes(job.observation.antennas[a].cable_delay_s,
                        cases[i].delay_s[a], sizeof cases[i].delay_s[a]);
        expect_warnings(cases[i].warnings);
    }
}

TEST(positions_of_a_recording)
{
    struct fx8_antenna antennas[4];
    memcpy(antennas, recorded_antennas, sizeof antennas);
    struct fx8_observation o = recording();
    o.antennas = antennas;
    antennas[3].number = 12;
    refuse(&o, NULL,
           "rec.h5: antenna number 12 occurs twice: expected each once");
    antennas[3].number = 14;
    antennas[3].enu_m[2] = 0.0009;
    refuse(&o, NULL,
           "rec.h5: antennas 11 and 14: less than 1 mm apart: expected "
           "different places");
    antennas[3].enu_m[2] = NAN;
    refuse(&o, NULL,
           "rec.h5: antenna 14: position nan m: expected a finite number, or "
           "another table or none as array.positions");
    antennas[3].enu_m[2] = -5.1e6;
    refuse(&o, NULL,
           "rec.h5: antennas: row 3: position: 0, 0, -5100000: expected metres "
           "east, north and up of the site, at most 1000 km (ECEF?)");
    good(&o, LIST("array.antennas=3")); /* not asked for */
    o.n_table = 2;
    refuse(&o, NULL,
           "rec.h5: 2 rows: expected one for the antenna at position 2 of the "
           "recording");
    o.n_table = 0;
    o.antennas = NULL;
    refuse(
        &o, NULL,
        "configuration: missing, also in rec.h5: array.positions (a table of "
        "antennas, or none)");
}

TEST(positions_that_are_made_up)
{
    struct fx8_observation o = recording();
    o.n_table = 0;
    o.antennas = NULL;
    o.site.longitude_deg = NAN;
    refuse(
        &o, NULL,
        "configuration: missing, also in rec.h5: array.positions (a table of "
        "antennas, or none), array.longitude_deg (of the site)");
    refuse(&o, LIST("array.positions=none"),
           "configuration: missing, also in rec.h5: array.longitude_deg (of "
           "the site)");
    o.site = (struct fx8_site){NAN, NAN, NAN};
    good(&o, LIST("array.positions=none", "array.antennas=3,1"));
    assert_true(job.positions_are_faked);
    expect_warnings(LIST(("array.positions: none: antennas are written 1 m "
                          "apart eastward (keyword POSFAKE)"),
                         ("array.latitude_deg: not given: the site is written "
                          "as latitude 0, longitude 0, altitude 0")));
    assert_true(job.observation.site.latitude_deg == 0.0);
    static const int positions[] = {3, 1};
    static const char *const names[] = {"ANT003", "ANT001"};
    for (size_t a = 0; a < 2; a++) {
        const struct fx8_antenna *antenna = &job.observation.antennas[a];
        assert_int_equal(antenna->number, positions[a]);
        assert_int_equal(antenna->position, positions[a]);
        assert_string_equal(antenna->name, names[a]);
        assert_true(antenna->enu_m[0] == (double)a);
        assert_true(antenna->enu_m[1] == 0 && antenna->enu_m[2] == 0);
    }
    o.site = (struct fx8_site){50, 6, 400};
    good(&o, LIST("array.positions=none"));
    assert_int_equal(job.n_warnings, 1);
    assert_true(job.observation.site.latitude_deg == 50);
}

/* --- baselines --------------------------------------------------------- */

/* 11, 12, 13 and 14 are at 0, 10 m east, 20 m north and 30 m up. */
TEST(baselines_by_word_list_and_length)
{
    static const struct {
        const char *sets[3];
        size_t n, baselines[10]; /* n 0: all */
    } cases[] = {
        {{"output.baselines=all"}, 0, {0}},
        {{"output.baselines=cross"}, 6, {1, 2, 3, 5, 6, 8}},
        {{"output.baselines=auto"}, 4, {0, 4, 7, 9}},
        {{"output.baselines=14&12,11&11,12&13"}, 3, {0, 5, 6}},
        /* lengths are those of cross baselines, both limits included */
        {{"output.max_baseline_m=20"}, 6, {0, 1, 2, 4, 7, 9}},
        {{"output.max_baseline_m=19.999"}, 5, {0, 1, 4, 7, 9}},
        {{"output.min_baseline_m=30"}, 7, {0, 3, 4, 6, 7, 8, 9}},
        {{"output.min_baseline_m=20", "output.max_baseline_m=30",
          "output.baselines=cross"},
         3,
         {2, 3, 5}},
        {{"output.baselines=11&12,11&14", "output.min_baseline_m=25"}, 1, {3}},
        {{"output.max_baseline_m=40"}, 0, {0}},
        {{"output.max_baseline_m=0"}, 4, {0, 4, 7, 9}},
    };
    const struct fx8_observation o = recording();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        good(&o, LIST(cases[i].sets[0], cases[i].sets[1], cases[i].sets[2]));
        assert_int_equal(job.plan.baselines == NULL, cases[i].n == 0);
        assert_int_equal(job.axes.n_baselines,
                         cases[i].n == 0 ? 10 : cases[i].n);
        for (size_t k = 0; k < cases[i].n; k++)
            assert_int_equal(job.plan.baselines[k], cases[i].baselines[k]);
    }
}

TEST(baselines_that_are_refused)
{
    const struct fx8_observation o = recording();
    refuse_last(&o, LIST("output.baselines=11&12,12&15"),
                "number 15: expected an antenna that is correlated");
    refuse_last(&o, LIST("array.antennas=2", "output.baselines=11&13"),
                "number 13: expected an antenna that is correlated");
    refuse_last(&o,
                LIST("output.max_baseline_m=30", "output.min_baseline_m=31"),
                "expected at most max_baseline_m, 30");
    refuse_last(&o, LIST("output.min_baseline_m=40", "output.baselines=cross"),
                "no baseline is left of the 10 baselines: expected others, or "
                "lengths that min_baseline_m and max_baseline_m allow");
    refuse_last(&o, LIST("array.positions=none", "output.max_baseline_m=30"),
                "expected positions of the antennas, not array.positions = "
                "none");
    refuse_last(&o, LIST("array.positions=none", "output.min_baseline_m=30"),
                "expected positions of the antennas, not array.positions = "
                "none");
    refuse_last(&o,
                LIST("output.baselines=cross", "postprocess.quicklook=l.h5"),
                "expected none with output.baselines, min_baseline_m or "
                "max_baseline_m: it is made of all baselines");
    /* where all are left, nothing is in the way */
    good(&o, LIST("output.max_baseline_m=40", "postprocess.quicklook=l.h5"));
    assert_true(job.plan.quicklook);
}
