#!/usr/bin/env python3
"""P3: what the kernel adds to each step over a bare loop of renames."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bench.harness import Bench, Row, main
from scripts.bench.inner import inner


def measure(bench: Bench) -> None:
    """Run the same moves through a transaction and through a loop, in one process (see `inner`)."""
    steps = bench.size(5_000, 50)
    found = inner(bench, "overhead", steps=steps, rounds=bench.rounds)
    note = f"{found['kernel_us']:.1f} µs − {found['bare_us']:.1f} µs of processor time, {steps:,} steps"
    bench.add(Row("P3 kernel overhead a step", found["kernel_us"] - found["bare_us"], "µs", 60, 40, note))


if __name__ == "__main__":
    sys.exit(main(measure, __doc__))
