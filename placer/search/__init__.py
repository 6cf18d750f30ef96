"""The joint solve: greedy answer, CP-SAT, neighbourhoods, bound, under one deadline."""
