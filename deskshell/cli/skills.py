"""`deskshell skills …`: list, show, write, check and test skills."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from deskshell.cli import complete
from deskshell.cli.options import Json, argument, command, option, several
from deskshell.errors import UsageError

skills = several("List, show, write, check and test skills.")

Skill = Annotated[
    str,
    argument(
        metavar="SKILL",
        help="a skill's name, or the path of its folder",
        autocompletion=complete.skill_names,
        show_default=False,
    ),
]


@skills.command("list", **command(["deskshell skills list"], ["0", "2", "70"], short="list all skills"))
def _list(*, json: Json = False) -> int:
    """List the skills: your own, then the shipped ones."""
    from deskshell.cli import output
    from deskshell.cli.columns import say_table
    from deskshell.cli.session import open_app
    from deskshell.cli.wording import shell_path

    found = open_app().skills()
    if json:
        output.json_object({"skills": [each.to_json() for each in found]})
        return 0
    rows = [
        [each.name, each.version, each.summary, "shipped" if each.shipped else shell_path(str(each.where))]
        for each in found
    ]
    if rows:
        say_table(["skill", "version", "what it does", "where"], rows, flexible=(2, 3), droppable=(1, 3))
    else:
        output.tell("no skills; write one with `deskshell skills new NAME`")
    return 0


@skills.command(
    "show",
    **command(
        ["deskshell skills show downloads-cleanup"],
        ["0", "2", "70"],
        short="what a skill takes, asks for and does",
    ),
)
def _show(skill: Skill, *, json: Json = False) -> int:
    """Show what a skill takes, what it asks for, and what it does."""
    from deskshell.cli import output, skill_texts
    from deskshell.cli.session import open_app, working_folder

    found = open_app().skill(skill, working_folder())
    if json:
        output.json_object(skill_texts.skill_json(found))
    else:
        skill_texts.say_skill(found)
    return 0


@skills.command(
    "new",
    **command(
        ["deskshell skills new tidy-scans", "deskshell skills new tidy-scans --in ./skills"],
        ["0", "2", "70"],
        short="write a new skill to begin with",
    ),
)
def _new(
    name: Annotated[str, argument(metavar="NAME", help="a-z, 0-9 and -", show_default=False)],
    *,
    folder: Annotated[
        Path | None,
        option("--in", metavar="DIR", help="where to make its folder (default: your skills folder)"),
    ] = None,
    json: Json = False,
) -> int:
    """Write a new skill to begin with: manifest, description and a sample world for its test."""
    from deskshell.cli import output
    from deskshell.cli.session import open_app

    made = open_app().skill_new(name, None if folder is None else folder.absolute())
    if json:
        output.json_object({"name": name, "folder": str(made)})
        return 0
    output.say(f"made {made}")
    output.tell(f"hint: edit `{made / 'skill.toml'}`, then try it with `deskshell skills test {name}`")
    return 0


@skills.command(
    "check",
    **command(
        ["deskshell skills check tidy-scans", "deskshell skills check ./skills/tidy-scans"],
        {
            "0": "no mistake; warnings may be shown",
            "1": "a mistake: it cannot work as it is",
            "2": "the manifest cannot be read",
            "70": "",
        },
        short="look for mistakes",
    ),
)
def _check(skill: Skill, *, json: Json = False) -> int:
    """Look for mistakes: unknown names, capabilities too wide or missing, steps that cannot be undone."""
    from deskshell.cli import output, skill_texts
    from deskshell.cli.session import open_app, working_folder

    found = open_app().skill_check(skill, working_folder())
    if json:
        output.json_object({"skill": skill, "findings": [each.to_json() for each in found]})
    else:
        skill_texts.say_findings(skill, found)
    return 1 if any(each.level == "error" for each in found) else 0


@skills.command(
    "test",
    **command(
        ["deskshell skills test photo-sort", "deskshell skills test --all"],
        {
            "0": "run and undone byte for byte (or skipped, with its reason)",
            "1": "a difference",
            "2": "",
            "70": "",
        },
        short="run and undo skills on their sample worlds",
    ),
)
def _test(
    names: Annotated[
        list[str] | None,
        argument(
            metavar="[SKILL]...",
            help="names, or paths of folders",
            autocompletion=complete.skill_names,
            show_default=False,
        ),
    ] = None,
    *,
    every: Annotated[bool, option("--all", help="all skills that there are")] = False,
    json: Json = False,
) -> int:
    """Build a skill's sample world in a fresh folder, run it, undo it, and compare byte for byte."""
    if bool(names) == every:
        raise UsageError(
            "name the skills to test, or give `--all`", hint="see them with `deskshell skills list`"
        )
    from deskshell.cli import output, skill_texts
    from deskshell.cli.session import open_app, working_folder

    app = open_app()
    done = []
    for name in names or [each.name for each in app.skills()]:
        result = app.skill_test(name, working_folder())
        done.append((name, result))
        if not json:
            skill_texts.say_test(result)
    if json:
        output.json_object({"tests": [skill_texts.test_json(name, each) for name, each in done]})
    return 0 if all(each.ok or each.skipped for _, each in done) else 1


@skills.command(
    "schema",
    **command(
        ["deskshell skills schema > skill.schema.json"], ["0", "70"], short="the JSON Schema of skill.toml"
    ),
)
def _schema() -> int:
    """Print the JSON Schema of `skill.toml`, for editors and agents."""
    from deskshell.cli import output
    from deskshell.cli.session import open_app

    output.json_object(open_app().schema())
    return 0
