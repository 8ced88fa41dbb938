#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# demo.sh FX8 FOLDER -- the main job from end to end: a simulated recording
# becomes visibilities in both precisions, which are held against each other
# and against the visibilities that the simulation knows to be true, a page that
# shows what works, and a picture of the sky; then the same for the TART
# recording where FX8_RECORDINGS has it.
set -euo pipefail
fx8=$1
folder=$2
mkdir -p "$folder"

say() {
    printf '\n$'
    printf ' %s' "$@"
    printf '\n'
    "$@"
}

say "$fx8" simulate config/ready/demo.ini -o "$folder/demo.h5" --force
say "$fx8" info "$folder/demo.h5"
say "$fx8" correlate config/ready/demo.ini "$folder/demo.h5" -o "$folder/demo.uvh5" \
    --precision both --force
say "$fx8" plot "$folder/demo.int8.uvh5" -o "$folder/overview.html" --force
# README shows it
say "$fx8" image "$folder/demo.int8.uvh5" -o "$folder/sky.svg" --size 192 \
    --catalog config/ready/demo_sources.csv --force

tart=${FX8_RECORDINGS:-}/tart/mg-tana-raw.hdf
if [ -f "$tart" ]; then
    say "$fx8" correlate config/ready/tart.ini "$tart" -o "$folder/tart.uvh5" \
        --precision both --force
else
    printf '\n(no TART recording: FX8_RECORDINGS does not name a folder with it)\n'
fi

# Row "all pairs" of a comparison: cells, amplitude, phase, rms, predicted, ratio.
pairs() {
    "$fx8" compare "$1" "$2" | awk '$1 == "all" && $2 == "pairs"'
}

truth=$(pairs "$folder/demo.fp32.uvh5" "$folder/demo.true.uvh5")
loss=$(pairs "$folder/demo.int8.uvh5" "$folder/demo.fp32.uvh5")
printf '\nFigures to check:\n'
printf '  demo, FP32 against the truth: amplitude %s (1 expected), phase %s deg (0)\n' \
    "$(echo "$truth" | awk '{print $4}')" "$(echo "$truth" | awk '{print $5}')"
printf '  demo, INT8 against FP32: rms difference %s, measured / predicted %s (1 expected)\n' \
    "$(echo "$loss" | awk '{print $6}')" "$(echo "$loss" | awk '{print $8}')"
if [ -f "$tart" ]; then
    loss=$(pairs "$folder/tart.int8.uvh5" "$folder/tart.fp32.uvh5")
    printf '  TART, INT8 against FP32: rms difference %s, measured / predicted %s (1 expected)\n' \
        "$(echo "$loss" | awk '{print $6}')" "$(echo "$loss" | awk '{print $8}')"
fi
printf 'Visibilities: %s/*.uvh5.  Pictures: %s/overview.html, %s/sky.svg\n' \
    "$folder" "$folder" "$folder"
