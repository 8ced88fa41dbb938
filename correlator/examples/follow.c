/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * follow.c -- correlates a recording while it is being written.
 *
 *     cc follow.c $(pkg-config --cflags --libs fx8) -o follow
 *     follow FILE SECONDS
 *
 * The recorder appends int8 samples [time][antenna][re, im] to FILE, and -128
 * in place of those that were lost.  Prints every dump as soon as it is whole,
 *
 *     unix_time antenna_1 antenna_2 frequency_hz re im weight
 *
 * and ends when nothing was appended for SECONDS, or at SIGINT or SIGTERM.
 */
#include <fcntl.h>
#include <fx8.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* What the recorder does, and what is wanted of it. */
enum { ANTENNAS = 3, CHANNELS = 16, SPECTRA_PER_DUMP = 1000, BLOCK = 8192 };
static const struct fx8_rate sample_rate = {1000000, 1};
static const struct fx8_time start = {1600000000, 0};
static const double dc_frequency_hz = 150e6;

static volatile sig_atomic_t is_stopped;

static void stop(int signal_number)
{
    (void)signal_number;
    is_stopped = 1;
}

static enum fx8_status on_dump(void *context, const struct fx8_dump *dump,
                               struct fx8_error *error)
{
    const struct fx8_plan *plan = context;
    const struct fx8_time time = fx8_dump_time(plan, start, dump->index);
    double frequencies_hz[CHANNELS], width_hz;
    fx8_frequencies(plan, frequencies_hz, &width_hz);
    for (size_t cell = 0; cell < dump->n_baselines * CHANNELS; cell++) {
        size_t antenna_1, antenna_2;
        fx8_baseline_antennas(ANTENNAS, cell / CHANNELS, &antenna_1,
                              &antenna_2);
        printf("%lld.%012lld %zu %zu %.0f %.9g %.9g %.9g\n",
               (long long)time.unix_s, (long long)time.picosecond, antenna_1,
               antenna_2, frequencies_hz[cell % CHANNELS],
               (double)dump->int8.visibilities[2 * cell],
               (double)dump->int8.visibilities[2 * cell + 1],
               (double)dump->int8.nsamples[cell]);
    }
    if (fflush(stdout) == 0)
        return FX8_OK;
    /* any negative status ends the session; the record is ours to fill */
    error->status = FX8_ERR_SYSTEM;
    snprintf(error->message, sizeof error->message, "cannot write");
    return FX8_ERR_SYSTEM;
}

/* The recording, and room for one block of it. */
struct recording {
    int fd;
    double patience_s;
    int8_t samples[BLOCK][ANTENNAS][2];
    ptrdiff_t input_offset[ANTENNAS];
};

/* Wait for samples from `first` on, at least one of every antenna; 0 when none
 * come any more. */
static int64_t read_block(struct recording *recording, int64_t first,
                          struct fx8_block *block)
{
    const size_t size = sizeof recording->samples[0];
    double waited_s = 0;
    *block = (struct fx8_block){.samples = recording->samples[0][0],
                                .input_offset = recording->input_offset,
                                .time_stride = (ptrdiff_t)size,
                                .first_sample = first};
    while (!is_stopped) {
        const ssize_t n = pread(recording->fd, recording->samples,
                                sizeof recording->samples, first * (off_t)size);
        if (n < 0) {
            perror("follow");
            exit(1);
        }
        block->n_samples = n / (ssize_t)size;
        if (block->n_samples > 0 || waited_s >= recording->patience_s)
            break;
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        waited_s += 0.02;
    }
    return block->n_samples;
}

/* The gains of 8 bits come from the first samples: read ahead, and begin again
 * at the block that was refused. */
static enum fx8_status set_gains(struct fx8_session *session,
                                 struct recording *recording, int64_t first,
                                 struct fx8_error *error)
{
    struct fx8_block block;
    bool done = false;
    while (!done && read_block(recording, first, &block) > 0) {
        const enum fx8_status status = fx8_level(session, &block, &done, error);
        if (status != FX8_OK)
            return status;
        first += block.n_samples;
    }
    return fx8_level_end(session, error);
}

int main(int argc, char **argv)
{
    static struct recording recording;
    struct fx8_plan plan = fx8_plan_default();
    struct fx8_session *session = NULL;
    struct fx8_block block;
    struct fx8_error error;
    int64_t first = 0, dropped = 0;
    if (argc != 3 || (recording.fd = open(argv[1], O_RDONLY)) < 0) {
        fprintf(stderr, "usage: follow FILE SECONDS\n");
        return 2;
    }
    recording.patience_s = strtod(argv[2], NULL);
    for (size_t a = 0; a < ANTENNAS; a++)
        recording.input_offset[a] = (ptrdiff_t)(2 * a);
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    plan.n_antennas = ANTENNAS;
    plan.sample_rate = sample_rate;
    plan.dc_frequency_hz = dc_frequency_hz;
    plan.n_channels = CHANNELS;
    plan.spectra_per_dump = SPECTRA_PER_DUMP;
    plan.has_marker = true;
    plan.marker_value = -128;
    enum fx8_status status = fx8_open(&plan, on_dump, &plan, &session, &error);
    while (status == FX8_OK && read_block(&recording, first, &block) > 0) {
        status = fx8_push(session, &block, &error);
        if (status == FX8_OK)
            first += block.n_samples;
        else if (status == FX8_LEVEL_NEEDED)
            status = set_gains(session, &recording, first, &error);
    }
    if (status == FX8_OK)
        status = fx8_finish(session, &dropped, &error);
    if (status != FX8_OK)
        fprintf(stderr, "follow: %s\n", error.message);
    fprintf(stderr,
            "follow: %lld samples, %lld spectra of an unfinished dump\n",
            (long long)first, (long long)dropped);
    fx8_close(&session);
    return status == FX8_OK ? 0 : 1;
}
