"""Why pods have no place: what keeps each off every node, held by an exact check."""
