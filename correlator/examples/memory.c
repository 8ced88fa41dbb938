/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c -- correlates samples in memory, handed over block by block.
 *
 *     cc memory.c $(pkg-config --cflags --libs fx8) -lm -o memory
 *
 * Two antennas receive the same noise, the second one sample later: the phase
 * of conj(E_0) E_1 falls by one turn over the band.  Prints for every dump and
 * channel: frequency in Hz, power of both antennas, amplitude and phase.
 */
#include <fx8.h>
#include <math.h>
#include <stdio.h>

enum { CHANNELS = 16, TAPS = 8, SPECTRA = 4096, DUMPS = 2, BLOCKS = 9 };
enum { SAMPLES = CHANNELS * (SPECTRA * DUMPS + TAPS - 1) };
enum { BLOCK = SAMPLES / BLOCKS }; /* any size works, even a varying one */

static int8_t samples[SAMPLES + 1][2]; /* [time][re, im], from -1 on */
static void make_samples(void)
{
    uint32_t state = 1;
    for (size_t i = 0; i < 2 * (SAMPLES + 1); i++) {
        state = state * 1664525u + 1013904223u;
        /* whole numbers from -15 to 15, uniform */
        samples[i / 2][i % 2] = (int8_t)((int)((state >> 8) % 31) - 15);
    }
}

static void print(const struct fx8_dump *dump, const double *frequencies_hz)
{
    /* [baseline][channel][re, im] of baselines (0,0), (0,1), (1,1) */
    const float(*v)[CHANNELS][2] =
        (const float(*)[CHANNELS][2])dump->results[FX8_RESULT_INT8]
            .visibilities;
    for (size_t c = 0; c < CHANNELS; c++) {
        const double re = v[1][c][0], im = v[1][c][1];
        printf("%lld %.0f %.3f %.3f %.3f %.5f\n", (long long)dump->index,
               frequencies_hz[c], v[0][c][0], v[2][c][0], hypot(re, im),
               atan2(im, re));
    }
}

int main(void)
{
    const ptrdiff_t input_offset[2] = {2, 0}; /* the second receives it later */
    double frequencies_hz[CHANNELS], width_hz;
    struct fx8_session *session = NULL;
    struct fx8_error error;
    struct fx8_plan plan = fx8_plan_default();
    plan.n_antennas = 2;
    plan.sample_rate = (struct fx8_rate){1600000, 1};
    plan.dc_frequency_hz = 150e6;
    plan.channelizer.n_channels = CHANNELS;
    plan.channelizer.n_taps = TAPS;
    plan.spectra_per_dump = SPECTRA;
    fx8_frequencies(&plan, frequencies_hz, &width_hz);
    make_samples();
    enum fx8_status status = fx8_open(&plan, NULL, NULL, &session, &error);
    for (size_t i = 0; i < BLOCKS && status == FX8_OK; i++) {
        const struct fx8_block block = {.samples = samples[i * BLOCK],
                                        .input_offset = input_offset,
                                        .time_stride = 2,
                                        .first_sample = (int64_t)(i * BLOCK),
                                        .n_samples = BLOCK};
        while ((status = fx8_push(session, &block, &error)) == FX8_DUMP_READY)
            print(fx8_take_dump(session), frequencies_hz);
    }
    if (status == FX8_OK)
        while ((status = fx8_finish(session, NULL, &error)) == FX8_DUMP_READY)
            print(fx8_take_dump(session), frequencies_hz);
    if (status != FX8_OK)
        fprintf(stderr, "memory: %s\n", error.message);
    fx8_close(&session);
    return status == FX8_OK ? 0 : 1;
}
