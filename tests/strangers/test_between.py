"""Somebody else acts between plan and apply, between look and act, between check and act, before and in an undo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from deskshell.kernel.ground import Ground
from deskshell.kernel.item import Backward
from tests.strangers.acts import ON_SOURCE, ON_TARGET, OURS, Act, contents, lost
from tests.support.shell import (
    Shell,
    Step,
    before_step,
    chmod,
    compress,
    copy,
    delete,
    mkdir,
    move,
    symlink,
    write,
)

FILES = {"t": "the content of t, as it was", "other": "o", "d/x": "x"}
ON_T: dict[str, Step] = {
    "move": move("t", "u"),
    "write over": write("t", OURS),
    "delete": delete("t"),
    "copy": copy("t", "u"),
    "chmod": chmod("t", "0600"),
    "compress": compress("t", "t.gz"),
    "rotate": {"action": "log.rotate", "path": "t"},
}
TO_U: dict[str, Step] = {
    "move": move("t", "u"),
    "copy": copy("t", "u"),
    "write": write("u", OURS),
    "mkdir": mkdir("u"),
    "symlink": symlink("u", "t"),
    "compress": compress("t", "u", format="gzip"),
    "move of a folder": move("d", "u"),
}
CASES = [
    *((f"{act}, then {step}", ON_SOURCE[act], "t", ON_T[step]) for act in ON_SOURCE for step in ON_T),
    *((f"{act}, then {step}", ON_TARGET[act], "u", TO_U[step]) for act in ON_TARGET for step in TO_U),
]
every_case = pytest.mark.parametrize(
    ("act", "name", "step"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)


class Stranger:
    """Acts once, and remembers what was there right after."""

    def __init__(self, shell: Shell, outside: Path, act: Act, name: str) -> None:
        self._shell, self._outside, self._act = shell, outside, act
        self.path = shell.folder / name
        self.after: list[str] | None = None

    def __call__(self) -> None:
        if self.after is None:
            self._act(self.path, self._outside)
            self.after = self.now()

    def now(self) -> list[str]:
        """What is in the folder, whatever its name."""
        return contents(self._shell.folder)

    def lost(self) -> list[str]:
        """What was there after it had acted, and is neither in the folder nor held for an undo."""
        assert self.after is not None, "it never acted"
        held = self._shell.home.state / "held"
        return lost(self.after, contents(self._shell.folder, held))


def told(report: Any, path: Path) -> bool:
    """Whether a failure names the path."""
    return str(path) in str(report)


def ended_truly(report: Any, stranger: Stranger) -> None:
    """Taken back; or, when the object of the step is nowhere any more, not claimed to be (kernel.md, section 3)."""
    if report["status"] == "incomplete":
        assert told(report["left"], stranger.path)
    else:
        assert report["status"] == "rolled-back"


@every_case
def test_between_plan_and_apply(shell: Shell, outside: Path, act: Act, name: str, step: Step) -> None:
    """The plan is stale, and says why; what the stranger left is what is there."""
    shell.make(FILES)
    stranger = Stranger(shell, outside, act, name)
    plan = shell.json("plan", shell.skill(step))["planId"]
    stranger()
    before = shell.listing()

    answer = shell.json("apply", plan, code=2)

    assert answer["status"] == "stale"
    assert told(answer["changed"], stranger.path)
    assert shell.changes(before) == []


@every_case
def test_between_look_and_act(shell: Shell, outside: Path, act: Act, name: str, step: Step) -> None:
    """The step fails and names the path, the steps before it are taken back, and nothing of anybody's is lost."""
    shell.make(FILES)
    stranger = Stranger(shell, outside, act, name)

    with before_step(1, stranger):
        report = shell.run(write("first", OURS), step, code=None)

    assert stranger.lost() == []
    if report["status"] == "ok":  # an edit is no matter for a mode, and a copy was made by then
        assert step["action"] == "fs.copy" or (step["action"], act) == ("fs.chmod", ON_SOURCE["edit"])
        return
    ended_truly(report, stranger)
    assert told(report["error"], stranger.path)
    assert lost(stranger.after or [], stranger.now()) == []


@contextmanager
def right_before_a_rename(stranger: Callable[[], None], path: Path) -> Iterator[None]:
    """Let `stranger` act after all was compared: right before the rename or exchange that touches `path`."""
    real = Ground.rename, Ground.exchange
    wanted = bytes(path)

    def rename(self: Ground, src: bytes, dst: bytes) -> None:
        if wanted in (src, dst):
            stranger()
        real[0](self, src, dst)

    def exchange(self: Ground, one: bytes, two: bytes) -> None:
        if wanted in (one, two):
            stranger()
        real[1](self, one, two)

    with mock.patch.object(Ground, "rename", rename), mock.patch.object(Ground, "exchange", exchange):
        yield


RENAMED = [
    case
    for case in CASES
    if case[3]["action"] not in ("fs.chmod", "fs.copy", "fs.compress") or case[2] == "u"
]


@pytest.mark.parametrize(
    ("act", "name", "step"), [case[1:] for case in RENAMED], ids=[case[0] for case in RENAMED]
)
def test_between_check_and_act(shell: Shell, outside: Path, act: Act, name: str, step: Step) -> None:
    """What was displaced is verified after the rename, and given back when it is somebody else's."""
    shell.make(FILES)
    stranger = Stranger(shell, outside, act, name)

    with right_before_a_rename(stranger, stranger.path):
        report = shell.run(step, code=None)

    assert stranger.lost() == []
    if report["status"] != "ok":
        ended_truly(report, stranger)
        assert lost(stranger.after or [], stranger.now()) == []
        assert told(report["error"], stranger.path) or act in (ON_SOURCE["remove"], ON_SOURCE["move_away"])
    else:  # the very same object, edited within the microsecond: it went where it was to go
        assert act is ON_SOURCE["edit"]
        shell.undo(code=None)
        assert lost(stranger.after or [], stranger.now()) == []


UNDONE: dict[str, tuple[Step, str]] = {
    "move": (move("t", "u"), "u"),
    "write over": (write("t", OURS), "t"),
    "write": (write("u", OURS), "u"),
    "copy": (copy("t", "u"), "u"),
    "compress": (compress("t", "u", format="gzip", keep=True), "u"),
    "chmod": (chmod("t", "0600"), "t"),
}
BACK = {"move": (move("t", "u"), "t"), "delete": (delete("t"), "t"), "compress": (compress("t", "t.gz"), "t")}


@pytest.mark.parametrize("force", [False, True], ids=["", "force"])
@pytest.mark.parametrize("act", ON_SOURCE)
@pytest.mark.parametrize("kind", UNDONE)
def test_between_task_and_undo(shell: Shell, outside: Path, kind: str, act: str, force: bool) -> None:
    """Refused with the path; with `--force` what is there is kept first, and a redo brings it back."""
    shell.make(FILES)
    step, name = UNDONE[kind]
    shell.run(step)
    stranger = Stranger(shell, outside, ON_SOURCE[act], name)
    stranger()
    before = shell.listing()

    check = shell.undo("--check", code=None)
    report = shell.undo(*(["--force"] if force else []), code=None)

    assert stranger.lost() == []
    (entry,) = report["tasks"][0]["entries"]
    if entry["verdict"] not in ("undone", "already"):
        assert told(entry, stranger.path)
        assert shell.changes(before) == []
    if not force:
        same = {"undoable": "undone"}.get(check["tasks"][0]["entries"][0]["verdict"])
        assert entry["verdict"] in (same, check["tasks"][0]["entries"][0]["verdict"])


@pytest.mark.parametrize("force", [False, True], ids=["", "force"])
@pytest.mark.parametrize("act", ON_TARGET)
@pytest.mark.parametrize("kind", BACK)
def test_a_place_taken_before_the_undo(shell: Shell, outside: Path, kind: str, act: str, force: bool) -> None:
    shell.make(FILES)
    step, name = BACK[kind]
    shell.run(step)
    stranger = Stranger(shell, outside, ON_TARGET[act], name)
    stranger()
    before = shell.listing()

    report = shell.undo(*(["--force"] if force else []), code=None)

    assert stranger.lost() == []
    (entry,) = report["tasks"][0]["entries"]
    if force:
        assert entry["verdict"] == "undone"
        assert shell.read("t") == FILES["t"]
        shell.json("redo")
        assert shell.listing()["t"].type == before["t"].type
    else:
        assert entry["verdict"] == "blocked"
        assert told(entry, stranger.path)
        assert shell.changes(before) == []


@contextmanager
def in_the_undo(stranger: Callable[[], None]) -> Iterator[None]:
    """Let `stranger` act once the undo has looked at everything."""
    real = Backward.do

    def do(self: Backward, *args: Any) -> None:
        stranger()
        real(self, *args)

    with mock.patch.object(Backward, "do", do):
        yield


# A mode is set on the object that was compared, through its descriptor: there is no rename to come before.
WITHIN = [
    (kind, moment)
    for kind in UNDONE
    for moment in ("look and act", "check and act")
    if (kind, moment) != ("chmod", "check and act")
]


@pytest.mark.parametrize(("kind", "moment"), WITHIN)
@pytest.mark.parametrize("act", ON_SOURCE)
def test_within_an_undo(shell: Shell, outside: Path, kind: str, act: str, moment: str) -> None:
    shell.make(FILES)
    step, name = UNDONE[kind]
    shell.run(step)
    stranger = Stranger(shell, outside, ON_SOURCE[act], name)

    with (
        in_the_undo(stranger) if moment == "look and act" else right_before_a_rename(stranger, stranger.path)
    ):
        report = shell.undo(code=None)

    assert stranger.lost() == []
    (entry,) = report["tasks"][0]["entries"]
    assert report["status"] in ("ok", "incomplete")  # as in `ended_truly`
    if entry["verdict"] != "undone":
        assert lost(stranger.after or [], stranger.now()) == []


@pytest.mark.parametrize("act", ON_TARGET)
@pytest.mark.parametrize("kind", BACK)
def test_a_place_taken_within_an_undo(shell: Shell, outside: Path, kind: str, act: str) -> None:
    shell.make(FILES)
    step, name = BACK[kind]
    shell.run(step)
    stranger = Stranger(shell, outside, ON_TARGET[act], name)

    with right_before_a_rename(stranger, stranger.path):
        report = shell.undo(code=1)

    assert stranger.lost() == []
    assert [entry["verdict"] for entry in report["tasks"][0]["entries"]] == ["blocked"]
    assert shell.undo("--check", code=1)["tasks"][0]["entries"][0]["verdict"] == "blocked"
