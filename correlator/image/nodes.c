/* SPDX-License-Identifier: BSD-3-Clause */
#include <erfam.h>
#include <math.h>
#include <stdlib.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/image/nodes.h"

/* Nodes for an exponential of `radians` from the middle of the band to its
 * ends; at most `most`. */
static size_t count_nodes(double radians, size_t most)
{
    double error = 2.0;
    size_t n = 0;
    while (n < most && error > FX8_IMAGE_NODE_ERROR)
        error *= radians / 2.0 / (double)++n;
    return n;
}

/* Shares of one channel, at x in [-1, 1], by the barycentric formula. */
static void share_channel(size_t n, double x, double *share)
{
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) {
        const double angle = ERFA_DPI * ((double)k + 0.5) / (double)n;
        const double apart = x - cos(angle);
        if (apart == 0.0) {
            for (size_t other = 0; other < n; other++)
                share[other] = other == k;
            return;
        }
        share[k] = (k % 2 == 0 ? 1.0 : -1.0) * sin(angle) / apart;
        sum += share[k];
    }
    for (size_t k = 0; k < n; k++)
        share[k] /= sum;
}

enum fx8_status fx8_image_nodes_open(size_t n_channels,
                                     const double *channels_hz, double delay_s,
                                     struct fx8_image_nodes *nodes,
                                     struct fx8_error *error)
{
    double low = channels_hz[0], high = channels_hz[0];
    for (size_t c = 1; c < n_channels; c++) {
        low = fmin(low, channels_hz[c]);
        high = fmax(high, channels_hz[c]);
    }
    const double middle = 0.5 * (low + high), half = 0.5 * (high - low);
    const size_t n = count_nodes(ERFA_D2PI * half * delay_s, n_channels);
    *nodes = (struct fx8_image_nodes){.n = n};
    const struct fx8_array arrays[] = {
        FX8_ITEMS(nodes->hz, n),
        FX8_ITEMS(nodes->share, fx8_product(n_channels, n, 1, 1))};
    FX8_TRY(fx8_allocate_arrays(arrays, 2, "channels", error));
    for (size_t k = 0; k < n; k++)
        nodes->hz[k] =
            n == n_channels
                ? channels_hz[k]
                : middle + half * cos(ERFA_DPI * ((double)k + 0.5) / (double)n);
    for (size_t c = 0; c < n_channels; c++)
        if (n == n_channels)
            nodes->share[c * n + c] = 1.0;
        else
            share_channel(n,
                          half > 0.0 ? (channels_hz[c] - middle) / half : 0.0,
                          nodes->share + c * n);
    return FX8_OK;
}

void fx8_image_nodes_close(struct fx8_image_nodes *nodes)
{
    free(nodes->hz);
    free(nodes->share);
    *nodes = (struct fx8_image_nodes){0};
}
