"""Which kinds of action there are: those in `deskshell.actions`, and what other packages add.

A module of the package is a kind by its name: `fs_move.py` holds the class `FsMove` of the kind
`fs.move`; modules that start with an underscore are helpers. Another package adds kinds by entry
points of the group `deskshell.actions`, named by their kind: `"acme.paint" = "acme.actions:AcmePaint"`.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from deskshell import actions
from deskshell.errors import ManifestError, Refused
from deskshell.kernel.action import Action

GROUP = "deskshell.actions"


@functools.cache
def kinds() -> Mapping[str, type[Action]]:
    """Every kind by its name, in the order of names.

    Raises Refused when two classes claim one kind, or a class does not follow the rule of names.
    """
    found: dict[str, tuple[type[Action], str]] = {}
    for kind, action, where in (*_shipped(), *_added()):
        if kind in found:
            raise Refused(
                f"the action kind `{kind}` is defined twice: in {found[kind][1]} and in {where}",
                hint="uninstall one of the two packages, or rename one kind",
            )
        found[kind] = action, where
    return MappingProxyType({kind: found[kind][0] for kind in sorted(found)})


def get(kind: str) -> type[Action]:
    """The class of `kind`. Raises ManifestError, with the nearest name, when there is none."""
    known = kinds()
    if kind in known:
        return known[kind]
    import difflib

    near = difflib.get_close_matches(kind, known, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(f'`{name}`' for name in known)}"
    raise ManifestError(f"there is no action `{kind}`", hint=hint)


def _shipped() -> Iterator[tuple[str, type[Action], str]]:
    for module in _modules(actions.__path__):
        if module.startswith("_"):
            continue
        where = f"{actions.__name__}.{module}"
        kind = module.replace("_", ".")
        name = "".join(part.capitalize() for part in module.split("_"))
        action = _checked(getattr(importlib.import_module(where), name, None), kind, f"{where}.{name}")
        yield kind, action, where


def _modules(path: Iterable[str]) -> list[str]:
    """The names of a package's modules, in order."""
    try:
        files = [name.rpartition(".") for folder in path for name in os.listdir(folder)]
    except OSError:  # in a zip file
        import pkgutil  # with `inspect`, which takes as long as all kinds of action together

        return [module.name for module in pkgutil.iter_modules(path)]
    return sorted({name for name, _, ending in files if ending in ("py", "pyc") and name.isidentifier()})


def _added() -> Iterator[tuple[str, type[Action], str]]:
    if not _somebody_adds():
        return
    from importlib import metadata  # slow to import: only when there is something to find

    for entry in metadata.entry_points(group=GROUP):
        where = f"{entry.value} ({entry.dist.name if entry.dist else 'unknown package'})"
        try:
            loaded = entry.load()
        except (ImportError, AttributeError) as exc:
            raise Refused(
                f"the action kind `{entry.name}` cannot be loaded from {where}: {exc}",
                hint="repair or uninstall that package",
            ) from exc
        yield entry.name, _checked(loaded, entry.name, where), where


def _somebody_adds() -> bool:
    """Whether any package installed in a folder of the path has entry points of our group."""
    for folder in sys.path:
        try:
            with os.scandir(folder or ".") as found:
                infos = [each.path for each in found if each.name.endswith((".dist-info", ".egg-info"))]
        except OSError:  # no folder, a zip file, or not to be read
            continue
        for info in infos:
            try:
                with open(info + "/entry_points.txt", "rb") as file:
                    if GROUP.encode() in file.read():
                        return True
            except OSError:  # most packages have none
                continue
    return False


def _checked(action: object, kind: str, where: str) -> type[Action]:
    if not isinstance(action, type) or not issubclass(action, Action):
        raise Refused(
            f"{where} is not an action", hint="a module of actions holds one class, named like the module"
        )
    if getattr(action, "kind", None) != kind:
        raise Refused(
            f"{where} has the kind `{getattr(action, 'kind', '')}`, but its name says `{kind}`",
            hint="the module, the class and the kind go by one name: fs_move, FsMove, fs.move",
        )
    return action
