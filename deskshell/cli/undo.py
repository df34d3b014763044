"""`deskshell undo` and `deskshell redo`."""

from __future__ import annotations

from typing import Annotated, Any

from deskshell.cli import complete
from deskshell.cli.options import Json, command, option, single
from deskshell.errors import UsageError

undo = single()
redo = single()


@undo.command(
    **command(
        [
            "deskshell undo                    # the newest task",
            "deskshell undo --last 3           # the three newest, newest first",
            "deskshell undo --since 30m        # what was started in the last half hour",
            "deskshell undo --task task-1793201984999 --check",
        ],
        {
            "0": "all asked for is undone, or already was; with --check: would be",
            "1": "some of it is still there; each such step is named with its cause",
            "2": "",
            "3": "",
            "4": "",
            "70": "",
            "130": "stopped after the task in hand; 129 and 143 for HUP and TERM",
        },
    ),
)
def _undo(
    *,
    task: Annotated[
        str | None, option(metavar="ID", help="undo this task", autocompletion=complete.task_ids)
    ] = None,
    last: Annotated[
        int | None,
        option(metavar="[N]", min=1, bare="1", help="undo the N newest tasks; 1 when N is left out"),
    ] = None,
    since: Annotated[
        str | None,
        option(metavar="TIME", help='undo the tasks started since then: 30m, 2h, 1d, or "2026-01-15 09:30"'),
    ] = None,
    step: Annotated[
        list[str] | None, option(metavar="ID", help="only this step of the task; may be repeated")
    ] = None,
    check: Annotated[bool, option("--check", help="say what would happen, and change nothing")] = False,
    force: Annotated[
        bool,
        option("--force", help="go ahead where files were changed since; what is there now is kept"),
    ] = False,
    all_or_nothing: Annotated[
        bool, option("--all-or-nothing", help="touch nothing unless everything can be undone")
    ] = False,
    json: Json = False,
) -> int:
    """Take tasks back: exactly, and never over work that was done since.

    Without --task, --last or --since it is the newest task.
    """
    if sum(given is not None for given in (task, last, since)) > 1:
        raise UsageError("`--task`, `--last` and `--since` exclude each other", hint="give one of them")
    if check and (force or all_or_nothing):
        raise UsageError(
            "`--check` changes nothing, so `--force` and `--all-or-nothing` mean nothing with it",
            hint="check first, then undo",
        )
    from deskshell.cli import output, reports
    from deskshell.cli.session import Secrets, open_app

    which: dict[str, Any] = {
        "task": task,
        "last": last or (1 if task is None and since is None else None),
        "since_ms": None if since is None else _since_ms(since),
        "steps": tuple(step or ()),
    }
    app = open_app(progress=not json)
    if check:
        reports.tell_pending(app)
        report = app.undo_check(**which)
    else:
        report = app.undo(**which, force=force, all_or_nothing=all_or_nothing, secrets=Secrets())
    if json:
        output.json_object(report.to_json())
    else:
        reports.undo_report(report)
    return report.exit_code


@redo.command(
    **command(
        ["deskshell redo                        # the newest task that was undone"],
        {
            "0": "done again, exactly as it was",
            "1": "some of it could not be done again",
            "2": "",
            "3": "",
            "4": "",
            "70": "",
            "130": "",
        },
    )
)
def _redo(
    *,
    task: Annotated[
        str | None, option(metavar="ID", help="redo this task", autocompletion=complete.task_ids)
    ] = None,
    json: Json = False,
) -> int:
    """Take an undo back: what it removed was held, and the very objects return."""
    from deskshell.cli import output, reports
    from deskshell.cli.session import open_app

    report = open_app(progress=not json).redo(task)
    if json:
        output.json_object(report.to_json())
    else:
        reports.undo_report(report, word="redone")
    return report.exit_code


def _since_ms(text: str) -> int:
    from deskshell.cli.moments import since_ms  # calendars are for those who ask by date

    return since_ms(text)
