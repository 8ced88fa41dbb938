#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# setup.sh [build|check|long] -- install the Debian packages that fx8 needs.
#
#   build   to compile the program and the library (make, make demo)
#   check   the same, and what the proof needs (make check, make lint)
#   long    only what the long tests need besides (make check-long)
#
# Does nothing when all of them are there.  Installs only as root or with a
# sudo that asks no password; otherwise prints the line to run and exits 1.
set -euo pipefail

# The Makefile shows this line in its message about a missing library.
BUILD_PACKAGES="gcc libc6-dev make pkg-config libhdf5-dev zlib1g-dev libfftw3-dev libinih-dev liberfa-dev libjansson-dev libcairo2-dev libcfitsio-dev"
# Unit tests; kernels on the CPU; thread checker and layout; the independent oracle and pyuvdata.
CHECK_PACKAGES="libcmocka-dev g++ clang libclang-rt-14-dev clang-format python3 python3-venv ca-certificates openmpi-bin libopenmpi-dev"

# An imager; what the correlator of LSL is built with; a batch system.
LONG_PACKAGES="wsclean libgsl-dev libgdbm-dev libfftw3-dev python3-dev munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins"

case "${1:-check}" in
build) wanted=$BUILD_PACKAGES ;;
check) wanted="$BUILD_PACKAGES $CHECK_PACKAGES" ;;
long) wanted=$LONG_PACKAGES ;;
*)
    echo "usage: validation/setup.sh [build|check|long]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "setup: not a Debian system; install what corresponds to: $wanted" >&2
    exit 0
fi

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in $wanted; do
    is_installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "setup: needs ${missing[*]}"
if [ "$(id -u)" = 0 ]; then
    as_root=(env DEBIAN_FRONTEND=noninteractive)
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
else
    echo "setup: run this as root, then try again:" >&2
    echo "    apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
fi

install_missing() {
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
        "${missing[@]}"
}

# The package lists may be absent or old: fetch them when the first try fails.
install_missing >/dev/null 2>&1 && exit 0
"${as_root[@]}" apt-get update -qq
install_missing >/dev/null
