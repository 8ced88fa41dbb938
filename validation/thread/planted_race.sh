#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Does the thread checker see a race?  Same compiler, flags and environment as
# the tier; otherwise its silence about the pipeline would prove nothing.
#
# Shows (failures, races): no race in any test program, nor in the whole
#     pipeline
# Within: no report
# In: thread/pipeline.py
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
flags=(-std=c17 -D_GNU_SOURCE -I. -O1 -g -pthread -fsanitize=thread)
sources=(validation/thread/planted_race.c config/base/parallel.c)

echo 1..2
number=0
report() { # name, 0 when it held
    number=$((number + 1))
    [ "$2" = 0 ] && echo "ok $number - $1" || echo "not ok $number - $1"
}

# A race is a matter of luck in a single run: ten runs.
clang "${flags[@]}" -DWITHOUT_GUARD "${sources[@]}" \
    -o "$folder/race" 2>"$folder/log"
seen=1
for _ in 1 2 3 4 5 6 7 8 9 10; do
    "$folder/race" >>"$folder/log" 2>&1
    [ $? = 66 ] && grep -q 'data race' "$folder/log" && seen=0 && break
done
report "a planted race is reported" $seen

clang "${flags[@]}" "${sources[@]}" -o "$folder/guarded" 2>"$folder/log"
"$folder/guarded" >"$folder/log" 2>&1
quiet=$?
sed 's/^/# /' "$folder/log"
report "the same loop without a race is not" $quiet
