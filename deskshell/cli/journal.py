"""`deskshell journal verify` and `deskshell journal path`."""

from __future__ import annotations

from deskshell.cli.options import Json, command, several

journal = several("Check the journal, or say where it is.")


@journal.command(
    "verify",
    **command(
        ["deskshell journal verify"],
        {"0": "every line is as it was written", "1": "something is damaged or missing", "2": "", "70": ""},
        short="test every line against its check",
    ),
)
def _verify(*, json: Json = False) -> int:
    """Test every line of every journal file against its check, and each file against the next."""
    from deskshell.cli import output, upkeep
    from deskshell.cli.session import open_app

    report = open_app().journal_verify()
    if json:
        output.json_object(upkeep.verified_json(report))
    else:
        upkeep.say_verified(report)
    return 0 if report.ok else 1


@journal.command(
    "path", **command(["less $(deskshell journal path)"], ["0", "2", "70"], short="print where its files are")
)
def _path(*, json: Json = False) -> int:
    """Print the journal's files, oldest first, a line each; nothing when there is none yet."""
    import os

    from deskshell.cli import output
    from deskshell.cli.session import open_app

    paths = open_app().journal_paths()
    if json:
        output.json_object({"paths": [os.fspath(path) for path in paths]})
    else:
        for path in paths:
            output.say(os.fspath(path))
    return 0
