"""Progress of long work: nothing is drawn, or imported, for work that is done at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskshell.cli.render import Bar

_DELAY_S = 0.5


class Delayed:
    """Draws a bar on standard error once the work has lasted half a second."""

    def __init__(self) -> None:
        self._what = ""
        self._total = 0
        self._done = 0
        self._since_s = 0.0
        self._bar: Bar | None = None

    def start(self, what: str, total: int) -> None:
        """Work of `total` pieces begins; 0 is not known."""
        self.finish()
        self._what, self._total, self._done = what, total, 0
        self._since_s = time.monotonic()

    def advance(self, count: int) -> None:
        """`count` more pieces are done."""
        self._done += count
        if self._bar is not None:
            self._bar.move_to(self._done)
        elif time.monotonic() - self._since_s > _DELAY_S:
            from deskshell.cli.render import Bar

            self._bar = Bar(self._what, self._total, since_s=self._since_s)
            self._bar.move_to(self._done)

    def finish(self) -> None:
        """The work has ended; the bar goes."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
