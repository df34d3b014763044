"""Benchmarks of the goals P1 to P13; run them all with `scripts/bench/all`, or one by its own file."""
