"""Sample worlds: built as described, compared to the last attribute; and the shipped skills on theirs."""

from __future__ import annotations

import os
import time
from datetime import datetime
from pathlib import Path

import pytest

from deskshell.app.skillset import test_skill as try_skill
from deskshell.config import load
from deskshell.errors import ManifestError
from deskshell.skills import fixture, library, media
from deskshell.skills.pictures import picture
from tests.support.trees import make_files

SHIPPED = {
    "first-skill": "PASS first-skill 1 steps · undo 1 steps · byte for byte",
    "rename-batch": "PASS rename-batch 3 steps · undo 3 steps · byte for byte",
    "log-archive": "PASS log-archive 5 steps · undo 5 steps · byte for byte",
    "downloads-cleanup": "PASS downloads-cleanup 10 steps · undo 10 steps · byte for byte",
    "photo-sort": "PASS photo-sort 13 steps · undo 13 steps · byte for byte",
    "submit-form": "SKIP submit-form irreversible",
}


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_skill_is_undone_byte_for_byte(name, kinds, home):
    """The source's own table: these steps, all of them taken back."""
    skill = library.Skill(name, library.shipped_folder() / name, kinds, shipped=True)
    assert try_skill(skill, load(home.environment())).line == SHIPPED[name]


def test_there_is_no_shipped_skill_without_such_a_line():
    assert {path.name for path in library.shipped_folder().iterdir()} == SHIPPED.keys()


def build(tmp_path: Path, text: str, kinds) -> Path:
    place = tmp_path / "x"
    place.mkdir()
    (place / "skill.toml").write_text('name="x"\nversion="1"\nsummary="s"\n[[steps]]\naction="noop"\n')
    (place / "fixture.toml").write_text(text)
    root = tmp_path / "world"
    root.mkdir()
    fixture.build_world(fixture.load(library.Skill("x", place, kinds)), root)
    return root


def test_a_world_is_built_as_described(tmp_path, kinds, home):
    root = build(
        tmp_path,
        """
        [[folders]]
        path = "closed"
        mode = "0500"
        [[files]]
        path = "closed/a"
        text = "ä"
        mode = "0640"
        mtime = "2024-05-06 07:08:09"
        [[files]]
        path_base64 = "Y2Fm6Q=="
        base64 = "AP8="
        [[files]]
        path = "hole"
        size = 1000000000
        sparse = true
        [[files]]
        path = "copy"
        same_as = "closed/a"
        mtime = "2h ago"
        [[links]]
        path = "soft"
        target = "nowhere"
        [[links]]
        path = "hard"
        hard = "copy"
        [[fifos]]
        path = "pipe"
        """,
        kinds,
    )
    names = sorted(os.listdir(os.fsencode(root)))
    assert names == [b"caf\xe9", b"closed", b"copy", b"hard", b"hole", b"pipe", b"soft"]
    assert (root / "closed").stat().st_mode & 0o777 == 0o500
    assert (root / "closed" / "a").stat().st_mtime_ns == 1714979289_123456789
    assert (root / "copy").read_text() == "ä"
    assert (root / "copy").stat().st_nlink == 2
    assert 7199 < time.time() - (root / "copy").stat().st_mtime < 7300
    assert (root / "hole").stat().st_blocks * 512 < 1_000_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[files]]\npath = "../out"\ntext = ""\n', "stays in it"),
        ('[[files]]\ntext = ""\n', "needs `path`"),
        ('[[files]]\npath = "a"\n', "needs one of text"),
        ('[[files]]\npath = "a"\ntxt = ""\n', r"unknown key `txt` \(did you mean `text`\?\)"),
        ('[[file]]\npath = "a"\n', r"unknown key `file` \(did you mean `files`\?\)"),
        ('[[files]]\npath = "a"\ntext = ""\nmtime = "yesterday"\n', "does not match format"),
        ('[[files]]\npath = "a.bmp"\ntaken = "none"\n', "no picture format"),
        ("[[files", "fixture.toml"),
    ],
)
def test_a_world_that_cannot_be_built_says_why(tmp_path, kinds, text, message):
    with pytest.raises(ManifestError, match=message):
        build(tmp_path, text, kinds)


def test_a_skill_without_a_fixture_is_skipped_with_that_reason(tmp_path, kinds):
    place = tmp_path / "x"
    place.mkdir()
    (place / "skill.toml").write_text('name="x"\nversion="1"\nsummary="s"\n[[steps]]\naction="noop"\n')
    assert fixture.load(library.Skill("x", place, kinds)).skip_reason == "has no fixture.toml"


CHANGES = {
    "content": lambda root: (root / "a").write_text("2"),
    "mode": lambda root: (root / "a").chmod(0o600),
    "mtime": lambda root: os.utime(root / "a", ns=(1, 1)),
    "target": lambda root: ((root / "l").unlink(), (root / "l").symlink_to("b")),
    "added": lambda root: (root / "new").mkdir(),
    "removed": lambda root: (root / "a").unlink(),
    "links": lambda root: os.link(root / "a", root.parent / "second"),
    "extended attributes": lambda root: os.setxattr(root / "a", "user.x", b"1"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_any_difference_is_seen(tmp_path, what):
    """A comparison that misses something would let a bad undo pass."""
    root = tmp_path / "w"
    make_files(root, {"a": "1", "l": ("->", "a")}, mtime=1_700_000_000)
    before = fixture.snapshot(root)
    assert fixture.compare(before, fixture.snapshot(root)) == []
    CHANGES[what](root)
    assert any(line.endswith(what) for line in fixture.compare(before, fixture.snapshot(root)))


# pictures and their dates


@pytest.mark.parametrize(
    "ending", ["jpg", "jpeg", "png", "tif", "tiff", "heic", "heif", "dng", "nef", "cr2", "arw"]
)
def test_the_date_of_each_format_is_read(tmp_path, ending):
    taken = datetime(2024, 2, 29, 23, 59, 58)
    path = tmp_path / f"a.{ending}"
    path.write_bytes(picture(ending, taken))
    assert media.date_taken(os.fsencode(path)) == taken
    path.write_bytes(picture(ending, None))
    assert media.date_taken(os.fsencode(path)) is None


@pytest.mark.parametrize("content", [b"", b"\xff\xd8", b"no picture", b"II*\0\xff\xff\xff\xff", bytes(5000)])
def test_what_is_no_picture_has_no_date_and_says_nothing(tmp_path, capfd, content):
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    assert media.date_taken(os.fsencode(path)) is None
    assert capfd.readouterr() == ("", "")


def test_a_picture_that_sends_its_reader_round_in_circles_is_given_up(tmp_path):
    """A box of a size below its own head leads back to itself."""
    path = tmp_path / "a.heic"
    head = b"\0\0\0\x18ftypheic" + bytes(4) + b"mif1heic"
    path.write_bytes(head + b"\0\0\0\x02free" + bytes(100))
    assert media.date_taken(os.fsencode(path)) is None


@pytest.mark.parametrize(
    "text", ["0000:00:00 00:00:00", "    :  :     :  :  ", "", "2024:13:01 00:00:00", "0001:01:01 00:00:00"]
)
def test_a_camera_without_a_clock_gives_no_date(text):
    assert media.parse_date(text) is None
