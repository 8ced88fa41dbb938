/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * energy.cu -- see bench.cuh: joules of a correlation, integers beside floats,
 * as the card's management library counts them.
 *
 * The library is opened at run time, with our own prototypes: a build without
 * the driver has no header for it.
 * Source: NVML API reference, "Device Queries"
 */
#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "config/base/clock.h"
#include "validation/cuda/without.h"
#include "validation/gpu/task.cuh"

namespace bench
{

namespace
{

enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
typedef void *nvml_device;

/** The functions of NVML in use; null: not in this version. */
struct Nvml {
    int (*init)();
    int (*driver_version)(char *text, unsigned size);
    int (*by_bus)(const char *bus, nvml_device *device);
    int (*energy)(nvml_device device, unsigned long long *millijoules);
    int (*power)(nvml_device device, unsigned *milliwatts);
    int (*clock)(nvml_device device, int kind, unsigned *megahertz);
    nvml_device device;
    std::string trouble; /**< why NVML cannot be used; empty: it can */
};

template <class Function>
void find(void *library, const char *name, Function *function)
{
    *function = reinterpret_cast<Function>(dlsym(library, name));
}

/** NVML for the card of the bench.  Pretend cards do not get a real card's. */
Nvml open_nvml(const Bench &bench)
{
    Nvml nvml = {};
#if defined(FX8_CUDA_ON_CPU)
    (void)bench;
    nvml.trouble = "NVML: knows no pretend device";
#else
    void *const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        nvml.trouble = "NVML: libnvidia-ml.so.1 is not there";
        return nvml;
    }
    find(library, "nvmlInit_v2", &nvml.init);
    find(library, "nvmlSystemGetDriverVersion", &nvml.driver_version);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml.by_bus);
    find(library, "nvmlDeviceGetTotalEnergyConsumption", &nvml.energy);
    find(library, "nvmlDeviceGetPowerUsage", &nvml.power);
    find(library, "nvmlDeviceGetClockInfo", &nvml.clock);
    char bus[32] = "";
    must(cudaDeviceGetPCIBusId(bus, sizeof bus, bench.settings.device),
         "cudaDeviceGetPCIBusId");
    if (nvml.init == nullptr || nvml.by_bus == nullptr ||
        nvml.init() != NVML_SUCCESS ||
        nvml.by_bus(bus, &nvml.device) != NVML_SUCCESS)
        nvml.trouble = std::string("NVML: does not know the card at ") + bus;
#endif
    return nvml;
}

/** "1980 MHz" or "unknown". */
std::string clock_of(const Nvml &nvml, int kind)
{
    unsigned megahertz = 0;
    if (nvml.clock == nullptr ||
        nvml.clock(nvml.device, kind, &megahertz) != NVML_SUCCESS)
        return "unknown";
    return std::to_string(megahertz) + " MHz";
}

constexpr double EACH_S = 3; /* the counter changes every tenth of a second */
constexpr double IDLE_S = 2;

/** Joules so far: counted or, on cards before Volta, the power times the time
 *  passed; negative: neither is available. */
class Meter
{
  public:
    explicit Meter(const Nvml &nvml) : nvml_(nvml)
    {
        start();
    }
    void start()
    {
        joules_ = 0;
        is_counted_ = count(&first_);
        at_s_ = fx8_clock_seconds();
    }
    /** Call this often: the power is taken as constant between calls. */
    void sample()
    {
        unsigned milliwatts = 0;
        const double now = fx8_clock_seconds();
        if (!is_counted_ &&
            (nvml_.power == nullptr ||
             nvml_.power(nvml_.device, &milliwatts) != NVML_SUCCESS))
            throw Failure("NVML: this card reports neither energy nor power");
        joules_ += 1e-3 * static_cast<double>(milliwatts) * (now - at_s_);
        at_s_ = now;
    }
    double joules() const
    {
        unsigned long long now = 0;
        if (is_counted_ && count(&now))
            return 1e-3 * static_cast<double>(now - first_);
        return joules_;
    }
    bool is_counted() const
    {
        return is_counted_;
    }

  private:
    bool count(unsigned long long *millijoules) const
    {
        return nvml_.energy != nullptr &&
               nvml_.energy(nvml_.device, millijoules) == NVML_SUCCESS;
    }

    const Nvml &nvml_;
    bool is_counted_;
    unsigned long long first_ = 0;
    double joules_ = 0, at_s_ = 0;
};

/** Watts of a card that this program holds idle. */
double measure_idle_power(const Nvml &nvml)
{
    Meter meter(nvml);
    double watts = 0;
    /* The first second lets clocks and counter settle. */
    for (const double seconds : {1.0, IDLE_S}) {
        meter.start();
        const double begin = fx8_clock_seconds();
        double spent = 0;
        while (spent < seconds) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            meter.sample();
            spent = fx8_clock_seconds() - begin;
        }
        watts = meter.joules() / spent;
    }
    return watts;
}

/** The array whose energy is reported. */
constexpr size_t INPUTS = 512, TIMES = 8192;

/** The correlator of a kind with the largest tile; null: none runs here. */
const fx8_cuda_correlator *largest_of(const Bench &bench, const char *kind)
{
    const fx8_cuda_correlator *largest = nullptr;
    size_t n;
    const fx8_cuda_correlator *all = fx8_cuda_correlators(&n);
    for (size_t k = 0; k < n; ++k)
        if (std::strncmp(all[k].name, kind, std::strlen(kind)) == 0 &&
            all[k].runs_on(&bench.capability) && !is_left_out(all[k].name) &&
            (largest == nullptr || all[k].tile_inputs > largest->tile_inputs))
            largest = &all[k];
    return largest;
}

/** Joules of a product.  Sums that are never cleared do not overflow. */
double measure_joules(Bench &bench, const Nvml &nvml,
                      const fx8_cuda_correlator &correlator, const Task &task)
{
    const Array &array = correlator.is_int8 ? task.array8 : task.array32;
    Meter meter(nvml);
    double joules = 0, products = 0;
    size_t n_calls = 0;
    task.sums->clear(bench);
    /* The first time is a warm-up of card and clocks. */
    for (const double seconds : {1.0, EACH_S}) {
        meter.start();
        products = 0;
        const double begin = fx8_clock_seconds();
        while (fx8_clock_seconds() - begin < seconds) {
            for (int k = 0; k < 4; ++k) {
                const fx8_cuda_correlation job =
                    job_of(bench, task, correlator.is_int8, n_calls++ % 2);
                must(correlator.accumulate(&job), correlator.name);
            }
            must(cudaStreamSynchronize(bench.stream), correlator.name);
            meter.sample();
            products += 4 * array.operations() / 8;
        }
        joules = meter.joules();
    }
    return joules / products;
}

void tell(Bench &bench, const Nvml &nvml, const fx8_cuda_correlator &correlator,
          double joules)
{
    const double visibility = joules * static_cast<double>(TIMES);
    bench.report->text("  %-10s %10.3f pJ a product, %10.3f nJ a visibility of "
                       "%zu spectra; SM %s\n",
                       correlator.name, joules * 1e12, visibility * 1e9, TIMES,
                       clock_of(nvml, NVML_CLOCK_SM).c_str());
    bench.report->row(Row("energy")
                          .text("kernel", correlator.name)
                          .number("joules_a_product", joules)
                          .number("joules_a_visibility", visibility)
                          .number("times", TIMES)
                          .number("inputs", INPUTS));
}

} // namespace

std::string describe_state(const Bench &bench)
{
    const Nvml nvml = open_nvml(bench);
    if (!nvml.trouble.empty())
        return nvml.trouble;
    char driver[96] = "unknown";
    unsigned milliwatts = 0;
    if (nvml.driver_version != nullptr &&
        nvml.driver_version(driver, sizeof driver) != NVML_SUCCESS)
        std::strcpy(driver, "unknown");
    if (nvml.power != nullptr)
        (void)nvml.power(nvml.device, &milliwatts);
    return std::string("driver ") + driver + ", SM " +
           clock_of(nvml, NVML_CLOCK_SM) + ", memory " +
           clock_of(nvml, NVML_CLOCK_MEMORY) + ", " +
           std::to_string(milliwatts / 1000) + " W at this moment";
}

void measure_energy(Bench &bench)
{
    const Nvml nvml = open_nvml(bench);
    if (!nvml.trouble.empty()) {
        bench.report->text("  not measured: %s\n", nvml.trouble.c_str());
        return;
    }
    const Task task = make_task(bench, INPUTS, TIMES);
    if (!task.is_possible())
        return;
    bench.report->text("%zu inputs, %zu spectra a call, by the card's %s; a "
                       "product is a complex one\n",
                       INPUTS, TIMES,
                       Meter(nvml).is_counted() ? "counter of energy"
                                                : "power, sampled");
    const double idle = measure_idle_power(nvml);
    bench.report->text("  idle: %.1f W, which are part of what follows\n",
                       idle);
    bench.report->row(Row("idle").number("watts", idle));
    double int8 = 0, fp32 = 0;
    for (const char *kind : {"dp4a", "mma", "wgmma", "fp32"}) {
        const fx8_cuda_correlator *const chosen = largest_of(bench, kind);
        if (chosen == nullptr || !bench.has_time())
            continue;
        const double joules = measure_joules(bench, nvml, *chosen, task);
        tell(bench, nvml, *chosen, joules);
        if (!chosen->is_int8)
            fp32 = joules;
        else if (std::strcmp(kind, "dp4a") == 0)
            int8 = joules;
    }
    if (int8 > 0 && fp32 > 0)
        bench.goals.note(Aim::ENERGY, fp32 / int8,
                         std::to_string(INPUTS) + " inputs, " +
                             std::to_string(TIMES) + " spectra");
}

} // namespace bench
