"""Rendering of a node's document for whatever enforces it: pure functions, one file each."""
