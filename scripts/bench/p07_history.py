#!/usr/bin/env python3
"""P7 and P8: a journal of a million entries: `undo --last` at its end, and verifying all of it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bench import worlds
from scripts.bench.harness import Bench, Row, Used, alternate, main, must_equal, python, ratio, run
from scripts.bench.inner import inner


def measure(bench: Bench) -> None:
    """Undo and redo one move behind a long and a short history, in turn; then verify the long one."""
    entries = bench.size(1_000_000, 2_000)
    path = worlds.skill(bench, "one", worlds.MOVE_EVERYTHING)
    for name, size in (("short", 100), ("long", entries)):
        inner(bench, "history", state=str(bench.work / name), entries=size)
        folder = bench.folder(f"{name}-files")
        (folder / "from").mkdir()
        (folder / "from" / "a.txt").write_text("one file")
        worlds.apply(bench, path, folder, name)
        before = worlds.names(folder)
        worlds.undo(bench, name)
        run([bench.program(), "redo"], bench.state(name))
        must_equal("undo and redo", worlds.names(folder), before)

    def undo(name: str) -> Used:
        used = worlds.undo(bench, name)
        run([bench.program(), "redo"], bench.state(name))
        return used

    found = alternate(bench.rounds, {"long": lambda: undo("long"), "short": lambda: undo("short")})
    what = f"P7 undo --last: {entries:,} / 100 entries"
    bench.add(ratio(what, found["long"], found["short"], 1.3))
    if worlds.has("strace"):
        bench.add(
            Row("P7 bytes read by it", _bytes_read(bench) / 1024, "KiB", 1024, None, "strace, state folder")
        )
    _verify(bench, entries)


def _bytes_read(bench: Bench) -> int:
    """What an undo reads of files in the state folder."""
    log = bench.work / "reads.txt"
    words = ["strace", "-f", "-qq", "-y", "-e", "trace=read,pread64", "-o", str(log), bench.program()]
    run([*words, "undo", "--last"], bench.state("long"))
    mine = f"<{bench.work / 'long'}"
    counts = [
        line.rpartition("= ")[2] for line in log.read_text(errors="replace").splitlines() if mine in line
    ]
    run([bench.program(), "redo"], bench.state("long"))
    return sum(int(count) for count in counts if count.isdecimal())


def _verify(bench: Bench, entries: int) -> None:
    files = sorted(str(each) for each in (bench.work / "long").glob("journal*.jsonl"))
    loop = "import json, sys\nfor name in sys.argv[1:]:\n for line in open(name, 'rb'):\n  json.loads(line)"
    start = run([bench.program(), "journal", "verify"], bench.state("none"))
    found = alternate(
        bench.rounds,
        {
            "verify": lambda: run([bench.program(), "journal", "verify"], bench.state("long")),
            "loop": lambda: run([python(), "-c", loop, *files], bench.state()),
        },
    )
    bench.add(ratio(f"P8 verify {entries:,} entries / json.loads loop", found["verify"], found["loop"], 2, 1))
    more = found["verify"].peak_mib - start.peak_mib
    bench.add(Row("P8 peak memory of verify over start-up", more, "MiB", 64, None))


if __name__ == "__main__":
    sys.exit(main(measure, __doc__))
