"""What the benchmarks share: running programs in turn, comparing trees, and the table at the end.

Times are medians of alternating runs (A B A B …) in one process tree, so what else the machine does hits both
sides alike. A ratio of wall times is what a goal is about; the ratio of processor times stands beside it, for on
a busy machine it is the steadier one.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LAUNCHER = """#!{python}
import re
import sys
sys.path.insert(0, {root!r})
from deskshell.cli.main import main
if __name__ == "__main__":
    sys.argv[0] = re.sub(r"(-script\\.pyw|\\.exe)?$", "", sys.argv[0])
    sys.exit(main())
"""


# A program is started by a small process of its own, which writes what it took to a pipe: the peak memory that the
# system tells of a program counts in what the process had that started it, and this one grows.
_SPAWN = """
import os, sys, time
report, command = int(sys.argv[1]), sys.argv[2:]
os.set_inheritable(report, False)
started = time.perf_counter()
pid = os.posix_spawnp(command[0], command, os.environ)
_, status, usage = os.wait4(pid, 0)
wall_s = time.perf_counter() - started
told = os.waitstatus_to_exitcode(status), wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss
os.write(report, " ".join(map(str, told)).encode())
"""


@dataclass(frozen=True)
class Used:
    """What one run of a program took: seconds on the clock and of processors, and its peak memory in MiB."""

    wall_s: float
    cpu_s: float
    peak_mib: float


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, and the goal that it is held against (None: for comparison)."""

    what: str
    value: float
    unit: str
    goal: float | None = None
    stretch: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """`stretch`, `goal`, `MISSED`, or nothing where there is no goal."""
        if self.goal is None:
            return ""
        if self.stretch is not None and self.value <= self.stretch:
            return "stretch"
        return "goal" if self.value <= self.goal else "MISSED"


@dataclass
class Bench:
    """One benchmark run: its sizes, its folder, how to start deskshell, and the rows found so far."""

    work: Path
    quick: bool
    rounds: int
    peers: bool
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def size(self, full: int, quick: int) -> int:
        """The number to work with: `full`, or `quick` for a trial on a tiny size."""
        return quick if self.quick else full

    def folder(self, name: str) -> Path:
        """A fresh folder in this benchmark's own."""
        path = self.work / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def state(self, name: str = "state") -> dict[str, str]:
        """The environment in which deskshell uses the state folder `name` of this benchmark."""
        more = {"DESKSHELL_HOME": str(self.work / name), "HOME": str(self.work), "LC_ALL": "C.UTF-8"}
        environment = {**os.environ, **more}
        # A first run writes byte code, as an installed program has it.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return environment

    def program(self) -> str:
        """The path of the `deskshell` command of this checkout."""
        installed = Path(python()).parent / "deskshell"
        if installed.exists():
            return str(installed)
        launcher = self.work / "bin" / "deskshell"
        if not launcher.exists():
            launcher.parent.mkdir(parents=True, exist_ok=True)
            launcher.write_text(_LAUNCHER.format(python=python(), root=str(ROOT)))
            launcher.chmod(0o755)
        return str(launcher)

    def add(self, row: Row) -> None:
        """Take a result into the table."""
        self.rows.append(row)


def python() -> str:
    """The Python that has what deskshell needs: of $DESKSHELL_VENV, the checkout's .venv, or the one running."""
    venv = Path(os.environ.get("DESKSHELL_VENV", ROOT / ".venv"))
    found = venv / "bin" / "python"
    return str(found) if found.exists() else sys.executable


def run(command: Sequence[str], environment: Mapping[str, str], *, ok: Sequence[int] = (0,)) -> Used:
    """Run a program to its end, its output thrown away, and say what it took. Raises RuntimeError when it fails."""
    with tempfile.TemporaryFile() as errors:
        reading, writing = os.pipe()
        with open(reading) as report:
            spawner = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _SPAWN, str(writing), *command],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=(writing,),
            )
            os.close(writing)
            told = report.read().split()
            spawner.wait()
        code = int(told[0]) if told else spawner.returncode
        if code not in ok or not told:
            errors.seek(0)
            raise RuntimeError(f"{list(command)[:6]} ended with {code}: {errors.read()[-2000:].decode()}")
    wall_s, cpu_s, peak_kib = map(float, told[1:])
    return Used(wall_s, cpu_s, peak_kib / 1024)


def output(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """What a program prints. Raises subprocess.CalledProcessError when it fails."""
    done = subprocess.run(command, env=dict(environment), capture_output=True, text=True, check=True)
    return done.stdout


def alternate(rounds: int, sides: Mapping[str, Callable[[], Used]]) -> dict[str, Used]:
    """The medians of `rounds` runs of each side, one after the other in turn."""
    taken: dict[str, list[Used]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            taken[name].append(side())
    return {name: _median(each) for name, each in taken.items()}


def _median(taken: Sequence[Used]) -> Used:
    return Used(
        statistics.median(each.wall_s for each in taken),
        statistics.median(each.cpu_s for each in taken),
        max(each.peak_mib for each in taken),
    )


def added(*taken: Used) -> Used:
    """One after the other as one."""
    return Used(
        sum(each.wall_s for each in taken),
        sum(each.cpu_s for each in taken),
        max(each.peak_mib for each in taken),
    )


def ratio(what: str, ours: Used, theirs: Used, goal: float | None, stretch: float | None = None) -> Row:
    """A row that compares two sides by wall time."""
    note = f"{ours.wall_s * 1e3:,.0f} ms / {theirs.wall_s * 1e3:,.0f} ms; processor {ours.cpu_s / max(theirs.cpu_s, 1e-6):.2f} ×"
    return Row(what, ours.wall_s / theirs.wall_s, "×", goal, stretch, note)


def must_equal(what: str, one: str, two: str) -> None:
    """Stop before any timing when the result is not right."""
    if one != two:
        raise RuntimeError(f"wrong result, nothing is timed: {what}")


def machine() -> str:
    """One line on the machine and the versions."""
    with (
        open("/proc/loadavg", encoding="ascii")
        if os.path.exists("/proc/loadavg")
        else open(os.devnull) as file
    ):
        load = " ".join(file.read().split()[:3]) or "?"
    version = output([python(), "-c", "import sys; print(sys.version.split()[0])"], os.environ).strip()
    return (
        f"{platform.system()} {platform.release()}, {os.cpu_count()} processors, {_file_system()}, "
        f"Python {version}, load {load}"
    )


def _file_system() -> str:
    found = subprocess.run(
        ["stat", "-f", "-c", "%T", tempfile.gettempdir()], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown file system"


def table(rows: Sequence[Row], *, judged: bool = True) -> str:
    """The rows as text, columns aligned; not `judged` for a trial, whose times mean nothing."""
    cells = [["what", "value", "goal", "stretch", "", "how"], *map(_cells, rows)]
    for line in [] if judged else cells:
        line[4] = ""
    widths = [max(len(line[at]) for line in cells) for at in range(6)]
    lines = (zip(line, widths, strict=True) for line in cells)
    return "\n".join("  ".join(cell.ljust(width) for cell, width in line).rstrip() for line in lines)


def _cells(row: Row) -> list[str]:
    goal = "" if row.goal is None else f"≤ {row.goal:g}"
    stretch = "" if row.stretch is None else f"{row.stretch:g}"
    return [row.what, f"{row.value:,.2f} {row.unit}", goal, stretch, row.verdict, row.note]


@contextmanager
def workspace(keep: bool = False) -> Iterator[Path]:
    """A folder for everything a benchmark makes, gone afterwards.

    Its path is about as long as that of a folder in a home: each step of a plan holds it twice.
    """
    path = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        yield path
    finally:
        if not keep:
            shutil.rmtree(path, ignore_errors=True)


def options(description: str) -> argparse.ArgumentParser:
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a trial on a tiny size: is the result right?")
    parser.add_argument("--rounds", type=int, default=5, help="alternating runs of each side (default 5)")
    parser.add_argument(
        "--peers", action="store_true", help="also what a user would take instead, where installed"
    )
    parser.add_argument("--keep", action="store_true", help="leave the working folder, and say where it is")
    return parser


def main(measure: Callable[[Bench], None], description: str, arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark as a command; 1 when a goal is missed (never with --quick, which shows no speed)."""
    given = options(description).parse_args(arguments)
    with workspace(given.keep) as work:
        bench = Bench(work, given.quick, 1 if given.quick else given.rounds, given.peers)
        measure(bench)
        print(table(bench.rows, judged=not bench.quick))
        for note in (*bench.notes, machine(), *([f"kept: {work}"] if given.keep else [])):
            print(note)
    return 1 if not given.quick and any(row.verdict == "MISSED" for row in bench.rows) else 0
