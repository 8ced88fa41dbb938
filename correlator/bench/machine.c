/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine.c -- the machine that a benchmark runs on: what it is, its files, its
 * clock.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "config/base/clock.h"
#include "config/base/number.h"
#include "config/base/parallel.h"
#include "correlator/bench/bench.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER ""
#endif

/* Value of "key : value" in the first block of /proc/cpuinfo, or "". */
static void read_cpuinfo(const char *key, char *value, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    value[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const size_t length = strcspn(line, "\t:");
        const char *colon = strchr(line, ':');
        if (colon == NULL || length != strlen(key) ||
            strncmp(line, key, length) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " ");
        snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    if (file != NULL)
        fclose(file);
}

/* The first word of a file, or "". */
static void read_word(const char *path, char *word, size_t size)
{
    FILE *file = fopen(path, "r");
    word[0] = '\0';
    if (file != NULL && fgets(word, (int)size, file) == NULL)
        word[0] = '\0';
    word[strcspn(word, " \n")] = '\0';
    if (file != NULL)
        fclose(file);
}

void fx8_bench_machine_ask(struct fx8_bench_machine *machine)
{
    char name[64], family[8], model[8], mhz[32];
    *machine = (struct fx8_bench_machine){.n_cpus = fx8_parallel_cpus()};
    read_cpuinfo("model name", name, sizeof name);
    read_cpuinfo("cpu family", family, sizeof family);
    read_cpuinfo("model", model, sizeof model);
    if (family[0] != '\0')
        snprintf(machine->cpu, sizeof machine->cpu, "%s, family %s model %s",
                 name, family, model);
    else
        snprintf(machine->cpu, sizeof machine->cpu, "%s", name);
    read_cpuinfo("cpu MHz", mhz, sizeof mhz);
    if (!fx8_number_real(mhz, &machine->frequency_mhz))
        machine->frequency_mhz = NAN;
    read_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
              machine->governor, sizeof machine->governor);
    if (getloadavg(&machine->load, 1) != 1)
        machine->load = NAN;
    snprintf(machine->compiler, sizeof machine->compiler, "%s", COMPILER);
#if defined(__GLIBC__)
    snprintf(machine->c_library, sizeof machine->c_library, "glibc %s",
             gnu_get_libc_version());
#endif
    fx8_number_format_time((struct fx8_time){time(NULL), 0}, machine->date);
}

enum fx8_status fx8_bench_file(const char *suffix,
                               char path[FX8_BENCH_PATH_SIZE],
                               struct fx8_error *error)
{
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || folder[0] == '\0')
        folder = "/tmp";
    const int length =
        snprintf(path, FX8_BENCH_PATH_SIZE, "%s/fx8-bench-%ld.%s", folder,
                 (long)getpid(), suffix);
    return length < FX8_BENCH_PATH_SIZE
               ? FX8_OK
               : fx8_fail(error, FX8_ERR_USAGE,
                          "TMPDIR: %.80s...: expected a path of at most %d "
                          "bytes",
                          folder, FX8_BENCH_PATH_SIZE - 40);
}

static double time_part(void (*work)(void *context, size_t n), void *context,
                        size_t n)
{
    const double start = fx8_clock_seconds();
    work(context, n);
    return fx8_clock_seconds() - start;
}

double fx8_bench_time(void (*work)(void *context, size_t n), void *context,
                      double part_s, size_t n_parts)
{
    size_t n = 1;
    double best_s;
    while ((best_s = time_part(work, context, n)) < part_s)
        n *= 2;
    for (size_t part = 1; part < n_parts; part++)
        best_s = fmin(best_s, time_part(work, context, n));
    return best_s / (double)n;
}
