"""What is printed is safe and readable, wherever it goes."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest

from deskshell.cli import output
from deskshell.cli.output import Styled


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    """`terminal(call)`: what `call` prints on a terminal that can show colour."""

    def run(call) -> str:
        # Set during the test: pytest puts its own stream in place between set-up and test.
        shown = Terminal()
        monkeypatch.setattr(sys, "stdout", shown)
        call()
        return shown.getvalue()

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return run


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain → ü 写", "plain → ü 写"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\u009b31m"),
        ("invoice\u202efdp.exe", "invoice\\u202efdp.exe"),
        ("a\u2028b", "a\\u2028b"),
        ("caf\udce9", "caf\\xe9"),
        ("nbsp\u00a0here", "nbsp\u00a0here"),
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("a\tb", "a\tb"),
    ],
)
def test_a_line_cannot_forge_another_or_steer_the_terminal(capsys, text, shown):
    """F30: a file may have any name."""
    output.say(text)

    assert capsys.readouterr().out == shown + "\n"


def test_colour_is_for_terminals_only(terminal, capsys):
    output.say(Styled("done", "green"), " task")

    assert capsys.readouterr().out == "done task\n"
    assert terminal(lambda: output.say(Styled("done", "green"), " task")) == "\x1b[32mdone\x1b[0m task\n"


@pytest.mark.parametrize("variable, value", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_user_can_turn_colour_off(terminal, monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)

    assert terminal(lambda: output.say(Styled("done", "green"))) == "done\n"


def test_a_name_inside_a_style_is_made_safe_too(terminal):
    shown = terminal(lambda: output.say(Styled("\x1b[2Jx", "red")))

    assert shown == "\x1b[1;31m\\x1b[2Jx\x1b[0m\n"


@pytest.mark.parametrize(
    "value, text",
    [
        ({"name": "ü → 写"}, '{"name": "ü → 写"}'),
        ({"name": "caf\udce9"}, '{"name": "caf\\\\xe9"}'),
        ({"half": "\ud83d"}, '{"half": "\\ufffd"}'),
        ({"name": "\u202e\x9b\u2028"}, '{"name": "\\u202e\\u009b\\u2028"}'),
    ],
)
def test_json_is_strict_and_safe(value, text):
    """Strict readers refuse a lone surrogate, and JSON may be looked at in a terminal."""
    assert output.json_text(value) == text
    json.loads(text).get("name", "").encode("utf-8")


@pytest.mark.parametrize("count", [0, 1, 1000, 1001, 2500])
def test_a_long_list_is_written_in_pieces_that_are_the_same_text(count):
    """An object of a hundred thousand steps would be held three times over."""
    value = {"a": None, "steps": [{"n": n, "name": "caf\udce9"} for n in range(count)], "z": [1]}
    pieces = list(output.json_pieces(value))
    assert "".join(pieces) == output.json_text(value)
    assert all(len(piece) < 50_000 for piece in pieces)


@pytest.mark.parametrize("value", [{}, [], [1], "x", None])
def test_what_is_no_object_with_lists_is_one_piece(value):
    assert list(output.json_pieces(value)) == [output.json_text(value)]


def test_json_is_utf8_whatever_the_terminal_speaks(monkeypatch):
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, encoding="latin-1"))

    output.json_object({"name": "→"})
    sys.stdout.flush()

    assert data.getvalue() == '{"name": "→"}\n'.encode()


def test_a_terminal_that_cannot_show_a_character_gets_an_escape(monkeypatch):
    """F29: an ASCII terminal is no reason to fail in the middle of a run."""
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, encoding="ascii"))

    output.say("a → b")
    sys.stdout.flush()

    assert data.getvalue() == b"a \\u2192 b\n"


def test_a_closed_pipe_switches_output_off(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(output.Failure, "error", None)
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        output.say("nobody reads this")
        output.flush()
        output.say("nor this")
        output.flush()

    assert output.Failure.error is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_remembered(monkeypatch):
    monkeypatch.setattr(output.Failure, "error", None)
    with open("/dev/full", "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        output.say("no room for this")
        output.flush()

    assert output.Failure.error is not None


def test_without_standard_output_nothing_fails(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)

    output.say("a")
    output.tell("b")
    output.json_object({})
    output.flush()
