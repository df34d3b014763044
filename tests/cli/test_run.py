"""`deskshell run` as its users meet it: a preview changes nothing, a no cancels all, a failure is taken back."""

from __future__ import annotations

import json

import pytest

from tests.support.listing import listing
from tests.support.trees import make_files

TIDY = """
[params.folder]
type = "path"
help = "the folder to tidy"

[[capabilities]]
name = "fs.read"
scope = ["{folder}"]
reason = "read the folder"

[[capabilities]]
name = "fs.write"
scope = ["{folder}"]
reason = "move files and create folders"

[[steps]]
id = "move:{file.name}"
for_each = { files = "{folder}/*" }
action = "fs.move"
from = "{file.path}"
to = "{folder}/{file.category}/{file.name}"

[[steps]]
id = "note"
action = "fs.write"
path = "{folder}/TIDIED.txt"
text = "tidied\\n"
"""

RENAME = """
[params.folder]
type = "path"

[[capabilities]]
name = "fs.read"
scope = ["{folder}"]
reason = "read the folder"

[[capabilities]]
name = "fs.write"
scope = ["{folder}"]
reason = "rename files"

[[steps]]
id = "{file.name}"
for_each = { files = "{folder}/*", sort = "name" }
action = "fs.move"
from = "{file.path}"
to = "{folder}/photo-{n:03}.{file.ext}"
"""

FAIL = """
[params.folder]
type = "path"

[[capabilities]]
name = "fs.read"
scope = ["{folder}"]
reason = "look"

[[capabilities]]
name = "fs.write"
scope = ["{folder}"]
reason = "write"

[[steps]]
id = "one"
action = "fs.write"
path = "{folder}/one.txt"
text = "1"

[[steps]]
id = "two"
action = "fs.write"
path = "{folder}/sub/two.txt"
text = "2"
assert = [{ exists = "{folder}/never" }]

[[steps]]
id = "three"
action = "noop"
"""

SUBMIT = """
[[capabilities]]
name = "fs.write"
scope = ["."]
reason = "leave a mark"

[[steps]]
id = "submit"
action = "fs.write"
path = "sent.txt"
text = "sent"
irreversible = true
"""

FILES = {"holiday.jpg": b"\xff\xd8\xff" + bytes(3_400_000), "invoice.pdf": "%PDF-1.4", "song.mp3": "ID3"}


@pytest.fixture
def tidy(skill, folder):
    """The path of a skill that tidies, and a folder for it."""
    make_files(folder, FILES)
    return skill("tidy", TIDY)


def test_preview_apply_undo_and_redo(console, folder, tidy, golden):
    before = listing(folder)

    console("run", tidy, "--set", "folder=.", code=0)
    assert listing(folder) == before
    console("run", tidy, "--set", "folder=.", "--mode", "apply", code=0)
    after = listing(folder)
    console("undo", code=0)
    assert listing(folder) == before
    console("undo", code=0)
    console("redo", code=0)
    assert listing(folder) == after

    golden("session-tidy", console.transcript)


def test_a_preview_creates_nothing_at_all(console, tidy, home):
    console.process("run", tidy, "--set", "folder=.", code=0)

    assert not home.state.exists()
    assert list(home.user.iterdir()) == []


def test_the_preview_of_a_renaming_says_what_was_what(console, folder, skill, golden):
    make_files(folder, {"IMG_1.JPG": "1", "IMG_2.JPG": "2", "photo-003.jpg": "3"})

    console("run", skill("rename", RENAME), "--set", f"folder={folder}")

    golden("preview-rename", console.transcript)


def test_what_a_preview_says_to_type_applies_what_it_showed(console, folder, skill):
    """Also with a name that a shell would take apart."""
    odd = folder.parent / "it's a $HOME; folder"
    make_files(odd, {"a.txt": "a"})

    shown = console("run", skill("rename", RENAME), "--set", f"folder={odd}").out
    import shlex

    words = shlex.split(shown.split("apply with: ")[1])
    console(*words[1:], code=0)

    assert [each.name for each in odd.iterdir()] == ["photo-001.txt"]


def test_a_yes_to_each_question_applies(console, folder, tidy, golden):
    console.process("run", tidy, "--set", "folder=.", "--ask", answers="y\nyes\n", code=0)

    assert (folder / "TIDIED.txt").exists()
    golden("session-ask", console.transcript)


@pytest.mark.parametrize("answers", ["n\n", "y\nn\n", "", "y\n", "\n\n", "maybe\ny\n"])
def test_any_other_answer_leaves_no_trace(console, folder, tidy, home, answers):
    """No file, no folder, no journal: as if it had not been typed."""
    before = listing(folder)

    console.process("run", tidy, "--set", "folder=.", "--ask", "--mode", "apply", answers=answers, code=2)

    assert "[y/N]" in console.last.err
    assert listing(folder) == before
    assert not home.state.exists()


def test_under_json_an_asked_run_prints_one_object(console, tidy):
    done = console("run", tidy, "--set", "folder=.", "--ask", "--json", answers="y\ny\n", code=0)

    assert done.json["status"] == "ok"
    assert done.err.count("[y/N]") == 2


def test_a_cancelled_run_under_json_is_an_error_object(console, tidy):
    done = console("run", tidy, "--set", "folder=.", "--ask", "--json", answers="n\n", code=2)

    assert done.json["error"]["code"] == "cancelled"


def test_a_failure_is_told_and_taken_back(console, folder, skill, golden):
    console("run", skill("fail", FAIL), "--set", "folder=.", "--mode", "apply", code=1)

    assert list(folder.iterdir()) == []
    golden("session-fail", console.transcript)


def test_a_failure_under_json_has_the_stable_shape(console, skill):
    report = console(
        "run", skill("fail", FAIL), "--set", "folder=.", "--mode", "apply", "--json", code=1
    ).json

    assert (report["status"], report["rolledBack"], report["left"]) == ("rolled-back", 2, [])
    assert [step["status"] for step in report["steps"]] == ["rolled-back", "failed", "skipped"]
    assert report["steps"][1]["takenBack"] is True


def test_what_cannot_be_undone_takes_its_own_yes(console, folder, skill, golden):
    submit = skill("submit", SUBMIT)

    console("run", submit, code=0)
    console("run", submit, "--mode", "apply", code=2)
    assert list(folder.iterdir()) == []
    console("run", submit, "--ask", answers="n\n", code=2)
    console("run", submit, "--ask", answers="y\n", code=0)
    assert (folder / "sent.txt").exists()
    console("undo", code=1)
    console("undo", code=1)
    assert (folder / "sent.txt").exists()

    golden("session-irreversible", console.transcript)


def test_the_flag_is_consent_for_scripts(console, folder, skill):
    console("run", skill("submit", SUBMIT), "--mode", "apply", "--allow-irreversible", code=0)

    assert (folder / "sent.txt").exists()


def test_what_was_not_granted_refuses_the_whole_run(console, folder, tidy):
    before = listing(folder)

    console("run", tidy, "--set", "folder=.", "--mode", "apply", "--grant", "fs.read", code=2)

    assert "which was not granted" in console.last.err
    assert listing(folder) == before


def test_what_was_not_granted_is_neither_shown_nor_asked_for(console, folder, tidy, home):
    """A preview that names a command has to name one that works; a yes is not asked for what is refused after it."""
    given = ("run", tidy, "--set", "folder=.", "--grant", "fs.read")

    for more in ((), ("--json",), ("--ask",)):
        console(*given, *more, answers="y\ny\ny\n", code=2)
        assert "which was not granted" in console.last.err + console.last.out
        assert "[y/N]" not in console.last.err
        assert "apply with" not in console.last.out
    console(*given[:-1], "fs.delete", code=2)
    assert "`fs.delete` is not declared by the skill" in console.last.err
    assert not home.state.exists()


def test_only_what_is_granted_is_asked_for(console, folder, tidy):
    console("run", tidy, "--set", "folder=.", "--grant", "fs.write", "--ask", answers="y\n", code=0)

    assert console.last.err.count("[y/N]") == 1
    assert (folder / "TIDIED.txt").exists()


def test_nothing_to_do_is_done(console, folder, skill, home):
    rename = skill("rename", RENAME)

    console("run", rename, "--set", "folder=.", code=0)
    console("run", rename, "--set", "folder=.", "--ask", code=0)
    console("run", rename, "--set", "folder=.", "--mode", "apply", code=0)

    assert "nothing to do" in console.last.out
    assert not home.state.exists()


def test_names_that_are_no_text_pass_through_unharmed(console, folder, skill):
    """F29, F30: bytes that are not UTF-8, a newline, an escape sequence."""
    names = [b"caf\xe9.txt", b"a\nb.txt", b"\x1b[31mred.txt"]
    make_files(folder, dict.fromkeys(names, "x"))
    tidy = skill("tidy", TIDY)

    preview = console("run", tidy, "--set", "folder=.", code=0)
    report = console("run", tidy, "--set", "folder=.", "--mode", "apply", "--json", code=0)
    console("undo", code=0)

    assert r"caf\xe9.txt" in preview.out
    assert "\x1b" not in preview.out + report.out
    assert len([line for line in preview.out.splitlines() if ".txt" in line]) == 4
    target = next(step for step in json.loads(report.out)["steps"] if "caf" in step["target"])
    assert "targetBytes" in target
    import os

    assert sorted(os.listdir(os.fsencode(folder))) == sorted(names)
