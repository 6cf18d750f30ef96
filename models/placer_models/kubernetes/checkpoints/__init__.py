"""Checkpoints of a kubelet: what it has given out, checked more strictly than the kubelet does."""
