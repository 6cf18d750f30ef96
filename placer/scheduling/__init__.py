"""The parts of the Scheduler: its words, its books, its checks."""
