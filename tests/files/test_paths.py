"""Paths resolved for planning, and compared by whole components."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskshell.errors import NotFound, ScopeError
from deskshell.files.paths import PathIndex, is_within, join, resolve, resolve_target
from tests.support.privileges import as_normal_user
from tests.support.trees import make_files


@pytest.fixture
def top(folder: Path) -> bytes:
    """The folder as it is really called."""
    return os.path.realpath(os.fsencode(folder))


@pytest.mark.parametrize(
    "given_path, resolved",
    [
        (b"real/file", b"real/file"),
        (b"link/file", b"real/file"),
        (b"link", b"real"),
        (b"./real//file/", b"real/file"),
        (b"real/../real/file", b"real/file"),
        (b"link/../real", b"real"),
        (b"deep/../file", b"real/file"),  # `..` is taken after the link was followed, as the system does
        (b"missing/a/b", b"missing/a/b"),
        (b"missing/../real", b"real"),
        (b"missing/../link/file", b"real/file"),
        (b"missing/x/../../link", b"real"),
        (b"link/missing/../file", b"real/file"),
        (b"dangling", b"nowhere"),
        (b"dangling/below", b"nowhere/below"),
        (b"chain/file", b"real/file"),
        (b"\xff\n/x", b"\xff\n/x"),
    ],
)
def test_a_path_leads_to_one_place_without_links(
    folder: Path, top: bytes, given_path: bytes, resolved: bytes
) -> None:
    make_files(
        folder,
        {
            "real/file": "x",
            "real/sub/": None,
            "link": ("->", "real"),
            "deep": ("->", "real/sub"),
            "dangling": ("->", "nowhere"),
            "chain": ("->", top + b"/link/../link"),
        },
    )

    assert resolve(top + b"/" + given_path) == top + b"/" + resolved


def test_the_root_folder_is_its_own_parent() -> None:
    assert resolve(b"/") == resolve(b"/..") == resolve(b"//../.") == b"/"


def test_a_relative_path_starts_at_the_working_directory(
    folder: Path, top: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    assert resolve(b"a/b") == top + b"/a/b"
    assert resolve_target(b"a") == top + b"/a"


@given(st.lists(st.sampled_from([b"a", b"b", b"link", b"up", b"..", b".", b"", b"none"]), max_size=8))
def test_a_path_resolves_as_python_s_own_realpath_does(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]
) -> None:
    top = os.fsencode(tmp_path_factory.getbasetemp()) + b"/resolve-like-realpath"
    if not os.path.isdir(top):
        make_files(
            top,
            {
                "a/b/a/": None,
                "a/link": ("->", "b"),
                "link": ("->", "a/b"),
                "b": ("->", "a"),
                "a/b/up": ("->", ".."),
            },
        )
    path = top + b"/" + b"/".join(parts)

    assert resolve(path) == os.path.realpath(path)


@pytest.mark.parametrize("links", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "a/deeper"}])
def test_a_loop_of_links_is_refused(folder: Path, top: bytes, links: dict[str, str]) -> None:
    make_files(folder, {name: ("->", target) for name, target in links.items()})

    with pytest.raises(ScopeError, match="loop of links"):
        resolve(top + b"/a")
    with pytest.raises(ScopeError, match="loop of links"):
        resolve_target(top + b"/a/x")


@pytest.mark.parametrize("path", [b"", b"/a\0b", b"/" + b"n" * 256, b"/" + b"n/" * 3000 + b"n"])
def test_what_cannot_be_a_path_is_refused(path: bytes) -> None:
    if path == b"/" + b"n/" * 3000 + b"n":  # long, but each component is missing, and so never looked at
        assert resolve(path) == path
        return
    with pytest.raises(ScopeError):
        resolve(path)


def test_a_file_used_as_a_folder_is_not_found(folder: Path, top: bytes) -> None:
    make_files(folder, {"file": "x"})

    with pytest.raises(NotFound, match="file` is not a folder"):
        resolve(top + b"/file/below")
    with pytest.raises(NotFound, match="file` is not a folder"):
        resolve(top + b"/file/..")


def test_a_folder_that_may_not_be_searched_is_refused(normal_folder: Path) -> None:
    """Beyond it there may be links that nobody sees, so nothing can be said about where the path leads."""

    def trial() -> str:
        make_files(normal_folder, {"closed/sub/f": "x"})
        (normal_folder / "closed").chmod(0o600)
        try:
            resolve(os.fsencode(normal_folder / "closed" / "sub" / "f"))
        except ScopeError as exc:
            return exc.message
        return "resolved"

    assert as_normal_user(trial).endswith("closed`, which may not be searched")


def test_a_target_that_is_a_link_is_the_link(folder: Path, top: bytes) -> None:
    make_files(folder, {"real/": None, "link": ("->", "real"), "real/inner": ("->", "/etc")})

    assert resolve_target(top + b"/link") == top + b"/link"
    assert resolve_target(top + b"/link/inner") == top + b"/real/inner"
    assert resolve_target(top + b"/link/") == top + b"/link"
    assert resolve_target(b"/") == b"/"
    assert resolve_target(b"/etc") == b"/etc"


@pytest.mark.parametrize("path", [b"/a/..", b"/a/.", b"..", b"", b"/" + b"n" * 256, b"/a\0"])
def test_a_target_needs_a_name(path: bytes) -> None:
    with pytest.raises(ScopeError):
        resolve_target(path)


@pytest.mark.parametrize(
    "path, root, within",
    [
        (b"/allowed", b"/allowed", True),
        (b"/allowed/x/y", b"/allowed", True),
        (b"/allowed_evil", b"/allowed", False),
        (b"/allowed_evil/x", b"/allowed", False),
        (b"/", b"/allowed", False),
        (b"/anything", b"/", True),
        (b"/", b"/", True),
        (b"/allow", b"/allowed", False),
    ],
)
def test_a_path_is_within_by_whole_components(path: bytes, root: bytes, within: bool) -> None:
    assert is_within(path, root) is within


def test_joining_to_the_root_folder_doubles_no_slash() -> None:
    assert (join(b"/", b"a"), join(b"/a", b"b")) == (b"/a", b"/a/b")


_paths = st.lists(
    st.lists(st.sampled_from([b"a", b"b", b"ab"]), min_size=1, max_size=4).map(
        lambda parts: b"/" + b"/".join(parts)
    )
)


@given(_paths, _paths)
def test_an_index_finds_what_is_the_same_above_or_below(taken: list[bytes], asked: list[bytes]) -> None:
    index = PathIndex()
    for path in taken:
        index.add(path)

    assert bool(index) == bool(taken)
    for path in asked:
        found = list(index.related(path))
        assert sorted(found) == sorted(
            {each for each in taken if is_within(each, path) or is_within(path, each)}
        )
