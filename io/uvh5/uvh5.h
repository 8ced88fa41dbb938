/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uvh5.h -- UVH5 1.2 visibility files: streamed writing, whole-header reading.
 */
#ifndef FX8_IO_UVH5_UVH5_H
#define FX8_IO_UVH5_UVH5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/observation.h"
#include "config/settings.h"
#include "correlator/fx8.h"
#include "io/uvh5/rows.h"

/** Which member of a keyword holds its value. */
enum fx8_keyword_type {
    FX8_KEYWORD_TEXT = 0,
    FX8_KEYWORD_INTEGER,
    FX8_KEYWORD_REAL
};

/** A scalar of the group Header/extra_keywords. */
struct fx8_keyword {
    char name[9]; /**< at most 8 capitals and digits */
    enum fx8_keyword_type type;
    char text[FX8_TEXT_SIZE];
    int64_t integer;
    double real;
};

/**
 * Everything in a UVH5 header, in the units of the format.
 *
 * Ownership: for a writer, the caller owns every array; for a reader, they are
 *            allocated, and released by fx8_uvh5_header_clear()
 * Notes: 1) rows ("blts") are time-major: dump 0 with all baselines, dump 1 …,
 *           unless a writer is given other ones
 *        2) uvw_m = r(ant_2) - r(ant_1)
 *        3) visibilities are conj(E_ant_1) E_ant_2
 */
struct fx8_uvh5_header {
    char telescope[FX8_TEXT_SIZE];
    char instrument[FX8_TEXT_SIZE];
    char object[FX8_TEXT_SIZE];
    char x_orientation[FX8_TEXT_SIZE];
    char units[FX8_TEXT_SIZE]; /**< vis_units; reader only, "" if absent */
    bool is_phased; /**< phased to `object`; reader: as the first row says */
    double center_deg[2]; /**< right ascension and declination of the phase
                               centre, ICRS; reader: NaN in other frames */
    struct fx8_site site;
    size_t n_antennas;
    int64_t *antenna_numbers;    /**< [n_antennas] */
    char (*antenna_names)[64];   /**< [n_antennas] */
    double *antenna_positions_m; /**< [n_antennas][3] ECEF minus reference */
    size_t n_baselines;
    int64_t *ant_1; /**< [n_baselines] numbers */
    int64_t *ant_2; /**< [n_baselines] */
    double *uvw_m;  /**< [n_baselines][3] writer: east, north, up; reader: as
                         in the first dump */
    size_t n_times; /**< dumps */
    /** Writer: rows of n_times dumps, which outlive it; NULL: each dump has one
     *  of each baseline.  With them, what follows has an entry per interval in
     *  place of one per dump.  Reader: NULL */
    const struct fx8_uvh5_rows *rows;
    struct fx8_time *times; /**< [n_times] centres; writer */
    double *julian_dates;   /**< [n_times]; reader */
    double *integration_s;  /**< [n_times] lengths; the last may be shorter */
    size_t n_rows;          /**< reader */
    /** Reader: baselines have rows of their own times.  Then n_times counts
     *  the different dates, in order, integration_s has the longest row of
     *  each, and ant_1, ant_2, uvw_m and apparent_lst_rad are not filled. */
    bool is_irregular;
    double lengths_s[2];      /**< then: of the shortest and the longest row */
    double *apparent_lst_rad; /**< [n_times] true apparent LST */
    struct fx8_place *places; /**< [n_times] of the phase centre, if phased;
                                   writer */
    bool write_lst;           /**< write lst_array and dut1 */
    double dut1_s;
    size_t n_channels;
    double *frequencies_hz;    /**< [n_channels] centres, ascending */
    double *channel_widths_hz; /**< [n_channels] */
    size_t n_products;
    int products[4];              /**< AIPS codes: -5 XX, -6 YY, -7 XY, -8 YX */
    char *history;                /**< free text, lines separated by newlines */
    struct fx8_keyword *keywords; /**< [n_keywords] */
    size_t n_keywords;
};

/** The rows that a header describes. */
struct fx8_uvh5_rows fx8_uvh5_rows_of_header(
    const struct fx8_uvh5_header *header);

/** Release the arrays that a reader allocated; a zeroed header is legal. */
void fx8_uvh5_header_clear(struct fx8_uvh5_header *header);

/** Keyword by name, or NULL. */
const struct fx8_keyword *fx8_uvh5_keyword(const struct fx8_uvh5_header *header,
                                           const char *name);

/** A header and the name of its file, for messages. */
struct fx8_uvh5_named {
    const char *path;
    const struct fx8_uvh5_header *header;
};

/**
 * fx8_uvh5_match_array -- check that two files are of the same array: antennas,
 * baselines, products and their order, unit if both name one, phase centre.
 *
 * Status: FX8_ERR_INPUT: "B: DATASET: value: expected value as in A"
 */
enum fx8_status fx8_uvh5_match_array(struct fx8_uvh5_named a,
                                     struct fx8_uvh5_named b,
                                     struct fx8_error *error);

/** The same for their channels: frequencies. */
enum fx8_status fx8_uvh5_match_channels(struct fx8_uvh5_named a,
                                        struct fx8_uvh5_named b,
                                        struct fx8_error *error);

/** The same for their dumps: dates and lengths. */
enum fx8_status fx8_uvh5_match_dumps(struct fx8_uvh5_named a,
                                     struct fx8_uvh5_named b,
                                     struct fx8_error *error);

/** The same for a value; `index` of an array, or SIZE_MAX. */
enum fx8_status fx8_uvh5_match_value(struct fx8_uvh5_named a,
                                     struct fx8_uvh5_named b, const char *name,
                                     size_t index, double of_a, double of_b,
                                     double tolerance, struct fx8_error *error);

/** Length of the longest dump, in seconds; 0 without dumps. */
double fx8_uvh5_longest_s(const struct fx8_uvh5_header *header);

/** Seconds that dates of the same dump may differ by: a thousandth of a dump,
 *  too little to move a visibility, but at least more than the rounding of a
 *  Julian date to 40 microseconds. */
double fx8_uvh5_dates_tolerance_s(const struct fx8_uvh5_header *header);

struct fx8_uvh5_writer;

/** Bytes of an uncompressed file, without the small items of the header. */
uint64_t fx8_uvh5_bytes(size_t n_times, size_t n_baselines, size_t n_channels,
                        size_t n_products);

/**
 * fx8_uvh5_create -- lock PATH.part and write the whole header.
 *
 * Given:  path         final name
 *         force        replace an existing PATH or PATH.part
 *         header       see above; parts needed later are copied
 *         compression  of visdata; if not none, flags and nsamples are deflated
 * Status: as fx8_output_open(); without `force`, a PATH.part with finished
 *         dumps is refused, one without is replaced
 * Notes: 1) the header describes all n_times dumps from the start; unwritten
 *           dumps are flagged with weight 0, so the .part is a valid file
 *           whenever the program is killed
 *        2) a failed write is reported once, as FX8_ERR_SYSTEM with the path
 *           and the system's reason; closing HDF5 afterwards is safe
 */
enum fx8_status fx8_uvh5_create(const char *path, bool force,
                                const struct fx8_uvh5_header *header,
                                enum fx8_compression compression,
                                struct fx8_uvh5_writer **writer,
                                struct fx8_error *error);

/** Sizes of what is counted in a dump: valid spectra int64 [n_bands][n_inputs],
 *  clips int64 [n_inputs][n_fine], n_fine channels of all bands. */
struct fx8_uvh5_counts {
    size_t n_bands;
    size_t n_inputs;
    size_t n_fine; /**< 0: clips are not counted */
};

/** Clips over valid spectra, double [n_inputs][n_fine]; 0 without any. */
void fx8_uvh5_clip_fractions(const struct fx8_uvh5_counts *counts,
                             const int64_t *valid_spectra, const int64_t *clips,
                             double *fractions);

/** What was counted in a dump.  The caller owns the arrays. */
struct fx8_uvh5_counted {
    int64_t *valid_spectra; /**< [n_bands][n_inputs] */
    int64_t *dead;          /**< [n_bands][n_inputs] 1: all samples zero */
    int64_t *clips; /**< [n_inputs][n_fine]; unused in files without clips */
};

/** Create datasets for fx8_uvh5_write_counts(), or open those of an earlier
 *  run; n_fine 0: without clips. */
enum fx8_status fx8_uvh5_open_counts(struct fx8_uvh5_writer *writer,
                                     size_t n_bands, size_t n_inputs,
                                     size_t n_fine, struct fx8_error *error);

/** The same for dead inputs. */
enum fx8_status fx8_uvh5_open_dead(struct fx8_uvh5_writer *writer,
                                   size_t n_bands, size_t n_inputs,
                                   struct fx8_error *error);

/** Before a dump is begun: protect the file from power failures once it has all
 *  but the dumps, and again now and then, to keep these. */
enum fx8_status fx8_uvh5_protect(struct fx8_uvh5_writer *writer,
                                 struct fx8_error *error);

/** Write the counts of a dump, before the dump. */
enum fx8_status fx8_uvh5_write_counts(struct fx8_uvh5_writer *writer,
                                      size_t dump,
                                      const struct fx8_uvh5_counted *counts,
                                      struct fx8_error *error);

/** Write the result of dump `dump`, an index in [0, n_times), which has the
 * rows that end with it.  With the last dump of a block, flush the block to the
 *  file, and mark its dumps as finished.  Without other rows each dump is one.
 */
enum fx8_status fx8_uvh5_write_dump(struct fx8_uvh5_writer *writer, size_t dump,
                                    const struct fx8_result *result,
                                    struct fx8_error *error);

/** Let several threads deflate what is written from now on; the file holds the
 *  same bytes. */
void fx8_uvh5_pack_on(struct fx8_uvh5_writer *writer, size_t n_threads);

/** Bytes of memory that writing a file of these sizes takes, header included,
 *  if so many threads pack it. */
size_t fx8_uvh5_memory(size_t n_times, size_t n_baselines, size_t n_channels,
                       size_t n_products, enum fx8_compression compression,
                       size_t n_threads);

/** Whether dumps of a file of these sizes can be written in slices: no chunk
 * runs through all baselines. */
bool fx8_uvh5_takes_slices(size_t n_times, size_t n_baselines,
                           size_t n_channels, size_t n_products,
                           enum fx8_compression compression);

/** Write n_baselines of a dump from first_baseline on.  Its slices come one
 *  behind the other; the last one flushes the dump to the file, and marks it as
 *  finished. */
enum fx8_status fx8_uvh5_write_slice(struct fx8_uvh5_writer *writer,
                                     size_t dump, size_t first_baseline,
                                     size_t n_baselines,
                                     const struct fx8_result *result,
                                     struct fx8_error *error);

struct fx8_uvh5_places;

/**
 * fx8_uvh5_share -- let several processes, perhaps of one machine, write the
 * dumps of an uncompressed file: it stays locked, but HDF5 is closed until
 * fx8_uvh5_unshare().
 *
 * Returned: places  of all dumps, fx8_uvh5_places_size() bytes without
 *                   pointers: other processes can use a copy; free() it
 * Notes:    after fx8_uvh5_open_counts(); until unshared, only
 *           fx8_uvh5_leave() is allowed
 */
enum fx8_status fx8_uvh5_share(struct fx8_uvh5_writer *writer,
                               bool is_one_machine,
                               struct fx8_uvh5_places **places,
                               struct fx8_error *error);

size_t fx8_uvh5_places_size(const struct fx8_uvh5_places *places);

/** Writes n bytes at an offset of the file. */
typedef enum fx8_status fx8_uvh5_put_bytes(void *context, uint64_t offset,
                                           const void *bytes, size_t n,
                                           struct fx8_error *error);

/** Write a dump as fx8_uvh5_write_counts() and fx8_uvh5_write_dump() would, by
 *  calls of `put`, but do not mark it as finished: *checksum is its mark. */
enum fx8_status fx8_uvh5_write_placed(const struct fx8_uvh5_places *places,
                                      size_t dump,
                                      const struct fx8_uvh5_counted *counts,
                                      const struct fx8_result *result,
                                      fx8_uvh5_put_bytes *put, void *context,
                                      int64_t *checksum,
                                      struct fx8_error *error);

/** Mark such a dump as finished; of averages, once the whole block is. */
enum fx8_status fx8_uvh5_mark_placed(const struct fx8_uvh5_places *places,
                                     size_t dump, int64_t checksum,
                                     fx8_uvh5_put_bytes *put, void *context,
                                     struct fx8_error *error);

/**
 * fx8_uvh5_unshare -- open the file with HDF5 again, and look whether what
 * other processes have written is in it.
 *
 * Given:    n_dumps  that were written: the first ones
 * Status:   FX8_ERR_SYSTEM also if some of them are not marked
 * Returned: n_dumps  of them, how many are
 */
enum fx8_status fx8_uvh5_unshare(struct fx8_uvh5_writer *writer,
                                 size_t *n_dumps, struct fx8_error *error);

/**
 * fx8_uvh5_reopen -- lock the PATH.part of an earlier run, or PATH, which a
 * signal may have ended early, to go on with it.
 *
 * Given:    as fx8_uvh5_create(), with the header that this run would write
 * Returned: writer  NULL if no file has finished dumps
 * Status:   as fx8_output_reopen()
 * Notes:    as fx8_output_reopen()
 */
enum fx8_status fx8_uvh5_reopen(const char *path, bool force,
                                const struct fx8_uvh5_header *header,
                                enum fx8_compression compression,
                                struct fx8_uvh5_writer **writer,
                                struct fx8_error *error);

/** Open it, to read its dumps; nothing is changed.  fx8_uvh5_open_counts() and
 *  fx8_uvh5_open_dead() then open what it has counted. */
enum fx8_status fx8_uvh5_look_into(struct fx8_uvh5_writer *writer,
                                   struct fx8_error *error);

/** Takes an item of Header/ whose value in a file is another one. */
struct fx8_uvh5_differences {
    void (*take)(void *context, const char *name, const char *theirs,
                 const char *mine);
    void *context;
};

/**
 * fx8_uvh5_compare_header -- compare Header/ of an earlier file, which is
 * looked into, with what this run would write, to the bit: every item but
 * history, keywords, and what says how many dumps there are; of those with a
 * row per dump the rows that are there, as a run that was ended early has fewer
 */
enum fx8_status fx8_uvh5_compare_header(
    struct fx8_uvh5_writer *writer, const struct fx8_uvh5_header *header,
    const struct fx8_uvh5_differences *differences, struct fx8_error *error);

/** FX8_ERR_USAGE: a compressed file that a power failure may have spoiled. */
enum fx8_status fx8_uvh5_check_sound(const struct fx8_uvh5_writer *writer,
                                     struct fx8_error *error);

/** Remove PATH.part.undo: a result that has all its dumps needs none. */
void fx8_uvh5_remove_undo(const struct fx8_uvh5_writer *writer);

/** Name of the file: PATH.part, or PATH if that is reopened. */
const char *fx8_uvh5_name(const struct fx8_uvh5_writer *writer);

/** Whether a run has ended the file that is reopened. */
bool fx8_uvh5_has_ended(const struct fx8_uvh5_writer *writer);

/** Remove it, and null the handle; a NULL handle is legal. */
void fx8_uvh5_drop(struct fx8_uvh5_writer **writer);

/** Make it a .part again, with room for all dumps of the header, and open it
 *  for writing.  finished: [n_dumps]; other dumps lose their marks. */
enum fx8_status fx8_uvh5_take_up(struct fx8_uvh5_writer *writer,
                                 const struct fx8_uvh5_header *header,
                                 const uint8_t *finished,
                                 struct fx8_error *error);

/**
 * fx8_uvh5_read_dump -- what an earlier run wrote of a dump.
 *
 * Given:    trusts       do not read, nor fill in, what cannot be lost
 * Returned: counts       the caller's arrays, filled if the dump is finished
 *           result       likewise; its arrays may be NULL
 *           is_finished  the dump is marked, and its data match the checksum
 * Status:   FX8_ERR_SYSTEM: the system cannot read the file
 */
enum fx8_status fx8_uvh5_read_dump(struct fx8_uvh5_writer *writer, size_t dump,
                                   bool trusts,
                                   const struct fx8_uvh5_counted *counts,
                                   const struct fx8_result *result,
                                   bool *is_finished, struct fx8_error *error);

/**
 * fx8_uvh5_compare_slice -- compare a slice of a dump, all slices in turn, with
 * what an earlier run wrote.
 *
 * Given:    as fx8_uvh5_write_slice()
 * Returned: is_same  with the last slice: whether the dump has its checksum
 */
enum fx8_status fx8_uvh5_compare_slice(struct fx8_uvh5_writer *writer,
                                       size_t dump, size_t first_baseline,
                                       size_t n_baselines,
                                       const struct fx8_result *result,
                                       bool *is_same, struct fx8_error *error);

/** Read what an earlier run counted in a dump. */
enum fx8_status fx8_uvh5_recall_counts(struct fx8_uvh5_writer *writer,
                                       size_t dump,
                                       const struct fx8_uvh5_counted *counts,
                                       struct fx8_error *error);

/** Gains of the quantiser, for a later run to go on with. */
struct fx8_uvh5_gains {
    size_t n_bands, n_inputs;
    size_t n_fine;    /**< channels of all bands */
    double *gain;     /**< [n_inputs][n_fine] LSB per recorded count */
    double *no_power; /**< [n_inputs][n_fine] 1: none to set it from */
    uint8_t *is_set;  /**< [n_bands][n_inputs] */
};

/** Write gains, and after them a checksum for each row that has any. */
enum fx8_status fx8_uvh5_put_gains(struct fx8_uvh5_writer *writer,
                                   const struct fx8_uvh5_gains *gains,
                                   struct fx8_error *error);

struct fx8_uvh5_file;

/** Read gains into the caller's arrays.  is_whole: the file has all of those
 *  that it has checksums of. */
enum fx8_status fx8_uvh5_get_gains(struct fx8_uvh5_file *file,
                                   const struct fx8_uvh5_gains *gains,
                                   bool *is_whole, struct fx8_error *error);

/**
 * fx8_uvh5_put -- write (or overwrite) a float64 dataset /fx8/NAME.
 *
 * Given: shape  [rank], rank <= 3, the same at every call of one name
 *        text   one-line description with unit, stored as attribute
 */
enum fx8_status fx8_uvh5_put(struct fx8_uvh5_writer *writer, const char *name,
                             size_t rank, const size_t *shape,
                             const double *values, const char *text,
                             struct fx8_error *error);

/** Set or replace an extra keyword after creation (summary figures). */
enum fx8_status fx8_uvh5_put_keyword(struct fx8_uvh5_writer *writer,
                                     const struct fx8_keyword *keyword,
                                     struct fx8_error *error);

/**
 * fx8_uvh5_end_early -- let a file end within a block, whose dumps were
 * written: the intervals that go on end with the last one.
 *
 * Given: header  as at first, but of n_times fewer dumps, which are then all of
 *                the file, with rows for them
 *        result  of the last dump, with a row of every baseline; NULL if it
 *                is the last one of a block
 */
enum fx8_status fx8_uvh5_end_early(struct fx8_uvh5_writer *writer,
                                   const struct fx8_uvh5_header *header,
                                   const struct fx8_result *result,
                                   struct fx8_error *error);

/**
 * fx8_uvh5_close -- finish or abandon; nulls the handle.
 *
 * Given:  n_dumps  dumps finished, from 0 on: if fewer than n_times, the file
 *                  is cut to them; if 0, the .part is removed and no final file
 *                  is created
 * Status: the first failed write, now or earlier: the .part is then kept as by
 *         fx8_uvh5_leave(); else as fx8_output_commit()
 */
enum fx8_status fx8_uvh5_close(struct fx8_uvh5_writer **writer, size_t n_dumps,
                               struct fx8_error *error);

/** Bring a .part to the disk that another run is to go on with, and say so in
 *  its marks.  Legal while it is shared, once all processes have synchronised
 *  what they wrote; after it only fx8_uvh5_leave() is. */
enum fx8_status fx8_uvh5_sync_marks(struct fx8_uvh5_writer *writer,
                                    struct fx8_error *error);

/**
 * fx8_uvh5_leave -- close the file of a failed run; nulls the handle.
 *
 * Given: n_dumps  dumps finished: if any, the .part is kept, opens, and holds
 *                 them; if 0, it is removed unless it is an earlier run's
 *        error    of the run, may be NULL: the contents of a kept .part are
 *                 added to its message
 */
void fx8_uvh5_leave(struct fx8_uvh5_writer **writer, size_t n_dumps,
                    struct fx8_error *error);

/**
 * fx8_uvh5_open -- open any UVH5 file and read its header.
 *
 * Status: FX8_ERR_INPUT: "FILE: DATASET: value: what was expected"
 * Notes:  FX8_ERR_INPUT also if rows are not time-major with the same baselines
 *         in every dump
 */
enum fx8_status fx8_uvh5_open(const char *path, struct fx8_uvh5_file **file,
                              struct fx8_uvh5_header *header,
                              struct fx8_error *error);

/** The same, but with rows in any order: see is_irregular. */
enum fx8_status fx8_uvh5_open_any(const char *path, struct fx8_uvh5_file **file,
                                  struct fx8_uvh5_header *header,
                                  struct fx8_error *error);

/** The same of a result that a run has not completed, or was killed while it
 *  took it up, so that its lengths may differ: only history and keywords are
 *  read, and only /fx8 can be. */
enum fx8_status fx8_uvh5_open_words(const char *path,
                                    struct fx8_uvh5_file **file,
                                    struct fx8_uvh5_header *header,
                                    struct fx8_error *error);

/** Read rows [first, first + n): visibilities double [n][n_channels]
 *  [n_products][re, im], flags uint8, nsamples float; any pointer may be
 *  NULL. */
enum fx8_status fx8_uvh5_read_rows(struct fx8_uvh5_file *file, size_t first,
                                   size_t n_rows, double *visibilities,
                                   uint8_t *flags, float *nsamples,
                                   struct fx8_error *error);

/** Read the uvw of rows [first, first + n), in metres, double [n][3]. */
enum fx8_status fx8_uvh5_read_uvw(struct fx8_uvh5_file *file, size_t first,
                                  size_t n_rows, double *uvw_m,
                                  struct fx8_error *error);

/**
 * fx8_uvh5_get -- read /fx8/NAME as float64 if it exists.
 *
 * Returned: values  malloc'ed, the caller frees; NULL with FX8_OK if absent
 *           shape   [3], unused axes 1
 */
enum fx8_status fx8_uvh5_get(struct fx8_uvh5_file *file, const char *name,
                             size_t shape[3], double **values,
                             struct fx8_error *error);

/** Dumps of a file of fx8 that are not finished; 0 in other files. */
size_t fx8_uvh5_unfinished(const struct fx8_uvh5_file *file);

/** Dumps of a file of fx8, and how many of them are finished; 0 in other
 *  files. */
void fx8_uvh5_count_finished(const struct fx8_uvh5_file *file, size_t *n_dumps,
                             size_t *n_finished);

/** Whether a run of n_dumps dumps has ended with all of them in the file. */
bool fx8_uvh5_is_complete(const struct fx8_uvh5_file *file, size_t n_dumps);

/** Find what was counted in each dump; n_fine is 0 without clips, all are 0
 *  without valid spectra.
 *  FX8_ERR_INPUT: sizes that do not suit each other and the dumps. */
enum fx8_status fx8_uvh5_find_counts(struct fx8_uvh5_file *file,
                                     struct fx8_uvh5_counts *counts,
                                     struct fx8_error *error);

/** Read the counts of a dump, which were found; clips only if there are any.
 *  FX8_ERR_INPUT: unreadable, negative, or more clips than valid spectra. */
enum fx8_status fx8_uvh5_read_counts(struct fx8_uvh5_file *file,
                                     const struct fx8_uvh5_counts *counts,
                                     size_t dump, int64_t *valid_spectra,
                                     int64_t *clips, struct fx8_error *error);

/** What becomes of results whose configurations differ in a key. */
enum fx8_uvh5_difference {
    FX8_UVH5_LEGAL = 0,
    FX8_UVH5_REMARKED, /**< joined, with a remark */
    FX8_UVH5_REFUSED
};

/** Keys, by a pattern of the shell for SECTION.KEY. */
struct fx8_uvh5_join_rule {
    const char *keys;
    enum fx8_uvh5_difference difference;
};

/** What to join, and how. */
struct fx8_uvh5_join_request {
    const char *const *paths; /**< [n_paths], in any order */
    size_t n_paths;           /**< at least two */
    const char *output;
    bool force;
    bool has_compression; /**< else that of the first in order */
    enum fx8_compression compression;
    const char *command; /**< as it was given, for the history */
    /** [n_rules] The first that fits a key decides; without one: legal. */
    const struct fx8_uvh5_join_rule *rules;
    size_t n_rules;
    /** Called with each remark on what differs or is left out. */
    void (*warn)(const char *format, ...) FX8_PRINTF(1, 2);
    /** Called after each block of rows; may be NULL. */
    void (*progress)(void *context, int64_t done, int64_t total);
    void *context;
};

/** What a join has made. */
struct fx8_uvh5_joined {
    bool by_time; /**< else by frequency */
    size_t n_times;
    size_t n_channels;
};

/**
 * fx8_uvh5_join -- join results of one observation along the axis in which
 * their headers differ: time or frequency.
 *
 * Status: FX8_ERR_INPUT: not of one observation, overlapping, different along
 *         both axes, damaged; "B: DATASET: value: expected value as in A".
 *         Other failures as of fx8_uvh5_create().  A failed join leaves no
 *         file
 * Notes:  1) data/README.md says what becomes of each item
 *         2) memory: a block of rows of 32 MiB, or the rows of one packed chunk
 *            if they are more; and dates, channels and history of every file
 */
enum fx8_status fx8_uvh5_join(const struct fx8_uvh5_join_request *request,
                              struct fx8_uvh5_joined *joined,
                              struct fx8_error *error);

/** Close and null the handle; a NULL handle is legal. */
void fx8_uvh5_file_close(struct fx8_uvh5_file **file);

#endif
