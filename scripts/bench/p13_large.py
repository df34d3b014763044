#!/usr/bin/env python3
"""P13: move and undo one file of 20 GB, and 1,000 of 5 MB, against `mv`; how much of them is read."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bench import worlds
from scripts.bench.harness import Bench, Row, added, alternate, main, must_equal, ratio, run


def measure(bench: Bench) -> None:
    """Move a folder's files there and back, deskshell and `mv` in turn. Files are sparse: nothing may read them."""
    for files, size in ((1, bench.size(20 * 10**9, 10**7)), (bench.size(1_000, 10), 5 * 10**6)):
        _measure(bench, files, size)


def _measure(bench: Bench, files: int, size: int) -> None:
    path = worlds.skill(bench, "move", worlds.MOVE_EVERYTHING)
    ours, theirs = _sparse(bench, "ours", files, size), _sparse(bench, "theirs", files, size)
    before, state = worlds.names(ours), f"state-{files}"
    worlds.apply(bench, path, ours, state)
    must_equal("all is moved", str(len(list((ours / "to").iterdir()))), str(files))
    worlds.undo(bench, state)
    must_equal("undo", worlds.names(ours), before)
    there = ["sh", "-c", f"mkdir '{theirs}/to'; mv -t '{theirs}/to' '{theirs}'/from/*"]
    back = ["sh", "-c", f"mv -t '{theirs}/from' '{theirs}'/to/*; rmdir '{theirs}/to'"]
    found = alternate(
        bench.rounds,
        {
            "ours": lambda: added(worlds.apply(bench, path, ours, state), worlds.undo(bench, state)),
            "mv": lambda: added(run(there, bench.state()), run(back, bench.state())),
            "start": lambda: added(
                worlds.preview(bench, path, ours),
                run([bench.program(), "undo", "--last"], bench.state("none")),
            ),
        },
    )
    # What is added to `mv` is the time that the two commands take for nothing: "mv plus start-up".
    allowed = added(found["mv"], found["start"])
    bench.add(
        ratio(
            f"P13 move and undo {files:,} × {size / 1e6:,.0f} MB / mv + start-up", found["ours"], allowed, 1.3
        )
    )
    if worlds.has("strace"):
        share = 100 * _bytes_read(bench, path, ours, state) / (files * size)
        bench.add(Row("P13 share of the data that is read", share, "%", 1, None, "strace"))


def _sparse(bench: Bench, name: str, files: int, size: int) -> Path:
    folder = bench.folder(name)
    (folder / "from").mkdir()
    for n in range(files):
        with open(folder / "from" / f"{n:05}.bin", "wb") as file:
            file.truncate(size)
    return folder


def _bytes_read(bench: Bench, path: str, folder: Path, state: str) -> int:
    """Bytes read of anything in `folder`, by a run and its undo."""
    log, total = bench.work / "reads.txt", 0
    strace = [
        "strace",
        "-f",
        "-qq",
        "-y",
        "-e",
        "trace=read,pread64,copy_file_range",
        "-o",
        str(log),
        bench.program(),
    ]
    for words in (["run", path, "--set", f"folder={folder}", "--mode", "apply"], ["undo", "--last"]):
        run([*strace, *words], bench.state(state))
        counts = [
            line.rpartition("= ")[2]
            for line in log.read_text(errors="replace").splitlines()
            if f"<{folder}" in line
        ]
        total += sum(int(count) for count in counts if count.isdecimal())
    return total


if __name__ == "__main__":
    sys.exit(main(measure, __doc__))
