"""Tables fit the terminal, and stay whole in a pipe."""

from __future__ import annotations

import pytest

from deskshell.cli.columns import say_table
from deskshell.files import names

HEAD = ["task", "skill", "steps"]
ROWS = [["task-1", "a-skill-with-a-very-long-name", "3"], ["task-22", "写真", "10,000"]]


def table(capsys, monkeypatch, columns: str | None) -> list[str]:
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    say_table(HEAD, ROWS, right=frozenset([2]), flexible=(1,))
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", ["100", None])
def test_columns_are_aligned_and_wide_characters_count_as_two(capsys, monkeypatch, columns):
    assert table(capsys, monkeypatch, columns) == [
        "task     skill                           steps",
        "task-1   a-skill-with-a-very-long-name       3",
        "task-22  写真                           10,000",
    ]


def test_a_narrow_terminal_cuts_the_flexible_column_in_the_middle(capsys, monkeypatch):
    lines = table(capsys, monkeypatch, "36")

    assert lines[1] == "task-1   a-skill-w…long-name       3"
    assert {names.width(line) for line in lines} == {36}


def test_a_very_narrow_terminal_gets_a_line_a_cell(capsys, monkeypatch):
    assert table(capsys, monkeypatch, "22") == [
        "task:  task-1",
        "skill: a-skill…ng-name",
        "steps: 3",
        "",
        "task:  task-22",
        "skill: 写真",
        "steps: 10,000",
    ]


def test_a_column_that_can_be_spared_goes_before_the_table_falls_apart(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "22")
    say_table(HEAD, ROWS, right=frozenset([2]), flexible=(1,), droppable=(2,))

    assert capsys.readouterr().out.splitlines() == [
        "task     skill",
        "task-1   a-skil…g-name",
        "task-22  写真",
    ]
