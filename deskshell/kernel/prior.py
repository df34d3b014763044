"""What a step found and secured before it acts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskshell.kernel.effects import Effect
from deskshell.slotted import field, slotted


@slotted(frozen=True)
class Prior:
    """What `prepare` found and secured; the journal keeps it before `do` starts.

    `effects` are the changes to the tree in order; `facts` is whatever else `undo` needs (JSON
    values only); `sha256` is the hash of content that the step leaves, where there is one.
    """

    effects: tuple[Effect, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    sha256: str | None = None
