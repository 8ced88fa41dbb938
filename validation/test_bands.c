/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_bands.c -- several bands in one session against one session per band;
 * the central channels alone against all channels; scaled samples against
 * samples as recorded.  All must be equal bit for bit.
 *
 * Shows (correlation, bands in a session): several bands give what each gives
 *     in a session of its own: both sample types and sidebands, averages,
 *     different gaps and markers per band, ragged blocks, threads, quick-look.
 *     Averages across bands are correct, for bounds too.  `keep_fraction` keeps
 *     the central channels.  White noise has the expected power.  Input gains
 *     leave no trace.  Samples of few bits are corrected by the levels of their
 *     band
 * Within: to the bit; power 5 sigma
 * Because: both runs use the same samples in the same order
 */
#include "correlator/library/plan.h"
#include "validation/session_run.h"

enum { N_BANDS = 3 };

static const struct delivery whole = {0};

/* --- one session, or one for each --------------------------------- */

static const double offsets_hz[N_BANDS] = {-2.5e6, 0.0, 1.25e6};

static struct fx8_plan wide_plan(size_t n_antennas, size_t n_polarizations,
                                 bool is_complex, size_t n_channels,
                                 int64_t spectra_per_dump)
{
    struct fx8_plan plan = small_plan(n_antennas, n_polarizations, is_complex,
                                      n_channels, spectra_per_dump);
    plan.n_bands = N_BANDS;
    plan.band_offset_hz = offsets_hz;
    plan.precision = FX8_PRECISION_BOTH | FX8_PRECISION_INTERVAL;
    return plan;
}

static struct fx8_plan band_plan(const struct fx8_plan *wide, size_t band)
{
    struct fx8_plan plan = *wide;
    plan.n_bands = 1;
    plan.band_offset_hz = NULL;
    plan.dc_frequency_hz += wide->band_offset_hz[band];
    if (wide->input_gain != NULL)
        plan.input_gain += band * wide->n_antennas * wide->n_polarizations;
    if (wide->ripple != NULL)
        plan.ripple += band * fx8_plan_axes(wide).n_kept;
    return plan;
}

/* The samples and gaps of one band; data stays v's. */
static struct voltages band_of(const struct voltages *v, size_t band)
{
    const size_t n = v->n_inputs / N_BANDS;
    struct voltages of = *v;
    of.n_inputs = n;
    of.data = voltages_at(v, band * n, 0);
    of.n_missing = 0;
    for (size_t i = 0; i < v->n_missing; i++) {
        struct fx8_gap run = v->missing[i];
        if (run.input >= 0 && (size_t)run.input / n != band)
            continue;
        if (run.input >= 0)
            run.input -= (int64_t)(band * n);
        of.missing[of.n_missing++] = run;
    }
    return of;
}

/* Rows of `n` items out of wide rows of `n_wide`, from `first` on. */
static void check_rows(const void *wide, const void *one, size_t n_rows,
                       size_t n_wide, size_t n, size_t first, size_t size)
{
    assert_int_equal(wide == NULL, one == NULL);
    for (size_t row = 0; row < n_rows && wide != NULL; row++)
        assert_memory_equal((const char *)wide + (row * n_wide + first) * size,
                            (const char *)one + row * n * size, n * size);
}

/* `one` is a part of each row of `wide`, from a share of one's length on. */
static void check_part(const struct collected *wide,
                       const struct collected *one, size_t share, size_t of)
{
    struct part all[N_PARTS], parts[N_PARTS];
    list_parts(wide, all);
    list_parts(one, parts);
    assert_int_equal(wide->n_dumps, one->n_dumps);
    assert_int_equal(wide->dropped_spectra, one->dropped_spectra);
    for (size_t k = 0; k < N_PARTS; k++) {
        const size_t n = parts[k].n_items, rows = parts[k].n_rows;
        const size_t n_wide = all[k].n_rows * all[k].n_items / rows;
        check_rows(all[k].data, parts[k].data, rows, n_wide, n,
                   n_wide > n ? n * share / of : 0, parts[k].size);
    }
}

/* Returns how many cells of real spectra the quick-look has not averaged. */
static int64_t check_bands(const struct fx8_plan *plan,
                           const struct voltages *v, const struct delivery *d)
{
    struct collected wide = collect(plan, v, d);
    int64_t n_clipped = 0, n_valid = 0, n_looks = 0, n_real = 0;
    for (size_t band = 0; band < N_BANDS; band++) {
        const struct fx8_plan alone = band_plan(plan, band);
        const struct voltages of = band_of(v, band);
        struct collected one = collect(&alone, &of, d);
        assert_true(one.n_dumps >= 2);
        assert_int_equal(wide.n_cells, N_BANDS * one.n_cells);
        check_part(&wide, &one, band, 1);
        n_clipped += one.statistics.n_clipped;
        n_valid += one.statistics.n_valid_spectra;
        n_looks += one.looks.n_cells;
        n_real += one.looks.fisher_real;
        assert_int_equal(wide.statistics.n_spectra, one.statistics.n_spectra);
    }
    assert_int_equal(wide.statistics.n_clipped, n_clipped);
    assert_int_equal(wide.statistics.n_valid_spectra, n_valid);
    assert_int_equal(wide.looks.n_cells, n_looks);
    assert_int_equal(wide.looks.fisher_real, n_real);
    assert_int_equal(n_looks > 0, plan->quicklook);
    return n_real;
}

/* Gaps in single rows, in one band and in all; markers in one row; an input
 * that is dead in one band only. */
static void spoil(struct voltages *v, struct generator *g)
{
    const size_t n = v->n_inputs / N_BANDS;
    const struct fx8_gap runs[] = {
        {900, 300, (int64_t)random_below(g, n)},
        {1500, 77, (int64_t)(n + random_below(g, n))},
        {1, 40, (int64_t)(2 * n + random_below(g, n))},
        {2500, 10, -1},
        {2600, 3, (int64_t)(3 * n - 1)},
    };
    memcpy(v->missing, runs, sizeof runs);
    v->n_missing = LENGTH(runs);
    memset(voltages_at(v, n + random_below(g, n), 1000), 99, 200 * v->size);
    memset(voltages_at(v, 2 * n, 0), 0, (size_t)v->n_samples * v->size);
}

TEST(every_band_as_if_alone)
{
    struct generator g = {81};
    int64_t n_real = 0;
    for (int i = 0; i < 24; i++) {
        const bool is_complex = i % 2, is_none = i % 8 == 7;
        struct fx8_plan plan = wide_plan(
            1 + random_below(&g, 3), 1 + random_below(&g, 2), is_complex,
            is_none ? 1 : 6 * (1 + random_below(&g, 3)), is_none ? 900 : 40);
        plan.lower_sideband = i / 2 % 2;
        plan.channelizer.method = is_none ? FX8_METHOD_NONE
                                  : i % 3 ? FX8_METHOD_PFB
                                          : FX8_METHOD_FFT;
        if (is_complex && !is_none && i % 4 == 1)
            plan.channelizer.n_kept = plan.channelizer.n_channels - 3;
        plan.channel_average = is_none || i % 5 ? 1 : 3;
        plan.quicklook = i / 2 % 3 > 0;
        plan.machine.threads.count = i / 3 % 2 ? 3 : 1;
        plan.channelizer.flag_edges = !is_none && i % 5 > 0;
        plan.channelizer.flag_dc = i % 7 == 0;
        plan.marker.is_used = true;
        plan.marker.value = 99;
        plan.first_sample = (int64_t)random_below(&g, 30);
        plan.quantizer.target_rms = i % 6 == 5 ? 60 : 20; /* with clips */
        plan.quantizer.dither = i / 3 % 2 == 1;
        struct voltages v =
            make_voltages(N_BANDS * plan.n_antennas * plan.n_polarizations,
                          1 + is_complex, 3600, 12, (uint64_t)(800 + i));
        spoil(&v, &g);
        const struct delivery d = {
            .block_samples = random_in(&g, 1, 900),
            .layout = (enum layout)random_below(&g, N_LAYOUTS),
            .overlap = random_in(&g, 0, 20),
            .gap_first = 2000,
            .gap_end = 2000 + random_in(&g, 0, 99),
        };
        n_real += check_bands(&plan, &v, &d);
    }
    assert_true(n_real > 0);
}

/* --- averages across bands ----------------------------------------- */

/* Averages across the bands of one product, weighted and flagged by
 * CONVENTIONS.md.  Bits are equal where only the order of operations could
 * differ; the exact mean lies between the bounds. */
static void check_average(const struct collected *bands,
                          const struct collected *mean, size_t kind, size_t row,
                          size_t products, size_t p)
{
    const float *v = bands->visibilities[kind];
    const size_t out = row * products + p;
    bool has_unflagged = false;
    for (size_t b = 0; b < N_BANDS; b++)
        has_unflagged |=
            bands->flags[kind][(row * N_BANDS + b) * products + p] == 0;
    double sum[2] = {0, 0}, weight = 0;
    for (size_t b = 0; b < N_BANDS; b++) {
        const size_t at = (row * N_BANDS + b) * products + p;
        if (has_unflagged && bands->flags[kind][at])
            continue;
        const double w = (double)bands->nsamples[kind][at];
        weight += w;
        for (size_t part = 0; part < 2; part++)
            sum[part] += w * (double)v[2 * at + part];
    }
    assert_int_equal(mean->flags[kind][out], !has_unflagged);
    assert_true(mean->nsamples[kind][out] == (float)(weight / N_BANDS));
    for (size_t part = 0; part < 2; part++) {
        const float got = mean->visibilities[kind][2 * out + part];
        const double want = weight == 0 ? 0 : sum[part] / weight;
        if (kind < 2)
            assert_true(got == (float)want);
        else if (kind == 2)
            assert_true((double)got <= want);
        else
            assert_true((double)got >= want);
        assert_true(fabs((double)got - want) <= 0x1p-22 * fabs(want));
    }
}

TEST(averages_across_bands)
{
    struct generator g = {82};
    for (int i = 0; i < 6; i++) {
        struct fx8_plan plan = wide_plan(3, 1 + (size_t)i % 2, true, 1, 900);
        plan.channelizer.method = i % 3 == 2 ? FX8_METHOD_FFT : FX8_METHOD_NONE;
        const size_t products = i % 2 ? 4 : 1;
        struct voltages v = make_voltages(N_BANDS * 3 * (1 + (size_t)i % 2), 2,
                                          3600, 12, (uint64_t)(890 + i));
        spoil(&v, &g);
        struct collected bands = collect(&plan, &v, &whole);
        plan.channel_average = N_BANDS;
        struct collected mean = collect(&plan, &v, &whole);
        assert_int_equal(mean.n_cells, 6 * products);
        assert_int_equal(mean.n_dumps, bands.n_dumps);
        for (size_t kind = 0; kind < FX8_N_RESULTS; kind++)
            for (size_t row = 0; row < mean.n_dumps * 6; row++)
                for (size_t p = 0; p < products; p++)
                    check_average(&bands, &mean, kind, row, products, p);
        const size_t n = mean.n_dumps * mean.n_cells * 2;
        for (size_t k = 0; k < n; k++) {
            const float fp32 = mean.visibilities[1][k];
            assert_true(mean.visibilities[2][k] <= fp32);
            assert_true(mean.visibilities[3][k] >= fp32);
        }
    }
}

/* --- central channels --------------------------------------------- */

TEST(kept_channels_are_the_central_ones)
{
    static const size_t sizes[][2] = {{32, 27}, {64, 54}, {7, 4}, {8, 1},
                                      {9, 9},   {15, 7},  {6, 5}};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        const size_t c = sizes[i][0], k = sizes[i][1];
        struct fx8_plan plan = small_plan(2, 2, true, c, 50);
        plan.precision = FX8_PRECISION_BOTH | FX8_PRECISION_INTERVAL;
        plan.channelizer.method = i % 2 ? FX8_METHOD_FFT : FX8_METHOD_PFB;
        plan.lower_sideband = i % 3 == 0;
        plan.channelizer.flag_dc = true;
        struct voltages v = make_voltages(4, 2, (int64_t)c * 130, 15, 840 + i);
        struct collected all = collect(&plan, &v, &whole);
        plan.channelizer.n_kept = k;
        assert_int_equal(fx8_plan_axes(&plan).n_fine, k);
        struct collected kept = collect(&plan, &v, &whole);
        assert_true(kept.n_dumps >= 2);
        check_part(&all, &kept, c / 2 - k / 2, k);
    }
}

/* The channels that are kept have the same power as all of them: the mean of n
 * = 2 x 1000 x 27 spectra of an unfiltered transform scatters by 1/sqrt(n), 0.4
 * %; the limit is five times that. */
TEST(kept_channels_keep_the_power)
{
    struct fx8_plan plan = small_plan(1, 2, true, 32, 1000);
    plan.channelizer.method = FX8_METHOD_FFT;
    plan.channelizer.n_kept = 27;
    const struct voltages v = make_voltages(2, 2, 32000, 15, 850);
    const struct collected c = collect(&plan, &v, &whole);
    assert_int_equal(c.n_cells, 27 * 4);
    for (size_t input = 0; input < 2; input++) {
        double expected = 0, power = 0;
        for (int64_t t = 0; t < v.n_samples; t++) {
            const int8_t *x = voltages_at(&v, input, t);
            expected += (x[0] * x[0] + x[1] * x[1]) / 32000.0;
        }
        for (size_t k = 0; k < 27; k++)
            power += (double)c.visibilities[1][2 * (4 * k + input)] / 27;
        assert_true(fabs(power / expected - 1) < 5 / sqrt(27000));
    }
}

/* --- gains of the input ------------------------------------------- */

/* Recorded values are multiples of 4.  Rows scaled by 1, 1/2 or 1/4 and pushed
 * with that gain give the same bits as the recorded values. */
TEST(gains_of_the_input_leave_no_trace)
{
    static const double gains[] = {0.25, 1.0, 0.5};
    double ripple[N_BANDS * 12];
    for (size_t c = 0; c < LENGTH(ripple); c++)
        ripple[c] = 0.3 + 0.1 * (double)(c * c % 13);
    for (int i = 0; i < 6; i++) {
        const bool is_none = i % 3 == 2;
        struct fx8_plan plan =
            wide_plan(2, 2, true, is_none ? 1 : 12, is_none ? 900 : 60);
        plan.channelizer.method = is_none ? FX8_METHOD_NONE : FX8_METHOD_PFB;
        plan.channel_average = i % 3 == 1 ? 4 : 1;
        plan.ripple = i % 2 == 0 ? ripple : NULL;
        plan.quantizer.gain_per =
            i < 3 ? FX8_GAIN_PER_CHANNEL : FX8_GAIN_PER_INPUT;
        struct voltages recorded = make_voltages(12, 2, 3000, 5, 860);
        struct voltages scaled = recorded;
        double row_gain[12];
        const size_t n = (size_t)recorded.n_samples * 2;
        scaled.data = temporary(12 * n);
        for (size_t row = 0; row < 12; row++) {
            const int divisor = (int)(1 / gains[row % 3]);
            row_gain[row] = gains[row % 3];
            for (size_t k = row * n; k < (row + 1) * n; k++) {
                const int value = 4 * (recorded.data[k] % 32);
                recorded.data[k] = (int8_t)value;
                scaled.data[k] = (int8_t)(value / divisor);
            }
        }
        struct collected a = collect(&plan, &recorded, &whole);
        plan.input_gain = row_gain;
        struct collected b = collect(&plan, &scaled, &whole);
        assert_true(a.n_dumps >= 2);
        check_same(&a, &b);
        check_bands(&plan, &scaled, &whole);
    }
}

/* Levels are those of an input in its band. */
TEST(samples_of_few_bits)
{
    for (size_t is_complex = 0; is_complex < 2; is_complex++) {
        struct fx8_plan plan = wide_plan(2, 2, is_complex == 1, 12, 60);
        plan.channelizer.method = FX8_METHOD_FFT;
        plan.precision = FX8_PRECISION_FP32;
        plan.van_vleck = true;
        const size_t size = is_complex == 1 ? 2 : 1;
        struct voltages v = make_voltages(12, size, 6000, 20, 865);
        const size_t n = (size_t)v.n_samples * size;
        for (size_t k = 0; k < 12 * n; k++)
            v.data[k] = v.data[k] > (int)(k / n) - 6 ? 1 : -1;
        check_bands(&plan, &v, &whole);
    }
}

/* An input without power has no quantiser gain, but keeps the gain of its
 * samples. */
TEST(gain_of_an_input_without_power)
{
    static const double gains[] = {0.125, 0.5};
    struct fx8_plan plan = small_plan(2, 1, true, 4, 100);
    plan.input_gain = gains;
    struct voltages v = make_voltages(2, 2, 500, 15, 870);
    memset(v.data, 0, 1000);
    struct collected c = collect(&plan, &v, &whole);
    for (size_t k = 0; k < 4; k++) {
        assert_true(c.gains[k] == 0.125f);
        assert_true(c.gains[4 + k] > 0 && c.gains[4 + k] != 0.5f);
    }
}

/* --- memory ------------------------------------------------------- */

/* MiB that a plan needs for spectra, levels and sums. */
static size_t spectra_mib(struct fx8_plan plan)
{
    plan.machine.memory_limit = 1;
    return number_refused(&plan, " MiB: ");
}

/* The engines of all bands count. */
TEST(a_memory_limit_is_of_all_bands)
{
    const struct fx8_plan plan = wide_plan(8, 2, true, 64, 2000);
    assert_true(spectra_mib(plan) > 2 * spectra_mib(band_plan(&plan, 0)));
}
