"""A question takes one line as its answer, and anything but a yes is a no."""

from __future__ import annotations

import io
import sys

import pytest

from deskshell.cli import ask
from deskshell.errors import Cancelled

QUESTIONS = ["Grant fs.read (read) in ~/x?", "Grant fs.write (move) in ~/x?"]


@pytest.fixture
def answer(monkeypatch):
    """Gives text or bytes as standard input."""

    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


@pytest.mark.parametrize("data", [b"y\ny\n", b"yes\nY\n", b" YES \r\ny"])
def test_a_yes_to_each_goes_ahead(answer, printed, data):
    answer(data)

    ask.all_agreed(QUESTIONS)

    assert printed() == ("! Grant fs.read (read) in ~/x? [y/N] \n! Grant fs.write (move) in ~/x? [y/N] \n")


@pytest.mark.parametrize(
    "data, asked",
    [
        (b"n\ny\n", 1),
        (b"y\nn\n", 2),
        (b"\n", 1),
        (b"", 1),
        (b"y\n", 2),
        (b"yy\n", 1),
        (b"yes please\n", 1),
        (b"\xff\n", 1),
        ("ｙ\n".encode(), 1),
    ],
)
def test_anything_else_cancels_at_once(answer, printed, data, asked):
    """Empty input is a no, and so is a pipe that ends too early."""
    answer(data)

    with pytest.raises(Cancelled, match="nothing was done"):
        ask.all_agreed(QUESTIONS)

    assert printed().count("[y/N]") == asked


def test_without_standard_input_the_answer_is_no(monkeypatch, printed):
    monkeypatch.setattr(sys, "stdin", None)

    with pytest.raises(Cancelled):
        ask.all_agreed(QUESTIONS)


def test_a_question_cannot_forge_another(answer, printed):
    answer(b"n\n")

    with pytest.raises(Cancelled):
        ask.all_agreed(["Grant fs.write (x\nGrant nothing? [y/N] y) in ~?"])

    assert printed().splitlines()[0] == r"! Grant fs.write (x\nGrant nothing? [y/N] y) in ~? [y/N] "
