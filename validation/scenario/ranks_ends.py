# SPDX-License-Identifier: BSD-3-Clause
"""Runs of several ranks that do not end well, and what goes on with them.

Shows (failures, ends of ranks): a rank without its recording, another recording
    or a copy with other samples on one rank, no launcher, no plug-in, a full
    disk, a signal to a rank or to the launcher: one line, all end with its
    code; finished dumps are kept, and --resume with any number of ranks makes
    the result of one process of them, after a failure too; all of it also where
    ranks share dumps
"""
import contextlib
import os
import re
import shutil
import signal
import time

import h5py
import numpy as np

import oracle
import program
from ranks_job import Ranks, passed_on


class Ends(Ranks):
    """Failures and signals."""

    def test_a_rank_without_its_recording(self):
        self.set_up()
        recording = self.eventful()
        gone = self.path("gone.h5")
        done = self.others(2, self.words(recording, "--mpi"), 1,
                           self.words(gone, "--mpi"))
        self.assert_one_error(done, 1, f"rank 2: {gone}")
        self.assertEqual(self.files(), [])

    def test_another_recording_on_one_rank(self):
        self.set_up()
        recording = self.eventful()
        other = self.eventful(6, name="other.h5")
        done = self.others(2, self.words(recording, "--mpi"), 1,
                           self.words(other, "--mpi"))
        self.assert_one_error(done, 1, f"rank 2: {other}: bytes of the file: ",
                              "as on rank 0")
        done = self.others(1, self.words(recording, "--mpi"), 1, self.words(
            recording, "--mpi", "--set", "quantizer.target_rms=19"))
        self.assert_one_error(done, 1, "rank 1: ",
                              "digest of the configuration")

        def to(output, *more):
            return ["correlate", self.config, recording, "--mpi", *output,
                    *more]
        here = ("-o", self.output)
        for first, second, said in (
                (to(here), to(("-o", "other.uvh5")),
                 "name of the result: other.uvh5: expected "),
                (to(("--set", f"output.file={self.output}")),
                 to(("--set", "output.file=other.uvh5")),
                 "name of the result: other.uvh5: expected "),
                (to(here), to(here, "--dry-run"),
                 "--dry-run: given: expected not given"),
                (to(here, "--resume"), to(here),
                 "--resume: not given: expected given")):
            done = self.others(1, first, 1, second)
            self.assert_one_error(done, 1, "rank 1: ", said)
        shutil.copy(recording, other)
        with h5py.File(other, "r+") as file:
            table = file["antennas"][...]
            table["cable_delay_s"] += 1e-9
            file["antennas"][...] = table
        done = self.others(1, self.words(recording, "--mpi"), 1,
                           self.words(other, "--mpi"))
        self.assert_one_error(done, 1, "rank 1: ", "digest of positions, "
                              "delays, gains and phase centres")
        self.assertEqual(self.files(), [])

    def test_a_copy_with_other_samples(self):
        """Of the same size and start: another recording, or its end has not
        arrived.  What is not to be correlated may differ."""
        self.set_up()
        recording, copy = self.eventful(), self.path("copy.h5")
        for change, extra, code in (
                (lambda samples: samples[..., ::-1], (), 1),
                (lambda samples: samples * (np.arange(13_400) < 13_200), (), 1),
                (lambda samples: samples * (np.arange(13_400) < 12_000),
                 ("--set", "input.duration_s=0.008"), 0)):
            shutil.copy(recording, copy)
            with h5py.File(copy, "r+") as file:
                samples = file["voltages"][...]
                for part in samples.dtype.names:
                    samples[part] = change(samples[part])
                file["voltages"][...] = samples
            done = self.others(1, self.words(recording, "--mpi", *extra), 1,
                               self.words(copy, "--mpi", *extra))
            if code == 0:
                self.assertEqual(done.returncode, 0, done.stderr)
            else:
                self.assert_one_error(
                    done, code, f"rank 1: {copy}: digest of samples at some "
                    "spots: ", "as on rank 0")
                self.assertEqual(self.files(), [])

    def test_a_copy_that_cannot_be_read(self):
        """The message does not take it for another recording."""
        self.set_up()
        recording = self.write(
            program.Scene(program.noise(7, 3, 2, 13_400)), chunks=(1, 1, 400),
            compression="gzip")
        copy = shutil.copy(recording, self.path("copy.h5"))
        self.damage(copy, 0)
        done = self.others(1, self.words(recording, "--mpi"), 1,
                           self.words(copy, "--mpi"))
        self.assert_one_error(done, 1, f"rank 1: {copy}: digest of samples at "
                              "some spots: ", " (1 of 8 spots cannot be read)")
        self.assertEqual(self.files(), [])

    def test_a_wrong_configuration_is_reported_once(self):
        self.set_up(keys={"channelizer.taps": 0})
        done = self.mpirun(3, *self.words(self.eventful(), "--mpi"))
        self.assert_one_error(done, 2, "taps")
        self.save(self.output, "precious")
        self.set_up()
        done = self.mpirun(3, *self.words(self.eventful(), "--mpi"))
        self.assert_one_error(done, 2, "out.uvh5: exists")

    def test_a_wrong_command_line_is_reported_once(self):
        self.set_up()
        done = self.mpirun(3, *self.words(self.eventful(), "--mpi", "--foo"))
        self.assert_one_error(done, 2, "--foo")

    def test_a_recording_that_ends_its_run(self):
        """Damage in the part of one rank stops all; dumps of others stay, and
        others go on with them once the recording is whole again."""
        n = 60_000
        samples = program.noise(11, 3, 1, n)
        recording = self.write(program.Scene(samples), chunks=(3, 1, 2000),
                               compression="gzip")
        self.set_up()
        want = self.keep_want(recording)
        good = shutil.copy(recording, self.path("good.h5"))
        self.damage(recording, 25)
        done = self.mpirun(2, *self.words(recording, "--mpi"))
        self.assert_one_error(done, 1, f"rank 1: {recording}", "keeps")
        is_there = self.assert_part(want, self.errors(done)[0])
        os.replace(good, recording)
        self.go_on(recording, 3, np.count_nonzero(is_there))

    def damage(self, recording, number):
        """Spoil a compressed chunk of a recording."""
        with h5py.File(recording) as file:
            chunk = file["voltages"].id.get_chunk_info(number)
        program.overwrite(recording, chunk.byte_offset + 20, bytes(40))

    def test_no_room(self):
        samples = program.noise(171, 12, 2, 40_000)
        recording = self.write(program.Scene(samples))
        for compression in "none", "gzip":
            self.configure(oracle.Setup(64, 0.002, taps=4, precision="int8"),
                           {"output.compression": compression})
            want = self.keep_want(recording)
            for size in 20_000, 600_000:
                with self.subTest(compression=compression, size=size):
                    done = self.mpirun(2, *self.words(recording, "--mpi"),
                                       before=("prlimit", f"--fsize={size}"))
                    self.assert_one_error(done, 1, "out.uvh5.part")
                    # an uncompressed file takes its room at once
                    has_dumps = compression == "gzip" and size == 600_000
                    self.assertEqual("keeps" in done.stderr, has_dumps)
                    if has_dumps:
                        is_there = self.assert_part(want, self.errors(done)[0])
                        self.go_on(recording, 2, np.count_nonzero(is_there))
                    self.assertEqual(self.files(), [])

    def test_folders_that_are_not_shared(self):
        """A rank writes into a file of the same name elsewhere."""
        self.set_up()
        here, there = self.path("here"), self.path("there")
        for folder in here, there:
            os.mkdir(folder)
        self.save(os.path.join(there, "out.uvh5.part"), "")
        words = ["correlate", self.config, self.eventful(), "-o", "out.uvh5",
                 "--mpi"]
        done = self.others(1, words, 1, words, before=("--wdir", here),
                           more_before=("--wdir", there))
        self.assert_one_error(done, 1, "out.uvh5.part: 4 of 7 dumps did not "
                              "arrive", "out.uvh5.part keeps 3 dumps")
        self.assertEqual(sorted(os.listdir(here)),
                         ["out.uvh5.part", "out.uvh5.part.undo"])

    # --- signals --------------------------------------------------------------

    def test_a_signal_to_one_rank_stops_all(self):
        """The signal passes within milliseconds; meanwhile rank 1 must not
        finish all dumps before those of rank 2, or the result would have them:
        it waits at its second of 67, and one takes 5 ms."""
        recording = self.many_dumps(n_antennas=12)
        extra = "--quiet", "--set", "correlator.kernel=reference"
        want = self.keep_want(recording, *extra)
        for victim in 0, 2:
            with self.subTest(victim=victim):
                process, ranks = self.start_ranks(
                    3, recording, *self.words(recording, "--mpi", *extra),
                    share=0.34)
                self.wait_for_dump(process, self.output + ".part")
                os.kill(sorted(ranks)[victim], signal.SIGTERM)
                errors = self.errors_of(process)
                self.assertEqual(process.returncode, 130, errors)
                lines = [line for line in errors.splitlines()
                         if line.startswith("fx8: ")]
                self.assertEqual(len(lines), 1, errors)
                self.assertRegex(lines[0], r"interrupted after \d+ of 201 dumps")
                is_there = self.assert_part(want, lines[0])
                self.assertFalse(np.all(is_there))
                os.remove(self.output + ".part")
                self.assertEqual(self.files(), [])

    def test_resume(self):
        """What several ranks have left, others go on with: more, fewer, one
        process; and they go on with what one process has left."""
        recording, look = self.many_dumps(), self.path("look.h5")
        words = self.words(recording, "--quiet", "--set",
                           f"postprocess.quicklook={look}")
        self.well(*words)
        os.rename(self.output, self.path("want"))
        os.rename(look, self.path("want.h5"))
        go_on = [*words, "--resume"]
        for n_before, n_after in ((3, 2), (2, 1), (1, 3)):
            with self.subTest(before=n_before, after=n_after):
                extra = ("--mpi",) if n_before > 1 else ()
                process, ranks = self.start_ranks(
                    n_before, recording, *words, *extra)
                self.wait_for_dump(process, self.output + ".part")
                os.kill(max(ranks), signal.SIGUSR1)
                errors = self.errors_of(process)
                self.assertEqual(process.returncode, 75, errors)
                self.assertRegex(errors, r"paused after (\d+) of 201 dumps; "
                                 r"\S+ keeps \1 dumps?: --resume goes on")
                with h5py.File(self.output + ".part", "r") as file:
                    marks = file["fx8/checksum"][...]
                # on the disk, whichever rank has written it
                self.assertTrue((marks[marks != -1] < 0).all(), marks)
                if n_after == 1:
                    self.well(*go_on)
                else:
                    done = self.mpirun(n_after, *go_on, "--mpi")
                    self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_same(self.output, self.path("want"))
                self.assert_same(look, self.path("want.h5"))
                os.remove(self.output)
                os.remove(look)

    def test_a_signal_to_the_launcher(self):
        """It passes some on, waits, and ends with the code of the ranks."""
        recording = self.many_dumps()
        self.well(*self.words(recording, "--quiet"))
        os.rename(self.output, self.path("want"))
        words = self.words(recording, "--quiet", "--mpi")
        for number in passed_on():
            with self.subTest(signal=number.name):
                process, _ = self.start_ranks(3, recording, *words)
                self.wait_for_dump(process, self.output + ".part")
                process.send_signal(number)
                errors = self.errors_of(process)
                is_pause = number == signal.SIGUSR1
                self.assertEqual(process.returncode, 75 if is_pause else 130,
                                 errors)
                self.assertRegex(errors, "paused after" if is_pause
                                 else "interrupted after")
                done = self.mpirun(2, *words, "--resume")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_same(self.output, self.path("want"))
                os.remove(self.output)

    def many_shared(self):
        """4 dumps of 4 segments, for more ranks than dumps."""
        recording = self.many_dumps()
        self.configure(oracle.Setup(4, 0.1, precision="both"),
                       {"correlator.threads": 1})
        self.int8 = self.path("out.int8.uvh5")
        return recording

    def start_shared(self, recording):
        """Start 5 ranks, and wait for the first dump."""
        self.output, output = self.int8, self.output
        process, ranks = self.start_ranks(
            5, recording, "correlate", self.config, recording, "-o", output,
            "--mpi", "--quiet")
        self.wait_for_dump(process, self.output + ".part")
        self.output = output
        return process, sorted(ranks)

    def test_a_signal_to_ranks_that_share_dumps(self):
        """As to one process: the dump in progress is finished, the result has
        the first dumps."""
        recording = self.many_shared()
        self.well(*self.words(recording, "--quiet"))
        want = program.read(self.int8)
        for victim in 0, 3:
            with self.subTest(victim=victim):
                for name in self.files():
                    os.remove(self.path(name))
                process, ranks = self.start_shared(recording)
                os.kill(ranks[victim], signal.SIGTERM)
                errors = self.errors_of(process)
                self.assertEqual(process.returncode, 130, errors)
                found = re.findall(r"^fx8: .*interrupted after (\d) of 4 dumps: "
                                   "the result holds these", errors,
                                   re.MULTILINE)
                self.assertEqual(len(found), 1, errors)
                n = int(found[0])
                self.assertTrue(0 < n < 4)
                self.assertEqual(self.files(),
                                 ["out.fp32.uvh5", "out.int8.uvh5"])
                np.testing.assert_array_equal(
                    program.read(self.int8).visibilities,
                    want.visibilities[:n])

    def test_resume_shared_dumps(self):
        """Paused or killed; others go on, who share what is left or not."""
        recording = self.many_shared()
        self.well(*self.words(recording, "--quiet"))
        for name in self.files():
            os.rename(self.path(name), self.path(f"{name}.want"))
        for victim, number, n_after in ((1, signal.SIGUSR1, 3),
                                        (4, signal.SIGKILL, 1)):
            with self.subTest(victim=victim, ranks=n_after):
                process, ranks = self.start_shared(recording)
                os.kill(ranks[victim], number)
                errors = self.errors_of(process)
                if number == signal.SIGUSR1:
                    self.assertEqual(process.returncode, 75, errors)
                    self.assertRegex(errors, r"paused after [1-3] of 4 dumps")
                go_on = self.words(recording, "--resume", "--quiet")
                if n_after == 1:
                    self.well(*go_on)
                else:
                    done = self.mpirun(n_after, *go_on, "--mpi")
                    self.assertEqual(done.returncode, 0, done.stderr)
                for name in "out.fp32.uvh5", "out.int8.uvh5":
                    self.assert_same(self.path(name),
                                     self.path(f"{name}.want"))
                    os.remove(self.path(name))

    def test_a_failure_where_ranks_share_dumps(self):
        """A rank that cannot read its part; a rank 0 that cannot write."""
        samples = program.noise(11, 3, 1, 400_000)
        recording = self.write(program.Scene(samples), chunks=(3, 1, 4000),
                               compression="gzip")
        self.configure(oracle.Setup(4, 0.2, precision="fp32"))
        done = self.mpirun(4, *self.words(recording, "--mpi"),
                           before=("prlimit", "--fsize=20000"))
        self.assert_one_error(done, 1, "out.uvh5.part")
        self.damage(recording, 11)
        done = self.mpirun(4, *self.words(recording, "--mpi"))
        self.assert_one_error(done, 1, f"rank 1: {recording}")
        self.assertEqual(self.files(), [])

    def test_going_on_where_ranks_share_dumps(self):
        """A .part with the first of two dumps; a rank that cannot read its part
        of the second, and then one that can."""
        samples = program.noise(11, 3, 1, 400_000)
        recording = self.write(program.Scene(samples), chunks=(3, 1, 4000),
                               compression="gzip")
        self.configure(oracle.Setup(4, 0.2, precision="fp32"))
        want, part = self.keep_want(recording), self.output + ".part"
        good = shutil.copy(recording, self.path("good.h5"))
        shutil.copy(self.path("want"), part)
        with h5py.File(part, "r+") as file:
            file["fx8/checksum"][1] = -1
            for name in "visdata", "flags", "nsamples":
                values = file[f"Data/{name}"]
                values[len(values) // 2:] = 0
        self.damage(recording, 75)
        done = self.mpirun(4, *self.words(recording, "--mpi", "--resume"))
        self.assert_one_error(done, 1, f"rank 3: {recording}")
        self.assert_part(want, self.errors(done)[0])
        os.replace(good, recording)
        self.go_on(recording, 4, 1)

    def test_no_memory_for_parts(self):
        """What a session asks for, and then what its rank does."""
        recording = self.write(program.Scene(program.noise(13, 64, 2, 36_000)))
        limit, words = 1, self.words(recording)
        for is_for_parts in False, True:
            keys = {"correlator.memory_limit_mib": limit}
            self.set_up("both", keys, **self.SEGMENTS)
            done = self.mpirun(3, *words, "--mpi")
            self.assert_one_error(done, 2, "memory_limit_mib")
            line = self.errors(done)[0]
            self.assertEqual("ranks share dumps" in line, is_for_parts)
            if not is_for_parts:
                dry = self.mpirun(3, *words, "--mpi", "--dry-run")
                self.assertEqual(self.errors(dry), [line])
            limit = int(re.search(r"expected at least (\d+) MiB", line)[1])
        self.set_up("both", {"correlator.memory_limit_mib": limit},
                    **self.SEGMENTS)
        done = self.mpirun(3, *words, "--mpi")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_dry_run_needs_what_the_run_does(self):
        """Rank 0 receives packed dumps; of several ranks, no session makes the
        quick-look."""
        recording = self.write(program.Scene(program.noise(14, 16, 2, 12_000)))
        for keys in ({"output.compression": "gzip"},
                     {"postprocess.quicklook": self.path("look.h5")}):
            self.set_up("int8", {"correlator.memory_limit_mib": 1, **keys},
                        channels=512, dump_s=0.005)
            words = self.words(recording, "--mpi")
            dry = self.errors(self.mpirun(3, *words, "--dry-run"))
            self.assertIn("memory_limit_mib", dry[0])
            self.assertEqual(dry, self.errors(self.mpirun(3, *words)))

    def test_another_recording_of_that_name(self):
        """Rank 0 sees it for all."""
        recording = self.many_dumps()
        process, ranks = self.start_ranks(
            3, recording, *self.words(recording, "--quiet", "--mpi"))
        self.wait_for_dump(process, self.output + ".part")
        os.kill(max(ranks), signal.SIGUSR1)
        self.errors_of(process)
        self.assertEqual(process.returncode, 75)
        part = self.output + ".part"
        before = program.content(part)
        done = self.mpirun(3, *self.words(recording, "--mpi"))
        # how they were started is not known
        self.assert_one_error(done, 2, "out.uvh5.part: exists")
        self.assertTrue(self.errors(done)[0].endswith(
            "; to go on with it: --resume"))
        with h5py.File(recording, "r+") as file:
            file["voltages"][...] = file["voltages"][...][..., ::-1]
        done = self.mpirun(3, *self.words(recording, "--mpi", "--resume"))
        self.assert_one_error(done, 2, "out.uvh5.part: dump ",
                              "is not what this run computes")
        self.assertEqual(program.content(part), before)

    def test_killed_without_a_dump_of_rank_0(self):
        """More ranks than dumps, and only the shorter last one is
        finished: it counts, as its gains are in the file."""
        recording = self.many_dumps(n_antennas=3)
        # time to kill it: the last dump has less to read
        self.environment["FX8_BLOCK_SAMPLES"] = "8"
        for compression in "none", "gzip":
            with self.subTest(compression=compression):
                self.configure(oracle.Setup(64, 0.25, precision="int8"), {
                    "correlator.threads": 1, "correlator.kernel": "reference",
                    "output.compression": compression})
                process, ranks = self.start_ranks(
                    3, recording, *self.words(recording, "--mpi", "--quiet"),
                    share=1)
                self.wait_for_dump(process, self.output + ".part")
                for rank in ranks:
                    # the launcher kills the others, and may come first
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(rank, signal.SIGKILL)
                self.errors_of(process)
                with h5py.File(self.output + ".part") as file:
                    n = np.count_nonzero(file["fx8/checksum"][...] != -1)
                self.assertGreater(n, 0)
                done = self.well(*self.words(recording, "--resume"))
                self.assertIn(f"; {n} finished before", done.stdout)
                os.rename(self.output, self.path("got"))
                self.well(*self.words(recording, "--quiet"))
                self.assert_same(self.path("got"), self.output)
                os.remove(self.output)

    def test_a_killed_rank(self):
        """The launcher ends the others; what was marked is right, and --resume
        goes on with it."""
        recording = self.many_dumps()
        want = self.keep_want(recording)
        process, ranks = self.start_ranks(
            3, recording, *self.words(recording, "--mpi", "--quiet"))
        self.wait_for_dump(process, self.output + ".part")
        os.kill(sorted(ranks)[1], signal.SIGKILL)
        self.errors_of(process)
        self.assertNotEqual(process.returncode, 0)
        part = self.output + ".part"
        with h5py.File(part) as file:
            n = np.count_nonzero(file["fx8/checksum"][...] != -1)
        self.assertGreater(n, 0)
        self.assert_part(want, f"; {part} keeps {n} dumps: --resume goes on",
                         n_killed=3)
        self.go_on(recording, 4, n)
