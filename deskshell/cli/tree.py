"""A preview's tree: what would be where, cut to what a person can read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from deskshell.cli import output
from deskshell.cli.columns import width
from deskshell.cli.output import Styled
from deskshell.cli.wording import shell_path, size
from deskshell.files import names
from deskshell.slotted import field, slotted

#: Lines of a whole tree, and children of one folder, beyond which the rest is only counted.
MOST_LINES = 60
MOST_CHILDREN = 20

_GUIDES = ("├── ", "└── ", "│   ", "    ")
_PLAIN = ("  ", "  ", "  ", "  ")


@slotted()
class Node:
    """One name in the tree; `note` is what the plan does to it, empty for a folder that only contains."""

    name: bytes
    is_folder: bool = False
    size_bytes: int | None = None
    note: str = ""
    children: dict[bytes, Node] = field(default_factory=dict)

    def total(self) -> int:
        """Names that the plan touches, here and below; folders that only contain do not count."""
        here = bool(self.note) or not self.is_folder
        return here + sum(each.total() for each in self.children.values())


def grow(entries: Iterable[tuple[bytes, bool, int | None, str]]) -> Node:
    """The tree of (absolute path, is a folder, size, note); folders that only lead to one other are joined."""
    top = Node(b"", True)
    for path, is_folder, size_bytes, note in entries:
        node = top
        for part in path.strip(b"/").split(b"/"):
            child = node.children.get(part)
            if child is None:
                child = node.children[part] = Node(part, True)
            node = child
        node.is_folder = is_folder or bool(node.children)
        node.size_bytes, node.note = size_bytes, note
    _join(top, at_root=True)
    return top


def _join(top: Node, *, at_root: bool) -> None:
    """Give `top` the name of the one folder that everything is in."""
    while len(top.children) == 1:
        (child,) = top.children.values()
        if not child.is_folder or child.note:
            break
        top.name = (top.name + b"/" if top.name or at_root else b"") + child.name
        at_root = False
        top.children = child.children


def say_tree(top: Node, *, guides: bool) -> None:
    """Print the tree below its root; names escaped, long ones cut in the middle on a narrow terminal.

    Args:
        top: what `grow` made.
        guides: draw lines from folder to content; else only indent, for pipes.
    """
    columns = width()
    output.say(Styled(names.shorten(shell_path(names.show(top.name or b"/")), columns or 10**6), "bold"))
    told = 0
    for i, (prefix, node) in enumerate(_lines(top, "", _GUIDES if guides else _PLAIN)):
        if i == MOST_LINES:
            output.say(Styled(f"… and {top.total() - told:,} more", "dim"))
            break
        if isinstance(node, Node):
            told += bool(node.note) or not node.is_folder
            _say_node(prefix, node, columns)
        else:
            told += node
            output.say(Styled(f"{prefix}… and {node:,} more", "dim"))


def _lines(node: Node, indent: str, guides: tuple[str, ...]) -> Iterator[tuple[str, Node | int]]:
    """Each line's guides with its node, or with how many names are left out."""
    children = sorted(node.children.values(), key=lambda each: (not each.is_folder, each.name))
    shown = children if len(children) <= MOST_CHILDREN + 1 else children[:MOST_CHILDREN]
    rest = sum(each.total() for each in children[len(shown) :])
    for i, child in enumerate(shown):
        last = i == len(shown) - 1 and not rest
        yield indent + guides[last], child
        yield from _lines(child, indent + guides[3 if last else 2], guides)
    if rest:
        yield indent + guides[1], rest


def _say_node(prefix: str, node: Node, columns: int | None) -> None:
    facts = []
    if node.size_bytes is not None and not node.is_folder:
        facts.append(size(node.size_bytes))
    if node.note:
        facts.append(node.note)
    shown = names.show(node.name) + (os.sep if node.is_folder else "")
    detail = f"  {', '.join(facts)}" if facts else ""
    if columns is not None:
        room = columns - names.width(prefix)
        if names.width(shown) + names.width(detail) > room:
            detail = names.shorten(detail, max(room - min(names.width(shown), max(room // 2, 16)), 0))
            shown = names.shorten(shown, max(room - names.width(detail), 8))
    output.say(
        Styled(prefix, "dim"), Styled(shown, "cyan") if node.is_folder else shown, Styled(detail, "dim")
    )
