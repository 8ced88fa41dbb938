/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_io_uvh5.c -- UVH5: what is written is read back, item by item, through
 * HDF5 alone and through fx8's reader; cut and killed runs; odd files.
 */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <hdf5.h>

#include "io/uvh5.h"

static char folder[] = "/tmp/fx8-uvh5-XXXXXX";
static char path[512];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool exists(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            unlink(in_folder(entry->d_name));
    closedir(directory);
    return rmdir(folder);
}

/* --- a header and its dumps --------------------------------------------------
 */

enum { N_ANT = 4, N_BL = 10, MAX_CHAN = 300, MAX_TIMES = 40 };

/* Storage for a header: four antennas on the ground at Murchison. */
struct fixture {
    struct fx8_uvh5_header header;
    int64_t numbers[N_ANT];
    char names[N_ANT][64];
    double positions[N_ANT][3];
    int64_t ant_1[N_BL];
    int64_t ant_2[N_BL];
    double uvw[N_BL][3];
    struct fx8_time times[MAX_TIMES];
    double lst[MAX_TIMES];
    double frequencies[MAX_CHAN];
    double widths[MAX_CHAN];
    char history[64];
    struct fx8_keyword keywords[3];
};

static void fill(struct fixture *f, size_t n_times, size_t n_channels,
                 size_t n_products)
{
    memset(f, 0, sizeof *f);
    static const double enu[N_ANT][3] = {
        {0, 0, 0}, {100, 10, 1}, {-30, 250, -2}, {400, -90, 0.5}};
    size_t baseline = 0;
    for (size_t i = 0; i < N_ANT; i++) {
        f->numbers[i] = (int64_t)(2 * i + 1);
        snprintf(f->names[i], sizeof f->names[i], "ANT%03zu", 2 * i + 1);
        for (size_t k = 0; k < 3; k++)
            f->positions[i][k] = enu[i][k];
        for (size_t j = i; j < N_ANT; j++, baseline++) {
            f->ant_1[baseline] = (int64_t)(2 * i + 1);
            f->ant_2[baseline] = (int64_t)(2 * j + 1);
            for (size_t k = 0; k < 3; k++)
                f->uvw[baseline][k] = enu[j][k] - enu[i][k];
        }
    }
    for (size_t t = 0; t < n_times; t++) {
        f->times[t] =
            (struct fx8_time){1567105200 + 2 * (int64_t)t, 250000000000};
        f->lst[t] = 1.0 + 1e-4 * (double)t;
    }
    for (size_t c = 0; c < n_channels; c++) {
        f->frequencies[c] = 150e6 + 1e4 * (double)c;
        f->widths[c] = 1e4;
    }
    strcpy(f->history, "made by a test\nof two lines");
    f->keywords[0] = (struct fx8_keyword){
        .name = "FX8VERS", .type = FX8_KEYWORD_TEXT, .text = "0.1"};
    f->keywords[1] = (struct fx8_keyword){
        .name = "NTAPS", .type = FX8_KEYWORD_INTEGER, .integer = 8};
    f->keywords[2] = (struct fx8_keyword){
        .name = "CLIPMAX", .type = FX8_KEYWORD_REAL, .real = 0.25};
    f->header = (struct fx8_uvh5_header){
        .telescope = "test array",
        .instrument = "fx8",
        .x_orientation = "east",
        .site = {-26.7, 116.67, 377.8},
        .n_antennas = N_ANT,
        .antenna_numbers = f->numbers,
        .antenna_names = f->names,
        .antenna_positions_m = f->positions[0],
        .n_baselines = N_BL,
        .ant_1 = f->ant_1,
        .ant_2 = f->ant_2,
        .uvw_m = f->uvw[0],
        .n_times = n_times,
        .times = f->times,
        .integration_time_s = 2.0,
        .apparent_lst_rad = f->lst,
        .n_channels = n_channels,
        .frequencies_hz = f->frequencies,
        .channel_widths_hz = f->widths,
        .n_products = n_products,
        .products = {-5, -6, -7, -8},
        .history = f->history,
        .keywords = f->keywords,
        .n_keywords = 3,
    };
}

/* Value of element i of dump d; exact in float. */
static float value(size_t d, size_t i)
{
    return (float)((int)((d * 7919 + i * 104729) % 65521) - 32760);
}

static uint8_t flag(size_t d, size_t i)
{
    return (d + i) % 3 == 0;
}

static float weight(size_t d, size_t i)
{
    return (float)((d + i) % 5) / 4;
}

struct dump {
    float *visibilities;
    uint8_t *flags;
    float *nsamples;
};

static struct dump make_dump(const struct fx8_uvh5_header *h, size_t d)
{
    const size_t n = h->n_baselines * h->n_channels * h->n_products;
    struct dump dump = {malloc(2 * n * sizeof(float)), malloc(n),
                        malloc(n * sizeof(float))};
    for (size_t i = 0; i < n; i++) {
        dump.visibilities[2 * i] = value(d, 2 * i);
        dump.visibilities[2 * i + 1] = value(d, 2 * i + 1);
        dump.flags[i] = flag(d, i);
        dump.nsamples[i] = weight(d, i);
    }
    return dump;
}

static void free_dump(struct dump *dump)
{
    free(dump->visibilities);
    free(dump->flags);
    free(dump->nsamples);
}

static void write_dump(struct fx8_uvh5_writer *writer,
                       const struct fx8_uvh5_header *h, size_t d)
{
    struct dump dump = make_dump(h, d);
    struct fx8_error error = {FX8_OK, ""};
    if (fx8_uvh5_write_dump(writer, d, dump.visibilities, dump.flags,
                            dump.nsamples, &error) != FX8_OK)
        fail_msg("%s", error.message);
    free_dump(&dump);
}

static struct fx8_uvh5_writer *create(const char *name,
                                      const struct fx8_uvh5_header *h,
                                      enum fx8_compression compression)
{
    struct fx8_uvh5_writer *writer = NULL;
    struct fx8_error error = {FX8_OK, ""};
    if (fx8_uvh5_create(in_folder(name), true, h, compression, &writer,
                        &error) != FX8_OK)
        fail_msg("%s", error.message);
    return writer;
}

/* Dumps [0, n_written) as written, the others flagged with weight 0. */
static void check_file(const char *name, const struct fx8_uvh5_header *h,
                       size_t n_times, size_t n_written)
{
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header read;
    struct fx8_error error = {FX8_OK, ""};
    if (fx8_uvh5_open(in_folder(name), &file, &read, &error) != FX8_OK)
        fail_msg("%s", error.message);
    assert_int_equal(read.n_times, n_times);
    assert_int_equal(read.n_baselines, h->n_baselines);
    assert_int_equal(read.n_channels, h->n_channels);
    assert_int_equal(read.n_products, h->n_products);
    const size_t n = h->n_baselines * h->n_channels * h->n_products;
    double *visibilities = malloc(2 * n * sizeof(double));
    uint8_t *flags = malloc(n);
    float *nsamples = malloc(n * sizeof(float));
    for (size_t d = 0; d < n_times; d++) {
        memset(visibilities, 0x5a, 2 * n * sizeof(double));
        memset(flags, 0x5a, n);
        memset(nsamples, 0x5a, n * sizeof(float));
        if (fx8_uvh5_read_rows(file, d * h->n_baselines, h->n_baselines,
                               visibilities, flags, nsamples, &error) != FX8_OK)
            fail_msg("%s", error.message);
        for (size_t i = 0; i < n; i++) {
            const bool written = d < n_written;
            for (size_t part = 0; part < 2; part++)
                assert_true(visibilities[2 * i + part] ==
                            (written ? (double)value(d, 2 * i + part) : 0));
            assert_int_equal(flags[i], written ? flag(d, i) : 1);
            assert_true(nsamples[i] == (written ? weight(d, i) : 0));
        }
    }
    free(visibilities);
    free(flags);
    free(nsamples);
    fx8_uvh5_header_clear(&read);
    fx8_uvh5_file_close(&file);
    assert_null(file);
}

/* --- writing and reading
 * -------------------------------------------------------- */

static void test_round_trip(void **state)
{
    (void)state;
    static const struct {
        size_t n_times, n_channels, n_products;
    } shapes[] = {{1, 1, 1}, {7, 33, 4}, {40, 5, 2}, {2, 300, 4}, {3, 17, 1}};
    static const enum fx8_compression kinds[] = {FX8_COMPRESSION_NONE,
                                                 FX8_COMPRESSION_GZIP};
    struct fixture f;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t k = 0; k < 2; k++) {
            fill(&f, shapes[s].n_times, shapes[s].n_channels,
                 shapes[s].n_products);
            struct fx8_uvh5_writer *writer =
                create("trip.uvh5", &f.header, kinds[k]);
            for (size_t d = 0; d < f.header.n_times; d++)
                write_dump(writer, &f.header, d);
            struct fx8_error error = {FX8_OK, ""};
            assert_int_equal(fx8_uvh5_close(&writer, f.header.n_times, &error),
                             FX8_OK);
            assert_null(writer);
            assert_false(exists("trip.uvh5.part"));
            check_file("trip.uvh5", &f.header, f.header.n_times,
                       f.header.n_times);
        }
}

static void test_header(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f, 3, 6, 4);
    f.header.write_lst = true;
    f.header.dut1_s = -0.125;
    struct fx8_uvh5_writer *writer =
        create("header.uvh5", &f.header, FX8_COMPRESSION_NONE);
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_uvh5_close(&writer, 3, &error), FX8_OK);
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header h;
    assert_int_equal(fx8_uvh5_open(in_folder("header.uvh5"), &file, &h, &error),
                     FX8_OK);
    assert_string_equal(h.telescope, "test array");
    assert_string_equal(h.instrument, "fx8");
    assert_string_equal(h.x_orientation, "east");
    assert_string_equal(h.history, f.history);
    assert_true(h.site.latitude_deg == -26.7);
    assert_true(h.site.longitude_deg == 116.67);
    assert_true(h.site.altitude_m == 377.8);
    assert_true(h.write_lst);
    assert_true(h.dut1_s == -0.125);
    assert_true(h.integration_time_s == 2.0);
    for (size_t i = 0; i < N_ANT; i++) {
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

/* Class, size and extent of a dataset, as UVH5 readers insist on them. */
static void check_item(hid_t file, const char *name, H5T_class_t class,
                       size_t size, int rank, hsize_t rows, hsize_t columns)
{
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (dataset < 0)
        fail_msg("%s is missing", name);
    hid_t type = H5Dget_type(dataset);
    hid_t space = H5Dget_space(dataset);
    hsize_t extent[3] = {1, 1, 1};
    H5Sget_simple_extent_dims(space, extent, NULL);
    if (H5Tget_class(type) != class ||
        (size > 0 && H5Tget_size(type) != size) ||
        H5Sget_simple_extent_ndims(space) != rank || extent[0] != rows ||
        extent[1] != columns)
        fail_msg("%s: class %d size %zu rank %d: %llu x %llu", name,
                 (int)H5Tget_class(type), H5Tget_size(type),
                 H5Sget_simple_extent_ndims(space),
                 (unsigned long long)extent[0], (unsigned long long)extent[1]);
    if (class == H5T_STRING)
        assert_false(H5Tis_variable_str(type));
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(dataset);
}

static void test_items_of_the_format(void **state)
{
    (void)state;
    struct fixture f;
    enum { T = 3, C = 6, ROWS = T * N_BL };
    fill(&f, T, C, 4);
    struct fx8_uvh5_writer *writer =
        create("items.uvh5", &f.header, FX8_COMPRESSION_NONE);
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_uvh5_close(&writer, T, &error), FX8_OK);
    hid_t file = H5Fopen(in_folder("items.uvh5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    static const struct {
        const char *name;
        H5T_class_t class;
        size_t size; /* 0: any */
        int rank;
        hsize_t rows, columns;
    } items[] = {
        {"Header/version", H5T_STRING, 3, 0, 1, 1},
        {"Header/telescope_name", H5T_STRING, 0, 0, 1, 1},
        {"Header/instrument", H5T_STRING, 0, 0, 1, 1},
        {"Header/history", H5T_STRING, 0, 0, 1, 1},
        {"Header/vis_units", H5T_STRING, 7, 0, 1, 1},
        {"Header/telescope_frame", H5T_STRING, 4, 0, 1, 1},
        {"Header/blt_order", H5T_STRING, 0, 0, 1, 1},
        {"Header/x_orientation", H5T_STRING, 4, 0, 1, 1},
        {"Header/object_name", H5T_STRING, 0, 0, 1, 1},
        {"Header/phase_type", H5T_STRING, 5, 0, 1, 1},
        {"Header/latitude", H5T_FLOAT, 8, 0, 1, 1},
        {"Header/longitude", H5T_FLOAT, 8, 0, 1, 1},
        {"Header/altitude", H5T_FLOAT, 8, 0, 1, 1},
        {"Header/Nants_data", H5T_INTEGER, 8, 0, 1, 1},
        {"Header/Nants_telescope", H5T_INTEGER, 8, 0, 1, 1},
        {"Header/Nbls", H5T_INTEGER, 8, 0, 1, 1},
        {"Header/Nblts", H5T_INTEGER, 8, 0, 1, 1},
        {"Header/Ntimes", H5T_INTEGER, 8, 0, 1, 1},
        {"Header/Nfreqs", H5T_INTEGER, 8, 0, 1, 1},
        {"Header/Npols", H5T_INTEGER, 8, 0, 1, 1},
        {"Header/Nspws", H5T_INTEGER, 8, 0, 1, 1},
        {"Header/Nphase", H5T_INTEGER, 8, 0, 1, 1},
        {"Header/Nfeeds", H5T_INTEGER, 8, 0, 1, 1},
        {"Header/flex_spw", H5T_ENUM, 1, 0, 1, 1},
        {"Header/blts_are_rectangular", H5T_ENUM, 1, 0, 1, 1},
        {"Header/time_axis_faster_than_bls", H5T_ENUM, 1, 0, 1, 1},
        {"Header/antenna_numbers", H5T_INTEGER, 8, 1, N_ANT, 1},
        {"Header/antenna_names", H5T_STRING, 64, 1, N_ANT, 1},
        {"Header/antenna_positions", H5T_FLOAT, 8, 2, N_ANT, 3},
        {"Header/feed_array", H5T_STRING, 1, 2, N_ANT, 2},
        {"Header/feed_angle", H5T_FLOAT, 8, 2, N_ANT, 2},
        {"Header/mount_type", H5T_STRING, 5, 1, N_ANT, 1},
        {"Header/ant_1_array", H5T_INTEGER, 8, 1, ROWS, 1},
        {"Header/ant_2_array", H5T_INTEGER, 8, 1, ROWS, 1},
        {"Header/uvw_array", H5T_FLOAT, 8, 2, ROWS, 3},
        {"Header/time_array", H5T_FLOAT, 8, 1, ROWS, 1},
        {"Header/integration_time", H5T_FLOAT, 8, 1, ROWS, 1},
        {"Header/freq_array", H5T_FLOAT, 8, 1, C, 1},
        {"Header/channel_width", H5T_FLOAT, 8, 1, C, 1},
        {"Header/spw_array", H5T_INTEGER, 8, 1, 1, 1},
        {"Header/polarization_array", H5T_INTEGER, 8, 1, 4, 1},
        {"Header/phase_center_id_array", H5T_INTEGER, 8, 1, ROWS, 1},
        {"Header/phase_center_app_ra", H5T_FLOAT, 8, 1, ROWS, 1},
        {"Header/phase_center_app_dec", H5T_FLOAT, 8, 1, ROWS, 1},
        {"Header/phase_center_frame_pa", H5T_FLOAT, 8, 1, ROWS, 1},
        {"Header/phase_center_catalog/0/cat_name", H5T_STRING, 0, 0, 1, 1},
        {"Header/phase_center_catalog/0/cat_type", H5T_STRING, 11, 0, 1, 1},
        {"Header/phase_center_catalog/0/cat_frame", H5T_STRING, 5, 0, 1, 1},
        {"Header/phase_center_catalog/0/cat_lon", H5T_FLOAT, 8, 0, 1, 1},
        {"Header/phase_center_catalog/0/cat_lat", H5T_FLOAT, 8, 0, 1, 1},
        {"Header/extra_keywords/FX8VERS", H5T_STRING, 3, 0, 1, 1},
        {"Header/extra_keywords/NTAPS", H5T_INTEGER, 8, 0, 1, 1},
        {"Header/extra_keywords/CLIPMAX", H5T_FLOAT, 8, 0, 1, 1},
        {"Data/visdata", H5T_COMPOUND, 8, 3, ROWS, C},
        {"Data/flags", H5T_ENUM, 1, 3, ROWS, C},
        {"Data/nsamples", H5T_FLOAT, 4, 3, ROWS, C},
    };
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
        check_item(file, items[i].name, items[i].class, items[i].size,
                   items[i].rank, items[i].rows, items[i].columns);
    /* dut1 is not known, so no sidereal times are claimed */
    assert_true(H5Lexists(file, "Header/lst_array", H5P_DEFAULT) == 0);
    assert_true(H5Lexists(file, "Header/dut1", H5P_DEFAULT) == 0);
    H5Fclose(file);
}

static void test_cut_after_some_dumps(void **state)
{
    (void)state;
    struct fixture f;
    static const size_t kept[] = {1, 2, 13, 39, 40};
    for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++)
        for (int packed = 0; packed < 2; packed++) {
            fill(&f, 40, 60, 4);
            struct fx8_uvh5_writer *writer =
                create("cut.uvh5", &f.header,
                       packed ? FX8_COMPRESSION_GZIP : FX8_COMPRESSION_NONE);
            for (size_t d = 0; d < kept[k]; d++)
                write_dump(writer, &f.header, d);
            struct fx8_error error = {FX8_OK, ""};
            assert_int_equal(fx8_uvh5_close(&writer, kept[k], &error), FX8_OK);
            check_file("cut.uvh5", &f.header, kept[k], kept[k]);
        }
}

/* What is cut off is also gone from the disk: at most the chunk that the
 * last dump lies in (1 MiB of visibilities, 13/8 of that in all) and the
 * header stay. */
static void test_cut_file_is_small(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f, 40, 300, 4);
    struct fx8_uvh5_writer *writer =
        create("small.uvh5", &f.header, FX8_COMPRESSION_NONE);
    struct stat whole;
    assert_int_equal(stat(in_folder("small.uvh5.part"), &whole), 0);
    write_dump(writer, &f.header, 0);
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_uvh5_close(&writer, 1, &error), FX8_OK);
    struct stat rest;
    assert_int_equal(stat(in_folder("small.uvh5"), &rest), 0);
    assert_true(whole.st_size >= 40 * N_BL * 300 * 4 * 13);
    assert_true(rest.st_size < (1 << 20) * 13 / 8 + (1 << 18));
    check_file("small.uvh5", &f.header, 1, 1);
}

static void test_no_dump_no_file(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f, 4, 8, 4);
    struct fx8_uvh5_writer *writer =
        create("none.uvh5", &f.header, FX8_COMPRESSION_NONE);
    assert_true(exists("none.uvh5.part"));
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_uvh5_close(&writer, 0, &error), FX8_OK);
    assert_false(exists("none.uvh5"));
    assert_false(exists("none.uvh5.part"));
    assert_int_equal(fx8_uvh5_close(&writer, 0, &error), FX8_OK);
}

/* A run that is killed: what it leaves opens, and every finished dump is
 * whole; the others are flagged where the layout allows for them. */
static void test_killed(void **state)
{
    (void)state;
    struct fixture f;
    for (int packed = 0; packed < 2; packed++)
        for (size_t finished = 0; finished <= 12; finished += 3) {
            fill(&f, 20, 60, 4);
            const pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0) {
                struct fx8_uvh5_writer *writer = create(
                    "killed.uvh5", &f.header,
                    packed ? FX8_COMPRESSION_GZIP : FX8_COMPRESSION_NONE);
                for (size_t d = 0; d < finished; d++)
                    write_dump(writer, &f.header, d);
                raise(SIGKILL);
            }
            int status = 0;
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
            assert_false(exists("killed.uvh5"));
            check_file("killed.uvh5.part", &f.header, 20, finished);
            unlink(in_folder("killed.uvh5.part"));
        }
}

/* While it is written, another program may look into the .part. */
static void test_read_while_written(void **state)
{
    (void)state;
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
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_uvh5_close(&writer, 2, &error), FX8_OK);
    check_file("live.uvh5", &f.header, 2, 2);
}

static void test_put_and_keywords(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f, 2, 8, 1);
    struct fx8_uvh5_writer *writer =
        create("put.uvh5", &f.header, FX8_COMPRESSION_NONE);
    double gains[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const size_t shape[2] = {2, 3};
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_uvh5_put(writer, "gains", 2, shape, gains[0],
                                  "gain per input and channel", &error),
                     FX8_OK);
    write_dump(writer, &f.header, 0);
    gains[1][2] = -7.5;
    assert_int_equal(fx8_uvh5_put(writer, "gains", 2, shape, gains[0],
                                  "gain per input and channel", &error),
                     FX8_OK);
    const double one = 3.5;
    assert_int_equal(
        fx8_uvh5_put(writer, "level", 0, NULL, &one, "one value", &error),
        FX8_OK);
    struct fx8_keyword keyword = {
        .name = "CLIPMAX", .type = FX8_KEYWORD_REAL, .real = 0.75};
    assert_int_equal(fx8_uvh5_put_keyword(writer, &keyword, &error), FX8_OK);
    keyword = (struct fx8_keyword){
        .name = "KERNEL", .type = FX8_KEYWORD_TEXT, .text = "avx2"};
    assert_int_equal(fx8_uvh5_put_keyword(writer, &keyword, &error), FX8_OK);
    write_dump(writer, &f.header, 1);
    assert_int_equal(fx8_uvh5_close(&writer, 2, &error), FX8_OK);
    check_file("put.uvh5", &f.header, 2, 2);
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header h;
    assert_int_equal(fx8_uvh5_open(in_folder("put.uvh5"), &file, &h, &error),
                     FX8_OK);
    assert_true(fx8_uvh5_keyword(&h, "CLIPMAX")->real == 0.75);
    assert_string_equal(fx8_uvh5_keyword(&h, "KERNEL")->text, "avx2");
    size_t got[3] = {0, 0, 0};
    double *values = NULL;
    assert_int_equal(fx8_uvh5_get(file, "gains", got, &values, &error), FX8_OK);
    assert_true(got[0] == 2 && got[1] == 3 && got[2] == 1);
    assert_memory_equal(values, gains, sizeof gains);
    free(values);
    assert_int_equal(fx8_uvh5_get(file, "level", got, &values, &error), FX8_OK);
    assert_true(got[0] == 1 && values[0] == 3.5);
    free(values);
    assert_int_equal(fx8_uvh5_get(file, "absent", got, &values, &error),
                     FX8_OK);
    assert_null(values);
    fx8_uvh5_header_clear(&h);
    fx8_uvh5_file_close(&file);
}

static void test_wrong_use(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f, 2, 8, 1);
    struct fx8_uvh5_writer *writer = NULL;
    struct fx8_error error = {FX8_OK, ""};
    f.header.n_channels = 0;
    assert_int_equal(fx8_uvh5_create(in_folder("use.uvh5"), false, &f.header,
                                     FX8_COMPRESSION_NONE, &writer, &error),
                     FX8_ERR_USAGE);
    f.header.n_channels = SIZE_MAX / 8;
    assert_int_equal(fx8_uvh5_create(in_folder("use.uvh5"), false, &f.header,
                                     FX8_COMPRESSION_NONE, &writer, &error),
                     FX8_ERR_USAGE);
    f.header.n_channels = 8;
    strcpy(f.header.x_orientation, "up");
    assert_int_equal(fx8_uvh5_create(in_folder("use.uvh5"), false, &f.header,
                                     FX8_COMPRESSION_NONE, &writer, &error),
                     FX8_ERR_USAGE);
    assert_non_null(strstr(error.message, "up: expected east or north"));
    strcpy(f.header.x_orientation, "north");
    if (H5Zfilter_avail(32008) <= 0) {
        assert_int_equal(fx8_uvh5_create(in_folder("use.uvh5"), false,
                                         &f.header, FX8_COMPRESSION_BITSHUFFLE,
                                         &writer, &error),
                         FX8_ERR_USAGE);
        assert_non_null(strstr(error.message, "Debian package bitshuffle"));
    }
    assert_null(writer);
    assert_false(exists("use.uvh5.part"));
    writer = create("use.uvh5", &f.header, FX8_COMPRESSION_NONE);
    assert_int_equal(fx8_uvh5_write_dump(writer, 2, NULL, NULL, NULL, &error),
                     FX8_ERR_USAGE);
    const size_t shape[1] = {1};
    const double x = 0;
    assert_int_equal(fx8_uvh5_put(writer, "x", 4, shape, &x, "", &error),
                     FX8_ERR_USAGE);
    assert_int_equal(fx8_uvh5_close(&writer, 0, &error), FX8_OK);
}

/* --- files of others
 * ----------------------------------------------------------- */

/* A good file to spoil. */
static hid_t open_good(void)
{
    struct fixture f;
    fill(&f, 2, 4, 4);
    struct fx8_uvh5_writer *writer =
        create("odd.uvh5", &f.header, FX8_COMPRESSION_NONE);
    write_dump(writer, &f.header, 0);
    write_dump(writer, &f.header, 1);
    struct fx8_error error = {FX8_OK, ""};
    assert_int_equal(fx8_uvh5_close(&writer, 2, &error), FX8_OK);
    hid_t file = H5Fopen(in_folder("odd.uvh5"), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static void put(hid_t file, const char *name, hid_t type, int rank,
                const hsize_t *extent, hid_t memory, const void *values)
{
    if (H5Lexists(file, name, H5P_DEFAULT) > 0)
        H5Ldelete(file, name, H5P_DEFAULT);
    hid_t space =
        rank > 0 ? H5Screate_simple(rank, extent, NULL) : H5Screate(H5S_SCALAR);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT);
    assert_true(dataset >= 0);
    if (values != NULL)
        assert_true(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                             values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
}

static void expect_refused(const char *part)
{
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header h;
    struct fx8_error error = {FX8_OK, ""};
    const enum fx8_status status =
        fx8_uvh5_open(in_folder("odd.uvh5"), &file, &h, &error);
    if (status != FX8_ERR_INPUT || strstr(error.message, part) == NULL ||
        strncmp(error.message, path, strlen(path)) != 0)
        fail_msg("status %d, '%s' lacks '%s'", status, error.message, part);
    assert_null(file);
    assert_null(h.ant_1);
}

static void test_missing_items(void **state)
{
    (void)state;
    static const char *const required[] = {"Header/latitude",
                                           "Header/longitude",
                                           "Header/altitude",
                                           "Header/telescope_name",
                                           "Header/instrument",
                                           "Header/history",
                                           "Header/Nants_telescope",
                                           "Header/Nbls",
                                           "Header/Nblts",
                                           "Header/Ntimes",
                                           "Header/Nfreqs",
                                           "Header/Npols",
                                           "Header/antenna_numbers",
                                           "Header/antenna_names",
                                           "Header/antenna_positions",
                                           "Header/ant_1_array",
                                           "Header/ant_2_array",
                                           "Header/uvw_array",
                                           "Header/time_array",
                                           "Header/integration_time",
                                           "Header/freq_array",
                                           "Header/channel_width",
                                           "Header/polarization_array",
                                           "Data/visdata",
                                           "Data/flags",
                                           "Data/nsamples",
                                           "Data",
                                           "Header"};
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        hid_t file = open_good();
        assert_true(H5Ldelete(file, required[i], H5P_DEFAULT) >= 0);
        H5Fclose(file);
        const char *slash = strchr(required[i], '/');
        char expected[64];
        snprintf(expected, sizeof expected, "%s: missing",
                 slash != NULL ? slash + 1 : required[i]);
        expect_refused(expected);
    }
}

static void test_odd_counts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t value;
        const char *expected;
    } cases[] = {
        {"Header/Nbls", 0, "Nbls: 0: expected 1 to"},
        {"Header/Nbls", -1, "Nbls: -1: expected 1 to"},
        {"Header/Nbls", 11, "expected Nbls x Ntimes"},
        {"Header/Nblts", INT64_MAX, "expected 1 to"},
        {"Header/Nants_telescope", INT32_MAX, "expected a count that a file"},
        {"Header/Nants_telescope", 5, "antenna_numbers: shape 4 x 1"},
        {"Header/Nfreqs", 5, "freq_array: shape 4 x 1: expected 5 x 1"},
        {"Header/Npols", 5, "Npols: 5: expected 1 to 4"},
        {"Header/Npols", 3, "polarization_array: shape 4 x 1: expected 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hid_t file = open_good();
        put(file, cases[i].name, H5T_STD_I64LE, 0, NULL, H5T_NATIVE_INT64,
            &cases[i].value);
        H5Fclose(file);
        expect_refused(cases[i].expected);
    }
}

static void test_odd_types(void **state)
{
    (void)state;
    const hsize_t cube[3] = {2 * N_BL, 4, 4};
    const hsize_t rows[2] = {2 * N_BL, 3};
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 8);
    const struct {
        const char *name;
        hid_t type;
        int rank;
        const hsize_t *extent;
        const char *expected;
    } cases[] = {
        {"Data/visdata", H5T_IEEE_F32LE, 3, cube,
         "visdata: float32: expected compound {r, i}"},
        {"Data/visdata", H5T_IEEE_F32LE, 2, cube, "visdata: float32"},
        {"Data/flags", H5T_IEEE_F32LE, 3, cube, "flags: float32"},
        {"Data/flags", H5T_STD_I8LE, 2, cube, "flags: 2 axes"},
        {"Data/nsamples", H5T_STD_I8LE, 3, cube, "nsamples: int8"},
        {"Data/nsamples", H5T_IEEE_F32LE, 3, rows, "nsamples: 3 axes"},
        {"Header/Nbls", text, 0, NULL, "Nbls: string: expected a whole"},
        {"Header/latitude", text, 0, NULL, "latitude: string: expected a num"},
        {"Header/time_array", text, 1, rows, "time_array: string: expected"},
        {"Header/uvw_array", H5T_IEEE_F64LE, 1, rows, "uvw_array: shape"},
        {"Header/history", H5T_STD_I8LE, 0, NULL, "history: int8: expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hsize_t extent[3] = {2 * N_BL, 3, 4};
        if (cases[i].extent == cube)
            extent[1] = 4;
        hid_t file = open_good();
        put(file, cases[i].name, cases[i].type, cases[i].rank, extent,
            H5I_INVALID_HID, NULL);
        H5Fclose(file);
        expect_refused(cases[i].expected);
    }
    H5Tclose(text);
}

static void test_rows_out_of_order(void **state)
{
    (void)state;
    const hsize_t n = 2 * N_BL;
    int64_t ant_2[2 * N_BL];
    double dates[2 * N_BL];
    struct fixture f;
    fill(&f, 2, 4, 4);
    for (size_t i = 0; i < n; i++) {
        ant_2[i] = f.ant_2[i % N_BL];
        dates[i] = 2458000.5 + (double)(i / N_BL);
    }
    ant_2[13] = 99;
    hid_t file = open_good();
    put(file, "Header/ant_2_array", H5T_STD_I64LE, 1, &n, H5T_NATIVE_INT64,
        ant_2);
    H5Fclose(file);
    expect_refused("row 13: antennas 1 and 99");
    dates[4] += 1;
    file = open_good();
    put(file, "Header/time_array", H5T_IEEE_F64LE, 1, &n, H5T_NATIVE_DOUBLE,
        dates);
    H5Fclose(file);
    expect_refused("row 4: antennas");
}

/* What other writers do: length-1 counts of other widths, strings of variable
 * length, integer and double visibilities, flags over 32 bits. */
static void test_other_writers(void **state)
{
    (void)state;
    const hsize_t one = 1;
    const hsize_t cube[3] = {2 * N_BL, 4, 4};
    enum { N = 2 * N_BL * 4 * 4 };
    static int32_t visibilities[N][2];
    static int32_t flags[N];
    for (size_t i = 0; i < N; i++) {
        visibilities[i][0] = (int32_t)i - 100;
        visibilities[i][1] = -3 * (int32_t)i;
        flags[i] = i % 2 == 0;
    }
    hid_t file = open_good();
    const uint16_t n_bl = N_BL;
    put(file, "Header/Nbls", H5T_STD_U16BE, 1, &one, H5T_NATIVE_UINT16, &n_bl);
    const char *name = "variable";
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    put(file, "Header/telescope_name", text, 0, NULL, text, &name);
    H5Tclose(text);
    hid_t complex = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(complex, "r", 0, H5T_NATIVE_INT32);
    H5Tinsert(complex, "i", 4, H5T_NATIVE_INT32);
    put(file, "Data/visdata", complex, 3, cube, complex, visibilities);
    H5Tclose(complex);
    hid_t boolean = H5Tenum_create(H5T_NATIVE_INT32);
    int32_t number = 0;
    H5Tenum_insert(boolean, "FALSE", &number);
    number = 1;
    H5Tenum_insert(boolean, "TRUE", &number);
    put(file, "Data/flags", boolean, 3, cube, boolean, flags);
    H5Tclose(boolean);
    const hsize_t two = 2;
    const double pair[2] = {1, 2};
    put(file, "Header/extra_keywords/PAIR", H5T_IEEE_F64LE, 1, &two,
        H5T_NATIVE_DOUBLE, pair);
    put(file, "Header/extra_keywords/a long name", H5T_IEEE_F64LE, 0, NULL,
        H5T_NATIVE_DOUBLE, pair);
    H5Fclose(file);
    struct fx8_uvh5_file *odd = NULL;
    struct fx8_uvh5_header h;
    struct fx8_error error = {FX8_OK, ""};
    if (fx8_uvh5_open(in_folder("odd.uvh5"), &odd, &h, &error) != FX8_OK)
        fail_msg("%s", error.message);
    assert_string_equal(h.telescope, "variable");
    assert_int_equal(h.n_keywords, 3);
    static double got[N][2];
    static uint8_t got_flags[N];
    assert_int_equal(
        fx8_uvh5_read_rows(odd, 0, 2 * N_BL, got[0], got_flags, NULL, &error),
        FX8_OK);
    for (size_t i = 0; i < N; i++) {
        assert_true(got[i][0] == visibilities[i][0]);
        assert_true(got[i][1] == visibilities[i][1]);
        assert_int_equal(got_flags[i], flags[i]);
    }
    assert_int_equal(
        fx8_uvh5_read_rows(odd, 2 * N_BL, 1, NULL, NULL, NULL, &error),
        FX8_ERR_USAGE);
    assert_int_equal(
        fx8_uvh5_read_rows(odd, 1, SIZE_MAX, NULL, NULL, NULL, &error),
        FX8_ERR_USAGE);
    fx8_uvh5_header_clear(&h);
    fx8_uvh5_file_close(&odd);
}

int main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    signal(SIGXFSZ, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_items_of_the_format),
        cmocka_unit_test(test_cut_after_some_dumps),
        cmocka_unit_test(test_cut_file_is_small),
        cmocka_unit_test(test_no_dump_no_file),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_read_while_written),
        cmocka_unit_test(test_put_and_keywords),
        cmocka_unit_test(test_wrong_use),
        cmocka_unit_test(test_missing_items),
        cmocka_unit_test(test_odd_counts),
        cmocka_unit_test(test_odd_types),
        cmocka_unit_test(test_rows_out_of_order),
        cmocka_unit_test(test_other_writers),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
