"""The error tree keeps what scripts and agents rely on: one base, one code a class, the contract's exit codes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import Counter
from typing import TYPE_CHECKING

import deskshell
from deskshell import errors
from deskshell.errors import DeskshellError

if TYPE_CHECKING:
    from collections.abc import Iterator

EXIT_CODES = {1, 2, 3, 4}  # 70 is for what is no DeskshellError; 128 + n is drawn from the signal


def tree(base: type[DeskshellError] = DeskshellError) -> Iterator[type[DeskshellError]]:
    """Every class of the tree, those of other modules too."""
    yield base
    for child in base.__subclasses__():
        yield from tree(child)


def every_error() -> list[type[DeskshellError]]:
    for module in pkgutil.walk_packages(deskshell.__path__, "deskshell."):
        if not module.name.startswith(("deskshell.mcp", "deskshell.__main__")):
            importlib.import_module(module.name)
    return [error for error in tree() if error.__module__.startswith("deskshell.")]


def test_no_two_errors_give_themselves_one_code() -> None:
    """A script tells failures apart by it; a special case that its caller catches may share its base's."""
    codes = Counter(error.code for error in every_error() if "code" in vars(error))

    assert {code: count for code, count in codes.items() if count > 1} == {}


def test_every_class_of_the_tree_has_a_code_of_its_own() -> None:
    shared = [error for error in every_error() if error.__module__ == errors.__name__]

    assert [error.__name__ for error in shared if "code" not in vars(error)] == []


def test_every_exit_code_is_one_of_the_contract() -> None:
    assert {error.exit_code for error in every_error()} <= EXIT_CODES


def test_every_error_of_the_tree_has_the_one_base() -> None:
    classes = [found for _, found in inspect.getmembers(errors, inspect.isclass)]
    exceptions = [found for found in classes if issubclass(found, BaseException)]

    assert exceptions
    assert [found for found in exceptions if not issubclass(found, DeskshellError)] == []


def test_the_picture_at_the_top_names_every_class_with_its_exit_code() -> None:
    drawn = {
        words[0]: words[1]
        for line in (errors.__doc__ or "").splitlines()
        if len(words := line.strip(" │├└─").split()) > 1 and words[0] in vars(errors)
    }
    shared = [error for error in every_error() if error.__module__ == errors.__name__]

    assert drawn.keys() == {error.__name__ for error in shared}
    assert {error.__name__: drawn[error.__name__] for error in shared if error is not errors.Interrupted} == {
        error.__name__: str(error.exit_code) for error in shared if error is not errors.Interrupted
    }
