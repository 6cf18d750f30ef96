"""The fair queue: whose work is next, why, and how many threads a job should have."""
