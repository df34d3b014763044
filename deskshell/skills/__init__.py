"""Skills: data that says what to do, read into plans."""
