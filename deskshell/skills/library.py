"""Finding skills: by name in the user's folder and among the shipped ones, or by path."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskshell.errors import DeskshellError, NotFound, UsageError
from deskshell.files import names, reading
from deskshell.kernel.action import Action
from deskshell.skills.suggest import nearest

if TYPE_CHECKING:
    from deskshell.skills.model import Manifest

MANIFEST = "skill.toml"
TEXT = "SKILL.md"
FIXTURE = "fixture.toml"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

Kinds = Mapping[str, type[Action]]


class Skill:
    """A skill's folder. Its manifest is read when first asked for, so that listing survives a broken one."""

    def __init__(self, name: str, folder: Path, kinds: Kinds, shipped: bool = False) -> None:
        self.name = name
        self.folder = folder
        self.kinds = kinds
        self.shipped = shipped

    def __repr__(self) -> str:
        return f"Skill({self.name!r}, {str(self.folder)!r})"

    @cached_property
    def manifest(self) -> Manifest:
        """Raises ManifestError, NotFound, IrreversibleError (see `manifest.load`)."""
        from deskshell.errors import ManifestError
        from deskshell.skills import manifest

        found = manifest.load(self.manifest_path, self.kinds)
        if found.name != self.name:
            raise ManifestError(
                f"`{names.show(self.manifest_path)}`: `name` is `{found.name}`, but its folder is called `{self.name}`",
                hint="make the two equal",
            )
        return found

    @property
    def manifest_path(self) -> bytes:
        """The path of skill.toml."""
        return os.fsencode(self.folder / MANIFEST)

    @property
    def where(self) -> Path:
        """Its folder."""
        return self.folder

    @property
    def text(self) -> str:
        """What SKILL.md says, "" when there is none that can be read."""
        try:
            return reading.read_file(-100, os.fsencode(self.folder / TEXT), 1 << 20).decode("utf-8")
        except (OSError, DeskshellError, UnicodeDecodeError):
            return ""

    @property
    def version(self) -> str:
        """The manifest's, "?" when it cannot be read."""
        try:
            return self.manifest.version
        except DeskshellError:
            return "?"

    @property
    def summary(self) -> str:
        """The manifest's, or why it cannot be read."""
        try:
            return self.manifest.summary
        except DeskshellError as exc:
            return f"cannot be read: {exc.message}"

    def to_json(self) -> dict[str, Any]:
        """Name, version, summary and place, for a listing."""
        return {
            "name": self.name,
            "version": self.version,
            "summary": self.summary,
            "folder": names.plain(os.fsencode(self.folder))[0],
            "shipped": self.shipped,
        }


def shipped_folder() -> Path:
    """Where the skills that ship are: in an installed wheel inside the package, in a checkout beside it."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "skills_shipped"
    return inside if inside.is_dir() else package.parent / "skills"


def all_skills(user_folder: Path, kinds: Kinds) -> list[Skill]:
    """Every skill that can be named, the user's first, each part by name."""
    return [
        Skill(path.name, path, kinds, shipped)
        for folder, shipped in ((user_folder, False), (shipped_folder(), True))
        for path in _folders(folder)
    ]


def _folders(folder: Path) -> Iterator[Path]:
    try:
        found = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    for path in found:
        if NAME.fullmatch(path.name) and (path / MANIFEST).is_file():
            yield path


def find(name: str, user_folder: Path, kinds: Kinds, *, cwd: Path | None = None) -> Skill:
    """The skill `name`: a path when it holds a slash (from `cwd`), else a name, never one in `cwd`.

    Raises:
        NotFound: there is none. UsageError: there are two of that name.
    """
    if os.sep in name or name in (".", "..") or (os.altsep and os.altsep in name):
        return _at(name, kinds, cwd)
    every = all_skills(user_folder, kinds)
    found = [skill for skill in every if skill.name == name]
    if len(found) > 1:
        places = " and ".join(f"`{names.show(os.fsencode(skill.folder))}`" for skill in found)
        raise UsageError(f"the skill `{name}` is there twice: {places}", hint="rename yours, or give a path")
    if not found:
        known = sorted({skill.name for skill in every})
        hint = f"a folder is named by a path: ./{name}" if cwd and (cwd / name / MANIFEST).is_file() else None
        raise NotFound(
            f"there is no skill `{name}`{nearest(name, known)}", hint=hint or "see `deskshell skills list`"
        )
    return found[0]


def _at(name: str, kinds: Kinds, cwd: Path | None) -> Skill:
    folder = Path(os.path.normpath((cwd or Path.cwd()) / name))
    if folder.name == MANIFEST and folder.is_file():
        folder = folder.parent
    if not (folder / MANIFEST).is_file():
        raise NotFound(
            f"there is no skill at `{names.show(os.fsencode(folder))}`", hint=f"it needs a {MANIFEST}"
        )
    return Skill(folder.name, folder, kinds, folder.parent == shipped_folder())


def new(name: str, folder: Path) -> Path:
    """Write a working skill to begin with into `folder`/`name`, and return that folder.

    Raises:
        UsageError: the name is no name of a skill, or there is something of that name.
    """
    from deskshell.skills import skeleton

    if not NAME.fullmatch(name) or len(name) > 64:
        raise UsageError(
            f"`{name}` is no name of a skill", hint="small letters, digits and -, such as tidy-scans"
        )
    place = folder / name
    try:
        place.mkdir(parents=True)
    except FileExistsError as exc:
        raise UsageError(
            f"`{names.show(os.fsencode(place))}` exists already", hint="choose another name"
        ) from exc
    for file, content in skeleton.files(name).items():
        (place / file).write_text(content, encoding="utf-8")
    return place
