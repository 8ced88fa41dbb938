# SPDX-License-Identifier: BSD-3-Clause
"""Progress on a terminal, and none with --quiet.

Shows (commands, progress shown): after 2 s a bar of a simulation appears on a
    terminal, with figures as soon as there are some, and a signal removes it before the message; --quiet leaves stderr
    empty, and the figures that were asked for on stdout
Within: letters equal
In: test_progress.c, test_compare_files.c
"""
import errno
import os
import pty
import re
import select
import signal
import subprocess

import program


def read(end):
    """What comes next at this end of a terminal; "" once nobody can write."""
    try:
        return os.read(end, 1000).decode()
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return ""


class Progress(program.Case):
    """The demo of README.md."""

    def simulate(self, *settings, name="sky.h5"):
        return ("simulate", "config/ready/demo.ini", "-o",
                self.path(name), "--force",
                *(f"--set={setting}" for setting in settings))

    def start(self, name, *options):
        """A simulation of so many sources that it takes minutes, and the other
        end of its terminal."""
        sources = self.save("sources.csv", "az_deg,el_deg,I\n"
                            + "40,65,0.01\n" * 500)
        end, terminal = pty.openpty()
        process = subprocess.Popen(
            [program.FX8, *self.simulate("simulate.duration_s=20",
                                         f"simulate.sources={sources}",
                                         name=name), *options],
            stdout=subprocess.DEVNULL, stderr=terminal)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(terminal)
        return process, end

    def test_bar_of_a_simulation(self):
        """One with --quiet, begun earlier, shows nothing meanwhile."""
        silent, silent_end = self.start("silent.h5", "--quiet")
        process, end = self.start("sky.h5")
        text = ""
        while not re.search(r"\d x real time  [\d:]+ left", text):
            text += read(end)
        bar = r"\r\x1b\[Ksimulate  \[[#.]{8,24}\]  "
        self.assertRegex(text, rf"^{bar} [ \d]\d %  ")
        self.assertRegex(text, rf"{bar} [ \d]\d %  [\d.]+ Msamples/s  "
                               r"[\d.e+-]+ x real time  [\d:]+ left")
        self.wait_for(silent, self.path("silent.h5.part"))
        self.assertEqual(select.select([silent_end], [], [], 0.5)[0], [])
        silent.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        while more := read(end):
            text += more
        self.assertEqual((silent.wait(), process.wait()), (130, 130))
        os.close(silent_end)
        os.close(end)
        self.assertRegex(text, r"\r\x1b\[Kfx8: error: stopped by a signal: "
                               r"nothing is written\r\n$")
        self.assertEqual(os.listdir(self.folder), ["sources.csv"])

    def test_quiet_is_silent(self):
        truth = self.path("sky.true.uvh5")
        for words, prints in (
                (self.simulate("simulate.duration_s=0.1005"), False),
                (("info", self.path("sky.h5"), "--all"), True),
                (("compare", truth, truth), True),
                (("fringe", truth, "--blind"), True),
                (("bench", "--list"), True)):
            with self.subTest(command=words[0]):
                done = self.well(*words, "--quiet")
                self.assertEqual(done.stderr, "")
                self.assertEqual(done.stdout != "", prints)
