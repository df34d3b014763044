"""A secret is taken from its variable or a prompt, and appears nowhere."""

from __future__ import annotations

import os

import pytest

from deskshell.cli.session import Secrets
from tests.support.listing import listing

LOGIN = """
[params.token]
type = "secret"

[[capabilities]]
name = "fs.write"
scope = ["."]
reason = "write a settings file"

[[steps]]
id = "settings"
action = "fs.write"
path = "settings.txt"
text = "token={token}"
"""
VALUE = "hunter2-und-mehr"


def test_a_value_comes_from_the_variable_of_its_name():
    secrets = Secrets({"DESKSHELL_SECRET_API_KEY": "x"})

    assert "api_key" in secrets
    assert secrets["api_key"] == "x"
    assert "other" not in secrets
    assert "x" not in repr(secrets).split("(")[1].split(", ")


def test_nothing_asked_for_yet_is_not_nothing_given():
    """`secrets or {}` must keep it: values come when they are asked for."""
    assert Secrets({})


def test_a_secret_reaches_the_file_and_nothing_else(console, folder, skill, monkeypatch, home):
    monkeypatch.setenv("DESKSHELL_SECRET_TOKEN", VALUE)
    login = skill("login", LOGIN)

    console("run", login, code=0)
    console("run", login, "--mode", "apply", code=0)
    console("show", console.newest(), code=0)
    console("undo", code=0)
    assert not (folder / "settings.txt").exists()
    console("redo", code=0)
    assert (folder / "settings.txt").read_text() == f"token={VALUE}"

    kept = [home.state / name for name, entry in listing(home.state).items() if entry.type == "file"]
    assert kept
    assert not any(VALUE.encode() in path.read_bytes() for path in kept)
    assert VALUE not in console.transcript


def test_without_a_value_nothing_is_done(console, folder, skill, home):
    console("run", skill("login", LOGIN), "--mode", "apply", code=2)

    assert "DESKSHELL_SECRET_TOKEN" in console.last.err
    assert list(folder.iterdir()) == []
    assert not home.state.exists()


def test_a_secret_is_not_taken_from_the_command_line(console, skill):
    """Others can read it there."""
    console("run", skill("login", LOGIN), "--set", f"token={VALUE}", code=2)

    assert VALUE not in console.last.err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo terminal")
def test_on_a_terminal_it_is_asked_for_without_an_echo(home, folder, skill):
    import pty
    import subprocess
    import sys

    login = skill("login", LOGIN)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "deskshell", "run", login, "--mode", "apply"],
        env=home.environment(),
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"value of the secret `token`: " not in shown:
        shown += os.read(ours, 1000)
    os.write(ours, VALUE.encode() + b"\n")
    try:
        while data := os.read(ours, 1000):
            shown += data
    except OSError:  # Linux: the other end is closed
        pass
    os.close(ours)

    assert process.wait() == 0
    assert (folder / "settings.txt").read_text() == f"token={VALUE}"
    assert VALUE.encode() not in shown
