"""A folder as a value: listing, digest, differences, storing."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deskshell.errors import Conflict, StepFailed
from deskshell.files import tree
from deskshell.files.identity import KINDS
from deskshell.files.tree import Entry, differences, digest, dump, load, walk
from tests.files.making import make_anything, make_deep
from tests.support.mounts import in_own_mounts
from tests.support.privileges import as_normal_user
from tests.support.trees import make_files

NAMES = st.binary(min_size=1, max_size=12).filter(lambda name: b"/" not in name and b"\0" not in name)
PATHS = st.lists(NAMES, max_size=4).map(b"/".join)
NUMBERS = st.integers(min_value=0, max_value=2**63 - 1)
ENTRIES = st.builds(
    Entry,
    path=PATHS,
    kind=st.sampled_from(KINDS),
    mode=st.integers(0, 0o7777),
    uid=NUMBERS,
    gid=NUMBERS,
    size=NUMBERS,
    mtime_ns=st.integers(-(2**62), 2**62),
    nlink=NUMBERS,
    target=st.binary(max_size=12),
    sha256=st.sampled_from(["", "ab" * 32]),
)
LISTINGS = st.lists(ENTRIES, max_size=8, unique_by=lambda entry: entry.path)


def paths(fd: int, name: bytes) -> list[bytes]:
    return [entry.path for entry in walk(fd, name)]


def test_a_listing_names_everything_a_folder_first_and_siblings_in_byte_order(folder: Path, fd: int) -> None:
    make_files(
        folder, {b"t/a/x": b"", b"t/a.txt": b"", b"t/B": b"", b"t/\xff": b"", b"t/a/w/": None, b"t/ ": b""}
    )

    assert paths(fd, b"t") == [b"", b" ", b"B", b"a", b"a/w", b"a/x", b"a.txt", b"\xff"]


def test_an_entry_tells_all_about_its_object(folder: Path, fd: int) -> None:
    make_files(folder, {"t/f": "text", "t/l": ("->", "nowhere"), "t/second": ("=", "t/f")}, mtime=1000)
    os.chmod(folder / "t" / "f", 0o4640)

    found = {entry.path: entry for entry in walk(fd, b"t", hashes=True)}

    owner = (os.geteuid(), os.getegid())
    digest_of_text = hashlib.sha256(b"text").hexdigest()
    assert found[b"f"] == Entry(b"f", "file", 0o4640, *owner, 4, 10**12, 2, b"", digest_of_text)
    assert found[b"second"] == found[b"f"]._replace(path=b"second")
    assert found[b"l"] == Entry(b"l", "link", 0o777, *owner, 7, 10**12, 1, b"nowhere", "")
    assert found[b""].kind == "folder"


@pytest.mark.parametrize("name", [b"f", b"l", b"p"])
def test_a_single_object_is_a_listing_of_one(folder: Path, fd: int, name: bytes) -> None:
    make_files(folder, {"f": "x", "l": ("->", "/"), "p": ("|",)})

    assert paths(fd, name) == [b""]


def test_what_is_not_there_has_an_empty_listing(fd: int) -> None:
    assert paths(fd, b"missing") == []


def test_a_link_to_a_folder_is_not_entered(folder: Path, fd: int) -> None:
    make_files(folder, {"t/out": ("->", ".."), "secret": "x"})

    assert paths(fd, b"t") == [b"", b"out"]


def test_a_folder_1000_deep_is_listed(deep: Path, fd: int) -> None:
    make_deep(deep, 1000)

    listed = list(walk(fd, b"d", hashes=True))

    assert len(listed) == 1000 + 10
    assert max(listed, key=lambda entry: entry.path.count(b"/")).path == b"/".join([b"d"] * 999)
    assert load(dump(listed)) == listed


def test_a_listing_that_stops_half_way_leaves_nothing_open(folder: Path, fd: int) -> None:
    """The fixture `nothing_left_behind` looks at the descriptors."""
    make_files(folder, {"t/a/b": "", "t/c": ""})
    listing = walk(fd, b"t")
    next(listing)
    next(listing)
    listing.close()


def test_progress_is_told_for_every_entry_and_byte_and_may_stop_it(folder: Path, fd: int) -> None:
    make_files(folder, {"t/a": "12345", "t/b": ""})
    ticks: list[int] = []
    list(walk(fd, b"t", hashes=True, tick=ticks.append))
    assert (len([t for t in ticks if t == 0]), sum(ticks)) == (3, 5)

    def stop(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(walk(fd, b"t", tick=stop))


def test_a_folder_swapped_for_a_link_meanwhile_is_not_followed(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, {"t/sub/in": "x", "outside/secret": "y"})
    real = tree.stat_at

    def swap(dir_fd: int, name: bytes) -> object:
        found = real(dir_fd, name)
        if name == b"sub":
            (folder / "t" / "sub").rename(folder / "away")
            (folder / "t" / "sub").symlink_to(folder / "outside")
        return found

    monkeypatch.setattr(tree, "stat_at", swap)

    with pytest.raises(Conflict, match="`sub` was replaced"):
        paths(fd, b"t")


def test_a_folder_moved_away_meanwhile_is_noticed(folder: Path, fd: int) -> None:
    """Going up would lead out of the listed tree."""
    make_files(folder, {"t/a/b/c": "x", "t/z": "y", "elsewhere/z": "not ours"})
    listing = walk(fd, b"t")
    while next(listing).path != b"a/b/c":
        pass
    (folder / "t" / "a" / "b").rename(folder / "elsewhere" / "b")

    with pytest.raises(Conflict, match="moved while it was being read"):
        next(listing)


def test_an_unreadable_folder_is_an_error_and_not_an_empty_one(normal_folder: Path, normal_fd: int) -> None:
    """F01: what was not seen must never pass for what is not there."""

    def trial() -> bool:
        make_files(normal_folder, {"t/closed/in": "x"})
        (normal_folder / "t" / "closed").chmod(0o300)
        try:
            list(walk(normal_fd, b"t"))
        except OSError:
            return True
        return False

    assert as_normal_user(trial) is True


@pytest.mark.root
def test_another_mount_is_listed_and_not_entered(folder: Path) -> None:
    def trial() -> list[bytes]:
        make_files(folder, {"t/m/": None, "t/z": "", "src/in": "y"})
        assert os.system(f"mount --bind {folder}/src {folder}/t/m") == 0
        return paths(os.open(folder, os.O_RDONLY), b"t")

    assert in_own_mounts(trial) == [b"", b"m", b"z"]


def test_a_file_that_became_a_fifo_is_refused_and_does_not_block(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, {"t/f": "x"})
    real = tree.hash_file

    def swap(dir_fd: int, name: bytes, tick: object) -> str:
        os.unlink(folder / "t" / "f")
        os.mkfifo(folder / "t" / "f")
        return real(dir_fd, name)

    monkeypatch.setattr(tree, "hash_file", swap)

    with pytest.raises(StepFailed, match="`f` is a fifo"):
        list(walk(fd, b"t", hashes=True))


# --- values -----------------------------------------------------------------------------------------------------


@given(LISTINGS)
@example([Entry(b"a\xff\n", "link", 0, 0, 0, 0, 0, 1, b"\xff\xfe", "")])
def test_a_listing_survives_being_stored(entries: list[Entry]) -> None:
    assert load(dump(entries)) == entries


@given(LISTINGS, st.randoms())
def test_a_digest_does_not_depend_on_the_order(entries: list[Entry], random: object) -> None:
    shuffled = list(entries)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert digest(shuffled) == digest(entries)


@st.composite
def real_listings(draw: st.DrawFn) -> list[Entry]:
    """As `walk` gives them with hashes: few values, so that two listings often agree in part."""
    listing = []
    for path in draw(st.lists(st.sampled_from([b"", b"a", b"a/b", b"c"]), unique=True)):
        kind, number = draw(st.sampled_from(["file", "folder", "link", "fifo"])), draw(st.integers(0, 1))
        listing.append(
            Entry(
                path,
                kind,
                draw(st.sampled_from([0o600, 0o4755])),
                draw(st.integers(0, 1)),
                1,
                0 if kind == "fifo" else number,
                draw(st.integers(0, 1)),
                draw(st.integers(1, 2)),
                b"t" * number if kind == "link" else b"",
                f"{number:064x}" if kind == "file" else "",
            )
        )
    return listing


@given(real_listings(), real_listings())
def test_digests_agree_exactly_when_nothing_differs_that_counts(old: list[Entry], new: list[Entry]) -> None:
    """Both ways of asking "is it as it was?" give the same answer."""
    counts = [word for _, word in differences(old, new) if word != "links"]

    assert (digest(old) == digest(new)) == (counts == [])


def test_every_difference_is_named(folder: Path, fd: int) -> None:
    make_anything(folder)
    make_anything(folder / "copy")
    copy = os.open(folder / "copy", os.O_RDONLY)
    top = folder / "copy" / "a"
    before = list(walk(fd, b"a", hashes=True))
    assert differences(before, walk(copy, b"a", hashes=True)) == []

    (top / "new").touch()
    (top / "-rf").unlink()
    (top / "file").write_text("TEXT\n")
    os.utime(top / "file", ns=(0, 1_500_000_000_250_000_000))
    os.chmod(top / "file", 0o4755)
    os.chmod(top / "empty", 0o600)
    os.unlink(top / "loop")
    (top / "loop").symlink_to("pool")
    os.utime(top / "loop", ns=(0, 1_500_000_000_250_000_000), follow_symlinks=False)
    os.unlink(top / "pipe")
    (top / "pipe").mkdir()
    os.unlink(top / "sub" / "second")
    os.utime(top / "sub", ns=(0, 1_400_000_000_000_000_007))
    os.utime(top, ns=(0, 1_500_000_000_250_000_000))
    os.utime(top / "none", ns=(0, 5))

    found = differences(before, walk(copy, b"a", hashes=True))
    os.close(copy)
    assert found == [
        (b"-rf", "removed"),
        (b"empty", "mode"),
        (b"file", "content"),
        (b"first", "links"),
        (b"loop", "target"),
        (b"new", "added"),
        (b"none", "mtime"),
        (b"pipe", "kind"),
        (b"sub/deeper/third", "links"),
        (b"sub/second", "removed"),
    ]


def test_a_change_of_owner_is_named() -> None:
    entry = Entry(b"a", "file", 0o600, 1, 1, 3, 0, 1, b"", "")

    assert differences([entry], [entry._replace(gid=2)]) == [(b"a", "owner")]


def test_content_is_compared_by_hash_where_both_have_one_else_by_size() -> None:
    plain = Entry(b"a", "file", 0o600, 1, 1, 3, 0, 1, b"", "")
    one, other = plain._replace(sha256="1"), plain._replace(sha256="2")

    assert differences([one], [other]) == [(b"a", "content")]
    assert differences([plain], [other]) == []
    assert differences([plain], [other._replace(size=4)]) == [(b"a", "content")]


def test_the_digest_leaves_out_what_a_faithful_copy_cannot_keep() -> None:
    folder = Entry(b"", "folder", 0o700, 1, 1, 4096, 0, 2, b"", "")
    file = Entry(b"a", "file", 0o600, 1, 1, 3, 0, 1, b"", "")

    assert digest([folder, file]) == digest([folder._replace(size=0, nlink=9), file._replace(nlink=5)])
    assert digest([folder, file]) != digest([folder, file._replace(size=4)])


def test_names_cannot_be_chosen_so_that_two_listings_share_a_digest() -> None:
    """A name of base64 is not the name that it stands for."""
    one = Entry(b"\xff", "file", 0, 0, 0, 0, 0, 1, b"", "")

    assert digest([one]) != digest([one._replace(path=b'["/w=="]')])


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b"[]",
        b"nonsense",
        b'[["a","b"],"file",0,0,0,0,0,1,"",""]',
        b'[["?"],"file",0,0,0,0,0,1,"",""]',
        b'["a","file",0,0,0,0,0.5,1,"",""]',
        b'["a","file",0,0,0,true,0,1,"",""]',
        b'["a","paper",0,0,0,0,0,1,"",""]',
        b'["\\udc80","file",0,0,0,0,0,1,"",""]',
        b'["a","file",0,0,0,0,0,1,"",null]',
    ],
)
def test_a_stored_line_that_is_no_entry_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        load(line + b"\n")
