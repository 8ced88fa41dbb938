/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_native_writer.c -- a recording that fx8 read and writes again in every
 * axis order is the same recording; wrong use.
 *
 * Shows: as test_reader_native.c
 */
#include "io/native/native.h"
#include "validation/good_files.h"

/* Write the samples of a recording in blocks of several lengths. */
static void write_again(const struct fx8_reader *reader, const char *order)
{
    const struct fx8_observation *o = &reader->observation;
    const size_t parts = o->is_complex ? 2 : 1;
    static const int64_t steps[] = {1, 40, 60};
    struct fx8_native_writer *writer = NULL;
    struct fx8_error error;
    must(fx8_native_create(scratch_path("written.h5"), true, o, order,
                           reader->missing, reader->n_missing, &writer, &error),
         error);
    int64_t first = 0;
    for (size_t s = 0; s < LENGTH(steps); first += steps[s], s++) {
        int8_t block[N_ANT * N_POL * 60 * 2];
        int8_t *to = block;
        for (size_t i = 0; i < N_ANT * N_POL; i++)
            for (int64_t t = 0; t < steps[s]; t++)
                for (size_t part = 0; part < parts; part++)
                    *to++ =
                        sample(i / N_POL, i % N_POL, (size_t)(first + t), part);
        must(fx8_native_write(writer, first, steps[s], block, &error), error);
    }
    must_fail_with(fx8_native_write(writer, N_TIME, 1, NULL, &error), error,
                   FX8_ERR_USAGE, "");
    assert_false(scratch_exists("written.h5"));
    must(fx8_native_close(&writer, true, &error), error);
    assert_null(writer);
}

static void check_equal(const struct fx8_reader *a, const struct fx8_reader *b)
{
    const struct fx8_observation *x = &a->observation, *y = &b->observation;
    assert_int_equal(x->is_complex, y->is_complex);
    assert_int_equal(x->sample_rate.numerator_hz, y->sample_rate.numerator_hz);
    assert_int_equal(x->sample_rate.denominator, y->sample_rate.denominator);
    assert_int_equal(x->start_time.unix_s, y->start_time.unix_s);
    assert_int_equal(x->start_time.picosecond, y->start_time.picosecond);
    assert_true(x->dc_frequency_hz == y->dc_frequency_hz);
    assert_int_equal(x->sideband, y->sideband);
    assert_string_equal(x->telescope, y->telescope);
    assert_memory_equal(&x->site, &y->site, sizeof x->site);
    assert_int_equal(x->n_table, y->n_table);
    for (size_t i = 0; i < x->n_table; i++) {
        const struct fx8_antenna *p = &x->antennas[i], *q = &y->antennas[i];
        assert_int_equal(p->number, q->number);
        assert_string_equal(p->name, q->name);
        assert_int_equal(p->position, q->position);
        assert_memory_equal(p->enu_m, q->enu_m, sizeof p->enu_m);
        assert_memory_equal(p->cable_delay_s, q->cable_delay_s,
                            sizeof p->cable_delay_s);
    }
    assert_int_equal(a->n_missing, b->n_missing);
    for (size_t i = 0; i < a->n_missing; i++) {
        assert_int_equal(fx8_missing_order(&a->missing[i], &b->missing[i]), 0);
        assert_int_equal(a->missing[i].n_samples, b->missing[i].n_samples);
    }
}

TEST(test_writer_round_trip)
{
    for (int order = 0; order < 6; order++)
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            char text[64];
            snprintf(text, sizeof text, "%s,%s,%s", axes[orders[order][0]],
                     axes[orders[order][1]], axes[orders[order][2]]);
            make_good_fx8(".");
            hid_t file = reopen("good.h5");
            remove_item(file, "voltages");
            put_voltages(file, orders[0], is_complex != 0, false, CONTIGUOUS,
                         false);
            H5Fclose(file);
            unlink(scratch_path("written.h5"));
            struct fx8_reader *good = open_recording("good.h5", NULL);
            /* the file has one delay for both polarisations */
            good->observation.antennas[4].cable_delay_s[1] = 7e-9;
            write_again(good, text);
            struct fx8_reader *again = open_recording("written.h5", NULL);
            check_equal(good, again);
            check_selections(again);
            fx8_reader_close(&again);
            fx8_reader_close(&good);
        }
}

static enum fx8_status create_writer(const char *path, int64_t n_samples,
                                     const char *order,
                                     struct fx8_native_writer **writer,
                                     struct fx8_error *error)
{
    struct fx8_observation o = fx8_observation_unknown();
    o.n_antennas = o.n_polarizations = 1;
    o.n_samples = n_samples;
    o.sample_rate = (struct fx8_rate){1000, 1};
    o.has_start_time = true;
    o.dc_frequency_hz = 1.5e8;
    o.sideband = FX8_SIDEBAND_UPPER;
    return fx8_native_create(path, true, &o, order, NULL, 0, writer, error);
}

TEST(test_writer_wrong_use)
{
    static const char *const bad[] = {"", "antenna,pol", "antenna,pol,pol",
                                      "antenna,pol,time,time", "time"};
    static const char good[] = "antenna,pol,time";
    const char *path = scratch_path("no.h5");
    struct fx8_native_writer *writer = NULL;
    struct fx8_error error;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        must_fail_with(create_writer(path, 9, bad[i], &writer, &error), error,
                       FX8_ERR_USAGE, "axis order");
        assert_null(writer);
    }
    must_fail_with(create_writer(path, 0, good, &writer, &error), error,
                   FX8_ERR_USAGE, "");
    must_fail_with(create_writer("/nowhere/no.h5", 9, good, &writer, &error),
                   error, FX8_ERR_SYSTEM, "");
    must(create_writer(path, 9, good, &writer, &error), error);
    must(fx8_native_close(&writer, false, &error), error);
    assert_false(scratch_exists("no.h5"));
    assert_false(scratch_exists("no.h5.part"));
}
