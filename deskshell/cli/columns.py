"""Text in columns, for terminals of any width and for pipes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from deskshell.cli import output
from deskshell.cli.output import Styled
from deskshell.files import names

_GAP = 2
_NARROWEST = 8
_NARROWEST_TERMINAL = 20
_USUAL_TERMINAL = 80
_READABLE = 16  # a column is cut below this only when none can be left out


def width() -> int | None:
    """Columns of the terminal (or of `COLUMNS`); None for a pipe, where lines are as long as they are."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(int(given), _NARROWEST_TERMINAL)
    if not output.is_terminal(sys.stdout):
        return None
    try:  # what `shutil.get_terminal_size` asks; its import takes longer than a log
        columns = os.get_terminal_size(sys.stdout.fileno()).columns or _USUAL_TERMINAL
    except OSError:
        columns = _USUAL_TERMINAL
    return max(columns, _NARROWEST_TERMINAL)


def pad(text: str, columns: int) -> str:
    """`text` with blanks up to `columns`; wide characters count as two."""
    return text + " " * (columns - names.width(text))


def say_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str | Styled]],
    *,
    right: frozenset[int] = frozenset(),
    flexible: Sequence[int],
    droppable: Sequence[int] = (),
) -> None:
    """Print a table without rules: a dim head, a line a row.

    Args:
        head: names of the columns.
        rows: cells, as many as `head`.
        right: columns that are aligned to the right (numbers).
        flexible: columns whose cells are cut in the middle when the terminal is too narrow, the widest first.
        droppable: columns that are left out, first to last, when that is not enough. When nothing is, each row
            is printed as `name: value` lines.
    """
    shown = list(range(len(head)))
    texts = [[output.safe(_text(cell)) for cell in row] for row in rows]
    full = [max(map(names.width, column)) for column in zip(head, *texts, strict=True)]
    total = width()
    widths = dict(enumerate(full))
    for drop in (None, *droppable):
        if drop is not None:
            shown.remove(drop)
        widths = {i: full[i] for i in shown}
        least = _NARROWEST if drop == (droppable[-1] if droppable else None) else _READABLE
        if total is None or _fit(widths, [i for i in flexible if i in widths], total, least):
            break
    else:
        _say_records(head, rows, total or 0)
        return
    _say_row([Styled(name, "dim") for name in head], widths, right)
    for row in rows:
        _say_row(row, widths, right)


def _fit(widths: dict[int, int], flexible: Sequence[int], total: int, least: int) -> bool:
    """Make the widest flexible columns narrower until a row fits into `total`; False when one would be below `least`."""
    over = sum(widths.values()) + _GAP * (len(widths) - 1) - total
    for _ in range(over):
        widest = max(flexible, key=lambda i: widths[i], default=None)
        if widest is None or widths[widest] <= least:
            return False
        widths[widest] -= 1
    return True


def _say_row(row: Sequence[str | Styled], widths: Mapping[int, int], right: frozenset[int]) -> None:
    parts: list[str | Styled] = []
    last = max(widths)
    for i, columns in widths.items():
        cell = row[i]
        text = names.shorten(output.safe(_text(cell)), columns)
        blanks = " " * (columns - names.width(text))
        shown = Styled(text, cell.style) if isinstance(cell, Styled) else text
        parts += [blanks, shown] if i in right else [shown, "" if i == last else blanks]
        parts.append("" if i == last else " " * _GAP)
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
