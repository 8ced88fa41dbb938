#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check.sh -- the kernels of 64-bit Arm, cross-compiled and run by qemu: every
# variant against the reference and the definition, on a CPU with SDOT and on
# one without.  Says nothing of their speed.
#
# Shows: as test_kernels_x.c, test_kernels_f.c, on 64-bit Arm
cc=${AARCH64_CC:-aarch64-linux-gnu-gcc}
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
folder=${BUILD:-build}/aarch64
program=$folder/fx8-test-kernels

if [ -z "$qemu" ] || ! command -v "$cc" >/dev/null; then
    echo "1..0 # SKIP no cross-compiler: apt-get install" \
        "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static"
    exit 0
fi
${MAKE:-make} -s CC="$cc" BUILD="$folder" CUDA=0 "$program" >&2 || exit 1

n=0
for cpu in max cortex-a72; do
    for group in $("$qemu" "$program" --list | cut -d' ' -f1 | uniq); do
        n=$((n + 1))
        if "$qemu" -cpu $cpu "$program" "$group" >&2; then
            echo "ok $n - $cpu $group"
        else
            echo "not ok $n - $cpu $group"
        fi
    done
done
echo "1..$n"
