"""Exchanges of pods between nodes, so that more of those that wait find a place."""
