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

#if HAS_CUBLAS

namespace
{

constexpr size_t WORKSPACE_BYTES = size_t(64) << 20;
constexpr int GUESSES = 4; /* of algorithms; the fastest one counts */
constexpr size_t MOST_CHANNELS = 65535;

/** A function of the library of the headers' version, which stays open. */
template <class Function> Function find(const char *name)
{
    const std::string file =
        "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
    void *const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        throw Failure(file + " is not there");
    void *const address = dlsym(library, name);
    if (address == nullptr)
        throw Failure(std::string("has no ") + name);
    return reinterpret_cast<Function>(address);
}

void check(cublasStatus_t status, const char *what)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        throw Failure(std::string(what) + ": cuBLAS status " +
                      std::to_string(static_cast<int>(status)));
}

#define NAME_OF_(function) #function
/** The name of a function as exported: a macro may replace it. */
#define NAME_OF(function) NAME_OF_(function)
#define FIND(function)    find<decltype(&::function)>(NAME_OF(function))
/** A call that must succeed. */
#define CALL(function, ...)                                                    \
    check(FIND(function)(__VA_ARGS__), NAME_OF(function))

/** Matrices of an array, one behind the other. */
cublasLtMatrixLayout_t describe(cudaDataType type, uint64_t rows,
                                uint64_t columns, size_t n_matrices)
{
    cublasLtMatrixLayout_t layout;
    const int32_t count = static_cast<int32_t>(n_matrices);
    const int64_t stride = static_cast<int64_t>(rows * columns);
    CALL(cublasLtMatrixLayoutCreate, &layout, type, rows, columns,
         static_cast<int64_t>(rows));
    CALL(cublasLtMatrixLayoutSetAttribute, layout,
         CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    CALL(cublasLtMatrixLayoutSetAttribute, layout,
         CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
    return layout;
}

/** The fastest of the algorithms that the library expects to be fast.  What it
 *  allocates on the host is kept: a process measures few arrays. */
void measure_lt(Bench &bench, const Array &whole, const int8_t *x,
                const int64_t *sums, Figure *figure)
{
    const uint64_t n_rows = 2 * whole.n_inputs;
    const size_t x_bytes = n_rows * whole.n_times;
    Array array = whole;
    array.n_channels =
        std::min({whole.n_channels, MOST_CHANNELS,
                  bench.free_bytes() / 2 /
                      (x_bytes + n_rows * n_rows * sizeof(int32_t))});
    if (array.n_channels == 0)
        throw Failure("not enough memory");
    const Memory<int8_t> rows(array.n_channels * x_bytes);
    const Memory<int32_t> c(array.n_channels * n_rows * n_rows);
    const Memory<char> workspace(WORKSPACE_BYTES);
    unroll_rows(bench, x, rows.data(), array.n_inputs, array.n_channels,
                array.n_times);
    static cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatmulPreference_t preference;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    if (handle == nullptr)
        CALL(cublasLtCreate, &handle);
    CALL(cublasLtMatmulDescCreate, &operation, CUBLAS_COMPUTE_32I, CUDA_R_32I);
    CALL(cublasLtMatmulDescSetAttribute, operation, CUBLASLT_MATMUL_DESC_TRANSA,
         &transposed, sizeof transposed);
    CALL(cublasLtMatmulPreferenceCreate, &preference);
    CALL(cublasLtMatmulPreferenceSetAttribute, preference,
         CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &WORKSPACE_BYTES,
         sizeof WORKSPACE_BYTES);
    const auto x_of =
        describe(CUDA_R_8I, array.n_times, n_rows, array.n_channels);
    const auto c_of = describe(CUDA_R_32I, n_rows, n_rows, array.n_channels);
    cublasLtMatmulHeuristicResult_t guesses[GUESSES];
    int n_guesses = 0;
    CALL(cublasLtMatmulAlgoGetHeuristic, handle, operation, x_of, x_of, c_of,
         c_of, preference, GUESSES, guesses, &n_guesses);
    const auto multiply = FIND(cublasLtMatmul);
    for (int k = 0; k < n_guesses; ++k) {
        const Work work = [&](size_t) {
            const int32_t one = 1, zero = 0;
            check(multiply(handle, operation, &one, rows.data(), x_of,
                           rows.data(), x_of, &zero, c.data(), c_of, c.data(),
                           c_of, &guesses[k].algo, workspace.data(),
                           WORKSPACE_BYTES, bench.stream),
                  "cublasLtMatmul");
        };
        work(0);
        if (count_differing_products(bench, sums, c.data(), array.n_inputs,
                                     1) != 0)
            throw Failure("differs");
        const double seconds = measure(bench, work);
        if (figure->seconds <= 0 || seconds < figure->seconds)
            figure->seconds = seconds;
    }
    figure->operations = array.operations();
    if (figure->seconds <= 0)
        throw Failure("no algorithm");
}

} // namespace

#endif

Figure measure_peer(Bench &bench, const Array &array, const int8_t *x,
                    const int64_t *sums)
{
    Figure figure = {"cublasLt int8", "", 0, 0};
#if HAS_CUBLAS
    try {
        measure_lt(bench, array, x, sums, &figure);
    } catch (const Failure &failure) {
        figure.seconds = 0;
        figure.note = failure.what();
    }
#else
    (void)bench, (void)array, (void)x, (void)sums;
    figure.note = "compiled without its headers";
#endif
    return figure;
}

} // namespace bench
