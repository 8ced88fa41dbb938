/* SPDX-License-Identifier: BSD-3-Clause */
#include "correlator/run/results.h"

const struct fx8_result_name fx8_result_names[FX8_N_RESULTS] = {
    [FX8_RESULT_INT8] = {"int8", "INT8", FX8_PRECISION_INT8},
    [FX8_RESULT_FP32] = {"fp32", "FP32", FX8_PRECISION_FP32},
    [FX8_RESULT_DOWN] = {"down", FX8_PRECISN_DOWN, FX8_PRECISION_INTERVAL},
    [FX8_RESULT_UP] = {"up", FX8_PRECISN_UP, FX8_PRECISION_INTERVAL},
};

bool fx8_result_is_planned(enum fx8_precision precision,
                           enum fx8_result_kind kind)
{
    return (precision & fx8_result_names[kind].precision) != 0;
}

const struct fx8_result *fx8_result_of(const struct fx8_dump *dump,
                                       enum fx8_result_kind kind)
{
    const struct fx8_result *const results[FX8_N_RESULTS] = {
        [FX8_RESULT_INT8] = &dump->int8,
        [FX8_RESULT_FP32] = &dump->fp32,
        [FX8_RESULT_DOWN] = &dump->down,
        [FX8_RESULT_UP] = &dump->up,
    };
    return results[kind];
}
