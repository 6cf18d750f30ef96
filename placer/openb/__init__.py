"""openb: Alibaba's GPU cluster trace (cluster-trace-gpu-v2023), read, converted and replayed.

The trace is a list of nodes and lists of pods, as CSV files, and the orders of arrival in which FGD
(USENIX ATC '23) was evaluated on them. Placer carries none of these files.
"""
