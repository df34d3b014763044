"""What the README shows is what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.console import Section, problems, sections
from tests.support.process import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

README = CHECKOUT / "README.md"
SECTIONS = sections(README.read_text()) if README.exists() else []
RUN = [
    pytest.param(section, id=section.title)
    for section in SECTIONS
    if any(not block.skip for block in section.blocks)
]
# Listed so that the summary of a test run names each of them with its reason.
LEFT_OUT = [
    pytest.param(
        section, id=f"{section.title}, line {block.number}", marks=pytest.mark.skip(reason=block.skip)
    )
    for section in SECTIONS
    for block in section.blocks
    if block.skip
]


def test_the_readme_shows_a_session() -> None:
    assert RUN


@pytest.mark.parametrize("section", RUN + LEFT_OUT)
def test_each_console_block_runs_as_shown(section: Section, tmp_path: Path) -> None:
    assert "\n\n".join(problems(section, tmp_path)) == ""
