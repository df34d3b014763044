"""`deskshell story`: a run, or a failure and its rollback, on a folder made for it and thrown away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from deskshell.cli.options import Json, command, option, single
from deskshell.slotted import replace

if TYPE_CHECKING:
    from deskshell.app import App
    from deskshell.kernel.report import TaskReport, UndoReport

story = single()

_MANIFEST = """\
name = "story"
version = "1.0.0"
summary = "Three steps in an empty folder"

[params.folder]
type = "path"
help = "an empty folder"

[[capabilities]]
name = "fs.read"
scope = ["{folder}"]
reason = "look at what was written"

[[capabilities]]
name = "fs.write"
scope = ["{folder}"]
reason = "write two files and make a folder"

[[steps]]
id = "1-write-a"
action = "fs.write"
path = "{folder}/a.txt"
text = "the first file\\n"

[[steps]]
id = "2-mkdir-sub"
action = "fs.mkdir"
path = "{folder}/sub"

[[steps]]
id = "3-write-b"
action = "fs.write"
path = "{folder}/sub/b.txt"
text = "the second file\\n"
"""
#: Looked at after the third step has written its file, so its own effects have to be taken back too.
_MUST_FAIL = 'assert = [{ exists = "{folder}/sub/no-such-file" }]\n'


@story.command(
    **command(
        ["deskshell story", "deskshell story --fail"],
        {
            "0": "told as it should be; with --fail, too, where failing is the story",
            "1": "it did not go as it should",
            "2": "",
            "70": "",
        },
    )
)
def _story(
    *,
    fail: Annotated[
        bool, option("--fail", help="let the third step fail after it has written its file")
    ] = False,
    json: Json = False,
) -> int:
    """Tell by example what a run, an undo and a rollback are. Nothing of yours is touched."""
    import tempfile

    from deskshell.cli import output

    with tempfile.TemporaryDirectory(prefix="deskshell-story-") as place:
        top = Path(place)
        skill, folder = top / "story", top / "folder"
        skill.mkdir()
        folder.mkdir()
        (skill / "skill.toml").write_text(_MANIFEST + (_MUST_FAIL if fail else ""), encoding="utf-8")
        app = _app(top / "state")
        prepared = app.prepare(str(skill), {"folder": str(folder)}, cwd=top)
        report = app.run(prepared)
        undone = None if report.status != "ok" else app.undo(task=report.task_id)
        items = sum(1 for _ in folder.rglob("*"))
    if json:
        output.json_object(
            {"run": report.to_json(), "undo": undone.to_json() if undone else None, "items": items}
        )
    else:
        _tell(report, undone, items)
    expected = report.status == ("rolled-back" if fail else "ok")
    return 0 if expected and items == 0 else 1


def _app(home: Path) -> App:
    """The ordinary app, with a state folder that goes with the story."""
    import os

    from deskshell import config
    from deskshell.app import App

    return App(replace(config.load(os.environ), home=home), front="cli")


def _tell(report: TaskReport, undone: UndoReport | None, items: int) -> None:
    from deskshell.cli import output
    from deskshell.cli.output import Styled
    from deskshell.cli.wording import count

    for step in report.steps:
        if step.status == "failed":
            output.say(Styled("✗", "red"), f" {step.action_id}  {step.error}")
        elif step.status in ("ok", "rolled-back"):
            output.say(Styled("✓", "green"), f" {step.action_id}")
    left = f"left in the folder: {count(items, 'item')}" + (" (empty)" if not items else "")
    if undone is not None:
        output.say(f"undone {count(undone.rolled_back, 'step')}; {left}")
    else:
        own = " (the failing one's own effects included)"
        output.say(f"rolled back {count(report.rolled_back, 'step')}{own}; {left}")
    for each in report.left:
        output.say(f"  {each.action_id}: {each.reason}")
