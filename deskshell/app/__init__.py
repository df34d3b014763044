"""deskshell for its front ends: preview, run, undo, redo, log, show, recover, gc.

Neither prints nor prompts, and returns values. Every writing call takes the lock, closes what a crash
left open, and says so; every reading call takes none and creates nothing.
"""

from typing import TYPE_CHECKING, Any

from deskshell.app.core import App

if TYPE_CHECKING:
    from deskshell.app.prepared import Prepared, Question

__all__ = ["App", "Prepared", "Question"]


def __getattr__(name: str) -> Any:
    """`Prepared` and `Question` when they are asked for: an undo does without plans."""
    if name in ("Prepared", "Question"):
        from deskshell.app import prepared

        return getattr(prepared, name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
