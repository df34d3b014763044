"""Nothing outside, through no link, by no name: F15, F16, F17, F18, F39, F45, F48."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.listing import difference, listing
from tests.support.shell import (
    Shell,
    Step,
    before_step,
    chmod,
    compress,
    copy,
    delete,
    failures,
    mkdir,
    move,
    symlink,
    write,
)


@pytest.fixture
def outside(shell: Shell) -> Path:
    """A folder outside of every scope, with something in it; `folder/link` leads there."""
    path = shell.folder.parent / "outside"
    path.mkdir()
    (path / "victim").write_text("precious")
    (path / "sub").mkdir()
    shell.make({"a": "a", "d/x": "x"})
    (shell.folder / "link").symlink_to(path)
    return path


THROUGH: dict[str, Step] = {
    "write": write("link/new.txt", "x"),
    "write over": write("link/victim", "x"),
    "write deeper": write("link/sub/deeper/new.txt", "x"),
    "mkdir": mkdir("link/new"),
    "move to": move("a", "link/a"),
    "move from": move("link/victim", "v"),
    "copy to": copy("a", "link/a"),
    "copy from": copy("link/victim", "v"),
    "symlink": symlink("link/l", "x"),
    "delete": delete("link/victim"),
    "chmod": chmod("link/victim", "0600"),
    "compress to": compress("a", "link/a.gz"),
    "compress from": compress("link/victim", "v.gz"),
    "rotate": {"action": "log.rotate", "path": "link/victim"},
    "dot dot": write("d/../../outside/new", "x"),
    "absolute": write("/outside-of-everything/new", "x"),
    "a look-alike": write("../folder2/new", "x"),
    "content from": {"action": "fs.write", "path": "v", "from_file": "link/victim"},
}


@pytest.mark.parametrize("way", THROUGH)
def test_f15_no_step_reaches_outside(shell: Shell, outside: Path, way: str) -> None:
    """The file does not exist yet in half of these, so there is no real path of its own to look at."""
    before, theirs = shell.listing(), listing(outside)

    report = shell.run(THROUGH[way], code=2)

    assert report["error"]["code"] == "scope"
    assert shell.changes(before) == []
    assert difference(theirs, listing(outside)) == []
    assert not (outside.parent / "folder2").exists()
    assert not shell.tasks()


def test_f15_a_selector_does_not_look_through_a_link(shell: Shell, outside: Path) -> None:
    each: Step = {"for_each": {"files": "**"}, "id": "{file.name}"}

    report = shell.preview({**copy("{file.path}", "copies/{n}"), **each})

    assert [step["actionId"] for step in report["steps"]] == ["a", "x"]
    shell.preview({**copy("{file.path}", "c/{n}"), "for_each": {"files": "link/*"}, "id": "{n}"}, code=2)


@pytest.mark.parametrize("planted", ["in the parent's place", "in the place above"])
@pytest.mark.parametrize(
    "step", [write("d/e/new", "x"), move("a", "d/e/a"), delete("d/e/y")], ids=lambda s: s["action"]
)
def test_f15_a_link_planted_between_look_and_act_is_not_followed(
    shell: Shell, outside: Path, planted: str, step: Step
) -> None:
    shell.make({"d/e/y": "y", "b": "b"})
    (outside / "e").mkdir()
    (outside / "e/y").write_text("precious, too")
    (outside / "y").write_text("precious, three")
    theirs = listing(outside)

    def plant() -> None:
        where = shell.folder / ("d/e" if planted == "in the parent's place" else "d")
        where.rename(shell.folder / "put-aside")
        where.symlink_to(outside)

    with before_step(1, plant):
        shell.run(move("b", "b2"), step, code=None)

    assert difference(theirs, listing(outside)) == []
    assert (shell.folder / "b").exists()  # taken back


def test_f15_an_undo_does_not_follow_a_planted_link(shell: Shell, outside: Path) -> None:
    shell.run(move("d/x", "a2"), mkdir("d/new"))
    (shell.folder / "d").rename(shell.folder / "put-aside")
    (shell.folder / "d").symlink_to(outside)
    before, theirs = shell.listing(), listing(outside)

    report = shell.undo(code=1)

    assert report["rolledBack"] == 0
    assert shell.changes(before) == []
    assert difference(theirs, listing(outside)) == []


@pytest.mark.parametrize("force", [False, True], ids=["", "force"])
@pytest.mark.parametrize("place", ["the file", "its folder"])
def test_f16_a_restore_does_not_write_through_a_link(
    shell: Shell, outside: Path, place: str, force: bool
) -> None:
    """Even `--force` takes the link for what it is: something in the way, which is kept."""
    shell.make({"etc/victim": "old"})
    shell.run(write("etc/victim", "new"))
    target = shell.folder / ("etc/victim" if place == "the file" else "etc")
    target.rename(shell.folder / "put-aside")
    target.symlink_to(outside / "victim" if place == "the file" else outside)
    theirs = listing(outside)

    report = shell.undo(*(["--force"] if force else []), code=None)

    assert difference(theirs, listing(outside)) == []
    if not force or place != "the file":
        assert failures(report)
        assert target.is_symlink()
    else:
        assert shell.read("etc/victim") == "old"


@pytest.mark.parametrize(
    "step", [delete("dir"), delete("l"), copy("dir", "dir2"), compress("dir", "dir.tgz")], ids=str
)
def test_f17_only_the_link_goes(shell: Shell, step: Step) -> None:
    shell.make({"keep/precious": "p", "dir/x": "x", "dir/l": ("->", "../keep"), "l": ("->", "keep")})
    before = shell.listing()

    shell.run(step)
    assert shell.read("keep/precious") == "p"
    if (shell.folder / "dir2").exists():
        assert os.readlink(shell.folder / "dir2/l") == "../keep"
    shell.undo()

    assert shell.changes(before) == []


@pytest.mark.parametrize(
    "step",
    [delete("l/"), move("l/", "m"), chmod("l/", "0700"), compress("l/", "l.tgz")],
    ids=lambda s: s["action"],
)
def test_f17_a_slash_behind_a_link_does_not_mean_the_folder_behind_it(shell: Shell, step: Step) -> None:
    shell.make({"keep/precious": "p", "l": ("->", "keep")})
    before = shell.listing()["keep/precious"]

    shell.run(step, code=None)

    assert shell.listing()["keep/precious"] == before
    assert (shell.folder / "keep").is_dir()


LINKS = {
    "t/file": "f",
    "t/relative": ("->", "file"),
    "t/absolute": ("->", "/etc/hostname"),
    "t/dangling": ("->", "no\nwhere"),
}


@pytest.mark.parametrize("across", [False, True], ids=["held", "kept as a copy"])
def test_f18_links_of_all_kinds_come_back_as_links(shell: Shell, elsewhere: Path, across: bool) -> None:
    if across:
        shell.home = type(shell.home)(shell.home.user, elsewhere / "state")
    shell.make(LINKS)
    before = shell.listing()

    shell.run(copy("t", "u"))
    for name in ("relative", "absolute", "dangling"):
        assert os.readlink(shell.folder / "u" / name) == LINKS[f"t/{name}"][1]
    shell.run(delete("t"), move("u", "v"))
    shell.undo("--last", "2")

    assert shell.changes(before) == []


@pytest.mark.parametrize("name", ["t.tgz", "t.zip"])
def test_f18_f48_an_archive_holds_links_as_links_and_no_way_out(shell: Shell, name: str) -> None:
    """No member is absolute or leads up, none comes twice, and a link is never packed as what it points to."""
    shell.make({**LINKS, "t/deep/up": ("->", "../../..")})

    shell.run(compress("t", name, keep=True))

    if name.endswith("zip"):
        with zipfile.ZipFile(shell.folder / name) as packed:
            found = {each.filename.rstrip("/"): packed.read(each) for each in packed.infolist()}
            count = len(packed.infolist())
            links = {
                each.filename for each in packed.infolist() if each.external_attr >> 16 & 0o170000 == 0o120000
            }
    else:
        with tarfile.open(shell.folder / name) as packed:
            found = {each.name: each.linkname.encode() for each in packed.getmembers()}
            count = len(packed.getmembers())
            links = {each.name for each in packed.getmembers() if each.issym()}
    assert count == len(found)
    assert not any(each.startswith("/") or ".." in each.split("/") for each in found)
    assert links == {"t/relative", "t/absolute", "t/dangling", "t/deep/up"}
    assert found["t/absolute"] == b"/etc/hostname"


INSIDE: dict[str, Step] = {
    "copy": copy("d", "d/sub/copy"),
    "move": move("d", "d/sub"),
    "compress": compress("d", "d/sub.tgz"),
    "copy to itself": copy("d", "d"),
}


@pytest.mark.parametrize("way", INSIDE)
def test_f39_nothing_is_put_into_itself(shell: Shell, way: str) -> None:
    shell.make({"d/x": "x", "d/sub/y": "y"})
    before = shell.listing()

    shell.run(INSIDE[way], code=2)

    assert shell.changes(before) == []


AT_STATE: dict[str, Step] = {
    "delete the folder above": delete("keep"),
    "move the folder above": move("keep", "moved"),
    "copy the folder above": copy("keep", "copied"),
    "compress the folder above": compress("keep", "keep.tgz", keep=True),
    "delete it": delete("keep/state"),
    "move it": move("keep/state", "state2"),
    "write the journal": write("keep/state/journal.jsonl", "x"),
    "write into it": write("keep/state/held/x", "x"),
    "move out of it": move("keep/state/journal.jsonl", "j"),
    "move into it": move("a", "keep/state/held/a"),
    "chmod": chmod("keep/state", "0755"),
    "through a second name": write("other-name/journal.jsonl", "x"),
}


@pytest.mark.parametrize("way", AT_STATE)
def test_f39_the_state_folder_is_out_of_bounds(shell: Shell, way: str) -> None:
    shell.make({"a": "a", "keep/mine": "m", "other-name": ("->", "keep/state")})
    shell.home = type(shell.home)(shell.home.user, shell.folder / "keep/state")
    shell.run(write("first", "1"))
    before = {name: each for name, each in shell.listing().items() if "state" not in name}

    report = shell.run(AT_STATE[way], code=2)

    assert report["error"]["code"] == "scope"
    after = {name: each for name, each in shell.listing().items() if "state" not in name}
    assert difference(before, after) == []
    assert shell.json("journal", "verify")["ok"]
    shell.undo()
    assert not (shell.folder / "first").exists()


def test_f39_tidying_never_selects_what_is_deskshell_s_own(shell: Shell) -> None:
    shell.make({"a.txt": "a", "sub/b.txt": "b"})
    shell.home = type(shell.home)(shell.home.user, shell.folder / "state")
    shell.run(write("first.txt", "1"))
    every: Step = {
        **move("{file.path}", "all/{n}-{file.name}"),
        "id": "{file.name}",
        "for_each": {"files": "**"},
    }

    report = shell.run(every)

    assert sorted(step["actionId"] for step in report["steps"]) == ["a.txt", "b.txt", "first.txt"]
    assert shell.json("journal", "verify")["ok"]
    shell.undo("--last", "2")
    assert shell.read("a.txt") == "a"


def test_f39_a_state_folder_that_a_copied_folder_holds_is_not_copied(shell: Shell) -> None:
    """Also when the folder is the whole scope."""
    shell.make({"a": "a"})
    shell.home = type(shell.home)(shell.home.user, shell.folder / "state")

    report = shell.run(copy(str(shell.folder), "copy"), code=2)

    assert report["error"]["code"] in ("scope", "conflict")
    assert not (shell.folder / "copy").exists()


def test_f45_relative_paths_mean_the_folder_one_stands_in(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written out in full in plan and journal; the undo, from elsewhere, is about the same file."""
    shell.make({"one/a": "1", "two/a": "2"})
    top = shell.folder
    before = listing(top)
    skill = shell.skill(write("a", "new"), scope=["."])

    shell.folder = top / "one"
    plan = shell.json("plan", skill)
    assert plan["cwd"] == str(top / "one")
    assert [step["target"] for step in plan["steps"]] == [str(top / "one/a")]
    shell.folder = top / "two"
    done = shell.json("apply", plan["planId"])
    assert (top / "one/a").read_text() == "new"
    assert [step["target"] for step in done["steps"]] == [str(top / "one/a")]
    shell.undo()

    assert difference(before, listing(top)) == []


def test_f45_a_skill_by_its_bare_name_is_not_the_one_beside_oneself(shell: Shell) -> None:
    shell.make({"first-skill/skill.toml": "name = 'first-skill'"})

    found: Any = shell.json("skills", "show", "first-skill")

    assert str(shell.folder) not in str(found)
    shutil.rmtree(shell.folder / "first-skill")
