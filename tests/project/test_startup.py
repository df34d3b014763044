"""`deskshell undo` has to start at once, so nothing slow is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.process import CHECKOUT

SLOW = ["asyncio", "mcp", "pydantic", "rich", "starlette"]


@pytest.mark.parametrize("module", ["deskshell.cli.main", "deskshell.app"])
def test_importing_the_command_line_imports_nothing_slow(module: str) -> None:
    program = f"import {module}, sys; print(*sorted(set({SLOW}) & set(sys.modules)))"

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
