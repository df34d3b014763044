"""Work that is measured inside of one process: run by `inner`, in the Python that has what deskshell needs."""

from __future__ import annotations

import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.bench.harness import ROOT, Bench, python

STEPS_A_TASK = 500


def inner(bench: Bench, what: str, **facts: Any) -> dict[str, Any]:
    """Run the function `what` of this module in a process of its own; returns what it returns."""
    environment = bench.state() | {"PYTHONPATH": str(ROOT)}
    words = [python(), "-m", "scripts.bench.inner", what, json.dumps({"work": str(bench.work), **facts})]
    done = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"`{what}` failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def history_path(n: int) -> str:
    """The path that move number `n` of a made-up history is about."""
    return f"/home/user/Downloads/{n % 100:02}/statement_{n:07}.pdf"


def history(work: str, state: str, entries: int) -> dict[str, Any]:
    """Write a journal of `entries` lines of finished moves with the kernel's own writer."""
    del work
    from deskshell.files.identity import Identity
    from deskshell.kernel import record
    from deskshell.kernel.effects import Move
    from deskshell.store.folder import StateFolder
    from deskshell.store.journal import Journal

    folder = StateFolder(Path(state))
    folder.create()
    journal = Journal(folder)
    journal.open()
    steps, done, task = entries // 2, 0, 0
    while done < steps:
        task += 1
        task_id, ts = f"task-{1_600_000_000_000 + task}", 1_600_000_000_000 + task
        count = min(STEPS_A_TASK, steps - done)
        begin = journal.place()
        facts = {
            "role": "run",
            "skill": "history",
            "grants": [],
            "anchors": [],
            "planned": count,
            "owner": "uid:0",
        }
        lines = [record.body({"type": "begin", "ts": ts, "taskId": task_id, **facts})]
        results = []
        for n in range(count):
            path = history_path(done + n)
            effects = (
                Move(
                    path.encode(),
                    path.replace("Downloads", "Documents").encode(),
                    Identity("file", 7 + n, 1, 2, 3, 4),
                ),
            )
            lines.append(
                record.intent(ts, task_id, n, f"move:{n}", "fs.move", effects, reversible=True, extra={})
            )
            undo = record.undo_text(effects)
            results.append(record.result(ts, task_id, n, f"move:{n}", "fs.move", f"move {n}", undo, extra={}))
        end = {
            "type": "end",
            "ts": ts,
            "taskId": task_id,
            "status": "ok",
            "begin": list(begin),
            "steps": count,
            "rolledBack": 0,
        }
        journal.append([*lines, *results, record.body(end)])
        journal.sync()
        journal.rotate_if_needed()
        done += count
    journal.close()
    return {"tasks": task, "path": history_path(steps // 2)}


def overhead(work: str, steps: int, rounds: int) -> dict[str, Any]:
    """Microseconds of processor time a step: through a transaction, and in a bare loop of renames."""
    kernel, bare = [], []
    for n in range(rounds + 1):  # the first is to warm up
        kernel.append(_cpu_us(_transaction(Path(work) / f"kernel-{n}", steps)) / steps)
        bare.append(_cpu_us(_loop(Path(work) / f"bare-{n}", steps)) / steps)
    return {
        "kernel_us": statistics.median(kernel[1:] or kernel),
        "bare_us": statistics.median(bare[1:] or bare),
    }


def durability(work: str, steps: int, rounds: int) -> dict[str, Any]:
    """Seconds of a transaction with and without its sync calls, and how many these are."""
    from deskshell.files import syscalls

    syncs = 0
    real = os.fsync, os.fdatasync, syscalls.syncfs

    def counted(call: Callable[[int], Any]) -> Callable[[int], Any]:
        def sync(fd: int) -> Any:
            nonlocal syncs
            syncs += 1
            return call(fd)

        return sync

    taken: dict[bool, list[float]] = {True: [], False: []}
    for n in range(rounds):
        for durable in (True, False):
            calls = [counted(call) for call in real] if durable else [_nothing] * 3
            os.fsync, os.fdatasync, syscalls.syncfs = calls  # type: ignore[assignment]
            work_it = _transaction(Path(work) / f"durability-{n}-{durable}", steps)
            syncs = 0
            started = time.perf_counter()
            work_it()
            taken[durable].append(time.perf_counter() - started)
    os.fsync, os.fdatasync, syscalls.syncfs = real
    return {
        "durable_s": statistics.median(taken[True]),
        "not_durable_s": statistics.median(taken[False]),
        "syncs": syncs,
    }


def _nothing(fd: int) -> int:
    del fd
    return 0


def _cpu_us(work: Callable[[], None]) -> float:
    gc.collect()
    started = time.process_time_ns()
    work()
    return (time.process_time_ns() - started) / 1000


def _files(folder: Path, steps: int) -> list[tuple[bytes, bytes]]:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "from").mkdir(parents=True)
    (folder / "to").mkdir()
    pairs = []
    for n in range(steps):
        path = folder / "from" / f"statement_{n:06}.pdf"
        path.touch()
        pairs.append((os.fsencode(path), os.fsencode(folder / "to" / path.name)))
    return pairs


def _loop(folder: Path, steps: int) -> Callable[[], None]:
    pairs = _files(folder, steps)

    def work() -> None:
        for src, dst in pairs:
            os.rename(src, dst)

    return work


def _transaction(folder: Path, steps: int) -> Callable[[], None]:
    """A plan of moves, ready to be run as one task on a state folder of its own."""
    from deskshell import registry
    from deskshell.app import running
    from deskshell.files import paths
    from deskshell.files.identity import identity, stat_path
    from deskshell.kernel.capability import FS_WRITE, Grant, Scope
    from deskshell.kernel.desk import Desk
    from deskshell.kernel.plan import Origin, Plan, Step
    from deskshell.store.folder import StateFolder
    from deskshell.store.journal import Journal

    pairs = _files(folder, steps)
    root = paths.resolve(os.fsencode(folder))
    kind = registry.kinds()["fs.move"]
    planned = []
    for n, (src, dst) in enumerate(pairs):
        found = stat_path(src)
        assert found is not None
        planned.append(
            Step(
                n,
                f"move:{n}",
                kind.build({"from": src, "to": dst}),
                seen=((src, identity(found)), (dst, None)),
            )
        )
    grants = (Grant(FS_WRITE, (Scope(root, os.fsdecode(root)),)),)
    plan = Plan(Origin("bench"), tuple(planned), grants)
    state = StateFolder(folder.parent / f"{folder.name}-state")
    state.create()
    journal = Journal(state)
    journal.open()

    def work() -> None:
        report = running.run_plan(Desk(state, journal, registry.kinds()), plan, grants)
        if report.status != "ok":
            raise RuntimeError(str(report.error))

    return work


WORK: dict[str, Callable[..., dict[str, Any]]] = {
    "history": history,
    "overhead": overhead,
    "durability": durability,
}

if __name__ == "__main__":
    print(json.dumps(WORK[sys.argv[1]](**json.loads(sys.argv[2]))))
