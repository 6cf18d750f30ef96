"""The parts of the Scheduler: its words, the state of its cluster, its checks."""
