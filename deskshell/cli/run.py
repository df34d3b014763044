"""`deskshell run`: preview, ask, apply."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from deskshell.cli import complete
from deskshell.cli.options import EXIT_CODES, Json, argument, command, option, single
from deskshell.errors import UsageError

if TYPE_CHECKING:
    from deskshell.app import App, Prepared

run = single()


class Mode(StrEnum):
    """What `run` does with the plan."""

    PREVIEW = "preview"
    APPLY = "apply"


@run.command(
    **command(
        [
            "deskshell run downloads-cleanup --set folder=~/Downloads         # a preview",
            "deskshell run downloads-cleanup --set folder=~/Downloads --ask",
            "deskshell run ./skills/mine --mode apply --set year=2026 --set keep=yes",
        ],
        EXIT_CODES | {"1": "failed; everything is as before"},
    )
)
def _run(
    skill: Annotated[
        str,
        argument(
            metavar="SKILL",
            help="a skill's name, or the path of its folder (./skills/mine)",
            autocompletion=complete.skill_names,
            show_default=False,
        ),
    ],
    *,
    mode: Annotated[
        Mode | None,
        option(metavar="preview|apply", help="preview (default) changes nothing; apply does it"),
    ] = None,
    ask: Annotated[
        bool, option("--ask", help="ask for each capability, then apply; anything but y or yes cancels")
    ] = False,
    allow_irreversible: Annotated[
        bool, option("--allow-irreversible", help="agree to steps that cannot be undone")
    ] = False,
    grant: Annotated[
        list[str] | None,
        option(
            metavar="CAP",
            help="grant only this capability of those the skill declares; may be repeated",
            autocompletion=complete.capabilities,
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        option("--set", metavar="NAME=VALUE", help="value of a parameter; may be repeated"),
    ] = None,
    json: Json = False,
) -> int:
    """Show what a skill would do, or do it.

    Without --mode and --ask it is a preview: it asks nothing and changes nothing. --mode apply grants what the
    skill declares, for this one run.
    """
    if ask and mode is Mode.PREVIEW:
        raise UsageError(
            "`--ask` applies after the questions, `--mode preview` changes nothing",
            hint="leave out one of them",
        )
    given = parameters(values or ())
    from deskshell.cli import output
    from deskshell.cli.session import Secrets, open_app, working_folder

    secrets = Secrets()
    app = open_app(progress=not json)
    applies = ask or mode is Mode.APPLY
    # A question may still be answered with no, and then nothing at all has happened.
    closed = app.close_interrupted() if applies and not ask else []
    prepared = app.prepare(skill, given, cwd=working_folder(), grants=grant or None)
    if not applies:
        return _preview(prepared, skill, given, grant, json=json)
    app.admit_run(prepared, at_terminal=ask and output.is_terminal(sys.stdin))
    if ask:
        _ask(prepared, json=json)
    return _apply(
        app,
        prepared,
        agreed=allow_irreversible or (ask and prepared.needs_consent),
        secrets=secrets,
        closed=closed,
        json=json,
    )


def parameters(values: Sequence[str]) -> dict[str, str]:
    """The values of `--set NAME=VALUE`. Raises UsageError for one without `=` and for a name given twice."""
    found: dict[str, str] = {}
    for each in values:
        name, equals, value = each.partition("=")
        if not (name and equals):
            raise UsageError(f"`--set {each}` has no name and value", hint="write it as --set NAME=VALUE")
        if name in found:
            raise UsageError(f"`--set {name}=…` is given twice", hint="give each parameter once")
        found[name] = value
    return found


def _preview(
    prepared: Prepared, skill: str, given: Mapping[str, str], grant: Sequence[str] | None, *, json: bool
) -> int:
    from deskshell.cli import output, previews

    report = prepared.report()
    if json:
        output.json_object(report.to_json())
    else:
        previews.say_preview(prepared)
        if report.steps:
            previews.say_how_to_apply(prepared, skill, given, grant or ())
    return report.exit_code


def _ask(prepared: Prepared, *, json: bool) -> None:
    """Show the plan, then ask. Raises Cancelled, before anything has happened."""
    from deskshell.cli import ask, output, previews

    if not prepared.plan.steps:
        return
    with output.data_to_stderr(json):
        previews.say_preview(prepared)
    ask.all_agreed(prepared.questions)


def _apply(
    app: App,
    prepared: Prepared,
    *,
    agreed: bool,
    secrets: Mapping[str, str],
    closed: Sequence[str],
    json: bool,
) -> int:
    from deskshell.cli import output, reports

    report = app.run(prepared, allow_irreversible=agreed, secrets=secrets)
    report.notes[:0] = closed
    if json:
        output.json_object(report.to_json())
    else:
        reports.run_report(report)
    return report.exit_code
