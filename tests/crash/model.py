"""A folder as a dictionary, what each kind of step makes of it, and plans that fit a given folder.

A model maps a relative path to its content: text for a file, None for a folder, ("->", target) for a link,
("gz", content) and ("tar", model) for archives.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.support.desk import Bench, Do, chmod, compress, copy, delete, mkdir, move, over, symlink, write

Content = str | tuple[str, Any] | None
Model = dict[str, Content]

NAMES = ("a", "b", "c", "d", "é", os.fsdecode(b"\xff"))
PATHS = [*NAMES, *(f"{one}/{two}" for one in NAMES[:3] for two in NAMES[:3]), "a/b/c", "b/a/c"]
paths = st.sampled_from(PATHS)
texts = st.sampled_from(["", "x", "one", "another\n"])


@st.composite
def models(draw: st.DrawFn) -> Model:
    """A small folder."""
    model: Model = {}
    for path in draw(st.lists(paths, max_size=7)):
        if is_free(model, path):
            content = draw(st.one_of(texts, st.none(), st.just(("->", "nowhere"))))
            add_parents(model, path)
            model[path] = content
    return model


def parents(path: str) -> list[str]:
    """The folders above `path`, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def is_free(model: Model, path: str) -> bool:
    """True when something can be made at `path`, missing parents included."""
    return path not in model and all(model.get(each, None) is None for each in parents(path))


def add_parents(model: Model, path: str) -> None:
    """Make the missing folders above `path`."""
    for each in parents(path):
        model.setdefault(each, None)


def below(model: Model, path: str) -> list[str]:
    """`path` and all in it."""
    return [each for each in model if each == path or each.startswith(path + "/")]


def take(model: Model, path: str) -> Model:
    """Remove `path`; what was there, by name relative to it."""
    return {each[len(path) :]: model.pop(each) for each in below(model, path)}


def put(model: Model, path: str, what: Model) -> None:
    """Place what `take` returned at `path`."""
    add_parents(model, path)
    model.update({path + rest: content for rest, content in what.items()})


@st.composite
def steps(draw: st.DrawFn, model: Model) -> Do | None:
    """One step that fits `model`, which is changed as the step will; None when what was drawn does not fit."""
    kind = draw(st.sampled_from(list(MAKERS)))
    path, other, text = draw(paths), draw(paths), draw(texts)
    return MAKERS[kind](model, path, other, text)


def _move(model: Model, path: str, other: str, text: str) -> Do | None:
    if path not in model or not is_free(model, other) or (other + "/").startswith(path + "/"):
        return None
    put(model, other, take(model, path))
    return move(path, other)


def _copy(model: Model, path: str, other: str, text: str) -> Do | None:
    if path not in model or not is_free(model, other) or (other + "/").startswith(path + "/"):
        return None
    put(model, other, {each[len(path) :]: model[each] for each in below(model, path)})
    return copy(path, other)


def _write(model: Model, path: str, other: str, text: str) -> Do | None:
    if not is_free(model, path):
        return None
    put(model, path, {"": text})
    return write(path, text)


def _over(model: Model, path: str, other: str, text: str) -> Do | None:
    if model.get(path) is None:
        return None
    model[path] = text
    return over(path, text)


def _delete(model: Model, path: str, other: str, text: str) -> Do | None:
    return delete(path) if take(model, path) else None


def _mkdir(model: Model, path: str, other: str, text: str) -> Do | None:
    if not is_free(model, path):
        return None
    put(model, path, {"": None})
    return mkdir(path)


def _chmod(model: Model, path: str, other: str, text: str) -> Do | None:
    if path not in model or isinstance(model[path], tuple):
        return None
    return chmod(path, 0o750 if model[path] is None else 0o640)


def _link(model: Model, path: str, other: str, text: str) -> Do | None:
    if not is_free(model, path):
        return None
    put(model, path, {"": ("->", other)})
    return symlink(path, other)


def _compress(model: Model, path: str, other: str, text: str) -> Do | None:
    """A file as gzip, a folder as tar; the original is kept for some of the texts."""
    if path not in model or not is_free(model, other) or (other + "/").startswith(path + "/"):
        return None
    there, keep = model[path], bool(text)
    if isinstance(there, tuple) and there[0] == "->":
        return None
    inside = {each[len(path) + 1 :]: model[each] for each in below(model, path) if each != path}
    put(model, other, {"": ("gz", there) if there is not None else ("tar", inside)})
    if not keep:
        take(model, path)
    return compress(path, other, format="tar.gz" if there is None else "gzip", keep=keep)


def _rotate(model: Model, path: str, other: str, text: str) -> Do | None:
    free = next((name for n in range(2, 7) if (name := f"{path}.{n}") not in model), None)
    there = model.get(path)
    if there is None or free is None or (isinstance(there, tuple) and there[0] == "->"):
        return None
    model[free], model[path] = there, ""
    return Do("log.rotate", {"path": path})


MAKERS: dict[str, Callable[[Model, str, str, str], Do | None]] = {
    "move": _move,
    "copy": _copy,
    "write": _write,
    "over": _over,
    "delete": _delete,
    "mkdir": _mkdir,
    "chmod": _chmod,
    "link": _link,
    "compress": _compress,
    "rotate": _rotate,
}


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Model, list[Do], Model]:
    """A folder, a plan for it, and what the plan makes of it."""
    before = draw(models())
    after = dict(before)
    plan = [step for _ in range(draw(st.integers(1, 7))) if (step := draw(steps(after))) is not None]
    return before, plan, after


def make(bench: Bench, model: Model) -> None:
    """Make the folder of `model`."""
    bench.make(
        {
            f"{path}/" if content is None else path: content
            for path, content in sorted(model.items())
            if path not in _full(model)
        }
    )


def _full(model: Model) -> set[str]:
    """Folders that come with what is in them."""
    return {each for path in model for each in parents(path)}


def read(root: Path) -> Model:
    """The folder as a model."""
    found: Model = {}
    for folder, inner, files in os.walk(root):
        for name in (*inner, *files):
            path = os.path.join(folder, name)
            key = os.path.relpath(path, root)
            if os.path.islink(path):
                found[key] = ("->", os.readlink(path))
            elif os.path.isdir(path):
                found[key] = None
            else:
                found[key] = _content(Path(path).read_bytes())
    return found


def _content(data: bytes) -> Content:
    """The content of a file, archives unpacked."""
    if data[:2] != b"\x1f\x8b":
        return data.decode()
    inside = gzip.decompress(data)
    if inside[257:262] != b"ustar":
        return ("gz", _content(inside))
    found: Model = {}
    with tarfile.open(fileobj=io.BytesIO(inside), encoding="utf-8", errors="surrogateescape") as archive:
        for info in archive:
            name = info.name.partition("/")[2]
            if info.issym():
                found[name] = ("->", info.linkname)
            elif info.isfile():
                file = archive.extractfile(info)
                assert file is not None
                found[name] = _content(file.read())
            elif name:
                found[name] = None
    return ("tar", found)
