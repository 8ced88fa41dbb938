# SPDX-License-Identifier: BSD-3-Clause
"""Runs that go on: whatever ended a run, with --resume the same command
completes its result, which is then the one of a run that nothing disturbed.

Shows (failures, resume): after a full disk, SIGUSR1, SIGTERM, and where dumps or
    the gains were damaged since, `--resume` completes the result: every dataset
    and attribute is that of an undisturbed run, but for the date and the command
    in its history, and no finished dump is computed again. A .part of another
    recording, configuration, version or kernel is refused with each difference
    named, and stays as it is
Within: equal
"""
import os
import resource
import shutil
import signal
import subprocess

import h5py
import hdf5plugin
import numpy as np

import oracle
import program
import same_file
from resumed import ResumedJob


class Resume(ResumedJob):
    """Runs that end in other ways than by a kill."""

    def end_early(self, number, *extra, **options):
        """End a run amid the recording; before any dump it finishes one."""
        return self.end(self.start_held(*extra), number, **options)

    def test_full_disk(self):
        self.job({"output.compression": "gzip"})
        size = os.path.getsize(self.want[self.output])
        for share in (0.3, 0.6, 0.9):
            self.clear()
            limit = int(share * size)
            done = self.correlate(
                self.input, "--quiet", preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_FSIZE, (limit, limit)))
            self.assert_one_line(done, 1, "cannot write", "out.uvh5.part keeps",
                                 ": --resume goes on")
            self.assertGreater(self.complete(), 0)

    def test_usr1_pauses(self):
        """As batch systems send it: exit code 75, on which scripts requeue the
        same command."""
        self.job()
        out, err = self.end_early(signal.SIGUSR1, "--resume", code=75)
        self.assertIn("no dump finished before: from the start", out)
        self.assertRegex(err, r"^fx8: error: paused after (\d+) of \d+ dumps; "
                         r"\S+out\.uvh5\.part keeps \1 dumps?: "
                         r"--resume goes on$")
        self.assertFalse(os.path.exists(self.output))
        self.assertGreater(self.complete(), 0)

    def test_usr1_while_it_starts(self):
        """Before there is a .part, it waits for the first samples."""
        self.job()
        process = self.start(*self.words(self.input), env={
            **os.environ, **self.holding(self.input, share=0)})
        self.wait_for_handler(process)
        self.end(process, signal.SIGUSR1, code=75)
        self.assertGreater(self.complete(), 0)

    def test_packed_by_bitshuffle(self):
        os.environ["HDF5_PLUGIN_PATH"] = hdf5plugin.PLUGIN_PATH
        self.addCleanup(os.environ.pop, "HDF5_PLUGIN_PATH")
        self.job({"output.compression": "bitshuffle"})
        self.end_early(signal.SIGUSR1, code=75)
        self.assertGreater(self.complete(), 0)

    def test_packed_by_several_threads(self):
        """Dumps of two chunks; without compression they have the same values."""
        setup = oracle.Setup(16384, 0.016384, taps=1, precision="fp32")
        keys = {"correlator.threads": 2}
        self.job({**keys, "output.compression": "gzip"}, setup=setup)
        with h5py.File(self.want[self.output], "r") as file:
            self.assertEqual(file["Data/visdata"].chunks[0], 5)
        self.end_early(signal.SIGUSR1, code=75)
        self.assertGreater(self.complete(), 0)
        packed = self.path("packed.uvh5")
        os.rename(self.want[self.output], packed)
        self.job(keys, setup=setup)
        self.assertEqual(same_file.differences(packed, self.want[self.output]),
                         ["Header/extra_keywords/CONFSHA", "Header/history"])

    def test_result_that_a_signal_ended(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.job({"postprocess.quicklook": self.look},
                     ("out.uvh5", "look.h5"))
            _, err = self.end_early(number, "--quiet")
            self.assertIn("--resume goes on", err)
            self.assertFalse(os.path.exists(self.part))
            self.assertGreater(self.finished(), 0)
            # killed while it goes on
            self.end(self.start_held("--resume"), signal.SIGKILL,
                     code=-signal.SIGKILL)
            self.assertGreater(self.complete(), 0)

    def test_result_that_cannot_be_taken_up(self):
        """It is a .part by then, and the message says so."""
        self.job()
        self.end_early(signal.SIGTERM, "--quiet")
        done = self.correlate(
            self.input, "--quiet", "--resume",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                  (4096, 4096)))
        self.assert_one_line(done, 1, "cannot write", "out.uvh5.part keeps what "
                             "was finished before: --resume goes on")
        self.assertFalse(os.path.exists(self.output))
        self.assertGreater(self.complete(), 0)

    def test_another_quick_look_stays(self):
        """Whatever has its name by then is not of this run."""
        self.job({"postprocess.quicklook": self.look},
                 ("out.uvh5", "look.h5"))
        self.end_early(signal.SIGTERM, "--quiet")
        with h5py.File(self.look, "r+") as file:
            file.attrs["input"] = "other.h5"
        done = self.correlate(self.input, "--resume")
        self.assert_one_line(done, 2, "look.h5: exists", "out.uvh5.part keeps "
                             "what was finished before")
        self.assertNotIn("goes on", done.stderr)
        with h5py.File(self.look) as file:
            self.assertEqual(file.attrs["input"], "other.h5")
        os.remove(self.look)
        self.assertGreater(self.complete(), 0)

    def test_complete_and_new(self):
        """The same command first, after a requeue, and after the end."""
        self.job()
        self.assertEqual(self.resume(), 0)
        self.check()
        before = program.content(self.output)
        self.assertEqual(self.resume(), self.n_dumps)
        self.assertEqual(program.content(self.output), before)
        self.refuse_as_is(self.output, (), "exists")

    # --- damage ---

    def test_damage(self):
        self.job()
        self.copy_want()
        self.left()
        with h5py.File(self.part, "r+") as file:
            data = file["Data/visdata"]
            rows = len(data) // self.n_dumps
            data[3 * rows] = data[3 * rows] + 1
        self.assertEqual(self.resume(), self.n_dumps - 1)
        self.check()

    def test_missing_counts(self):
        self.job()
        for name in "checksum", "valid_spectra", "dead", "clips":
            self.clear()
            self.copy_want()
            self.left(5)
            with h5py.File(self.part, "r+") as file:
                del file[f"fx8/{name}"]
            self.refuse_as_is(self.part, ("--resume",),
                              f"{self.part}: fx8/{name}: is missing", "--force")

    def test_damaged_gains(self):
        self.job()
        self.copy_want()
        self.left()
        with h5py.File(self.part, "r+") as file:
            file["fx8/gain"][0, 0] += 1
        done = self.well(*self.words(self.input, "--resume"))
        self.assertIn(f"warning: {self.part}: fx8/gain: damaged", done.stderr)
        self.assertEqual(self.kept(done.stdout), 0)
        self.check()
        with h5py.File(self.output, "r+") as file:
            file["fx8/gain"][0, 0] += 1
        self.refuse_as_is(self.output, ("--resume",), "its gains are damaged: "
                          "expected --force without --resume")

    def test_gains_that_another_rank_has_set(self):
        """Of an input that begins behind what is left to compute: a rank that was
        killed had set them, and they are not in the file."""
        self.job()
        late = 2 * 2 + 1
        for dumps in 5, self.n_dumps:
            self.clear()
            self.copy_want()
            self.left()
            with h5py.File(self.part, "r+") as file:
                file["fx8/checksum"][:5] = -1
                file["fx8/checksum"][dumps:] = -1
                file["fx8/gain_checksum"][0, late] = -1
                file["fx8/gain"][late] = 1
            self.assertEqual(self.resume(), dumps - 5)
            self.check()

    def test_holes(self):
        """Unfinished dumps between finished ones: all are computed; ended by a
        signal before that, nothing is cut."""
        self.job()
        self.copy_want()
        self.left()
        holes = [*range(1, self.n_dumps - 2, 2)]
        with h5py.File(self.part, "r+") as file:
            file["fx8/checksum"][holes] = -1
            rows = len(file["Data/visdata"]) // self.n_dumps
            for dump in holes:
                file["Data/visdata"][dump * rows:(dump + 1) * rows] = 1
        process = self.start_held("--quiet", "--resume")
        _, err = self.end(process, signal.SIGTERM)
        self.assertFalse(os.path.exists(self.output))
        self.assertIn("--resume goes on", err)
        self.assertGreaterEqual(self.finished(), self.n_dumps - len(holes))
        self.complete()

    def test_flags_of_spectral_kurtosis(self):
        """Dumps of 125 spectra; noise has some flags."""
        self.job({"flag.sk_false_alarm": 0.05}, setup=oracle.Setup(
            16, 0.002, taps=4, precision="int8"))
        want = program.read(self.want[self.output]).flags
        self.assertTrue(want.any((1, 2, 3)).all() and not want.all())
        self.copy_want()
        self.left(5)
        with h5py.File(self.part, "r+") as file:
            file["Data/flags"][5 * want.shape[1]:] = False
        self.assertEqual(self.complete(), 5)

    def test_complete_but_for_a_dump(self):
        """Under its final name, as a rank that wrote elsewhere leaves it."""
        self.job()
        shutil.copy(self.want[self.output], self.output)
        with h5py.File(self.output, "r+") as file:
            file["fx8/checksum"][2] = -1
        self.assertEqual(self.resume(), self.n_dumps - 1)
        self.check()

    # --- other runs ---

    def refuse_as_is(self, path, extra, *mentions):
        """Refused in one line; the file is not touched."""
        before = program.content(path)
        self.assert_one_line(self.correlate(self.input, *extra), 2, *mentions)
        self.assertEqual(program.content(path), before)

    def refusal(self, *words):
        """What a run is to be replaced by that finds a file in its way."""
        done = self.well(*words, code=2)
        self.assert_one_line(done, 2, ": exists", "--force")
        return done.stderr.partition("; to go on with it: ")[2]

    def paste(self, line):
        """Run a line; returns the dumps that were not computed again."""
        done = subprocess.run(line, shell=True, capture_output=True, text=True,
                              timeout=60, check=True)
        return self.kept(done.stdout)

    def test_without_resume(self):
        """Refused with the line that goes on."""
        self.job()
        self.config = shutil.copy(self.config, self.path("it's my.ini"))
        self.copy_want()
        self.left(5)
        self.refuse_as_is(self.part, (), "out.uvh5.part: exists")
        for words in (self.words(self.input),
                      ("correlate", "-o", self.output, "--", self.config,
                       self.input),
                      (*self.words(self.input), "--")):
            self.assertEqual(self.paste(self.refusal(*words)), 5)
            self.check()
            self.clear()
            self.copy_want()
            self.left(5)

    def test_no_line_that_goes_on(self):
        """It would be too long, or several."""
        self.job()
        self.copy_want()
        self.left(5)
        two_lines = shutil.copy(self.input, self.path("in\n2.h5"))
        long = 5 * ("--set", "observation.telescope=" + 250 * "t")
        for words in (self.words(self.input, *long), self.words(two_lines)):
            self.assertEqual(self.refusal(*words), "--resume\n")

    def test_ended_result_in_the_way(self):
        self.job()
        self.end_early(signal.SIGTERM, "--quiet")
        finished = self.finished()
        line = self.refusal(*self.words(self.input))
        self.assertEqual(self.paste(line), finished)
        self.check()
        self.assertEqual(self.refusal(*self.words(self.input)), "")

    def test_ended_result_beside_a_part_without_dumps(self):
        """Such as a run with --force leaves that is killed at once: to go on
        with that one, --force is needed again."""
        for words in ("--force",), ():
            self.job()
            self.end_early(signal.SIGTERM, "--quiet")
            finished = self.finished()
            self.copy_want()
            self.left(0)
            self.assertEqual(self.resume(*words), 0 if words else finished)
            self.check()

    def test_renamed_before_its_end(self):
        """It has all dumps, but not what is written after the last one."""
        for compression in "none", "gzip":
            self.job({"output.compression": compression})
            marks = np.zeros(1)
            for write in reversed(range(self.count_writes("--force"))):
                self.clear()
                self.correlate(self.input, "--quiet", environment=(
                    program.faulty("kill", self.part, write)))
                with h5py.File(self.part, "r") as file:
                    marks = file["fx8/checksum"][...]
                if (marks >= 2**32).all():
                    break
            self.assertTrue((marks >= 2**32).all())
            os.rename(self.part, self.output)
            self.assertEqual(self.resume(), self.n_dumps)
            self.check()

    def test_another_run(self):
        self.job()
        other = self.write(program.Scene(program.noise(3, 4, 2, 60_000),
                                         start_s=1_600_000_001), "other.h5")
        self.copy_want()
        self.left(5)
        cases = [
            (("--set", "quantizer.target_rms=21"),
             ("quantizer.target_rms = 20: expected 21",)),
            (("--set", "quantizer.dither=yes"),
             ("quantizer.dither = no: expected yes",)),
            (("--set", "channelizer.channels=32"),
             ("channelizer.channels = 64: expected 32", "Nfreqs: 64: expected "
              "32")),
            (("--set", "correlator.kernel=reference"),
             ("KERNEL: ", "expected reference", "--set correlator.kernel")),
            (("--fft-plan", "estimate"),
             ("FFTPLAN: ", "--fft-plan")),
            (("--precision", "fp32"), ("PRECISN: INT8: expected FP32",
                                       "correlator.precision = int8")),
            (("--set", "output.compression=gzip"),
             ("output.compression = none: expected gzip",)),
            # more differences than a message holds: what to do is not cut off
            (("--fft-plan", "estimate", "--precision", "fp32", *(
                word for key in ("quantizer.target_rms=21",
                                 "channelizer.channels=32",
                                 "channelizer.taps=3",
                                 "channelizer.window=hann",
                                 "correlator.kernel=reference",
                                 "correlator.integration_time_s=0.003",
                                 "observation.telescope=" + 40 * "t",
                                 "observation.instrument=" + 40 * "i",
                                 "array.antennas=0-2",
                                 "array.x_orientation=north",
                                 "output.compression=gzip")
                for word in ("--set", key))),
             (" more: expected the same run, or --force without --resume to "
              "replace it",)),
            # three keys and four items of the header: two keys fit
            (tuple(word for key in ("telescope", "instrument", "object")
                   for word in ("--set", f"observation.{key}={250 * key[0]}")),
             (f": observation.telescope =: expected {250 * 't'}; "
              f"observation.instrument =: expected {250 * 'i'}; and 5 more: "
              "expected",)),
        ]
        for extra, mentions in cases:
            with self.subTest(extra=extra):
                self.refuse_as_is(self.part, ("--resume", *extra),
                                  "out.uvh5.part: is of another run",
                                  *mentions)
        # keys that only decide how a run computes
        mine, self.input = self.input, other
        for extra, mentions in (
                ((), ()), (("--set", "observation.telescope=other"),
                           ("telescope_name: test: expected other",))):
            self.refuse_as_is(self.part, ("--resume", *extra),
                              "is of another run: INPUT: ", "in.h5", "other.h5",
                              *mentions, "time_array: 2459")
        self.input = mine
        for name, value, mention in (
                ("FX8VERS", b"0.0.9", "FX8VERS: 0.0.9: expected "),
                ("BACKEND", b"cuda 0 X", "BACKEND: cuda 0 X: expected cpu")):
            with h5py.File(self.part, "r+") as file:
                words = file["Header/extra_keywords"]
                was = words[name][()]
                program.put(f"Header/extra_keywords/{name}",
                            np.bytes_(value))(file)
            self.refuse_as_is(self.part, ("--resume",), mention)
            with h5py.File(self.part, "r+") as file:
                program.put(f"Header/extra_keywords/{name}", was)(file)
        self.assertEqual(self.resume("--set", "correlator.threads=2"), 5)

    def refuse_another_recording(self, mention, **recording):
        """Of the same name, length and start: refused, and nothing is touched;
        with the right one the run goes on."""
        before = self.contents(self.input)
        self.record(seed=222, **recording)
        done = self.correlate(self.input, "--resume")
        self.assert_one_line(done, 2, mention, "is not what this run computes",
                             "recording", "--force")
        self.assertEqual(self.contents(self.input), before)
        self.record(**recording)

    def test_another_recording_of_that_name(self):
        centres = self.save("centres.csv", "name,ra_deg,dec_deg\n"
                            "A,60,-27\nB,80,-30\n")
        for keys, outputs in (
                ({}, ("out.uvh5",)),
                ({"correlator.precision": "fp32"}, ("out.uvh5",)),
                ({"correlator.precision": "both",
                  "output.compression": "gzip",
                  "postprocess.quicklook": self.look},
                 ("out.int8.uvh5", "out.fp32.uvh5", "look.h5")),
                ({"delay.mode": "track", "delay.phase_centers": centres,
                  "delay.dut1_s": 0}, ("out.A.uvh5", "out.B.uvh5"))):
            with self.subTest(keys=keys):
                self.job(keys, outputs)
                self.copy_want()
                self.left(5)
                first = os.path.basename(self.outputs[0])
                self.refuse_another_recording(f"{first}.part: dump ")
                self.assertEqual(self.complete(), 5)
                self.refuse_another_recording(f"{first}: dump ")

    def test_another_recording_of_an_ended_result(self):
        self.job()
        self.end_early(signal.SIGTERM)
        self.refuse_another_recording("out.uvh5: dump ")
        self.assertGreater(self.complete(), 0)

    def test_another_recording_shows_where_it_has_data(self):
        """The last finished dumps have none."""
        missing = {"more_missing": [(-1, -1, 50_000, 10_000)]}
        self.record(**missing)
        self.job()
        self.copy_want()
        self.left(self.n_dumps - 1)
        self.refuse_another_recording("out.uvh5.part: dump 25:", **missing)
        self.assertEqual(self.complete(), self.n_dumps - 1)

    def test_header_that_differs(self):
        """Every item but what belongs to a run, and its lengths."""
        centres = self.save("centres.csv", "name,ra_deg,dec_deg\nA,60,-27\n")
        self.job({"delay.mode": "track", "delay.phase_centers": centres,
                  "delay.dut1_s": 0}, ("out.A.uvh5",))
        self.copy_want()
        self.left(5)
        part = self.outputs[0] + ".part"
        names = []
        with h5py.File(part) as file:
            file["Header"].visititems(lambda name, item: names.append(name) if
                                      isinstance(item, h5py.Dataset) else None)
        for name in sorted({*names} - {"history", "Nblts", "Ntimes"}):
            # INPUT may differ, CLIPMAX is of the end
            if name.endswith(("/INPUT", "/CLIPMAX")):
                continue
            with self.subTest(name=name):
                with h5py.File(part, "r+") as file:
                    item = file["Header"][name]
                    was = item[()]
                    at = (-1,) * item.ndim if item.ndim else ()
                    is_text = item.dtype.kind == "S"
                    item[at] = (b"?" if is_text else not was
                                if item.dtype == bool else item[at] + 1)
                self.refuse_as_is(part, ("--resume",), "is of another run",
                                  os.path.basename(name) + ": ")
                with h5py.File(part, "r+") as file:
                    file["Header"][name][...] = was
        self.assertGreater(len(names), 60)
        # and an item that is gone
        with h5py.File(part, "r+") as file:
            was = file["Header/uvw_array"][...]
            del file["Header/uvw_array"]
        self.refuse_as_is(part, ("--resume",), "uvw_array: missing")
        with h5py.File(part, "r+") as file:
            file["Header/uvw_array"] = was
        self.assertEqual(self.complete(), 5)

    def test_recording_with_another_name(self):
        """As of a job in another folder, or on another disk."""
        self.job({"postprocess.quicklook": self.look},
                 ("out.uvh5", "look.h5"))
        folder, name = os.path.split(self.input)
        spelled = os.path.join(folder, ".", name)
        elsewhere = self.path("elsewhere.h5")
        shutil.copy(self.input, elsewhere)
        for path, is_other in ((spelled, False), (elsewhere, True)):
            with self.subTest(path=path):
                self.clear()
                self.copy_want()
                self.left(5)
                shutil.copy(self.want[self.look], self.look)
                done = self.well(*self.words(path, "--resume"))
                self.assertIn("; 5 finished before)", done.stdout)
                self.assertEqual(
                    f"INPUT: {self.input}: has another name now" in
                    done.stderr, is_other, done.stderr)
                self.check()

    def test_tables_that_have_changed(self):
        """The name of a table is the same, what it says is not."""
        head = "number,pol,amplitude,phase_deg,delay_ns\n"
        gains = self.save("gains.csv", head + "2,X,2,0,0\n")
        antennas = self.save(
            "antennas.csv", "number,east_m,north_m,up_m,cable_delay_ns\n" + "".join(
                f"{i},{10 * i},0,0,{i}\n" for i in range(4)))
        carriers = self.save("rfi.csv", "frequency_hz\n150e6\n")
        self.job({"array.gains": gains, "array.positions": antennas,
                  "flag.channels": carriers})
        self.end_early(signal.SIGUSR1, code=75)
        for path, old, new, mention in (
                (gains, "2,X,2,", "2,X,3,", "fx8/calibration: 2: expected 3"),
                (antennas, "0,0,3", "0,0,4", "fx8/cable_delay: "),
                (carriers, "150e6", "151e6",
                 "flag.channels = 1.5e+08: expected 1.51e+08")):
            was = program.text(path)
            self.assertEqual(was.count(old), 1)
            self.save(os.path.basename(path), was.replace(old, new))
            self.refuse_as_is(self.part, ("--resume",), mention)
            self.save(os.path.basename(path), was)
        self.assertGreater(self.complete(), 0)

    def test_one_result_is_gone(self):
        """The others are neither used nor replaced."""
        self.job({"correlator.precision": "both"},
                 ("out.int8.uvh5", "out.fp32.uvh5"))
        for is_part in False, True:
            self.clear()
            self.copy_want()
            self.left(5)
            if not is_part:
                for path in self.outputs:
                    os.replace(path + ".part", path)
            kept, gone = (path + ".part" * is_part for path in self.outputs)
            os.remove(gone)
            before = self.contents()
            done = self.well(*self.words(self.input, "--resume"), code=2)
            self.assert_one_line(done, 2, f"{kept}: belongs together with "
                                 f"{self.outputs[1]}, which is missing: "
                                 "expected both, or --force ")
            self.assertNotIn("goes on", done.stderr)
            if not is_part:     # what a run leaves that is killed at once
                self.save(gone + ".part", "")
                self.assert_one_line(
                    self.well(*self.words(self.input, "--resume"), code=2), 2,
                    f"{kept}: none of its dumps is finished in all results: "
                    "expected --force without --resume")
                os.remove(gone + ".part")
            self.assertEqual(self.contents(), before)
            self.well(*self.words(self.input, "--resume", "--force"))
            self.check()

    def test_links(self):
        """They are neither followed nor replaced."""
        self.job()
        for name in self.part, self.output:
            self.copy_want()
            self.left(5)
            kept = self.path("kept")
            os.rename(self.part, kept)
            os.symlink(kept, name)
            before = program.content(kept)
            self.assert_one_line(self.correlate(self.input, "--resume"), 2,
                                 f"{name}: a symbolic link: expected a file")
            self.assertEqual(program.content(kept), before)
            self.assertEqual(os.readlink(name), kept)
            os.remove(name)

    def test_recording_that_has_grown(self):
        self.job()
        self.copy_want()
        self.left(5)
        with h5py.File(self.part, "r+") as file:
            file["fx8/planned_dumps"][...] = self.n_dumps - 1
        self.refuse_as_is(self.part, ("--resume",), "fx8/planned_dumps: "
                          f"{self.n_dumps - 1}: expected {self.n_dumps}")

    def test_ended_result_of_another_run_stays(self):
        self.job()
        os.rename(self.want[self.output], self.output)
        self.refuse_as_is(self.output, ("--resume", "--set",
                                        "quantizer.target_rms=21"),
                          "out.uvh5: is of another run")
        self.assertEqual(self.left_over(), [])

    def test_two_runs(self):
        self.job()
        process = self.start_held("--quiet")
        done = self.correlate(self.input, "--resume")
        self.assert_one_line(done, 2, "out.uvh5.part: locked")
        self.end(process, code=0)
        self.check()
