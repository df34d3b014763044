"""What a plan remembers of the disk, in little memory."""

from __future__ import annotations

import pytest

from deskshell.files.identity import Identity
from deskshell.kernel.seen import chained, pack, unpack

FILE = Identity("file", 2**64 - 1, 1_700_000_000_123_456_789, 0, -1, 5)


@pytest.mark.parametrize("kind", ["file", "folder", "link", "fifo", "socket", "char", "block"])
def test_an_identity_comes_back_as_it_was(kind):
    """It decides later whether a file may be touched."""
    found = FILE._replace(kind=kind)
    assert unpack(pack(found)) == found
    assert type(pack(found)) is bytes


def test_a_time_that_no_64_bits_hold_is_kept_too():
    """`touch -d 9999-12-31` is possible on tmpfs and btrfs."""
    found = FILE._replace(mtime_ns=253_402_300_799_000_000_000)
    assert unpack(pack(found)) == found


def test_sights_are_a_sequence_in_the_order_of_looking():
    seen = chained({b"/a": pack(FILE), b"/b": None, b"/a/c": pack(FILE)})
    assert list(seen) == [(b"/a", FILE), (b"/b", None), (b"/a/c", FILE)]
    assert dict(seen) == {b"/a": FILE, b"/b": None, b"/a/c": FILE}
    assert (len(seen), seen[0], seen[-1]) == (3, (b"/a", FILE), (b"/a/c", FILE))
    assert seen == ((b"/a", FILE), (b"/b", None), (b"/a/c", FILE))
    assert seen != ()


def test_no_sights_are_nothing():
    assert not chained({})
