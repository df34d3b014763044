"""What a preview says to type can be typed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from deskshell.cli.previews import quoted


@pytest.mark.parametrize(
    "word, shown",
    [
        ("folder=/srv/x", "folder=/srv/x"),
        ("it's", "'it'\"'\"'s'"),
        ("a b", "'a b'"),
        ("a\nb", r"$'a\x0ab'"),
        ("caf\udce9'\\", r"$'caf\xe9\x27\x5c'"),
        ("", "''"),
    ],
)
def test_a_word_is_quoted_on_one_line(word, shown):
    assert quoted(word) == shown


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("word", ["it's $HOME", "a\nb\x1b", "caf\udce9'\\", "~", "-n", "写 → `x`"])
def test_bash_reads_it_back_as_it_was(word):
    done = subprocess.run(["bash", "-c", f"printf %s {quoted(word)}"], capture_output=True, check=True)

    assert done.stdout == word.encode("utf-8", "surrogateescape")
