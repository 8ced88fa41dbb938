/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate.c -- `fx8 correlate`: from a recording to visibilities.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/line.h"
#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "config/settings.h"
#include "correlator/commands/command.h"
#include "correlator/compare/live.h"
#include "correlator/ranks/ranks.h"
#include "correlator/run/alike.h"
#include "correlator/run/averages.h"
#include "correlator/run/forecast.h"
#include "correlator/run/gaps.h"
#include "correlator/run/job.h"
#include "correlator/run/pipeline.h"
#include "correlator/run/progress.h"
#include "correlator/run/resume.h"
#include "correlator/run/share.h"
#include "correlator/run/summary.h"
#include "io/reader.h"

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error);

enum {
    INPUT,
    OUTPUT,
    SET,
    PRECISION,
    BACKEND,
    FFT_PLAN,
    MPI,
    DRY_RUN,
    RESUME,
    FORCE,
    QUIET
};

static const struct fx8_option options[] = {
    [INPUT] = {.argument = "INPUT",
               .help = "recording; default: [input] files"},
    [OUTPUT] = {.name = "output",
                .letter = 'o',
                .argument = "OUT.uvh5",
                .is_once = true,
                .help = "result; default: [output] file"},
    [SET] = FX8_OPTION_SET("override a key; may be given many times"),
    [PRECISION] = {.name = "precision",
                   .argument = "int8|fp32|both|interval",
                   .key = "correlator.precision",
                   .help =
                       "both: OUT.int8.uvh5 and OUT.fp32.uvh5 from the same "
                       "spectra, then a comparison; interval: "
                       "OUT.down.uvh5 and OUT.up.uvh5, which enclose the "
                       "exact sums, for fx8 compare --rigorous"},
    [BACKEND] = {.name = "backend",
                 .argument = "auto|cpu|cuda",
                 .key = "correlator.backend",
                 .help = "where to compute"},
    [FFT_PLAN] = {.name = "fft-plan",
                  .argument = "auto|lanes|estimate|measure",
                  .help = "transform on the CPU; lanes: our own, for channels "
                          "without prime factors above 5; estimate, measure: "
                          "FFTW's best guess, or what it finds fastest: last "
                          "bits may then differ from run to run, and --resume "
                          "may be refused; auto: lanes, else estimate"},
    [MPI] = {.name = "mpi",
             .help = "divide the dumps among the processes that mpirun or srun "
                     "has started"},
    [DRY_RUN] = {.name = "dry-run",
                 .help = "say what would be done, and how long it would take "
                         "as its first second shows; write nothing"},
    [RESUME] = {.name = "resume",
                .help = "compute the dumps that the same command has not "
                        "finished before, if there are any; may be given from "
                        "the start"},
    [FORCE] = {.name = "force", .help = "replace an existing result"},
    [QUIET] = FX8_OPTION_QUIET("no progress and no summary"),
};

const struct fx8_command fx8_command_correlate = {
    .name = "correlate",
    .synopsis = "CONFIG.ini [INPUT...] [-o OUT.uvh5] [options]",
    .summary = "correlate a recording into UVH5 visibilities",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "fx8 config --keys lists the keys of CONFIG.ini.  It and the tables\n"
        "it names must be regular files, not pipes.  Progress goes to stderr,\n"
        "the summary to stdout.  SIGINT, SIGTERM and SIGHUP finish the dump\n"
        "in progress and leave a valid file; a second one stops at once.\n"
        "SIGUSR1 finishes it too, leaves OUT.uvh5.part and exits with 75:\n"
        "--resume goes on with it, and with what a kill or a full disk has\n"
        "left.  With [output] time_average_loss it keeps whole blocks of up\n"
        "to 64 dumps; a pause before the first one leaves no file.\n"
        "\n"
        "The comparison that ends --precision both is for the reader: with\n"
        "results the exit code is 0, whatever it finds.  fx8 compare exits\n"
        "with 3 if they differ too much.\n"
        "\n"
        "--set postprocess.quicklook=LOOK.h5 also writes a quick-look\n"
        "(coherences, phases, spectra in dB); fx8 info describes it.\n"
        "\n"
        "With several phase centres ([delay] phase_centers), each gets a\n"
        "result of its own: OUT.NAME.uvh5.\n"
        "\n"
        "With --mpi, as in mpirun -n 4 fx8 correlate ... --mpi, each process\n"
        "computes a range of dumps, and the result is that of one process:\n"
        "config/CLUSTER.md.\n",
    .run = run,
};

/* --- names ------------------------------------------------------- */

/* Samples per read: tests set odd sizes; results must not change. */
static enum fx8_status block_samples(int64_t *samples, struct fx8_error *error)
{
    const char *text = getenv("FX8_BLOCK_SAMPLES");
    *samples = 0;
    if (text == NULL)
        return FX8_OK;
    if (!fx8_number_integer(text, samples) || *samples < 1)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "environment: FX8_BLOCK_SAMPLES: %s: expected a whole "
                        "number of samples from 1",
                        text);
    return FX8_OK;
}

/* --- the run ----------------------------------------------------- */

/* Share of the samples: a warning names gaps that together exceed it. */
#define NOTED_GAPS 0.5

/* Everything that a run owns, released in one place. */
struct work {
    struct fx8_ranks ranks;
    struct fx8_settings settings;
    struct fx8_text_list files;
    struct fx8_reader *reader;
    struct fx8_job job;
    char *input, *input_brief;
    struct fx8_text_list names;     /* of all outputs */
    struct fx8_run_output *outputs; /* [job.n_centers] */
    struct fx8_run_report *reports; /* [job.n_centers] */
    struct fx8_compare_live **live; /* [job.n_centers] of --precision both */
};

static void clear_work(struct work *work)
{
    for (size_t c = 0; c < work->job.n_centers && work->reports != NULL; c++)
        free(work->reports[c].dead);
    for (size_t c = 0; c < work->job.n_centers && work->live != NULL; c++)
        fx8_compare_live_close(&work->live[c]);
    free(work->live);
    if (work->reports != NULL)
        free(work->reports[0].ranks);
    free(work->reports);
    free(work->outputs);
    fx8_reader_close(&work->reader);
    fx8_job_clear(&work->job);
    fx8_text_list_clear(&work->names);
    fx8_text_list_clear(&work->files);
    fx8_settings_clear(&work->settings);
    free(work->input);
    free(work->input_brief);
}

static enum fx8_status check_order(const struct fx8_command_line *line,
                                   struct fx8_error *error)
{
    if (line->n_files == 0)
        return fx8_command_misuse(line, error, "no CONFIG.ini");
    if (fx8_reader_format_name(line->files[0]) == NULL)
        return FX8_OK;
    return fx8_command_misuse(line, error,
                              "%s: is a recording: expected CONFIG.ini first, "
                              "as in fx8 correlate CONFIG.ini %s",
                              line->files[0], line->files[0]);
}

static enum fx8_status find_files(const struct fx8_command_line *line,
                                  struct work *work, char *const **files,
                                  size_t *n, struct fx8_error *error)
{
    if (line->n_files > 1) {
        *files = line->files + 1;
        *n = line->n_files - 1;
        return FX8_OK;
    }
    FX8_TRY(fx8_settings_files(&work->settings, &work->files, error));
    *files = work->files.items;
    *n = work->files.count;
    if (*n == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: input.files: not given, and no INPUT on the "
                        "command line",
                        line->files[0]);
    return FX8_OK;
}

/* -o, or [output] file. */
static enum fx8_status find_output(const struct fx8_command_line *line,
                                   const struct work *work, const char **path,
                                   struct fx8_error *error)
{
    *path = line->given[OUTPUT] != NULL ? line->given[OUTPUT]
                                        : work->settings.output.file;
    if (*path == NULL || (*path)[0] == '\0')
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: output.file: not given, and no -o on the command "
                        "line",
                        line->files[0]);
    if ((*path)[strlen(*path) - 1] == '/')
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: is a folder: expected the name of a file", *path);
    return FX8_OK;
}

/* Add a name to the list that owns all. */
static enum fx8_status add_name(struct work *work, const char *path,
                                const char *suffix, const char *center,
                                const char *word, const char **name,
                                struct fx8_error *error)
{
    const char *const words[2] = {center, word};
    FX8_TRY(fx8_text_list_add(
        &work->names, fx8_command_name_with(path, suffix, words), error));
    *name = work->names.items[work->names.count - 1];
    return FX8_OK;
}

/* OUT.uvh5, with the names of several phase centres and kinds of result. */
static enum fx8_status name_outputs(struct work *work, const char *path,
                                    struct fx8_error *error)
{
    const struct fx8_settings *settings = &work->settings;
    const enum fx8_precision precision = settings->correlator.precision;
    const bool has_list = settings->delay.phase_centers[0] != '\0';
    size_t n_planned = 0;
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        n_planned += precision >> kind & 1;
    const struct fx8_array arrays[] = {
        FX8_ITEMS(work->outputs, work->job.n_centers),
        FX8_ITEMS(work->reports, work->job.n_centers),
        FX8_ITEMS(work->live, work->job.n_centers),
    };
    FX8_TRY(fx8_allocate_arrays(arrays, 3, "names", error));
    for (size_t c = 0; c < work->job.n_centers; c++) {
        struct fx8_run_output *output = &work->outputs[c];
        const char *center = has_list ? work->job.centers[c].place.name : "";
        for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
            if ((precision >> kind & 1) != 0)
                FX8_TRY(
                    add_name(work, path, ".uvh5", center,
                             n_planned > 1 ? fx8_result_names[kind].word : "",
                             &output->paths[kind], error));
        if (settings->postprocess.quicklook[0] != '\0')
            FX8_TRY(add_name(work, settings->postprocess.quicklook, ".h5",
                             center, "", &output->path_quicklook, error));
    }
    return FX8_OK;
}

static void warn_of_names(const struct work *work)
{
    for (size_t c = 0; c < work->job.n_centers; c++) {
        const struct fx8_run_output *output = &work->outputs[c];
        for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
            if (output->paths[kind] != NULL)
                fx8_command_warn_of_name(output->paths[kind], "UVH5", true);
        if (output->path_quicklook != NULL)
            fx8_command_warn_of_name(output->path_quicklook, "HDF5", false);
    }
}

/* Gaps that are known before anything is read; those that markers show are in
 * the samples. */
static enum fx8_status warn_of_gaps(const struct work *work,
                                    struct fx8_error *error)
{
    const struct fx8_job *job = &work->job;
    const double rate_hz = fx8_rate_hz(job->plan.sample_rate);
    struct fx8_gap_count whole, single;
    FX8_AUTO_FREE int64_t *missing = NULL;
    FX8_TRY(fx8_allocate(fx8_observation_inputs(&work->reader->observation),
                         sizeof *missing, "gaps", &missing, error));
    FX8_TRY(fx8_gaps_count(work->reader, job->plan.first_sample, job->n_samples,
                           &whole, &single, missing, error));
    if ((double)whole.n_samples > NOTED_GAPS * (double)job->n_samples)
        fx8_command_warning(
            "%s: %.4g %% of the %.6g s to process are missing: a gap of %.6g s "
            "begins %.6g s after the start of the recording",
            work->input_brief,
            100.0 * (double)whole.n_samples / (double)job->n_samples,
            (double)job->n_samples / rate_hz,
            (double)whole.longest_samples / rate_hz,
            (double)whole.longest_first / rate_hz);
    return FX8_OK;
}

static enum fx8_status prepare(const struct fx8_command_line *line,
                               struct work *work, struct fx8_error *error)
{
    char *const *files;
    const char *path;
    size_t n_files;
    FX8_TRY(find_output(line, work, &path, error));
    FX8_TRY(find_files(line, work, &files, &n_files, error));
    work->input = fx8_command_join_texts("", files, n_files);
    work->input_brief = fx8_command_name_inputs(files, n_files);
    if (work->input == NULL || work->input_brief == NULL)
        return fx8_no_memory("names", error);
    FX8_TRY(fx8_reader_open((const char *const *)files, n_files,
                            &work->settings, &work->reader, error));
    FX8_TRY(fx8_job_resolve(&work->settings, &work->reader->observation,
                            work->reader->path, &work->job, error));
    FX8_TRY(name_outputs(work, path, error));
    return fx8_command_check_names(&work->names, error);
}

/* --precision both: let the results be compared while they are written. */
static enum fx8_status compare_live(struct work *work, struct fx8_error *error)
{
    for (size_t c = 0; c < work->job.n_centers; c++) {
        struct fx8_run_output *output = &work->outputs[c];
        const char *const *paths = output->paths;
        if (paths[FX8_RESULT_INT8] == NULL || paths[FX8_RESULT_FP32] == NULL)
            continue;
        FX8_TRY(fx8_compare_live_open(
            &work->job.centers[c], paths[FX8_RESULT_INT8],
            paths[FX8_RESULT_FP32], &work->live[c], error));
        output->consumer = fx8_compare_live_consumer(work->live[c]);
    }
    return FX8_OK;
}

/* INT8 against FP32 of a phase centre: the short form of `fx8 compare`. */
static enum fx8_status compare(const struct work *work, size_t center,
                               bool quiet, struct fx8_error *error)
{
    FX8_AUTO(fx8_compare_clear) struct fx8_comparison of_files = {0};
    const char *const *paths = work->outputs[center].paths;
    if (paths[FX8_RESULT_INT8] == NULL || paths[FX8_RESULT_FP32] == NULL)
        return FX8_OK;
    /* the results are complete: nothing to finish */
    fx8_command_stop_at_once(NULL);
    /* ranks finish dumps in no order */
    const struct fx8_comparison *comparison =
        work->live[center] == NULL
            ? NULL
            : fx8_compare_live_finish(work->live[center],
                                      work->reports[center].n_dumps);
    if (comparison == NULL) {
        FX8_AUTO(fx8_progress_end) struct fx8_progress_display progress;
        fx8_progress_start(&progress, "compare", NULL, quiet ? NULL : stderr);
        FX8_TRY(fx8_compare_files(paths[FX8_RESULT_INT8],
                                  paths[FX8_RESULT_FP32], &progress, &of_files,
                                  error));
        comparison = &of_files;
    }
    if (!quiet)
        fx8_compare_print(comparison, true, stdout);
    return FX8_OK;
}

/* Word of --fft-plan, known to be one of these; NULL: not given. */
static enum fx8_transform find_transform(const char *word)
{
    static const char *const words[] = {
        [FX8_TRANSFORM_AUTO] = "auto",
        [FX8_TRANSFORM_LANES] = "lanes",
        [FX8_TRANSFORM_ESTIMATE] = "estimate",
        [FX8_TRANSFORM_MEASURE] = "measure",
    };
    int found = FX8_TRANSFORM_AUTO;
    for (int k = 0; word != NULL && k <= FX8_TRANSFORM_MEASURE; k++)
        if (strcmp(word, words[k]) == 0)
            found = k;
    return (enum fx8_transform)found;
}

static void warn(void *display, const char *message)
{
    fx8_progress_end(display);
    fx8_command_warning("%s", message);
}

/* fx8_run_request.ready */
static void say_what_follows(void *request, size_t memory, size_t n_slices,
                             int64_t n_earlier)
{
    fx8_forecast_print(request, memory, n_slices, n_earlier, stdout);
    fflush(stdout);
}

static enum fx8_status end_trial(const struct fx8_run_request *request,
                                 const struct fx8_run_report *reports,
                                 bool is_quiet, struct fx8_error *error)
{
    if (reports->was_interrupted)
        return fx8_fail(error, FX8_ERR_CANCELLED, "interrupted");
    if (!is_quiet)
        fx8_forecast_print_time(request, reports, stdout);
    return FX8_OK;
}

/* The comparisons that end --precision both. */
static enum fx8_status compare_all(const struct work *work, bool is_quiet,
                                   struct fx8_error *error)
{
    for (size_t c = 0; c < work->job.n_centers; c++) {
        if (work->job.n_centers > 1 && !is_quiet)
            printf("centre     %s\n", work->job.centers[c].place.name);
        FX8_TRY(compare(work, c, is_quiet, error));
    }
    return FX8_OK;
}

static void warn_of_idle_ranks(const struct work *work)
{
    const struct fx8_job *job = &work->job;
    const int n = work->ranks.n;
    int64_t block_dumps;
    if (n == 1 || fx8_averages_block_dumps(job, &block_dumps, NULL) != FX8_OK)
        return; /* or the run fails with a message */
    const int64_t n_blocks = (job->n_dumps - 1) / block_dumps + 1;
    const int64_t n_idle =
        fx8_share_idle(&job->plan, job->n_dumps, block_dumps, n);
    char of[64] = "";
    if (block_dumps > 1)
        snprintf(of, sizeof of, " of up to %lld dumps", (long long)block_dumps);
    if (n_idle > 0)
        fx8_command_warning(
            "%d ranks for %lld %s%s: %lld of them have nothing to do", n,
            FX8_COUNTED((long long)n_blocks, block_dumps > 1 ? "block" : "dump",
                        block_dumps > 1 ? "blocks" : "dumps"),
            of, (long long)n_idle);
}

/* Prepare on all ranks, and see that they have the same before them. */
static enum fx8_status prepare_ranks(const struct fx8_command_line *line,
                                     struct work *work,
                                     struct fx8_run_request *request,
                                     struct fx8_error *error)
{
    size_t n_threads;
    enum fx8_status status = block_samples(&request->block_samples, error);
    if (status == FX8_OK)
        status = prepare(line, work, error);
    if (status == FX8_OK && work->ranks.rank == 0)
        status = warn_of_gaps(work, error);
    FX8_TRY(fx8_ranks_agree(&work->ranks, status, error));
    request->reader = work->reader;
    request->outputs = work->outputs;
    request->input = work->input;
    request->input_brief = work->input_brief;
    if (work->ranks.n == 1)
        return FX8_OK;
    FX8_TRY(fx8_alike_check(request, error));
    FX8_TRY(fx8_share_threads(&work->ranks, &n_threads, error));
    if (work->job.plan.machine.threads.count == 0)
        work->job.plan.machine.threads.count = n_threads;
    work->job.plan.machine.first_device = (size_t)work->ranks.local;
    return FX8_OK;
}

static enum fx8_status run_ranks(const struct fx8_command_line *line,
                                 struct work *work, struct fx8_error *error)
{
    const bool is_first = work->ranks.rank == 0;
    const bool is_quiet = line->given[QUIET] != NULL || !is_first;
    struct fx8_progress_display display;
    struct fx8_run_request request = {
        .ranks = &work->ranks,
        .n_ranks = work->ranks.n,
        .job = &work->job,
        .force = line->given[FORCE] != NULL,
        .resume = line->given[RESUME] != NULL,
        .transform = find_transform(line->given[FFT_PLAN]),
        .interrupted = fx8_command_interrupted,
        .is_paused = fx8_command_is_paused,
        .warn = warn,
        .warn_context = &display,
        .progress = fx8_progress_show,
        .progress_context = &display,
        .ready = is_quiet ? NULL : say_what_follows,
        .ready_context = &request,
        .is_trial = line->given[DRY_RUN] != NULL,
        .command = line->text,
    };
    FX8_TRY(prepare_ranks(line, work, &request, error));
    for (size_t i = 0; i < work->job.n_warnings && is_first; i++)
        fx8_command_warning("%s", work->job.warnings[i]);
    if (is_first) {
        warn_of_names(work);
        warn_of_idle_ranks(work);
    }
    if (work->ranks.n == 1)
        FX8_TRY(compare_live(work, error));
    if (request.is_trial && !is_first)
        return FX8_OK;
    if (request.is_trial)
        request.ranks = &fx8_ranks_alone;
    fx8_progress_start(&display, "correlate", "dump", is_quiet ? NULL : stderr);
    const enum fx8_status status =
        fx8_pipeline_run(&request, work->reports, error);
    fx8_progress_end(&display);
    FX8_TRY(status);
    if (request.is_trial)
        return end_trial(&request, work->reports, is_quiet, error);
    if (work->reports[0].is_old) {
        if (!is_quiet)
            printf("result     complete since an earlier run\n");
        return FX8_OK;
    }
    if (!is_quiet)
        fx8_summary_print(&request, work->reports, stdout);
    if (work->reports[0].valid_fraction == 0.0 && is_first)
        fx8_command_warning("%s: no spectrum has all its samples: all of the "
                            "result is flagged",
                            work->input_brief);
    if (work->reports[0].was_interrupted)
        return fx8_fail(error, FX8_ERR_CANCELLED,
                        "interrupted after %" PRId64 " of %" PRId64
                        " dumps: the result holds these; --resume goes on",
                        work->reports[0].n_dumps, work->job.n_dumps);
    return is_first ? compare_all(work, is_quiet, error) : FX8_OK;
}

/* Find the other ranks; `key`: what has asked for it. */
static enum fx8_status find_ranks(struct work *work, const char *key,
                                  struct fx8_error *error)
{
    struct fx8_error why;
    const enum fx8_status status = fx8_ranks_open(&work->ranks, &why);
    return status == FX8_OK
               ? FX8_OK
               : fx8_fail(error, status, "%s: %s", key, why.message);
}

/* Settings, and then the ranks that they ask for; with --mpi the other way
 * round, so that failures are reported once. */
static enum fx8_status load(const struct fx8_command_line *line,
                            struct work *work, struct fx8_error *error)
{
    const bool is_asked = line->given[MPI] != NULL;
    if (is_asked)
        FX8_TRY(find_ranks(work, "--mpi", error));
    const enum fx8_status status =
        fx8_settings_load(line->files[0], line->settings, line->n_settings,
                          false, &work->settings, error);
    FX8_TRY(fx8_ranks_agree(&work->ranks, status, error));
    return work->settings.correlator.has_ranks && !is_asked
               ? find_ranks(work, "correlator.ranks: mpi", error)
               : FX8_OK;
}

/* Add what to do to a refusal.  The words of a launcher are not known. */
static void explain(const struct fx8_command_line *line,
                    const struct fx8_ranks *ranks, struct fx8_error *error)
{
    FX8_AUTO_FREE char *command =
        ranks->operations == fx8_ranks_alone.operations
            ? fx8_command_with(line, "--resume")
            : NULL;
    if (ranks->n == 1)
        fx8_ranks_explain(error);
    if (line->given[RESUME] == NULL)
        fx8_resume_explain(command, error);
}

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error)
{
    FX8_AUTO(clear_work) struct work work = {.ranks = fx8_ranks_alone};
    FX8_TRY(check_order(line, error));
    enum fx8_status status = load(line, &work, error);
    if (status == FX8_OK)
        status = run_ranks(line, &work, error);
    if (status == FX8_ERR_USAGE && work.ranks.rank == 0)
        explain(line, &work.ranks, error);
    bool is_paused = work.reports != NULL && work.reports[0].was_paused;
    status = fx8_ranks_settle(&work.ranks, status, &is_paused, error);
    if (is_paused && status == FX8_ERR_CANCELLED)
        fx8_command_pause();
    return status;
}
