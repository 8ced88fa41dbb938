/* SPDX-License-Identifier: BSD-3-Clause */
/* fft.cc -- see include/cufft.h. */
#include <cufft.h>
#include <fftw3.h>
#include <string.h>

#include "validation/cuda/machine.h"

namespace harness
{

/** One side of a transform of rank one: where element e of batch b lies. */
struct Side {
    int embed, stride, distance;
};

/** A plan; those of FFTW are made when place and direction are known. */
struct Plan {
    int device;
    bool is_made;
    cufftType type;
    int n, batch;
    Side in, out;
    bool is_automatic;
    size_t bytes; /* of the work area */
    void *own_area, *area;
    cudaStream_t stream;
};

static std::map<cufftHandle, Plan> plans;
static cufftHandle n_created;

static Plan *find_plan(cufftHandle handle)
{
    const auto found = plans.find(handle);
    return found == plans.end() ? nullptr : &found->second;
}

/** Begins a call on a plan, and returns from the caller if it is made to fail
 *  or there is no such plan. */
#define FX8_ENTER_PLAN(name, handle)                                           \
    const Entry entry(name);                                                   \
    Plan *const plan = find_plan(handle);                                      \
    if (entry.error != cudaSuccess)                                            \
        return CUFFT_INTERNAL_ERROR;                                           \
    if (plan == nullptr)                                                       \
    return CUFFT_INVALID_PLAN

static cufftResult make(Plan *plan, size_t *bytes)
{
    if (plan->n <= 0 || plan->batch <= 0)
        return CUFFT_INVALID_SIZE;
    if (plan->type != CUFFT_C2C && plan->type != CUFFT_R2C)
        return CUFFT_INVALID_TYPE;
    plan->bytes = size_t(plan->n) * size_t(plan->batch) * sizeof(float2);
    if (plan->is_automatic) {
        plan->own_area = device_allocate(plan->device, plan->bytes);
        if (plan->own_area == nullptr)
            return CUFFT_ALLOC_FAILED;
        plan->area = plan->own_area;
    }
    plan->is_made = true;
    if (bytes != nullptr)
        *bytes = plan->bytes;
    return CUFFT_SUCCESS;
}

/* Number of elements from the first to the last one of a side. */
static size_t extent(const Plan &plan, const Side &side, int n)
{
    return size_t(plan.batch - 1) * size_t(side.distance) +
           size_t(n - 1) * size_t(side.stride) + 1;
}

/* One transform at a time, all by the same plan: its bits must not depend on
 * the others in the batch. */
static fftwf_plan plan_fftw(const Plan &plan, void *in, void *out, int sign)
{
    const unsigned flags = FFTW_ESTIMATE | FFTW_UNALIGNED;
    const int n = plan.n;
    const Side i = plan.in, o = plan.out;
    fftwf_complex *const cin = static_cast<fftwf_complex *>(in);
    fftwf_complex *const cout = static_cast<fftwf_complex *>(out);
    if (plan.type == CUFFT_C2C)
        return fftwf_plan_many_dft(1, &n, 1, cin, &i.embed, i.stride, 0, cout,
                                   &o.embed, o.stride, 0, sign, flags);
    return fftwf_plan_many_dft_r2c(1, &n, 1, static_cast<float *>(in), &i.embed,
                                   i.stride, 0, cout, &o.embed, o.stride, 0,
                                   flags | FFTW_PRESERVE_INPUT);
}

static void run_one(const Plan &plan, fftwf_plan fftw, void *in, void *out,
                    int batch)
{
    const ptrdiff_t i = ptrdiff_t(batch) * plan.in.distance;
    const ptrdiff_t o = ptrdiff_t(batch) * plan.out.distance;
    fftwf_complex *const cin = static_cast<fftwf_complex *>(in);
    fftwf_complex *const cout = static_cast<fftwf_complex *>(out);
    if (plan.type == CUFFT_C2C)
        fftwf_execute_dft(fftw, cin + i, cout + o);
    else
        fftwf_execute_dft_r2c(fftw, static_cast<float *>(in) + i, cout + o);
}

static void run(const Plan &plan, void *in, void *out, int sign)
{
    memset(plan.area, 0xa5, plan.bytes);
    const fftwf_plan fftw = plan_fftw(plan, in, out, sign);
    if (fftw == nullptr)
        fault("cuFFT: FFTW has no plan for this layout");
    for (int batch = 0; batch < plan.batch; ++batch)
        run_one(plan, fftw, in, out, batch);
    fftwf_destroy_plan(fftw);
}

static cufftResult execute(const char *name, cufftHandle handle, cufftType type,
                           void *in, void *out, int sign)
{
    FX8_ENTER_PLAN(name, handle);
    if (!plan->is_made || plan->type != type)
        return CUFFT_INVALID_PLAN;
    if (plan->area == nullptr)
        return CUFFT_NO_WORKSPACE;
    CUstream_st *const stream = find_stream(plan->stream);
    if (stream == nullptr || stream->device != plan->device)
        return CUFFT_EXEC_FAILED;
    const bool is_real = type == CUFFT_R2C;
    uintptr_t base = 0;
    for (const void *side :
         {static_cast<const void *>(in), static_cast<const void *>(out)}) {
        const Allocation *found = find_memory(side, &base);
        if (found == nullptr || found->device != plan->device)
            fault("%s: %p is no memory of the plan's device %d", name, side,
                  plan->device);
    }
    check_range(name, in,
                extent(*plan, plan->in, plan->n) *
                    (is_real ? sizeof(float) : sizeof(float2)));
    check_range(name, out,
                extent(*plan, plan->out, is_real ? plan->n / 2 + 1 : plan->n) *
                    sizeof(float2));
    queue_work(stream,
               [copy = *plan, in, out, sign] { run(copy, in, out, sign); });
    return CUFFT_SUCCESS;
}

/* Contiguous elements if no embedding is given. */
static Side side_of(const int *embed, int stride, int distance, int length)
{
    return embed == nullptr ? Side{length, 1, length}
                            : Side{embed[0], stride, distance};
}

} // namespace harness

using harness::Entry;
using harness::find_plan;
using harness::Plan;

/* A call that is made to fail gives cuFFT's error. */
static cufftResult result_of(const Entry &entry)
{
    return entry.error == cudaSuccess ? CUFFT_SUCCESS : CUFFT_INTERNAL_ERROR;
}

cufftResult cufftGetVersion(int *version)
{
    const Entry entry("cufftGetVersion");
    *version = 12000;
    return result_of(entry);
}

cufftResult cufftCreate(cufftHandle *handle)
{
    const Entry entry("cufftCreate");
    if (entry.error != cudaSuccess)
        return result_of(entry);
    if (harness::machine().devices.empty())
        return CUFFT_SETUP_FAILED;
    Plan made = Plan();
    made.device = harness::current_device();
    made.is_automatic = true;
    *handle = ++harness::n_created;
    harness::plans[*handle] = made;
    ++harness::machine().n_plans;
    return CUFFT_SUCCESS;
}

/* Even if it is made to fail, the plan is destroyed. */
cufftResult cufftDestroy(cufftHandle handle)
{
    const Entry entry("cufftDestroy");
    const Plan *const plan = find_plan(handle);
    if (plan == nullptr)
        harness::fault("cufftDestroy: %d is no plan", handle);
    harness::finish_device(plan->device);
    if (plan->own_area != nullptr)
        harness::device_release(plan->own_area);
    harness::plans.erase(handle);
    --harness::machine().n_plans;
    return result_of(entry);
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
    FX8_ENTER_PLAN("cufftSetStream", handle);
    plan->stream = stream;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int is_automatic)
{
    FX8_ENTER_PLAN("cufftSetAutoAllocation", handle);
    if (plan->is_made)
        return CUFFT_INVALID_PLAN;
    plan->is_automatic = is_automatic != 0;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void *area)
{
    FX8_ENTER_PLAN("cufftSetWorkArea", handle);
    harness::check_range("cufftSetWorkArea", area, plan->bytes);
    plan->area = area;
    return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int *n,
                              int *inembed, int istride, int idist,
                              int *onembed, int ostride, int odist,
                              cufftType type, int batch, size_t *bytes)
{
    FX8_ENTER_PLAN("cufftMakePlanMany", handle);
    if (plan->is_made)
        return CUFFT_INVALID_PLAN;
    if (rank != 1)
        return CUFFT_INVALID_VALUE;
    plan->type = type;
    plan->n = n[0];
    plan->batch = batch;
    plan->in = harness::side_of(inembed, istride, idist, n[0]);
    plan->out = harness::side_of(onembed, ostride, odist,
                                 type == CUFFT_R2C ? n[0] / 2 + 1 : n[0]);
    return harness::make(plan, bytes);
}

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out,
                         int direction)
{
    return harness::execute("cufftExecC2C", plan, CUFFT_C2C, in, out,
                            direction);
}

cufftResult cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out)
{
    return harness::execute("cufftExecR2C", plan, CUFFT_R2C, in, out,
                            CUFFT_FORWARD);
}
