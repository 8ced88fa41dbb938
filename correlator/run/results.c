/* SPDX-License-Identifier: BSD-3-Clause */
#include "correlator/run/results.h"

const struct fx8_result_name fx8_result_names[FX8_N_RESULTS] = {
    [FX8_RESULT_INT8] = {"int8", "INT8"},
    [FX8_RESULT_FP32] = {"fp32", "FP32"},
    [FX8_RESULT_DOWN] = {"down", FX8_PRECISN_DOWN},
    [FX8_RESULT_UP] = {"up", FX8_PRECISN_UP},
};
