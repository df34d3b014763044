"""Runs ended at every change of the disk, by a kill or an error; what must be true at the next start."""
