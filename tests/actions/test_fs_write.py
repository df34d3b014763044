"""Writing: bytes as given, secrets never told, links never followed."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from deskshell.actions.fs_write import FsWrite
from deskshell.errors import Conflict, ManifestError, PlanConflict, StepFailed
from deskshell.kernel.effects import Move, Swap
from deskshell.kernel.secrets import SecretText
from deskshell.kernel.view import TargetTaken, View
from tests.contract.harness import World, context
from tests.support.listing import difference
from tests.support.trees import Content, make_files

TOKEN = SecretText(("token=", ("api",), "\n"))


def write(world: World, name: str, **args: Any) -> FsWrite:
    return FsWrite.build({"path": world.path(name), **args})


def test_content_is_given_once() -> None:
    """Two contents are a mistake in the manifest, and none is as well."""
    for args in ({}, {"text": "a", "base64": "YQ=="}, {"text": "a", "from_file": b"/b"}):
        with pytest.raises(ManifestError, match="needs one of `text`, `base64` and `from_file`"):
            FsWrite.build({"path": b"/a", **args})


@pytest.mark.parametrize("taken", ["x", ("->", "nowhere")], ids=["a file", "a dangling link"])
def test_without_replace_nothing_is_written_over(world: World, taken: Content) -> None:
    make_files(world.root, {"a": taken})

    with pytest.raises(TargetTaken):
        write(world, "a", text="new").simulate(View(), "note")
    with pytest.raises(Conflict, match="is taken"):
        world.prepare(write(world, "a", text="new"))


@pytest.mark.parametrize("kind, content", [("folder", None), ("fifo", ("|",))])
def test_only_files_and_links_are_replaced(world: World, kind: str, content: Content) -> None:
    """F36: and a fifo is not opened to find out."""
    make_files(world.root, {"a/" if content is None else "a": content})
    action = write(world, "a", text="new", replace=True)

    with pytest.raises(PlanConflict, match=f"is a {kind}, which is not replaced"):
        action.simulate(View(), "note")
    with pytest.raises(Conflict, match=f"is a {kind}, not a file"):
        world.prepare(action)


def test_a_link_is_replaced_and_what_it_points_to_stays(world: World) -> None:
    """F16: the target of a link may lie anywhere."""
    make_files(world.root, {"victim": "precious", "a": ("->", "victim")})
    action = write(world, "a", text="new", replace=True)

    world.do(action, world.prepare(action))

    assert (world.root / "victim").read_text() == "precious"
    assert not (world.root / "a").is_symlink()
    assert (world.root / "a").read_text() == "new"


def test_content_comes_back_to_the_byte(world: World) -> None:
    """F03, F19: text, line ends, byte order marks and raw bytes alike."""
    contents = {
        "crlf": b"a\r\nb\r\n",
        "utf16": "é".encode("utf-16"),
        "raw": bytes(range(256)) * 16,
        "none": b"",
    }
    make_files(world.root, contents)
    before = world.listing()
    for name in contents:
        action = write(world, name, text="replaced\n", replace=True)
        prior = world.prepare(action)
        world.do(action, prior)
        world.undo(action, prior)

    assert difference(before, world.listing()) == []


def test_an_edit_after_the_write_is_not_undone(world: World) -> None:
    """Whether the file was there before or not."""
    make_files(world.root, {"old": "old"})
    for name in ("old", "new"):
        action = write(world, name, text="ours", replace=True)
        prior = world.prepare(action)
        world.do(action, prior)
        (world.root / name).write_text("edited by hand")

        with pytest.raises(Conflict, match=rf"content changed since: `.*/{name}` \(content\)"):
            world.undo(action, prior)

        assert (world.root / name).read_text() == "edited by hand"


def test_another_file_under_the_name_is_not_removed(world: World) -> None:
    """F09: same name, size and time, and still somebody else's."""
    action = write(world, "a", text="ours")
    prior = world.prepare(action)
    world.do(action, prior)
    at = os.stat(world.root / "a").st_mtime_ns
    os.rename(world.root / "a", world.root / "elsewhere")
    make_files(world.root, {"a": "hers"})
    os.utime(world.root / "a", ns=(at, at))

    with pytest.raises(Conflict, match="is another file now"):
        world.undo(action, prior)

    assert (world.root / "a").read_text() == "hers"


def test_a_file_to_take_content_from_must_be_one(world: World) -> None:
    """A link may lead out of the scope, and a fifo never ends."""
    make_files(world.root, {"link": ("->", "a"), "pipe": ("|",), "a": "a", "d/": None})
    for name in ("link", "pipe", "d"):
        action = write(world, "new", from_file=world.path(name))
        with pytest.raises(PlanConflict, match="not a file"):
            action.simulate(View(), "note")
        with pytest.raises(StepFailed, match="not a file"):
            world.prepare(action)
    assert sorted(os.listdir(world.root)) == ["a", "d", "link", "pipe"]


def test_a_file_that_changes_while_it_is_read_is_not_taken(world: World) -> None:
    """Half of the old and half of the new is neither."""
    make_files(world.root, {"a": "a" * 100})
    action = write(world, "new", from_file=world.path("a"))

    with world.recorded() as ground:
        chunks = ground.chunks

        def growing(path: bytes) -> Any:
            for chunk in chunks(path):
                (world.root / "a").write_text("longer " * 100)
                yield chunk

        ground.chunks = growing  # type: ignore[method-assign]
        with pytest.raises(StepFailed, match="changed while it was read"):
            action.prepare(context(ground))

    assert os.listdir(world.root) == ["a"]


# --- secrets ------------------------------------------------------------------------------------------------------


def test_a_secret_is_in_the_file_and_nowhere_else(world: World) -> None:
    """F41: plan, journal, messages and summary have its name only, and the hash is keyed."""
    action = write(world, ".env", text=TOKEN)
    with world.recorded() as ground:
        prior = action.prepare(context(ground, {"api": "s3cr3t"}))
        action.do(context(ground, {"api": "s3cr3t"}), prior)

    assert (world.root / ".env").read_text() == "token=s3cr3t\n"
    assert os.stat(world.root / ".env").st_mode & 0o777 == 0o600
    told = json.dumps(
        [action.to_json(), [each.to_json() for each in prior.effects], action.summary(), repr(action)]
    )
    assert "s3cr3t" not in told
    (effect,) = prior.effects
    assert isinstance(effect, Move)
    assert effect.sha256 is not None
    assert effect.sha256.startswith("k:")
    assert FsWrite.from_json(json.loads(json.dumps(action.to_json()))) == action


def test_a_secret_without_a_value_is_asked_for(world: World) -> None:
    """Before anything is made."""
    with pytest.raises(Conflict, match="the secret `api` is needed") as refusal:
        world.prepare(write(world, ".env", text=TOKEN))

    assert refusal.value.verdict == "needs-secret"
    assert os.listdir(world.root) == []


def test_a_written_secret_is_taken_back_like_anything_else(world: World) -> None:
    """Its keyed hash can be compared later, without the value."""
    make_files(world.root, {".env": "old"})
    before = world.listing()
    action = write(world, ".env", text=TOKEN, replace=True)
    with world.recorded() as ground:
        prior = action.prepare(context(ground, {"api": "s3cr3t"}))
    world.do(action, prior)
    assert isinstance(prior.effects[0], Swap)

    world.undo(action, prior)

    assert difference(before, world.listing()) == []
