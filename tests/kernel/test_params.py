"""Parameters: what a manifest gives becomes fields, and comes back from a stored plan as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deskshell.actions.fs_chmod import FsChmod
from deskshell.actions.fs_move import FsMove
from deskshell.actions.fs_write import FsWrite
from deskshell.actions.http_request import HttpRequest
from deskshell.errors import ManifestError
from deskshell.kernel.params import clean
from deskshell.kernel.secrets import SecretText


@pytest.mark.parametrize("path", [b"/a", b"/a/b c", b"/...", b"/caf\xe9\n"])
def test_a_clean_path_names_one_place(path: bytes) -> None:
    assert clean(path)


@pytest.mark.parametrize("path", [b"", b"/", b"a", b"./a", b"/a/", b"/a//b", b"/a/./b", b"/a/../b", b"/a\0b"])
def test_a_path_that_is_not_resolved_is_refused(path: bytes) -> None:
    """F40: a slash at the end has been given its meaning before."""
    assert not clean(path)
    with pytest.raises(ManifestError, match=r"`from` of `fs\.move`"):
        FsMove.build({"from": path, "to": b"/b"})


@pytest.mark.parametrize(
    "args, message",
    [
        ({"from": b"/a"}, r"`fs.move` needs `to` \(its new path\)"),
        ({"from": b"/a", "to": None}, "`fs.move` needs `to`"),
        ({"from": "/a", "to": b"/b"}, "`from` of `fs.move`: not a path"),
        ({"from": b"/a", "to": b"/b", "replace": "yes"}, "`replace` of `fs.move`: not true or false"),
        ({"from": b"/a", "to": b"/b", "tw": 1}, "`fs.move` takes no `tw`"),
    ],
)
def test_what_does_not_fit_is_named(args: dict[str, Any], message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        FsMove.build(args)


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(ManifestError) as refusal:
        FsMove.build({"form": b"/a", "to": b"/b"})

    assert refusal.value.hint == "did you mean `from`?"


@pytest.mark.parametrize(
    "given, mode", [("0644", 0o644), ("644", 0o644), ("0o755", 0o755), (0o600, 0o600), ("7777", 0o7777)]
)
def test_a_mode_is_octal(given: object, mode: int) -> None:
    assert FsChmod.build({"path": b"/a", "mode": given}).mode == mode


@pytest.mark.parametrize("given", ["rw", "0888", "10000", -1, True, 6.44, None, ""])
def test_what_is_no_mode_is_refused(given: object) -> None:
    with pytest.raises(ManifestError, match="`mode`"):
        FsChmod.build({"path": b"/a", "mode": given})


def test_a_stored_plan_holds_what_json_cannot(tmp_path: object) -> None:
    """Names that are no text, bytes, and references to secrets; values left at their default are left out."""
    actions = [
        FsMove.build({"from": b"/caf\xe9", "to": b"/b", "more": (b"/b (2)", b"/\xff")}),
        FsWrite.build({"path": b"/a", "base64": "AP8=", "mode": "4755"}),
        FsWrite.build({"path": b"/a", "text": SecretText(("a", ("api",)))}),
        HttpRequest.build({"method": "GET", "url": "http://h/", "headers": {"B": "1", "A": "2"}}),
    ]
    stored = [action.to_json() for action in actions]

    assert stored[0] == {
        "from": "/caf\\xe9",
        "fromBytes": "L2NhZuk=",
        "to": "/b",
        "more": [{"path": "/b (2)"}, {"path": "/\\xff", "pathBytes": "L/8="}],
    }
    assert stored[1] == {"path": "/a", "base64": "AP8=", "mode": "4755"}
    assert stored[2] == {"path": "/a", "text": ["a", {"secret": "api"}]}
    assert stored[3] == {"method": "GET", "url": "http://h/", "headers": {"B": "1", "A": "2"}}
    for action, data in zip(actions, json.loads(json.dumps(stored)), strict=True):
        assert type(action).from_json(data) == action


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"from": "/a"},
        {"from": "/a", "to": 7},
        {"from": "/a", "to": "/b", "toBytes": "?"},
        {"from": "/a", "to": "/b", "more": [1]},
    ],
)
def test_a_stored_plan_that_was_tampered_with_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(ManifestError):
        FsMove.from_json(data)
