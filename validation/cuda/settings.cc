/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.cc -- see settings.h. */
#include "validation/cuda/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thread>

#include "validation/cuda/runtime.h"

namespace harness
{

void fault(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fflush(stdout);
    fprintf(stderr, "harness: %s\n", text);
    _exit(FAULT_STATUS);
}

/* A whole number from the environment, or `otherwise`. */
static long long number_from(const char *variable, long long otherwise)
{
    const char *text = getenv(variable);
    if (text == nullptr || *text == '\0')
        return otherwise;
    char *end = nullptr;
    const long long number = strtoll(text, &end, 10);
    if (*end != '\0')
        fault("%s: %s: not a number", variable, text);
    return number;
}

static Order order_from(const char *variable, const char *first,
                        const char *last, Order::Kind otherwise)
{
    const char *text = getenv(variable);
    if (text == nullptr || *text == '\0')
        return {otherwise, 0};
    if (strcmp(text, first) == 0)
        return {Order::FIRST, 0};
    if (strcmp(text, last) == 0)
        return {Order::LAST, 0};
    return {Order::RANDOM, static_cast<uint64_t>(number_from(variable, 0))};
}

/* NUMBER[+][:ERROR], ERROR a name. */
static void read_failure(Settings *read)
{
    const char *text = getenv("FX8_HARNESS_FAIL");
    read->fail_error = cudaErrorUnknown;
    if (text == nullptr || *text == '\0')
        return;
    char *end = nullptr;
    read->fail_call = strtoull(text, &end, 10);
    read->fails_on = *end == '+';
    end += read->fails_on;
    if (*end == '\0')
        return;
#define FX8_IF_NAMED(name, number, words)                                      \
    if (strcmp(end, ":" #name) == 0) {                                         \
        read->fail_error = name;                                               \
        return;                                                                \
    }
    FX8_CUDA_ERRORS(FX8_IF_NAMED)
#undef FX8_IF_NAMED
    fault("FX8_HARNESS_FAIL: %s: NUMBER[+][:ERROR], ERROR a cudaError_t", text);
}

static Settings read_environment()
{
    const long long cores = std::thread::hardware_concurrency();
    Settings read = Settings();
    read.n_devices = static_cast<int>(number_from("FX8_HARNESS_DEVICES", 1));
    read.memory_bytes =
        static_cast<size_t>(number_from("FX8_HARNESS_MEMORY_MIB", 64)) << 20;
    read.most_pitch =
        static_cast<size_t>(number_from("FX8_HARNESS_PITCH", INT32_MAX));
    read.architecture = static_cast<int>(number_from("FX8_HARNESS_SM", 90));
    read.n_threads = static_cast<int>(
        number_from("FX8_HARNESS_THREADS", cores < 4 ? cores : 4));
    read.fibres =
        order_from("FX8_HARNESS_FIBRES", "forward", "reverse", Order::FIRST);
    read.streams =
        order_from("FX8_HARNESS_STREAMS", "eager", "late", Order::LAST);
    read_failure(&read);
    read.hanging_kernel = getenv("FX8_HARNESS_HANG");
    read.idle_call = static_cast<uint64_t>(number_from("FX8_HARNESS_IDLE", 0));
    read.elapsed_ms = number_from("FX8_HARNESS_ELAPSED_MS", -1);
    read.plant = getenv("FX8_HARNESS_PLANT");
    read.report = getenv("FX8_HARNESS_REPORT");
    read.leaks_are_faults = number_from("FX8_HARNESS_LEAKS", 1) != 0;
    return read;
}

Settings &settings()
{
    static Settings read = read_environment();
    return read;
}

} // namespace harness
