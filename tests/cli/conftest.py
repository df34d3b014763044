"""Printed output is compared whole with the files in `tests/golden`.

`UPDATE_GOLDEN=1 pytest tests/cli` writes them anew; read the difference before committing it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.process import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Callable

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
