"""The kernel's promises are numbered; each has tests that cite its number."""

from __future__ import annotations

import re

import pytest

import deskshell.kernel
from tests.support.process import CHECKOUT

INVARIANTS = [f"I{number}" for number in range(1, 11)]
THIS = "test_invariants.py"
TESTS = "\n".join(path.read_text() for path in (CHECKOUT / "tests").rglob("test_*.py") if path.name != THIS)


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_each_invariant_is_cited_by_a_test(invariant: str) -> None:
    assert re.search(rf"\b{invariant}\b", TESTS)


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_each_invariant_is_stated_where_the_kernel_is_documented(invariant: str) -> None:
    assert re.search(rf"\b{invariant}\b", deskshell.kernel.__doc__ or "")


def test_no_test_cites_an_invariant_that_is_not_stated() -> None:
    assert set(re.findall(r"\bI\d+\b", TESTS)) <= set(INVARIANTS)
