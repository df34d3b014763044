#!/usr/bin/env python3
"""P9: `log --path` over 100,000 entries, against `git log --grep` over as many commits."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bench import worlds
from scripts.bench.harness import Bench, alternate, main, must_equal, output, ratio, run
from scripts.bench.inner import history_path, inner


def measure(bench: Bench) -> None:
    """Ask both for the one task, or commit, that was about one file near the middle."""
    entries = bench.size(100_000, 2_000)
    state = bench.work / "state"
    names = inner(bench, "history", state=str(state), entries=entries)
    wanted = names["path"]
    told = output([bench.program(), "log", "--json", "--path", wanted], bench.state())
    must_equal("log --path finds one task", str(told.count("taskId")), "1")
    ours = [bench.program(), "log", "--path", wanted]
    if not worlds.has("git"):
        bench.notes.append("P9: git is not installed, so there is nothing to compare with")
        return
    repository = git_history(bench, entries)
    theirs = ["git", "-C", str(repository), "log", "--oneline", "-F", f"--grep={wanted}"]
    must_equal("git finds one commit", str(len(output(theirs, bench.state()).splitlines())), "1")
    found = alternate(
        bench.rounds, {"ours": lambda: run(ours, bench.state()), "git": lambda: run(theirs, bench.state())}
    )
    bench.add(
        ratio(f"P9 log --path over {entries:,} entries / git log --grep", found["ours"], found["git"], 1, 0.2)
    )


def git_history(bench: Bench, commits: int) -> Path:
    """A repository with that many commits, each about one move."""
    repository = bench.folder("repository")
    run(["git", "init", "-q", str(repository)], bench.state())
    stream = bench.work / "stream"
    with open(stream, "w", encoding="utf-8") as file:
        for n in range(commits // 2):
            text = f"move {history_path(n)}\n"
            file.write(f"commit refs/heads/main\ncommitter b <b@example.com> {1700000000 + n} +0000\n")
            file.write(f"data {len(text.encode())}\n{text}\n")
            file.write(f"commit refs/heads/main\ncommitter b <b@example.com> {1700000000 + n} +0000\n")
            file.write("data 5\nother\n")
    run(["sh", "-c", f"git -C '{repository}' fast-import --quiet < '{stream}'"], bench.state())
    run(["git", "-C", str(repository), "symbolic-ref", "HEAD", "refs/heads/main"], bench.state())
    return repository


if __name__ == "__main__":
    sys.exit(main(measure, __doc__))
