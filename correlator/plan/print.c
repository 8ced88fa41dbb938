/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "config/base/json.h"
#include "config/base/line.h"
#include "config/base/text.h"
#include "correlator/plan/plan.h"
#include "correlator/run/forecast.h"

/* Nodes of the table. */
#define MOST_NODES ((size_t)1024)

/* What the figures rest on, besides network and storage; on a card, where that
 * differs. */
static const char *const assumptions[][2] = {
    {"the CPU computes",
     "a card in each node computes, one stage after the other; samples cross "
     "PCIe once for each phase centre, beside it"},
    {"recordings stored input by input, read by all threads from the page "
     "cache"},
    {"taps other than 8 by nominal operations; two real samples as one "
     "complex"},
    {"both precisions: one filter bank, as long as the slower one's"},
    {"correlator: seconds per sample on a line over inputs between measured "
     "shapes",
     "correlator, PCIe: seconds per sample on a line over inputs between "
     "measured shapes"},
    {"no time for blocks of 4 x 4 inputs without a baseline to write",
     "baselines that are not written take time, too; dumps below 8192 spectra "
     "take no more per sample than longer ones"},
    {"filter bank, levels: on a line over log(channels); rising lines go on "
     "beyond the last"},
    {"n threads take a + b / n seconds, through one and all that were measured",
     "n threads set levels in a + b / n seconds, through one and all that were "
     "measured"},
    {"stages as beside reading and writing; compression takes a part of all "
     "cores",
     "only reading and writing take cores; results come back beside the rest"},
    {"the last dump is written when all is computed"},
    {"the disk takes a dump while the next ones are computed, the last one at "
     "the end"},
    {"nodes take ranges of dumps, whole blocks of averaged ones, or 8192 "
     "spectra or more, whose sums are added"},
    {"0.5 s to start MPI; compressed results go through the first node, sizes "
     "as of noise"},
};

#define N_ASSUMPTIONS (sizeof assumptions / sizeof *assumptions)

static const char *assumption(const struct fx8_cost_job *cost, size_t k)
{
    const char *const *texts = assumptions[k];
    return texts[cost->has_card && texts[1] != NULL ? 1 : 0];
}

/* Keys with a stage that no figure of a node holds; dumps in slices are not
 * written beside computation. */
#define N_UNCOUNTED 9

/* The keys among them that a job sets; returns how many. */
static size_t list_uncounted(const struct fx8_job *job,
                             const char *keys[N_UNCOUNTED])
{
    const struct fx8_plan *plan = &job->plan;
    const struct {
        const char *key;
        bool is_set;
    } rows[N_UNCOUNTED] = {
        {"input.missing_value", plan->marker.is_used},
        {"input.van_vleck", plan->van_vleck},
        {"quantizer.dither", plan->quantizer.dither},
        {"array.gains", plan->delays.turns != NULL},
        {"delay.mode", plan->delays.delay != NULL},
        {"correlator.memory_limit_mib", plan->machine.memory_limit > 0},
        {"flag.clip_level", plan->blanking.level > 0},
        {"flag.sk_false_alarm", plan->sk_false_alarm > 0.0},
        {"postprocess.quicklook", plan->quicklook},
    };
    size_t n = 0;
    for (size_t k = 0; k < N_UNCOUNTED; k++)
        if (rows[k].is_set)
            keys[n++] = rows[k].key;
    return n;
}

static size_t first_nodes(const struct fx8_cost_page *page)
{
    return page->n_nodes > 0 ? page->n_nodes : 1;
}

static size_t last_nodes(const struct fx8_cost_page *page)
{
    return page->n_nodes > 0 ? page->n_nodes : MOST_NODES;
}

/* Bytes stored. */
static double result_bytes(const struct fx8_cost_job *cost)
{
    return cost->n_dumps * cost->stages[FX8_COST_WRITE].amount *
           cost->stored_size;
}

/* Times that a stage runs. */
static double times_run(const struct fx8_cost_job *cost,
                        enum fx8_cost_stage stage)
{
    return stage >= FX8_COST_LEVEL   ? 1.0
           : stage >= FX8_COST_WRITE ? cost->n_dumps
                                     : cost->whole_dumps;
}

/* --- a page ------------------------------------------------------- */

static void print_uncounted(const struct fx8_job *job, FILE *stream)
{
    const char *keys[N_UNCOUNTED];
    const size_t n = list_uncounted(job, keys);
    for (size_t k = 0; k < n; k++)
        fprintf(stream, "%s%s", k == 0 ? "           not counted: " : ", ",
                keys[k]);
    fprintf(stream, "%s", n > 0 ? "\n" : "");
}

static void print_stages(const struct fx8_cost_job *cost, FILE *stream)
{
    fprintf(stream, "\nstage          %12s %-7s %12s %11s\n", "work", "",
            "per second", "seconds");
    for (enum fx8_cost_stage k = 0; k < FX8_N_COST_STAGES; k++) {
        const struct fx8_cost_work *work = &cost->stages[k];
        const double times = times_run(cost, k);
        if (work->seconds <= 0.0)
            continue;
        fprintf(stream, "%-14s %12.4g %-7s %12.4g %11.4g%s\n", work->name,
                work->amount * times, work->unit, work->amount / work->seconds,
                work->seconds * times,
                k == FX8_COST_READ || k == FX8_COST_WRITE ? "  (one thread)"
                                                          : "");
    }
}

static void print_nodes(const struct fx8_cost_page *page, FILE *stream)
{
    const struct fx8_cost_job *cost = page->cost;
    const bool has_power = isfinite(page->site->node_w);
    fprintf(stream, "\n%5s %12s %12s %11s  %-16s%s\n", "nodes", "seconds",
            "x real time", "efficiency", "bound by",
            has_power ? "         kWh" : "");
    const double one_s = fx8_cost_time_on(cost, page->site, 1).seconds;
    for (size_t n = first_nodes(page); n <= last_nodes(page); n *= 2) {
        const struct fx8_cost_time time = fx8_cost_time_on(cost, page->site, n);
        fprintf(stream, "%5zu %12.4g %12.4g %11.3f  %-16s", n, time.seconds,
                cost->recorded_s / time.seconds,
                one_s / (time.seconds * (double)n), time.bound);
        if (has_power)
            fprintf(stream, " %11.4g",
                    page->site->node_w * (double)n * time.seconds / 3.6e6);
        fprintf(stream, "\n");
    }
}

void fx8_cost_print(const struct fx8_cost_page *page, FILE *stream)
{
    const struct fx8_cost_job *cost = page->cost;
    const struct fx8_cost_machine *machine = page->machine;
    const struct fx8_cost_site *site = page->site;
    const struct fx8_cost_time time =
        fx8_cost_time_on(cost, site, first_nodes(page));
    const size_t enough = fx8_cost_real_time_nodes(cost, site);
    char size[32];
    fx8_forecast_format_bytes(result_bytes(cost), size);
    fprintf(stream, "result     %s%s\nnode       %s, %zu of %zu %s, %zu %s%s: ",
            cost->is_packed ? "about " : "", size, machine->cpu, cost->n_cores,
            FX8_COUNTED(machine->n_cpus, "CPU", "CPUs"),
            FX8_COUNTED(cost->n_threads, "thread", "threads"),
            cost->has_card ? ", a card" : "");
    fx8_text_print(machine->path, stream);
    fprintf(stream, ", %s\n", machine->date);
    fprintf(stream, "time       %.3g s on %zu %s, %.3g x real time: %s\n",
            time.seconds, FX8_COUNTED(first_nodes(page), "node", "nodes"),
            cost->recorded_s / time.seconds, time.bound);
    print_uncounted(page->job, stream);
    if (enough > 0)
        fprintf(stream, "real time  %zu %s\n",
                FX8_COUNTED(enough, "node", "nodes"));
    else
        fprintf(stream, "real time  no number of nodes: %s\n",
                fx8_cost_time_on(cost, site, (size_t)1 << 20).bound);
    print_stages(cost, stream);
    print_nodes(page, stream);
    fprintf(stream,
            "\nassumed    network %.4g GB/s into a node, storage %.4g GB/s for "
            "all\n",
            site->network_bytes_s * 1e-9, site->storage_bytes_s * 1e-9);
    for (size_t k = 0; k < N_ASSUMPTIONS; k++)
        fprintf(stream, "           %s\n", assumption(cost, k));
}

/* --- a document --------------------------------------------------- */

static void put_stages(const struct fx8_cost_job *cost, struct fx8_json *json)
{
    fx8_json_array(json, "stages");
    for (enum fx8_cost_stage k = 0; k < FX8_N_COST_STAGES; k++) {
        const struct fx8_cost_work *work = &cost->stages[k];
        const double times = times_run(cost, k);
        if (work->name == NULL)
            continue;
        fx8_json_object(json, NULL);
        fx8_json_text(json, "name", work->name);
        fx8_json_real(json, "amount", work->amount * times);
        fx8_json_text(json, "unit", work->unit);
        fx8_json_real(json, "seconds", work->seconds * times);
        fx8_json_end(json);
    }
    fx8_json_end(json);
}

static void put_uncounted(const struct fx8_job *job, struct fx8_json *json)
{
    const char *keys[N_UNCOUNTED];
    const size_t n = list_uncounted(job, keys);
    fx8_json_array(json, "not_counted");
    for (size_t k = 0; k < n; k++)
        fx8_json_text(json, NULL, keys[k]);
    fx8_json_end(json);
}

static void put_nodes(const struct fx8_cost_page *page, struct fx8_json *json)
{
    fx8_json_array(json, "nodes");
    for (size_t n = first_nodes(page); n <= last_nodes(page); n *= 2) {
        const struct fx8_cost_time time =
            fx8_cost_time_on(page->cost, page->site, n);
        fx8_json_object(json, NULL);
        fx8_json_integer(json, "nodes", (int64_t)n);
        fx8_json_real(json, "seconds", time.seconds);
        fx8_json_real(json, "times_real_time",
                      page->cost->recorded_s / time.seconds);
        fx8_json_text(json, "bound", time.bound);
        fx8_json_real(json, "energy_j",
                      page->site->node_w * (double)n * time.seconds);
        fx8_json_end(json);
    }
    fx8_json_end(json);
}

void fx8_cost_print_json(const struct fx8_cost_page *page, FILE *stream)
{
    const struct fx8_cost_job *cost = page->cost;
    struct fx8_json json = {.stream = stream};
    fx8_json_object(&json, NULL);
    fx8_json_text(&json, "fx8_version", fx8_version());
    fx8_json_text(&json, "machine", page->machine->path);
    fx8_json_text(&json, "cpu", page->machine->cpu);
    fx8_json_integer(&json, "cores", (int64_t)cost->n_cores);
    fx8_json_integer(&json, "threads", (int64_t)cost->n_threads);
    fx8_json_integer(&json, "n_inputs", (int64_t)page->job->axes.n_inputs);
    fx8_json_integer(&json, "n_channels", (int64_t)page->job->axes.n_channels);
    fx8_json_integer(&json, "n_dumps", page->job->n_dumps);
    fx8_json_real(&json, "recorded_s", cost->recorded_s);
    fx8_json_real(&json, "result_bytes", result_bytes(cost));
    fx8_json_real(&json, "network_bytes_s", page->site->network_bytes_s);
    fx8_json_real(&json, "storage_bytes_s", page->site->storage_bytes_s);
    fx8_json_integer(&json, "real_time_nodes",
                     (int64_t)fx8_cost_real_time_nodes(cost, page->site));
    put_stages(cost, &json);
    put_nodes(page, &json);
    put_uncounted(page->job, &json);
    fx8_json_array(&json, "assumed");
    for (size_t k = 0; k < N_ASSUMPTIONS; k++)
        fx8_json_text(&json, NULL, assumption(cost, k));
    fx8_json_end(&json);
    fx8_json_end(&json);
}
