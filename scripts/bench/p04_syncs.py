#!/usr/bin/env python3
"""P4: sync calls for 1,000 steps, and what durability costs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bench import worlds
from scripts.bench.harness import Bench, Row, main, run
from scripts.bench.inner import inner


def measure(bench: Bench) -> None:
    """Count the syncs of a run with strace, or in the process where there is none; time it with and without them."""
    steps = bench.size(1_000, 40)
    counted = _by_strace(bench, steps) if worlds.has("strace") else None
    found = inner(bench, "durability", steps=steps, rounds=bench.rounds)
    how = "strace" if counted is not None else "counted in the process; strace is not installed"
    count = found["syncs"] if counted is None else counted
    bench.add(Row(f"P4 sync calls for {steps:,} steps", count, "calls", 60, 30, how))
    note = f"{found['durable_s'] * 1e3:.0f} ms / {found['not_durable_s'] * 1e3:.0f} ms, kernel only"
    bench.add(
        Row("P4 durable / not durable", found["durable_s"] / found["not_durable_s"], "×", 1.3, None, note)
    )


def _by_strace(bench: Bench, steps: int) -> int:
    path = worlds.skill(bench, "tidy", worlds.TIDY)
    folder = worlds.flat_folder(bench, "counted", steps)
    log = bench.work / "syncs.txt"
    words = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,syncfs,sync", "-o", str(log)]
    words += [bench.program(), "run", path, "--set", f"folder={folder}", "--mode", "apply"]
    run(words, bench.state("counted-state"))
    return sum("sync" in line for line in log.read_text().splitlines())


if __name__ == "__main__":
    sys.exit(main(measure, __doc__))
