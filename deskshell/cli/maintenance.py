"""`deskshell recover`, `deskshell gc` and `deskshell doctor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from deskshell.cli import complete
from deskshell.cli.options import Json, command, option, single
from deskshell.errors import UsageError

Number = TypeVar("Number", int, float)

recover = single()
gc = single()
doctor = single()


@recover.command(
    **command(
        ["deskshell recover"],
        {
            "0": "closed, all as before; or nothing was open",
            "2": "",
            "3": "closed, but changes remain that could not be taken back",
            "4": "",
            "70": "",
        },
    )
)
def _recover(*, json: Json = False) -> int:
    """Close what a crash, a kill or a power cut left open: take the interrupted task back.

    Every command that changes something does this first; nothing needs it to be run by hand.
    """
    from deskshell.cli import output, reports
    from deskshell.cli.session import open_app

    found = open_app(progress=not json).recover()
    if json:
        output.json_object({"recovered": [each.to_json() for each in found]})
    elif found:
        reports.recovered_reports(found)
    else:
        output.say("nothing was left open")
    return max((each.exit_code for each in found if each.status != "rolled-back"), default=0)


@gc.command(
    **command(
        [
            "deskshell gc --dry-run",
            "deskshell gc --keep 7d",
            "deskshell gc --task task-1793201984999  # frees its space, ends its undo",
        ],
        ["0", "2", "4", "70"],
    )
)
def _gc(
    *,
    keep: Annotated[
        str | None,
        option(metavar="AGE", help="keep undo data this long, such as 30d (default: the setting)"),
    ] = None,
    max_bytes: Annotated[
        str | None,
        option(metavar="SIZE", help="keep at most this much, such as 5GB (default: the setting)"),
    ] = None,
    task: Annotated[
        str | None,
        option(metavar="ID", help="only this task's undo data, now", autocompletion=complete.task_ids),
    ] = None,
    journal: Annotated[
        bool,
        option("--journal", help="also drop the oldest journal files, when nothing in them can be undone"),
    ] = False,
    dry_run: Annotated[bool, option("--dry-run", help="say what would go, and drop nothing")] = False,
    json: Json = False,
) -> int:
    """Drop undo data that is old or takes too much space; the newest task's stays.

    What is deleted by a task is held until then, so deleting frees no space before.
    """
    from deskshell import config
    from deskshell.cli import output, upkeep
    from deskshell.cli.session import open_app

    keep_s = _value("--keep", keep, config.duration_s)
    most_bytes = _value("--max-bytes", max_bytes, config.size_bytes)
    app = open_app(progress=not json)
    report = app.gc(keep_s=keep_s, max_bytes=most_bytes, task=task, dry_run=dry_run, journal=journal)
    if json:
        output.json_object(report.to_json())
    else:
        upkeep.say_gc(report)
    return 0


def _value(option: str, text: str | None, read: Callable[[object], Number]) -> Number | None:
    """`text` as `read` takes it, None when it was not given. Raises UsageError naming the option."""
    try:
        return None if text is None else read(text)
    except ValueError as exc:
        raise UsageError(f"`{option} {text}` is no value for it", hint=str(exc)) from exc


@doctor.command(
    **command(
        ["deskshell doctor"],
        {"0": "nothing is wrong (warnings may be shown)", "1": "a check failed", "2": "", "70": ""},
    )
)
def _doctor(*, json: Json = False) -> int:
    """Look at the state folder, its permissions, the file systems, the free space and the journal."""
    from deskshell.cli import output, upkeep
    from deskshell.cli.session import open_app

    checks = open_app().doctor()
    if json:
        output.json_object({"checks": [each.to_json() for each in checks]})
    else:
        upkeep.say_checks(checks)
    return 1 if any(each.ok is False for each in checks) else 0
