"""`noop`: do nothing, on the record. A place for assertions, and an undo for what needs none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from deskshell.kernel.action import Action, Example, Prior
from deskshell.kernel.capability import Need
from deskshell.kernel.context import Context
from deskshell.kernel.view import View
from deskshell.slotted import slotted


@slotted(frozen=True)
class Noop(Action):
    """Nothing happens."""

    kind: ClassVar[str] = "noop"
    makes: ClassVar[str] = ""

    def needs(self) -> Sequence[Need]:
        return ()

    def touches(self) -> Sequence[bytes]:
        return ()

    def summary(self) -> str:
        return "do nothing"

    def target(self) -> bytes | str:
        return ""

    def simulate(self, view: View, step: str) -> None:
        """Nothing changes."""

    def prepare(self, ctx: Context) -> Prior:
        return Prior()

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example({"a.txt": "a"}, {})
