"""Faults planted on purpose: a sweep that does not fail on each of them proves nothing.

python -m scripts.sweeping.planted FAULT deskshell-arguments …
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def intent_after_act() -> None:
    """The journal learns of a change only once it has happened."""
    from deskshell.kernel.transaction import Transaction

    write_intents, flush = Transaction._write_intents, Transaction._flush_results

    def act_first(self: Any, prepared: Any, folders: Any) -> None:
        del folders
        self.ground.sync_staged()
        self._late = prepared

    def then_write(self: Any, folders: Any) -> None:
        write_intents(self, self._late, folders)
        flush(self, folders)

    Transaction._write_intents = act_first  # type: ignore[method-assign]
    Transaction._flush_results = then_write  # type: ignore[method-assign]


def no_fsync() -> None:
    """Nothing is ever synced."""

    def nothing(*_: Any) -> None:
        """Say that it was."""

    os.fsync = os.fdatasync = nothing  # type: ignore[assignment]


def undo_once_only() -> None:
    """Taking back assumes that the change is there."""
    from deskshell.kernel.effects import Move

    def blindly(self: Move, ground: Any) -> bool:
        ground.rename(self.dst, self.src)
        return True

    Move.take_back = blindly  # type: ignore[method-assign]


def false_rolled_back() -> None:
    """A failed commit is reported as taken back, and nothing is."""
    from deskshell.kernel import transaction

    end = transaction.Transaction._end

    def claim(self: Any, lines: Any, status: str, facts: Any = None) -> None:
        end(self, lines, status, facts)
        if self.outcome.status == "unknown":
            self.outcome.status = "rolled-back"

    transaction.Transaction._end = claim  # type: ignore[method-assign]


#: What is planted, the shape and the modes in which the sweep has to find it.
FAULTS: dict[str, tuple[Callable[[], None], str, tuple[str, ...]]] = {
    "intent-after-act": (intent_after_act, "move", ("kill",)),
    "no-fsync": (no_fsync, "write-new", ("lost",)),
    "undo-once-only": (undo_once_only, "delete", ("kill",)),
    "false-rolled-back": (false_rolled_back, "delete", ("EIO",)),
}


def main() -> None:
    """Plant the fault and run deskshell with the other arguments."""
    fault = sys.argv.pop(1)
    FAULTS[fault][0]()
    from deskshell.cli.main import main as deskshell

    deskshell()


if __name__ == "__main__":
    main()
