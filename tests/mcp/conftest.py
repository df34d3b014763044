"""A folder, a state folder, and servers on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.agents import MODES
from tests.support.planning import Shell

pytest.importorskip("mcp", reason="the extra deskshell[mcp] is not installed")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """The protocol's era: its newest revision, or the one with a handshake."""
    return str(request.param)


@pytest.fixture
def skill(shell: Shell) -> Shell:
    """The skills `tidy` (moves texts into `done`) and `final` (the same, and it cannot be undone)."""
    for name, more in (("tidy", ""), ("final", "irreversible = true\n")):
        folder = shell.root.parent / "skills" / name
        folder.mkdir(parents=True)
        (folder / "skill.toml").write_text(_SKILL.replace("NAME", name) + more)
    return shell


_SKILL = """
name = "NAME"
version = "1.0.0"
summary = "put texts away"

[params.folder]
type = "path"
default = "."
help = "the folder"

[[capabilities]]
name = "fs.read"
scope = ["{folder}"]
reason = "look"

[[capabilities]]
name = "fs.write"
scope = ["{folder}"]
reason = "move"

[[steps]]
id = "move:{file.name}"
for_each = { files = "{folder}/*.txt" }
action = "fs.move"
from = "{file.path}"
to = "{folder}/done/{file.name}"
"""
