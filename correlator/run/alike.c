/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "config/base/sha256.h"
#include "config/base/try.h"
#include "correlator/run/alike.h"

/* What must be the same. */
enum { SIZE, SAMPLES, RATE, START, FREQUENCY, INPUTS, DUMPS, KEYS, N_FACTS };

static const char *const names[N_FACTS] = {
    [SIZE] = "bytes of the file",
    [SAMPLES] = "samples",
    [RATE] = "sample rate",
    [START] = "start",
    [FREQUENCY] = "frequency",
    [INPUTS] = "antennas x polarizations x bands",
    [DUMPS] = "dumps",
    [KEYS] = "digest of the configuration",
};

struct facts {
    char texts[N_FACTS][FX8_SHA256_TEXT_SIZE];
};

/* Digest of the keys that decide the results. */
static enum fx8_status digest(const struct fx8_job *job, char *text,
                              struct fx8_error *error)
{
    FX8_AUTO_FREE char *keys = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&keys, &size);
    if (stream == NULL)
        return fx8_fail(error, FX8_ERR_SYSTEM,
                        "out of memory: the configuration");
    fx8_settings_dump_results(job->settings, stream);
    if (fclose(stream) != 0)
        return fx8_fail(error, FX8_ERR_SYSTEM,
                        "out of memory: the configuration");
    fx8_sha256(keys, size, text);
    return FX8_OK;
}

static enum fx8_status collect(const struct fx8_job *job, struct facts *facts,
                               struct fx8_error *error)
{
    const struct fx8_observation *o = &job->observation;
    struct stat file;
    long long size = 0;
    memset(facts, 0, sizeof *facts);
    if (stat(job->path, &file) == 0 && S_ISREG(file.st_mode))
        size = (long long)file.st_size;
#define PUT(fact, ...)                                                         \
    snprintf(facts->texts[fact], sizeof facts->texts[fact], __VA_ARGS__)
    PUT(SIZE, "%lld", size);
    PUT(SAMPLES, "%lld", (long long)o->n_samples);
    PUT(RATE, "%lld/%lld Hz", (long long)job->plan.sample_rate.numerator_hz,
        (long long)job->plan.sample_rate.denominator);
    PUT(START, "%lld s + %lld ps", (long long)o->start_time.unix_s,
        (long long)o->start_time.picosecond);
    PUT(FREQUENCY, "%.17g Hz", job->plan.dc_frequency_hz);
    PUT(INPUTS, "%zu x %zu x %zu", o->n_antennas, o->n_polarizations,
        job->plan.n_bands);
    PUT(DUMPS, "%lld", (long long)job->n_dumps);
#undef PUT
    return digest(job, facts->texts[KEYS], error);
}

enum fx8_status fx8_alike_check(const struct fx8_job *job,
                                const struct fx8_ranks *ranks,
                                struct fx8_error *error)
{
    struct facts own, first;
    enum fx8_status status = collect(job, &own, error);
    FX8_TRY(fx8_ranks_agree(ranks, status, error));
    first = own;
    FX8_TRY(ranks->operations->broadcast(&first, sizeof first, error));
    for (int fact = 0; fact < N_FACTS && status == FX8_OK; fact++)
        if (strcmp(own.texts[fact], first.texts[fact]) != 0)
            status = fx8_fail(
                error, FX8_ERR_INPUT, "%s: %s: %s: expected %s, as on rank 0",
                job->path, names[fact], own.texts[fact], first.texts[fact]);
    return fx8_ranks_agree(ranks, status, error);
}
