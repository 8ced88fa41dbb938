/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * task.cuh -- what the sections about correlators share: random spectra of an
 * array and a kernel on them, compared with sums by the definition and with
 * the ceilings.
 *
 * The job of a call is larger than the cache, and takes turns with a second one
 * of the same size.  Every kernel first correlates some channels from zeroed
 * sums; unless these equal the definition it is not measured.
 */
#ifndef FX8_VALIDATION_GPU_TASK_CUH
#define FX8_VALIDATION_GPU_TASK_CUH

#include <memory>

#include "validation/gpu/bench.cuh"

namespace bench
{

/** Spectra of both precisions of an array, and its sums. */
struct Task {
    Array array8, array32; /**< channels of a call of either precision */
    std::unique_ptr<Memory<int8_t>> x8;
    std::unique_ptr<Memory<float>> x32;
    std::unique_ptr<Memory<int64_t>> sums;     /**< int64 or double */
    std::unique_ptr<Memory<int64_t>> expected; /**< by the definition */

    /** Whether memory suffices for a call. */
    bool is_possible() const
    {
        return array8.n_channels > 0;
    }
};

/** Spectra for calls of n_inputs inputs and n_times times. */
Task make_task(Bench &bench, size_t n_inputs, size_t n_times);

/** A call on one of two sets of spectra. */
fx8_cuda_correlation job_of(const Bench &bench, const Task &task, bool is_int8,
                            size_t set);

/** A correlator checked and measured; if not, its note says why. */
Figure measure_one(Bench &bench, Task *task,
                   const fx8_cuda_correlator &correlator);

/** A line for a figure, with its share if the ceiling is known. */
void print_figure(Bench &bench, const Array &array, const Figure &figure);

/** A row and a line for a figure. item_bytes: of a number, 1 or 4; 0: no share
 *  of a copy */
void tell_figure(Bench &bench, const Array &array, const Figure &figure,
                 size_t item_bytes);

/** The fastest figure of a kind, or null. */
const Figure *best_of(const std::vector<Figure> &figures, const char *kind);

/** The fastest figure of the integer kernels, or null. */
const Figure *best_of_integers(const std::vector<Figure> &figures);

/** Times of a call of the engine for so many inputs; 0: not known, which was
 *  reported. */
size_t times_of_call(Bench &bench, size_t n_inputs);

/** Pass the figures of an array to the goals. */
void note_goals(Bench &bench, size_t n_inputs, size_t n_times,
                const std::vector<Figure> &figures);

} // namespace bench

#endif
