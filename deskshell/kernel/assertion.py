"""Post-conditions of a step: one that does not hold fails the step, and the kernel rolls back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from deskshell.kernel.capability import Need

if TYPE_CHECKING:
    from deskshell.kernel.context import Context


class Assertion(Protocol):
    """One condition, checked right after its step acted."""

    def check(self, ctx: Context) -> str | None:
        """None when it holds, else what is so instead (one line)."""

    def needs(self) -> Iterable[Need]:
        """Targets that the check looks at."""

    def to_json(self) -> Mapping[str, Any]:
        """The manifest's form with templates rendered, for stored plans."""
