"""Slots on workers: default slots, the fewest new workers, what is kept in reserve."""
