"""Every expected failure of deskshell, as one tree.

    DeskshellError                 1   something failed; the message says what is so, the hint what to do
    ├── Refused                    2   refused before anything happened
    │   ├── UsageError             2   the command line, a parameter or a value is wrong
    │   ├── NotFound               2   no such skill, task, plan or folder
    │   ├── ManifestError          2   a skill.toml (or an agent's list of actions) cannot be read
    │   ├── CapabilityError        2   a step needs what was not declared or not granted
    │   ├── ScopeError             2   a target lies outside every granted scope
    │   ├── IrreversibleError      2   a step cannot be undone and nobody agreed to that
    │   ├── PlanConflict           2   two steps, or a step and the disk, do not fit together
    │   ├── PlanRefused            2   a stored plan is stale, expired, declined or already used
    │   ├── Cancelled              2   the user said no
    │   └── StateFolderError       2   the state folder cannot be used, or is not safe to use
    ├── StepFailed                 1   a step did not do what it should
    │   └── Conflict               1   the disk is not as this step or record left or expects it
    ├── JournalDamaged             1   the journal contradicts itself; writing stays closed
    ├── Incomplete                 3   changes remain that could not be taken back
    ├── OutcomeUnknown             3   the last sync failed: the disk is to be read again
    ├── Interrupted          129-143   HUP, INT or TERM arrived and was obeyed
    └── Busy                       4   another task holds the lock

Each class owns its exit code and its `code` (the word in `--json`); an instance holds the facts.
Anything that is not a `DeskshellError` is a fault in deskshell and ends with 70.
"""

from __future__ import annotations

from typing import ClassVar


class DeskshellError(Exception):
    """An expected failure: `message` says what is so, `hint` what to do about it."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "failed"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Refused(DeskshellError):
    """Nothing happened: the request was refused before the first change."""

    exit_code = 2
    code = "refused"


class UsageError(Refused):
    """An option, a parameter or a value is wrong."""

    code = "usage"


class NotFound(Refused):
    """A skill, task, plan or folder that was named does not exist."""

    code = "not-found"


class ManifestError(Refused):
    """A manifest or list of actions cannot be read; names file, table and key."""

    code = "manifest"


class CapabilityError(Refused):
    """A step needs a capability that was not declared, or not granted for this task."""

    code = "capability"


class ScopeError(Refused):
    """A target lies outside every granted scope (as resolved, links included)."""

    code = "scope"


class IrreversibleError(Refused):
    """A step cannot be undone, and running it was not agreed to (or is never allowed)."""

    code = "irreversible"


class PlanConflict(Refused):
    """Two steps of a plan, or a step and what is on disk, do not fit together."""

    code = "conflict"


class PlanRefused(Refused):
    """A stored plan cannot be applied; `status` is `stale`, `expired`, `declined` or `failed`."""

    code = "plan"

    def __init__(
        self, message: str, *, status: str = "stale", changed: tuple[str, ...] = (), hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.changed = changed


class Cancelled(Refused):
    """The user answered no, or gave no answer."""

    code = "cancelled"


class StateFolderError(Refused):
    """The state folder cannot be used, or others could tamper with it."""

    code = "state-folder"


class StepFailed(DeskshellError):
    """A step did not do what it should; its effects are taken back."""

    code = "step-failed"


class Conflict(StepFailed):
    """The disk is not as expected at the moment of acting: somebody else's work is in the way.

    `path` is what differs; `verdict` is the word that undo reports for the entry: `changed`,
    `blocked`, `expired`, `damaged`, `needs-secret`, `no-undo` or `failed`.
    """

    code = "changed"

    def __init__(
        self, message: str, *, path: bytes = b"", verdict: str = "changed", hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.verdict = verdict


class JournalDamaged(DeskshellError):
    """The journal contradicts itself. Reading and writing stop; nothing is changed."""

    code = "journal-damaged"


class Incomplete(DeskshellError):
    """The task stopped part way and changes remain that could not be taken back."""

    exit_code = 3
    code = "incomplete"


class OutcomeUnknown(DeskshellError):
    """The sync of a task's end failed: only the disk can tell, at the next start."""

    exit_code = 3
    code = "unknown"


class Interrupted(DeskshellError):
    """A signal arrived and was obeyed at the next safe point; `signum` says which."""

    code = "interrupted"

    def __init__(self, message: str, *, signum: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.signum = signum


class Busy(DeskshellError):
    """Another task holds the lock; the message names it."""

    exit_code = 4
    code = "busy"
