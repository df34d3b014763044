"""A new kind is one file: dropped into the package, the registry finds it and the suite tries it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

TOY = '''
"""`toy.stamp`: a new file that holds its own name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from deskshell.kernel.action import Action, Example, Param, Prior
from deskshell.kernel.capability import FS_WRITE, Need, path_need
from deskshell.kernel.context import Context
from deskshell.kernel.ground import Ground
from deskshell.kernel.params import parent
from deskshell.kernel.summary import name
from deskshell.kernel.view import View


@dataclass(frozen=True, slots=True)
class ToyStamp(Action):
    """A new file at `path` that holds its own name."""

    kind: ClassVar[str] = "toy.stamp"
    params: ClassVar[tuple[Param, ...]] = (Param("path", "path", "the file to make"),)

    path: bytes

    def needs(self) -> Sequence[Need]:
        return [path_need(FS_WRITE, self.path)]

    def touches(self) -> Sequence[bytes]:
        return (self.path,)

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        return (parent(self.path),)

    def summary(self) -> str:
        return f"stamp {name(self.path)}"

    def target(self) -> bytes | str:
        return self.path

    def simulate(self, view: View, step: str) -> None:
        view.create(self.path, "file", step)

    def prepare(self, ctx: Context) -> Prior:
        return Prior(ctx.create_file(self.path, self.path.rpartition(b"/")[2]))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example({"a.txt": "a"}, {"path": "{root}/b.txt"})
        yield Example({}, {"path": "{root}/caf\\udce9"}, "a name that is not UTF-8")
'''
_EXAMPLES = "    @classmethod\n    def examples"
#: A kind's name → the test that must fail for it, and the line that is wrong in it.
MISTAKES = {
    "toy.stages": (
        "test_prepare_changes_nothing_but_temporaries_where_it_said",
        ("return (parent(self.path),)", "return ()"),
    ),
    "toy.needs": (
        "test_needs_cover_every_path_that_is_changed_or_read",
        ("return [path_need(FS_WRITE, self.path)]", "return []"),
    ),
    "toy.previews": (
        "test_the_view_says_what_do_leaves",
        ('view.create(self.path, "file", step)', "pass"),
    ),
    "toy.makes": (
        "test_a_kind_says_what_its_target_is",
        ("    path: bytes\n", '    makes: ClassVar[str] = "folder"\n    path: bytes\n'),
    ),
    "toy.undoes": (
        "test_do_then_undo_restores_the_listing",
        (
            _EXAMPLES,
            f"    def undo(self, ctx: Context, prior: Prior) -> bool:\n        return True\n\n{_EXAMPLES}",
        ),
    ),
    "toy.stores": (
        "test_an_action_comes_back_from_a_stored_plan_as_it_was",
        (_EXAMPLES, f'    def to_json(self):\n        return {{"path": repr(self.path)}}\n\n{_EXAMPLES}'),
    ),
    "toy.shows": (
        "test_a_kind_has_examples_of_the_cases_that_break_tools",
        ("caf\\udce9", "coffee"),
    ),
}
SUITE = "tests/contract/test_contract.py"


def toy(kind: str, wrong: tuple[str, str] = ("", "")) -> str:
    """The text of a module for `kind`, with one thing wrong in it."""
    text = TOY.lstrip()
    if wrong[0]:
        assert text.count(wrong[0]) == 1
        text = text.replace(*wrong)
    name = "".join(part.capitalize() for part in kind.split("."))
    return text.replace("toy.stamp", kind).replace("ToyStamp", name)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, set[str]]]:
    """What the contract suite makes of the toys, in a copy of the package with those files more.

    Kind → outcome (`PASSED`, `FAILED`) → names of tests.
    """
    folder = tmp_path_factory.mktemp("copy")
    for name in ("deskshell", "tests/contract", "tests/support"):
        shutil.copytree(CHECKOUT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py"):
        shutil.copy(CHECKOUT / name, folder / name)
    toys = {"toy.stamp": toy("toy.stamp")} | {kind: toy(kind, wrong) for kind, (_, wrong) in MISTAKES.items()}
    for kind, text in toys.items():
        path = folder / "deskshell/actions" / f"{kind.replace('.', '_')}.py"
        path.write_text(text, encoding="utf-8")
    plugins = [word for name in ("cacheprovider", "xdist", "randomly") for word in ("-p", f"no:{name}")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", *plugins, SUITE, "-k", "toy", "--tb=no"],
        cwd=folder,
        env={"PATH": os.defpath, "PYTHONPATH": str(folder), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, dict[str, set[str]]] = {}
    for name, kind, outcome in re.findall(
        r"^\S+?::(\w+)\[.*?(toy\.\w+).*\] (PASSED|FAILED|SKIPPED|ERROR)", done.stdout, re.MULTILINE
    ):
        found.setdefault(kind, {}).setdefault(outcome, set()).add(name)
    assert found.keys() == toys.keys(), done.stdout + done.stderr
    return found


@pytest.mark.slow
def test_a_new_kind_is_found_and_tried_without_another_line(outcomes: dict[str, dict[str, set[str]]]) -> None:
    """That is what makes a kind cheap to add, and hard to add untested."""
    text = (CHECKOUT / SUITE).read_text("utf-8")
    tests = set(re.findall(r"^def (test_\w+)\([^)]*\bkind: type", text, re.MULTILINE))

    assert outcomes["toy.stamp"] == {
        "PASSED": tests - {"test_what_cannot_be_undone_says_so_and_never_claims_success"}
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", MISTAKES)
def test_the_suite_catches_a_kind_that_breaks_its_promise(
    outcomes: dict[str, dict[str, set[str]]], kind: str
) -> None:
    """A test that cannot fail proves nothing."""
    assert MISTAKES[kind][0] in outcomes[kind]["FAILED"]
