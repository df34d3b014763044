"""What moves on the terminal: the one module that imports rich, and only for work that takes time."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from deskshell.cli import output, wording


class Bar:
    """One line on standard error: what, how many of how many, pieces a second, time left. It leaves no trace."""

    def __init__(self, what: str, total: int, *, since_s: float) -> None:
        console = Console(file=sys.stderr, no_color=not output.has_colour(sys.stderr), highlight=False)
        columns: list[ProgressColumn] = [
            TextColumn("{task.description}", markup=False),
            _Count(),
            _Rate(since_s),
        ]
        if total:
            columns[1:1] = [BarColumn(bar_width=20)] if console.width >= 70 else []
            columns.append(_Left(since_s))
        else:
            columns.append(TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, transient=True, refresh_per_second=5)
        self._task = self._progress.add_task(output.safe(what), total=total or None)
        self._progress.start()

    def move_to(self, done: int) -> None:
        """`done` pieces are done."""
        self._progress.update(self._task, completed=done)

    def close(self) -> None:
        """Take the line away."""
        self._progress.stop()


class _Count(ProgressColumn):
    def render(self, task: Task) -> Text:
        """``3,120/10,000``."""
        total = f"/{int(task.total):,}" if task.total else ""
        return Text(f"{int(task.completed):,}{total}", style="bold")


class _Rate(ProgressColumn):
    def __init__(self, since_s: float) -> None:
        super().__init__()
        self._since_s = since_s

    def render(self, task: Task) -> Text:
        """``2,400/s``."""
        return Text(f"{task.completed / max(time.monotonic() - self._since_s, 0.001):,.0f}/s")


class _Left(_Rate):
    def render(self, task: Task) -> Text:
        """``3 s left``; nothing as long as there is nothing to reckon with."""
        if not task.completed or not task.total:
            return Text("")
        left = max(task.total - task.completed, 0) / task.completed
        return Text(f"{wording.whole_seconds((time.monotonic() - self._since_s) * left)} left")
