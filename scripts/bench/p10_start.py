#!/usr/bin/env python3
"""P10: start-up, against `python -c pass`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from collections.abc import Callable
from functools import partial

from scripts.bench import peers, worlds
from scripts.bench.harness import Bench, Used, alternate, main, python, ratio, run

#: Command lines with their goal and stretch goal.
LINES: tuple[tuple[str, float, float | None], ...] = (
    ("--version", 2, None),
    ("undo --last", 4, 2.5),
    ("log", 5, None),
    ("--help", 7, None),
    ("run SKILL", 9, None),
    ("skills list", 9, None),
    ("plans", 9, None),
    ("gc", 9, None),
    ("doctor", 9, None),
    ("undo --help", 9, None),
)


def measure(bench: Bench) -> None:
    """Each command on a state folder with one finished task; the preview is of one file."""
    folder = bench.folder("files")
    (folder / "a.txt").write_text("one file")
    path = worlds.skill(bench, "tidy", worlds.TIDY)
    worlds.apply(bench, path, folder)
    worlds.undo(bench)
    told = {"SKILL": [path, "--set", f"folder={folder}"]}
    sides: dict[str, Callable[[], Used]] = {"pass": lambda: run([python(), "-c", "pass"], bench.state())}
    for line, *_ in LINES:
        words = [bench.program()]
        for word in line.split():
            words += told.get(word, [word])
        sides[line] = partial(run, words, bench.state())
    if bench.peers:
        sides |= peers.starting(bench)
    found = alternate(bench.rounds * (1 if bench.quick else 3), sides)
    for line, goal, stretch in LINES:
        bench.add(ratio(f"P10 {line} / python -c pass", found[line], found["pass"], goal, stretch))
    for name in [each for each in found if each.startswith("peer ")]:
        bench.add(ratio(f"    {name[5:]} / python -c pass", found[name], found["pass"], None))


if __name__ == "__main__":
    sys.exit(main(measure, __doc__))
