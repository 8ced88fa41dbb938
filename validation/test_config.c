/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration as a whole: table of keys, overrides, origins, paths, dump.
 * test_ini.c tests the notation of the file, test_config_values.c the values.
 *
 * Shows (commands, configuration): every key has its range, origin and
 *     description; CSV and JSON tables are read; geocentric positions are
 *     recognised
 * Within: exit 2, one line that names the place
 * In: test_config_values.c, test_ini.c, test_antennas.c, scenario/bad_config.py
 */
#include <math.h>

#include "config/keys.h"
#include "config/settings.h"
#include "validation/scratch.h"
#include "validation/settings_checks.h"
#include "validation/testing.h"

/* A whole dump as text; the caller frees it. */
static char *dump(const struct fx8_settings *settings)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    fx8_settings_dump(settings, stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

/* --- the table ------------------------------------------------------------ */

TEST(every_key_is_complete)
{
    assert_true(fx8_keys_count > 60);
    for (size_t i = 0; i < fx8_keys_count; i++) {
        const struct fx8_key *key = &fx8_keys[i];
        assert_true(fx8_section_exists(key->section));
        assert_true(strlen(key->help) > 8);
        assert_ptr_equal(fx8_key_find(key->section, key->name), key);
        char text[FX8_KEY_EXPECTED_SIZE];
        fx8_key_describe(key, text);
        assert_true(strlen(text) > 1);
        assert_true(strlen(text) < FX8_KEY_EXPECTED_SIZE - 2);
        /* no two keys share a member */
        assert_true(key->size > 0);
        for (size_t k = 0; k < i; k++)
            assert_true(key->offset >= fx8_keys[k].offset + fx8_keys[k].size ||
                        fx8_keys[k].offset >= key->offset + key->size);
        assert_true(!key->default_only || key->fallback != NULL);
    }
}

/* Every default is valid, and the dump writes it as in the table. */
TEST(every_default_reads_and_writes)
{
    struct fx8_settings settings;
    struct fx8_error error;
    assert_int_equal(fx8_settings_load(NULL, NULL, 0, false, &settings, &error),
                     FX8_OK);
    for (size_t i = 0; i < fx8_keys_count; i++) {
        const struct fx8_key *key = &fx8_keys[i];
        if (key->fallback == NULL)
            continue;
        assert_int_equal(fx8_key_read(key, key->fallback, "", &settings),
                         FX8_OK);
        assert_true(fx8_key_is_built(key, key->fallback));
        char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);
        key->type->write(key, &settings, stream);
        fclose(stream);
        assert_string_equal(text, key->fallback);
        free(text);
    }
    fx8_settings_clear(&settings);
}

TEST(only_two_keys_are_required)
{
    size_t n_required = 0;
    for (size_t i = 0; i < fx8_keys_count; i++)
        n_required += fx8_keys[i].fallback == NULL;
    assert_int_equal(n_required, 2);
    refuse("[correlator]\nintegration_time_s = 1\n",
           ": channelizer.channels: (not given): expected an integer from 1 to "
           "1048576");
    refuse("[channelizer]\nchannels = 64\n",
           ": correlator.integration_time_s: (not given): expected a plain "
           "number from 0.001 to 1e+07 s, or all");
    struct fx8_settings settings;
    struct fx8_error error;
    assert_int_equal(fx8_settings_load(NULL, NULL, 0, true, &settings, &error),
                     FX8_ERR_USAGE);
    assert_string_equal(error.message,
                        "configuration: channelizer.channels: (not given): "
                        "expected an integer from 1 to 1048576");
}

/* Both forms of the reference: how each writes sections and keys. */
TEST(reference_names_every_key)
{
    static const struct {
        void (*print)(FILE *stream);
        const char *section;
        const char *key;
    } forms[] = {
        {fx8_settings_print_keys, "\n[%s]\n", "\n  %s = %s "},
        {fx8_settings_print_markdown, "\n## [%s]\n", "\n- `%s`: "},
    };
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);
        forms[f].print(stream);
        fclose(stream);
        for (size_t i = 0; i < fx8_sections_count; i++) {
            char header[80];
            snprintf(header, sizeof header, forms[f].section,
                     fx8_sections[i].name);
            assert_non_null(strstr(text, header));
        }
        for (size_t i = 0; i < fx8_keys_count; i++) {
            char line[160];
            const char *fallback = fx8_keys[i].fallback;
            snprintf(line, sizeof line, forms[f].key, fx8_keys[i].name,
                     fallback != NULL ? fallback : "(required)");
            assert_non_null(strstr(text, line));
        }
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            assert_true(strlen(line) <= 80);
        free(text);
    }
}

/* --- overrides and origins ------------------------------------------------ */

TEST(overrides_win_and_the_last_one_most)
{
    const char *path = scratch_text("good.ini", REQUIRED);
    const char *const overrides[] = {"channelizer.channels=8",
                                     " channelizer . channels = 16 ",
                                     "output.file=a=b.uvh5"};
    struct fx8_settings settings;
    struct fx8_error error;
    assert_int_equal(
        fx8_settings_load(path, overrides, 3, true, &settings, &error), FX8_OK);
    assert_int_equal(settings.channelizer.n_channels, 16);
    assert_string_equal(settings.output.file, "a=b.uvh5");
    assert_int_equal(fx8_settings_fail(&settings, "channelizer.channels",
                                       &error, "expected %d", 7),
                     FX8_ERR_USAGE);
    assert_string_equal(error.message,
                        "--set: channelizer.channels: 16: expected 7");
    fx8_settings_fail(&settings, "correlator.integration_time_s", &error,
                      "expected more");
    char whole[FX8_ERROR_MESSAGE_SIZE];
    snprintf(whole, sizeof whole,
             "%s:4: correlator.integration_time_s: 1: expected more", path);
    assert_string_equal(error.message, whole);
    fx8_settings_fail(&settings, "quantizer.target_rms", &error, "expected x");
    assert_string_equal(error.message,
                        "default: quantizer.target_rms: 20: expected x");
    fx8_settings_fail(&settings, "output.compression", NULL, "expected x");
    fx8_settings_fail(&settings, "array.positions", &error, "expected x");
    assert_string_equal(error.message,
                        "default: array.positions: (empty): expected x");
    fx8_settings_clear(&settings);
}

TEST(overrides_that_are_none)
{
    static const char *const bad[][2] = {
        {"", "--set: : expected section.key=value"},
        {"threads=4", "--set: threads=4: expected section.key=value"},
        {"correlator.threads",
         "--set: correlator.threads: expected section.key=value"},
        {"file=a.b", "--set: file=a.b: expected section.key=value"},
        {"corelator.treads=4", "--set: corelator.treads: 4: unknown key; did "
                               "you mean correlator.threads?"},
        {"correlator.threads=", "--set: correlator.threads: (empty): expected "
                                "an integer from 0 to 1024"},
        {"output.file=;x", "--set: output.file: ;x: expected no ';' at its "
                           "start, where it opens a comment"},
        {"output.file=a ;x", "--set: output.file: a ;x: expected no ';' after "
                             "a blank, where it opens a comment"},
        {"output.file=a\nb", "--set: output.file: a?b: expected no control "
                             "character"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fx8_settings settings;
        struct fx8_error error = {.message = ""};
        assert_int_equal(
            fx8_settings_load(NULL, &bad[i][0], 1, false, &settings, &error),
            FX8_ERR_USAGE);
        assert_string_equal(error.message, bad[i][1]);
    }
    char value[600] = "output.channel_average=";
    memset(value + 23, '9', 500);
    const char *override = value;
    struct fx8_settings settings;
    struct fx8_error error;
    assert_int_equal(
        fx8_settings_load(NULL, &override, 1, false, &settings, &error),
        FX8_ERR_USAGE);
    assert_non_null(strstr(error.message, "999...: expected an integer"));
}

/* --- paths ---------------------------------------------------------------- */

TEST(relative_paths_are_relative_to_the_file)
{
    char path[SCRATCH_PATH_SIZE], folder[SCRATCH_PATH_SIZE];
    snprintf(folder, sizeof folder, "%s", scratch_path("odd [1]*"));
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "odd [1]*/a.ini");
    const char *ini = scratch_text(
        path, REQUIRED "[input]\nfiles = b 1.h5 ,/abs/c.h5,  d*.h5\n"
                       "[array]\npositions = ant.csv\n"
                       "[output]\nfile = ../out.uvh5\n"
                       "[simulate]\nsources = /abs/sources.csv\n");
    const char *const overrides[] = {"delay.iers_file=", "array.positions=x"};
    struct fx8_settings settings;
    struct fx8_error error;
    assert_int_equal(
        fx8_settings_load(ini, overrides, 2, true, &settings, &error), FX8_OK);
    char expected[2 * SCRATCH_PATH_SIZE];
    snprintf(expected, sizeof expected, "%s/b 1.h5", folder);
    assert_int_equal(settings.input.files.count, 3);
    assert_string_equal(settings.input.files.items[0], expected);
    assert_string_equal(settings.input.files.items[1], "/abs/c.h5");
    /* brackets in the folder's name are no pattern */
    snprintf(expected, sizeof expected, "%s/odd \\[1]\\*/d*.h5",
             scratch_folder());
    assert_string_equal(settings.input.files.items[2], expected);
    snprintf(expected, sizeof expected, "%s/../out.uvh5", folder);
    assert_string_equal(settings.output.file, expected);
    assert_string_equal(settings.simulate.sources, "/abs/sources.csv");
    assert_string_equal(settings.array.positions, "x");
    assert_string_equal(settings.delay.iers_file, "");

    /* no file matches yet, then two do, in alphabetical order */
    scratch_text("odd [1]*/b 1.h5", "");
    struct fx8_text_list files;
    assert_int_equal(fx8_settings_files(&settings, &files, &error),
                     FX8_ERR_USAGE);
    char whole[FX8_ERROR_MESSAGE_SIZE + SCRATCH_PATH_SIZE];
    snprintf(whole, sizeof whole,
             "%s:6: input.files: b 1.h5 ,/abs/c.h5,  d*.h5: expected files "
             "that match %s",
             ini, settings.input.files.items[2]);
    assert_string_equal(error.message, whole);
    assert_null(files.items);
    scratch_text("odd [1]*/d2.h5", "");
    scratch_text("odd [1]*/d10.h5", "");
    assert_int_equal(fx8_settings_files(&settings, &files, &error), FX8_OK);
    assert_int_equal(files.count, 4);
    snprintf(expected, sizeof expected, "%s/d10.h5", folder);
    assert_string_equal(files.items[2], expected);
    snprintf(expected, sizeof expected, "%s/d2.h5", folder);
    assert_string_equal(files.items[3], expected);
    fx8_text_list_clear(&files);
    fx8_settings_clear(&settings);
}

TEST(a_file_wins_over_a_pattern)
{
    scratch_text("run[1].h5", "");
    scratch_text("run1.h5", "");
    char value[SCRATCH_PATH_SIZE];
    snprintf(value, sizeof value, "input.files=%s", scratch_path("run[1].h5"));
    const char *override = value;
    struct fx8_settings settings;
    struct fx8_error error;
    struct fx8_text_list files;
    assert_int_equal(
        fx8_settings_load(NULL, &override, 1, false, &settings, &error),
        FX8_OK);
    assert_int_equal(fx8_settings_files(&settings, &files, &error), FX8_OK);
    assert_int_equal(files.count, 1);
    assert_string_equal(files.items[0], scratch_path("run[1].h5"));
    fx8_text_list_clear(&files);
    fx8_settings_clear(&settings);
}

/* --- dump ----------------------------------------------------------------- */

/* The dump of `settings` loads, and dumps to itself. */
static void assert_fixed_point(const struct fx8_settings *settings)
{
    char *first = dump(settings);
    struct fx8_settings again;
    struct fx8_error error = {.message = ""};
    const enum fx8_status status = fx8_settings_load(
        scratch_text("dumped.ini", first), NULL, 0, false, &again, &error);
    if (status != FX8_OK)
        print_error("%s\n", error.message);
    assert_int_equal(status, FX8_OK);
    char *second = dump(&again);
    assert_string_equal(first, second);
    free(first);
    free(second);
    fx8_settings_clear(&again);
}

TEST(dump_loads_to_itself)
{
    static const char *const texts[] = {
        REQUIRED,
        "[channelizer]\nmethod = none\n[correlator]\nintegration_time_s=all\n",
        REQUIRED
        "[input]\nformat=tart\nfiles=a.h5,b*.h5, /c/d.h5\nsideband=lower\n"
        "conjugate=true\npolarization_order=yx\nmissing_value=-128\n"
        "missing_run=7\nstart_s=0.1\nduration_s=2.5e-1\n"
        "[observation]\ndc_frequency_hz=1575420000.3\n"
        "sample_rate_hz=925925.925925\n"
        "start_time_utc=2026-06-12 11:20:40.000000000001\n"
        "telescope=T : a = b\n"
        "[array]\nantennas=5-5\npolarizations=1\npositions=none\n"
        "latitude_deg=-18.8971446\nlongitude_deg=47.5551677\n"
        "altitude_m=1280\nx_orientation=north\nflag_antennas=3,1,2,9\n"
        "[channelizer]\nmethod=fft\ntaps=64\nwindow=hann\nflag_edges=0\n"
        "flag_dc=yes\n[quantizer]\ntarget_rms=12.3456789012345678\n"
        "level=input\n[correlator]\nprecision=both\nbackend=cpu\n"
        "threads=1024\npin_threads=yes\nspot_check=yes\nmemory_limit_mib=4096\n"
        "[delay]\ndut1_s=-0.17\n[postprocess]\nquantization_bias=no\n"
        "[output]\nfile=out.uvh5\nchannel_average=16\ncompression=gzip\n"
        "[simulate]\nsamples=real\nseed=7\nnoise_rms=0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct fx8_settings settings = load(texts[i]);
        assert_fixed_point(&settings);
        fx8_settings_clear(&settings);
    }
    struct fx8_settings fragment;
    struct fx8_error error;
    assert_int_equal(fx8_settings_load(NULL, NULL, 0, false, &fragment, &error),
                     FX8_OK);
    assert_fixed_point(&fragment);
    fx8_settings_clear(&fragment);
}

/* A dump loads from any folder, as its paths are absolute; long ones too. */
TEST(dumped_paths_are_absolute)
{
    char value[3000] = "output.file=";
    memset(value + 12, 'n', 2900);
    const char *const overrides[] = {value, "input.files=p q.h5,r*.h5"};
    struct fx8_settings settings;
    struct fx8_error error;
    assert_int_equal(
        fx8_settings_load(NULL, overrides, 2, false, &settings, &error),
        FX8_OK);
    assert_fixed_point(&settings);
    char *text = dump(&settings);
    char here[2000], expected[5000];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(expected, sizeof expected, "\nfile = %s/%s\n", here, value + 12);
    assert_non_null(strstr(text, expected));
    snprintf(expected, sizeof expected, "\nfiles = %s/p q.h5, %s/r*.h5\n", here,
             here);
    assert_non_null(strstr(text, expected));
    free(text);
    fx8_settings_clear(&settings);
}

TEST(ready_configurations_load)
{
    static const char *const paths[] = {"config/ready/tart.ini",
                                        "config/ready/demo.ini",
                                        "config/ready/station.ini"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct fx8_settings settings;
        struct fx8_error error = {.message = ""};
        const enum fx8_status status =
            fx8_settings_load(paths[i], NULL, 0, true, &settings, &error);
        assert_string_equal(error.message, "");
        assert_int_equal(status, FX8_OK);
        assert_fixed_point(&settings);
        fx8_settings_clear(&settings);
    }
}
