"""Scopes hold by whole components and exact origins; nothing is granted by what is missing (I10)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deskshell.errors import CapabilityError, DeskshellError, ScopeError
from deskshell.kernel.capability import (
    FS_DELETE,
    FS_READ,
    FS_WRITE,
    Checker,
    Grant,
    PathTarget,
    Scope,
    UrlTarget,
    path_need,
)
from tests.support.desk import Bench, delete, move, write


@pytest.mark.parametrize(
    "path,inside",
    [
        (b"/data", True),
        (b"/data/a", True),
        (b"/data/a/b", True),
        (b"/data_evil/a", False),
        (b"/dat", False),
        (b"/", False),
        (b"/database", False),
        (b"/other/data/a", False),
    ],
)
def test_a_path_is_in_scope_by_whole_components(path: bytes, inside: bool) -> None:
    """`/allowed_evil` begins with `/allowed` and lies elsewhere (I10)."""
    assert PathTarget(path).within(Scope(b"/data", "/data")) is inside


@pytest.mark.parametrize(
    "url,inside",
    [
        ("https://api.example.org/v1", True),
        ("https://api.example.org/v1/items?x=1", True),
        ("https://api.example.org:443/v1/items", True),
        ("https://API.example.org/v1/items", True),
        ("https://api.example.org/v10", False),
        ("https://api.example.org/v1/../admin", False),
        ("https://api.example.org/v1/%2e%2e/admin", False),
        ("https://api.example.org/v1/..%2fadmin", False),
        ("https://api.example.org:8443/v1", False),
        ("http://api.example.org/v1", False),
        ("https://api.example.org.evil.net/v1", False),
        ("https://api.example.org@evil.net/v1", False),
        ("https://evil.net/https://api.example.org/v1", False),
        ("https://api.example.org\\@evil.net/v1", False),
        ("https://api.example.org:port/v1", False),
    ],
)
def test_a_url_is_in_scope_by_origin_and_path(url: str, inside: bool) -> None:
    """Ports, look-alike hosts, user information and encoded dots are how scopes are escaped."""
    assert UrlTarget(url).within(Scope("https://api.example.org/v1", "")) is inside


def test_a_path_is_in_no_url_scope_and_a_url_in_no_folder() -> None:
    assert not PathTarget(b"/data").within(Scope("https://data/", ""))
    assert not UrlTarget("https://data/").within(Scope(b"/", ""))


def grant(name: str, *roots: bytes) -> Grant:
    return Grant(name, tuple(Scope(root, os.fsdecode(root)) for root in roots))


def test_what_is_not_declared_is_refused_by_that_name() -> None:
    with pytest.raises(
        CapabilityError, match=r"step `s` needs `fs.write` for `/data/a`, which the skill does not"
    ):
        Checker([], []).check("s", [path_need(FS_WRITE, b"/data/a")])


def test_what_is_declared_and_not_granted_is_refused() -> None:
    with pytest.raises(CapabilityError, match="was not granted"):
        Checker([grant(FS_WRITE, b"/data")], []).check("s", [path_need(FS_WRITE, b"/data/a")])


def test_an_empty_scope_grants_nothing() -> None:
    """An empty list must not read as "everywhere"."""
    empty = Grant(FS_WRITE, ())
    with pytest.raises(CapabilityError):
        Checker([empty], [empty]).check("s", [path_need(FS_WRITE, b"/data/a")])


def test_a_target_outside_of_the_scope_is_refused_and_the_scope_named() -> None:
    given = [grant(FS_WRITE, b"/data", b"/more")]
    with pytest.raises(ScopeError, match=r"outside the granted scope: `/data`, `/more`"):
        Checker(given, given).check("s", [path_need(FS_WRITE, b"/data_evil/a")])


def test_one_capability_does_not_stand_for_another() -> None:
    given = [grant(FS_WRITE, b"/data"), grant(FS_READ, b"/data")]
    with pytest.raises(CapabilityError):
        Checker(given, given).check("s", [path_need(FS_DELETE, b"/data/a")])


def test_a_grant_comes_back_from_the_journal_as_it_was() -> None:
    """Names that are not UTF-8 included."""
    given = Grant("net.request", (Scope("https://h/", "https://h/"), Scope(b"/caf\xe9", "caf\\xe9")), "why")

    back = Grant.from_json(given.to_json())

    assert [scope.root for scope in back.scopes] == [scope.root for scope in given.scopes]
    assert (back.capability, back.reason) == ("net.request", "why")


def test_a_plan_that_needs_more_than_was_granted_is_refused_whole(desk: Bench) -> None:
    """Never by skipping a step."""
    desk.make({"a.txt": "one", "b.txt": "two"})
    before = desk.listing()

    with pytest.raises(CapabilityError):
        desk.run(write("c.txt", "c"), delete("a.txt"), grants=[FS_READ, FS_WRITE])

    assert desk.changes(before) == []
    assert not desk.state.exists()


def test_a_folder_swapped_for_a_link_after_planning_is_not_followed(desk: Bench, tmp_path: Path) -> None:
    """F15: the scope is what was resolved when planned, and is held to when acting (I10)."""
    desk.make({"in/": None})
    outside = tmp_path / "outside"
    outside.mkdir()
    plan = desk.plan(write("in/new.txt", "x"))
    (desk.root / "in").rmdir()
    (desk.root / "in").symlink_to(outside)

    with pytest.raises(DeskshellError):
        desk.run_plan(plan)

    assert list(outside.iterdir()) == []


def test_an_undo_acts_within_the_scope_that_its_task_recorded(desk: Bench, tmp_path: Path) -> None:
    """F16: a folder of the same name that leads elsewhere is not the one the task acted in (I10)."""
    desk.make({"in/a.txt": "one"})
    desk.run(move("in/a.txt", "in/b.txt"))
    desk.root.rename(tmp_path / "away")
    victim = tmp_path / "victim"
    (victim / "in").mkdir(parents=True)
    (victim / "in" / "b.txt").write_text("not yours")
    desk.root.symlink_to(victim)

    report = desk.undo()

    assert report.exit_code == 1
    assert (victim / "in" / "b.txt").read_text() == "not yours"
