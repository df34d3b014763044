"""One file, one kind of action; `registry` finds them by walking this package."""
