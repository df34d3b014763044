"""`scripts/fuzz` for a moment, with inputs that stay the same: a run of minutes is for the command line."""

from __future__ import annotations

import runpy
from typing import Any

import pytest

from tests.support.process import CHECKOUT


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """The names that the script defines."""
    return runpy.run_path(str(CHECKOUT / "scripts/fuzz"))


@pytest.mark.parametrize("target", ["journal", "manifest", "plan"])
def test_spoiled_inputs_are_read_or_refused(script: dict[str, Any], target: str, capsys: Any) -> None:
    assert script["fuzz"](target, 1 / 60, 0) == 0, capsys.readouterr().out


def test_a_reader_that_fails_otherwise_is_found(script: dict[str, Any], capsys: Any) -> None:
    """The fuzzer itself notices a fault."""

    def faulty(world: object, chance: object) -> None:
        raise KeyError("spoiled")

    script["TARGETS"]["faulty"] = faulty

    assert script["fuzz"]("faulty", 0.001, 7) == 1
    assert "FAULT faulty --seed 7: KeyError" in capsys.readouterr().out
