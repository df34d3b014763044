"""The shell completes commands, options, skills and tasks."""

from __future__ import annotations

import pytest

from tests.cli.test_history import WRITE
from tests.support.process import run_deskshell


@pytest.fixture
def complete(home, folder):
    """Candidates for a command line that ends where the cursor is, as bash asks for them."""

    def ask(line: str) -> list[str]:
        words = line.split(" ")
        done = run_deskshell(
            home=home,
            cwd=folder,
            env={
                "_DESKSHELL_COMPLETE": "complete_bash",
                "COMP_WORDS": line,
                "COMP_CWORD": str(len(words) - 1),
            },
        )
        assert (done.code, done.err) == (0, "")
        return done.out.split()

    return ask


def test_commands_and_their_options(complete):
    assert complete("deskshell und") == ["undo"]
    assert complete("deskshell skills s") == ["show", "schema"]
    assert complete("deskshell undo --all") == ["--all-or-nothing"]


def test_values_that_are_known(complete):
    assert complete("deskshell run x --mode a") == ["apply"]
    assert complete("deskshell run x --grant fs.r") == ["fs.read"]
    assert complete("deskshell log --status r") == ["rolled-back", "running", "recovery-pending"]


def test_skills_by_name(complete, console):
    console("skills", "new", "tidy-scans", code=0)

    assert complete("deskshell run tidy-s") == ["tidy-scans"]


def test_tasks_by_id(complete, console, skill):
    console("run", skill("note", WRITE), "--mode", "apply", code=0)

    assert complete("deskshell show task-") == [console.newest()]
    assert complete("deskshell undo --task task-") == [console.newest()]


def test_completing_creates_nothing(complete, home):
    complete("deskshell show ")
    complete("deskshell run ")

    assert not home.state.exists()


def test_what_is_wrong_here_does_not_disturb_the_shell(complete, home):
    home.state.write_text("not a folder")

    assert complete("deskshell show ") == []
