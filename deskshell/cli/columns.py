"""Text in columns, for terminals of any width and for pipes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from deskshell.cli import output
from deskshell.cli.output import Styled
from deskshell.files import names

_GAP = 2
_NARROWEST = 8


def width() -> int | None:
    """Columns of the terminal (or of `COLUMNS`); None for a pipe, where lines are as long as they are."""
    import os

    if output.is_terminal(sys.stdout) or os.environ.get("COLUMNS"):
        return max(shutil.get_terminal_size().columns, 20)
    return None


def pad(text: str, columns: int) -> str:
    """`text` with blanks up to `columns`; wide characters count as two."""
    return text + " " * (columns - names.width(text))


def say_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str | Styled]],
    *,
    right: frozenset[int] = frozenset(),
    flexible: int,
) -> None:
    """Print a table without rules: a dim head, a line a row.

    Args:
        head: names of the columns.
        rows: cells, as many as `head`.
        right: columns that are aligned to the right (numbers).
        flexible: the column that is cut in the middle when the terminal is too narrow. When even that is not
            enough, each row is printed as `name: value` lines.
    """
    texts = [[output.safe(_text(cell)) for cell in row] for row in rows]
    widths = [max(map(names.width, column)) for column in zip(head, *texts, strict=True)]
    total = width()
    if total is not None and (over := sum(widths) + _GAP * (len(widths) - 1) - total) > 0:
        if widths[flexible] - over < _NARROWEST:
            _say_records(head, rows, total)
            return
        widths[flexible] -= over
    _say_row([Styled(name, "dim") for name in head], widths, right)
    for row in rows:
        _say_row(row, widths, right)


def _say_row(row: Sequence[str | Styled], widths: Sequence[int], right: frozenset[int]) -> None:
    parts: list[str | Styled] = []
    for i, (cell, columns) in enumerate(zip(row, widths, strict=True)):
        text = names.shorten(output.safe(_text(cell)), columns)
        blanks = " " * (columns - names.width(text))
        if isinstance(cell, Styled):
            shown: str | Styled = Styled(text, cell.style)
        else:
            shown = text
        last = i == len(widths) - 1
        parts += [blanks, shown] if i in right else [shown, "" if last else blanks]
        parts.append("" if last else " " * _GAP)
    output.say(*parts)


def _say_records(head: Sequence[str], rows: Sequence[Sequence[str | Styled]], total: int) -> None:
    columns = max(map(len, head)) + 2
    for i, row in enumerate(rows):
        if i:
            output.say("")
        for name, cell in zip(head, row, strict=True):
            text = names.shorten(output.safe(_text(cell)), max(total - columns, _NARROWEST))
            if text:
                value = Styled(text, cell.style) if isinstance(cell, Styled) else text
                output.say(Styled(f"{name}:".ljust(columns), "dim"), value)


def _text(cell: str | Styled) -> str:
    return cell.text if isinstance(cell, Styled) else cell
