#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A table of the main kernels' machine code and the performance it allows.

    machine_code.py NVDISASM    write it for the installed compiler

All figures are arithmetic: no device is needed and none was measured.
"""
import datetime
import os
import re
import sys

import sass
import test_emitted
import toolkit

FOLDER = "validation/results"
ARCHITECTURES = (80, 86, 90, 120)
CALLS = (1024, 8192)
# Latency of the load of a sum in clocks: assumed, a typical value.
LATENCY = 800
WARP, SCHEDULERS, REGISTERS = 32, 4, 65536
# Passes of 128 bytes through shared memory per warp: a quarter of a warp per
# pass if each lane has 16 bytes.
PASSES = {16: 4, 8: 2}
# Instructions that a fill needs to advance the pointers of a stage.
POINTERS = 12
KINDS = ("product", "shared", "global", "integer", "float", "double", "wait")
# Bytes of one part of a time column, for tiles of 64 and 128 inputs.
PART = {64: 1024, 128: 2048}


def place(lane):
    """fx8_tile_input_at() of correlate_tile.cuh, for eight lanes."""
    return lane % 2 * 4 + lane % 8 // 2


# Kernels, access, and the address in shared memory of each lane's 16 bytes.
ACCESSES = (
    ("fp32-64, dp4a-64", "rows, `LDS`", lambda lane: 16 * (lane // 8)),
    ("fp32-64, dp4a-64", "columns, `LDS`", lambda lane: 16 * (lane % 8)),
    ("fp32-64, dp4a-64", "filling, `STS`",
     lambda lane: 16 * (lane % 16) + PART[64] * (lane // 16)),
    ("mma, wgmma", "rows, `LDSM`",
     lambda lane: 16 * (lane % 16) + 2 * PART[128] * (lane // 16)),
    ("mma", "columns, `LDSM`",
     lambda lane: (2 * PART[128] * (lane // 8 % 2) + PART[128] * (lane // 16)
                   + 16 * place(lane))),
    ("mma, wgmma", "filling, `LDGSTS`",
     lambda lane: 16 * (lane % 16) + PART[128] * (lane // 16)),
    ("wgmma", "sums of columns, `LDS`", lambda lane: 16 * lane),
)


def passes(address):
    """Passes of a warp through the 32 banks, quarter by quarter; lanes with the
    same address share a pass."""
    total = 0
    for quarter in range(0, WARP, 8):
        lines = {}
        for at in {address(lane) for lane in range(quarter, quarter + 8)}:
            lines.setdefault(at % 128, set()).add(at)
        total += max(map(len, lines.values()))
    return total


class Device:
    """A card, from its data sheet and NVIDIA's throughput tables; rates are per
    clock of an SM, at boost.

    lanes     results of FFMA and of IDP per clock
    macs      products of bytes per clock, of IMMA and of IGMMA
    doubles   results of DFMA per clock
    shared    memory, KiB; threads and blocks: the most that an SM holds
    """

    def __init__(self, name, sms, ghz, gbytes, lanes, macs, doubles, shared,
                 threads, blocks):
        self.name, self.doubles = name, doubles
        self.bytes = gbytes / (sms * ghz)
        self.lanes = dict(zip(("FFMA", "IDP"), lanes))
        self.macs = dict(zip(("IMMA", "IGMMA"), macs))
        self.shared, self.threads, self.blocks = shared, threads, blocks

    def clocks(self, instruction):
        """Clocks of an SM for a product of one warp."""
        name = instruction.name
        if name in self.lanes:
            return WARP / self.lanes[name]
        of_warp = (16 * 8 * 32 if name == "IMMA"
                   else 64 * instruction.columns * 32 / 4)
        return of_warp / self.macs[name]


DEVICES = {
    80: Device("A100 40 GB", 108, 1.41, 1555, (64, 64), (2048,), 32, 164, 2048,
        32),
    86: Device("RTX 3090", 82, 1.695, 936, (128, 64), (1024,), 2, 100, 1536,
        16),
    90: Device("H100 SXM", 132, 1.83, 3350, (128, 64), (2048, 4096), 64, 228,
        2048, 32),
    120: Device("RTX 5090", 170, 2.41, 1792, (128, 64), (1024,), 2, 100, 1536,
         24),
}


class Correlator:
    """A kernel that computes a tile: `stage` spectra at a time, in `trips`
    rounds of its inner loop; its sums are folded every `fold` spectra."""

    def __init__(self, name, product, tile, threads, stage, trips, dynamic=0,
                 fold=1 << 16):
        self.name = f"fx8_correlate_{name}_kernel"
        self.label = name.replace("_", "-")
        self.source = f"kernels/cuda/correlate_{name.split('_')[0]}.cu"
        self.product, self.tile, self.threads = product, tile, threads
        self.stage, self.trips, self.dynamic = stage, trips, dynamic
        self.fold = fold
        # The third warpgroup of wgmma has no products.
        self.warps = 8 if product == "IGMMA" else threads // WARP


CORRELATORS = (
    Correlator("fp32_64", "FFMA", 64, 256, 16, 4, fold=256),
    Correlator("dp4a_64", "IDP", 64, 256, 32, 2),
    Correlator("mma_64", "IMMA", 64, 128, 32, 1),
    Correlator("mma_128", "IMMA", 128, 256, 32, 1),
    Correlator("wgmma_128", "IGMMA", 128, 384, 128, 1, dynamic=3 << 16),
)


class Stream:
    """A kernel that should be memory-bound. `moved`: bytes that a thread reads
    and writes in a round of its loop, or in total. `products`: products of a
    thread's rounds, if the loop also has those of others; 0: all in the loop."""

    def __init__(self, name, product, threads, moved, products=0):
        self.name, self.product = name, product
        self.kernel = f"fx8_{name}_kernel"
        self.threads, self.moved, self.products = threads, moved, products
        self.source = next(
            f"kernels/cuda/{room}.cu" for room in
            ("fir_int16", "fir", "turn", "gather", "postprocess")
            if name.startswith(room))


# One round of a filter: 8 spectra of some columns; a byte is read and a float
# written.  One thread of the others: 16 spectra of one input and channel, or the
# sums of a pair in a channel.
STREAMS = tuple(
    Stream(f"fir_{taps}", "FFMA", 128, 40 * columns, 8 * columns * taps)
    for taps, columns in ((4, 4), (8, 4), (16, 2), (64, 1))) + tuple(
    Stream(f"fir_int16_{taps}", "IDP", 128, 40 * columns,
           8 * columns * taps // 2)
    for taps, columns in ((4, 4), (8, 4), (16, 4), (64, 1))) + (
    Stream("turn", "", 256, 16 * 10), Stream("turn_rotated", "", 256, 16 * 10),
    Stream("gather", "", 256, 16 * 4),
    Stream("postprocess_int8", "", 256, 29),
    Stream("postprocess_fp32", "", 256, 29),
)


class Resources:
    """Resources of a block, as printed by ptxas -v."""

    def __init__(self, text, name, dynamic=0):
        part = re.search(rf"entry function '{name}'.*?Used (\d+) registers"
                         r"([^\n]*)", text, re.DOTALL)
        self.registers = int(part.group(1))
        shared = re.search(r"(\d+) bytes smem", part.group(2))
        self.shared = dynamic + (int(shared.group(1)) if shared else 0)

    def blocks(self, device, threads):
        """Blocks of an SM; each takes 1 KiB of shared memory more."""
        warps = threads // WARP
        per_warp = -(-self.registers // 8) * 8 * WARP
        return min(REGISTERS // per_warp // warps, device.blocks,
                   device.threads // threads,
                   (device.shared << 10) // (self.shared + 1024))


class Prediction:
    """Clocks that an SM needs for a stage of one block.

    product  clocks of the units that multiply
    issue    clocks of the schedulers: all instructions of the loop, and those
             in front of it in the surrounding loop
    shared   clocks of the shared memory
    """

    def __init__(self, kernel, code, device):
        begin, end = code.inner_loop(kernel.product)
        loop = code.instructions[begin:end + 1]
        around = code.around((begin, end)) if kernel.trips > 1 else []
        each = kernel.trips * kernel.warps
        self.product = each * sum(device.clocks(i) for i in loop
                                  if i.name == kernel.product)
        n_products = each * sum(i.name == kernel.product for i in loop)
        self.issue = (each * len(loop)
                      + kernel.warps * len(around)) / SCHEDULERS
        self.other = self.issue - n_products / SCHEDULERS
        self.shared = sum(
            weight * PASSES.get(16 if i.name == "LDSM" else i.width, 1)
            for part, weight in ((loop, each), (around, kernel.warps))
            for i in part if i.name in ("LDS", "LDSM", "STS", "LDGSTS"))
        if kernel.product == "IGMMA":
            # Each warpgroup reads the columns, 32 bytes of each per product.
            self.shared += sum(i.columns * 32 / 128 / 4 * each for i in loop
                               if i.name == kernel.product)
        self.groups = len(code.fold_runs(kernel.product))
        self.fold = kernel.tile ** 2 * 32 / device.bytes

    @property
    def bound(self):
        """The limiting resource of a stage if everything overlaps."""
        return max(("products", self.product), ("issue", self.issue),
                   ("shared memory", self.shared), key=lambda pair: pair[1])[0]

    def shares(self):
        """Share of the products in the time of a stage, if other instructions
        do not overlap with them, and if they overlap fully."""
        return (self.product / (self.product + self.other),
                self.product / max(self.product, self.issue, self.shared))

    def call_shares(self, kernel, blocks, times):
        """The same for a whole call, with fill and fold."""
        stages = times / kernel.stage
        latency = -(-times // kernel.fold) * self.groups * LATENCY
        outside = LATENCY + max(latency, self.fold)
        useful = stages * self.product
        slow, fast = (useful / share for share in self.shares())
        together = (max(fast, self.fold) if blocks > 1 else fast + outside)
        return useful / (slow + outside), useful / together


def share_words(low, high):
    return f"{low:.2f} - {high:.2f}"


class Report:
    """The page."""

    def __init__(self, nvdisasm):
        self.build = test_emitted.build()
        self.nvdisasm = nvdisasm
        self.codes = {}

    def code(self, source, architecture):
        """Kernels of a source, and the output of ptxas about them."""
        key = source, architecture
        if key not in self.codes:
            done = self.build.compile(source, architecture).result()
            if not done.good:
                raise AssertionError(done.complaint())
            path = test_emitted.target_of(source, f".{architecture}.cubin")
            self.codes[key] = sass.read(self.nvdisasm, path), done.text
        return self.codes[key]

    def correlators(self):
        """Kernel, architecture, code, resources of every correlator."""
        for kernel in CORRELATORS:
            for architecture in ARCHITECTURES:
                if self.build.has_kernels(kernel.source, architecture):
                    codes, text = self.code(kernel.source, architecture)
                    yield (kernel, architecture, codes[kernel.name],
                           Resources(text, kernel.name, kernel.dynamic))

    def loops(self):
        """The table of inner loops."""
        yield ("| kernel | sm | instructions | " + " | ".join(KINDS) +
               " | share of products | registers | shared, KiB | blocks an SM "
               "| loads a group in the fold |")
        yield "|---" * (len(KINDS) + 8) + "|"
        for kernel, architecture, code, taken in self.correlators():
            begin, end = code.inner_loop(kernel.product)
            loop = code.instructions[begin:end + 1]
            count = sass.kinds(loop, kernel.product)
            blocks = taken.blocks(DEVICES[architecture], kernel.threads)
            runs = " ".join(map(str, code.fold_runs(kernel.product)))
            yield (f"| {kernel.label} | {architecture} | {len(loop)} | "
                   + " | ".join(str(count[kind]) for kind in KINDS)
                   + f" | {count['product'] / len(loop):.2f} "
                   f"| {taken.registers} | {taken.shared / 1024:.0f} "
                   f"| {blocks} | {runs} |")

    def predictions(self):
        """The table of predicted shares."""
        yield ("| kernel | sm | products | issue | shared memory | bound by "
               "| share in the loop | " +
               " | ".join(f"calls of {n:,}" for n in CALLS) +
               " | bytes a clock from L2 |")
        yield "|---" * (8 + len(CALLS)) + "|"
        for kernel, architecture, code, taken in self.correlators():
            device = DEVICES[architecture]
            found = Prediction(kernel, code, device)
            blocks = taken.blocks(device, kernel.threads)
            calls = " | ".join(
                share_words(*found.call_shares(kernel, blocks, times))
                for times in CALLS)
            sample = 8 if kernel.product == "FFMA" else 2
            from_l2 = 2 * kernel.tile * kernel.stage * sample / found.product
            yield (f"| {kernel.label} | {architecture} | {found.product:.0f} "
                   f"| {found.issue:.0f} | {found.shared:.0f} "
                   f"| {found.bound} | {share_words(*found.shares())} "
                   f"| {calls} | {from_l2:.0f} |")

    @staticmethod
    def accesses():
        """The table of accesses to shared memory."""
        yield "| kernels | access | passes | without conflicts | bytes / 128 |"
        yield "|---|---|---|---|---|"
        for kernels, access, address in ACCESSES:
            distinct = 16 * len({address(lane) for lane in range(WARP)})
            yield (f"| {kernels} | {access} | {passes(address)} | {PASSES[16]} "
                   f"| {distinct / 128:g} |")

    def streams(self):
        """The table of kernels that should be memory-bound."""
        yield ("| kernel | sm | instructions | " + " | ".join(KINDS) +
               " | registers | blocks an SM | most loads before a wait "
               "| issue | doubles | memory | share of a copy |")
        yield "|---" * (len(KINDS) + 10) + "|"
        for stream in STREAMS:
            for architecture in ARCHITECTURES:
                device = DEVICES[architecture]
                codes, text = self.code(stream.source, architecture)
                code = codes[stream.kernel]
                taken = Resources(text, stream.kernel)
                begin, end = code.inner_loop(stream.product)
                part = code.instructions[begin:end + 1]
                count = sass.kinds(part, stream.product)
                loads, size = max(code.runs_of_loads(begin, end),
                                  key=lambda run: run[1])
                blocks = taken.blocks(device, stream.threads)
                warps = blocks * stream.threads // WARP
                # In a loop with several paths, the part that a thread runs.
                scale = (min(1, stream.products / count["product"])
                         if stream.products else 1)
                issue = warps * len(part) * scale / SCHEDULERS
                doubles = warps * count["double"] * WARP / device.doubles
                memory = warps * stream.moved * WARP / device.bytes
                share = memory / max(memory, issue, doubles,
                                     LATENCY + issue / warps)
                yield (f"| {stream.name.replace('_', '-')} | {architecture} "
                       f"| {len(part)} | "
                       + " | ".join(str(count[kind]) for kind in KINDS)
                       + f" | {taken.registers} | {blocks} | {loads} of {size} "
                       f"bytes | {issue:.0f} | {doubles:.0f} | {memory:.0f} "
                       f"| {share:.2f} |")

    def steps(self):
        """Figures of the last section, on sm_90."""
        found = {kernel.label: (kernel, code) for kernel, architecture, code, _
                 in self.correlators() if architecture == 90}

        kernel, code = found["mma-64"]
        begin, end = code.inner_loop(kernel.product)
        names = [i.name for i in code.instructions[begin:end + 1]]
        barrier, product = names.index("BAR"), names.index(kernel.product)
        fill = names[barrier:product].count("LDGSTS")
        last_fill = max(k for k, name in enumerate(names) if name == "LDGSTS")
        now = Prediction(kernel, code, DEVICES[90])
        saved = (last_fill - barrier - POINTERS - fill) / SCHEDULERS
        rest = now.other - kernel.warps * saved

        kernel, code = found["fp32-64"]
        begin, end = code.inner_loop(kernel.product)
        count = sass.kinds(code.instructions[begin:end + 1], kernel.product)
        fewer = end + 1 - begin - count["shared"] / 2
        return {"mma_front": product - barrier - 1,
                "mma_before": f"{now.shares()[0]:.2f}",
                "mma_after": f"{now.product / (now.product + rest):.2f}",
                "fp32_after": f"{100 * count['product'] / fewer:.0f} %"}

    def write(self):
        """The page of this compiler."""
        kit = self.build.kit
        path = os.path.join(FOLDER, f"machine-code-nvcc-{kit.release}.md")
        page = test_emitted.read_text("validation/emitted/machine_code.md")
        cards = "; ".join(
            f"sm_{a}: {d.name}, {d.bytes:.1f} bytes a clock and SM"
            for a, d in DEVICES.items())
        for name, text in (
                ("date", datetime.date.today().isoformat()),
                ("nvcc", kit.build), ("release", kit.release),
                ("cards", cards), ("latency", LATENCY),
                ("loops", "\n".join(self.loops())),
                ("predictions", "\n".join(self.predictions())),
                ("accesses", "\n".join(self.accesses())),
                ("streams", "\n".join(self.streams())),
                *self.steps().items()):
            page = page.replace(f"@{name}@", str(text))
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
        return path


if __name__ == "__main__":
    try:
        print(Report(sys.argv[1]).write())
    except (toolkit.MissingToolkit, FileNotFoundError) as missing:
        sys.exit(f"machine_code: {missing}")
