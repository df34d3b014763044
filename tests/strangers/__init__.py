"""Other programs at work on the same files, at every moment at which deskshell looks, acts, or is not there."""
