"""Messages about names that are not known, with the nearest one that is."""

from __future__ import annotations

from collections.abc import Iterable

from deskshell.files import names


def nearest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean `x`?)`` for the closest of `known`, or nothing when none is close."""
    import difflib

    every = list(known)
    longer = [each for each in every if len(name) > 2 and each.startswith(name)]
    found = longer or difflib.get_close_matches(name.casefold(), every, n=1, cutoff=0.6)
    return f" (did you mean `{found[0]}`?)" if found else ""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """``unknown key `form` (did you mean `from`?)``."""
    return f"unknown {what} `{name}`{nearest(name, known)}"


def one_line(text: str) -> str:
    """`text` without line ends and control characters: what an agent or a stranger's file calls things is printed."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else names.show(char.encode("utf-8", "surrogatepass")) for char in text
    )
