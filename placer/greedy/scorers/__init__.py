"""Scorers of the greedy path: published policies, one a file."""
