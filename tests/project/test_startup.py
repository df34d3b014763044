"""`deskshell undo` has to start at once, so nothing slow is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.process import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.process import Home

#: What no command of every day may import: each takes longer than half of `python -c pass`.
SLOW = [
    "asyncio",
    "dataclasses",
    "inspect",
    "mcp",
    "pydantic",
    "rich",
    "starlette",
    "tempfile",
    "typer",
]


def slow_imports(program: str, home: Home, slow: Sequence[str] = SLOW) -> str:
    """The slow modules that a fresh interpreter has imported once it ran `program`."""
    ending = f"\nimport sys\nsys.stderr.write('\\n' + ' '.join(m for m in {slow} if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program + ending],
        env=home.environment() | {"PYTHONPATH": str(CHECKOUT)},
        cwd=home.user,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.rpartition("\n")[2]


@pytest.mark.parametrize("module", ["deskshell.cli.main", "deskshell.app"])
def test_importing_the_command_line_imports_nothing_slow(module: str, home: Home) -> None:
    assert slow_imports(f"import {module}", home) == ""


@pytest.mark.parametrize("args", [["--version"], ["undo"], ["log"], ["log", "--json"], ["recover"], ["gc"]])
def test_a_command_of_every_day_imports_nothing_slow(args: list[str], home: Home) -> None:
    assert slow_imports(f"from deskshell.cli.main import run\nassert run({args}) == 0", home) == ""


def test_a_preview_imports_neither_the_option_parser_nor_pydantic(home: Home) -> None:
    """A manifest that is right is read without them."""
    (home.user / "notes").mkdir()
    line = ["run", "first-skill", "--set", f"folder={home.user / 'notes'}"]
    found = slow_imports(f"from deskshell.cli.main import run\nassert run({line!r}) == 0", home)
    assert not {"pydantic", "typer", "rich"} & set(found.split())


@pytest.mark.parametrize("args", [["log"], ["undo", "--last"]])
def test_a_look_at_the_history_imports_nothing_that_acts_or_hashes(args: list[str], home: Home) -> None:
    """A tenth of the time of either, when there is nothing to do."""
    acting = ["deskshell.kernel.ground", "deskshell.kernel.transaction", "deskshell.kernel.undo", "hashlib"]
    assert slow_imports(f"from deskshell.cli.main import run\nassert run({args}) == 0", home, acting) == ""
