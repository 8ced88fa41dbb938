# SPDX-License-Identifier: BSD-3-Clause
"""Recordings in every storage give the same visibilities as a plain one;
chunks packed by bitshuffle come from the real plug-in.

Shows (recordings, packed recordings): chunks packed by deflate, by bitshuffle
    with the real plug-in, or in ways that only HDF5 unpacks give the integers
    of a plain recording; streams with wrong sizes are refused; a missing
    plug-in is named
Within: to the bit; one line
Because: packing loses nothing
"""
import os
import struct

import h5py
import hdf5plugin
import numpy as np

import oracle
import program

PLUGINS = {"HDF5_PLUGIN_PATH": hdf5plugin.PLUGIN_PATH}
N_TIMES = 50_021
SETUP = oracle.Setup(16, "all", method="fft", precision="int8")
AXES = ("antenna", "pol", "time")


def scene():
    """Noise of a few bits, which every filter compresses."""
    generator = np.random.default_rng(7)
    parts = np.rint(generator.normal(0, 4, (2, 3, 2, N_TIMES)))
    return program.Scene(parts[0] + 1j * parts[1])


class Storage(program.Case):
    def record(self, name, chunks, axes=AXES, **filters):
        return self.write(scene(), name, axes=axes, chunks=chunks, **filters)

    def test_every_storage_gives_the_same_integers(self):
        plain = self.fx8(self.write(scene(), "plain.h5"), SETUP)
        along, turned = (1, 2, 4096), (3000, 3, 2)
        packings = {
            "bitshuffle": dict(hdf5plugin.Bitshuffle()),
            "bitshuffle alone": dict(hdf5plugin.Bitshuffle(cname="none")),
            "bitshuffle and zstd": dict(hdf5plugin.Bitshuffle(cname="zstd")),
            "bitshuffle under a checksum": {
                **hdf5plugin.Bitshuffle(), "fletcher32": True},
            "deflate": {"compression": "gzip", "compression_opts": 1,
                        "shuffle": True, "fletcher32": True},
            "zstd, by HDF5": dict(hdf5plugin.Zstd()),
        }
        for name, filters in packings.items():
            for axes, chunks in ((AXES, along),
                                 (("time", "antenna", "pol"), turned)):
                for threads in (1, 3):
                    with self.subTest(name, axes=axes, threads=threads):
                        path = self.record("packed.h5", chunks, axes, **filters)
                        # with three threads reads end within chunks
                        block = {"FX8_BLOCK_SAMPLES": "7001"}
                        got = self.fx8(path, SETUP,
                                       {"correlator.threads": threads},
                                       environment={
                                           **PLUGINS,
                                           **(block if threads > 1 else {})})
                        np.testing.assert_array_equal(got.visibilities,
                                                      plain.visibilities)

    def fail_on(self, path):
        """Correlating it must fail with one line, which is returned."""
        config = self.ini(SETUP, name="fail.ini")
        done = self.well("correlate", config, path, "-o",
                         self.path("fail.uvh5"), "--quiet",
                         environment=PLUGINS, code=1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse(os.path.exists(self.path("fail.uvh5")))
        return done.stderr

    def test_damaged_bitshuffle_streams_do_not_reach_the_plugin(self):
        """Wrong sizes within the stream (total, block, remainder), which the
        plug-in would trust."""
        damages = (
            (0, struct.pack(">Q", 2**40), "unpacked size"),
            (0, struct.pack(">Q", 16382), "unpacked size"),
            (8, struct.pack(">I", 0), "size of a block"),
            (8, struct.pack(">I", 24), "size of a block"),
            (12, struct.pack(">I", 2**32 - 1), "packed size"),
            (12, struct.pack(">I", 0), "packed size"),
            (12, struct.pack(">I", 5), "packed size"),
        )
        for offset, number, name in damages:
            with self.subTest(name, number=number):
                path = self.record("damaged.h5", (1, 2, 4096),
                                   **hdf5plugin.Bitshuffle())
                with h5py.File(path, "r") as file:
                    place = file["voltages"].id.get_chunk_info(5).byte_offset
                with open(path, "r+b") as file:
                    file.seek(place + offset)
                    file.write(number)
                self.assertRegex(self.fail_on(path),
                                 r"damaged\.h5: voltages: samples \d+ to \d+: "
                                 r"bitshuffle: damaged chunk: expected 16384 "
                                 r"bytes from it")

    def test_without_the_plugin_it_is_named(self):
        path = self.record("packed.h5", (1, 2, 4096), **hdf5plugin.Bitshuffle())
        done = self.well("info", path, environment={
            "HDF5_PLUGIN_PATH": self.folder}, code=1)
        self.assertRegex(done.stderr, r"voltages: filter 32008 .*: expected its "
                         r"HDF5 plugin to be installed \(HDF5_PLUGIN_PATH\)")
