/* SPDX-License-Identifier: BSD-3-Clause */
/* hostile.h -- a good file of each format, to be damaged, and its refusal. */
#ifndef FX8_VALIDATION_HOSTILE_H
#define FX8_VALIDATION_HOSTILE_H

#include <unistd.h>

#include "validation/good_files.h"

/** A format and its good file, in a folder of that name. */
struct format {
    void (*make)(const char *folder);
    const char *name;
    const char *changed;    /**< file */
    const char *opened;     /**< file or folder */
    enum fx8_format format; /**< AUTO: visibilities */
};

static const struct format native = {make_good_fx8, "fx8", "fx8/good.h5",
                                     "fx8/good.h5", FX8_FORMAT_FX8};
static const struct format tart = {make_good_tart, "tart", "tart/good.h5",
                                   "tart/good.h5", FX8_FORMAT_TART};
static const struct format drf_channel = {make_good_digital_rf, "digital_rf",
                                          "digital_rf/ch0/drf_properties.h5",
                                          "digital_rf", FX8_FORMAT_DIGITAL_RF};
static const struct format drf_samples = {
    make_good_digital_rf, "digital_rf",
    "digital_rf/ch0/2020-09-13T12-26-40/rf@1600000000.000.h5", "digital_rf",
    FX8_FORMAT_DIGITAL_RF};
static const struct format aavs = {make_good_aavs, "aavs", "aavs/tile0-0.hdf5",
                                   "aavs/tile0-0.hdf5", FX8_FORMAT_AAVS};
static const struct format uvh5 = {make_good_uvh5, "uvh5", "uvh5/good.h5",
                                   "uvh5/good.h5", FX8_FORMAT_AUTO};

static inline void refuse_visibilities(const char *name, const char *part)
{
    struct fx8_uvh5_file *file = NULL;
    struct fx8_uvh5_header h;
    struct fx8_error error;
    const char *path = scratch_path(name);
    must_fail_with(fx8_uvh5_open(path, &file, &h, &error), error, FX8_ERR_INPUT,
                   part);
    assert_memory_equal(error.message, path, strlen(path));
    assert_null(strchr(error.message, '\n'));
    assert_null(file);
    assert_null(h.ant_1);
}

/** What is opened must be refused in one line with `part`, which names it
 *  first. */
static inline void refuse(const struct format *format, const char *part)
{
    const struct fx8_settings settings = {.input.format = format->format};
    if (format->format == FX8_FORMAT_AUTO)
        refuse_visibilities(format->opened, part);
    else
        refuse_recording(format->opened, &settings, FX8_ERR_INPUT, part);
}

/** Make the good file; it is still open. */
static inline hid_t make_good_file(const struct format *format)
{
    mkdir(scratch_path(format->name), 0700);
    format->make(format->name);
    return reopen(format->changed);
}

#endif
