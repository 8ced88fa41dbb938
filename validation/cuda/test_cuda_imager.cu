/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_imager.cu -- the CUDA imager beside that of the CPU, and on the
 * harness what happens if a call fails, a kernel hangs or memory is short.
 *
 * Shows (devices, imagers): the imager of a device adds what that of the CPU
 *     adds, for several frames, in one piece and in many; every call of the
 *     runtime that fails, a launch that is refused, a kernel that hangs and too
 *     little memory are one line, and nothing is left on the device
 * Within: equal to the bit; words; numbers of objects
 */
#include <string.h>

#include <string>

#include "config/base/shape.h"
#include "kernels/cuda/engine_cuda.h"
#include "kernels/cuda/imager_cuda.h"
#include "validation/cuda/checkers.h"
#include "validation/cuda/device_array.h"

namespace imager_tests
{

static uint64_t random_state = 47;

/* In [-scale, scale). */
static std::vector<double> uniforms(size_t n, double scale)
{
    std::vector<double> all(n);
    for (double &each : all)
        each = scale *
               (static_cast<double>(harness::random_next(&random_state) >> 11) *
                    0x1p-52 -
                1.0);
    return all;
}

/** What an array sees. */
struct Frame {
    std::vector<double> turns;
    std::vector<fx8_cf32> matrices;

    explicit Frame(const fx8_imager_plan &plan)
        : turns(uniforms(3 * plan.n_antennas * plan.n_channels, 3000.0)),
          matrices(fx8_image_cells(plan.n_antennas) * plan.n_channels)
    {
        const std::vector<double> values = uniforms(2 * matrices.size(), 1.0);
        const size_t n = plan.n_antennas;
        for (size_t c = 0; c < plan.n_channels; ++c)
            for (size_t j = 0; j < n; ++j)
                for (size_t i = 0; i < j; ++i) {
                    const size_t at =
                        c * fx8_image_cells(n) + fx8_image_cell(n, i, j);
                    matrices[at] = {static_cast<float>(values[2 * at]),
                                    static_cast<float>(values[2 * at + 1])};
                }
    }
};

/** Directions, two frames, and images of both added up. */
struct Task {
    fx8_imager_plan plan;
    size_t n_directions;
    std::vector<double> directions;
    std::vector<Frame> frames;
    size_t n_busy = 0; /**< of the last imager */
    std::string device;

    Task(size_t n_antennas, size_t n_channels, size_t n)
        : plan({n_antennas, n_channels, 1, 0}), n_directions(n),
          directions(uniforms(3 * fx8_round_up(n, FX8_IMAGE_LANES), 1.0)),
          frames({Frame(plan), Frame(plan)})
    {
    }
    fx8_status run(const fx8_imager_operations &table,
                   std::vector<float> *values, fx8_error *error)
    {
        struct fx8_imager *imager = nullptr;
        values->assign(n_directions, 0.25F);
        fx8_status status = table.open(&plan, &imager, error);
        if (status == FX8_OK) {
            n_busy = table.facts(imager)->n_busy;
            device = table.facts(imager)->device;
        }
        for (const Frame &frame : frames) {
            if (status == FX8_OK)
                status = table.set(imager, frame.turns.data(),
                                   frame.matrices.data(), error);
            if (status == FX8_OK)
                status = table.add(imager, n_directions, directions.data(),
                                   values->data(), error);
        }
        table.close(&imager);
        CHECK(imager == nullptr);
        return status;
    }
    std::vector<float> run_well(const fx8_imager_operations &table)
    {
        fx8_error error = {};
        std::vector<float> values;
        const fx8_status status = run(table, &values, &error);
        if (status != FX8_OK)
            printf("# %s\n", error.message);
        CHECK(status == FX8_OK);
        return values;
    }
    void check()
    {
        const std::vector<float> wanted = run_well(fx8_imager_cpu);
        const std::vector<float> got = run_well(fx8_imager_cuda);
        CHECK(memcmp(got.data(), wanted.data(), got.size() * sizeof(float)) ==
              0);
    }
};

/** Limits the memory of imagers, while it exists. */
class Memory
{
  public:
    explicit Memory(size_t kib)
    {
        setenv(FX8_CUDA_MEMORY_VARIABLE, std::to_string(kib).c_str(), 1);
    }
    ~Memory()
    {
        unsetenv(FX8_CUDA_MEMORY_VARIABLE);
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
};

TEST(images_are_those_of_the_cpu)
{
    for (const size_t n : {1, 2, 3, 23, 24, 25, 33, 70})
        Task(n, 3, 333).check();
}

/* With 5 antennas a piece of 128 directions takes 9 KiB: half of the memory.
 * The last piece of 1, 17 and 128 directions. */
TEST(images_in_pieces)
{
    const Memory little(24);
    for (const size_t n : {257, 401, 512}) {
        Task task(5, 1, n);
        task.check(); /* the device last */
        CHECK(task.n_busy == 128);
        CHECK(task.device.substr(0, 2) == "0 ");
    }
}

TEST(memory_that_is_too_short_is_reported_with_figures)
{
    const Memory little(200);
    Task task(100, 2, 20);
    std::vector<float> values;
    fx8_error error = {};
    CHECK(task.run(fx8_imager_cuda, &values, &error) == FX8_ERR_SYSTEM);
    const std::string text = error.message;
    CHECK(text.find("): 200.0 KiB of memory free: expected ") !=
          std::string::npos);
    CHECK(text.find(" for an image from 100 antennas and 2 frequencies") !=
          std::string::npos);
}

#if defined(FX8_CUDA_ON_CPU)

/* Each call in turn, allocations and launches among them. */
TEST(a_call_that_fails_is_one_line)
{
    Task task(5, 2, 40);
    const std::vector<float> wanted = task.run_well(fx8_imager_cpu);
    harness::reset_devices();
    const std::vector<float> whole = task.run_well(fx8_imager_cuda);
    const uint64_t n_calls = harness::count_calls();
    size_t n_failed = 0;
    CHECK(n_calls > 30);
    for (uint64_t call = 1; call <= n_calls; ++call) {
        harness::reset_devices();
        harness::settings().fail_call = call;
        fx8_error error = {};
        std::vector<float> values;
        const fx8_status status = task.run(fx8_imager_cuda, &values, &error);
        harness::settings().fail_call = 0;
        const std::string text = error.message;
        CHECK(harness::count_live() == 0);
        if (status == FX8_OK) {
            /* only what frees, and asks for errors of before, may fail */
            const std::string name = harness::failed_call();
            CHECK(name.find("Free") != std::string::npos ||
                  name.find("Destroy") != std::string::npos ||
                  name == "cudaStreamSynchronize" || name == "cudaSetDevice" ||
                  name == "cudaGetLastError");
            CHECK(values == wanted);
            continue;
        }
        ++n_failed;
        CHECK(status == FX8_ERR_DEVICE || status == FX8_ERR_UNSUPPORTED);
        CHECK(text.substr(0, 6) == "cuda: ");
        CHECK(text.find('\n') == std::string::npos);
    }
    CHECK(n_failed > n_calls / 2);
    harness::reset_devices();
}

#if !FX8_THREAD_CHECKER /* which does not let a child start threads */

/* It is given up, and nothing waits for it. */
TEST(an_image_that_hangs_is_given_up)
{
    for (const char *kernel :
         {"fx8_image_phasors_kernel", "fx8_image_8_kernel"})
        tap::must_pass_in_child([kernel] {
            harness::settings().hanging_kernel = kernel;
            Task task(5, 1, 40);
            task.plan.deadline_s = 0.01;
            for (const char *words :
                 {"waiting for an image: not done within 0.01 s",
                  "stopped answering this process earlier"}) {
                std::vector<float> values;
                fx8_error error = {};
                CHECK(task.run(fx8_imager_cuda, &values, &error) ==
                          FX8_ERR_DEVICE &&
                      strstr(error.message, words) != nullptr);
            }
        });
}

#endif
#endif

} // namespace imager_tests
