"""Candidates for shell completion; read when the shell asks, and never an error."""

from __future__ import annotations

from deskshell.cli import output


def skill_names(incomplete: str) -> list[tuple[str, str]]:
    """Skills by name, each with its summary; a path is left to the shell."""
    from deskshell.cli.session import open_app

    if "/" in incomplete or incomplete.startswith((".", "~")):
        return []
    try:
        found = open_app().skills()
    except Exception:  # a shell has no place for errors here
        return []
    return [(each.name, output.safe(each.summary)) for each in found if each.name.startswith(incomplete)]


def task_ids(incomplete: str) -> list[tuple[str, str]]:
    """The newest tasks, each with its skill and when it was."""
    from itertools import islice

    from deskshell.cli import wording
    from deskshell.cli.session import open_app

    try:
        found = list(islice(open_app().log(), 200))
    except Exception:  # idem
        return []
    return [
        (each.task_id, output.safe(f"{each.skill}, {wording.when(each.started_ms)}"))
        for each in found
        if each.task_id.startswith(incomplete)
    ]


def plan_ids(incomplete: str) -> list[tuple[str, str]]:
    """Stored plans that may still be applied."""
    from deskshell.cli.session import open_app

    try:
        found = open_app().plans()
    except Exception:  # idem
        return []
    return [
        (each.stored.plan_id, output.safe(each.stored.plan.origin.skill))
        for each in found
        if each.status in ("open", "approved") and each.stored.plan_id.startswith(incomplete)
    ]


def capabilities(incomplete: str) -> list[str]:
    """What can be granted."""
    from deskshell.kernel.capability import KNOWN

    return [name for name in KNOWN if name.startswith(incomplete)]
