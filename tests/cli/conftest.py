"""Printed output is compared whole with the files in `tests/golden`.

`UPDATE_GOLDEN=1 pytest tests/cli` writes them anew; read the difference before committing it.
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from deskshell.cli import main
from tests.support.normalise import Normaliser
from tests.support.process import CHECKOUT, Completed, Home, run_deskshell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

GOLDEN = CHECKOUT / "tests" / "golden"


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """`golden(name, text)`: `text` is what `tests/golden/<name>.txt` says."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no {path.name}; write it with UPDATE_GOLDEN=1"
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """What was printed to a pipe of 100 columns: standard output, then standard error marked with `!`."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("HOME", "/home/ada")

    def read() -> str:
        out, err = capsys.readouterr()
        return out + "".join(f"! {line}\n" for line in err.splitlines())

    return read


class Console:
    """A person at a terminal of 100 columns: types commands, and keeps what was printed as a transcript.

    Standard error is marked with `!`, an exit code that is not 0 with `[code]`. Times, ids and places
    are normalised, so that a transcript can be compared with a file. Commands run in this process, which
    saves their start; `process` runs one as its users do.
    """

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.transcript = ""
        self.last = Completed(0, "", "")
        self._normalise = Normaliser(
            {
                str(folder): "<folder>",
                str(folder.parent): "<top>",
                str(home.user): "~",
                str(home.state): "<state>",
                f"on {platform.node()}": "on <host>",
                f"uid:{os.getuid()}": "uid:<n>",
            }
        )

    def __call__(self, *args: str, answers: str = "", code: int | None = None) -> Completed:
        """Run `deskshell ARGS`; with `code`, it must end so."""
        return self._keep(args, _run_here(args, answers), code)

    def process(self, *args: str, answers: str = "", code: int | None = None) -> Completed:
        """The same, as a process of its own."""
        done = run_deskshell(*args, home=self.home, cwd=self.folder, input=answers)
        return self._keep(args, done, code)

    def _keep(self, args: Sequence[str], done: Completed, code: int | None) -> Completed:
        self.last = done
        marked = "".join(f"! {line}\n" for line in done.err.splitlines())
        shown = f"$ deskshell {shlex.join(args)}\n{done.out}{marked}"
        if done.code:
            shown += f"[{done.code}]\n"
        self.transcript += self._normalise(shown)
        if code is not None:
            assert done.code == code, done.out + done.err
        return done

    def newest(self) -> str:
        """The id of the newest task that is no undo and no redo; leaves the transcript alone."""
        tasks = _run_here(["log", "--json"], "").json["tasks"]
        return next(task["taskId"] for task in tasks if task["role"] == "run")


def _run_here(args: Sequence[str], answers: str) -> Completed:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(answers.encode()))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main.run(list(args))
    finally:
        sys.stdin = before
    return Completed(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


@pytest.fixture
def console(home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """See `Console`."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    return Console(home, folder)


@pytest.fixture
def skill(folder: Path) -> Callable[[str, str], str]:
    """`skill(name, text)`: writes a skill of that name beside the working folder and gives its path."""

    def write(name: str, text: str) -> str:
        place = folder.parent / "own" / name
        place.mkdir(parents=True)
        head = f'name = "{name}"\nversion = "1.0.0"\nsummary = "For a test"\n'
        (place / "skill.toml").write_text(head + text, encoding="utf-8")
        return str(place)

    return write
