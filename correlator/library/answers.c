/* SPDX-License-Identifier: BSD-3-Clause */
/* answers.c -- see session_private.h: getters of a session. */
#include "correlator/library/session_private.h"

void fx8_get_statistics(const struct fx8_session *session,
                        struct fx8_statistics *statistics)
{
    *statistics = session->statistics;
    statistics->spot_s = session->spots[0].seconds + session->spots[1].seconds;
    for (size_t band = 0; band < session->plan.n_bands; band++) {
        struct fx8_engine_times times;
        session->operations->times(session->engines[band], &times);
        statistics->channelize_s += times.channelize_s;
        statistics->correlate_s += times.correlate_s;
        statistics->postprocess_s += times.process_s;
        statistics->copy_s += times.copy_s;
        statistics->results_s += times.results_s;
    }
}

struct fx8_session_info fx8_info(const struct fx8_session *session)
{
    const struct fx8_engine_operations *operations = session->operations;
    const struct fx8_engine *engine = session->engines[0];
    return (struct fx8_session_info){
        .backend = operations->name,
        .reason = session->reason,
        .is_spare = session->is_spare,
        .device = operations->facts(engine)->device,
        .kernel = operations->facts(engine)->kernel,
        .fft_plan = operations->facts(engine)->fft_plan,
        .memory = session->memory,
        .n_slices = fx8_slices_count(session->plan.n_antennas,
                                     session->slice_baselines),
    };
}

struct fx8_input_gains fx8_gains(const struct fx8_session *session)
{
    return session->gains == NULL ? (struct fx8_input_gains){NULL, NULL, NULL}
                                  : fx8_gains_get(session->gains);
}

struct fx8_input_counts fx8_inputs(const struct fx8_session *session)
{
    return (struct fx8_input_counts){session->clips, session->valid_spectra};
}
