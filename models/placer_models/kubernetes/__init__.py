"""Kubernetes' objects as words: one object in, one part out, and a join by the node's name."""
