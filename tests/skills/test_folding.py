"""Folders that fold case (F31), tried on a real one where the machine has it."""

from __future__ import annotations

import os
import subprocess

import pytest

from deskshell.skills import folding
from tests.support.trees import make_files


def test_names_that_differ_in_case_or_composition_share_a_key():
    assert folding.key(b"README.md") == folding.key(b"readme.MD")
    assert folding.key("É.txt".encode()) == folding.key("e\u0301.TXT".encode())
    assert folding.key("Straße".encode()) == folding.key(b"STRASSE")
    assert folding.key(b"caf\xe9") != folding.key(b"CAF\xe9")


def test_an_ordinary_folder_does_not_fold(folder):
    make_files(folder, {"readme": "a", "README": ("=", "readme")})
    assert not folding.folds(os.fsencode(folder))


def test_an_empty_or_unreadable_folder_is_not_guessed_at(folder):
    assert not folding.folds(os.fsencode(folder))
    assert not folding.folds(os.fsencode(folder / "missing"))


@pytest.fixture
def folding_folder(tmp_path):
    """A folder on ext4 with casefold, mounted from a file."""
    image, mount = tmp_path / "image", tmp_path / "mount"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    if subprocess.run(
        ["mkfs.ext4", "-q", "-O", "casefold", str(image)], capture_output=True, check=False
    ).returncode:
        pytest.skip("mkfs.ext4 knows no casefold")
    if subprocess.run(
        ["mount", "-o", "loop", str(image), str(mount)], capture_output=True, check=False
    ).returncode:
        pytest.skip("a file system with casefold cannot be mounted here")
    try:
        place = mount / "d"
        place.mkdir()
        if subprocess.run(["chattr", "+F", str(place)], capture_output=True, check=False).returncode:
            pytest.skip("chattr knows no casefold")
        yield place
    finally:
        subprocess.run(["umount", str(mount)], check=True)


@pytest.mark.root
def test_a_rename_by_case_alone_goes_over_a_hop_where_names_fold(folding_folder, planning):
    make_files(folding_folder, {"readme.md": "a"})
    assert folding.folds(os.fsencode(folding_folder))
    planning.folder = folding_folder
    plan = planning.steps(
        '[[steps]]\nid="r"\naction="fs.move"\nfrom="{folder}/readme.md"\nto="{folder}/README.md"\n',
        {"folder": str(folding_folder)},
    )
    assert planning.moves(plan) == [("readme.md", "~"), ("~", "README.md")]
