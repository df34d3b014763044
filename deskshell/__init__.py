"""deskshell: actions on a computer that can be undone, and the truth about them."""

__version__ = "0.1.0"
