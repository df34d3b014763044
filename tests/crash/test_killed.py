"""Real processes and a real SIGKILL: the lock goes with the process, and the next one closes what it left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.scenarios import COMMANDS
from tests.crash.sweep import Scenario, World, check, peaceful
from tests.support.process import CHECKOUT

DRIVER = Path(__file__).with_name("driver.py")


def run(scenario: Scenario, top: Path, at: int) -> int:
    """Run the command in a process of its own; its exit code, -9 when it was killed."""
    done = subprocess.run(
        [sys.executable, DRIVER, scenario.name, top, str(at)],
        env={"PYTHONPATH": str(CHECKOUT), "PATH": os.environ.get("PATH", os.defpath)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode


@pytest.mark.parametrize("scenario", [COMMANDS[0], COMMANDS[2]], ids=str)
def test_a_process_killed_for_real_leaves_no_half_task(scenario: Scenario, ram: Path) -> None:
    """I3 and I5: nobody waits for a dead holder's lock, and its task is taken back."""
    after, count = peaceful(scenario, ram / "peaceful")
    rng = random.Random(7)
    for number in range(5):
        world = World.of(scenario, ram / f"w{number}")

        code = run(scenario, world.bench.top, rng.randrange(5, count))

        assert code == -signal.SIGKILL
        assert world.bench.app.desktop.holder() is None
        world.bench.app.recover()
        assert check(world, after) == "before"


def test_a_process_that_is_left_alone_does_the_same_as_here(ram: Path) -> None:
    """What the kills are compared with."""
    scenario = COMMANDS[0]
    after, _ = peaceful(scenario, ram / "peaceful")
    world = World.of(scenario, ram / "alone")

    assert run(scenario, world.bench.top, -1) == 0

    assert check(world, after) == "after"
