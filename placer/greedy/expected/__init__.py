"""Strategy `expected` in the greedy path: the reference's numbers, for many nodes at once."""
