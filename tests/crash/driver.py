"""A process that runs one scenario's command and kills itself at one change: ``driver.py NAME TOP AT``.

The scenario's world is made when `TOP` is empty; with AT below 0 the command runs to its end.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.crash.scenarios import COMMANDS
from tests.support.desk import Bench
from tests.support.seam import Kill, seam


def main(name: str, top: str, at: int) -> None:
    """Run the command of the scenario `name` in the world at `top`."""
    scenario = next(each for each in COMMANDS if each.name == name)
    bench = Bench(Path(top), scenario.settings)
    with seam(Kill(at, for_real=True) if at >= 0 else None):
        scenario.command(bench)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
