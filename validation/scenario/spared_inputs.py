# SPDX-License-Identifier: BSD-3-Clause
"""No result overwrites a file that the run reads, however and under whatever
name it is read: exit 2, and every byte is unchanged.

Shows (failures, inputs are spared): every file behind a recording is
    protected, as a result, as a .part, through hard and symbolic links, with
    `--force`: external links, virtual datasets, raw files, Digital RF, tiles,
    tables, TART's JSON, compared visibilities
Within: exit 2, one line, every byte as it was
"""
import glob
import os
import shutil

import h5py
import numpy as np

import aavs_files
import program
import recorder

REFUSED = "is a file that this run reads: expected another name for the result"

SITE = [f"--set={key}={value}" for key, value in program.PLACE.items()]


class SparedInputs(program.Job):
    """Every file that a recording refers to, as a result and as a .part."""

    def spare(self, recording, inputs, *options, force=("--force",)):
        """Name each of `inputs` as OUT, directly, through a hard link as OUT
        and as OUT.part, and through a symbolic link."""
        # with another output the run works
        self.well(*self.words(recording, *options))
        os.remove(self.output)
        before = self.contents()
        for path in inputs:
            for link, name in ((None, path), (os.link, "linked.uvh5"),
                               (os.link, "begun.uvh5.part"),
                               (os.symlink, "soft.uvh5")):
                with self.subTest(path=path, name=name):
                    if link is not None:
                        link(path, self.path(name))
                    self.output = self.path(name.removesuffix(".part"))
                    done = self.correlate(recording, *force, *options)
                    if link is not None:
                        os.remove(self.path(name))
                    self.assert_one_line(done, 2, f"{name}: {REFUSED}")
                    self.assertEqual(self.contents(), before)

    def test_behind_an_external_link(self):
        samples = self.recording("samples.h5")
        night, chain = self.path("night.h5"), self.path("chain.h5")
        with h5py.File(chain, "w") as file:
            file["v"] = h5py.ExternalLink("samples.h5", "voltages")
        with h5py.File(samples) as source, h5py.File(night, "w") as file:
            file.attrs.update(source.attrs)
            source.copy("antennas", file)
            file["voltages"] = h5py.ExternalLink("chain.h5", "v")
        self.spare(night, [night, chain, samples])

    def test_sources_of_a_virtual_dataset(self):
        whole = self.recording("whole.h5")
        night = self.path("night.h5")
        halves = [self.path("a.h5"), self.path("b.h5")]
        with h5py.File(whole) as source, h5py.File(night, "w") as file:
            file.attrs.update(source.attrs)
            source.copy("antennas", file)
            voltages = source["voltages"]
            layout = h5py.VirtualLayout(voltages.shape, voltages.dtype)
            for antenna, path in enumerate(halves):
                with h5py.File(path, "w") as half:
                    half["v"] = voltages[antenna]
                layout[antenna] = h5py.VirtualSource(
                    os.path.basename(path), "v", voltages.shape[1:])
            file.create_virtual_dataset("voltages", layout)
        os.remove(whole)
        self.spare(night, [night, *halves])

    def test_external_raw_files(self):
        whole, night = self.recording("whole.h5"), self.path("night.h5")
        raw, table = self.path("samples.raw"), self.path("missing.raw")
        rows = np.zeros(3, [("antenna", "i4"), ("pol", "i4"),
                            ("first_sample", "i8"), ("count", "i8")])
        rows["count"] = 1
        with h5py.File(whole) as source, h5py.File(night, "w") as file:
            file.attrs.update(source.attrs)
            source.copy("antennas", file)
            for name, path, data in (("voltages", raw, source["voltages"][...]),
                                     ("missing", table, rows)):
                dataset = file.create_dataset(
                    name, data.shape, data.dtype,
                    external=[(path, 0, data.nbytes)])
                dataset[...] = data
        os.remove(whole)
        self.spare(night, [night, raw, table])

    def test_files_of_digital_rf(self):
        top = self.path("tree")
        random = np.random.default_rng(181)
        for name in ("ch0", "ch1"):
            recorder.record(top, name, recorder.Channel(
                random.integers(-50, 50, (1, 9000)) + 0j,
                1_600_000_000 * 200_000, bits=8))
        files = sorted(glob.glob(os.path.join(top, "*", "*", "rf@*.h5")))
        self.assertEqual(len(files), 18)
        self.spare(top, [files[0], files[4], files[-1],
                         os.path.join(top, "ch1", "drf_properties.h5")],
                   *SITE, "--set=observation.dc_frequency_hz=150e6")

    def test_tiles_of_a_station(self):
        random = np.random.default_rng(191)
        tiles = []
        for tile in range(2):
            samples = random.integers(-50, 50, (1, 16, 2, 8192)) + 0j
            path, _ = aavs_files.write(
                self.folder, samples, 1_600_000_000, tile=tile, part=0,
                first=0, n=8192, block=2048)
            tiles.append(path)
        self.spare(tiles[0], tiles, tiles[1], *SITE)

    def test_tables_of_the_configuration(self):
        recording, table = self.recording(), self.path("antennas.csv")
        self.save(table, "east_m,north_m,up_m\n0,0,0\n10,0,0\n")
        # the table of sources is named, although correlate does not use it
        sources = self.save("sources.csv", "az_deg,el_deg,I\n10,60,1\n")
        alias = self.path("alias.h5")
        os.symlink(recording, alias)
        for force in ((), ("--force",)):
            self.output = self.path("good.uvh5")
            self.spare(alias, [recording, self.config, table, sources],
                       f"--set=array.positions={table}",
                       f"--set=simulate.sources={sources}", force=force)

    def test_json_found_beside_a_recording(self):
        folder = os.path.join(os.environ.get("FX8_RECORDINGS", ""), "tart")
        if not os.path.exists(os.path.join(folder, "mg-tana-raw.hdf")):
            self.skipTest("no recording of TART")
        for name in ("mg-tana-raw.hdf", "antenna_positions.json"):
            shutil.copy(os.path.join(folder, name), self.path(name))
        self.save("config.ini", program.text("config/ready/tart.ini"))
        self.spare(self.path("mg-tana-raw.hdf"),
                   [self.path("antenna_positions.json")],
                   "--set=array.antennas=2")

    def test_recording_with_the_name_of_a_part(self):
        os.rename(self.recording(), self.output + ".part")
        os.chmod(self.output + ".part", 0o444)
        before = self.contents()
        for force in ((), ("--force",)):
            for as_nobody in (False, True):
                done = self.correlate(self.output + ".part", *force,
                                      as_nobody=as_nobody)
                self.assert_one_line(done, 2, f"out.uvh5.part: {REFUSED}")
                self.assertEqual(self.contents(self.path("fx8")), before)

    def test_quicklook_and_results_in_two_files(self):
        recording = self.recording()
        before = self.contents()
        for name, link, precision in (
                ("out.int8.uvh5", os.link, "both"),
                ("out.fp32.uvh5", os.symlink, "both"),
                ("out.int8.uvh5.part", os.link, "both"),
                ("out.down.uvh5", os.link, "interval"),
                ("out.up.uvh5", os.symlink, "interval")):
            link(recording, self.path(name))
            done = self.correlate(recording, "--precision", precision,
                                  "--force")
            self.assert_one_line(done, 2, f"{name}: {REFUSED}")
            os.remove(self.path(name))
        done = self.correlate(recording, "--force", "--set",
                              f"postprocess.quicklook={recording}")
        self.assert_one_line(done, 2, f"good.h5: {REFUSED}")
        self.assertEqual(self.contents(), before)


class SparedBeside(program.Job):
    """The other commands that write."""

    def test_page_of_a_comparison(self):
        """Visibilities behind a link, and in a virtual dataset."""
        paths = self.both(self.config, self.recording())
        shown = self.path("shown.uvh5")
        away = self.path("visdata.html")
        shutil.copy(paths[1], shown)
        with h5py.File(shown, "a") as file, h5py.File(away, "w") as other:
            data = file["Data/visdata"]
            layout = h5py.VirtualLayout(data.shape, data.dtype)
            other["v"] = data[...]
            layout[...] = h5py.VirtualSource("visdata.html", "v", data.shape)
            del file["Data/visdata"]
            file.create_virtual_dataset("Data/visdata", layout)
            file.move("Data/flags", "Data/moved")
            other["flags"] = file["Data/moved"][...]
            del file["Data/moved"]
            file["Data/flags"] = h5py.ExternalLink("visdata.html", "flags")
        self.well("compare", paths[0], shown, code=(0, 3))
        before = program.content(away)
        os.link(away, self.path("page.html.part"))
        for page in away, self.path("page.html"):
            done = program.run("compare", paths[0], shown, "--html", page,
                               "--force")
            self.assert_one_line(done, 2, REFUSED)
            self.assertTrue(program.content(away) == before)
        # a missing source file must not be read as zeros
        os.remove(self.path("page.html.part"))
        os.remove(away)
        done = program.run("compare", paths[0], shown)
        self.assert_one_line(done, 1, "shown.uvh5: ")
