"""What a file's name promises."""

from __future__ import annotations

import os

import pytest

from deskshell.skills import media


@pytest.mark.parametrize(
    "name",
    [b"a", b"a.b", b"a.b.c", b"a.", b"a..", b".a", b"..a", b".a.b", b"..a.b", b"...", b".", b"\xff.\xfe"],
)
def test_stem_and_ending_are_those_of_the_standard_library(name):
    stem, ext = os.path.splitext(name)
    assert media.stem_and_ext(name) == (stem, ext[1:])
