# SPDX-License-Identifier: BSD-3-Clause
"""The output file: existing, unwritable, no room; results of simulate. A file
under the final name is always whole.

Shows: as test_output.c
"""
import os
import resource
import signal
import subprocess
import tempfile
import time

import h5py
import numpy as np

import oracle
import program


def children_s():
    """Seconds of CPU of all programs that have ended."""
    times = os.times()
    return times.children_user + times.children_system


class Output(program.Job):
    """The place of the result, and failures to write it."""

    def test_existing_output(self):
        """Only a run that succeeds with --force replaces it."""
        self.save(self.output, "precious")
        self.well(*self.words(self.path("absent.h5")), code=(1, 2))
        done = self.correlate(self.recording())
        self.assert_one_line(done, 2, "out.uvh5", "--force")
        self.well(*self.words(self.path("absent.h5"), "--force"), code=1)
        self.assertEqual(program.text(self.output), "precious")
        self.well(*self.words(self.recording(), "--force"))
        self.assertEqual(program.read(self.output).header["Nfreqs"], 16)

    def test_no_folder_or_a_folder(self):
        os.mkdir(self.output)
        done = self.well(*self.words(self.recording(), "--force"), code=(1, 2))
        self.assert_one_line(done, done.returncode, "out.uvh5")
        self.assertEqual(os.listdir(self.output), [])
        self.assertFalse(os.path.exists(self.output + ".part"))
        self.output = self.path("no/such/folder/out.uvh5")
        done = self.well(*self.words(self.recording()), code=(1, 2))
        self.assert_refused(done, done.returncode, "no/such/folder")

    def test_names_of_other_formats_are_warned_of(self):
        recording = self.recording()
        for name, method in (("a.ms", "write_ms"), ("b.MS", "write_ms"),
                             ("c.fits", "write_uvfits"),
                             ("d.UVFits", "write_uvfits"),
                             ("e.ms.uvh5", None), ("f.msx", None)):
            with self.subTest(name=name):
                self.output = self.path(name)
                done = self.well(*self.words(recording, "--quiet"), keys={
                    "postprocess.quicklook": f"{self.output}.h5"})
                self.assertEqual(program.read(self.output).header["Nfreqs"], 16)
                said = [line for line in done.stderr.splitlines()
                        if "written" in line]
                self.assertEqual(len(said), method is not None, said)
                if method is not None:
                    self.assertIn(f"warning: {self.output}: UVH5 is written, "
                                  f"whatever the name: expected "
                                  f"{self.output.rpartition('.')[0]}.uvh5",
                                  said[0])
                    self.assertIn(f'.{method}("{self.output}",', said[0])
        self.output = self.path("g.ms")
        look = self.path("h.fits")
        done = self.well(
            *self.words(recording, "--quiet", "--precision=both"),
            keys={"postprocess.quicklook": look}, code=(0, 3))
        # the name g.ms.int8.uvh5 already states the format
        self.assertEqual([line for line in done.stderr.splitlines()
                          if "written" in line],
                         [f"fx8: warning: {look}: HDF5 is written, whatever "
                          "the name"])

    def test_unwritable_directory(self):
        recording = self.recording()
        folder = self.path("closed")
        os.mkdir(folder, 0o555)
        self.output = os.path.join(folder, "out.uvh5")
        done = self.correlate(recording, as_nobody=True)
        self.assertIn(done.returncode, (1, 2))
        self.assert_refused(done, done.returncode, "closed")
        self.assertEqual(os.listdir(folder), [])

    def test_left_over_part(self):
        """A .part left by a kill before the first dump is replaced, any other
        one only with --force."""
        part = self.output + ".part"
        recording = self.recording()
        for content, force, code in (
                (b"", (), 0), (bytes(5000), (), 0), (b"precious", (), 2),
                (b"precious", ("--force",), 0)):
            with self.subTest(content=content[:8], force=force):
                self.save(part, content)
                done = self.well(*self.words(recording, *force), code=code)
                self.assertEqual(os.path.exists(part), code != 0)
                if code == 0:
                    program.read(self.output)
                    os.remove(self.output)
                else:
                    self.assert_one_line(done, 2, "out.uvh5.part: exists",
                                         "--force")
                    self.assertNotIn("--resume", done.stderr)
                    self.assertEqual(program.content(part), content)

    def test_left_over_dumps(self):
        """A .part without a finished dump is replaced. One with a dump is not,
        be it a UVH5 file or the quick-look next to it."""
        part, look = self.output + ".part", self.path("look.h5")
        recording = self.recording()
        quick = ("--set", f"postprocess.quicklook={look}")
        self.well(*self.words(recording, *quick))
        for has_dump in (False, True):
            with self.subTest(has_dump=has_dump):
                os.rename(self.output, part)
                os.rename(look, look + ".part")
                with h5py.File(part, "a") as file:
                    file["fx8/checksum"][:] = -1
                    file["fx8/checksum"][-1] = 0 if has_dump else -1
                done = self.correlate(recording, *quick)
                if has_dump:
                    self.assert_one_line(done, 2, "out.uvh5.part: exists")
                    done = self.correlate(recording, *quick, "--force")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.left_over(), [])


class NoRoom(program.Job):
    """Failing writes: one line, exit 1, no crash; finished dumps are kept."""

    def big(self, compression="none"):
        """Enough antennas and channels for some megabytes of output."""
        generator = np.random.default_rng(171)
        samples = generator.integers(-60, 60, (12, 2, 40_000)) + 1j
        self.configure(oracle.Setup(64, 0.002, taps=4, precision="int8"),
                       {"output.compression": compression})
        return self.write(program.Scene(samples), "big.h5")

    def test_limit_on_file_size(self):
        """Uncompressed results reserve their space before the first dump."""
        for compression, keeps in (("none", False), ("gzip", True)):
            recording = self.big(compression)
            self.well(*self.words(recording))
            whole = os.path.getsize(self.output)
            want = self.result(recording, "--force")
            self.assertGreater(whole, 1_000_000)
            kept = []
            # from no room for the header to none for the last dump
            for size in (0, 2000, 20_000, whole // 4, whole // 2, whole - 5000):
                def limit(size=size):
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
                with self.subTest(size=size, whole=whole):
                    done = self.correlate(recording, "--quiet",
                                          preexec_fn=limit)
                    kept.append(self.assert_failed(done, want, "out.uvh5"))
            self.assertEqual(any(kept[:-1]), keeps, kept)
            self.assertGreater(kept[-1], 0)
            self.assertEqual(kept, sorted(kept))

    def test_limit_with_the_signal_left_alone(self):
        recording = self.big()

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        done = self.correlate(recording, "--quiet", preexec_fn=limit)
        self.assert_refused(done, 1, "out.uvh5")

    def test_full_disk(self):
        recording = self.big("gzip")
        want = self.result(recording)
        kept = 0
        disk = tempfile.mkdtemp(prefix="fx8-disk-")
        self.addCleanup(os.rmdir, disk)
        for size in (40, 400, 1000):
            with self.subTest(size_kib=size):
                mounted = os.geteuid() == 0 and subprocess.run(
                    ["mount", "-t", "tmpfs", "-o", f"size={size}k", "fx8",
                     disk], capture_output=True).returncode == 0
                if not mounted:
                    self.skipTest("needs the right to mount a small disk")
                try:
                    self.output = os.path.join(disk, "out.uvh5")
                    done = self.correlate(recording, "--quiet")
                    kept += self.assert_failed(done, want, "out.uvh5",
                                               "No space left")
                    self.assertEqual(os.listdir(disk), [])
                finally:
                    subprocess.run(["umount", disk], check=True)
        self.assertGreater(kept, 0)


class StandardOutput(program.Job):
    """It is no failure if the reader closes the pipe; a full disk is one."""

    def run_into(self, stdout, *arguments):
        return subprocess.run([program.FX8, *arguments], stdout=stdout,
                              stderr=subprocess.PIPE, text=True, timeout=60)

    def test_reader_that_left(self):
        commands = (("--help",), ("config", "--keys"),
                    ("info", self.recording()))
        for command in commands:
            with self.subTest(command=command):
                reader, writer = os.pipe()
                os.close(reader)
                done = self.run_into(writer, *command)
                os.close(writer)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_full_device(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = self.run_into(full, "config", "--keys")
        self.assert_one_line(done, 1, "standard output", "No space left")


class Simulated(program.Job):
    """fx8 simulate: two files, or none."""

    def setUp(self):
        super().setUp()
        self.sources, self.table = self.path("sky.csv"), self.path("ants.csv")
        self.save(self.table, "east_m,north_m,up_m\n0,0,0\n10,0,0\n")
        self.save(self.sources, "az_deg,el_deg,I\n10,60,1\n20,-5,1\n")
        self.save("config.ini", f"""
[observation]
sample_rate_hz = 1000000
dc_frequency_hz = 150e6
start_time_utc = 2020-09-13 12:26:40
[array]
positions = {self.table}
latitude_deg = -26.7
longitude_deg = 116.67
altitude_m = 377.8
[channelizer]
channels = 16
[correlator]
integration_time_s = 0.002
[simulate]
duration_s = 0.05
sources = {self.sources}
""")

    def simulate(self, output, *extra):
        return program.run("simulate", self.config, "-o", output, *extra)

    def test_warnings_in_words_of_people(self):
        done = self.simulate(self.path("v.h5"), "--set",
                             "simulate.noise_rms=127")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"noise_rms: [0-9.]+ % of the numbers")
        self.assertIn("1 of 2 sources lies below the horizon", done.stderr)
        self.assertNotIn("fainter", done.stderr)
        done = self.simulate(self.path("v.h5"), "--force", "--set",
                             "simulate.noise_rms=0.1")
        self.assertRegex(done.stderr, r"noise_rms: \d+ of \d+ inputs are "
                         r"fainter than 0.7 LSB rms, down to 0\.\d+: ")
        self.assertNotIn("HDF5", done.stderr)
        done = self.simulate(self.path("v.Fits"))
        self.assertIn("v.Fits: HDF5 is written, whatever the name", done.stderr)

    def test_the_truth_has_chosen_antennas(self):
        done = self.simulate(self.path("v.h5"), "--set", "array.antennas=1")
        self.assertIn("2 antennas, 2 polarisations", done.stdout)
        self.assertIn("1 of the antennas, 1 baseline, ", done.stdout)

    def test_no_input_is_overwritten(self):
        before = self.contents()
        for path in before:
            for link in ("v.h5", "v.h5.part", "v.true.uvh5",
                         "v.true.uvh5.part"):
                for force in ((), ("--force",)):
                    with self.subTest(path=path, link=link, force=force):
                        os.link(path, self.path(link))
                        done = self.simulate(self.path("v.h5"), *force)
                        os.remove(self.path(link))
                        self.assert_one_line(
                            done, 2, f"{link}: is a file that this run reads")
                        self.assertEqual(self.contents(), before)

    def stop(self, number, seconds, *settings):
        """A signal after so many seconds ends it, and nothing is left."""
        before, begin_s = sorted(os.listdir(self.folder)), children_s()
        process = self.start(
            "simulate", self.config, "-o", self.path("v.h5"),
            *(f"--set={setting}" for setting in settings))
        self.wait_for_handler(process)
        time.sleep(seconds)
        self.assertIsNone(process.poll())
        user, system = program.text(f"/proc/{process.pid}/stat").split()[13:15]
        sent_s = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        self.end(process, number)
        # however long it waits for a CPU; with checkers it ends slowly
        self.assertLess(children_s() - begin_s - sent_s, 3)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_a_signal_leaves_nothing(self):
        long = ("simulate.duration_s=1000", "correlator.threads=1")
        # header of 5 million dumps, then samples by the thousand million
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for seconds in (0.5, 1.5) if number == signal.SIGINT else (0.5,):
                with self.subTest(signal=number.name, seconds=seconds):
                    self.stop(number, seconds, *long)
        self.stop(signal.SIGTERM, 2, *long,
                  "correlator.integration_time_s=all")

    def test_no_room_is_found_before_any_work(self):
        """Which would take years."""
        done = self.simulate(self.path("v.h5"), "--set",
                             "simulate.duration_s=1e7", "--set",
                             "observation.sample_rate_hz=1e9")
        self.assert_one_line(done, 1, "v.h5.part", "GB needed")
        self.assertFalse(os.path.exists(self.path("v.h5.part")))
