"""Worlds to measure in: folders of files, skills that tidy them, and what does the same without deskshell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from scripts.bench import make_tree
from scripts.bench.harness import Bench, Used, run

SCOPES = """
[params.folder]
type = "path"

[[capabilities]]
name = "fs.read"
scope = ["{folder}"]
reason = "find the files"

[[capabilities]]
name = "fs.write"
scope = ["{folder}"]
reason = "change them"
"""
TIDY = """
[[steps]]
action = "fs.move"
for_each = { files = "{folder}/*" }
from = "{file.path}"
to = "{folder}/sorted/{file.ext}/"
"""
#: Walks everything and chooses nothing: what is left is the walk.
WALK = """
[[steps]]
action = "fs.move"
for_each = { files = "{folder}/**/*", ext = "no-such-ending" }
from = "{file.path}"
to = "{folder}/sorted/"
"""
MOVE_EVERYTHING = """
[[steps]]
action = "fs.move"
for_each = { files = "{folder}/from/*" }
from = "{file.path}"
to = "{folder}/to/"
"""
MOVE_ALL = """
[[steps]]
action = "fs.move"
for_each = { files = "{folder}/**/*" }
from = "{file.path}"
to = "{folder}/sorted/{file.ext}/"
on_conflict = "number"
"""
WRITE_OVER = """
[[steps]]
action = "fs.write"
for_each = { files = "{folder}/old/*" }
path = "{file.path}"
from_file = "{folder}/new/{file.name}"
"""


def skill(bench: Bench, name: str, steps: str) -> str:
    """Write a skill with these steps; returns its path as `deskshell run` takes it."""
    folder = bench.work / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    head = f'name = "{name}"\nversion = "1.0.0"\nsummary = "for a benchmark"\n'
    (folder / "skill.toml").write_text(head + SCOPES + steps, encoding="utf-8")
    return str(folder)


def flat_folder(bench: Bench, name: str, files: int) -> Path:
    """A folder of `files` files of 4 KB with the names of a downloads folder; the same each time."""
    folder = bench.folder(name)
    make_tree.make(str(folder), files, files * 4096, 1, make_tree.Shape(flat=True, uniform=True, odd=0.0))
    return folder


def digest(folder: Path) -> str:
    """One digest of names, types, modes, sizes, times and contents."""
    return make_tree.digest(str(folder), mtime=True)


def names(folder: Path) -> str:
    """The names below `folder`, a line each: for worlds that differ in times only."""
    return "\n".join(sorted(str(path.relative_to(folder)) for path in folder.rglob("*")))


def apply(bench: Bench, path: str, folder: Path, state: str = "state") -> Used:
    """`deskshell run SKILL --mode apply` on `folder`."""
    words = [bench.program(), "run", path, "--set", f"folder={folder}", "--mode", "apply"]
    return run(words, bench.state(state))


def preview(bench: Bench, path: str, folder: Path) -> Used:
    """`deskshell run SKILL` on `folder`."""
    return run([bench.program(), "run", path, "--set", f"folder={folder}"], bench.state())


def undo(bench: Bench, state: str = "state") -> Used:
    """`deskshell undo --last`."""
    return run([bench.program(), "undo", "--last"], bench.state(state))


class Mv:
    """The same tidying by `mv -t`, one call a folder, and back by one call more; the lists are made beforehand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        names: dict[str, list[str]] = {}
        for name in sorted(os.listdir(folder)):
            if (folder / name).is_file():
                names.setdefault(name.rpartition(".")[2], []).append(name)
        self.there = folder.parent / f"{folder.name}-there.sh"
        self.back = folder.parent / f"{folder.name}-back.sh"
        calls = [f"cd {_quoted(str(folder))}"]
        calls += [f"mkdir -p sorted/{ending}" for ending in names]
        for ending, found in names.items():
            calls += [f"mv -t sorted/{ending} -- {words}" for words in _chunks(found)]
        self.there.write_text("set -e\n" + "\n".join(calls) + "\n")
        calls = [f"cd {_quoted(str(folder))}"]
        for ending, found in names.items():
            calls += [
                f"mv -t . -- {words}" for words in _chunks([f"sorted/{ending}/{name}" for name in found])
            ]
        calls += [f"rmdir sorted/{ending}" for ending in names]
        self.back.write_text("set -e\n" + "\n".join([*calls, "rmdir sorted"]) + "\n")

    def do(self) -> Used:
        """Tidy."""
        return run(["sh", str(self.there)], os.environ)

    def undo(self) -> Used:
        """Put everything back."""
        return run(["sh", str(self.back)], os.environ)


def _chunks(names: list[str], most: int = 2000) -> list[str]:
    """Words for command lines that are not too long."""
    return [" ".join(map(_quoted, names[at : at + most])) for at in range(0, len(names), most)]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def has(program: str) -> bool:
    """Whether a program is installed."""
    return (
        subprocess.run(["sh", "-c", f"command -v {program}"], capture_output=True, check=False).returncode
        == 0
    )
