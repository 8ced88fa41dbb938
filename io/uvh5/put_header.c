/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * put_header.c -- write the parts of Header/ whose size does not grow with the
 * number of dumps.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/h5/h5.h"
#include "io/uvh5/writer.h"

static const double pi = 3.14159265358979323846;

/* Count the distinct antennas of the baselines. */
static enum fx8_status count_antennas(const struct fx8_uvh5_header *header,
                                      int64_t *count, struct fx8_error *error)
{
    const size_t n = header->n_baselines;
    FX8_AUTO_FREE int64_t *numbers = NULL;
    FX8_TRY(fx8_allocate(fx8_product(2, n, 1, 1), sizeof *numbers,
                         "antennas of the baselines", &numbers, error));
    memcpy(numbers, header->ant_1, n * sizeof *numbers);
    memcpy(numbers + n, header->ant_2, n * sizeof *numbers);
    *count = (int64_t)fx8_number_sort(numbers, 2 * n);
    return FX8_OK;
}

/* Whether rows of a dump ascend, as blt_order "time, baseline" promises.  If
 * not, blt_order is omitted: with "time" alone, pyuvdata cannot add such files,
 * nor read its own UVFITS files made from them. */
static bool baselines_ascend(const struct fx8_uvh5_header *header)
{
    const struct fx8_uvh5_rows rows = fx8_uvh5_rows_of_header(header);
    if (!fx8_uvh5_rows_are_alike(&rows))
        return false;
    for (size_t i = 1; i < header->n_baselines; i++)
        if (header->ant_1[i] < header->ant_1[i - 1] ||
            (header->ant_1[i] == header->ant_1[i - 1] &&
             header->ant_2[i] <= header->ant_2[i - 1]))
            return false;
    return true;
}

/* The name of the phase centre. */
static const char *name_of_centre(const struct fx8_uvh5_header *header)
{
    if (header->object[0] != '\0')
        return header->object;
    return header->is_phased ? "phase_center" : "unprojected";
}

static enum fx8_status put_values(const struct fx8_h5_target *target,
                                  const struct fx8_uvh5_header *header,
                                  const struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error)
{
    const int64_t window = 0;
    const size_t n_antennas = header->n_antennas;
    int64_t n_antennas_used = 0;
    FX8_TRY(count_antennas(header, &n_antennas_used, error));
    const struct fx8_h5_value values[] = {
        {FX8_PUT_TEXT("version", "1.2")},
        {FX8_PUT_TEXT("telescope_name", header->telescope)},
        {FX8_PUT_TEXT("instrument", header->instrument)},
        {FX8_PUT_TEXT("history",
                      header->history != NULL ? header->history : "")},
        {FX8_PUT_TEXT("telescope_frame", "itrs")},
        {FX8_PUT_TEXT("vis_units", "uncalib")},
        {FX8_PUT_TEXT("blt_order",
                      baselines_ascend(header) ? "time, baseline" : NULL)},
        /* the next two are for pyuvdata < 2.2; later ones use the catalogue */
        {FX8_PUT_TEXT("object_name", name_of_centre(header))},
        {FX8_PUT_TEXT("phase_type", header->is_phased ? "phased" : "drift")},
        {FX8_PUT_INTEGER("Nants_data", n_antennas_used)},
        {FX8_PUT_INTEGER("Nants_telescope", n_antennas)},
        {FX8_PUT_INTEGER("Nbls", header->n_baselines)},
        {FX8_PUT_INTEGER("Nblts", fx8_uvh5_count_rows(writer))},
        {FX8_PUT_INTEGER("Ntimes", writer->n_dates)},
        {FX8_PUT_INTEGER("Nfreqs", header->n_channels)},
        {FX8_PUT_INTEGER("Npols", header->n_products)},
        {FX8_PUT_INTEGER("Nspws", 1)},
        {FX8_PUT_INTEGER("Nphase", 1)},
        {FX8_PUT_REAL("latitude", header->site.latitude_deg)},
        {FX8_PUT_REAL("longitude", header->site.longitude_deg)},
        {FX8_PUT_REAL("altitude", header->site.altitude_m)},
        {FX8_PUT_BOOL("flex_spw", false)},
        {FX8_PUT_BOOL("blts_are_rectangular",
                      fx8_uvh5_rows_are_alike(&writer->rows))},
        {FX8_PUT_BOOL("time_axis_faster_than_bls", false)},
        {FX8_PUT_LIST("spw_array", FX8_H5_INTEGER, 1, &window)},
        {FX8_PUT_LIST("antenna_numbers", FX8_H5_INTEGER, n_antennas,
                      header->antenna_numbers)},
        {"antenna_positions", FX8_H5_REAL, .rank = 2, .extent = {n_antennas, 3},
         .list = header->antenna_positions_m},
        {FX8_PUT_LIST("freq_array", FX8_H5_REAL, header->n_channels,
                      header->frequencies_hz)},
        {FX8_PUT_LIST("channel_width", FX8_H5_REAL, header->n_channels,
                      header->channel_widths_hz)},
        {FX8_PUT_LIST("polarization_array", FX8_H5_INT, header->n_products,
                      header->products)},
        {"antenna_names", FX8_H5_TEXT, .rank = 1, .extent = {n_antennas},
         .width = sizeof header->antenna_names[0],
         .list = header->antenna_names},
    };
    const struct fx8_h5_value dut1 = {FX8_PUT_REAL("dut1", header->dut1_s)};
    FX8_TRY(fx8_h5_put_values(target, values, sizeof values / sizeof values[0],
                              error));
    return header->write_lst ? fx8_h5_put_values(target, &dut1, 1, error)
                             : FX8_OK;
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
    FX8_AUTO_FREE char *names = NULL, *mounts = NULL;
    FX8_AUTO_FREE double *angles = NULL;
    const struct fx8_array arrays[] = {{&names, n * n_feeds, 1},
                                       {&angles, n * n_feeds, sizeof *angles},
                                       {&mounts, n, MOUNT_SIZE}};
    FX8_TRY(fx8_allocate_arrays(arrays, 3, "feeds", error));
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n_feeds; k++) {
            const bool is_y = feeds == 2 || k == 1;
            names[i * n_feeds + k] = is_y ? 'y' : 'x';
            angles[i * n_feeds + k] = is_y ? angle_y : angle_x;
        }
        memcpy(mounts + i * MOUNT_SIZE, "fixed", MOUNT_SIZE);
    }
    const struct fx8_h5_value values[] = {
        {FX8_PUT_INTEGER("Nfeeds", n_feeds)},
        {"feed_array", FX8_H5_TEXT, .rank = 2, .extent = {n, n_feeds},
         .width = 1, .list = names},
        {"feed_angle", FX8_H5_REAL, .rank = 2, .extent = {n, n_feeds},
         .list = angles},
        {"mount_type", FX8_H5_TEXT, .rank = 1, .extent = {n},
         .width = MOUNT_SIZE, .list = mounts},
    };
    return fx8_h5_put_values(target, values, 4, error);
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
    const struct fx8_h5_value value = {
        FX8_PUT_TEXT("x_orientation", east ? "east" : "north")};
    FX8_TRY(fx8_h5_put_values(target, &value, 1, error));
    return put_feed_lists(target, header, east ? pi / 2 : 0, east ? 0 : pi / 2,
                          error);
}

/* Write the catalogue with the single entry "0": the phase centre, or, as in
 * pyuvdata, the zenith for unprojected data. */
static enum fx8_status put_catalogue(const struct fx8_h5_target *target,
                                     const struct fx8_uvh5_header *header,
                                     struct fx8_error *error)
{
    const bool is_phased = header->is_phased;
    const double radians_per_degree = pi / 180;
    const double lon = header->center_deg[0] * radians_per_degree;
    const double lat = header->center_deg[1] * radians_per_degree;
    const struct fx8_h5_value values[] = {
        {FX8_PUT_TEXT("cat_name", name_of_centre(header))},
        {FX8_PUT_TEXT("cat_type", is_phased ? "sidereal" : "unprojected")},
        {FX8_PUT_TEXT("cat_frame", is_phased ? "icrs" : "altaz")},
        {FX8_PUT_REAL("cat_lon", is_phased ? lon : 0)},
        {FX8_PUT_REAL("cat_lat", is_phased ? lat : pi / 2)},
        {FX8_PUT_REAL("cat_epoch", 2000)},
    };
    const size_t n_values = sizeof values / sizeof values[0] - !is_phased;
    const struct fx8_h5_value before_1_1[] = {
        /* for pyuvdata < 2.2 */
        {FX8_PUT_REAL("phase_center_ra", lon)},
        {FX8_PUT_REAL("phase_center_dec", lat)},
        {FX8_PUT_REAL("phase_center_epoch", 2000)},
        {FX8_PUT_TEXT("phase_center_frame", "icrs")},
    };
    if (is_phased)
        FX8_TRY(fx8_h5_put_values(target, before_1_1, 4, error));
    FX8_H5_AUTO catalogue = FX8_H5_NONE, entry = FX8_H5_NONE;
    FX8_TRY(
        fx8_h5_put_group(target, "phase_center_catalog", &catalogue, error));
    struct fx8_h5_target below = {target->output, catalogue, false};
    FX8_TRY(fx8_h5_put_group(&below, "0", &entry, error));
    below.object = entry;
    return fx8_h5_put_values(&below, values, n_values, error);
}

enum fx8_status fx8_uvh5_put_header(struct fx8_uvh5_writer *writer,
                                    const struct fx8_uvh5_header *header,
                                    struct fx8_error *error)
{
    const struct fx8_h5_target target = {writer->output, writer->header, false};
    FX8_H5_AUTO keywords = FX8_H5_NONE;
    FX8_TRY(put_values(&target, header, writer, error));
    FX8_TRY(put_feeds(&target, header, error));
    FX8_TRY(put_catalogue(&target, header, error));
    FX8_TRY(fx8_h5_put_group(&target, "extra_keywords", &keywords, error));
    for (size_t i = 0; i < header->n_keywords; i++)
        FX8_TRY(fx8_uvh5_put_keyword(writer, &header->keywords[i], error));
    return FX8_OK;
}
