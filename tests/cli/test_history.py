"""`undo`, `redo`, `log` and `show`: what was done, what of it can be taken back, and what cannot."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.test_run import FAIL, RENAME, TIDY
from tests.support.trees import make_files

WRITE = """
[params.text]
type = "text"
default = "second"

[[capabilities]]
name = "fs.write"
scope = ["{here}"]
reason = "write a note"

[params.here]
type = "path"
default = "."

[[steps]]
id = "write-note"
action = "fs.write"
path = "{here}/note.txt"
text = "{text}\\n"
"""


@pytest.fixture
def note(skill, folder):
    """A skill that writes `note.txt`, which is there already."""
    make_files(folder, {"note.txt": "first\n"})
    return skill("note", WRITE)


def test_a_file_that_was_changed_since_is_not_overwritten(console, folder, note, golden):
    """Undo never goes over somebody's work; with `--force` that work is kept, and redo brings it back."""
    console("run", note, "--mode", "apply", code=0)
    (folder / "note.txt").write_text("by hand\n")

    console("undo", code=1)
    assert (folder / "note.txt").read_text() == "by hand\n"
    console("undo", "--check", code=1)
    console("undo", "--force", code=0)
    assert (folder / "note.txt").read_text() == "first\n"

    golden("session-changed", console.transcript)


def test_a_later_task_that_made_the_difference_is_named(console, note):
    console("run", note, "--mode", "apply", code=0)
    first = console.newest()
    console("run", note, "--set", "text=third", "--mode", "apply", code=0)
    second = console.newest()

    console("undo", "--task", first, code=1)
    assert second in console.last.err

    console("undo", "--last", "2", code=0)
    assert len(console.last.out.splitlines()) == 2


def test_one_refused_entry_leaves_the_others_undone_unless_all_or_nothing(console, folder, skill, golden):
    make_files(folder, {"a.txt": "a", "b.txt": "b"})
    tidy = skill("tidy", TIDY)
    console("run", tidy, "--set", "folder=.", "--mode", "apply", code=0)
    (folder / "TIDIED.txt").write_text("mine")

    console("undo", "--all-or-nothing", code=1)
    assert not (folder / "a.txt").exists()
    console("undo", code=1)
    assert (folder / "a.txt").exists()

    golden("session-partly", console.transcript)


def test_what_a_redo_refuses_comes_with_what_to_do_for_a_redo(console, note, folder, golden):
    console("run", note, "--mode", "apply", code=0)
    console("undo", code=0)
    (folder / "note.txt").write_text("mine")

    console("redo", code=1)

    assert "--force" not in console.last.err
    golden("session-redo-refused", console.transcript)


def test_the_steps_of_an_undo_and_a_redo_are_shown_as_what_they_did(console, note):
    console("run", note, "--mode", "apply", code=0)
    undo_id = console("undo", "--json", code=0).json["tasks"][0]["undoId"]
    redo_id = console("redo", "--json", code=0).json["tasks"][0]["undoId"]

    undone, redone = console("show", undo_id, code=0).out, console("show", redo_id, code=0).out

    assert ("taken back" in undone, "put back" in redone) == (True, True)
    assert "none" not in undone + redone  # how to undo it is not asked of an undo


def test_a_step_that_failed_is_shown_with_what_it_was_to_do(console, folder, skill):
    make_files(folder, {"a.txt": "a"})
    console("run", skill("late", FAIL), "--set", "folder=.", "--mode", "apply", code=1)

    steps = console("show", console.newest(), "--json", code=0).json["steps"]

    assert [(each["status"], each["summary"]) for each in steps if each["error"]] == [
        ("failed", "write two.txt")
    ]


def test_a_limit_counts_the_tasks_whose_entries_are_listed(console, note):
    console("run", note, "--mode", "apply", code=0)
    task_id = console.newest()
    console("undo", code=0)

    (line,) = console("log", "--entries", "--limit", "1", code=0).out.splitlines()

    entry = json.loads(line)
    assert (entry["taskId"], entry["status"]) == (task_id, "rolled-back")
    assert entry["ts"] > int(task_id.removeprefix("task-"))  # when it was undone, not when the task began


def test_last_may_stand_without_a_number(console, note):
    console("run", note, "--mode", "apply", code=0)

    assert console("undo", "--last", "--json", code=0).json["rolledBack"] == 1
    assert console("undo", "--last", code=0).out == "nothing to undo\n"


def test_one_step_can_be_undone_alone(console, folder, skill):
    make_files(folder, {"a.txt": "a", "b.txt": "b"})
    console("run", skill("tidy", TIDY), "--set", "folder=.", "--mode", "apply", code=0)

    console("undo", "--step", "move:a.txt", code=0)

    assert (folder / "a.txt").exists()
    assert not (folder / "b.txt").exists()


def test_the_folder_that_holds_the_state_folder_can_be_worked_in(console, folder, home, skill):
    """As a home does: only what lies there for deskshell itself is out of bounds."""
    assert home.state.parent == folder.parent

    console("run", skill("note", WRITE), "--set", f"here={folder.parent}", "--mode", "apply", code=0)
    assert (folder.parent / "note.txt").exists()
    console("undo", code=0)
    assert not (folder.parent / "note.txt").exists()


def test_an_unknown_task_is_refused(console):
    console("undo", "--task", "task-1", code=2)
    console("show", "task-1", "--json", code=2)

    assert console.last.json["error"]["code"] == "not-found"


def test_log_and_show_tell_what_happened(console, folder, skill, golden):
    make_files(folder, {"b.pdf": "%PDF", "a.txt": "a"})
    console("run", skill("tidy", TIDY), "--set", "folder=.", "--mode", "apply", code=0)
    task = console.newest()
    console("undo", code=0)

    console("log", code=0)
    console("show", task, code=0)

    golden("session-log", console.transcript)


def test_a_diff_shows_text_by_lines_and_anything_else_by_hash(console, folder, note, skill, golden):
    console("run", note, "--mode", "apply", code=0)
    console("show", console.newest(), "--diff", code=0)
    (folder / "note.txt").write_bytes(b"\0\1\2")
    console("run", note, "--mode", "apply", code=0)
    console("show", console.newest(), "--diff", code=0)

    golden("session-diff", console.transcript)


def test_one_file_is_followed_through_its_names(console, folder, skill):
    """`log --path` of the present name finds the tasks that gave it, and no others."""
    make_files(folder, {"IMG_1.txt": "1"})
    rename, tidy = skill("rename", RENAME), skill("tidy", TIDY)
    console("run", rename, "--set", "folder=.", "--mode", "apply", code=0)
    first = console.newest()
    console("run", tidy, "--set", "folder=.", "--mode", "apply", code=0)
    second = console.newest()
    make_files(folder / "other", {"x.txt": "x"})
    console("run", rename, "--set", "folder=other", "--mode", "apply", code=0)

    found = console("log", "--path", "documents/photo-001.txt", "--json", code=0).json["tasks"]

    assert [task["taskId"] for task in found] == [second, first]


def test_entries_are_a_json_line_a_step_in_its_latest_state(console, note):
    console("run", note, "--mode", "apply", code=0)
    console("undo", code=0)

    (line,) = console("log", "--entries", code=0).out.splitlines()

    entry = json.loads(line)
    assert (entry["actionId"], entry["kind"], entry["status"]) == ("write-note", "fs.write", "rolled-back")


@pytest.mark.parametrize(
    "args, count",
    [
        (["--limit", "1"], 1),
        (["--since", "1h"], 2),
        (["--since", "2999-01-01"], 0),
        (["--status", "undone"], 1),
        (["--status", "incomplete"], 0),
    ],
)
def test_the_log_can_be_narrowed(console, note, args, count):
    console("run", note, "--mode", "apply", code=0)
    console("undo", code=0)

    assert len(console("log", *args, "--json", code=0).json["tasks"]) == count


def test_reading_creates_nothing(console, home):
    console("log", code=0)
    console("log", "--entries", code=0)
    console("undo", "--check", code=0)
    console("journal", "path", code=0)
    console("doctor", code=0)

    assert not home.state.exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_run_is_done_though_nobody_can_read_about_it(home, folder, note):
    """Output is no part of the task: it is not rolled back, and what it says of it is on standard error."""
    import subprocess
    import sys

    command = [sys.executable, "-m", "deskshell"]
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [*command, "run", note, "--mode", "apply"],
            env=home.environment(),
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
        log = subprocess.run(
            [*command, "log"],
            env=home.environment(),
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert (folder / "note.txt").read_text() == "second\n"
    assert run.returncode == 0
    assert b"the output could not be written" in run.stderr
    assert log.returncode == 1


def test_a_reader_that_goes_away_is_no_error(home, folder, note):
    import subprocess
    import sys

    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [sys.executable, "-m", "deskshell", "run", note, "--mode", "apply"],
        env=home.environment(),
        cwd=folder,
        stdout=writer,
        stderr=writer,
        check=False,
    )
    os.close(writer)

    assert run.returncode == 0
    assert (folder / "note.txt").read_text() == "second\n"
