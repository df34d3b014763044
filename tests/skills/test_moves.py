"""The order of simultaneous renames, played step by step on a dictionary (F05)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deskshell.skills.moves import entangled, order


def play(pairs: list[tuple[bytes, bytes]], world: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Do the legs one after the other; no rename may meet an occupied name."""
    hop = b"/hop"
    for leg in order(pairs):
        src, dst = pairs[leg.move]
        one, two = hop if leg.from_hop else src, hop if leg.to_hop else dst
        if one == two:
            continue
        assert one in world
        assert two not in world
        world[two] = world.pop(one)
    return world


def name(number: int) -> bytes:
    return b"/d/%03d" % number


@given(st.data())
def test_any_renaming_ends_as_if_all_happened_at_once(data):
    """Injective maps of names: chains, shifts, swaps, cycles, names that stay, and all of them mixed."""
    sources = data.draw(st.lists(st.integers(0, 30), unique=True, max_size=20))
    targets = data.draw(st.permutations([*sources, *range(100, 100 + len(sources))]))[: len(sources)]
    pairs = [(name(a), name(b)) for a, b in zip(sources, targets, strict=True)]
    before = {name(number): b"content of %d" % number for number in sources}

    after = play(pairs, dict(before))

    assert after == {dst: before[src] for src, dst in pairs}


@given(st.permutations(range(12)))
def test_any_permutation_needs_one_hop_a_cycle(permutation):
    pairs = [(name(a), name(b)) for a, b in enumerate(permutation)]
    cycles, seen = 0, set()
    for start in range(len(permutation)):
        here, length = start, 0
        while here not in seen:
            seen.add(here)
            here, length = permutation[here], length + 1
        cycles += length > 1

    assert sum(leg.to_hop for leg in order(pairs)) == cycles
    assert sum(leg.from_hop for leg in order(pairs)) == cycles


def test_a_long_chain_goes_from_its_free_end():
    pairs = [(name(n), name(n + 1)) for n in range(5000)]
    assert [leg.move for leg in order(pairs)] == list(range(4999, -1, -1))


def test_independent_moves_keep_their_order():
    pairs = [(name(n), name(100 + n)) for n in range(5)]
    assert [leg.move for leg in order(pairs)] == [0, 1, 2, 3, 4]
    assert not entangled(pairs)


def test_what_is_inside_a_moved_folder_goes_first():
    pairs = [(b"/d", b"/e"), (b"/d/x", b"/d/y"), (b"/d/x/1", b"/d/x/2")]
    assert entangled(pairs)
    assert [leg.move for leg in order(pairs)] == [2, 1, 0]
