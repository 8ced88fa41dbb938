/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_uvh5.c -- UVH5 files as fx8 reads them back: headers, feeds, fx8's own
 * values and keywords, dumps of complete, cut and empty runs and of one that is
 * still writing, files of other writers; types and shapes of all items; wrong
 * use.  python/test_pyuvdata.py compares values, and scenario/kills.py dumps of
 * killed runs.
 *
 * Shows (results, UVH5 item by item): header and dumps are correct, also of
 *     killed and cut runs and in files of other writers
 * Within: exact
 * In: test_hostile.c, scenario/kills.py
 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/h5/cubes.h"
#include "validation/good_files.h"

/* --- headers ---------------------------------------------------------- */

TEST(test_header)
{
    struct fixture f;
    fill(&f, 3, 6, 4);
    f.header.write_lst = true;
    f.header.dut1_s = -0.125;
    struct fx8_uvh5_writer *writer =
        create("header.uvh5", &f.header, FX8_COMPRESSION_NONE);
    struct fx8_error error = {FX8_OK, ""};
    must(fx8_uvh5_close(&writer, 3, &error), error);
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header h;
    must(fx8_uvh5_open(scratch_path("header.uvh5"), &file, &h, &error), error);
    assert_string_equal(h.telescope, "test array");
    assert_string_equal(h.instrument, "fx8");
    assert_string_equal(h.x_orientation, "east");
    assert_string_equal(h.history, f.history);
    assert_true(h.site.latitude_deg == -26.7);
    assert_true(h.site.longitude_deg == 116.67);
    assert_true(h.site.altitude_m == 377.8);
    assert_true(h.write_lst);
    assert_true(h.dut1_s == -0.125);
    for (size_t i = 0; i < N_STATIONS; i++) {
        assert_int_equal(h.antenna_numbers[i], f.numbers[i]);
        assert_string_equal(h.antenna_names[i], f.names[i]);
    }
    assert_memory_equal(h.antenna_positions_m, f.positions, sizeof f.positions);
    assert_memory_equal(h.ant_1, f.ant_1, sizeof f.ant_1);
    assert_memory_equal(h.ant_2, f.ant_2, sizeof f.ant_2);
    assert_memory_equal(h.uvw_m, f.uvw, sizeof f.uvw);
    assert_memory_equal(h.frequencies_hz, f.frequencies, 6 * sizeof(double));
    assert_memory_equal(h.channel_widths_hz, f.widths, 6 * sizeof(double));
    for (size_t t = 0; t < 3; t++) {
        assert_true(h.julian_dates[t] == fx8_time_julian_date(f.times[t]));
        assert_true(h.apparent_lst_rad[t] == f.lst[t]);
        assert_true(h.integration_s[t] == f.integration_s[t]);
    }
    for (int p = 0; p < 4; p++)
        assert_int_equal(h.products[p], -5 - p);
    assert_int_equal(h.n_keywords, 3);
    assert_string_equal(fx8_uvh5_keyword(&h, "FX8VERS")->text, "0.1");
    assert_int_equal(fx8_uvh5_keyword(&h, "NTAPS")->integer, 8);
    assert_true(fx8_uvh5_keyword(&h, "CLIPMAX")->real == 0.25);
    assert_null(fx8_uvh5_keyword(&h, "NONE"));
    fx8_uvh5_header_clear(&h);
    fx8_uvh5_file_close(&file);
    fx8_uvh5_file_close(&file);
}

/* Phased: the centre comes back, uvw are baselines along the axes of each dump,
 * of which readers see the first; python/test_tracking.py sees all. */
TEST(phased_header)
{
    struct fixture f;
    fill(&f, 2, 3, 1);
    struct fx8_place places[2];
    for (size_t t = 0; t < 2; t++)
        places[t] = (struct fx8_place){
            .app_ra_rad = 1 + (double)t,
            .app_dec_rad = -0.5,
            .frame_pa_rad = 0.01,
            .axes = {
                {0, 1, 0}, {0, 0, 1}, {1, 0, (double)t}}}; /* u is north, ... */
    f.header.is_phased = true;
    f.header.center_deg[0] = 83.63;
    f.header.center_deg[1] = 22.01;
    f.header.places = places;
    struct fx8_uvh5_writer *writer =
        create("phased.uvh5", &f.header, FX8_COMPRESSION_NONE);
    struct fx8_error error = {FX8_OK, ""};
    must(fx8_uvh5_close(&writer, 2, &error), error);
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header h;
    must(fx8_uvh5_open(scratch_path("phased.uvh5"), &file, &h, &error), error);
    assert_true(h.is_phased);
    assert_near(h.center_deg[0], 83.63, 1e-13); /* one rounding each way */
    assert_near(h.center_deg[1], 22.01, 1e-13);
    for (size_t b = 0; b < N_BL; b++) {
        assert_true(h.uvw_m[3 * b] == f.uvw[b][1]);
        assert_true(h.uvw_m[3 * b + 1] == f.uvw[b][2]);
        assert_true(h.uvw_m[3 * b + 2] == f.uvw[b][0]);
    }
    fx8_uvh5_header_clear(&h);
    fx8_uvh5_file_close(&file);
}

/* A dataset as a letter for its class, the bytes of an element and its shape;
 * texts of any length have no size. */
static void describe(hid_t header, const char *name, bool is_sized,
                     char text[64])
{
    static const char letters[] = "if-s--c-e"; /* by H5T_class_t */
    hsize_t extent[3];
    hid_t dataset = H5Dopen2(header, name, H5P_DEFAULT);
    if (dataset < 0)
        fail_msg("%s is missing", name);
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const int rank = H5Sget_simple_extent_dims(space, extent, NULL);
    assert_false(H5Tis_variable_str(type) > 0);
    int n = snprintf(text, 64, "%c", letters[H5Tget_class(type)]);
    if (is_sized)
        n += snprintf(text + n, 64 - (size_t)n, "%zu", H5Tget_size(type));
    for (int axis = 0; axis < rank; axis++)
        n += snprintf(text + n, 64 - (size_t)n, " %d", (int)extent[axis]);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(dataset);
}

/* Every item, as UVH5 readers require it: 3 dumps of 10 baselines, 6 channels,
 * 4 antennas. */
TEST(test_items_of_the_format)
{
    static const char *const items[][2] = {
        {"s", "telescope_name instrument history blt_order object_name "
              "phase_center_catalog/0/cat_name"},
        {"s3", "version extra_keywords/FX8VERS"},
        {"s4", "telescope_frame x_orientation"},
        {"s5", "phase_type phase_center_catalog/0/cat_frame"},
        {"s7", "vis_units"},
        {"s11", "phase_center_catalog/0/cat_type"},
        {"f8", "latitude longitude altitude phase_center_catalog/0/cat_lon "
               "phase_center_catalog/0/cat_lat extra_keywords/CLIPMAX"},
        {"i8", "Nants_data Nants_telescope Nbls Nblts Ntimes Nfreqs Npols "
               "Nspws Nphase Nfeeds extra_keywords/NTAPS"},
        {"e1", "flex_spw blts_are_rectangular time_axis_faster_than_bls"},
        {"i8 4", "antenna_numbers polarization_array"},
        {"s64 4", "antenna_names"},
        {"s5 4", "mount_type"},
        {"f8 4 3", "antenna_positions"},
        {"s1 4 2", "feed_array"},
        {"f8 4 2", "feed_angle"},
        {"i8 30", "ant_1_array ant_2_array phase_center_id_array"},
        {"f8 30", "time_array integration_time phase_center_app_ra "
                  "phase_center_app_dec phase_center_frame_pa"},
        {"f8 30 3", "uvw_array"},
        {"f8 6", "freq_array channel_width"},
        {"i8 1", "spw_array"},
        {"c8 30 6 4", "/Data/visdata"},
        {"e1 30 6 4", "/Data/flags"},
        {"f4 30 6 4", "/Data/nsamples"},
    };
    struct fixture f;
    fill(&f, 3, 6, 4);
    struct fx8_uvh5_writer *writer =
        create("items.uvh5", &f.header, FX8_COMPRESSION_NONE);
    struct fx8_error error;
    must(fx8_uvh5_close(&writer, 3, &error), error);
    hid_t file = reopen("items.uvh5");
    hid_t header = H5Gopen2(file, "Header", H5P_DEFAULT);
    for (size_t i = 0; i < LENGTH(items); i++) {
        char names[256], found[64];
        snprintf(names, sizeof names, "%s", items[i][1]);
        for (char *name = strtok(names, " "); name != NULL;
             name = strtok(NULL, " ")) {
            describe(header, name, items[i][0][1] != '\0', found);
            if (strcmp(found, items[i][0]) != 0)
                fail_msg("%s: %s, expected %s", name, found, items[i][0]);
        }
    }
    /* dut1 is not known, so there are no sidereal times */
    assert_true(H5Lexists(header, "lst_array", H5P_DEFAULT) == 0);
    assert_true(H5Lexists(header, "dut1", H5P_DEFAULT) == 0);
    H5Gclose(header);
    H5Fclose(file);
}

/* A whole dataset of the header, as `type`. */
static void read_item(hid_t file, const char *name, hid_t type, void *values)
{
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(dataset >= 0);
    assert_true(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >=
                0);
    H5Dclose(dataset);
}

/* Feeds in the order of the products, angles from north through east: X is
 * along x_orientation, Y at right angles to it. */
TEST(test_feeds)
{
    static const struct {
        const char *orientation;
        size_t n_products;
        int product; /* the only one, where it is one */
        const char *feeds;
        double angles[2];
    } cases[] = {
        {"east", 4, 0, "xy", {1.5707963267948966, 0.0}},
        {"north", 4, 0, "xy", {0.0, 1.5707963267948966}},
        {"east", 1, -5, "x", {1.5707963267948966}},
        {"east", 1, -6, "y", {0.0}},
        {"north", 1, -6, "y", {1.5707963267948966}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        fill(&f, 1, 2, cases[i].n_products);
        strcpy(f.header.x_orientation, cases[i].orientation);
        if (cases[i].n_products == 1)
            f.header.products[0] = cases[i].product;
        char name[32];
        snprintf(name, sizeof name, "feeds%zu.uvh5", i);
        struct fx8_uvh5_writer *writer =
            create(name, &f.header, FX8_COMPRESSION_NONE);
        struct fx8_error error = {FX8_OK, ""};
        must(fx8_uvh5_close(&writer, 1, &error), error);
        hid_t file = H5Fopen(scratch_path(name), H5F_ACC_RDONLY, H5P_DEFAULT);
        const size_t n_feeds = strlen(cases[i].feeds);
        char feeds[N_STATIONS * 2];
        double angles[N_STATIONS * 2];
        int64_t n = 0;
        hid_t letter = H5Tcopy(H5T_C_S1); /* one character, no zero */
        H5Tset_strpad(letter, H5T_STR_NULLPAD);
        read_item(file, "Header/Nfeeds", H5T_NATIVE_INT64, &n);
        assert_int_equal(n, n_feeds);
        read_item(file, "Header/feed_array", letter, feeds);
        read_item(file, "Header/feed_angle", H5T_NATIVE_DOUBLE, angles);
        for (size_t k = 0; k < N_STATIONS * n_feeds; k++) {
            assert_int_equal(feeds[k], cases[i].feeds[k % n_feeds]);
            assert_true(angles[k] == cases[i].angles[k % n_feeds]);
        }
        H5Tclose(letter);
        H5Fclose(file);
    }
}

TEST(test_put_and_keywords)
{
    struct fixture f;
    fill(&f, 2, 8, 1);
    struct fx8_uvh5_writer *writer =
        create("put.uvh5", &f.header, FX8_COMPRESSION_NONE);
    double gains[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const double level = 3.5;
    const size_t shape[2] = {2, 3};
    struct fx8_error error;
    for (size_t dump = 0; dump < 2; dump++) { /* the last gains count */
        gains[1][2] = dump == 0 ? 6 : -7.5;
        must(fx8_uvh5_put(writer, "gains", 2, shape, gains[0],
                          "gain per input and channel", &error),
             error);
        write_dump(writer, &f.header, dump);
    }
    must(fx8_uvh5_put(writer, "level", 0, NULL, &level, "one value", &error),
         error);
    struct fx8_keyword keyword = {
        .name = "CLIPMAX", .type = FX8_KEYWORD_REAL, .real = 0.75};
    must(fx8_uvh5_put_keyword(writer, &keyword, &error), error);
    keyword = (struct fx8_keyword){
        .name = "KERNEL", .type = FX8_KEYWORD_TEXT, .text = "avx2"};
    must(fx8_uvh5_put_keyword(writer, &keyword, &error), error);
    must(fx8_uvh5_close(&writer, 2, &error), error);
    check_file("put.uvh5", &f.header, 2, 2);
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header h;
    must(fx8_uvh5_open(scratch_path("put.uvh5"), &file, &h, &error), error);
    assert_true(fx8_uvh5_keyword(&h, "CLIPMAX")->real == 0.75);
    assert_string_equal(fx8_uvh5_keyword(&h, "KERNEL")->text, "avx2");
    size_t got[3] = {0, 0, 0};
    double *values = NULL;
    must(fx8_uvh5_get(file, "gains", got, &values, &error), error);
    assert_true(got[0] == 2 && got[1] == 3 && got[2] == 1);
    assert_memory_equal(values, gains, sizeof gains);
    free(values);
    must(fx8_uvh5_get(file, "level", got, &values, &error), error);
    assert_true(got[0] == 1 && values[0] == level);
    free(values);
    must(fx8_uvh5_get(file, "absent", got, &values, &error), error);
    assert_null(values);
    fx8_uvh5_header_clear(&h);
    fx8_uvh5_file_close(&file);
}

static void refuse_header(const struct fx8_uvh5_header *header,
                          enum fx8_compression compression, const char *part)
{
    struct fx8_uvh5_writer *writer = NULL;
    struct fx8_error error;
    must_fail_with(fx8_uvh5_create(scratch_path("use.uvh5"), false, header,
                                   compression, &writer, &error),
                   error, FX8_ERR_USAGE, part);
    assert_null(writer);
    assert_false(scratch_exists("use.uvh5.part"));
}

TEST(test_wrong_use)
{
    struct fixture f;
    struct fx8_error error;
    fill(&f, 2, 8, 1);
    f.header.n_channels = 0;
    refuse_header(&f.header, FX8_COMPRESSION_NONE, "");
    f.header.n_channels = SIZE_MAX / 8;
    refuse_header(&f.header, FX8_COMPRESSION_NONE, "");
    f.header.n_channels = 8;
    strcpy(f.header.x_orientation, "up");
    refuse_header(&f.header, FX8_COMPRESSION_NONE,
                  "up: expected east or north");
    strcpy(f.header.x_orientation, "north");
    if (H5Zfilter_avail(32008) <= 0)
        refuse_header(&f.header, FX8_COMPRESSION_BITSHUFFLE,
                      "Debian package bitshuffle");
    struct fx8_uvh5_writer *writer =
        create("use.uvh5", &f.header, FX8_COMPRESSION_NONE);
    must_fail_with(fx8_uvh5_write_dump(writer, 2, NULL, &error), error,
                   FX8_ERR_USAGE, "");
    const size_t shape[1] = {1};
    const double x = 0;
    must_fail_with(fx8_uvh5_put(writer, "x", 4, shape, &x, "", &error), error,
                   FX8_ERR_USAGE, "");
    must(fx8_uvh5_close(&writer, 0, &error), error);
}

/* What other writers write: counts of other widths as arrays of length 1,
 * strings of variable length, integer and double visibilities, flags over 32
 * bits. */
TEST(test_other_writers)
{
    enum { ROWS = 2 * N_BL, N = ROWS * 4 * 4 };
    const hsize_t one = 1, two = 2, cube[3] = {ROWS, 4, 4};
    static int32_t visibilities[N][2], flags[N];
    for (size_t i = 0; i < N; i++) {
        visibilities[i][0] = (int32_t)i - 100;
        visibilities[i][1] = -3 * (int32_t)i;
        flags[i] = i % 2 == 0;
    }
    make_good_uvh5(".");
    hid_t file = reopen("good.h5");
    const uint16_t n_bl = N_BL;
    const double pair[2] = {1, 2};
    put_item(file, "Header/Nbls", H5T_STD_U16BE, 1, &one, H5T_NATIVE_UINT16,
             &n_bl);
    put_text(file, "Header/telescope_name", 0, "variable");
    hid_t complex = pair_type("r", "i", H5T_NATIVE_INT32);
    put_item(file, "Data/visdata", complex, 3, cube, complex, visibilities);
    H5Tclose(complex);
    hid_t boolean = H5Tenum_create(H5T_NATIVE_INT32);
    const int32_t numbers[2] = {0, 1};
    H5Tenum_insert(boolean, "FALSE", &numbers[0]);
    H5Tenum_insert(boolean, "TRUE", &numbers[1]);
    put_item(file, "Data/flags", boolean, 3, cube, boolean, flags);
    H5Tclose(boolean);
    put_item(file, "Header/extra_keywords/PAIR", H5T_IEEE_F64LE, 1, &two,
             H5T_NATIVE_DOUBLE, pair);
    put_number(file, "Header/extra_keywords/a long name", H5T_IEEE_F64LE, 1);
    H5Fclose(file);
    struct fx8_uvh5_file *odd = NULL;
    struct fx8_uvh5_header h;
    struct fx8_error error;
    must(fx8_uvh5_open(scratch_path("good.h5"), &odd, &h, &error), error);
    assert_string_equal(h.telescope, "variable");
    assert_int_equal(h.n_keywords, 3);
    static double got[N][2];
    static uint8_t got_flags[N];
    must(fx8_uvh5_read_rows(odd, 0, ROWS, got[0], got_flags, NULL, &error),
         error);
    for (size_t i = 0; i < N; i++) {
        assert_true(got[i][0] == visibilities[i][0]);
        assert_true(got[i][1] == visibilities[i][1]);
        assert_int_equal(got_flags[i], flags[i]);
    }
    must_fail_with(fx8_uvh5_read_rows(odd, ROWS, 1, NULL, NULL, NULL, &error),
                   error, FX8_ERR_USAGE, "");
    must_fail_with(
        fx8_uvh5_read_rows(odd, 1, SIZE_MAX, NULL, NULL, NULL, &error), error,
        FX8_ERR_USAGE, "");
    fx8_uvh5_header_clear(&h);
    fx8_uvh5_file_close(&odd);
}

/* --- dumps ------------------------------------------------------------ */

/* Whole files, and files cut behind their first dumps. */
TEST(test_round_trip)
{
    static const struct {
        size_t n_times, n_channels, n_products, n_kept;
    } shapes[] = {{1, 1, 1, 1},   {7, 33, 4, 7},   {40, 5, 2, 40},
                  {2, 300, 4, 2}, {3, 17, 1, 3},   {40, 60, 4, 1},
                  {40, 60, 4, 2}, {40, 60, 4, 13}, {40, 60, 4, 39}};
    static const enum fx8_compression kinds[] = {FX8_COMPRESSION_NONE,
                                                 FX8_COMPRESSION_GZIP};
    struct fixture f;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t k = 0; k < 2; k++) {
            const size_t n_kept = shapes[s].n_kept;
            fill(&f, shapes[s].n_times, shapes[s].n_channels,
                 shapes[s].n_products);
            struct fx8_uvh5_writer *writer =
                create("trip.uvh5", &f.header, kinds[k]);
            for (size_t d = 0; d < n_kept; d++)
                write_dump(writer, &f.header, d);
            struct fx8_error error;
            must(fx8_uvh5_close(&writer, n_kept, &error), error);
            assert_null(writer);
            assert_false(scratch_exists("trip.uvh5.part"));
            check_file("trip.uvh5", &f.header, n_kept, n_kept);
        }
}

/* The engine's items at the end: below /fx8 and as keywords, too large to fit
 * into a gap between the blocks of the header. */
enum { N_EXTRA = 20000 };

static double extra(size_t i)
{
    return 0.5 * (double)i - 3;
}

static void put_extras(struct fx8_uvh5_writer *writer)
{
    static double values[N_EXTRA];
    const size_t n = N_EXTRA;
    for (size_t i = 0; i < n; i++)
        values[i] = extra(i);
    struct fx8_error error = {FX8_OK, ""};
    must(fx8_uvh5_put(writer, "extra", 1, &n, values, "for the test", &error),
         error);
    struct fx8_keyword keyword = {
        .name = "EXTRA", .type = FX8_KEYWORD_REAL, .real = 39};
    must(fx8_uvh5_put_keyword(writer, &keyword, &error), error);
}

static void check_extras(const char *name)
{
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header header;
    struct fx8_error error;
    size_t shape[3];
    double *values = NULL;
    must(fx8_uvh5_open(scratch_path(name), &file, &header, &error), error);
    must(fx8_uvh5_get(file, "extra", shape, &values, &error), error);
    assert_int_equal(shape[0], N_EXTRA);
    for (size_t i = 0; i < N_EXTRA; i++)
        assert_true(values[i] == extra(i));
    assert_true(fx8_uvh5_keyword(&header, "EXTRA")->real == 39);
    free(values);
    fx8_uvh5_header_clear(&header);
    fx8_uvh5_file_close(&file);
}

/* Chunks of visdata: of whole dumps, of rows that divide a dump, or of
 * channels. */
TEST(test_chunks)
{
    static const struct {
        hsize_t dump[3]; /* baselines, channels, products */
        size_t n_dumps;
        bool is_shared;
        hsize_t chunk[3];
    } cases[] = {
        {{300, 64, 4}, 9, true, {300 * 1, 64, 4}},  /* 614 kB: 1 fits */
        {{300, 16, 4}, 9, true, {300 * 6, 16, 4}},  /* 154 kB */
        {{300, 16, 4}, 2, true, {300 * 2, 16, 4}},  /* no more dumps */
        {{300, 16, 4}, 9, false, {300, 16, 4}},     /* packed */
        {{2080, 60, 4}, 9, true, {2080, 60, 4}},    /* 3.8 MiB */
        {{2080, 512, 4}, 9, true, {208, 512, 4}},   /* 256 rows, or less */
        {{131328, 27, 4}, 9, false, {4104, 27, 4}}, /* 4854 rows, or less */
        {{3, 200000, 4}, 9, true, {3, 20000, 4}},   /* 6.1 MiB a row */
        {{2081, 512, 4}, 9, true, {2081, 31, 4}},   /* a prime number */
        {{300007, 3, 4}, 9, true, {60002, 1, 4}},   /* also of rows */
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct fx8_h5_cube cube = {.value_bytes = 8, .rank = 3};
        memcpy(cube.dump, cases[i].dump, sizeof cases[i].dump);
        fx8_h5_cube_chunk(&cube, 0, cases[i].n_dumps, cases[i].is_shared);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(cube.chunk[k], cases[i].chunk[k]);
    }
}

/* What is cut off is also removed from the disk: at most the chunk that holds
 * the last dump (1 MiB of visibilities, 13/8 of that in all), a block of 16384
 * rows of the header, 96 bytes each, and what was written after the cubes
 * remain. */
TEST(test_cut_file_is_small)
{
    struct fixture f;
    const size_t n_channels = 75;
    fill(&f, MAX_TIMES, n_channels, 4);
    struct fx8_uvh5_writer *writer =
        create("small.uvh5", &f.header, FX8_COMPRESSION_NONE);
    struct stat whole;
    assert_int_equal(stat(scratch_path("small.uvh5.part"), &whole), 0);
    write_dump(writer, &f.header, 0);
    put_extras(writer);
    struct fx8_error error = {FX8_OK, ""};
    must(fx8_uvh5_close(&writer, 1, &error), error);
    struct stat rest;
    assert_int_equal(stat(scratch_path("small.uvh5"), &rest), 0);
    assert_true((size_t)whole.st_size >=
                MAX_TIMES * N_BL * n_channels * 4 * 13);
    const off_t block = 16384 * 96;
    assert_true(rest.st_size <
                block + (1 << 20) * 13 / 8 + (1 << 18) + N_EXTRA * 8);
    check_file("small.uvh5", &f.header, 1, 1);
    check_extras("small.uvh5");
}

TEST(test_no_dump_no_file)
{
    struct fixture f;
    fill(&f, 4, 8, 4);
    struct fx8_uvh5_writer *writer =
        create("none.uvh5", &f.header, FX8_COMPRESSION_NONE);
    assert_true(scratch_exists("none.uvh5.part"));
    struct fx8_error error = {FX8_OK, ""};
    must(fx8_uvh5_close(&writer, 0, &error), error);
    assert_false(scratch_exists("none.uvh5"));
    assert_false(scratch_exists("none.uvh5.part"));
    must(fx8_uvh5_close(&writer, 0, &error), error);
}

/* Another program may read the .part while it is written. */
TEST(test_read_while_written)
{
    struct fixture f;
    fill(&f, 5, 60, 4);
    struct fx8_uvh5_writer *writer =
        create("live.uvh5", &f.header, FX8_COMPRESSION_NONE);
    write_dump(writer, &f.header, 0);
    write_dump(writer, &f.header, 1);
    const pid_t child = fork();
    if (child == 0) {
        check_file("live.uvh5.part", &f.header, 5, 2);
        _exit(0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct fx8_error error;
    must(fx8_uvh5_close(&writer, 2, &error), error);
    check_file("live.uvh5", &f.header, 2, 2);
}
