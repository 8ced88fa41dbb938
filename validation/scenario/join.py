# SPDX-License-Identifier: BSD-3-Clause
"""fx8 join: results of parts of a recording, in time or by coarse channel.

Shows (commands, joined results): parts in time with the same gains, and coarse
    channels correlated one by one, joined in any order, give every dataset and
    attribute of one run, packed or not, but what data/README.md excepts; so do
    joins of joined files; gains that differ, clip fractions, keywords and keys
    of the configuration follow its rules; files that do not belong together,
    overlap, or are damaged are refused in one line with file, dataset and
    values; the output is made by the rules of every output, and a signal, a
    full disk or a refusal leaves none
Within: equal to the bit
Because: everything is copied
"""
import os
import resource
import shutil
import signal
from fractions import Fraction

import h5py
import numpy as np

import aavs_files
import oracle
import program

CHANNELS = (204, 205, 209)              # of the station, with a hole
START = Fraction(1_581_897_600)
BLOCK = 400
# of a run, or of all files
OF_A_RUN = {"Header/history", "Header/extra_keywords/CONFSHA",
            "Header/extra_keywords/INPUT",
            # what only a run that goes on needs
            *(f"fx8/{name}{of}" for of in ("", "@description") for name in
              ("dead", "gain_checksum", "no_power", "planned_dumps"))}


def items(path):
    """Every dataset, and every attribute as NAME@ATTRIBUTE."""
    found = {}

    def take(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = item[()]
        for key, value in item.attrs.items():
            found[f"{name}@{key}"] = value
    with h5py.File(path, "r") as file:
        file.visititems(take)
    return found


def scale(name, factor):
    """A change of an HDF5 file: values times a factor."""
    def change(file):
        file[name][...] = file[name][()] * factor
    return change


class Join(program.Case):
    """Pieces of small runs."""

    def correlate(self, name, inputs, setup, *extra, **keys):
        """Correlate into NAME.uvh5; returns its path."""
        config = self.ini(setup, keys, f"{name}.ini")
        path = self.path(f"{name}.uvh5")
        self.well("correlate", config, *inputs, "-o", path, "--quiet",
                  "--force", *extra)
        return path

    def joined(self, *files, options=(), code=0):
        """Join, and read the result with all checks."""
        self.said = self.well("join", *files, "-o", self.path("all.uvh5"),
                              "--force", *options, code=code)
        return program.read(self.path("all.uvh5"))

    def refuse(self, files, *mentions, code=1, output="none.uvh5", extra=(),
               **options):
        """One line, and nothing is left."""
        before = set(os.listdir(self.folder))
        done = program.run("join", *files, "-o", self.path(output), *extra,
                           **options)
        self.assert_one_line(done, code, *mentions)
        self.assertEqual(set(os.listdir(self.folder)), before)

    def assert_same_file(self, path, want, *but):
        """Every item is equal."""
        got, want = items(path), items(want)
        excepted = OF_A_RUN.union(but)
        self.assertEqual(set(got) - excepted, set(want) - excepted)
        for name in set(got) - excepted:
            np.testing.assert_array_equal(got[name], want[name], name)
            self.assertEqual(np.asarray(got[name]).dtype,
                             np.asarray(want[name]).dtype, name)

    # --- time ---

    def parts(self, precision="int8", is_periodic=True, options=(), extra=None):
        """A recording of 5 dumps, the last of them short: three parts, and the
        whole.  A periodic one has the same gains at the start of each part."""
        n = 6000                        # of a dump, more than 256 spectra
        once = program.noise(161, 4, 2, n) * 3      # some are clipped
        samples = np.tile(once, (1, 1, 5))[..., :4 * n + 5000]
        if not is_periodic:
            samples = program.to_int8(
                samples * np.linspace(0.5, 1, samples.shape[-1]))
        recording = self.write(program.Scene(program.to_int8(samples)))
        files = []
        for name, start, length in (("a", 0, 0.012), ("b", 0.012, 0.006),
                                    ("c", 0.018, None), ("whole", 0, None)):
            # fft: a filter bank lacks its taps at the end of each part
            setup = oracle.Setup(16, 0.006, method="fft", precision=precision,
                                 start_s=start, duration_s=length,
                                 target_rms=50)
            files.append(self.correlate(name, [recording], setup, *options,
                                        **(extra or {})))
        return files[:3], files[3]

    def test_time(self):
        for precision in ("int8", "fp32"):
            for compression in ("none", "gzip"):
                with self.subTest(precision=precision, packed=compression):
                    (a, b, c), whole = self.parts(
                        precision, extra={"output.compression": compression})
                    got = self.joined(c, a, b)
                    self.assert_same_file(got.path, whole)
                    self.assertEqual(self.said.stderr, "")
                    self.assertIn("joined by time: 5 dumps, 16 channels",
                                  self.said.stdout)
                    if precision == "int8":
                        self.assertGreater(got.keywords["CLIPMAX"], 0)
                        np.testing.assert_array_equal(
                            got.keywords["CLIPMAX"], got.clip_fraction.max())
                    filters = [self.filters(path) for path in (got.path, whole)]
                    self.assertEqual(*filters)

    def filters(self, path):
        with h5py.File(path, "r") as file:
            plist = file["Data/visdata"].id.get_create_plist()
            return [plist.get_filter(k)[0] for k in range(plist.get_nfilters())]

    def test_dither(self):
        """The noise of a part is that of the whole."""
        (a, b, c), whole = self.parts(extra={"quantizer.dither": "yes"})
        self.joined(a, b, c)
        self.assert_same_file(self.path("all.uvh5"), whole)
        dithered = self.path("dithered.uvh5")
        os.rename(a, dithered)
        (_, plain, _), _ = self.parts()
        for files in ([dithered, plain], [plain, dithered]):
            self.refuse(files, "Header/extra_keywords/DITHER")

    def test_compression_is_an_option(self):
        (a, b, _), _ = self.parts()
        plain = self.joined(a, b)
        for word, filters in (("gzip", [2, 1]), ("none", [])):
            got = self.joined(a, b, options=("--compression", word))
            self.assertEqual(self.filters(got.path), filters)
            self.assert_equal(got, plain)
        self.refuse([a, b], "--compression: lzf: expected none, gzip or "
                    "bitshuffle", code=2, extra=("--compression", "lzf"))

    def test_a_gap(self):
        (a, _, c), whole = self.parts()

        def add(file):              # a list that could grow
            file.create_dataset("Header/more", data=[1.5, 2], maxshape=(None,))
        a, c = (self.changed(path, add, f"more{k}.uvh5")
                for k, path in enumerate((a, c)))
        got, want = self.joined(c, a), program.read(whole)
        self.assertEqual(list(got.header["more"]), [1.5, 2])
        for name in ("visibilities", "flags", "nsamples"):
            np.testing.assert_array_equal(
                getattr(got, name), getattr(want, name)[[0, 1, 3, 4]])

    def assert_one_join(self, *orders):
        """Joins of joined files, nested lists of names, give one file: every
        item, its storage, and the history but for date and command."""
        def make(files):
            paths = [make(file) if isinstance(file, list) else file
                     for file in files]
            self.count += 1
            path = self.path(f"join{self.count}.uvh5")
            self.well("join", *paths, "-o", path)
            program.read(path)
            return path
        first, *others = map(make, orders)
        for other in others:
            self.assert_same_file(other, first)
            for name in ("visdata", "flags", "nsamples"):
                with h5py.File(first) as a, h5py.File(other) as b:
                    self.assertEqual(a[f"Data/{name}"].chunks,
                                     b[f"Data/{name}"].chunks)
            lines = [program.read(path).history.splitlines()
                     for path in (first, other)]
            self.assertEqual(*(part[2:] for part in lines))
            self.assertEqual(*(part[0].partition(", written")[0]
                               for part in lines))
        return first

    def test_joined_in_steps(self):
        """Parts with short last dumps, in any order of joins; what was left out
        of the history of a part is left out again."""
        recording = self.write(program.Scene(program.noise(9, 4, 2, 40_000)))
        a, b, c, d = (
            self.correlate(name, [recording], oracle.Setup(
                16, 0.002, method="fft", start_s=start, duration_s=length),
                **keys)
            for name, start, length, keys in (
                ("a", 0, 0.0053, {}), ("b", 0.008, 0.0011, {}),
                ("c", 0.012, 0.0093, {"correlator.threads": 2}),
                ("d", 0.03, None, {"correlator.threads": 2})))
        whole = self.assert_one_join([a, b, c, d], [d, c, b, a],
                                     [[a, b], c, d], [[[a, b], c], d],
                                     [a, [b, [c, d]]], [[c, d], [a, b]],
                                     [a, [b, c], d])
        lengths = program.read(whole).header["integration_time"][::10]
        np.testing.assert_array_equal(
            lengths < 0.0019, [False, False, True, True] + 4 * [False]
            + [True] + 5 * [False])
        self.assertEqual(program.read(whole).history.count("history of "), 4)
        # M is that of a whole dump, though the first one is shorter
        with h5py.File(self.assert_one_join([b, c])) as file:
            self.assertEqual(
                (file["Header/extra_keywords/NSPECTRA"][()],
                 file["fx8/spectra_per_dump"][()]), (125, 125))
        # a run's file has one length
        odd = self.changed(c, scale("Header/integration_time", np.repeat(
            [1, .5, 1, 1, 1], 10)), "odd.uvh5")
        self.refuse([a, odd], "odd.uvh5: integration_time[1]: 0.001: expected "
                    "0.002")

    def test_coarse_channels_in_steps(self):
        setup = oracle.Setup(32, 3200 / float(aavs_files.RATE), method="fft")
        (a, b, c), _ = self.station(setup)
        self.assert_one_join([a, b, c], [[a, b], c], [a, [b, c]])

    def test_settings(self):
        """Another filter is refused; what leaves the mean of the visibilities
        as it is has a warning."""
        recording = self.write(program.Scene(program.noise(9, 4, 2, 20_000)))

        def part(name, start, **keys):
            setup = oracle.Setup(16, 0.002, taps=4, target_rms=20,
                                 start_s=start, duration_s=0.006)
            return self.correlate(name, [recording], setup, **{
                key.replace("__", "."): value for key, value in keys.items()})
        a = part("a", 0)
        for key, value, want in (("channelizer.taps", "8", "4"),
                                 ("channelizer.method", "fft", "pfb"),
                                 ("channelizer.window", "hann", "auto"),
                                 ("correlator.integration_time_s", "0.0020001",
                                  "0.002")):
            odd = part("odd", 0.008, **{key: value})
            self.refuse([a, odd], f"{odd}: {key}: {value}: expected {want} as "
                        f"in {a}")
            self.refuse([odd, a], f"{a}: {key}: {want}: expected {value} as "
                        f"in {odd}")
        for keys, *says in (
                ({"quantizer.target_rms": 30},
                 "odd.uvh5: quantizer.target_rms: 30, but 20 in "),
                ({"quantizer.level": "input"}, "quantizer.level: input, but "
                 "channel in "),
                ({"input.missing_value": "-128"}, "input.missing_value: -128, "
                 "but none in "),
                ({"channelizer.flag_edges": 1}, "channelizer.flag_edges: 1, "),
                ({"array.flag_antennas": "2"}, "array.flag_antennas: 2, but "),
                ({"flag.clip_level": 99, "flag.channels": "1e6"},
                 "flag.clip_level: 99, but none in ",
                 "flag.channels: 1e+06, but none in "),
                ({"correlator.kernel": "reference"},
                 "Header/extra_keywords/FFTPLAN: not the same in all files: left out",
                 "Header/extra_keywords/KERNEL: not the same in all files: left out"),
                ({"correlator.threads": 2, "output.compression": "gzip",
                  "observation.object": ""},)):
            odd = part("odd", 0.008, **keys)
            self.joined(a, odd)
            warnings = [line for line in self.said.stderr.splitlines()
                        if "fx8/gain" not in line]
            self.assertEqual(len(warnings), len(says), warnings)
            for line, text in zip(warnings, says):
                self.assertIn("fx8: warning: ", line)
                self.assertIn(text, line)
        odd = self.changed(part("odd", 0.008), program.put(
            "Header/extra_keywords/FX8VERS", np.bytes_("0.9")), "old.uvh5")
        self.joined(a, odd)
        self.assertIn("warning: Header/extra_keywords/FX8VERS: not the same",
                      self.said.stderr)
        # a joined file has the configuration of its first
        ab = self.joined(a, part("b", 0.008, **{"quantizer.target_rms": 30}))
        os.rename(ab.path, self.path("ab.uvh5"))
        self.refuse([self.path("ab.uvh5"),
                     part("odd", 0.014, **{"channelizer.taps": 8})],
                    "odd.uvh5: channelizer.taps: 8: expected 4 as in")
        # without a configuration there is nothing to compare
        self.joined(a, self.changed(part("odd", 0.014, **{
            "channelizer.taps": 8}), program.put(
                "Header/history", np.bytes_("by hand")), "hand.uvh5"))

    def test_precisions(self):
        (a, _, _), _ = self.parts()
        os.rename(a, self.path("int8.uvh5"))
        (_, b, _), _ = self.parts(precision="fp32")
        a = self.path("int8.uvh5")
        self.refuse([a, b], f"{b}: Header/extra_keywords/PRECISN: FP32: expected INT8 "
                    f"as in {a}")
        self.refuse([b, a], f"{a}: Header/extra_keywords/PRECISN: INT8: expected FP32 "
                    f"as in {b}")

    # --- damage ---

    def assert_damage_is_found(self, good, piece, dump, where):
        """A value of a dump is changed; without checksums it is joined."""
        for name in ("visdata", "flags", "nsamples"):
            def change(file):
                data = file[f"Data/{name}"]
                value = data[where]
                data[where] = ~value if value.dtype == bool else value + 1
            odd = self.changed(piece, change, "odd.uvh5")
            for files in ([good, odd], [odd, good]):
                self.refuse(files, f"{odd}: fx8/checksum: dump {dump}: ",
                            "damaged, or were changed")
            odd = self.changed(odd, program.put("fx8/checksum"), "unmarked.uvh5")
            self.joined(good, odd)

    def test_damage_is_found(self):
        for compression in ("none", "gzip"):
            (a, _, c), _ = self.parts(
                extra={"output.compression": compression})
            self.assert_damage_is_found(c, a, 1, (13, 2, 1))
        (a, b, c), _ = self.station(oracle.Setup(
            32, 3200 / float(aavs_files.RATE), method="fft"))
        self.assert_damage_is_found(a, b, 2, (14, 7, 0))
        self.assert_damage_is_found(c, b, 0, (5, 0, 3))

    def test_gains_that_differ_are_left_out(self):
        (a, b, c), _ = self.parts(is_periodic=False)
        got = self.joined(a, b, c)
        self.assertEqual(self.said.stderr, "fx8: warning: fx8/gain: not the "
                         "same in all files: left out\n")
        self.assertIsNone(got.gains)
        self.assertIsNotNone(got.clip_fraction)
        os.rename(got.path, self.path("int8.uvh5"))
        parts, _ = self.parts(precision="fp32", is_periodic=False)
        done = program.run("compare", self.path("int8.uvh5"),
                           self.joined(*parts).path)
        self.assert_one_line(done, 3, "without /fx8/gain nothing can be "
                             "predicted")

    def test_keywords_and_history(self):
        (a, b, c), _ = self.parts(
            extra={"delay.mode": "cable"})
        put = program.put
        a = self.changed(a, put("Header/extra_keywords/DELMAX", 3.0), "d.uvh5")
        b = self.changed(b, lambda file: (
            put("Header/extra_keywords/DELMAX", 4.0)(file),
            put("Header/extra_keywords/KERNEL", np.bytes_("ref"))(file),
            put("Header/extra_keywords/ONLYB", 1)(file)), "e.uvh5")
        got = self.joined(b, c, a)
        self.assertEqual(got.keywords["DELMAX"], 4.0)
        self.assertEqual(got.keywords["DELAYMOD"], b"CABLE")
        for name in ("KERNEL", "ONLYB", "CONFSHA"):
            self.assertNotIn(name, got.keywords)
        lines = got.history.splitlines()
        self.assertIn(", 3 files joined by time, written ", lines[0])
        self.assertIn("command: fx8 join ", lines[1])
        self.assertEqual(lines[3], f"history of {a}:")
        self.assertEqual(got.history.count("start_s = 0.012"), 1)
        self.assertEqual(got.history.count("channels = 16"), 1)
        self.assertIn(f"history of {c}:", lines)
        self.assertIn("warning: Header/extra_keywords/KERNEL: not the same in all "
                      "files: left out\n", self.said.stderr)
        self.assertNotIn("CONFSHA", self.said.stderr)
        for name in ("PRECISN", "DELAYMOD"):
            odd = self.changed(c, put(f"Header/extra_keywords/{name}",
                                      np.bytes_("ODD")), "f.uvh5")
            self.refuse([a, odd], f"{odd}: Header/extra_keywords/{name}: ODD: "
                        "expected ", f" as in {a}")
            none = self.changed(a, lambda file: file["Header/extra_keywords"]
                                .pop(name), "g.uvh5")
            for files in ([none, c], [c, none]):
                self.refuse(files, f"{none}: Header/extra_keywords/{name}: missing")

    # --- frequency ---

    def station(self, setup, *extra):
        """Coarse channels of a station, one by one and all in one run."""
        kept = {} if setup.method == "none" else {
            "channelizer.keep_fraction": "27/32"}
        samples = program.noise(7, len(CHANNELS), 3, 2, 12_000)
        samples[:, 1, :, 3000:4000] = 0             # lost
        files = []
        for channel, part in zip(CHANNELS, samples):
            path, _ = aavs_files.write(
                self.folder, part[None], START, tile=0, part=channel,
                first=0, n=12_000, block=BLOCK, channel_id=channel)
            files.append(path)
        keys = {**program.PLACE, "input.missing_value": "zero", **kept}
        return ([self.correlate(f"c{channel}", [path], setup, *extra, **keys)
                 for channel, path in zip(CHANNELS, files)],
                self.correlate("whole", files, setup, *extra, **keys))

    def test_coarse_channels(self):
        rate = float(aavs_files.RATE)
        for method, channels in (("none", 1), ("fft", 32), ("pfb", 32)):
            for precision in ("int8", "fp32"):
                with self.subTest(method=method, precision=precision):
                    setup = oracle.Setup(channels, 3200 / rate, method=method,
                                         precision=precision, taps=4,
                                         flag_edges=1 if channels > 1 else 0,
                                         target_rms=50)
                    (a, b, c), whole = self.station(setup)
                    got = self.joined(b, c, a)
                    self.assertEqual(self.said.stderr, "")
                    self.assertIn("joined by frequency", self.said.stdout)
                    self.assert_same_file(got.path, whole)
                    shutil.rmtree(self.folder)
                    os.mkdir(self.folder)

    # --- what does not belong together ---

    def test_refusals(self):
        (a, b, c), whole = self.parts()
        header = "Header/"
        put = program.put
        self.refuse([a], "1 file: expected at least two", code=2)
        self.assert_one_line(program.run("join", a, b), 2, "expected -o")
        self.refuse([a, a], f"{a}: the same dumps and channels as {a}")
        self.refuse([a, whole], "time_array: dump 0", "expected no overlap "
                    "with the 0.006 s around JD")
        def early(file):
            file["Header/time_array"][...] -= 0.002 / 86400
        self.refuse([self.changed(b, early, "odd.uvh5"), a],
                    "odd.uvh5: time_array: dump 0", f" in {a}")
        self.refuse([a, self.path("no.uvh5")], "no.uvh5", "No such file")
        self.refuse([a, self.save("text.uvh5", "text" * 300)], "text.uvh5")
        for change, *mentions in (
                (scale(header + "antenna_positions", 1.001),
                 "antenna_positions[0, 0]"),
                (put(header + "latitude", 12.5), "latitude: 12.5: expected "
                 "-26.69"),
                (put(header + "antenna_numbers", [0, 1, 2, 9]),
                 "antenna_numbers[3]: 9: expected 3"),
                (put(header + "polarization_array", [-5, -7, -6, -8]),
                 "polarization_array[1]: -7: expected -6"),
                (put(header + "vis_units", np.bytes_("Jy")),
                 "vis_units: Jy: expected uncalib"),
                (put(header + "telescope_name", np.bytes_("other")),
                 "telescope_name: other: expected test"),
                (put(header + "antenna_names", np.array(
                    [b"ANT000", b"ANT001", b"x", b"ANT003"], "S64")),
                 "antenna_names[2]: x: expected ANT002"),
                (scale(header + "channel_width", 2),
                 "channel_width[0]: 125000: expected 62500"),
                (scale(header + "integration_time", 1.5),
                 "integration_time"),
                (put(header + "extra", 3), "extra: missing: expected it as"),
                (put(header + "phase_center_catalog/0/cat_lat", 1.0),
                 "phase_center_catalog/0/cat_lat: 1: expected 1.57"),
                (lambda file: (
                    put(header + "freq_array", file[header + "freq_array"][()]
                        + 1e6)(file)),
                 "other dumps and other channels than", "join the files with "
                 "the same dumps first")):
            odd = self.changed(b, change, "odd.uvh5")
            with self.subTest(mentions=mentions):
                self.refuse([a, odd], a, odd, *mentions)
        self.refuse([a, self.changed(b, lambda file: file[
            "fx8/checksum"].write_direct(np.array([-1])), "odd.uvh5")],
            "odd.uvh5: fx8/checksum: 1 of 1 dumps are not finished")
        self.refuse([a, self.changed(b, put("Data/nsamples"), "odd.uvh5")],
                    "odd.uvh5: nsamples: missing")

    def test_counts_that_do_not_fit_are_left_out(self):
        """Without bands, or larger than the file: damaged, or made to harm."""
        (a, b, _), _ = self.parts()
        for name, shape in (("valid_spectra", (1, 0, 8)),
                            ("valid_spectra", (1, 1 << 30, 1 << 20)),
                            ("clips", (1, 8, 1 << 40)), ("clips", (1, 8, 0)),
                            ("clips", (1, 7, 16))):
            def change(file):
                del file[f"fx8/{name}"]
                file.create_dataset(
                    f"fx8/{name}", shape, "i8", chunks=tuple(
                        min(n, 8) for n in shape) if all(shape) else None)
            with self.subTest(name=name, shape=shape):
                got = self.joined(a, self.changed(b, change, "odd.uvh5"))
                self.assertIn("warning: fx8/valid_spectra, fx8/clips: not in "
                              "all files, or of other shapes: left out",
                              self.said.stderr)
                self.assertIsNone(got.clip_fraction)

    def test_a_grid_is_joined_in_two_steps(self):
        setup = oracle.Setup(32, 3200 / float(aavs_files.RATE), method="fft",
                             precision="fp32")
        (a, b, c), _ = self.station(setup)

        def later(name):
            def change(file):
                file["Header/time_array"][...] += 1
            return self.changed(name, change, os.path.basename(name) + "2")
        self.refuse([a, later(b), later(a)], "other dumps and other channels")
        self.refuse([a, b, later(a)], "other dumps than", f"unlike {b}", "join the files with the same dumps first")
        first = self.joined(a, b)
        os.rename(first.path, self.path("first.uvh5"))
        second = self.joined(later(b), later(a))
        os.rename(second.path, self.path("second.uvh5"))
        got = self.joined(self.path("second.uvh5"), self.path("first.uvh5"))
        self.assert_equal(got, first, n_dumps=len(first.flags))
        self.refuse([a, self.changed(b, scale(
            "Header/freq_array", program.read(a).header["freq_array"][3]
            / program.read(b).header["freq_array"][0]), "odd.uvh5")],
            "odd.uvh5: freq_array[0]", "expected more than")

    def test_quicklook_files_are_refused(self):
        recording = self.write(program.Scene(program.noise(1, 2, 1, 9000)))
        look = self.path("look.h5")
        result = self.correlate("a", [recording], oracle.Setup(16, 0.002),
                                **{"postprocess.quicklook": look})
        self.refuse([result, look], f"{look}: a quick-look file: expected "
                    "visibilities")

    # --- the output ---

    def test_rules_of_outputs(self):
        (a, b, c), _ = self.parts()
        before = program.content(a)
        self.refuse([a, b], "exists: expected a new name, or --force", code=2,
                    output="c.uvh5")
        for extra in ((), ("--force",)):
            self.refuse([a, b], "is a file that this run reads", code=2,
                        output="a.uvh5", extra=extra)
        self.assertEqual(program.content(a), before)
        os.link(b, self.path("link.uvh5"))
        self.refuse([a, b], "is a file that this run reads", code=2,
                    output="link.uvh5", extra=("--force",))
        self.joined(a, b)
        again = self.well("join", a, c, "-o", self.path("all.uvh5"), "--force",
                          "--quiet")
        self.assertEqual(again.stderr, "")

    def large(self):
        """Four parts of 60 MiB, a day apart."""
        recording = self.write(program.Scene(program.noise(3, 32, 2, 9000)))
        part = self.correlate("part", [recording], oracle.Setup(
            256, 0.001, method="fft"), **{"quantizer.target_rms": 20})
        def move(days):
            def change(file):
                file["Header/time_array"][...] += days
            return change
        return [part, *(self.changed(part, move(days), f"{days}.uvh5")
                        for days in (1, 2, 3))]

    def test_a_signal_leaves_nothing(self):
        part, later = self.large()[:2]
        before = set(os.listdir(self.folder))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            process = self.start(
                "join", part, later, "-o", self.path("all.uvh5"), "--quiet",
                env={**os.environ, **self.holding(later)})
            self.wait_for(process, self.path("all.uvh5.part"))
            _, err = self.end(process, number)
            self.assertEqual(err, "fx8: error: stopped by a signal: nothing is "
                             "written\n")
            self.assertEqual(set(os.listdir(self.folder)), before)
        # what a kill leaves has no finished dump and is replaced
        process = self.start(
            "join", part, later, "-o", self.path("all.uvh5"),
            env={**os.environ, **self.holding(later)})
        self.wait_for(process, self.path("all.uvh5.part"))
        self.end(process, signal.SIGKILL, code=-signal.SIGKILL)
        self.well("join", part, later, "-o", self.path("all.uvh5"))

    def test_a_full_disk_leaves_nothing(self):
        (a, b, _), _ = self.parts()

        def limited():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
        for compression in ("none", "gzip"):
            self.refuse([a, b], "none.uvh5.part", "cannot", extra=(
                "--compression", compression), preexec_fn=limited)
