"""Objects that a second rollback misses because the first had already brought them further back (I9).

A step that moved `b` to `c` is taken back twice: the first time `c` becomes `b`, and an earlier step that
had moved `a` to `b` makes it `a`. The second time there is nothing at `b` or `c`, which alone looks like a
loss. Here such a step waits until the earlier steps have said where its object came from.
"""

from __future__ import annotations

from collections.abc import Sequence

from deskshell.errors import DeskshellError
from deskshell.files.identity import Identity, same_object
from deskshell.files.paths import is_within
from deskshell.kernel.effects import Drop, Effect, Mode, Move, Swap
from deskshell.kernel.ground import Ground
from deskshell.slotted import slotted


@slotted()
class _Claim:
    """Before a step the object `id` stood at `path` (None: it had not been made), with this `mode` if not None."""

    id: Identity
    path: bytes | None
    mode: int | None = None

    def holds(self, ground: Ground) -> bool:
        if self.path is None:
            return True
        try:
            found = ground.look(self.path)
        except (DeskshellError, OSError):
            return False
        return found is not None and same_object(found, self.id) and self.mode in (None, found.mode)


class Displaced:
    """Steps that could not be taken back, while the earlier ones are."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._waiting: dict[int, list[_Claim]] = {}

    def wait(self, n: int, effects: Sequence[Effect]) -> None:
        """Step `n` could not be taken back: its objects are not where it had put them or taken them from."""
        if any(
            isinstance(effect, Move) and effect.made and effect.happened(self._ground) for effect in effects
        ):
            return  # what it made is right there: somebody changed it
        claims: list[_Claim] = []
        for effect in reversed(effects):
            _follow(claims, effect)
            if not any(same_object(each.id, _id(effect)) for each in claims):
                claims.append(_claim(effect))
        self._waiting[n] = claims

    def waits(self, n: int) -> bool:
        """True for a step that may turn out to have been taken back."""
        return n in self._waiting

    def passed(self, n: int, effects: Sequence[Effect], *, left: bool) -> set[int]:
        """Step `n` was looked at, and is `left` or not; returns the steps now known to have been taken back."""
        settled: set[int] = set()
        for number, claims in self._waiting.items():
            if number == n:
                continue
            for effect in reversed(effects):
                if not (left and isinstance(effect, Move) and effect.made):
                    _follow(claims, effect)
            if claims and all(claim.holds(self._ground) for claim in claims):
                settled.add(number)
        for number in settled:
            del self._waiting[number]
        return settled


def _id(effect: Effect) -> Identity:
    if isinstance(effect, Swap):
        return effect.old
    assert isinstance(effect, Move | Drop | Mode)
    return effect.id


def _claim(effect: Effect) -> _Claim:
    """Where the object of `effect` stood before it."""
    if isinstance(effect, Mode):
        return _Claim(effect.id, effect.path, effect.before)
    if isinstance(effect, Move):
        return _Claim(effect.id, None if effect.made else effect.src)
    return _Claim(_id(effect), effect.paths()[0])


def _follow(claims: list[_Claim], effect: Effect) -> None:
    """Say of the objects in `claims` where they were before an earlier `effect`."""
    for claim in claims:
        if claim.path is None:
            continue
        if isinstance(effect, Move) and effect.made and same_object(effect.id, claim.id):
            claim.path = None
        elif isinstance(effect, Move) and not effect.made and is_within(claim.path, effect.dst):
            claim.path = effect.src + claim.path[len(effect.dst) :]
        elif isinstance(effect, Swap) and same_object(effect.new, claim.id):
            claim.path = effect.slot
        elif isinstance(effect, Mode) and claim.mode is not None and same_object(effect.id, claim.id):
            claim.mode = effect.before
