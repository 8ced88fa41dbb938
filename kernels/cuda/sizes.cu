/* SPDX-License-Identifier: BSD-3-Clause */
/* sizes.cu -- see engine_cuda.h: sizes that depend on the plan alone. */
#include <stdlib.h>

#include "config/base/shape.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/postprocess.h"

/* Bytes of samples in a block; the host has two.  FP32 sums depend on its
 * length, so it is a function of the plan. */
static const size_t BLOCK_BYTES = size_t(256) << 20;

/* Blocks of very wide spectra: memory matters more than speed. */
static const size_t MOST_BLOCK_BYTES = size_t(1) << 30;

/* Most and fewest spectra in a block: more gain nothing, fewer mean many small
 * copies.  Both are multiples of the FP32 fold, so blocks and dumps end on a
 * fold, and blocks can share a call. */
static const size_t MOST_SPECTRA = 8192;
static const size_t LEAST_SPECTRA = 512;

/* Bytes of samples in a batch, the size of a slot. */
static const size_t BATCH_BYTES = size_t(64) << 20;

/* Floats in a chunk of FIR and FFT: enough to fill a device, few enough to stay
 * in the second-level cache of a large one. */
static const size_t CHUNK_KIB = size_t(32) << 10;
static const size_t CHUNK_SPECTRA = 1024;

/* Bytes of sums or results copied at a time: enough for full bus speed, little
 * compared with host memory. */
static const size_t SLAB_BYTES = size_t(8) << 20;

/* Alignment of inputs, for 16-byte loads. */
static const size_t SAMPLES_ALIGNMENT = 16;

static size_t clamp(size_t value, size_t least, size_t most)
{
    return value < least ? least : value > most ? most : value;
}

static size_t choose_block_spectra(const struct fx8_engine *engine)
{
    const size_t bytes =
        fx8_product(engine->plan.n_inputs, engine->shape.row, 1, 1);
    size_t spectra = MOST_SPECTRA;
    while (spectra > LEAST_SPECTRA && bytes > BLOCK_BYTES / spectra)
        spectra /= 2;
    while (spectra > FX8_GROUP && bytes > MOST_BLOCK_BYTES / spectra)
        spectra /= 2;
    const int64_t per_dump = engine->plan.spectra_per_dump;
    return static_cast<int64_t>(spectra) < per_dump
               ? spectra
               : static_cast<size_t>(per_dump);
}

/* Each device gets only a part of a dump's blocks. */
static size_t choose_most_blocks(const struct fx8_engine *engine)
{
    const size_t block = engine->shape.block_spectra;
    if (block % FX8_CUDA_CALL_UNIT != 0)
        return 1;
    const int64_t per_dump = engine->plan.spectra_per_dump;
    const size_t of_call = FX8_MAX_INT32_SPECTRA / block;
    const int64_t of_dump = (per_dump - 1) / static_cast<int64_t>(block) + 1;
    const int64_t devices = static_cast<int64_t>(
        engine->plan.n_devices == 0 ? 1 : engine->plan.n_devices);
    const int64_t of_device = (of_dump - 1) / devices + 1;
    return of_device < static_cast<int64_t>(of_call)
               ? static_cast<size_t>(of_device)
               : of_call;
}

static size_t chunk_bytes(void)
{
    const char *text = getenv(FX8_CUDA_CHUNK_VARIABLE);
    const size_t kib = text != nullptr ? strtoul(text, nullptr, 10) : 0;
    return (kib == 0 || kib > CHUNK_KIB ? CHUNK_KIB : kib) << 10;
}

/* The FFT's batch: prefer few spectra of many inputs, because a dump's last
 * block may be short. */
static void choose_chunk(const struct fx8_engine_plan *plan,
                         struct fx8_cuda_shape *shape)
{
    /* shifts change between groups */
    const size_t unit = plan->margin > 0 ? FX8_GROUP : FX8_CUDA_TIMES_INT8;
    const size_t bytes = shape->folded_stride * sizeof(float);
    const size_t most = chunk_bytes();
    size_t spectra =
        clamp(fx8_round_up(shape->block_spectra, unit), 1, CHUNK_SPECTRA);
    while (spectra > unit && bytes > most / spectra)
        spectra = fx8_round_up(spectra / 2, unit);
    shape->chunk_spectra = spectra;
    shape->chunk_inputs =
        clamp(most / (spectra * bytes), 1, shape->most_inputs);
}

/* Baselines that begin on one antenna are consecutive rows of results, at most
 * as many as antennas.  A slab has SLAB_BYTES, or one antenna's baselines. */
static void choose_slab(const struct fx8_engine_plan *plan,
                        struct fx8_cuda_shape *shape)
{
    const size_t n_antennas = plan->n_result_antennas;
    if (n_antennas == 0)
        return;
    const size_t row =
        fx8_product(plan->bank.n_channels / plan->channel_average,
                    plan->n_result_products, 1, 1);
    const size_t cells = fx8_product(row, n_antennas, 1, 1);
    const size_t most = shape->slab_bytes / FX8_CUDA_RESULT_BYTES;
    shape->n_baselines = fx8_pair_count(n_antennas);
    shape->slab_antennas = clamp(most / cells, 1, n_antennas);
    shape->slab_cells = fx8_product(cells, shape->slab_antennas, 1, 1);
}

/* Bytes of products, counts, gains, ripple and flags, each aligned to 16 bytes.
 */
static size_t choose_plan_bytes(const struct fx8_engine_plan *plan,
                                const struct fx8_cuda_shape *shape)
{
    const size_t channels = plan->bank.n_channels, inputs = plan->n_inputs;
    const size_t parts[] = {
        fx8_product(shape->n_baselines, plan->n_result_products,
                    sizeof(struct fx8_product), 1),
        fx8_product(shape->n_pairs, sizeof(int64_t), 1, 1),
        fx8_product(inputs, channels, sizeof(float) + 1, 1),
        fx8_product(inputs, sizeof(double) + 1, 1, 1),
        fx8_product(channels, sizeof(double) + 1, 1, 1),
    };
    size_t total = 8 * FX8_CUDA_PLAN_UNIT;
    for (const size_t bytes : parts)
        total = bytes > SIZE_MAX / 4 - total ? SIZE_MAX / 4 : total + bytes;
    return shape->n_baselines == 0 ? 0 : total;
}

/* The largest need: a slab of sums, or the sums of one channel; clips of one
 * input. */
static void choose_staging(const struct fx8_engine_plan *plan,
                           struct fx8_cuda_shape *shape)
{
    const size_t n_channels = plan->bank.n_channels;
    const size_t channel = fx8_product(shape->n_pairs, 2, sizeof(int64_t), 1);
    const size_t several = clamp(shape->slab_bytes / channel, 1, n_channels);
    const size_t parts[] = {
        fx8_product(channel, several, 1, 1),
        fx8_product(n_channels, sizeof(int64_t), 1, 1),
        fx8_product(shape->slab_cells, FX8_CUDA_RESULT_BYTES, 1, 1),
    };
    shape->staging_bytes = 0;
    for (const size_t bytes : parts)
        if (bytes > shape->staging_bytes)
            shape->staging_bytes = fx8_round_up(bytes, sizeof(int64_t));
}

void fx8_cuda_lay_out(struct fx8_engine *engine)
{
    const struct fx8_filterbank *bank = &engine->plan.bank;
    struct fx8_cuda_shape *shape = &engine->shape;
    const size_t n_inputs = engine->plan.n_inputs;
    shape->row = fx8_filterbank_row(bank);
    shape->block_spectra = choose_block_spectra(engine);
    shape->most_blocks = choose_most_blocks(engine);
    shape->margin_bytes = engine->plan.margin * (bank->is_complex ? 2 : 1);
    shape->samples_bytes =
        fx8_round_up((shape->block_spectra + bank->n_taps - 1) * shape->row +
                         2 * shape->margin_bytes + FX8_CUDA_FIR_BEYOND,
                     SAMPLES_ALIGNMENT);
    shape->valid_words = fx8_bit_words(shape->block_spectra);
    shape->most_inputs = clamp(BATCH_BYTES / shape->samples_bytes, 1, n_inputs);
    /* in place: complex numbers, or the bins of real ones; four floats at a
     * time */
    shape->folded_stride = bank->is_complex
                               ? fx8_round_up(2 * bank->fft_length, 4)
                               : fx8_round_up(2 * fx8_filterbank_bins(bank), 4);
    choose_chunk(&engine->plan, shape);
    shape->n_pairs = fx8_pair_count(n_inputs);
    shape->n_sums = fx8_product(bank->n_channels, shape->n_pairs, 2, 1);
    shape->segment = fx8_engine_segment(engine->plan.spectra_per_dump);
    shape->is_divided = engine->plan.spectra_per_dump > shape->segment;
    shape->slab_bytes = clamp(chunk_bytes(), 0, SLAB_BYTES);
    choose_slab(&engine->plan, shape);
    shape->plan_bytes = choose_plan_bytes(&engine->plan, shape);
    choose_staging(&engine->plan, shape);
}

size_t fx8_cuda_stride(const struct fx8_engine *engine, size_t most_spectra,
                       size_t times_per_vector)
{
    return fx8_cuda_channel_vectors(
        engine->plan.n_inputs, fx8_cuda_times(most_spectra), times_per_vector);
}
