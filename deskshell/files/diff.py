"""The difference between two texts, for people to read before they agree."""

from __future__ import annotations

import difflib

_MAX_BYTES = 1 << 20
# difflib is quadratic in lines at worst; beyond this a diff helps nobody anyway.
_MAX_LINES = 20_000
_NO_NEWLINE = "\\ No newline at end of file"


def unified(old: bytes, new: bytes, old_name: str, new_name: str) -> list[str] | None:
    """A unified diff with three lines of context.

    Args:
        old: the text as it is.
        new: the text as it shall be.
        old_name: how the first is called in the header; already safe to print.
        new_name: the same of the second.

    Returns:
        Lines without line ends, empty when the two are equal. None for binary content (not UTF-8, or with
        NUL bytes) and for texts of more than 1 MiB or 20,000 lines. Lines are split at newlines only, so a
        changed carriage return shows as a change; other control characters are left in, so print with care.
    """
    if max(len(old), len(new)) > _MAX_BYTES or b"\0" in old or b"\0" in new:
        return None
    try:
        before, after = _lines(old.decode("utf-8")), _lines(new.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    if max(len(before), len(after)) > _MAX_LINES:
        return None
    result: list[str] = []
    for line in difflib.unified_diff(before, after, old_name, new_name, lineterm=""):
        if line.endswith("\n"):
            result.append(line[:-1])
        elif line.startswith(("--- ", "+++ ", "@@ ")) and not _is_text(result, line):
            result.append(line)
        else:  # the last line of a text that does not end in a newline
            result.extend((line, _NO_NEWLINE))
    return result


def _is_text(so_far: list[str], line: str) -> bool:
    """Whether a line that looks like a header is text: headers are the first two lines, and hunk marks."""
    return not line.startswith("@@ ") and len(so_far) >= 2


def _lines(text: str) -> list[str]:
    """Split at newlines only, keeping them; `str.splitlines` would split at form feeds and U+2028 too."""
    lines = text.split("\n")
    kept = [line + "\n" for line in lines[:-1]]
    return [*kept, lines[-1]] if lines[-1] else kept
