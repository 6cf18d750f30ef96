"""Rendering of a node's document for those who enforce it: pure functions, one file each."""
