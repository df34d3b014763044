"""The kernel through real state folders: what it promises, one behaviour a test."""
