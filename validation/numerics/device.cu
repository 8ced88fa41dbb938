/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.cu -- numerics-gpu: the error table of a card, by the same comparison
 * as that of a CPU.  Exit status: 0 within the bounds, 1 not, or an error, 77
 * without a card (what a caller counts as skipped).
 *
 * Notes: 1) a thread keeps its own struct measured from slice to slice; the
 *           host merges them
 *        2) the references are the card's double functions
 *        3) launches are slices of SLICE arguments: a card that drives a screen
 *           stops kernels that run for seconds
 */
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/cuda/half2.cuh"
#include "kernels/numeric/atan2.h"
#include "kernels/numeric/divide.h"
#include "kernels/numeric/exp2.h"
#include "kernels/numeric/fdividef.h"
#include "kernels/numeric/half.h"
#include "kernels/numeric/log.h"
#include "kernels/numeric/rsqrt.h"
#include "kernels/numeric/tanh.h"
#include "kernels/numeric/turns.h"
#include "validation/numerics/machine.h"
#include "validation/numerics/reference.h"
#include "validation/numerics/sample.h"
#include "validation/numerics/table.h"

namespace
{

constexpr int NO_DEVICE = 77;
constexpr uint64_t SLICE = UINT64_C(1) << 26;
constexpr unsigned BLOCK = 256;

/** Report an error and exit: only the process needs cleaning up. */
void must(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    std::fprintf(stderr, "numerics-gpu: %s: %s\n", what,
                 cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
}

/* --- what is measured --------------------------------------------------------
 */

/* tanh.approx came with sm_75. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
#define HARDWARE_TANH(x) fx8_tanh_hardware(x)
#else
#define HARDWARE_TANH(x) tanhf(x)
#endif

/** Every form on the device: row(function, form, its result at a, or at a and
 *  b).  "ieee" is a card's IEEE mode: correctly rounded operations and CUDA's
 *  own functions. */
/* clang-format off */
#define FORMS(row)                                                             \
    row(reciprocal, ieee, __frcp_rn(a))                                        \
    row(reciprocal, fast, fx8_reciprocal(a))                                   \
    row(rsqrt, ieee, __frsqrt_rn(a))                                           \
    row(rsqrt, library, rsqrtf(a))                                             \
    row(rsqrt, fast, fx8_rsqrt(a))                                             \
    row(sin_turns, library, sinpif(2.0f * a))                                  \
    row(sin_turns, fast, fx8_sin_turns(a))                                     \
    row(cos_turns, library, cospif(2.0f * a))                                  \
    row(cos_turns, fast, fx8_cos_turns(a))                                     \
    row(exp2, ieee, exp2f(a))                                                  \
    row(exp2, fast, fx8_exp2(a))                                               \
    row(log2, ieee, log2f(a))                                                  \
    row(log2, fast, fx8_log2(a))                                               \
    row(log10, ieee, log10f(a))                                                \
    row(log10, fast, fx8_log10(a))                                             \
    row(tanh, ieee, tanhf(a))                                                  \
    row(tanh, fast, fx8_tanh(a))                                               \
    row(tanh, ex2, fx8_tanh_ex2(a))                                            \
    row(tanh, hardware, HARDWARE_TANH(a))                                      \
    row(atanh, ieee, atanhf(a))                                                \
    row(atanh, fast, fx8_atanh(a))                                             \
    row(divide, ieee, __fdiv_rn(a, b))                                         \
    row(divide, fast, fx8_divide_fast(a, b))                                   \
    row(divide, markstein, fx8_divide(a, b))                                   \
    row(atan2, ieee, atan2f(a, b))                                             \
    row(atan2, fast, fx8_atan2(a, b))
/* clang-format on */

#define DEFINE_FORM(function, form, expression)                                \
    struct function##_##form {                                                 \
        static __device__ float result(float a, [[maybe_unused]] float b)      \
        {                                                                      \
            return expression;                                                 \
        }                                                                      \
        static __device__ double reference(float a, float b)                   \
        {                                                                      \
            return reference_##function(a, b);                                 \
        }                                                                      \
    };
FORMS(DEFINE_FORM)

/** Measure the arguments [first, end) of a sample. */
template <class Form>
__global__ void __launch_bounds__(BLOCK)
    survey(struct bound bound, uint64_t first, uint64_t end, uint32_t stride,
           struct measured *findings)
{
    const uint64_t thread = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint64_t n_threads = gridDim.x * (uint64_t)blockDim.x;
    struct measured measured = findings[thread];
    for (uint64_t index = first + thread; index < end; index += n_threads) {
        uint32_t a = (uint32_t)index * stride, b = 0;
        if (bound.is_pair)
            sample_pair(index, &a, &b);
        const float x = fx8_bits_float(a), y = fx8_bits_float(b);
        measure(&measured, &bound, a, b, Form::reference(x, y),
                Form::result(x, y));
    }
    findings[thread] = measured;
}

/** A form and its kernel. */
struct form {
    const char *function, *name;
    void (*survey)(struct bound bound, uint64_t first, uint64_t end,
                   uint32_t stride, struct measured *findings);
};

#define LIST_FORM(function, form, expression)                                  \
    {#function, #form, survey<function##_##form>},
const form forms[] = {FORMS(LIST_FORM)};

struct table_row survey_form(const form &subject, unsigned blocks, uint64_t n)
{
    struct table_row row = {find_bound("cuda", subject.function, subject.name),
                            {}};
    const uint32_t stride = sample_stride(n);
    const size_t n_threads = (size_t)blocks * BLOCK;
    struct measured *findings;
    if (row.bound.is_pair && n > MOST_PAIRS)
        n = MOST_PAIRS;
    must(cudaMallocManaged(&findings, n_threads * sizeof *findings), "memory");
    must(cudaMemset(findings, 0, n_threads * sizeof *findings), "memory");
    for (uint64_t first = 0; first < n; first += SLICE) {
        const uint64_t end = first + SLICE < n ? first + SLICE : n;
        subject.survey<<<blocks, BLOCK>>>(row.bound, first, end, stride,
                                          findings);
        must(cudaGetLastError(), subject.function);
        must(cudaDeviceSynchronize(), subject.function);
    }
    for (size_t thread = 0; thread < n_threads; thread++)
        merge_measured(&row.measured, &findings[thread]);
    must(cudaFree(findings), "memory");
    return row;
}

/* --- halves ------------------------------------------------------------------
 */

/** Whether a half is the portable definition's of x, any NaN another NaN. */
__device__ bool is_half_of(float x, __half half)
{
    const uint16_t bits = __half_as_ushort(half);
    return x != x ? (bits & 0x7fff) > 0x7c00 : bits == fx8_half_from_float(x);
}

/** Add the floats with bits in [first, first + SLICE) whose conversion, alone
 * or in pairs, differs from the definition, and the halves with these bits
 * whose float does. */
__global__ void __launch_bounds__(BLOCK)
    survey_halves(uint64_t first, unsigned long long *n_wrong)
{
    const uint64_t thread = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint64_t n_threads = gridDim.x * (uint64_t)blockDim.x;
    for (uint64_t bits = first + 2 * thread; bits < first + SLICE;
         bits += 2 * n_threads) {
        const float x = fx8_bits_float((uint32_t)bits);
        const float y = fx8_bits_float((uint32_t)bits + 1);
        const __half2 both = __floats2half2_rn(x, y);
        bool is_right = is_half_of(x, fx8_half_of(x, 1.0f)) &&
                        is_half_of(y, fx8_half_of(y, 1.0f)) &&
                        is_half_of(x, __low2half(both)) &&
                        is_half_of(y, __high2half(both));
        for (uint64_t half = bits; half < bits + 2 && half < 0x10000; half++)
            is_right &= same_float(__half2float(__ushort_as_half(half)),
                                   fx8_half_to_float((uint16_t)half));
        if (!is_right)
            atomicAdd(n_wrong, 1ULL);
    }
}

/** Number of pairs of neighbours with a conversion that differs. */
unsigned long long count_wrong_halves(unsigned blocks)
{
    unsigned long long *n_wrong;
    must(cudaMallocManaged(&n_wrong, sizeof *n_wrong), "memory");
    *n_wrong = 0;
    for (uint64_t first = 0; first < ALL_FLOATS; first += SLICE) {
        survey_halves<<<blocks, BLOCK>>>(first, n_wrong);
        must(cudaGetLastError(), "half");
        must(cudaDeviceSynchronize(), "half");
    }
    return *n_wrong;
}

/** The first card, or leave with NO_DEVICE. */
cudaDeviceProp find_card()
{
    int n = 0;
    const cudaError_t status = cudaGetDeviceCount(&n);
    /* no card, or no driver that could have one */
    if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
        std::fprintf(stderr, "numerics-gpu: skipped: no device: %s\n",
                     cudaGetErrorString(status));
        std::exit(NO_DEVICE);
    }
    must(status, "cudaGetDeviceCount");
    cudaDeviceProp card;
    must(cudaSetDevice(0), "cudaSetDevice");
    must(cudaGetDeviceProperties(&card, 0), "cudaGetDeviceProperties");
    return card;
}

} // namespace

int main(int argc, char **argv)
{
    char command[256], path[256], machine[1024];
    int driver = 0, runtime = 0;
    const uint64_t n_floats = read_samples(argc, argv);
    if (n_floats == 0)
        return 2;
    const cudaDeviceProp card = find_card();
    const unsigned blocks = 8u * (unsigned)card.multiProcessorCount;
    std::vector<struct table_row> rows;
    for (const form &subject : forms) {
        std::fprintf(stderr, "%s %s\n", subject.function, subject.name);
        rows.push_back(survey_form(subject, blocks, n_floats));
    }
    const unsigned long long wrong_halves = count_wrong_halves(blocks);
    must(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    join_command(argc, argv, command, sizeof command);
    std::snprintf(machine, sizeof machine,
                  "`%s` (version %s), %s: %s, compute capability %d.%d, CUDA "
                  "%d.%d, runtime %d.%d; host: %s, %s.\n"
                  "\"library\" and \"ieee\" are CUDA's own functions; forms "
                  "without a bound: normal\narguments.  Conversions to and "
                  "from half unlike the definition: %llu.",
                  command, FX8_VERSION, machine_date(), card.name, card.major,
                  card.minor, driver / 1000, driver % 1000 / 10, runtime / 1000,
                  runtime % 1000 / 10, machine_cpu(), machine_software(),
                  wrong_halves);
    result_path("", card.name, path, sizeof path);
    const struct table table = {"Errors of the functions on a card", machine,
                                n_floats, rows.data(), rows.size()};
    return write_table(path, &table) == 0 && wrong_halves == 0 ? EXIT_SUCCESS
                                                               : EXIT_FAILURE;
}
