/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * correlate.c -- `fx8 correlate`: from a recording to visibilities.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "config/shape.h"
#include "correlator/commands/command.h"
#include "correlator/commands/outputs.h"
#include "correlator/compare/compare.h"
#include "correlator/job.h"
#include "correlator/pipeline.h"
#include "correlator/progress.h"
#include "correlator/summary.h"
#include "io/reader.h"

static int run(int argc, char **argv);

const struct fx8_command fx8_command_correlate = {
    .name = "correlate",
    .synopsis = "CONFIG.ini [INPUT...] [-o OUT.uvh5] [options]",
    .summary = "correlate a recording into UVH5 visibilities",
    .help =
        "  INPUT                   recording; default: [input] files\n"
        "  -o, --output OUT.uvh5   result; default: [output] file\n"
        "  --set section.key=value override a key; may be given many times\n"
        "  --precision int8|fp32|both|interval\n"
        "                          both: OUT.int8.uvh5 and OUT.fp32.uvh5 from\n"
        "                          one channelisation, then their comparison;\n"
        "                          interval: OUT.down.uvh5 and OUT.up.uvh5, "
        "which\n"
        "                          enclose what exact sums of the same "
        "spectra\n"
        "                          would give: fx8 compare --rigorous\n"
        "  --backend auto|cpu|cuda where to compute\n"
        "  --fft-plan estimate|measure\n"
        "                          measure: time FFT algorithms first; "
        "results\n"
        "                          may then differ in the last bits from run\n"
        "                          to run\n"
        "  --force                 replace an existing result\n"
        "  --quiet                 no progress and no summary\n"
        "\n"
        "Keys of CONFIG.ini: fx8 config --keys.  It and the tables it names "
        "are\n"
        "regular files, no pipes.  Progress goes to stderr, the summary to "
        "stdout.\n"
        "SIGINT, SIGTERM and SIGHUP finish the dump in progress and leave a "
        "valid\n"
        "file; a second one stops at once.\n"
        "\n"
        "A quick-look (coherences, phases, spectra in dB) is written beside "
        "the\n"
        "result with --set postprocess.quicklook=LOOK.h5; fx8 info tells of "
        "one.\n",
    .run = run,
};

struct arguments {
    const char *config;
    char **inputs; /* [n_inputs], within argv */
    size_t n_inputs;
    const char *output;
    bool force, quiet, measure, help;
    const char **overrides; /* [n_overrides], room for 2 argc of them */
    size_t n_overrides;
    char *owned[2]; /* overrides made of --precision and --backend */
};

enum {
    OPT_SET = 256,
    OPT_PRECISION,
    OPT_BACKEND,
    OPT_FFT,
    OPT_FORCE,
    OPT_QUIET
};

/* --precision X is --set correlator.precision=X, and so on.  Returns an exit
 * code. */
static int add_override(struct arguments *arguments, size_t slot,
                        const char *key, const char *value)
{
    char *text = NULL;
    struct fx8_error error;
    if (asprintf(&text, "%s=%s", key, value) < 0) {
        fx8_fail(&error, FX8_ERR_SYSTEM,
                 "memory for arguments: expected to be available");
        return fx8_command_error(&error);
    }
    free(arguments->owned[slot]);
    arguments->owned[slot] = text;
    return 0;
}

static int parse_option(int option, char **argv, struct arguments *arguments)
{
    const struct fx8_command *command = &fx8_command_correlate;
    switch (option) {
    case 'o':
        arguments->output = optarg;
        return 0;
    case 'h':
        arguments->help = true;
        return 0;
    case OPT_SET:
        arguments->overrides[arguments->n_overrides++] = optarg;
        return 0;
    case OPT_PRECISION:
        return add_override(arguments, 0, "correlator.precision", optarg);
    case OPT_BACKEND:
        return add_override(arguments, 1, "correlator.backend", optarg);
    case OPT_FFT:
        arguments->measure = strcmp(optarg, "measure") == 0;
        if (!arguments->measure && strcmp(optarg, "estimate") != 0)
            return fx8_command_misuse(command,
                                      "--fft-plan: %s: expected estimate or "
                                      "measure",
                                      optarg);
        return 0;
    case OPT_FORCE:
        arguments->force = true;
        return 0;
    case OPT_QUIET:
        arguments->quiet = true;
        return 0;
    default:
        return fx8_command_bad_option(command, option, argv);
    }
}

/* Exit code of a wrong use, or 0. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"set", required_argument, NULL, OPT_SET},
        {"precision", required_argument, NULL, OPT_PRECISION},
        {"backend", required_argument, NULL, OPT_BACKEND},
        {"fft-plan", required_argument, NULL, OPT_FFT},
        {"force", no_argument, NULL, OPT_FORCE},
        {"quiet", no_argument, NULL, OPT_QUIET},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    for (int option;
         (option = getopt_long(argc, argv, ":ho:", options, NULL)) != -1;) {
        const int code = parse_option(option, argv, arguments);
        if (code != 0)
            return code;
    }
    if (arguments->help)
        return 0;
    if (optind >= argc)
        return fx8_command_misuse(&fx8_command_correlate,
                                  "expected CONFIG.ini");
    arguments->config = argv[optind];
    arguments->inputs = argv + optind + 1;
    arguments->n_inputs = (size_t)(argc - optind - 1);
    for (size_t i = 0; i < 2; i++)
        if (arguments->owned[i] != NULL)
            arguments->overrides[arguments->n_overrides++] =
                arguments->owned[i];
    return 0;
}

/* --- names ------------------------------------------------------- */

/* OUT.uvh5 with a word before the suffix: OUT.int8.uvh5. */
static char *name_with(const char *path, const char *word)
{
    static const char suffix[] = ".uvh5";
    const size_t length = strlen(path), tail = strlen(suffix);
    const bool has_suffix =
        length > tail && strcmp(path + length - tail, suffix) == 0;
    char *name = NULL;
    if (asprintf(&name, "%.*s.%s%s", (int)(has_suffix ? length - tail : length),
                 path, word, suffix) < 0)
        return NULL;
    return name;
}

/* Samples per read: a test may ask for odd blocks, results must not change. */
static enum fx8_status block_samples(int64_t *samples, struct fx8_error *error)
{
    const char *text = getenv("FX8_BLOCK_SAMPLES");
    *samples = 0;
    if (text == NULL)
        return FX8_OK;
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "environment: FX8_BLOCK_SAMPLES: %s: expected a whole "
                        "number of samples from 1",
                        text);
    *samples = value;
    return FX8_OK;
}

/* --- the run ----------------------------------------------------- */

/* Everything that a run owns, released in one place. */
struct work {
    struct fx8_settings settings;
    struct fx8_text_list files;
    struct fx8_reader *reader;
    struct fx8_job job;
    char *command, *input, *input_brief;
    char *paths[FX8_N_RESULTS]; /* of what is written, or NULL */
    struct fx8_run_report report;
};

static void clear_work(struct work *work)
{
    fx8_reader_close(&work->reader);
    fx8_job_clear(&work->job);
    fx8_text_list_clear(&work->files);
    fx8_settings_clear(&work->settings);
    free(work->command);
    free(work->input);
    free(work->input_brief);
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        free(work->paths[kind]);
    free(work->report.dead);
}

static enum fx8_status out_of_memory(struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_SYSTEM,
                    "memory for names: expected to be available");
}

static enum fx8_status find_files(const struct arguments *arguments,
                                  struct work *work, char *const **files,
                                  size_t *n, struct fx8_error *error)
{
    if (arguments->n_inputs > 0) {
        *files = arguments->inputs;
        *n = arguments->n_inputs;
        return FX8_OK;
    }
    const enum fx8_status status =
        fx8_settings_files(&work->settings, &work->files, error);
    if (status != FX8_OK)
        return status;
    *files = work->files.items;
    *n = work->files.count;
    if (*n == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: input.files: (not given): expected a recording "
                        "here or on the command line",
                        arguments->config);
    return FX8_OK;
}

static enum fx8_status name_outputs(const struct arguments *arguments,
                                    struct work *work, struct fx8_error *error)
{
    const char *path = arguments->output != NULL ? arguments->output
                                                 : work->settings.output.file;
    if (path == NULL || path[0] == '\0')
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: output.file: (not given): expected a result here "
                        "or with -o",
                        arguments->config);
    const enum fx8_precision precision = work->settings.correlator.precision;
    size_t n_planned = 0;
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        n_planned += fx8_result_is_planned(precision, kind);
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++) {
        if (!fx8_result_is_planned(precision, kind))
            continue;
        work->paths[kind] = n_planned > 1
                                ? name_with(path, fx8_result_names[kind].word)
                                : strdup(path);
        if (work->paths[kind] == NULL)
            return out_of_memory(error);
    }
    return FX8_OK;
}

/* The quick-look's path, or NULL. */
static const char *quicklook_path(const struct work *work)
{
    const char *path = work->settings.postprocess.quicklook;
    return path[0] == '\0' ? NULL : path;
}

/* The first of the inputs, and how many there are besides; the caller frees. */
static char *name_inputs(char *const *files, size_t n)
{
    char more[64] = "";
    if (n > 1)
        snprintf(more, sizeof more, "and %zu more", n - 1);
    char *const words[] = {files[0], more};
    return fx8_command_join("", words, n > 1 ? 2 : 1);
}

/* No result takes the place of an input or of another result. */
static enum fx8_status check_outputs(const struct arguments *arguments,
                                     const struct work *work,
                                     char *const *files, size_t n_files,
                                     struct fx8_error *error)
{
    const char *outputs[FX8_N_RESULTS + 1];
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        outputs[kind] = work->paths[kind];
    outputs[FX8_N_RESULTS] = quicklook_path(work);
    const enum fx8_status status =
        fx8_outputs_spare_inputs(outputs, FX8_N_RESULTS + 1, files, n_files,
                                 arguments->config, &work->settings, error);
    return status == FX8_OK
               ? fx8_outputs_differ(outputs, FX8_N_RESULTS + 1, error)
               : status;
}

static enum fx8_status prepare(const struct arguments *arguments, int argc,
                               char **argv, struct work *work,
                               struct fx8_error *error)
{
    enum fx8_status status =
        fx8_settings_load(arguments->config, arguments->overrides,
                          arguments->n_overrides, true, &work->settings, error);
    if (status != FX8_OK)
        return status;
    char *const *files;
    size_t n_files;
    if ((status = name_outputs(arguments, work, error)) != FX8_OK ||
        (status = find_files(arguments, work, &files, &n_files, error)) !=
            FX8_OK ||
        (status = check_outputs(arguments, work, files, n_files, error)) !=
            FX8_OK)
        return status;
    work->command = fx8_command_join("fx8", argv, (size_t)argc);
    work->input = fx8_command_join("", files, n_files);
    work->input_brief = name_inputs(files, n_files);
    if (work->command == NULL || work->input == NULL ||
        work->input_brief == NULL)
        return out_of_memory(error);
    status = fx8_reader_open((const char *const *)files, n_files,
                             &work->settings, &work->reader, error);
    if (status != FX8_OK)
        return status;
    return fx8_job_resolve(&work->settings, &work->reader->observation,
                           work->reader->path, &work->job, error);
}

/* INT8 beside FP32: the short form of `fx8 compare`. */
static enum fx8_status compare(const struct work *work, bool quiet,
                               struct fx8_error *error)
{
    struct fx8_comparison comparison;
    const enum fx8_status status =
        fx8_compare_files(work->paths[FX8_RESULT_INT8],
                          work->paths[FX8_RESULT_FP32], &comparison, error);
    if (status != FX8_OK)
        return status;
    if (!quiet)
        fx8_compare_print(&comparison, true, stdout);
    fx8_compare_clear(&comparison);
    return FX8_OK;
}

static int correlate(const struct arguments *arguments, int argc, char **argv)
{
    struct work work = {0};
    struct fx8_error error;
    struct fx8_progress_display display;
    struct fx8_run_request request = {
        .job = &work.job,
        .settings = &work.settings,
        .force = arguments->force,
        .is_fft_measured = arguments->measure,
        .interrupted = fx8_command_interrupted,
    };
    enum fx8_status status = block_samples(&request.block_samples, &error);
    if (status != FX8_OK ||
        (status = prepare(arguments, argc, argv, &work, &error)) != FX8_OK)
        goto done;
    for (size_t i = 0; i < work.job.n_warnings; i++)
        fx8_command_warning(work.job.warnings[i]);
    request.reader = work.reader;
    for (enum fx8_result_kind kind = 0; kind < FX8_N_RESULTS; kind++)
        request.paths[kind] = work.paths[kind];
    request.path_quicklook = quicklook_path(&work);
    request.command = work.command;
    request.input = work.input;
    request.input_brief = work.input_brief;
    fx8_progress_start(&display, stderr);
    if (!arguments->quiet) {
        request.progress = fx8_progress_show;
        request.progress_context = &display;
    }
    status = fx8_pipeline_run(&request, &work.report, &error);
    fx8_progress_end(&display);
    if (status != FX8_OK)
        goto done;
    if (!arguments->quiet)
        fx8_summary_print(&request, &work.report, stdout);
    if (work.paths[FX8_RESULT_INT8] != NULL &&
        work.paths[FX8_RESULT_FP32] != NULL)
        status = compare(&work, arguments->quiet, &error);
    if (status == FX8_OK && work.report.was_interrupted)
        status = fx8_fail(&error, FX8_ERR_CANCELLED,
                          "interrupted after %lld of %lld dumps: the result "
                          "holds these",
                          (long long)work.report.n_dumps,
                          (long long)work.job.n_dumps);
done:
    clear_work(&work);
    return status == FX8_OK ? 0 : fx8_command_error(&error);
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct fx8_error error;
    void *overrides;
    if (fx8_allocate((size_t)argc + 2, sizeof *arguments.overrides, "arguments",
                     &overrides, &error) != FX8_OK)
        return fx8_command_error(&error);
    arguments.overrides = overrides;
    int code = parse(argc, argv, &arguments);
    if (code == 0)
        code = arguments.help ? fx8_command_help(&fx8_command_correlate)
                              : correlate(&arguments, argc, argv);
    free(arguments.owned[0]);
    free(arguments.owned[1]);
    free(overrides);
    return code;
}
