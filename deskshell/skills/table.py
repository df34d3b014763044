"""Rows of a CSV file: the first line names the columns."""

from __future__ import annotations

import csv
import io

from deskshell.errors import NotFound, PlanConflict, StepFailed
from deskshell.files import names, reading
from deskshell.kernel.report import text as reason
from deskshell.skills.subject import AT_CWD

MAX_BYTES = 64 << 20


def read(path: bytes) -> list[dict[str, str]]:
    """The rows as column → text; empty lines are left out, a mark at the start (BOM) is ignored.

    Raises:
        NotFound: there is no such file. PlanConflict: it is no table of UTF-8 text, with the line that is wrong.
    """
    shown = f"`{names.show(path)}`"
    try:
        content = reading.read_file(AT_CWD, path, MAX_BYTES)
    except FileNotFoundError as exc:
        raise NotFound(f"the table {shown} does not exist") from exc
    except (OSError, StepFailed) as exc:
        raise NotFound(f"the table {shown} cannot be read: {reason(exc)}") from exc
    try:
        lines = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        head = next(lines, None)
        if not head:
            raise PlanConflict(f"the table {shown} has no first line with the names of its columns")
        if len(set(head)) < len(head):
            raise PlanConflict(f"the table {shown} has two columns of one name")
        rows = []
        for cells in lines:
            if not cells:
                continue
            if len(cells) != len(head):
                raise PlanConflict(
                    f"the table {shown} has {len(cells)} cells in line {lines.line_num}, and {len(head)} columns",
                    hint='a cell with a comma in it is written "in quotes"',
                )
            rows.append(dict(zip(head, cells, strict=True)))
    except UnicodeDecodeError as exc:
        raise PlanConflict(f"the table {shown} is not UTF-8 text") from exc
    except csv.Error as exc:
        raise PlanConflict(f"the table {shown}: {exc} in line {lines.line_num}") from exc
    return rows
