"""Post-conditions: what they look at, what they say, and their form in a stored plan."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import pytest

from deskshell.errors import Conflict, ManifestError
from deskshell.files.scope import Places
from deskshell.kernel.assertion import (
    Contains,
    Count,
    Exists,
    IsFolder,
    Missing,
    Sha256,
    Status,
    from_json,
)
from deskshell.kernel.context import Context
from deskshell.kernel.ground import Ground
from deskshell.kernel.secrets import SecretText, plain
from tests.support.trees import make_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def ctx(folder: Path, tmp_path: Path) -> Iterator[Context]:
    """A context in which `folder` is granted, with one secret."""
    ground = Ground(
        Places([os.fsencode(folder)]),
        held=os.fsencode(tmp_path / "held"),
        kept=os.fsencode(tmp_path / "kept"),
        key=lambda: b"key",
    )
    yield Context(ground, task_id="task-1", n=0, token="abc", secrets={"word": "hunter2"}, stop=lambda: None)
    ground.close()


def at(folder: Path, name: str) -> bytes:
    return os.fsencode(folder / name)


def test_names_are_looked_at_and_never_followed(folder, ctx):
    make_files(folder, {"a": "1", "d/": None, "l": ("->", "nowhere")})
    assert Exists(at(folder, "a")).check(ctx) is None
    assert Exists(at(folder, "l")).check(ctx) is None
    assert Exists(at(folder, "x")).check(ctx) == f"`{folder}/x` does not exist"
    assert Exists(at(folder, "no/x")).check(ctx) == f"`{folder}/no/x` does not exist"
    assert Missing(at(folder, "x")).check(ctx) is None
    assert Missing(at(folder, "l")).check(ctx) == f"`{folder}/l` exists (a link)"
    assert IsFolder(at(folder, "d")).check(ctx) is None
    assert IsFolder(at(folder, "a")).check(ctx) == f"`{folder}/a` is a file, not a folder"


def test_the_disk_is_read_again_after_the_act(folder, ctx):
    """A step's own looks are from before it acted."""
    path = at(folder, "a")
    assert ctx.look(path) is None
    make_files(folder, {"a": "1"})
    assert Exists(path).check(ctx) is None


def test_content_by_hash_and_by_text(folder, ctx):
    make_files(folder, {"a": "say hunter2 ü"})
    good = hashlib.sha256((folder / "a").read_bytes()).hexdigest()
    assert Sha256(at(folder, "a"), good.upper()).check(ctx) is None
    assert Sha256(at(folder, "a"), "0" * 64).check(ctx) == f"`{folder}/a` has the sha256 {good}"
    assert Contains(at(folder, "a"), plain("2 ü")).check(ctx) is None
    assert Contains(at(folder, "a"), SecretText((("word",),))).check(ctx) is None


def test_a_text_that_is_missing_is_not_quoted(folder, ctx):
    """F41: it may hold a secret."""
    make_files(folder, {"a": "nothing"})
    problem = Contains(at(folder, "a"), SecretText(("x ", ("word",)))).check(ctx)
    assert problem == f"`{folder}/a` does not contain the text asked for"


@pytest.mark.parametrize(
    "make", [lambda path: Sha256(path, "0" * 64), lambda path: Contains(path, plain("x"))]
)
def test_only_regular_files_are_opened(folder, ctx, make):
    """F36: a fifo would wait for a writer for ever."""
    make_files(folder, {"p": ("|",), "l": ("->", "a"), "d/": None})
    assert make(at(folder, "p")).check(ctx) == f"`{folder}/p` is a fifo, not a file"
    assert make(at(folder, "l")).check(ctx) == f"`{folder}/l` is a link, not a file"
    assert make(at(folder, "d")).check(ctx) == f"`{folder}/d` is a folder, not a file"
    assert make(at(folder, "x")).check(ctx) == f"`{folder}/x` does not exist"


def test_names_in_a_folder_are_counted(folder, ctx):
    make_files(folder, {"d/a.txt": "", "d/b.txt": "", b"d/caf\xe9.txt": "", "d/c.md": "", "d/[x].md": ""})
    assert Count(at(folder, "d/*.txt"), 3).check(ctx) is None
    assert Count(at(folder, "d/*.txt"), 2).check(ctx) == f"3 names match `{folder}/d/*.txt`, not 2"
    assert Count(at(folder, "d/[[]x].md"), 1).check(ctx) is None
    assert Count(at(folder, "none/*"), 0).check(ctx) is None


def test_the_status_of_an_answer(ctx):
    ctx.outcome = {"sent": True, "status": 201}
    assert Status(201).check(ctx) is None
    assert Status(204).check(ctx) == "the answer's status is 201, not 204"


def test_a_missing_secret_is_a_conflict(folder, ctx):
    make_files(folder, {"a": "1"})
    with pytest.raises(Conflict, match="secret `other`"):
        Contains(at(folder, "a"), SecretText((("other",),))).check(ctx)


@pytest.mark.parametrize(
    "each",
    [
        Exists(b"/a"),
        Missing(b"/caf\xe9"),
        IsFolder(b"/d"),
        Sha256(b"/a", "0" * 64),
        Contains(b"/a", SecretText(("x", ("word",)))),
        Contains(b"/a", plain("x")),
        Count(b"/d/*.txt", 3),
        Status(200),
    ],
)
def test_the_stored_form_is_read_back(each: Any):
    assert from_json(each.to_json()) == each


@pytest.mark.parametrize("data", [{}, {"exists": 3}, {"sha256": "0" * 64}, {"count": "x"}, {"other": 1}])
def test_another_form_is_refused(data):
    with pytest.raises(ManifestError):
        from_json(data)


def test_what_is_no_hash_is_refused():
    with pytest.raises(ManifestError, match="`abc` is no sha256"):
        Sha256(b"/a", "abc")
