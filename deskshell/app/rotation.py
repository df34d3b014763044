"""Log rotation as a plan: `app.log` of one folder gets the first free of five archive names, and starts anew.

One use of stored plans: what is planned is a single `log.rotate`, what is applied is that plan.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from deskshell.actions.log_rotate import LogRotate
from deskshell.app.applying import PlanOutcome
from deskshell.app.consent import Consent
from deskshell.errors import NotFound, PlanRefused
from deskshell.files.paths import resolve
from deskshell.kernel.plan import Plan
from deskshell.kernel.roots import Roots
from deskshell.slotted import slotted

if TYPE_CHECKING:
    from deskshell.app import App

LOG = "app.log"


@slotted(frozen=True)
class Rotation:
    """A planned rotation: the archive's name, and how large the log is."""

    plan_id: str
    archive: str
    size_bytes: int
    expires_in_s: int


def plan(app: App, folder: Path | None, *, ttl_s: float, within: Roots | None) -> Rotation:
    """Store the plan to rotate the log in `folder`. Changes nothing else.

    Raises NotFound when there is no such log, PlanConflict when all five archive names are taken.
    """
    if folder is None:
        raise NotFound(
            "no log folder is configured",
            hint="start the server with `--log-dir FOLDER`, or set DESKSHELL_LOG_DIR",
        )
    log = folder.absolute() / LOG
    if not os.path.lexists(log):
        raise NotFound(f"the log `{LOG}` does not exist", hint="there is nothing to rotate")
    where = os.fsdecode(resolve(os.fsencode(folder.absolute())))
    prepared = app.prepare_actions(
        [{"id": "rotate", "action": "log.rotate", "path": _template(os.path.join(where, LOG))}],
        [{"name": "fs.write", "scope": [_template(where)], "reason": "rotate the log"}],
        cwd=folder.absolute(),
        summary="rotate a log",
        within=within,
    )
    state = app.plan(prepared, cwd=folder.absolute(), ttl_s=ttl_s)
    archive, size_bytes = facts(state.stored.plan)
    return Rotation(state.stored.plan_id, archive, size_bytes, round(ttl_s))


def apply(app: App, plan_id: str, consent: Consent, *, within: Roots | None) -> tuple[PlanOutcome, str, int]:
    """Apply such a plan; returns the outcome, the archive's name and the size of what was archived.

    Raises PlanRefused when the plan is another's kind; else as `App.apply`.
    """
    archive, size_bytes = facts(app.plan_show(plan_id).stored.plan)
    return app.apply(plan_id, consent=consent, within=within), archive, size_bytes


def facts(found: Plan) -> tuple[str, int]:
    """The archive's name and the log's size, of a plan that rotates a log and nothing else."""
    action = found.steps[0].action if len(found.steps) == 1 else None
    if not isinstance(action, LogRotate) or action.archive is None:
        raise PlanRefused(
            "this is no plan of a log rotation", status="refused", hint="apply it with `plan_apply`"
        )
    seen = dict(found.steps[0].seen).get(action.path)
    return os.fsdecode(os.path.basename(action.archive)), 0 if seen is None else seen.size


def _template(path: str) -> str:
    """`path` as a manifest has to write it, where braces name values."""
    return path.replace("{", "{{").replace("}", "}}")
