"""What is installed works like the checkout: the wheel carries the skills and finds them."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.process import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.process import Home

SKILLS = CHECKOUT / "skills"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built without network."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_carries_every_file_of_every_skill(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        carried = {name for name in archive.namelist() if name.startswith("deskshell/skills_shipped/")}

    shipped = [path for path in SKILLS.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert carried == {f"deskshell/skills_shipped/{path.relative_to(SKILLS).as_posix()}" for path in shipped}
    assert any(name.endswith("/skill.toml") for name in carried)


@pytest.mark.slow
def test_the_installed_command_lists_the_skills_it_ships(wheel: Path, tmp_path: Path, home: Home) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")

    done = subprocess.run(
        [sys.executable, "-m", "deskshell", "skills", "list"],
        cwd=home.user,
        env=home.environment() | {"PYTHONPATH": os.fspath(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in SKILLS.iterdir() if path.name not in done.stdout] == []
