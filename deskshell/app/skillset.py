"""Trying a skill on its own fixture: run it, undo it, and compare every byte and time."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from deskshell.config import Settings
from deskshell.errors import DeskshellError
from deskshell.slotted import field, replace, slotted

if TYPE_CHECKING:
    from deskshell.skills.fixture import World
    from deskshell.skills.library import Skill


@slotted()
class SkillTest:
    """The outcome as one line (`PASS name N steps · undo N steps · byte for byte`) and what differs."""

    line: str
    ok: bool
    skipped: bool = False
    differences: list[str] = field(default_factory=list)


def test_skill(skill: Skill, settings: Settings) -> SkillTest:
    """Build the fixture in a fresh folder, run, undo, compare with metadata."""
    from deskshell.skills import fixture

    name = skill.name
    world = fixture.load(skill)
    reason = world.skip_reason
    if reason:
        return SkillTest(f"SKIP {name} {reason}", ok=True, skipped=True)
    with tempfile.TemporaryDirectory(prefix="deskshell-test-") as place:
        try:
            return _try(skill, world, Path(place), settings)
        except DeskshellError as exc:
            return SkillTest(
                f"FAIL {name} {exc.message}", ok=False, differences=[exc.hint] if exc.hint else []
            )


def _try(skill: Skill, world: World, place: Path, settings: Settings) -> SkillTest:
    from deskshell.app.core import App
    from deskshell.skills import fixture

    root = place / "world"
    root.mkdir()
    values = fixture.build_world(world, root)
    before = fixture.snapshot(root)
    app = App(replace(settings, home=place / "state"), front="test")
    prepared = app.prepare(str(skill.folder), values, cwd=root)
    ran = app.run(prepared, allow_irreversible=False)
    if ran.status != "ok":
        return SkillTest(f"FAIL {skill.name} {ran.status}: {ran.error}", ok=False)
    undone = app.undo(task=ran.task_id) if ran.task_id else app.undo()
    differences = fixture.compare(before, fixture.snapshot(root))
    differences += [
        f"{entry.action_id}: {entry.verdict}: {entry.reason}"
        for task in undone.tasks
        for entry in task.entries
        if not entry.good
    ]
    steps, back = len(ran.steps), undone.rolled_back
    if differences or back != steps:
        return SkillTest(
            f"FAIL {skill.name} {steps} steps · undo {back} steps", ok=False, differences=differences
        )
    return SkillTest(f"PASS {skill.name} {steps} steps · undo {back} steps · byte for byte", ok=True)
