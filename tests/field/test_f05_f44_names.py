"""Names: swapped, taken, odd, long, and what they must not be able to do. F05, F06, F12, F29, F30, F31, F40, F44."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.mounts import has_mkfs, in_own_mounts, mount_image
from tests.support.shell import Shell, Step, before_step, copy, delete, fail, mkdir, move, write

TURNS: dict[str, tuple[dict[str, str], list[Step], dict[str, str]]] = {
    "swap": ({"a": "A", "b": "B"}, [move("a", "b"), move("b", "a")], {"a": "B", "b": "A"}),
    "cycle": (
        {"a": "A", "b": "B", "c": "C"},
        [move("a", "b"), move("b", "c"), move("c", "a")],
        {"a": "C", "b": "A", "c": "B"},
    ),
    "shift": (
        {"f1": "1", "f2": "2", "f3": "3"},
        [move("f1", "f2"), move("f2", "f3"), move("f3", "f4")],
        {"f2": "1", "f3": "2", "f4": "3"},
    ),
    "swapped folders": (
        {"a/x": "A", "b/x": "B"},
        [move("a", "b"), move("b", "a")],
        {"a": "", "a/x": "B", "b": "", "b/x": "A"},
    ),
}


def content(shell: Shell) -> dict[str, str]:
    """Every name in the folder with its text, "" for a folder."""
    return {name: shell.read(name) if (shell.folder / name).is_file() else "" for name in shell.names()}


@pytest.mark.parametrize("turn", TURNS)
def test_f05_swapped_names_keep_all_contents(shell: Shell, turn: str) -> None:
    files, steps, after = TURNS[turn]
    shell.make(files)
    before = shell.listing()

    shell.run(*steps)
    assert content(shell) == after
    shell.undo()
    assert shell.changes(before) == []
    shell.json("redo")
    assert content(shell) == after


@pytest.mark.parametrize("turn", TURNS)
def test_f05_a_failure_part_way_leaves_no_temporary_name(shell: Shell, turn: str) -> None:
    files, steps, _ = TURNS[turn]
    shell.make(files)
    before = shell.listing()

    shell.run(*steps, fail(), code=1)

    assert shell.changes(before) == []


def test_f05_the_name_in_between_is_a_step_on_record(shell: Shell) -> None:
    shell.make({"a": "A", "b": "B"})

    task = shell.run(*TURNS["swap"][1])["taskId"]

    steps = shell.json("show", task)["steps"]
    assert [step["kind"] for step in steps] == ["fs.move"] * 3


TAKEN: dict[str, Any] = {
    "a file": "theirs",
    "an empty file": "",
    "a dangling link": ("->", "nowhere"),
    "a link to a folder": ("->", "."),
    "a folder": None,
    "a fifo": ("|",),
}


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize(
    "step", [move("a", "t"), copy("a", "t"), mkdir("t")], ids=lambda step: step["action"]
)
def test_f06_a_taken_name_is_refused(shell: Shell, taken: str, step: Step) -> None:
    shell.make({"a": "a", "t/" if TAKEN[taken] is None else "t": TAKEN[taken]})
    before = shell.listing()

    report = shell.run(step, code=2)

    assert f"{shell.folder}/t" in report["error"]["message"]
    assert shell.changes(before) == []


@pytest.mark.parametrize("taken", ["a file", "an empty file", "a dangling link", "a link to a folder"])
@pytest.mark.parametrize("make", [move, copy])
def test_f06_what_is_replaced_on_request_comes_back(shell: Shell, taken: str, make: Any) -> None:
    shell.make({"a": "a", "t": TAKEN[taken]})
    before = shell.listing()

    shell.run(make("a", "t", on_conflict="replace"))
    assert shell.read("t") == "a"
    shell.undo()

    assert shell.changes(before) == []


@pytest.mark.parametrize("make", [move, copy])
def test_f06_a_file_that_appears_in_between_is_not_replaced(shell: Shell, make: Any) -> None:
    shell.make({"a": "a", "b": "b"})

    with before_step(1, lambda: (shell.folder / "t").write_text("theirs")):
        report = shell.run(move("b", "b2"), make("a", "t"), code=1)

    assert report["status"] == "rolled-back"
    assert content(shell) == {"a": "a", "b": "b", "t": "theirs"}


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_f12_lines_end_at_newlines_only(shell: Shell, char: str) -> None:
    name = f"one{char}two"
    shell.make({name: "x"})
    before = shell.listing()

    shell.run({"id": "m:{file.name}", **move("{file.path}", "out/{file.name}"), "for_each": {"files": "*"}})
    shell.run(write("other", "o"))
    assert [task["status"] for task in shell.tasks()] == ["ok", "ok"]
    assert shell.json("journal", "verify")["ok"]
    shell.undo("--last", "2")

    assert shell.changes(before) == []


LATIN = os.fsdecode(b"caf\xe9.txt")


def test_f29_a_name_that_is_not_utf8_goes_through_everything(shell: Shell) -> None:
    shell.make({"a.txt": "1", LATIN: "2", "z.txt": "3"})
    before = shell.listing()

    report = shell.json("run", "downloads-cleanup", "--set", f"folder={shell.folder}", "--mode", "apply")
    assert len(report["steps"]) == 3
    moved = report["steps"][1]
    assert moved["target"].endswith(r"caf\xe9.txt")
    target = base64.b64decode(moved["targetBytes"])
    assert target.endswith(b"/caf\xe9.txt")
    assert Path(os.fsdecode(target)).read_text() == "2"
    assert shell.json("show", report["taskId"])["steps"][1]["targetBytes"] == moved["targetBytes"]
    assert len(shell.json("log", "--entries")["entries"]) == 3
    shell.undo()

    assert shell.changes(before) == []


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX"])
def test_f29_and_is_printed_whatever_the_locale(shell: Shell, locale: str) -> None:
    shell.make({LATIN: "2", "b→.txt": "3"})
    shell.env |= {"LANG": locale, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    task = shell.json("run", "downloads-cleanup", "--set", f"folder={shell.folder}", "--mode", "apply")[
        "taskId"
    ]

    for args in (("log",), ("show", task), ("undo", "--check"), ("log", "--entries")):
        shell.process(*args)


HOSTILE = "task-1 ok\ndone task-9: 3 steps\x1b[2K"


def test_f30_a_newline_is_part_of_one_name(shell: Shell) -> None:
    shell.make({"a\nb": "1", "a": "2", "b": "3", HOSTILE: "4", "-rf": "5"})
    before = shell.listing()
    skill = shell.skill(
        {"id": "{file.name}", **move("{file.path}", "out/{n:02}"), "for_each": {"files": "*"}}
    )

    preview = shell("run", skill)
    assert r"a\nb" in preview.out
    assert "\x1b" not in preview.out + preview.err
    assert not any(line.startswith("done task-9") for line in preview.out.split("\n"))
    task = shell.json("run", skill, "--mode", "apply")
    assert len(task["steps"]) == 5
    for args in (("show", task["taskId"]), ("log", "--entries"), ("undo", "--check")):
        done = shell(*args)
        assert "\x1b" not in done.out
        assert not any(line.startswith("done task-9") for line in done.out.split("\n"))
    shell.undo()

    assert shell.changes(before) == []


def test_f31_a_name_in_another_case_is_another_name(shell: Shell) -> None:
    shell.make({"readme.md": "1", "README.md": "2"})
    before = shell.listing()

    shell.run(move("readme.md", "README.md"), code=2)
    assert shell.changes(before) == []

    os.unlink(shell.folder / "README.md")
    alone = shell.listing()
    shell.run(move("readme.md", "README.md"))
    assert shell.names() == ["README.md"]
    shell.undo()
    assert [line for line in shell.changes(alone) if "mtime" not in line] == []


def test_f31_two_names_of_one_file_are_not_taken_for_a_done_rename(shell: Shell) -> None:
    """The system's call does nothing for them and reports success."""
    shell.make({"a": "1", "b": ("=", "a")})
    before = shell.listing()

    refused = shell.run(move("a", "b"), code=2)
    assert refused["error"]["code"] == "conflict"
    assert shell.changes(before) == []

    shell.run(move("a", "b", on_conflict="replace"))
    assert shell.names() == ["b"]
    shell.undo()
    assert shell.changes(before) == []


@pytest.mark.root
@pytest.mark.skipif(not has_mkfs("ext4"), reason="mkfs.ext4 is missing")
def test_f31_a_folder_that_folds_case(tmp_path: Path) -> None:
    """Only the case changes, which is one object; two targets that fold to one name are refused."""

    def trial() -> object:
        place = tmp_path / "disk"
        try:
            mount_image("ext4", tmp_path / "image", place, 16, make=("-O", "casefold"))
        except subprocess.CalledProcessError:
            return "this system mounts no ext4 that folds case"
        (place / "folded").mkdir()
        subprocess.run(["chattr", "+F", place / "folded"], check=True)
        shell = Shell.below(place / "folded")
        shell.make({"readme.md": "1", "other": "2"})
        before = shell.listing()
        shell.run(move("readme.md", "README.md"))
        renamed = shell.names()
        shell.undo()
        changes = shell.changes(before)
        refused = shell.run(move("readme.md", "Out"), move("other", "oUT"), code=2)
        return renamed, changes, "error" in refused, shell.changes(before)

    found = in_own_mounts(trial)
    if isinstance(found, str):
        pytest.skip(found)
    assert found == (["README.md", "other"], [], True, [])


EACH: Step = {"for_each": {"files": "*.txt"}, "id": "{file.name}"}


@pytest.mark.parametrize("there", [{}, {"out": "a file"}], ids=["missing", "a file"])
def test_f40_several_files_do_not_go_to_one_name(shell: Shell, there: dict[str, str]) -> None:
    shell.make({"a.txt": "1", "b.txt": "2", "c.txt": "3", **there})
    before = shell.listing()

    report = shell.run({**move("{file.path}", "out"), **EACH}, code=2)

    assert "target" in report["error"]["message"]
    assert shell.changes(before) == []


def test_f40_a_slash_at_the_end_means_the_folder(shell: Shell) -> None:
    shell.make({"a.txt": "1", "b.txt": "2"})
    before = shell.listing()

    shell.run({**move("{file.path}", "out/"), **EACH})
    assert content(shell) == {"out": "", "out/a.txt": "1", "out/b.txt": "2"}
    shell.undo()

    assert shell.changes(before) == []


def test_f40_a_slash_after_a_file_is_refused(shell: Shell) -> None:
    shell.make({"a.txt": "1", "out": "a file"})
    before = shell.listing()

    shell.run({**move("{file.path}", "out/"), **EACH}, code=2)

    assert shell.changes(before) == []


@pytest.mark.parametrize("value", ["in/../../out", "a/b", "..", "", "/etc"])
def test_f40_a_value_adds_no_parts_to_a_path(shell: Shell, value: str) -> None:
    shell.make({"a.txt": "1", "table.csv": f'name\n"{value}"\n'})
    before = shell.listing()
    rows = {"for_each": {"rows": "table.csv"}, "id": "{n}"}

    report = shell.run({**move("a.txt", "sorted/{row.name}/a.txt"), **rows}, code=2)

    assert report["error"]["code"] in ("scope", "manifest", "usage", "conflict", "refused")
    assert shell.changes(before) == []


LONG = ["x" * 250, "é" * 127, "x" * 255]


@pytest.mark.parametrize("name", LONG, ids=["250", "127 é", "255"])
def test_f44_a_long_name_is_like_any_other(shell: Shell, name: str) -> None:
    short = name[:-1]
    shell.make({name: "old", short: "other"})
    before = shell.listing()

    shell.run(write(name, "new"))
    shell.run(move(name, short), move(short, name))  # a cycle, by a temporary name
    shell.run(copy(name, "d/" + name))
    shell.run(delete(name))
    shell.undo("--last", "4")

    assert shell.changes(before) == []


@pytest.mark.parametrize("stem", ["é" * 125, "x" * 251], ids=["127 é", "255"])
def test_f44_a_number_keeps_the_ending_and_cuts_at_a_character(shell: Shell, stem: str) -> None:
    name = stem + ".txt"
    shell.make({name: "1", "out/" + name: "2"})

    shell.run(move(name, "out/" + name, on_conflict="number"))

    made = [each for each in os.listdir(shell.folder / "out") if each != name]
    assert len(made) == 1
    assert made[0].endswith(" (2).txt")
    assert len(made[0].encode()) <= 255
    assert made[0].removesuffix(" (2).txt") == stem[: len(made[0]) - len(" (2).txt")]


def test_f44_a_path_as_long_as_the_system_takes(shell: Shell) -> None:
    parts = ["d" * 200] * 18
    deep = "/".join(parts)
    os.makedirs(shell.folder / deep)
    (shell.folder / deep / "f").write_text("x")
    before = shell.listing()

    shell.run(write(f"{deep}/f", "new"), move(f"{deep}/f", f"{deep}/g"))
    shell.undo()

    assert shell.changes(before) == []
