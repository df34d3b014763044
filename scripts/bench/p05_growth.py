#!/usr/bin/env python3
"""P5 and P6: growth of time and memory from 1,000 to 100,000 steps: preview, do, undo and log."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import math
from collections.abc import Sequence

from scripts.bench import worlds
from scripts.bench.harness import Bench, Row, Used, main, must_equal, run


def measure(bench: Bench) -> None:
    """Preview, do, undo and log the same work at growing sizes; the exponent is that of time over steps."""
    sizes = [20, 40] if bench.quick else [1_000, 10_000, 100_000]
    path = worlds.skill(bench, "tidy", worlds.TIDY)
    # What each takes for nothing: it is taken off before anything is compared.
    nothing = {
        "preview": worlds.preview(bench, path, bench.folder("empty")),
        "do": worlds.apply(bench, path, bench.folder("empty-too"), "none"),
        "undo": worlds.undo(bench, "none"),
        "log": run([bench.program(), "log", "--entries"], bench.state("none")),
    }
    taken: dict[str, list[Used]] = {"preview": [], "do": [], "undo": [], "log": []}
    for size in sizes:
        folder = worlds.flat_folder(bench, "tree", size)
        before, state = worlds.digest(folder), f"state-{size}"
        taken["preview"].append(worlds.preview(bench, path, folder))
        taken["do"].append(worlds.apply(bench, path, folder, state))
        taken["undo"].append(worlds.undo(bench, state))
        must_equal(f"undo of {size} steps", worlds.digest(folder), before)
        taken["log"].append(run([bench.program(), "log", "--entries"], bench.state(state)))
    for name, used in taken.items():
        times = [max(each.cpu_s - nothing[name].cpu_s, 1e-4) for each in used]
        found = slope(sizes, times)
        shown = ", ".join(f"{size:,}: {time * 1e3:,.0f} ms" for size, time in zip(sizes, times, strict=True))
        goal = 1.10 if name in ("do", "undo") else None
        bench.add(
            Row(
                f"P5 exponent of {name}", found, "", goal, 1.0, f"processor time, start-up taken off: {shown}"
            )
        )
    for name, goal, stretch in (("do", 80, 42), ("undo", 100, 60), ("preview", None, None)):
        start = nothing[name]
        more = taken[name][-1].peak_mib - start.peak_mib
        note = (
            f"{sizes[-1]:,} steps; {taken[name][-1].peak_mib:.0f} MiB − {start.peak_mib:.0f} MiB of start-up"
        )
        bench.add(Row(f"P6 peak memory of {name} over start-up", more, "MiB", goal, stretch, note))


def slope(sizes: Sequence[int], times: Sequence[float]) -> float:
    """The exponent e of times ~ sizes ** e, by least squares over the logarithms."""
    xs, ys = [math.log(each) for each in sizes], [math.log(each) for each in times]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


if __name__ == "__main__":
    sys.exit(main(measure, __doc__))
