"""A folder, a state folder and deskshell on them, for tests of stored plans."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deskshell.app import App, Prepared
from deskshell.app.applying import PlanOutcome
from deskshell.app.consent import Consent
from deskshell.app.plans import PlanState
from deskshell.config import Settings
from deskshell.slotted import replace
from tests.support.listing import Entry, listing
from tests.support.trees import Content, make_files

ALL_FILES = ("fs.read", "fs.write", "fs.delete")


class Shell:
    """deskshell below `top`: files in `root`, state in `state`; each call opens it anew, as a process would.

    `settings` are fields of `config.Settings`; `owner` None is the local user.
    """

    def __init__(self, top: Path, *, owner: str | None = None, **settings: Any) -> None:
        self.root = top / "files"
        self.state = top / "state"
        self.root.mkdir(exist_ok=True)
        self.owner = owner
        self.settings = Settings(
            home=self.state, skills_folder=top / "skills", **{"lock_wait_s": 0.0, **settings}
        )

    def app(self, front: str = "cli") -> App:
        """The app of one command."""
        return App(self.settings, front=front, owner=self.owner)

    def with_settings(self, **settings: Any) -> Shell:
        """The same folders under other settings."""
        other = Shell(self.root.parent, owner=self.owner)
        other.settings = replace(self.settings, **settings)
        return other

    def make(self, files: Mapping[str, Content]) -> None:
        """Make files in the folder (see `trees.make_files`)."""
        make_files(self.root, files)

    def listing(self) -> dict[str, Entry]:
        """The folder with all metadata."""
        return listing(self.root)

    def prepare(
        self, *actions: Mapping[str, Any], grants: Sequence[str] = ALL_FILES, scope: str = ""
    ) -> Prepared:
        """Plan actions, with paths relative to the folder."""
        folder = str(self.root / scope) if scope else str(self.root)
        capabilities = [{"name": name, "scope": [folder], "reason": "a test"} for name in grants]
        return self.app().prepare_actions(list(actions), capabilities, cwd=self.root)

    def plan(self, *actions: Mapping[str, Any], **more: Any) -> PlanState:
        """Store a plan of these actions."""
        ttl_s = more.pop("ttl_s", None)
        return self.app().plan(self.prepare(*actions, **more), cwd=self.root, ttl_s=ttl_s)

    def apply(self, plan: PlanState | str, consent: Consent | None = None, **more: Any) -> PlanOutcome:
        """Apply a plan by its id."""
        plan_id = plan if isinstance(plan, str) else plan.stored.plan_id
        return self.app().apply(plan_id, consent=consent, **more)

    def plan_file(self, plan: PlanState | str) -> Path:
        """Where a plan is stored."""
        plan_id = plan if isinstance(plan, str) else plan.stored.plan_id
        return self.state / "plans" / f"{plan_id}.json"

    def begins(self) -> list[dict[str, Any]]:
        """The `begin` lines of all tasks in the journal."""
        path = self.state / "journal.jsonl"
        if not path.exists():
            return []
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        return [line for line in lines if line.get("type") == "begin"]


def move(src: str, dst: str, **more: Any) -> dict[str, Any]:
    """An `fs.move` step."""
    return {"id": f"move:{src}", "action": "fs.move", "from": src, "to": dst, **more}


def write(path: str, text: str, **more: Any) -> dict[str, Any]:
    """An `fs.write` step; over a file it replaces."""
    return {"id": f"write:{path}", "action": "fs.write", "path": path, "text": text, **more}


def delete(path: str, **more: Any) -> dict[str, Any]:
    """An `fs.delete` step."""
    return {"id": f"delete:{path}", "action": "fs.delete", "path": path, **more}


def final(step: dict[str, Any]) -> dict[str, Any]:
    """The same step, declared irreversible."""
    return {**step, "irreversible": True}


def set_older(path: Path, seconds: int) -> None:
    """Give a file times that lie so far back."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - seconds * 10**9))
