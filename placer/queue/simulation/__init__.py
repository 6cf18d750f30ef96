"""Simulated capacity: what the fair queue does to jobs over time (Q1, Q2, Q7)."""
