"""Other file systems, full disks, and objects that are no plain files: F07, F34, F35, F36."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from deskshell.files import metadata
from deskshell.kernel import room
from deskshell.kernel.ground import Ground
from tests.support.listing import listing
from tests.support.mounts import in_own_mounts, mount_tmpfs
from tests.support.shell import Shell, Step, copy, delete, fail, move, write

MIB = 1 << 20


@pytest.mark.root
def test_f07_a_disk_that_is_too_small_is_seen_before_anything_happens(tmp_path: Path) -> None:
    def trial() -> object:
        shell = Shell.below(tmp_path)
        small = tmp_path / "small"
        mount_tmpfs(small, size="1m")
        shell.also = (small,)
        shell.make({"big": os.urandom(5 * MIB), "note": "n"})
        before = shell.listing()
        report = shell.run(move("note", "note2"), move("big", f"{small}/big"), code=2)
        return report["error"]["message"], shell.changes(before), os.listdir(small), shell.tasks()

    message, changes, there, tasks = in_own_mounts(trial)
    assert "free there" in message
    assert (changes, there, tasks) == ([], [], [])


@pytest.mark.root
def test_f07_a_disk_that_fills_up_meanwhile_costs_nothing(tmp_path: Path) -> None:
    """The source is whole, the target has no partial file, and the step before is taken back."""

    def trial() -> object:
        shell = Shell.below(tmp_path)
        small = tmp_path / "small"
        mount_tmpfs(small, size="8m")
        shell.also = (small,)
        shell.make({"big": os.urandom(5 * MIB), "note": "n"})
        before = shell.listing()
        real = Ground.copy

        def somebody_fills_it(self: Ground, *args: Any) -> Any:
            (small / "theirs").write_bytes(bytes(5 * MIB))
            return real(self, *args)

        # The same file again in the second step, so that the first has acted by then.
        with mock.patch.object(Ground, "copy", somebody_fills_it):
            report = shell.run(
                write("note", "changed"), move("note", "n2"), move("big", f"{small}/big"), code=1
            )
        return report, shell.changes(before), os.listdir(small), shell.tasks()[0]["status"]

    report, changes, there, status = in_own_mounts(trial)
    assert "no space left" in report["error"]
    assert (changes, there) == ([], ["theirs"])
    assert (report["status"], status) == ("rolled-back", "rolled-back")


def _refusing_xattrs() -> Any:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    return mock.patch.object(os, "setxattr", refuse)


def test_f34_attributes_that_cannot_be_kept_are_said_and_nothing_is_there_twice(
    wide: Shell, elsewhere: Path
) -> None:
    wide.make({"a": "content"})
    try:
        os.setxattr(wide.folder / "a", "user.colour", b"red")
    except OSError:
        pytest.skip("this file system keeps no attributes")

    with _refusing_xattrs():
        report = wide.run(move("a", f"{elsewhere}/a"))

    assert any("user.colour" in line for line in report["notRestored"])
    assert wide.names() == []
    assert (elsewhere / "a").read_text() == "content"


@pytest.mark.parametrize("number", [errno.EPERM, errno.EACCES, errno.EIO])
def test_f34_when_attributes_fail_otherwise_the_source_is_the_one_that_stays(
    wide: Shell, elsewhere: Path, number: int
) -> None:
    """A defined end whatever the error: all there, or nothing."""
    wide.make({"a": "content"})
    before = wide.listing()

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OSError(number, os.strerror(number))

    with (
        mock.patch.object(metadata, "apply_metadata_fd", refuse),
        mock.patch("deskshell.files.copying_one.apply_metadata_fd", refuse),
    ):
        wide.run(move("a", f"{elsewhere}/a"), code=None)

    assert wide.changes(before) == []
    assert os.listdir(elsewhere) == []


def _blocks(path: Path) -> int:
    return path.stat().st_blocks * 512


def test_f35_holes_stay_holes_on_every_way(wide: Shell, elsewhere: Path) -> None:
    """A file of 64 MiB with 8 KiB in it takes no more anywhere: copied, kept for undo, brought back."""
    wide.make({"d/small": "s"})
    with open(wide.folder / "d/sparse", "xb") as file:
        file.write(b"head")
        file.seek((64 << 20) - 4)
        file.write(b"tail")
    before = wide.listing()

    wide.run(copy("d", "copy"))
    assert _blocks(wide.folder / "copy/sparse") < MIB
    wide.undo()
    wide.run(move("d", f"{elsewhere}/d"))
    assert _blocks(elsewhere / "d/sparse") < MIB
    wide.undo()

    assert _blocks(wide.folder / "d/sparse") < MIB
    assert wide.changes(before) == []


def test_f35_names_of_one_file_stay_one_file(wide: Shell, elsewhere: Path) -> None:
    wide.make({"d/one": "1", "d/two": ("=", "d/one"), "d/sub/three": ("=", "d/one")})
    before = wide.listing()

    wide.run(move("d", f"{elsewhere}/d"))
    assert listing(elsewhere / "d")["one"].links == ("sub/three", "two")
    wide.undo()
    assert wide.changes(before) == []
    wide.run(delete("d"))
    wide.undo()

    assert wide.changes(before) == []


def test_f35_a_name_outside_is_reported_not_parted(wide: Shell, elsewhere: Path) -> None:
    wide.make({"d/one": "1", "outside": ("=", "d/one")})
    before = wide.listing()

    report = wide.run(move("d", f"{elsewhere}/d"), code=2)

    assert "hard links" in report["error"]["message"]
    assert wide.changes(before) == []
    assert os.listdir(elsewhere) == []


def _specials(shell: Shell) -> None:
    shell.make({"d/pipe": ("|",), "d/file": "f", "pipe": ("|",), "top": "t"})
    for place in ("d/sock", "sock"):
        with socket.socket(socket.AF_UNIX) as server:
            before = os.getcwd()
            os.chdir(shell.folder)  # the path of a socket has no more than 108 bytes
            server.bind(place)
            os.chdir(before)
    if os.geteuid() == 0:
        os.mknod(shell.folder / "d/null", 0o600 | 0o020000, os.makedev(1, 3))


EVERY: dict[str, tuple[int, list[Any]]] = {
    "moved": (0, [move("d", "e"), move("pipe", "e/p"), move("sock", "e/s")]),
    "deleted": (0, [delete("d"), delete("pipe"), delete("sock")]),
    "selected by content": (
        0,
        [
            {
                **move("{file.path}", "x/"),
                "id": "{file.name}",
                "for_each": {"files": "**", "duplicates": "content"},
            }
        ],
    ),
    "copied": (2, [copy("pipe", "p2")]),
    "copied inside of a folder": (1, [write("x", "x"), copy("d", "e")]),
    "compressed": (1, [write("x", "x"), {"action": "fs.compress", "from": "d", "to": "d.zip"}]),
    "a source of content": (2, [{"action": "fs.write", "path": "x", "from_file": "pipe"}]),
    "looked into": (1, [{"action": "noop", "assert": [{"contains": "x", "path": "pipe"}]}]),
    "written over": (2, [write("pipe", "x")]),
    "a failure after": (1, [move("d", "e"), delete("pipe"), fail()]),
}


@pytest.mark.parametrize("way", EVERY)
def test_f36_a_fifo_or_socket_is_never_waited_for(shell: Shell, way: str) -> None:
    """Within ten seconds all of it is moved by rename, or refused by name; and comes back."""
    _specials(shell)
    before = shell.listing()
    code, steps = EVERY[way]

    done = shell.process("run", shell.skill(*steps), "--mode", "apply", "--json", code=None, timeout_s=10)

    assert done.code in ((0,) if code == 0 else (1, 2)), done.out + done.err
    if code:
        assert any(word in done.out for word in ("fifo", "socket", "device", "sure-to-fail"))
    elif done.json["steps"]:
        shell.process("undo", timeout_s=10)
    assert shell.changes(before) == []


def test_f36_tidying_leaves_them_where_they_are_and_plans_for_the_rest(shell: Shell) -> None:
    _specials(shell)

    done = shell.process(
        "run", "downloads-cleanup", "--set", f"folder={shell.folder}", "--json", timeout_s=10
    )

    assert [step["actionId"] for step in done.json["steps"]] == ["move:top"]


@pytest.mark.parametrize(
    "step",
    [
        lambda file: write(str(file), "new"),
        lambda file: move("a", f"{file}2"),
        lambda file: move("a", str(file), on_conflict="replace"),
        lambda file: delete(str(file)),
    ],
    ids=["write", "move", "move over", "delete"],
)
def test_f07_a_file_granted_alone_on_another_file_system_refuses_the_plan(
    shell: Shell, elsewhere: Path, step: Callable[[Path], Step]
) -> None:
    """There is no place to put what is new, so the preview does not promise what a run cannot keep."""
    shell.make({"a": "a"})
    file = elsewhere / "file"
    file.write_text("old")
    scope = [str(file), f"{file}2", str(shell.folder)]

    early = shell.preview(step(file), scope=scope, code=2)["error"]
    made = shell.home.state.exists()
    with mock.patch.object(room, "check_places"):
        late = shell.run(step(file), scope=scope, code=2)["error"]

    assert "is granted alone, and its folder is on another file system" in early["message"]
    assert early["hint"].startswith("grant its folder, or set DESKSHELL_HOME")
    assert early == late
    assert not made
    assert (shell.names(), os.listdir(elsewhere), file.read_text()) == (["a"], ["file"], "old")
    assert shell.tasks() == []


def test_f07_a_file_granted_alone_beside_the_state_folder_is_written(shell: Shell) -> None:
    shell.make({"a": "a"})

    report = shell.run(write("a", "new"), scope=[str(shell.folder / "a")])
    shell.undo()

    assert report["status"] == "ok"
    assert shell.read("a") == "a"


@pytest.mark.root
def test_f07_a_file_system_that_tells_no_size_takes_copies_and_holds_undo_data(tmp_path: Path) -> None:
    """Of a ramfs, and of some of FUSE, the system says that it has 0 blocks, and that 0 of them are free."""

    def trial() -> object:
        memory = tmp_path / "memory"
        memory.mkdir()
        subprocess.run(["mount", "-t", "ramfs", "ramfs", memory], check=True)
        shell = Shell.below(tmp_path)
        shell.also = (memory,)
        shell.env = {"DESKSHELL_HOME": str(memory / "state")}
        shell.make({"a": "a", "b": "b"})
        before = shell.listing()
        shell.run(copy("a", f"{memory}/copy"), delete("b"))
        shell.run(delete("a"))
        report = shell.undo("--last", "2")
        return report["rolledBack"], shell.changes(before), os.listdir(memory)

    assert in_own_mounts(trial) == (3, [], ["state"])
