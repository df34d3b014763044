"""Every example of every kind as a task: run, undone, redone and undone again, by the kernel itself.

The rest of the suite takes steps back as a rollback does. An undo asked for later works from the journal, through
holding, and restores the times of folders; so what a kind leaves must be something that it understands.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from deskshell import config
from deskshell.app.core import App
from deskshell.app.prepared import Prepared
from deskshell.errors import PlanRefused
from deskshell.kernel.action import Action, Example
from deskshell.kernel.capability import FS_DELETE, FS_READ, FS_WRITE, Grant, Scope
from deskshell.kernel.plan import Origin, Plan, Step
from deskshell.kernel.view import View
from tests.contract.harness import World
from tests.contract.test_contract import EXACT, filled
from tests.support.listing import difference, listing


def plan_of(world: World, action: Action) -> Plan:
    """The action as the one step of a plan that may do everything in the world."""
    view = View()
    action = action.settled(view)
    action.simulate(view, "step")
    scope = (Scope(os.fsencode(world.root), str(world.root)),)
    grants = tuple(Grant(capability, scope) for capability in (FS_READ, FS_WRITE, FS_DELETE))
    return Plan(Origin("contract"), (Step(0, "step", action, seen=view.take_seen()),), grants)


@pytest.mark.parametrize("kind, example", EXACT)
def test_a_task_is_undone_redone_and_undone_again(
    new_world: Callable[[], World], kind: type[Action], example: Example
) -> None:
    """Each time byte for byte, folder times included (I6)."""
    world, action = filled(new_world, kind, example)
    app = App(config.load({"DESKSHELL_HOME": str(world.state), "HOME": str(world.root)}))
    before = listing(world.root)

    refused = ""
    try:
        report = app.run(Prepared(plan_of(world, action)))
    except PlanRefused as exc:
        refused = exc.message
    if refused:  # a layout that does not allow it: then nothing has happened
        assert "hard links" in refused
        assert difference(before, listing(world.root)) == []
        return
    assert report.status == "ok"
    after = listing(world.root)
    if not difference(before, after):
        assert app.undo().rolled_back == 0
        return

    for _ in range(2):
        undone = app.undo()
        assert [entry.verdict for task in undone.tasks for entry in task.entries] == ["undone"]
        assert difference(before, listing(world.root)) == []
        redone = app.redo()
        assert redone.exit_code == 0
        assert difference(after, listing(world.root)) == []
