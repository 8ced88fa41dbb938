# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA toolkit: its location, its version, compiling a source with it.

Environment, as make sets it:

    CUDA     auto: use nvcc if there is one; 0: never; 1: it is required
    NVCC     the compiler, instead of the one on the path or in its usual place
    NVCC11   the compiler of a CUDA 11.8 toolkit
    NVDISASM the disassembler, instead of that of requirements.txt or of a
             whole toolkit
"""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

# As in the Makefile, with warnings as errors.
FLAGS = ["-Werror", "all-warnings", "-Wno-deprecated-gpu-targets", "-Xptxas",
         "-v", "-std=c++17", "-O3", "--fmad=false", "-I.", '-DFX8_VERSION="0"',
         "-Xcompiler", "-ffp-contract=off,-fPIC,-Wall,-Wextra,-Wshadow"]

# Register spills become warnings, hence errors.
NO_LOCAL_MEMORY = ["-Xptxas", "-warn-spills,-warn-lmem-usage"]


class MissingToolkit(Exception):
    """The toolkit is missing; an error only with CUDA=1."""


class Compiled:
    """The result of one compilation."""

    def __init__(self, good, text):
        self.good = good
        self.text = text

    def complaint(self):
        """The compiler's messages without ptxas's lines about every kernel."""
        usual = re.compile(r"ptxas info|    \d+ bytes stack frame")
        return "\n".join(line for line in self.text.splitlines()
                         if not usual.match(line))

    def registers(self):
        """Registers of each kernel, from ptxas -v."""
        return {name: int(count) for name, count in re.findall(
            r"Compiling entry function '(\w+)'.*?Used (\d+) registers",
            self.text, re.DOTALL)}


class Toolkit:
    """An nvcc."""

    def __init__(self, nvcc):
        self.nvcc = nvcc
        text = self._output("--version")
        self.release = re.search(r"release (\d+\.\d+)", text).group(1)
        self.build = re.search(r"\bV(\d+\.\d+\.\d+)", text).group(1)
        self.known = {int(number) for number in re.findall(
            r"sm_(\d+)\b", self._output("--list-gpu-code"))}

    def _output(self, option):
        return subprocess.run([self.nvcc, option], capture_output=True,
                              text=True, check=True).stdout

    def _run(self, *arguments):
        done = subprocess.run([self.nvcc, *FLAGS, *arguments],
                              capture_output=True, text=True)
        return Compiled(done.returncode == 0, done.stdout + done.stderr)

    def cubin(self, source, architecture, target):
        """Device code of one architecture, without local memory."""
        return self._run(*NO_LOCAL_MEMORY, "-cubin", f"-arch=sm_{architecture}",
                         source, "-o", target)

    def ptx(self, source, architecture, target):
        """PTX for one architecture; host code is read, not compiled."""
        return self._run("-ptx", f"-arch=compute_{architecture}", source, "-o",
                         target)

    def object(self, source, architectures, target):
        """Host code, and device code for every architecture."""
        return self._run(*[f"-gencode=arch=compute_{a},code=sm_{a}"
                           for a in architectures], "-c", source, "-o", target)


def _find(variable, usual):
    named = os.environ.get(variable)
    return shutil.which(named or usual[0]) or next(
        (path for path in usual[1:] if not named and os.access(path, os.X_OK)),
        None)


def find():
    """The toolkit to use."""
    wish = os.environ.get("CUDA", "auto")
    if wish == "0":
        raise MissingToolkit("CUDA=0")
    nvcc = _find("NVCC", ("nvcc", "/usr/local/cuda/bin/nvcc"))
    if nvcc is None and wish == "1":
        raise FileNotFoundError("CUDA=1, but there is no nvcc")
    if nvcc is None:
        raise MissingToolkit("no nvcc on the path or in /usr/local/cuda")
    return Toolkit(nvcc)


def find_old():
    """A CUDA 11.8 toolkit, the last we support for sm_61 and sm_70."""
    nvcc = _find("NVCC11", ("nvcc-11.8", "/usr/local/cuda-11.8/bin/nvcc"))
    if nvcc is None:
        raise MissingToolkit("no CUDA 11.8: NVCC11 names its nvcc")
    return Toolkit(nvcc)


@functools.cache
def find_nvdisasm():
    """The path of NVIDIA's disassembler."""
    packaged = glob.glob(os.path.join(
        sys.prefix, "lib/python3*/site-packages/nvidia/cu*/bin/nvdisasm"))
    path = _find("NVDISASM", ("nvdisasm", *packaged,
                              "/usr/local/cuda/bin/nvdisasm"))
    if path is None:
        raise MissingToolkit("no nvdisasm on the path, in the packages of "
                             f"{sys.executable} or in /usr/local/cuda")
    return path
