"""The command line: parsing, rendering, asking; every decision is made below."""
