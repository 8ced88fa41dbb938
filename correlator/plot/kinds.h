/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kinds.h -- the kinds of plots, and what they share.  A kind is a row of the
 * table in kinds.c and a function that fills a figure; nothing here draws.
 */
#ifndef FX8_CORRELATOR_PLOT_KINDS_H
#define FX8_CORRELATOR_PLOT_KINDS_H

#include "correlator/plot/figure.h"
#include "correlator/plot/view.h"

/** A kind. */
struct fx8_plot_kind {
    const char *name;
    unsigned views; /**< enum fx8_view_kind: what it can be drawn of */
    enum fx8_status (*fill)(const struct fx8_view *view,
                            struct fx8_figure *figure, struct fx8_error *error);
};

/** All of them; the first is the default. */
extern const struct fx8_plot_kind fx8_plot_kinds[];
extern const size_t fx8_plot_kinds_count;

/** The kind of that name, for a file; FX8_ERR_USAGE lists those that the file
 *  can give. */
enum fx8_status fx8_plot_kind_of(const struct fx8_view *view, const char *name,
                                 const struct fx8_plot_kind **kind,
                                 struct fx8_error *error);

enum fx8_status fx8_plot_overview(const struct fx8_view *view,
                                  struct fx8_figure *figure,
                                  struct fx8_error *error);
enum fx8_status fx8_plot_spectrum(const struct fx8_view *view,
                                  struct fx8_figure *figure,
                                  struct fx8_error *error);
enum fx8_status fx8_plot_waterfall(const struct fx8_view *view,
                                   struct fx8_figure *figure,
                                   struct fx8_error *error);
enum fx8_status fx8_plot_matrix(const struct fx8_view *view,
                                struct fx8_figure *figure,
                                struct fx8_error *error);
enum fx8_status fx8_plot_phase(const struct fx8_view *view,
                               struct fx8_figure *figure,
                               struct fx8_error *error);
enum fx8_status fx8_plot_delay(const struct fx8_view *view,
                               struct fx8_figure *figure,
                               struct fx8_error *error);
enum fx8_status fx8_plot_uv(const struct fx8_view *view,
                            struct fx8_figure *figure, struct fx8_error *error);
enum fx8_status fx8_plot_closure(const struct fx8_view *view,
                                 struct fx8_figure *figure,
                                 struct fx8_error *error);
enum fx8_status fx8_plot_levels(const struct fx8_view *view,
                                struct fx8_figure *figure,
                                struct fx8_error *error);

/* --- all baselines at once: pairs.c ------------------------------------- */

/** Sums over all chosen dumps; inputs are 2 * antenna + (0 X, 1 Y). */
struct fx8_pairs {
    size_t n_columns;    /**< of spectra */
    size_t n_rows;       /**< of dumps */
    double *power;       /**< [n_antennas][2][n_columns] sums, unflagged */
    double *n_power;     /**< [n_antennas][2][n_columns] how many */
    double *n_good;      /**< [n_rows][n_columns] unflagged autos of all
                              inputs */
    double *n_planned;   /**< [n_rows][n_columns] autos of one input, if all
                              dumps are read */
    double *n_all;       /**< [n_antennas][2] cells, whatever is in them */
    double *n_empty;     /**< [n_antennas][2] cells without data */
    double *all_power;   /**< [n_antennas][2] sums of data, flagged or not */
    double *n_data;      /**< [n_antennas][2] how many */
    bool *is_measured;   /**< [n_baselines] a cross one with a good cell */
    size_t n_not_finite; /**< cells left out for their values alone */
    double *coherence;   /**< [n_baselines][n_products] sums of |V_ij| /
                              sqrt(V_ii V_jj), unflagged */
    double *n_coherence;
    double *clips;     /**< [n_antennas][2][n_columns] mean clipped share, or
                            NULL: not recorded */
    double median;     /**< level of the inputs that have one; NaN: none */
    unsigned *remarks; /**< [n_antennas][2] enum fx8_remark */
};

/** Read dumps, at most `most`, spread evenly; `needs_cross`: not only autos.
 *  fx8_pairs_clear() also after a failure. */
enum fx8_status fx8_pairs_read(const struct fx8_view *view, bool needs_cross,
                               size_t n_columns, size_t most,
                               struct fx8_pairs *pairs,
                               struct fx8_error *error);
void fx8_pairs_clear(struct fx8_pairs *pairs);

/** Mean power of an input over its good cells; NaN: it has none. */
double fx8_pairs_level(const struct fx8_pairs *pairs, size_t input);

/** Whether an input can be judged: not if all of it is flagged, unless it is
 *  dead or absent. */
bool fx8_pairs_is_shown(const struct fx8_pairs *pairs, size_t input);

/** Mean coherence of a cross baseline; NaN: all of it is flagged. */
double fx8_pairs_coherence(const struct fx8_view *view,
                           const struct fx8_pairs *pairs, size_t baseline,
                           size_t product);

/** The cross baseline with the highest coherence in the main product; of files
 *  with autos alone, an auto; FX8_NOTHING: all is flagged. */
size_t fx8_pairs_strongest(const struct fx8_view *view,
                           const struct fx8_pairs *pairs);

/** Whether an antenna has unflagged autos. */
bool fx8_pairs_is_live(const struct fx8_pairs *pairs, size_t antenna);

/** The baseline asked for, or the strongest; FX8_ERR_INPUT if all is flagged.
 */
enum fx8_status fx8_pairs_choose(const struct fx8_view *view, size_t *baseline,
                                 struct fx8_error *error);

/** Panels from these sums; that of flagged cells only if all dumps were read
 *  and their flags differ. */
enum fx8_status fx8_pairs_spectra_panel(const struct fx8_view *view,
                                        const struct fx8_pairs *pairs,
                                        size_t pol, struct fx8_figure *figure,
                                        struct fx8_error *error);
enum fx8_status fx8_pairs_flagged_panel(const struct fx8_view *view,
                                        const struct fx8_pairs *pairs,
                                        struct fx8_figure *figure,
                                        struct fx8_error *error);
enum fx8_status fx8_pairs_levels_panel(const struct fx8_view *view,
                                       const struct fx8_pairs *pairs,
                                       struct fx8_figure *figure,
                                       struct fx8_error *error);
enum fx8_status fx8_pairs_matrix_panel(const struct fx8_view *view,
                                       const struct fx8_pairs *pairs,
                                       size_t product,
                                       struct fx8_figure *figure,
                                       struct fx8_error *error);

/* --- one baseline: track.c ---------------------------------------------- */

/** Sums of unflagged visibilities in cells of time and frequency. */
struct fx8_track {
    size_t baseline;
    size_t n_rows, n_columns, n_products;
    double (*sums)[2];   /**< [n_products][n_rows][n_columns] */
    double *counts;      /**< the same */
    size_t n_not_finite; /**< as in pairs */
};

/** A range of cells of a track. */
struct fx8_track_part {
    size_t product, row, row_end, column, column_end;
};

/** Read; fx8_track_clear() also after a failure. */
enum fx8_status fx8_track_read(const struct fx8_view *view, size_t baseline,
                               size_t most_rows, size_t most_columns,
                               struct fx8_track *track,
                               struct fx8_error *error);
void fx8_track_clear(struct fx8_track *track);

/** Mean of a part; false: nothing in it, and NaN. */
bool fx8_track_mean(const struct fx8_track *track, struct fx8_track_part part,
                    double mean[2]);

/** Read the baseline asked for, or the strongest, and describe the figure:
 *  `what`, such as "phase of", precedes the baseline in its title. */
enum fx8_status fx8_track_choose(const struct fx8_view *view, const char *what,
                                 size_t most_rows, size_t most_columns,
                                 struct fx8_track *track,
                                 struct fx8_figure *figure,
                                 struct fx8_error *error);

/** Phase of a complex number, in degrees. */
double fx8_phase_degrees(const double v[2]);

/** An empty panel of phases against time, or against frequency; "WHAT, mean
 *  over all ..." is its title. */
struct fx8_panel *fx8_phase_panel(const struct fx8_view *view, const char *what,
                                  const char *label, bool against_time,
                                  struct fx8_figure *figure);

/** Panels of one baseline. */
enum fx8_status fx8_track_amplitude_panel(const struct fx8_view *view,
                                          const struct fx8_track *track,
                                          struct fx8_figure *figure,
                                          struct fx8_error *error);
enum fx8_status fx8_track_phase_panel(const struct fx8_view *view,
                                      const struct fx8_track *track,
                                      bool against_time,
                                      struct fx8_figure *figure,
                                      struct fx8_error *error);

/** Panel of the uv coverage, of baselines with a good cell; a note if the file
 *  has no positions. */
enum fx8_status fx8_uv_panel(const struct fx8_view *view,
                             const struct fx8_pairs *pairs,
                             struct fx8_figure *figure,
                             struct fx8_error *error);

/** The overview of a recording. */
enum fx8_status fx8_levels_overview(const struct fx8_view *view,
                                    struct fx8_figure *figure,
                                    struct fx8_error *error);

#endif
