/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.c -- `fx8 plan`: how long a run takes, on how many nodes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/base/shape.h"
#include "config/base/text.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/commands/command.h"
#include "correlator/plan/plan.h"
#include "correlator/run/forecast.h"
#include "io/output.h"
#include "io/reader.h"

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error);

enum {
    INPUT,
    SET,
    INPUTS,
    BANDS,
    REAL,
    MACHINE,
    WRITE_MACHINE,
    FORCE,
    CORES,
    NODES,
    NETWORK,
    STORAGE,
    WATTS,
    JSON,
    QUIET
};

static const struct fx8_option options[] = {
    [INPUT] = {.argument = "INPUT",
               .help = "recording; default: [input] files"},
    [SET] = FX8_OPTION_SET("override a key; may be given many times"),
    [INPUTS] = {.name = "inputs",
                .argument = "N",
                .help = "no recording: inputs, all polarisations counted; "
                        "duration and sample rate from input.duration_s and "
                        "observation.sample_rate_hz"},
    [BANDS] = {.name = "bands",
               .argument = "N",
               .help = "with --inputs: coarse bands side by side; default 1"},
    [REAL] = {.name = "real", .help = "with --inputs: real samples"},
    [MACHINE] = {.name = "machine",
                 .argument = "FILE.json",
                 .is_once = true,
                 .help = "a node: what fx8 bench --section node --json prints "
                         "there; default: this machine, measured now"},
    [WRITE_MACHINE] = {.name = "write-machine",
                       .argument = "FILE.json",
                       .is_once = true,
                       .help = "keep what was measured"},
    [FORCE] = {.name = "force", .help = "replace an existing FILE.json"},
    [CORES] = {.name = "cores",
               .argument = "N",
               .help = "CPUs of a node to use; default: all"},
    [NODES] = {.name = "nodes",
               .argument = "N",
               .help = "this many; default: a table of 1 to 1024"},
    [NETWORK] = {.name = "network-gbs",
                 .argument = "X",
                 .help = "10^9 bytes per second into a node; default 1.25"},
    [STORAGE] = {.name = "storage-gbs",
                 .argument = "X",
                 .help = "10^9 bytes per second that all nodes together read "
                         "and write; default 10"},
    [WATTS] = {.name = "watts",
               .argument = "X",
               .help = "power of a node; default: no energy is given"},
    [JSON] = {.name = "json", .help = "one JSON document"},
    [QUIET] = FX8_OPTION_QUIET("no progress"),
};

const struct fx8_command fx8_command_plan = {
    .name = "plan",
    .synopsis = "CONFIG.ini [INPUT...|--inputs N] [--machine FILE.json] "
                "[options]",
    .summary = "say how long a run takes, and on how many nodes",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "Nothing is correlated.  Work of every stage (bytes, samples, complex\n"
        "multiply-accumulates, cells) over the rate that the node was "
        "measured\n"
        "with, and what bounds the run: the longest of stages that overlap,\n"
        "plus what does not.  The page names all that it assumes, and keys of\n"
        "the configuration whose time it does not count.  With\n"
        "correlator.backend=cuda a card in each node computes, and PCIe is a\n"
        "stage; with auto the CPU does.\n"
        "\n"
        "    fx8 bench --section node --json > node.json      on a node\n"
        "    fx8 plan CONFIG.ini RECORDING.h5 --machine node.json\n"
        "    fx8 plan CONFIG.ini --inputs 512 --machine node.json \\\n"
        "        --set observation.sample_rate_hz=1e6 --set "
        "input.duration_s=60\n",
    .run = run,
    .stops_at_once = true,
};

/* --- the command line ---------------------------------------------- */

/* Numbers of the command line, with their defaults. */
struct wish {
    double inputs, bands, cores, nodes; /* 0: not given */
    double network_gbs, storage_gbs, watts;
};

static enum fx8_status take(const struct fx8_command_line *line,
                            struct wish *wish, struct fx8_error *error)
{
    const struct {
        size_t option;
        double *value;
        double most;
        bool is_whole;
    } numbers[] = {
        {INPUTS, &wish->inputs, 2.0 * FX8_MAX_ANTENNAS, true},
        {BANDS, &wish->bands, 4096, true},
        {CORES, &wish->cores, 1024, true},
        {NODES, &wish->nodes, 1 << 20, true},
        {NETWORK, &wish->network_gbs, 1e6, false},
        {STORAGE, &wish->storage_gbs, 1e6, false},
        {WATTS, &wish->watts, 1e6, false},
    };
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        const char *text = line->given[numbers[k].option];
        double *value = numbers[k].value;
        if (text == NULL)
            continue;
        if (!fx8_number_real(text, value) || !(*value > 0.0) ||
            *value > numbers[k].most ||
            (numbers[k].is_whole && *value != floor(*value)))
            return fx8_command_misuse(
                line, error, "--%s: %s: expected a %s up to %.10g",
                options[numbers[k].option].name, text,
                numbers[k].is_whole ? "whole number from 1" : "number above 0,",
                numbers[k].most);
    }
    return FX8_OK;
}

static enum fx8_status check(const struct fx8_command_line *line,
                             struct fx8_error *error)
{
    const char *const *given = line->given;
    const struct {
        bool holds;
        const char *expected;
    } rules[] = {
        {line->n_files > 0, "no CONFIG.ini"},
        {given[INPUTS] == NULL || line->n_files == 1,
         "--inputs: expected no recording with it"},
        {given[INPUTS] != NULL || (given[BANDS] == NULL && given[REAL] == NULL),
         "--bands, --real: expected --inputs with them"},
        {given[MACHINE] == NULL || given[WRITE_MACHINE] == NULL,
         "--write-machine: expected no --machine with it"},
        {given[FORCE] == NULL || given[WRITE_MACHINE] != NULL,
         "--force: expected --write-machine with it"},
    };
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (!rules[k].holds)
            return fx8_command_misuse(line, error, "%s", rules[k].expected);
    return FX8_OK;
}

/* --- the job ------------------------------------------------------- */

struct work {
    struct fx8_settings settings;
    struct fx8_text_list files;
    struct fx8_reader *reader;
    struct fx8_observation made;
    struct fx8_job job;
    const char *brief;
};

static void clear_work(struct work *work)
{
    fx8_job_clear(&work->job);
    fx8_observation_clear(&work->made);
    fx8_reader_close(&work->reader);
    fx8_text_list_clear(&work->files);
    fx8_settings_clear(&work->settings);
}

static enum fx8_status open_recording(const struct fx8_command_line *line,
                                      struct work *work,
                                      struct fx8_error *error)
{
    char *const *files = line->files + 1;
    size_t n = line->n_files - 1;
    if (n == 0) {
        FX8_TRY(fx8_settings_files(&work->settings, &work->files, error));
        files = work->files.items;
        n = work->files.count;
    }
    if (n == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: input.files: not given, and no INPUT or --inputs "
                        "on the command line",
                        line->files[0]);
    work->brief = files[0];
    return fx8_reader_open((const char *const *)files, n, &work->settings,
                           &work->reader, error);
}

/* The observation that --inputs describes. */
static enum fx8_status make_observation(const struct fx8_command_line *line,
                                        const struct wish *wish,
                                        struct work *work,
                                        struct fx8_error *error)
{
    const struct fx8_settings *settings = &work->settings;
    const struct fx8_rate rate = settings->observation.sample_rate;
    struct fx8_observation *made = &work->made;
    const size_t inputs = (size_t)wish->inputs;
    *made = fx8_observation_unknown();
    if (rate.numerator_hz == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: observation.sample_rate_hz: not given: expected "
                        "it with --inputs",
                        line->files[0]);
    if (!isfinite(settings->input.duration_s))
        return fx8_settings_fail(settings, "input.duration_s", error,
                                 "expected seconds with --inputs");
    made->n_polarizations = settings->array.polarizations > 0
                                ? (size_t)settings->array.polarizations
                                : 2 - inputs % 2;
    if (inputs % made->n_polarizations != 0)
        return fx8_settings_fail(settings, "array.polarizations", error,
                                 "expected a divisor of --inputs %zu", inputs);
    made->n_antennas = inputs / made->n_polarizations;
    made->is_complex = line->given[REAL] == NULL;
    made->n_samples =
        (int64_t)ceil((settings->input.start_s + settings->input.duration_s) *
                      fx8_rate_hz(rate));
    made->has_start_time = true;
    made->sideband = FX8_SIDEBAND_UPPER;
    made->sample_rate = rate;
    made->dc_frequency_hz = 0.0;
    made->site = (struct fx8_site){0, 0, 0};
    made->n_bands = wish->bands > 0.0 ? (size_t)wish->bands : 1;
    FX8_TRY(fx8_allocate(made->n_bands, sizeof *made->band_offset_hz, "bands",
                         &made->band_offset_hz, error));
    for (size_t band = 0; band < made->n_bands; band++)
        made->band_offset_hz[band] = (double)band * fx8_rate_hz(rate);
    work->brief = "planned";
    return FX8_OK;
}

/* --inputs takes the place of the configuration's antennas; where they are
 * costs nothing. */
static enum fx8_status load(const struct fx8_command_line *line,
                            struct work *work, struct fx8_error *error)
{
    static const char *const made[] = {"array.antennas=all",
                                       "array.positions=none"};
    const size_t n = line->n_settings;
    const size_t n_made = line->given[INPUTS] != NULL ? 2 : 0;
    FX8_AUTO_FREE const char **all = NULL;
    FX8_TRY(fx8_allocate(2 + n, sizeof *all, "settings", &all, error));
    memcpy(all, made, n_made * sizeof *all);
    if (n > 0)
        memcpy(all + n_made, line->settings, n * sizeof *all);
    return fx8_settings_load(line->files[0], all, n_made + n, false,
                             &work->settings, error);
}

static enum fx8_status prepare(const struct fx8_command_line *line,
                               const struct wish *wish, struct work *work,
                               struct fx8_error *error)
{
    const bool is_made = line->given[INPUTS] != NULL;
    FX8_TRY(load(line, work, error));
    FX8_TRY(is_made ? make_observation(line, wish, work, error)
                    : open_recording(line, work, error));
    return fx8_job_resolve(
        &work->settings, is_made ? &work->made : &work->reader->observation,
        is_made ? "--inputs" : work->reader->path, &work->job, error);
}

/* --- the node ------------------------------------------------------ */

/* Measure this machine: the text of the JSON document.  Its card only if it is
 * asked for, or the figures are kept. */
static enum fx8_status measure(const struct fx8_command_line *line,
                               bool has_card, char **text, size_t *size,
                               struct fx8_error *error)
{
    const bool is_kept = line->given[WRITE_MACHINE] != NULL;
    const struct fx8_bench_wish wish = {
        .kernel = "auto",
        .section = fx8_bench_node.name,
        .pattern = has_card || is_kept ? NULL : "[!c]*", /* not "card ..." */
        .n_rounds = 1};
    FX8_AUTO(fx8_progress_end) struct fx8_progress_display progress;
    FX8_AUTO(fx8_bench_report_clear)
    struct fx8_bench_report report = {
        .is_silent = true, .command = line->text, .progress = &progress};
    fx8_progress_start(&progress, "measure this machine", "case",
                       line->given[QUIET] == NULL ? stderr : NULL);
    FX8_TRY(fx8_bench_measure(&wish, &report, error));
    fx8_progress_end(&progress);
    FILE *stream = open_memstream(text, size);
    if (stream == NULL)
        return fx8_no_memory("figures", error);
    fx8_bench_print_json(&report, NULL, stream);
    return fclose(stream) == 0 ? FX8_OK : fx8_no_memory("figures", error);
}

static enum fx8_status find_machine(const struct fx8_command_line *line,
                                    bool has_card, char **text,
                                    struct fx8_cost_machine *machine,
                                    struct fx8_error *error)
{
    const char *path = line->given[MACHINE];
    const char *kept = line->given[WRITE_MACHINE];
    FX8_AUTO(fx8_output_abandon) struct fx8_output *output = NULL;
    size_t size = 0;
    if (path != NULL) {
        FX8_TRY(fx8_text_read(path, text, error));
        return fx8_cost_machine_parse(path, *text, machine, error);
    }
    if (kept != NULL)
        FX8_TRY(fx8_output_open(kept, line->given[FORCE] != NULL, 0, NULL,
                                &output, error));
    FX8_TRY(measure(line, has_card, text, &size, error));
    FX8_TRY(fx8_cost_machine_parse("measured now", *text, machine, error));
    return kept != NULL ? fx8_output_finish(&output, *text, size, error)
                        : FX8_OK;
}

/* --- the command ---------------------------------------------------- */

static enum fx8_status run(const struct fx8_command_line *line,
                           struct fx8_error *error)
{
    struct wish wish = {.network_gbs = FX8_COST_NETWORK_BYTES_S * 1e-9,
                        .storage_gbs = FX8_COST_STORAGE_BYTES_S * 1e-9,
                        .watts = NAN};
    FX8_AUTO(clear_work) struct work work = {0};
    FX8_AUTO(fx8_cost_machine_clear) struct fx8_cost_machine machine = {0};
    FX8_AUTO_FREE char *text = NULL;
    struct fx8_cost_job cost;
    FX8_TRY(check(line, error));
    FX8_TRY(take(line, &wish, error));
    FX8_TRY(prepare(line, &wish, &work, error));
    FX8_TRY(find_machine(line,
                         work.job.plan.machine.backend == FX8_BACKEND_CUDA,
                         &text, &machine, error));
    FX8_TRY(
        fx8_cost_job_of(&work.job, &machine, (size_t)wish.cores, &cost, error));
    const struct fx8_cost_site site = {
        .network_bytes_s = wish.network_gbs * 1e9,
        .storage_bytes_s = wish.storage_gbs * 1e9,
        .node_w = wish.watts};
    const struct fx8_cost_page page = {.job = &work.job,
                                       .machine = &machine,
                                       .cost = &cost,
                                       .site = &site,
                                       .n_nodes = (size_t)wish.nodes};
    if (line->given[JSON] != NULL) {
        fx8_cost_print_json(&page, stdout);
        return FX8_OK;
    }
    fx8_forecast_print_plan(&work.job, work.brief, stdout);
    fx8_cost_print(&page, stdout);
    return FX8_OK;
}
