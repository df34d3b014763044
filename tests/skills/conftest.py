"""Fixtures for skills: manifests as text, planned in a folder of their own."""

from __future__ import annotations

import os
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deskshell import registry
from deskshell.skills import library, planner
from deskshell.skills.params import Where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deskshell.kernel.plan import Plan

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)

HEAD = """\
name = "try"
version = "1"
summary = "a trial"
[params.folder]
type = "path"
default = "."
[[capabilities]]
name = "fs.read"
scope = ["{folder}"]
reason = "r"
[[capabilities]]
name = "fs.write"
scope = ["{folder}"]
reason = "w"
[[capabilities]]
name = "fs.delete"
scope = ["{folder}"]
reason = "d"
"""


class Planning:
    """Plans skills in `folder`, which is also the working directory of relative paths."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder = folder
        self.place = place
        self.state = place / "state"
        self.where = Where(os.fsencode(folder), os.fsencode(place / "home"))

    def skill(self, text: str, name: str = "try") -> library.Skill:
        """A skill whose manifest is `text`."""
        home = self.place / "skills" / name
        home.mkdir(parents=True, exist_ok=True)
        (home / "skill.toml").write_text(textwrap.dedent(text), encoding="utf-8")
        return library.Skill(name, home, registry.kinds())

    def plan(self, text: str, given: Mapping[str, Any] | None = None, **options: Any) -> Plan:
        """The plan of a whole manifest."""
        return planner.plan_skill(
            self.skill(text),
            given or {},
            kinds=registry.kinds(),
            where=self.where,
            now=options.pop("now", NOW),
            state_folder=os.fsencode(self.state),
            **options,
        )

    def steps(self, steps: str, given: Mapping[str, Any] | None = None, **options: Any) -> Plan:
        """The plan of `[[steps]]` tables under the usual head (`folder`, all of `fs.*` in it)."""
        return self.plan(HEAD + textwrap.dedent(steps), given, **options)

    def moves(self, plan: Plan) -> list[tuple[str, str]]:
        """(from, to) of each move, relative to the folder; hops as `~`."""
        return [
            (self.short(step.action.src), self.short(step.action.dst))
            for step in plan.steps
            if step.action.kind == "fs.move"
        ]

    def targets(self, plan: Plan) -> list[str]:
        """The target of each step, relative to the folder."""
        return [self.short(step.action.target()) for step in plan.steps]

    def short(self, path: bytes) -> str:
        """`path` relative to the folder; the random part of a hop's name left out."""
        relative = os.fsdecode(os.path.relpath(path, os.fsencode(self.folder)))
        head, hop, _ = relative.partition(".deskshell-hop-")
        return head + "~" if hop else relative


@pytest.fixture
def planning(home: object, folder: Path, tmp_path: Path) -> Planning:
    """Plans skills in an empty folder, in UTC."""
    return Planning(folder, tmp_path)


@pytest.fixture(scope="session")
def kinds() -> Mapping[str, Any]:
    """All kinds of action."""
    return registry.kinds()
