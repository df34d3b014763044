"""Steps of a plan, one after the other: played on the view, numbered, with the folders they need."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from deskshell.errors import PlanConflict, ScopeError
from deskshell.files import names
from deskshell.files.identity import stat_path
from deskshell.kernel.action import Action
from deskshell.kernel.assertion import Contains
from deskshell.kernel.plan import Step
from deskshell.kernel.secrets import SecretText
from deskshell.kernel.seen import Size, unpack
from deskshell.kernel.view import TargetTaken, View
from deskshell.skills import folding
from deskshell.skills.rendering import CompiledStep, Kinds, Rendered
from deskshell.skills.walk import StateFolder

_FURTHER_NAMES = 1  # besides the first free one, for what appears between plan and act


class Skipped(Exception):
    """No error: a step that is not needed, or not wanted; `reason` is for the reader of the preview."""

    def __init__(self, reason: str, path: bytes) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


class Builder:
    """Collects the steps of one plan (`steps`, `folders` as in `kernel.plan.Plan`)."""

    def __init__(self, view: View, kinds: Kinds, state: StateFolder) -> None:
        self.steps: list[Step] = []
        self.folders: list[tuple[int, Step]] = []
        self._view = view
        self._kinds = kinds
        self._state = state
        self._ids: dict[str, int] = {}
        self._checked = 0  # the number after the last step with post-conditions, which may name any folder
        self._secrets: dict[str, None] = {}
        self._folding: dict[bytes, bool] = {}
        self._folded: dict[tuple[bytes, bytes | str], tuple[bytes, str]] = {}
        self._numbers: dict[bytes, int] = {}  # target → where to go on counting
        self._tables: dict[bytes, CompiledStep] = {}  # target → the table that made it

    def add(self, item: Rendered, *, hop: bytes | None = None, from_hop: bool = False) -> None:
        """Append one action.

        Args:
            item: its table, id and values.
            hop: a temporary name; the action is a move to it,
            from_hop: or from it.

        Raises:
            PlanConflict: the planned tree does not allow it. ScopeError: it would touch the state folder.
            Skipped: its target is taken, and the manifest says to skip it then.
        """
        step, args = item.step, item.args
        to_hop = hop is not None and not from_hop
        if hop is not None:
            args = {"from": args["from"], "to": hop} if to_hop else {"from": hop, "to": args["to"]}
        action_id = self._unique(item.action_id + "~hop" if to_hop else item.action_id)
        if not to_hop and step.conflict != "refuse" and step.kind.conflict_param:
            args = self._settle_conflict(step, args, action_id)
        if args is not item.args or action_id != item.action_id:
            item = Rendered(step, action_id, args, item.subject)
        action = step.kind.build(args).settled(self._view)
        self._refuse_own(action, action_id)
        self._simulate(step, action, action_id)
        self._append(item, action, final=not to_hop)

    def _append(self, item: Rendered, action: Action, *, final: bool) -> None:
        n, step, view = len(self.steps), item.step, self._view
        size: Size | None = None
        target = action.target()
        if isinstance(target, bytes):
            self._refuse_folded(target, item.action_id)
            if step.conflict == "replace":
                self._tables[target] = step
            node = view.look(target)
            if node is not None and node.kind == "file":
                size = node.sized
        self._add_folders(view.take_folders(), n)
        planned = Step(
            n,
            item.action_id,
            action,
            step.terms(item, final=final),
            view.take_seen(),
            size,
        )
        if not step.only_paths:
            self._note_secrets(planned)
        self.steps.append(planned)
        if planned.terms.asserts:
            self._checked = n + 1

    def _add_folders(self, made: Sequence[tuple[bytes, bool]], n: int) -> None:
        """Folders that nobody asked for, each a step of its own before the step `n` that needs it."""
        mkdir = self._kinds["fs.mkdir"]
        for path, early in made:
            name = names.show(path.rpartition(b"/")[2])
            folder = Step(-1 - len(self.folders), f"folder:{name}", mkdir.build({"path": path}))
            self._refuse_own(folder.action, folder.action_id)
            self._refuse_folded(path, folder.action_id)
            self.folders.append((self._checked if early else n, folder))

    def _unique(self, action_id: str) -> str:
        count = self._ids[action_id] = self._ids.get(action_id, 0) + 1
        return action_id if count == 1 else self._unique(f"{action_id}#{count}")

    # conflicts

    def _settle_conflict(self, step: CompiledStep, args: dict[str, Any], action_id: str) -> dict[str, Any]:
        """Carry out `on_conflict`: more keys for the action, or another target."""
        key = step.kind.conflict_param
        target: bytes = args[key]
        match step.conflict:
            case "skip" if self._view.exists(target):
                raise Skipped("its target exists", target)
            case "number":
                src = args["from"] if step.spec.action == "fs.move" else None
                free, further = self._free_names(target, src)
                return {**args, key: free, "more": further}
            case "replace":
                if self._tables.get(target) is step:
                    node = self._view.look(target)
                    raise PlanConflict(
                        f"steps `{node.by if node else ''}` and `{action_id}` both have the target `{names.show(target)}`",
                        hint='the second would replace what the first made; give each its own name, or on_conflict = "number"',
                    )
                return {**args, "replace": True}
        return args

    def _free_names(self, target: bytes, src: bytes | None) -> tuple[bytes, tuple[bytes, ...]]:
        """The first free one of `target`, `target (2)`, …, and what comes after it. Raises Skipped at `src` itself."""
        folder, _, name = target.rpartition(b"/")
        prefix = folder + b"/"
        k = self._numbers.get(target, 1)
        while True:
            found = target if k == 1 else prefix + names.numbered(name, k)
            k += 1
            if found == src:
                raise Skipped("already in its place", found)
            if not self._view.exists(found):
                break
        self._numbers[target] = k
        return found, tuple(prefix + names.numbered(name, k + more) for more in range(_FURTHER_NAMES))

    def _simulate(self, step: CompiledStep, action: Action, action_id: str) -> None:
        try:
            action.simulate(self._view, action_id)
        except TargetTaken as exc:
            if self._view.is_folder(exc.path) and step.kind.conflict_param == "to":
                exc.hint = "end `to` with a slash to mean into that folder"
            raise

    def _refuse_own(self, action: Action, action_id: str) -> None:
        """Nothing at, above or below deskshell's own folder is touched (F39)."""
        for path in action.touches():
            if self._state.is_near(path):
                raise ScopeError(
                    f"step `{action_id}`: deskshell's own folder is at, above or below `{names.show(path)}`",
                    hint="leave it out, or put the state folder elsewhere (DESKSHELL_HOME)",
                )

    # folders that fold names

    def is_respelling(self, src: bytes, dst: bytes) -> bool:
        """Whether `dst` is only another spelling of the name of the object at `src` (F31)."""
        folder, _, name = src.rpartition(b"/")
        other_folder, _, other = dst.rpartition(b"/")
        if folder != other_folder or folding.key(name) != folding.key(other):
            return False
        one, two = self._view.look(src), self._view.look(dst)
        if one is None or two is None or one.id is None or two.id is None or two.origin is None:
            return False
        found = folding.is_one(two.origin.rpartition(b"/")[0], name, other, (unpack(one.id), unpack(two.id)))
        if found:
            self._view.drop_spelling(dst)
        return found

    def _refuse_folded(self, target: bytes, action_id: str) -> None:
        """Two planned targets may not be one name to the file system."""
        folder, _, name = target.rpartition(b"/")
        if not self._folds(folder):
            return
        spelled, by = self._folded.setdefault((folder, folding.key(name)), (name, action_id))
        if spelled != name:
            raise PlanConflict(
                f"steps `{by}` and `{action_id}`: `{names.show(spelled)}` and `{names.show(name)}` are one name "
                f"in `{names.show(folder)}`, which does not tell upper and lower case apart",
                hint="give one of them another name",
            )

    def _folds(self, folder: bytes) -> bool:
        known = self._folding.get(folder)
        if known is None:
            origin = self._view.origin_of(folder)
            if origin is not None and self._on_disk(origin):
                known = folding.folds(origin or b"/")
            else:  # a folder that is to be made is like the one it is made in
                known = bool(folder) and self._folds(folder.rpartition(b"/")[0])
            self._folding[folder] = known
        return known

    def _on_disk(self, origin: bytes) -> bool:
        found = stat_path(origin or b"/")
        return found is not None and found.kind == "folder"

    def hop(self, src: bytes) -> bytes:
        """A temporary name beside `src`, for a move that has to go in two legs."""
        return src.rpartition(b"/")[0] + b"/.deskshell-hop-" + os.urandom(6).hex().encode("ascii")

    # secrets

    def _note_secrets(self, step: Step) -> None:
        for action in (step.action, step.terms.compensation):
            if action is not None:
                for text in _texts(action):
                    self._secrets.update(dict.fromkeys(text.names))
        for assertion in step.terms.asserts:
            if isinstance(assertion, Contains):
                self._secrets.update(dict.fromkeys(assertion.text.names))

    def secrets(self) -> tuple[str, ...]:
        """The secret parameters whose values the steps need, each once."""
        return tuple(self._secrets)


def _texts(action: Action) -> Iterator[SecretText]:
    for field, is_table in _text_fields(type(action)):
        found = getattr(action, field)
        if is_table:
            yield from (text for _, text in found)
        elif found is not None:
            yield found


@cache
def _text_fields(kind: type[Action]) -> tuple[tuple[str, bool], ...]:
    """The fields that may hold secrets, and whether each is a table of them."""
    return tuple(
        (param.field, param.type == "table") for param in kind.params if param.type in ("template", "table")
    )
