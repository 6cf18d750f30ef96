"""Patterns: what a node may hold as a whole, where it holds few pods."""
