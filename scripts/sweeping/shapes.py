"""The shapes of plans that are swept, each a small world, the tasks before it, and the command under test.

`{w}` is the world's folder, `{x}` one on another file system (only where `CROSS_DEVICE` names one).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Files = dict[str, Any]  # relative name → text, None for a folder, ("->", target) for a link


@dataclass(frozen=True)
class Shape:
    """One thing to sweep.

    `steps` is the manifest's steps as TOML; `first` are commands run before it, undisturbed; `run` is
    the command under test. `ends_at` says what a finished `run` leaves: `after` (the steps done) or
    `before` (as the world was before `first`). `fails` marks a plan whose last step fails; `apart` puts the state
    folder on another file system, so that nothing can be held by rename.
    """

    name: str
    files: Files
    steps: str
    first: tuple[str, ...] = ()
    run: str = "deskshell run {skill} --mode apply --json"
    edit: str = ""
    fails: bool = False
    cross_device: bool = False
    apart: bool = False
    env: dict[str, str] = field(default_factory=dict)


def _step(action: str, id_: str = "", **keys: str) -> str:
    lines = ["[[steps]]", f'id = "{id_ or action}"', f'action = "{action}"']
    lines += [f"{key.rstrip('_')} = {value}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _q(text: str) -> str:
    return f'"{text}"'


_WORLD: Files = {
    "a.txt": "alpha\n",
    "b.txt": "beta\n",
    "c.txt": "gamma\n",
    "sub/d.txt": "delta\n",
    "sub/deep/e.txt": "epsilon\n",
    "link": ("->", "a.txt"),
    "stranger.txt": "not ours\n",
}
_MOVE = _step("fs.move", "move", from_=_q("{folder}/a.txt"), to=_q("{folder}/new/deep/a.txt"))
_NEW = _step("fs.write", "new", path=_q("{folder}/made/n.txt"), text=_q("new text"))
_OVER = _step("fs.write", "over", path=_q("{folder}/b.txt"), text=_q("other text"))
_DELETE = _step("fs.delete", "delete", path=_q("{folder}/c.txt"))
_DELETE_FOLDER = _step("fs.delete", "delete-folder", path=_q("{folder}/sub"))
_MKDIR = _step("fs.mkdir", "mkdir", path=_q("{folder}/one/two"))
_COPY = _step("fs.copy", "copy", from_=_q("{folder}/stranger.txt"), to=_q("{folder}/copies/s.txt"))
_COPY_FOLDER = _step("fs.copy", "copy-folder", from_=_q("{folder}/sub"), to=_q("{folder}/sub2"))
_LINK = _step("fs.symlink", "link", path=_q("{folder}/l2"), target=_q("b.txt"))
_CHMOD = _step("fs.chmod", "chmod", path=_q("{folder}/b.txt"), mode=_q("0600"))
_GZIP = _step(
    "fs.compress", "gzip", from_=_q("{folder}/c.txt"), to=_q("{folder}/c.txt.gz"), format=_q("gzip")
)
_SWAP = _step("fs.move", "ab", from_=_q("{folder}/a.txt"), to=_q("{folder}/b.txt")) + _step(
    "fs.move", "ba", from_=_q("{folder}/b.txt"), to=_q("{folder}/a.txt")
)
_CYCLE = (
    _step("fs.move", "ab", from_=_q("{folder}/a.txt"), to=_q("{folder}/b.txt"))
    + _step("fs.move", "bc", from_=_q("{folder}/b.txt"), to=_q("{folder}/c.txt"))
    + _step("fs.move", "ca", from_=_q("{folder}/c.txt"), to=_q("{folder}/a.txt"))
)
_CHAIN = _step("fs.move", "one", from_=_q("{folder}/a.txt"), to=_q("{folder}/m/a.txt")) + _step(
    "fs.move", "two", from_=_q("{folder}/m"), to=_q("{folder}/n")
)
_FAILS = _step(
    "fs.write",
    "fails",
    path=_q("{folder}/fails.txt"),
    text=_q("x"),
    assert_='[{ exists = "{folder}/never" }]',
)
_FAILING = _MOVE + _OVER + _FAILS + _CHMOD
_ALL = _MOVE + _NEW + _OVER + _DELETE + _COPY + _LINK + _MKDIR
_ACROSS = _step("fs.move", "across", from_=_q("{folder}/a.txt"), to=_q("{other}/a.txt"))
_ACROSS_FOLDER = _step("fs.move", "across-folder", from_=_q("{folder}/sub"), to=_q("{other}/sub"))
_REPLACE = _step(
    "fs.move",
    "replace",
    from_=_q("{folder}/a.txt"),
    to=_q("{folder}/b.txt"),
    on_conflict=_q("replace"),
)

_RUN = "deskshell run {skill} --mode apply --json"
_UNDO = "deskshell undo --json"
_SMALL_JOURNAL = {"DESKSHELL_JOURNAL_MAX_BYTES": "600"}

SHAPES: tuple[Shape, ...] = (
    Shape("move", _WORLD, _MOVE),
    Shape("write-new", _WORLD, _NEW),
    Shape("write-over", _WORLD, _OVER),
    Shape("delete", _WORLD, _DELETE + _DELETE_FOLDER),
    Shape("mkdir", _WORLD, _MKDIR),
    Shape("copy", _WORLD, _COPY + _COPY_FOLDER),
    Shape("compress", _WORLD, _GZIP),
    Shape("symlink", _WORLD, _LINK),
    Shape("chmod", _WORLD, _CHMOD),
    Shape("replace", _WORLD, _REPLACE),
    Shape("swap", _WORLD, _SWAP),
    Shape("cycle", _WORLD, _CYCLE),
    Shape("chain", _WORLD, _CHAIN),
    Shape("all", _WORLD, _ALL),
    Shape("failing", _WORLD, _FAILING, fails=True),
    Shape("undo", _WORLD, _ALL, first=(_RUN,), run=_UNDO),
    Shape(
        "undo-force",
        _WORLD,
        _NEW + _OVER,
        first=(_RUN,),
        edit="b.txt",
        run="deskshell undo --force --json",
    ),
    Shape("redo", _WORLD, _ALL, first=(_RUN, _UNDO), run="deskshell redo --json"),
    Shape(
        "rotation",
        _WORLD,
        _MOVE,
        first=("deskshell run {other_skill} --mode apply --json",),
        env=_SMALL_JOURNAL,
    ),
    Shape(
        "gc",
        _WORLD,
        _DELETE,
        first=(_RUN, "deskshell run {other_skill} --mode apply --json"),
        run="deskshell gc --keep 0s --json",
    ),
    Shape(
        "plan-apply",
        _WORLD,
        _ALL,
        first=("deskshell plan {skill} --json > plan.json",),
        run="deskshell apply {plan} --json",
    ),
    Shape("across", _WORLD, _ACROSS, cross_device=True),
    Shape("across-folder", _WORLD, _ACROSS_FOLDER, cross_device=True),
    Shape("across-undo", _WORLD, _ACROSS + _ACROSS_FOLDER, first=(_RUN,), run=_UNDO, cross_device=True),
    Shape("apart", _WORLD, _OVER + _DELETE + _DELETE_FOLDER, cross_device=True, apart=True),
    Shape("apart-failing", _WORLD, _OVER + _DELETE + _FAILS, fails=True, cross_device=True, apart=True),
    Shape(
        "apart-undo",
        _WORLD,
        _OVER + _DELETE + _DELETE_FOLDER,
        first=(_RUN,),
        run=_UNDO,
        cross_device=True,
        apart=True,
    ),
    Shape(
        "apart-redo",
        _WORLD,
        _OVER + _DELETE + _DELETE_FOLDER,
        first=(_RUN, _UNDO),
        run="deskshell redo --json",
        cross_device=True,
        apart=True,
    ),
)


def find(name: str) -> Shape:
    """The shape with this name. Raises KeyError."""
    return {shape.name: shape for shape in SHAPES}[name]
