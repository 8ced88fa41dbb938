#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# first_run.sh FOLDER -- everything that a machine with a card and nvcc can tell
# at once, within nine minutes: kernels against their definitions, speed, the
# whole program beside its CPU engine, error tables.  No package, no network; the
# program comes along as `make gpu-bundle` packs it elsewhere, if it does.
#
# Every step has a time limit of its own, the next one runs whatever became of
# it, and what it wrote lies in FOLDER:
#
#     summary.txt          the machine, a line for every step and for every
#                          goal: least share wanted, least one measured, verdict
#     kernels.txt          TAP of the tests; sanitizer.txt: compute-sanitizer's
#     whole.txt, whole/    TAP of the whole program, and what it wrote
#     numerics.md          errors of the functions
#     card.md, card.jsonl  speed, a page for each section (bench/), as far as it
#                          came where it was stopped
#     log.txt              what compiler and programs said besides
#
# A kind of kernel that fails is left out of what follows (FX8_WITHOUT), so that
# one which hangs the card or ends its process hides no other.
#
# Environment: BUILD (build), NVCC, SMS (the card's), JOBS, FX8_WITHOUT, BUNDLE
# (BUILD/gpu-bundle).
# Exit status: 0 all steps well, 1 not all, 2 wrong use, 77 without nvcc.

if [ $# -ne 1 ]; then
    echo "usage: validation/gpu/first_run.sh FOLDER" >&2
    exit 2
fi
mkdir -p "$1" || exit 1
folder=$(cd "$1" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1

build=${BUILD:-build}
bundle=${BUNDLE:-$build/gpu-bundle}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
jobs=${JOBS:-$(nproc)}
failed=0

if ! command -v "$nvcc" >/dev/null; then
    echo "first_run.sh: no nvcc" >&2
    exit 77
fi
# The card's own architecture is enough, and quick to compile for.
sms=${SMS:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader \
    2>/dev/null | head -n 1 | tr -d '. ')}
case $sms in *[!0-9\ ]*) sms= ;; esac # nvidia-smi says on stdout why not

first=$(date +%s)
most=530

# left SECONDS: no more than are left of all.
left() {
    rest=$((first + most - $(date +%s)))
    [ "$rest" -gt 5 ] || rest=5
    echo $(($1 < rest ? $1 : rest))
}

# step NAME SECONDS FILE COMMAND...: what it prints goes to FILE.
step() {
    name=$1 limit=$(left "$2") file=$3
    shift 3
    begin=$(date +%s)
    timeout -k 5 "$limit" "$@" >>"$folder/$file" 2>&1
    status=$?
    case $status in
    0) word=well ;;
    77) word='skipped, no device' ;;
    124 | 137) word="stopped after $limit s" ;;
    *) word="exit status $status" ;;
    esac
    case $status in 0 | 77) ;; *) failed=1 ;; esac
    echo "$name: $word, $(($(date +%s) - begin)) s" |
        tee -a "$folder/summary.txt"
}

for file in summary.txt kernels.txt whole.txt log.txt card.md card.jsonl; do
    : >"$folder/$file"
done
{
    date -u '+%Y-%m-%d %H:%M UTC'
    "$nvcc" --version | tail -n 2
    nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit \
        --format=csv 2>&1
} >"$folder/summary.txt"

# What can be built is run: without cuFFT the engine is missing.  A compiler
# that is new to the sources may have warnings of its own.
build() {
    step "build$1" 200 log.txt make -k -j"$jobs" BUILD="$build" NVCC="$nvcc" \
        ${sms:+SMS="$sms"} $2 gpu-programs
}
build '' STRICT=1
[ "$status" -eq 0 ] || build ', warnings allowed' ''

for test in fir spectra postprocess; do
    step "kernels, $test" 60 kernels.txt "$build/gpu_$test"
done
for kind in wgmma mma dp4a ''; do
    step "kernels, xengine${FX8_WITHOUT:+ without $FX8_WITHOUT}" 60 \
        kernels.txt "$build/gpu_xengine"
    case $status in 0 | 77 | 127) break ;; esac
    FX8_WITHOUT=${FX8_WITHOUT:+$FX8_WITHOUT,}$kind
    export FX8_WITHOUT
done
if [ -z "$FX8_WITHOUT" ]; then # a choice tries every kind
    step 'kernels, choose' 60 kernels.txt "$build/gpu_choose"
fi
step 'kernels, engine' 60 kernels.txt "$build/gpu_engine"

# First the goals' sections.  Each is a process of its own, so that one which
# hangs costs its share alone; no measurement begins when that is nearly over.
rm -rf "$folder/bench"
mkdir -p "$folder/bench"
measure() {
    limit=$(left "$2")
    step "bench, $1" "$limit" log.txt "$build/bench-gpu" --section "$1" \
        --seconds $((limit > 30 ? limit - 15 : 15)) \
        --output "$folder/bench/$1.md" --json "$folder/bench/$1.jsonl"
    for page in "$folder/bench/$1.md" "$folder/bench/$1.md.part"; do
        if [ -f "$page" ]; then cat "$page" >>"$folder/card.md"; fi
    done
    if [ -f "$folder/bench/$1.jsonl" ]; then
        cat "$folder/bench/$1.jsonl" >>"$folder/card.jsonl"
    fi
}
measure correlators 140
measure engine 60
measure channelizer 40
measure postprocess 20
measure quicklook 20
measure energy 35
for section in correlators engine channelizer; do
    grep -hs '^goal ' "$folder/bench/$section.md" ||
        echo "goals of $section: not known"
done >>"$folder/summary.txt"

# The whole program, where it came along.
programs=$(cd "$build" && pwd)
if [ -d "$bundle/bin" ]; then
    step 'whole program' 120 whole.txt env \
        FX8_CUDA_PLUGIN="$programs/fx8-cuda.so" \
        validation/gpu/whole.sh "$bundle" "$folder/whole"
    grep '^# station on' "$folder/whole.txt" >>"$folder/summary.txt"
else
    echo "whole program: skipped, no $bundle: make gpu-bundle" |
        tee -a "$folder/summary.txt"
fi

# The program writes below the folder that it is run in.
mkdir -p "$build/first-run/validation/results"
step numerics 90 log.txt sh -c \
    'cd "$1/first-run" && "$1/numerics-gpu"' sh "$programs"
for table in "$build"/first-run/validation/results/*.md; do
    if [ -f "$table" ]; then cp "$table" "$folder/numerics.md"; fi
done

sanitizer=$(command -v compute-sanitizer ||
    echo "$(dirname "$(command -v "$nvcc")")/compute-sanitizer")
export FX8_SHORT=1 # every access is looked at
if [ -x "$sanitizer" ]; then
    step 'fir under memcheck' 60 sanitizer.txt "$sanitizer" \
        --tool memcheck --error-exitcode 99 "$build/gpu_fir"
    step 'xengine under racecheck' 90 sanitizer.txt "$sanitizer" \
        --tool racecheck --error-exitcode 99 "$build/gpu_xengine"
else
    echo 'sanitizer: skipped, not installed' | tee -a "$folder/summary.txt"
fi
exit $failed
