/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings.h -- the properties and planted failures of the pretend machine: set
 * from the environment on first use, then by tests.  README.md lists the
 * variables.
 */
#ifndef FX8_VALIDATION_CUDA_SETTINGS_H
#define FX8_VALIDATION_CUDA_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "validation/cuda/checkers.h"

namespace harness
{

/** Exit status of a program in which the harness found a fault. */
constexpr int FAULT_STATUS = 97;

/** The chosen order of events that may happen in any order. */
struct Order {
    enum Kind { FIRST, LAST, RANDOM } kind;
    uint64_t seed; /* of RANDOM */
};

/** As a number of devices: no driver at all. */
constexpr int NO_DRIVER = -1;

struct Settings {
    int n_devices;       /* FX8_HARNESS_DEVICES */
    size_t memory_bytes; /* of each device; FX8_HARNESS_MEMORY_MIB */
    size_t most_pitch;   /* of copies of rows; FX8_HARNESS_PITCH */
    int architecture;    /* FX8_HARNESS_SM: 90 is sm_90 */
    int n_threads;       /* over the blocks of a launch; FX8_HARNESS_THREADS */
    Order fibres;        /* FX8_HARNESS_FIBRES: FIRST is forward */
    Order streams;       /* FX8_HARNESS_STREAMS: FIRST is eager, LAST late */
    uint64_t fail_call;  /* number of the runtime call that fails, from 1; 0
                            is none; FX8_HARNESS_FAIL=NUMBER[:ERROR] */
    int fail_error;      /* the cudaError_t of that failure */
    bool fails_on;       /* all later calls fail too: NUMBER+ */
    uint64_t
        idle_call;         /* number of a call that, if it is a launch, succeeds
                              without doing anything; 0 is none; FX8_HARNESS_IDLE */
    uint64_t hanging_call; /* number of a call that, if it is a launch, queues
                              work that never ends; 0 is none */
    const char *hanging_kernel; /* its launches never end; FX8_HARNESS_HANG */
    const char *plant; /* PART:FAULT, comma-separated: the fault is planted in
                          kernels with PART in the name; FX8_HARNESS_PLANT */
    long long elapsed_ms; /* between any two events; -1: the real time;
                             FX8_HARNESS_ELAPSED_MS */
    const char *report; /* file written at exit, or null; FX8_HARNESS_REPORT */
    bool leaks_are_faults; /* at exit; off by FX8_HARNESS_LEAKS=0 */
};

/** The current settings.  A change takes effect with the next launch or call; a
 *  change of devices and memory after reset_devices(). */
Settings &settings();

/** Print "harness: " and a line on stderr, then exit with FAULT_STATUS. */
[[noreturn]] void fault(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/** A generator's next number (splitmix64, Steele, Lea and Flood 2014). */
FX8_UNSEEN inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* --- for tests ------------------------------------------------------------ */

/** Number of runtime and cuFFT calls so far, including launches. */
uint64_t count_calls();

/** Name of the call that was made to fail, or null. */
const char *failed_call();

/** Number of allocations, streams, events and plans that still exist. */
size_t count_live();

/** Start over with the current settings: no device, no error, no call yet.
 *  Anything that still exists is a fault. */
void reset_devices();

} // namespace harness

#endif
