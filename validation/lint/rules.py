#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rules of the project, one TAP case each.

Needs only the standard library, the compilers, binutils and clang-format.

Shows (proof, house): who includes whom, lengths, layout, names of keys, the map
    of the code, exported symbols
"""
import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

CPUS = len(os.sched_getaffinity(0))
BUILD = os.path.relpath(os.environ.get("FX8_BUILD", "build"))
ROOMS = ("config", "kernels", "io", "correlator", "validation")
C_SUFFIXES = (".c", ".cc", ".h", ".cu", ".cuh")
SOURCE_SUFFIXES = C_SUFFIXES + (".py", ".sh")
SCRIPTS = ("Makefile", "validation/run", ".ci/run")
MOST_LINES = 600
MOST_COLUMNS = 100
MAP = "correlator/README.md"
KEYS_PAGE = "config/README.md"
# Generated tables.
WIDE_PAGES = "validation/results/"

# Every room may include the public header: it declares what the library shares
# with its users, such as statuses, errors, times and results.
PUBLIC_HEADER = "correlator/fx8.h"
# What a room may include besides itself and that header; the most specific row
# counts. The program uses the library as any user does.
MAY_INCLUDE = {
    "config/base": (),
    "config": ("config/",),
    "kernels": ("config/base/",),
    "io": ("config/",),
    "correlator/library": ("config/base/", "kernels/"),
    "correlator/ranks": ("config/base/",),
    "correlator/run": ("config/", "io/", "correlator/ranks/"),
    "correlator/simulate": ("config/", "io/", "kernels/", "correlator/run/"),
    "correlator/plot": ("config/", "io/", "kernels/fft.h", "correlator/run/"),
    "correlator/compare": ("config/", "io/", "correlator/run/",
                           "correlator/plot/"),
    "correlator/fringe": ("config/", "io/", "kernels/fft.h", "correlator/run/",
                          "correlator/compare/"),
    "correlator/image": ("config/", "io/", "kernels/imager.h",
                         "correlator/run/", "correlator/compare/",
                         "correlator/plot/"),
    "correlator/plan": ("config/", "io/uvh5/uvh5.h", "kernels/operations.h",
                        "correlator/run/", "correlator/bench/bench.h"),
    "correlator/bench": ("config/", "io/", "kernels/", "correlator/run/",
                         "correlator/commands/"),
    "correlator/commands": ("config/", "io/", "correlator/ranks/",
                            "correlator/run/",
                            "correlator/simulate/", "correlator/compare/",
                            "correlator/fringe/", "correlator/bench/",
                            "correlator/image/", "correlator/plan/",
                            "correlator/plot/"),
    "correlator": ("config/base/", "correlator/commands/"),
    "validation": ("config/", "kernels/", "io/", "correlator/"),
}
# System headers that only some files may include.
KEPT_HEADERS = (
    (r"hdf5(_hl)?\.h|H5\w*\.h", ("io/", "validation/")),
    (r"fftw3\.h", ("kernels/cpu/fft_fftw.c", "validation/cuda/fft.cc",
                   "validation/peers/")),
    (r"mpi\.h", ("correlator/ranks/mpi.c",)),
    (r"fitsio\.h", ("correlator/image/fits.c",)),
    (r"ini\.h", ("config/",)),
    (r"jansson\.h", ("config/base/json.h",)),
    (r"cairo[\w-]*\.h", ("correlator/plot/cairo.c",)),
    (r"cuda\w*\.h|cufft\w*\.h|mma\.h", ("kernels/cuda/", "validation/")),
    (r"omp\.h", ("nothing: use fx8_parallel_for()",)),
    (r"\w*intrin\.h", ("kernels/", "correlator/bench/", "validation/peers/")),
    (r"dnnl\w*\.h", ("validation/peers/",)),
)
# Compiled by mpicc, where there is one.
OF_MPI = () if shutil.which("mpicc") else ("correlator/ranks/mpi.c",)
# libfx8 must not need libraries of the program, nor the program those of its
# plug-ins.
OF_PLUGINS = ("cuda", "cufft", "libmpi")
NOT_NEEDED = {"fx8": OF_PLUGINS,
              "libfx8.so": ("hdf5", "inih", "erfa", "jansson", "libz.",
                            *OF_PLUGINS)}
UNFINISHED = re.compile(
    r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|WI" r"P)\b|\bfor n" r"ow\b")


def run(*command, given=""):
    """Standard output and error of a command, and whether it succeeded."""
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def list_sources():
    """Every source of the project, relative to the root, sorted."""
    found = [name for name in SCRIPTS if os.path.exists(name)]
    for room in ROOMS:
        for folder, folders, names in os.walk(room):
            folders[:] = [f for f in folders if not f.startswith((".", "__"))]
            found += [os.path.join(folder, name) for name in names
                      if name.endswith(SOURCE_SUFFIXES)]
    return sorted(found)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def list_pages():
    """Every page of the project, relative to the root, sorted."""
    return sorted(glob.glob("*.md") + [
        path for room in ROOMS + ("data", ".github")
        for path in glob.glob(f"{room}/**/*.md", recursive=True)])


SOURCES = list_sources()
PAGES = list_pages()
C_SOURCES = [path for path in SOURCES if path.endswith(C_SUFFIXES)]


def needs_runtime(path):
    """Whether a header needs CUDA's runtime or the harness that replaces it."""
    text = read(path)
    return path == "kernels/cuda/launch.h" or any(
        needs_runtime(name) for name in
        re.findall(r'#include "(kernels/cuda/\w+\.h)"', text))


# Headers of the CUDA-on-CPU harness are C++, and those of the peers.
HARNESS_HEADERS = [path for path in C_SOURCES if path.endswith(".h")
                   and (path.startswith(("validation/cuda/",
                                         "validation/peers/"))
                        or needs_runtime(path))]
HEADERS = [path for path in C_SOURCES if path.endswith(".h")
           and path not in HARNESS_HEADERS]


def included(path):
    """Our headers that a source includes, directly or through others."""
    found, left = set(), [path]
    while left:
        names = set(re.findall(r'^#\s*include\s+"([^"]+)"', read(left.pop()),
                               re.MULTILINE)) - found
        found |= names
        left += filter(os.path.exists, names)
    return found


# Headers that CUDA sources include must be valid C++ too.
SHARED_HEADERS = sorted(set(HEADERS) & set().union(
    *(included(path) for path in C_SOURCES
      if path.startswith("kernels/cuda/"))))


def matching_lines(path, pattern):
    """(number, match) of every line that matches the pattern."""
    for number, line in enumerate(read(path).splitlines(), 1):
        match = pattern.search(line)
        if match:
            yield number, match


def chapters(path):
    """Anchors of a page's headings, as GitHub makes them."""
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", read(path), re.MULTILINE)}


def check_rooms():
    """a room includes only itself and the rooms below it"""
    quoted = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
    for path in C_SOURCES:
        room = max((room for room in MAY_INCLUDE
                    if path.startswith(room + "/")), key=len)
        allowed = (room + "/", PUBLIC_HEADER) + MAY_INCLUDE[room]
        for number, match in matching_lines(path, quoted):
            target = match.group(1)
            if not target.startswith(allowed):
                yield f"{path}:{number}: {room} must not include {target}"
            elif not os.path.exists(target):
                yield f"{path}:{number}: {target} is not root-relative"


def check_keys():
    """the library and what is below it name no key of the configuration"""
    _, text = run(f"{BUILD}/fx8", "config", "--dump")
    keys, section = [], ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif " =" in line and not line.startswith("#"):
            keys.append(re.escape(f"{section}.{line.split(' =')[0]}"))
    if not keys:
        yield f"{BUILD}/fx8 config --dump: no keys: {text.strip()}"
        return
    # not members of structures: plan->quantizer.target_rms
    pattern = re.compile(rf"(?<![\w.>])(?:{'|'.join(keys)})\b")
    for path in C_SOURCES:
        if path.startswith(("kernels/", "correlator/library/", PUBLIC_HEADER)):
            for number, match in matching_lines(path, pattern):
                yield f"{path}:{number}: {match.group(0)}"


def check_kept_headers():
    """a library's header stays in the room that owns the library"""
    angled = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')
    for path in C_SOURCES:
        for number, match in matching_lines(path, angled):
            name = match.group(1)
            for pattern, owners in KEPT_HEADERS:
                if re.fullmatch(pattern, name) and not path.startswith(owners):
                    yield f"{path}:{number}: {name} belongs to {owners[0]}"


def check_licence():
    """every source names its licence in its first or second line"""
    tag = "SPDX-License-Identifier: BSD-3-Clause"
    for path in SOURCES:
        if not any(tag in line for line in read(path).splitlines()[:2]):
            yield f"{path}: no {tag}"


def check_layout():
    """clang-format would change nothing"""
    _, text = run("clang-format", "--dry-run", "-Werror", *C_SOURCES)
    yield from [line for line in text.splitlines() if "error:" in line]


def check_length():
    """no file is longer than 600 lines, fx8.h without its comments"""
    for path in SOURCES:
        text = read(path)
        if path == PUBLIC_HEADER:
            text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
            text = re.sub(r"^\s*\n", "", text, flags=re.MULTILINE)
        count = len(text.splitlines())
        if count > MOST_LINES:
            yield f"{path}: {count} lines"


def check_map():
    """the hops and files of correlator/README.md are in the code"""
    page = read(MAP)
    hops = re.findall(r"^\| \d+ \| `([^`]+)` `(\w+)\(\)` \|", page,
                      re.MULTILINE)
    if len(hops) < 10:
        yield f"{MAP}: {len(hops)} hops"
    for path, function in hops:
        if not os.path.exists(path) or not re.search(
                rf"\b{function}\([^;]*?\)\s*\{{", read(path)):
            yield f"{MAP}: {path}: no function {function}()"
    folder = ""
    for path in re.findall(r"`([\w./]+\.(?:c|cu|h))`", page):
        # a bare file name is in the room of the previous file, or in this one
        places = (path, os.path.join(folder, path), f"correlator/{path}")
        found = next(filter(os.path.exists, places), "")
        if not found:
            yield f"{MAP}: there is no {path}"
        folder = os.path.dirname(found)


def check_keys_page():
    """the keys of config/README.md are the program's (else: make pages)"""
    _, keys = run(f"{BUILD}/fx8", "config", "--markdown")
    _, line, rest = read(KEYS_PAGE).partition("by `make pages`. -->\n")
    if not line or not keys or rest != keys:
        yield f"{KEYS_PAGE}: not what make pages writes"


def check_columns():
    """README.md has at most 200 lines, and no page one of over 100 columns"""
    count = len(read("README.md").splitlines())
    if count > 200:
        yield f"README.md: {count} lines"
    for path in PAGES:
        if not path.startswith(WIDE_PAGES):
            for number, line in enumerate(read(path).splitlines(), 1):
                if len(line) > MOST_COLUMNS:
                    yield f"{path}:{number}: {len(line)} columns"


def check_links():
    """what a page links to is there, chapters too"""
    link = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
    for path in PAGES:
        for name, chapter in link.findall(read(path)):
            target = os.path.join(os.path.dirname(path), name) if name else path
            if not os.path.exists(target):
                yield f"{path}: {name}"
            elif chapter and chapter not in chapters(target):
                yield f"{path}: {target} has no #{chapter}"


def check_words():
    """nothing is marked as unfinished"""
    for path in SOURCES:
        for number, match in matching_lines(path, UNFINISHED):
            yield f"{path}:{number}: {match.group(0)}"


def dependency_flags():
    """Include flags of the libraries (Debian has HDF5 in its own folder)."""
    good, text = run("pkg-config", "--cflags", "hdf5-serial", "fftw3f", "inih",
                     "erfa", "jansson")
    return shlex.split(text) if good else []


def check_headers(headers, compiler, language, standard, *more):
    """Check that every header compiles alone."""
    flags = ["-x", language, f"-std={standard}", "-I.", "-D_GNU_SOURCE",
             "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
             "-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512vl",
             *dependency_flags(), *more]
    with concurrent.futures.ThreadPoolExecutor(CPUS) as pool:
        results = pool.map(
            lambda path: run(compiler, *flags, "-", given=(
                f'#include "{path}"\ntypedef int fx8_unit;\n')), headers)
    for path, (good, text) in zip(headers, results):
        if not good:
            errors = [line for line in text.splitlines() if "error:" in line]
            yield errors[0] if errors else f"{path}: {text.strip()}"


def check_headers_c():
    """every header compiles alone as C17"""
    yield from check_headers(HEADERS, "gcc", "c", "c17")


def check_headers_cpp():
    """every header that CUDA sources include compiles alone as C++17"""
    yield from check_headers(SHARED_HEADERS, "clang++", "c++", "c++17")


def check_headers_harness():
    """every header in C++ compiles alone, with the harness, as C++17"""
    more = ("-Ivalidation/cuda/include", "-DFX8_CUDA_ON_CPU")
    yield from check_headers(HARNESS_HEADERS, "g++", "c++", "c++17", *more)


def check_device_words():
    """kernels use no <<<>>>, texture or assembly but in the headers for it"""
    word = re.compile(r"<<<|\basm\b|\btex[123]D|\bcudaTexture")
    for path in C_SOURCES:
        if path.startswith("kernels/cuda/") and os.path.basename(path) not in (
                "launch.h", "ptx.h", "ptx_tensor.h"):
            for number, match in matching_lines(path, word):
                yield f"{path}:{number}: {match.group(0)}"


def objects_of(sources, folder):
    """Object files of C sources."""
    for path in sources:
        name = os.path.splitext(path)[0]
        for level in (("_avx2", "_avx512") if name.endswith("_simd")
                      else ("_avxvnni", "_avx512") if name.endswith("_dot")
                      else ("",)):
            yield f"{folder}/{name}{level}.o"


def check_warnings():
    """clang has nothing to warn of in C; with STRICT=1 nor has gcc anywhere"""
    folder = f"{BUILD}/clang"
    paths = [*objects_of(
        [path for path in C_SOURCES if path.endswith(".c") and
         not path.startswith(("correlator/examples/", *OF_MPI))], folder)]
    builds = []
    if os.environ.get("STRICT") == "1":
        # both are built that way already, by tiers native and thread; clang
        # only reads what tier thread leaves out
        thread = f"{BUILD}/tsan"
        built = [path for path in paths if os.path.exists(
            path.replace(folder, thread, 1))]
        builds = [(BUILD, f"{BUILD}/fx8", "tests")]
        if built:
            builds.append((thread, "CC=clang", "SAN=thread", "CFLAGS=-O1 -g1", *(
                path.replace(folder, thread, 1) for path in built)))
        paths = [path for path in paths if path not in built]
    if paths:
        builds.append((folder, "CC=clang", "CFLAGS=-fsyntax-only", *paths))
    for folder, *arguments in builds:
        good, text = run("make", "-k", f"-j{CPUS}", "STRICT=1",
                         f"BUILD={folder}", *arguments)
        if not good:
            yield from [line for line in text.splitlines()
                        if "error:" in line or "***" in line]


def check_needs():
    """the program needs no CUDA or MPI, libfx8 no HDF5, inih, ERFA or jansson"""
    for file, unwanted in NOT_NEEDED.items():
        good, text = run("readelf", "-d", f"{BUILD}/{file}")
        needed = re.findall(r"NEEDED.*\[(.*)\]", text)
        if not good or "libc.so.6" not in needed:
            yield f"{BUILD}/{file}: readelf does not list what it needs"
        for name in needed:
            if any(part in name for part in unwanted):
                yield f"{BUILD}/{file}: {name}"


def check_names():
    """what a room shows to others is called fx8_*"""
    objects = objects_of(
        [path for path in C_SOURCES if path.endswith(".c") and not
         path.startswith(("validation/", "correlator/examples/", *OF_MPI))],
        BUILD)
    good, text = run("nm", "--defined-only", "--extern-only", "-A", *objects)
    if not good:
        yield text.strip().splitlines()[-1]
    for line in text.splitlines():
        path, name = line.split(":")[0], line.split()[-1]
        if not name.startswith("fx8_") and name != "main":
            yield f"{path}: {name}"


RULES = [rule for name, rule in list(globals().items())
         if name.startswith("check_") and name != "check_headers"]


def main():
    print(f"1..{len(RULES)}")
    failed = 0
    for number, rule in enumerate(RULES, 1):
        faults = list(rule())
        failed += bool(faults)
        print(f"{'not ' if faults else ''}ok {number} - {rule.__doc__}")
        for fault in faults:
            print(f"# {fault}")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
