/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host.cu -- see bench.cuh: the CPU beside the card on the same arrays, with
 * the correlators of kernels/cpu that fx8 uses without a card.
 *
 * Channels are spread over the threads, each with sums of its own, as in the
 * CPU engine with many channels; folding is left out, as on the card.
 */
#include <algorithm>
#include <memory>

#include "config/base/clock.h"
#include "config/base/parallel.h"
#include "config/base/shape.h"
#include "kernels/operations.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

namespace
{

/* Bytes of the spectra of one precision: beyond the caches of a CPU. */
constexpr size_t POOL_BYTES = size_t(256) << 20;
constexpr size_t TINY_POOL_BYTES = size_t(1) << 20;

/* Least length of a round, if there are enough spectra: all threads start
 * within a hundredth of it. */
constexpr double ENOUGH_S = 0.04;
constexpr size_t ROUNDS = 3; /* odd, so that there is a median */

/* Least times of a call, before its speed is known. */
constexpr size_t FIRST_TIMES = 2 * FX8_GROUP;

/* --- spectra ---------------------------------------------------------------
 */

/* Uniform, -63 to 63, and sometimes -128; the FP32 numbers equal the first of
 * the bytes. */
void fill(int8_t *int8, float *fp32, size_t n_bytes)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t k = 0; k < n_bytes; ++k) {
        state ^= state << 13; /* xorshift64 */
        state ^= state >> 7;
        state ^= state << 17;
        const int value = static_cast<int>((state >> 32) % 127) - 63;
        int8[k] = static_cast<int8_t>((state >> 52) == 0 ? -128 : value);
        if (k < n_bytes / sizeof(float))
            fp32[k] = static_cast<float>(int8[k]);
    }
}

HostMemory allocate(size_t bytes)
{
    void *memory = nullptr;
    fx8_error error;
    if (fx8_allocate(bytes, 1, "the CPU", &memory, &error) != FX8_OK)
        throw Failure(error.message);
    return HostMemory(static_cast<char *>(memory), std::free);
}

/* --- a call ----------------------------------------------------------------
 */

/** Channels of one precision; the layout is that of the CPU engine. */
struct Call {
    const fx8_operations *operations;
    bool is_int8;
    Array array;
    const char *x;
    HostMemory sums; /* of every channel, empty at first */

    size_t sample_bytes() const
    {
        return is_int8 ? sizeof(fx8_ci8) : sizeof(fx8_cf32);
    }
    /* A cache line more than the times need: rows a power of two apart would
     * compete for lines of the first-level cache. */
    size_t stride() const
    {
        return array.n_times + FX8_ALIGNMENT / sample_bytes();
    }
    size_t channel_bytes() const
    {
        return fx8_round_up(array.n_inputs, FX8_ROW_BLOCK) * stride() *
               sample_bytes();
    }
    size_t sums_bytes() const
    {
        const size_t bytes =
            is_int8 ? operations->int8.accumulator_size(array.n_inputs) *
                          sizeof(int32_t)
                    : operations->fp32.accumulator_size(array.n_inputs) *
                          sizeof(double);
        return fx8_round_up(bytes, FX8_ALIGNMENT);
    }
};

void correlate_channel(void *context, size_t channel, size_t)
{
    const Call *const call = static_cast<const Call *>(context);
    const Array &a = call->array;
    const fx8_row_blocks all = fx8_row_blocks_all(a.n_inputs);
    const void *const x = call->x + channel * call->channel_bytes();
    void *const sums = call->sums.get() + channel * call->sums_bytes();
    if (call->is_int8)
        call->operations->int8.accumulate(
            a.n_inputs, all, a.n_times, static_cast<const fx8_ci8 *>(x),
            call->stride(), static_cast<int32_t *>(sums));
    else
        call->operations->fp32.accumulate(
            a.n_inputs, all, a.n_times, static_cast<const fx8_cf32 *>(x),
            call->stride(), static_cast<double *>(sums));
}

/** Seconds of a call; its sums remain. */
double time_call(Call *call, size_t n_threads)
{
    const Array &a = call->array;
    call->sums.reset(); /* both at once may be too much */
    call->sums = allocate(a.n_channels * call->sums_bytes());
    const double begin = fx8_clock_seconds();
    fx8_parallel_for(a.n_channels, n_threads, false, correlate_channel, call);
    return fx8_clock_seconds() - begin;
}

/** Whether the last channel's sums of the last input with itself and with the
 *  first one match its spectra: whole numbers, whose sums are exact. */
template <class Number, class Item, class Sum>
bool agrees(Call *call,
            void (*fold)(size_t n_inputs, fx8_strip strip, Item *, Sum *))
{
    const Array &a = call->array;
    const size_t channel = a.n_channels - 1, last = a.n_inputs - 1;
    std::vector<Sum> sums(2 * fx8_pair_count(a.n_inputs));
    char *const accumulator = call->sums.get() + channel * call->sums_bytes();
    fold(a.n_inputs, fx8_strip_whole(a.n_inputs),
         reinterpret_cast<Item *>(accumulator), sums.data());
    const Number *const x = reinterpret_cast<const Number *>(
        call->x + channel * call->channel_bytes());
    const Number *const b = x + 2 * last * call->stride();
    for (const size_t i : {size_t(0), last}) {
        const Number *const a_i = x + 2 * i * call->stride();
        double re = 0, im = 0;
        for (size_t t = 0; t < 2 * a.n_times; t += 2) {
            re += static_cast<double>(b[t] * a_i[t] + b[t + 1] * a_i[t + 1]);
            im += static_cast<double>(b[t + 1] * a_i[t] - b[t] * a_i[t + 1]);
        }
        const size_t at = 2 * fx8_pair_index(i, last);
        if (static_cast<double>(sums[at]) != re ||
            static_cast<double>(sums[at + 1]) != im)
            return false;
    }
    return true;
}

/** More times, then more channels, until a call is long enough or the spectra
 *  end. */
void grow(Call *call, size_t n_times, size_t pool_bytes, size_t n_threads)
{
    for (;;) {
        const Array now = call->array;
        if (time_call(call, n_threads) >= ENOUGH_S)
            return;
        if (now.n_times < n_times)
            call->array.n_times = std::min(2 * now.n_times, n_times);
        else
            call->array.n_channels *= 2;
        if (call->array.n_channels * call->channel_bytes() > pool_bytes) {
            call->array = now;
            return;
        }
    }
}

const fx8_operations *best_operations()
{
    const fx8_operations *operations;
    fx8_error error;
    if (fx8_operations_select("auto", &operations, &error) != FX8_OK)
        throw Failure(error.message);
    return operations;
}

size_t pool_bytes(bool is_tiny)
{
    return is_tiny ? TINY_POOL_BYTES : POOL_BYTES;
}

} // namespace

Host::Host(const Bench &bench)
    : is_tiny_(bench.is_tiny()), operations_(best_operations()),
      n_threads_(fx8_parallel_cpus()), int8_(allocate(pool_bytes(is_tiny_))),
      fp32_(allocate(pool_bytes(is_tiny_)))
{
    fill(reinterpret_cast<int8_t *>(int8_.get()),
         reinterpret_cast<float *>(fp32_.get()), pool_bytes(is_tiny_));
}

std::string Host::describe() const
{
    return std::string(operations_->name) + ", " + std::to_string(n_threads_) +
           (n_threads_ == 1 ? " thread" : " threads");
}

Figure Host::measure(const HostCase &what, Array *array) const
{
    Figure figure = {what.name, "", 0, 0};
    const bool is_int8 = what.is_int8;
    const size_t n_threads = what.is_one_core ? 1 : n_threads_;
    Call call = {
        operations_,
        is_int8,
        {array->n_inputs, std::min(array->n_times, FIRST_TIMES), n_threads},
        (is_int8 ? int8_ : fp32_).get(),
        HostMemory(nullptr, std::free)};
    if (n_threads * call.channel_bytes() > pool_bytes(is_tiny_)) {
        figure.note = "not enough memory set aside";
        return figure;
    }
    try {
        if (!is_tiny_)
            grow(&call, array->n_times, pool_bytes(is_tiny_), n_threads);
        double rounds[ROUNDS];
        for (double &round : rounds)
            round = time_call(&call, n_threads);
        std::sort(rounds, rounds + ROUNDS);
        figure.seconds = rounds[ROUNDS / 2];
        figure.operations = call.array.operations();
        *array = call.array;
        if (is_int8 ? !agrees<int8_t>(&call, operations_->int8.fold)
                    : !agrees<float>(&call, operations_->fp32.fold)) {
            figure.seconds = 0;
            figure.note = "DIFFERS";
        }
    } catch (const Failure &failure) {
        figure.note = failure.what();
    }
    return figure;
}

} // namespace bench
