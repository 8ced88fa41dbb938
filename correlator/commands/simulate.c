/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulate.c -- `fx8 simulate`: a recording of a known sky, and the expected
 * visibilities.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "correlator/commands/command.h"
#include "correlator/run/describe.h"
#include "correlator/run/progress.h"
#include "correlator/simulate/simulator.h"
#include "correlator/simulate/truth.h"
#include "correlator/run/summary.h"
#include "io/native/native.h"

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error);

enum { OUTPUT, SET, FORCE, QUIET };

static const struct fx8_option options[] = {
    [OUTPUT] = {.name = "output",
                .letter = 'o',
                .argument = "FILE",
                .is_once = true,
                .help = "the recording, in fx8's own format; the true "
                        "visibilities go to FILE without .h5 (.hdf5, .hdf) "
                        "and with .true.uvh5 instead"},
    [SET] = FX8_OPTION_SET("override a key; may be given many times"),
    [FORCE] = {.name = "force", .help = "replace existing files"},
    [QUIET] = FX8_OPTION_QUIET("no progress and no summary"),
};

const struct fx8_command fx8_command_simulate = {
    .name = "simulate",
    .synopsis = "CONFIG.ini -o VOLTAGES.h5 [--set section.key=value]... "
                "[--force]",
    .summary = "make a recording of a known sky, and its true visibilities",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "Rate, frequency and start come from [observation], antennas and site\n"
        "from [array], the rest from [simulate]; the true visibilities have\n"
        "the axes that `fx8 correlate` gives with the same file.  A recording\n"
        "has every antenna of the table, the truth those that [array]\n"
        "antennas chooses.\n"
        "\n"
        "[simulate] sources is a CSV with the columns az_deg (from north\n"
        "through east), el_deg of sources that stand still, or ra_deg,\n"
        "dec_deg (ICRS) of such as move with the sky; I and optional Q, U, V,\n"
        "tone_hz.  The unit is the receiver noise power of one input:\n"
        "noise_rms squared per real component (with noise_rms = 0: 1 LSB).  A\n"
        "source of I adds I to XX and to YY; with Q, U, V in the frame of the\n"
        "feeds XX = I + Q, YY = I - Q, XY = <conj(X) Y> = U + iV.  A row with\n"
        "tone_hz is a sinusoid at that sky frequency, of power I alike in X\n"
        "and Y, or with Q, U, V fully polarised.\n"
        "Each input has a gain of modulus exp(gain_spread x normal) and phase\n"
        "gain_phase_deg x normal, and loses the share dropout_fraction of its\n"
        "samples in 32 stretches of its own, listed in /missing.  The same\n"
        "seed gives the same samples, whatever the number of threads.\n"
        "\n"
        "A signal ends it at once and leaves nothing behind.\n",
    .run = run,
    .stops_at_once = true, /* until there are files to remove */
};

/* Bytes of samples made at a time. */
#define WRITE_SIZE ((size_t)8 << 20)

/* Warn above this share of clamped samples: noise of 20 LSB clamps about one
 * sample in 4e9. */
#define CLIPPED_SHARE 1e-6

/* Rounding of Gaussian samples multiplies the correlations of an input by
 * 1 - 2 exp(-2 pi^2 rms^2): 1e-4 below 1 at this rms, LSB, and 1.4e-2 below 1
 * at 0.5. */
#define FAINT_RMS 0.7

/* Everything that one simulation owns. */
struct work {
    struct fx8_settings settings;
    struct fx8_observation observation; /* as recorded */
    struct fx8_job job;
    struct fx8_simulation plan;
    double (*position_m)[3];
    double *cable_delay_s;
    struct fx8_source *sources;
    struct fx8_simulator *simulator;
    struct fx8_truth *truth;
    struct fx8_uvh5_header header;
    struct fx8_native_writer *recording;
    struct fx8_uvh5_writer *visibilities;
    char *truth_path;
};

/* --- names ------------------------------------------------------- */

/* VOLTAGES.h5 -> VOLTAGES.true.uvh5; NULL when memory is short. */
static char *name_truth(const char *output)
{
    static const char *const endings[] = {".h5", ".hdf5", ".hdf"};
    size_t length = strlen(output);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t n = strlen(endings[i]);
        if (length > n && strcmp(output + length - n, endings[i]) == 0) {
            length -= n;
            break;
        }
    }
    char *path;
    return asprintf(&path, "%.*s.true.uvh5", (int)length, output) < 0 ? NULL
                                                                      : path;
}

/* --- simulation -------------------------------------------------- */

/* Positions and cable delays of every recorded input: from the recording's
 * table, and from the job for correlated antennas (positions = none). */
static enum fx8_status place_inputs(struct work *work, struct fx8_error *error)
{
    const struct fx8_observation *tables[] = {&work->observation,
                                              &work->job.observation};
    const size_t n_antennas = work->observation.n_antennas;
    const size_t n_slots = work->observation.n_polarizations;
    const bool swapped = n_slots == 2 && work->settings.input.y_first;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(work->position_m, n_antennas),
        FX8_ITEMS(work->cable_delay_s, fx8_product(n_antennas, n_slots, 1, 1))};
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "antennas", error));
    for (size_t a = 0; a < n_antennas; a++)
        work->position_m[a][0] = (double)a;
    for (size_t k = 0; k < 2; k++)
        for (size_t a = 0; a < tables[k]->n_table; a++) {
            const struct fx8_antenna *antenna = &tables[k]->antennas[a];
            const size_t at = antenna->position;
            memcpy(work->position_m[at], antenna->enu_m, sizeof antenna->enu_m);
            for (size_t slot = 0; slot < n_slots; slot++)
                work->cable_delay_s[at * n_slots + slot] =
                    antenna->cable_delay_s[swapped ? 1 - slot : slot];
        }
    return FX8_OK;
}

/* The simulator has no horizon: warn of sources below it at the beginning or
 * end of the recording. */
static enum fx8_status warn_of_set_sources(const struct work *work,
                                           struct fx8_error *error)
{
    const size_t n_sources = work->plan.n_sources;
    FX8_AUTO_FREE double(*directions)[3] = NULL;
    FX8_TRY(fx8_allocate(n_sources, 2 * sizeof *directions, "sources",
                         &directions, error));
    double(*begin)[3] = directions, (*end)[3] = directions + n_sources;
    size_t n_below = 0;
    fx8_simulator_directions(work->simulator, 0.0, begin);
    fx8_simulator_directions(work->simulator, (double)work->plan.n_samples,
                             end);
    for (size_t s = 0; s < n_sources; s++)
        n_below += begin[s][2] < 0.0 || end[s][2] < 0.0;
    if (n_below > 0)
        fx8_command_warning(
            "simulate.sources: %zu of %zu %s %s below the horizon when the "
            "recording begins or ends; the simulation has no horizon",
            n_below, FX8_COUNTED(n_sources, "source", "sources"),
            FX8_NOUN(n_below, "lies", "lie"));
    return FX8_OK;
}

/* Warn of inputs fainter than the sample steps: rounding loses them. */
static void warn_of_faint_inputs(const struct work *work)
{
    const size_t n_inputs = work->plan.n_antennas * work->plan.n_polarizations;
    size_t n_faint = 0;
    double faintest = FAINT_RMS;
    for (size_t input = 0; input < n_inputs; input++) {
        const double rms = fx8_simulator_rms(work->simulator, input);
        n_faint += rms < FAINT_RMS;
        faintest = fmin(faintest, rms);
    }
    if (n_faint > 0)
        fx8_command_warning(
            "simulate.noise_rms: %zu of %zu %s %s fainter than %g LSB rms, "
            "down to %.3g: rounding to whole numbers loses a part of their "
            "correlations, which the truth includes",
            n_faint, FX8_COUNTED(n_inputs, "input", "inputs"),
            FX8_NOUN(n_faint, "is", "are"), FAINT_RMS, faintest);
}

static enum fx8_status open_simulator(struct work *work,
                                      struct fx8_error *error)
{
    const struct fx8_settings *settings = &work->settings;
    const struct fx8_observation *observation = &work->observation;
    size_t n_sources = 0;
    FX8_TRY(place_inputs(work, error));
    if (settings->simulate.sources[0] != '\0')
        FX8_TRY(fx8_sources_load(settings->simulate.sources, &work->sources,
                                 &n_sources, error));
    work->plan = (struct fx8_simulation){
        .is_complex = observation->is_complex,
        .lower_sideband = work->job.plan.lower_sideband,
        .sample_rate = observation->sample_rate,
        .dc_frequency_hz = observation->dc_frequency_hz,
        .n_samples = observation->n_samples,
        .n_antennas = observation->n_antennas,
        .n_polarizations = observation->n_polarizations,
        .y_first = settings->input.y_first,
        .position_m = (const double(*)[3])work->position_m,
        .cable_delay_s = work->cable_delay_s,
        .sources = work->sources,
        .n_sources = n_sources,
        .site = work->job.observation.site, /* needed for the truth */
        .start_time = observation->start_time,
        .earth = work->job.earth,
        .noise_rms = settings->simulate.noise_rms,
        .gain_spread = settings->simulate.gain_spread,
        .gain_phase_deg = settings->simulate.gain_phase_deg,
        .dropout_fraction = settings->simulate.dropout_fraction,
        .seed = (uint64_t)settings->simulate.seed,
        .n_threads = settings->machine.threads.count == 0
                         ? fx8_parallel_cpus()
                         : settings->machine.threads.count,
    };
    FX8_TRY(fx8_simulator_open(&work->plan, &work->simulator, error));
    warn_of_faint_inputs(work);
    return warn_of_set_sources(work, error);
}

/* --- writing ----------------------------------------------------- */

/* Create the recording first: its known size is checked against the free disk
 * space before any work, and its lock protects the truth file too.  From then
 * on a signal removes the unfinished files. */
static enum fx8_status create_recording(const struct fx8_command_line *line,
                                        struct work *work,
                                        struct fx8_error *error)
{
    size_t n_missing;
    const struct fx8_missing *missing =
        fx8_simulator_missing(work->simulator, &n_missing);
    fx8_command_count_signals();
    const enum fx8_status status = fx8_native_create(
        line->given[OUTPUT], line->given[FORCE] != NULL, &work->observation,
        work->settings.simulate.axis_order, missing, n_missing,
        &work->recording, error);
    fx8_command_stop_at_once(NULL);
    return status;
}

static enum fx8_status create_truth(const struct fx8_command_line *line,
                                    struct work *work, struct fx8_error *error)
{
    const struct fx8_provenance provenance = {
        .precision = "TRUTH",
        .backend = "",
        .kernel = "",
        .fft_plan = "",
        .command = line->text,
        .input = line->given[OUTPUT],
    };
    FX8_TRY(fx8_describe(&work->job.centers[0], &provenance, NULL,
                         &work->header, error));
    return fx8_uvh5_create(work->truth_path, line->given[FORCE] != NULL,
                           &work->header, work->settings.output.compression,
                           &work->visibilities, error);
}

static FILE *progress_stream(const struct fx8_command_line *line)
{
    return line->given[QUIET] == NULL ? stderr : NULL;
}

/* Parts of a recording: one is made while the one before it is written. */
struct parts {
    struct work *work;
    int64_t length;     /* samples of a part */
    int64_t first;      /* of the part being made */
    int8_t *samples[2]; /* of even and odd parts */
    enum fx8_status status;
    struct fx8_error *error;
};

/* Item 0 makes a part, item 1 writes the part before it; its thread then helps
 * to make.  The first time there is nothing to write, the last time nothing to
 * make. */
static void make_or_write(void *context, size_t item, size_t thread)
{
    struct parts *parts = context;
    const int64_t first =
        item == 0 ? parts->first : parts->first - parts->length;
    const int64_t left = parts->work->observation.n_samples - first;
    const int64_t n = left < parts->length ? left : parts->length;
    (void)thread;
    if (first < 0 || n <= 0)
        return;
    int8_t *samples = parts->samples[first / parts->length % 2];
    if (item == 0)
        fx8_simulator_read(parts->work->simulator, first, n, samples);
    else
        parts->status = fx8_native_write(parts->work->recording, first, n,
                                         samples, parts->error);
}

static enum fx8_status write_recording(const struct fx8_command_line *line,
                                       struct work *work,
                                       struct fx8_error *error)
{
    const size_t n_inputs = work->plan.n_antennas * work->plan.n_polarizations;
    const size_t size = n_inputs * (work->plan.is_complex ? 2 : 1);
    const int64_t n_samples = work->observation.n_samples;
    const int64_t most = size < WRITE_SIZE ? (int64_t)(WRITE_SIZE / size) : 1;
    struct parts parts = {
        .work = work,
        .length = most < n_samples ? most : n_samples,
        .error = error,
    };
    FX8_AUTO_FREE int8_t *samples = NULL;
    FX8_AUTO(fx8_progress_end) struct fx8_progress_display display;
    struct fx8_progress progress = {
        .total_samples = n_samples,
        .n_inputs = n_inputs,
        .rate_hz = fx8_rate_hz(work->observation.sample_rate),
    };
    fx8_progress_start(&display, "simulate", NULL, progress_stream(line));
    FX8_TRY(fx8_allocate((size_t)parts.length, 2 * size, "samples", &samples,
                         error));
    parts.samples[0] = samples;
    parts.samples[1] = samples + (size_t)parts.length * size;
    for (; parts.first - parts.length < n_samples;
         parts.first += parts.length) {
        fx8_parallel_for(2, work->plan.n_threads, false, make_or_write, &parts);
        FX8_TRY(parts.status);
        progress.n_samples = parts.first < n_samples ? parts.first : n_samples;
        fx8_progress_show(&display, &progress);
    }
    return FX8_OK;
}

static enum fx8_status write_truth(const struct fx8_command_line *line,
                                   struct work *work, struct fx8_error *error)
{
    FX8_AUTO(fx8_progress_end) struct fx8_progress_display display;
    fx8_progress_start(&display, "truth", "dump", progress_stream(line));
    FX8_TRY(fx8_truth_open(work->simulator, &work->job, &work->truth, error));
    for (int64_t dump = 0; dump < work->job.n_dumps; dump++) {
        struct fx8_result results;
        fx8_truth_dump(work->truth, dump, &results);
        FX8_TRY(fx8_uvh5_write_dump(work->visibilities, (size_t)dump, &results,
                                    error));
        fx8_progress_count(&display, dump + 1, work->job.n_dumps);
    }
    return FX8_OK;
}

static enum fx8_status write_files(const struct fx8_command_line *line,
                                   struct work *work, struct fx8_error *error)
{
    enum fx8_status status = create_recording(line, work, error);
    if (status == FX8_OK)
        status = create_truth(line, work, error);
    if (status == FX8_OK)
        status = write_recording(line, work, error);
    if (status == FX8_OK)
        status = write_truth(line, work, error);
    /* after the first rename a signal can no longer undo everything */
    fx8_command_count_signals();
    FX8_TRY(status);
    FX8_TRY(fx8_native_close(&work->recording, true, error));
    return fx8_uvh5_close(&work->visibilities, (size_t)work->job.n_dumps,
                          error);
}

/* --- the command ------------------------------------------------- */

/* Share of the real numbers that were clamped. */
static double clipped_share(const struct work *work)
{
    const struct fx8_observation *observation = &work->observation;
    const double n_numbers =
        (double)observation->n_samples * (double)observation->n_antennas *
        (double)observation->n_polarizations * (work->plan.is_complex ? 2 : 1);
    return (double)fx8_simulator_clipped(work->simulator) / n_numbers;
}

static void print_summary(const char *output, const struct work *work)
{
    const struct fx8_observation *observation = &work->observation;
    const double rate_hz = fx8_rate_hz(observation->sample_rate);
    printf("recording     ");
    fx8_text_print(output, stdout);
    printf("\n              %zu %s, %zu %s, %s samples\n",
           FX8_COUNTED(observation->n_antennas, "antenna", "antennas"),
           FX8_COUNTED(observation->n_polarizations, "polarisation",
                       "polarisations"),
           work->plan.is_complex ? "complex" : "real");
    printf("              %.6f s at %.6f MHz, %zu %s, seed %lld\n",
           (double)observation->n_samples / rate_hz, rate_hz * 1e-6,
           FX8_COUNTED(work->plan.n_sources, "source", "sources"),
           (long long)work->settings.simulate.seed);
    printf("clamped       %.3g %% of the numbers\n",
           100.0 * clipped_share(work));
    char some[64] = "";
    if (work->job.plan.n_antennas < observation->n_antennas)
        snprintf(some, sizeof some, "%zu of the antennas, ",
                 work->job.plan.n_antennas);
    printf("truth         ");
    fx8_text_print(work->truth_path, stdout);
    printf("\n              %s%zu %s, %zu %s, %lld %s\n", some,
           FX8_COUNTED(work->header.n_baselines, "baseline", "baselines"),
           FX8_COUNTED(work->header.n_channels, "channel", "channels"),
           FX8_COUNTED((long long)work->job.n_dumps, "dump", "dumps"));
    const double peak_mib = fx8_summary_peak_mib();
    if (peak_mib > 0.0)
        printf("memory        %.1f MiB at most\n", peak_mib);
}

/* Abandoned writers remove their unfinished files. */
static void clear(struct work *work)
{
    if (work->recording != NULL)
        (void)fx8_native_close(&work->recording, false, NULL);
    if (work->visibilities != NULL)
        (void)fx8_uvh5_close(&work->visibilities, 0, NULL);
    fx8_truth_close(&work->truth);
    fx8_simulator_close(&work->simulator);
    fx8_uvh5_header_clear(&work->header);
    fx8_job_clear(&work->job);
    fx8_observation_clear(&work->observation);
    fx8_settings_clear(&work->settings);
    free(work->position_m);
    free(work->cable_delay_s);
    free(work->sources);
    free(work->truth_path);
}

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error)
{
    const char *output = line->given[OUTPUT];
    FX8_AUTO(clear)
    struct work work = {.observation = fx8_observation_unknown()};
    if (line->n_files != 1)
        return fx8_command_misuse(
            line, error, "%zu files: expected one CONFIG.ini", line->n_files);
    if (output == NULL || output[0] == '\0')
        return fx8_command_misuse(line, error, "no -o VOLTAGES.h5");
    if ((work.truth_path = name_truth(output)) == NULL)
        return fx8_no_memory("arguments", error);
    FX8_TRY(fx8_settings_load(line->files[0], line->settings, line->n_settings,
                              false, &work.settings, error));
    FX8_TRY(fx8_simulator_observe(&work.settings, &work.observation, error));
    FX8_TRY(fx8_job_resolve(&work.settings, &work.observation, output,
                            &work.job, error));
    for (size_t w = 0; w < work.job.n_warnings; w++)
        fx8_command_warning("%s", work.job.warnings[w]);
    if (work.job.n_centers > 1)
        fx8_command_warning("delay.phase_centers: the truth is that of the "
                            "first, %s",
                            work.job.centers[0].place.name);
    fx8_command_warn_of_name(output, "HDF5", false);
    FX8_TRY(open_simulator(&work, error));
    FX8_TRY(write_files(line, &work, error));
    if (line->given[QUIET] == NULL)
        print_summary(output, &work);
    if (clipped_share(&work) > CLIPPED_SHARE)
        fx8_command_warning("simulate.noise_rms: %.3g %% of the numbers were "
                            "clamped at 127, which the truth does not include",
                            100.0 * clipped_share(&work));
    return FX8_OK;
}
