/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stages.c -- the work of a job, stage by stage, and its time on a node.
 *
 * A node is measured at some shapes.  Between two of them, seconds per unit lie
 * on a line: those of reading and of the correlator over the number of inputs,
 * those of the filter bank over the logarithm of the channels (as in section
 * shapes of `fx8 bench`).  Beyond the largest the line goes on if it rises, but
 * for cells of a dump, whose value holds, as all do below the smallest. Between
 * one thread and all, seconds are a + b / threads.  A card has no threads; its
 * time for copies lies on a line over the number of inputs.
 */
#include <math.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/line.h"
#include "config/base/try.h"
#include "correlator/bench/bench.h"
#include "correlator/plan/plan.h"
#include "correlator/run/averages.h"
#include "correlator/run/share.h"
#include "io/uvh5/uvh5.h"

/* Taps that section node measures with. */
#define MEASURED_TAPS 8

/* Blocks of samples in flight, and of the engine: their spectra and bytes. */
#define N_BLOCKS      4.0
#define MOST_SPECTRA  2048.0
#define LEAST_SPECTRA 256.0
#define BLOCK_BYTES   67108864.0

/* Most shapes of a quantity. */
#define MOST_SHAPES 32

/* --- figures of a node -------------------------------------------- */

/* Words that names of cases begin with: figures of the CPU, of a card. */
#define OF_CPU  "stages"
#define OF_CARD "card"

/* A job on a node, and which figures hold for it. */
struct search {
    const struct fx8_cost_machine *machine;
    const char *computer; /* OF_CPU, OF_CARD */
    size_t n_threads;     /* of a card 1 */
    bool is_recorded;     /* channels as recorded: method none */
    const char *precision;
};

static const double *find(const struct fx8_cost_machine *machine,
                          const char *name, const char *quantity,
                          size_t n_threads)
{
    for (size_t k = 0; k < machine->n_figures; k++) {
        const struct fx8_cost_figure *figure = &machine->figures[k];
        if (strcmp(figure->name, name) == 0 &&
            strcmp(figure->quantity, quantity) == 0 &&
            figure->n_threads == n_threads)
            return &figure->value;
    }
    return NULL;
}

static bool is_of_card(const struct fx8_cost_figure *figure)
{
    return strncmp(figure->name, OF_CARD " ", sizeof OF_CARD) == 0;
}

static bool has_card(const struct fx8_cost_machine *machine)
{
    for (size_t k = 0; k < machine->n_figures; k++)
        if (is_of_card(&machine->figures[k]))
            return true;
    return false;
}

static enum fx8_status get(const struct fx8_cost_machine *machine,
                           const char *name, const char *quantity,
                           size_t n_threads, double *value,
                           struct fx8_error *error)
{
    const double *found = find(machine, name, quantity, n_threads);
    if (found != NULL) {
        *value = *found;
        return FX8_OK;
    }
    return fx8_fail(error, FX8_ERR_USAGE,
                    "%s: records: no %s of \"%s\" on %zu %s: expected a "
                    "complete section node of fx8 bench",
                    machine->path, quantity, name,
                    FX8_COUNTED(n_threads, "thread", "threads"));
}

/* Seconds per unit of a case on the threads of the search.  Level setting is in
 * seconds, all else in units per second. */
static enum fx8_status time_case(const struct search *search, const char *name,
                                 const char *quantity, double *seconds,
                                 struct fx8_error *error)
{
    const struct fx8_cost_machine *machine = search->machine;
    const size_t counts[] = {
        1, strcmp(search->computer, OF_CARD) == 0 ? 1 : machine->n_threads};
    const double all = (double)counts[1];
    double ends[2];
    for (size_t k = 0; k < 2; k++) {
        FX8_TRY(get(machine, name, quantity, counts[k], &ends[k], error));
        if (strcmp(quantity, "level") != 0)
            ends[k] = 1.0 / ends[k];
    }
    const double part =
        counts[1] == 1
            ? 0.0
            : (1.0 - 1.0 / (double)search->n_threads) / (1.0 - 1.0 / all);
    *seconds = ends[0] + part * (ends[1] - ends[0]);
    return FX8_OK;
}

/* Seconds per unit at a size, from those measured at sizes [n] in ascending
 * order.  Noise can make a line fall, which below zero would be nonsense. */
static double on_line(const double *sizes, const double *times, size_t n,
                      double size, bool is_log)
{
    size_t above = 1;
    if (n == 1 || size <= sizes[0])
        return times[0];
    while (above + 1 < n && sizes[above] < size)
        above++;
    const double seconds =
        fx8_bench_between(&sizes[above - 1], &times[above - 1], size, is_log);
    return size > sizes[n - 1] ? fmax(seconds, times[n - 1]) : seconds;
}

/* Seconds per unit on the line through the measured shapes, at `size` inputs
 * or channels. */
static enum fx8_status time_at(const struct search *search,
                               const char *quantity, bool is_by_channels,
                               double size, double *seconds,
                               struct fx8_error *error)
{
    const bool is_products = strcmp(quantity, "correlate") == 0;
    double sizes[MOST_SHAPES], times[MOST_SHAPES];
    size_t n = 0;
    for (size_t k = 0; k < search->machine->n_figures && n < MOST_SHAPES; k++) {
        const struct fx8_cost_figure *figure = &search->machine->figures[k];
        double inputs, channels;
        char computer[8], precision[8];
        if (figure->n_threads != 1 || strcmp(figure->quantity, quantity) != 0 ||
            sscanf(figure->name, "%7s %lf x %lf %7s", computer, &inputs,
                   &channels, precision) != 4 ||
            !(inputs >= 1.0 && channels >= 1.0) ||
            strcmp(computer, search->computer) != 0 ||
            strcmp(precision, search->precision) != 0 ||
            (channels == 1.0) != (search->is_recorded && !is_products))
            continue;
        double time;
        FX8_TRY(time_case(search, figure->name, quantity, &time, error));
        if (strcmp(quantity, "level") == 0)
            time /= inputs * channels;
        size_t at = n++;
        const double key = is_by_channels ? channels : inputs;
        for (; at > 0 && sizes[at - 1] > key; at--) {
            sizes[at] = sizes[at - 1];
            times[at] = times[at - 1];
        }
        sizes[at] = key;
        times[at] = time;
    }
    if (n == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: records: no %s of %s in \"%s ...\": expected a "
                        "complete section node of fx8 bench",
                        search->machine->path, quantity, search->precision,
                        search->computer);
    if (strcmp(quantity, "dump") == 0)
        size = fmin(size, sizes[n - 1]);
    *seconds = on_line(sizes, times, n, size, is_by_channels);
    return FX8_OK;
}

/* --- stages ------------------------------------------------------- */

static const char *const compressions[] = {
    [FX8_COMPRESSION_NONE] = "result none",
    [FX8_COMPRESSION_GZIP] = "result gzip",
    [FX8_COMPRESSION_BITSHUFFLE] = "result bitshuffle",
};

/* Nominal operations of filter and FFT against those of the measured taps. */
static double tap_factor(const struct fx8_job *job)
{
    const struct fx8_channelizer *bank = &job->plan.channelizer;
    const double taps =
        bank->method == FX8_METHOD_PFB ? (double)bank->n_taps : 1.0;
    const double fft = 2.5 * log2((double)job->axes.step);
    return bank->method == FX8_METHOD_NONE
               ? 1.0
               : (2.0 * taps + fft) / (2.0 * MEASURED_TAPS + fft);
}

static void set(struct fx8_cost_job *cost, enum fx8_cost_stage stage,
                double amount, double seconds_per_unit)
{
    static const char *const names[FX8_N_COST_STAGES][2] = {
        [FX8_COST_READ] = {"read", "byte"},
        [FX8_COST_PCIE] = {"PCIe", "byte"},
        [FX8_COST_CHANNELIZE] = {"filter bank", "sample"},
        [FX8_COST_CORRELATE] = {"correlator", "CMAC"},
        [FX8_COST_DUMP] = {"ends of dumps", "cell"},
        [FX8_COST_WRITE] = {"write", "byte"},
        [FX8_COST_SYNC] = {"sync", "byte"},
        [FX8_COST_LEVEL] = {"level setting", "sample"},
        [FX8_COST_START] = {"start and end", "run"},
    };
    cost->stages[stage] = (struct fx8_cost_work){
        names[stage][0], names[stage][1], amount, amount * seconds_per_unit};
}

/* Share of the blocks of 4 x 4 inputs that the correlator computes: those on
 * the diagonal, and those with a baseline that is written. */
static enum fx8_status find_computed(const struct fx8_job *job, double *share,
                                     struct fx8_error *error)
{
    const struct fx8_plan *plan = &job->plan;
    const size_t n = plan->n_polarizations;
    const size_t n_blocks = fx8_row_blocks_all(job->axes.n_inputs).end;
    const size_t n_all = fx8_pair_count(n_blocks);
    size_t n_computed = n_blocks;
    FX8_AUTO_FREE uint8_t *is_counted = NULL;
    *share = 1.0;
    if (plan->baselines == NULL)
        return FX8_OK;
    FX8_TRY(fx8_allocate(n_all, 1, "blocks", &is_counted, error));
    for (size_t row = 0; row < plan->n_baselines; row++) {
        size_t a, b;
        fx8_baseline_antennas(plan->n_antennas, plan->baselines[row], &a, &b);
        a = n * a / FX8_ROW_BLOCK; /* holds all inputs of the antenna */
        b = n * b / FX8_ROW_BLOCK;
        uint8_t *counted = &is_counted[fx8_pair_index(a, b)];
        n_computed += a != b && !*counted;
        *counted = 1;
    }
    *share = (double)n_computed / (double)n_all;
    return FX8_OK;
}

/* Copies of samples to a card, once for each phase centre. */
static enum fx8_status time_copies(const struct search *search,
                                   const struct fx8_job *job, double samples,
                                   struct fx8_cost_job *cost,
                                   struct fx8_error *error)
{
    double byte_s;
    FX8_TRY(time_at(search, "PCIe", false, (double)job->axes.n_inputs, &byte_s,
                    error));
    set(cost, FX8_COST_PCIE, samples * (job->plan.is_complex ? 2.0 : 1.0),
        byte_s);
    return FX8_OK;
}

/* Filter bank, correlator and ends of dumps, of one precision: added to what
 * `cost` has; a filter bank for two precisions runs once. */
static enum fx8_status add_precision(const struct fx8_job *job,
                                     const struct search *search,
                                     struct fx8_cost_job *cost,
                                     struct fx8_error *error)
{
    const struct fx8_axes *axes = &job->axes;
    const double inputs = (double)axes->n_inputs;
    const double spectra = (double)job->plan.spectra_per_dump;
    const double centers = (double)job->n_centers;
    const double kept = inputs * (double)axes->n_fine * spectra * centers;
    const double samples = (double)axes->n_rows * (double)axes->step * spectra;
    /* also of baselines that are not written */
    const double antennas = (double)job->plan.n_antennas;
    const double cells = antennas * (antennas + 1.0) / 2.0 *
                         (double)(axes->n_products * axes->n_fine) * centers;
    const double padded =
        cost->has_card ? inputs
                       : (double)fx8_round_up(axes->n_inputs, FX8_ROW_BLOCK);
    double bank_s, products_s, cell_s, level_s = 0.0, computed = 1.0;
    struct search levels = *search; /* which the CPU sets */
    levels.computer = OF_CPU;
    levels.n_threads = cost->n_threads;
    if (!cost->has_card)
        FX8_TRY(find_computed(job, &computed, error));
    FX8_TRY(time_at(search, "channelize", true,
                    (double)job->plan.channelizer.n_channels, &bank_s, error));
    FX8_TRY(time_at(search, "correlate", false, padded, &products_s, error));
    FX8_TRY(time_at(search, "dump", false, inputs, &cell_s, error));
    if (axes->has_quantiser && strcmp(search->precision, "int8") == 0)
        FX8_TRY(time_at(&levels, "level", true,
                        (double)job->plan.channelizer.n_channels, &level_s,
                        error));
    const struct fx8_cost_work *bank = &cost->stages[FX8_COST_CHANNELIZE];
    const double before = bank->seconds;
    /* two real samples take as long as a complex one */
    bank_s *= tap_factor(job) * centers / (job->plan.is_complex ? 1.0 : 2.0);
    if (cost->has_card)
        FX8_TRY(time_copies(search, job, samples * centers, cost, error));
    set(cost, FX8_COST_CHANNELIZE, samples, bank_s);
    cost->stages[FX8_COST_CHANNELIZE].seconds = fmax(before, bank->seconds);
    struct fx8_cost_job one;
    set(&one, FX8_COST_CORRELATE, computed * kept * (inputs + 1.0) / 2.0,
        products_s * padded / inputs / ((inputs + 1.0) / 2.0));
    set(&one, FX8_COST_DUMP, cells, cell_s);
    set(&one, FX8_COST_LEVEL, kept / spectra * 256.0, level_s / 256.0);
    for (enum fx8_cost_stage k = FX8_COST_CORRELATE; k <= FX8_COST_LEVEL; k++) {
        if (k == FX8_COST_WRITE || k == FX8_COST_SYNC)
            continue;
        one.stages[k].amount += cost->stages[k].amount;
        one.stages[k].seconds += cost->stages[k].seconds;
        cost->stages[k] = one.stages[k];
    }
    return FX8_OK;
}

/* Seconds to read a byte of a file of so many inputs, one after the other. */
static enum fx8_status time_reading(const struct fx8_cost_machine *machine,
                                    double n_inputs, double *seconds,
                                    struct fx8_error *error)
{
    static const double sizes[] = {4.0, 512.0};
    double times[2];
    for (size_t k = 0; k < 2; k++) {
        char name[32];
        double rate = 0.0;
        snprintf(name, sizeof name, "recording %.0f inputs", sizes[k]);
        FX8_TRY(get(machine, name, "one thread", 1, &rate, error));
        times[k] = 1.0 / rate;
    }
    *seconds = on_line(sizes, times, 2, n_inputs, false);
    return FX8_OK;
}

/* Bytes that a run touches: blocks of samples and of spectra of about 64 MiB,
 * the sums, and three copies of every result.  The start of a card has the
 * time for its blocks, and it holds the sums. */
static double memory_of(const struct fx8_job *job, double result_bytes,
                        const struct fx8_cost_job *cost)
{
    const double per_spectrum = 2.0 * (double)job->axes.n_rows *
                                (double)job->plan.channelizer.n_channels;
    double spectra = MOST_SPECTRA;
    if (cost->has_card)
        return 3.0 * result_bytes;
    while (spectra > LEAST_SPECTRA && spectra * per_spectrum > BLOCK_BYTES)
        spectra /= 2.0;
    spectra = fmin(spectra, (double)job->plan.spectra_per_dump);
    return (N_BLOCKS + 1.0) * spectra * per_spectrum + cost->sums_bytes +
           3.0 * result_bytes;
}

/* Bytes that a dump adds to a result of each phase centre: fewer where dumps
 * are averaged. */
static enum fx8_status count_written(const struct fx8_job *job, double *bytes,
                                     struct fx8_error *error)
{
    const struct fx8_axes *axes = &job->axes;
    *bytes = 0.0;
    for (size_t c = 0; c < job->n_centers; c++) {
        FX8_AUTO(fx8_uvh5_rows_clear) struct fx8_uvh5_rows rows = {0};
        FX8_TRY(fx8_averages_plan(&job->centers[c], &rows, error));
        *bytes +=
            (double)fx8_uvh5_bytes(1, fx8_uvh5_rows_before(&rows, rows.n_dumps),
                                   axes->n_channels, axes->n_products) /
            (double)job->n_dumps;
    }
    return FX8_OK;
}

/* Seconds that opening and ending take: with a card, the most of any shape. */
static enum fx8_status time_start(const struct fx8_cost_machine *machine,
                                  bool has_card, double *seconds,
                                  struct fx8_error *error)
{
    *seconds = 0.0;
    if (!has_card)
        return get(machine, "result none", "start", 1, seconds, error);
    for (size_t k = 0; k < machine->n_figures; k++)
        if (is_of_card(&machine->figures[k]) &&
            strcmp(machine->figures[k].quantity, "start") == 0)
            *seconds = fmax(*seconds, machine->figures[k].value);
    return FX8_OK;
}

static enum fx8_status set_files(const struct fx8_job *job,
                                 const struct search *search, size_t n_results,
                                 struct fx8_cost_job *cost,
                                 struct fx8_error *error)
{
    const struct fx8_cost_machine *machine = search->machine;
    const struct fx8_axes *axes = &job->axes;
    const char *result = compressions[job->settings->output.compression];
    const double bytes = (double)fx8_uvh5_bytes(
        1, axes->n_baselines, axes->n_channels, axes->n_products);
    double read_s, byte_s, write = 0.0, plain = 0.0, sync = 0.0;
    double written, start_s = 0.0;
    if (find(machine, result, "rate", machine->n_threads) == NULL &&
        find(machine, result, "rate", 1) == NULL)
        return fx8_settings_fail(job->settings, "output.compression", error,
                                 "expected one that %s has figures of",
                                 machine->path);
    FX8_TRY(count_written(job, &written, error));
    FX8_TRY(time_reading(machine, (double)job->n_inputs, &read_s, error));
    FX8_TRY(get(machine, result, "rate", 1, &write, error));
    FX8_TRY(get(machine, "result none", "rate", 1, &plain, error));
    FX8_TRY(get(machine, "result none", "sync", 1, &sync, error));
    FX8_TRY(time_start(machine, cost->has_card, &start_s, error));
    set(cost, FX8_COST_READ,
        (double)job->n_inputs * (double)axes->step *
            (double)job->plan.spectra_per_dump *
            (job->plan.is_complex ? 2.0 : 1.0),
        read_s);
    set(cost, FX8_COST_WRITE, written * (double)n_results, 1.0 / write);
    cost->plain_write_s = cost->stages[FX8_COST_WRITE].amount / plain;
    FX8_TRY(time_case(search, "memory", "first touch", &byte_s, error));
    start_s +=
        memory_of(job, bytes * (double)n_results * (double)job->n_centers,
                  cost) *
        byte_s;
    set(cost, FX8_COST_START, 1.0, start_s);
    cost->stored_size = 1.0;
    cost->is_packed = job->settings->output.compression != FX8_COMPRESSION_NONE;
    cost->n_packers = fx8_job_packers(job, cost->n_threads);
    if (cost->is_packed)
        FX8_TRY(get(machine, result, "size", 1, &cost->stored_size, error));
    set(cost, FX8_COST_SYNC,
        cost->stages[FX8_COST_WRITE].amount * cost->stored_size, 1.0 / sync);
    return FX8_OK;
}

static enum fx8_status check(const struct fx8_job *job,
                             const struct fx8_cost_machine *machine,
                             size_t n_cores, struct fx8_error *error)
{
    if (n_cores > machine->n_threads)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "--cores: %zu: expected at most %zu, on which %s was "
                        "measured",
                        n_cores, machine->n_threads, machine->path);
    if (job->plan.machine.backend == FX8_BACKEND_CUDA && !has_card(machine))
        return fx8_settings_fail(job->settings, "correlator.backend", error,
                                 "expected auto or cpu: no figures of a card: "
                                 "%s",
                                 machine->path);
    if (job->plan.machine.backend == FX8_BACKEND_CUDA &&
        strchr(job->plan.machine.device, ',') != NULL)
        return fx8_settings_fail(job->settings, "correlator.device", error,
                                 "expected one: nodes are planned with a card "
                                 "each");
    if (job->plan.precision & ~(unsigned)FX8_PRECISION_BOTH)
        return fx8_settings_fail(job->settings, "correlator.precision", error,
                                 "expected int8, fp32 or both: there are no "
                                 "figures of intervals to plan with");
    return FX8_OK;
}

enum fx8_status fx8_cost_job_of(const struct fx8_job *job,
                                const struct fx8_cost_machine *machine,
                                size_t n_cores, struct fx8_cost_job *cost,
                                struct fx8_error *error)
{
    static const char *const words[] = {"int8", "fp32"};
    size_t n_results = 0;
    int64_t block_dumps;
    FX8_TRY(check(job, machine, n_cores, error));
    FX8_TRY(fx8_averages_block_dumps(job, &block_dumps, error));
    *cost = (struct fx8_cost_job){
        .has_card = job->plan.machine.backend == FX8_BACKEND_CUDA,
        .n_cores = n_cores > 0 ? n_cores : machine->n_threads,
        .n_threads = job->plan.machine.threads.count,
        .n_dumps = (double)job->n_dumps,
        .n_segments = ceil((double)job->plan.spectra_per_dump /
                           (double)fx8_segment_spectra(&job->plan)),
        .is_exact = fx8_share_is_exact(&job->plan),
        .whole_dumps =
            (double)job->plan.n_spectra / (double)job->plan.spectra_per_dump,
        .block_dumps = (double)block_dumps,
        .recorded_s =
            (double)job->n_samples / fx8_rate_hz(job->plan.sample_rate),
    };
    if (cost->n_threads == 0 || cost->n_threads > cost->n_cores)
        cost->n_threads = cost->n_cores;
    struct search search = {
        .machine = machine,
        .computer = cost->has_card ? OF_CARD : OF_CPU,
        .n_threads = cost->has_card ? 1 : cost->n_threads,
        .is_recorded = job->plan.channelizer.method == FX8_METHOD_NONE,
    };
    for (size_t k = 0; k < 2; k++)
        if (job->plan.precision >> k & 1) {
            search.precision = words[k];
            FX8_TRY(add_precision(job, &search, cost, error));
            n_results++;
        }
    /* two numbers of 8 bytes for each cell */
    cost->sums_bytes = 16.0 * cost->stages[FX8_COST_DUMP].amount;
    return set_files(job, &search, n_results, cost, error);
}
