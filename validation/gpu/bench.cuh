/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.cuh -- what the parts of bench-gpu share: settings, the card, memory,
 * the clock, the report.
 *
 *     bench.cu           this file, and the order of the sections
 *     data.cu            random spectra, and comparing sums
 *     ceilings.cu        one instruction on registers; copies
 *     ceilings_wgmma.cu  that of sm_90a
 *     task.cu            a correlator on random spectra (task.cuh)
 *     correlators.cu     every correlator, N x T; the main ones, a few sizes
 *     peers.cu           cuBLAS on the same data
 *     host.cu            this machine's CPU for the same arrays
 *     channelizer.cu     FIR, corner turn (channelizer.cuh)
 *     fft.cu             cuFFT between them
 *     postprocess.cu     sums to results (dump.cuh)
 *     quicklook.cu       results to a quick-look
 *     image.cu           visibilities to an image
 *     engine.cu          the whole engine, and its stages
 *     energy.cu          joules, by NVML
 *     goals.cu           goals, and the figures reached
 *
 * Notes: 1) whatever fails throws Failure; a section that fails is reported,
 *           and the next one runs
 *        2) one thread, one stream; the engine alone has threads of its own
 *        3) bench-kernels has no cuFFT: without engine.cu and fft.cu, whose
 *           functions are weak
 */
#ifndef FX8_VALIDATION_GPU_BENCH_CUH
#define FX8_VALIDATION_GPU_BENCH_CUH

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cuda/correlate.h"
#include "kernels/cuda/launch.h"

namespace bench
{

/** An expected success that failed, in one line. */
class Failure : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

/** A call of the runtime that must succeed. */
void must(cudaError_t status, const char *what);

/* --- settings --------------------------------------------------------------
 */

/** How much is measured. */
enum class Extent {
    FULL,
    QUICK, /**< fewer sizes, shorter rounds */
    TINY   /**< the least that runs every line: for pretend devices, whose times
              mean nothing */
};

struct Settings {
    Extent extent = Extent::FULL;
    double seconds = 330; /**< after which no measurement starts */
    std::string section;  /**< empty: all but "kernels" */
    std::string profile;  /**< a correlator, to be called only twice */
    int device = 0;
};

/* --- the report ------------------------------------------------------------
 */

/** A row for programs: a JSON object on one line. */
class Row
{
  public:
    explicit Row(const char *kind);
    Row &text(const char *name, const std::string &value);
    template <class Number> Row &number(const char *key, Number value)
    {
        return real(key, static_cast<double>(value));
    }
    std::string line() const;

  private:
    Row &real(const char *key, double value);
    void name(const char *name);
    std::string line_;
};

/** The results as they come; a program that is stopped leaves those so far. */
class Report
{
  public:
    /** Text goes to page and screen; each file may be null. */
    Report(std::FILE *page, std::FILE *rows, std::FILE *screen)
        : page_(page), rows_(rows), screen_(screen)
    {
    }
    void text(const char *format, ...) __attribute__((format(printf, 2, 3)));
    void row(const Row &row);
    /** Whether everything so far was written. */
    bool is_whole() const;

  private:
    std::FILE *page_, *rows_, *screen_;
};

/* --- the card --------------------------------------------------------------
 */

/** Rates that nothing on this card exceeds, as measured; 0: not measured, or
 *  not available. */
struct Ceilings {
    double dp4a, imma, igmma;  /**< integer operations / s */
    double ffma;               /**< floating-point operations / s */
    double copy;               /**< bytes read and written / s */
    double to_device, to_host; /**< bytes / s, pinned memory */
};

/** What is to be reached: see the table of goals.cu. */
enum class Aim {
    FP32,
    DP4A,
    MMA,
    WGMMA_512,
    WGMMA_2048,
    PEER, /**< cuBLAS */
    CORE, /**< a core of the CPU beside the card */
    FIR,
    TURN,
    ENGINE,
    ENERGY
};

/** The lowest figure for each aim. */
class Goals
{
  public:
    struct Found {
        double value;
        size_t n;          /**< how often it was measured */
        std::string where; /**< of the lowest; empty: nothing was measured */
    };
    /** 0 does not count: the ceiling of a share is not known. */
    void note(Aim aim, double value, const std::string &where);
    Found find(Aim aim) const
    {
        const auto found = found_.find(aim);
        return found == found_.end() ? Found{0, 0, ""} : found->second;
    }

  private:
    std::map<Aim, Found> found_;
};

/** Dense int8 operations / s by the card's data sheet; 0: not known here. */
double sheet_of(const char *card);

struct Bench;

/** Whether a goal applies to arrays of so many inputs and calls of so many
 *  times. */
bool is_goal_of(const Bench &bench, Aim aim, size_t n_inputs, size_t n_times);

/** Everything that a section uses. */
struct Bench {
    Settings settings;
    Report *report;
    cudaDeviceProp card;
    fx8_cuda_capability capability;
    cudaStream_t stream;
    Ceilings ceilings;
    Goals goals;
    size_t n_wrong;             /**< kernels whose sums differed */
    double begin_s, deadline_s; /**< by fx8_clock_seconds() */

    bool is_tiny() const
    {
        return settings.extent == Extent::TINY;
    }
    bool is_quick() const
    {
        return settings.extent != Extent::FULL;
    }
    /** Whether there is time for another measurement. */
    bool has_time() const;
    /** Bytes of an array too large for any cache. */
    size_t streamed_bytes() const;
    /** Bytes of device memory that are free. */
    size_t free_bytes() const;
};

/* --- memory ----------------------------------------------------------------
 */

/** All elements of a vector to the device, and back.  A copy from pageable
 *  memory may still be under way when the call returns, and no stream of a
 *  benchmark waits for it. */
template <class T> void upload(const std::vector<T> &from, T *to)
{
    must(cudaMemcpy(to, from.data(), from.size() * sizeof(T),
                    cudaMemcpyHostToDevice),
         "upload");
    must(cudaStreamSynchronize(nullptr), "upload");
}
template <class T> void download(const T *from, std::vector<T> *to)
{
    must(cudaMemcpy(to->data(), from, to->size() * sizeof(T),
                    cudaMemcpyDeviceToHost),
         "download");
}

/** Elements on the device, freed with the object. */
template <class T> class Memory
{
  public:
    explicit Memory(size_t count)
        : bytes_((count > 0 ? count : 1) * sizeof(T)), data_(nullptr)
    {
        must(cudaMalloc(&data_, bytes_), "cudaMalloc");
    }
    explicit Memory(const std::vector<T> &from) : Memory(from.size())
    {
        upload(from, data_);
    }
    ~Memory()
    {
        (void)cudaFree(data_); /* it would report an error of earlier work */
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    T *data() const
    {
        return data_;
    }
    /** Zero all bytes, in order of the stream. */
    void clear(const Bench &bench) const
    {
        must(cudaMemsetAsync(data_, 0, bytes_, bench.stream),
             "cudaMemsetAsync");
    }

  private:
    size_t bytes_;
    T *data_;
};

/* --- the clock -------------------------------------------------------------
 */

/** Queues call k of the measured work, k counting up from 0. */
using Work = std::function<void(size_t k)>;

/**
 * measure -- seconds of a call: median of five rounds between events, each of
 * enough calls; some calls before them warm up.
 *
 * Notes: a round of one slow call (a tenth of a second) is done three times
 */
double measure(const Bench &bench, const Work &work);

/**
 * tell_cells -- print a line and a row: cells and bytes a second, the bytes as
 * a share of a copy's.
 *
 * Given: head  start of the line
 *        row   start of the row
 */
void tell_cells(Bench &bench, const std::string &head, Row row,
                double cells_per_s, double bytes_per_s);

/* --- data ------------------------------------------------------------------
 */

/** Noise of 21 LSB rms, sometimes -128, in every byte of n_vectors of 16 bytes.
 */
void fill_noise(const Bench &bench, void *data, size_t n_vectors,
                unsigned seed);

/** The same numbers as floats, in the layout of layout.h.
 *  n_columns: columns of sixteen times, of all channels */
void widen(const Bench &bench, const int8_t *from, float *to, size_t pitch,
           size_t n_columns);

/** Rows of numbers in order of time: int8 [n_channels][2 N][n_times]. */
void unroll_rows(const Bench &bench, const int8_t *from, int8_t *to,
                 size_t n_inputs, size_t n_channels, size_t n_times);

/** Sums by the definition, one time after the other: int64
 *  [n_channels][pair][re, im]. */
void correlate_plainly(const Bench &bench, const int8_t *x, int64_t *sums,
                       size_t n_inputs, size_t n_channels, size_t n_times);

/** How many of n numbers, int64 or double, differ. */
template <class Number>
size_t count_differing(const Bench &bench, const int64_t *a, const Number *b,
                       size_t n);

/** How many sums differ from the products of rows: int32 [n_channels][2 N][2
 *  N], a symmetric matrix. */
size_t count_differing_products(const Bench &bench, const int64_t *sums,
                                const int32_t *products, size_t n_inputs,
                                size_t n_channels);

/* --- correlators and their peers -------------------------------------------
 */

/** An array to correlate. */
struct Array {
    size_t n_inputs, n_times, n_channels;

    /** Operations of an array: 4 multiplications and 4 additions for each
     *  complex product. */
    double operations() const
    {
        return 4.0 * static_cast<double>(n_inputs) *
               static_cast<double>(n_inputs + 1) *
               static_cast<double>(n_times) * static_cast<double>(n_channels);
    }
};

/** The result of one kernel. */
struct Figure {
    std::string name;
    std::string note; /**< empty: exact and measured */
    double seconds;   /**< 0: not measured */
    double operations;

    double rate() const
    {
        return seconds > 0 ? operations / seconds : 0;
    }
};

/**
 * measure_peer -- cuBLAS on the spectra of an array.
 *
 * Given: x     int8 spectra, of array.n_channels channels
 *        sums  int64, of the first channel
 * Notes: the figure's note says if the library is absent, refuses or differs
 */
Figure measure_peer(Bench &bench, const Array &array, const int8_t *x,
                    const int64_t *sums);

/** Host memory, aligned for vector code. */
using HostMemory = std::unique_ptr<char, void (*)(void *)>;

/** A correlator of this machine's CPU. */
struct HostCase {
    const char *name;
    bool is_int8; /**< else FP32 */
    bool is_one_core;
};
inline constexpr HostCase host_cases[] = {{"CPU int8", true, false},
                                          {"CPU fp32", false, false},
                                          {"one core int8", true, true}};

/** The correlators of this machine's CPU: the fastest variant that runs and
 *  agrees with the reference, on all cores that this program may use. */
class Host
{
  public:
    /** With random spectra of both precisions, larger than the caches. */
    explicit Host(const Bench &bench);

    /** "avx512, 16 threads". */
    std::string describe() const;

    /**
     * measure -- the CPU on an array.
     *
     * Returned: array  what was measured: its channels, and fewer times if all
     *                  would take too long or too much memory
     * Notes:    well below a second
     */
    Figure measure(const HostCase &what, Array *array) const;

  private:
    bool is_tiny_;
    const struct fx8_operations *operations_;
    size_t n_threads_;
    HostMemory int8_, fp32_;
};

/* --- sections --------------------------------------------------------------
 */

void measure_ceilings(Bench &bench);
/** Operations / s of wgmma; 0: not on this device, or not in this build. */
double measure_igmma(const Bench &bench);
void measure_correlators(Bench &bench);
/** The main correlators, then the ceilings, then the peers. */
void measure_kernels(Bench &bench);
/** Two calls of a correlator as measured by that section, for a profiler;
 *  throws. */
void call_kernel(Bench &bench);
void measure_channelizer(Bench &bench);
void measure_postprocess(Bench &bench);
void measure_quicklook(Bench &bench);
void measure_image(Bench &bench);
void measure_engine(Bench &bench) __attribute__((weak));
/** Spectra that the engine correlates in one call on this card, for an array of
 *  so many inputs; throws; null in a program without the engine. */
size_t call_of_engine(const Bench &bench, size_t n_inputs)
    __attribute__((weak));
void measure_energy(Bench &bench);

/** A line for every goal of the section asked for, or of all, measured or not;
 *  returns how many were missed. */
size_t tell_goals(Bench &bench);

/** Driver, clocks and power by NVML in one line, or that NVML is absent. */
std::string describe_state(const Bench &bench);

/**
 * run -- every section asked for, in their order.
 *
 * Returned: number of sections that failed and of kernels that were wrong
 */
size_t run(const Settings &settings, Report *report);

/** Two calls of one correlator, settings.profile, under a profiler; throws if
 *  no correlator has that name. */
bool profile(const Settings &settings, Report *report);

/** Names of the sections, in their order. */
std::vector<std::string> section_names();

} // namespace bench

#endif
