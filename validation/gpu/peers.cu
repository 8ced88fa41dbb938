/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers.cu -- see bench.cuh: cuBLAS on the same spectra.
 *
 *     cublasCherk3mEx 8i  complex int8 in, complex float sums
 *     cublasLt int8       a real product of the 2 N rows with themselves: the
 *                         whole square in int32, in one batch
 *     cublasCherk fp32    complex floats
 *
 * The libraries are opened at run time, with the prototypes of their headers if
 * the program was compiled with them.
 *
 * Notes: a rank-k update has no batch: a call for each channel, and at most
 *        MOST_CALLS channels
 */
#include <dlfcn.h>

#include <algorithm>
#include <memory>

#include "kernels/cuda/channelize.h"
#include "kernels/cuda/layout.h"
#include "kernels/operations.h"
#include "validation/gpu/bench.cuh"

#if defined(__CUDACC__) && __has_include(<cublas_v2.h>) &&                     \
    __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cublas_v2.h>
#define HAS_CUBLAS 1
#else
#define HAS_CUBLAS 0
#endif

namespace bench
{

namespace
{

const char CHERK3M[] = "cublasCherk3mEx 8i";
const char LT[] = "cublasLt int8";
const char CHERK[] = "cublasCherk fp32";

} // namespace

std::vector<std::string> peer_names()
{
    return {CHERK3M, LT, CHERK};
}

#if HAS_CUBLAS

namespace
{

constexpr size_t MOST_CALLS = 64;
constexpr size_t WORKSPACE_BYTES = size_t(64) << 20;
constexpr int GUESSES = 4; /* of algorithms; the fastest one counts */

#define NAME_OF_(function) #function
/** The name of a function as exported: a macro may replace it. */
#define NAME_OF(function) NAME_OF_(function)

/** A function of an open library. */
template <class Function> Function find(void *library, const char *name)
{
    void *const address = dlsym(library, name);
    if (address == nullptr)
        throw Failure(std::string("has no ") + name);
    return reinterpret_cast<Function>(address);
}

#define FIND(library, function)                                                \
    find<decltype(&::function)>(library, NAME_OF(function))

/** The version of the headers; the library stays open. */
void *open_library(const char *name)
{
    const std::string file =
        std::string(name) + ".so." + std::to_string(CUBLAS_VER_MAJOR);
    void *const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        throw Failure(file + " is not there");
    return library;
}

void check(cublasStatus_t status, const char *what)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        throw Failure(std::string(what) + ": cuBLAS status " +
                      std::to_string(static_cast<int>(status)));
}

/** Allowed difference of float sums of n_times products of the noise of
 *  data.cu: a rounding of each product, of three, and of each addition, of
 *  magnitudes of at most the power. */
double float_limit(const Array &array)
{
    const double n = static_cast<double>(array.n_times);
    const double power = 1.2 * 2.0 * 21.2 * 21.2 * n;
    return 8.0 * n * 0x1p-24 * power + 1.0;
}

/** As many channels as memory allows, up to `most`. */
Array part_of(const Bench &bench, const Array &array, size_t channel_bytes,
              size_t most)
{
    Array part = array;
    part.n_channels = std::min(
        {array.n_channels, most, (bench.free_bytes() / 2) / channel_bytes});
    if (part.n_channels == 0)
        throw Failure("not enough memory");
    return part;
}

fx8_cuda_spectra spectra_of(const Array &array, const int8_t *x8,
                            const float *x32)
{
    fx8_cuda_spectra spectra = {};
    spectra.int8 = const_cast<int8_t *>(x8); /* only exported, in no header */
    spectra.fp32 = const_cast<float *>(x32);
    spectra.n_inputs = array.n_inputs;
    spectra.n_channels = array.n_channels;
    spectra.n_times = array.n_times;
    return spectra;
}

/* --- rank-k updates --------------------------------------------------------
 */

/** cuBLAS with a stream. */
class Cublas
{
  public:
    explicit Cublas(const Bench &bench)
        : library_(open_library("libcublas")), handle_(nullptr)
    {
        check(FIND(library_, cublasCreate)(&handle_), "cublasCreate");
        check(FIND(library_, cublasSetStream)(handle_, bench.stream),
              "cublasSetStream");
    }
    ~Cublas()
    {
        (void)FIND(library_, cublasDestroy)(handle_);
    }
    Cublas(const Cublas &) = delete;
    Cublas &operator=(const Cublas &) = delete;
    cublasHandle_t get() const
    {
        return handle_;
    }
    void *library() const
    {
        return library_;
    }

  private:
    void *library_;
    cublasHandle_t handle_;
};

/** Check the products of the first channel, then measure. */
void measure_update(Bench &bench, const Array &array, const int64_t *sums,
                    const float2 *products, const Work &update, Figure *figure)
{
    update(0);
    const double difference =
        largest_difference(bench, sums, products, array.n_inputs, 1);
    if (difference > float_limit(array)) {
        figure->note = "differs by " + std::to_string(difference);
        return;
    }
    figure->operations = array.operations();
    figure->seconds = measure(bench, update);
}

void measure_cherk3m(Bench &bench, const Array &whole, const int8_t *x,
                     const int64_t *sums, Figure *figure)
{
    const size_t n = whole.n_inputs, cells = n * whole.n_times;
    const Array array =
        part_of(bench, whole, cells * sizeof(fx8_ci8) + n * n * sizeof(float2),
                MOST_CALLS);
    const Cublas cublas(bench);
    const auto herk = FIND(cublas.library(), cublasCherk3mEx);
    const Memory<fx8_ci8> a(array.n_channels * cells);
    const Memory<float2> c(array.n_channels * n * n);
    const fx8_cuda_spectra spectra = spectra_of(array, x, nullptr);
    must(fx8_cuda_export(&spectra, array.n_times, a.data(), nullptr,
                         bench.stream),
         "fx8_cuda_export");
    measure_update(
        bench, array, sums, c.data(),
        [&](size_t) {
            const float one = 1, zero = 0;
            for (size_t k = 0; k < array.n_channels; ++k)
                check(herk(cublas.get(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                           static_cast<int>(n), static_cast<int>(array.n_times),
                           &one, a.data() + k * cells, CUDA_C_8I,
                           static_cast<int>(n), &zero, c.data() + k * n * n,
                           CUDA_C_32F, static_cast<int>(n)),
                      "cublasCherk3mEx");
        },
        figure);
}

void measure_cherk(Bench &bench, const Array &whole, const int8_t *x,
                   const int64_t *sums, Figure *figure)
{
    const size_t n = whole.n_inputs, cells = n * whole.n_times;
    const size_t vectors =
        fx8_cuda_channel_vectors(n, whole.n_times, FX8_CUDA_TIMES_INT8);
    const Array array =
        part_of(bench, whole,
                cells * sizeof(float2) + 64 * vectors + n * n * sizeof(float2),
                MOST_CALLS);
    const Cublas cublas(bench);
    const auto herk = FIND(cublas.library(), cublasCherk);
    const Memory<float> wide(array.n_channels * vectors * 16);
    const Memory<fx8_cf32> a(array.n_channels * cells);
    const Memory<float2> c(array.n_channels * n * n);
    widen(bench, x, wide.data(), fx8_cuda_pitch(n),
          array.n_channels * array.n_times / FX8_CUDA_TIMES_INT8);
    const fx8_cuda_spectra spectra = spectra_of(array, nullptr, wide.data());
    must(fx8_cuda_export(&spectra, array.n_times, nullptr, a.data(),
                         bench.stream),
         "fx8_cuda_export");
    measure_update(
        bench, array, sums, c.data(),
        [&](size_t) {
            const float one = 1, zero = 0;
            for (size_t k = 0; k < array.n_channels; ++k)
                check(herk(cublas.get(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                           static_cast<int>(n), static_cast<int>(array.n_times),
                           &one,
                           reinterpret_cast<const cuComplex *>(a.data() +
                                                               k * cells),
                           static_cast<int>(n), &zero, c.data() + k * n * n,
                           static_cast<int>(n)),
                      "cublasCherk");
        },
        figure);
}

/* int8 products in one batch */

/** The products of an array, described for cublasLt. */
class LtProduct
{
  public:
    explicit LtProduct(const Array &array)
        : library_(open_library("libcublasLt")),
          matmul_(FIND(library_, cublasLtMatmul))
    {
        const uint64_t rows = 2 * array.n_inputs, times = array.n_times;
        const cublasOperation_t transposed = CUBLAS_OP_T;
        check(FIND(library_, cublasLtCreate)(&handle_), "cublasLtCreate");
        check(FIND(library_, cublasLtMatmulDescCreate)(
                  &operation_, CUBLAS_COMPUTE_32I, CUDA_R_32I),
              "cublasLtMatmulDescCreate");
        check(FIND(library_, cublasLtMatmulDescSetAttribute)(
                  operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                  sizeof transposed),
              "cublasLtMatmulDescSetAttribute");
        x_ = describe(CUDA_R_8I, times, rows, array.n_channels);
        c_ = describe(CUDA_R_32I, rows, rows, array.n_channels);
    }
    ~LtProduct()
    {
        (void)FIND(library_, cublasLtMatrixLayoutDestroy)(x_);
        (void)FIND(library_, cublasLtMatrixLayoutDestroy)(c_);
        (void)FIND(library_, cublasLtMatmulDescDestroy)(operation_);
        (void)FIND(library_, cublasLtDestroy)(handle_);
    }
    LtProduct(const LtProduct &) = delete;
    LtProduct &operator=(const LtProduct &) = delete;

    /** The algorithms that the library expects to be fast, the best guess
     *  first. */
    std::vector<cublasLtMatmulHeuristicResult_t> guess() const
    {
        cublasLtMatmulPreference_t preference;
        std::vector<cublasLtMatmulHeuristicResult_t> guesses(GUESSES);
        int n = 0;
        check(FIND(library_, cublasLtMatmulPreferenceCreate)(&preference),
              "cublasLtMatmulPreferenceCreate");
        cublasStatus_t status =
            FIND(library_, cublasLtMatmulPreferenceSetAttribute)(
                preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                &WORKSPACE_BYTES, sizeof WORKSPACE_BYTES);
        if (status == CUBLAS_STATUS_SUCCESS)
            status = FIND(library_, cublasLtMatmulAlgoGetHeuristic)(
                handle_, operation_, x_, x_, c_, c_, preference, GUESSES,
                guesses.data(), &n);
        (void)FIND(library_, cublasLtMatmulPreferenceDestroy)(preference);
        check(status, "cublasLtMatmulAlgoGetHeuristic");
        guesses.resize(static_cast<size_t>(n));
        return guesses;
    }

    void multiply(const Bench &bench, const int8_t *x, int32_t *c,
                  const cublasLtMatmulAlgo_t &algorithm, void *workspace) const
    {
        const int32_t one = 1, zero = 0;
        check(matmul_(handle_, operation_, &one, x, x_, x, x_, &zero, c, c_, c,
                      c_, &algorithm, workspace, WORKSPACE_BYTES, bench.stream),
              "cublasLtMatmul");
    }

  private:
    cublasLtMatrixLayout_t describe(cudaDataType type, uint64_t rows,
                                    uint64_t columns, size_t n_matrices) const
    {
        cublasLtMatrixLayout_t layout;
        const int32_t count = static_cast<int32_t>(n_matrices);
        const int64_t stride = static_cast<int64_t>(rows * columns);
        const auto set = FIND(library_, cublasLtMatrixLayoutSetAttribute);
        check(FIND(library_, cublasLtMatrixLayoutCreate)(
                  &layout, type, rows, columns, static_cast<int64_t>(rows)),
              "cublasLtMatrixLayoutCreate");
        check(set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                  sizeof count),
              "cublasLtMatrixLayoutSetAttribute");
        check(set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                  sizeof stride),
              "cublasLtMatrixLayoutSetAttribute");
        return layout;
    }

    void *library_;
    decltype(&::cublasLtMatmul) matmul_;
    cublasLtHandle_t handle_ = nullptr;
    cublasLtMatmulDesc_t operation_ = nullptr;
    cublasLtMatrixLayout_t x_ = nullptr, c_ = nullptr;
};

void measure_lt(Bench &bench, const Array &whole, const int8_t *x,
                const int64_t *sums, Figure *figure)
{
    const size_t n_rows = 2 * whole.n_inputs;
    const size_t x_bytes = n_rows * whole.n_times;
    const Array array = part_of(
        bench, whole, x_bytes + n_rows * n_rows * sizeof(int32_t), 65535);
    const LtProduct product(array);
    const Memory<int8_t> rows(array.n_channels * x_bytes);
    const Memory<int32_t> c(array.n_channels * n_rows * n_rows);
    const Memory<char> workspace(WORKSPACE_BYTES);
    unroll_rows(bench, x, rows.data(), array.n_inputs, array.n_channels,
                array.n_times);
    for (const auto &guess : product.guess()) {
        const Work multiply = [&](size_t) {
            product.multiply(bench, rows.data(), c.data(), guess.algo,
                             workspace.data());
        };
        multiply(0);
        if (count_differing_products(bench, sums, c.data(), array.n_inputs,
                                     1) != 0) {
            figure->note = "differs";
            figure->seconds = 0;
            return;
        }
        const double seconds = measure(bench, multiply);
        if (figure->seconds == 0 || seconds < figure->seconds)
            figure->seconds = seconds;
    }
    figure->operations = array.operations();
    if (figure->seconds == 0)
        figure->note = "no algorithm";
}

} // namespace

std::vector<Figure> measure_peers(Bench &bench, const Array &array,
                                  const int8_t *x, const int64_t *sums)
{
    const struct {
        const char *name;
        void (*measure)(Bench &, const Array &, const int8_t *, const int64_t *,
                        Figure *);
    } peers[] = {
        {CHERK3M, measure_cherk3m}, {LT, measure_lt}, {CHERK, measure_cherk}};
    std::vector<Figure> figures;
    for (const auto &peer : peers) {
        Figure figure = {peer.name, "", 0, 0};
        try {
            peer.measure(bench, array, x, sums, &figure);
        } catch (const Failure &failure) {
            figure.seconds = 0;
            figure.note = failure.what();
        }
        figures.push_back(figure);
    }
    return figures;
}

#else

std::vector<Figure> measure_peers(Bench &, const Array &, const int8_t *,
                                  const int64_t *)
{
    std::vector<Figure> figures;
    for (const std::string &name : peer_names())
        figures.push_back({name, "compiled without its headers", 0, 0});
    return figures;
}

#endif

} // namespace bench
