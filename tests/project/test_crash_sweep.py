"""`scripts/crash_sweep.py` finds what it is there to find, and only that."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.process import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

SAVE = """
import os
fd = os.open("new", os.O_CREAT | os.O_WRONLY)
os.write(fd, b"x" * 100)
{sync}
os.close(fd)
os.rename("new", "file")
print("saved")
"""
# What was reported as saved is there, whole.
CHECK = 'test ! -e file && ! grep -q saved "$SWEEP_OUT" || test "$(wc -c < file)" = 100'


def sweep(folder: Path, program: str, mode: str) -> subprocess.CompletedProcess[str]:
    (folder / "save.py").write_text(program)
    done = subprocess.run(
        [
            *(sys.executable, CHECKOUT / "scripts/crash_sweep.py", "--jobs", "1", "--workdir", folder),
            *("--run", f"{sys.executable} -S {folder / 'save.py'}", "--check", CHECK, "--mode", mode),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if "seccomp notification not available" in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


def test_a_missing_sync_is_found(folder: Path) -> None:
    done = sweep(folder, SAVE.format(sync=""), "lost")

    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL lost:4  end" in done.stdout


def test_a_program_that_syncs_passes_every_kill_cut_and_error(folder: Path) -> None:
    done = sweep(folder, SAVE.format(sync="os.fsync(fd)"), "kill,torn,lost,ENOSPC,int")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("18 points, 0 failures\n")
