/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.cu -- see bench.cuh: what all sections use, and their order. */
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstring>

#include "config/base/clock.h"
#include "validation/cuda/without.h"
#include "validation/gpu/bench.cuh"

namespace bench
{

void must(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    (void)cudaGetLastError(); /* reported here, and not repeated */
    throw Failure(std::string(what) + ": " + cudaGetErrorName(status) + ": " +
                  cudaGetErrorString(status));
}

/* --- the report ------------------------------------------------------------
 */

Row::Row(const char *kind)
{
    text("kind", kind);
}

void Row::name(const char *name)
{
    line_ += line_.empty() ? "{\"" : ", \"";
    line_ += name;
    line_ += "\": ";
}

Row &Row::text(const char *key, const std::string &value)
{
    name(key);
    line_ += '"';
    for (const char c : value) {
        if (c == '"' || c == '\\')
            line_ += '\\';
        if (static_cast<unsigned char>(c) >= ' ')
            line_ += c;
    }
    line_ += '"';
    return *this;
}

Row &Row::real(const char *key, double value)
{
    char digits[32];
    name(key);
    std::snprintf(digits, sizeof digits, "%.6g", value);
    line_ += std::isfinite(value) ? digits : "null";
    return *this;
}

std::string Row::line() const
{
    return line_ + "}";
}

void Report::text(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (std::FILE *file : {screen_, page_})
        if (file != nullptr) {
            std::fputs(line, file);
            std::fflush(file);
        }
}

void Report::row(const Row &row)
{
    if (rows_ == nullptr)
        return;
    std::fprintf(rows_, "%s\n", row.line().c_str());
    std::fflush(rows_);
}

bool Report::is_whole() const
{
    return (page_ == nullptr || std::ferror(page_) == 0) &&
           (rows_ == nullptr || std::ferror(rows_) == 0);
}

/* --- the card --------------------------------------------------------------
 */

bool Bench::has_time() const
{
    return is_tiny() || fx8_clock_seconds() < deadline_s;
}

size_t Bench::free_bytes() const
{
    size_t n_free = 0, total = 0;
    must(cudaMemGetInfo(&n_free, &total), "cudaMemGetInfo");
    return n_free;
}

size_t Bench::streamed_bytes() const
{
    if (is_tiny())
        return size_t(1) << 16;
    const size_t wanted =
        std::max(size_t(256) << 20, 4 * static_cast<size_t>(card.l2CacheSize));
    return std::min(wanted, free_bytes() / 8);
}

/* --- the clock -------------------------------------------------------------
 */

namespace
{

using Event = std::unique_ptr<CUevent_st, cudaError_t (*)(cudaEvent_t)>;

Event make_event()
{
    cudaEvent_t event = nullptr;
    must(cudaEventCreate(&event), "cudaEventCreate");
    return Event(event, cudaEventDestroy);
}

/** Seconds of n calls; the first one is call `first`. */
double time_round(const Bench &bench, const Work &work, size_t first, size_t n)
{
    const Event begin = make_event(), end = make_event();
    must(cudaEventRecord(begin.get(), bench.stream), "cudaEventRecord");
    for (size_t k = first; k < first + n; ++k)
        work(k);
    must(cudaEventRecord(end.get(), bench.stream), "cudaEventRecord");
    must(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float milliseconds = 0;
    must(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()),
         "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
}

constexpr double SLOW_S = 0.1;
constexpr size_t MOST_CALLS = 2000;

} // namespace

double measure(const Bench &bench, const Work &work)
{
    /* Clocks rise within milliseconds of work, and the first call loads the
     * code: the length of a call is estimated after both. */
    const double round_s = bench.is_tiny()    ? 0
                           : bench.is_quick() ? 4e-3
                                              : 12e-3;
    size_t done = 0, n = 1;
    double seconds = time_round(bench, work, done++, 1);
    for (double spent = seconds; spent < round_s && n < MOST_CALLS;) {
        n = std::min(2 * n, MOST_CALLS);
        spent = time_round(bench, work, done, n);
        seconds = spent / static_cast<double>(n);
        done += n;
    }
    n = seconds > 0 ? static_cast<size_t>(std::ceil(round_s / seconds)) : 1;
    n = std::max<size_t>(1, std::min(n, MOST_CALLS));
    const size_t n_rounds = bench.is_tiny()                        ? 1
                            : seconds > SLOW_S || bench.is_quick() ? 3
                                                                   : 5;
    std::vector<double> rounds(n_rounds);
    for (double &round : rounds) {
        round = time_round(bench, work, done, n) / static_cast<double>(n);
        done += n;
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[n_rounds / 2];
}

void tell_cells(Bench &bench, const std::string &head, Row row,
                double cells_per_s, double bytes_per_s)
{
    const double copy = bench.ceilings.copy;
    const double share = copy > 0 ? bytes_per_s / copy : 0;
    bench.report->text("%s %9.2f Gcells/s %9.1f GB/s %6.2f\n", head.c_str(),
                       cells_per_s * 1e-9, bytes_per_s * 1e-9, share);
    bench.report->row(row.number("cells_s", cells_per_s)
                          .number("bytes_s", bytes_per_s)
                          .number("of_copy", share));
}

/* --- sections --------------------------------------------------------------
 */

namespace
{

const struct Section {
    const char *name;
    void (*measure)(Bench &bench);
    double until;     /* share of the time after which it stops */
    bool is_selected; /* only when named: others cover it */
} sections[] = {
    {"ceilings", measure_ceilings, 0.15, false},
    {"kernels", measure_kernels, 1.0, true},
    {"correlators", measure_correlators, 0.65, false},
    {"channelizer", measure_channelizer, 0.75, false},
    {"engine", measure_engine, 0.92, false},
    {"postprocess", measure_postprocess, 0.93, false},
    {"quicklook", measure_quicklook, 0.94, false},
    {"image", measure_image, 0.96, false},
    {"energy", measure_energy, 1.0, false},
};

/** Whether a section is to be measured.  The ceilings come with every other
 *  section, for its shares; "kernels" measures them itself. */
bool is_wanted(const Section &section, const std::string &name)
{
    if (section.measure == nullptr) /* weak, and not in this program */
        return false;
    if (name.empty())
        return !section.is_selected;
    return name == section.name ||
           (name != "kernels" && std::strcmp(section.name, "ceilings") == 0);
}

void open(Bench *bench)
{
    must(cudaSetDevice(bench->settings.device), "cudaSetDevice");
    must(cudaGetDeviceProperties(&bench->card, bench->settings.device),
         "cudaGetDeviceProperties");
    must(fx8_cuda_capability_of_device(&bench->capability), "capability");
    must(cudaStreamCreateWithFlags(&bench->stream, cudaStreamNonBlocking),
         "cudaStreamCreate");
}

} // namespace

std::vector<std::string> section_names()
{
    std::vector<std::string> names;
    for (const auto &section : sections)
        if (section.measure != nullptr)
            names.push_back(section.name);
    return names;
}

bool profile(const Settings &settings, Report *report)
{
    Bench bench = {};
    bench.settings = settings;
    bench.report = report;
    open(&bench);
    call_kernel(bench);
    (void)cudaStreamDestroy(bench.stream);
    return report->is_whole();
}

size_t run(const Settings &settings, Report *report)
{
    Bench bench = {};
    size_t n_failed = 0;
    bench.settings = settings;
    bench.report = report;
    bench.begin_s = fx8_clock_seconds();
    open(&bench);
    if (!kinds_left_out().empty())
        report->text("\nwithout %s (FX8_WITHOUT)\n", kinds_left_out().c_str());
    if (!kinds_in("FX8_ONLY").empty())
        report->text("\nonly %s (FX8_ONLY)\n", kinds_in("FX8_ONLY").c_str());
    for (const auto &section : sections) {
        if (!is_wanted(section, settings.section))
            continue;
        const double until = settings.section.empty() ? section.until : 1.0;
        bench.deadline_s = bench.begin_s + until * settings.seconds;
        report->text("\n%s\n", section.name);
        try {
            section.measure(bench);
            /* right after the work: clocks and power are still those under load
             */
            report->text("  %s\n", describe_state(bench).c_str());
        } catch (const std::exception &failure) {
            report->text("%s: FAILED: %s\n", section.name, failure.what());
            report->row(Row("failure")
                            .text("section", section.name)
                            .text("what", failure.what()));
            ++n_failed;
        }
    }
    report->text("\n");
    const size_t n_missed = tell_goals(bench);
    report->text(
        "\n%.0f s; %zu sections failed, %zu kernels differed, %zu goals "
        "missed\n",
        fx8_clock_seconds() - bench.begin_s, n_failed, bench.n_wrong, n_missed);
    (void)cudaStreamDestroy(bench.stream);
    return n_failed + bench.n_wrong;
}

} // namespace bench
