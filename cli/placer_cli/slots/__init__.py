"""``placer slots``: what a dataflow job needs."""
