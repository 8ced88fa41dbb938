#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# whole.sh BUNDLE FOLDER -- the whole program on a card, out of a folder that
# bundle.sh made: the same recordings on the CPU and on the card, every filter
# bank, complex and real, both precisions, with a quick-look; every kind of
# kernel; an image; the tests of the engine beside that of the CPU; how long a
# station's half second takes.  TAP on stdout, what the programs said and wrote in
# FOLDER.
#
# What agrees, by `fx8 compare`:
#
#   none  integers go straight to the correlator: to the last bit
#   INT8  a sample is another integer only near a tie.  A part f of them a step
#         apart is sqrt(12 f) of the quantiser's own loss, which `fx8 compare`
#         predicts: f = 1/2000, as the engine's own test has it
#   FP32  2e-6 of the power: roundings of single precision in two FFTs
#
# Environment: FX8_CUDA_PLUGIN, the plug-in; FX8_WITHOUT=wgmma,fp32,fir, kinds of
# kernel to do without (fir, spectra: no filter bank); LIMIT, seconds of a program (60); FX8_SHORT=1, fewer
# banks and tests, no station.
# Exit status: 0 all well, 1 not, 2 wrong use, 77 no card.

if [ $# -ne 2 ] || [ -z "$FX8_CUDA_PLUGIN" ]; then
    echo "usage: FX8_CUDA_PLUGIN=FILE validation/gpu/whole.sh BUNDLE FOLDER" >&2
    exit 2
fi
mkdir -p "$2" || exit 1
bundle=$(cd "$1" && pwd) && folder=$(cd "$2" && pwd) || exit 1
limit=${LIMIT:-60}
n_cases=0
n_failed=0

start=$(cd "$(dirname "$0")" && pwd)/start.sh

# Of the group of this script, so that what stops it stops them.
limited() {
    program=$1
    shift
    timeout --foreground -k 5 "$limit" "$start" "$bundle" \
        "$bundle/bin/$program" "$@"
}

# result NAME STATUS: a case.
result() {
    n_cases=$((n_cases + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $n_cases - $1"
    else
        n_failed=$((n_failed + 1))
        echo "not ok $n_cases - $1"
        echo "# exit status $2"
    fi
}

# correlate NAME RECORDING BACKEND KEY=VALUE...
correlate() {
    name=$1 data=$bundle/data/$2 backend=$3
    shift 3
    for key in "$@"; do
        set -- "$@" --set "$key"
        shift
    done
    limited fx8 correlate "$data.ini" "$data.h5" -o "$folder/$name.uvh5" \
        --backend "$backend" --force "$@" \
        --set postprocess.quicklook="$folder/$name.h5" \
        --set postprocess.math=fast >"$folder/$name.txt" 2>&1
}

# figure FILE OBJECT MEMBER: a number of an object of `fx8 compare --json`.
figure() {
    awk -v object="\"$2\":" -v member="\"$3\":" '
        $1 == object { is_inside = 1 }
        is_inside && $1 == member { sub(",", "", $2); print $2; exit }' "$1"
}

# compare NAME A B: their comparison as NAME.json.
compare() {
    limited fx8 compare --json "$folder/$2.uvh5" "$folder/$3.uvh5" \
        >"$folder/$1.json" 2>>"$folder/compare.txt"
}

# is_identical NAME A B
is_identical() {
    compare "$1" "$2" "$3" && grep -q '"is_identical": true' "$folder/$1.json"
}

# is_within NAME A B LIMIT: rms differences of pairs and of powers; there were
# cells to compare.
is_within() {
    compare "$1" "$2" "$3" || return 1
    for object in overall autos; do
        echo "$(figure "$folder/$1.json" $object n_cells)" \
            "$(figure "$folder/$1.json" $object measured)"
    done | awk -v limit="$4" -v name="$1" '
        { print "# " name ": " $2 ", at most " limit }
        $1 > 0 && $2 ~ /^[0-9]/ && limit > 0 && $2 <= limit { n++ }
        END { exit n != 2 }'
}

# is_looked_at NAME: the quick-look of the card; what it counts is that of the
# CPU's, and no function is beyond its bound.
is_looked_at() {
    for backend in cpu cuda; do
        limited fx8 info "$folder/$1.$backend.h5" >"$folder/look.txt" || return 1
        sed -n '/^counts/,$p' "$folder/look.txt" >"$folder/$backend.counts"
    done
    [ -s "$folder/cuda.counts" ] &&
        cmp -s "$folder/cpu.counts" "$folder/cuda.counts" &&
        grep -q '^quick-look ' "$folder/$1.cuda.txt" &&
        ! grep -q BEYOND "$folder/$1.cuda.txt"
}

# check_precision METHOD PRECISION: the files of $bank.
check_precision() {
    if [ "$1" = none ]; then
        is_identical "$bank.$2" "$bank.cpu.$2" "$bank.cuda.$2"
        result "$bank: $2 of both are identical" $?
    elif [ "$2" = int8 ]; then
        compare "$bank.loss" "$bank.cpu.int8" "$bank.cpu.fp32"
        loss=$(figure "$folder/$bank.loss.json" overall predicted)
        is_within "$bank.int8" "$bank.cpu.int8" "$bank.cuda.int8" \
            "$(awk -v loss="$loss" 'BEGIN { print sqrt(12 / 2000) * loss }')"
        result "$bank: int8 of both agree but near ties" $?
    else
        is_within "$bank.fp32" "$bank.cpu.fp32" "$bank.cuda.fp32" 2e-6
        result "$bank: fp32 of both agree" $?
    fi
}

# check_bank METHOD RECORDING CHANNELS
check_bank() {
    bank=$1.$2
    correlate "$bank.cpu" "$2" cpu correlator.precision=both \
        channelizer.method="$1" channelizer.channels="$3"
    result "$bank on cpu" $?
    correlate "$bank.cuda" "$2" cuda correlator.precision="$precision" \
        "$kernel" channelizer.method="$1" channelizer.channels="$3"
    result "$bank on cuda" $?
    if [ "$precision" != both ] && [ -f "$folder/$bank.cuda.uvh5" ]; then
        mv "$folder/$bank.cuda.uvh5" "$folder/$bank.cuda.$precision.uvh5"
    fi
    for kind in $precisions; do
        check_precision "$1" "$kind"
    done
    [ "$precision" != fp32 ] || return 0 # the CPU's is of int8
    is_looked_at "$bank"
    result "$bank: quick-looks count the same, none is beyond a bound" $?
}

# is_imaged_alike NAME: figures of the image, and colours of its pixels.
is_imaged_alike() {
    for backend in cpu cuda; do
        limited fx8 image "$folder/$1.uvh5" --backend $backend --json --quiet \
            -o "$folder/image.$backend.svg" --force \
            >"$folder/image.txt" 2>>"$folder/image.errors.txt" || return 1
        grep -vE '"(backend|kernel)":' "$folder/image.txt" \
            >"$folder/image.$backend.json"
    done
    [ -s "$folder/image.cuda.json" ] &&
        cmp "$folder/image.cpu.json" "$folder/image.cuda.json" &&
        cmp "$folder/image.cpu.svg" "$folder/image.cuda.svg"
} >>"$folder/compare.txt" 2>&1

is_left_out() {
    case ,$FX8_WITHOUT, in *,"$1",*) return 0 ;; esac
    return 1
}

# tell_speed: 512 inputs, twice on each: what is read the first time is in
# memory the second.  Half a gigabyte, which does not stay.
tell_speed() {
    for key in array.positions=none array.antennas=256; do
        set -- "$@" --set $key
    done
    station=$folder/station
    limited fx8 simulate "$bundle/data/complex.ini" -o "$station.h5" --force \
        "$@" --set simulate.sources= --set simulate.duration_s=0.501 \
        --set simulate.dropout_fraction=0 >"$station.txt" 2>&1
    for backend in cpu cuda cpu cuda; do
        limited fx8 correlate "$bundle/data/complex.ini" "$station.h5" --force \
            -o "$station.uvh5" "$@" --set correlator.integration_time_s=0.25 \
            --set "$kernel" --set postprocess.quicklook="$station.look.h5" \
            --backend $backend >"$station.$backend.txt" 2>&1 ||
            echo "# station on $backend: not measured"
    done
    for backend in cpu cuda; do
        grep -E '^(plan|kernels|time) |beside it|Msamples' \
            "$station.$backend.txt" | sed "s/^/# station on $backend: /"
    done
    rm -f "$station.h5" "$station.true.uvh5" "$station.uvh5" "$station.look.h5"
}

# A choice tries every kind; where one hangs, none is tried.
kernel=correlator.kernel=fp32 precision=fp32 precisions=fp32
n_integer=0
for kind in dp4a mma wgmma; do
    is_left_out $kind && continue
    kernel=correlator.kernel=$kind precision=both precisions='int8 fp32'
    n_integer=$((n_integer + 1))
done
[ $n_integer -ne 3 ] || kernel=correlator.kernel=auto
if is_left_out fp32; then
    precision=int8 precisions=int8
    if [ $n_integer -eq 0 ]; then
        echo '1..1'
        echo 'not ok 1 - a kernel is left'
        exit 1
    fi
fi

# Without a card nothing else can be told.
correlate first complex cuda channelizer.method=none channelizer.channels=1 \
    correlator.precision="${precisions%% *}" "$kernel"
if grep -Eq 'driver missing|the driver finds none' "$folder/first.txt"; then
    echo "1..0 # SKIP $(tail -n 1 "$folder/first.txt")"
    exit 77
fi

check_bank none complex 1
tests=engine_results
case=${FX8_SHORT:+results_of_the_device_equal_the_hosts}
if is_left_out fir || is_left_out spectra; then
    echo '# filter banks: left out'
    tests=
else
    check_bank pfb real 64
    if [ -z "$FX8_SHORT" ]; then
        check_bank pfb complex 64
        check_bank fft real 64
        check_bank fft complex 64
        tests="$tests quicklook_cuda engine_cuda"
    fi
fi
for kind in dp4a mma wgmma; do
    is_left_out $kind && continue
    correlate "$kind" complex cuda channelizer.method=none \
        channelizer.channels=1 correlator.kernel=$kind
    if grep -q 'expected one that this device runs' "$folder/$kind.txt"; then
        echo "# $kind: not on this device"
        continue
    fi
    is_identical "$kind.int8" none.complex.cpu.int8 "$kind"
    result "$kind: integers of the CPU" $?
done
if ! is_left_out image && ! is_left_out imager; then
    is_imaged_alike none.complex.cpu.int8
    result 'the image of the CPU' $?
fi
# They have filter banks, and correlate in both precisions.
[ "$precision" = both ] || tests=
[ -n "$tests" ] || echo '# tests of the engine: left out'
for name in $tests; do
    CMOCKA_MESSAGE_OUTPUT=TAP limited fx8-test "$name" $case \
        >"$folder/$name.txt" 2>&1
    result "test $name" $?
    grep -E '^not ok .* - |apart' "$folder/$name.txt" | sed 's/^[^#]/# &/'
done
[ -n "$FX8_SHORT" ] || tell_speed
echo "1..$n_cases"
[ $n_failed -eq 0 ]
