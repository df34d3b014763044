"""What a user would take instead, where it is installed: run with `--peers`, in an environment of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from scripts.bench import worlds
from scripts.bench.harness import Bench, Used, ratio, run

#: Program → what pip is asked for. organize-tool does not work with the newest pydantic.
PACKAGES = {
    "organize": ["organize-tool", "pydantic<2.12"],
    "trash-list": ["trash-cli"],
    "borg": ["--only-binary", "borgbackup", "borgbackup"],
}


def programs(bench: Bench) -> dict[str, str]:
    """Paths of the peers' programs by name; notes those that cannot be had, with why."""
    venv = Path(os.environ.get("DESKSHELL_BENCH_VENV", bench.work / "peers"))
    if not (venv / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    found = {}
    for program, wanted in PACKAGES.items():
        path = str(venv / "bin" / program)
        why = (
            ""
            if os.path.exists(path)
            else _failure([str(venv / "bin" / "pip"), "install", "--quiet", *wanted])
        )
        why = why or _failure([path, "--version"])
        if why:
            bench.notes.append(f"{program} is left out: {why}")
        else:
            found[program] = path
    for program in ("git", "restic"):
        if worlds.has(program):
            found[program] = program
        else:
            bench.notes.append(f"{program} is left out: it is not installed, and pip does not have it")
    return found


def _failure(words: list[str]) -> str:
    """Why a program cannot be run, its last word on it; "" when it can."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as exc:
        return str(exc)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason given"])[-1]


def starting(bench: Bench) -> dict[str, Callable[[], Used]]:
    """Commands of peers that do next to nothing."""
    found = programs(bench)
    lines = {"trash-list": ["--version"], "borg": ["--version"], "organize": ["--version"]}
    return {
        f"peer {name} {' '.join(words)}": partial(run, [found[name], *words], bench.state())
        for name, words in lines.items()
        if name in found
    }


def tidying(bench: Bench, files: int) -> dict[str, Callable[[], Used]]:
    """organize-tool and `git mv` doing what the skill does, on folders of their own."""
    found = programs(bench)
    sides: dict[str, Callable[[], Used]] = {}
    if "organize" in found:
        sides["organize"] = partial(_organize, bench, found["organize"], files)
    if "git" in found:
        sides["git mv"] = partial(_git_mv, bench, files)
    return sides


def _organize(bench: Bench, program: str, files: int) -> Used:
    folder = worlds.flat_folder(bench, "organize", files)
    rules = bench.work / "organize.yaml"
    rules.write_text(
        f"rules:\n  - locations: {folder}\n    filters: [extension]\n"
        f"    actions:\n      - move: '{folder}/sorted/{{extension}}/'\n"
    )
    return run([program, "run", str(rules)], bench.state())


def _repository(bench: Bench, files: int) -> Path:
    folder = worlds.flat_folder(bench, "git", files)
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "-qm", "b"],
    ):
        run(["git", "-C", str(folder), *words], bench.state())
    return folder


def _git_mv(bench: Bench, files: int) -> Used:
    folder = _repository(bench, files)
    script = worlds.Mv(folder).there
    script.write_text("\n".join(map(_by_git, script.read_text().splitlines())) + "\n")
    return run(["sh", str(script)], bench.state())


def _by_git(line: str) -> str:
    """`mv -t FOLDER -- NAMES` as git has it: the folder last."""
    if not line.startswith("mv -t "):
        return line
    folder, _, names = line.removeprefix("mv -t ").partition(" -- ")
    return f"git mv -- {names} {folder}"


def git_reset(bench: Bench, files: int, mv: Used) -> None:
    """Take a tidying back with git, which loses modes and times."""
    if "git" in programs(bench):
        _git_mv(bench, files)
        used = run(["git", "-C", str(bench.work / "git"), "reset", "-q", "--hard"], bench.state())
        bench.add(ratio("   git reset --hard / mv back", used, mv, None))
