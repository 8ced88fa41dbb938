/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration as a whole: table of keys, overrides, origins, paths, dump.
 * test_ini.c tests the notation of the file, test_config_values.c the values.
 *
 * Shows (commands, configuration): every key has its range, origin and
 *     description; CSV and JSON tables are read; geocentric positions are
 *     recognised
 * Within: exit 2, one line that names the place
 * In: test_config_values.c, test_ini.c, test_antennas.c, test_tables.c,
 *     scenario/bad_config.py
 */
#include "config/keys.h"
#include "validation/settings_checks.h"

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
    }
}

/* Every default is valid, and the dump writes it as in the table. */
TEST(every_default_reads_and_writes)
{
    load_file(NULL, NULL, false);
    for (size_t i = 0; i < fx8_keys_count; i++) {
        const struct fx8_key *key = &fx8_keys[i];
        if (key->fallback == NULL)
            continue;
        assert_int_equal(fx8_key_read(key, key->fallback, "", &settings),
                         FX8_OK);
        char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);
        key->type->write(key, &settings, stream);
        fclose(stream);
        assert_string_equal(text, key->fallback);
        free(text);
    }
}

TEST(only_two_keys_are_required)
{
    size_t n_required = 0;
    for (size_t i = 0; i < fx8_keys_count; i++)
        n_required += fx8_keys[i].fallback == NULL;
    assert_int_equal(n_required, 2);
    refuse_text(
        "[correlator]\nintegration_time_s = 1\n",
        ": missing: channelizer.channels (an integer from 1 to 1048576)");
    refuse_text(
        "[channelizer]\nchannels = 64\n",
        ": missing: correlator.integration_time_s (a plain number from 0.001 "
        "to 1e+07 s, or all)");
    refuse_overrides(NULL, true,
                     "configuration: missing: channelizer.channels (an integer "
                     "from 1 to 1048576), correlator.integration_time_s (a "
                     "plain number from 0.001 to 1e+07 s, or all)");
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
    for (size_t f = 0; f < LENGTH(forms); f++) {
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
    load_file(path,
              LIST("channelizer.channels=8", " channelizer . channels = 16 ",
                   "output.file=a=b.uvh5"),
              true);
    assert_int_equal(settings.channelizer.n_channels, 16);
    assert_string_equal(settings.output.file, "a=b.uvh5");
    char in_file[FX8_ERROR_MESSAGE_SIZE];
    snprintf(in_file, sizeof in_file,
             "%s:4: correlator.integration_time_s: 1: expected 7", path);
    const char *const origins[][2] = {
        {"channelizer.channels", "--set: channelizer.channels: 16: expected 7"},
        {"correlator.integration_time_s", in_file},
        {"quantizer.target_rms",
         "default: quantizer.target_rms: 20: expected 7"},
        {"array.positions", "default: array.positions: (empty): expected 7"},
    };
    struct fx8_error error;
    for (size_t i = 0; i < LENGTH(origins); i++)
        must_fail(fx8_settings_fail(&settings, origins[i][0], &error,
                                    "expected %d", 7),
                  error, FX8_ERR_USAGE, origins[i][1]);
    fx8_settings_fail(&settings, "output.compression", NULL, "expected x");
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
    for (size_t i = 0; i < LENGTH(bad); i++)
        refuse_overrides(LIST(bad[i][0]), false, bad[i][1]);
    char value[600] = "output.channel_average=";
    memset(value + 23, '9', 500);
    struct fx8_error error;
    must_fail_with(try_to_load(NULL, LIST(value), false, &error), error,
                   FX8_ERR_USAGE, "999...: expected an integer");
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
    load_file(ini, LIST("delay.iers_file=", "array.positions=x"), true);
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
    struct fx8_error error;
    char whole[FX8_ERROR_MESSAGE_SIZE + SCRATCH_PATH_SIZE];
    snprintf(whole, sizeof whole,
             "%s:6: input.files: b 1.h5 ,/abs/c.h5,  d*.h5: expected files "
             "that match %s",
             ini, settings.input.files.items[2]);
    must_fail(fx8_settings_files(&settings, &files, &error), error,
              FX8_ERR_USAGE, whole);
    assert_null(files.items);
    scratch_text("odd [1]*/d2.h5", "");
    scratch_text("odd [1]*/d10.h5", "");
    must(fx8_settings_files(&settings, &files, &error), error);
    assert_int_equal(files.count, 4);
    snprintf(expected, sizeof expected, "%s/d10.h5", folder);
    assert_string_equal(files.items[2], expected);
    snprintf(expected, sizeof expected, "%s/d2.h5", folder);
    assert_string_equal(files.items[3], expected);
    fx8_text_list_clear(&files);
}

TEST(home)
{
    const char *before = getenv("HOME");
    char *kept = before != NULL ? strdup(before) : NULL;
    char expected[2 * SCRATCH_PATH_SIZE];
    setenv("HOME", scratch_path("h*me"), 1);
    load_file(scratch_text("a.ini", REQUIRED "[input]\nfiles = ~a, ~/b*.h5\n"),
              LIST("output.file=~//out.uvh5", "array.positions=/~/x"), true);
    snprintf(expected, sizeof expected, "%s/~a", scratch_folder());
    assert_string_equal(settings.input.files.items[0], expected);
    snprintf(expected, sizeof expected, "%s/h\\*me/b*.h5", scratch_folder());
    assert_string_equal(settings.input.files.items[1], expected);
    snprintf(expected, sizeof expected, "%s/h*me/out.uvh5", scratch_folder());
    assert_string_equal(settings.output.file, expected);
    assert_string_equal(settings.array.positions, "/~/x");
    unsetenv("HOME");
    load_file(NULL, LIST("output.file=~/out.uvh5"), false);
    assert_string_equal(settings.output.file, "~/out.uvh5");
    if (kept != NULL)
        setenv("HOME", kept, 1);
    free(kept);
}

TEST(a_file_wins_over_a_pattern)
{
    scratch_text("run[1].h5", "");
    scratch_text("run1.h5", "");
    char value[SCRATCH_PATH_SIZE];
    snprintf(value, sizeof value, "input.files=%s", scratch_path("run[1].h5"));
    struct fx8_error error;
    struct fx8_text_list files;
    load_file(NULL, LIST(value), false);
    must(fx8_settings_files(&settings, &files, &error), error);
    assert_int_equal(files.count, 1);
    assert_string_equal(files.items[0], scratch_path("run[1].h5"));
    fx8_text_list_clear(&files);
}

/* --- dump ----------------------------------------------------------------- */

/* The dump of the settings loads, and dumps to itself. */
static void assert_fixed_point(void)
{
    char *first = dump();
    load_file(scratch_text("dumped.ini", first), NULL, false);
    char *second = dump();
    assert_string_equal(first, second);
    free(first);
    free(second);
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
    for (size_t i = 0; i < LENGTH(texts); i++) {
        load_text(texts[i]);
        assert_fixed_point();
    }
    load_file(NULL, NULL, false);
    assert_fixed_point();
    const char *const *ready =
        LIST("config/ready/tart.ini", "config/ready/demo.ini",
             "config/ready/station.ini");
    for (; *ready != NULL; ready++) {
        load_file(*ready, NULL, true);
        assert_fixed_point();
    }
}

/* A dump loads from any folder, as its paths are absolute; long ones too. */
TEST(dumped_paths_are_absolute)
{
    char value[3000] = "output.file=";
    memset(value + 12, 'n', 2900);
    load_file(NULL, LIST(value, "input.files=p q.h5,r*.h5"), false);
    assert_fixed_point();
    char *text = dump();
    char here[2000], expected[5000];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(expected, sizeof expected, "\nfile = %s/%s\n", here, value + 12);
    assert_non_null(strstr(text, expected));
    snprintf(expected, sizeof expected, "\nfiles = %s/p q.h5, %s/r*.h5\n", here,
             here);
    assert_non_null(strstr(text, expected));
    free(text);
}
