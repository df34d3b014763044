"""Archives: complete, the same each time, read back before the original goes, and telling nothing more."""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from deskshell.actions import _archive
from deskshell.actions.fs_compress import FsCompress
from deskshell.errors import Conflict, ManifestError, PlanConflict, StepFailed
from deskshell.kernel.capability import FS_DELETE
from deskshell.kernel.view import View
from tests.contract.harness import World
from tests.support.listing import difference
from tests.support.mounts import in_own_mounts, mount_tmpfs
from tests.support.trees import make_files

WHEN = 1_500_000_000.123456789


def compress(world: World, src: str, dst: str, **more: Any) -> FsCompress:
    return FsCompress.build({"from": world.path(src), "to": world.path(dst), **more})


def run(world: World, action: FsCompress) -> None:
    world.do(action, world.prepare(action))


@pytest.fixture
def tree(world: World) -> World:
    """A world with the folder `d`: files, a link, an empty folder, modes and times."""
    make_files(
        world.root,
        {"d/x.txt": "x" * 100_000, "d/in/é": "y", "d/l": ("->", "../somewhere"), "d/none/": None},
        mtime=WHEN,
    )
    os.chmod(world.root / "d/x.txt", 0o640)
    os.chmod(world.root / "d/none", 0o750)
    os.utime(world.root / "d", (WHEN, WHEN))
    return world


def test_a_gzip_file_is_one_that_gzip_reads(world: World) -> None:
    make_files(world.root, {"app.log": "line\n" * 50_000}, mtime=WHEN)
    os.chmod(world.root / "app.log", 0o640)

    run(world, compress(world, "app.log", "app.log.gz"))

    assert os.listdir(world.root) == ["app.log.gz"]
    assert gzip.decompress((world.root / "app.log.gz").read_bytes()) == b"line\n" * 50_000
    assert os.stat(world.root / "app.log.gz").st_mode & 0o777 == 0o640


def test_tar_keeps_names_modes_links_and_times_to_the_nanosecond(tree: World) -> None:
    before = tree.listing()
    run(tree, compress(tree, "d", "d.tar.gz", keep=True))

    with tarfile.open(tree.root / "d.tar.gz", encoding="utf-8") as archive:
        found = {info.name: info for info in archive}
        content = archive.extractfile("d/x.txt")
        assert content is not None
        assert content.read() == b"x" * 100_000
    assert list(found) == ["d", "d/in", "d/in/é", "d/l", "d/none", "d/x.txt"]
    assert found["d/l"].linkname == "../somewhere"
    assert {name: oct(info.mode) for name, info in found.items() if info.isfile() or info.isdir()} == {
        name: before[name].mode for name in found if name != "d/l"
    }
    seconds, rest = divmod(before["d/x.txt"].mtime_ns, 10**9)
    assert found["d/x.txt"].pax_headers["mtime"] == f"{seconds}.{rest:09}"


def test_zip_keeps_names_modes_links_and_times(tree: World) -> None:
    run(tree, compress(tree, "d", "d.zip", keep=True))

    with zipfile.ZipFile(tree.root / "d.zip") as archive:
        assert archive.testzip() is None
        infos = {info.filename: info for info in archive.infolist()}
        assert archive.read("d/l") == b"../somewhere"
        assert archive.read("d/x.txt") == b"x" * 100_000
    assert list(infos) == ["d/", "d/in/", "d/in/é", "d/l", "d/none/", "d/x.txt"]
    assert stat.S_ISLNK(infos["d/l"].external_attr >> 16)
    assert infos["d/x.txt"].external_attr >> 16 & 0o777 == 0o640
    assert infos["d/x.txt"].date_time == (2017, 7, 14, 2, 40, 0)


@pytest.mark.parametrize("ending", ["gz", "zip", "tar.gz"])
def test_the_same_content_gives_the_same_bytes(tmp_path: Path, ending: str) -> None:
    """Wherever it lies, whoever packs it, and whenever."""
    made = []
    for place in ("here", "some/where/else"):
        world = World(tmp_path / place, tmp_path / place.replace("/", "-") / "state")
        make_files(world.root, {"a.log": "line\n" * 1000}, mtime=WHEN)
        run(world, compress(world, "a.log", f"a.{ending}"))
        made.append((world.root / f"a.{ending}").read_bytes())

    assert made[0] == made[1]
    assert b"else" not in made[1]


@pytest.mark.parametrize("ending", ["gz", "zip", "tar.gz"])
def test_times_outside_of_what_a_format_knows_do_not_stop_it(world: World, ending: str) -> None:
    """Photos of 1969, and files from the year 2200."""
    for number, when in enumerate((-86_400.5, 7_258_118_400.0)):
        make_files(world.root, {f"a{number}": "x"}, mtime=when)
        run(world, compress(world, f"a{number}", f"a{number}.{ending}"))

    assert sorted(os.listdir(world.root)) == [f"a0.{ending}", f"a1.{ending}"]


def test_the_original_stays_when_the_archive_does_not_read_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F27: never delete without a verified copy."""
    make_files(world.root, {"a.log": "line\n" * 1000})
    pack = _archive.pack

    def damaged(*args: Any) -> Any:
        for chunk in pack(*args):
            yield chunk[:-9] + bytes(9) if chunk else chunk

    monkeypatch.setattr(_archive, "pack", damaged)

    with pytest.raises(StepFailed, match="the archive is damaged when read back"):
        world.prepare(compress(world, "a.log", "a.log.gz"))

    assert (world.root / "a.log").read_text() == "line\n" * 1000
    assert not (world.root / "a.log.gz").exists()


def test_an_archive_with_other_content_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checksums that fit are not enough: it is compared with the original."""
    make_files(world.root, {"a.log": "line"})
    monkeypatch.setattr(_archive, "pack", lambda how, members, held: iter([gzip.compress(b"other")]))

    with pytest.raises(StepFailed, match="differs from it when read back"):
        world.prepare(compress(world, "a.log", "a.log.gz"))


def test_a_log_that_a_program_still_writes_to_stays(world: World) -> None:
    """F27: its next lines would go where nobody looks."""
    make_files(world.root, {"a.log": "one\n", "d/a.log": "one\n"})
    before = world.listing()
    for name in ("a.log", "d"):
        with open(world.root / "d/a.log", "a"), open(world.root / "a.log", "a"):
            with pytest.raises(StepFailed, match=r"a\.log` is open for writing in another program"):
                world.prepare(compress(world, name, f"{name}.zip"))
            world.prepare(compress(world, name, f"{name}.zip", keep=True))

    assert difference(before, world.listing(temporaries=False)) == []


@pytest.mark.parametrize("change", ["grow", "add", "edit inside"])
def test_what_changed_since_it_was_packed_does_not_go(world: World, change: str) -> None:
    """Lines written in between would be in no archive."""
    make_files(world.root, {"a.log": "one\n", "d/in/x": "x"}, mtime=WHEN)
    action = compress(world, "a.log" if change == "grow" else "d", "out.zip")
    prior = world.prepare(action)
    if change == "grow":
        with open(world.root / "a.log", "a") as log:
            log.write("two\n")
    elif change == "add":
        make_files(world.root, {"d/new": "theirs"})
    else:
        (world.root / "d/in/x").write_text("edited")

    with pytest.raises(Conflict, match="changed"):
        world.do(action, prior)
    world.undo(action, prior)

    assert sorted(os.listdir(world.root)) == ["a.log", "d"]


def test_a_special_file_refuses_the_whole_folder(tree: World) -> None:
    """F36: no archive would bring it back, and it is not opened to find out."""
    make_files(tree.root, {"d/in/pipe": ("|",)})
    before = tree.listing()

    for name in ("d.zip", "d.tar.gz"):
        with pytest.raises(StepFailed, match=r"`.*/d/in/pipe` is a fifo, which no archive brings back"):
            tree.prepare(compress(tree, "d", name))

    assert difference(before, tree.listing()) == []


@pytest.mark.root
@pytest.mark.parametrize("keep", [False, True])
def test_a_folder_with_another_file_system_in_it_is_refused(world: World, keep: bool) -> None:
    """Its archive would lack what is mounted there, and nothing would say so."""

    def trial() -> object:
        make_files(world.root, {"d/f": "x"})
        mount_tmpfs(world.root / "d/m", size="1m")
        (world.root / "d/m/inner").write_text("in")
        with pytest.raises(StepFailed) as refused:
            world.prepare(compress(world, "d", "d.tar.gz", keep=keep))
        return str(refused.value), os.listdir(world.root / "d/m")

    assert in_own_mounts(trial) == ("`m` is a mount point, which is not entered", ["inner"])


@pytest.mark.parametrize("kind", ["gzip", "zip", "tar.gz"])
def test_a_link_is_not_compressed(world: World, kind: str) -> None:
    """What it points to may lie anywhere."""
    make_files(world.root, {"l": ("->", "a"), "a": "a"})

    with pytest.raises(PlanConflict, match=f"is a link, which {kind} does not take"):
        compress(world, "l", "out", format=kind).simulate(View(), "pack")


def test_gzip_takes_no_folder(tree: World) -> None:
    with pytest.raises(PlanConflict, match="is a folder, which gzip does not take") as refusal:
        compress(tree, "d", "d.gz").simulate(View(), "pack")

    assert refusal.value.hint == 'a folder takes format "zip" or "tar.gz"'


def test_an_archive_does_not_lie_in_what_it_packs(tree: World) -> None:
    """F39."""
    with pytest.raises(PlanConflict, match="lies inside"):
        compress(tree, "d", "d/d.zip").simulate(View(), "pack")


def test_zip_refuses_names_that_are_not_utf8_and_says_what_to_use(world: World) -> None:
    make_files(world.root, {"d/caf\udce9": "x"})

    with pytest.raises(StepFailed, match=r"`d/caf\\xe9` is not UTF-8") as refusal:
        world.prepare(compress(world, "d", "d.zip"))

    assert refusal.value.hint == 'use format = "tar.gz"'


def test_an_archive_is_readable_by_nobody_who_may_not_read_all_in_it(tree: World) -> None:
    """A private file in a public folder must not become public by being packed."""
    os.chmod(tree.root / "d/in/é", 0o600)

    run(tree, compress(tree, "d", "d.zip"))

    assert os.stat(tree.root / "d.zip").st_mode & 0o7777 == 0o600


def test_only_taking_the_original_away_needs_the_right_to_delete(tree: World) -> None:
    def deletes(action: FsCompress) -> list[bytes]:
        return [need.target.path for need in action.needs() if need.capability == FS_DELETE]  # type: ignore[union-attr]

    assert deletes(compress(tree, "d", "d.zip")) == [tree.path("d")]
    assert deletes(compress(tree, "d", "d.zip", keep=True)) == []


@pytest.mark.parametrize(
    "name, how", [("a.gz", "gzip"), ("a.ZIP", "zip"), ("a.tar.gz", "tar.gz"), ("a.tgz", "tar.gz")]
)
def test_the_ending_names_the_format(name: str, how: str) -> None:
    assert FsCompress.build({"from": b"/a", "to": b"/" + name.encode()}).how == how


def test_an_ending_that_names_no_format_asks_for_one() -> None:
    with pytest.raises(ManifestError, match=r"the ending of `/a\.rar` names no format"):
        FsCompress.build({"from": b"/a", "to": b"/a.rar"})
    with pytest.raises(ManifestError, match=r"`format` of `fs\.compress`: not one of gzip, zip, tar\.gz"):
        FsCompress.build({"from": b"/a", "to": b"/a.rar", "format": "rar"})
    assert FsCompress.build({"from": b"/a", "to": b"/a.rar", "format": "zip"}).how == "zip"


def test_content_goes_through_in_pieces(world: World) -> None:
    """Memory must not grow with the file."""
    make_files(world.root, {"big": os.urandom(20 << 20)})
    held: list[_archive.Held] = []
    with world.recorded() as ground:
        members = [
            _archive.Member(b"big", "file", 0o644, 20 << 20, 0, b"", lambda: ground.chunks(world.path("big")))
        ]
        sizes = [len(chunk) for chunk in _archive.pack("tar.gz", members, held)]

    assert sum(sizes) > 20 << 20
    assert max(sizes) < 3 << 20
