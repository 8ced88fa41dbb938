/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.cu -- numerics-gpu: the error tables of a card, by the same comparison
 * as those of a CPU.  Exit status: 0 within the bounds, 1 not, or an error, 77
 * without a card (what a caller counts as skipped).
 *
 * Notes: 1) a thread keeps its own struct measured from slice to slice; the
 *           host merges them
 *        2) the references are the card's double functions, checked by the
 *           host in long double
 *        3) launches are slices of SLICE arguments: a card that drives a screen
 *           stops kernels that run for seconds
 */
#include <cfloat>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
#include "validation/numerics/measure.h"
#include "validation/numerics/reference.h"
#include "validation/numerics/references.h"
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

/** Device memory, freed at the end of its scope. */
template <class Item> struct device_array {
    Item *items = nullptr;
    size_t n;

    explicit device_array(size_t count) : n(count)
    {
        must(cudaMalloc(&items, n * sizeof(Item)), "cudaMalloc");
        must(cudaMemset(items, 0, n * sizeof(Item)), "cudaMemset");
    }
    ~device_array()
    {
        cudaFree(items); /* errors were reported before */
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;

    void upload(const std::vector<Item> &from)
    {
        must(cudaMemcpy(items, from.data(), n * sizeof(Item),
                        cudaMemcpyHostToDevice),
             "upload");
    }
    std::vector<Item> download() const
    {
        std::vector<Item> to(n);
        must(cudaMemcpy(to.data(), items, n * sizeof(Item),
                        cudaMemcpyDeviceToHost),
             "download");
        return to;
    }
};

/* --- what is measured --------------------------------------------------------
 */

/** A form of a function of one argument, and of two. */
#define UNARY(function, form, expression)                                      \
    struct function##_##form {                                                 \
        static constexpr bool is_unary = true;                                 \
        static __device__ float result(float x, float)                         \
        {                                                                      \
            return expression;                                                 \
        }                                                                      \
        static __device__ double reference(float x, float)                     \
        {                                                                      \
            return reference_##function(x);                                    \
        }                                                                      \
    };
#define BINARY(function, form, expression)                                     \
    struct function##_##form {                                                 \
        static constexpr bool is_unary = false;                                \
        static __device__ float result(float a, float b)                       \
        {                                                                      \
            return expression;                                                 \
        }                                                                      \
        static __device__ double reference(float a, float b)                   \
        {                                                                      \
            return reference_##function(a, b);                                 \
        }                                                                      \
    };

/* tanh.approx came with sm_75. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
#define HARDWARE_TANH(x) fx8_tanh_hardware(x)
#else
#define HARDWARE_TANH(x) tanhf(x)
#endif

/** Every form on the device: row(arity, function, form, expression).  "ieee" is
 *  a card's IEEE mode: correctly rounded operations and CUDA's own functions.
 */
#define FORMS(row)                                                             \
    row(UNARY, reciprocal, ieee, __frcp_rn(x)) row(UNARY, reciprocal, fast,    \
                                                   fx8_reciprocal(x))          \
        row(UNARY, rsqrt, ieee, __frsqrt_rn(x)) row(UNARY, rsqrt, library,     \
                                                    rsqrtf(x))                 \
            row(UNARY, rsqrt, fast,                                            \
                fx8_rsqrt(x)) row(UNARY, sin_turns, library, sinpif(2.0f * x)) \
                row(UNARY, sin_turns, fast, fx8_sin_turns(x)) row(             \
                    UNARY, cos_turns, library, cospif(2.0f * x))               \
                    row(UNARY, cos_turns, fast, fx8_cos_turns(x)) row(         \
                        UNARY, exp2, ieee, exp2f(x)) row(UNARY, exp2, fast,    \
                                                         fx8_exp2(x))          \
                        row(UNARY, log2, ieee, log2f(x)) row(                  \
                            UNARY, log2, fast,                                 \
                            fx8_log2(x)) row(UNARY, log10, ieee, log10f(x))    \
                            row(UNARY, log10, fast, fx8_log10(x)) row(         \
                                UNARY, tanh, ieee,                             \
                                tanhf(x)) row(UNARY, tanh, fast, fx8_tanh(x))  \
                                row(UNARY, tanh, ex2, fx8_tanh_ex2(x)) row(    \
                                    UNARY, tanh, hardware, HARDWARE_TANH(x))   \
                                    row(UNARY, atanh, ieee, atanhf(x)) row(    \
                                        UNARY, atanh, fast, fx8_atanh(x))      \
                                        row(BINARY, divide, ieee,              \
                                            __fdiv_rn(a, b))                   \
                                            row(BINARY, divide, fast,          \
                                                fx8_divide_fast(a, b))         \
                                                row(BINARY, divide, markstein, \
                                                    fx8_divide(a, b))          \
                                                    row(BINARY, atan2, ieee,   \
                                                        atan2f(a, b))          \
                                                        row(BINARY, atan2,     \
                                                            fast,              \
                                                            fx8_atan2(a, b))

#define DEFINE_FORM(arity, function, form, expression)                         \
    arity(function, form, expression)
FORMS(DEFINE_FORM)

/* --- kernels -----------------------------------------------------------------
 */

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
        if (!Form::is_unary)
            sample_pair(index, &a, &b);
        const float x = fx8_bits_float(a), y = fx8_bits_float(b);
        const struct argument argument =
            Form::is_unary ? argument_of(&bound, a) : pair_of(&bound, a, b);
        const struct expected expected = expect(Form::reference(x, y));
        measure(&measured, &bound, &expected, &argument, Form::result(x, y));
    }
    findings[thread] = measured;
}

/** references[k] of the pair of bits k. */
template <class Form>
__global__ void __launch_bounds__(BLOCK)
    evaluate_references(size_t n, const uint32_t *a, const uint32_t *b,
                        double *references)
{
    const size_t k = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (k < n)
        references[k] =
            Form::reference(fx8_bits_float(a[k]), fx8_bits_float(b[k]));
}

/** Whether a half equals the portable definition's result for x, any NaN
 *  another NaN. */
__device__ bool is_half_of(float x, __half half)
{
    const uint16_t bits = __half_as_ushort(half);
    return x != x ? (bits & 0x7fff) > 0x7c00 : bits == fx8_half_from_float(x);
}

/** differing[thread]: the number of floats with bits in [first, end), an even
 *  number of them, whose conversion, alone or in pairs, differs from the
 *  definition. */
__global__ void __launch_bounds__(BLOCK)
    survey_halves(uint64_t first, uint64_t end, uint64_t *differing)
{
    const uint64_t thread = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint64_t n_threads = gridDim.x * (uint64_t)blockDim.x;
    for (uint64_t pair = first / 2 + thread; pair < end / 2;
         pair += n_threads) {
        const float x = fx8_bits_float((uint32_t)(2 * pair));
        const float y = fx8_bits_float((uint32_t)(2 * pair + 1));
        const __half2 both = __floats2half2_rn(x, y);
        differing[thread] += !is_half_of(x, fx8_half_of(x, 1.0f)) ||
                             !is_half_of(x, __low2half(both));
        differing[thread] += !is_half_of(y, fx8_half_of(y, 1.0f)) ||
                             !is_half_of(y, __high2half(both));
    }
}

/** The float of every half. */
__global__ void __launch_bounds__(BLOCK) widen_halves(float *floats)
{
    const unsigned bits = blockIdx.x * blockDim.x + threadIdx.x;
    floats[bits] = __half2float(__ushort_as_half((unsigned short)bits));
}

/* --- one form ----------------------------------------------------------------
 */

/** The launches of a form, the same for every form. */
struct form {
    const char *function, *name;
    void (*survey)(unsigned blocks, const struct bound &bound, uint64_t first,
                   uint64_t end, uint32_t stride, struct measured *findings);
    void (*references)(size_t n, const uint32_t *a, const uint32_t *b,
                       double *references);
};

template <class Form>
void launch_survey(unsigned blocks, const struct bound &bound, uint64_t first,
                   uint64_t end, uint32_t stride, struct measured *findings)
{
    survey<Form><<<blocks, BLOCK>>>(bound, first, end, stride, findings);
}

template <class Form>
void launch_references(size_t n, const uint32_t *a, const uint32_t *b,
                       double *references)
{
    const unsigned blocks = (unsigned)((n + BLOCK - 1) / BLOCK);
    evaluate_references<Form><<<blocks, BLOCK>>>(n, a, b, references);
}

#define LIST_FORM(arity, function, form, expression)                           \
    {#function, #form, launch_survey<function##_##form>,                       \
     launch_references<function##_##form>},
const form forms[] = {FORMS(LIST_FORM)};

/** The findings for a form. */
struct finding {
    const form *subject;
    struct bound bound;
    bool has_bound;
    struct measured measured;
    struct error_at deviation; /**< of the reference */
};

/** The bound of a form; without a documented bound, what fits instructions that
 *  treat subnormal arguments and results as zero. */
bool bound_of(const form &subject, struct bound *bound)
{
    if (find_bound("cuda", subject.function, subject.name, bound))
        return true;
    bound->max_absolute = bound->lowest = FLT_MIN;
    bound->highest = FLT_MAX;
    return false;
}

struct measured survey_form(const form &subject, const struct bound &bound,
                            unsigned blocks, uint64_t n)
{
    const uint32_t stride = sample_stride(n);
    const bool is_unary = function_named(subject.function)->unary != nullptr;
    if (!is_unary && n > MOST_PAIRS)
        n = MOST_PAIRS;
    device_array<struct measured> findings((size_t)blocks * BLOCK);
    for (uint64_t first = 0; first < n; first += SLICE) {
        const uint64_t end = first + SLICE < n ? first + SLICE : n;
        subject.survey(blocks, bound, first, end, stride, findings.items);
        must(cudaGetLastError(), subject.function);
        must(cudaDeviceSynchronize(), subject.function);
    }
    struct measured sum = {};
    for (const struct measured &part : findings.download())
        merge_measured(&sum, &part);
    return sum;
}

/** The largest deviation of the card's reference from the host's in higher
 *  precision, over a sample and where the form errs most. */
struct error_at check_references(const form &subject,
                                 const struct measured &measured)
{
    const size_t n_sample = (size_t)1 << 18;
    const struct function *function = function_named(subject.function);
    std::vector<uint32_t> a, b;
    for (uint64_t k = 0; k < n_sample; k++) {
        uint32_t pair[2] = {(uint32_t)k * sample_stride(n_sample), 0};
        if (function->unary == nullptr)
            sample_pair(k, &pair[0], &pair[1]);
        a.push_back(pair[0]);
        b.push_back(pair[1]);
    }
    for (const struct error_at *at :
         {&measured.ulp, &measured.relative, &measured.absolute}) {
        a.push_back(at->a);
        b.push_back(at->b);
    }
    device_array<uint32_t> device_a(a.size()), device_b(b.size());
    device_array<double> references(a.size());
    device_a.upload(a);
    device_b.upload(b);
    subject.references(a.size(), device_a.items, device_b.items,
                       references.items);
    must(cudaGetLastError(), subject.function);
    must(cudaDeviceSynchronize(), subject.function);
    const std::vector<double> values = references.download();
    struct error_at worst = {};
    for (size_t k = 0; k < a.size(); k++)
        keep_worst(&worst, reference_deviation(function, a[k], b[k], values[k]),
                   a[k], b[k]);
    return worst;
}

/* --- halves ------------------------------------------------------------------
 */

/** Number of floats, of all, whose half differs from the definition's. */
uint64_t count_wrong_halves(unsigned blocks)
{
    device_array<uint64_t> differing((size_t)blocks * BLOCK);
    for (uint64_t first = 0; first < ALL_FLOATS; first += SLICE) {
        survey_halves<<<blocks, BLOCK>>>(first, first + SLICE, differing.items);
        must(cudaGetLastError(), "half");
        must(cudaDeviceSynchronize(), "half");
    }
    uint64_t sum = 0;
    for (const uint64_t part : differing.download())
        sum += part;
    return sum;
}

/** Number of halves, of all 65,536, whose float differs from the host's. */
size_t count_wrong_floats()
{
    const unsigned n = 65536;
    device_array<float> floats(n);
    widen_halves<<<n / BLOCK, BLOCK>>>(floats.items);
    must(cudaGetLastError(), "half");
    must(cudaDeviceSynchronize(), "half");
    const std::vector<float> values = floats.download();
    size_t wrong = 0;
    for (unsigned bits = 0; bits < n; bits++)
        wrong += !same_float(values[bits], fx8_half_to_float((uint16_t)bits));
    return wrong;
}

/* --- output ----------------------------------------------------------- */

/** All findings. */
struct results {
    cudaDeviceProp card;
    uint64_t n_floats;
    std::vector<finding> findings;
    uint64_t wrong_halves;
    size_t wrong_floats;
};

/** Version of the driver as the kernel gives it, or of its interface. */
void print_driver(std::FILE *file)
{
    char line[200] = "";
    if (std::FILE *proc = std::fopen("/proc/driver/nvidia/version", "r")) {
        if (std::fgets(line, sizeof line, proc) == nullptr)
            line[0] = '\0';
        std::fclose(proc);
    }
    line[std::strcspn(line, "\n")] = '\0';
    int driver = 0, runtime = 0;
    must(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    std::fprintf(file, "Driver: %s (CUDA %d.%d), runtime %d.%d.\n", line,
                 driver / 1000, driver % 1000 / 10, runtime / 1000,
                 runtime % 1000 / 10);
}

void print_card(std::FILE *file, const cudaDeviceProp &card,
                const char *command)
{
    int core_khz = 0, memory_khz = 0;
    must(cudaDeviceGetAttribute(&core_khz, cudaDevAttrClockRate, 0), "clock");
    must(cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, 0),
         "clock");
    std::fprintf(file,
                 "`%s` (version %s), %s: %s, compute capability %d.%d, %d "
                 "multiprocessors, at most\n%d MHz, memory %d MHz; host: %s, "
                 "%s.\n",
                 command, FX8_VERSION, machine_date(), card.name, card.major,
                 card.minor, card.multiProcessorCount, core_khz / 1000,
                 memory_khz / 1000, machine_cpu(), machine_software());
    print_driver(file);
}

struct table_row row_of(const finding &found)
{
    return {found.subject->function, found.subject->name,
            found.has_bound ? &found.bound : nullptr, &found.measured};
}

void print_results(std::FILE *file, const results &all, const char *command)
{
    const bool is_tight = all.n_floats == ALL_FLOATS;
    std::fputs("# Errors of the functions on a card\n\n", file);
    print_card(file, all.card, command);
    std::fputs("\n", file);
    print_legend(file);
    std::fprintf(file,
                 "\nFunctions of one argument: %" PRIu64
                 " floats; of two: pairs as on the CPU (seed %" PRIu64
                 ").\n\"library\" and \"ieee\" are CUDA's own functions.  "
                 "Forms without a bound: normal\narguments, errors above "
                 "2^-126.\n\n",
                 all.n_floats, PAIR_SEED);
    print_table_head(file);
    double deviation = 0.0;
    for (const finding &found : all.findings) {
        const struct table_row row = row_of(found);
        print_table_row(file, &row, is_tight);
        deviation = fmax(deviation, found.deviation.error);
    }
    std::fprintf(
        file,
        "\nFloat to half unlike the definition: %" PRIu64
        " of 2^32; half to float: %zu of 65,536.\nReferences: CUDA's "
        "double functions; against the host's long double functions, "
        "over\n2^18 arguments each and the worst ones, they deviate by "
        "at most %.2g (limit %.1e).\n",
        all.wrong_halves, all.wrong_floats, deviation, REFERENCE_LIMIT);
}

size_t count_faults(const results &all)
{
    size_t faults = (all.wrong_halves != 0) + (all.wrong_floats != 0);
    for (const finding &found : all.findings) {
        const struct table_row row = row_of(found);
        faults += judge_row(&row, all.n_floats == ALL_FLOATS, stderr);
        if (found.deviation.error > REFERENCE_LIMIT) {
            std::fprintf(stderr, "%s: the reference deviates by %g\n",
                         found.subject->function, found.deviation.error);
            faults++;
        }
    }
    return faults;
}

results measure_all(const cudaDeviceProp &card, uint64_t n_floats)
{
    const unsigned blocks = 8u * (unsigned)card.multiProcessorCount;
    results all = {};
    all.card = card;
    all.n_floats = n_floats;
    for (const form &subject : forms) {
        std::fprintf(stderr, "%s %s\n", subject.function, subject.name);
        finding found = {};
        found.subject = &subject;
        found.has_bound = bound_of(subject, &found.bound);
        found.measured = survey_form(subject, found.bound, blocks, n_floats);
        found.deviation = check_references(subject, found.measured);
        all.findings.push_back(found);
    }
    std::fputs("half\n", stderr);
    all.wrong_halves = count_wrong_halves(blocks);
    all.wrong_floats = count_wrong_floats();
    return all;
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

/** `--samples N` or nothing. */
bool read_request(int argc, char **argv, uint64_t *n_floats)
{
    *n_floats = ALL_FLOATS;
    if (argc == 1)
        return true;
    if (argc != 3 || std::strcmp(argv[1], "--samples") != 0)
        return false;
    char *end;
    *n_floats = std::strtoull(argv[2], &end, 10);
    return *end == '\0' && argv[2][0] != '-' && *n_floats >= 1 &&
           *n_floats <= ALL_FLOATS;
}

} // namespace

int main(int argc, char **argv)
{
    char command[256], path[256];
    uint64_t n_floats;
    if (!read_request(argc, argv, &n_floats)) {
        std::fputs("usage: numerics-gpu [--samples N]\n"
                   "\n"
                   "Write validation/results/numerics-CARD.md.  Exit status 1 "
                   "where a bound of\n"
                   "kernels/numeric/bounds.h does not fit, 77 without a "
                   "card.\n",
                   stderr);
        return 2;
    }
    const results all = measure_all(find_card(), n_floats);
    join_command(argc, argv, command, sizeof command);
    result_path("", all.card.name, path, sizeof path);
    std::FILE *file = std::fopen(path, "w");
    if (file == nullptr) {
        std::perror(path);
        return EXIT_FAILURE;
    }
    print_results(file, all, command);
    const bool is_written = std::ferror(file) == 0;
    if (std::fclose(file) != 0 || !is_written) {
        std::fprintf(stderr, "numerics-gpu: %s: cannot be written\n", path);
        return EXIT_FAILURE;
    }
    std::fprintf(stderr, "%s\n", path);
    return count_faults(all) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
