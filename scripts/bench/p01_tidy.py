#!/usr/bin/env python3
"""P1: tidy 10,000 files of 4 KB into folders, durable at the end, against `mv -t`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bench import peers, worlds
from scripts.bench.harness import Bench, Used, alternate, main, must_equal, ratio


def measure(bench: Bench) -> None:
    """Tidy one copy of a folder with deskshell and another with `mv`, in turn, both put back in between."""
    files = bench.size(10_000, 60)
    path = worlds.skill(bench, "tidy", worlds.TIDY)
    ours, theirs = worlds.flat_folder(bench, "ours", files), worlds.flat_folder(bench, "theirs", files)
    before, mv = worlds.digest(ours), worlds.Mv(theirs)
    worlds.apply(bench, path, ours)
    mv.do()
    must_equal("both tidied alike", worlds.names(ours), worlds.names(theirs))
    worlds.undo(bench)
    mv.undo()
    must_equal("undo brings all back", worlds.digest(ours), before)

    def run_ours() -> Used:
        used = worlds.apply(bench, path, ours)
        worlds.undo(bench)
        return used

    def run_theirs() -> Used:
        used = mv.do()
        mv.undo()
        return used

    sides = {"deskshell": run_ours, "mv": run_theirs}
    if bench.peers:
        sides |= peers.tidying(bench, files)
    found = alternate(bench.rounds, sides)
    bench.add(ratio(f"P1 tidy {files:,} files / mv -t", found["deskshell"], found["mv"], 4, 3))
    for name in found.keys() - {"deskshell", "mv"}:
        bench.add(ratio(f"   {name} / mv -t", found[name], found["mv"], None))


if __name__ == "__main__":
    sys.exit(main(measure, __doc__))
