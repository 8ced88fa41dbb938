# SPDX-License-Identifier: BSD-3-Clause
"""make install, a program built against the installed library, make uninstall.

Shows (packaging, install): install, a program built against the library, and
    uninstall work
Within: works, leaves nothing
In: test_install_use_uninstall

Shows (packaging, pages): links in installed pages, headers, examples,
    configurations and fx8(1) lead to installed files, except for tests and
    kernels
Within: every link, and every name with its folder
In: test_what_pages_point_to
"""
import os
import re
import subprocess

import program

USER = r"""
#include <fx8.h>
#include <stdio.h>
int main(void)
{
    struct fx8_plan plan = fx8_plan_default();
    plan.is_complex = true;
    plan.channelizer.n_channels = 8;
    plan.channelizer.n_taps = 4;
    printf("%s %zu\n", fx8_version(), fx8_plan_axes(&plan).window);
    return 0;
}
"""


# Where the folders that pages name are installed, below the prefix.
PLACES = {"config/ready": "share/fx8", "correlator": "share/doc/fx8/correlator",
          "data": "share/doc/fx8/data", ".github": "share/doc/fx8/.github"}


class Install(program.Case):
    """Installs into a separate folder, with DESTDIR."""

    def make(self, *arguments):
        done = subprocess.run(
            ["make", f"BUILD={os.environ.get('FX8_BUILD', 'build')}",
             f"DESTDIR={self.folder}", "prefix=/usr", *arguments],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def installed(self):
        return sorted(os.path.join(folder, name)[len(self.folder):]
                      for folder, _, names in os.walk(self.folder)
                      for name in names)

    def test_install_use_uninstall(self):
        self.make("install")
        names = self.installed()
        for name in ("/usr/bin/fx8", "/usr/lib/libfx8.so",
                     "/usr/include/fx8/fx8.h", "/usr/share/fx8/tart.ini"):
            self.assertIn(name, names)
        environment = {
            **os.environ, "LD_LIBRARY_PATH": f"{self.folder}/usr/lib",
            "PKG_CONFIG_PATH": f"{self.folder}/usr/lib/pkgconfig",
            "PKG_CONFIG_SYSROOT_DIR": self.folder}
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "fx8"], capture_output=True,
            text=True, env=environment, check=True).stdout.split()
        source, user = self.path("user.c"), self.path("user")
        with open(source, "w", encoding="ascii") as file:
            file.write(USER)
        subprocess.run(["gcc", "-std=c17", "-Wall", "-Werror", source, "-o",
                        user, *flags], check=True, env=environment)
        done = subprocess.run([user], capture_output=True, text=True,
                              env=environment, check=True)
        version = program.run("--version").stdout.split()[1]
        self.assertEqual(done.stdout.split(), [version, "32"])
        os.remove(source)
        os.remove(user)
        self.make("uninstall")
        self.assertEqual(self.installed(), [])

    def texts(self):
        """Path and text of every installed file that people read."""
        for name in self.installed():
            if name.endswith((".md", ".h", ".c", ".ini", ".csv", "/fx8.1")):
                with open(self.folder + name, encoding="utf-8") as file:
                    yield self.folder + name, file.read()

    def test_what_pages_point_to(self):
        """The files that pages name are installed where they point, except
        tests and kernels, which are for readers of the sources."""
        self.make("install")
        found = set()
        for path, text in self.texts():
            for link in re.findall(r"\]\(([^)#\s:]+)[^)\s:]*\)", text):
                with self.subTest(path=path, link=link):
                    self.assertTrue(os.path.exists(os.path.join(
                        os.path.dirname(path), link)))
            for room, name in re.findall(
                    rf"(?<![\w./-])({'|'.join(map(re.escape, PLACES))})/"
                    r"([\w./-]*\w\.(?:md|ini|csv|cff))\b", text):
                with self.subTest(path=path, room=room, name=name):
                    found.add(f"{room}/{name}")
                    self.assertTrue(os.path.exists(
                        f"{self.folder}/usr/{PLACES[room]}/{name}"))
        self.assertLessEqual({"data/README.md", "correlator/CONVENTIONS.md",
                              "config/ready/station.ini", ".github/SECURITY.md"},
                             found)
