#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# first_run.sh FOLDER -- everything worth knowing of a machine with a card,
# within nine minutes, the most important first: kernels against their
# definitions, the whole program beside its CPU engine, speed, profiles, energy,
# error tables.
# No package, no network.  What `make gpu-bundle` packs elsewhere may come along:
# the program, and programs for the card where there is no make or nvcc.
#
# Every step has a time limit of its own, the next one runs whatever became of
# it, and what it wrote lies in FOLDER, packed as FOLDER.tar.gz (16 MiB at most):
#
#     summary.txt          the machine, a line for every step and for every
#                          goal, what was cut short and left out
#     kernels.txt          TAP of the tests; of a correlator that fails the first
#                          wrong numbers, and where single numbers arrive
#     sanitizer.txt        what compute-sanitizer reports
#     whole.txt, whole/    TAP of the whole program, and what it wrote
#     card.md, card.jsonl  speed, a page for each section (bench/), as far as it
#                          came where it was stopped
#     profiles.txt         ncu, of one call of the main kernels
#     numerics.md          errors of the functions
#     log.txt              what compiler and programs said besides
#
# Each kind of kernel is checked and measured in a process of its own.  What
# fails is left out of later steps (FX8_WITHOUT), and nothing else is.
#
# What takes how long, measured on an H200 beside 16 cores with MOST_S=290:
#
#     checks 14 s, whole program 22, kernels 39, ceilings and channelizer 5,
#     profiles 20, functions 2, sanitizer 26, results, quick-look and image 13;
#     engine 18, energy 13 and all correlators 68, which were cut short: they
#     have more time now
#
# Environment: BUILD (build), NVCC, SMS (the card's), JOBS, FX8_WITHOUT, BUNDLE
# (BUILD/gpu-bundle), MOST_S (530: of all steps, limits in proportion; below 330
# the table of all correlators has fewer sizes), MOST_KIB (16000: of the packed
# folder).
# Exit status: 0 all steps well, 1 not all, 2 wrong use, 77 no card.

if [ $# -ne 1 ]; then
    echo "usage: validation/gpu/first_run.sh FOLDER" >&2
    exit 2
fi
mkdir -p "$1" || exit 1
folder=$(cd "$1" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1

mkdir -p "${BUILD:-build}" || exit 1
build=$(cd "${BUILD:-build}" && pwd)
bundle=${BUNDLE:-$build/gpu-bundle}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
jobs=${JOBS:-$(nproc)}
first=$(date +%s)
most=${MOST_S:-530}
quick=$([ "$most" -ge 330 ] || echo --quick) # for the longest section
failed=0 variables='' status=0 name=start
export FX8_WITHOUT="$FX8_WITHOUT"

# --- telling ----------------------------------------------------------------

tell() {
    echo "$*" | tee -a "$folder/summary.txt"
}

# leave_out NAME WHY
leave_out() {
    tell "$1: left out, $2"
    echo "left out: $1: $2" >>"$folder/.lost"
}

rest() {
    echo $((first + most - $(date +%s)))
}

# step NAME SECONDS FILE PROGRAM...: what it prints goes to FILE; `variables`
# are for its environment.  The status is that of the program, 125: not begun.
step() {
    name=$1 limit=$(($2 * most / 530)) file=$3
    shift 3
    status=125
    if ! command -v "$1" >/dev/null; then
        leave_out "$name" "no ${1##*/}"
        failed=1
        return
    fi
    if [ "$(rest)" -lt 2 ]; then
        leave_out "$name" 'no time left'
        return
    fi
    [ "$limit" -le "$(rest)" ] || limit=$(rest)
    [ "$limit" -ge 1 ] || limit=1
    begin=$(date +%s)
    echo "# $name" >>"$folder/$file"
    rm -f "$folder/.status"
    # In the background: neither a signal nor a process that not even SIGKILL
    # ends, for a driver that hangs, is waited for.
    {
        # shellcheck disable=SC2016,SC2086 # for the inner shell; words
        env $variables sh -c 'echo $$ >"$0" && exec "$@"' "$folder/.running" \
            timeout -k 5 "$limit" "$@" >>"$folder/$file" 2>&1 </dev/null
        echo $? >"$folder/.status"
    } 2>/dev/null &
    while [ ! -s "$folder/.status" ] &&
        [ $(($(date +%s) - begin)) -lt $((limit + 10)) ]; do
        sleep 0.1
    done
    status=$(cat "$folder/.status" 2>/dev/null || echo 124)
    case $status in
    0) word=well ;;
    77) word='skipped, no card' ;;
    78) word='skipped, none for this card' ;;
    124 | 137) word="FAILED, stopped after $limit s" ;;
    12[89] | 1[3-6]?) word="FAILED, ended by SIG$(kill -l $((status - 128)))" ;;
    *) word="FAILED, exit status $status" ;;
    esac
    if [ "$status" -eq 77 ] && [ -n "$cards" ]; then
        word='FAILED, cannot use the card that nvidia-smi lists'
    fi
    case $word in FAILED*) failed=1 ;; esac
    case $word in *stopped*) echo "cut short: $name" >>"$folder/.lost" ;; esac
    tell "$name: $word, $(($(date +%s) - begin)) s"
}

is_left_out() {
    case ,$FX8_WITHOUT, in *,"$1",*) return 0 ;; esac
    return 1
}

# check NAME PROGRAM: a test; what fails is left out from now on.
check() {
    step "check, $1" 25 kernels.txt "$build/$2"
    case $status in
    0 | 77 | 78 | 125) ;;
    *) FX8_WITHOUT=${FX8_WITHOUT:+$FX8_WITHOUT,}$1 ;;
    esac
}

# --- the end ----------------------------------------------------------------

# The folder as one file, without recordings.
pack() {
    sort -u "$folder/.lost" >>"$folder/summary.txt"
    cat "$folder/.lost"
    rm -f "$folder/.lost" "$folder/.status" "$folder/.running"
    files=$(cd "$folder" && find . -type f ! -name 'station*.*h5')
    while :; do
        echo "$files" | tar -C "$folder" -czf "$folder.tar.gz" -T -
        [ $(($(wc -c <"$folder.tar.gz") / 1024)) -gt "${MOST_KIB:-16000}" ] ||
            break
        # shellcheck disable=SC2012,SC2086 # names without spaces
        largest=$(cd "$folder" && ls -S $files | head -n 1)
        tell "not packed, too large: $largest"
        files=$(echo "$files" | grep -vxF -e "$largest")
    done
    echo "$folder.tar.gz"
}
trap 'kill "$(cat "$folder/.running")"
    echo "cut short: $name, and all after it" >>"$folder/.lost"
    pack; exit 1' INT TERM

# --- the machine, and programs ----------------------------------------------

rm -rf "$folder/bench"
mkdir -p "$folder/bench"
for file in summary.txt kernels.txt whole.txt sanitizer.txt \
    profiles.txt log.txt card.md card.jsonl .lost; do
    : >"$folder/$file"
done
{
    date -u "+%Y-%m-%d %H:%M UTC, MOST_S=$most"
    [ ! -f "$bundle/commit" ] || sed 's/^/commit /' "$bundle/commit"
    if command -v "$nvcc" >/dev/null; then "$nvcc" --version | tail -n 2; fi
    nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit \
        --format=csv
} >"$folder/summary.txt" 2>&1
cards=$(nvidia-smi -L 2>/dev/null | grep '^GPU ')
# The card's own architecture is enough, and quick to compile for.
sms=${SMS:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader \
    2>/dev/null | head -n 1 | tr -d '. ')}
case $sms in *[!0-9\ ]*) sms= ;; esac # nvidia-smi says on stdout why not

# What can be built is run: without cuFFT the engine is missing.  A compiler
# that is new to the sources may have warnings of its own.
for strict in STRICT=1 STRICT=0; do
    if ! command -v "$nvcc" >/dev/null; then
        leave_out build 'no nvcc'
        break
    fi
    step "build, $strict" 120 log.txt make -k -j"$jobs" BUILD="$build" \
        NVCC="$nvcc" ${sms:+SMS="$sms"} $strict gpu-programs
    case $status in 0 | 125) break ;; esac
done

# What could not be built may have come along.
mkdir -p "$build/came-along"
for packed in "$bundle"/programs/*.gz; do
    name=$(basename "$packed" .gz)
    if [ ! -f "$packed" ] || [ -e "$build/$name" ]; then
        continue
    fi
    tell "$name: as it came along"
    gzip -dc "$packed" >"$build/came-along/$name"
    chmod +x "$build/came-along/$name"
    case $name in
    *.so) mv "$build/came-along/$name" "$build" ;;
    *)
        printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' \
            "$PWD/validation/gpu/start.sh" "$bundle" \
            "$build/came-along/$name" >"$build/$name"
        chmod +x "$build/$name"
        ;;
    esac
done

# --- kernels ----------------------------------------------------------------

for kind in fp32 dp4a mma wgmma; do
    is_left_out $kind && continue
    variables=FX8_ONLY=$kind
    check $kind gpu_xengine
    if [ "$status" -eq 77 ] && [ -z "$cards" ]; then
        pack
        exit 77
    fi
done
variables=
for kind in fir spectra postprocess image engine imager; do
    check $kind gpu_$kind
done
if [ -z "$FX8_WITHOUT" ]; then # a choice tries every kind
    step 'check, choose' 25 kernels.txt "$build/gpu_choose"
fi
grep -hE 'SKIP no CUDA device|^# (cuda|.* differ|  impulses)' "$folder/kernels.txt" |
    sort -u | head -n 40 >>"$folder/summary.txt"

# --- the whole program ------------------------------------------------------

if [ -d "$bundle/bin" ]; then
    variables="FX8_CUDA_PLUGIN=$build/fx8-cuda.so LIMIT=30"
    step 'whole program' 110 whole.txt validation/gpu/whole.sh "$bundle" \
        "$folder/whole"
    variables=
    grep -E '^not ok|^# station on' "$folder/whole.txt" >>"$folder/summary.txt"
else
    leave_out 'whole program' "no $bundle: make gpu-bundle"
fi

# --- speed ------------------------------------------------------------------

# measure PROGRAM SECTION SECONDS [KIND] [OPTION]: in a process of its own.
measure() {
    page=$folder/bench/$2${4:+.$4}
    seconds=$(($3 * most / 530))
    seconds=$((seconds < $(rest) ? seconds : $(rest)))
    # no measurement begins after this time
    within=$((seconds > 20 ? seconds - 10 : seconds > 1 ? (seconds + 1) / 2 : 1))
    variables=${4:+FX8_ONLY=$4,cublas,cpu}
    step "bench, $2${4:+, $4}" "$3" log.txt "$build/$1" --section "$2" \
        ${5:+"$5"} --seconds "$within" --output "$page.md" --json "$page.jsonl"
    variables=
    cat "$page.md" "$page.md.part" >>"$folder/card.md" 2>/dev/null
    cat "$page.jsonl" >>"$folder/card.jsonl" 2>/dev/null
    case $2 in
    kernels | channelizer | engine | energy)
        grep -hs '^goal ' "$page.md" >>"$folder/summary.txt" ||
            tell "goals of $2${4:+, $4}: not known"
        ;;
    esac
}

# measure_unless KINDS PROGRAM SECTION SECONDS: not what has failed.
measure_unless() {
    for kind in $1; do
        if is_left_out "$kind"; then
            leave_out "bench, $3" "the check of $kind failed"
            return
        fi
    done
    shift
    measure "$@"
}

# All but cuFFT and the engine, where the one that has them does not start.
whole_bench=bench-gpu
timeout 5 "$build/bench-gpu" --help >/dev/null 2>&1
case $? in 12[4-7]) whole_bench=bench-kernels ;; esac
# Asks the engine how long its calls are.
kernels_bench=$whole_bench
! is_left_out engine || kernels_bench=bench-kernels

for kind in wgmma mma dp4a fp32; do
    if is_left_out $kind; then
        leave_out "bench, kernels, $kind" 'its check failed'
    else
        measure $kernels_bench kernels 50 $kind
    fi
done
measure bench-kernels ceilings 20
measure_unless 'fir spectra' $whole_bench channelizer 30
measure_unless engine bench-gpu engine 90

# Kernels that ran: where their time goes.
ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2>/dev/null)
for kernel in wgmma-128 mma-128 dp4a-64 fp32-64; do
    if is_left_out ${kernel%-*}; then
        leave_out "profile, $kernel" 'its check failed'
    elif [ -z "$ncu" ]; then
        leave_out "profile, $kernel" 'no ncu'
    else
        name="fx8_correlate_$(echo $kernel | tr - _)_kernel"
        step "profile, $kernel" 25 profiles.txt "$ncu" --clock-control none \
            --kernel-name "$name" --launch-skip 1 --launch-count 1 \
            --section SpeedOfLight --section ComputeWorkloadAnalysis \
            --section MemoryWorkloadAnalysis_Tables --section SchedulerStats \
            --section WarpStateStats --section Occupancy --section LaunchStats \
            "$build/bench-kernels" --profile $kernel
    fi
done

measure bench-kernels energy 70

# --- errors of the functions; compute-sanitizer; the rest -------------------

# The program writes its table at its end, below the folder that it is run in: a
# sample first.
for samples in 67108864 ''; do
    place=$build/first-run/${samples:-all}
    mkdir -p "$place/validation/results"
    rm -f "$place"/validation/results/*.md
    cd "$place" || exit 1
    step "numerics${samples:+, a sample}" 45 log.txt "$build/numerics-gpu" \
        ${samples:+--samples "$samples"}
    cd - >/dev/null || exit 1
    for table in "$place"/validation/results/*.md; do
        [ ! -f "$table" ] || cp "$table" "$folder/numerics.md"
    done
done

sanitizer=$(command -v compute-sanitizer ||
    echo "$(dirname "$nvcc")/compute-sanitizer")
if [ -x "$sanitizer" ]; then
    variables=FX8_SHORT=1 # every access is looked at
    step 'fir under memcheck' 25 sanitizer.txt "$sanitizer" \
        --tool memcheck --error-exitcode 99 "$build/gpu_fir"
    step 'xengine under racecheck' 75 sanitizer.txt "$sanitizer" \
        --tool racecheck --error-exitcode 99 "$build/gpu_xengine"
    variables=
else
    leave_out sanitizer 'not installed'
fi
measure_unless postprocess bench-kernels postprocess 25
measure_unless postprocess bench-kernels quicklook 25
measure_unless image bench-kernels image 25
measure $kernels_bench correlators 140 '' ${quick:+"$quick"}
pack
exit $failed
