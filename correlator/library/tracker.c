/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/library/tracker.h"

/* Seconds between two evaluations, rounded up to samples, and evaluations per
 * cubic: its last one is the first of the next. */
#define NODE_S  20
#define N_NODES 4

/* Delay (s) at x nodes after the start of a segment: c[0] + c[1] x + ... */
struct cubic {
    double c[N_NODES];
};

struct fx8_tracker {
    struct fx8_plan plan; /* for fx8_dump_of(); its arrays are the caller's */
    struct fx8_delays delays;
    size_t n_bands, n_inputs;
    double rate_hz;                     /* of samples */
    int64_t first_sample, step, window; /* of spectra */
    int64_t margin;                     /* most samples of a shift */
    int64_t node;                       /* samples from one to the next */
    int64_t segment;      /* that the cubics are for; INT64_MIN: none */
    double first_bin;     /* of channel 0: its baseband frequency in channels */
    bool is_alternating;  /* samples are multiplied by (-1)^n */
    double *first_hz;     /* [n_bands] sky frequency of baseband zero */
    double *delay_s;      /* [N_NODES][n_inputs] */
    struct cubic *cubics; /* [n_inputs] */
    uint64_t *turns;      /* [n_inputs] in units of 2^-64 */
};

#define N_ARRAYS 4

static void list_arrays(struct fx8_tracker *t, size_t n_bands, size_t n_inputs,
                        struct fx8_array arrays[N_ARRAYS])
{
    const struct fx8_array list[N_ARRAYS] = {
        FX8_ITEMS(t->first_hz, n_bands),
        FX8_ITEMS(t->delay_s, fx8_product(N_NODES, n_inputs, 1, 1)),
        FX8_ITEMS(t->cubics, n_inputs),
        FX8_ITEMS(t->turns, n_inputs),
    };
    memcpy(arrays, list, sizeof list);
}

size_t fx8_tracker_size(const struct fx8_axes *axes)
{
    struct fx8_tracker unused;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(&unused, axes->n_rows / axes->n_inputs, axes->n_inputs, arrays);
    return fx8_arrays_size(arrays, N_ARRAYS);
}

enum fx8_status fx8_tracker_open(const struct fx8_plan *plan,
                                 const struct fx8_axes *axes,
                                 const struct fx8_filterbank *bank,
                                 struct fx8_tracker **tracker,
                                 struct fx8_error *error)
{
    *tracker = NULL;
    FX8_AUTO(fx8_tracker_close) struct fx8_tracker *t = NULL;
    FX8_TRY(fx8_allocate(1, sizeof *t, "delays", &t, error));
    t->delays = plan->delays;
    t->n_bands = plan->n_bands;
    t->n_inputs = axes->n_inputs;
    t->rate_hz = fx8_rate_hz(plan->sample_rate);
    t->first_sample = plan->first_sample;
    t->step = (int64_t)axes->step;
    t->window = (int64_t)axes->window;
    t->plan = *plan;
    t->margin = (int64_t)axes->margin;
    t->node = (int64_t)ceil(NODE_S * t->rate_hz);
    t->segment = INT64_MIN;
    t->first_bin = plan->is_complex ? -(double)(bank->n_channels / 2) : 0.0;
    t->is_alternating = !plan->is_complex && plan->lower_sideband;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(t, plan->n_bands, axes->n_inputs, arrays);
    FX8_TRY(fx8_allocate_arrays(arrays, N_ARRAYS, "delays", error));
    for (size_t band = 0; band < plan->n_bands; band++)
        t->first_hz[band] =
            plan->dc_frequency_hz +
            (plan->band_offset_hz != NULL ? plan->band_offset_hz[band] : 0.0) -
            (t->is_alternating ? t->rate_hz / 2.0 : 0.0);
    for (size_t input = 0; plan->delays.turns != NULL && input < t->n_inputs;
         input++)
        t->turns[input] = fx8_rotation_fixed(plan->delays.turns[input]);
    t->delays.turns = NULL; /* the caller's */
    *tracker = t;
    t = NULL;
    return FX8_OK;
}

void fx8_tracker_close(struct fx8_tracker **tracker)
{
    struct fx8_tracker *t = *tracker;
    if (t == NULL)
        return;
    struct fx8_array arrays[N_ARRAYS];
    list_arrays(t, t->n_bands, t->n_inputs, arrays);
    fx8_free_arrays(arrays, N_ARRAYS);
    free(t);
    *tracker = NULL;
}

static enum fx8_status refuse(const struct fx8_tracker *t, size_t input,
                              int64_t sample, double delay_s,
                              struct fx8_error *error)
{
    return fx8_fail(error, FX8_ERR_USAGE,
                    "delays: input %zu at sample %lld: %g s: expected at most "
                    "%g s",
                    input, (long long)sample, delay_s, t->delays.most_s);
}

/* The delays of all inputs at a sample, checked. */
static enum fx8_status evaluate(const struct fx8_tracker *t, int64_t sample,
                                double *delay_s, struct fx8_error *error)
{
    struct fx8_error why = {FX8_OK, ""};
    memset(delay_s, 0, t->n_inputs * sizeof *delay_s);
    if (t->delays.delay == NULL)
        return FX8_OK;
    const enum fx8_status status =
        t->delays.delay(t->delays.context, sample, delay_s, &why);
    if (status < 0)
        return fx8_fail(error, status, "%s",
                        why.message[0] == '\0'
                            ? "delay callback failed without a message"
                            : why.message);
    for (size_t input = 0; input < t->n_inputs; input++)
        if (!(fabs(delay_s[input]) <= t->delays.most_s))
            return refuse(t, input, sample, delay_s[input], error);
    return FX8_OK;
}

/* The cubics of a segment, through its nodes at x = 0, 1, 2, 3. */
static enum fx8_status find_cubics(struct fx8_tracker *t, int64_t segment,
                                   struct fx8_error *error)
{
    if (segment == t->segment)
        return FX8_OK;
    t->segment = INT64_MIN;
    for (int64_t k = 0; k < N_NODES; k++)
        FX8_TRY(evaluate(t, (segment * (N_NODES - 1) + k) * t->node,
                         t->delay_s + (size_t)k * t->n_inputs, error));
    for (size_t input = 0; input < t->n_inputs; input++) {
        const double *y = t->delay_s + input;
        const size_t n = t->n_inputs;
        const double first = y[n] - y[0];
        const double second = y[2 * n] - 2.0 * y[n] + y[0];
        const double third = y[3 * n] - 3.0 * (y[2 * n] - y[n]) - y[0];
        t->cubics[input] =
            (struct cubic){{y[0], first - second / 2.0 + third / 3.0,
                            second / 2.0 - third / 2.0, third / 6.0}};
    }
    t->segment = segment;
    return FX8_OK;
}

/* Rotation of an input and band in a group whose delay is tau[0] + tau[1] t +
 * tau[2] t^2, t in spectra. */
static struct fx8_rotation rotate(const struct fx8_tracker *t, size_t input,
                                  size_t band, const double tau[3],
                                  int64_t shift)
{
    /* channel c is at first_hz + (first_bin + c) channel_hz; the second term
     * turns by the delay that the shift leaves */
    const double channel_hz = t->rate_hz / (double)t->step;
    const double hz = t->first_hz[band] + t->first_bin * channel_hz;
    const double shifted =
        (double)shift / (double)t->step; /* turns per channel */
    struct fx8_rotation rotation = {
        .phase = fx8_rotation_fixed(hz * tau[0]) -
                 fx8_rotation_fixed(t->first_bin * shifted) - t->turns[input],
        .rate = fx8_rotation_fixed(hz * (tau[1] + tau[2])),
        .bend = fx8_rotation_fixed(2.0 * hz * tau[2]),
        .slope = fx8_rotation_fixed(channel_hz * tau[0] - shifted),
        .drift = fx8_rotation_fixed(channel_hz * tau[1]),
        .shift = shift,
    };
    if (t->is_alternating && shift % 2 != 0)
        rotation.phase += UINT64_C(1) << 63;
    return rotation;
}

/* A group of spectra. */
struct group {
    int64_t middle; /* sample */
    double x;       /* centre of its first spectrum, in nodes after the start
                       of the segment */
};

/* Find the cubics of the group that begins with `spectrum`. */
static enum fx8_status begin_group(struct fx8_tracker *t, int64_t spectrum,
                                   struct group *group, struct fx8_error *error)
{
    const int64_t first = t->first_sample + spectrum * t->step;
    const int64_t middle = first + (FX8_GROUP * t->step + t->window) / 2;
    const int64_t length = (N_NODES - 1) * t->node;
    const int64_t segment = middle / length - (middle % length < 0);
    group->middle = middle;
    group->x = ((double)(first - segment * length) + (double)t->window / 2) /
               (double)t->node;
    return find_cubics(t, segment, error);
}

/* Delay of an input in a group: tau[0] + tau[1] t + tau[2] t^2, t in spectra,
 * and the whole samples of its middle.  They are checked again: between the
 * nodes, the cubic of a callback that is not smooth may exceed most_s, and the
 * windows would leave the memory of the samples. */
static enum fx8_status find_delay(const struct fx8_tracker *t, size_t input,
                                  const struct group *group, double tau[3],
                                  int64_t *shift, struct fx8_error *error)
{
    const double *c = t->cubics[input].c, x = group->x;
    const double dx = (double)t->step / (double)t->node;
    const double middle = FX8_GROUP / 2;
    tau[0] = c[0] + x * (c[1] + x * (c[2] + x * c[3]));
    tau[1] = (c[1] + x * (2.0 * c[2] + x * 3.0 * c[3])) * dx;
    tau[2] = (c[2] + x * 3.0 * c[3]) * dx * dx;
    const double delay_s = tau[0] + middle * (tau[1] + middle * tau[2]);
    const double samples = rint(delay_s * t->rate_hz);
    if (!(fabs(samples) <= (double)t->margin))
        return refuse(t, input, group->middle, delay_s, error);
    *shift = (int64_t)samples;
    return FX8_OK;
}

enum fx8_status fx8_tracker_rotations(struct fx8_tracker *tracker,
                                      int64_t spectrum, size_t n_spectra,
                                      struct fx8_rotation *rotations,
                                      struct fx8_error *error)
{
    struct fx8_tracker *t = tracker;
    const size_t n_groups = fx8_groups(n_spectra);
    for (size_t g = 0; g < n_groups; g++) {
        struct group group;
        FX8_TRY(
            begin_group(t, spectrum + (int64_t)g * FX8_GROUP, &group, error));
        for (size_t input = 0; input < t->n_inputs; input++) {
            double tau[3];
            int64_t shift = 0;
            FX8_TRY(find_delay(t, input, &group, tau, &shift, error));
            for (size_t band = 0; band < t->n_bands; band++)
                rotations[(band * t->n_inputs + input) * n_groups + g] =
                    rotate(t, input, band, tau, shift);
        }
    }
    return FX8_OK;
}

enum fx8_status fx8_tracker_shifts(struct fx8_tracker *tracker,
                                   int64_t spectrum, size_t n_spectra,
                                   int32_t *shifts, struct fx8_error *error)
{
    struct fx8_tracker *t = tracker;
    for (size_t s = 0, n; s < n_spectra; s += n) {
        const int64_t now = spectrum + (int64_t)s;
        const int64_t dump = fx8_dump_of(&t->plan, now);
        const int64_t in_group =
            (now - fx8_dump_first(&t->plan, dump)) % FX8_GROUP;
        const int64_t in_rest = fx8_dump_first(&t->plan, dump + 1) - now;
        n = (size_t)(FX8_GROUP - in_group < in_rest ? FX8_GROUP - in_group
                                                    : in_rest);
        n = n < n_spectra - s ? n : n_spectra - s;
        struct group group;
        FX8_TRY(begin_group(t, now - in_group, &group, error));
        for (size_t input = 0; input < t->n_inputs; input++) {
            double tau[3];
            int64_t shift = 0;
            FX8_TRY(find_delay(t, input, &group, tau, &shift, error));
            for (size_t k = s; k < s + n; k++)
                shifts[input * n_spectra + k] = (int32_t)shift;
        }
    }
    return FX8_OK;
}
