"""A document of a node, in the words of those who enforce it: pure functions, one place each."""
