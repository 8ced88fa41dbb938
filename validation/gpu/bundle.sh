#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# bundle.sh BUILD FOLDER [PREBUILT] -- what the whole program needs on a machine
# with a card and nvcc but none of its packages, in FOLDER:
#
#     bin/       fx8, and fx8-test, which has the engine beside that of the CPU
#     lib.tar.gz the libraries that they load, and in lib/c/ the loader and the C
#                library, for a machine whose own is older
#     commit     of which all this was made
#     data/      a complex and a real recording, and their configurations
#     programs/  those for the card out of PREBUILT, packed, for a machine without
#                make or nvcc; cuFFT, larger than all of this, must be there
#
# validation/gpu/whole.sh runs it; start.sh unpacks the libraries.  fx8-cuda.so is
# made there, by the nvcc whose cuFFT it loads.
#
# Exit status: 0, 1 something is missing or all of it is larger than 48 MiB,
# 2 wrong use.

if [ $# -ne 2 ] && [ $# -ne 3 ]; then
    echo "usage: validation/gpu/bundle.sh BUILD FOLDER [PREBUILT]" >&2
    exit 2
fi
set -eu
build=$1 folder=$2 prebuilt=${3:-}
most_kib=49152

for part in bin lib lib.tar.gz data programs; do
    rm -rf "${folder:?}/$part"
done
mkdir -p "$folder/bin" "$folder/lib/c" "$folder/data" "$folder/programs"

git describe --always --dirty >"$folder/commit" 2>/dev/null ||
    echo 'not known' >"$folder/commit"
for name in fx8 fx8-test; do
    strip -o "$folder/bin/$name" "$build/$name"
done

if [ -n "$prebuilt" ]; then
    for name in gpu_choose gpu_engine gpu_fir gpu_image gpu_imager \
        gpu_postprocess gpu_spectra gpu_xengine numerics-gpu bench-kernels bench-gpu \
        fx8-cuda.so; do
        strip -o "$folder/programs/$name" "$prebuilt/$name"
    done
fi

# "NAME => PATH (ADDRESS)", and the loader by its path alone.
for program in "$folder"/bin/* "$folder"/programs/*; do
    [ -f "$program" ] || continue
    ldd "$program"
done | awk '$2 == "=>" { print $3 } $1 ~ /ld-linux/ { print $1 }' |
    sort -u | while read -r path; do
    case ${path##*/} in
    ld-linux* | libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | \
        librt.so.* | libresolv.so.*) cp -L "$path" "$folder/lib/c" ;;
    libcufft.so.*) ;; # larger than all of this
    not)
        echo "bundle.sh: $build/fx8: a library is missing" >&2
        exit 1
        ;;
    *) cp -L "$path" "$folder/lib" ;;
    esac
done

# Inputs and spectra that fill no tile, gains, losses; blocks and a rest.
cp config/ready/demo_sources.csv "$folder/data"
head -n 10 config/ready/demo_antennas.csv >"$folder/data/demo_antennas.csv"
for samples in complex real; do
    sed -e "s/^antennas = .*/antennas = 5/" \
        -e "s/^integration_time_s = .*/integration_time_s = 0.02/" \
        -e "s/^samples = .*/samples = $samples/" \
        -e "s/^duration_s = .*/duration_s = 0.1305/" \
        -e "s/^seed = .*/seed = 90/" config/ready/demo.ini >"$folder/data/$samples.ini"
    printf 'gain_spread = 0.3\ndropout_fraction = 0.02\n' \
        >>"$folder/data/$samples.ini"
    "$build/fx8" simulate "$folder/data/$samples.ini" --force \
        -o "$folder/data/$samples.h5" >"$folder/data/$samples.txt"
    rm "$folder/data/$samples.true.uvh5" "$folder/data/$samples.txt"
done

if [ -n "$prebuilt" ]; then
    gzip "$folder"/programs/*
fi
tar -C "$folder" -czf "$folder/lib.tar.gz" lib
rm -r "$folder/lib"

size=$(du -sk "$folder" | cut -f 1)
echo "$folder: $size KiB"
if [ "$size" -gt "$most_kib" ]; then
    echo "bundle.sh: $folder: $size KiB: expected $most_kib KiB at most" >&2
    exit 1
fi
