"""Long work shows where it is; short work shows nothing, and leaves no trace of either."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import pytest

from deskshell.cli import progress
from tests.support.process import CHECKOUT


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when a test says so."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def pass_by(seconds_s: float) -> None:
        now[0] += seconds_s

    return pass_by


@pytest.fixture
def drawn(monkeypatch):
    """What was drawn on a terminal of 100 columns, without its control sequences."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")

    def start() -> Terminal:
        shown = Terminal()
        monkeypatch.setattr(sys, "stderr", shown)
        return shown

    return start


def test_work_that_is_done_at_once_draws_nothing(clock, drawn):
    shown = drawn()
    bar = progress.Delayed()
    bar.start("tidy", 10)
    for _ in range(10):
        clock(0.04)
        bar.advance(1)
    bar.finish()

    assert shown.getvalue() == ""


def test_long_work_shows_count_rate_and_time_left(clock, drawn):
    shown = drawn()
    bar = progress.Delayed()
    bar.start("tidy \x1b[2J", 10_000)
    clock(2.0)
    bar.advance(4_000)
    bar.finish()

    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())
    assert r"tidy \x1b[2J" in text
    assert "4,000/10,000 2,000/s 3 s left" in " ".join(text.split())
    assert shown.getvalue().endswith("\x1b[2K") or "\x1b[?25h" in shown.getvalue()


def test_work_of_unknown_length_shows_count_and_rate(clock, drawn):
    shown = drawn()
    bar = progress.Delayed()
    bar.start("looking", 0)
    clock(1.0)
    bar.advance(500)
    bar.finish()

    assert "500 500/s" in " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue()).split())


def test_finishing_twice_and_beginning_anew_is_fine(clock, drawn):
    drawn()
    bar = progress.Delayed()
    bar.finish()
    bar.start("one", 1)
    clock(1)
    bar.advance(1)
    bar.start("two", 1)
    bar.finish()
    bar.finish()


def test_rich_is_not_imported_before_something_is_drawn():
    program = (
        "import sys; from deskshell.cli.progress import Delayed; d = Delayed(); d.start('x', 9); d.advance(9);"
        " d.finish(); print('rich' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"
