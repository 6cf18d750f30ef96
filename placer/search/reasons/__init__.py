"""Reasons why pods have no place: what keeps each off every node, by an exact check."""
