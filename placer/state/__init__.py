"""What is free: accounts of nodes, and the Problem of a batch."""
