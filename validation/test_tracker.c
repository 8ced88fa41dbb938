/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_tracker.c -- delays: phases and shifts against their definition in long
 * double precision, and whole samples against samples shifted beforehand.
 *
 * Shows (correlation, delays): every phase is that of the delay at the centre
 *     of its spectrum's window; a shift is the delay of a group's middle to the
 *     nearest sample; samples shifted in from outside are missing; gains are
 *     divided out
 * Within: 10⁻⁵ turn for an array of 100 km at 350 MHz and 0.1 s per spectrum;
 *     whole samples equal bit for bit
 * Because: the cubic, the parabola and the group's slope, see tracker.h
 */
#include <math.h>

#include "correlator/library/tracker.h"
#include "correlator/library/plan.h"
#include "validation/session_run.h"

/* --- phases ------------------------------------------------------ */

/* Delays of a source, seen from sites at any distance up to 100 km. */
struct sky {
    double rate_hz;
    size_t n_inputs, n_calls;
};

static long double delay_of(const struct sky *sky, size_t input,
                            long double sample)
{
    const long double turn = 7.292115e-5L; /* of the Earth, rad/s */
    const long double most =
        334e-6L * (long double)(input + 1) / (long double)sky->n_inputs;
    return most * sinl(turn * sample / (long double)sky->rate_hz +
                       2.0L * (long double)input);
}

static enum fx8_status find_sky(void *context, int64_t sample, double *delay_s,
                                struct fx8_error *error)
{
    struct sky *sky = context;
    (void)error;
    sky->n_calls++;
    for (size_t input = 0; input < sky->n_inputs; input++)
        delay_s[input] = (double)delay_of(sky, input, (long double)sample);
    return FX8_OK;
}

/* Turns between two phases, in [-1/2, 1/2]. */
static double turns_between(long double wanted, uint64_t got)
{
    const long double off = (long double)got * 0x1p-64L - wanted;
    return (double)fabsl(off - rintl(off));
}

/* Phases to take from the three inputs. */
static const double turns[] = {0.0, 0.3, -100.125};

struct array {
    struct sky sky;
    struct fx8_plan plan;
    struct fx8_axes axes;
    struct fx8_filterbank bank;
    struct fx8_tracker *tracker;
};

static void open_array(struct array *a, bool is_complex, bool is_lower,
                       const double *bands, struct fx8_rate rate,
                       size_t n_channels)
{
    struct fx8_error error;
    double *weights;
    a->plan = small_plan(3, 1, is_complex, n_channels, 1000);
    a->plan.sample_rate = rate;
    a->plan.dc_frequency_hz = 350e6;
    a->plan.lower_sideband = is_lower;
    a->plan.band_offset_hz = bands;
    a->plan.n_bands = bands == NULL ? 1 : 2;
    a->plan.first_sample = 12345;
    a->sky = (struct sky){.rate_hz = fx8_rate_hz(rate), .n_inputs = 3};
    a->plan.delays = (struct fx8_delays){find_sky, &a->sky, 335e-6, turns};
    must(fx8_plan_derive(&a->plan, &a->axes, &a->bank, &weights, &error),
         error);
    free(weights);
    must(fx8_tracker_open(&a->plan, &a->axes, &a->bank, &a->tracker, &error),
         error);
}

/* The phase of a channel by its definition. */
static long double phase_of(const struct array *a, size_t band, size_t input,
                            int64_t spectrum, size_t channel, int64_t shift)
{
    const struct fx8_plan *plan = &a->plan;
    const long double rate = (long double)a->sky.rate_hz;
    const long double centre =
        (long double)(plan->first_sample + spectrum * (int64_t)a->axes.step) +
        (long double)a->axes.window / 2.0L;
    const long double delay = delay_of(&a->sky, input, centre);
    const bool is_folded = !plan->is_complex && plan->lower_sideband;
    const long double zero = (long double)plan->dc_frequency_hz +
                             (plan->band_offset_hz == NULL
                                  ? 0
                                  : (long double)plan->band_offset_hz[band]);
    const long double first =
        plan->is_complex ? -(long double)(a->axes.n_kept / 2) : 0.0L;
    const long double baseband =
        (first + (long double)channel) * rate / (long double)a->axes.step;
    return (is_folded ? zero - rate / 2.0L : zero) * delay +
           baseband * (delay - (long double)shift / rate) -
           (long double)turns[input] +
           (is_folded && shift % 2 != 0 ? 0.5L : 0.0L);
}

/* All of n_spectra spectra from `first` on, the start of a group. */
static void check_phases(struct array *a, int64_t first, size_t n_spectra)
{
    const size_t n_groups = fx8_groups(n_spectra), channels = a->axes.n_kept;
    struct fx8_rotation *rotations =
        temporary(a->axes.n_rows * n_groups * sizeof *rotations);
    int32_t *shifts = temporary(3 * n_spectra * sizeof *shifts);
    struct fx8_error error;
    must(fx8_tracker_rotations(a->tracker, first, n_spectra, rotations, &error),
         error);
    must(fx8_tracker_shifts(a->tracker, first, n_spectra, shifts, &error),
         error);
    double most = 0.0;
    for (size_t row = 0; row < a->axes.n_rows; row++)
        for (size_t t = 0; t < n_spectra; t++) {
            const size_t input = row % 3, band = row / 3;
            const struct fx8_rotation *r =
                &rotations[row * n_groups + t / FX8_GROUP];
            assert_int_equal(shifts[input * n_spectra + t], r->shift);
            for (size_t c = 0; c < channels; c += 1 + channels / 5) {
                /* as a spectrum is rotated: see kernels/numeric/rotate.h */
                const size_t middle = fx8_rotation_middle(c);
                const uint64_t got =
                    fx8_rotation_phase(r, t % FX8_GROUP, middle) +
                    fx8_rotation_place(fx8_rotation_slope(r, FX8_GROUP / 2), c);
                const double off = turns_between(
                    phase_of(a, band, input, first + (int64_t)t, c, r->shift),
                    got);
                most = off > most ? off : most;
            }
            /* the shift is the delay to half a sample, but for what it changes
             * within half a group */
            const long double centre =
                (long double)a->plan.first_sample +
                (long double)(first + (int64_t)t) * (long double)a->axes.step +
                (long double)a->axes.window / 2.0L;
            const long double samples =
                delay_of(&a->sky, input, centre) * (long double)a->sky.rate_hz;
            assert_true(fabsl(samples - (long double)r->shift) <=
                        0.5L + 24.4e-9L * 17.0L * (long double)a->axes.step);
        }
    assert_true(most <= 1e-5);
}

TEST(phases_are_those_of_the_delay)
{
    static const double bands[] = {-30e6, 20e6};
    static const struct {
        struct fx8_rate rate;
        size_t n_channels;
    } banks[] = {
        {{1000, 1}, 100},
        {{4000000, 1}, 64},
        {{250000, 1}, 4096},
        {{31, 1}, 2},
        /* 20 s times the numerator exceed 64 bits */
        {{INT64_C(1000000000000000001), INT64_C(1000000000000000)}, 100},
    };
    for (size_t k = 0; k < LENGTH(banks) * 4; k++) {
        struct array a;
        const bool is_complex = k % 2;
        open_array(&a, is_complex, k / 2 % 2, k % 3 == 0 ? bands : NULL,
                   banks[k / 4].rate, banks[k / 4].n_channels);
        const int64_t hour =
            (int64_t)(3600.0 * a.sky.rate_hz) / (int64_t)a.axes.step;
        for (int64_t first = 0; first < 12 * hour; first += hour * 7 / 5)
            check_phases(&a, first - first % 1000 + 32 * (first % 31), 72);
        fx8_tracker_close(&a.tracker);
        assert_null(a.tracker);
    }
}

/* A rotation does not depend on the spectra asked for with it; the callback is
 * asked for four instants a minute. */
TEST(rotations_depend_on_nothing_else)
{
    struct array a;
    struct fx8_error error;
    enum { N = 1000, GROUPS = (N + 31) / 32 };
    struct fx8_rotation all[3 * GROUPS], one[3];
    int32_t shifts[3 * N], some[3 * 77];
    open_array(&a, true, false, NULL, (struct fx8_rate){1000, 1}, 100);
    must(fx8_tracker_rotations(a.tracker, 5000, N, all, &error), error);
    must(fx8_tracker_shifts(a.tracker, 5000, N, shifts, &error), error);
    assert_int_equal(a.sky.n_calls, 2 * 4 * 3);
    for (size_t group = GROUPS; group-- > 0;) {
        must(fx8_tracker_rotations(a.tracker, 5000 + 32 * (int64_t)group,
                                   1 + group % 32, one, &error),
             error);
        for (size_t input = 0; input < 3; input++)
            check_bytes(&one[input], &all[input * GROUPS + group], sizeof *one);
    }
    for (size_t first = 0; first + 77 <= N; first += 41) {
        must(fx8_tracker_shifts(a.tracker, 5000 + (int64_t)first, 77, some,
                                &error),
             error);
        for (size_t input = 0; input < 3; input++)
            check_bytes(some + input * 77, shifts + input * N + first,
                        77 * sizeof *some);
    }
    fx8_tracker_close(&a.tracker);
}

/* --- whole samples ---------------------------------------------- */

/* Constant delays of whole samples, at a sky frequency at which they are whole
 * turns: nothing but a shift.  All are exact in binary. */
static const int64_t whole_samples[] = {0, 7, -31, 1, -2, 40};

static enum fx8_status find_whole(void *context, int64_t sample,
                                  double *delay_s, struct fx8_error *error)
{
    (void)context;
    (void)sample;
    (void)error;
    for (size_t input = 0; input < 6; input++)
        delay_s[input] = (double)whole_samples[input] / 0x1p20;
    return FX8_OK;
}

/* The same samples, shifted; those from outside are missing. */
static struct voltages shifted(const struct voltages *v)
{
    struct voltages s = *v;
    const size_t n = (size_t)v->n_samples;
    s.data = temporary_zeros(v->n_inputs * n * v->size);
    s.n_missing = 0;
    for (size_t input = 0; input < v->n_inputs; input++) {
        const int64_t d = whole_samples[input];
        for (int64_t t = 0; t < v->n_samples; t++)
            if (t + d >= 0 && t + d < v->n_samples)
                memcpy(voltages_at(&s, input, t), voltages_at(v, input, t + d),
                       v->size);
        for (size_t k = 0; k < v->n_missing; k++)
            if (v->missing[k].input < 0 ||
                v->missing[k].input == (int64_t)input)
                s.missing[s.n_missing++] =
                    (struct fx8_gap){v->missing[k].first_sample - d,
                                     v->missing[k].n_samples, (int64_t)input};
        s.missing[s.n_missing++] =
            d < 0 ? (struct fx8_gap){0, -d, (int64_t)input}
                  : (struct fx8_gap){v->n_samples - d, d, (int64_t)input};
    }
    return s;
}

TEST(whole_samples_are_shifts)
{
    static const struct delivery deliveries[] = {
        {0},
        {.block_samples = 100, .layout = TIME_MAJOR},
        {.block_samples = 1, .reread_samples = 50, .is_pulled = true},
        {.block_samples = 3000, .layout = IN_PLACE},
    };
    for (size_t k = 0; k < 2 * 2 * LENGTH(deliveries); k++) {
        const bool is_complex = k % 2, is_lower = k / 2 % 2;
        struct fx8_plan plan = small_plan(3, 2, is_complex, 8, 90);
        plan.sample_rate.numerator_hz = 1 << 20;
        plan.dc_frequency_hz = 144 << 20;
        plan.lower_sideband = is_lower;
        /* channel 0 of real samples is complex with delays: other bias */
        plan.quantizer.remove_bias = is_complex;
        plan.first_sample = 17 * (int64_t)(k % 3);
        plan.machine.threads.count = 1 + k % 2;
        struct voltages v = make_voltages(6, 1 + is_complex, 5000, 15, 77);
        v.missing[v.n_missing++] = (struct fx8_gap){2000, 30, 5};
        const struct voltages wanted_v = shifted(&v);
        const struct collected wanted =
            collect(&plan, &wanted_v, &(struct delivery){0});
        plan.delays = (struct fx8_delays){find_whole, NULL, 41e-6, NULL};
        const struct collected got = collect(&plan, &v, &deliveries[k / 4]);
        assert_true(wanted.n_dumps > 2);
        check_same(&wanted, &got);
    }
}

static const struct delivery whole;

/* --- gains ------------------------------------------------------- */

/* Gains that leave integers integers, of complex and of real samples. */
static const int gains[2][6][2] = {
    {{5, 0}, {-2, 0}, {1, 0}, {3, 0}, {-1, 0}, {4, 0}},
    {{3, 4}, {-2, 0}, {1, 1}, {2, -1}, {0, 1}, {1, 0}},
};

/* The samples as recorded with gains; those of the lower sideband are conj(E).
 */
static struct voltages with_gains(const struct voltages *v, bool is_lower)
{
    const bool is_complex = v->size == 2;
    struct voltages s = *v;
    s.data = temporary(v->n_inputs * (size_t)v->n_samples * v->size);
    for (size_t input = 0; input < v->n_inputs; input++) {
        const int re = gains[is_complex][input][0];
        const int im = (is_lower ? -1 : 1) * gains[is_complex][input][1];
        for (int64_t t = 0; t < v->n_samples; t++) {
            const int8_t *x = voltages_at(v, input, t);
            int8_t *y = voltages_at(&s, input, t);
            const int parts[2] = {re * x[0] - im * (is_complex ? x[1] : 0),
                                  is_complex ? re * x[1] + im * x[0] : 0};
            for (size_t part = 0; part < v->size; part++) {
                assert_true(abs(parts[part]) <= 127);
                y[part] = (int8_t)parts[part];
            }
        }
    }
    return s;
}

/* Largest difference of two results, over sqrt(P_i P_j): 3 antennas of 2
 * polarisations, 8 channels. */
static double most_difference(const float *a, const float *b, size_t n_dumps)
{
    static const size_t first[3] = {0, 3, 5}; /* baseline (i, i) */
    static const size_t feeds[4][2] = {{0, 0}, {1, 1}, {0, 1}, {1, 0}};
    double most = 0.0;
    for (size_t dump = 0; dump < n_dumps; dump++)
        for (size_t i = 0; i < 3; i++)
            for (size_t j = i; j < 3; j++)
                for (size_t cell = 0; cell < 8 * 4; cell++) {
                    const float *row = a + dump * 6 * 8 * 4 * 2;
                    const size_t c = cell / 4, p = cell % 4;
                    const size_t at = (dump * 6 + first[i] + j - i) * 32 + cell;
                    const float p_i =
                        row[2 * (first[i] * 32 + 4 * c + feeds[p][0])];
                    const float p_j =
                        row[2 * (first[j] * 32 + 4 * c + feeds[p][1])];
                    const double off =
                        hypot((double)a[2 * at] - (double)b[2 * at],
                              (double)a[2 * at + 1] - (double)b[2 * at + 1]) /
                        sqrt((double)p_i * (double)p_j);
                    most = off > most ? off : most;
                }
    return most;
}

/* Recorded with gains, and with the gains divided out, the results are those
 * of unit gains.  FP32: a spectrum's error is 16 2^-24 by the filter bank, 4
 * 2^-22 by the two factors of its rotation and 2^-24 by its amplitude, and a
 * product has that of two spectra, in both results: 4.2e-6 in all.  INT8: two
 * roundings of two inputs at 20 steps, e = 1 / (12 20^2) each, of 180 products
 * add sqrt(4 e / 180) rms, of which 6 are allowed.  DOWN <= FP32 <= UP. */
TEST(gains_are_divided_out)
{
    for (size_t k = 0; k < 8; k++) {
        const bool is_complex = k % 2, is_lower = k / 2 % 2;
        struct fx8_plan plan = small_plan(3, 2, is_complex, 8, 180);
        plan.sample_rate.numerator_hz = 1 << 20;
        plan.dc_frequency_hz = 144 << 20;
        plan.lower_sideband = is_lower;
        plan.precision = FX8_PRECISION_BOTH | FX8_PRECISION_INTERVAL;
        if (k / 4 == 1)
            plan.delays = (struct fx8_delays){find_whole, NULL, 41e-6, NULL};
        const struct voltages v =
            make_voltages(6, 1 + is_complex, 9000, 3, 78 + k);
        const struct voltages recorded = with_gains(&v, is_lower);
        const struct collected wanted = collect(&plan, &v, &whole);
        double amplitudes[6], phases[6];
        for (size_t input = 0; input < 6; input++) {
            const int *gain = gains[is_complex][input];
            amplitudes[input] = hypot(gain[0], gain[1]);
            phases[input] = atan2(gain[1], gain[0]) / (2.0 * M_PI);
        }
        plan.input_gain = amplitudes;
        plan.delays.turns = phases;
        const struct collected got = collect(&plan, &recorded, &whole);
        assert_true(got.n_dumps > 1);
        assert_true(most_difference(wanted.visibilities[FX8_RESULT_FP32],
                                    got.visibilities[FX8_RESULT_FP32],
                                    got.n_dumps) <= 4.2e-6);
        assert_true(most_difference(wanted.visibilities[FX8_RESULT_INT8],
                                    got.visibilities[FX8_RESULT_INT8],
                                    got.n_dumps) <=
                    6.0 * sqrt(4.0 / (12.0 * 400.0) / 180.0));
        const size_t n_cells = got.n_dumps * got.n_cells;
        for (size_t kind = 0; kind < FX8_N_RESULTS; kind++) {
            check_bytes(got.flags[kind], wanted.flags[kind], n_cells);
            check_bytes(got.nsamples[kind], wanted.nsamples[kind],
                        n_cells * sizeof(float));
        }
        for (size_t i = 0; i < 2 * n_cells; i++) {
            const float fp32 = got.visibilities[FX8_RESULT_FP32][i];
            assert_true(got.visibilities[FX8_RESULT_DOWN][i] <= fp32);
            assert_true(got.visibilities[FX8_RESULT_UP][i] >= fp32);
        }
    }
}

/* --- refusals ---------------------------------------------------- */

/* Fails at sample 100, without or with a message, or delays too much. */
static enum fx8_status find_badly(void *context, int64_t sample,
                                  double *delay_s, struct fx8_error *error)
{
    static const double values[] = {0.0, 0.0, 3e-3, -3e-3, NAN};
    const int *kind = context;
    delay_s[0] = 0.0;
    delay_s[1] = sample < 0 ? 0.0 : values[*kind];
    if (*kind > 1)
        return FX8_OK;
    return *kind == 0 ? FX8_ERR_SYSTEM
                      : fx8_fail(error, FX8_ERR_INPUT, "out of tables");
}

TEST(bad_delays)
{
    static const char *const wanted[] = {
        "delay callback failed without a message",
        "out of tables",
        "delays: input 1 at sample 0: 0.003 s: expected at most 0.002 s",
        "delays: input 1 at sample 0: -0.003 s: expected at most 0.002 s",
        "delays: input 1 at sample 0: nan s: expected at most 0.002 s",
    };
    for (int kind = 0; kind < (int)LENGTH(wanted); kind++) {
        struct fx8_plan plan = small_plan(2, 1, true, 4, 50);
        plan.delays = (struct fx8_delays){find_badly, &kind, 2e-3, NULL};
        const struct voltages v = make_voltages(2, 2, 9000, 15, 1);
        struct collected c = {0};
        struct fx8_error error;
        assert_true(run_session(&plan, &v, &(struct delivery){0}, &c, &error) <
                    0);
        assert_string_equal(error.message, wanted[kind]);
    }
}

/* The sign changes every minute: the cubic between the nodes at 0, 20, 40 and
 * 60 s swings to 1.5 times the bound. */
static enum fx8_status find_square(void *context, int64_t sample,
                                   double *delay_s, struct fx8_error *error)
{
    const struct sky *sky = context;
    (void)error;
    for (size_t input = 0; input < sky->n_inputs; input++)
        delay_s[input] =
            (double)sample < 30.0 * sky->rate_hz ? 330e-6 : -330e-6;
    return FX8_OK;
}

TEST(bad_delays_between_nodes)
{
    /* group 25 of dump 624, at 10 s */
    static const int64_t first = 624800;
    struct array a;
    struct fx8_error error;
    struct fx8_rotation rotations[3];
    int32_t shifts[3];
    open_array(&a, true, false, NULL, (struct fx8_rate){4000000, 1}, 64);
    fx8_tracker_close(&a.tracker);
    a.plan.delays.delay = find_square;
    must(fx8_tracker_open(&a.plan, &a.axes, &a.bank, &a.tracker, &error),
         error);
    static const char wanted[] = "delays: input 0 at sample 40000697: "
                                 "0.000495 s: expected at most 0.000335 s";
    assert_int_equal(
        fx8_tracker_rotations(a.tracker, first, 1, rotations, &error),
        FX8_ERR_USAGE);
    assert_string_equal(error.message, wanted);
    assert_int_equal(fx8_tracker_shifts(a.tracker, first, 1, shifts, &error),
                     FX8_ERR_USAGE);
    assert_string_equal(error.message, wanted);
    /* near a node all is well: 7/3 of 1320 samples per node, 13,497 of
     * 80,000,000 samples after it */
    must(fx8_tracker_shifts(a.tracker, 0, 1, shifts, &error), error);
    assert_int_equal(shifts[0], 1321);
    fx8_tracker_close(&a.tracker);
}
