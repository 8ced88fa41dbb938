/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "validation/numerics/machine.h"

/* The value of "key : value" in the first block of /proc/cpuinfo. */
static void read_cpuinfo(const char *key, char *value, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(value, size, "unknown");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (colon == NULL)
            continue;
        line[strcspn(line, "\t:")] = '\0';
        colon[1 + strcspn(colon + 1, "\n")] = '\0';
        if (strcmp(line, key) == 0) {
            snprintf(value, size, "%s",
                     colon[1] == ' ' ? colon + 2 : colon + 1);
            break;
        }
    }
    if (file != NULL)
        fclose(file);
}

const char *machine_cpu(void)
{
    static char text[256];
    char name[96], family[32], model[32];
    read_cpuinfo("model name", name, sizeof name);
    read_cpuinfo("cpu family", family, sizeof family);
    read_cpuinfo("model", model, sizeof model);
    snprintf(text, sizeof text, "%s family %s model %s", name, family, model);
    return text;
}

const char *machine_software(void)
{
    static char text[256];
#if defined(__clang__)
    const char *compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
    const char *compiler = "gcc " __VERSION__;
#else
    const char *compiler = "unknown compiler";
#endif
#if defined(__GLIBC__)
    snprintf(text, sizeof text, "%s, glibc %s", compiler,
             gnu_get_libc_version());
#else
    snprintf(text, sizeof text, "%s, another C library than glibc", compiler);
#endif
    return text;
}

const char *machine_date(void)
{
    static char text[16];
    const time_t now = time(NULL);
    struct tm parts;
    strftime(text, sizeof text, "%Y-%m-%d", gmtime_r(&now, &parts));
    return text;
}

void result_path(const char *kind, const char *name, char *path, size_t size)
{
    snprintf(path, size, "validation/results/numerics-%s%s%s.md", kind,
             kind[0] == '\0' ? "" : "-", name);
    /* every run of other characters becomes one hyphen */
    char *const suffix = path + strlen(path) - strlen(".md");
    char *to = path + strlen("validation/results/");
    for (const char *from = to; from < suffix; from++) {
        if (isalnum((unsigned char)*from))
            *to++ = (char)tolower((unsigned char)*from);
        else if (to[-1] != '-')
            *to++ = '-';
    }
    memmove(to, suffix, sizeof ".md");
}

void join_command(int argc, char **argv, char *text, size_t size)
{
    const char *slash = strrchr(argv[0], '/');
    snprintf(text, size, "%s", slash == NULL ? argv[0] : slash + 1);
    for (int k = 1; k < argc; k++) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used, " %s", argv[k]);
    }
}
