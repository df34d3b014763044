"""The files of a new skill: a small one that works, to be changed."""

from __future__ import annotations

_MANIFEST = """\
name = "{name}"
version = "0.1.0"
summary = "Move text files into a folder of their own"

[params.folder]
type = "path"
help = "the folder to work on"

[[capabilities]]
name = "fs.read"
scope = ["{{folder}}"]
reason = "see which files there are"

[[capabilities]]
name = "fs.write"
scope = ["{{folder}}"]
reason = "move files and create a folder"

[[steps]]
id = "move:{{file.name}}"
for_each = {{ files = "{{folder}}/*.txt", skip = [".*"] }}
action = "fs.move"
from = "{{file.path}}"
to = "{{folder}}/texts/{{file.name}}"
on_conflict = "number"
assert = [{{ exists = "{{to}}" }}]
"""

_TEXT = """\
---
name: {name}
description: Moves the text files of a folder into a subfolder `texts`. Use it when a folder has too many loose notes.
---

# {name}

Preview it, then run it:

    deskshell run {name} --set folder=~/notes
    deskshell run {name} --set folder=~/notes --mode apply

Files keep their names; one that is taken gets a number. `deskshell undo` puts everything back.
"""

_FIXTURE = """\
# A sample world: `deskshell skills test {name}` builds it, runs the skill, undoes it, and compares.
[params]
folder = "{{root}}/notes"

[[files]]
path = "notes/a.txt"
text = "one\\n"
mtime = "3d ago"

[[files]]
path = "notes/b.txt"
text = "two\\n"
mtime = "2h ago"

[[files]]
path = "notes/picture.png"
text = "not a text"
"""


def files(name: str) -> dict[str, str]:
    """File name → content, for a skill called `name`."""
    return {
        "skill.toml": _MANIFEST.format(name=name),
        "SKILL.md": _TEXT.format(name=name),
        "fixture.toml": _FIXTURE.format(name=name),
    }
