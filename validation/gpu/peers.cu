/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers.cu -- see bench.cuh: cuBLAS on the same spectra.
 *
 *     cublasLt int8  a real product of the 2 N rows with themselves: the whole
 *                    square in int32, in one batch
 *
 * The library is opened at run time, with the prototypes of its header if the
 * program was compiled with it.
 */
#include <dlfcn.h>

#include <algorithm>
#include <memory>

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

const char LT[] = "cublasLt int8";

} // namespace

std::vector<std::string> peer_names()
{
    return {LT};
}

#if HAS_CUBLAS

namespace
{

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
    Figure figure = {LT, "", 0, 0};
    try {
        measure_lt(bench, array, x, sums, &figure);
    } catch (const Failure &failure) {
        figure.seconds = 0;
        figure.note = failure.what();
    }
    return {figure};
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
