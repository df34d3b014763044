"""Each benchmark runs on a tiny size and finds its results right; no time is judged here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.bench import harness, make_tree
from scripts.bench.harness import Row
from scripts.bench.p05_growth import slope
from tests.support.process import CHECKOUT

SCRIPTS = sorted((CHECKOUT / "scripts" / "bench").glob("p[0-9]*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_checks_its_result_and_prints_a_table(script: Path) -> None:
    """The wrong result ends it with an error, before anything is timed."""
    done = subprocess.run(
        [sys.executable, str(script), "--quick"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert f"P{int(script.stem[1:3])} " in done.stdout
    assert "MISSED" not in done.stdout


def test_there_is_one_for_each_goal() -> None:
    """P6 is measured with P5, P8 with P7: they are about the same worlds."""
    numbers = {int(path.stem[1:3]) for path in SCRIPTS}
    assert numbers | {6, 8} == set(range(1, 14))


@pytest.mark.parametrize(
    "value, verdict", [(2.9, "stretch"), (3.0, "stretch"), (3.1, "goal"), (4.1, "MISSED")]
)
def test_a_row_says_which_goal_it_reached(value: float, verdict: str) -> None:
    assert Row("x", value, "×", 4, 3).verdict == verdict


def test_a_row_without_a_goal_has_no_verdict() -> None:
    assert Row("x", 99, "×").verdict == ""


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_is_found(exponent: float) -> None:
    sizes = [1_000, 10_000, 100_000]
    assert slope(sizes, [3 * size**exponent for size in sizes]) == pytest.approx(exponent)


def test_the_table_lines_its_columns_up() -> None:
    lines = harness.table([Row("short", 1, "×", 2), Row("a longer name", 1234.5, "ms")]).splitlines()
    assert lines == [
        "what           value        goal  stretch        how",
        "short          1.00 ×       ≤ 2            goal",
        "a longer name  1,234.50 ms",
    ]


def test_a_tree_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_tree.make(str(tmp_path / name), 40, 4000, 7, make_tree.Shape())
    assert make_tree.digest(str(tmp_path / "one"), mtime=True) == make_tree.digest(
        str(tmp_path / "two"), mtime=True
    )


def test_a_tree_of_another_seed_or_one_that_was_changed_has_another_digest(tmp_path: Path) -> None:
    for name, seed in (("one", 7), ("two", 8)):
        make_tree.make(str(tmp_path / name), 40, 4000, seed, make_tree.Shape())
    found = {make_tree.digest(str(tmp_path / name), mtime=True) for name in ("one", "two")}
    make_tree.mutate(str(tmp_path / "one"), 0.1, 3)
    assert len(found | {make_tree.digest(str(tmp_path / "one"), mtime=True)}) == 3
