"""deskshell for its front ends: preview, run, undo, redo, log, show, recover, gc.

Neither prints nor prompts, and returns values. Every writing call takes the lock, closes what a crash
left open, and says so; every reading call takes none and creates nothing.
"""

from deskshell.app.core import App
from deskshell.app.prepared import Prepared, Question

__all__ = ["App", "Prepared", "Question"]
