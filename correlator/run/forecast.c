/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/base/line.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "correlator/run/averages.h"
#include "correlator/run/delays.h"
#include "correlator/run/forecast.h"
#include "correlator/run/resume.h"
#include "io/quicklook/quicklook_file.h"
#include "io/uvh5/uvh5.h"

/* Most bands named one by one; of more, only the last. */
#define NAMED_BANDS 6

/* Losses of coherence above this come with advice. */
#define NOTED_LOSS 0.01

static void print_bands(const struct fx8_job *job, FILE *stream)
{
    const size_t n = job->plan.n_bands;
    fprintf(stream, "           %zu bands at %.10g", n,
            fx8_job_band_mhz(job, 0));
    for (size_t band = 1; band < n && n <= NAMED_BANDS; band++)
        fprintf(stream, ", %.10g", fx8_job_band_mhz(job, band));
    if (n > NAMED_BANDS)
        fprintf(stream, " to %.10g", fx8_job_band_mhz(job, n - 1));
    fprintf(stream, " MHz\n");
}

static void print_input(const struct fx8_job *job, const char *brief,
                        FILE *stream)
{
    const struct fx8_plan *plan = &job->plan;
    const double rate_hz = fx8_rate_hz(plan->sample_rate);
    fprintf(stream, "input      ");
    fx8_text_print(brief, stream);
    fprintf(stream,
            "\n           %zu %s x %zu %s, %s samples at "
            "%.9g MS/s, %.6g s of %.6g s\n",
            FX8_COUNTED(plan->n_antennas, "antenna", "antennas"),
            FX8_COUNTED(plan->n_polarizations, "polarisation", "polarisations"),
            plan->is_complex ? "complex" : "real", rate_hz * 1e-6,
            (double)job->n_samples / rate_hz,
            (double)job->observation.n_samples / rate_hz);
    if (plan->n_bands > 1)
        print_bands(job, stream);
}

/* What of the recording is in dumps that are shorter, or in none. */
static void print_ends(const struct fx8_job *job, FILE *stream)
{
    const struct fx8_plan *plan = &job->plan;
    const double rate_hz = fx8_rate_hz(plan->sample_rate);
    const double step = (double)job->axes.step;
    const int64_t least = plan->spectra_per_dump - (plan->grid.denominator > 1);
    const struct {
        const char *which, *where;
        int64_t n_spectra, n_left_out;
    } ends[] = {
        {"first", "beginning",
         job->n_dumps > 1 ? fx8_dump_spectra(plan, 0) : least,
         job->skipped_samples},
        {"last", "end", fx8_dump_spectra(plan, job->n_dumps - 1),
         job->dropped_samples},
    };
    for (size_t k = 0; k < 2; k++) {
        if (ends[k].n_spectra < least)
            fprintf(stream, "           the %s one of %.6g s (%lld %s)\n",
                    ends[k].which, (double)ends[k].n_spectra * step / rate_hz,
                    FX8_COUNTED((long long)ends[k].n_spectra, "spectrum",
                                "spectra"));
        if (ends[k].n_left_out > 0)
            fprintf(stream,
                    "           %.6g s at the %s fill no dump and are left "
                    "out\n",
                    (double)ends[k].n_left_out / rate_hz, ends[k].where);
    }
}

static void print_plan(const struct fx8_job *job, FILE *stream)
{
    static const char *const methods[] = {
        [FX8_METHOD_PFB] = "pfb",
        [FX8_METHOD_FFT] = "fft",
        [FX8_METHOD_NONE] = "none",
    };
    const struct fx8_plan *plan = &job->plan;
    const double rate_hz = fx8_rate_hz(plan->sample_rate);
    const double step = (double)job->axes.step;
    const bool is_aligned = plan->grid.denominator > 0;
    const double spectra = is_aligned ? (double)plan->grid.numerator /
                                            (double)plan->grid.denominator
                                      : (double)plan->spectra_per_dump;
    char kept[64] = "";
    if (plan->channelizer.n_kept != 0)
        snprintf(kept, sizeof kept, ", %zu of them kept",
                 plan->channelizer.n_kept);
    fprintf(
        stream,
        "plan       %s, %zu %s of %.6g kHz%s%s, %lld %s of %.6g s "
        "(%s%lld %s%s)%s\n",
        methods[plan->channelizer.method],
        FX8_COUNTED(plan->channelizer.n_channels, "channel", "channels"),
        rate_hz * 1e-3 /
            (double)(plan->is_complex ? plan->channelizer.n_channels
                                      : 2 * plan->channelizer.n_channels),
        plan->n_bands > 1 ? " in each band" : "", kept,
        FX8_COUNTED((long long)job->n_dumps, "dump", "dumps"),
        spectra * step / rate_hz, plan->grid.denominator > 1 ? "at most " : "",
        FX8_COUNTED((long long)plan->spectra_per_dump, "spectrum", "spectra"),
        FX8_NOUN(job->n_dumps, "", " each"),
        is_aligned ? ", aligned with UTC" : "");
    print_ends(job, stream);
}

/* Channels of the results, after averaging. */
static void print_channels(const struct fx8_job *job, FILE *stream)
{
    const size_t n = job->axes.n_channels;
    double width_hz;
    FX8_AUTO_FREE double *hz = calloc(n, sizeof *hz);
    if (hz == NULL)
        return; /* no memory: the run fails with a message */
    fx8_frequencies(&job->plan, hz, &width_hz);
    fprintf(stream, "channels   %zu of %.6g kHz, centres %.6f to %.6f MHz\n", n,
            width_hz * 1e-3, hz[0] * 1e-6, hz[n - 1] * 1e-6);
}

/* What response is divided out of the channels, if one is. */
static void print_ripple(const struct fx8_job *job, FILE *stream)
{
    double least = INFINITY, most = 0.0;
    if (job->ripple == NULL)
        return;
    for (size_t c = 0; c < job->axes.n_fine; c++) {
        least = fmin(least, job->ripple[c]);
        most = fmax(most, job->ripple[c]);
    }
    fprintf(stream, "ripple     ");
    fx8_text_print(job->settings->ripple_file, stream);
    fprintf(stream, ": powers from %.4g to %.4g are divided out\n", least,
            most);
}

/* How many baselines are written, if not all. */
static void print_baselines(const struct fx8_job *job, FILE *stream)
{
    const size_t n = job->plan.n_antennas;
    if (job->plan.baselines != NULL)
        fprintf(stream, "baselines  %zu of %zu\n", job->axes.n_baselines,
                n * (n + 1) / 2);
}

/* Over how many dumps baselines are averaged, and how many rows that leaves. */
static void print_averages(const struct fx8_job *job,
                           const struct fx8_uvh5_rows *rows, FILE *stream)
{
    size_t least = 0;
    const size_t all = rows->n_dumps * rows->n_baselines;
    if (rows->n_levels == 1)
        return;
    while (rows->n_of_level[least] == 0)
        least++;
    fprintf(stream,
            "averages   baselines over %zu to %zu dumps, at most %.3g %% lost "
            "at the horizon\n           %.3g %% of %zu rows are left\n",
            (size_t)1 << least, (size_t)1 << (rows->n_levels - 1),
            100.0 * job->settings->output.time_average_loss,
            100.0 * (double)fx8_uvh5_rows_before(rows, rows->n_dumps) /
                (double)all,
            all);
    if (rows->n_of_level[0] > 0)
        fprintf(stream,
                "           %zu of %zu %s not averaged, and may lose more\n",
                rows->n_of_level[0],
                FX8_COUNTED(rows->n_baselines, "baseline is", "baselines are"));
}

/* What delays were removed, what that cost, and how to lose less. */
static void print_delays(const struct fx8_job *job, size_t center, FILE *stream)
{
    static const char *const modes[] = {
        [FX8_DELAY_NONE] = "none",
        [FX8_DELAY_CABLE] = "cable",
        [FX8_DELAY_TRACK] = "track",
    };
    struct fx8_delay_figures f;
    if (fx8_delays_measure(&job->centers[center], &f, NULL) != FX8_OK)
        return; /* the run fails with a message */
    const struct fx8_phase_center *place = &job->centers[center].place;
    fprintf(stream, "delays     %s", modes[job->settings->delay.mode]);
    if (job->centers[center].is_tracked)
        fprintf(stream, " %s%sra %.6f, dec %.6f deg", place->name,
                place->name[0] != '\0' ? ", " : "", place->icrs_deg[0],
                place->icrs_deg[1]);
    fprintf(
        stream,
        ": at most %.6g ns, %.3g ns/s; up to %.2f sample left by "
        "whole-sample shifts\n"
        "           a pair loses up to %.3g %% of its coherence: %.3g %% by "
        "these shifts, %.3g %% by fringes\n           within a spectrum\n",
        f.most_s * 1e9, f.most_rate * 1e9, f.rest_samples,
        100.0 * (f.delay_loss + f.fringe_loss), 100.0 * f.delay_loss,
        100.0 * f.fringe_loss);
    if (f.delay_loss + f.fringe_loss > NOTED_LOSS)
        fprintf(stream, "           %s channels lose less\n",
                f.delay_loss > f.fringe_loss ? "more" : "fewer");
}

/* Delays removed, or how far the sky turns in a dump where nothing is tracked.
 */
static void print_sky(const struct fx8_job *job, FILE *stream)
{
    const bool is_tracked = job->settings->delay.mode == FX8_DELAY_TRACK;
    for (size_t c = 0;
         job->settings->delay.mode != FX8_DELAY_NONE && c < job->n_centers; c++)
        print_delays(job, c, stream);
    const double turns = fx8_delays_dump_turns(job);
    const double x = 3.14159265358979323846 * turns;
    const double loss = turns < 1.0 ? 1.0 - sin(x) / x : 1.0;
    if (is_tracked || job->positions_are_faked || !(loss > NOTED_LOSS))
        return;
    fprintf(stream,
            "fringes    a source may turn by %.2g in a dump and lose %.2g %%: "
            "shorter dumps or\n           delay.mode = track lose less\n",
            turns, 100.0 * loss);
}

void fx8_forecast_format_bytes(double bytes, char text[32])
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    for (bytes *= 1e-3; bytes >= 1000.0 && unit < 4; unit++)
        bytes *= 1e-3;
    snprintf(text, 32, "%.3g %s", bytes, units[unit]);
}

/* What an earlier run has left of an output: its .part, or a result that it
 * ended early. */
static void print_earlier(const struct fx8_run_request *request,
                          const char *path, FILE *stream)
{
    char name[PATH_MAX];
    static const char *const endings[] = {".part", ""};
    for (size_t k = 0; k < 2 && request->is_trial; k++) {
        size_t n_finished;
        const int length =
            snprintf(name, sizeof name, "%s%s", path, endings[k]);
        if (length < 0 || (size_t)length >= sizeof name ||
            !fx8_resume_is_unfinished(name, &n_finished))
            continue;
        fprintf(stream, "           ");
        fx8_text_print(name, stream);
        fprintf(stream,
                ": %zu of %lld %s finished: --resume goes on if it is of this "
                "run\n",
                n_finished,
                FX8_COUNTED((long long)request->job->n_dumps, "dump", "dumps"));
        return; /* --resume takes up the .part if there is one */
    }
}

/* Each output with its size, and whether it is in the way. */
static void print_outputs(const struct fx8_run_request *request, size_t center,
                          FILE *stream)
{
    const struct fx8_job *job = request->job;
    const struct fx8_axes *axes = &job->axes;
    const struct fx8_run_output *output = &request->outputs[center];
    const bool is_packed =
        job->settings->output.compression != FX8_COMPRESSION_NONE;
    const size_t n_dumps = (size_t)job->n_dumps;
    FX8_AUTO(fx8_uvh5_rows_clear) struct fx8_uvh5_rows rows = {0};
    if (fx8_averages_plan(&job->centers[center], &rows, NULL) != FX8_OK)
        return; /* the run fails with a message */
    print_averages(job, &rows, stream);
    for (size_t kind = 0; kind <= FX8_N_RESULTS; kind++) {
        const bool is_look = kind == FX8_N_RESULTS;
        const char *path =
            is_look ? output->path_quicklook : output->paths[kind];
        char size[32];
        if (path == NULL)
            continue;
        fx8_forecast_format_bytes(
            is_look ? (double)fx8_quicklook_file_bytes(
                          n_dumps, axes->n_baselines, axes->n_inputs,
                          axes->n_channels, axes->n_products)
                    : (double)fx8_uvh5_bytes(
                          1, fx8_uvh5_rows_before(&rows, rows.n_dumps),
                          axes->n_channels, axes->n_products),
            size);
        fprintf(stream, "output     ");
        fx8_text_print(path, stream);
        fprintf(stream, ": %s%s of data%s\n", is_packed ? "at most " : "", size,
                access(path, F_OK) == 0 && !request->force && !request->resume
                    ? "; exists: --force would replace it"
                    : "");
        if (!is_look)
            print_earlier(request, path, stream);
    }
}

void fx8_forecast_print_plan(const struct fx8_job *job, const char *brief,
                             FILE *stream)
{
    print_input(job, brief, stream);
    print_plan(job, stream);
    print_channels(job, stream);
    print_ripple(job, stream);
    print_baselines(job, stream);
}

void fx8_forecast_print(const struct fx8_run_request *request, size_t memory,
                        size_t n_slices, int64_t n_earlier, FILE *stream)
{
    const struct fx8_job *job = request->job;
    fx8_forecast_print_plan(job, request->input_brief, stream);
    print_sky(job, stream);
    for (size_t c = 0; c < job->n_centers; c++)
        print_outputs(request, c, stream);
    fprintf(stream, "memory     up to %.1f MiB\n",
            (double)memory / (double)(1 << 20));
    if (n_slices > 1)
        fprintf(stream,
                "           each dump is written in %zu slices: more memory "
                "would allow whole ones\n",
                n_slices);
    if (request->resume && n_earlier > 0)
        fprintf(stream, "resume     %lld of %lld %s finished before\n",
                (long long)n_earlier,
                FX8_COUNTED((long long)job->n_dumps, "dump", "dumps"));
    else if (request->resume && !request->is_trial)
        fprintf(stream, "resume     no dump finished before: from the start\n");
}

void fx8_forecast_print_time(const struct fx8_run_request *request,
                             const struct fx8_run_report *reports, FILE *stream)
{
    const struct fx8_job *job = request->job;
    double gains_s = 0.0;
    for (size_t c = 0; c < job->n_centers; c++)
        gains_s += reports[c].statistics.gains_s;
    const double all = (double)job->n_samples;
    const double done = fmin((double)reports->n_samples, all);
    /* what opens the session and sets the levels is done once */
    const double grows_s = reports->push_s - gains_s;
    const double whole_s = reports->total_s - grows_s + grows_s * all / done;
    fprintf(stream,
            "time       about %.3g s without writing, %.3g x real time, as the "
            "first %.3g s show\n           (%s, %s)\n",
            whole_s, all / fx8_rate_hz(job->plan.sample_rate) / whole_s,
            done / fx8_rate_hz(job->plan.sample_rate), reports->backend,
            reports->kernel);
    if (request->n_ranks > 1)
        fprintf(stream, "           if rank 0 computes all of it; fx8 plan "
                        "says how long several ranks take\n");
}
