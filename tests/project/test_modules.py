"""What holds for every module: a docstring, its layer, and no talking to the terminal or environment from below."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.process import CHECKOUT

PACKAGE = CHECKOUT / "deskshell"
MODULES = sorted(path.relative_to(CHECKOUT) for path in PACKAGE.rglob("*.py"))
LONGEST = 500  # lines; the nearest models have almost none above

# Each library stays with the part that needs it: below the command line nothing talks to a terminal, and what is
# slow to import is imported by nobody else.
HOMES = {
    "typer": ("deskshell/cli/",),
    "click": ("deskshell/cli/",),
    "rich": ("deskshell/cli/render.py", "deskshell/cli/render/"),
    "mcp": ("deskshell/mcp/",),
    "exifread": ("deskshell/skills/",),
    "pydantic": ("deskshell/skills/", "deskshell/mcp/"),
}
# The command line and config.py turn the environment into values; all others are handed those.
READS_ENVIRONMENT = ("deskshell/cli/", "deskshell/mcp/", "deskshell/config.py")
PRINTS = ("deskshell/cli/",)


def each_module() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("module", MODULES, ids=str)


def tree(module: Path) -> ast.Module:
    return ast.parse((CHECKOUT / module).read_bytes())


def inside(module: Path, places: tuple[str, ...]) -> bool:
    return module.as_posix().startswith(places)


def imported(module: Path) -> set[str]:
    """Top-level names of what the module imports, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@each_module()
def test_a_module_says_what_it_is_for(module: Path) -> None:
    assert ast.get_docstring(tree(module))


@each_module()
def test_no_module_grows_into_a_giant(module: Path) -> None:
    assert len((CHECKOUT / module).read_text().splitlines()) <= LONGEST


@each_module()
def test_a_library_is_imported_only_where_it_belongs(module: Path) -> None:
    strays = {name for name in imported(module) & HOMES.keys() if not inside(module, HOMES[name])}

    assert strays == set()


@each_module()
def test_only_the_command_line_prints_and_prompts(module: Path) -> None:
    calls = {
        node.func.id
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert inside(module, PRINTS) or not calls & {"print", "input"}


@each_module()
def test_only_the_edge_reads_the_environment(module: Path) -> None:
    reads = [
        node.lineno
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
        and node.attr in {"environ", "environb", "getenv", "getenvb"}
    ]

    assert inside(module, READS_ENVIRONMENT) or reads == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "module,line",
    [
        ("deskshell/errors.py", "import deskshell.store.journal"),
        ("deskshell/store/journal.py", "import deskshell.files.moving"),
        ("deskshell/files/moving.py", "import deskshell.kernel.action"),
        ("deskshell/kernel/transaction.py", "from deskshell.actions import fs_move"),
        ("deskshell/actions/fs_move.py", "def late():\n    import deskshell.app"),
    ],
)
def test_an_import_that_points_up_or_sideways_is_refused(tmp_path: Path, module: str, line: str) -> None:
    shutil.copytree(PACKAGE, tmp_path / "deskshell", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    assert lint_imports(tmp_path).returncode == 0

    with (tmp_path / module).open("a") as file:
        file.write(f"\n{line}\n")
    refused = lint_imports(tmp_path)

    assert refused.returncode == 1
    assert "Imports point down only, and siblings ignore each other BROKEN" in refused.stdout


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    program = (
        "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    )
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
