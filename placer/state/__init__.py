"""The Problem of a batch, with the states of nodes, and what is kept of it for the next."""
