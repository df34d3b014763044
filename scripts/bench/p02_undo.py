#!/usr/bin/env python3
"""P2: the undo of tidying 10,000 files, the identity of every object checked, against `mv` back."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bench import peers, worlds
from scripts.bench.harness import Bench, Used, alternate, main, must_equal, ratio


def measure(bench: Bench) -> None:
    """Take back a tidying with deskshell and with `mv`, in turn, both tidied again in between."""
    files = bench.size(10_000, 60)
    path = worlds.skill(bench, "tidy", worlds.TIDY)
    ours, theirs = worlds.flat_folder(bench, "ours", files), worlds.flat_folder(bench, "theirs", files)
    before, mv = worlds.digest(ours), worlds.Mv(theirs)
    worlds.apply(bench, path, ours)
    worlds.undo(bench)
    must_equal("undo brings all back", worlds.digest(ours), before)

    def undo_ours() -> Used:
        worlds.apply(bench, path, ours)
        return worlds.undo(bench)

    def undo_theirs() -> Used:
        mv.do()
        return mv.undo()

    found = alternate(bench.rounds, {"deskshell": undo_ours, "mv": undo_theirs})
    bench.add(ratio(f"P2 undo of {files:,} moves / mv back", found["deskshell"], found["mv"], 5, 3.5))
    if bench.peers:
        peers.git_reset(bench, files, found["mv"])


if __name__ == "__main__":
    sys.exit(main(measure, __doc__))
