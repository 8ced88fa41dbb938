/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peers.cc -- INPUTS CHANNELS [ROUNDS]: libfx8 by turns with an FX correlator
 * made of FFTW and oneDNN, on the same samples in memory and one thread.
 *
 * The peer quantises with the gains that libfx8 has found.  Complex products
 * are real ones: the rows of a matrix are the pairs of an input, of time alone;
 * another matrix has for each input the same pairs and, in the next row, those
 * turned by a quarter.  Their product is real and imaginary part of every pair
 * of inputs.  oneDNN has no triangular product: "square" is the one call for a
 * channel that it offers.  Up to 8 row blocks, each of which needs only the
 * columns from its first on, save up to 44 % of that.
 *
 * How FFTW and oneDNN are called is chosen by timing.  The results of both are
 * compared before any time counts.  Prints a JSON object.
 */
#include <dnnl.h>
#include <math.h>
#include <stdio.h>

#include <algorithm>

#include "correlator/fx8.h"
#include "validation/peers/spectra.h"

static const double PI = 3.14159265358979323846;

/* Spectra of a dump, and of the runs that choose. */
enum { SPECTRA = 4096, TRIAL_SPECTRA = 2048 };

/* Bytes between the rows of two channels: a power of two from row to row would
 * leave them few lines of the cache. */
enum { GAP = 64 };

/* How oneDNN is called. */
struct Product {
    size_t n_times;  /* spectra of a call */
    bool is_offset;  /* u8 times s8, else s8 times s8 */
    size_t n_blocks; /* row blocks */
};

struct Case {
    size_t n_inputs, n_channels;
    size_t n_samples; /* of an input */
    std::unique_ptr<Array<int8_t>> samples;
    std::vector<float> weights; /* [TAPS][2 n_channels] */
    std::vector<float> gain;    /* [n_inputs][2 n_channels], by bin */
};

[[noreturn]] static void fail(const char *what)
{
    fprintf(stderr, "peers: %s\n", what);
    exit(1);
}

/* --- samples and weights ----------------------------------------- */

static void fill(Case &c)
{
    uint64_t state = 0x9e3779b97f4a7c15u; /* xorshift64 */
    int8_t *samples = c.samples->at(0);
    for (size_t k = 0; k < 2 * c.n_inputs * c.n_samples; k++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        samples[k] = (int8_t)((int)(state >> 56) % 61 - 30);
    }
}

/* The prototype filter of CONVENTIONS.md, each weight twice. */
static std::vector<float> make_weights(size_t length)
{
    const size_t n = TAPS * length;
    std::vector<double> w(n);
    double power = 0.0;
    for (size_t k = 0; k < n; k++) {
        const double x = (k + 0.5) / (double)length - TAPS / 2.0;
        const double sinc = x == 0.0 ? 1.0 : sin(PI * x) / (PI * x);
        w[k] = sinc * (0.54 - 0.46 * cos(2.0 * PI * k / (double)(n - 1)));
        power += w[k] * w[k];
    }
    std::vector<float> weights(2 * n);
    for (size_t k = 0; k < 2 * n; k++)
        weights[k] = (float)(w[k / 2] / sqrt(power));
    return weights;
}

/* --- the peer ---------------------------------------------------- */

struct Peer {
    Peer(const Case &given, const Way &way, const Product &how)
        : c(given), product(how), transform(c.n_channels, way),
          bank(c.n_channels, c.weights), row_bytes(2 * product.n_times),
          channel_bytes(c.n_inputs * row_bytes + GAP),
          pairs(c.n_channels * channel_bytes), rows(2 * channel_bytes),
          offset(channel_bytes),
          sums(c.n_channels * 2 * c.n_inputs * c.n_inputs)
    {
    }

    /* Pairs of spectra [first, first + n_times). */
    void channelise(size_t first)
    {
        for (size_t input = 0; input < c.n_inputs; input++)
            for (size_t t = 0; t < product.n_times; t += GROUP) {
                const int8_t *from = c.samples->at(
                    2 * (input * c.n_samples + (first + t) * c.n_channels));
                bank.run(transform, from, &c.gain[2 * input * c.n_channels],
                         [&](size_t channel) {
                             return pairs.at(channel * channel_bytes +
                                             input * row_bytes + 2 * t);
                         });
            }
    }

    /* The matrices of a channel: b with the pairs of an input as they are, in
     * the next row turned by a quarter; a, if unsigned, plus 128. */
    void prepare(size_t channel)
    {
        for (size_t input = 0; input < c.n_inputs; input++)
            for (size_t k = 0; k < row_bytes; k += sizeof(Pairs)) {
                const size_t at = input * row_bytes + k;
                const Pairs x =
                    load<Pairs>(pairs.at(channel * channel_bytes + at));
                store(rows.at(at + input * row_bytes), x);
                store(rows.at(at + (input + 1) * row_bytes), turn_quarter(x));
                if (product.is_offset)
                    store(offset.at(at), x ^ (uint16_t)0x8080);
            }
    }

    /* Rows [low, high) times all pairs from low on. */
    void multiply(size_t channel, size_t low, size_t high, float beta)
    {
        const dnnl_dim_t n = (dnnl_dim_t)c.n_inputs;
        const dnnl_dim_t m = (dnnl_dim_t)(high - low);
        const dnnl_dim_t columns = 2 * (n - (dnnl_dim_t)low);
        const dnnl_dim_t k = (dnnl_dim_t)row_bytes;
        const int8_t *b = rows.at(2 * low * row_bytes);
        int32_t *to =
            sums.at(((channel * c.n_inputs + low) * c.n_inputs + low) * 2);
        const int32_t none = 0;
        const dnnl_status_t status =
            product.is_offset
                ? dnnl_gemm_u8s8s32('N', 'T', 'F', m, columns, k, 1.0f,
                                    offset.at(low * row_bytes), k, 128, b, k, 0,
                                    beta, to, 2 * n, &none)
                : dnnl_gemm_s8s8s32('N', 'T', 'F', m, columns, k, 1.0f, b,
                                    2 * k, 0, b, k, 0, beta, to, 2 * n, &none);
        if (status != dnnl_success)
            fail("oneDNN fails");
    }

    void correlate(bool is_first)
    {
        const size_t n = c.n_inputs, n_blocks = product.n_blocks;
        for (size_t channel = 0; channel < c.n_channels; channel++) {
            prepare(channel);
            for (size_t k = 0; k < n_blocks; k++)
                multiply(channel, n * k / n_blocks, n * (k + 1) / n_blocks,
                         is_first ? 0.0f : 1.0f);
        }
    }

    /* Seconds of both stages for spectra [0, n_spectra). */
    double run(size_t n_spectra)
    {
        double seconds[2] = {};
        for (size_t first = 0; first < n_spectra; first += product.n_times) {
            const double begin = now();
            channelise(first);
            const double middle = now();
            correlate(first == 0);
            seconds[0] += middle - begin;
            seconds[1] += now() - middle;
        }
        channelise_s = seconds[0];
        correlate_s = seconds[1];
        return seconds[0] + seconds[1];
    }

    const Case &c;
    const Product product;
    Transform transform;
    Bank bank;
    size_t row_bytes, channel_bytes;
    Array<int8_t> pairs;   /* [channel][input][time] */
    Array<int8_t> rows;    /* of a channel: [input][as is, turned][time] */
    Array<uint8_t> offset; /* of a channel: [input][time] */
    Array<int32_t> sums;   /* [channel][input][input][re, im] */
    double channelise_s, correlate_s;
};

/* --- choices ----------------------------------------------------- */

/* Seconds of the filter bank, the better of two runs. */
static double time_way(const Case &c, const Way &way)
{
    Peer peer(c, way, {TRIAL_SPECTRA / 8, true, 1});
    double best = INFINITY;
    for (int k = 0; k < 3; k++) {
        const double begin = now();
        peer.channelise(0);
        best = std::min(best, now() - begin);
    }
    return best;
}

static Way choose_way(const Case &c)
{
    std::vector<Way> ways;
    for (size_t batch : {1, 4, 8, 16, 32}) {
        ways.push_back({batch, true, false, FFTW_MEASURE});
        ways.push_back({batch, false, false, FFTW_MEASURE});
        ways.push_back({batch, false, true, FFTW_MEASURE});
    }
    Way best = ways[0];
    double best_s = INFINITY;
    for (size_t k = 0; k <= ways.size(); k++) {
        /* in the end the best with more effort */
        Way way = best;
        if (k < ways.size())
            way = ways[k];
        else
            way.effort = FFTW_PATIENT;
        const double seconds = time_way(c, way);
        if (seconds < best_s) {
            best = way;
            best_s = seconds;
        }
    }
    return best;
}

static Product choose_product(const Case &c, const Way &way, size_t most_blocks)
{
    Product best = {};
    double best_s = INFINITY;
    for (size_t n_times : {256, 512, 1024, 2048})
        for (bool is_offset : {true, false})
            for (size_t n_blocks : {1, 2, 4, 8}) {
                if (n_blocks > most_blocks ||
                    (n_blocks > 1 && c.n_inputs / n_blocks < 8))
                    continue;
                const Product product = {n_times, is_offset, n_blocks};
                Peer peer(c, way, product);
                peer.run(TRIAL_SPECTRA);
                const double seconds = peer.run(TRIAL_SPECTRA);
                if (seconds < best_s) {
                    best = product;
                    best_s = seconds;
                }
            }
    return best;
}

/* --- libfx8 ------------------------------------------------------ */

struct Ours {
    explicit Ours(const Case &given) : c(given), offsets(given.n_inputs)
    {
        fx8_plan plan = fx8_plan_default();
        plan.is_complex = true;
        plan.n_antennas = c.n_inputs;
        plan.sample_rate = {1000000, 1};
        plan.dc_frequency_hz = 150e6;
        plan.channelizer.n_channels = c.n_channels;
        plan.quantizer.remove_bias = false;
        plan.machine.backend = FX8_BACKEND_CPU;
        plan.machine.threads.count = 1;
        plan.spectra_per_dump = SPECTRA;
        for (size_t i = 0; i < c.n_inputs; i++)
            offsets[i] = (ptrdiff_t)(2 * i * c.n_samples);
        check(fx8_open(&plan, take, this, &session, &error));
        push(c.n_samples);
    }
    Ours(const Ours &) = delete;
    ~Ours()
    {
        fx8_close(&session);
    }

    void check(fx8_status status) const
    {
        if (status != FX8_OK)
            fail(error.message);
    }

    static fx8_status take(void *context, const fx8_dump *dump, fx8_error *)
    {
        Ours *ours = (Ours *)context;
        const fx8_result &result = dump->results[FX8_RESULT_INT8];
        if (dump->index == 0)
            ours->visibilities.assign(
                result.visibilities,
                result.visibilities + 2 * dump->n_baselines * dump->n_channels *
                                          dump->n_products);
        ours->n_dumps++;
        return FX8_OK;
    }

    void push(size_t n)
    {
        fx8_block block = {};
        block.samples = c.samples->at(0);
        block.input_offset = offsets.data();
        block.time_stride = 2;
        block.first_sample = first;
        block.n_samples = (int64_t)n;
        check(fx8_push(session, &block, &error));
        first += (int64_t)n;
    }

    /* Seconds of a dump. */
    double run()
    {
        const int64_t before = n_dumps;
        const double begin = now();
        push((size_t)SPECTRA * c.n_channels);
        const double seconds = now() - begin;
        if (n_dumps != before + 1)
            fail("a pass is not a dump");
        return seconds;
    }

    const Case &c;
    std::vector<ptrdiff_t> offsets;
    std::vector<float> visibilities; /* of the first dump */
    fx8_session *session = nullptr;
    fx8_error error = {};
    int64_t first = 0, n_dumps = 0;
};

/* Bin k is channel k + n / 2. */
static size_t channel_of(const Case &c, size_t bin)
{
    return (bin + c.n_channels / 2) % c.n_channels;
}

static void take_gains(Case &c, const Ours &ours)
{
    const fx8_input_gains gains = fx8_gains(ours.session);
    c.gain.resize(2 * c.n_inputs * c.n_channels);
    for (size_t k = 0; k < c.gain.size(); k++) {
        const size_t input = k / 2 / c.n_channels, bin = k / 2 % c.n_channels;
        c.gain[k] = gains.gain[input * c.n_channels + channel_of(c, bin)];
    }
}

/* The largest difference of mean products, in steps squared. */
static double compare(const Case &c, const Ours &ours, Peer &peer)
{
    const size_t n = c.n_inputs;
    double worst = 0.0;
    size_t baseline = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++, baseline++)
            for (size_t bin = 0; bin < c.n_channels; bin++)
                for (size_t part = 0; part < 2; part++) {
                    const double sum =
                        *peer.sums.at(((bin * n + i) * n + j) * 2 + part);
                    const double scale =
                        (double)c.gain[2 * (i * c.n_channels + bin)] *
                        c.gain[2 * (j * c.n_channels + bin)];
                    const double value =
                        ours.visibilities[2 * (baseline * c.n_channels +
                                               channel_of(c, bin)) +
                                          part] *
                        scale;
                    worst = std::max(worst, fabs(sum / SPECTRA - value));
                }
    return worst;
}

/* --- the run ----------------------------------------------------- */

static double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2.0;
}

/* A few of the thousands of spectra lie so near to a tie that two filter banks
 * round them apart, by one step of up to 127 times another.  Any other mistake
 * is as large as the noise of a mean product, 800 / sqrt(4096) = 12. */
static const double MOST_APART = 1.0;

/* Times of the rounds. */
struct Times {
    std::vector<double> ours, best, square, bank, correlator;
};

static void print_ratio(const char *name, const std::vector<double> &theirs,
                        const std::vector<double> &ours)
{
    std::vector<double> ratios;
    for (size_t r = 0; r < ours.size(); r++)
        ratios.push_back(theirs[r] / ours[r]);
    printf(" \"ratio%s\": %.4g, \"lowest%s\": %.4g,\n", name, median(ratios),
           name, *std::min_element(ratios.begin(), ratios.end()));
}

static void print_product(const char *name, const Product &product)
{
    printf(" \"onednn_way%s\": \"%s, %zu times, %zu row blocks\",\n", name,
           product.is_offset ? "u8 s8" : "s8 s8", product.n_times,
           product.n_blocks);
}

static void print(const Case &c, const Ours &ours, const Peer &best,
                  const Peer &square, double worst, const Times &times)
{
    const double samples = (double)SPECTRA * c.n_inputs * c.n_channels;
    const dnnl_version_t *version = dnnl_version();
    const Way &way = best.transform.way;
    printf("{\"inputs\": %zu, \"channels\": %zu, \"rounds\": %zu,\n"
           " \"fx8\": %.6g, \"peer\": %.6g, \"peer_square\": %.6g,\n"
           " \"peer_filter_bank\": %.6g, \"peer_correlator\": %.6g,\n",
           c.n_inputs, c.n_channels, times.ours.size(),
           samples / median(times.ours), samples / median(times.best),
           samples / median(times.square), samples / median(times.bank),
           samples / median(times.correlator));
    print_ratio("", times.best, times.ours);
    print_ratio("_square", times.square, times.ours);
    print_product("", best.product);
    print_product("_square", square.product);
    printf(" \"fftw_way\": \"batch %zu, %s, %s, %s\",\n"
           " \"largest_difference\": %.3g, \"kernel\": \"%s\",\n"
           " \"fftw\": \"%s\", \"onednn\": \"%d.%d.%d\"}\n",
           way.batch, way.in_place ? "in place" : "out of place",
           way.is_turned ? "channel-major" : "spectrum-major",
           way.effort == FFTW_PATIENT ? "patient" : "measure", worst,
           fx8_info(ours.session).kernel, fftwf_version, version->major,
           version->minor, version->patch);
}

int main(int n_arguments, char **arguments)
{
    if (n_arguments < 3)
        fail("expected INPUTS CHANNELS [ROUNDS]");
    Case c = {};
    c.n_inputs = strtoul(arguments[1], NULL, 10);
    c.n_channels = strtoul(arguments[2], NULL, 10);
    const int n_rounds = n_arguments > 3 ? atoi(arguments[3]) : 7;
    if (c.n_inputs == 0 || c.n_channels % 32 != 0 || c.n_channels == 0 ||
        n_rounds < 1)
        fail("expected inputs, channels in 32s, and rounds");
    c.n_samples = (SPECTRA + TAPS - 1) * c.n_channels;
    c.samples.reset(new Array<int8_t>(2 * c.n_inputs * c.n_samples));
    c.weights = make_weights(c.n_channels);
    fill(c);
    Ours ours(c);
    take_gains(c, ours);
    const Way way = choose_way(c);
    Peer best(c, way, choose_product(c, way, 8));
    Peer square(c, way, choose_product(c, way, 1));
    double worst = 0.0;
    for (Peer *peer : {&best, &square}) {
        peer->run(SPECTRA);
        worst = std::max(worst, compare(c, ours, *peer));
    }
    if (!(worst < MOST_APART)) {
        fprintf(stderr, "peers: results differ by %g steps squared\n", worst);
        return 1;
    }
    Times times;
    for (int r = 0; r < n_rounds; r++) {
        times.ours.push_back(ours.run());
        times.best.push_back(best.run(SPECTRA));
        times.bank.push_back(best.channelise_s);
        times.correlator.push_back(best.correlate_s);
        times.square.push_back(square.run(SPECTRA));
    }
    print(c, ours, best, square, worst, times);
    return 0;
}
