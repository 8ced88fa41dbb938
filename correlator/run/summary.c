/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/text.h"
#include "correlator/run/delays.h"
#include "correlator/run/summary.h"

static const char *const feeds[] = {"X", "Y"};

/* The part of the time from which on the start and the end are named. */
#define LEAST_NAMED 0.03

/* Whether to print why this engine was chosen: not to users who have no GPU and
 * ask for none. */
static bool tells_choice(const struct fx8_run_request *request,
                         const struct fx8_run_report *report)
{
    return request->job->plan.machine.backend == FX8_BACKEND_AUTO &&
           (strcmp(report->backend, "cpu") != 0 ||
            fx8_settings_given(request->job->settings, "correlator.backend") ||
            fx8_settings_given(request->job->settings, "correlator.device"));
}

static void print_kernels(const struct fx8_run_request *request,
                          const struct fx8_run_report *report, FILE *stream)
{
    fprintf(stream, "kernels    %s, %s, FFT %s\n", report->backend,
            report->kernel, report->fft_plan);
    if (tells_choice(request, report))
        fprintf(stream, "           backend auto: %s\n", report->reason);
}

/* Recordings of more than 8 bits: gains, and how much was clamped. */
static void print_scaling(const struct fx8_run_request *request,
                          const struct fx8_run_report *report, FILE *stream)
{
    const double *gain = request->reader->input_gain;
    if (gain == NULL)
        return;
    double least = gain[0], most = gain[0];
    for (size_t i = 1; i < request->job->n_inputs; i++) {
        least = gain[i] < least ? gain[i] : least;
        most = gain[i] > most ? gain[i] : most;
    }
    fprintf(stream, "scaling    to 8 bits: gains 1/%.0f", 1.0 / least);
    if (most > least)
        fprintf(stream, " to 1/%.0f", 1.0 / most);
    fprintf(stream, ", %lld real %s clamped\n",
            FX8_COUNTED((long long)report->n_clamped, "number", "numbers"));
}

/* Seconds of all phase centres together. */
static struct fx8_run_report add_reports(const struct fx8_run_report *reports,
                                         size_t n)
{
    struct fx8_run_report sum = reports[0];
    for (size_t c = 1; c < n; c++) {
        const struct fx8_statistics *s = &reports[c].statistics;
        sum.statistics.gains_s += s->gains_s;
        sum.statistics.align_s += s->align_s;
        sum.statistics.channelize_s += s->channelize_s;
        sum.statistics.correlate_s += s->correlate_s;
        sum.statistics.postprocess_s += s->postprocess_s;
        sum.statistics.quicklook_s += s->quicklook_s;
        sum.statistics.spot_s += s->spot_s;
        sum.statistics.copy_s += s->copy_s;
        sum.write_s += reports[c].write_s;
        sum.sync_s += reports[c].sync_s;
    }
    return sum;
}

static void print_times(const struct fx8_run_request *request,
                        const struct fx8_run_report *reports, FILE *stream)
{
    const struct fx8_job *job = request->job;
    const struct fx8_run_report sum = add_reports(reports, job->n_centers);
    const struct fx8_run_report *report = &sum;
    const struct fx8_statistics *s = &report->statistics;
    const double samples = (double)s->n_spectra * (double)job->axes.step;
    char start[32] = "", quicklook[32] = "", spot[32] = "", sync[32] = "";
    char copies[48] = "";
    if (report->start_s > LEAST_NAMED * report->total_s)
        snprintf(start, sizeof start, "start %.3f, ", report->start_s);
    if (report->sync_s > LEAST_NAMED * report->total_s)
        snprintf(sync, sizeof sync, ", sync %.3f", report->sync_s);
    if (request->outputs[0].path_quicklook != NULL)
        snprintf(quicklook, sizeof quicklook, ", quick-look %.3f",
                 s->quicklook_s);
    if (s->spot_s > 0.0)
        snprintf(spot, sizeof spot, ", spot check %.3f", s->spot_s);
    if (s->copy_s > 0.0)
        snprintf(copies, sizeof copies, ", copies to the GPU %.3f", s->copy_s);
    fprintf(stream,
            "time       %.3f s: %slevel %.3f, align %.3f, channelise %.3f, "
            "correlate %.3f, post-process %.3f%s%s%s;\n"
            "           beside it read %.3f, write %.3f%s\n",
            report->total_s, start, s->gains_s, s->align_s, s->channelize_s,
            s->correlate_s, s->postprocess_s, quicklook, spot, sync,
            report->read_s, report->write_s, copies);
    fprintf(stream,
            "           %.1f Msamples/s over all inputs, %.3g x real time\n",
            samples * (double)job->n_inputs / report->total_s * 1e-6,
            samples / fx8_rate_hz(job->plan.sample_rate) / report->total_s);
}

/* What each rank has done. */
static void print_ranks(const struct fx8_run_report *report, FILE *stream)
{
    for (int rank = 0; rank < report->n_ranks; rank++) {
        const struct fx8_run_rank *r = &report->ranks[rank];
        char name[32];
        snprintf(name, sizeof name, "rank %d", rank);
        fprintf(stream, "%-10s ", name);
        if (r->n_dumps > 0 || r->n_segments == 0)
            fprintf(stream, "%lld %s%s",
                    FX8_COUNTED((long long)r->n_dumps, "dump", "dumps"),
                    r->n_segments > 0 ? ", " : "");
        if (r->n_segments > 0)
            fprintf(
                stream, "%lld %s",
                FX8_COUNTED((long long)r->n_segments, "segment", "segments"));
        fprintf(stream,
                "%s: read %.3f, compute %.3f, write %.3f, wait %.3f s\n",
                r->n_gain_rounds > 0 ? ", levels set" : "", r->read_s,
                r->compute_s, r->write_s, r->wait_s);
    }
}

/* One input that was dead for some or all of the time, with the bands if they
 * differ.  States [n_bands], n_inputs apart. */
static void print_dead(const struct fx8_job *job, const uint8_t *states,
                       size_t n_inputs, size_t input, uint8_t state,
                       FILE *stream)
{
    static const char *const words[] = {NULL, "dead in part of the time",
                                        "dead"};
    const size_t n_bands = job->plan.n_bands;
    const size_t antenna = input / job->plan.n_polarizations;
    const struct fx8_antenna *a = &job->observation.antennas[antenna];
    size_t n_alike = 0;
    for (size_t band = 0; band < n_bands; band++)
        n_alike += states[band * n_inputs] == state;
    if (n_alike == 0)
        return;
    fprintf(stream, "flagged    antenna %lld (%s) %s: %s", (long long)a->number,
            a->name, feeds[input % job->plan.n_polarizations], words[state]);
    const char *before = " at ";
    for (size_t band = 0; band < n_bands && n_alike < n_bands; band++)
        if (states[band * n_inputs] == state) {
            fprintf(stream, "%s%.10g", before, fx8_job_band_mhz(job, band));
            before = ", ";
        }
    fprintf(stream, "%s\n", n_alike < n_bands ? " MHz" : "");
}

static void print_flagged(const struct fx8_run_request *request,
                          const struct fx8_run_report *report, FILE *stream)
{
    const struct fx8_job *job = request->job;
    const size_t n_inputs = job->n_inputs / job->plan.n_bands;
    for (size_t input = 0; input < n_inputs; input++)
        for (uint8_t state = 1; state <= 2; state++)
            print_dead(job, report->dead + input, n_inputs, input, state,
                       stream);
    for (size_t antenna = 0; antenna < job->plan.n_antennas; antenna++) {
        const struct fx8_antenna *a = &job->observation.antennas[antenna];
        if (job->flag_antenna[antenna])
            fprintf(stream, "flagged    antenna %lld (%s): configured\n",
                    (long long)a->number, a->name);
    }
    if (job->flag_channel != NULL)
        fprintf(stream, "flagged    %zu of %zu %s: configured\n",
                job->n_flagged_channels,
                FX8_COUNTED(job->axes.n_fine, "channel", "channels"));
    if (report->n_zero_level > 0)
        fprintf(stream, "flagged    %zu %s without power (gain 1)\n",
                FX8_COUNTED(report->n_zero_level, "input x channel",
                            "inputs x channels"));
}

/* Not getrusage(): its figure includes the process image before exec(). */
double fx8_summary_peak_mib(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    if (status == NULL)
        return 0.0;
    char line[128];
    double kib = 0.0;
    while (fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "VmHWM: %lf kB", &kib) == 1)
            break;
    fclose(status);
    return kib / 1024.0;
}

static void print_result(const char *path, FILE *stream)
{
    fprintf(stream, "result     ");
    fx8_text_print(path, stream);
}

static void print_samples(const struct fx8_run_output *output,
                          const struct fx8_run_report *report, FILE *stream)
{
    fprintf(stream, "samples    %.4g %% of spectra missing",
            100.0 * (1.0 - report->valid_fraction));
    if (output->paths[FX8_RESULT_INT8] != NULL)
        fprintf(stream, ", %.3g %% clipped by the quantiser",
                100.0 * report->clipped_fraction);
    fprintf(stream, "\n");
    if (report->statistics.n_sk_judged > 0)
        fprintf(stream,
                "flagged    %lld of %lld inputs x channels x dumps: spectral "
                "kurtosis\n",
                (long long)report->statistics.n_sk_flagged,
                (long long)report->statistics.n_sk_judged);
}

static void print_results(const struct fx8_run_output *output,
                          const struct fx8_run_report *report, FILE *stream)
{
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        if (output->paths[kind] != NULL) {
            print_result(output->paths[kind], stream);
            fprintf(stream, " (%lld %s, %s",
                    FX8_COUNTED((long long)report->n_dumps, "dump", "dumps"),
                    fx8_result_names[kind].keyword);
            if (report->n_earlier > 0)
                fprintf(stream, "; %lld finished before",
                        (long long)report->n_earlier);
            fprintf(stream, ")\n");
        }
    if (output->path_quicklook != NULL) {
        print_result(output->path_quicklook, stream);
        fprintf(stream, " (quick-look)\n");
    }
}

void fx8_summary_print(const struct fx8_run_request *request,
                       const struct fx8_run_report *reports, FILE *stream)
{
    const size_t n = request->job->n_centers;
    print_kernels(request, reports, stream);
    print_scaling(request, reports, stream);
    print_times(request, reports, stream);
    print_ranks(reports, stream);
    for (size_t c = 0; c < n; c++) {
        if (n > 1)
            fprintf(stream, "centre     %s\n",
                    request->job->centers[c].place.name);
        print_samples(&request->outputs[c], &reports[c], stream);
        if (request->outputs[c].path_quicklook != NULL)
            fx8_quicklook_print(&reports[c].quicklook, stream);
    }
    print_flagged(request, reports, stream);
    const double peak_mib = fx8_summary_peak_mib();
    if (peak_mib > 0)
        fprintf(stream, "memory     %.1f MiB at most\n", peak_mib);
    for (size_t c = 0; c < n; c++)
        print_results(&request->outputs[c], &reports[c], stream);
}
