"""Kinds are found by walking the package and by entry points, and a clash of two is refused."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
import types
import zipfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest

from deskshell import actions, registry
from deskshell.actions.fs_move import FsMove
from deskshell.actions.noop import Noop
from deskshell.errors import ManifestError, Refused


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Each test looks anew, and leaves nothing of what it made up."""
    registry.kinds.cache_clear()
    yield
    registry.kinds.cache_clear()


@pytest.fixture
def add_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Installs a package `acme` whose entry point `name` leads to `acme_actions:Thing`."""

    def add(name: str, thing: object) -> None:
        info = tmp_path / "acme-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[deskshell.actions]\n{name} = acme_actions:Thing\n")
        module = types.ModuleType("acme_actions")
        if thing is not None:
            module.Thing = thing  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "acme_actions", module)
        monkeypatch.syspath_prepend(str(tmp_path))

    return add


def test_every_module_of_the_package_is_a_kind() -> None:
    """One file, one kind: nothing has to be listed anywhere."""
    assert list(registry.kinds()) == [
        "fs.chmod",
        "fs.compress",
        "fs.copy",
        "fs.delete",
        "fs.mkdir",
        "fs.move",
        "fs.symlink",
        "fs.write",
        "http.request",
        "log.rotate",
        "noop",
    ]
    assert registry.get("fs.move") is FsMove


def test_an_unknown_kind_is_refused_with_the_nearest_name() -> None:
    """A typing error in a manifest should cost one look, not a search."""
    with pytest.raises(ManifestError, match=r"there is no action `fs.mvoe`") as refusal:
        registry.get("fs.mvoe")

    assert refusal.value.hint == "did you mean `fs.move`?"


def test_a_kind_unlike_any_other_is_refused_with_all_names() -> None:
    with pytest.raises(ManifestError) as refusal:
        registry.get("paint")

    assert refusal.value.hint is not None
    assert "`fs.chmod`, `fs.compress`" in refusal.value.hint


def test_another_package_adds_a_kind(add_package: Callable[[str, object], None]) -> None:
    """Named by its entry point, wherever its module lies."""

    class Thing(Noop):
        kind = "acme.thing"

    add_package("acme.thing", Thing)

    assert registry.get("acme.thing") is Thing
    assert registry.get("fs.move") is FsMove


def test_two_classes_for_one_kind_are_refused(add_package: Callable[[str, object], None]) -> None:
    """Which of them ran would depend on the order of installing."""

    class Thing(FsMove):
        pass

    add_package("fs.move", Thing)

    with pytest.raises(
        Refused, match=r"`fs.move` is defined twice: in deskshell.actions.fs_move and in acme"
    ):
        registry.kinds()


def test_a_kind_by_another_name_than_its_entry_point_is_refused(
    add_package: Callable[[str, object], None],
) -> None:
    """The journal holds the kind; an undo must find it by that."""

    class Thing(Noop):
        kind = "acme.other"

    add_package("acme.thing", Thing)

    with pytest.raises(Refused, match=r"has the kind `acme.other`, but its name says `acme.thing`"):
        registry.kinds()


@pytest.mark.parametrize("thing", [str, "text", None])
def test_what_is_no_action_is_refused(add_package: Callable[[str, object], None], thing: object) -> None:
    """Said when the registry is read, and not as a fault in the middle of a task."""
    add_package("acme.thing", thing)

    with pytest.raises(Refused, match="acme_actions:Thing"):
        registry.kinds()


def test_entry_points_are_searched_only_when_some_package_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search through all installed packages would take longer than an undo."""

    def search(**_: object) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr(metadata, "entry_points", search)

    assert len(registry.kinds()) == 11


def test_reading_the_registry_loads_nothing_heavy() -> None:
    """`undo` of a finished task starts with it."""
    program = (
        "import sys; before = set(sys.modules); from deskshell import registry; registry.kinds();"
        "print(sorted({'urllib.request', 'http.client', 'zipfile', 'tarfile', 'gzip', 'ssl', 'importlib.metadata', 'inspect'}"
        " & (set(sys.modules) - before)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_modules_are_found_where_a_package_lies_in_a_zip_file(tmp_path: Path) -> None:
    """As `zipapp` makes one of a program."""
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as app:
        for name in ("__init__.py", "fs_paint.py", "_help.py"):
            app.writestr(f"kinds/{name}", "")

    assert registry._modules([str(tmp_path / "app.zip" / "kinds")]) == ["_help", "fs_paint"]


def test_the_modules_are_those_that_python_finds() -> None:
    found = [module.name for module in pkgutil.iter_modules(actions.__path__)]
    assert [name for name in registry._modules(actions.__path__) if name != "__init__"] == found
