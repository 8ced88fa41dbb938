/* SPDX-License-Identifier: BSD-3-Clause */
/* device_array.h -- for tests: arrays on the device, calls that must succeed,
 * and repeats of a case under several settings. */
#ifndef FX8_VALIDATION_CUDA_DEVICE_ARRAY_H
#define FX8_VALIDATION_CUDA_DEVICE_ARRAY_H

#include <cuda_runtime.h>

#include <functional>
#include <vector>

#include "validation/cuda/settings.h"
#include "validation/cuda/tap.h"

/** A runtime call that must succeed; otherwise the error's name is printed. */
#define MUST(call)                                                             \
    tap::check(is_success(call), #call " succeeds", __FILE__, __LINE__)

inline bool is_success(cudaError_t status)
{
    if (status != cudaSuccess && tap::n_failed_checks < 20)
        printf("# %s: %s\n", cudaGetErrorName(status),
               cudaGetErrorString(status));
    return status == cudaSuccess;
}

/** Elements on the current device, freed with the object. */
template <class T> class DeviceArray
{
  public:
    explicit DeviceArray(size_t count) : count_(count), data_(nullptr)
    {
        MUST(cudaMalloc(&data_, count * sizeof(T)));
    }
    explicit DeviceArray(const std::vector<T> &from) : DeviceArray(from.size())
    {
        write(from);
    }
    ~DeviceArray()
    {
        MUST(cudaFree(data_));
    }
    DeviceArray(const DeviceArray &) = delete;
    DeviceArray &operator=(const DeviceArray &) = delete;

    T *data() const
    {
        return data_;
    }

    /** Copy all elements to the device. */
    void write(const std::vector<T> &from)
    {
        MUST(cudaMemcpy(data_, from.data(), count_ * sizeof(T),
                        cudaMemcpyHostToDevice));
    }

    /** Copy the elements to the host, after all work queued so far. */
    std::vector<T> read() const
    {
        std::vector<T> result(count_);
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy(result.data(), data_, count_ * sizeof(T),
                        cudaMemcpyDeviceToHost));
        return result;
    }

  private:
    size_t count_;
    T *data_;
};

/** Run `work` with fibres forward, backward and in two random orders; on a card
 *  once, in the card's order. */
#if defined(FX8_CUDA_ON_CPU)
inline void in_every_order(const std::function<void()> &work)
{
    const harness::Order before = harness::settings().fibres;
    for (const harness::Order &order :
         {harness::Order{harness::Order::FIRST, 0},
          harness::Order{harness::Order::LAST, 0},
          harness::Order{harness::Order::RANDOM, 1},
          harness::Order{harness::Order::RANDOM, 20}}) {
        harness::settings().fibres = order;
        work();
    }
    harness::settings().fibres = before;
}
#else
inline void in_every_order(const std::function<void()> &work)
{
    work();
}
#endif

#endif
