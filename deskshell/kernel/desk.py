"""What the kernel works with: one state folder, the kinds it was handed, a clock, and the user's ear."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from deskshell.errors import DeskshellError
from deskshell.kernel.room import MAX_COPY
from deskshell.slotted import field, slotted
from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal

if TYPE_CHECKING:
    from deskshell.kernel.action import Action
    from deskshell.kernel.context import Progress
    from deskshell.kernel.ground import Ground

Result = TypeVar("Result")


def now_ms() -> int:
    """The wall clock in milliseconds; only for display and `--since`, never for order."""
    return time.time_ns() // 1_000_000


class Quiet:
    """Progress that nobody watches."""

    def start(self, what: str, total: int) -> None:
        """Nothing to draw."""

    def advance(self, count: int) -> None:
        """Nothing to draw."""

    def finish(self) -> None:
        """Nothing to draw."""


class StopFlag:
    """Set by a signal handler, read between steps and every few MiB of a copy."""

    def __init__(self) -> None:
        self.signum = 0

    def set(self, signum: int) -> None:
        """Ask the task to stop at the next safe point."""
        self.signum = signum


@slotted()
class Desk:
    """One state folder with its journal, and what the front end handed in.

    `kinds` maps a kind to its class; the kernel imports none. `secrets` are values by parameter name.
    `max_copy` limits one copy made where a rename cannot help (`room`); `landlock` False keeps tasks from putting up the wall (`walled`).
    """

    folder: StateFolder
    journal: Journal
    kinds: Mapping[str, type[Action]]
    clock_ms: Callable[[], int] = now_ms
    progress: Progress = field(default_factory=Quiet)
    stop: StopFlag = field(default_factory=StopFlag)
    secrets: Mapping[str, str] = field(default_factory=dict)
    max_copy: int = MAX_COPY
    landlock: bool = True
    host: str = field(default_factory=lambda: os.uname().nodename if hasattr(os, "uname") else "")

    def ground(self, roots: Iterable[bytes]) -> Ground:
        """Open `roots` for acting; the state folder itself is out of bounds. Close it after use."""
        from deskshell.files.scope import Places
        from deskshell.kernel.ground import Ground  # a history can be read without

        state = os.fsencode(self.folder.path)
        places = Places(roots, forbidden=[state])
        return Ground(
            places,
            held=os.fsencode(self.folder.held),
            kept=os.fsencode(self.folder.kept),
            key=self._key,
        )

    def walled(self, ground: Ground, work: Callable[[], Result], *, own: Iterable[bytes] = ()) -> Result:
        """What `work()` returns, called where only the roots of `ground` and the state folder can be changed.

        That is a thread of its own, restricted by the system (`wall`); without Landlock it is a plain call.
        `own` are those of the roots that are themselves renamed or removed. `ground.wall` then says what stands.
        """
        from deskshell.kernel import wall

        if not (self.landlock and wall.stands_here()):
            return work()

        def restricted() -> Result:
            ground.wall = wall.raise_wall(ground.places, own, os.fsencode(self.folder.path))
            return work()

        return wall.in_own_thread(restricted)

    def forget(self, task_id: str) -> str | None:
        """Delete what holding has of a task that needs nothing of it; says why when something stays, and costs space."""
        try:
            from deskshell.store.kept import Kept

            Kept(self.folder).remove_task(task_id)
        except DeskshellError as exc:
            return f"{exc.message}; {exc.hint}" if exc.hint else exc.message
        except OSError as exc:
            return f"what was kept for {task_id} cannot be deleted: {exc.strerror}"
        return None

    def _key(self) -> bytes:
        """The key for marks of content that came from a secret; made at first use, never shown."""
        path = self.folder.path / "key"
        if not path.exists():
            # Whole or not at all, and durable before a record is marked with it (I2).
            with contextlib.suppress(FileExistsError):
                from deskshell.store.atomic import write_atomically

                write_atomically(path, os.urandom(32), replace=False)
        return path.read_bytes()
