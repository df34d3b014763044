"""The operating system's file calls, relative to open folders and never through links.

    identity.py   one look at an object (statx), and whether two looks saw the same one
    moving.py     rename that never replaces, exchange, syncs
    scope.py      folders opened by path only inside granted roots; paths.py resolves paths for planning
    metadata.py   mode, owner, times, extended attributes, ACLs
    copying.py    verified copies, and reading, writing, removing single objects (their parts: copying_one.py,
                  copying_folder.py, content.py, reading.py, writing.py, removing.py)
    tree.py       a folder as a value: listing, digest, differences
    names.py      byte names shown, carried in JSON and made up; diff.py: two texts compared
    opening.py    opening without following, and walking deep trees; syscalls.py: what Python lacks of libc

Paths and names are bytes. A pair (folder descriptor, name) says where an object is; names are single components.
Failures are `OSError` where the system's own error says it best, else `StepFailed` or `Conflict`.

Tested on Linux (ext4, xfs, btrfs, tmpfs). The ways for macOS (renameatx_np, F_FULLFSYNC, no O_PATH, no extended
attributes) are untested. On Windows the modules load and paths, names and diffs work, but there are no folder
descriptors, so `Places` refuses.
"""
