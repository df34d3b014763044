"""The operating system's file calls, relative to open folders and never through links."""
