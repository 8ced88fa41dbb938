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

/* Most bands named one by one; of more, only the last. */
#define NAMED_BANDS 6

/* Losses of coherence above this come with advice. */
#define NOTED_LOSS 0.01

static double band_mhz(const struct fx8_plan *plan, size_t band)
{
    const double offset_hz =
        plan->band_offset_hz == NULL ? 0.0 : plan->band_offset_hz[band];
    return (plan->dc_frequency_hz + offset_hz) * 1e-6;
}

static void print_bands(const struct fx8_plan *plan, FILE *stream)
{
    const size_t n = plan->n_bands;
    fprintf(stream, "           %zu bands at %.10g", n, band_mhz(plan, 0));
    for (size_t band = 1; band < n && n <= NAMED_BANDS; band++)
        fprintf(stream, ", %.10g", band_mhz(plan, band));
    if (n > NAMED_BANDS)
        fprintf(stream, " to %.10g", band_mhz(plan, n - 1));
    fprintf(stream, " MHz\n");
}

static void print_input(const struct fx8_run_request *request, FILE *stream)
{
    const struct fx8_job *job = request->job;
    const struct fx8_plan *plan = &job->plan;
    const double rate_hz = fx8_rate_hz(plan->sample_rate);
    fprintf(stream, "input      ");
    fx8_text_print(request->input_brief, stream);
    fprintf(stream,
            "\n           %zu %s x %zu %s, %s samples at "
            "%.9g MS/s, %.6g s of %.6g s\n",
            FX8_COUNTED(plan->n_antennas, "antenna", "antennas"),
            FX8_COUNTED(plan->n_polarizations, "polarisation", "polarisations"),
            plan->is_complex ? "complex" : "real", rate_hz * 1e-6,
            (double)job->n_samples / rate_hz,
            (double)job->observation.n_samples / rate_hz);
    if (plan->n_bands > 1)
        print_bands(plan, stream);
}

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

static void print_plan(const struct fx8_run_request *request,
                       const struct fx8_run_report *report, FILE *stream)
{
    static const char *const methods[] = {
        [FX8_METHOD_PFB] = "pfb",
        [FX8_METHOD_FFT] = "fft",
        [FX8_METHOD_NONE] = "none",
    };
    const struct fx8_job *job = request->job;
    const struct fx8_plan *plan = &job->plan;
    const double rate_hz = fx8_rate_hz(plan->sample_rate);
    const double step = (double)job->axes.step;
    char kept[64] = "";
    if (plan->channelizer.n_kept != 0)
        snprintf(kept, sizeof kept, ", %zu of them kept",
                 plan->channelizer.n_kept);
    fprintf(
        stream,
        "plan       %s, %zu %s of %.6g kHz%s%s, %lld %s of %.6g s "
        "(%lld %s%s)\n",
        methods[plan->channelizer.method],
        FX8_COUNTED(plan->channelizer.n_channels, "channel", "channels"),
        rate_hz * 1e-3 /
            (double)(plan->is_complex ? plan->channelizer.n_channels
                                      : 2 * plan->channelizer.n_channels),
        plan->n_bands > 1 ? " in each band" : "", kept,
        FX8_COUNTED((long long)job->n_dumps, "dump", "dumps"),
        (double)plan->spectra_per_dump * step / rate_hz,
        FX8_COUNTED((long long)plan->spectra_per_dump, "spectrum", "spectra"),
        FX8_NOUN(job->n_dumps, "", " each"));
    const int64_t in_last = fx8_dump_spectra(plan, job->n_dumps - 1);
    if (in_last < plan->spectra_per_dump)
        fprintf(stream, "           the last one of %.6g s (%lld %s)\n",
                (double)in_last * step / rate_hz,
                FX8_COUNTED((long long)in_last, "spectrum", "spectra"));
    if (job->dropped_samples > 0)
        fprintf(stream,
                "           %.6g s at the end fill no dump and are left out\n",
                (double)job->dropped_samples / rate_hz);
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
        return; /* the run would have failed */
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
        sum.write_s += reports[c].write_s;
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
    char quicklook[32] = "", spot[32] = "";
    if (request->outputs[0].path_quicklook != NULL)
        snprintf(quicklook, sizeof quicklook, ", quick-look %.3f",
                 s->quicklook_s);
    if (s->spot_s > 0.0)
        snprintf(spot, sizeof spot, ", spot check %.3f", s->spot_s);
    fprintf(stream,
            "time       %.3f s: level %.3f, align %.3f, channelise %.3f, "
            "correlate %.3f, post-process %.3f%s%s;\n"
            "           beside it read %.3f, write %.3f\n",
            report->total_s, s->gains_s, s->align_s, s->channelize_s,
            s->correlate_s, s->postprocess_s, quicklook, spot, report->read_s,
            report->write_s);
    fprintf(stream,
            "           %.1f Msamples/s over all inputs, %.3g x real time\n",
            samples * (double)job->n_inputs / report->total_s * 1e-6,
            samples / fx8_rate_hz(job->plan.sample_rate) / report->total_s);
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
            fprintf(stream, "%s%.10g", before, band_mhz(&job->plan, band));
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
}

static void print_results(const struct fx8_run_output *output,
                          const struct fx8_run_report *report, FILE *stream)
{
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        if (output->paths[kind] != NULL) {
            print_result(output->paths[kind], stream);
            fprintf(stream, " (%lld %s, %s)\n",
                    FX8_COUNTED((long long)report->n_dumps, "dump", "dumps"),
                    fx8_result_names[kind].keyword);
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
    print_input(request, stream);
    print_plan(request, reports, stream);
    print_sky(request->job, stream);
    print_scaling(request, reports, stream);
    print_times(request, reports, stream);
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
