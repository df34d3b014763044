"""Helpers of the tests: trees as values, deskshell as a process, privileges, text that compares.

listing.py     a folder as a value with all its metadata, and the difference of two such values
trees.py       folders made from a dictionary
process.py     deskshell run as a real process in a home of its own
mounts.py      file systems and mounts of a test's own, as root
privileges.py  code run as a normal user when the tests run as root
shell.py       deskshell as a person at a prompt meets it, in this process or its own
leftovers.py   descriptors and child processes that a test left behind
normalise.py   ids, times and paths made comparable in printed text
console.py     the console blocks of a README, as commands with their expected output
"""
