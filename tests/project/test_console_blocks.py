"""The harness behind the README's test: it must find what is not true, and accept what only differs by the run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.support.console import problems, sections
from tests.support.normalise import Normaliser


def found(text: str, tmp_path: Path) -> list[str]:
    return [
        problem
        for section in sections(text)
        for problem in problems(section, Path(tempfile.mkdtemp(dir=tmp_path)))
    ]


def block(*lines: str) -> str:
    return "\n".join(["```console", *lines, "```", ""])


def test_true_output_passes(tmp_path: Path) -> None:
    assert found(block("$ echo one; echo two >&2", "one", "two"), tmp_path) == []


def test_false_output_is_shown_as_a_difference(tmp_path: Path) -> None:
    (problem,) = found(block("$ echo one", "two"), tmp_path)

    assert "-two\n+one" in problem


@pytest.mark.parametrize("shown", [[], ["one"], ["one", "two", "three"], ["two", "…"], ["one", "…", "one"]])
def test_missing_and_extra_lines_are_found(tmp_path: Path, shown: list[str]) -> None:
    assert len(found(block("$ printf 'one\\ntwo\\n'", *shown), tmp_path)) == 1


def test_an_ellipsis_stands_for_any_lines(tmp_path: Path) -> None:
    assert found(block("$ seq 9", "1", "…", "8", "9"), tmp_path) == []


def test_a_failing_command_is_found_though_its_output_is_as_shown(tmp_path: Path) -> None:
    assert found(block("$ false"), tmp_path) == ["line 1: $ false\nexit code 1"]


def test_an_error_that_is_shown_must_fail(tmp_path: Path) -> None:
    assert found(block("$ echo 'error: no'; exit 2", "error: no", "$ echo $?", "2"), tmp_path) == []
    assert found(block("$ echo 'error: no'", "error: no"), tmp_path) == [
        "line 1: $ echo 'error: no'\nexit code 0"
    ]


def test_what_a_person_types_at_a_question_is_typed(tmp_path: Path) -> None:
    ask = "printf 'Go? [y/N] '; read a; echo; printf 'Sure? [y/N] '; read b; echo \"$a$b\""

    assert found(block(f"$ {ask}", "Go? [y/N] y", "Sure? [y/N] n", "yn"), tmp_path) == []
    assert found(block(f"$ {ask}", "Go? [y/N] y", "Sure? [y/N] y", "yn"), tmp_path) != []


def test_blocks_below_one_heading_share_folder_and_files(tmp_path: Path) -> None:
    text = (
        "# A\n" + block("$ mkdir d && cd d && echo x > f") + "text\n" + block("$ pwd", "~/d", "$ cat f", "x")
    )

    assert found(text, tmp_path) == []


def test_setup_runs_unseen_and_a_skipped_block_does_not_run(tmp_path: Path) -> None:
    text = (
        "<!-- test: setup echo x > f -->\n"
        + block("$ cat f", "x")
        + "<!-- test: skip needs a screen -->\n"
        + block("$ false")
    )

    assert [b.skip for section in sections(text) for b in section.blocks] == [None, "needs a screen"]
    assert found(text, tmp_path) == []


def test_other_fences_are_not_commands() -> None:
    assert sections("```toml\n# not a heading\n$ x\n```\n") == []


def test_a_misspelt_instruction_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown instruction `skipp`"):
        sections("<!-- test: skipp a reason -->")


def test_a_text_is_normalised_wherever_runs_differ() -> None:
    text = "done task-1793201984999: 10 steps, 0.2 s, plan 0123456789abcdef, 2026-01-02 03:04, /tmp/h/x, pid 7 \n"

    assert Normaliser({"/tmp/h": "~"})(text) == (
        "done task-1: 10 steps, <duration>, plan plan-1, <date>, ~/x, pid <n>\n"
    )


def test_two_tasks_stay_two_tasks() -> None:
    normalise = Normaliser()

    assert normalise("task-1793201984999 task-1793201985000") == "task-1 task-2"
    assert normalise("task-1793201985000") == "task-2"
