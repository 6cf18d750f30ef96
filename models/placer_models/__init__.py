"""The words and the mathematics of placement; imports nothing else of ours."""
