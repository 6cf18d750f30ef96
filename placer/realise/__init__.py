"""Counts become ids: which CPUs, which devices, which bytes each placed pod has."""
