"""`deskshell log` and `deskshell show`: what was done."""

from __future__ import annotations

from typing import Annotated, Any

from deskshell.cli import complete
from deskshell.cli.options import Json, argument, command, option, single
from deskshell.errors import UsageError

log = single()
show = single()

#: As typed, with the words of the app.
STATUSES = {
    "ok": "ok",
    "rolled-back": "rolled-back",
    "incomplete": "incomplete",
    "running": "running",
    "recovery-pending": "recovery pending",
    "undone": "undone",
    "partly-undone": "partly undone",
}


@log.command(
    **command(
        [
            "deskshell log --limit 10",
            "deskshell log --since 2h --status incomplete",
            "deskshell log --path ~/Documents/letter.pdf   # where it came from",
            "deskshell log --entries --json | jq .entries",
        ],
        ["0", "2", "70"],
    )
)
def _log(
    *,
    since: Annotated[
        str | None,
        option(metavar="TIME", help='started since then: 30m, 2h, 1d, or "2026-01-15 09:30"'),
    ] = None,
    path: Annotated[
        str | None, option(metavar="FILE", help="tasks that touched this file, under earlier names too")
    ] = None,
    status: Annotated[
        str | None,
        option(metavar="S", help=f"only: {', '.join(STATUSES)}", autocompletion=lambda: list(STATUSES)),
    ] = None,
    limit: Annotated[int | None, option(metavar="N", min=1, help="the N newest of them")] = None,
    entries: Annotated[
        bool, option("--entries", help="every step in its latest state, a JSON line each")
    ] = False,
    json: Json = False,
) -> int:
    """List what has been done, newest first."""
    if status is not None and status not in (*STATUSES, *STATUSES.values()):
        raise UsageError(f"no such status: `{status}`", hint=f"one of {', '.join(STATUSES)}")
    from deskshell.cli import output, reports
    from deskshell.cli.session import open_app

    which: dict[str, Any] = {
        "since_ms": None if since is None else _since_ms(since),
        "path": None if path is None else as_recorded(path),
        "status": None if status is None else STATUSES.get(status, status),
        "limit": limit,
    }
    app = open_app()
    reports.tell_pending(app)
    if entries:
        found = app.entries(**which)
        if json:
            output.json_object({"entries": list(found)})
        else:
            for each in found:
                output.json_line(each)
    elif json:
        output.json_object({"tasks": [each.to_json() for each in app.log(**which)]})
    else:
        from deskshell.cli import tasks

        tasks.say_log(list(app.log(**which)))
    return 0


@show.command(
    **command(
        ["deskshell show task-1793201984999", "deskshell show task-1793201984999 --diff"],
        ["0", "2", "70"],
    )
)
def _show(
    task: Annotated[
        str,
        argument(metavar="TASK", help="the task's id", autocompletion=complete.task_ids, show_default=False),
    ],
    *,
    diff: Annotated[
        bool, option("--diff", help="also what changed in each file; hashes for what is no text")
    ] = False,
    json: Json = False,
) -> int:
    """Show one task: who ran what, with which parameters and grants, and each step."""
    from deskshell.cli import output, reports, tasks
    from deskshell.cli.session import open_app

    app = open_app()
    reports.tell_pending(app)
    detail = app.show(task)
    if json:
        shown = detail.to_json()
        if diff:
            shown["diff"] = [each.to_json() for each in app.diff(task)]
        output.json_object(shown)
        return 0
    tasks.say_detail(detail)
    if diff:
        tasks.say_diff(app.diff(task))
    return 0


def as_recorded(path: str) -> bytes:
    """`path` in the form of the journal: absolute, its folder free of links, the last name as it is."""
    import os

    from deskshell.files import paths

    return paths.resolve_target(os.fsencode(os.path.abspath(os.path.expanduser(path))))


def _since_ms(text: str) -> int:
    from deskshell.cli.moments import since_ms  # calendars are for those who ask by date

    return since_ms(text)
