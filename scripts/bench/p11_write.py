#!/usr/bin/env python3
"""P11: write over 1,000 files of 100 KB, what stood there kept, against a plain write and rename."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import hashlib

from scripts.bench import worlds
from scripts.bench.harness import Bench, Used, alternate, main, must_equal, python, ratio, run

_PLAIN = """
import os, sys
new, old = sys.argv[1:]
for name in os.listdir(new):
    with open(os.path.join(new, name), "rb") as file:
        data = file.read()
    temporary = os.path.join(old, "." + name)
    with open(temporary, "wb") as file:
        file.write(data)
    os.rename(temporary, os.path.join(old, name))
"""


def measure(bench: Bench) -> None:
    """Write new contents over old ones with deskshell (undone in between) and in a plain loop, in turn."""
    files, size = bench.size(1_000, 20), bench.size(100_000, 5_000)
    path = worlds.skill(bench, "write-over", worlds.WRITE_OVER)
    folders = {name: _two_folders(bench, name, files, size) for name in ("ours", "theirs")}
    before = worlds.digest(folders["ours"])
    worlds.apply(bench, path, folders["ours"])
    must_equal("all is written over", _contents(folders["ours"] / "old"), _contents(folders["ours"] / "new"))
    worlds.undo(bench)
    must_equal("undo brings the old contents back", worlds.digest(folders["ours"]), before)

    def ours() -> Used:
        used = worlds.apply(bench, path, folders["ours"])
        worlds.undo(bench)
        run([bench.program(), "gc", "--keep", "0s"], bench.state())
        return used

    words = [python(), "-c", _PLAIN, str(folders["theirs"] / "new"), str(folders["theirs"] / "old")]
    found = alternate(bench.rounds, {"ours": ours, "plain": lambda: run(words, bench.state())})
    what = f"P11 write over {files:,} files of {size // 1000} KB / plain"
    bench.add(ratio(what, found["ours"], found["plain"], 3))


def _two_folders(bench: Bench, name: str, files: int, size: int) -> Path:
    folder = bench.folder(name)
    for side in ("old", "new"):
        (folder / side).mkdir()
        for n in range(files):
            data = hashlib.sha256(f"{side} {n}".encode()).digest() * (size // 32)
            (folder / side / f"{n:05}.bin").write_bytes(data)
    return folder


def _contents(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        whole.update(path.name.encode() + path.read_bytes())
    return whole.hexdigest()


if __name__ == "__main__":
    sys.exit(main(measure, __doc__))
