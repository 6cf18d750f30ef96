"""Explanations: why pods wait, and the smallest change that would do (G7)."""
