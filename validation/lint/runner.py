#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""validation/run itself: results that it must not count as success.

Shows (proof, the runner): `validation/run` counts silence, crashes, no plan,
    too few cases and a late program as failures; a skipped case is counted; a
    tier that does not build is a failure, and the others run
Within: counts equal
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import sys

LOADER = importlib.machinery.SourceFileLoader("runner", "validation/run")
SPEC = importlib.util.spec_from_loader("runner", LOADER)
RUNNER = importlib.util.module_from_spec(SPEC)
sys.dont_write_bytecode = True
LOADER.exec_module(RUNNER)

# shell text, (passed, failed, skipped)
PROGRAMS = (
    ("all pass", "echo 1..2; echo ok 1; echo ok 2 - b", (2, 0, 0)),
    ("one fails", "echo 1..2; echo ok 1; echo not ok 2; exit 1", (1, 1, 0)),
    ("one fails, exit 0", "echo 1..1; echo not ok 1", (0, 1, 0)),
    ("silence", "true", (0, 1, 0)),
    ("no plan", "echo ok 1", (1, 1, 0)),
    ("no cases", "echo 1..0", (0, 1, 0)),
    ("stops early", "echo 1..3; echo ok 1", (1, 1, 0)),
    ("crash after success", "echo 1..1; echo ok 1; kill -SEGV $$", (1, 1, 0)),
    ("exit status alone", "echo 1..1; echo ok 1; exit 7", (1, 1, 0)),
    ("never ends", "echo 1..1; echo ok 1; sleep 60", (1, 1, 0)),
    ("skip", "echo 1..1; echo 'ok 1 - x # SKIP no device'", (0, 0, 1)),
    ("skip of cmocka", "echo 1..1; echo 'not ok 1 # SKIP x'", (0, 0, 1)),
    ("all skipped", "echo '1..0 # SKIP no network'", (0, 0, 1)),
)


class Shells(RUNNER.Tier):
    """A tier of two programs, of which the second takes longer."""

    def commands(self):
        return {name: ["sh", "-c", "echo 1..1; echo ok 1"]
                for name in ("short", RUNNER.FIRST[0])}


def run_tiers():
    """What is printed of a tier that does not build and one that is, and their
    totals."""
    run = RUNNER.Run()
    tiers = (RUNNER.Tier("broken", folder="build", make=["no-such-target"]),
             Shells("whole", folder="build"))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        run.build_all(tiers)
        run.run_ready()
    return printed.getvalue(), run.totals


def main():
    print(f"1..{len(PROGRAMS) + 1}")
    bad = 0
    for number, (name, text, want) in enumerate(PROGRAMS, 1):
        limit_s = 0.7 if name == "never ends" else 60
        outcome = RUNNER.run_program(
            RUNNER.Tier("self", folder="build", limit_s=limit_s), name,
            ["sh", "-c", text])
        got = (outcome.passed, len(outcome.failed), len(outcome.skipped))
        bad += got != want
        print(f"{'ok' if got == want else 'not ok'} {number} - {name}")
        if got != want:
            print(f"# {got} instead of {want}: {outcome.failed}")
    text, totals = run_tiers()
    good = (totals == [2, 1, 0] and "make no-such-target" in text
            and text.index(RUNNER.FIRST[0]) < text.index("short"))
    bad += not good
    print(f"{'ok' if good else 'not ok'} {len(PROGRAMS) + 1} - tiers")
    if not good:
        print("".join(f"# {line}\n" for line in [str(totals),
                                                 *text.splitlines()]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
