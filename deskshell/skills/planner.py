"""From a manifest and values to a plan: steps over the planned tree, checked against what is granted."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from deskshell.files import names, paths
from deskshell.kernel import roots
from deskshell.kernel.capability import Checker
from deskshell.kernel.desk import Quiet
from deskshell.kernel.plan import Origin, Plan, Step
from deskshell.kernel.roots import Roots
from deskshell.kernel.view import View
from deskshell.skills import declared, params
from deskshell.skills.builder import Builder
from deskshell.skills.naming import Values
from deskshell.skills.params import Where
from deskshell.skills.rendering import CompiledStep, Kinds, Targets
from deskshell.skills.select import World
from deskshell.skills.sequencer import Sequencer
from deskshell.skills.walk import Notes, StateFolder
from deskshell.slotted import NamedTuple, replace

if TYPE_CHECKING:
    from deskshell.kernel.context import Progress
    from deskshell.skills.library import Skill
    from deskshell.skills.model import Manifest


def plan_skill(
    skill: Skill,
    given: Mapping[str, Any],
    *,
    kinds: Kinds,
    where: Where,
    now: datetime,
    state_folder: bytes,
    within: Roots | None = None,
    front: str = "cli",
    owner: str = "",
    progress: Progress | None = None,
) -> Plan:
    """Plan one run of a skill. Reads inside the declared `fs.read` scopes only, and changes nothing.

    Args:
        skill: see `library.find`.
        given: values of parameters, text as on the command line or JSON values.
        kinds: all kinds of action, by name.
        where: what relative paths and `~` mean.
        now: the moment of planning, with its zone.
        state_folder: deskshell's own folder, absolute; it need not exist.
        within: folders outside of which nothing is read or touched; None: no such limit.
        front: the front end that asks (`cli`, `mcp`, …).
        owner: for whom it asks.
        progress: told of long walks and plans; None: nobody watches.

    Raises:
        UsageError: a parameter is unknown, missing or of the wrong type.
        NotFound: a folder that a parameter names does not exist.
        CapabilityError, ScopeError: a step needs what is not declared, or lies outside of `within`.
        PlanConflict: steps do not fit together, or not with the disk.
        ManifestError, IrreversibleError: see `manifest.from_data`.
    """
    return _plan(
        skill.manifest,
        given,
        Origin(
            skill.name,
            skill.manifest.version,
            names.plain(skill.manifest_path)[0],
            front=front,
            owner=owner,
        ),
        kinds=kinds,
        where=where,
        now=now,
        state_folder=state_folder,
        within=within,
        progress=progress or Quiet(),
    )


def plan_actions(
    actions: Sequence[Mapping[str, Any]],
    capabilities: Sequence[Mapping[str, Any]],
    *,
    kinds: Kinds,
    where: Where,
    now: datetime,
    state_folder: bytes,
    within: Roots | None = None,
    summary: str = "",
    front: str = "mcp",
    owner: str = "",
) -> Plan:
    """Plan an agent's own list of actions: steps as in a manifest, with the capabilities it declares.

    Arguments and errors as in `plan_skill`; a mistake in the list is a ManifestError that names the entry.
    """
    from deskshell.skills import manifest

    data = {
        "name": "actions",
        "version": "0",
        "summary": summary or "a list of actions",
        "capabilities": _listed(capabilities),
        "steps": _listed(actions),
    }
    return _plan(
        manifest.from_data(data, kinds, "actions"),
        {},
        Origin("actions", "0", front=front, owner=owner),
        kinds=kinds,
        where=where,
        now=now,
        state_folder=state_folder,
        within=within,
        progress=Quiet(),
    )


def _listed(value: Any) -> Any:
    """Any sequence as a list; what is none is left to the manifest's own check."""
    return list(value) if isinstance(value, list | tuple) else value


def _plan(
    manifest: Manifest,
    given: Mapping[str, Any],
    origin: Origin,
    *,
    kinds: Kinds,
    where: Where,
    now: datetime,
    state_folder: bytes,
    within: Roots | None,
    progress: Progress,
) -> Plan:
    values = params.parse(manifest, given, where)
    scope = Values(values, now)
    every = declared.grants(manifest, scope, where)
    granted = roots.narrow(every, within)
    state = StateFolder(paths.resolve(state_folder))
    targets = Targets(where)
    steps = [
        CompiledStep(spec, spec.id or f"step {n}", kinds, scope, targets)
        for n, spec in enumerate(manifest.steps, 1)
    ]
    with _no_cycle_search(), _finishing(progress):
        made = _made(
            steps,
            scope,
            World(View(), Checker(every, granted), where, now, state, Notes(), progress),
            kinds,
        )
        plan = Plan(
            replace(origin, params=params.to_json(values)),
            tuple(made.steps),
            every,
            tuple(made.folders),
            made.notes,
            made.secrets,
        )
        plan.check(granted)
    return plan


class _Made(NamedTuple):
    """What of a plan comes from its steps, see `kernel.plan.Plan`."""

    steps: list[Step]
    folders: list[tuple[int, Step]]
    notes: tuple[str, ...]
    secrets: tuple[str, ...]


def _made(steps: Sequence[CompiledStep], values: Values, world: World, kinds: Kinds) -> _Made:
    """Plan all tables.

    On return the planned tree and the ids given out are gone: with them a plan takes a fifth more memory, and
    what comes next need not come on top of that.
    """
    builder = Builder(world.view, kinds, world.state)
    Sequencer(steps, values, world, builder).run()
    return _Made(builder.steps, builder.folders, world.notes.lines(), builder.secrets())


@contextmanager
def _no_cycle_search() -> Iterator[None]:
    """A plan is hundreds of thousands of small objects without a cycle; looking for one takes a quarter of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@contextmanager
def _finishing(progress: Progress) -> Iterator[None]:
    """Nothing is drawn any more once the plan is made, or why it cannot be is told."""
    try:
        yield
    finally:
        progress.finish()
