/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cost.c -- the arithmetic of `fx8 plan`, worked out by hand for a node
 * with round figures.
 *
 * Shows (commands, cost arithmetic): seconds of every stage, on one thread and
 *     on two, of one precision and of both, and on a card; times on one node
 *     and on many, and what bounds them; wrong documents are refused by name
 * Within: 10⁻¹²
 * Because: some products and one logarithm in double
 */
#include <stdio.h>

#include "correlator/plan/plan.h"
#include "validation/job_case.h"
#include "validation/testing.h"

#define ROUNDING 1e-12

/* A node of two CPUs that does everything twice as fast on both.  INT8:
 * microseconds per sample of the filter bank 1 to 2 for 16 to 256 channels, of
 * the correlator 1 to 4 for 4 to 16 inputs, a microsecond per cell, a
 * millisecond per channel and input for levels.  FP32 takes twice as long.  A
 * card takes a tenth, a twentieth of a microsecond per cell, and 0.1 to 0.4
 * microseconds to get a byte. */
static char document[16384];

static void add(const char *name, const char *quantity, int n_threads,
                double value)
{
    char record[256];
    snprintf(record, sizeof record,
             "%s{\"section\": \"node\", \"case\": \"%s\", \"quantity\": "
             "\"%s\", \"threads\": %d, \"value\": %.17g}",
             document[strlen(document) - 1] == '[' ? "" : ", ", name, quantity,
             n_threads, value);
    assert_true(strlen(document) + strlen(record) < sizeof document - 8);
    strcat(document, record);
}

static void add_stages(const char *name, int n_threads, double bank_s,
                       double products_s, double cell_s, double level_s)
{
    const double n = n_threads;
    add(name, "channelize", n_threads, n / bank_s);
    add(name, "correlate", n_threads, n / products_s);
    add(name, "dump", n_threads, n / cell_s);
    add(name, "level", n_threads, level_s / n);
}

static void add_card(const char *name, double bank_s, double products_s,
                     double byte_s, double start_s)
{
    add(name, "channelize", 1, 1.0 / bank_s);
    add(name, "correlate", 1, 1.0 / products_s);
    add(name, "dump", 1, 2e7);
    add(name, "PCIe", 1, 1.0 / byte_s);
    add(name, "start", 1, start_s);
}

static struct fx8_cost_machine machine;

/* What a thread touches of memory that is new; all are as fast together as each
 * by itself. */
static double touched_bytes_s = 1e30;

/* The node; without the case `but`. */
static enum fx8_status load_node(const char *but, struct fx8_error *error)
{
    snprintf(document, sizeof document,
             "{\"threads\": 2, \"date_utc\": \"today\", \"machine\": {\"cpu\": "
             "\"a CPU\", \"n_cpus\": 2}, \"records\": [");
    for (int t = 1; t <= 2; t++) {
        add("memory", "first touch", t, t * touched_bytes_s);
        add_stages("stages 4 x 16 int8", t, 1e-6, 1e-6, 1e-6, 0.064);
        add_stages("stages 16 x 256 int8", t, 2e-6, 4e-6, 1e-6, 4.096);
        add_stages("stages 4 x 16 fp32", t, 2e-6, 2e-6, 2e-6, 0.0);
        add_stages("stages 16 x 256 fp32", t, 4e-6, 8e-6, 2e-6, 0.0);
        add_stages("stages 16 x 1 int8", t, 5e-7, 4e-6, 3e-6, 0.0);
    }
    if (strcmp(but, "card") != 0) {
        add_card("card 4 x 16 int8", 1e-7, 1e-7, 1e-7, 0.25);
        add_card("card 16 x 256 int8", 2e-7, 4e-7, 4e-7, 0.125);
    }
    add("recording 4 inputs", "one thread", 1, 2e6);
    if (strcmp(but, "recording") != 0)
        add("recording 512 inputs", "one thread", 1, 2e6);
    add("result none", "rate", 1, 1e6);
    add("result none", "size", 1, 1.0);
    add("result none", "sync", 1, 1e30);
    add("result none", "start", 1, 0.25);
    add("result gzip", "rate", 1, 1e4);
    add("result gzip", "size", 1, 0.5);
    strcat(document, "]}");
    fx8_cost_machine_clear(&machine);
    return fx8_cost_machine_parse("node.json", document, &machine, error);
}

/* 8 inputs, 1555 spectra of 64 channels in dumps of 156, the last one of 151:
 * 79,872 samples and 2,560 cells of a dump, 34,240 bytes of result. */
static struct fx8_cost_job plan(size_t n_cores, const char *set)
{
    struct fx8_cost_job cost;
    struct fx8_error error;
    const struct fx8_observation o = recording();
    must(load_node("", &error), error);
    good(&o, (const char *[]){"channelizer.channels=64",
                              "correlator.backend=cpu", set, NULL});
    must(fx8_cost_job_of(&job, &machine, n_cores, &cost, &error), error);
    return cost;
}

static void check(double found, double expected)
{
    if (!(fabs(found - expected) <= ROUNDING * fabs(expected)))
        fail_msg("%.17g: expected %.17g", found, expected);
}

static void check_stages(const struct fx8_cost_job *cost,
                         const double expected[FX8_N_COST_STAGES])
{
    for (size_t k = 0; k < FX8_N_COST_STAGES; k++)
        check(cost->stages[k].seconds, expected[k]);
}

/* Filter bank 1.5 us, half-way between the logarithms of 16 and 256; correlator
 * 2 us, a third of the way from 4 to 16. */
TEST(stages_by_hand)
{
    const double n = 79872.0;
    struct fx8_cost_job cost = plan(1, NULL);
    check(cost.n_dumps, 10);
    check(cost.whole_dumps, 1555.0 / 156.0);
    check(cost.stages[FX8_COST_CORRELATE].amount, n * 4.5);
    check_stages(&cost,
                 (const double[]){n * 1e-6, 0.0, n * 1.5e-6, n * 2e-6, 2560e-6,
                                  0.03424, 3.424e-26, 0.512, 0.25});
    cost = plan(2, NULL);
    check_stages(&cost,
                 (const double[]){n * 1e-6, 0.0, n * 0.75e-6, n * 1e-6, 1280e-6,
                                  0.03424, 3.424e-26, 0.256, 0.25});
    /* one thread of two */
    cost = plan(2, "correlator.threads=1");
    check(cost.stages[FX8_COST_CORRELATE].seconds, n * 2e-6);
    /* one filter bank, the slower; two correlations and results */
    cost = plan(1, "correlator.precision=both");
    check_stages(&cost,
                 (const double[]){n * 1e-6, 0.0, n * 3e-6, n * 6e-6, 7680e-6,
                                  2 * 0.03424, 2 * 3.424e-26, 0.512, 0.25});
    /* half of the taps: 2 x 4 + 15 operations instead of 2 x 8 + 15 */
    cost = plan(1, "channelizer.taps=4");
    check(cost.stages[FX8_COST_CHANNELIZE].seconds,
          (double)job.plan.spectra_per_dump * 512.0 * 1.5e-6 * 23.0 / 31.0);
}

/* Five blocks of 156 spectra, the sums, and three copies of a result. */
TEST(threads_touch_memory_together)
{
    const double result = 34240.0, sums = 16.0 * 2560.0;
    const double bytes = 5.0 * 156.0 * 2.0 * 512.0 + sums + 3.0 * result;
    touched_bytes_s = bytes;
    struct fx8_cost_job cost = plan(1, NULL);
    check(cost.stages[FX8_COST_START].seconds, 1.25);
    cost = plan(2, NULL);
    check(cost.stages[FX8_COST_START].seconds, 0.75);
    cost = plan(1, "correlator.precision=both");
    check(cost.stages[FX8_COST_START].seconds,
          1.25 + (sums + 3.0 * result) / bytes);
    touched_bytes_s = 1e30;
}

/* Multiply figures of a case. */
static void change(const char *name, const char *quantity, double factor)
{
    for (size_t k = 0; k < machine.n_figures; k++)
        if (strcmp(machine.figures[k].name, name) == 0 &&
            strcmp(machine.figures[k].quantity, quantity) == 0)
            machine.figures[k].value *= factor;
}

/* The job has 8 inputs and 64 channels, the node was measured at 2 x 4 and
 * 4 x 16.  Seconds of 2 and 4 us there, of 1 us here fall, and hold.  4 us here
 * for the bank go on to 6, 6 us of the correlator, from 4, to 10. */
TEST(lines_that_rise_go_on)
{
    const double n = 79872.0;
    struct fx8_cost_job cost = plan(1, NULL);
    struct fx8_error error;
    for (size_t k = 0; k < machine.n_figures; k++) {
        char *name = machine.figures[k].name;
        if (strcmp(name, "stages 16 x 256 int8") == 0)
            strcpy(name, "stages 2 x 4 int8");
    }
    must(fx8_cost_job_of(&job, &machine, 1, &cost, &error), error);
    check(cost.stages[FX8_COST_CHANNELIZE].seconds, n * 1e-6);
    check(cost.stages[FX8_COST_CORRELATE].seconds, n * 1e-6);
    change("stages 4 x 16 int8", "channelize", 1.0 / 4.0);
    change("stages 4 x 16 int8", "correlate", 1.0 / 6.0);
    change("stages 4 x 16 int8", "dump", 1.0 / 2.0);
    must(fx8_cost_job_of(&job, &machine, 1, &cost, &error), error);
    check(cost.stages[FX8_COST_CHANNELIZE].seconds, n * 6e-6);
    check(cost.stages[FX8_COST_CORRELATE].seconds, n * 10e-6);
    check(cost.stages[FX8_COST_DUMP].seconds, 2 * 2560e-6);
}

TEST(shapes_of_nothing_do_not_count)
{
    struct fx8_cost_job cost = plan(1, NULL);
    struct fx8_error error;
    for (size_t k = 0; k < machine.n_figures; k++)
        if (strncmp(machine.figures[k].name, "stages ", 7) == 0)
            strcpy(machine.figures[k].name, "stages 0 x 0 int8");
    assert_int_equal(fx8_cost_job_of(&job, &machine, 1, &cost, &error),
                     FX8_ERR_USAGE);
    assert_non_null(strstr(error.message, "no channelize of int8"));
}

static const struct fx8_cost_site fast = {1e30, 1e30, NAN};

static void check_time(const struct fx8_cost_job *cost,
                       const struct fx8_cost_site *site, size_t n_nodes,
                       double seconds, const char *bound)
{
    const struct fx8_cost_time time = fx8_cost_time_on(cost, site, n_nodes);
    check(time.seconds, seconds);
    assert_string_equal(time.bound, bound);
}

/* Level and start 0.762 s; a dump takes 0.282112 s of computing, reading and
 * plain writing beside it. */
TEST(times_by_hand)
{
    const double compute = 0.119808 + 0.159744 + 0.00256;
    const double n = 1555.0 / 156.0;
    struct fx8_cost_job cost = plan(1, NULL);
    check_time(&cost, &fast, 1, 0.762 + n * compute, "correlator");
    /* 4 nodes: 3 dumps of the one that has most, and MPI */
    check_time(&cost, &fast, 4, 0.762 + 0.5 + 3 * compute, "start and levels");
    /* as many nodes as dumps: a dump is one segment */
    check_time(&cost, &fast, 10, 1.262 + compute, "start and levels");
    check_time(&cost, &fast, 1000, 1.262 + compute, "start and levels");
    /* the last dump is written by one of two threads, half of it on top */
    cost = plan(2, NULL);
    check_time(&cost, &fast, 1, 0.506 + n * compute / 2 + 0.03424 / 2,
               "correlator");
}

/* A hundredth of a second for the last dump, as the others fit beside the rest;
 * or, if a dump takes a second, what does not fit of those of one node, of one
 * of four, and of the first of four, which has all that are compressed. */
TEST(the_disk_takes_dumps_beside_the_rest)
{
    struct fx8_cost_job cost = plan(1, NULL);
    double one_s = fx8_cost_time_on(&cost, &fast, 1).seconds;
    double four_s = fx8_cost_time_on(&cost, &fast, 4).seconds;
    cost.stages[FX8_COST_SYNC].seconds = 0.01;
    check_time(&cost, &fast, 1, one_s + 0.01, "correlator");
    check_time(&cost, &fast, 4, four_s + 0.01, "start and levels");
    cost.stages[FX8_COST_SYNC].seconds = 1.0;
    check_time(&cost, &fast, 1, 10.762, "sync");
    check_time(&cost, &fast, 4, 1.262 + 3.0, "sync");
    cost.is_packed = true;
    check_time(&cost, &fast, 4, 1.262 + 10.0, "sync");
}

/* Nothing but reading and writing takes a core; the CPU sets the levels. */
TEST(a_card_by_hand)
{
    const double n = 79872.0, n_dumps = 1555.0 / 156.0;
    struct fx8_cost_job cost = plan(1, "correlator.backend=cuda");
    check_stages(&cost, (const double[]){n * 1e-6, n * 2 * 2e-7, n * 1.5e-7,
                                         n * 2e-7, 2560 * 5e-8, 0.03424,
                                         3.424e-26, 0.512, 0.25});
    check_time(&cost, &fast, 1,
               0.762 + n_dumps * n * 1e-6 + 9 * 0.03424 + 0.03424, "read");
    cost = plan(2, "correlator.backend=cuda");
    check_time(&cost, &fast, 1,
               0.506 + (n_dumps * n * 1e-6 + 9 * 0.03424) / 2 + 0.03424,
               "read");
    cost.stages[FX8_COST_READ].seconds = 0.0;
    cost.stages[FX8_COST_LEVEL].seconds = 0.0;
    cost.stages[FX8_COST_START].seconds = 0.0;
    check_time(&cost, &fast, 1, n * 4e-7 + 10 * 0.03424, "write");
    cost.plain_write_s = cost.stages[FX8_COST_WRITE].seconds = 0.001;
    check_time(&cost, &fast, 1, n_dumps * n * 4e-7 + 0.001, "PCIe");
    cost.stages[FX8_COST_PCIE].seconds = 0.0;
    const double one = n * 3.5e-7 + 2560 * 5e-8;
    check_time(&cost, &fast, 1, n_dumps * one + 0.001, "correlator");
    check_time(&cost, &fast, 4, 0.5 + 3 * one + 0.001, "start and levels");
    cost.stages[FX8_COST_DUMP].seconds = 1.0;
    check_time(&cost, &fast, 4, 0.5 + 3 * (n * 3.5e-7 + 1.0) + 0.001,
               "ends of dumps");
    /* 4 s are enough for 3 dumps, not for 4 */
    cost.recorded_s = 4.0;
    assert_int_equal(fx8_cost_real_time_nodes(&cost, &fast), 4);
}

/* Compression takes both cores from two threads of the correlator, and has them
 * for itself when the last dump is written. */
TEST(compression_takes_all_cores)
{
    const double compute = 0.141056, n = 1555.0 / 156.0, packing = 3.38976;
    const struct fx8_cost_job cost = plan(2, "output.compression=gzip");
    check_time(&cost, &fast, 1,
               0.506 + n * compute + 9 * packing / 2 + packing / 2 +
                   0.03424 / 2,
               "write");
}

TEST(what_nodes_share_bounds_them)
{
    const struct fx8_cost_site disk = {1e30, 1e5, NAN};
    const struct fx8_cost_site wire = {1e3, 1e30, NAN};
    const double bytes = 1555.0 / 156.0 * 159744.0 + 342400.0;
    struct fx8_cost_job cost = plan(1, NULL);
    check_time(&cost, &disk, 8, 1.262 + bytes / 1e5, "storage");
    /* the first node gets all that others have, and compresses it */
    cost = plan(1, "output.compression=gzip");
    check_time(&cost, &wire, 4, 1.262 + 342400.0 * 0.75 / 1e3 + 3.38976,
               "network");
    check_time(&cost, &fast, 10, 1.262 + 3.38976 + 0.282112 + 9 * 3.424,
               "write");
}

/* Of a dump of 5 segments the sums, 16 bytes each, are added over the network,
 * or first on each node. */
TEST(dumps_are_divided)
{
    const struct fx8_cost_site wire = {1e5, 1e30, NAN};
    struct fx8_cost_job cost = plan(1, "correlator.integration_time_s=all");
    const double all = 8 * 64 * 1555 * (1.5e-6 + 2e-6);
    const double rest = 1.262 + 2560e-6, sums = 16 * 2560 / 1e5;
    assert_true(cost.n_segments == 1.0 && cost.is_exact);
    check_time(&cost, &wire, 7, rest + all, "correlator");
    cost.n_segments = 5.0;
    check_time(&cost, &wire, 7, rest + all / 5 + 4 * sums, "network");
    check_time(&cost, &wire, 2, rest + all * 3 / 5 + sums, "correlator");
    cost.is_exact = false;
    check_time(&cost, &wire, 2, rest + all * 3 / 5 + 2 * sums, "correlator");
}

/* 10 dumps in 3 blocks, which stay whole: one node has 8 dumps, or 4. */
TEST(dumps_that_are_averaged_stay_together)
{
    struct fx8_cost_job cost = plan(1, NULL);
    const double of_4 = fx8_cost_time_on(&cost, &fast, 3).seconds;
    const double of_5 = fx8_cost_time_on(&cost, &fast, 2).seconds;
    cost.block_dumps = 4.0;
    assert_true(fx8_cost_time_on(&cost, &fast, 3).seconds == of_4);
    assert_true(fx8_cost_time_on(&cost, &fast, 100).seconds == of_4);
    assert_true(fx8_cost_time_on(&cost, &fast, 2).seconds > of_5);
}

TEST(enough_nodes_for_real_time)
{
    struct fx8_cost_job cost = plan(1, NULL);
    double before = INFINITY;
    for (size_t n = 1; n <= 1024; n *= 2) {
        const double seconds = fx8_cost_time_on(&cost, &fast, n).seconds;
        assert_true(seconds <= before || n == 2);
        before = seconds;
    }
    /* 0.1 s are recorded, but starting takes longer */
    assert_int_equal(fx8_cost_real_time_nodes(&cost, &fast), 0);
    for (double s = 1.75; s < 8.0; s += 0.25) {
        cost.recorded_s = s;
        const size_t n = fx8_cost_real_time_nodes(&cost, &fast);
        assert_true(n >= 1 && fx8_cost_time_on(&cost, &fast, n).seconds <= s);
        assert_true(n == 1 ||
                    fx8_cost_time_on(&cost, &fast, n - 1).seconds > s);
    }
}

static void refuse_document(const char *text, const char *part)
{
    struct fx8_cost_machine none;
    struct fx8_error error;
    assert_int_equal(fx8_cost_machine_parse("node.json", text, &none, &error),
                     FX8_ERR_USAGE);
    if (strstr(error.message, part) == NULL ||
        strncmp(error.message, "node.json:", 10) != 0)
        fail_msg("%s: expected %s", error.message, part);
}

TEST(wrong_documents)
{
    refuse_document("{", "node.json:1: ");
    refuse_document("[]", "machine.n_cpus: missing");
    refuse_document("{\"machine\": {\"n_cpus\": 2}}", "threads: missing");
    refuse_document("{\"threads\": 2.5, \"machine\": {\"n_cpus\": 2}}",
                    "threads: 2.5: ");
    refuse_document(
        "{\"threads\": 2, \"machine\": {\"n_cpus\": 2}, \"records\": "
        "[{\"section\": \"arrays\"}]}",
        "records: none of section node");
    refuse_document(
        "{\"threads\": 2, \"machine\": {\"n_cpus\": 2}, \"records\": "
        "[{\"section\": \"node\", \"case\": \"memory\", \"quantity\": "
        "\"rate\", \"threads\": 1, \"value\": 0.0}]}",
        "records[0].value: 0: ");
}

static void refuse_job(const char *but, size_t n_cores, const char *set,
                       const char *part)
{
    struct fx8_cost_job cost;
    struct fx8_error error;
    const struct fx8_observation o = recording();
    must(load_node(but, &error), error);
    good(&o, (const char *[]){"channelizer.channels=64", set, NULL});
    assert_int_equal(fx8_cost_job_of(&job, &machine, n_cores, &cost, &error),
                     FX8_ERR_USAGE);
    if (strstr(error.message, part) == NULL)
        fail_msg("%s: expected %s", error.message, part);
}

TEST(what_has_no_figures)
{
    refuse_job(
        "recording", 1, NULL,
        "node.json: records: no one thread of \"recording 512 inputs\" on 1 "
        "thread");
    refuse_job("", 3, NULL, "--cores: 3: expected at most 2");
    refuse_job(
        "card", 1, "correlator.backend=cuda",
        "correlator.backend: cuda: expected auto or cpu: no figures of a "
        "card: node.json");
    refuse_job("", 1, "correlator.precision=interval",
               "correlator.precision: interval: ");
    refuse_job("", 1, "output.compression=bitshuffle",
               "output.compression: bitshuffle: expected one that node.json");
    fx8_cost_machine_clear(&machine);
}
