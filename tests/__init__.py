"""Tests of deskshell; the folders mirror the package."""
