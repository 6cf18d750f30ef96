"""Sweeps: many independent tasks, each done once, in this process or on workers elsewhere."""
