"""Places found by columns of numbers alone, for pods and nodes that are simple enough."""
