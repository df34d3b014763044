"""The entry point: the quick answer to `--version`, and the error boundary around everything else."""

from __future__ import annotations

import gc
import os
import sys

#: Objects between two searches for cycles: starting makes tens of thousands, and no cycle worth finding.
_OBJECTS_BETWEEN = 100_000


def main() -> None:
    """Run this process's command line and end it with an exit code of the contract."""
    gc.set_threshold(_OBJECTS_BETWEEN, 20, 20)
    args = sys.argv[1:]
    code = run(args)
    if args[:1] == ["mcp"]:
        sys.exit(code)  # its libraries have threads to end
    # All is on disk and written out. Taking the interpreter apart would take as long as half of an undo.
    os._exit(code)


def run(args: list[str]) -> int:
    """Run `deskshell ARGS` and return its exit code; nothing is raised but for a second interrupt."""
    if args == ["--version"]:  # answered before anything is imported
        return _version()
    from deskshell.cli import commands, faults, output

    try:
        code = commands.invoke(args)
    except BaseException as exc:
        if isinstance(exc, SystemExit):  # shell completion ends this way
            code = exc.code if isinstance(exc.code, int) else 0
        else:
            command = f"deskshell {args[0]}" if commands.is_command(args) else "deskshell"
            code = faults.report(exc, json=wants_json(args), command=command)
    output.flush()
    failure = output.Failure.error
    if failure is not None:
        faults.tell(f"the output could not be written: {(failure.strerror or str(failure)).lower()}")
        # What a task did is not changed by who could read about it; a command that only shows has failed.
        code = code or (0 if commands.acts(args) else 1)
    return code


def wants_json(args: list[str]) -> bool:
    """Whether errors are to be told as JSON, also when the options could not be parsed."""
    return "--json" in (args[: args.index("--")] if "--" in args else args)


def _version() -> int:
    from deskshell import __version__

    try:
        sys.stdout.write(f"deskshell {__version__}\n")
        sys.stdout.flush()
    except (OSError, AttributeError):  # a closed pipe or no standard output
        os._exit(0)
    return 0
