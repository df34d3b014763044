"""`recover`, `gc`, `doctor`, `journal` and `story` in words and as JSON."""

from __future__ import annotations

import pytest

from tests.cli.test_history import WRITE
from tests.support.trees import make_files


def test_a_new_home_is_in_order(console, golden):
    console("doctor", code=0)
    console("journal", "verify", code=0)
    console("journal", "path", code=0)
    console("recover", code=0)
    console("gc", code=0)

    out = console.transcript
    assert "0 failed" in out
    golden(
        "session-upkeep", "".join(line for line in out.splitlines(keepends=True) if "free space" not in line)
    )


@pytest.mark.parametrize(
    "command", [["recover"], ["gc", "--dry-run"], ["doctor"], ["journal", "verify"], ["journal", "path"]]
)
def test_each_prints_one_json_object(console, command):
    assert isinstance(console(*command, "--json", code=0).json, dict)


def test_a_damaged_journal_is_found_and_told(console, folder, skill, home):
    make_files(folder, {"note.txt": "first\n"})
    console("run", skill("note", WRITE), "--mode", "apply", code=0)
    journal = home.state / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"note"', b'"nota"', 1))

    console("journal", "verify", code=1)
    assert "error: " in console.last.err
    console("doctor", code=1)
    assert "fail  journal" in console.last.out


def test_the_space_of_a_task_can_be_freed(console, folder, skill, golden):
    make_files(folder, {"note.txt": b"x" * 50_000})
    console("run", skill("note", WRITE), "--mode", "apply", code=0)
    task = console.newest()

    console("gc", "--dry-run", "--task", task, code=0)
    console("gc", "--task", task, code=0)
    console("undo", code=1)

    golden("session-gc", console.transcript)


def test_the_story_of_a_run(console, golden):
    console("story", code=0)

    golden("story", console.transcript)


def test_the_story_of_a_failure(console, golden, home, folder):
    """The source's story: which step failed, how many were rolled back, what is left."""
    console("story", "--fail", code=0)

    lines = console.last.out.splitlines()
    assert lines[:2] == ["✓ 1-write-a", "✓ 2-mkdir-sub"]
    assert lines[2].startswith("✗ 3-write-b  post-condition failed: ")
    assert lines[3] == (
        "rolled back 3 steps (the failing one's own effects included); left in the folder: 0 items (empty)"
    )
    assert not home.state.exists()
    assert list(folder.iterdir()) == []


def test_the_story_as_json_has_the_same_facts(console):
    told = console("story", "--fail", "--json", code=0).json

    assert (told["run"]["status"], told["run"]["rolledBack"], told["items"]) == ("rolled-back", 3, 0)
