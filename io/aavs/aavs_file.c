/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aavs_file.c -- one channel file: read its metadata, open and close its
 * samples.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/try.h"
#include "io/aavs/aavs_reader.h"
#include "io/h5/h5.h"

/* Largest tile and channel numbers accepted. */
#define MOST_TILES    65535
#define MOST_CHANNELS 65536

/* Most columns of a file: 512 inputs x 512 channels is 2^18. */
#define MOST_COLUMNS ((uint64_t)1 << 24)

/* Memory for decoded chunks of a compressed file. */
#define MAX_CHUNK_CACHE ((size_t)64 << 20)

/* The rate of a station's coarse channels, and the relative tolerance of 1 /
 * tsamp: a sampling time may have been rounded to a float. */
const struct fx8_rate fx8_aavs_usual_rate = {25000000, 27};
#define USUAL_RATE_TOLERANCE 1e-6

/* Largest denominator of a rate, as in the configuration, and the tolerance
 * between the fraction and a sampling time in double precision. */
#define MOST_DENOMINATOR 1000000
#define RATE_TOLERANCE   1e-11

/* --- metadata ------------------------------------------------------------- */

/* The fraction with the smallest terms near `value`, by continued fraction;
 * numerator 0 if no fraction is near enough. */
static struct fx8_rate near_fraction(double value)
{
    double rest = value;
    int64_t p[2] = {0, 1}, q[2] = {1, 0};
    while (rest < 0x1p53) {
        const double whole = floor(rest);
        const double next_q = whole * (double)q[1] + (double)q[0];
        const double next_p = whole * (double)p[1] + (double)p[0];
        if (next_q > MOST_DENOMINATOR || next_p > 0x1p62)
            break;
        const int64_t p_now = (int64_t)next_p, q_now = (int64_t)next_q;
        p[0] = p[1], p[1] = p_now;
        q[0] = q[1], q[1] = q_now;
        if (fabs(next_p / next_q - value) <= RATE_TOLERANCE * value)
            return (struct fx8_rate){p_now, q_now};
        rest = 1.0 / (rest - whole);
    }
    return (struct fx8_rate){0, 0};
}

/* Read the sampling time, absent in some recorder versions; 0: unknown. */
static enum fx8_status read_rate(const struct fx8_h5_place *root,
                                 struct fx8_aavs_file *file,
                                 struct fx8_error *error)
{
    double interval_s = 0.0;
    if (!fx8_h5_has(root, "tsamp"))
        return FX8_OK;
    FX8_TRY(fx8_h5_get_real(root, "tsamp", &interval_s, error));
    if (interval_s == 0.0)
        return FX8_OK;
    const double rate_hz = 1.0 / interval_s;
    const double usual_hz = fx8_rate_hz(fx8_aavs_usual_rate);
    if (rate_hz >= 1.0 && rate_hz <= 1e11)
        file->rate = fabs(rate_hz - usual_hz) <= USUAL_RATE_TOLERANCE * usual_hz
                         ? fx8_aavs_usual_rate
                         : near_fraction(rate_hz);
    if (file->rate.numerator_hz > 0)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_INPUT,
                    "%s: tsamp: %.17g: expected a sampling time of 1e-11 to 1 "
                    "s whose rate is a fraction over at most %d",
                    file->path, interval_s, MOST_DENOMINATOR);
}

static enum fx8_status read_attributes(struct fx8_aavs_file *file, hid_t object,
                                       struct fx8_error *error)
{
    const struct fx8_h5_place root = {file->path, object, true};
    int64_t n_antennas = 0, n_polarizations = 0, n_channels = 0, n_blocks = 0;
    const struct fx8_h5_integer needed[] = {
        {"tile_id", -1, MOST_TILES, &file->tile},
        {"n_antennas", 1, FX8_READER_MAX_ANTENNAS, &n_antennas},
        {"n_pols", 1, FX8_MAX_POLARIZATIONS, &n_polarizations},
        {"n_chans", 1, MOST_CHANNELS, &n_channels},
        /* their product stays below 2^62 */
        {"n_samples", 1, INT32_MAX, &file->block_rows},
        {"n_blocks", 1, INT32_MAX, &n_blocks},
    };
    FX8_TRY(
        fx8_h5_get_each(&root, needed, sizeof needed / sizeof *needed, error));
    file->n_antennas = (size_t)n_antennas;
    file->n_polarizations = (size_t)n_polarizations;
    file->n_channels = (size_t)n_channels;
    file->n_rows = n_blocks * file->block_rows;
    if (fx8_h5_has(&root, "channel_id"))
        FX8_TRY(fx8_h5_get_integer(&root, "channel_id", 0,
                                   MOST_CHANNELS - n_channels,
                                   &file->first_channel, error));
    /* channel 0 is 0 Hz: alone, it means that the recorder did not know */
    file->has_channel = file->first_channel > 0 || n_channels > 1;
    file->start_s = NAN;
    if (fx8_h5_has(&root, "timestamp"))
        FX8_TRY(fx8_h5_get_real(&root, "timestamp", &file->start_s, error));
    if (fx8_h5_has(&root, "station_name"))
        FX8_TRY(fx8_h5_get_texts(&root, "station_name", 1, sizeof file->station,
                                 file->station, error));
    fx8_h5_printable(file->station);
    return read_rate(&root, file, error);
}

/*
 * Numbers in a name "channel_MODE[_TILE]_DATE_SECONDS_PART.hdf5".
 *
 * Returned: tile  if there are four numbers
 * Status:   their count; 0: another kind of name
 */
static int read_name(const char *path, int64_t *tile)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    if (strncmp(name, "channel_", 8) != 0)
        return 0;
    name += 8;
    name += strspn(name, "abcdefghijklmnopqrstuvwxyz");
    int n = 0;
    for (; *name == '_'; n++) {
        name++;
        const size_t digits = strspn(name, "0123456789");
        if (digits == 0 || digits > 17)
            return 0;
        if (n == 0)
            *tile = strtoll(name, NULL, 10);
        name += digits;
    }
    return *name == '.' ? n : 0;
}

/* The name may also contain the tile, and a merged file may keep the antenna
 * count of a tile. */
static enum fx8_status check_name(struct fx8_aavs_file *file, hsize_t width,
                                  struct fx8_error *error)
{
    int64_t tile = 0;
    const int n_numbers = read_name(file->path, &tile);
    if (n_numbers == 4 && tile != file->tile)
        return fx8_fail(error, FX8_ERR_INPUT,
                        "%s: tile_id: %" PRId64 ": expected %" PRId64
                        ", the tile in the file's name",
                        file->path, file->tile, tile);
    const size_t of_antenna = file->n_polarizations * file->n_channels;
    if (n_numbers == 3 && width % of_antenna == 0 &&
        width / of_antenna <= FX8_READER_MAX_ANTENNAS)
        file->n_antennas = (size_t)(width / of_antenna);
    return FX8_OK;
}

/* --- the samples ---------------------------------------------------------- */

/* Check rows and columns against the attributes; more rows may be allocated
 * than written. */
static enum fx8_status check_extent(struct fx8_aavs_file *file,
                                    struct fx8_error *error)
{
    const int rank = file->samples.rank;
    const hsize_t *extent = file->samples.extent;
    if (rank != 2)
        return fx8_refuse(error, file->path, FX8_AAVS_SAMPLES,
                          "%d %s: expected 2, samples and columns", rank,
                          FX8_NOUN(rank, "axis", "axes"));
    if (extent[0] < (hsize_t)file->n_rows || extent[0] > INT64_MAX)
        return fx8_refuse(error, file->path, FX8_AAVS_SAMPLES,
                          "%" PRIu64 " rows: expected at least %" PRId64
                          ", n_blocks x n_samples",
                          (uint64_t)extent[0], file->n_rows);
    FX8_TRY(check_name(file, extent[1], error));
    const uint64_t n_columns =
        (uint64_t)file->n_channels * file->n_antennas * file->n_polarizations;
    if (extent[1] != n_columns || n_columns > MOST_COLUMNS)
        return fx8_refuse(
            error, file->path, FX8_AAVS_SAMPLES,
            "%" PRIu64 " columns: expected n_chans x n_antennas x n_pols = "
            "%zu x %zu x %zu, at most %" PRIu64,
            (uint64_t)extent[1], file->n_channels, file->n_antennas,
            file->n_polarizations, MOST_COLUMNS);
    file->n_columns = (size_t)n_columns;
    return FX8_OK;
}

void fx8_aavs_file_close(struct fx8_aavs_file *file)
{
    fx8_h5_dataset_close(&file->samples);
    fx8_h5_close(&file->file);
}

/* Open the dataset of samples; check its type, extent and storage. */
static enum fx8_status open_samples(struct fx8_aavs_file *file,
                                    struct fx8_error *error)
{
    struct fx8_h5_dataset *samples = &file->samples;
    FX8_TRY(fx8_h5_dataset_open(file->path, file->file, FX8_AAVS_SAMPLES,
                                samples, error));
    if (samples->part != H5T_NATIVE_INT8 || samples->parts == FX8_H5_REALS)
        return fx8_h5_dataset_fail_type(
            samples, "compound {real: int8, imag: int8}", error);
    FX8_TRY(check_extent(file, error));
    const struct fx8_h5_use use = {.time_axis = 0,
                                   .samples = 1,
                                   .n_rows = (uint64_t)file->n_rows,
                                   .cache_bytes = MAX_CHUNK_CACHE};
    FX8_TRY(fx8_h5_dataset_prepare(samples, &use, error));
    file->chunk_rows = fx8_h5_chunks_are_filtered(samples->chunks)
                           ? (int64_t)samples->chunk[0]
                           : 1;
    return fx8_h5_dataset_check_size(samples, &file->file_size, error);
}

enum fx8_status fx8_aavs_file_open(struct fx8_aavs_file *file,
                                   struct fx8_error *error)
{
    enum fx8_status status = fx8_h5_open_file(file->path, &file->file, error);
    if (status == FX8_OK)
        status = open_samples(file, error);
    if (status != FX8_OK)
        fx8_aavs_file_close(file);
    return status;
}

enum fx8_status fx8_aavs_file_load(struct fx8_aavs_file *file,
                                   struct fx8_error *error)
{
    FX8_H5_AUTO root = FX8_H5_NONE;
    file->file_size = -1;
    FX8_TRY(fx8_h5_open_file(file->path, &file->file, error));
    FX8_TRY(fx8_h5_open_dataset(file->path, file->file, FX8_AAVS_ROOT,
                                H5P_DEFAULT, &root, error));
    FX8_TRY(read_attributes(file, root, error));
    return open_samples(file, error);
}
