"""A world for tests of the kernel: a folder of the user's, a state folder, and plans written as plain values.

    desk = Bench(tmp_path)
    desk.make({"a.txt": "one"})
    done = desk.run(move("a.txt", "docs/a.txt"), write("docs/b.txt", "two"))
    desk.undo()

Paths in steps are relative to the folder. Each call opens the state folder anew, as a process would.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deskshell import registry
from deskshell.app.core import App
from deskshell.app.prepared import Prepared
from deskshell.config import Settings
from deskshell.kernel.action import Action
from deskshell.kernel.assertion import Assertion
from deskshell.kernel.capability import FS_DELETE, FS_READ, FS_WRITE, NET_REQUEST, Grant, Scope
from deskshell.kernel.context import Progress
from deskshell.kernel.plan import Origin, Plan, Step, Terms
from deskshell.kernel.report import TaskReport, UndoReport
from deskshell.kernel.secrets import SecretText, plain
from deskshell.kernel.view import View
from tests.support.listing import Entry, difference, listing
from tests.support.trees import Content, make_files

Listing = dict[str, Entry]


@dataclass(frozen=True)
class Do:
    """One step as a value: a kind and the arguments of its `build`, with paths relative to the folder."""

    kind: str
    args: Mapping[str, Any]
    paths: tuple[str, ...] = ("path", "from", "to", "from_file")
    irreversible: bool = False
    undo_none: bool = False
    compensation: Do | None = None
    asserts: tuple[Assertion, ...] = ()
    name: str = ""

    def final(self) -> Do:
        """The same step, declared irreversible."""
        return replace(self, irreversible=True)

    def without_undo(self) -> Do:
        """The same step with its undo taken away."""
        return replace(self, undo_none=True)

    def compensated_by(self, other: Do) -> Do:
        """The same step with a counter-action of its own."""
        return replace(self, compensation=other)

    def then(self, *asserts: Assertion) -> Do:
        """The same step with post-conditions."""
        return replace(self, asserts=asserts)

    def named(self, name: str) -> Do:
        """The same step with this action id."""
        return replace(self, name=name)


def move(src: str, dst: str, **more: Any) -> Do:
    """`fs.move`."""
    return Do("fs.move", {"from": src, "to": dst, **more})


def copy(src: str, dst: str, **more: Any) -> Do:
    """`fs.copy`."""
    return Do("fs.copy", {"from": src, "to": dst, **more})


def write(path: str, text: str | SecretText, **more: Any) -> Do:
    """`fs.write` of a text; over a file only with `replace=True`."""
    return Do("fs.write", {"path": path, "text": plain(text) if isinstance(text, str) else text, **more})


def over(path: str, text: str, **more: Any) -> Do:
    """`fs.write` over whatever file or link is there."""
    return write(path, text, replace=True, **more)


def delete(path: str) -> Do:
    """`fs.delete`."""
    return Do("fs.delete", {"path": path})


def mkdir(path: str) -> Do:
    """`fs.mkdir`."""
    return Do("fs.mkdir", {"path": path})


def chmod(path: str, mode: int) -> Do:
    """`fs.chmod`."""
    return Do("fs.chmod", {"path": path, "mode": mode})


def symlink(path: str, target: str, **more: Any) -> Do:
    """`fs.symlink`."""
    return Do("fs.symlink", {"path": path, "target": os.fsencode(target), **more})


def compress(src: str, dst: str, **more: Any) -> Do:
    """`fs.compress`."""
    return Do("fs.compress", {"from": src, "to": dst, **more})


def request(url: str, method: str = "POST", **more: Any) -> Do:
    """`http.request`."""
    return Do("http.request", {"method": method, "url": url, **more}, paths=())


class Clock:
    """A clock that tests set: milliseconds, one later at each look."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        self.now_ms += 1
        return self.now_ms


@dataclass
class Bench:
    """A folder `root` to work on and a state folder `state` below `top` (or `elsewhere`); see the module.

    `declared` replaces the grants of all plans (all file capabilities on the folder, without it).
    """

    top: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    progress: Progress | None = None
    root: Path = field(init=False)
    state: Path = field(init=False)
    skill: str = "trial"
    declared: tuple[Grant, ...] | None = None
    elsewhere: Path | None = None

    def __post_init__(self) -> None:
        self.root = self.top / "files"
        self.state = (self.elsewhere or self.top) / "state"
        self.root.mkdir(parents=True, exist_ok=True)

    # the folder

    def path(self, name: str) -> bytes:
        """The absolute path of `name`."""
        return os.fsencode(self.root / name)

    def make(self, entries: Mapping[str, Content], *, mtime: float | None = 1_500_000_000.25) -> None:
        """Make files (see `tests.support.trees`), with a time in the past so that one not kept is seen."""
        make_files(self.root, entries, mtime=mtime)

    def listing(self) -> Listing:
        """The folder as a value."""
        return listing(self.root)

    def changes(self, before: Listing) -> list[str]:
        """What differs now from `before`, a line each."""
        return difference(before, self.listing())

    def read(self, name: str) -> str:
        """The text of a file."""
        return (self.root / name).read_text()

    def names(self) -> list[str]:
        """All names in the folder, sorted; temporaries of deskshell included."""
        return sorted(name for name in self.listing() if name != ".")

    # plans

    def grants(self, *capabilities: str, roots: Sequence[str] = (".",)) -> tuple[Grant, ...]:
        """Grants of `capabilities` (all for files, when none is named) on folders relative to this one."""
        wanted = capabilities or (FS_READ, FS_WRITE, FS_DELETE)
        scopes = tuple(Scope(self.path(each).removesuffix(b"/."), each) for each in roots)
        return tuple(Grant(each, scopes, f"to try {each}") for each in wanted)

    def build(self, do: Do) -> Action:
        """The action of one step."""
        args = {
            key: self.path(value) if key in do.paths and isinstance(value, str) else value
            for key, value in do.args.items()
        }
        if isinstance(args.get("more"), tuple | list):
            args["more"] = tuple(self.path(str(each)) for each in args["more"])
        return registry.kinds()[do.kind].build(args)

    def plan(self, *dos: Do) -> Plan:
        """Plan the steps on what stands on disk now. Raises PlanConflict."""
        view = View()
        steps: list[Step] = []
        folders: list[tuple[int, Step]] = []
        for n, do in enumerate(dos):
            name = do.name or f"{do.kind}:{n}"
            action = self.build(do).settled(view)
            action.simulate(view, name)
            for path, early in view.take_folders():
                folder = registry.kinds()["fs.mkdir"].build({"path": path})
                at = 0 if early else n
                folders.append((at, Step(-1 - len(folders), f"folder:{os.fsdecode(path)}", folder)))
            steps.append(
                Step(
                    n,
                    name,
                    action,
                    Terms(
                        do.irreversible,
                        do.undo_none,
                        None if do.compensation is None else self.build(do.compensation),
                        do.asserts,
                    ),
                    seen=view.take_seen(),
                )
            )
        declared = self.grants() if self.declared is None else self.declared
        urls = [
            do.args["url"]
            for do in (*dos, *(do.compensation for do in dos if do.compensation))
            if "url" in do.args
        ]
        if urls and self.declared is None:
            declared += (Grant(NET_REQUEST, tuple(Scope(url, url) for url in urls), "to ask"),)
        return Plan(Origin(self.skill), tuple(steps), declared, tuple(folders))

    # the commands

    @property
    def app(self) -> App:
        """The app on the state folder, as a fresh process would have it."""
        given = {"lock_wait_s": 0.0, "keep_s": 1e9, "max_bytes": 1 << 40, **self.settings}
        return App(Settings(self.state, self.top / "skills", **given), progress=self.progress)

    def run(self, *dos: Do, **options: Any) -> TaskReport:
        """Plan and run."""
        return self.run_plan(self.plan(*dos), **options)

    def run_plan(self, plan: Plan, *, grants: Sequence[str] | None = None, **options: Any) -> TaskReport:
        """Run a plan made before, with the named capabilities of those it declares."""
        return self.app.run(Prepared(plan).granting(grants), **options)

    def undo(self, **options: Any) -> UndoReport:
        """`deskshell undo`."""
        return self.app.undo(**options)

    def check(self, **options: Any) -> UndoReport:
        """`deskshell undo --check`."""
        return self.app.undo_check(**options)

    def redo(self, task: str | None = None) -> UndoReport:
        """`deskshell redo`."""
        return self.app.redo(task)

    # the state folder

    def statuses(self) -> list[tuple[str, str]]:
        """(role, status) of every task in the log, newest first."""
        return [(each.role, each.status) for each in self.app.log()]

    def lines(self) -> Iterator[dict[str, Any]]:
        """The journal's lines as they stand in the files, oldest first."""
        for path in self.app.journal_paths():
            for line in path.read_bytes().split(b"\n"):
                if line:
                    yield json.loads(line)

    def journal_bytes(self) -> bytes:
        """All the journal's files, one after the other."""
        return b"".join(path.read_bytes() for path in self.app.journal_paths())

    def held(self) -> list[str]:
        """What is held and kept: names relative to the state folder, folders of tasks left out."""
        return sorted(
            str(path.relative_to(self.state))
            for store in ("held", "kept")
            if (self.state / store).exists()
            for task in (self.state / store).iterdir()
            for path in task.iterdir()
        )


def verdicts(report: UndoReport) -> list[str]:
    """The verdict of every entry, task by task in the order of the report."""
    return [entry.verdict for task in report.tasks for entry in task.entries]
