"""Simulated capacity: what the fair queue does to jobs over time."""
