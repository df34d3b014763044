"""What a task changed in content: text as a unified diff, anything else by its hash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing as closes
from typing import Any

from deskshell.app.log import step_detail
from deskshell.errors import DeskshellError
from deskshell.files import diff, names
from deskshell.kernel import history
from deskshell.kernel.capability import Grant, path_roots
from deskshell.kernel.desk import Desk
from deskshell.kernel.effects import Effect, Move, Swap
from deskshell.kernel.ground import Ground
from deskshell.kernel.report import put_target
from deskshell.slotted import slotted

_MOST_BYTES = 1 << 20  # above it a diff helps nobody; the hash says whether it changed


@slotted(frozen=True)
class StepDiff:
    """One step's change of content. `lines` is None for binary or large content, and for what is gone."""

    n: int
    action_id: str
    target: bytes | str
    lines: list[str] | None
    before_sha256: str | None
    after_sha256: str | None

    def to_json(self) -> dict[str, Any]:
        """The object in `diff` of `show --diff --json`."""
        data: dict[str, Any] = {
            "n": self.n,
            "actionId": self.action_id,
            "lines": self.lines,
            "beforeSha256": self.before_sha256,
            "afterSha256": self.after_sha256,
        }
        put_target(data, "target", self.target)
        return data


def diffs(desk: Desk, task_id: str) -> Iterator[StepDiff]:
    """A diff for each step of a task that wrote, replaced or removed content. Raises NotFound."""
    head = history.find(desk.journal, task_id)
    fold = history.fold(desk.journal, head)
    roots = path_roots(Grant.from_json(each) for each in head.begin.get("grants", ()))
    with closes(desk.ground(roots)) as ground:
        for n in fold.steps:
            if n < 0:
                continue
            detail = step_detail(desk.journal, fold, n)
            for effect in detail.effects:
                places = _places(effect)
                if places is not None:
                    before, after = places
                    yield _diff(ground, n, detail.report.action_id, detail.report.target, before, after)


def _places(effect: Effect) -> tuple[bytes | None, bytes | None] | None:
    """Where the content before and after can be read now; None for effects that change no content."""
    if isinstance(effect, Swap):
        return effect.slot, effect.path
    if isinstance(effect, Move) and effect.made:
        return None, effect.dst
    if isinstance(effect, Move) and effect.dst[:1] != b"/":
        return effect.dst, None
    return None


def _diff(
    ground: Ground, n: int, action_id: str, target: bytes | str, before: bytes | None, after: bytes | None
) -> StepDiff:
    old, old_hash = _content(ground, before)
    new, new_hash = _content(ground, after)
    lines = None
    if old is not None and new is not None:
        shown = names.show(target if isinstance(target, bytes) else target.encode())
        lines = diff.unified(old, new, f"before {shown}", f"after {shown}")
    return StepDiff(n, action_id, target, lines, old_hash, new_hash)


def _content(ground: Ground, path: bytes | None) -> tuple[bytes | None, str | None]:
    if path is None:
        return b"", None
    try:
        found = ground.look(path)
        if found is None or found.kind != "file":
            return None, None
        sha256 = ground.hash(path)
        return (ground.read(path) if found.size <= _MOST_BYTES else None), sha256
    except (DeskshellError, OSError):
        return None, None
