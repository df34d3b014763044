"""Tests of the operating-system layer: real files in temporary folders."""
