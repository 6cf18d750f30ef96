"""The fast path: filter the nodes, score them, take the best, one pod after the other."""
