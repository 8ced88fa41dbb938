/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.cu -- bench-gpu: what a card can do at best, and what the CUDA engine
 * reaches.  Exit status: 0 measured and right, 1 not, or an error, 2 wrong use,
 * 77 without a card (what a caller counts as skipped).
 */
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "validation/gpu/bench.cuh"
#include "validation/numerics/machine.h"

namespace
{

constexpr int NO_DEVICE = 77;
constexpr int USAGE = 2;

struct Request {
    bench::Settings settings;
    std::string page, rows;
};

int print_usage()
{
    std::fputs(
        "usage: bench-gpu [--quick] [--seconds S] [--section NAME]\n"
        "                 [--device N] [--output FILE] [--json FILE]\n"
        "       bench-gpu --profile KERNEL\n"
        "\n"
        "Write validation/results/CARD.md, or FILE; with --json also a JSON "
        "object a line.\n"
        "No measurement begins after S seconds (330).  Exit status 77 without "
        "a card.\n"
        "FX8_WITHOUT=wgmma,mma in the environment leaves kinds of kernel "
        "out,\nFX8_ONLY=wgmma all others.  --profile calls a kernel twice, "
        "for a profiler.\n"
        "\nSections:",
        stderr);
    for (const std::string &name : bench::section_names())
        std::fprintf(stderr, " %s", name.c_str());
    std::fputs("\n", stderr);
    return USAGE;
}

bool is_section(const std::string &text)
{
    for (const std::string &name : bench::section_names())
        if (name == text)
            return true;
    return false;
}

/** A number of at least `least` that is the whole rest of the text. */
bool read_number(const char *text, double least, double *value)
{
    char *end;
    *value = std::strtod(text, &end);
    return end != text && *end == '\0' && *value >= least && *value < 1e6;
}

bool read_request(int argc, char **argv, Request *request)
{
#if defined(FX8_CUDA_ON_CPU) /* a pretend device: times mean nothing */
    request->settings.extent = bench::Extent::TINY;
#endif
    for (int k = 1; k < argc; ++k) {
        const std::string option = argv[k];
        double value = 0;
        if (option == "--quick") {
            request->settings.extent =
                std::max(request->settings.extent, bench::Extent::QUICK);
            continue;
        }
        if (++k == argc)
            return false;
        if (option == "--seconds" && read_number(argv[k], 1, &value))
            request->settings.seconds = value;
        else if (option == "--device" && read_number(argv[k], 0, &value))
            request->settings.device = static_cast<int>(value);
        else if (option == "--section" && is_section(argv[k]))
            request->settings.section = argv[k];
        else if (option == "--profile")
            request->settings.profile = argv[k];
        else if (option == "--output")
            request->page = argv[k];
        else if (option == "--json")
            request->rows = argv[k];
        else
            return false;
    }
    return true;
}

/** Whether there is a card; if not, print why in one line. */
bool has_card(int device)
{
    int n = 0;
    const cudaError_t status = cudaGetDeviceCount(&n);
    if (status == cudaSuccess && device < n)
        return true;
    if (status == cudaSuccess)
        std::fprintf(stderr, "bench-gpu: skipped: no device %d\n", device);
    else
        std::fprintf(stderr, "bench-gpu: skipped: no device: %s\n",
                     cudaGetErrorName(status));
    return false;
}

/** validation/results/CARD.md of a card's name. */
std::string page_of(const char *card)
{
    std::string name;
    for (const char *c = card; *c != '\0'; ++c)
        if (std::isalnum(static_cast<unsigned char>(*c)))
            name +=
                static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
        else if (!name.empty() && name.back() != '-')
            name += '-';
    return "validation/results/" + name + ".md";
}

void print_head(bench::Report *report, std::FILE *page, const Request &request,
                const cudaDeviceProp &card, const char *command)
{
    int driver = 0, runtime = 0, core = 0, memory = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    (void)cudaDeviceGetAttribute(&core, cudaDevAttrClockRate,
                                 request.settings.device);
    (void)cudaDeviceGetAttribute(&memory, cudaDevAttrMemoryClockRate,
                                 request.settings.device);
    std::fputs("# Speed on a card\n\n```\n", page);
    report->text(
        "%s (version %s), %s\n%s, compute capability %d.%d, %d "
        "multiprocessors, %.1f GB, L2 %.1f MB,\nat most %d MHz, memory %d MHz; "
        "CUDA %d.%d, driver for %d.%d\nhost: %s, %s\n",
        command, FX8_VERSION, machine_date(), card.name, card.major, card.minor,
        card.multiProcessorCount,
        static_cast<double>(card.totalGlobalMem) * 1e-9,
        static_cast<double>(card.l2CacheSize) * 1e-6, core / 1000,
        memory / 1000, runtime / 1000, runtime % 1000 / 10, driver / 1000,
        driver % 1000 / 10, machine_cpu(), machine_software());
    report->row(bench::Row("card")
                    .text("name", card.name)
                    .text("date", machine_date())
                    .text("command", command)
                    .text("version", FX8_VERSION)
                    .number("driver", driver)
                    .number("runtime", runtime));
}

std::FILE *open_file(const std::string &path)
{
    std::FILE *file = std::fopen(path.c_str(), "w");
    if (file == nullptr)
        std::perror(path.c_str());
    return file;
}

/** Measure into page and rows; the page gets its name when it is complete. */
int measure(const Request &request, const std::string &path, std::FILE *page,
            std::FILE *rows, const cudaDeviceProp &card, const char *command)
{
    bench::Report report(page, rows, stdout);
    const std::string part = path + ".part";
    print_head(&report, page, request, card, command);
    const size_t n_failed = bench::run(request.settings, &report);
    std::fputs("```\n", page);
    bool is_whole = report.is_whole();
    is_whole = std::fclose(page) == 0 && is_whole;
    if (rows != nullptr)
        is_whole = std::fclose(rows) == 0 && is_whole;
    if (!is_whole || std::rename(part.c_str(), path.c_str()) != 0) {
        std::fprintf(stderr, "bench-gpu: %s: cannot be written\n",
                     path.c_str());
        return EXIT_FAILURE;
    }
    std::fprintf(stderr, "%s\n", path.c_str());
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int start(const Request &request, const char *command)
{
    cudaDeviceProp card;
    bench::must(cudaGetDeviceProperties(&card, request.settings.device),
                "cudaGetDeviceProperties");
    if (!request.settings.profile.empty()) {
        bench::Report report(nullptr, nullptr, stdout);
        return bench::profile(request.settings, &report) ? EXIT_SUCCESS
                                                         : EXIT_FAILURE;
    }
    const std::string path =
        request.page.empty() ? page_of(card.name) : request.page;
    std::FILE *page = open_file(path + ".part");
    std::FILE *rows = request.rows.empty() ? nullptr : open_file(request.rows);
    if (page == nullptr || (rows == nullptr && !request.rows.empty()))
        return EXIT_FAILURE;
    return measure(request, path, page, rows, card, command);
}

} // namespace

int main(int argc, char **argv)
{
    Request request;
    char command[256];
    if (!read_request(argc, argv, &request))
        return print_usage();
    if (!has_card(request.settings.device))
        return NO_DEVICE;
    join_command(argc, argv, command, sizeof command);
    try {
        return start(request, command);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "bench-gpu: %s\n", failure.what());
        return EXIT_FAILURE;
    }
}
