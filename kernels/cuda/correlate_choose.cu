/* SPDX-License-Identifier: BSD-3-Clause */
/* correlate_choose.cu -- see correlate.h: try and measure correlators on the
 * current device. */
#include <string.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

#include "kernels/cuda/correlate.h"
#include "kernels/cuda/layout.h"
#include "kernels/operations.h"

namespace
{

/* The job with known sums: its inputs are a multiple of no tile, its times of
 * no stage; every input is -128 at the first time. */
constexpr size_t TRIED_INPUTS = 131;
constexpr size_t TRIED_TIMES = 70;

/* Limits of the measured job. */
constexpr size_t MOST_MEASURED_BYTES = size_t(128) << 20;
constexpr size_t MOST_MEASURED_TIMES = 4096;
constexpr float ENOUGH_MILLISECONDS = 5;
constexpr int MEASUREMENTS = 5; /* an odd number: there is a median */

/* Ends a chain of calls with the first error. */
#define TRY(call)                                                              \
    do {                                                                       \
        const cudaError_t error_ = (call);                                     \
        if (error_ != cudaSuccess)                                             \
            return error_;                                                     \
    } while (0)

/* A resource of a device; not released if the device is stuck. */
template <class Handle, cudaError_t (*release)(Handle)> class Held
{
  public:
    Held() = default;
    Held(const Held &) = delete;
    Held &operator=(const Held &) = delete;
    ~Held()
    {
        if (handle_ != nullptr && !fx8_cuda_is_stuck(ordinal_))
            release(handle_);
    }
    /* Where the call that creates it puts it. */
    Handle *on(int ordinal)
    {
        ordinal_ = ordinal;
        return &handle_;
    }
    Handle get() const
    {
        return handle_;
    }

  private:
    Handle handle_ = nullptr;
    int ordinal_ = 0;
};

using Memory = Held<void *, cudaFree>;
using Event = Held<cudaEvent_t, cudaEventDestroy>;
using Stream = Held<cudaStream_t, cudaStreamDestroy>;

/* The next number of a generator (Knuth, MMIX); its upper bits are good. */
uint64_t next_random(uint64_t *state)
{
    *state =
        *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

constexpr size_t TAIL_BYTES = 16 * FX8_CUDA_TAIL_ROWS;

/* Random spectra of a channel in the layout of layout.h, values -128 to 127,
 * also in padding rows. */
template <class T> struct Spectra {
    size_t n_inputs, n_times;
    std::vector<T> x;

    static constexpr size_t TIMES = 16 / sizeof(T);

    Spectra(size_t inputs, size_t times)
        : n_inputs(inputs), n_times(times), x(channel_stride() * TIMES)
    {
        uint64_t state = 1;
        for (size_t k = 0; k < x.size(); ++k) {
            const size_t t = k / TIMES / pitch() * TIMES + k % TIMES;
            const int value = static_cast<int>(next_random(&state) % 256) - 128;
            if (t < n_times)
                x[k] = static_cast<T>(t == 0 ? -128 : value);
        }
    }

    size_t pitch() const
    {
        return fx8_cuda_pitch(n_inputs);
    }
    size_t channel_stride() const
    {
        return fx8_cuda_channel_vectors(n_inputs, fx8_cuda_times(n_times),
                                        TIMES);
    }
    int64_t at(size_t input, unsigned part, size_t t) const
    {
        const size_t row = fx8_cuda_row(input, part);
        return static_cast<int64_t>(
            x[(t / TIMES * pitch() + row) * TIMES + t % TIMES]);
    }
    size_t bytes() const
    {
        return x.size() * sizeof(T);
    }
};

/* Twice the sums of the only channel. */
template <class T, class Sum>
std::vector<Sum> expected_sums(const Spectra<T> &spectra)
{
    std::vector<Sum> sums(2 * fx8_pair_count(spectra.n_inputs));
    for (size_t j = 0; j < spectra.n_inputs; ++j)
        for (size_t i = 0; i <= j; ++i) {
            int64_t re = 0, im = 0;
            for (size_t t = 0; t < spectra.n_times; ++t) {
                const int64_t ri = spectra.at(i, 0, t);
                const int64_t mi = spectra.at(i, 1, t);
                const int64_t rj = spectra.at(j, 0, t);
                const int64_t mj = spectra.at(j, 1, t);
                re += rj * ri + mj * mi;
                im += mj * ri - rj * mi;
            }
            const size_t pair = fx8_pair_index(i, j);
            sums[2 * pair] = static_cast<Sum>(2 * re);
            sums[2 * pair + 1] = static_cast<Sum>(2 * im);
        }
    return sums;
}

/* If the code of a kernel is missing for the device, loading or launching it
 * fails and the correlator is rejected. */
cudaError_t note_built(cudaError_t error,
                       struct fx8_cuda_correlator_trial *trial)
{
    if (error != cudaErrorNoKernelImageForDevice &&
        error != cudaErrorInvalidDeviceFunction)
        return error;
    cudaGetLastError(); /* clears the error */
    trial->trouble = "not in this build";
    return cudaSuccess;
}

/* Correlators that did not end, by device and index in the table: they are not
 * tried again in this process. */
std::atomic<bool> hanging[FX8_CUDA_PLACES][FX8_CUDA_MAX_TRIALS];

std::atomic<bool> &does_hang(const struct fx8_cuda_correlator *correlator,
                             int ordinal)
{
    size_t n_correlators;
    return hanging[ordinal % FX8_CUDA_PLACES]
                  [correlator - fx8_cuda_correlators(&n_correlators)];
}

constexpr const char *HANGS = "does not end";

/* Wait for the correlator's work before the event; reject it if it does not
 * end. */
cudaError_t wait_for(struct fx8_cuda_correlator_trial *trial,
                     const Event &event, const fx8_cuda_correlator_use *use)
{
    const cudaError_t error = fx8_cuda_poll(
        event.get(),
        use->deadline_s > 0 ? use->deadline_s : FX8_CUDA_TRIAL_SECONDS);
    if (error != cudaErrorNotReady)
        return error;
    cudaGetLastError();
    int ordinal = 0;
    TRY(cudaGetDevice(&ordinal));
    fx8_cuda_note_stuck(ordinal);
    does_hang(trial->correlator, ordinal) = true;
    trial->trouble = HANGS;
    return cudaSuccess;
}

/* Resources of one correlator's trial, not shared, so that a kernel that never
 * ends does not block the others. */
struct Lane {
    Stream stream;
    Event done;
};

/* Check that a correlator adds the right sums, twice in succession. */
template <class Sum>
cudaError_t try_one(struct fx8_cuda_correlator_trial *trial,
                    const struct fx8_cuda_correlation *job,
                    const fx8_cuda_correlator_use *use, const Lane &lane,
                    const std::vector<Sum> &expected, std::vector<Sum> *found)
{
    cudaError_t error = trial->correlator->accumulate(job);
    if (error == cudaSuccess)
        error = trial->correlator->accumulate(job);
    TRY(note_built(error, trial));
    if (trial->trouble != nullptr)
        return cudaSuccess;
    TRY(cudaEventRecord(lane.done.get(), job->stream));
    TRY(wait_for(trial, lane.done, use));
    if (trial->trouble != nullptr)
        return cudaSuccess;
    TRY(cudaMemcpyAsync(found->data(), job->sums, found->size() * sizeof(Sum),
                        cudaMemcpyDeviceToHost, job->stream));
    TRY(cudaStreamSynchronize(job->stream));
    if (*found != expected) /* a zero may have a sign */
        trial->trouble = "wrong sums";
    return cudaSuccess;
}

/* Allocate memory, create streams and load code first: later, these calls might
 * wait for a kernel that never ends. */
template <class T, class Sum>
cudaError_t try_all(struct fx8_cuda_choice *choice,
                    const fx8_cuda_correlator_use *use, cudaStream_t stream,
                    int ordinal)
{
    const Spectra<T> spectra(TRIED_INPUTS, TRIED_TIMES);
    const std::vector<Sum> expected = expected_sums<T, Sum>(spectra);
    const size_t bytes = expected.size() * sizeof(Sum);
    std::vector<Sum> found(expected.size());
    std::vector<Lane> lanes(choice->n_trials);
    Memory x, sums;
    TRY(cudaMalloc(x.on(ordinal), spectra.bytes() + TAIL_BYTES));
    TRY(cudaMalloc(sums.on(ordinal), choice->n_trials * bytes));
    /* not cudaMemcpy(), which may return before the copy is done and which
     * these streams do not wait for */
    TRY(cudaMemcpyAsync(x.get(), spectra.x.data(), spectra.bytes(),
                        cudaMemcpyHostToDevice, stream));
    TRY(cudaMemsetAsync(sums.get(), 0, choice->n_trials * bytes, stream));
    for (size_t k = 0; k < choice->n_trials; ++k) {
        const struct fx8_cuda_correlation none = {};
        choice->trying = choice->trials[k].correlator;
        TRY(note_built(choice->trying->accumulate(&none), &choice->trials[k]));
        TRY(cudaStreamCreateWithFlags(lanes[k].stream.on(ordinal),
                                      cudaStreamNonBlocking));
        TRY(cudaEventCreate(lanes[k].done.on(ordinal)));
    }
    TRY(cudaStreamSynchronize(stream));
    for (size_t k = 0; k < choice->n_trials; ++k) {
        const struct fx8_cuda_correlation job = {
            TRIED_INPUTS,
            1,
            TRIED_TIMES,
            x.get(),
            spectra.channel_stride(),
            static_cast<char *>(sums.get()) + k * bytes,
            lanes[k].stream.get()};
        auto &trial = choice->trials[k];
        choice->trying = trial.correlator;
        if (trial.trouble == nullptr)
            TRY(try_one(&trial, &job, use, lanes[k], expected, &found));
        if (use->is_any && trial.trouble == nullptr)
            choice->n_trials = k + 1;
    }
    choice->trying = nullptr;
    return cudaSuccess;
}

/* Measure the time of one call, unless it does not end. */
cudaError_t measure(struct fx8_cuda_correlator_trial *trial,
                    const struct fx8_cuda_correlation *job,
                    const fx8_cuda_correlator_use *use, const Event &begin,
                    const Event &end, float *milliseconds)
{
    TRY(cudaEventRecord(begin.get(), job->stream));
    TRY(trial->correlator->accumulate(job));
    TRY(cudaEventRecord(end.get(), job->stream));
    TRY(wait_for(trial, end, use));
    if (trial->trouble != nullptr)
        return cudaSuccess;
    return cudaEventElapsedTime(milliseconds, begin.get(), end.get());
}

/* Increase the number of channels until a call takes long enough. */
cudaError_t grow(struct fx8_cuda_correlator_trial *trial,
                 struct fx8_cuda_correlation *job,
                 const fx8_cuda_correlator_use *use, const Event &begin,
                 const Event &end)
{
    const size_t most = job->n_channels;
    for (job->n_channels = 1;; job->n_channels *= 4) {
        job->n_channels = std::min(job->n_channels, most);
        float milliseconds = 0;
        TRY(measure(trial, job, use, begin, end, &milliseconds));
        if (trial->trouble != nullptr || job->n_channels == most ||
            milliseconds >= ENOUGH_MILLISECONDS)
            return cudaSuccess;
    }
}

/* Copy the channel to all channels at x, doubling the filled part each time. */
template <class T>
cudaError_t repeat(const Spectra<T> &spectra, size_t n_channels, void *x,
                   cudaStream_t stream)
{
    char *bytes = static_cast<char *>(x);
    const size_t channel_bytes = 16 * spectra.channel_stride();
    TRY(cudaMemcpyAsync(bytes, spectra.x.data(), channel_bytes,
                        cudaMemcpyHostToDevice, stream));
    for (size_t done = 1; done < n_channels; done *= 2)
        TRY(cudaMemcpyAsync(bytes + done * channel_bytes, bytes,
                            std::min(done, n_channels - done) * channel_bytes,
                            cudaMemcpyDeviceToDevice, stream));
    return cudaStreamSynchronize(stream);
}

/* Measure all with the same job, as large as the first correlator needs. */
template <class T, class Sum>
cudaError_t measure_all(struct fx8_cuda_choice *choice,
                        const struct fx8_cuda_correlator_use *use, int ordinal)
{
    const size_t n_times = std::min(use->n_times, MOST_MEASURED_TIMES);
    const size_t sum_bytes = 2 * fx8_pair_count(use->n_inputs) * sizeof(Sum);
    const size_t x_bytes =
        16 * fx8_cuda_channel_vectors(use->n_inputs, fx8_cuda_times(n_times),
                                      Spectra<T>::TIMES);
    const size_t most = MOST_MEASURED_BYTES / std::max(sum_bytes, x_bytes);
    const size_t n_channels =
        std::max<size_t>(1, std::min(use->n_channels, most));
    const Spectra<T> spectra(use->n_inputs, n_times);
    Memory x, sums;
    Stream own;
    Event begin, end;
    TRY(cudaStreamCreateWithFlags(own.on(ordinal), cudaStreamNonBlocking));
    const cudaStream_t stream = own.get();
    TRY(cudaMalloc(x.on(ordinal), n_channels * x_bytes + TAIL_BYTES));
    TRY(cudaMalloc(sums.on(ordinal), n_channels * sum_bytes));
    TRY(cudaEventCreate(begin.on(ordinal)));
    TRY(cudaEventCreate(end.on(ordinal)));
    TRY(repeat(spectra, n_channels, x.get(), stream));
    TRY(cudaMemsetAsync(sums.get(), 0, n_channels * sum_bytes, stream));
    struct fx8_cuda_correlation job = {
        use->n_inputs, n_channels, n_times, x.get(), spectra.channel_stride(),
        sums.get(),    stream};
    bool has_grown = false;
    for (size_t k = 0; k < choice->n_trials; ++k) {
        auto &trial = choice->trials[k];
        if (trial.trouble != nullptr)
            continue;
        choice->trying = trial.correlator;
        if (!has_grown)
            TRY(grow(&trial, &job, use, begin, end));
        has_grown = true;
        float times[MEASUREMENTS + 1]; /* the first warms up */
        for (float &time : times)
            if (trial.trouble == nullptr)
                TRY(measure(&trial, &job, use, begin, end, &time));
        if (trial.trouble != nullptr) /* it may run on: measure no others */
            break;
        std::sort(times + 1, times + 1 + MEASUREMENTS);
        trial.milliseconds = times[1 + MEASUREMENTS / 2];
    }
    choice->trying = nullptr;
    return cudaSuccess;
}

/* Whether a name selects a correlator: "auto", its kind or its own name. */
bool is_meant(const char *name, const struct fx8_cuda_correlator &correlator)
{
    const size_t length = strlen(name);
    return strcmp(name, "auto") == 0 || strcmp(name, correlator.name) == 0 ||
           (strncmp(name, correlator.name, length) == 0 &&
            correlator.name[length] == '-');
}

/* Whether a smaller tile of the same kind holds the whole array. */
bool is_too_large(const struct fx8_cuda_correlator &correlator,
                  const struct fx8_cuda_correlator &smaller, size_t n_inputs)
{
    const size_t kind = strcspn(correlator.name, "-");
    return correlator.rounding == smaller.rounding &&
           strncmp(correlator.name, smaller.name, kind + 1) == 0 &&
           smaller.tile_inputs < correlator.tile_inputs &&
           smaller.tile_inputs >= n_inputs;
}

void list_trials(const char *name, const struct fx8_cuda_correlator_use *use,
                 const struct fx8_cuda_capability *capability, int ordinal,
                 struct fx8_cuda_choice *choice)
{
    size_t n_correlators;
    const struct fx8_cuda_correlator *all =
        fx8_cuda_correlators(&n_correlators);
    choice->n_trials = 0;
    for (size_t k = 0; k < n_correlators; ++k) {
        bool is_listed =
            is_meant(name, all[k]) && all[k].is_int8 == use->is_int8 &&
            all[k].rounding == use->rounding && all[k].runs_on(capability);
        for (size_t other = 0; other < k; ++other)
            is_listed =
                is_listed && (strcmp(name, all[k].name) == 0 ||
                              !is_too_large(all[k], all[other], use->n_inputs));
        if (is_listed)
            choice->trials[choice->n_trials++] = {
                &all[k], does_hang(&all[k], ordinal) ? HANGS : nullptr, 0};
    }
}

/* The cheapest first. */
void sort_trials(size_t n_inputs, struct fx8_cuda_choice *choice)
{
    std::stable_sort(
        choice->trials, choice->trials + choice->n_trials,
        [&](const fx8_cuda_correlator_trial &a,
            const fx8_cuda_correlator_trial &b) {
            return fx8_cuda_correlator_cost(a.correlator, n_inputs) <
                   fx8_cuda_correlator_cost(b.correlator, n_inputs);
        });
}

template <class T, class Sum>
cudaError_t choose(const struct fx8_cuda_correlator_use *use,
                   cudaStream_t stream, int ordinal,
                   struct fx8_cuda_choice *choice)
{
    size_t n_exact = 0;
    TRY((try_all<T, Sum>(choice, use, stream, ordinal)));
    for (size_t k = 0; k < choice->n_trials; ++k)
        n_exact += choice->trials[k].trouble == nullptr;
    if (n_exact > 1 && !use->is_any && !fx8_cuda_is_stuck(ordinal) &&
        use->n_inputs > 0 && use->n_channels > 0 && use->n_times > 0)
        TRY((measure_all<T, Sum>(choice, use, ordinal)));
    /* no measurements while a kernel hangs */
    const bool is_measured = !use->is_any && !fx8_cuda_is_stuck(ordinal);
    const auto cost = [&](const struct fx8_cuda_correlator_trial &trial) {
        return is_measured
                   ? static_cast<double>(trial.milliseconds)
                   : fx8_cuda_correlator_cost(trial.correlator, use->n_inputs);
    };
    const struct fx8_cuda_correlator_trial *best = nullptr;
    for (size_t k = 0; k < choice->n_trials; ++k) {
        const auto &trial = choice->trials[k];
        if (trial.trouble == nullptr &&
            (best == nullptr || cost(trial) < cost(*best)))
            best = &trial;
    }
    choice->correlator = best == nullptr ? nullptr : best->correlator;
    return cudaSuccess;
}

} // namespace

cudaError_t fx8_cuda_correlator_choose(
    const char *name, const struct fx8_cuda_correlator_use *use,
    cudaStream_t stream, struct fx8_cuda_choice *choice)
{
    struct fx8_cuda_capability capability;
    choice->correlator = choice->trying = nullptr;
    choice->n_trials = 0;
    int ordinal = 0;
    TRY(cudaGetDevice(&ordinal));
    TRY(fx8_cuda_capability_of_device(&capability));
    list_trials(name, use, &capability, ordinal, choice);
    if (choice->n_trials == 0)
        return cudaSuccess;
    if (use->is_any)
        sort_trials(use->n_inputs, choice);
    try {
        return use->is_int8
                   ? choose<int8_t, int64_t>(use, stream, ordinal, choice)
                   : choose<float, double>(use, stream, ordinal, choice);
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
}
