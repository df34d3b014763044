"""Every error becomes one message, one hint and one exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deskshell.cli import faults, main
from deskshell.errors import Busy, Interrupted, NotFound


def test_an_expected_error_is_two_lines_and_its_exit_code(home, printed):
    code = faults.report(NotFound("no such task: `task-1`", hint="see `deskshell log`"), json=False)

    assert code == 2
    assert printed() == "! error: no such task: `task-1`\n! hint: see `deskshell log`\n"


def test_under_json_it_is_an_object_on_standard_output(home, capsys):
    code = faults.report(Busy("another task holds the lock: pid 7"), json=True)

    out, err = capsys.readouterr()
    assert (code, err) == (4, "")
    assert json.loads(out) == {
        "error": {"code": "busy", "message": "another task holds the lock: pid 7", "hint": None}
    }


def test_a_signal_gives_128_and_its_number(home, printed):
    assert faults.report(Interrupted("stopped by TERM", signum=15), json=False) == 143


def test_an_interrupt_at_a_question_is_no_fault(home, printed):
    assert faults.report(KeyboardInterrupt(), json=False) == 130
    assert printed() == "! error: interrupted\n"


def test_a_fault_keeps_its_traceback_in_the_state_folder(home, capsys):
    """A user can report it, and sees one line instead of forty."""
    home.state.mkdir()

    try:
        raise KeyError("x")
    except KeyError as exc:
        code = faults.report(exc, json=False)

    (kept,) = home.state.iterdir()
    assert code == 70
    assert capsys.readouterr().err == (
        f"error: a fault in deskshell: KeyError: 'x'\nhint: please report it, with what is in `{kept}`\n"
    )
    assert 'raise KeyError("x")' in kept.read_text()


def test_a_fault_without_a_state_folder_makes_none(home, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    code = faults.report(RuntimeError("boom"), json=True)

    error = json.loads(capsys.readouterr().out)["error"]
    kept = Path(error["hint"].split("`")[1])
    assert (code, error["code"], kept.parent) == (70, "fault", tmp_path)
    assert not home.state.exists()


@pytest.mark.parametrize(
    "args, message, hint",
    [
        (["unod"], "no such command: `unod`", "did you mean `undo`? see `deskshell --help`"),
        (["frobnicate"], "no such command: `frobnicate`", "see `deskshell --help`"),
        (["skills", "lst"], "no such command: `lst`", "did you mean `list`? see `deskshell skills --help`"),
        (["run"], "missing argument `SKILL`", "see `deskshell run --help`"),
        (["undo", "--lst"], "no such option: `--lst`", "did you mean `--last`? see `deskshell undo --help`"),
        (["undo", "--last", "x"], "invalid value for `--last`: `x` is no number", "see `deskshell undo --help`"),
        (["undo", "--last", "0"], "invalid value for `--last`: 0 is not in the range x>=1", "see `deskshell undo --help`"),
        (["undo", "x"], "unexpected argument: `x`", "see `deskshell undo --help`"),
        (["undo", "--task"], "option `--task` requires an argument", "see `deskshell undo --help`"),
        (["undo", "--last", "--since", "1h"], "`--task`, `--last` and `--since` exclude each other", "give one of them"),
        (["undo", "--since", "soon"], "`soon` is no point in time",
         'give 30m, 2h or 1d, or a date such as "2026-01-15 09:30"'),
        (["run", "x", "--set", "novalue"], "`--set novalue` has no name and value", "write it as --set NAME=VALUE"),
        (["run", "x", "--set", "a=1", "--set", "a=2"], "`--set a=…` is given twice", "give each parameter once"),
        (["run", "x", "--ask", "--mode", "preview"],
         "`--ask` applies after the questions, `--mode preview` changes nothing", "leave out one of them"),
        (["log", "--status", "odd"], "no such status: `odd`",
         "one of ok, rolled-back, incomplete, running, recovery-pending, undone, partly-undone"),
        (["gc", "--keep", "30"], "`--keep 30` is no value for it",
         "a duration is a number and s, m, h, d or w, such as `30m`, `2h` or `1d`"),
        (["gc", "--max-bytes", "lots"], "`--max-bytes lots` is no value for it",
         "a size is a number of bytes, or one with a unit, such as `600`, `64 MiB` or `5 GB`"),
        (["skills", "test"], "name the skills to test, or give `--all`", "see them with `deskshell skills list`"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_refused_with_what_to_do(home, capsys, args, message, hint):
    assert main.run(args) == 2
    assert tuple(capsys.readouterr()) == ("", f"error: {message}\nhint: {hint}\n")

    assert main.run([args[0], "--json", *args[1:]]) == 2
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out)["error"]["code"] == "usage"
    assert not home.state.exists()


def test_a_setting_that_is_wrong_is_named(home, capsys, monkeypatch):
    monkeypatch.setenv("DESKSHELL_JOURNAL_MAX_BYTES", "lots")

    assert main.run(["log"]) == 2
    assert "`DESKSHELL_JOURNAL_MAX_BYTES` is `lots`" in capsys.readouterr().err


def test_a_working_directory_that_is_gone_is_no_fault(home, capsys, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert main.run(["run", "first-skill"]) == 2
    assert "working directory does not exist" in capsys.readouterr().err
