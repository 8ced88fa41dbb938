/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sky.c -- voltages: sky, noise, gain, rounding.
 *
 * A step reaches from the centre of a block to that of the next.  A thread
 * makes a stretch of steps for a group of inputs, and uses nothing of any other
 * stretch: it makes the block before its own once more.  Signals of a source
 * are drawn once for the group, and its spectra stay in the caches.
 */
#include <erfam.h>
#include <math.h>
#include <string.h>

#include "config/base/parallel.h"
#include "config/base/try.h"
#include "correlator/simulate/simulator_private.h"
#include "kernels/numeric/rotate.h"

/* Limits of a group, whose inputs share the signals drawn: their number, and
 * bytes of their spectra and sums. */
#define GROUP_MOST  32
#define GROUP_BYTES ((size_t)8 << 20)

/* Steps whose directions are known at a time. */
#define BATCH_STEPS 256

/* Items of work per thread, so that all end at about the same time; and the
 * shortest stretch in steps, as each costs one block more than it has steps. */
#define ITEMS_A_THREAD   4
#define SHORTEST_STRETCH 16

/* Arrays on the desk of a thread, in this order; find_sizes() has the sizes. */
enum {
    SIGNALS, /* of a source: [signal][re, im][n_bins] */
    SPECTRA, /* of all sources at rest: [group][re, im][n_bins] */
    ONE,     /* of one that moves: [re, im][n_bins] */
    MOVED,   /* all that move, in time: [group][length][n_parts] */
    SUM,     /* of the step so far: [group][step][n_parts] */
    FFT,
    BEHIND, /* FFT, a quarter of a turn behind */
    TILES,  /* cos and sin of tiles of bins or samples: [2][most] */
    SCALED, /* TILES times an amplitude */
    PLACES, /* cos and sin of places in a tile: [2][FX8_LOOPS_TILE] */
    TURNS,  /* cos and sin of the fringe in samples: [2][length] */
    NOISE,  /* [step][n_parts] */
    N_THINGS
};

/* Samples [first, first + n) being read: steps [begin, end) of them. */
struct reading {
    struct fx8_simulator *simulator;
    int64_t first, n;
    int8_t *samples;
    int64_t begin, end;
    int64_t stretch; /* steps of an item */
    size_t n_groups;
    bool is_counted;
};

/* A group of inputs in one block. */
struct making {
    const struct reading *reading;
    float *things[N_THINGS];
    size_t first_input, n_inputs;
    int64_t block;
};

/* Tiles of a block, in frequency or in time. */
static size_t most_tiles(const struct fx8_simulator *simulator)
{
    return simulator->length / FX8_LOOPS_TILE + 1;
}

static void find_sizes(const struct fx8_simulator *simulator, size_t group,
                       size_t sizes[N_THINGS])
{
    const size_t n_parts = simulator->n_parts, n_bins = simulator->n_bins;
    const size_t block = simulator->length * n_parts;
    const size_t step = simulator->step * n_parts;
    const size_t moving = simulator->n_moving > 0;
    const size_t fft = fx8_fft_size(simulator->fft);
    memcpy(sizes,
           (const size_t[N_THINGS]){
               [SIGNALS] = 4 * n_bins,
               [SPECTRA] = group * 2 * n_bins,
               [ONE] = moving * 2 * n_bins,
               [MOVED] = group * moving * block,
               [SUM] = group * step,
               [FFT] = fft,
               [BEHIND] = n_parts == 1 ? moving * fft : 0,
               [TILES] = 2 * most_tiles(simulator),
               [SCALED] = 2 * most_tiles(simulator),
               [PLACES] = 2 * FX8_LOOPS_TILE,
               [TURNS] = moving * 2 * simulator->length,
               [NOISE] = step,
           },
           N_THINGS * sizeof *sizes);
}

/* Sum of the sizes, each in whole cache lines; fills the beginnings. */
static size_t lay_out(const size_t sizes[N_THINGS], size_t begins[N_THINGS])
{
    const size_t line = FX8_ALIGNMENT / sizeof(float);
    size_t at = 0;
    for (size_t k = 0; k < N_THINGS; k++) {
        begins[k] = at;
        at += (sizes[k] + line - 1) / line * line;
    }
    return at;
}

enum fx8_status fx8_simulator_plan_sky(struct fx8_simulator *simulator,
                                       struct fx8_error *error)
{
    const size_t n_inputs = simulator->n_inputs;
    size_t sizes[N_THINGS], begins[N_THINGS];
    find_sizes(simulator, 1, sizes);
    const size_t input_bytes =
        (sizes[SPECTRA] + sizes[MOVED] + sizes[SUM]) * sizeof(float);
    size_t most = GROUP_BYTES / input_bytes;
    most = most < 1 ? 1 : most < GROUP_MOST ? most : GROUP_MOST;
    const size_t n_groups = (n_inputs + most - 1) / most;
    simulator->group = (n_inputs + n_groups - 1) / n_groups;
    find_sizes(simulator, simulator->group, sizes);
    simulator->desk = lay_out(sizes, begins);
    const struct fx8_array arrays[] = {
        FX8_ITEMS(simulator->desks, fx8_product(simulator->plan.n_threads,
                                                simulator->desk, 1, 1)),
        FX8_ITEMS(
            simulator->directions,
            fx8_product(BATCH_STEPS + 3, simulator->plan.n_sources, 1, 1)),
    };
    return fx8_simulator_allocate(simulator, arrays, 2, error);
}

/* --- phases ------------------------------------------------------ */

/* Factors of the places in a tile. */
static void find_places(const struct making *making, uint64_t step)
{
    float *re = making->things[PLACES];
    making->reading->simulator->loops->rotate(0, step, FX8_LOOPS_TILE, re,
                                              re + FX8_LOOPS_TILE);
}

/* The turning found, times an amplitude. */
static struct fx8_turning scale(const struct making *making, size_t n_tiles,
                                double amplitude, const double mix[2])
{
    const size_t most = most_tiles(making->reading->simulator);
    const float a = (float)(amplitude * mix[0]);
    const float b = (float)(amplitude * mix[1]);
    const float *re = making->things[TILES], *im = re + most;
    float *to_re = making->things[SCALED], *to_im = to_re + most;
    for (size_t tile = 0; tile < n_tiles; tile++) {
        to_re[tile] = a * re[tile] - b * im[tile];
        to_im[tile] = a * im[tile] + b * re[tile];
    }
    return (struct fx8_turning){to_re, to_im, making->things[PLACES],
                                making->things[PLACES] + FX8_LOOPS_TILE};
}

/* Directions of the sources at the centre of a block of the batch, or of the
 * blocks next to it. */
static double (*find_directions(const struct reading *reading,
                                int64_t block))[3]
{
    const struct fx8_simulator *simulator = reading->simulator;
    return simulator->directions +
           (size_t)(block - reading->begin + 1) * simulator->plan.n_sources;
}

static double find_advance(const struct making *making, int64_t block,
                           size_t source, size_t input)
{
    return fx8_simulator_advance(
        making->reading->simulator,
        find_directions(making->reading, block)[source], input);
}

/*
 * Factors of a source in the bins of an input: bin v of the sky spectrum is at
 * dc + v fs / L; with a real lower sideband at dc - v fs / L, and the recorded
 * spectrum is its conjugate.  Real: v = 0 ... L/2.  Complex: in the order of a
 * forward transform, which is the faster one, v = 0, -1 ... -L/2 + 1, then L/2
 * ... 1.
 */
static void find_turning(const struct making *making, size_t source,
                         size_t input)
{
    const struct fx8_simulator *simulator = making->reading->simulator;
    const struct fx8_simulation *plan = &simulator->plan;
    const size_t n_tiles = simulator->n_bins / FX8_LOOPS_TILE;
    const double advance_s = find_advance(making, making->block, source, input);
    const bool is_backward = plan->is_complex || plan->lower_sideband;
    const uint64_t step = fx8_rotation_fixed(
        (is_backward ? -1.0 : 1.0) * advance_s *
        fx8_rate_hz(plan->sample_rate) / (double)simulator->length);
    const double turns =
        advance_s * plan->dc_frequency_hz + simulator->gain_turns[input];
    const uint64_t base = fx8_rotation_fixed(turns);
    float *re = making->things[TILES], *im = re + most_tiles(simulator);
    const size_t first = plan->is_complex ? n_tiles / 2 : n_tiles;
    simulator->loops->rotate(base, FX8_LOOPS_TILE * step, first, re, im);
    simulator->loops->rotate(
        base + (first * FX8_LOOPS_TILE - simulator->length) * step,
        FX8_LOOPS_TILE * step, n_tiles - first, re + first, im + first);
    find_places(making, step);
}

/* --- signals of the sources -------------------------------------- */

/* Signals of a source: only Y receives the second. */
static size_t count_signals(const struct fx8_simulator *simulator)
{
    return simulator->plan.n_polarizations;
}

/* Spectra of the signals of one source, of variance 1. */
static void draw_source(const struct making *making, size_t source)
{
    const struct fx8_simulator *simulator = making->reading->simulator;
    const size_t n = count_signals(simulator) * 2 * simulator->n_bins / 4;
    const struct fx8_random stream = {simulator->plan.seed, RANDOM_SOURCE,
                                      (uint32_t)source};
    simulator->loops->normals(stream, (uint64_t)making->block * n, n,
                              making->things[SIGNALS]);
}

/* Add the source to the spectrum of an input, scaled for the inverse FFT:
 * E|x|^2 = L E|S|^2. */
static void add_source(const struct making *making, size_t source, size_t input,
                       float *spectrum)
{
    const struct fx8_simulator *simulator = making->reading->simulator;
    const size_t n_bins = simulator->n_bins;
    const size_t n_tiles = n_bins / FX8_LOOPS_TILE;
    const double amplitude =
        sqrt(0.5 * fx8_simulator_unit(simulator) / (double)simulator->length);
    double mix[2][2];
    fx8_simulator_mix(&simulator->plan.sources[source],
                      fx8_simulator_is_y(simulator, input), mix);
    find_turning(making, source, input);
    for (size_t k = 0; k < count_signals(simulator); k++) {
        const float *signal = making->things[SIGNALS] + k * 2 * n_bins;
        if (mix[k][0] == 0.0 && mix[k][1] == 0.0)
            continue;
        const struct fx8_turning turning =
            scale(making, n_tiles, amplitude, mix[k]);
        simulator->loops->add_signal(&turning, n_tiles, signal, signal + n_bins,
                                     spectrum, spectrum + n_bins);
    }
}

/* Bins of the FFT from a spectrum. */
static void join(const struct fx8_simulator *simulator, const float *spectrum,
                 float *data)
{
    const bool is_real = simulator->n_parts == 1;
    const bool is_mirrored = is_real && simulator->plan.lower_sideband;
    const size_t n_bins =
        is_real ? simulator->length / 2 + 1 : simulator->length;
    simulator->loops->join(n_bins, spectrum, spectrum + simulator->n_bins,
                           is_mirrored ? -1.0f : 1.0f, data);
}

/* Make an end bin of a real spectrum real, with the power of both parts: it has
 * no mirror image to hold the other half. */
static void make_real(float *end)
{
    end[0] *= (float)M_SQRT2;
    end[1] = 0.0f;
}

/* From spectrum to signal: of real samples only the real part. */
static float *transform(const struct fx8_simulator *simulator, float *data)
{
    if (!simulator->plan.is_complex) {
        make_real(data);
        make_real(data + simulator->length);
    }
    return fx8_fft_execute(simulator->fft, data);
}

/* --- sources that move ------------------------------------------- */

/* Turn a spectrum back by a quarter: times -i. */
static void turn_back(const float *bins, size_t n_bins, float *turned)
{
    for (size_t bin = 0; bin < n_bins; bin++) {
        turned[2 * bin] = bins[2 * bin + 1];
        turned[2 * bin + 1] = -bins[2 * bin];
    }
}

/* The fringe of a source over the block: its phase at the middle of the band,
 * zero at the centre of the block. */
static void find_fringe(const struct making *making, size_t source,
                        size_t input)
{
    const struct fx8_simulator *simulator = making->reading->simulator;
    const struct fx8_simulation *plan = &simulator->plan;
    const size_t length = simulator->length;
    const double *earlier =
        find_directions(making->reading, making->block - 1)[source];
    const double *later =
        find_directions(making->reading, making->block + 1)[source];
    const double sense = !plan->is_complex && plan->lower_sideband ? -1.0 : 1.0;
    const double middle_hz =
        plan->dc_frequency_hz +
        (plan->is_complex ? 0.0
                          : sense * 0.25 * fx8_rate_hz(plan->sample_rate));
    double motion[3];
    for (size_t axis = 0; axis < 3; axis++)
        motion[axis] =
            (later[axis] - earlier[axis]) / (2.0 * (double)simulator->step);
    const double step =
        sense * middle_hz * fx8_simulator_path(simulator, motion, input);
    float *turns = making->things[TURNS];
    simulator->loops->rotate(
        fx8_rotation_fixed(-step * 0.5 * (double)(length - 1)),
        fx8_rotation_fixed(step), length, turns, turns + length);
}

/* Add a source that moves, whose signals are drawn: the block's delay turns
 * into a fringe. */
static void add_moving(const struct making *making, size_t source, size_t input,
                       float *moved)
{
    const struct fx8_simulator *simulator = making->reading->simulator;
    const size_t length = simulator->length;
    float *one = making->things[ONE], *behind = making->things[BEHIND];
    const float *re = making->things[TURNS], *im = re + length;
    memset(one, 0, 2 * simulator->n_bins * sizeof *one);
    add_source(making, source, input, one);
    join(simulator, one, making->things[FFT]);
    find_fringe(making, source, input);
    if (simulator->n_parts == 2) {
        const float *signal = transform(simulator, making->things[FFT]);
        simulator->loops->add_turned_complex(length, signal, re, im, moved);
        return;
    }
    turn_back(making->things[FFT], length / 2 + 1, behind);
    const float *signal = transform(simulator, making->things[FFT]);
    simulator->loops->add_turned_real(
        length, signal, transform(simulator, behind), re, im, moved);
}

/* --- the broad-band sky ------------------------------------------ */

/* Spectra of the sources at rest, and signals of those that move. */
static void add_sources(const struct making *making)
{
    const struct fx8_simulator *simulator = making->reading->simulator;
    const struct fx8_source *sources = simulator->plan.sources;
    const size_t spectrum = 2 * simulator->n_bins;
    const size_t block = simulator->length * simulator->n_parts;
    float *spectra = making->things[SPECTRA], *moved = making->things[MOVED];
    memset(spectra, 0, making->n_inputs * spectrum * sizeof *spectra);
    if (simulator->n_moving > 0)
        memset(moved, 0, making->n_inputs * block * sizeof *moved);
    for (size_t s = 0; s < simulator->plan.n_sources; s++) {
        if (sources[s].is_tone)
            continue;
        draw_source(making, s);
        for (size_t k = 0; k < making->n_inputs; k++)
            if (sources[s].is_celestial)
                add_moving(making, s, making->first_input + k,
                           moved + k * block);
            else
                add_source(making, s, making->first_input + k,
                           spectra + k * spectrum);
    }
}

/* The broad-band sky of the block in an input of the group, or NULL without
 * such sources. */
static const float *find_sky(const struct making *making, size_t k)
{
    const struct fx8_simulator *simulator = making->reading->simulator;
    const size_t block = simulator->length * simulator->n_parts;
    const float *moved = making->things[MOVED] + k * block;
    if (simulator->n_fixed == 0)
        return simulator->n_moving > 0 ? moved : NULL;
    join(simulator, making->things[SPECTRA] + k * 2 * simulator->n_bins,
         making->things[FFT]);
    float *sky = transform(simulator, making->things[FFT]);
    for (size_t n = 0; simulator->n_moving > 0 && n < block; n++)
        sky[n] += moved[n];
    return sky;
}

/* --- tones ------------------------------------------------------- */

/* Add a tone to the step before `block`: from the centre of the previous block
 * to that of this one. */
static void add_tone(const struct making *making, const struct tone *tone,
                     size_t input, float *sum)
{
    const struct fx8_simulator *simulator = making->reading->simulator;
    const struct fx8_source *source = &simulator->plan.sources[tone->source];
    const size_t n_parts = simulator->n_parts, n = simulator->step;
    const uint64_t first = (uint64_t)(making->block - 1) * n;
    const double from =
        find_advance(making, making->block - 1, tone->source, input);
    const double to = find_advance(making, making->block, tone->source, input);
    const double step = source->tone_hz * (to - from) / (double)n;
    double mix[2][2];
    fx8_simulator_mix(source, fx8_simulator_is_y(simulator, input), mix);
    /* a real sinusoid of amplitude A has power A^2 / 2 */
    const double unit =
        fx8_simulator_unit(simulator) * (n_parts == 1 ? 2.0 : 1.0);
    const uint64_t site = fx8_rotation_fixed(tone->cycles_per_sample);
    const uint64_t each = site + fx8_rotation_fixed(step);
    /* centres lie half a sample before the first of a step */
    const double turns =
        source->tone_hz * from + simulator->gain_turns[input] + 0.5 * step;
    float *re = making->things[TILES], *im = re + most_tiles(simulator);
    simulator->loops->rotate(fx8_rotation_fixed(turns) + first * site,
                             FX8_LOOPS_TILE * each, n / FX8_LOOPS_TILE, re, im);
    find_places(making, each);
    const struct fx8_turning turning =
        scale(making, n / FX8_LOOPS_TILE, sqrt(unit), mix[0]);
    simulator->loops->add_tone(&turning, n / FX8_LOOPS_TILE, n_parts, sum);
}

/* --- noise, gain, rounding --------------------------------------- */

/* Missing samples of [first, first + n) are recorded as 0. */
static void blank(const struct fx8_simulator *simulator, size_t input,
                  int64_t first, int64_t n, int8_t *samples)
{
    const int64_t end = first + n;
    for (size_t part = 0; part < DROPOUT_PARTS; part++) {
        const struct stretch *dropout =
            &simulator->dropout[input * DROPOUT_PARTS + part];
        const int64_t from = dropout->first > first ? dropout->first : first;
        const int64_t last = dropout->first + dropout->n;
        const int64_t to = last < end ? last : end;
        if (from < to)
            memset(samples + (size_t)(from - first) * simulator->n_parts, 0,
                   (size_t)(to - from) * simulator->n_parts);
    }
}

/* Finish the step before `block` of an input, whose broad-band sky is in
 * `sum`: add tones and noise, and round what is read of it.  Four numbers have
 * one address in the noise. */
static void finish_step(const struct making *making, size_t input, float *sum)
{
    const struct reading *reading = making->reading;
    struct fx8_simulator *simulator = reading->simulator;
    const size_t n_parts = simulator->n_parts;
    const int64_t step = (int64_t)simulator->step;
    const int64_t begin = (making->block - 1) * step, end = begin + step;
    const int64_t read_end = reading->first + reading->n;
    const int64_t first = begin > reading->first ? begin : reading->first;
    const int64_t n = (end < read_end ? end : read_end) - first;
    const size_t at = (size_t)(first - begin) * n_parts;
    float *noise = making->things[NOISE];
    const float gain = (float)simulator->gain[input];
    const bool is_conjugate =
        simulator->plan.is_complex && simulator->plan.lower_sideband;
    for (size_t k = 0; k < simulator->n_tones; k++)
        add_tone(making, &simulator->tones[k], input, sum);
    const struct fx8_random stream = {simulator->plan.seed, RANDOM_NOISE,
                                      (uint32_t)input};
    const size_t skipped = at % 4;
    if (simulator->plan.noise_rms > 0.0)
        simulator->loops->normals(stream, ((uint64_t)begin * n_parts + at) / 4,
                                  (skipped + (size_t)n * n_parts + 3) / 4,
                                  noise);
    int8_t *samples = reading->samples + (input * (size_t)reading->n +
                                          (size_t)(first - reading->first)) *
                                             n_parts;
    const int64_t n_clamped = simulator->loops->quantise(
        (size_t)n * n_parts, sum + at, noise + skipped,
        (float)simulator->plan.noise_rms,
        (const float[]){gain, is_conjugate ? -gain : gain}, samples);
    blank(simulator, input, first, n, samples);
    if (reading->is_counted)
        atomic_fetch_add(&simulator->n_clamped, n_clamped);
}

/* --- stretches --------------------------------------------------- */

/* Make a block, and finish the step before it unless it is the first of the
 * stretch. */
static void make_block(const struct making *making, bool is_first)
{
    const struct fx8_simulator *simulator = making->reading->simulator;
    const size_t half = simulator->length / 2 * simulator->n_parts;
    const size_t step = simulator->step * simulator->n_parts;
    if (simulator->n_fixed + simulator->n_moving > 0)
        add_sources(making);
    for (size_t k = 0; k < making->n_inputs; k++) {
        float *sum = making->things[SUM] + k * step;
        const float *sky = find_sky(making, k);
        if (!is_first && sky != NULL)
            simulator->loops->fade_in(half, simulator->window, sky,
                                      sum + step - half);
        if (!is_first)
            finish_step(making, making->first_input + k, sum);
        memset(sum, 0, step * sizeof *sum);
        if (sky != NULL)
            simulator->loops->fade_out(half, simulator->window + half,
                                       sky + half, sum);
    }
}

static void make_stretch(void *context, size_t item, size_t thread)
{
    const struct reading *reading = context;
    const struct fx8_simulator *simulator = reading->simulator;
    const size_t group = simulator->group;
    const int64_t begin =
        reading->begin + (int64_t)(item / reading->n_groups) * reading->stretch;
    const int64_t stop = begin + reading->stretch;
    const int64_t end = stop < reading->end ? stop : reading->end;
    struct making making = {.reading = reading,
                            .first_input = item % reading->n_groups * group};
    const size_t left = simulator->n_inputs - making.first_input;
    making.n_inputs = left < group ? left : group;
    size_t sizes[N_THINGS], begins[N_THINGS];
    find_sizes(simulator, group, sizes);
    lay_out(sizes, begins);
    for (size_t k = 0; k < N_THINGS; k++)
        making.things[k] =
            simulator->desks + thread * simulator->desk + begins[k];
    for (making.block = begin; making.block <= end; making.block++)
        make_block(&making, making.block == begin);
}

/* Steps [begin, end), at most BATCH_STEPS. */
static void make_batch(struct reading *reading)
{
    struct fx8_simulator *simulator = reading->simulator;
    const int64_t n = reading->end - reading->begin;
    const size_t n_threads = simulator->plan.n_threads;
    /* a centre lies between two samples */
    for (int64_t block = reading->begin - 1; block <= reading->end + 1; block++)
        fx8_simulator_directions(simulator,
                                 (double)block * (double)simulator->step - 0.5,
                                 find_directions(reading, block));
    reading->n_groups =
        (simulator->n_inputs + simulator->group - 1) / simulator->group;
    const int64_t wanted =
        (int64_t)(ITEMS_A_THREAD * n_threads / reading->n_groups) + 1;
    reading->stretch = (n + wanted - 1) / wanted;
    if (reading->stretch < SHORTEST_STRETCH)
        reading->stretch = SHORTEST_STRETCH;
    const size_t n_stretches =
        (size_t)((n + reading->stretch - 1) / reading->stretch);
    fx8_parallel_for(n_stretches * reading->n_groups, n_threads, false,
                     make_stretch, reading);
}

void fx8_simulator_read(struct fx8_simulator *simulator, int64_t first,
                        int64_t n, int8_t *samples)
{
    const int64_t step = (int64_t)simulator->step;
    const int64_t end = (first + n + step - 1) / step;
    struct reading reading = {
        .simulator = simulator,
        .first = first,
        .n = n,
        .samples = samples,
        .is_counted = first >= simulator->counted_to,
    };
    for (int64_t at = first / step; at < end; at += BATCH_STEPS) {
        reading.begin = at;
        reading.end = end - at < BATCH_STEPS ? end : at + BATCH_STEPS;
        make_batch(&reading);
    }
    if (reading.is_counted)
        simulator->counted_to = first + n;
}
