/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine_cuda.cu -- the CUDA engine: plan, dumps, and the table that the
 * plug-in exports.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/imager_cuda.h"
#include "kernels/plugin.h"

/* --- open ------------------------------------------------------------------
 */

/* Every correlator of a kind, "dp4a-16, dp4a-64", for the message. */
static void list_correlators(char *text, size_t size)
{
    size_t n = 0, length = 0;
    const struct fx8_cuda_correlator *all = fx8_cuda_correlators(&n);
    text[0] = '\0';
    for (size_t k = 0; k < n && length < size; ++k) {
        const int written =
            snprintf(text + length, size - length, ", %s", all[k].name);
        length += static_cast<size_t>(written > 0 ? written : 0);
    }
}

/* Rounding of sums, by kind. */
static const enum fx8_cuda_rounding roundings[FX8_N_RESULTS] = {
    FX8_CUDA_NEAREST, FX8_CUDA_NEAREST, FX8_CUDA_DOWN, FX8_CUDA_UP};

/* Whether a correlator for a kind of sums has this name or begins with it. */
static bool is_kernel(const char *name, size_t kind)
{
    size_t n = 0;
    const struct fx8_cuda_correlator *all = fx8_cuda_correlators(&n);
    const size_t length = strlen(name);
    for (size_t k = 0; k < n; ++k)
        if (all[k].is_int8 == (kind == FX8_RESULT_INT8) &&
            all[k].rounding == roundings[kind] &&
            strncmp(all[k].name, name, length) == 0 &&
            (all[k].name[length] == '\0' || all[k].name[length] == '-'))
            return true;
    return false;
}

static enum fx8_status check_plan(const struct fx8_engine_plan *plan,
                                  struct fx8_error *error)
{
    if (strcmp(plan->machine.kernel, "auto") == 0)
        return FX8_OK;
    for (size_t kind = 0; kind < FX8_N_RESULTS; ++kind)
        if (fx8_is_planned(plan, kind) && is_kernel(plan->machine.kernel, kind))
            return FX8_OK;
    char names[512];
    list_correlators(names, sizeof names);
    return fx8_fail(error, FX8_ERR_USAGE,
                    "plan: kernel: %s: expected auto, or a kernel of the "
                    "precision: dp4a, mma, wgmma, fp32, or one of them with "
                    "its tile%s",
                    plan->machine.kernel, names);
}

/* List kernels that failed their trial: "; not NAME: why", once each. */
static void note_left_out(const struct fx8_cuda_choice *choice, char *text,
                          size_t size)
{
    for (size_t k = 0; k < choice->n_trials; ++k) {
        const struct fx8_cuda_correlator_trial *trial = &choice->trials[k];
        const size_t length = strlen(text);
        if (trial->trouble != nullptr &&
            strstr(text, trial->correlator->name) == nullptr)
            snprintf(text + length, size - length, "; not %s: %s",
                     trial->correlator->name, trial->trouble);
    }
}

/* Choose the fastest correlator that the name allows.  If several kinds are
 * planned, the name applies to one of them. */
static enum fx8_status choose(struct fx8_engine *engine,
                              struct fx8_cuda_device *device, size_t kind,
                              struct fx8_error *error)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    const char *name =
        is_kernel(plan->machine.kernel, kind) ? plan->machine.kernel : "auto";
    struct fx8_cuda_correlator_use use = {};
    use.is_int8 = kind == FX8_RESULT_INT8;
    use.rounding = roundings[kind];
    use.n_inputs = plan->n_inputs;
    use.n_channels = plan->bank.n_channels;
    use.n_times = device->call.most_spectra;
    use.deadline_s = plan->deadline_s;
    use.is_any = plan->deadline_s > 0;
    struct fx8_cuda_choice choice;
    const cudaError_t code =
        fx8_cuda_correlator_choose(name, &use, device->compute, &choice);
    FX8_TRY(
        fx8_cuda_check(code, device, error, "trying kernel %s",
                       choice.trying != nullptr ? choice.trying->name : name));
    note_left_out(&choice, engine->left_out, sizeof engine->left_out);
    if (choice.correlator == nullptr)
        return fx8_fail(error,
                        engine->left_out[0] != '\0' ? FX8_ERR_DEVICE
                                                    : FX8_ERR_UNSUPPORTED,
                        "cuda: device %d (%s): kernel %s: expected "
                        "one that this device runs and that agrees with the "
                        "sums of its trial%s",
                        device->ordinal, device->name, name, engine->left_out);
    device->correlators[kind] = choice.correlator;
    return FX8_OK;
}

/* Whether a tile of a correlator has a pair that is needed. */
static bool is_tile_needed(const struct fx8_engine_plan *plan, size_t tile,
                           size_t row, size_t column)
{
    const size_t end = std::min((row + 1) * tile, plan->n_inputs);
    for (size_t j = row * tile; j < end; j += FX8_ROW_BLOCK)
        for (size_t i = column * tile; i < (column + 1) * tile && i <= j;
             i += FX8_ROW_BLOCK)
            if (fx8_is_needed(plan->needed, i, j))
                return true;
    return false;
}

/* List the tiles of the chosen correlator that are needed. */
static enum fx8_status list_tiles(const struct fx8_engine *engine,
                                  struct fx8_cuda_device *device, size_t kind,
                                  struct fx8_error *error)
{
    const struct fx8_engine_plan *plan = &engine->plan;
    const size_t tile = device->correlators[kind]->tile_inputs;
    const size_t n_rows = (plan->n_inputs + tile - 1) / tile;
    void *memory;
    if (device->tiles[kind] == nullptr)
        return FX8_OK;
    FX8_TRY(fx8_allocate(fx8_pair_count(n_rows), sizeof(unsigned), "tiles",
                         &memory, error));
    auto *tiles = static_cast<unsigned *>(memory);
    size_t n = 0;
    for (size_t row = 0; row < n_rows; ++row)
        for (size_t column = 0; column <= row; ++column)
            if (is_tile_needed(plan, tile, row, column))
                tiles[n++] = static_cast<unsigned>(fx8_pair_index(column, row));
    device->n_tiles[kind] = n;
    enum fx8_status status = fx8_cuda_copy(
        device, device->compute, device->tiles[kind], tiles, n * sizeof *tiles,
        cudaMemcpyHostToDevice, "of tiles", error);
    if (status == FX8_OK)
        status = fx8_cuda_drain(device, device->compute, "tiles", error);
    free(tiles);
    return status;
}

static enum fx8_status open_device(struct fx8_engine *engine,
                                   struct fx8_cuda_device *device,
                                   struct fx8_error *error)
{
    const bool is_trial = engine->plan.deadline_s > 0;
    device->deadline_s = engine->plan.deadline_s;
    FX8_TRY(fx8_cuda_enter(device, error));
    FX8_TRY(fx8_cuda_prepare(engine, device, error));
    FX8_TRY(fx8_cuda_load_kernels(device, error));
    if (is_trial) {
        FX8_TRY(fx8_cuda_allocate(engine, device, error));
        FX8_TRY(fx8_cuda_rehearse(engine, device, error));
    }
    for (size_t kind = 0; kind < FX8_N_RESULTS; ++kind)
        if (fx8_is_planned(&engine->plan, kind))
            FX8_TRY(choose(engine, device, kind, error));
    /* the choice allocates and frees its own memory */
    if (!is_trial)
        FX8_TRY(fx8_cuda_allocate(engine, device, error));
    for (size_t kind = 0; kind < FX8_N_RESULTS; ++kind)
        if (fx8_is_planned(&engine->plan, kind))
            FX8_TRY(list_tiles(engine, device, kind, error));
    return FX8_OK;
}

static enum fx8_status allocate_host(struct fx8_engine *engine,
                                     struct fx8_error *error)
{
    const size_t n_pairs = engine->shape.n_pairs;
    const struct fx8_array counts[] = {
        {&engine->counts.pairs, n_pairs, sizeof(int64_t)},
        {&engine->ended_counts, n_pairs, sizeof(int64_t)}};
    const size_t n = sizeof counts / sizeof *counts;
    engine->memory += fx8_arrays_size(counts, n);
    return fx8_allocate_arrays(counts, n, "the engine", error);
}

static enum fx8_status note_names(struct fx8_engine *e, struct fx8_error *error)
{
    const struct fx8_cuda_device *first = &e->devices[0];
    int length = 0;
    for (size_t k = 0; k < e->n_devices && length < 150; ++k)
        length += snprintf(e->device_name + length,
                           sizeof e->device_name - size_t(length), "%s%d",
                           k > 0 ? "," : "", e->devices[k].ordinal);
    snprintf(e->device_name + length, sizeof e->device_name - size_t(length),
             " %s", first->name);
    length = 0;
    for (const struct fx8_cuda_correlator *chosen : first->correlators) {
        if (chosen != nullptr)
            length += snprintf(e->kernel_name + length,
                               sizeof e->kernel_name - size_t(length), "%s%s",
                               length > 0 ? " " : "", chosen->name);
    }
    snprintf(e->kernel_name + length, sizeof e->kernel_name - size_t(length),
             "%s", e->left_out);
    snprintf(e->fft_name, sizeof e->fft_name, "none");
    if (!first->has_fft)
        return FX8_OK;
    int version = 0;
    FX8_TRY(fx8_cuda_check_fft(cufftGetVersion(&version), first, error,
                               "cufftGetVersion"));
    snprintf(e->fft_name, sizeof e->fft_name, "cufft %d.%d.%d batch %zu",
             version / 1000, version % 1000 / 100, version % 100,
             e->shape.chunk_inputs * e->shape.chunk_spectra);
    return FX8_OK;
}

static void cuda_close(struct fx8_engine **engine)
{
    struct fx8_engine *e = *engine;
    if (e == nullptr)
        return;
    const bool is_stuck = fx8_cuda_is_any_stuck();
    for (size_t k = 0; k < e->n_devices && !is_stuck; ++k)
        fx8_cuda_quiesce(&e->devices[k]);
    if (!is_stuck)
        fx8_cuda_unpin(e);
    for (size_t k = 0; k < e->n_devices && !is_stuck; ++k)
        fx8_cuda_release(e, &e->devices[k]);
    free(e->devices);
    free(e->counts.pairs);
    free(e->ended_counts);
    free(e->consumer);
    free(e);
    *engine = nullptr;
}

static enum fx8_status cuda_open(const struct fx8_engine_plan *plan,
                                 struct fx8_engine **engine,
                                 struct fx8_error *error)
{
    *engine = nullptr;
    FX8_TRY(check_plan(plan, error));
    void *memory;
    FX8_TRY(
        fx8_allocate(1, sizeof(struct fx8_engine), "engine", &memory, error));
    struct fx8_engine *e = static_cast<struct fx8_engine *>(memory);
    e->plan = *plan;
    e->has_filterbank = plan->coefficients != nullptr;
    e->segment = -1;
    fx8_cuda_lay_out(e);
    enum fx8_status status = fx8_cuda_open_consumer(e, error);
    if (status == FX8_OK)
        status = fx8_cuda_find_devices(plan->devices, plan->n_devices,
                                       plan->machine.first_device, &e->devices,
                                       &e->n_devices, error);
    if (status != FX8_OK)
        e->n_devices = 0;
    for (size_t k = 0; k < e->n_devices && status == FX8_OK; ++k)
        status = open_device(e, &e->devices[k], error);
    if (status == FX8_OK)
        status = allocate_host(e, error);
    if (status == FX8_OK)
        status = note_names(e, error);
    if (status != FX8_OK) {
        cuda_close(&e);
        return status;
    }
    /* the caller's arrays; they were copied */
    e->plan.coefficients = nullptr;
    e->plan.devices = nullptr;
    e->plan.machine.kernel = e->plan.machine.device = nullptr;
    e->last = &e->devices[0];
    e->facts = {e->shape.block_spectra, e->memory,      plan->host_operations,
                e->device_name,         e->kernel_name, e->fft_name};
    *engine = e;
    return FX8_OK;
}

/* --- getters ---------------------------------------------------------------
 */

static const struct fx8_engine_facts *cuda_facts(
    const struct fx8_engine *engine)
{
    return &engine->facts;
}

/* Times of the slowest device: devices work in parallel. */
static void cuda_times(const struct fx8_engine *engine,
                       struct fx8_engine_times *times)
{
    *times = fx8_engine_times();
    for (size_t k = 0; k < engine->n_devices; ++k) {
        const struct fx8_engine_times *each = &engine->devices[k].times;
        if (each->channelize_s + each->correlate_s >
            times->channelize_s + times->correlate_s)
            *times = *each;
    }
    times->process_s = engine->devices[0].times.process_s;
    times->results_s = engine->devices[0].times.results_s;
}

/* --- samples to sums -------------------------------------------------------
 */

/* After a failure the sums of a dump are incomplete: refuse further calls. */
static enum fx8_status check_going(const struct fx8_engine *engine,
                                   struct fx8_error *error)
{
    if (!engine->has_failed)
        return FX8_OK;
    return fx8_fail(error, FX8_ERR_DEVICE,
                    "cuda: stopped by an earlier failure; close the engine");
}

static enum fx8_status note_failure(struct fx8_engine *engine,
                                    enum fx8_status status)
{
    engine->has_failed = engine->has_failed || status != FX8_OK;
    return status;
}

static enum fx8_status set_gain(struct fx8_engine *engine,
                                const struct fx8_cuda_device *device,
                                size_t input, const float *gain,
                                struct fx8_error *error)
{
    const size_t n_channels = engine->plan.bank.n_channels;
    FX8_TRY(fx8_cuda_enter(device, error));
    FX8_TRY(fx8_cuda_copy(
        device, device->compute, device->gain + input * n_channels, gain,
        n_channels * sizeof *gain, cudaMemcpyHostToDevice, "of gains", error));
    return fx8_cuda_drain(device, device->compute, "gains", error);
}

static enum fx8_status cuda_set_gain(struct fx8_engine *engine, size_t input,
                                     const float *gain, struct fx8_error *error)
{
    enum fx8_status status = check_going(engine, error);
    for (size_t k = 0;
         k < engine->n_devices && status == FX8_OK && engine->has_filterbank;
         ++k)
        status = set_gain(engine, &engine->devices[k], input, gain, error);
    return note_failure(engine, status);
}

/* The device of a block: a function of its place in the dump alone. */
static struct fx8_cuda_device *device_of(struct fx8_engine *engine,
                                         const struct fx8_engine_block *block)
{
    const uint64_t number = static_cast<uint64_t>(block->first_spectrum) /
                            engine->shape.block_spectra;
    return &engine->devices[number % engine->n_devices];
}

static enum fx8_block_validity count(struct fx8_engine *engine,
                                     const struct fx8_engine_block *block)
{
    return fx8_count_products(engine->plan.host_operations,
                              engine->plan.n_inputs, block->n_spectra,
                              block->valid, &engine->counts);
}

static enum fx8_status cuda_push(struct fx8_engine *engine,
                                 const struct fx8_engine_block *block,
                                 struct fx8_error *error)
{
    struct fx8_cuda_device *device = device_of(engine, block);
    FX8_TRY(check_going(engine, error));
    enum fx8_status status = fx8_cuda_begin_segment(engine, block, error);
    if (status == FX8_OK)
        status = fx8_cuda_enter(device, error);
    if (status == FX8_OK)
        status = fx8_cuda_push_block(engine, device, block,
                                     count(engine, block), error);
    return note_failure(engine, status);
}

static enum fx8_status cuda_settle(struct fx8_engine *engine,
                                   struct fx8_error *error)
{
    FX8_TRY(check_going(engine, error));
    return note_failure(engine,
                        fx8_cuda_await_samples(engine, engine->last, error));
}

/* --- dumps -----------------------------------------------------------------
 */

static enum fx8_status cuda_finish_dump(struct fx8_engine *engine,
                                        struct fx8_engine_dump *dump,
                                        struct fx8_error *error)
{
    FX8_TRY(check_going(engine, error));
    enum fx8_status status = fx8_cuda_finish_dump(engine, dump, error);
    engine->ended_watch = engine->watch;
    engine->watch = nullptr;
    if (status == FX8_OK)
        status = fx8_cuda_take_watched(engine, false, error);
    return note_failure(engine, status);
}

static enum fx8_status cuda_end_dump(struct fx8_engine *engine,
                                     const struct fx8_postprocess *plan,
                                     const struct fx8_result *results,
                                     struct fx8_error *error)
{
    FX8_TRY(check_going(engine, error));
    return note_failure(engine,
                        fx8_cuda_end_dump(engine, plan, results, error));
}

static enum fx8_status cuda_take_dump(struct fx8_engine *engine,
                                      struct fx8_engine_dump *dump,
                                      bool *is_taken, struct fx8_error *error)
{
    FX8_TRY(check_going(engine, error));
    enum fx8_status status = fx8_cuda_take_dump(engine, dump, is_taken, error);
    if (status == FX8_OK && (is_taken == nullptr || *is_taken))
        status = fx8_cuda_take_watched(engine, true, error);
    return note_failure(engine, status);
}

static enum fx8_status cuda_consume(struct fx8_engine *engine, const void *work,
                                    struct fx8_error *error)
{
    FX8_TRY(check_going(engine, error));
    return note_failure(engine, fx8_cuda_consume(engine, work, error));
}

/* --- spectra in and out ----------------------------------------------------
 */

static enum fx8_status check_planned(const struct fx8_engine *engine, bool int8,
                                     bool fp32, struct fx8_error *error)
{
    const struct fx8_cuda_device *first = &engine->devices[0];
    if ((int8 && first->call.x8 == nullptr) ||
        (fp32 && first->call.x32 == nullptr))
        return fx8_fail(error, FX8_ERR_USAGE,
                        "engine: spectra of a precision that was not planned");
    return check_going(engine, error);
}

static enum fx8_status cuda_export_spectra(struct fx8_engine *engine,
                                           struct fx8_ci8 *int8,
                                           struct fx8_cf32 *fp32,
                                           struct fx8_error *error)
{
    FX8_TRY(check_planned(engine, int8 != nullptr, fp32 != nullptr, error));
    return note_failure(engine,
                        fx8_cuda_export_block(engine, int8, fp32, error));
}

static enum fx8_status cuda_import_spectra(struct fx8_engine *engine,
                                           const struct fx8_engine_block *block,
                                           const struct fx8_ci8 *int8,
                                           const struct fx8_cf32 *fp32,
                                           struct fx8_error *error)
{
    FX8_TRY(check_planned(engine, int8 != nullptr, fp32 != nullptr, error));
    struct fx8_cuda_device *device = device_of(engine, block);
    enum fx8_status status = fx8_cuda_begin_segment(engine, block, error);
    if (status == FX8_OK)
        status = fx8_cuda_enter(device, error);
    if (status == FX8_OK)
        status = fx8_cuda_import_block(engine, device, block,
                                       count(engine, block), int8, fp32, error);
    return note_failure(engine, status);
}

static enum fx8_status cuda_watch(struct fx8_engine *engine,
                                  const struct fx8_engine_watch *watch,
                                  struct fx8_error *error)
{
    if (watch->n_inputs > engine->plan.n_watched_inputs)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "engine: more inputs to watch than were planned");
    struct fx8_engine_watch *own = &engine->watches[engine->n_watches++ % 2];
    *own = *watch;
    engine->watch = own;
    return FX8_OK;
}

/* --- the table -------------------------------------------------------------
 */

/* In the order of the members: C++17 has no designated initialisers. */
static const struct fx8_engine_operations cuda = {
    "cuda",
    cuda_open,
    cuda_facts,
    fx8_cuda_pin,
    cuda_set_gain,
    cuda_push,
    cuda_settle,
    cuda_finish_dump,
    cuda_end_dump,
    cuda_take_dump,
    cuda_consume,
    cuda_export_spectra,
    cuda_import_spectra,
    cuda_watch,
    cuda_times,
    cuda_close,
};

extern "C" {
/** The symbol that fx8 loads from the plug-in. */
extern __attribute__((visibility("default")))
const struct fx8_plugin fx8_plugin;
const struct fx8_plugin fx8_plugin = {
    {FX8_PLUGIN_ABI, FX8_VERSION}, &cuda, &fx8_imager_cuda};
}
