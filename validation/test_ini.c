/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notation of the configuration file: what is read, and which message refuses
 * the rest, including files that are no configuration at all.
 *
 * Shows: as test_config.c
 */
#include "config/base/text.h"
#include "config/ini.h"
#include "validation/settings_checks.h"

TEST(notation_of_the_file)
{
    load_text("\xef\xbb\xbf; first\r\n"
              "# second\r\n"
              "   [channelizer]   ; of the receiver\r\n"
              "\tchannels=128\r\n"
              "   taps : 4 ; a comment ; with another\r\n"
              "\r\n"
              "[observation]\r\n"
              "telescope = A=B: c;d #1 * [x]\t; end\r\n"
              "instrument =\r\n"
              "[correlator]\r\n"
              "integration_time_s = all\r\n"
              "[channelizer]\r\n"
              "flag_dc = true");
    assert_int_equal(settings.channelizer.n_channels, 128);
    assert_int_equal(settings.channelizer.n_taps, 4);
    assert_true(settings.channelizer.flag_dc);
    assert_string_equal(settings.observation.telescope, "A=B: c;d #1 * [x]");
    assert_string_equal(settings.observation.instrument, "");
    assert_true(isinf(settings.correlator.integration_time_s));
    assert_true(fx8_settings_given(&settings, "observation.instrument"));
    assert_false(fx8_settings_given(&settings, "observation.object"));
    assert_false(fx8_settings_given(&settings, "observation.nothing"));
}

TEST(faults_of_notation)
{
    static const char *const cases[][2] = {
        {"channels = 4\n", ":1: channels: expected a [section] before it"},
        {"[channelizer\n", ":1: [channelizer: expected [section]"},
        {"[]\n", ":1: []: expected [section]"},
        {"[channelizer] junk\n", ":1: [channelizer] junk: expected [section]"},
        {"[channelizer]\n\nchannels\n", ":3: channels: expected key = value"},
        {"[channelizer]\n= 5\n", ":2: = 5: expected key = value"},
        {"\n[chanelizer]\n",
         ":2: [chanelizer]: unknown section; did you mean [channelizer]?"},
        {"[weather]\n", ":1: [weather]: unknown section; `fx8 config --keys` "
                        "lists those there are"},
        {"[ input ]\n",
         ":1: [ input ]: unknown section; did you mean [input]?"},
        {"[correlator]\nthread = 4\n", ":2: correlator.thread: 4: unknown key; "
                                       "did you mean correlator.threads?"},
        {"[correlator]\nchannels = 4\n",
         ":2: correlator.channels: 4: unknown key; did you mean "
         "channelizer.channels?"},
        {"[input]\nstrat_s = 4\n",
         ":2: input.strat_s: 4: unknown key; did you mean input.start_s?"},
        {"[input]\nzzzzzzzzzz = 4\n",
         ":2: input.zzzzzzzzzz: 4: unknown key; `fx8 config --keys` lists "
         "those there are"},
        {"[input]\nThis key has a name that is longer than fifty characters = "
         "4\n",
         ":2: input.This key has a name that is longer than fifty characters: "
         "4: unknown key; `fx8 config --keys` lists those there are"},
        {"[channelizer]\ntaps = 4\n[input]\nstart_s = 1\n[channelizer]\ntaps = "
         "4\n",
         ":6: channelizer.taps: 4: expected once, but line 2 has it too"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++)
        refuse_text(cases[i][0], cases[i][1]);
}

TEST(bytes_that_are_no_text)
{
    static const char nul[] = "[input]\nstart_s = 1\0 2\n";
    refuse_bytes(nul, sizeof nul - 1, ":2: byte 0x00: expected a text file");
    static const char binary[] = "\x89HDF\r\n\x1a\n";
    refuse_bytes(binary, sizeof binary - 1,
                 ":2: byte 0x1a: expected a text file");
    refuse_bytes("[input]\rstart_s", 15, ":1: byte 0x0d: expected a text file");
    /* bytes above 0x7f are allowed in a path, not in a name */
    refuse_text("[observation]\nobject = caf\xe9\n",
                ":2: observation.object: caf\xe9: expected at most 255 ASCII "
                "characters");
    load_text(REQUIRED "[output]\nfile = /caf\xe9\n");
    assert_string_equal(settings.output.file, "/caf\xe9");
}

/* Values of every length around inih's buffer, up to the limit and over. */
TEST(lines_of_any_length)
{
    static char text[2 * FX8_INI_LINE_MAX];
    for (size_t length = 100; length < 1000; length += length < 420 ? 1 : 97) {
        size_t at = (size_t)sprintf(text, REQUIRED "[output]\nfile = ");
        char *value = text + at;
        for (size_t i = 0; i < length; i++)
            value[i] = "/ab c;#=|:["[i % 11];
        value[length - 1] = 'x';
        strcpy(value + length, " ; comment\n[input]\nstart_s = 3\n");
        load_text(text);
        assert_int_equal(strlen(settings.output.file), length);
        assert_memory_equal(settings.output.file, value, length);
        assert_true(settings.input.start_s == 3);
    }
    /* where a name fills inih's buffer, inih finds no '=' */
    memset(text, 'k', 400);
    memcpy(text, "[input]\n", 8);
    strcpy(text + 400, " = 1\n");
    struct fx8_error error;
    must_fail_with(
        try_to_load(scratch_text("bad.ini", text), NULL, false, &error), error,
        FX8_ERR_USAGE, "k: expected key = value");
    assert_non_null(strstr(error.message, "bad.ini:2: kkkk"));
    /* one byte too many */
    size_t at = (size_t)sprintf(text, "[output]\nfile = ");
    memset(text + at, 'x', sizeof text - at - 1);
    text[sizeof text - 1] = '\0';
    text[9 + FX8_INI_LINE_MAX + 1] = '\0';
    refuse_text(text, ":2: line of 65536 bytes: expected at most 65535");
    text[9 + FX8_INI_LINE_MAX] = '\0';
    load_file(scratch_text("good.ini", text), NULL, false);
    assert_int_equal(strlen(settings.output.file),
                     FX8_INI_LINE_MAX - strlen("file = ") +
                         strlen(scratch_folder()) + 1);
}

TEST(files_out_of_proportion)
{
    const size_t size = FX8_TEXT_FILE_MAX + 1;
    char *text = memset(temporary(size), 'x', size);
    refuse_bytes(text, size,
                 ": expected a text file of at most 16777216 "
                 "bytes");
    refuse_bytes(text, 1000000,
                 ":1: line of 1000000 bytes: expected at most 65535");
}

TEST(files_that_cannot_be_read)
{
    struct fx8_error error;
    must_fail(try_to_load("/nowhere/a\nb.ini", NULL, true, &error), error,
              FX8_ERR_USAGE,
              "/nowhere/a?b.ini: cannot be read: No such file or directory");
    must_fail(try_to_load("/", NULL, true, &error), error, FX8_ERR_USAGE,
              "/: expected a regular file");
    /* only the required keys are missing from an empty file */
    refuse_text("", ": missing: channelizer.channels (an integer from 1 to "
                    "1048576), correlator.integration_time_s (a plain number "
                    "from 0.001 to 1e+07 s, or all)");
}
