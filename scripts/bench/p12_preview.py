#!/usr/bin/env python3
"""P12: the preview of 100,000 files, against `find -type f` for the walk."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bench import make_tree, worlds
from scripts.bench.harness import Bench, alternate, main, must_equal, output, python, ratio, run


def measure(bench: Bench) -> None:
    """A preview that walks all files and chooses none is the walk; one that moves them all is shown beside it."""
    files = bench.size(100_000, 200)
    folder = bench.folder("tree")
    make_tree.make(str(folder), files, files * 10, 1, make_tree.Shape(odd=0.0))
    before = worlds.digest(folder)
    walk, everything = worlds.skill(bench, "walk", worlds.WALK), worlds.skill(bench, "all", worlds.MOVE_ALL)
    find = ["find", str(folder), "-type", "f"]
    must_equal("find sees all files", str(len(output(find, bench.state()).splitlines())), str(files))
    sides = {
        "walk": lambda: worlds.preview(bench, walk, folder),
        "all": lambda: worlds.preview(bench, everything, folder),
        "find": lambda: run(find, bench.state()),
        "pathlib": lambda: run([python(), "-c", _PATHLIB, str(folder)], bench.state()),
    }
    found = alternate(bench.rounds, sides)
    must_equal("a preview changes nothing", worlds.digest(folder), before)
    bench.add(ratio(f"P12 preview that walks {files:,} files / find", found["walk"], found["find"], 8, 5.3))
    bench.add(ratio(f"    preview that moves {files:,} files / find", found["all"], found["find"], None))
    bench.add(ratio("    pathlib rglob / find", found["pathlib"], found["find"], None))


_PATHLIB = "import pathlib, sys; print(sum(path.is_file() for path in pathlib.Path(sys.argv[1]).rglob('*')))"


if __name__ == "__main__":
    sys.exit(main(measure, __doc__))
