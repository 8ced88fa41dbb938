# SPDX-License-Identifier: BSD-3-Clause
"""unittest with TAP on stdout, as validation/run reads it."""
import sys
import time
import traceback
import unittest


def _flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _flatten(item)
        else:
            yield item


class _Result(unittest.TestResult):
    """Remembers what happened to the one test it is used for."""

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            sys.stdout.write(f"# in {subtest}\n")

    def faults(self):
        return ([text for _, text in self.failures + self.errors]
                + ["succeeded unexpectedly" for _ in self.unexpectedSuccesses])


def main():
    """Run every test of the calling script, or the cases named on its command
    line (by a part of their names); the exit status is 1 on failure."""
    module = sys.modules["__main__"]
    cases = list(_flatten(unittest.defaultTestLoader.loadTestsFromModule(
        module)))
    if len(sys.argv) > 1:
        cases = [case for case in cases
                 if any(part in case.id() for part in sys.argv[1:])]
    print(f"1..{len(cases)}", flush=True)
    failed = 0
    previous = None
    for number, case in enumerate(cases, 1):
        result = _Result()
        if type(case) is not previous:
            if previous is not None:
                previous.tearDownClass()
            previous = type(case)
            try:
                previous.setUpClass()
            except unittest.SkipTest as skip:
                previous.__unittest_skip__ = True
                previous.__unittest_skip_why__ = str(skip)
            except Exception:
                print("# " + traceback.format_exc().replace("\n", "\n# "))
                sys.exit(1)
        begin = time.monotonic()
        case.run(result)
        name = case.id().removeprefix("__main__.")
        seconds = time.monotonic() - begin
        if result.skipped:
            print(f"ok {number} - {name} # SKIP {result.skipped[0][1]}")
        elif result.faults():
            failed += 1
            print(f"not ok {number} - {name}")
            for text in result.faults():
                for line in text.rstrip().splitlines():
                    print(f"# {line}")
        else:
            print(f"ok {number} - {name}")
        if seconds > 5:
            print(f"# {seconds:.0f} s")
        sys.stdout.flush()
    if previous is not None:
        previous.tearDownClass()
    sys.exit(1 if failed else 0)
