"""Text that holds secrets: kept as references, revealed only at the moment of acting.

A secret's value never reaches the journal, a plan, a message or an error (`contract.md`, Journal).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deskshell.errors import Conflict
from deskshell.slotted import slotted


@slotted(frozen=True)
class SecretText:
    """Text in parts: plain `str`, and `(name,)` for the secret parameter `name`."""

    parts: tuple[str | tuple[str], ...]

    @property
    def has_secret(self) -> bool:
        """True when a value is needed before this text can be used."""
        return any(isinstance(part, tuple) for part in self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """The secret parameters that it needs, each once."""
        return tuple(dict.fromkeys(part[0] for part in self.parts if isinstance(part, tuple)))

    def reveal(self, secrets: Mapping[str, str]) -> str:
        """The text with its secrets. Raises Conflict (`needs-secret`) when a value is missing."""
        for name in self.names:
            if name not in secrets:
                raise Conflict(
                    f"the secret `{name}` is needed",
                    verdict="needs-secret",
                    hint=f"set DESKSHELL_SECRET_{name.upper()}, or answer the prompt",
                )
        return "".join(part if isinstance(part, str) else secrets[part[0]] for part in self.parts)

    def masked(self) -> str:
        """The text with each secret shown as ``{name}``."""
        return "".join(part if isinstance(part, str) else f"{{{part[0]}}}" for part in self.parts)

    def to_json(self) -> Any:
        """A plain string without secrets; else a list of strings and ``{"secret": name}``."""
        if not self.has_secret:
            return self.masked()
        return [part if isinstance(part, str) else {"secret": part[0]} for part in self.parts]

    @classmethod
    def from_json(cls, data: Any) -> SecretText:
        """Read `to_json`'s form."""
        if isinstance(data, str):
            return cls((data,))
        return cls(tuple(part if isinstance(part, str) else (part["secret"],) for part in data))


def plain(text: str) -> SecretText:
    """Text without a secret."""
    return SecretText((text,))


def missing(wanted: Iterable[str], secrets: Mapping[str, str]) -> tuple[str, ...]:
    """Names in `wanted` that have no value."""
    return tuple(name for name in wanted if name not in secrets)
