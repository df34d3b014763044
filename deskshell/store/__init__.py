"""Bytes and records of the state folder; knows no action."""
