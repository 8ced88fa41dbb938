/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_hostile.c -- recordings and visibilities of which one item is missing or
 * wrong are refused with one line that names the file and the item.
 *
 * Shows (recordings, damaged recordings): damaged and hostile files are refused
 * Within: exit 1, one line, nothing left behind
 * In: test_hostile_files.c, scenario/bad_recordings.py
 */
#include "validation/hostile.h"

/* A type as fx8's messages name it. */
static hid_t type_of(const char *name)
{
    const struct {
        const char *name;
        hid_t type;
    } types[] = {
        {"int8", H5T_STD_I8LE},      {"uint8", H5T_STD_U8LE},
        {"int16", H5T_STD_I16LE},    {"uint16", H5T_STD_U16LE},
        {"int32", H5T_STD_I32LE},    {"int64", H5T_STD_I64LE},
        {"uint64", H5T_STD_U64LE},   {"float32", H5T_IEEE_F32LE},
        {"float64", H5T_IEEE_F64LE}, {"string", H5T_C_S1},
    };
    char first[16], second[16], part[16];
    if (sscanf(name, "{%15[^:]: %15[^,], %15[^:]", first, part, second) == 3)
        return pair_type(first, second, type_of(part));
    for (size_t i = 0; i < LENGTH(types); i++)
        if (strcmp(types[i].name, name) == 0)
            return H5Tcopy(types[i].type);
    fail_msg("%s: no type", name);
    return H5I_INVALID_HID;
}

/*
 * Make a change to a file, written as one of
 *
 *     ITEM                   it is removed; names are those of hdf5_items.h
 *     ITEM = TEXT            a text; of a dataset: one in an array
 *     ITEM TYPE VALUE        a number, a scalar
 *     ITEM TYPE[N,...] ...   an array of any rank, [] of none: first values,
 *                            0 behind them; or "unwritten"
 */
static void make_change(hid_t file, const char *change)
{
    char item[64], name[32];
    int length = 0, rank = 0;
    hsize_t extent[4];
    size_t n = 1;
    assert_int_equal(sscanf(change, "%63s %n", item, &length), 1);
    char *at = (char *)(uintptr_t)change + length;
    if (*at == '\0') {
        remove_item(file, item);
        return;
    }
    if (*at == '=') {
        put_text(file, item, strchr(item, '@') == NULL ? 1 : 0, at + 2);
        return;
    }
    length = (int)(*at == '{' ? strcspn(at, "}") + 1 : strcspn(at, " ["));
    snprintf(name, sizeof name, "%.*s", length, at);
    at += length;
    if (strncmp(at, "[]", 2) == 0)
        rank = -1;
    while (rank >= 0 && (*at == '[' || *at == ',')) {
        extent[rank] = strtoull(at + 1, &at, 10);
        n *= (size_t)extent[rank++];
    }
    hid_t type = type_of(name);
    const H5T_class_t class = H5Tget_class(type);
    const hid_t memory = class == H5T_FLOAT                  ? H5T_NATIVE_DOUBLE
                         : class != H5T_INTEGER              ? type
                         : H5Tget_sign(type) == H5T_SGN_NONE ? H5T_NATIVE_UINT64
                                                             : H5T_NATIVE_INT64;
    uint64_t *values = temporary_zeros((n + 4) * sizeof *values);
    at += strspn(at, "[] ");
    for (size_t i = 0; i < n && *at != '\0' && *at != 'u'; i++)
        if (class == H5T_FLOAT) {
            const double value = strtod(at, &at);
            memcpy(&values[i], &value, sizeof value);
        } else {
            values[i] = strtoull(at, &at, 10); /* -1 is 2^64 - 1 */
        }
    put_item(file, item, type, rank, extent, memory,
             rank < 0 || *at == 'u' ? NULL : values);
    release_early(values);
    H5Tclose(type);
}

/* Every change, alone or after those without a message before it, must be
 * refused with a message that contains its second text. */
static void refuse_changes(const struct format *format,
                           const char *const (*changes)[2], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hid_t file = make_good_file(format);
        for (; changes[i][1] == NULL; i++)
            make_change(file, changes[i][0]);
        make_change(file, changes[i][0]);
        H5Fclose(file);
        refuse(format, changes[i][1]);
    }
}

TEST(test_native)
{
    static const char *const changes[][2] = {
        {"@format", "format: missing"},
        {"@version", "version: missing"},
        {"@sample_rate_numerator_hz", "sample_rate_numerator_hz: missing"},
        {"@sample_rate_denominator", "sample_rate_denominator: missing"},
        {"@dc_frequency_hz", "dc_frequency_hz: missing"},
        {"@sideband", "sideband: missing"},
        {"@start_time_unix_s", "start_time_unix_s: missing"},
        {"@start_time_ns", "start_time_ns: missing"},
        {"@format int64 0", "format: int64: expected text"},
        {"@format = sideways", "format: sideways: expected fx8-voltages"},
        {"@version int64 0", "version: 0: expected 1 to 1"},
        {"@version float64 0.5", "version: float64: expected a whole number"},
        {"@sample_rate_numerator_hz int64 0", ": 0: expected 1 to"},
        {"@sample_rate_numerator_hz uint64 9223372036854775808",
         "9223372036854775808: expected at most 9223372036854775807"},
        {"@sample_rate_numerator_hz = many", "string: expected a whole number"},
        {"@sample_rate_denominator int64 -1", ": -1: expected 1 to"},
        {"@sample_rate_denominator int64[2]", "shape 2 x 1: expected 1 x 1"},
        {"@sample_rate_denominator int64[]", "expected a value"},
        {"@dc_frequency_hz float64 -0.5", ": -0.5: expected 0 to 1e15 Hz"},
        {"@dc_frequency_hz float64 1.1e15", ": 1.1e+15: expected 0 to 1e15 Hz"},
        {"@dc_frequency_hz float64 nan", "expected a finite number"},
        {"@dc_frequency_hz = high", "string: expected a number"},
        {"@sideband int64 0", "int64: expected text"},
        {"@sideband = sideways", "sideways: expected upper or lower"},
        {"@start_time_ns int64 -1", ": -1: expected 0 to 999999999"},
        {"@start_time_ns int64 1000000000", "expected 0 to 999999999"},
        {"@start_time_unix_s float64 0.5", "float64: expected a whole number"},
        {"voltages", "voltages: missing: expected a dataset"},
        {"voltages uint8[5,2,9]", "voltages: uint8: expected int8"},
        {"voltages int16[5,2,9]", "voltages: int16: expected int8"},
        {"voltages float32[5,2,9]", "voltages: float32: expected int8"},
        {"voltages {r: int16, i: int16}[5,2,9]",
         "compound {r: int16, i: int16}: expected"},
        {"voltages {real: int8, imag: int8}[5,2,9]",
         "compound {real: int8, imag: int8}: expected"},
        {"voltages int8[5,2]", "voltages: 2 axes: expected 3"},
        {"voltages int8[5,2,9,1]", "voltages: 4 axes: expected 3"},
        {"voltages int8[0,2,9]", "antenna axis of length 0"},
        {"voltages int8[5,0,9]", "pol axis of length 0"},
        {"voltages int8[5,2,0]", "time axis of length 0"},
        {"voltages int8[5,3,9]", "pol axis of length 3"},
        {"voltages int8[65537,2,9]", "antenna axis of length 65537"},
        {"voltages int8[5,2,9] unwritten",
         "voltages: never written: expected a whole recording"},
        {"antennas int32[5]", "antennas: int32: expected a table"},
        {"antennas {number: float32, name: float32}[5]",
         "expected a member number, a whole number"},
        {"antennas@latitude_deg",
         "antennas: attribute latitude_deg: missing: expected all of "
         "latitude_deg, longitude_deg, altitude_m, or none"},
        {"antennas@latitude_deg float64 90.5",
         "antennas: attribute latitude_deg: 90.5: expected -90 to 90"},
    };
    refuse_changes(&native, changes, LENGTH(changes));
    char text[512];
    snprintf(text, sizeof text, "@telescope = %0299d", 0);
    refuse_changes(
        &native,
        (const char *const[][2]){{text, "299 characters: expected fewer than"}},
        1);
}

TEST(test_tart)
{
#define RATE "config = {\"sampling_frequency\": 16368000"
#define BAND RATE ", \"frequency\": 1575420000"
    static const char *const changes[][2] = {
        {"config = ",
         "tart/good.h5: config:1: '[' or '{' expected near end of file: "
         "expected JSON"},
        {"config = {\"frequency\": 1", ": '}' expected near end of file"},
        {"config = {\"frequency\"\n1}", "config:2: ':' expected near '1'"},
        {"config = {\"a\": [1, 2}", ": ']' expected near '}'"},
        {"config = {\"a\": \"x}", ": premature end of input near '\"x}'"},
        {"config = {\"a\": NaN}", ": invalid token near 'NaN'"},
        {"config = {} x", ": end of file expected near 'x'"},
        {"config = [1]", "sampling_frequency: missing"},
        {"config = {}", "sampling_frequency: missing"},
        {"config = {\"sampling_frequency\": 0}", "sampling_frequency: 0"},
        {"config = {\"sampling_frequency\": -5}", "sampling_frequency: -5"},
        {"config = {\"sampling_frequency\": true}", "sampling_frequency: true"},
        {RATE "}", "frequency: missing"},
        {RATE ", \"frequency\": \"x\"}", "frequency: x"},
        {BAND ", \"L0_frequency\": 1570000000}",
         "L0_frequency 1570000000.000: expected"},
        {BAND "}", "lat: missing"},
        {BAND ", \"lat\": 91}", "lat: 91: expected"},
        {BAND ", \"lat\": 9, \"lon\": 1, \"alt\": 1, \"num_antenna\": 24}",
         "num_antenna 24: expected 3"},
        {"timestamp = yesterday", "timestamp: yesterday: expected"},
        {"data uint8[3,2100] unwritten",
         "data: never written: expected a whole"},
    };
    refuse_changes(&tart, changes, LENGTH(changes));
}

TEST(test_digital_rf)
{
    static const char *const properties[][2] = {
        {"@sample_rate_numerator int64 0",
         "sample_rate_numerator: 0: expected"},
        {"@sample_rate_denominator int64 0",
         "sample_rate_denominator: 0: expected"},
        {"@sample_rate_denominator int64 1000003",
         "sample_rate_denominator: 1000003 in lowest terms: expected at most"},
        {"@file_cadence_millisecs int64 0",
         "file_cadence_millisecs: 0: expected"},
        {"@is_complex int64 2", "is_complex: 2: expected"},
        {"@is_continuous int64 -1", "is_continuous: -1: expected"},
        {"@num_subchannels int64 0", "num_subchannels: 0: expected"},
        {"@epoch = the beginning", "epoch: the beginning: expected"},
    };
#define PAIRS "rf_data {r: int8, i: int8}"
    static const char *const samples[][2] = {
        {"rf_data {r: float32, i: float32}[500,1]",
         "rf_data: compound {r: float32, i: float32}: expected compound {r, i} "
         "of int8 or int16"},
        {"rf_data {r: int32, i: int32}[500,1]", "{r: int32, i: int32}"},
        {"rf_data {r: uint8, i: uint8}[500,1]", "{r: uint8, i: uint8}"},
        /* sub-channels that are not in the properties */
        {PAIRS "[500,2]",
         "rf_data: 2 axes, 500 x 2: expected rows of 1 sub-channel"},
        {"rf_data_index uint64[1,2] 1600000000000 1", "rf_data_index: row 0: "},
        {"rf_data_index uint64[1,2] 1600000000002", "rf_data_index: row 0: "},
        {"rf_data_index uint64[1,2] 1599999999998", "rf_data_index: row 0: "},
        {"rf_data_index uint64[1,2] 9223372036854775807",
         "row 0: sample 92233"},
        {"rf_data_index uint64[1,2] 18446744073709551615", "expected at most"},
        {PAIRS "[1000,1]", "in 1000 rows"},
        {PAIRS "[100,1]", NULL},
        {"rf_data_index uint64[2,2] 1600000000000 0 1600000000040 50",
         "row 1: "},
        {PAIRS "[100,1]", NULL},
        {"rf_data_index uint64[2,2] 1600000000000 0 1600000000200 0",
         "row 0: "},
        {PAIRS "[100,1]", NULL},
        {"rf_data_index uint64[2,2] 1600000000000 0 1600000000200 100",
         "row 1: "},
        {PAIRS "[100,1]", NULL},
        {"rf_data_index uint64[2,2] 1600000000000 0 1600000000200 "
         "9223372036854775807",
         "row 0: "},
        {PAIRS "[1,1]", NULL},
        {"rf_data_index uint64[2,2] 1600000000000 0 1600000000200 1",
         "2 rows: expected"},
        {"rf_data_index uint64[0,2]", "0 rows: expected"},
    };
    refuse_changes(&drf_channel, properties, LENGTH(properties));
    refuse_changes(&drf_samples, samples, LENGTH(samples));
    H5Fclose(make_good_file(&drf_channel));
    assert_int_equal(unlink(scratch_path(drf_channel.changed)), 0);
    refuse(&drf_channel, "ch0/drf_properties.h5: No such file");
}

TEST(test_aavs)
{
#define STAMPS "sample_timestamps/data "
    static const char *const changes[][2] = {
        {"root@n_antennas int64 0", "n_antennas: 0: expected 1 to"},
        {"root@n_antennas int64 1048576", "n_antennas: 1048576: expected 1 to"},
        {"root@n_antennas int64 3",
         "columns: expected n_chans x n_antennas x n_pols"},
        {"root@n_pols int64 3", "n_pols: 3: expected 1 to 2"},
        {"root@n_chans int64 -1", "n_chans: -1"},
        {"root@n_blocks int64 0", "n_blocks: 0"},
        {"root@n_blocks int64 4", "600 rows: expected at least 800"},
        {"root@n_samples int64 9223372036854775807",
         "n_samples: 9223372036854775807"},
        {"root@tile_id int64 1048576", "tile_id: 1048576"},
        {"root@channel_id int64 1048576", "channel_id: 1048576"},
        {"root@tsamp int64 -1", "tsamp: -1: expected a sampling time"},
        {"chan_/data {real: int16, imag: int16}[600,8]",
         "int16}: expected compound {real"},
        {"chan_/data {re: int8, im: int8}[600,8]",
         "{re: int8, im: int8}: expected"},
        {"chan_/data uint16[600,8]", "uint16: expected compound"},
        {"chan_/data {r: int8, i: int8}[600]", "1 axis: expected 2"},
        {"chan_/data {r: int8, i: int8}[600,2,4]", "3 axes: expected 2"},
        {"chan_/data {r: int8, i: int8}[600,8] unwritten", "never written"},
        {STAMPS "float32[600,1]", "float32: expected float64"},
        {STAMPS "float64[599,1]", "599 x 1: expected one column"},
        {STAMPS "float64[600,2]", "600 x 2: expected one column"},
        {STAMPS "float64[600] unwritten", "never written"},
    };
    refuse_changes(&aavs, changes, LENGTH(changes));
}

TEST(test_uvh5)
{
    static const char *const changes[][2] = {
        {"Header/Nbls int64 0", "Nbls: 0: expected 1 to"},
        {"Header/Nbls int64 -1", "Nbls: -1: expected 1 to"},
        {"Header/Nbls int64 11", "expected Nbls x Ntimes"},
        {"Header/Nbls int64 9", "expected Nbls x Ntimes"},
        {"Header/Nbls string", "Nbls: string: expected a whole"},
        {"Header/Nblts int64 9223372036854775807", "expected 1 to"},
        {"Header/Nants_telescope int64 2147483647",
         "expected a count that a file"},
        {"Header/Nants_telescope int64 5", "antenna_numbers: shape 4 x 1"},
        {"Header/Nfreqs int64 5", "freq_array: shape 4 x 1: expected 5 x 1"},
        {"Header/Npols int64 5", "Npols: 5: expected 1 to 4"},
        {"Header/Npols int64 3", "polarization_array: shape 4 x 1: expected 3"},
        {"Header/latitude string", "latitude: string: expected a num"},
        {"Header/time_array string[20]", "time_array: string: expected"},
        {"Header/uvw_array float64[20]", "uvw_array: shape"},
        {"Header/history int8 0", "history: int8: expected"},
        {"Data/visdata float32[20,4,4]",
         "visdata: float32: expected compound {r, i}"},
        {"Data/visdata float32[20,4]", "visdata: float32"},
        {"Data/flags float32[20,4,4]", "flags: float32"},
        {"Data/flags int8[20,4]", "flags: 2 axes"},
        {"Data/nsamples int8[20,4,4]", "nsamples: int8"},
        {"Data/nsamples float32[20,3,4]", "nsamples: 3 axes"},
    };
    refuse_changes(&uvh5, changes, LENGTH(changes));
    char required[] =
        "Header/latitude Header/longitude Header/altitude "
        "Header/telescope_name Header/instrument Header/history "
        "Header/Nants_telescope Header/Nbls Header/Nblts Header/Ntimes "
        "Header/Nfreqs Header/Npols Header/antenna_numbers "
        "Header/antenna_names Header/antenna_positions Header/ant_1_array "
        "Header/ant_2_array Header/uvw_array Header/time_array "
        "Header/integration_time Header/freq_array Header/channel_width "
        "Header/polarization_array Data/visdata Data/flags Data/nsamples Data "
        "Header";
    for (char *item = strtok(required, " "); item != NULL;
         item = strtok(NULL, " ")) {
        const char *slash = strchr(item, '/');
        char expected[64];
        snprintf(expected, sizeof expected, "%s: missing",
                 slash != NULL ? slash + 1 : item);
        refuse_changes(&uvh5, (const char *const[][2]){{item, expected}}, 1);
    }
    /* rows that are not in the order of baselines and times */
    enum { ROWS = 2 * N_BL };
    const hsize_t n = ROWS;
    int64_t ant_2[ROWS];
    double dates[ROWS];
    struct fixture f;
    fill(&f, 2, 4, 4);
    for (size_t i = 0; i < n; i++) {
        ant_2[i] = f.ant_2[i % N_BL];
        dates[i] = 2458000.5 + (double)(i / N_BL);
    }
    ant_2[13] = 99;
    hid_t file = make_good_file(&uvh5);
    put_item(file, "Header/ant_2_array", H5T_STD_I64LE, 1, &n, H5T_NATIVE_INT64,
             ant_2);
    H5Fclose(file);
    refuse(&uvh5, "row 13: antennas 1 and 99");
    dates[4] += 1;
    file = make_good_file(&uvh5);
    put_item(file, "Header/time_array", H5T_IEEE_F64LE, 1, &n,
             H5T_NATIVE_DOUBLE, dates);
    H5Fclose(file);
    refuse(&uvh5, "row 4: antennas");
    double lengths[ROWS] = {1, 1, 1, 1, 1, NAN};
    file = make_good_file(&uvh5);
    put_item(file, "Header/integration_time", H5T_IEEE_F64LE, 1, &n,
             H5T_NATIVE_DOUBLE, lengths);
    H5Fclose(file);
    refuse(&uvh5, "integration_time: row 5: nan: expected seconds above 0");
}
