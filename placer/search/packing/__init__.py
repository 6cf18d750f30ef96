"""Bins of amounts, things of a few types, and the fewest new bins for them."""
