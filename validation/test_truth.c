/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of sources; the true visibilities of sources at rest against a
 * formula, of moving ones against its sum over spectra, one by one.
 *
 * Shows: as python/test_simulate.py
 */
#include "correlator/run/celestial.h"
#include "correlator/simulate/truth.h"
#include "validation/constant_earth.h"
#include "validation/scratch.h"
#include "validation/testing.h"

static const double two_pi = 6.283185307179586;

/* --- sources ---------------------------------------------------------- */

/* Rows of a file with all four columns fill either pair; a tone is fully
 * polarised. */
TEST(sources_of_both_kinds_are_read)
{
    struct fx8_source *sources;
    size_t n;
    struct fx8_error error;
    const char *path = scratch_text(
        "sources.csv", "dec_deg,az_deg,ra_deg,el_deg,I,Q,U,tone_hz\n"
                       "-27.5,,266.25,,1,,,\n"
                       ",180,,30,5,3,-4,1.5e8\n"
                       "90,,0,,5,3,-4,1.5e8\n");
    must(fx8_sources_load(path, &sources, &n, &error), error);
    assert_int_equal(n, 3);
    assert_true(sources[0].is_celestial);
    assert_true(sources[0].icrs_deg[0] == 266.25);
    assert_true(sources[0].icrs_deg[1] == -27.5);
    assert_false(sources[1].is_celestial);
    assert_true(fabs(sources[1].direction_enu[2] - 0.5) < 1e-15);
    const double stokes[4] = {5, 3, -4, 0};
    assert_memory_equal(sources[1].stokes, stokes, sizeof stokes);
    assert_true(sources[2].is_celestial && sources[2].is_tone);
    free(sources);
}

TEST(bad_sources_are_refused)
{
#define COLUMNS                                                                \
    "expected az_deg, el_deg (or ra_deg, dec_deg), I, optional Q, U, V, "      \
    "tone_hz, name"
    static const char *const cases[][2] = {
        {"az_deg,el_deg\n1,2\n", ":1: I: column missing: " COLUMNS},
        {"I\n1\n", ":1: az_deg: column missing: " COLUMNS},
        {"az_deg,I\n1,2\n", ":1: el_deg: column missing: " COLUMNS},
        {"az_deg,el_deg,dec_deg,I\n1,2,3,4\n",
         ":1: ra_deg: column missing: " COLUMNS},
        {"az_deg,el_deg,I,Z\n1,2,3,4\n", ":1: Z: unknown column: " COLUMNS},
        {"az_deg,el_deg,I\n1,x,3\n", ":2: el_deg: x: expected a number"},
        {"az_deg,el_deg,I\n1,2,\n", ":2: I: : expected a number"},
        {"az_deg,el_deg,I\n1,,3\n",
         ":2: el_deg: empty: expected a number beside az_deg"},
        {"az_deg,el_deg,ra_deg,dec_deg,I\n1,2,,,1\n,,1,2,1\n,,,2,1\n",
         ":4: ra_deg: empty: expected a number beside dec_deg"},
        {"az_deg,el_deg,ra_deg,dec_deg,I\n1,2,3,4,1\n",
         ":2: az_deg, el_deg, ra_deg, dec_deg: all given: expected either "
         "az_deg, el_deg or ra_deg, dec_deg"},
        {"az_deg,el_deg,ra_deg,dec_deg,I\n,,,,1\n",
         ":2: az_deg, el_deg, ra_deg, dec_deg: none given: expected either "
         "az_deg, el_deg or ra_deg, dec_deg"},
        {"az_deg,el_deg,I\n1,2,3\n1,91,3\n",
         ":3: el_deg: 91: expected -90 to 90"},
        {"ra_deg,dec_deg,I\n-1,2,3\n", ":2: ra_deg: -1: expected 0 to 360"},
        {"ra_deg,dec_deg,I\n1,-90.5,3\n",
         ":2: dec_deg: -90.5: expected -90 to 90"},
        {"az_deg,el_deg,I\n1,2,-3\n", ":2: I: -3: expected at least 0"},
        {"az_deg,el_deg,I,Q,U\n1,2,1,0.8,0.8\n",
         ":2: Q, U, V: 1.13137085: expected a root of squares of at most I, "
         "1"},
        {"az_deg,el_deg,I,Q,tone_hz\n1,2,1,0.5,7\n",
         ":2: Q, U, V: 0.5: expected a root of squares of I, 1, as a tone has, "
         "or none of them"},
        {"az_deg,el_deg,I,V,tone_hz\n1,2,1,1.00001,7\n",
         ":2: Q, U, V: 1.00001: expected a root of squares of I, 1, as a tone "
         "has, or none of them"},
    };
#undef COLUMNS
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *path = scratch_text("sources.csv", cases[c][0]);
        struct fx8_source *sources = (struct fx8_source *)(uintptr_t)1;
        size_t n;
        struct fx8_error error;
        must_fail_with(fx8_sources_load(path, &sources, &n, &error), error,
                       FX8_ERR_USAGE, cases[c][1]);
        assert_null(sources);
        assert_memory_equal(error.message, path, strlen(path));
        assert_string_equal(error.message + strlen(path), cases[c][1]);
    }
}

/* --- truth
 * --------------------------------------------------------------------- */

/* Recorded antennas; the job takes the last two, in the other order. */
static struct fx8_antenna table[] = {
    {.number = 0, .name = "a", .enu_m = {0, 0, 0}, .position = 0},
    {.number = 1, .name = "b", .enu_m = {12, -5, 1}, .position = 1},
    {.number = 2, .name = "c", .enu_m = {-3, 22, 0}, .position = 2},
};
static const double cables[6] = {0, 1e-9, 2e-9, 3e-9, 5e-9, 8e-9};

static const double positions[3][3] = {{0, 0, 0}, {12, -5, 1}, {-3, 22, 0}};
/* 3 km, at 10 kHz: the fringe turns by up to 2.3 rad in a dump of 5 s, and
 * delays are 0.1 sample. */
static const double wide_positions[3][3] = {
    {0, 0, 0}, {3000, -200, 5}, {-500, 2900, 0}};
/* and a fifteenth of that, so that segments are longer than 64 spectra */
static const double near_positions[3][3] = {
    {0, 0, 0}, {200, -13, 1}, {-33, 190, 0}};

static const struct fx8_source sky[] = {
    {.direction_enu = {0.6, 0.48, 0.64}, .stokes = {0.5, 0.1, -0.2, 0.3}},
    {.direction_enu = {-0.28, 0.0, 0.96},
     .stokes = {4, 0, 0, 0},
     .is_tone = true,
     .tone_hz = 100e6 + 5.25 * 15625},
};

static const struct fx8_source moving_sky[] = {
    {.is_celestial = true,
     .icrs_deg = {30, -40},
     .stokes = {0.5, 0.1, -0.2, 0.3}},
    {.direction_enu = {0.6, 0.48, 0.64}, .stokes = {0.2, 0, 0, 0}},
    {.is_celestial = true,
     .icrs_deg = {80, 10},
     .stokes = {3, -1, 2, 2},
     .is_tone = true,
     .tone_hz = 100e6 + 5.25 * 156.25},
};

static const struct fx8_simulation base_plan = {
    .is_complex = true,
    .sample_rate = {10000, 1},
    .dc_frequency_hz = 100e6,
    .n_samples = 160000,
    .n_antennas = 3,
    .n_polarizations = 2,
    .cable_delay_s = cables,
    .sources = moving_sky,
    .n_sources = LENGTH(moving_sky),
    .site = {-26.7, 116.67, 377.8},
    .start_time = {1567090800, 0},
    .noise_rms = 10,
    .gain_spread = 0.3,
    .gain_phase_deg = 40,
    .dropout_fraction = 0.02,
    .seed = 3,
    .n_threads = 1,
};

/* What the job removes: nothing, or in mode track the path to a phase centre,
 * delays of "cables" that shift windows by whole samples of 0.1 ms either way,
 * and gains. */
struct removed {
    bool is_tracked;
    struct fx8_source center;
    double delay_s[6], amplitude[6], turns[6];
    int64_t shift[6];
};

static const struct removed nothing = {.amplitude = {1, 1, 1, 1, 1, 1}};
static const struct removed tracked = {
    .is_tracked = true,
    .center = {.is_celestial = true, .icrs_deg = {31, -42}},
    .delay_s = {0, 0, 2.4e-4, -1.1e-4, 7e-4, 0.8e-4},
    .amplitude = {1, 1, 2, 1, 1, 0.5},
    .turns = {0, 0, 30.0 / 360, 0, 0, -100.0 / 360},
    .shift = {0, 0, 2, -1, 7, 1},
};
#define TRACKED_GAINS                                                          \
    "number,pol,amplitude,phase_deg,delay_ns\n1,X,2,30,0\n2,Y,0.5,-100,0\n"

struct fixture {
    const struct removed *removed;
    struct fx8_settings settings;
    struct fx8_job job;
    struct fx8_simulator *simulator;
    struct fx8_truth *truth;
    struct fx8_simulation plan;
};

/* Make the observation and the job of a plan that is otherwise complete. */
static void open_plan(struct fixture *fixture, const char *const *overrides,
                      size_t n_overrides)
{
    struct fx8_observation observation = fx8_observation_unknown();
    observation.is_complex = fixture->plan.is_complex;
    observation.n_antennas = 3;
    observation.n_polarizations = 2;
    observation.n_samples = fixture->plan.n_samples;
    observation.sample_rate = fixture->plan.sample_rate;
    observation.has_start_time = true;
    observation.start_time = fixture->plan.start_time;
    observation.dc_frequency_hz = fixture->plan.dc_frequency_hz;
    observation.sideband = FX8_SIDEBAND_UPPER;
    observation.site = fixture->plan.site;
    observation.antennas = table;
    observation.n_table = 3;
    for (size_t input = 0; input < 6 && fixture->removed->is_tracked; input++) {
        struct fx8_antenna *antenna = &table[input / 2];
        memcpy(antenna->enu_m, fixture->plan.position_m[input / 2],
               sizeof antenna->enu_m);
        antenna->cable_delay_s[input % 2] = fixture->removed->delay_s[input];
    }
    struct fx8_error error = {.message = ""};
    fixture->plan.earth = constant_earth(-0.15);
    if (fx8_settings_load(NULL, overrides, n_overrides, true,
                          &fixture->settings, &error) != FX8_OK ||
        fx8_job_resolve(&fixture->settings, &observation, "voltages.h5",
                        &fixture->job, &error) != FX8_OK ||
        fx8_simulator_open(&fixture->plan, &fixture->simulator, &error) !=
            FX8_OK ||
        fx8_truth_open(fixture->simulator, &fixture->job, &fixture->truth,
                       &error) != FX8_OK)
        fail_msg("%s", error.message);
}

static void close_fixture(struct fixture *fixture)
{
    fx8_truth_close(&fixture->truth);
    assert_null(fixture->truth);
    fx8_simulator_close(&fixture->simulator);
    fx8_job_clear(&fixture->job);
    fx8_settings_clear(&fixture->settings);
}

/* Whether an input has all samples of a window. */
static bool is_valid(const struct fixture *fixture, size_t input, int64_t first,
                     int64_t n)
{
    size_t n_missing;
    const struct fx8_missing *missing =
        fx8_simulator_missing(fixture->simulator, &n_missing);
    first += fixture->removed->shift[input];
    if (first < 0 || first + n > fixture->plan.n_samples)
        return false;
    for (size_t m = 0; m < n_missing; m++)
        if ((size_t)missing[m].antenna * 2 + (size_t)missing[m].polarization ==
                input &&
            missing[m].first_sample < first + n &&
            missing[m].first_sample + missing[m].n_samples > first)
            return false;
    return true;
}

/* H of the tone, 8-tap Hamming PFB or rectangular FFT of N samples, at an
 * offset in channels: the sums of DESIGN. */
static void transfer(size_t n_taps, size_t length, double offset, double h[2])
{
    double re = 0, im = 0, power = 0;
    const size_t n_weights = n_taps * length;
    for (size_t n = 0; n < n_weights; n++) {
        const double x =
            ((double)n + 0.5) / (double)length - 0.5 * (double)n_taps;
        double weight = 1;
        if (n_taps > 1)
            weight = sin(two_pi / 2 * x) / (two_pi / 2 * x) *
                     (0.54 -
                      0.46 * cos(two_pi * (double)n / (double)(n_weights - 1)));
        re += weight * cos(two_pi * offset * (double)n / (double)length);
        im += weight * sin(two_pi * offset * (double)n / (double)length);
        power += weight * weight;
    }
    h[0] = re / sqrt(power);
    h[1] = im / sqrt(power);
}

/* Samples from one spectrum to the next. */
static int64_t step_of(const struct fixture *fixture)
{
    return fixture->plan.is_complex ? 64 : 128;
}

/* A channel of a spectrum. */
struct channel {
    double hz, offset; /* of its centre: in all, in channels from DC */
    size_t n_taps;
    double of_tone; /* its share of the power of a tone */
};

/* The offset of a tone in channels. */
static double tone_offset(const struct fixture *fixture,
                          const struct fx8_source *tone)
{
    return (tone->tone_hz - 100e6) * (double)step_of(fixture) /
           (double)fixture->plan.sample_rate.numerator_hz;
}

static struct channel find_channel(const struct fixture *fixture, size_t c,
                                   size_t n_taps)
{
    const struct fx8_simulation *plan = &fixture->plan;
    const size_t length = (size_t)step_of(fixture);
    struct channel channel = {.offset =
                                  plan->is_complex ? (double)c - 32 : (double)c,
                              .n_taps = n_taps};
    channel.hz = 100e6 + channel.offset *
                             (double)plan->sample_rate.numerator_hz /
                             (double)length;
    for (size_t s = 0; s < plan->n_sources; s++) {
        double h[2];
        if (!plan->sources[s].is_tone)
            continue;
        transfer(n_taps, length,
                 tone_offset(fixture, &plan->sources[s]) - channel.offset, h);
        channel.of_tone =
            (h[0] * h[0] + h[1] * h[1]) * (plan->is_complex ? 1 : 0.5);
    }
    return channel;
}

/* Amplitude of a tone in an input's channel 0 of real samples, in any spectrum:
 * if the tone's offset is a multiple of half a channel, equal in all spectra
 * except for a sign that all inputs share. */
static double real_spectrum(const struct fixture *fixture, size_t input,
                            const struct fx8_source *tone, size_t n_taps)
{
    const double offset = tone_offset(fixture, tone);
    double cycles = fx8_simulator_gain_turns(fixture->simulator, input) -
                    tone->tone_hz * cables[input];
    for (size_t k = 0; k < 3; k++)
        cycles += tone->tone_hz * positions[input / 2][k] *
                  tone->direction_enu[k] / 299792458.0;
    cycles += offset * (double)fixture->job.plan.first_sample / 128;
    double h[2];
    transfer(n_taps, 128, offset, h);
    /* of amplitude A, A^2 / 2 the power */
    return sqrt(2 * tone->stokes[0] * 100) *
           fx8_simulator_gain(fixture->simulator, input) *
           (h[0] * cos(two_pi * cycles) - h[1] * sin(two_pi * cycles));
}

/* conj(E_i) E_j of a source of I = 1 by its Stokes parameters; a tone without
 * polarisation is the same in both feeds. */
static void find_product(const struct fx8_source *source, size_t i, size_t j,
                         double value[2])
{
    const double *stokes = source->stokes;
    const double sign = i % 2 == 0 ? 1 : -1;
    const bool is_parallel = i % 2 == j % 2;
    const bool is_plain =
        source->is_tone && stokes[1] == 0 && stokes[2] == 0 && stokes[3] == 0;
    value[0] = is_plain      ? stokes[0]
               : is_parallel ? stokes[0] + sign * stokes[1]
                             : stokes[2];
    value[1] = is_parallel ? 0 : sign * stokes[3];
}

/* Most spectra of a dump, and sources. */
enum { MAX_SPECTRA = 800, MAX_SOURCES = 3 };

/* Add V of inputs i, j in a channel, and the power of all sources, while they
 * are in these directions, those of the phase centre and of the next spectrum
 * behind them. */
static void add_instant(const struct fixture *fixture, size_t i, size_t j,
                        const struct channel *channel,
                        const double (*directions)[3], double value[2],
                        double *power_of_all)
{
    const struct fx8_simulation *plan = &fixture->plan;
    const bool is_real = !plan->is_complex && channel->offset == 0;
    const struct removed *removed = fixture->removed;
    const double *center = directions[plan->n_sources];
    const double gains = fx8_simulator_gain(fixture->simulator, i) *
                         fx8_simulator_gain(fixture->simulator, j) /
                         (removed->amplitude[i] * removed->amplitude[j]);
    const double turns = fx8_simulator_gain_turns(fixture->simulator, j) -
                         fx8_simulator_gain_turns(fixture->simulator, i) -
                         removed->turns[j] + removed->turns[i];
    for (size_t s = 0; s < plan->n_sources; s++) {
        const struct fx8_source *source = &plan->sources[s];
        if (is_real && source->is_tone) {
            value[0] += real_spectrum(fixture, i, source, channel->n_taps) *
                        real_spectrum(fixture, j, source, channel->n_taps);
            continue;
        }
        double delay = cables[i] - cables[j], stokes[2];
        delay += removed->delay_s[j] - removed->delay_s[i];
        for (size_t k = 0; k < 3; k++) {
            /* the samples of an input are later by what is removed */
            const double motion =
                directions[s + MAX_SOURCES + 1][k] - directions[s][k];
            const double spectrum_s = 6.4e-3,
                         from = directions[s][k] - center[k];
            delay += plan->position_m[j / 2][k] / 299792458.0 *
                     (from + motion * removed->delay_s[j] / spectrum_s);
            delay -= plan->position_m[i / 2][k] / 299792458.0 *
                     (from + motion * removed->delay_s[i] / spectrum_s);
        }
        find_product(source, i, j, stokes);
        const double power = gains * (plan->is_complex ? 200 : 100) *
                             (source->is_tone ? channel->of_tone : 1);
        /* the centre of the half channel that lies in the band */
        const double hz = source->is_tone ? source->tone_hz
                          : is_real       ? channel->hz + 1e6 / 128 / 4
                                          : channel->hz;
        const double phase = two_pi * (hz * delay + turns);
        value[0] += power * (stokes[0] * cos(phase) - stokes[1] * sin(phase));
        if (!is_real)
            value[1] +=
                power * (stokes[0] * sin(phase) + stokes[1] * cos(phase));
        *power_of_all += power * source->stokes[0];
    }
}

/* The noise of an input and its rounding; 0 of two inputs. */
static double noise_of(const struct fixture *fixture, size_t i, size_t j)
{
    const double amplitude = fixture->removed->amplitude[i];
    const double gain = fx8_simulator_gain(fixture->simulator, i);
    const bool is_complex = fixture->plan.is_complex;
    return i != j ? 0
                  : (gain * gain * (is_complex ? 200 : 100) +
                     (is_complex ? 1.0 / 6 : 1.0 / 12)) /
                        (amplitude * amplitude);
}

/* Direction of a source at a time, by ERFA at that time. */
static void find_direction(const struct fx8_source *source, double seconds,
                           double enu[3])
{
    struct fx8_error error;
    struct fx8_time time = base_plan.start_time;
    time.picosecond = llrint(seconds * 1e12);
    time.unix_s += time.picosecond / INT64_C(1000000000000);
    time.picosecond %= INT64_C(1000000000000);
    memcpy(enu, source->direction_enu, 3 * sizeof *enu);
    if (!source->is_celestial)
        return;
    struct fx8_celestial seen = {.site = base_plan.site,
                                 .earth = constant_earth(-0.15)};
    struct fx8_place place;
    must(fx8_celestial_place(&seen, time, source->icrs_deg, &place, &error),
         error);
    memcpy(enu, place.axes[2], sizeof place.axes[2]);
}

/* --- the truth of every dump -------------------------------------- */

/* The spectra of a dump for which two inputs have every sample. */
static size_t find_valid(const struct fixture *fixture, int64_t dump, size_t i,
                         size_t j, size_t n_taps, size_t valid[MAX_SPECTRA])
{
    const int64_t step = step_of(fixture), window = (int64_t)n_taps * step;
    const struct fx8_plan *plan = &fixture->job.plan;
    const int64_t n_spectra = fx8_dump_spectra(plan, dump);
    size_t n = 0;
    for (int64_t t = 0; t < n_spectra; t++) {
        const int64_t first =
            plan->first_sample + (fx8_dump_first(plan, dump) + t) * step;
        if (is_valid(fixture, i, first, window) &&
            is_valid(fixture, j, first, window))
            valid[n++] = (size_t)t;
    }
    assert_true(n > 0 && n < (size_t)n_spectra);
    return n;
}

/*
 * The mean over the valid spectra, one by one, in some channels, as each pair
 * has its own mean time; of sources at rest: any spectrum, in all channels.
 *
 * Moving sources: within the 1e-5 of the power of the sources that truth.h
 * promises, and for rounding to float a tenth of it and 3e-4 in a noise of up
 * to 1000.  At rest: 1e-6 of the power of an input, as results are floats.
 */
static void check_truth(const struct fixture *fixture, size_t n_taps,
                        bool is_moving)
{
    static const size_t feeds[4][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};
    static const size_t all[6][2] = {{0, 0}, {0, 1}, {0, 2},
                                     {1, 1}, {1, 2}, {2, 2}};
    static const size_t last_two[3][2] = {{2, 2}, {2, 1}, {1, 1}};
    static double directions[MAX_SPECTRA + 1][MAX_SOURCES + 1][3];
    static size_t valid[MAX_SPECTRA];
    const struct fx8_simulation *plan = &fixture->plan;
    const struct fx8_plan *of_job = &fixture->job.plan;
    const size_t edge = plan->is_complex ? 2 : 1;
    assert_true(of_job->spectra_per_dump <= MAX_SPECTRA);
    assert_in_range(fixture->job.n_dumps, 3, 4);
    for (int64_t dump = fixture->job.n_dumps - 1; dump >= 0; dump--) {
        struct fx8_result results;
        fx8_truth_dump(fixture->truth, dump, &results);
        const int64_t first = fx8_dump_first(of_job, dump);
        const int64_t n_spectra = fx8_dump_spectra(of_job, dump);
        for (int64_t t = 0; t <= n_spectra; t++)
            for (size_t s = 0; s <= plan->n_sources; s++)
                find_direction(s < plan->n_sources ? &plan->sources[s]
                                                   : &fixture->removed->center,
                               ((double)(first + t) * 64 + 255.5) / 1e4,
                               directions[t][s]);
        for (size_t k = 0; k < (is_moving ? 24 : 12); k++) {
            const size_t *antennas = is_moving ? all[k / 4] : last_two[k / 4];
            const size_t i = 2 * antennas[0] + feeds[k % 4][0];
            const size_t j = 2 * antennas[1] + feeds[k % 4][1];
            const size_t n = find_valid(fixture, dump, i, j, n_taps, valid);
            const size_t n_used = is_moving ? n : 1;
            for (size_t c = 0; c < 64; c++) {
                const size_t at = k / 4 * 256 + c * 4 + k % 4;
                if (is_moving && c != 3 && c != 37 && c != 38)
                    continue;
                const struct channel channel = find_channel(fixture, c, n_taps);
                double value[2] = {0, 0}, power = 0;
                for (size_t t = 0; t < n_used; t++)
                    add_instant(fixture, i, j, &channel,
                                (const double(*)[3])directions[valid[t]], value,
                                &power);
                value[0] = value[0] / (double)n_used + noise_of(fixture, i, j);
                value[1] = value[1] / (double)n_used;
                const double limit =
                    is_moving ? 1.1e-5 * power / (double)n_used + 3e-4
                              : 1e-6 * fabs(value[0]) + 1e-3;
                for (size_t part = 0; part < 2; part++)
                    assert_near((double)results.visibilities[2 * at + part],
                                value[part], limit);
                assert_true(results.nsamples[at] ==
                            (float)((double)n / (double)n_spectra));
                assert_int_equal(results.flags[at], c < edge || c >= 64 - edge);
            }
        }
    }
}

TEST(truth_is_the_formula)
{
    const char *const overrides[] = {"correlator.align=utc",
                                     "channelizer.channels=64",
                                     "correlator.integration_time_s=0.05",
                                     "array.antennas=2,1",
                                     "input.start_s=0.003",
                                     "channelizer.method=fft"};
    for (int kind = 0; kind < 6; kind++) {
        const size_t n_others = kind % 2 == 0 ? 4 : 5;
        const bool is_aligned = kind >= 4;
        struct fixture fixture = {.removed = &nothing, .plan = base_plan};
        struct fx8_simulation *plan = &fixture.plan;
        plan->is_complex = kind < 2;
        plan->sample_rate.numerator_hz = 1000000;
        plan->n_samples = 200000;
        plan->position_m = positions;
        plan->sources = sky;
        plan->n_sources = LENGTH(sky);
        open_plan(&fixture, overrides + !is_aligned, n_others + is_aligned);
        check_truth(&fixture, kind % 2 == 0 ? 8 : 1, false);
        close_fixture(&fixture);
    }
}

TEST(truth_of_what_moves_is_the_sum_over_spectra)
{
    char gains[SCRATCH_PATH_SIZE + 20];
    snprintf(gains, sizeof gains, "array.gains=%s",
             scratch_text("gains.csv", TRACKED_GAINS));
    const char *const overrides[] = {"channelizer.channels=64",
                                     "correlator.integration_time_s=5",
                                     "delay.dut1_s=-0.15",
                                     "delay.mode=track",
                                     "delay.phase_center_ra_deg=31",
                                     "delay.phase_center_dec_deg=-42",
                                     gains,
                                     "correlator.align=utc"};
    for (int kind = 0; kind < 5; kind++) {
        const bool is_wide = kind % 2 == 1, is_tracked = kind >= 2;
        struct fixture fixture = {.removed = is_tracked ? &tracked : &nothing,
                                  .plan = base_plan};
        fixture.plan.position_m = is_wide ? wide_positions : near_positions;
        fixture.plan.dropout_fraction = is_wide ? 0.2 : 0.02;
        fixture.plan.n_threads = 3;
        open_plan(&fixture, overrides,
                  !is_tracked ? 2 : LENGTH(overrides) - (kind < 4));
        check_truth(&fixture, 8, true);
        close_fixture(&fixture);
    }
}
