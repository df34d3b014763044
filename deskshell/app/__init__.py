"""deskshell for its front ends: preview, run, undo, redo, log, show, recover, gc.

Neither prints nor prompts, and returns values. Every writing call takes the lock, closes what a crash
left open, and says so; every reading call takes none and creates nothing.
"""

from typing import TYPE_CHECKING, Any

from deskshell.app.core import App

if TYPE_CHECKING:
    from deskshell.app.prepared import Prepared

__all__ = ["App", "Prepared"]


def __getattr__(name: str) -> Any:
    """`Prepared` when it is asked for: an undo does without plans."""
    if name == "Prepared":
        from deskshell.app.prepared import Prepared

        return Prepared
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
