# SPDX-License-Identifier: BSD-3-Clause
"""tap.py FILE [CASE...] -- run the unittest cases of a file, or those with such a
part in their names, with TAP on stdout, as validation/run reads it.  The exit
status is 1 on failure."""
import os
import sys
import time
import traceback
import unittest


class _Result(unittest.TestResult):
    """Prints a line of TAP for each test, and why it failed."""

    n_failed = 0

    def __init__(self):
        super().__init__()
        self.seen = []

    def startTest(self, test):
        super().startTest(test)
        self.seen.append(test)
        self.is_good, self.skip, self.begin = True, "", time.monotonic()

    def addFailure(self, test, error):
        self.is_good = False
        self.n_failed += 1
        for line in "".join(traceback.format_exception(*error)).splitlines():
            print(f"# {line}")

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        if error is not None:
            print(f"# in {subtest}")
            self.addFailure(test, error)

    def addSkip(self, test, reason):
        self.skipped, self.skip = reason, f" # SKIP {reason}"

    def addUnexpectedSuccess(self, test):
        self.is_good = False
        self.n_failed += 1

    def stopTest(self, test):
        super().stopTest(test)
        name = test.id().removeprefix(f"{type(test).__module__}.")
        print(f"{'ok' if self.is_good else 'not ok'} {len(self.seen)} - {name}"
              + self.skip * self.is_good)
        if time.monotonic() - self.begin > 5:
            print(f"# {time.monotonic() - self.begin:.0f} s")
        sys.stdout.flush()


def _cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _cases(item)
        else:
            yield item


def main(module=None, names=()):
    """Run the cases of a module; by default, of the calling script and as its
    command line says."""
    if module is None:
        module, names = sys.modules["__main__"], sys.argv[1:]
    cases = [case for case in _cases(
        unittest.defaultTestLoader.loadTestsFromModule(module))
        if not names or any(part in case.id() for part in names)]
    print(f"1..{len(cases)}", flush=True)
    result = _Result()
    unittest.TestSuite(cases).run(result)
    if result.n_failed == 0:    # the cases of a class that is skipped
        for case in cases:
            if case not in result.seen:
                result.startTest(case)
                result.addSkip(case, result.skipped)
                result.stopTest(case)
    sys.exit(1 if result.n_failed else 0)


if __name__ == "__main__":
    folder, file = os.path.split(sys.argv[1])
    sys.path.insert(0, folder)
    main(__import__(file.removesuffix(".py")), sys.argv[2:])
