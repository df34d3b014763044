"""The field cases: how undo, move, journal and plan tools have failed their users, tried on deskshell."""
