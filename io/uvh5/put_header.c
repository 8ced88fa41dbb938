/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put_header.c -- write the parts of Header/ whose size does not grow with the
 * number of dumps.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/base/shape.h"
#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

static const double pi = 3.14159265358979323846;

static int compare_integers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Count the distinct antennas of the baselines. */
static enum fx8_status count_antennas(const struct fx8_uvh5_header *header,
                                      int64_t *count, struct fx8_error *error)
{
    const size_t n = header->n_baselines;
    void *memory = NULL;
    const enum fx8_status status =
        fx8_allocate(fx8_product(2, n, 1, 1), sizeof(int64_t),
                     "antennas of the baselines", &memory, error);
    if (status != FX8_OK)
        return status;
    int64_t *numbers = memory;
    memcpy(numbers, header->ant_1, n * sizeof *numbers);
    memcpy(numbers + n, header->ant_2, n * sizeof *numbers);
    qsort(numbers, 2 * n, sizeof *numbers, compare_integers);
    *count = 1;
    for (size_t i = 1; i < 2 * n; i++)
        *count += numbers[i] != numbers[i - 1];
    free(numbers);
    return FX8_OK;
}

/* Whether rows of a dump ascend, as blt_order "time, baseline" promises.  If
 * not, blt_order is omitted: with "time" alone, pyuvdata cannot add such files,
 * nor read its own UVFITS files made from them. */
static bool baselines_ascend(const struct fx8_uvh5_header *header)
{
    for (size_t i = 1; i < header->n_baselines; i++)
        if (header->ant_1[i] < header->ant_1[i - 1] ||
            (header->ant_1[i] == header->ant_1[i - 1] &&
             header->ant_2[i] <= header->ant_2[i - 1]))
            return false;
    return true;
}

static enum fx8_status put_texts(const struct fx8_h5_target *target,
                                 const struct fx8_uvh5_header *header,
                                 struct fx8_error *error)
{
    const struct {
        const char *name;
        const char *text;
    } texts[] = {
        {"version", "1.2"},
        {"telescope_name", header->telescope},
        {"instrument", header->instrument},
        {"history", header->history != NULL ? header->history : ""},
        {"telescope_frame", "itrs"},
        {"vis_units", "uncalib"},
        {"blt_order", baselines_ascend(header) ? "time, baseline" : NULL},
        /* the next two are for pyuvdata < 2.2; later ones use the catalogue */
        {"object_name",
         header->object[0] != '\0' ? header->object : "unprojected"},
        {"phase_type", "drift"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].text == NULL)
            continue;
        const enum fx8_status status =
            fx8_h5_put_text(target, texts[i].name, texts[i].text, error);
        if (status != FX8_OK)
            return status;
    }
    return FX8_OK;
}

static enum fx8_status put_numbers(const struct fx8_h5_target *target,
                                   const struct fx8_uvh5_header *header,
                                   struct fx8_error *error)
{
    int64_t n_antennas_used = 0;
    enum fx8_status status = count_antennas(header, &n_antennas_used, error);
    if (status != FX8_OK)
        return status;
    const struct {
        const char *name;
        int64_t value;
    } integers[] = {
        {"Nants_data", n_antennas_used},
        {"Nants_telescope", (int64_t)header->n_antennas},
        {"Nbls", (int64_t)header->n_baselines},
        {"Nblts", (int64_t)(header->n_baselines * header->n_times)},
        {"Ntimes", (int64_t)header->n_times},
        {"Nfreqs", (int64_t)header->n_channels},
        {"Npols", (int64_t)header->n_products},
        {"Nspws", 1},
        {"Nphase", 1},
    };
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        status = fx8_h5_put_integer(target, integers[i].name, integers[i].value,
                                    error);
        if (status != FX8_OK)
            return status;
    }
    const struct {
        const char *name;
        double value;
    } reals[] = {
        {"latitude", header->site.latitude_deg},
        {"longitude", header->site.longitude_deg},
        {"altitude", header->site.altitude_m},
    };
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        status = fx8_h5_put_real(target, reals[i].name, reals[i].value, error);
        if (status != FX8_OK)
            return status;
    }
    if (header->write_lst)
        status = fx8_h5_put_real(target, "dut1", header->dut1_s, error);
    const struct {
        const char *name;
        bool value;
    } booleans[] = {
        {"flex_spw", false},
        {"blts_are_rectangular", true},
        {"time_axis_faster_than_bls", false},
    };
    for (size_t i = 0; i < sizeof booleans / sizeof booleans[0]; i++)
        if (status == FX8_OK)
            status = fx8_h5_put_bool(target, booleans[i].name,
                                     booleans[i].value, error);
    return status;
}

static enum fx8_status put_lists(const struct fx8_h5_target *target,
                                 const struct fx8_uvh5_header *header,
                                 struct fx8_error *error)
{
    const hsize_t one = 1;
    const hsize_t n_antennas[2] = {header->n_antennas, 3};
    const hsize_t n_channels = header->n_channels;
    const hsize_t n_products = header->n_products;
    const int64_t window = 0;
    const struct {
        const char *name;
        hid_t file_type;
        hid_t memory_type;
        int rank;
        const hsize_t *extent;
        const void *values;
    } lists[] = {
        {"spw_array", H5T_STD_I64LE, H5T_NATIVE_INT64, 1, &one, &window},
        {"antenna_numbers", H5T_STD_I64LE, H5T_NATIVE_INT64, 1, n_antennas,
         header->antenna_numbers},
        {"antenna_positions", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2, n_antennas,
         header->antenna_positions_m},
        {"freq_array", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &n_channels,
         header->frequencies_hz},
        {"channel_width", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &n_channels,
         header->channel_widths_hz},
        {"polarization_array", H5T_STD_I64LE, H5T_NATIVE_INT, 1, &n_products,
         header->products},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const enum fx8_status status = fx8_h5_put_array(
            target, lists[i].name, lists[i].file_type, lists[i].memory_type,
            lists[i].rank, lists[i].extent, lists[i].values, error);
        if (status != FX8_OK)
            return status;
    }
    return fx8_h5_put_texts(target, "antenna_names", 1, n_antennas,
                            sizeof header->antenna_names[0],
                            header->antenna_names[0], error);
}

/* Feeds used by the products: bit 0 X, bit 1 Y. */
static unsigned feeds_used(const struct fx8_uvh5_header *header)
{
    unsigned feeds = 0;
    for (size_t i = 0; i < header->n_products; i++)
        feeds |= header->products[i] == -5   ? 1U
                 : header->products[i] == -6 ? 2U
                                             : 3U;
    return feeds;
}

/* Fill and write feed_array, feed_angle and mount_type, equal for all. */
static enum fx8_status put_feed_lists(const struct fx8_h5_target *target,
                                      const struct fx8_uvh5_header *header,
                                      double angle_x, double angle_y,
                                      struct fx8_error *error)
{
    const unsigned feeds = feeds_used(header);
    const size_t n_feeds = feeds == 3 ? 2 : 1;
    const size_t n = header->n_antennas;
    enum { MOUNT_SIZE = 5 };
    void *names = NULL;
    void *angles = NULL;
    void *mounts = NULL;
    enum fx8_status status =
        fx8_allocate(n * n_feeds, 1, "feed names", &names, error);
    if (status == FX8_OK)
        status = fx8_allocate(n * n_feeds, sizeof(double), "feed angles",
                              &angles, error);
    if (status == FX8_OK)
        status = fx8_allocate(n, MOUNT_SIZE, "mount types", &mounts, error);
    for (size_t i = 0; i < n && status == FX8_OK; i++) {
        for (size_t k = 0; k < n_feeds; k++) {
            const bool is_y = feeds == 2 || k == 1;
            ((char *)names)[i * n_feeds + k] = is_y ? 'y' : 'x';
            ((double *)angles)[i * n_feeds + k] = is_y ? angle_y : angle_x;
        }
        memcpy((char *)mounts + i * MOUNT_SIZE, "fixed", MOUNT_SIZE);
    }
    const hsize_t extent[2] = {n, n_feeds};
    if (status == FX8_OK)
        status = fx8_h5_put_integer(target, "Nfeeds", (int64_t)n_feeds, error);
    if (status == FX8_OK)
        status =
            fx8_h5_put_texts(target, "feed_array", 2, extent, 1, names, error);
    if (status == FX8_OK)
        status = fx8_h5_put_array(target, "feed_angle", H5T_IEEE_F64LE,
                                  H5T_NATIVE_DOUBLE, 2, extent, angles, error);
    if (status == FX8_OK)
        status = fx8_h5_put_texts(target, "mount_type", 1, extent, MOUNT_SIZE,
                                  mounts, error);
    free(mounts);
    free(angles);
    free(names);
    return status;
}

/* feed_angle is measured from north towards east. */
static enum fx8_status put_feeds(const struct fx8_h5_target *target,
                                 const struct fx8_uvh5_header *header,
                                 struct fx8_error *error)
{
    const char *orientation = header->x_orientation;
    if (orientation[0] == '\0')
        return FX8_OK;
    const bool east = strcasecmp(orientation, "east") == 0;
    if (!east && strcasecmp(orientation, "north") != 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "array.x_orientation: %s: expected east or north",
                        orientation);
    const enum fx8_status status = fx8_h5_put_text(
        target, "x_orientation", east ? "east" : "north", error);
    if (status != FX8_OK)
        return status;
    return put_feed_lists(target, header, east ? pi / 2 : 0, east ? 0 : pi / 2,
                          error);
}

/* Write the catalogue with the single entry "0": unphased. */
static enum fx8_status put_catalogue(const struct fx8_h5_target *target,
                                     const struct fx8_uvh5_header *header,
                                     struct fx8_error *error)
{
    hid_t catalogue = FX8_H5_NONE;
    hid_t entry = FX8_H5_NONE;
    enum fx8_status status =
        fx8_h5_put_group(target, "phase_center_catalog", &catalogue, error);
    if (status == FX8_OK) {
        const struct fx8_h5_target below = {target->output, catalogue, false};
        status = fx8_h5_put_group(&below, "0", &entry, error);
    }
    const struct fx8_h5_target below = {target->output, entry, false};
    const struct {
        const char *name;
        const char *text;
    } texts[] = {
        {"cat_name",
         header->object[0] != '\0' ? header->object : "unprojected"},
        {"cat_type", "unprojected"},
        {"cat_frame", "altaz"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (status == FX8_OK)
            status =
                fx8_h5_put_text(&below, texts[i].name, texts[i].text, error);
    /* the zenith, as in pyuvdata */
    if (status == FX8_OK)
        status = fx8_h5_put_real(&below, "cat_lon", 0, error);
    if (status == FX8_OK)
        status = fx8_h5_put_real(&below, "cat_lat", pi / 2, error);
    fx8_h5_close(&entry);
    fx8_h5_close(&catalogue);
    return status;
}

enum fx8_status fx8_uvh5_put_header(struct fx8_uvh5_writer *writer,
                                    const struct fx8_uvh5_header *header,
                                    struct fx8_error *error)
{
    const struct fx8_h5_target target = {writer->output, writer->header, false};
    enum fx8_status status = put_texts(&target, header, error);
    if (status == FX8_OK)
        status = put_numbers(&target, header, error);
    if (status == FX8_OK)
        status = put_lists(&target, header, error);
    if (status == FX8_OK)
        status = put_feeds(&target, header, error);
    if (status == FX8_OK)
        status = put_catalogue(&target, header, error);
    hid_t keywords = FX8_H5_NONE;
    if (status == FX8_OK)
        status = fx8_h5_put_group(&target, "extra_keywords", &keywords, error);
    fx8_h5_close(&keywords);
    for (size_t i = 0; i < header->n_keywords && status == FX8_OK; i++)
        status = fx8_uvh5_put_keyword(writer, &header->keywords[i], error);
    return status;
}
