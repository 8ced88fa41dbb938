#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# page.sh FOLDER [RESULTS] -- pages of a card out of what first_run.sh left in
# FOLDER, in RESULTS (validation/results), named after the card:
#
#     CARD.md           machine, steps, whole program, and every section of
#                       bench-gpu, in the order in which they ran
#     numerics-CARD.md  errors of the functions, if they were measured
#
# Exit status: 0, 1 nothing was measured, or not all on one machine, 2 wrong use.

if [ $# -ne 1 ] && [ $# -ne 2 ]; then
    echo "usage: validation/gpu/page.sh FOLDER [RESULTS]" >&2
    exit 2
fi
folder=$1 results=${2:-validation/results}

# Each section's page begins with a title, a fence, its command line and three
# lines of the machine; one that was stopped has no fence at its end.
name=$(sed -n 's/, compute capability .*//p' "$folder/card.md" | sort -u)
heads=$(awk '/^# Speed on a card$/ { line = NR }
    line && NR > line + 3 && NR <= line + 6 { print NR - line, $0 }' \
    "$folder/card.md" | sort -u)
if [ "$(echo "$heads" | wc -l)" -ne 3 ]; then
    echo "page.sh: $folder/card.md: expected sections of one machine" >&2
    exit 1
fi
page=$results/$(echo "$name" | tr '[:upper:]' '[:lower:]' |
    sed 's/[^a-z0-9]\{1,\}/-/g').md

{
    printf '# %s\n\n' "$name"
    cat <<TEXT
\`validation/gpu/first_run.sh\` measured this: the whole program, and sections of
\`bench-gpu\` with their goals, each in a process of its own.
\`validation/gpu/page.sh\` makes this page of what it left.

\`\`\`
$(head -n 1 "$folder/summary.txt")$(sed -n 's/^commit /, commit /p' \
        "$folder/summary.txt")
$(echo "$heads" | cut -c 3-)
\`\`\`

## Steps

\`\`\`
$(grep -E ': (well|FAILED|skipped|left out)|^(left out|cut short): |^goal ' \
        "$folder/summary.txt")
\`\`\`

## Whole program

\`\`\`
$(grep -vE '^# (whole program|.* numbers a step apart)$' "$folder/whole.txt")
\`\`\`
TEXT
    awk '
        function begin() {
            printf "\n## %s%s\n\n```\n%s\n%s", section, kind, command, preface
            is_due = 0
            is_open = 1
        }
        function end() { if (is_open) print "```"; is_open = 0 }
        /^# Speed on a card$/ {
            end()
            line = NR
            is_due = 1
            kind = preface = ""
            next
        }
        NR == line + 3 {
            command = $0
            sub(/ --output .* \(version/, " (version", command)
            match($0, /--section [a-z]+/)
            section = substr($0, RSTART + 10, RLENGTH - 10)
        }
        NR <= line + 6 { next }
        /^```$/ { end(); next }
        is_due && /^only / { kind = ", " substr($2, 1, index($2, ",") - 1) }
        is_due && $0 != section { preface = preface $0 "\n"; next }
        is_due { begin() }
        { print }
        END { end() }' "$folder/card.md"
} >"$page"
echo "$page"
if [ -f "$folder/numerics.md" ]; then
    cp "$folder/numerics.md" "$results/numerics-${page##*/}"
    echo "$results/numerics-${page##*/}"
fi
