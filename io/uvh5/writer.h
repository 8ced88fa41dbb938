/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writer.h -- internals of the UVH5 writer: the parts of a file and the
 * functions that write them.  All names and types follow the UVH5 memo 1.1 and
 * pyuvdata; see data/README.md.
 */
#ifndef FX8_IO_UVH5_WRITER_H
#define FX8_IO_UVH5_WRITER_H

#include "io/h5/cubes.h"
#include "io/uvh5/uvh5.h"

/** Datasets of Data/, in the order of their chunks in the file. */
enum {
    FX8_UVH5_FLAGS = 0,
    FX8_UVH5_NSAMPLES,
    FX8_UVH5_VISDATA,
    FX8_UVH5_CUBES
};

/** Datasets of /fx8 with a row per dump. */
enum {
    FX8_UVH5_CHECKSUM = 0,
    FX8_UVH5_VALID_SPECTRA,
    FX8_UVH5_DEAD,
    FX8_UVH5_CLIPS,
    FX8_UVH5_COUNTS
};

/** Rows of a chunk of a column, and of a block written at once: 128 KiB of one
 *  column of doubles. */
#define FX8_UVH5_BLOCK_ROWS 16384

/** In place of the checksum of a dump. */
#define FX8_UVH5_UNFINISHED ((int64_t)-1)

struct fx8_uvh5_columns;
struct fx8_uvh5_writer;

/** What a file is made of that is not a result of a run. */
struct fx8_uvh5_model {
    hid_t visdata;  /**< type of its visibilities, in memory too */
    hid_t nsamples; /**< of its weights */
    /** Writes Header/ with its columns. */
    enum fx8_status (*put_header)(void *context, struct fx8_uvh5_writer *writer,
                                  struct fx8_error *error);
    void *context;
};

/** Checksums of the cubes of a dump as far as they were passed; zeros: none. */
struct fx8_uvh5_crc {
    unsigned long of[FX8_UVH5_CUBES];
    size_t bytes[FX8_UVH5_CUBES];
};

struct fx8_uvh5_writer {
    struct fx8_output *output;
    hid_t file;
    hid_t header; /**< group Header */
    hid_t data;   /**< group Data */
    struct fx8_h5_cube cubes[FX8_UVH5_CUBES];
    struct fx8_h5_cube counts[FX8_UVH5_COUNTS];
    bool is_reopened;   /**< the file is an earlier run's */
    bool is_read_only;  /**< and not taken up yet */
    bool is_sound;      /**< none of its writes can be missing */
    double protected_s; /**< when it was protected last; 0: never */
    struct fx8_uvh5_columns *columns; /**< while they are written, else NULL */
    const struct fx8_uvh5_model *model; /**< while created; NULL: of a run */
    enum fx8_compression compression;
    size_t n_times;
    size_t n_baselines;
    size_t n_channels;
    size_t n_products;
    struct fx8_uvh5_rows rows;
    size_t n_dates;   /**< that differ */
    size_t n_whole;   /**< of averages: dumps up to the last block that an
                           earlier run has marked */
    size_t n_written; /**< rows of a dump that is written in slices */
    struct fx8_uvh5_crc crc; /**< of these */
    int64_t crc_of_counts;   /**< of the dump that is written */
    /** Checksums of the dumps of a block, which are its marks. */
    int64_t checksums[FX8_UVH5_BLOCK_DUMPS];
    struct fx8_error failure; /**< the first failure, reported again by close */
};

/** fx8_uvh5_create() of a file that is not a result of a run; `header` has only
 *  its sizes. */
enum fx8_status fx8_uvh5_create_like(const char *path, bool force,
                                     const struct fx8_uvh5_header *header,
                                     const struct fx8_uvh5_model *model,
                                     enum fx8_compression compression,
                                     struct fx8_uvh5_writer **writer,
                                     struct fx8_error *error);

/** Whether a dataset of Header/ has a row per baseline and dump. */
bool fx8_uvh5_is_column(const char *name);

/** Create one, with rows of `width` values; the caller closes it. */
enum fx8_status fx8_uvh5_create_column(const struct fx8_uvh5_writer *writer,
                                       const char *name, hid_t type,
                                       size_t width, hid_t *dataset,
                                       struct fx8_error *error);

/** Scalars, antennas, frequencies, phase centre, keywords. */
enum fx8_status fx8_uvh5_put_header(struct fx8_uvh5_writer *writer,
                                    const struct fx8_uvh5_header *header,
                                    struct fx8_error *error);

/** Create the datasets of Header/ with one row per baseline and dump; `header`
 *  must outlive them. */
enum fx8_status fx8_uvh5_open_columns(struct fx8_uvh5_writer *writer,
                                      const struct fx8_uvh5_header *header,
                                      struct fx8_error *error);

/** How many rows the file has. */
size_t fx8_uvh5_count_rows(const struct fx8_uvh5_writer *writer);

/** How many different dates the rows of a header have: *n. */
enum fx8_status fx8_uvh5_count_dates(const struct fx8_uvh5_header *header,
                                     size_t *n, struct fx8_error *error);

/** Write the rows from `first` on again. */
enum fx8_status fx8_uvh5_rewrite_columns(struct fx8_uvh5_writer *writer,
                                         const struct fx8_uvh5_header *header,
                                         size_t first, struct fx8_error *error);

/** Write these datasets up to n_rows, and the rest of that block; nothing if
 *  they are not open. */
enum fx8_status fx8_uvh5_write_columns(struct fx8_uvh5_writer *writer,
                                       size_t n_rows, struct fx8_error *error);

/** Compare the rows that an earlier file has of them with what this run would
 *  write; fx8_uvh5_compare_header() does. */
enum fx8_status fx8_uvh5_compare_columns(
    struct fx8_uvh5_writer *writer, const struct fx8_uvh5_header *header,
    const struct fx8_uvh5_differences *differences, struct fx8_error *error);

/** Report the first of n values of a type that differs; true: none does. */
bool fx8_uvh5_compare_values(const struct fx8_uvh5_differences *differences,
                             const char *name, hid_t type, size_t n,
                             const char *theirs, const char *mine);

/** Whether an earlier file has all rows of these datasets, and says so. */
bool fx8_uvh5_has_columns(const struct fx8_uvh5_writer *writer);

/** Create a file in memory that is never written to disk. */
enum fx8_status fx8_uvh5_create_aside(const struct fx8_uvh5_writer *writer,
                                      hid_t *aside, struct fx8_error *error);

/** Close them; legal after a failure or if already closed. */
void fx8_uvh5_close_columns(struct fx8_uvh5_writer *writer);

/** Create the checksums, of unfinished dumps, or open an earlier run's. */
enum fx8_status fx8_uvh5_create_checksums(struct fx8_uvh5_writer *writer,
                                          struct fx8_error *error);

/** Close the HDF5 file and its open objects; the output stays open. */
enum fx8_status fx8_uvh5_close_handles(struct fx8_uvh5_writer *writer,
                                       struct fx8_error *error);

/** Pass the next bytes of a cube. */
void fx8_uvh5_crc_pass(struct fx8_uvh5_crc *crc, int cube, const void *values,
                       size_t bytes);

/** CRC-32 of a dump whose cubes were passed: of one behind the other. */
int64_t fx8_uvh5_crc_join(const struct fx8_uvh5_crc *crc);

/** The upper half of a mark while a file is not whole: a checksum of what was
 *  counted in the dump, in those of the arrays that are not NULL. */
int64_t fx8_uvh5_crc_counts(const int64_t *const arrays[FX8_UVH5_COUNTS],
                            const size_t bytes[FX8_UVH5_COUNTS]);

/** Drop it from the marks of a whole file, once that is on the disk. */
enum fx8_status fx8_uvh5_trim_marks(struct fx8_uvh5_writer *writer,
                                    struct fx8_error *error);

/** Drop from the marks that their dumps are on the disk, before the file
 *  changes: from then on PATH.part.undo knows.  Dumps that are not `finished`,
 *  such as damaged ones, lose their marks: a later run would trust them. */
enum fx8_status fx8_uvh5_unsync_marks(struct fx8_uvh5_writer *writer,
                                      const uint8_t *finished,
                                      struct fx8_error *error);

/** Whether all finished dumps of an earlier run are on the disk: it was paused,
 *  or has ended. */
enum fx8_status fx8_uvh5_are_synced(const struct fx8_uvh5_writer *writer,
                                    bool *are_synced, struct fx8_error *error);

/** Mark a dump as finished, with its checksum. */
enum fx8_status fx8_uvh5_mark(struct fx8_uvh5_writer *writer, size_t dump,
                              int64_t checksum, struct fx8_error *error);

/** Mark all dumps as finished: checksums [n_times]. */
enum fx8_status fx8_uvh5_mark_all(struct fx8_uvh5_writer *writer,
                                  const int64_t *checksums,
                                  struct fx8_error *error);

/** Names of the datasets of /fx8 with a row per dump, by FX8_UVH5_CHECKSUM and
 *  so on. */
extern const char *const fx8_uvh5_count_names[FX8_UVH5_COUNTS];

/** The marks of a file. */
struct fx8_uvh5_marks {
    size_t n;          /**< dumps that have one, or a place for one */
    size_t n_finished; /**< of finished dumps */
    size_t n_trimmed;  /**< of these, after the run had ended */
};

/** Count them; false if the file has none. */
bool fx8_uvh5_count_marks(hid_t file, struct fx8_uvh5_marks *marks);

/** Whether no dump of a UVH5 file of fx8 is finished; false of other files. */
bool fx8_uvh5_holds_no_dump(hid_t file);

/** Dumps of such a file that are not finished; 0 in other files. */
size_t fx8_uvh5_count_unfinished(hid_t file);

/** Reduce *n_dumps to how many of the first *n_dumps are finished. */
enum fx8_status fx8_uvh5_count_marked(struct fx8_uvh5_writer *writer,
                                      size_t *n_dumps, struct fx8_error *error);

/** Cut the datasets of /fx8 to n_dumps. */
enum fx8_status fx8_uvh5_cut_counts(struct fx8_uvh5_writer *writer,
                                    size_t n_dumps, struct fx8_error *error);

/** Allocate a writer that has no output yet, check its sizes, and choose the
 *  shapes of Data/. */
enum fx8_status fx8_uvh5_plan_writer(const char *path,
                                     const struct fx8_uvh5_header *header,
                                     const struct fx8_uvh5_model *model,
                                     enum fx8_compression compression,
                                     struct fx8_uvh5_writer **writer,
                                     struct fx8_error *error);

/** Create Data/ without rows, or open that of an earlier run. */
enum fx8_status fx8_uvh5_open_cubes(struct fx8_uvh5_writer *writer,
                                    struct fx8_error *error);

/** Grow Data/ to all dumps: new ones are flagged, with zero weight; write and
 *  close the columns, which are open. */
enum fx8_status fx8_uvh5_grow(struct fx8_uvh5_writer *writer,
                              struct fx8_error *error);

/** Correct Nblts and Ntimes to those of the writer's rows. */
enum fx8_status fx8_uvh5_put_lengths(const struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error);

/** Cut these datasets to the writer's rows and correct Nblts and Ntimes. */
enum fx8_status fx8_uvh5_cut_columns(struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error);

/** Cut all of a file to n_dumps, and shorten it. */
enum fx8_status fx8_uvh5_cut(struct fx8_uvh5_writer *writer, size_t n_dumps,
                             struct fx8_error *error);

/** Dumps up to the last block of which all dumps are marked. */
enum fx8_status fx8_uvh5_count_whole(struct fx8_uvh5_writer *writer,
                                     size_t *n_dumps, struct fx8_error *error);

#endif
