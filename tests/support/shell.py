"""deskshell as a person at a prompt meets it: skills written for the moment, commands, and what they answer.

    shell = Shell.below(tmp_path)
    shell.make({"a.txt": "one"})
    done = shell.run(move("a.txt", "docs/a.txt"))
    shell.undo()

Commands run in this process, which saves their start; `process` runs one as its users do. Nothing but
the command line is used, so what holds here holds for every user of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from deskshell.cli import main
from deskshell.kernel.item import Forward
from tests.support.listing import Entry, difference, listing
from tests.support.process import Completed, Home, run_deskshell
from tests.support.trees import Content, make_files

Step = Mapping[str, Any]
LONG_AGO_S = 1_500_000_000.25


def move(src: str, dst: str, **more: Any) -> Step:
    """`fs.move`; like all of these a table of `[[steps]]`, with paths relative to the folder."""
    return {"action": "fs.move", "from": src, "to": dst, **more}


def copy(src: str, dst: str, **more: Any) -> Step:
    """`fs.copy`."""
    return {"action": "fs.copy", "from": src, "to": dst, **more}


def write(path: str, text: str, **more: Any) -> Step:
    """`fs.write`, over what is there."""
    return {"action": "fs.write", "path": path, "text": text, **more}


def delete(path: str) -> Step:
    """`fs.delete`."""
    return {"action": "fs.delete", "path": path}


def mkdir(path: str) -> Step:
    """`fs.mkdir`."""
    return {"action": "fs.mkdir", "path": path}


def symlink(path: str, target: str) -> Step:
    """`fs.symlink`."""
    return {"action": "fs.symlink", "path": path, "target": target}


def chmod(path: str, mode: str) -> Step:
    """`fs.chmod`."""
    return {"action": "fs.chmod", "path": path, "mode": mode}


def compress(src: str, dst: str, **more: Any) -> Step:
    """`fs.compress`."""
    return {"action": "fs.compress", "from": src, "to": dst, **more}


def fail() -> Step:
    """A step that is sure to fail when its turn comes."""
    return {"action": "noop", "id": "sure-to-fail", "assert": [{"exists": "is-not-there"}]}


@dataclass
class Shell:
    """A home and a folder to work in; see the module.

    `env` is added to the environment of every command; None takes a variable away.
    """

    home: Home
    folder: Path
    env: dict[str, str | None] = field(default_factory=dict)
    also: tuple[Path, ...] = ()  # further folders in the scope of every skill

    @classmethod
    def below(cls, top: Path) -> Shell:
        """A fresh one in the folder `top`."""
        folder = top / "folder"
        folder.mkdir()
        return cls(Home.below(top), folder)

    # the folder

    def make(self, entries: Mapping[str, Content], *, mtime: float | None = LONG_AGO_S) -> None:
        """Make files (see `trees.make_files`), with a time in the past so that one not kept is seen."""
        make_files(self.folder, entries, mtime=mtime)

    def listing(self) -> dict[str, Entry]:
        """The folder as a value."""
        return listing(self.folder)

    def changes(self, before: dict[str, Entry]) -> list[str]:
        """What differs now from `before`, a line each."""
        return difference(before, self.listing())

    def names(self) -> list[str]:
        """All names in the folder, sorted; temporaries of deskshell included."""
        return sorted(name for name in self.listing() if name != ".")

    def read(self, name: str) -> str:
        """The text of a file."""
        return (self.folder / name).read_text()

    # commands

    def __call__(self, *args: str, answers: str = "", code: int | None = 0) -> Completed:
        """Run `deskshell ARGS` in the folder; it has to end with `code` (None: however it likes)."""
        done = self._here(args, answers)
        assert code is None or done.code == code, f"exit {done.code}\n{done.out}{done.err}"
        return done

    def process(
        self, *args: str, answers: str = "", code: int | None = 0, timeout_s: float = 60
    ) -> Completed:
        """The same, as a process of its own."""
        done = run_deskshell(
            *args, home=self.home, cwd=self.folder, input=answers, env=self.env, timeout_s=timeout_s
        )
        assert code is None or done.code == code, f"exit {done.code}\n{done.out}{done.err}"
        return done

    def json(self, *args: str, code: int | None = 0) -> Any:
        """What `deskshell ARGS --json` answers."""
        return self(*args, "--json", code=code).json

    def run(self, *steps: Step, code: int | None = 0, options: Sequence[str] = (), **skill: Any) -> Any:
        """Run a skill of these steps; the report (or the error) as an object. Arguments as `skill`."""
        return self.json("run", self.skill(*steps, **skill), "--mode", "apply", *options, code=code)

    def preview(self, *steps: Step, code: int | None = 0, **skill: Any) -> Any:
        """What a run would do."""
        return self.json("run", self.skill(*steps, **skill), code=code)

    def undo(self, *args: str, code: int | None = 0) -> Any:
        """Undo, and the report."""
        return self.json("undo", *args, code=code)

    def tasks(self) -> list[dict[str, Any]]:
        """`log`: the tasks, newest first."""
        found: list[dict[str, Any]] = self.json("log")["tasks"]
        return found

    def skill(
        self,
        *steps: Step,
        capabilities: Sequence[str] = ("fs.read", "fs.write", "fs.delete"),
        scope: Sequence[str] | None = None,
        params: Mapping[str, Mapping[str, Any]] | None = None,
        name: str = "trial",
    ) -> str:
        """Write a skill beside the folder and give its path; an older one of that name goes."""
        place = self.home.user.parent / "own" / name
        place.mkdir(parents=True, exist_ok=True)
        roots = list(scope) if scope is not None else [str(self.folder), *map(str, self.also)]
        lines = [f"name = {_toml(name)}", 'version = "1.0.0"', 'summary = "For a test"']
        for key, param in (params or {}).items():
            lines += [f"[params.{key}]", *_pairs(param)]
        for capability in capabilities:
            lines += [
                "[[capabilities]]",
                *_pairs({"name": capability, "scope": roots, "reason": "to try it"}),
            ]
        for step in steps:
            lines += ["[[steps]]", *_pairs(step)]
        (place / "skill.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(place)

    # the state folder

    def journal(self) -> bytes:
        """All of the journal's files, one after the other."""
        paths = self.json("journal", "path")["paths"] if self.home.state.exists() else []
        return b"".join(Path(path).read_bytes() for path in paths)

    def lines(self) -> list[dict[str, Any]]:
        """The journal's lines as they stand in the files, oldest first."""
        return [json.loads(line) for line in self.journal().split(b"\n") if line]

    def _here(self, args: Sequence[str], answers: str) -> Completed:
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
        given = {**self.home.environment(), **self.env}
        environment = {name: value for name, value in given.items() if value is not None}
        before, cwd = sys.stdin, os.getcwd()
        os.chdir(self.folder)
        sys.stdin = io.TextIOWrapper(io.BytesIO(answers.encode()))
        try:
            with (
                mock.patch.dict(os.environ, environment, clear=True),
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                code = main.run(list(args))
        finally:
            sys.stdin = before
            os.chdir(cwd)
        return Completed(code, _text(out), _text(err))


@contextlib.contextmanager
def before_step(n: int, *strangers: Any) -> Iterator[list[int]]:
    """Let somebody else act right before the step number `n` of the next run does; yields the steps that acted.

    They act in a thread of their own: that of the task may change nothing outside of its folders.
    """
    real = Forward.do
    acted: list[int] = []

    def do(self: Forward, *args: Any) -> None:
        if self.n == n:
            for stranger in strangers:
                others.submit(stranger).result()
        acted.append(self.n)
        real(self, *args)

    with ThreadPoolExecutor(1) as others, mock.patch.object(Forward, "do", do):
        others.submit(len, "").result()  # its thread starts now, outside of the wall
        yield acted


def failures(report: Any) -> list[str]:
    """Why entries of an undo's report were refused: `verdict: path`, in its order."""
    return [
        f"{entry['verdict']}: {entry['path']}"
        for task in report["tasks"]
        for entry in task["entries"]
        if entry["verdict"] not in ("undone", "undoable", "already", "compensated")
    ]


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in table.items()]


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    # A JSON text is a TOML text, but for DEL and pairs of surrogates.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
