#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# start.sh BUNDLE PROGRAM... -- a program of a folder that bundle.sh made: with
# the machine's libraries, else those that came along, the C library too where
# the machine's is too old.

if [ $# -lt 2 ]; then
    echo "usage: validation/gpu/start.sh BUNDLE PROGRAM..." >&2
    exit 2
fi
bundle=$1
shift
if [ ! -d "$bundle/lib" ]; then # unpacked at the first start, whole or not at all
    unpacked=$(mktemp -d "$bundle/lib.XXXXXX") &&
        tar -C "$unpacked" -xzf "$bundle/lib.tar.gz" &&
        mv "$unpacked/lib" "$bundle" && rmdir "$unpacked" || exit 1
fi
cuda=/usr/local/cuda/lib64 # cuFFT did not come along
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$cuda:$bundle/lib
export LD_LIBRARY_PATH
if ! "$bundle/bin/fx8" --version >/dev/null 2>&1; then
    exec "$(echo "$bundle"/lib/c/ld-linux*)" --library-path \
        "$bundle/lib/c:$LD_LIBRARY_PATH" "$@"
fi
exec "$@"
