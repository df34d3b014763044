"""The commands that get ended: every kind of step, every direction, and the upkeep of the state folder."""

from __future__ import annotations

import os

from deskshell.kernel.assertion import Missing
from tests.crash.sweep import Scenario
from tests.support.desk import (
    Bench,
    Do,
    chmod,
    compress,
    copy,
    delete,
    mkdir,
    move,
    over,
    symlink,
    write,
)
from tests.support.trees import Content

FILES: dict[str, Content] = {
    "a.txt": "one",
    "b.txt": "bb",
    "old.txt": "old",
    "del.txt": "del",
    "empty": "",
    "hard": ("=", "b.txt"),
    "link": ("->", "nowhere"),
    "d/x": "x",
    "d/in/y": "y",
    "log": "line\n" * 100,
    "s1": "1",
    "s2": "2",
    "none/": None,
    "fold/k": "k",
    os.fsdecode(b"caf\xe9\n"): "bytes",
}

#: Every kind, implied folders, chains, a cycle through a hop, a folder renamed and then written in.
ALL: tuple[Do, ...] = (
    move("a.txt", "docs/a.txt"),
    write("new/deep/n.txt", "hello"),
    over("old.txt", "NEW"),
    over("link", "no link any more"),
    delete("del.txt"),
    mkdir("sub"),
    write("sub/x", "x"),
    chmod("log", 0o600),
    symlink("ln", "b.txt"),
    copy("b.txt", "b2.txt"),
    copy("d", "d2"),
    compress("log", "log.gz"),
    move("s1", "hop"),
    move("s2", "s1"),
    move("hop", "s2"),
    delete("d"),
    move("fold", "fold2"),
    write("fold2/z", "z"),
    move("fold2/k", "fold2/k2"),
    over("empty", "no more"),
    over("empty", "again"),
    move(os.fsdecode(b"caf\xe9\n"), os.fsdecode(b"docs/\xff")),
)


def run_all(bench: Bench) -> object:
    """Run the plan of all kinds."""
    return bench.run(*ALL)


def _edited(bench: Bench) -> None:
    """A task, and what somebody did to its files afterwards."""
    run_all(bench)
    (bench.root / "old.txt").write_text("by hand")
    (bench.root / "del.txt").write_text("mine")
    (bench.root / "sub" / "more").write_text("more")


def _failing(bench: Bench) -> object:
    """A plan whose last step does not leave what it should."""
    return bench.run(*ALL[:15], chmod("s2", 0o600).then(Missing(bench.path("s2"))))


def _old_tasks(bench: Bench) -> None:
    for number in range(4):
        bench.run(
            write(f"{number}/n", "x"),
            delete(f"s{1 + number % 2}") if number < 2 else over("empty", str(number)),
        )
    for number in range(4):
        bench.run(over("old.txt", f"{number}"))


COMMANDS = [
    Scenario("run", FILES, run_all),
    Scenario("run that fails", FILES, _failing),
    Scenario("undo", FILES, Bench.undo, run_all),
    Scenario("forced undo", FILES, lambda bench: bench.undo(force=True), _edited),
    Scenario("redo", FILES, Bench.redo, lambda bench: (run_all(bench), bench.undo())),
    Scenario("undo of a redo", FILES, Bench.undo, lambda bench: (run_all(bench), bench.undo(), bench.redo())),
]

UPKEEP = [
    Scenario("gc", FILES, lambda bench: bench.app.gc(keep_s=0, max_bytes=0), _old_tasks),
    Scenario(
        "gc of the journal",
        FILES,
        lambda bench: bench.app.gc(keep_s=0, max_bytes=0, journal=True),
        _old_tasks,
        {"journal_max_bytes": 900},
    ),
    Scenario(
        "rotation",
        FILES,
        lambda bench: bench.app.recover(),
        lambda bench: bench.run(write("n", "n")),
        {"journal_max_bytes": 500},
    ),
]
