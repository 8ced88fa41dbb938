/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * follow.c -- correlates a recording while it is being written.
 *
 *     cc follow.c $(pkg-config --cflags --libs fx8) -o follow
 *     follow FILE SECONDS
 *
 * The recorder appends int8 samples [time][antenna][re, im] to FILE, with -128
 * for lost samples.  Prints every dump as soon as it is complete,
 *
 *     unix_time antenna_1 antenna_2 frequency_hz re im weight
 *
 * and ends when nothing was appended for SECONDS, or on SIGINT or SIGTERM.
 */
#include <fcntl.h>
#include <fx8.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ANTENNAS = 3, CHANNELS = 16, BLOCK = 8192 };
static const struct fx8_time start = {1600000000, 0}; /* of the recording */

static int fd;            /* the recording */
static double patience_s; /* longest wait for more samples */
static int8_t samples[BLOCK][ANTENNAS][2];
static const ptrdiff_t input_offset[ANTENNAS] = {0, 2, 4};
static volatile sig_atomic_t is_stopped;

static void stop(int signal_number)
{
    is_stopped = signal_number;
}

static enum fx8_status on_dump(void *context, const struct fx8_dump *dump,
                               struct fx8_error *error)
{
    const struct fx8_plan *plan = context;
    const struct fx8_result *result = &dump->results[FX8_RESULT_INT8];
    const struct fx8_time time = fx8_dump_time(plan, start, dump->index);
    double hz[CHANNELS], width_hz;
    fx8_frequencies(plan, hz, &width_hz);
    for (size_t cell = 0; cell < dump->n_baselines * CHANNELS; cell++) {
        const float *value = &result->visibilities[2 * cell];
        size_t a, b;
        fx8_baseline_antennas(ANTENNAS, cell / CHANNELS, &a, &b);
        printf("%lld.%012lld %zu %zu %.0f %.9g %.9g %.9g\n",
               (long long)time.unix_s, (long long)time.picosecond, a, b,
               hz[cell % CHANNELS], (double)value[0], (double)value[1],
               (double)result->nsamples[cell]);
    }
    if (fflush(stdout) != 0) /* a failure ends the session */
        return fx8_fail(error, FX8_ERR_SYSTEM, "standard output: cannot write");
    return FX8_OK;
}

/* Read the samples from `first` on, at least one per antenna; false when no
 * more arrive. */
static bool read_block(int64_t first, struct fx8_block *block)
{
    const off_t size = sizeof samples[0];
    ssize_t n = 0;
    for (double s = 0; n < size && !is_stopped && s <= patience_s; s += 0.02) {
        if (s > 0)
            nanosleep(&(struct timespec){0, 20000000}, NULL);
        if ((n = pread(fd, samples, sizeof samples, first * size)) < 0) {
            perror("follow");
            exit(1);
        }
    }
    *block = (struct fx8_block){.samples = samples[0][0],
                                .input_offset = input_offset,
                                .time_stride = size,
                                .first_sample = first,
                                .n_samples = n / size};
    return n >= size;
}

/* Push all samples; `first` becomes the end of what was pushed. */
static enum fx8_status follow(struct fx8_session *session, int64_t *first,
                              int64_t *dropped, struct fx8_error *error)
{
    struct fx8_block block;
    while (read_block(*first, &block)) {
        const enum fx8_status status = fx8_push(session, &block, error);
        if (status != FX8_OK)
            return status;
        *first += block.n_samples;
    }
    return fx8_finish(session, dropped, error);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: follow FILE SECONDS\n");
        return 2;
    }
    if ((fd = open(argv[1], O_RDONLY)) < 0) {
        perror(argv[1]);
        return 2;
    }
    patience_s = strtod(argv[2], NULL);
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    struct fx8_plan plan = fx8_plan_default();
    plan.n_antennas = ANTENNAS;
    plan.sample_rate = (struct fx8_rate){1000000, 1};
    plan.dc_frequency_hz = 150e6;
    plan.channelizer.n_channels = CHANNELS;
    plan.spectra_per_dump = 1000;
    plan.marker.is_used = true;
    plan.marker.value = -128;
    struct fx8_session *session;
    struct fx8_error error;
    int64_t first = 0, dropped = 0;
    enum fx8_status status = fx8_open(&plan, on_dump, &plan, &session, &error);
    if (status == FX8_OK)
        status = follow(session, &first, &dropped, &error);
    if (status != FX8_OK)
        fprintf(stderr, "follow: %s\n", error.message);
    fprintf(stderr,
            "follow: samples: %lld, spectra of an unfinished dump: %lld\n",
            (long long)first, (long long)dropped);
    fx8_close(&session);
    return status == FX8_OK ? 0 : 1;
}
