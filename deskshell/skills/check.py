"""What an author should mend in a skill, found before anybody runs it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskshell.errors import DeskshellError
from deskshell.files import names
from deskshell.kernel.action import Action, Reversibility
from deskshell.kernel.capability import FS_READ
from deskshell.kernel.plan import Plan
from deskshell.skills import declared, fixture, library, planner, skill_text
from deskshell.skills.naming import FILE_SOURCES, Values
from deskshell.skills.params import Where
from deskshell.skills.rendering import CompiledStep, Targets
from deskshell.skills.subject import Secret, Value
from deskshell.skills.units import Duration
from deskshell.slotted import slotted

if TYPE_CHECKING:
    from deskshell.skills.library import Skill
    from deskshell.skills.model import Manifest, ParamSpec, StepSpec

Kinds = Mapping[str, type[Action]]

_PLACE = b"/place/of/a/parameter"
# Folders that belong to everybody or to the system: no single skill's business as a whole.
_WIDE = (
    b"/",
    b"/home",
    b"/root",
    b"/etc",
    b"/usr",
    b"/var",
    b"/opt",
    b"/srv",
    b"/mnt",
    b"/media",
    b"/Users",
    b"/tmp",
)


@slotted(frozen=True)
class Finding:
    """One thing to mend: `level` is `error` (it cannot work as it is) or `warning`."""

    level: str
    text: str
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        """The same facts as one object."""
        return {"level": self.level, "text": self.text, "hint": self.hint or None}


def check_skill(skill: Skill, *, kinds: Kinds, home: Path) -> list[Finding]:
    """Findings in the order of importance: errors first.

    The fixture's world is built in a folder made for that, and planned; nothing is run.

    Raises:
        ManifestError, NotFound, IrreversibleError: the manifest cannot be read at all.
    """
    manifest = skill.manifest
    where = Where(b"/", os.fsencode(home))
    found = [
        *_check_text(skill),
        *_check_steps(manifest, kinds),
        *_check_templates(manifest, kinds, where),
        *_check_scopes(manifest, where),
        *_check_fixture(skill, kinds, where),
    ]
    return sorted(found, key=lambda finding: finding.level)


def _check_text(skill: Skill) -> Iterator[Finding]:
    text = skill.text
    if not text:
        yield Finding("error", f"there is no {library.TEXT}", "people and agents choose a skill by it")
        return
    for problem in skill_text.problems(skill_text.read(text), skill.name):
        yield Finding("error", f"{library.TEXT}: {problem}")


def _check_steps(manifest: Manifest, kinds: Kinds) -> Iterator[Finding]:
    final = [n for n, step in enumerate(manifest.steps, 1) if _is_final(step, kinds)]
    for n in final:
        step = manifest.steps[n - 1]
        why = "is undone only by its counter-action" if not isinstance(step.undo, str) else "cannot be undone"
        yield Finding(
            "warning",
            f"step {n} (`{step.id or step.action}`) {why}",
            "applying it needs an explicit consent each time",
        )
    if final and final != list(range(len(manifest.steps) - len(final) + 1, len(manifest.steps) + 1)):
        yield Finding(
            "warning",
            "a step that cannot be undone is not the last one",
            "put it at the end: a failure after it leaves it standing",
        )


def _is_final(step: StepSpec, kinds: Kinds) -> bool:
    derived = step.undo == "derived" and kinds[step.action].reversibility is Reversibility.EXACT
    return step.irreversible or not derived


def _check_templates(manifest: Manifest, kinds: Kinds, where: Where) -> Iterator[Finding]:
    """Secrets where they would be printed, formats that do not fit."""
    values = Values(
        {name: _sample(spec) for name, spec in manifest.params.items()}, datetime.now().astimezone()
    )
    for n, step in enumerate(manifest.steps, 1):
        try:
            CompiledStep(step, step.id or f"step {n}", kinds, values, Targets(where))
        except DeskshellError as exc:
            yield Finding("error", exc.message, exc.hint or "")
    try:
        declared.grants(manifest, values, where)
    except DeskshellError as exc:
        yield Finding("error", exc.message, exc.hint or "")


def _sample(spec: ParamSpec) -> Value:
    match spec.type:
        case "secret":
            return Secret("secret")
        case "int":
            return 1
        case "path":
            return _PLACE
        case "duration":
            return Duration(60, "1m")
        case "choice":
            return spec.choices[0]
    return "http://127.0.0.1/" if str(spec.default).startswith("http") else "text"


def _check_scopes(manifest: Manifest, where: Where) -> Iterator[Finding]:
    """Scopes as they are by default; a parameter without one is the user's own choice."""
    for capability in manifest.capabilities:
        if not capability.scope:
            yield Finding("warning", f"`{capability.name}` has no scope, so it grants nothing")
        for text in capability.scope:
            if capability.name.startswith("fs.") and _is_wide(text, manifest, where):
                yield Finding(
                    "warning",
                    f"the scope `{text}` of `{capability.name}` is very wide",
                    "name the one folder that the skill works in, or make it a parameter without a default",
                )
        if capability.name == "net.request":
            for text in capability.scope:
                if text.rstrip("/").lower() in ("http:", "https:"):
                    yield Finding("error", f"the scope `{text}` of `net.request` names no host")


def _is_wide(text: str, manifest: Manifest, where: Where) -> bool:
    for name, spec in manifest.params.items():
        if spec.type == "path" and text == f"{{{name}}}":
            if not isinstance(spec.default, str) or spec.default in (".", "./"):
                return False
            text = spec.default
    if "{" in text:
        return False
    path = os.path.normpath(where.absolute(os.fsencode(text)))
    return path in _WIDE or path == os.path.normpath(where.home)


def _check_fixture(skill: Skill, kinds: Kinds, where: Where) -> Iterator[Finding]:
    """Plan the sample world: capabilities that are missing or not used, targets that collide."""
    try:
        world = fixture.load(skill)
    except DeskshellError as exc:
        yield Finding("error", exc.message, exc.hint or "")
        return
    if not (skill.folder / library.FIXTURE).exists():
        yield Finding(
            "warning", f"there is no {library.FIXTURE}", "without a sample world it cannot be tested"
        )
        return
    with tempfile.TemporaryDirectory(prefix="deskshell-check-") as place:
        root = Path(place).resolve() / "world"
        root.mkdir()
        try:
            given = fixture.build_world(world, root)
            plan = planner.plan_skill(
                skill,
                given,
                kinds=kinds,
                where=Where(os.fsencode(root), where.home),
                now=datetime.now().astimezone(),
                state_folder=os.fsencode(Path(place) / "state"),
            )
        except DeskshellError as exc:
            yield Finding("error", f"on its fixture: {_without(exc.message, root)}", exc.hint or "")
            return
    if not plan.steps:
        yield Finding("warning", "on its fixture it does nothing", "add what it is to select")
        return
    yield from _unused(skill.manifest, plan)


def _without(message: str, root: Path) -> str:
    return message.replace(names.show(os.fsencode(root)) + "/", "")


def _unused(manifest: Manifest, plan: Plan) -> Iterator[Finding]:
    used = {need.capability for step in plan.ordered() for need in step.needs()}
    if any(
        step.for_each is not None and step.for_each.source in (*FILE_SOURCES, "rows")
        for step in manifest.steps
    ):
        used.add(FS_READ)
    for capability in manifest.capabilities:
        if capability.name not in used:
            yield Finding(
                "warning",
                f"`{capability.name}` is declared and not used on the fixture",
                "ask for no more than is needed, or show in the fixture what needs it",
            )
